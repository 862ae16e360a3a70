//! Counts the crates that each library brings with it, and measures how long they take to build.
//!
//! The counts are exact: `cargo tree` resolves what somebody gets who depends on one library, on one machine. They are
//! compared with the bounds below and with `docs/weight.md`. Times are only recorded in the document.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::args::Args;
use crate::sh::{About, Result, cargo, output, root, run, target_folder};

const PATH: &str = "docs/weight.md";

/// Whatever the machine, the crates of this one are counted.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The libraries, and how many crates they may bring with them: with the default features, and without any.
const LIBRARIES: &[(&str, Option<usize>, Option<usize>)] = &[
    ("sciformats-core", Some(8), Some(8)),
    ("rawarray", Some(8), Some(8)),
    ("npy", Some(8), Some(8)),
    ("gsd-rs", Some(8), Some(8)),
    ("hdf5-pure", Some(20), Some(10)),
    ("cframe", None, None),
    ("asdf-core", None, None),
    ("sciformats-filters", None, None),
    ("sciformats", Some(45), None),
    ("sciformats-conventions", None, None),
    ("sciformats-convert", None, None),
    ("sciformats-references", None, None),
    ("sciformats-arrow", None, None),
    ("sciformats-remote", None, None),
    ("sciformats-salvage", None, None),
];

/// The small libraries, which may have no procedural macro.
const SMALL: &[&str] = &["sciformats-core", "rawarray", "npy", "gsd-rs"];

const HEAD: &str = "\
<!-- Written by `cargo xtask weight`. -->

# Weight

This document says how many crates each library brings with it, and how long they take to build, as it would be for somebody who
depends on this library and on nothing else, on Linux on x86-64. `cargo xtask weight` counts and compares the counts with their
bounds, and `cargo xtask ci` fails if a count exceeds its bound or differs from this table.

- *crates* is everything that cargo builds before the library: crates of this workspace, crates of others, procedural macros and
  what build scripts need.
- *for building* are those of them that do not become part of the program: procedural macros, what build scripts need, and what
  these depend on. The libraries of one simple format, whose bound is eight crates, have no procedural macro.
- *C* says whether a C compiler is needed.
- *seconds* is the processor time of `cargo build --release --jobs 1` in an empty target folder, which is about the time that one
  has to wait. It depends on the machine, and is recorded with `cargo xtask weight --times`; an empty cell has not been recorded.

";

/// What one library brings with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Weight {
    /// Names and versions.
    crates: BTreeSet<String>,
    /// Those of them that are part of a program.
    linked: BTreeSet<String>,
    /// Names of procedural macros.
    macros: BTreeSet<String>,
}

impl Weight {
    /// Asks cargo.
    fn of(library: &str, with_defaults: bool) -> Result<Self> {
        let tree = |edges| {
            let mut command = cargo();
            command.args(["tree", "--locked", "--package", library, "--target", TARGET]);
            command.args(["--edges", edges, "--prefix", "none", "--format", "{p}"]);
            if !with_defaults {
                command.arg("--no-default-features");
            }
            output(&mut command)
        };
        Ok(Self::read(&tree("normal,build")?, &tree("normal,no-proc-macro")?))
    }

    /// Reads the two trees: all, and without procedural macros and what build scripts need.
    fn read(all: &str, linked: &str) -> Self {
        let crates = |text: &str| -> BTreeSet<String> {
            // The first line is the library itself.
            let own = text.lines().next().map(name).unwrap_or_default();
            text.lines().map(name).filter(|name| !name.is_empty() && *name != own).collect()
        };
        let macros = all.lines().filter(|line| line.contains("(proc-macro)"));
        let macros = macros.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
        Self { crates: crates(all), linked: crates(linked), macros }
    }

    fn needs_c(&self) -> bool {
        self.crates.iter().any(|name| name.starts_with("cc "))
    }

