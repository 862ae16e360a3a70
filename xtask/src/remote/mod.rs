//! Measures reads of remote files by the program, with h5py over fsspec for comparison. A server on the
//! loopback interface waits before each answer, sends as fast as a connection to an object store does, and
//! counts requests. Each row has bounds on the number of requests, on consecutive requests, and on bytes.

mod picture;
mod server;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::args::Args;
use crate::counts::Counts;
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, root, run, shown, target_folder};

const DOCUMENT: &str = "docs/remote.md";
/// The picture of the plans with which one dataset is read.
const PICTURE: &str = "docs/figures/remote-plan.svg";

/// The file of the picture, and the names under which the script keeps the requests of each program, with their titles.
const PICTURED: &str = "latest.h5";
const PANELS: [(&str, &str); 2] = [
    ("ours", "sciformats: opening latest.h5 and reading one dataset of 200"),
    ("theirs", "h5py over fsspec with blocks of 4 MiB: the same"),
];

const HEADING: &str = "## Measured";

/// The milliseconds before each answer, as long as S3 takes.
const DELAY: u64 = 60;

/// The MB per second that a connection to S3 receives.
const RATE: u64 = 100;

/// The task. The last line is `N passed, N failed, N skipped`, with one check per row of the program.
pub(crate) fn task(mut args: Args) -> Result {
    let publish = args.flag("--publish");
    let delay = args.number("--delay")?.unwrap_or(DELAY);
    let rate = args.number("--rate")?.unwrap_or(RATE);
    // A program that is there already, and rows whose names match an expression.
    let (program, only) = (args.value("--program")?, args.value("--only")?);
    args.end()?;
    if publish && only.is_some() {
        return Err(Failure::setup("--publish needs all rows"));
    }
    let program = match program {
        Some(program) => PathBuf::from(program),
        None => built()?,
    };
    let folder = target_folder()?.join("remote");
    fs::create_dir_all(&folder).about(&folder)?;
    let settings = server::Settings {
        folder: folder.clone(),
        delay: Duration::from_millis(delay),
        rate: rate.saturating_mul(1_000_000),
    };
    let server = server::start(settings).about(Path::new("the server"))?;
    let table = measure(&program, (&folder, &server.url), only.as_deref())?;
    let counts = table.counts();
    if publish {
        let path = root().join(DOCUMENT);
        let text = fs::read_to_string(&path).about(&path)?;
        fs::write(&path, published(&text, &table.render(delay, rate))).about(&path)?;
        let panels = PANELS
            .map(|(name, title)| picture::Panel { title: title.to_owned(), requests: server.kept(name) });
        let file = folder.join(PICTURED);
        let size = file.metadata().about(&file)?.len();
        let path = root().join(PICTURE);
        fs::write(&path, picture::draw(&panels, size)).about(&path)?;
    }
    println!("{counts}");
    counts.verdict(false)
}

/// Builds the program, and returns its place.
fn built() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--profile", "conform", "--all-features", "--package", "sciformats-cli"]);
    run(build.args(["--bin", "sciformats"]))?;
    Ok(target_folder()?.join("conform").join(format!("sciformats{}", std::env::consts::EXE_SUFFIX)))
}

/// Lets the script read files with the program.
fn measure(program: &Path, (folder, url): (&Path, &str), only: Option<&str>) -> Result<Table> {
    let python = Python::prepare_in("venv-remote", "requirements-remote.txt")?;
    if let Some((pin, reason)) = python.missing().next() {
        return Err(Failure::setup(format!("{pin} cannot be installed: {reason}")));
    }
    let mut script = python.script(&root().join("xtask").join("python").join("remote_conform.py"));
    script.arg(program).arg(folder).arg(url);
    if let Some(only) = only {
        script.arg("--only").arg(only);
    }
    eprintln!("$ {}", shown(&script));
    let done =
        script.stdin(Stdio::null()).stderr(Stdio::inherit()).output().about(Path::new("the script"))?;
    let text = String::from_utf8_lossy(&done.stdout);
    print!("{text}");
    let table = Table::of(&text);
    if !done.status.success() && table.failures.is_empty() {
        return Err(format!("`{}` failed ({})", shown(&script), done.status).into());
    }
    Ok(table)
}

