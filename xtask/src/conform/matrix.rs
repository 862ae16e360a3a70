//! What a conformance run found, as a table: a row for each group of cases, a column for each direction.

use std::fmt::Write as _;

use crate::counts::Counts;

/// Which way the files went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    TheyReadOurs,
    WeReadTheirs,
    Manifest,
}

const COLUMNS: [(Column, &str); 3] = [
    (Column::TheyReadOurs, "they read ours"),
    (Column::WeReadTheirs, "we read theirs"),
    (Column::Manifest, "manifest"),
];

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
    pub(crate) outcome: Outcome,
}

impl Check {
    pub(crate) fn passed(case: &str) -> Self {
        Self { case: case.to_owned(), outcome: Outcome::Passed }
    }

    pub(crate) fn failed(case: &str, why: &str) -> Self {
        Self { case: case.to_owned(), outcome: Outcome::Failed(why.to_owned()) }
    }

    pub(crate) fn skipped(case: &str, reason: &str) -> Self {
        Self { case: case.to_owned(), outcome: Outcome::Skipped(reason.to_owned()) }
    }

    fn group(&self) -> &str {
        self.case.split(": ").next().unwrap_or(&self.case)
    }
}

/// All checks of one format.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    checks: Vec<(Column, Check)>,
}

impl Matrix {
    pub(crate) fn add(&mut self, column: Column, check: Check) {
        self.checks.push((column, check));
    }

    pub(crate) fn counts(&self) -> Counts {
        self.count(|_, _| true)
    }

    fn count(&self, choose: impl Fn(Column, &Check) -> bool) -> Counts {
        let mut counts = Counts::default();
        for (_, check) in self.checks.iter().filter(|(column, check)| choose(*column, check)) {
            match check.outcome {
                Outcome::Passed => counts.passed += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::Skipped(_) => counts.skipped += 1,
            }
        }
        counts
    }

    /// The table, then a line for each check that failed or was skipped.
    pub(crate) fn render(&self, title: &str) -> String {
        let mut groups: Vec<&str> = Vec::new();
        for (_, check) in &self.checks {
            if !groups.contains(&check.group()) {
                groups.push(check.group());
            }
        }
        let width = groups.iter().map(|group| group.chars().count()).chain([title.len()]).max().unwrap_or(0);
        let mut text = format!("\n{title:width$}");
        for (_, head) in COLUMNS {
            let _ = write!(text, "  {head:>16}");
        }
        text.push('\n');
        for group in groups {
            let _ = write!(text, "{group:width$}");
            for (column, _) in COLUMNS {
                let cell = cell(self.count(|c, check| c == column && check.group() == group));
                let _ = write!(text, "  {cell:>16}");
            }
            text.push('\n');
        }
        for (column, check) in &self.checks {
            let head = COLUMNS.iter().find(|(c, _)| c == column).map_or("", |(_, head)| head);
            let _ = match &check.outcome {
                Outcome::Passed => Ok(()),
                Outcome::Failed(why) => writeln!(text, "FAILED  {head}: {}: {why}", check.case),
                Outcome::Skipped(reason) => writeln!(text, "SKIPPED {head}: {}: {reason}", check.case),
            };
        }
        text
    }
}

/// `12 ok`, `11/12 FAILED`, `3 skipped`, or nothing.
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
    fn groups_are_rows_and_directions_columns() {
        let mut matrix = Matrix::default();
        matrix.add(Column::TheyReadOurs, Check::passed("types: f4"));
        matrix.add(Column::TheyReadOurs, Check::passed("types: f8"));
        matrix.add(Column::WeReadTheirs, Check::failed("types: f4", "3 is not 4"));
        matrix.add(Column::WeReadTheirs, Check::skipped("lz4: blocks", "no lz4"));
        assert_eq!(matrix.counts(), Counts { passed: 2, failed: 1, skipped: 1 });
        let text = matrix.render("gsd");
        let lines: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["types", "2", "ok", "0/1", "FAILED", "·"]);
        assert_eq!(lines[2], ["lz4", "·", "1", "skipped", "·"]);
        assert!(text.contains("FAILED  we read theirs: types: f4: 3 is not 4"));
        assert!(text.contains("SKIPPED we read theirs: lz4: blocks: no lz4"));
    }
}
