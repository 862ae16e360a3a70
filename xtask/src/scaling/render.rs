//! Writes the series as a document with plots.

use std::fmt::Write as _;

use serde_json::Value;

use super::plot::{Line, plot};
use crate::bench::render::time;

/// One kind of work at several sizes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    subject: String,
    pub(crate) work: String,
    unit: String,
    growth: String,
    bound: f64,
    exponent: f64,
    points: Vec<Point>,
    /// The largest time in seconds, if there is a bound, and the largest number of bytes, for the largest
    /// size.
    goal: Option<(Option<f64>, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    size: f64,
    seconds: f64,
    /// The bytes above those of the idle process.
    peak: Option<f64>,
}

impl Series {
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let point = |point: &Value| {
            Some(Point { size: point[0].as_f64()?, seconds: point[1].as_f64()?, peak: point[2].as_f64() })
        };
        Some(Self {
            subject: text("subject")?,
            work: text("work")?,
            unit: text("unit")?,
            growth: text("growth")?,
            bound: value["bound"].as_f64()?,
            exponent: value["exponent"].as_f64()?,
            points: value["points"].as_array()?.iter().map(point).collect::<Option<_>>()?,
            goal: value["goal"][1].as_f64().map(|bytes| (value["goal"][0].as_f64(), bytes)),
        })
    }

    pub(crate) fn is_ok(&self) -> bool {
        let reached = self.goal.zip(self.points.last()).is_none_or(|((seconds, bytes), last)| {
            seconds.is_none_or(|seconds| last.seconds <= seconds)
                && last.peak.is_none_or(|peak| peak <= bytes)
        });
        reached && self.exponent <= self.bound
    }

    /// Formats the bound for the largest size.
    fn goal(&self) -> String {
        let Some((seconds, bytes)) = self.goal else { return String::new() };
        let seconds = seconds.map_or(String::new(), |seconds| format!("{}, ", time(seconds)));
        format!("≤ {seconds}{}", memory(Some(bytes)))
    }

    fn is_threads(&self) -> bool {
        self.growth == "threads"
    }
}

const HEAD: &str = "# Scaling

This document shows how time and memory grow with the number of objects, chunks, frames or bytes, over four decades, and with
the number of threads. Each point is the fastest of several runs in a process of its own. Memory is what the process takes beyond
its idle state, including the pages of mapped files. The exponent is the slope of the line through the last three points on
logarithmic axes: 0 means no growth, 1 means proportional growth, and 2 would be quadratic. Work that visits everything may reach
1.25, because large sizes do not fit into the processor's caches. Work that concerns one thing may reach 0.5, and a change of one
entry of an index may reach 0.25. A goal applies to the largest size. A number that misses its bound is bold.

Reading a gigabyte fills fresh memory, for which large pages are requested. If the free memory of the machine is in small pieces, the
system first has to move other memory to make room. The same row can then take ten times as long as in another run.

```sh
cargo xtask scaling          # measures, and writes this document and its plots; fails if an exponent is too large
cargo xtask scaling GSD      # measures one subject, and prints only to the terminal
cargo xtask scaling --render # only writes this document, from `bench/results/scaling.json`
```
";

/// Returns the whole document.
pub(crate) fn document(series: &[Series], machine: &str) -> String {
    let mut text = format!("{HEAD}\nThe machine: {machine}.\n");
    for (subject, series) in subjects(series) {
        let _ = write!(text, "\n## {subject}\n");
        for (unit, name) in pictures(subject, &series) {
            let _ = write!(text, "\n![{subject}: time and memory over {unit}](scaling/{name})\n");
        }
        text.push_str("\n| work | sizes | time | memory | goal | exponent |\n|---|---|---|---|---|---|\n");
        for one in series.iter().filter(|series| !series.is_threads()) {
            text.push_str(&row(one));
        }
        let threads: Vec<&Series> = series.into_iter().filter(|series| series.is_threads()).collect();
        if !threads.is_empty() {
            text.push_str("\n| work | threads | time |\n|---|---|---|\n");
        }
        for one in threads {
            let sizes: Vec<String> = one.points.iter().map(|point| number(point.size)).collect();
            let times: Vec<String> = one.points.iter().map(|point| time(point.seconds)).collect();
            let _ = writeln!(text, "| {} | {} | {} |", one.work, sizes.join(", "), times.join(", "));
        }
    }
    text
}

