//! The table of the ends of writers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::CRASHES;
use crate::formats::FORMATS;

/// The start of a line about ends of writers.
const MARK: &str = "crash matrix: ";

/// The columns: their names in the lines, and their heads.
const KINDS: [(&str, &str); 9] = [
    ("prefixes", "prefix"),
    ("torn", "torn"),
    ("reordered", "reordered"),
    ("kills", "SIGKILL"),
    ("full disks", "full disk"),
    ("failing devices", "failing disk"),
    ("interleavings", "second writer"),
    ("truncations", "truncation while reading"),
    ("rescues", "rescue"),
];

/// What lines call the formats, and how the table does: those with conformance checks, and NumPy's.
fn titles() -> Vec<(&'static str, &'static str)> {
    FORMATS.iter().map(|format| (format.name, format.title)).chain([("npy", "npy")]).collect()
}

/// Counts by format (in the order of [`titles`]) and operation.
type Table = BTreeMap<(usize, String), [u64; KINDS.len()]>;

/// Returns the section that summarises the lines that tests printed. Other lines are ignored.
pub(super) fn section(told: &[String]) -> String {
    let heads = KINDS.map(|(_, head)| head).join(" | ");
    let mut text =
        format!("{CRASHES}\n| format | operation | {heads} |\n|---|---|{}\n", "--:|".repeat(KINDS.len()));
    let mut sums = [0; KINDS.len()];
    for ((format, operation), counts) in table(told) {
        let title = titles().get(format).map_or("", |(_, title)| title);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {title} | {operation} | {} |", counts.map(cell).join(" | "));
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let _ = writeln!(text, "| **all** | | {} |", sums.map(cell).join(" | "));
    text
}

fn table(told: &[String]) -> Table {
    let mut table = Table::new();
    for line in told {
        let Some((_, line)) = line.split_once(MARK) else { continue };
        let mut parts = line.splitn(3, ": ");
        let (Some(name), Some(operation), Some(counts)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let Some(format) = titles().iter().position(|(known, _)| *known == name) else { continue };
        let row = table.entry((format, operation.to_owned())).or_default();
        for part in counts.split(", ") {
            let Some((count, kind)) = part.split_once(' ') else { continue };
            let at = KINDS.iter().position(|(known, _)| *known == kind);
            if let (Some(at), Ok(count)) = (at, count.parse::<u64>()) {
                row[at] += count;
            }
        }
    }
    table
}

fn cell(count: u64) -> String {
    if count == 0 { "·".to_owned() } else { count.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_same_operation_are_one_row() {
        let told = [
            "a_test: crash matrix: gsd: appended frames: 12 prefixes, 3 torn, 40 reordered",
            "other: crash matrix: gsd: appended frames: 200 kills",
            "other: crash matrix: gsd: appended frames: 1000 interleavings",
            "other: 7 files compared",
            "third: crash matrix: hdf5: streams: 5 full disks",
            "third: crash matrix: hdf5: files read: 100 truncations",
            "fourth: crash matrix: asdf: rescue: 90 rescues",
            "third: crash matrix: hdf5: streams: 6 full disks, 1 failing devices",
        ]
        .map(str::to_owned);
        let text = section(&told);
        let rows: Vec<&str> = text.lines().rev().take(5).collect();
        assert_eq!(
            rows,
            [
                "| **all** | | 12 | 3 | 40 | 200 | 11 | 1 | 1000 | 100 | 90 |",
                "| GSD | appended frames | 12 | 3 | 40 | 200 | · | · | 1000 | · | · |",
                "| ASDF | rescue | · | · | · | · | · | · | · | · | 90 |",
                "| HDF5 | streams | · | · | · | · | 11 | 1 | · | · | · |",
                "| HDF5 | files read | · | · | · | · | · | · | · | 100 | · |",
            ]
        );
    }
}