    /// Procedural macros besides that of `thiserror`.
    fn other_macros(&self) -> impl Iterator<Item = &str> {
        self.macros.iter().map(String::as_str).filter(|name| *name != "thiserror-impl")
    }
}

/// `name vVERSION` of a line of a tree.
fn name(line: &str) -> String {
    line.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// The two rows of a library.
fn variants() -> impl Iterator<Item = (&'static str, bool, Option<usize>)> {
    LIBRARIES
        .iter()
        .flat_map(|(library, defaults, none)| [(*library, true, *defaults), (*library, false, *none)])
}

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let (compared, timed) = (args.flag("--check"), args.flag("--times"));
    let only = args.word();
    args.end()?;
    let times = match (timed, only) {
        (false, _) => Times::Kept,
        (true, None) => Times::OfAll,
        (true, Some(library)) => Times::Of(library),
    };
    if compared {
        return compare(&times);
    }
    let (path, text) = (root().join(PATH), counted(&times)?);
    fs::write(&path, text).about(&path)?;
    println!("wrote {PATH}");
    Ok(())
}

/// Which times of building are measured; the others stay what they are in the document.
enum Times {
    Kept,
    OfAll,
    Of(String),
}

/// Counts, and compares with the document.
pub(crate) fn check() -> Result {
    compare(&Times::Kept)
}

fn compare(times: &Times) -> Result {
    if counted(times)? == document()? {
        return Ok(());
    }
    Err(format!("{PATH} does not have these counts; `cargo xtask weight` writes it").into())
}

/// The document as it is, which is empty if there is none.
fn document() -> Result<String> {
    let path = root().join(PATH);
    if path.exists() { fs::read_to_string(&path).about(&path) } else { Ok(String::new()) }
}

/// Counts, and returns the document.
fn counted(times: &Times) -> Result<String> {
    let there = document()?;
    let mut rows = String::from(
        "| library | features | crates | for building | C | seconds |\n|---|---|--:|--:|---|--:|\n",
    );
    let mut wrong = Vec::new();
    for (library, with_defaults, bound) in variants() {
        let weight = Weight::of(library, with_defaults)?;
        wrong.extend(complaint(library, &weight, bound));
        let features = if with_defaults { "default" } else { "none" };
        let begin = row(library, features, &weight, bound);
        let measured = match times {
            Times::Kept => false,
            Times::OfAll => true,
            Times::Of(only) => only == library,
        };
        let seconds = if measured {
            format!("{:.0}", seconds(library, with_defaults)?)
        } else {
            recorded(&there, library, features).unwrap_or_default()
        };
        rows.push_str(&format!("{begin} {seconds} |\n"));
    }
    print!("{rows}");
    if !wrong.is_empty() {
        return Err(wrong.join("; ").into());
    }
    Ok(format!("{HEAD}{rows}"))
}

/// A row without its last cell.
fn row(library: &str, features: &str, weight: &Weight, bound: Option<usize>) -> String {
    let bound = bound.map_or(String::new(), |bound| format!(" of at most {bound}"));
    let building = weight.crates.len() - weight.linked.len();
    let c = if weight.needs_c() { "yes" } else { "no" };
    format!("| `{library}` | {features} | {}{bound} | {building} | {c} |", weight.crates.len())
}

/// The time that the document has.
fn recorded(document: &str, library: &str, features: &str) -> Option<String> {
    let begin = format!("| `{library}` | {features} |");
    let row = document.lines().find(|line| line.starts_with(&begin))?;
    row.split('|').nth(6).map(|cell| cell.trim().to_owned())
}

/// What is wrong with a library.
fn complaint(library: &str, weight: &Weight, bound: Option<usize>) -> Option<String> {
    let count = weight.crates.len();
    if let Some(bound) = bound.filter(|bound| count > *bound) {
        return Some(format!("{library} brings {count} crates with it, which is more than {bound}"));
    }
    let macros: Vec<&str> = weight.other_macros().collect();
    (SMALL.contains(&library) && !macros.is_empty())
        .then(|| format!("{library} brings procedural macros with it: {}", macros.join(", ")))
}

