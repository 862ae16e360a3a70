//! Compares implementations of the same work.
//!
//! Each implementation runs in a worker process of its own, kept alive, and is asked in turn with its peer: ours, peer,
//! ours, peer … So a machine that slows down for a moment slows both, and the ratio is taken pair by pair. One round warms
//! up, [`ROUNDS`] count, or [`FEWEST`] if they take longer than [`PATIENCE`]. The table shows the median ratio (ours ÷ peer: smaller is better) with the smallest and the
//! largest, both median times, and the most memory that each took beyond what its idle process has.
//!
//! A bench is a program; the same program is the worker of its Rust implementations:
//!
//! ```no_run
//! use harness::{Bench, Case};
//!
//! fn main() -> std::process::ExitCode {
//!     Bench::new("rawarray", "python/rawarray.py")
//!         .case(
//!             Case::new("sum of a million numbers", 1.0)
//!                 .prepare(|folder| Ok(std::fs::write(folder.join("numbers"), [1u8; 1_000_000])?))
//!                 .ours(|folder, watch| {
//!                     let bytes = std::fs::read(folder.join("numbers"))?;
//!                     watch.time(|| std::hint::black_box(bytes.iter().map(|b| u64::from(*b)).sum::<u64>()));
//!                     Ok(())
//!                 })
//!                 .python("numpy"),
//!         )
//!         .main()
//! }
//! ```

mod memory;
mod record;
mod scaling;
mod table;
mod worker;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

pub use scaling::{Growth, Scaling, Series};

use table::Row;
use worker::{Measured, Worker};

/// Rounds that count, after one that warms up.
pub const ROUNDS: usize = 5;

/// Rounds that count at least, however long they take.
pub const FEWEST: usize = 3;

/// After such a time a pair has no more rounds, if it has enough of them.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// For how long short work is repeated in one round.
pub const LONG_ENOUGH: Duration = Duration::from_millis(20);

/// What an implementation gives; any error ends its case.
pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Takes the time of the part that counts; opening and cleaning up may stay outside.
#[derive(Debug, Default)]
pub struct Watch {
    total: Option<Duration>,
    /// Whether the time is that of the processor, and not that of the clock.
    by_processor: bool,
    /// The most memory of the programs that were run.
    programs: Option<u64>,
}

