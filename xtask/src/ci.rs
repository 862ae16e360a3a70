//! Runs everything that must pass before a change is merged: the other tasks, one after the other.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::counts::Counts;
use crate::sh::Result;
use crate::{
    TASKS, book, conform, fixtures, lint, mpi, msrv, mutate, reliability, test, tidy, weight, wheel,
};

/// The number of damaged fixtures per format, which is enough to find a gross fault.
const MUTANTS: u64 = 300;

/// The result of a step.
#[derive(Debug)]
struct Step {
    name: &'static str,
    took: Duration,
    /// The checks that it counted, if it counts checks.
    counts: Option<Counts>,
    outcome: Result,
}

/// The task. The last line is about the tests: `N passed, N failed, N skipped`.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    // Installing packages mostly waits for the registry, and the first step that needs them comes after minutes of compiling. It
    // fails then if they could not be installed.
    std::thread::spawn(|| {
        conform::prepare();
        let _ = wheel::environment();
    });
    // Cheap steps come first. A failure does not stop the other steps, so that one run reports everything.
    let steps = [
        step("tidy", || tidy::tidy().map(|()| None)),
        step("weight", || weight::check().map(|()| None)),
        step("lint", || lint::quick().map(|()| None)),
        step("msrv", || msrv::stated().map(|()| None)),
        step("fixtures", || fixtures::check_all(None).map(|()| None)),
        step("book", || book::check(false).map(|()| None)),
        step("conform", || conform::conform(None, true).map(Some)),
        step("mutate", || mutate::mutate(None, MUTANTS, 1).map(Some)),
        step("mpi", || mpi::if_available().map(Some)),
        step("test", || {
            let (counts, told) = test::test(test::Bare::WhatDiffers)?;
            // If tests failed, their output is incomplete, and the document is not compared with it.
            if counts.failed == 0 {
                reliability::check(&told)?;
            }
            Ok(Some(counts))
        }),
        // The tests have built all of the library but for its last crate.
        step("wheel", || wheel::quick().map(|()| None)),
    ];
    println!("\n{}", summary(&steps));
    let failed: Vec<&str> = steps.iter().filter(|step| step.outcome.is_err()).map(|step| step.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// Runs a step. Failed checks make it fail, and so do skipped ones, except for MPI on a machine that does not
/// have it.
fn step(name: &'static str, run: impl FnOnce() -> Result<Option<Counts>>) -> Step {
    println!("\n== {name}");
    let begin = Instant::now();
    let result = run();
    let took = begin.elapsed();
    let counts = result.as_ref().ok().copied().flatten();
    let outcome = result.and_then(|counts| counts.map_or(Ok(()), |counts| counts.verdict(name == "mpi")));
    if let Err(failure) = &outcome {
        println!("== {name} FAILED: {failure}");
    }
    Step { name, took, counts, outcome }
}

/// The tasks that are no step of this one. Most of them run every night, because they take long or need more tools.
fn not_run(steps: &[Step]) -> Vec<&'static str> {
    let is_step = |name: &str| steps.iter().any(|step| step.name == name);
    TASKS
        .iter()
        .map(|task| task.name)
        .filter(|name| !is_step(name) && !["ci", "python"].contains(name))
        .collect()
}

/// Lists the times and the counts, and what was not run.
fn summary(steps: &[Step]) -> String {
    let mut text = String::new();
    for Step { name, took, counts, outcome } in steps {
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        let counts = counts.map_or(String::new(), |counts| counts.to_string());
        // Writing to a String cannot fail.
        let line = format!("{name:9} {verdict:6} {:7.1} s  {counts}", took.as_secs_f64());
        let _ = writeln!(text, "{}", line.trim_end());
        if let Err(failure) = outcome {
            let _ = writeln!(text, "          {failure}");
        }
    }
    let total: Duration = steps.iter().map(|step| step.took).sum();
    let _ = writeln!(text, "{:9} {:6} {:7.1} s", "all", "", total.as_secs_f64());
    let _ = writeln!(text, "not run   {}", not_run(steps).join(", "));
    let tests = steps.iter().find(|step| step.name == "test").and_then(|step| step.counts);
    text + &tests.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_the_tests() {
        let counts = |passed| Counts { passed, failed: 0, skipped: 0 };
        let steps = [
            step("conform", || Ok(Some(counts(7)))),
            step("test", || Ok(Some(counts(3)))),
            step("tidy", || Err("no".into())),
        ];
        let text = summary(&steps);
        assert_eq!(text.lines().next_back(), Some("3 passed, 0 failed, 0 skipped"));
        assert!(text.contains("7 passed, 0 failed, 0 skipped"));
        assert!(text.lines().any(|line| line.starts_with("tidy") && line.contains("FAILED")));
        assert!(text.lines().any(|line| line.trim() == "no"), "the reason is told: {text}");
        let not_run = text.lines().find_map(|line| line.strip_prefix("not run   ")).unwrap();
        assert!(
            not_run.contains("fuzz") && not_run.contains("lint") && !not_run.contains("conform"),
            "{not_run}"
        );
    }

    #[test]
    fn only_mpi_may_be_skipped() {
        let skipped = Counts { passed: 1, failed: 0, skipped: 1 };
        assert!(step("conform", || Ok(Some(skipped))).outcome.is_err());
        assert!(step("test", || Ok(Some(skipped))).outcome.is_err());
        assert!(step("mpi", || Ok(Some(skipped))).outcome.is_ok());
    }
}