/// Builds a library and everything before it in an empty folder, and returns the processor time.
fn seconds(library: &str, with_defaults: bool) -> Result<f64> {
    let folder = target_folder()?.join("weight");
    if folder.exists() {
        fs::remove_dir_all(&folder).about(&folder)?;
    }
    let mut build = cargo();
    build.args([
        "build",
        "--release",
        "--locked",
        "--jobs",
        "1",
        "--lib",
        "--package",
        library,
        "--target-dir",
    ]);
    build.arg(&folder);
    if !with_defaults {
        build.arg("--no-default-features");
    }
    let before = children()?;
    run(&mut build)?;
    let after = children()?;
    fs::remove_dir_all(&folder).about(&folder)?;
    Ok(after - before)
}

/// The processor time of all processes that this one has waited for, as Linux tells it.
fn children() -> Result<f64> {
    let path = Path::new("/proc/self/stat");
    let text = fs::read_to_string(path).about(path)?;
    let ticks: f64 = output(Command::new("getconf").arg("CLK_TCK"))?
        .trim()
        .parse()
        .map_err(|_| "getconf prints no number")?;
    let waited = waited_for(&text).ok_or_else(|| format!("{} has too few numbers", path.display()))?;
    Ok(waited / ticks)
}

/// The fields `cutime` and `cstime`, which are the 14th and 15th after the name of the program.
fn waited_for(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let number = |at: usize| fields.split(' ').nth(at)?.parse::<f64>().ok();
    Some(number(13)? + number(14)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "a v0.1.0 (/x)\nerr v2.0.0\nerr-impl v2.0.0 (proc-macro)\nsyn v2.1.0\nsyn v3.0.0\nzs v1.0.0\n\
                       cc v1.2.0\nerr v2.0.0 (*)\n";
    const LINKED: &str = "a v0.1.0 (/x)\nerr v2.0.0\nzs v1.0.0\n";

    #[test]
    fn each_crate_counts_once_and_the_library_does_not() {
        let weight = Weight::read(ALL, LINKED);
        assert_eq!((weight.crates.len(), weight.linked.len(), weight.needs_c()), (6, 2, true));
        assert_eq!(row("a", "none", &weight, Some(8)), "| `a` | none | 6 of at most 8 | 4 | yes |");
        assert_eq!(row("a", "none", &weight, None), "| `a` | none | 6 | 4 | yes |");
    }

    #[test]
    fn what_is_too_heavy_is_named() {
        let weight = Weight::read(ALL, LINKED);
        assert_eq!(complaint("a", &weight, Some(6)), None);
        assert_eq!(
            complaint("a", &weight, Some(5)).unwrap(),
            "a brings 6 crates with it, which is more than 5"
        );
        let message = complaint("npy", &weight, None).unwrap();
        assert_eq!(message, "npy brings procedural macros with it: err-impl");
        let only = ALL.replace("err", "thiserror");
        assert_eq!(complaint("npy", &Weight::read(&only, LINKED), None), None);
    }

    #[test]
    fn times_stay_until_they_are_measured_again() {
        let document =
            "| `a` | default | 6 | 4 | yes | 12 |\n| `a` | none | 6 of at most 8 | 4 | yes | 7 |\n";
        assert_eq!(recorded(document, "a", "none").unwrap(), "7");
        assert_eq!(recorded(document, "b", "none"), None);
    }

    #[test]
    fn the_time_of_children_is_read() {
        let stat = "12 (a (b) c) S 1 1 1 0 -1 4 100 2000 0 0 7 8 300 25 20 0 1";
        assert_eq!(waited_for(stat), Some(325.0));
        assert_eq!(waited_for("12 (a) S 1"), None);
    }

    #[test]
    fn small_libraries_have_bounds() {
        for small in SMALL {
            assert!(LIBRARIES.iter().any(|(name, bound, _)| name == small && bound.is_some()), "{small}");
        }
    }
}
