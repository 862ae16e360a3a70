//! Builds the library crates for another target, and runs them if an emulator is available. The targets
//! include one without files, a 32-bit one, and a big-endian one.
//!
//! | target | what runs | how |
//! |---|---|---|
//! | `wasm32-unknown-unknown` | `wasm/`: one fixture per format is compared with its content manifest | node |
//! | `i686-unknown-linux-gnu` | the libraries' unit and integration tests | Linux on x86 |
//! | `s390x-unknown-linux-gnu` | the same tests | qemu-s390x |
//! | any other | nothing | |

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::args::Args;
use crate::sh::{About, Failure, Result, cargo, metadata, output, root, run, shown, target_folder};

/// How programs for a target are linked and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// `wasm/` in node.
    Node,
    /// The tests, which are linked with this compiler, and run with this emulator if there is one.
    Tests {
        linker: &'static str,
        emulator: Option<&'static str>,
        packages: &'static str,
    },
    Nothing,
}

/// The number of cases of property tests. It is small because an emulator is slow, and faults that depend on
/// the machine show in the first cases.
const PROPERTY_CASES: &str = "16";

/// Tests that start programs of the target, which needs a kernel that knows the emulator.
const STARTS_PROGRAMS: &[&str] = &["kill", "multiple_processes"];

fn runs(target: &str) -> Runs {
    match target {
        "wasm32-unknown-unknown" => Runs::Node,
        "i686-unknown-linux-gnu" => Runs::Tests {
            linker: "i686-linux-gnu-gcc",
            emulator: None,
            packages: "gcc-i686-linux-gnu libc6-dev-i386-cross",
        },
        "s390x-unknown-linux-gnu" => Runs::Tests {
            linker: "s390x-linux-gnu-gcc",
            emulator: Some("qemu-s390x"),
            packages: "gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user",
        },
        _ => Runs::Nothing,
    }
}

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let if_available = args.flag("--if-available");
    let target = args.word().ok_or_else(|| {
        Failure::setup(
            "a target is missing, such as wasm32-unknown-unknown, i686-unknown-linux-gnu, s390x-unknown-linux-gnu, …",
        )
    })?;
    args.end()?;
    match cross(&target) {
        Err(failure) if if_available && failure.status == 2 => {
            println!("SKIPPED {failure}");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Builds every library without default features, because some of these compile C, and then runs the tests if
/// possible. Missing tools are a failure of the setup.
fn cross(target: &str) -> Result {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = output(Command::new(compiler).args(["--print", "sysroot"]).current_dir(root()))?;
    if !has_standard_library(Path::new(sysroot.trim()), target) {
        let message =
            format!("Rust's standard library for {target} is missing; run `rustup target add {target}`");
        return Err(Failure::setup(message));
    }
    let libraries = libraries(&metadata("", false)?);
    let packages: Vec<&str> = libraries.iter().flat_map(|name| ["--package", name]).collect();
    run(cargo().args(["build", "--lib", "--no-default-features", "--target", target]).args(&packages))?;
    match runs(target) {
        Runs::Node => in_node(target),
        Runs::Tests { linker, emulator, packages: needed } => {
            let missing: Vec<&str> =
                [Some(linker), emulator].into_iter().flatten().filter(|program| !starts(program)).collect();
            if !missing.is_empty() {
                let message = format!(
                    "the tests need {}, which is missing; in Debian, install {needed}",
                    missing.join(" and no ")
                );
                return Err(Failure::setup(message));
            }
            tests(target, linker, emulator, &packages)
        }
        Runs::Nothing => {
            println!("built for {target}; nothing was run, because no emulator for it is known");
            Ok(())
        }
    }
}

/// Runs the tests of the libraries. They are linked statically, so that neither the emulator nor a 64-bit
/// kernel needs the libraries of the target.
fn tests(target: &str, linker: &str, emulator: Option<&str>, packages: &[&str]) -> Result {
    let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", target.to_uppercase().replace('-', "_"));
    let prepared = |words: &[&str]| {
        let mut command = cargo();
        command.args(words).args(["--target", target]).args(packages);
        command.env(variable("LINKER"), linker).env(variable("RUSTFLAGS"), "-C target-feature=+crt-static");
        command.env("PROPTEST_CASES", PROPERTY_CASES);
        command
    };
    if emulator.is_none() {
        run(&mut prepared(&["build", "--examples"]))?;
    }
    let mut command = prepared(&["test", "--lib", "--tests", "--no-fail-fast"]);
    if let Some(emulator) = emulator {
        command.env(variable("RUNNER"), emulator).arg("--");
        command.args(STARTS_PROGRAMS.iter().flat_map(|name| ["--skip", name]));
    }
    run(&mut command)
}

/// `wasm/` has a function that returns one bit per format that was read as expected; there are five formats.
fn in_node(target: &str) -> Result {
    if !starts("node") {
        return Err(Failure::setup("WebAssembly needs node, which is missing; in Debian, install nodejs"));
    }
    let folder = target_folder()?.join("wasm");
    let mut command = cargo();
    command.args(["build", "--release", "--target", target]).arg("--target-dir").arg(&folder);
    run(command.current_dir(root().join("wasm")))?;
    let module: PathBuf = folder.join(target).join("release").join("sciformats_wasm.wasm");
    std::fs::metadata(&module).about(&module)?;
    let script = "WebAssembly.instantiate(require('fs').readFileSync(process.argv[1]))\
                  .then(made => console.log(made.instance.exports.read_as_expected()))";
    let mut node = Command::new("node");
    node.args(["-e", script]).arg(&module);
    let bits = output(&mut node)?;
    match bits.trim() {
        "31" => {
            println!("{target}: a fixture of each of the five formats is read as its manifest says");
            Ok(())
        }
        bits => Err(format!(
            "`{}` returned {bits} instead of 31; each missing bit is a format that failed",
            shown(&node)
        )
        .into()),
    }
}

/// Returns whether a program can be started.
pub(crate) fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(crate) fn has_standard_library(sysroot: &Path, target: &str) -> bool {
    sysroot.join("lib").join("rustlib").join(target).join("lib").exists()
}

/// Returns the packages with a library.
fn libraries(metadata: &Value) -> Vec<String> {
    let is_library = |target: &Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let with_library =
        packages.filter(|package| package["targets"].as_array().is_some_and(|t| t.iter().any(is_library)));
    with_library.filter_map(|package| package["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_target_is_there_if_its_library_is() {
        let sysroot = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sysroot.path().join("lib/rustlib/s390x-unknown-linux-gnu/lib")).unwrap();
        assert!(has_standard_library(sysroot.path(), "s390x-unknown-linux-gnu"));
        assert!(!has_standard_library(sysroot.path(), "wasm32-unknown-unknown"));
    }

    #[test]
    fn libraries_are_packages_with_a_library() {
        let metadata = json!({ "packages": [
            { "name": "a", "targets": [{ "kind": ["lib"] }, { "kind": ["example"] }] },
            { "name": "b", "targets": [{ "kind": ["bin"] }] },
        ] });
        assert_eq!(libraries(&metadata), ["a"]);
    }

    #[test]
    fn a_target_that_is_missing_is_a_matter_of_setup_and_may_be_skipped() {
        let run = |words: &str| task(Args::new(words.split(' ').map(str::to_owned)));
        assert_eq!(run("no-such-target").unwrap_err().status, 2);
        assert_eq!(run("no-such-target --if-available"), Ok(()));
    }
}
