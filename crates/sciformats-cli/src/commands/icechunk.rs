//! Icechunk repositories as outputs: another program makes them of a stream of references.

use std::fs;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use sciformats::{File, Result};
use sciformats_references::icechunk::{Located, Writer};
use sciformats_references::{Entry, Report, Sink};

use super::references::folder;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Helper;

/// The program that makes them. It is built by itself, because it needs a newer compiler.
const PROGRAM: &str = "sciformats-icechunk";

/// What stands before the folder in the name of an output.
const PREFIX: &str = "icechunk:";

/// A file in the folder of each repository.
const MARK: &str = "repo";

/// Returns the folder of a repository, if an output is one.
pub(super) fn repository(output: &Path) -> Option<&Path> {
    let folder = output.to_str()?.strip_prefix(PREFIX)?;
    (!folder.is_empty()).then(|| Path::new(folder))
}

/// Returns where an output will be.
pub(super) fn place(output: &Path) -> &Path {
    repository(output).unwrap_or(output)
}

/// Returns the entity tag of a remote file, if it has one.
pub(super) fn tag(file: &File) -> Option<String> {
    file.remote().and_then(|remote| remote.version().etag)
}

/// Makes a repository of what `make` passes to a sink.
pub(super) fn write(
    output: &Path,
    urls: &[String],
    tag: Option<&str>,
    make: impl FnOnce(&mut dyn Sink) -> Result<Report>,
) -> Outcome<Report> {
    let program = program()?;
    let files: Vec<Located> = urls.iter().map(|url| located(url, tag)).collect();
    folder(output, MARK, |new| {
        let unwritten = |text: String| Failure::Unwritten(output.to_owned(), text);
        let mut command = Command::new(&program);
        command.arg(new).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command
            .spawn()
            .map_err(|error| unwritten(format!("{} cannot be started: {error}", program.display())))?;
        let running = Running(Helper::new(child));
        let passed = running.pass(&files, make);
        // The input is closed now: the program ends.
        let (success, said) = running.end().map_err(|error| unwritten(error.to_string()))?;
        match passed {
            Ok((report, refused)) if success => Ok(with_refused(report, refused)),
            // A program that ended early says why; the pipe that broke does not.
            Err(error) if success || said.contains("end early") => Err(match error {
                error @ sciformats::Error::Usage { .. } => Failure::Usage(error.to_string()),
                error => Failure::unwritten(output, &error),
            }),
            _ => Err(unwritten(said)),
        }
    })
}

/// A program that is running, and is ended if it is dropped.
struct Running(Helper);

impl Running {
    /// Passes references to the program, and closes its input.
    fn pass(
        &self,
        files: &[Located],
        make: impl FnOnce(&mut dyn Sink) -> Result<Report>,
    ) -> Result<(Report, Vec<Entry>)> {
        let input = self.0.input();
        let input = input.ok_or_else(|| sciformats::Error::internal("the program has no input"))?;
        let mut input = BufWriter::with_capacity(1 << 16, input);
        let mut writer = Writer::new(&mut input, files)?;
        let report = make(&mut writer)?;
        Ok((report, writer.finish()?))
    }

    /// Waits for the end of the program. Returns whether it succeeded, and what it said.
    fn end(&self) -> std::io::Result<(bool, String)> {
        let mut said = Vec::new();
        if let Some(mut told) = self.0.told() {
            told.read_to_end(&mut said)?;
        }
        let status = self.0.end()?;
        let said = String::from_utf8_lossy(&said);
        let said = said.trim().trim_start_matches(PROGRAM).trim_start_matches(": ");
        let said = if said.is_empty() { format!("{PROGRAM} ended with {status}") } else { said.to_owned() };
        Ok((status.success(), said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// Returns a file with what tells whether it has changed: the entity tag of a remote one, and the time of the last change of a local one.
fn located(url: &str, tag: Option<&str>) -> Located {
    let file = Located::new(url);
    if let Some(tag) = tag {
        return file.with_etag(tag);
    }
    let changed = url.strip_prefix("file://").and_then(|path| fs::metadata(path).ok()?.modified().ok());
    let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    // Icechunk has whole seconds: the next one, since the file must not be newer.
    let seconds = since.map(|since| since.as_secs().saturating_add(u64::from(since.subsec_nanos() > 0))); // a bound
    match seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        Some(seconds) => file.with_modified(seconds),
        None => file,
    }
}

/// Returns a report in which the arrays that Zarr 3 cannot hold are refused.
fn with_refused(mut report: Report, refused: Vec<Entry>) -> Report {
    for entry in refused {
        // An array at the root of a file is called `data` in a store.
        let same = |path: &str| path == entry.path || (path == "/" && entry.path == "/data");
        match report.entries.iter_mut().find(|known| same(&known.path)) {
            Some(known) => known.treatment = entry.treatment,
            None => report.entries.push(entry),
        }
    }
    report
}

/// Finds the program beside this one, or where programs are.
fn program() -> Outcome<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&others));
    let found = all.map(|folder| folder.join(&name)).find(|place| place.is_file());
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "Icechunk repositories are made by the program {PROGRAM}, which is neither beside this program nor in PATH; \
             install it with `cargo install --locked --git https://github.com/sciformats/sciformats {PROGRAM}` (Rust 1.91.1), or let \
             VirtualiZarr write the repository: open_virtual_dataset with sciformats.virtual.parser, then vds.vz.to_icechunk"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats_references::Treatment;

    #[test]
    fn only_a_prefix_makes_a_repository() {
        assert_eq!(repository(Path::new("icechunk:a/b")), Some(Path::new("a/b")));
        assert_eq!(place(Path::new("icechunk:a/b")), Path::new("a/b"));
        assert_eq!(repository(Path::new("icechunk:")), None);
        assert_eq!(place(Path::new("a/icechunk.json")), Path::new("a/icechunk.json"));
    }

    #[test]
    fn what_is_refused_later_replaces_what_was_said() {
        let refused = |reason: &str| Treatment::Refused { reason: reason.into() };
        let entries = vec![Entry { path: "/".into(), treatment: Treatment::Referenced { chunks: 1 } }];
        let report = Report { entries, ..Report::default() };
        let found = with_refused(report, vec![Entry { path: "/data".into(), treatment: refused("so") }]);
        assert_eq!(found.entries, [Entry { path: "/".into(), treatment: refused("so") }]);
    }

    #[test]
    fn local_files_have_the_time_of_their_last_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        fs::write(&path, b"1").unwrap();
        let changed = fs::metadata(&path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let file = located(&format!("file://{}", path.display()), None);
        assert!(u64::from(file.modified.unwrap()) - changed.as_secs() <= 1);
        assert_eq!(located("https://h/a", Some("\"3\"")).etag.as_deref(), Some("\"3\""));
        assert_eq!(located("https://h/a", None).modified, None);
    }
}
