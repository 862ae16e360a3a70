//! Medians, ratios and the table that shows them.

use std::fmt::Write as _;

use crate::Place;
use crate::worker::Measured;

/// One round: ours and the peer, one directly after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    pub(crate) ours: Measured,
    pub(crate) peer: Measured,
}

impl Pair {
    pub(crate) fn ratio(&self) -> f64 {
        self.ours.seconds / self.peer.seconds
    }
}

/// A case against one peer: the rounds, or why there are none.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) goal: f64,
    pub(crate) peer: String,
    pub(crate) place: Option<Place>,
    pub(crate) pairs: Result<Vec<Pair>, String>,
}

/// What a row amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Missed,
    NotRun,
}

impl Row {
    pub(crate) fn is_ok(&self) -> bool {
        self.verdict() == Verdict::Ok
    }

    fn verdict(&self) -> Verdict {
        match &self.pairs {
            Ok(pairs) if !pairs.is_empty() && median(pairs.iter().map(Pair::ratio)) <= self.goal => {
                Verdict::Ok
            }
            Ok(pairs) if !pairs.is_empty() => Verdict::Missed,
            _ => Verdict::NotRun,
        }
    }

    /// The cells after case, goal and peer.
    fn cells(&self) -> Vec<String> {
        let pairs = match &self.pairs {
            Ok(pairs) => pairs,
            Err(reason) => return vec![format!("not run: {reason}")],
        };
        let ratios = || pairs.iter().map(Pair::ratio);
        let (low, high) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        let verdict = if self.is_ok() { "ok" } else { "MISSED" };
        vec![
            format!("{:.2}", median(ratios())),
            format!("{low:.2}–{high:.2}"),
            time(median(pairs.iter().map(|pair| pair.ours.seconds))),
            time(median(pairs.iter().map(|pair| pair.peer.seconds))),
            memory(pairs.iter().filter_map(|pair| pair.ours.peak).max()),
            memory(pairs.iter().filter_map(|pair| pair.peer.peak).max()),
            verdict.to_owned(),
        ]
    }
}

/// The middle value; the mean of the two middle ones if their number is even; not a number if there are none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len() % 2, values.get(middle), middle.checked_sub(1).and_then(|below| values.get(below))) {
        (1, Some(value), _) => *value,
        (0, Some(above), Some(below)) => f64::midpoint(*above, *below),
        _ => f64::NAN,
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn memory(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "?".to_owned(), |bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)))
}

const HEADS: [&str; 10] =
    ["case", "goal", "peer", "ratio", "min–max", "ours", "peer", "ours peak", "peer peak", ""];

/// The rows below their heads, in columns, and a line that counts.
pub(crate) fn render(title: &str, rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![HEADS.iter().map(|head| (*head).to_owned()).collect()];
    for row in rows {
        let mut line = vec![row.case.clone(), format!("≤ {:.2}", row.goal), row.peer.clone()];
        line.extend(row.cells());
        lines.push(line);
    }
    let width = |column: usize| {
        let whole = lines.iter().filter(|line| line.len() == HEADS.len());
        whole.filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let mut text = format!("\n{title}\n");
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let (ok, missed, not_run) = (count(Verdict::Ok), count(Verdict::Missed), count(Verdict::NotRun));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{ok} ok, {missed} missed, {not_run} not run");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ours: f64, peer: f64) -> Pair {
        let measured = |seconds| Measured { seconds, peak: Some(3 << 20) };
        Pair { ours: measured(ours), peer: measured(peer) }
    }

    fn row(goal: f64, pairs: Result<Vec<Pair>, String>) -> Row {
        Row { case: "read".to_owned(), goal, peer: "numpy".to_owned(), place: None, pairs }
    }

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
        assert!(median([].into_iter()).is_nan());
    }

    #[test]
    fn the_median_of_the_ratios_meets_the_goal_or_misses_it() {
        let pairs = vec![pair(1.0, 2.0), pair(1.0, 1.0), pair(4.0, 1.0)];
        assert_eq!(row(1.0, Ok(pairs.clone())).verdict(), Verdict::Ok);
        assert_eq!(row(0.9, Ok(pairs)).verdict(), Verdict::Missed);
        assert_eq!(row(1.0, Ok(Vec::new())).verdict(), Verdict::NotRun);
        assert_eq!(row(1.0, Err("no Python".to_owned())).verdict(), Verdict::NotRun);
    }

    #[test]
    fn the_table_shows_ratio_times_memory_and_what_did_not_run() {
        let rows = [row(1.0, Ok(vec![pair(0.0015, 0.003)])), row(1.0, Err("no Python".to_owned()))];
        let text = render("gsd", &rows);
        for part in [
            "≤ 1.00",
            "0.50–0.50",
            "1.5 ms",
            "3.0 ms",
            "3.0 MiB",
            "not run: no Python",
            "1 ok, 0 missed, 1 not run",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
