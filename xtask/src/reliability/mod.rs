//! Writes `docs/reliability.md`: the results of the crash tests, of damaged files, of fuzzing, and of memory.
//!
//! A test that ends writers on purpose prints a line `crash matrix: FORMAT: OPERATION: 12 prefixes, 3 torn,
//! …` after its last assertion; if anything had been lost, it would have failed before that.

mod crashes;

use std::fmt::Write as _;
use std::fs;

use crate::args::Args;
use crate::formats::FORMATS;
use crate::fuzz::{self, Fuzzed};
use crate::mutate::{self, Sweep};
use crate::sh::{About, Result, cargo, root, run};
use crate::test;

const PATH: &str = "docs/reliability.md";

/// The number of mutants per format unless `--count` is given.
const COUNT: u64 = 20_000;

/// The number of seconds per fuzz target in the published run.
const SECONDS: u64 = 300;

/// Parts of the names of the tests that print such lines. Other tests with such names do no harm.
const TESTS: &[&str] = &["cut", "disk", "device", "kill", "writer"];

const HEAD: &str = "\
<!-- Written by `cargo xtask reliability`. -->

# Reliability

This document says what happens when a writer is stopped, when a file is damaged, and when a reader is given random bytes.

`cargo xtask reliability` runs the crash tests and the sweep over damaged files and writes the first two sections. `cargo xtask
ci` runs the same crash tests and fails if the first table is no longer true. `cargo xtask fuzz --publish` writes the section
about fuzzing, and a complete run of `cargo xtask memory` writes the one about memory.
";

const CRASHES: &str = "\
## Ends of writers

A commit is a list of writes and syncs. The tests stop it in each of the ways below, open the file that is left, and require that
it is, as a whole, either in the state before the commit or in the state after it. Each number in the table counts attempts. There
is no column for losses: a single loss would fail the test, and the table would not be written. A dot means that the operation is
not tested in that way.

| column | what is simulated |
|---|---|
| prefix | the process was killed after some of the writes |
| torn | the last write stopped at the border of some sector |
| reordered | the power was lost, and any subset of the writes since the last sync reached the device |
| SIGKILL | a writing process is killed at a random moment; nothing that it reported as committed may be missing |
| full disk | the device has no room for the next bytes (ENOSPC) |
| failing disk | from some operation on, the device refuses everything, including syncs |
| second writer | two and four processes change one file at the same time, 1,000 times each; every change that was reported as committed is there, and every other change was refused |
| truncation while reading | another program cuts a file short, or overwrites it, while `manifest`, `verify`, `cat`, `diff` or `repack` reads it; the result is an error, or the answer for the file as it was before, and never a signal |
| rescue | a file was cut short, or bits of it were changed, and `convert --lossy` writes what can still be read; if the file was cut short, every element that is not reported as lost has its original value |

The documents of the formats describe exactly what is left: [HDF5](formats/hdf5.md), [ASDF](formats/asdf.md), [Blosc2](formats/blosc2.md), [GSD](formats/gsd.md),
[RawArray](formats/rawarray.md), [npy](formats/npy.md).
";

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let count = args.number("--count")?.unwrap_or(COUNT);
    args.end()?;
    let names = || FORMATS.iter().map(|format| format.package).chain(["npy", "sciformats-cli"]);
    let packages = || names().flat_map(|name| ["--package", name]);
    // Tests start examples as separate processes.
    run(cargo().args(["build", "--examples", "--all-features"]).args(packages()))?;
    let mut command = cargo();
    command
        .args(["test", "--tests", "--all-features"])
        .args(packages())
        .args(["--", "--show-output"])
        .args(TESTS);
    let (counts, told) = test::harness(&mut command)?;
    counts.verdict(false)?;
    publish(&[&crashes::section(&told)])?;
    if count == 0 {
        return Ok(());
    }
    let sweeps = mutate::sweep_all(None, count, 1)?;
    publish(&[&damage(&sweeps)])?;
    mutate::counts(&sweeps).verdict(false)
}

/// Writes the section about a sweep over all formats.
pub(crate) fn publish_sweeps(sweeps: &[Sweep]) -> Result {
    publish(&[&damage(sweeps)])
}

/// Writes the section about the fuzz targets.
pub(crate) fn publish_fuzzing(all: &[String], ran: &[Fuzzed]) -> Result {
    let path = root().join(PATH);
    publish(&[&fuzzing(all, ran, &fs::read_to_string(&path).about(&path)?)])
}

