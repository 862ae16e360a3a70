//! Unit, integration and doc tests, with all features and with none, and the examples.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::counts::Counts;
use crate::sh::{About, Result, cargo, metadata, root, run, shown, target_folder};

/// Examples that tests run, with arguments, beside those of the conformance run. Every other example runs without any, and
/// quickly.
const RUN_ELSEWHERE: &[&str] = &[
    "appends_until_killed",
    "edit_until_killed",
    "fills_a_part",
    "keeps_creating",
    "rows_until_killed",
    "until_killed",
];

/// The verb. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    let (counts, _) = test()?;
    println!("{counts}");
    counts.verdict(true)
}

/// Runs everything, also after a failure. What tests printed that passed, such as how many crashes they tried, is shown
/// at the end; of the run with all features it is also given.
pub(crate) fn test() -> Result<(Counts, Vec<String>)> {
    let mut counts = Counts::default();
    let (mut told, mut with_all) = (Vec::new(), Vec::new());
    for features in ["--all-features", "--no-default-features"] {
        // Tests start examples as processes of their own.
        run(cargo().args(["build", "--workspace", "--examples", features]))?;
        let mut command = cargo();
        command.args(["test", "--workspace", "--tests", "--no-fail-fast", features, "--", "--show-output"]);
        let (of_these, lines) = harness(&mut command)?;
        counts += of_these;
        if with_all.is_empty() {
            with_all.clone_from(&lines);
        }
        told.extend(std::iter::once(format!("with {features}:")).chain(lines));
    }
    counts += harness(cargo().args(["test", "--workspace", "--doc", "--no-fail-fast", "--all-features"]))?.0;
    counts += harness(cargo().args(["test", "--lib"]).current_dir(root().join("fuzz")))?.0;
    counts += harness(cargo().args(["test", "--package", "harness"]).current_dir(root().join("bench")))?.0;
    counts += examples()?;
    println!("\nWhat the tests tell, {}\n", told.join("\n  "));
    Ok((counts, with_all))
}

/// Runs `cargo test …`, shows what it prints and counts the results; also gives what passed tests printed. An end
/// without a failed test and without success (it did not compile) is an error.
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
        return Err(format!("`{}` failed ({status})", shown(command)).into());
    }
    Ok((counts, successes.told))
}

/// The part of the output of `--show-output` that is about tests that passed.
#[derive(Debug, Default)]
struct Successes {
    is_open: bool,
    /// The test whose output follows.
    name: Option<String>,
    /// Names and lines.
    told: Vec<String>,
}

impl Successes {
    /// Whether a line belongs to it.
    fn takes(&mut self, line: &str) -> bool {
        match line {
            // There are two parts of this name: the output, and a list of names.
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
    for (package, names) in examples_by_package()? {
        let runs_here =
            |name: &&String| !RUN_ELSEWHERE.contains(&name.as_str()) && !name.ends_with("_conformance");
        for name in names.iter().filter(runs_here) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
