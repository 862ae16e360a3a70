//! How time and memory grow with the size of what is worked on.
//!
//! Each work is done at several sizes, each in a process of its own, after another process has prepared what it reads.
//! It is repeated as often as a short time allows, and the fastest counts: what else the machine does can only add. How
//! it grows is the slope of the line through the last three points, both axes being logarithms: 1 is in proportion,
//! 2 is quadratic, 0 is not at all.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::worker::{self, Worker};
use crate::{Outcome, Watch, folder, record};

/// How a work may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// The same for all sizes, or with their logarithm.
    Little,
    /// As the way from the root of an index to one of its entries.
    Way,
    /// In proportion.
    Linear,
    /// The sizes are numbers of threads, and it shrinks.
    Threads,
}

impl Growth {
    /// The largest exponent that is taken for this. Small sizes fit into caches and large ones do not, which adds to it.
    fn bound(self) -> f64 {
        match self {
            Self::Little => 0.5,
            Self::Way => 0.25,
            Self::Linear => 1.25,
            Self::Threads => 0.2,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Little => "little",
            Self::Way => "way",
            Self::Linear => "linear",
            Self::Threads => "threads",
        }
    }
}

type Prepare = fn(&Path, u64) -> Outcome;
type Work = Box<dyn Fn(&Path, u64, &mut Watch) -> Outcome>;

/// One work at several sizes.
pub struct Series {
    name: &'static str,
    unit: &'static str,
    growth: Growth,
    sizes: Vec<u64>,
    /// The most seconds, if they are bounded, and bytes of memory that the largest size may take.
    goal: Option<(Option<f64>, u64)>,
    prepare: Option<Prepare>,
    work: Work,
}

impl Series {
    /// Over four decades, up to `most` of `unit`.
    pub fn new(
        name: &'static str,
        (most, unit): (u64, &'static str),
        growth: Growth,
        work: impl Fn(&Path, u64, &mut Watch) -> Outcome + 'static,
    ) -> Self {
        let sizes = (0..5).rev().map(|decade| most / 10u64.pow(decade)).collect();
        Self { name, unit, growth, sizes, goal: None, prepare: None, work: Box::new(work) }
    }

    /// With one thread, two, four, up to as many as the machine has.
    pub fn threads(name: &'static str, work: impl Fn(&Path, u64, &mut Watch) -> Outcome + 'static) -> Self {
        let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
        let mut sizes: Vec<u64> =
            std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < most).collect();
        sizes.push(most);
        Self {
            name,
            unit: "threads",
            growth: Growth::Threads,
            sizes,
            goal: None,
            prepare: None,
            work: Box::new(work),
        }
    }

    /// From a size that is smaller by decades.
    #[must_use]
    pub fn from(mut self, least: u64) -> Self {
        while let Some(&first) = self.sizes.first().filter(|&&first| first / 10 >= least) {
            self.sizes.insert(0, first / 10);
        }
        self
    }

    /// What the largest size may take: seconds, and bytes of memory.
    #[must_use]
    pub fn within(mut self, seconds: f64, bytes: u64) -> Self {
        self.goal = Some((Some(seconds), bytes));
        self
    }

    /// What memory the largest size may take, in bytes.
    #[must_use]
    pub fn within_memory(mut self, bytes: u64) -> Self {
        self.goal = Some((None, bytes));
        self
    }

    /// Runs once for each size, in another process: writes what the work reads.
    #[must_use]
    pub fn prepare(mut self, prepare: Prepare) -> Self {
        self.prepare = Some(prepare);
        self
    }
}

/// What one size took.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    size: u64,
    seconds: f64,
    peak: Option<u64>,
}