/// Writes the section about the memory of the program.
pub(crate) fn publish_memory(section: &str) -> Result {
    publish(&[section])
}

/// The sections in their order.
const SECTIONS: [&str; 4] = ["## Ends of writers", "## Damaged files", "## Fuzzing", MEMORY];

/// The heading of the section about memory.
pub(crate) const MEMORY: &str = "## Memory of the program";

/// Writes these sections into the document, and leaves the others unchanged.
fn publish(sections: &[&str]) -> Result {
    let path = root().join(PATH);
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, replaced(&old, sections)).about(&path)?;
    println!("wrote {PATH}");
    Ok(())
}

fn replaced(old: &str, sections: &[&str]) -> String {
    let mut text = HEAD.to_owned();
    for heading in SECTIONS {
        let new = sections.iter().find(|section| section.starts_with(heading)).copied();
        let kept = old.find(heading).and_then(|start| {
            let rest = old.get(start..)?;
            rest.get(..rest.find("\n## ").map_or(rest.len(), |end| end + 1))
        });
        if let Some(section) = new.or(kept) {
            text.push('\n');
            text.push_str(section.trim_end());
            text.push('\n');
        }
    }
    text
}

/// Compares the output of the tests with the first table of the document, and the fuzz targets with the last.
pub(crate) fn check(told: &[String]) -> Result {
    let path = root().join(PATH);
    let there = fs::read_to_string(&path).about(&path)?;
    if let Some(target) = unpublished(&fuzz::every_target()?, &there) {
        let how = format!("`cargo xtask fuzz {target} --seconds {SECONDS} --publish` writes it");
        return Err(format!("{PATH} lacks the fuzz target {target}: {how}").into());
    }
    let found = crashes::section(told);
    let missing: Vec<_> = found.lines().filter(|line| !there.lines().any(|other| other == *line)).collect();
    // The document must not have rows that the tests no longer print.
    let ours = |line: &&str| !SECTIONS[1..].contains(line);
    let rows = |text: &str| text.lines().take_while(ours).filter(|line| line.starts_with("| ")).count();
    if !missing.is_empty() {
        let lines = missing.join("\n");
        return Err(
            format!("{PATH} lacks these lines, which `cargo xtask reliability` writes:\n{lines}").into()
        );
    }
    if rows(&there) != rows(&found) {
        return Err(
            format!("{PATH} has rows that no test prints: `cargo xtask reliability` writes it").into()
        );
    }
    Ok(())
}

/// Returns the first target that has no row.
fn unpublished<'a>(targets: &'a [String], document: &str) -> Option<&'a str> {
    targets.iter().map(String::as_str).find(|target| !document.contains(&format!("| `{target}` |")))
}

fn damage(sweeps: &[Sweep]) -> String {
    let mut text = format!(
        "{}\n\n\
         The program reads fixtures that were damaged at random: bits, bytes and numbers were changed, and pieces were removed, inserted,\n\
         or copied within a file and from other files. Each damaged file, called a mutant, is given to one command in a process of its\n\
         own. The commands `manifest`, `verify`, `convert --lossy`, `repack --lossy`, `diff --storage` and `edit` take turns, with {}\n\
         and {} s. A command may refuse the file with one of the documented exit statuses. Harm is a panic, a signal, a timeout, a failed\n\
         allocation, or a file that was changed although the command was refused.\n\n\
         | format | fixtures | mutants | read | refused | harm |\n|---|--:|--:|--:|--:|--:|\n",
        SECTIONS[1],
        mutate::MEMORY,
        mutate::PATIENCE.as_secs(),
    );
    for Sweep { format, originals, count, read, harm } in sweeps {
        let title = FORMATS.iter().find(|known| known.name == *format).map_or(*format, |known| known.title);
        let harm = u64::try_from(harm.len()).unwrap_or(u64::MAX);
        let refused = count.saturating_sub(*read).saturating_sub(harm);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {title} | {originals} | {count} | {read} | {refused} | {harm} |");
    }
    let count = sweeps.first().map_or(COUNT, |sweep| sweep.count);
    let _ = writeln!(
        text,
        "\n`cargo xtask mutate --count {count}` repeats the run, and with `--publish` it writes this section. The seed (`--seed`, 1 here)\n\
         and the number of a mutant determine the damage. Mutants that do harm stay in `target/mutants` and become hostile fixtures."
    );
    text
}