impl Watch {
    /// Runs the work and adds its time. What it gives is dropped outside the measured time, if the caller drops it.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (begin, used) = (Instant::now(), self.processor());
        let result = work();
        let taken = match used.zip(self.processor()) {
            Some((before, after)) => after.saturating_sub(before),
            None => begin.elapsed(),
        };
        *self.total.get_or_insert_default() += taken;
        result
    }

    /// Repeats short work until the calls have taken [`LONG_ENOUGH`] together, and adds the median of their times. Python's workers
    /// repeat theirs in the same way.
    ///
    /// # Errors
    /// The first one of the work.
    pub fn each<T, E>(&mut self, mut work: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let (mut calls, mut total) = (Vec::new(), Duration::ZERO);
        loop {
            let mut call = Self { by_processor: self.by_processor, ..Self::default() };
            let result = call.time(&mut work)?;
            let taken = call.total.unwrap_or_default();
            calls.push(taken);
            total += taken;
            if total >= LONG_ENOUGH {
                let middle = table::median(calls.iter().map(Duration::as_secs_f64));
                *self.total.get_or_insert_default() += Duration::from_secs_f64(middle);
                return Ok(result);
            }
        }
    }

    /// Returns the processor time of this process, if that is to be measured.
    #[cfg(unix)]
    fn processor(&self) -> Option<Duration> {
        use rustix::time::{ClockId, clock_gettime};

        self.by_processor
            .then(|| clock_gettime(ClockId::ProcessCPUTime))
            .and_then(|time| Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?)))
    }

    /// Returns nothing: the time is that of the clock.
    #[cfg(not(unix))]
    fn processor(&self) -> Option<Duration> {
        None
    }

    /// Runs a program and adds its time. The memory of the round is the most that was resident in it.
    ///
    /// # Errors
    /// If it cannot be started or waited for.
    pub fn program(&mut self, command: &mut Command) -> std::io::Result<ExitStatus> {
        let begin = Instant::now();
        let mut child = command.spawn()?;
        loop {
            self.programs = self.programs.max(memory::highest_of(child.id()));
            if let Some(status) = child.try_wait()? {
                *self.total.get_or_insert_default() += begin.elapsed();
                return Ok(status);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// The most memory that was resident in a program that was run.
    pub fn program_memory(&self) -> Option<u64> {
        self.programs
    }
}

type Work = Box<dyn Fn(&Path, &mut Watch) -> Outcome>;
type Prepare = Box<dyn Fn(&Path) -> Outcome>;

/// Where an implementation runs.
enum Implementation {
    Rust(Work),
    Python,
}

/// The name of our own implementation among the workers.
const OURS: &str = "ours";

/// One work, done by us and by peers.
pub struct Case {
    name: &'static str,
    goal: f64,
    prepare: Option<Prepare>,
    fresh: bool,
    rounds: usize,
    by_processor: bool,
    place: Option<Place>,
    implementations: Vec<(&'static str, Implementation)>,
}

/// Where a case stands in the published tables; the peers are columns too.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    table: String,
    row: String,
    column: String,
}

impl Case {
    /// A case; the goal is the largest ratio ours ÷ peer, in time, that is good enough against every peer.
    pub fn new(name: &'static str, goal: f64) -> Self {
        Self {
            name,
            goal,
            prepare: None,
            fresh: false,
            rounds: ROUNDS,
            by_processor: false,
            place: None,
            implementations: Vec::new(),
        }
    }

    /// It is a row of a table of its kind, with a column for each peer. Other cases have a line for each peer.
    #[must_use]
    pub fn table(self, table: impl Into<String>) -> Self {
        let row = self.name;
        self.cell(table, row, "")
    }

    /// It is a cell of a table, and one more for each peer after the first.
    #[must_use]
    pub fn cell(
        mut self,
        table: impl Into<String>,
        row: impl Into<String>,
        column: impl Into<String>,
    ) -> Self {
        self.place = Some(Place { table: table.into(), row: row.into(), column: column.into() });
        self
    }

    /// Runs once, before the workers start: writes what they read.
    #[must_use]
    pub fn prepare(mut self, work: impl Fn(&Path) -> Outcome + 'static) -> Self {
        self.prepare = Some(Box::new(work));
        self
    }

    /// A round takes much memory from the system, for files or for results, so each is run twice and the second counts.
    /// A virtual machine gives to its host what has been free for a moment, and fetches it back page by page at many
    /// times the cost of a write; directly after a round the memory that it took is still there.
    #[must_use]
    pub fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// The number of rounds that count, if it is not [`ROUNDS`]: many, where a round is short.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// Measures this case as [`Bench::by_processor`] measures all of them.
    #[must_use]
    pub fn by_processor(mut self) -> Self {
        self.by_processor = true;
        self
    }

    /// What is compared with the peers. It may use the folder for its files.
    #[must_use]
    pub fn ours(self, work: impl Fn(&Path, &mut Watch) -> Outcome + 'static) -> Self {
        self.rust(OURS, work)
    }

    /// A peer that is a Rust crate.
    #[must_use]
    pub fn rust(mut self, name: &'static str, work: impl Fn(&Path, &mut Watch) -> Outcome + 'static) -> Self {
        self.implementations.push((name, Implementation::Rust(Box::new(work))));
        self
    }

    /// A peer in the bench's Python script, which serves it under this name.
    #[must_use]
    pub fn python(mut self, name: &'static str) -> Self {
        self.implementations.push((name, Implementation::Python));
        self
    }

    fn round(&self, worker: &mut Worker) -> Result<Measured, String> {
        if self.fresh {
            settle();
            worker.run(self.name)?;
        }
        settle();
        worker.run(self.name)
    }

    fn work(&self, implementation: &str) -> Option<&Work> {
        self.implementations.iter().find_map(|(name, how)| match how {
            Implementation::Rust(work) if *name == implementation => Some(work),
            _ => None,
        })
    }
}

/// All cases of a format.
pub struct Bench {
    name: &'static str,
    script: &'static str,
    by_processor: bool,
    cases: Vec<Case>,
}

impl Bench {
    /// A bench and the script (relative to the folder `bench/`) with its Python peers.
    pub fn new(name: &'static str, script: &'static str) -> Self {
        Self { name, script, by_processor: false, cases: Vec::new() }
    }

    /// Measures the time that the processor works for a process instead of that of the clock, so that the machine may be in use. It is
    /// meant for work of one thread that waits for nothing. Programs that are run are measured by the clock nevertheless.
    #[must_use]
    pub fn by_processor(mut self) -> Self {
        self.by_processor = true;
        self
    }

    /// One case more.
    #[must_use]
    pub fn case(mut self, case: Case) -> Self {
        self.cases.push(case);
        self
    }

    /// The program. Without arguments it runs all cases; a word chooses the cases whose names contain it.
    ///
    /// Status 0 if all goals are met, 1 if one is missed or a case could not run. The file that the variable
    /// `SCIFORMATS_BENCH_RECORD` names gets a line of JSON for each row as soon as it is measured; the cases that it has
    /// rows of already are not measured again.
    pub fn main(self) -> ExitCode {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["--worker", name, folder] => {
                worker::serve(|case, watch| self.one(case, name, Path::new(folder), watch))
            }
            _ => self.compare(words.first().copied().unwrap_or("")),
        }
    }

    fn one(&self, case: &str, implementation: &str, folder: &Path, watch: &mut Watch) -> Outcome {
        let found = self.cases.iter().find(|candidate| candidate.name == case);
        let work = found.and_then(|case| case.work(implementation));
        work.ok_or_else(|| format!("{implementation} has no case `{case}`"))?(folder, watch)
    }

    fn compare(&self, filter: &str) -> ExitCode {
        match self.measure(filter) {
            Ok(rows) => {
                print!("{}", table::render(self.name, &rows));
                if rows.iter().all(Row::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                ExitCode::FAILURE
            }
        }
    }

    /// The rows of the cases whose names contain the word. It is an error if there are none.
    fn measure(&self, filter: &str) -> Outcome<Vec<Row>> {
        let folder = folder(self.name);
        let measured = record::cases()?;
        let mut rows = Vec::new();
        for case in self.cases.iter().filter(|case| case.name.contains(filter)) {
            if measured.iter().any(|name| name == case.name) {
                continue;
            }
            eprintln!("{}: {}", self.name, case.name);
            let of_case = self.rows(case, &folder);
            record::keep(&of_case)?;
            rows.extend(of_case);
        }
        // What is left of it is rubbish in a folder for such; it does not change the result.
        let _ = std::fs::remove_dir_all(&folder);
        if rows.is_empty() && measured.is_empty() {
            return Err(format!("no case has `{filter}` in its name").into());
        }
        Ok(rows)
    }

    /// One row for each peer of the case.
    fn rows(&self, case: &Case, folder: &Path) -> Vec<Row> {
        let peers = case.implementations.iter().filter(|(name, _)| *name != OURS);
        let prepared = std::fs::create_dir_all(folder).map_err(|error| error.to_string()).and_then(|()| {
            case.prepare.as_ref().map_or(Ok(()), |prepare| prepare(folder).map_err(|error| error.to_string()))
        });
        let row = |(name, how): &(&'static str, Implementation)| {
            let pairs = prepared.clone().and_then(|()| self.pairs(case, name, how, folder));
            let place = case.place.clone();
            Row { case: case.name.to_owned(), goal: case.goal, peer: (*name).to_owned(), place, pairs }
        };
        peers.map(row).collect()
    }

    fn pairs(
        &self,
        case: &Case,
        name: &str,
        how: &Implementation,
        folder: &Path,
    ) -> Result<Vec<table::Pair>, String> {
        let by_processor = self.by_processor || case.by_processor;
        let mut ours = Worker::rust(OURS, folder, by_processor)?;
        let mut peer = match how {
            Implementation::Rust(_) => Worker::rust(name, folder, by_processor)?,
            Implementation::Python => Worker::python(self.script, name, folder, by_processor)?,
        };
        let mut pairs = Vec::new();
        let begin = Instant::now();
        while pairs.len() <= FEWEST || (pairs.len() <= case.rounds && begin.elapsed() < PATIENCE) {
            let ours = case.round(&mut ours).map_err(|error| format!("ours: {error}"))?;
            let peer = case.round(&mut peer).map_err(|error| format!("{name}: {error}"))?;
            pairs.push(table::Pair { ours, peer });
        }
        pairs.remove(0);
        Ok(pairs)
    }
}

/// What was written before reaches the device: nobody pays for the writes of another.
fn settle() {
    // Where there is no program of that name the device is as it is.
    let _ = Command::new("sync").status();
}

/// A folder for the files of one run: in `SCIFORMATS_BENCH_DIR`, or where temporary files go.
fn folder(name: &str) -> PathBuf {
    let place = std::env::var_os("SCIFORMATS_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    place.join(format!("sciformats-bench-{name}-{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        let case = Case::new("a", 1.0)
            .ours(|_, watch| {
                watch.time(|| ());
                Ok(())
            })
            .rust("fails", |_, _| Err("on purpose".into()))
            .python("numpy");
        Bench::new("test", "none.py").case(case)
    }

    #[test]
    fn a_worker_finds_its_work_by_case_and_name() {
        let mut watch = Watch::default();
        let here = Path::new(".");
        assert!(bench().one("a", OURS, here, &mut watch).is_ok());
        assert!(watch.total.is_some());
        assert_eq!(bench().one("a", "fails", here, &mut watch).unwrap_err().to_string(), "on purpose");
        assert!(bench().one("b", OURS, here, &mut watch).is_err());
        assert!(bench().one("a", "numpy", here, &mut watch).is_err());
    }

    #[test]
    fn a_watch_adds_up() {
        let mut watch = Watch::default();
        for _ in 0..2 {
            watch.time(|| std::thread::sleep(Duration::from_millis(2)));
        }
        assert!(watch.total.unwrap() >= Duration::from_millis(4));
    }

    #[test]
    fn short_work_is_repeated_and_counts_once() {
        let (mut watch, mut calls) = (Watch::default(), 0);
        let work = || {
            calls += 1;
            Ok::<_, std::fmt::Error>(calls)
        };
        assert!(watch.each(work).unwrap() > 1);
        assert!(watch.total.unwrap() < LONG_ENOUGH);
        assert!(watch.each(|| Err::<(), _>(std::fmt::Error)).is_err());
    }
}