/// The output of the script: rows of six columns, and lines that begin with `FAILED`.
#[derive(Debug)]
struct Table {
    rows: Vec<Vec<String>>,
    failures: Vec<String>,
}

impl Table {
    fn of(text: &str) -> Self {
        let rows = text.lines().map(|line| line.split(" | ").map(str::to_owned).collect::<Vec<_>>());
        let failures = text.lines().filter_map(|line| line.strip_prefix("FAILED "));
        Self {
            rows: rows.skip(1).filter(|row| row.len() == 6).collect(),
            failures: failures.map(str::to_owned).collect(),
        }
    }

    fn counts(&self) -> Counts {
        let ours = self.rows.iter().filter(|row| row.get(1).is_some_and(|who| who == "sciformats"));
        let of = |row: &&Vec<String>| {
            let what = row.first().map_or("", String::as_str);
            self.failures.iter().any(|failure| failure.starts_with(what))
        };
        let (failed, passed): (Vec<_>, Vec<_>) = ours.partition(of);
        Counts {
            passed: passed.len() as u64,
            failed: (failed.len().max(self.failures.len())) as u64,
            skipped: 0,
        }
    }

    /// The section of the document.
    fn render(&self, delay: u64, rate: u64) -> String {
        let mut text = format!(
            "{HEADING}\n\nThe table shows the number of requests, the number of consecutive requests (depth: how many had to wait for an \
             earlier one), MiB and\nseconds. Nothing was cached, and the server on the loopback interface waited {delay} ms before \
             each answer and sent at most\n{rate} MB/s over each connection, as S3 does. `cargo xtask remote --publish` creates the \
             files, measures, and writes this table. It\nfails if the program needs more than a row permits, or if its answer \
             differs from that of h5py. The bounds of the rows\nare in `xtask/python/remote_conform.py`.\n\n| what | program | requests | depth | MiB | s |\n|---|---|---:|---:|---:|---:|\n"
        );
        for row in &self.rows {
            // A string takes every text.
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        if !self.failures.is_empty() {
            let _ = writeln!(text, "\nMissed bounds: {}.", self.failures.join("; "));
        }
        text
    }
}

/// The document with its section replaced, or added at its end.
fn published(document: &str, section: &str) -> String {
    let (before, rest) = match document.find(HEADING) {
        Some(at) => document.split_at(at),
        None => (document, ""),
    };
    let after = rest.get(HEADING.len()..).and_then(|rest| rest.find("\n## ").map(|at| rest.split_at(at).1));
    let gap = if before.ends_with("\n\n") { "" } else { "\n" };
    format!("{before}{gap}{section}{}", after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "what | who | requests | depth | MiB | s\n\
                           a: open | sciformats | 2 | 1 | 0.50 | 0.20\n\
                           a: open | h5py | 8 | 8 | 4.00 | 1.00\n\
                           b: list | sciformats | 9 | 9 | 0.50 | 0.20\n\
                           FAILED b: list: 9.00 requests, at most 4 were expected\n";

    #[test]
    fn each_row_of_ours_is_a_check() {
        let table = Table::of(PRINTED);
        assert_eq!(table.rows.len(), 3);
        assert_eq!(table.counts(), Counts { passed: 1, failed: 1, skipped: 0 });
        let nothing = Table::of("what | who\nFAILED c: no answer\n");
        assert_eq!(nothing.counts(), Counts { passed: 0, failed: 1, skipped: 0 });
    }

    #[test]
    fn a_section_is_replaced_or_added() {
        let section = Table::of(PRINTED).render(60, 100);
        assert!(section.contains("| a: open | sciformats | 2 | 1 | 0.50 | 0.20 |\n"));
        assert!(section.ends_with("\n\nMissed bounds: b: list: 9.00 requests, at most 4 were expected.\n"));
        let once = published("# Files\n\ntext\n", &section);
        assert!(once.starts_with("# Files\n\ntext\n\n## Measured\n\n"));
        assert_eq!(published(&once, &section), once);
        let between = published("# Files\n\n## Measured\n\nstale\n\n## Recipes\n\nr\n", &section);
        assert!(between.ends_with("expected.\n\n## Recipes\n\nr\n") && !between.contains("stale"));
    }
}
