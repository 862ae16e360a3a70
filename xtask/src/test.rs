//! Runs unit, integration and doc tests with all features, the examples, and without features the tests that
//! differ. What the tests say about crashes is compared with the document about reliability.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::conform::BUILT;
use crate::counts::Counts;
use crate::formats::packages;
use crate::reliability;
use crate::sh::{About, Result, cargo, metadata, root, run, shown, target_folder};

/// Examples that tests run with arguments, besides those of the conformance run. Every other example runs
/// without arguments, and quickly.
const RUN_ELSEWHERE: &[&str] = &[
    "anndata",
    "appends_until_killed",
    "climate",
    "contents",
    "doubled",
    "edit_until_killed",
    "edits_until_killed",
    "errors",
    "fills_a_part",
    "heights",
    "hoomd",
    "keeps_creating",
    "maximum",
    "particles",
    "roman",
    "rows_until_killed",
    "server",
    "simulation",
    "tokio_sums",
    "until_killed",
    "usage",
];

/// The task. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(mut args: Args) -> Result {
    let bare = if args.flag("--without-features") { Bare::Everything } else { Bare::WhatDiffers };
    args.end()?;
    let (counts, told) = test(bare)?;
    println!("{counts}");
    counts.verdict(true)?;
    reliability::check(&told)
}

/// Which tests run a second time, with the libraries built without features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bare {
    /// Unit tests of the light libraries, and their integration tests about missing features.
    WhatDiffers,
    /// All tests of the libraries.
    Everything,
}

/// Runs everything; a failure does not stop it. The output of passed tests, such as the number of crashes
/// that they tried, is shown at the end; that of the run with all features is also returned.
pub(crate) fn test(bare: Bare) -> Result<(Counts, Vec<String>)> {
    let mut counts = Counts::default();
    // Tests start examples as separate processes.
    run(cargo().args(BUILT))?;
    let mut whole = cargo();
    whole.args(["test", "--workspace", "--tests", "--all-features", "--no-fail-fast", "--", "--show-output"]);
    let (of_these, with_all) = harness(&mut whole)?;
    counts += of_these;
    counts += harness(cargo().args(["test", "--workspace", "--doc", "--no-fail-fast", "--all-features"]))?.0;
    counts += examples()?;

    let mut libraries = libraries()?;
    if bare == Bare::WhatDiffers {
        libraries.retain(|library| light().any(|name| name == library.name));
    }
    let mut featureless = cargo();
    featureless.args(["test", "--no-default-features", "--no-fail-fast"]);
    for library in &libraries {
        featureless.args(["--package", &library.name]);
    }
    if bare == Bare::Everything {
        let mut examples = cargo();
        examples.args(["build", "--no-default-features", "--examples"]);
        for library in &libraries {
            examples.args(["--package", &library.name]);
        }
        run(&mut examples)?;
        featureless.arg("--tests");
    } else {
        featureless.arg("--lib");
        for name in libraries.iter().flat_map(|library| &library.tests_without_a_feature) {
            featureless.args(["--test", name]);
        }
    }
    let (of_these, with_none) = harness(featureless.args(["--", "--show-output"]))?;
    counts += of_these;

    for (folder, package) in [("fuzz", "sciformats-fuzz-memory"), ("bench", "harness")] {
        counts += harness(cargo().args(["test", "--package", package]).current_dir(root().join(folder)))?.0;
    }
    for (title, told) in [("with all features", &with_all), ("without features", &with_none)] {
        println!("\nOutput of the tests {title}:\n  {}\n", told.join("\n  "));
    }
    Ok((counts, with_all))
}

/// The libraries that people use alone and without features. Without features, the others differ in single lines, which clippy
/// compiles, and what they depend on would take minutes to be built a second time.
fn light() -> impl Iterator<Item = &'static str> {
    packages().chain(["sciformats-core", "sciformats-filters"])
}

/// A package of the workspace that has a library.
struct Library {
    name: String,
    /// Its integration tests about missing features.
    tests_without_a_feature: Vec<String>,
}

