//! Tests of competing writers: processes that change one file at the same time.
//!
//! A test starts itself as often as it needs. In every round all processes start at the same time. Each opens
//! the file, makes a change that can be recognised by its number, and reports whether the change was kept or
//! refused. The test then looks for every change that was reported as kept.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::arith;
use crate::error::{Error, Result};

/// The number of rounds per kind of change and number of processes.
pub const ROUNDS: u64 = 1000;

/// The numbers of simultaneous processes.
pub const PROCESSES: [u64; 2] = [2, 4];

const VARIABLE: &str = "SCIFORMATS_RIVAL";

/// The results of the changes.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The number of rounds.
    pub rounds: u64,
    /// The numbers of the changes that were reported as kept.
    pub kept: Vec<u64>,
    /// The number of changes that were refused because of another writer.
    pub refused: u64,
}

/// A process that runs this test.
struct Rival {
    child: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

/// In a process that [`meet`] started: makes the requested changes, and returns `true` at the end. `edit` is
/// given the file, the kind of change, and the number by which the change can be recognised.
///
/// # Errors
///
/// `Io` if the process that requests the changes has ended.
pub fn is_rival(mut edit: impl FnMut(&Path, &str, u64) -> Result<()>) -> Result<bool> {
    let Some(job) = std::env::var_os(VARIABLE) else { return Ok(false) };
    let job = job.to_string_lossy().into_owned();
    let (kind, path) = job.split_once(' ').unwrap_or(("", &job));
    let mut out = std::io::stdout();
    let broken = |e| Error::io("report", e);
    for line in std::io::stdin().lines() {
        let Ok(number) = line.map_err(broken)?.parse::<u64>() else { continue };
        // Opening, changing and committing must not always take the same time.
        std::thread::sleep(Duration::from_micros(number.wrapping_mul(0x9E37_79B9) % 97));
        let report = match edit(Path::new(path), kind, number) {
            Ok(()) => "kept".to_owned(),
            Err(Error::Conflict { .. }) => "refused".to_owned(),
            Err(error) => format!("failed: {error}"),
        };
        writeln!(out, "\nrival {report}").and_then(|()| out.flush()).map_err(broken)?;
    }
    Ok(true)
}

/// Lets `processes` processes of the test `test` change the file at `path` at the same time, [`ROUNDS`]
/// times.
///
/// # Errors
///
/// `Io`; [`Error::Usage`] with the message of a process that failed for another reason than a conflict.
pub fn meet(test: &str, kind: &str, path: &Path, processes: u64) -> Result<Outcome> {
    let mut rivals = (0..processes).map(|_| Rival::start(test, kind, path)).collect::<Result<Vec<_>>>()?;
    let mut outcome = Outcome { rounds: ROUNDS, ..Outcome::default() };
    for round in 0..ROUNDS {
        let numbers: Vec<u64> = (0..processes).map(|rival| round * processes + rival).collect();
        let first = arith::fit(round % processes, "number of a process")?;
        let order = (first..rivals.len()).chain(0..first);
        for at in order {
            if let (Some(rival), Some(number)) = (rivals.get_mut(at), numbers.get(at)) {
                rival.tell(*number)?;
            }
        }
        for (rival, number) in rivals.iter_mut().zip(&numbers) {
            match rival.report()?.as_str() {
                "kept" => outcome.kept.push(*number),
                "refused" => outcome.refused += 1,
                other => return Err(Error::usage("process", format!("{kind}, change {number}: {other}"))),
            }
        }
    }
    for Rival { mut child, orders, reports } in rivals {
        drop((orders, reports));
        child.wait().map_err(|e| Error::io("wait for a process", e))?;
    }
    if (outcome.kept.len() as u64) < ROUNDS {
        let kept = outcome.kept.len();
        return Err(Error::usage(
            "processes",
            format!("{kind}: only {kept} changes in {ROUNDS} rounds were kept"),
        ));
    }
    Ok(outcome)
}

impl Rival {
    fn start(test: &str, kind: &str, path: &Path) -> Result<Self> {
        let program = std::env::current_exe().map_err(|e| Error::io("find the test", e))?;
        let mut child = Command::new(program)
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, format!("{kind} {}", path.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::io("start a process", e))?;
        let none = || Error::usage("process", "has no pipes");
        let orders = child.stdin.take().ok_or_else(none)?;
        let reports = BufReader::new(child.stdout.take().ok_or_else(none)?);
        Ok(Self { child, orders, reports })
    }

    fn tell(&mut self, number: u64) -> Result<()> {
        writeln!(self.orders, "{number}").map_err(|e| Error::io("give an order to", e))
    }

    fn report(&mut self) -> Result<String> {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.reports.read_line(&mut line).map_err(|e| Error::io("listen to", e))?;
            if let Some(report) = line.trim_end().strip_prefix("rival ") {
                return Ok(report.to_owned());
            }
            if read == 0 {
                return Ok("ended without a report".to_owned());
            }
        }
    }
}
