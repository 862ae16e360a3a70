//! `watch`: shows how a file grows: new rows of an array, or lengths and new objects of a whole file.
//!
//! The file is opened anew whenever it has changed, so the reader needs no agreement with the writer. A file that cannot be
//! read at the moment, because its writer is in the middle of a change, is looked at again later.

mod rows;
mod tree;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use sciformats::{File, Object};
use sciformats_conventions::Dataset;
use sciformats_core::bound;

use self::rows::Rows;
use self::tree::Tree;
use crate::failure::{Answer, Failure, Outcome, complain};
use crate::figure::ticks::brief;
use crate::interrupt;
use crate::look::{self, FAINT};
use crate::session::Session;

/// How often the program looks whether it is to end.
const STEP: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The file, which is one of this machine; `FILE:/PATH` also contains the path
    file: PathBuf,
    /// The path of the object in the file
    #[arg(default_value = "/", hide_default_value = true)]
    path: String,
    /// The number of rows to show at the beginning [default: 10; all of them with --csv and with --json]
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<u64>,
    /// The time between two looks at the file, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// End after the file has not changed for this many seconds [default: Ctrl-C ends it]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    idle: Option<Duration>,
    /// Show the stored values instead of what they mean
    #[arg(long)]
    raw: bool,
    /// Print all rows as comma-separated values, and nothing else
    #[arg(long)]
    csv: bool,
    /// Print all new rows, however many there are
    #[arg(long, short)]
    all: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected a number of seconds of at least 0.01".into())
}

/// The number of rows that people are shown at the beginning.
const ROWS: u64 = 10;

impl Watch {
    /// Returns the row to begin with. Programs get every row, because a file that is made of them must be complete.
    fn start(&self, rows: u64, json: bool) -> u64 {
        match self.lines {
            None if self.csv || json => 0,
            lines => bound::left(rows, lines.unwrap_or(ROWS)),
        }
    }
}

/// When something was seen, for rates.
#[derive(Clone, Copy, Debug)]
struct Clock {
    begun: Instant,
    before: Instant,
}

impl Clock {
    fn new() -> Self {
        let now = Instant::now();
        Self { begun: now, before: now }
    }

    /// Returns the seconds since the last call.
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let lap = now.duration_since(self.before).as_secs_f64();
        self.before = now;
        lap
    }

    /// Returns the seconds since the beginning.
    fn whole(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// Formats how many there are in each second.
fn rate(count: f64, seconds: f64) -> String {
    brief(count / seconds.max(1e-3))
}

/// Formats seconds.
fn seconds(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

/// What is watched.
enum Watched {
    Rows(Rows),
    Tree(Tree),
}

impl Watched {
    /// Looks at the file again, and returns whether it has grown.
    fn look(&mut self, file: File, args: &Watch, session: &Session) -> Outcome<bool> {
        match self {
            Self::Rows(rows) => rows.look(file, args, session),
            Self::Tree(tree) => tree.look(&file, args, session),
        }
    }

    /// Returns what has happened.
    fn summary(&self) -> String {
        match self {
            Self::Rows(rows) => rows.summary(),
            Self::Tree(tree) => tree.summary(),
        }
    }
}

pub(super) fn run(args: &Watch, session: &Session) -> Outcome {
    let path = args.file.as_path();
    if path == Path::new("-") || session.far().is_far(path) {
        let text = "only files of this machine can be watched, not stdin and not URLs";
        return Err(Failure::Usage(format!("{}: {text}", path.display())));
    }
    let stop = interrupt::asked();
    // What is wrong at the beginning is wrong for good.
    let mut last = Stamp::of(path);
    let file = session.open_growing(path).map_err(|error| Failure::of(path, &error))?;
    let mut watched = chosen(args, file)?;
    let mut clock = Instant::now();
    let file = session.open_growing(path).map_err(|error| Failure::of(path, &error))?;
    watched.look(file, args, session)?;
    // A change may come between a look and the time of the file.
    let (mut unsettled, mut trouble) = (true, None);
    loop {
        let begun = Instant::now();
        if wait(args.interval, &stop) || args.idle.is_some_and(|idle| clock.elapsed() >= idle) {
            break;
        }
        let now = Stamp::of(path);
        if now == last && !unsettled {
            continue;
        }
        unsettled = now != last;
        last = now;
        let opened = session.open_growing(path).map_err(|error| Failure::of(path, &error));
        match opened.and_then(|file| watched.look(file, args, session)) {
            Ok(grown) => {
                trouble = None;
                if grown {
                    (unsettled, clock) = (true, Instant::now());
                }
            }
            Err(failure @ (Failure::Input(_) | Failure::Usage(_) | Failure::Refused(_))) => {
                unsettled = true;
                let text = failure.to_string();
                if trouble.as_ref() != Some(&text) && !session.quiet {
                    complain(&format!("cannot be read at the moment: {text}"));
                }
                trouble = Some(text);
            }
            Err(failure) => return Err(failure),
        }
        // A file that takes long to look at is looked at less often.
        let busy = begun.elapsed().saturating_sub(args.interval); // a bound
        if wait(busy, &stop) {
            break;
        }
    }
    if !session.json && !args.csv && !session.quiet {
        let mut out = session.text();
        writeln!(out, "{FAINT}{}{FAINT:#}", look::safe(&watched.summary()))?;
        out.flush()?;
    }
    Ok(Answer::Yes)
}

/// Returns what is to be watched: the rows of an array or a table, or a tree.
fn chosen(args: &Watch, file: File) -> Outcome<Watched> {
    let Watch { file: path, path: inside, .. } = args;
    let id = file.resolve(inside).map_err(|error| Failure::within(path, &file, &error))?;
    let group = matches!(file.source().object(id), Ok(Object::Group));
    if group && (inside == "/" || !is_array(file, inside)) {
        if args.csv {
            return Err(Failure::Usage(format!("{inside} is a group, but --csv needs an array or a table")));
        }
        return Ok(Watched::Tree(Tree::new(inside)));
    }
    Ok(Watched::Rows(Rows::default()))
}

/// Returns whether a group stands for an array or a table.
fn is_array(file: File, path: &str) -> bool {
    matches!(Dataset::new(file).meaning(path), Ok(Some(_)))
}

/// Waits, and returns whether the program is to end.
fn wait(time: Duration, stop: &Arc<AtomicBool>) -> bool {
    let begun = Instant::now();
    loop {
        if stop.load(Ordering::SeqCst) {
            return true;
        }
        let left = time.saturating_sub(begun.elapsed()); // a bound
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(STEP));
    }
}

/// What tells whether a file has changed: its length, and the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(Option<(u64, Option<SystemTime>)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok();
        Self(metadata.map(|metadata| (metadata.len(), metadata.modified().ok())))
    }
}