/// Returns the libraries of the workspace.
fn libraries() -> Result<Vec<Library>> {
    let metadata = metadata("", false)?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let targets = || package["targets"].as_array().into_iter().flatten();
        if !targets().any(|target| target["kind"][0] == "lib") {
            continue;
        }
        let mut tests_without_a_feature = Vec::new();
        for target in targets().filter(|target| target["kind"][0] == "test") {
            let (Some(name), Some(path)) = (target["name"].as_str(), target["src_path"].as_str()) else {
                continue;
            };
            let path = Path::new(path);
            if fs::read_to_string(path).about(path)?.contains("not(feature") {
                tests_without_a_feature.push(name.to_owned());
            }
        }
        if let Some(name) = package["name"].as_str() {
            found.push(Library { name: name.to_owned(), tests_without_a_feature });
        }
    }
    Ok(found)
}

/// Runs `cargo test …`, shows its output, and counts the results; also returns what passed tests printed. If
/// it fails before any test, for example because it did not compile, this is an error.
pub(crate) fn harness(command: &mut Command) -> Result<(Counts, Vec<String>)> {
    eprintln!("$ {}", shown(command));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut counts = Counts::default();
    let mut successes = Successes::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            counts += Counts::from_harness(&line).unwrap_or_default();
            if !successes.takes(&line) {
                println!("{line}");
            }
        }
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        let failure = format!("`{}` failed ({status})", shown(command));
        if counts.passed == 0 {
            return Err(failure.into());
        }
        // A test that overflows its stack, for example, ends its program before a result is printed.
        println!("{failure}: a program of tests ended early");
        counts.failed += 1;
    }
    Ok((counts, successes.told))
}

/// The part of the output of `--show-output` that is about passed tests.
#[derive(Debug, Default)]
struct Successes {
    is_open: bool,
    /// The test that the next lines belong to.
    name: Option<String>,
    /// The names of tests with the lines that they printed.
    told: Vec<String>,
}

impl Successes {
    /// Returns whether a line belongs to this part.
    fn takes(&mut self, line: &str) -> bool {
        match line {
            // Two parts have this name: the output, and a list of names.
            "successes:" => (self.is_open, self.name) = (true, None),
            "failures:" => self.is_open = false,
            _ if line.starts_with("test result: ") => self.is_open = false,
            _ if !self.is_open => {}
            _ => {
                let head = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
                match (head, &self.name) {
                    (Some(name), _) => self.name = Some(name.to_owned()),
                    (None, Some(name)) if !line.is_empty() => self.told.push(format!("{name}: {line}")),
                    (None, _) => {}
                }
            }
        }
        self.is_open
    }
}

/// Runs the examples of each package that need no arguments, in an empty folder.
fn examples() -> Result<Counts> {
    let mut counts = Counts::default();
    let place = target_folder()?.join("examples-run");
    let built = target_folder()?.join("debug").join("examples");
    for (package, names) in examples_by_package()? {
        let runs_here =
            |name: &&String| !RUN_ELSEWHERE.contains(&name.as_str()) && !name.ends_with("_conformance");
        for name in names.iter().filter(runs_here) {
            if place.exists() {
                fs::remove_dir_all(&place).about(&place)?;
            }
            fs::create_dir_all(&place).about(&place)?;
            // All of them have been built with the features of the tests.
            let example = built.join(name).with_extension(std::env::consts::EXE_EXTENSION);
            match run(Command::new(&example).current_dir(&place)) {
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

/// Returns the packages that have examples, with the names of these.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn programs_of_tests_that_end_early_have_failed() {
        let told = |text: &str| harness(Command::new("sh").args(["-c", text]));
        let one = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'";
        let (counts, _) = told(&format!("{one}; exit 101")).unwrap();
        assert_eq!((counts.passed, counts.failed), (1, 1));
        let (counts, _) = told(one).unwrap();
        assert_eq!((counts.passed, counts.failed), (1, 0));
        assert!(told("exit 101").is_err(), "nothing was tested");
    }

    #[test]
    fn what_passed_tests_print_is_kept_and_the_rest_is_shown() {
        let output = "test a ... ok\ntest b ... FAILED\n\nsuccesses:\n\n---- a stdout ----\n7 cuts\n\n\nsuccesses:\n    a\n\
                      \nfailures:\n\n---- b stdout ----\nwrong\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed";
        let mut successes = Successes::default();
        let shown: Vec<&str> = output.lines().filter(|line| !successes.takes(line)).collect();
        assert_eq!(successes.told, ["a: 7 cuts"]);
        assert!(shown.contains(&"wrong") && shown.contains(&"    b") && !shown.contains(&"    a"));
        assert_eq!(shown.last(), Some(&"test result: FAILED. 1 passed; 1 failed"));
    }
}