fn row(series: &Series) -> String {
    let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else {
        return String::new();
    };
    let mark = if series.is_ok() { "" } else { "**" };
    format!(
        "| {} | {} to {} {} | {} to {} | {} to {} | {} | {mark}{:.2}{mark} |\n",
        series.work,
        number(first.size),
        number(last.size),
        series.unit,
        time(first.seconds),
        time(last.seconds),
        memory(first.peak),
        memory(last.peak),
        series.goal(),
        series.exponent + 0.0
    )
}

/// Formats a number with commas between thousands.
pub(crate) fn number(size: f64) -> String {
    let digits = format!("{size:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn memory(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "?".to_owned(), |bytes| format!("{:.1} MiB", bytes / f64::from(1 << 20)))
}

/// Returns the subjects with their series, in order.
fn subjects(series: &[Series]) -> Vec<(&str, Vec<&Series>)> {
    let mut subjects: Vec<(&str, Vec<&Series>)> = Vec::new();
    for one in series {
        match subjects.iter_mut().find(|(subject, _)| *subject == one.subject) {
            Some((_, series)) => series.push(one),
            None => subjects.push((&one.subject, vec![one])),
        }
    }
    subjects
}

/// Returns a picture for work that is counted in bytes, and one for work that is counted in things: the unit,
/// and the name of the file.
fn pictures(subject: &str, series: &[&Series]) -> Vec<(&'static str, String)> {
    let has = |bytes: bool| series.iter().any(|one| !one.is_threads() && (one.unit == "bytes") == bytes);
    let name = |unit: &str| format!("{}-{unit}.svg", subject.to_lowercase());
    let all = [("things", false), ("bytes", true)].into_iter().filter(|(_, bytes)| has(*bytes));
    all.map(|(unit, _)| (unit, name(unit))).collect()
}

/// Returns the pictures by name.
pub(crate) fn plots(series: &[Series]) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    for (subject, series) in subjects(series) {
        for (unit, name) in pictures(subject, &series) {
            let chosen: Vec<&&Series> = series
                .iter()
                .filter(|one| !one.is_threads() && (one.unit == "bytes") == (unit == "bytes"))
                .collect();
            let lines = |what: fn(&Point) -> Option<f64>| {
                let points =
                    |one: &Series| one.points.iter().filter_map(|p| Some((p.size, what(p)?))).collect();
                chosen
                    .iter()
                    .map(|one| Line { label: one.work.clone(), points: points(one) })
                    .collect::<Vec<Line>>()
            };
            let times = lines(|point| Some(point.seconds));
            // A value of less than a page has no useful logarithm.
            let peaks = lines(|point| point.peak.map(|bytes| bytes.max(4096.0) / f64::from(1 << 20)));
            plots.push((name, plot(subject, unit, &[("seconds", times), ("MiB", peaks)])));
        }
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        [
            r#"{"subject":"GSD","work":"write frames","unit":"frames","growth":"linear","bound":1.25,"exponent":1.0,"points":[[10,1e-3,null],[100000,2.5,2097152]]}"#,
            r#"{"subject":"GSD","work":"read bytes","unit":"bytes","growth":"linear","bound":1.25,"exponent":2.0,"points":[[100000,1e-6,0],[1000000000,1.0,1048576]]}"#,
            r#"{"subject":"GSD","work":"unpack","unit":"threads","growth":"threads","bound":0.2,"exponent":-1.0,"points":[[1,1.0,0],[2,0.5,0]]}"#,
        ]
        .map(|line| Series::parse(&serde_json::from_str(line).unwrap()).unwrap())
        .to_vec()
    }

    #[test]
    fn the_document_has_rows_and_links_to_the_plots() {
        let text = document(&series(), "cores 2");
        for line in [
            "The machine: cores 2.",
            "![GSD: time and memory over things](scaling/gsd-things.svg)",
            "![GSD: time and memory over bytes](scaling/gsd-bytes.svg)",
            "| write frames | 10 to 100,000 frames | 1.0 ms to 2.50 s | ? to 2.0 MiB |  | 1.00 |",
            "| read bytes | 100,000 to 1,000,000,000 bytes | 1 µs to 1.00 s | 0.0 MiB to 1.0 MiB |  | **2.00** |",
            "| unpack | 1, 2 | 1.00 s, 500 ms |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nin\n{text}");
        }
    }

    #[test]
    fn plots_have_the_names_that_the_document_links_to() {
        let names: Vec<String> = plots(&series()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["gsd-things.svg", "gsd-bytes.svg"]);
    }
}
