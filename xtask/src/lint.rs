//! Checks locked versions, formatting, clippy and rustdoc, for the workspace and for the small workspaces
//! beside it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::args::Args;
use crate::formats::FORMATS;
use crate::sh::{Result, cargo, root, run};

/// The task.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    all(commands().chain([clippy("bench", &["--all-targets"])]))
}

/// The step of `cargo xtask ci`: all but the benches, which depend on hundreds of packages that nothing else needs. They are checked
/// every night.
pub(crate) fn quick() -> Result {
    all(commands())
}

/// Runs everything that must not warn. A failure does not stop the other checks.
fn all(commands: impl Iterator<Item = Command>) -> Result {
    let mut failed = Vec::new();
    for mut command in commands {
        let begin = Instant::now();
        failed.extend(run(&mut command).err().map(|failure| failure.message));
        eprintln!("      took {:.1} s", begin.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

fn commands() -> impl Iterator<Item = Command> {
    // `fmt --all` in a workspace beside this one would check the crates of this workspace again, as
    // dependencies.
    let mut commands = vec![
        in_folder("", &["fetch", "--locked", "--quiet"]),
        in_folder("fuzz", &["fetch", "--locked", "--quiet"]),
        in_folder("bench", &["fetch", "--locked", "--quiet"]),
        in_folder("wasm", &["fetch", "--locked", "--quiet"]),
        in_folder("", &["fmt", "--all", "--check"]),
        in_folder(
            "fuzz",
            &["fmt", "--package", "sciformats-fuzz-memory", "--package", "sciformats-fuzz", "--check"],
        ),
        in_folder("wasm", &["fmt", "--check"]),
        in_folder(
            "engines/datafusion",
            &[
                "fmt",
                "--package",
                "sciformats-datafusion",
                "--package",
                "sciformats-datafusion-python",
                "--check",
            ],
        ),
        in_folder("engines/icechunk", &["fmt", "--check"]),
        in_folder("bench", &["fmt", "--package", "harness", "--package", "sciformats-bench", "--check"]),
        clippy("", &["--all-targets", "--all-features"]),
        // Tests without features are compiled where they are run.
        clippy("", &["--lib", "--bins", "--no-default-features"]),
        fuzz_clippy(),
        doc(),
    ];
    commands.extend(single_formats());
    // In the workspace, others always give it its features.
    let alone =
        ["clippy", "--package", "sciformats-conventions", "--no-default-features", "--", "-D", "warnings"];
    commands.push(in_folder("", &alone));
    commands.into_iter()
}

/// Checks the crates that have one feature per format with a single feature at a time, to find code that only
/// compiles, or is only used, if two features are on.
fn single_formats() -> impl Iterator<Item = Command> {
    FORMATS.iter().map(|format| {
        let packages = ["sciformats", "sciformats-convert"];
        let mut command = in_folder("", &["clippy", "--all-targets", "--no-default-features"]);
        for package in packages {
            command.args(["--package", package, "--features", &format!("{package}/{}", format.name)]);
        }
        command.args(["--", "-D", "warnings"]);
        command
    })
}

/// Runs clippy on a workspace of `engines/`, which needs a newer compiler than the others; the task that builds it calls this.
pub(crate) fn engine(folder: &Path, built: &Path) -> Result {
    let mut command = cargo();
    command.args(["clippy", "--workspace", "--all-targets", "--locked", "--target-dir"]).arg(built);
    run(command.args(["--", "-D", "warnings"]).current_dir(folder))
}

fn in_folder(folder: &str, words: &[&str]) -> Command {
    let mut command = cargo();
    command.current_dir(root().join(folder)).args(words);
    command
}

fn clippy(folder: &str, what: &[&str]) -> Command {
    let mut command = in_folder(folder, &["clippy", "--keep-going", "--workspace"]);
    command.args(what).args(["--", "-D", "warnings"]);
    command
}

/// The targets are checked as the fuzzer would build them, but nothing is linked. No C++ compiler is needed,
/// because `libfuzzer-sys` does not build its library if it is given another one.
fn fuzz_clippy() -> Command {
    let mut command = clippy("fuzz", &["--all-targets"]);
    command.env("CUSTOM_LIBFUZZER_PATH", Path::new("unlinked").join("libfuzzer.a"));
    command.env("RUSTFLAGS", "--cfg fuzzing");
    command
}

/// Only the libraries are documented, because the program has the same name as one of them and would replace
/// its documentation.
fn doc() -> Command {
    let mut command = in_folder("", &["doc", "--workspace", "--lib", "--all-features", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}