/// The section about the fuzz targets: a row for each of those that ran, and the present row of each other one.
fn fuzzing(all: &[String], ran: &[Fuzzed], old: &str) -> String {
    let mut text = format!(
        "{}\n\n\
         Each target started with the fixtures of its format, if there are some. An input had 2 GiB of memory and 10 s. No target found a fault. A target\n\
         also fails if an input makes the code allocate more than its size justifies. The inputs that are kept each reach code that no\n\
         other input reaches.\n\n\
         | format | target | seconds | runs | runs a second | inputs kept |\n|---|---|--:|--:|--:|--:|\n",
        SECTIONS[2],
    );
    for name in all {
        let row = match ran.iter().find(|fuzzed| fuzzed.target == *name) {
            Some(fuzzed) => Some(fuzz_row(fuzzed)),
            None => old.lines().find(|line| line.contains(&format!("| `{name}` |"))).map(str::to_owned),
        };
        if let Some(row) = row {
            let _ = writeln!(text, "{row}");
        }
    }
    let _ = writeln!(text, "\n`cargo xtask fuzz --all --seconds {SECONDS} --publish` repeats the run.");
    text
}

fn fuzz_row(Fuzzed { target, seconds, runs, kept, .. }: &Fuzzed) -> String {
    let title = match (fuzz::format_of(target), target.as_str()) {
        (_, "facade_tables") => "all, as tables",
        (_, "references_scan") => "all, as references",
        ("npy", _) => "npy",
        (name, _) => FORMATS
            .iter()
            .find(|format| format.name == name)
            .map_or("all, through the common view", |format| format.title),
    };
    let rate = runs / (*seconds).max(1);
    format!("| {title} | `{target}` | {seconds} | {runs} | {rate} | {kept} |")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_become_rows() {
        let sweep = Sweep { format: "gsd", originals: 40, count: 100, read: 30, harm: vec!["x".to_owned()] };
        let text = damage(&[sweep]);
        assert!(text.contains("| GSD | 40 | 100 | 30 | 69 | 1 |\n"), "{text}");
    }

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let first = replaced("", &["## Fuzzing\n\nold\n", "## Ends of writers\n\none\n"]);
        assert_eq!(first, format!("{HEAD}\n## Ends of writers\n\none\n\n## Fuzzing\n\nold\n"));
        let second = replaced(&first, &["## Damaged files\n\ntwo\n"]);
        assert_eq!(
            second,
            format!("{HEAD}\n## Ends of writers\n\none\n\n## Damaged files\n\ntwo\n\n## Fuzzing\n\nold\n")
        );
        assert_eq!(replaced(&second, &[]), second);
    }

    #[test]
    fn targets_stand_with_their_formats_and_those_that_did_not_run_keep_their_rows() {
        let of =
            |(target, runs)| Fuzzed { target: str::to_owned(target), seconds: 60, seeds: 3, runs, kept: 5 };
        let all =
            ["gsd_read", "gsd_round_trip", "chunk_decode", "facade_read", "npy_read"].map(str::to_owned);
        let old = "| GSD | `gsd_read` | 300 | 1 | 0 | 1 |\n| GSD | `gsd_round_trip` | 300 | 900 | 3 | 7 |\n";
        let ran = [("facade_read", 190), ("gsd_read", 125), ("chunk_decode", 18)].map(of);
        let text = fuzzing(&all, &ran, old);
        let rows = [
            "| GSD | `gsd_read` | 60 | 125 | 2 | 5 |",
            "| GSD | `gsd_round_trip` | 300 | 900 | 3 | 7 |",
            "| Blosc2 | `chunk_decode` | 60 | 18 | 0 | 5 |",
            "| all, through the common view | `facade_read` | 60 | 190 | 3 | 5 |",
        ];
        assert!(text.contains(&rows.join("\n")), "{text}");
        assert!(!text.contains("npy_read"), "{text}");
    }

    #[test]
    fn a_target_that_the_document_lacks_is_named() {
        let targets = ["gsd_read".to_owned(), "gsd_write".to_owned()];
        assert_eq!(unpublished(&targets, "| GSD | `gsd_read` | 17 | 5 |"), Some("gsd_write"));
        assert_eq!(unpublished(&targets[..1], "| GSD | `gsd_read` | 17 | 5 |"), None);
    }
}