/// All series, by what they are about.
#[derive(Default)]
pub struct Scaling(Vec<(&'static str, Series)>);

/// The name of the process that prepares.
const PREPARE: &str = "prepare";
/// How long a point is repeated, and when it is not repeated any more.
const ENOUGH: f64 = 0.05;
const TOO_LONG: f64 = 0.7;

impl Scaling {
    /// Series more.
    #[must_use]
    pub fn subject(mut self, subject: &'static str, series: impl IntoIterator<Item = Series>) -> Self {
        self.0.extend(series.into_iter().map(|series| (subject, series)));
        self
    }

    /// The program. A word chooses the subjects whose names contain it.
    ///
    /// Status 0 if nothing grows faster than it may, 1 otherwise.
    pub fn main(self) -> ExitCode {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let ["--worker", size, folder] = words.as_slice() {
            return worker::serve(|case, watch| self.one(case, size, Path::new(folder), watch));
        }
        match self.measure(words.first().copied().unwrap_or("")) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    /// The worker's side. A case is the number of a series; the process that prepares has the size behind it.
    fn one(&self, case: &str, size: &str, folder: &Path, watch: &mut Watch) -> Outcome {
        let (number, prepared) = case.split_once(' ').unwrap_or((case, size));
        let (_, series) = self.0.get(number.parse::<usize>()?).ok_or("no such series")?;
        match (size, series.prepare) {
            (PREPARE, Some(prepare)) => watch.time(|| prepare(folder, prepared.parse()?)),
            _ => (series.work)(folder, size.parse()?, watch),
        }
    }

    /// Whether nothing grows faster than it may.
    fn measure(&self, filter: &str) -> Result<bool, String> {
        let place = folder("scaling");
        let mut lines = Vec::new();
        let mut good = true;
        for (number, (subject, series)) in self.0.iter().enumerate() {
            if !subject.contains(filter) {
                continue;
            }
            let place = place.join(subject);
            std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
            let mut points = series.points(number, &place)?;
            let bound = series.growth.bound();
            if exponent(&points) > bound || !series.reaches(&points) {
                // What the machine did besides is not there twice.
                let again = series.points(number, &place)?;
                for (point, again) in points.iter_mut().zip(again) {
                    point.seconds = point.seconds.min(again.seconds);
                }
            }
            let exponent = exponent(&points);
            good &= exponent <= bound && series.reaches(&points);
            println!("{}", series.shown(subject, exponent, &points));
            lines.push(series.line(subject, exponent, &points));
            if self.0.get(number + 1).is_none_or(|(next, _)| next != subject) {
                // What is left of it is rubbish in a folder for such.
                let _ = std::fs::remove_dir_all(&place);
            }
        }
        let _ = std::fs::remove_dir_all(&place);
        record::write(&lines).map_err(|error| error.to_string())?;
        Ok(good)
    }
}

impl Series {
    fn points(&self, number: usize, place: &Path) -> Result<Vec<Point>, String> {
        let fault = |error| format!("{}: {error}", self.name);
        self.sizes.iter().map(|size| self.point(number, *size, place).map_err(fault)).collect()
    }

    fn point(&self, number: usize, size: u64, place: &Path) -> Result<Point, String> {
        if self.prepare.is_some() {
            Worker::rust(PREPARE, place, false)?.run(&format!("{number} {size}"))?;
        }
        let mut worker = Worker::rust(&size.to_string(), place, false)?;
        let mut point = Point { size, seconds: f64::INFINITY, peak: None };
        let (mut total, mut runs) = (0.0, 0);
        while total < TOO_LONG && (total < ENOUGH || runs < 3) && runs < 1000 {
            let measured = worker.run(&number.to_string())?;
            point.seconds = point.seconds.min(measured.seconds);
            point.peak = point.peak.max(measured.peak);
            (total, runs) = (total + measured.seconds, runs + 1);
        }
        Ok(point)
    }

    /// Whether the largest size takes no more than it may.
    fn reaches(&self, points: &[Point]) -> bool {
        let (Some((seconds, bytes)), Some(last)) = (self.goal, points.last()) else { return true };
        seconds.is_none_or(|seconds| last.seconds <= seconds) && last.peak.is_none_or(|peak| peak <= bytes)
    }

    fn line(&self, subject: &str, exponent: f64, points: &[Point]) -> Value {
        let points: Vec<Value> =
            points.iter().map(|p| json!([p.size, record::short(p.seconds), p.peak])).collect();
        json!({
            "subject": subject, "work": self.name, "unit": self.unit, "growth": self.growth.word(),
            "bound": self.growth.bound(), "exponent": record::short(exponent), "points": points,
            "goal": self.goal.map(|(seconds, bytes)| json!([seconds, bytes])),
        })
    }

    fn shown(&self, subject: &str, exponent: f64, points: &[Point]) -> String {
        let verdict = match (exponent <= self.growth.bound(), self.reaches(points)) {
            (false, _) => "  GROWS TOO FAST",
            (true, false) => "  TAKES TOO MUCH",
            (true, true) => "",
        };
        let times: Vec<String> = points.iter().map(|point| format!("{:9.3e}", point.seconds)).collect();
        let peak = points.last().and_then(|point| point.peak).unwrap_or(0);
        let mebibytes = peak as f64 / f64::from(1 << 20);
        format!(
            "{subject:12} {:45} {} ^{exponent:5.2} {mebibytes:7.1} MiB{verdict}",
            self.name,
            times.join(" ")
        )
    }
}

/// The slope of the line through the last three points; that of two, if there are two; 0 of one.
fn exponent(points: &[Point]) -> f64 {
    let last = points.get(points.len().saturating_sub(3)..).unwrap_or_default();
    let logarithms = || last.iter().map(|point| ((point.size as f64).ln(), point.seconds.ln()));
    let count = last.len() as f64;
    let (x, y) = logarithms().fold((0.0, 0.0), |(x, y), (a, b)| (x + a / count, y + b / count));
    let (above, below) = logarithms()
        .fold((0.0, 0.0), |(above, below), (a, b)| (above + (a - x) * (b - y), below + (a - x) * (a - x)));
    if below == 0.0 { 0.0 } else { above / below }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[f64]) -> Vec<Point> {
        let sizes = [1, 10, 100, 1000, 10_000].into_iter();
        sizes.zip(times).map(|(size, seconds)| Point { size, seconds: *seconds, peak: None }).collect()
    }

    #[test]
    fn the_exponent_is_that_of_the_largest_sizes() {
        let close = |times: &[f64], expected: f64| (exponent(&points(times)) - expected).abs() < 1e-9;
        assert!(close(&[9.0, 9.0, 1.0, 10.0, 100.0], 1.0));
        assert!(close(&[1.0, 1.0, 1.0, 100.0, 10_000.0], 2.0));
        assert!(close(&[1.0, 5.0, 7.0, 7.0, 7.0], 0.0));
        assert!(close(&[2.0, 1.0], -(2f64.log10())));
        assert!(close(&[2.0], 0.0));
    }

    #[test]
    fn sizes_are_decades_and_threads_end_with_all() {
        let series = Series::new("a", (100_000, "objects"), Growth::Linear, |_, _, _| Ok(()));
        assert_eq!(series.sizes, [10, 100, 1000, 10_000, 100_000]);
        let series = Series::new("a", (1_000_000, "objects"), Growth::Way, |_, _, _| Ok(())).from(10);
        assert_eq!(series.sizes, [10, 100, 1000, 10_000, 100_000, 1_000_000]);
        let series = Series::threads("a", |_, _, _| Ok(()));
        assert_eq!(series.sizes[0], 1);
        assert!(series.sizes.is_sorted());
    }

    #[test]
    fn the_largest_size_may_take_so_much() {
        let series = Series::new("a", (10_000, "objects"), Growth::Way, |_, _, _| Ok(())).within(2.0, 8);
        assert!(series.reaches(&points(&[9.0, 9.0, 9.0, 9.0, 2.0])));
        assert!(!series.reaches(&points(&[1.0, 1.0, 1.0, 1.0, 2.1])));
        assert!(!series.reaches(&[Point { size: 1, seconds: 1.0, peak: Some(9) }]));
    }

    #[test]
    fn a_worker_prepares_or_works() {
        let series = Series::new("a", (100_000, "objects"), Growth::Linear, |_, size, watch| {
            watch.time(|| if size == 10 { Ok(()) } else { Err("another size".into()) })
        });
        let scaling = Scaling::default().subject(
            "s",
            [series.prepare(|_, size| if size == 7 { Ok(()) } else { Err("another size".into()) })],
        );
        let here = Path::new(".");
        let run = |case, size| scaling.one(case, size, here, &mut Watch::default());
        assert!(run("0", "10").is_ok() && run("0 7", PREPARE).is_ok());
        assert!(run("0", "11").is_err() && run("0 8", PREPARE).is_err() && run("1", "10").is_err());
    }
}
