//! The results of a conformance run as a table, with one row per group of cases and one column per way of a
//! file.

use std::fmt::Write as _;

use crate::counts::Counts;

/// The way of a file between the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    WeReadTheirs,
    TheyReadOurs,
    /// Either side wrote it, and we changed it.
    EditedHere,
    /// Either side wrote it, and the other side changed it.
    EditedThere,
}

/// The columns, and their names in check lines.
pub(crate) const WAYS: [(Way, &str); 4] = [
    (Way::WeReadTheirs, "we read theirs"),
    (Way::TheyReadOurs, "they read ours"),
    (Way::EditedHere, "edited here"),
    (Way::EditedThere, "edited there"),
];

impl Way {
    /// Returns the way that a check line names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        WAYS.iter().find(|(_, known)| *known == name).map(|(way, _)| *way)
    }

    fn name(self) -> &'static str {
        WAYS.iter().find(|(way, _)| *way == self).map_or("", |(_, name)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// One check; the case is `GROUP: detail`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) case: String,
    /// The way that the line names; otherwise it is that of the step.
    pub(crate) way: Option<Way>,
    pub(crate) outcome: Outcome,
}

impl Check {
    pub(crate) fn new(case: &str, outcome: Outcome) -> Self {
        Self { case: case.to_owned(), way: None, outcome }
    }

    pub(crate) fn passed(case: &str) -> Self {
        Self::new(case, Outcome::Passed)
    }

    pub(crate) fn failed(case: &str, why: &str) -> Self {
        Self::new(case, Outcome::Failed(why.to_owned()))
    }

    pub(crate) fn skipped(case: &str, reason: &str) -> Self {
        Self::new(case, Outcome::Skipped(reason.to_owned()))
    }

    fn group(&self) -> &str {
        self.case.split(": ").next().unwrap_or(&self.case)
    }

    fn counted(&self) -> Counts {
        let mut counts = Counts::default();
        match self.outcome {
            Outcome::Passed => counts.passed = 1,
            Outcome::Failed(_) => counts.failed = 1,
            Outcome::Skipped(_) => counts.skipped = 1,
        }
        counts
    }
}

/// A program or library of the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The name, with the version if it is the same on every machine.
    pub(crate) name: String,
    /// The version, if it differs between machines.
    pub(crate) varies: Option<String>,
}

/// All checks of one format.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    checks: Vec<(Way, Check)>,
    pub(crate) peers: Vec<Peer>,
}

impl Matrix {
    /// Adds a check; if it names no way, it gets this one.
    pub(crate) fn add(&mut self, way: Way, check: Check) {
        self.checks.push((check.way.unwrap_or(way), check));
    }

    /// Adds the results of another part of the run.
    pub(crate) fn append(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.peers.extend(other.peers);
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.checks.iter().for_each(|(_, check)| counts += check.counted());
        counts
    }

    /// Returns the rows and their counts, one per way. `title` returns the title of a group, and `place`
    /// orders the rows. Rows with the same place keep their original order.
    pub(crate) fn rows<'a>(
        &'a self,
        title: impl Fn(&'a str) -> &'a str,
        place: impl Fn(&str) -> usize,
    ) -> Vec<(&'a str, [Counts; 4])> {
        let mut rows: Vec<(&str, [Counts; 4])> = Vec::new();
        for (way, check) in &self.checks {
            let title = title(check.group());
            let at = rows.iter().position(|(row, _)| *row == title).unwrap_or_else(|| {
                rows.push((title, [Counts::default(); 4]));
                rows.len() - 1
            });
            for (count, _) in rows[at].1.iter_mut().zip(WAYS).filter(|(_, (column, _))| column == way) {
                *count += check.counted();
            }
        }
        rows.sort_by_key(|(title, _)| place(title));
        rows
    }

    /// Returns the table, followed by one line per check that failed or was skipped.
    pub(crate) fn render(&self, format: &str) -> String {
        let rows = self.rows(|group| group, |_| 0);
        let names = rows.iter().map(|(name, _)| name.chars().count());
        let width = names.chain([format.len()]).max().unwrap_or(0);
        let mut text = format!("\n{format:width$}");
        for (_, head) in WAYS {
            let _ = write!(text, "  {head:>16}");
        }
        text.push('\n');
        for (name, counts) in rows {
            let _ = write!(text, "{name:width$}");
            for counts in counts {
                let _ = write!(text, "  {:>16}", cell(counts));
            }
            text.push('\n');
        }
        for (way, check) in &self.checks {
            let head = way.name();
            let _ = match &check.outcome {
                Outcome::Passed => Ok(()),
                Outcome::Failed(why) => writeln!(text, "FAILED  {head}: {}: {why}", check.case),
                Outcome::Skipped(reason) => writeln!(text, "SKIPPED {head}: {}: {reason}", check.case),
            };
        }
        text
    }
}

/// Formats a cell: `12 ok`, `11/12 FAILED`, `3 skipped`, or nothing.
fn cell(counts: Counts) -> String {
    let Counts { passed, failed, skipped } = counts;
    match (passed, failed, skipped) {
        (0, 0, 0) => "·".to_owned(),
        (passed, 0, 0) => format!("{passed} ok"),
        (0, 0, skipped) => format!("{skipped} skipped"),
        (passed, 0, skipped) => format!("{passed} ok, {skipped} sk."),
        _ => format!("{passed}/{} FAILED", counts.total()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_rows_and_ways_columns() {
        let mut matrix = Matrix::default();
        matrix.add(Way::TheyReadOurs, Check::passed("types: f4"));
        matrix.add(Way::TheyReadOurs, Check::passed("types: f8"));
        matrix.add(
            Way::TheyReadOurs,
            Check { way: Some(Way::EditedThere), ..Check::passed("types: f8 again") },
        );
        matrix.add(Way::WeReadTheirs, Check::failed("types: f4", "3 is not 4"));
        matrix.add(Way::WeReadTheirs, Check::skipped("lz4: blocks", "no lz4"));
        assert_eq!(matrix.counts(), Counts { passed: 3, failed: 1, skipped: 1 });
        let text = matrix.render("gsd");
        let lines: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["types", "0/1", "FAILED", "2", "ok", "·", "1", "ok"]);
        assert_eq!(lines[2], ["lz4", "1", "skipped", "·", "·", "·"]);
        assert!(text.contains("FAILED  we read theirs: types: f4: 3 is not 4"));
        assert!(text.contains("SKIPPED we read theirs: lz4: blocks: no lz4"));
    }

    #[test]
    fn rows_may_hold_several_groups_and_have_an_order() {
        let mut matrix = Matrix::default();
        for case in ["b: 1", "a: 1", "c: 1", "a: 2"] {
            matrix.add(Way::EditedHere, Check::passed(case));
        }
        let rows = matrix.rows(|group| if group == "c" { "b" } else { group }, |row| usize::from(row == "b"));
        let passed: Vec<(&str, u64)> = rows.iter().map(|(row, counts)| (*row, counts[2].passed)).collect();
        assert_eq!(passed, [("a", 2), ("b", 2)]);
    }
}
