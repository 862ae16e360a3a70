//! The rows as lines of JSON, for those who publish them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Place;
use crate::table::{Row, median};
use crate::worker::Measured;

/// The environment variable that names the file.
const RECORD: &str = "SCIFORMATS_BENCH_RECORD";

/// Adds the rows of a case to the file, if there is one: what has been measured outlives a run that is broken off.
pub(crate) fn keep(rows: &[Row]) -> io::Result<()> {
    let Some(path) = path() else { return Ok(()) };
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text(rows.iter().map(line)).as_bytes())
}

/// The cases that the file has rows of.
pub(crate) fn cases() -> io::Result<Vec<String>> {
    match path().map(fs::read_to_string) {
        Some(Ok(text)) => Ok(names(&text)),
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(Vec::new()),
    }
}

/// Writes lines, if somebody asks for it.
pub(crate) fn write(lines: &[Value]) -> io::Result<()> {
    path().map_or(Ok(()), |path| fs::write(path, text(lines.iter().cloned())))
}

fn path() -> Option<PathBuf> {
    std::env::var_os(RECORD).map(PathBuf::from)
}

fn text(lines: impl Iterator<Item = Value>) -> String {
    lines.map(|line| format!("{line}\n")).collect()
}

/// The names of the cases in lines; a line that was cut has none.
fn names(lines: &str) -> Vec<String> {
    let name = |line| serde_json::from_str::<Value>(line).ok()?["case"].as_str().map(str::to_owned);
    lines.lines().filter_map(name).collect()
}

fn line(row: &Row) -> Value {
    let mut line = json!({ "case": row.case, "goal": row.goal, "peer": row.peer });
    if let Some(Place { table, row, column }) = &row.place {
        line["place"] = json!([table, row, column]);
    }
    match &row.pairs {
        Err(reason) => line["error"] = json!(reason),
        Ok(pairs) => {
            let mut ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio()).collect();
            ratios.sort_by(f64::total_cmp);
            let ends =
                (ratios.first().copied().unwrap_or(f64::NAN), ratios.last().copied().unwrap_or(f64::NAN));
            let middle = median(ratios.into_iter());
            line["ratio"] = json!([short(middle), short(ends.0), short(ends.1)]);
            line["ours"] = side(&mut pairs.iter().map(|pair| pair.ours));
            line["theirs"] = side(&mut pairs.iter().map(|pair| pair.peer));
        }
    }
    line
}

/// The median of the seconds and the most of the memory.
fn side(measured: &mut dyn Iterator<Item = Measured>) -> Value {
    let measured: Vec<Measured> = measured.collect();
    let seconds = median(measured.iter().map(|one| one.seconds));
    json!([short(seconds), measured.iter().filter_map(|one| one.peak).max()])
}

/// Five digits: there is no truth in more.
pub(crate) fn short(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Pair;

    #[test]
    fn a_case_of_a_whole_line_is_measured_a_cut_line_is_nothing() {
        let lines = "{\"case\":\"a\",\"goal\":1.0}\n{\"case\":\"b\"}\n{\"case\":\"c";
        assert_eq!(names(lines), ["a", "b"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn a_line_has_the_medians_the_ends_and_the_place() {
        let measured = |seconds, peak| Measured { seconds, peak };
        let pairs = [(1.0, 2.0), (1.0, 1.0), (3.000_001, 1.0)]
            .map(|(ours, peer)| Pair { ours: measured(ours, Some(7)), peer: measured(peer, None) });
        let place = Some(Place { table: "t".to_owned(), row: "r".to_owned(), column: String::new() });
        let row =
            Row { case: "c".to_owned(), goal: 0.9, peer: "p".to_owned(), place, pairs: Ok(pairs.to_vec()) };
        let expected = json!({
            "case": "c", "goal": 0.9, "peer": "p", "place": ["t", "r", ""],
            "ratio": [1.0, 0.5, 3.0], "ours": [1.0, 7], "theirs": [1.0, null],
        });
        assert_eq!(line(&row), expected);
        let row = Row { place: None, pairs: Err("why".to_owned()), ..row };
        assert_eq!(line(&row), json!({ "case": "c", "goal": 0.9, "peer": "p", "error": "why" }));
    }
}
