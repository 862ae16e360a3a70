//! Unit, integration and doc tests, with all features and with none, and the examples.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::counts::Counts;
use crate::sh::{About, Result, cargo, metadata, root, run, shown, target_folder};

/// Examples that other tasks run, with arguments. Every other example runs without any, and quickly.
const RUN_ELSEWHERE: &[&str] = &["conformance"];

/// The verb. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    let counts = test()?;
    println!("{counts}");
    counts.verdict(true)
}

/// Runs everything, also after a failure.
pub(crate) fn test() -> Result<Counts> {
    let mut counts = Counts::default();
    for features in ["--all-features", "--no-default-features"] {
        counts += harness(cargo().args(["test", "--workspace", "--tests", "--no-fail-fast", features]))?;
    }
    counts += harness(cargo().args(["test", "--workspace", "--doc", "--no-fail-fast", "--all-features"]))?;
    counts += harness(cargo().args(["test", "--lib"]).current_dir(root().join("fuzz")))?;
    counts += harness(cargo().args(["test", "--package", "harness"]).current_dir(root().join("bench")))?;
    counts += examples()?;
    Ok(counts)
}

/// Runs `cargo test …`, shows what it prints and counts the results. An end without a failed test and without success
/// (it did not compile) is an error.
fn harness(command: &mut Command) -> Result<Counts> {
    eprintln!("$ {}", shown(command));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            counts += Counts::from_harness(&line).unwrap_or_default();
            println!("{line}");
        }
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        return Err(format!("`{}` failed ({status})", shown(command)).into());
    }
    Ok(counts)
}

/// Builds the examples of each package (one package at a time: names may be the same in two of them), and runs
/// those that need no arguments, in an empty folder.
fn examples() -> Result<Counts> {
    let mut counts = Counts::default();
    let place = target_folder()?.join("examples-run");
    for (package, names) in examples_by_package()? {
        run(cargo().args(["build", "--examples", "--all-features", "--package", &package]))?;
        for name in names.iter().filter(|name| !RUN_ELSEWHERE.contains(&name.as_str())) {
            if place.exists() {
                std::fs::remove_dir_all(&place).about(&place)?;
            }
            std::fs::create_dir_all(&place).about(&place)?;
            let mut command = cargo();
            command.args(["run", "--quiet", "--all-features", "--package", &package, "--example", name]);
            command.arg("--manifest-path").arg(root().join("Cargo.toml")).current_dir(&place);
            match run(&mut command) {
                Ok(()) => counts.passed += 1,
                Err(failure) => {
                    println!("example {package}/{name}: {failure}");
                    counts.failed += 1;
                }
            }
        }
    }
    Ok(counts)
}

/// Packages that have examples, and their names.
fn examples_by_package() -> Result<Vec<(String, Vec<String>)>> {
    let metadata = metadata("", false)?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let is_example = |target: &&serde_json::Value| target["kind"][0] == "example";
        let targets = package["targets"].as_array().into_iter().flatten().filter(is_example);
        let names: Vec<String> =
            targets.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect();
        if let (Some(package), false) = (package["name"].as_str(), names.is_empty()) {
            found.push((package.to_owned(), names));
        }
    }
    Ok(found)
}
