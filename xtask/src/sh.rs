//! Runs programs, and defines how a task fails.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a task.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Why a task failed, and the exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The message for the user, which may have several lines.
    pub(crate) message: String,
    /// 1 if something is wrong with the project, 2 if the machine lacks something or the command line is
    /// wrong.
    pub(crate) status: u8,
}

impl Failure {
    /// Creates the failure for something that this machine lacks, or for a wrong command line.
    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 2 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, status: 1 }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        error.to_string().into()
    }
}

/// Adds the file or folder that an I/O error is about.
pub(crate) trait About<T> {
    /// `path: error`
    fn about(self, path: &Path) -> Result<T>;
}

impl<T, E: fmt::Display> About<T> for std::result::Result<T, E> {
    fn about(self, path: &Path) -> Result<T> {
        self.map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    // `cargo run` sets the present path of the package; the built-in path is for a binary that is started
    // directly.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns the cargo that runs this program, in the folder of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Cargo describes this package to this program. Passed on, the description reaches build scripts that read it, and what is
    // built here would be built again by a cargo that is run by hand.
    for (name, _) in std::env::vars_os() {
        let told = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if name.to_str().is_some_and(|name| told.iter().any(|start| name.starts_with(start))) {
            command.env_remove(&name);
        }
    }
    command
}

/// Formats a command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}

/// Runs a command; its output goes to the output of this program.
pub(crate) fn run(command: &mut Command) -> Result {
    eprintln!("$ {}", shown(command));
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command)).into()) }
}

/// Runs a command and returns what it printed; its standard error goes to that of this program.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        return Err(format!("`{}` failed ({})", shown(command), output.status).into());
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("`{}` printed text that is not UTF-8", shown(command)).into())
}

/// Runs a command without showing its output; the error contains everything that it printed.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` failed ({})\n{text}{complaint}", shown(command), output.status).into())
}

fn not_started(command: &Command, error: &io::Error) -> Failure {
    Failure::setup(format!("cannot start `{}`: {error}", command.get_program().to_string_lossy()))
}

/// Returns what `cargo metadata` reports about the workspace in `folder`, which is relative to the root; ""
/// is the root.
pub(crate) fn metadata(folder: &str, with_dependencies: bool) -> Result<serde_json::Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]);
    command.current_dir(root().join(folder));
    if !with_dependencies {
        command.arg("--no-deps");
    }
    let text = output(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}").into())
}

/// Returns the folder that cargo builds into.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let metadata = metadata("", false)?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo metadata names no target folder".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["test", "--workspace"]);
        assert_eq!(shown(&command), "cargo test --workspace");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_matter_of_setup() {
        let failure = output(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert_eq!(failure.status, 2);
        assert!(failure.message.contains("no-such-program-anywhere"));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask").join("src").join("main.rs").exists());
    }
}
