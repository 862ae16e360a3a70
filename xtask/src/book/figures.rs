//! Compares the figures that the book quotes with the documents that they are from.
//!
//! A table with the columns of [`HEAD`] quotes `docs/benchmarks.md`: its rows name a section, a row and a column there, and
//! have the ratio with its smallest and largest value. `cargo xtask book --renew` writes the last column.

use std::fs;
use std::path::Path;

use super::read;
use crate::sh::{About, Result};

/// The page with such tables.
const PAGE: &str = "comparison.md";

/// The document that is quoted.
const SOURCE: &str = "benchmarks.md";

/// The first line of a table that quotes.
const HEAD: &str = "| format | what is measured | beside | our time ÷ theirs |";

/// Compares all quoted figures, or with `renew` writes them.
pub(crate) fn check(docs: &Path, renew: bool) -> Result {
    let (path, source) = (docs.join(PAGE), read(&docs.join(SOURCE))?);
    let page = read(&path)?;
    let (text, rows, wrong) = quoted(&page, &measured(&source));
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    if text != page {
        if !renew {
            let message =
                "has figures that docs/benchmarks.md no longer has; `cargo xtask book --renew` writes it";
            return Err(format!("docs/{PAGE} {message}").into());
        }
        fs::write(&path, text).about(&path)?;
    }
    println!("{rows} figures are those of docs/{SOURCE}");
    Ok(())
}

/// A cell of the benches.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Measured {
    section: String,
    /// The smaller heading above its table.
    part: String,
    row: String,
    peer: String,
    /// The ratio, and in parentheses the smallest and the largest one.
    ratio: String,
}

/// The cells of all tables that compare.
fn measured(document: &str) -> Vec<Measured> {
    let (mut section, mut part, mut head) = (String::new(), String::new(), Vec::new());
    let mut row = String::new();
    let mut found = Vec::new();
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            title.clone_into(&mut part);
        } else if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
            part.clear();
        }
        let Some(cells) = cells(line) else {
            head.clear();
            continue;
        };
        if head.is_empty() {
            head = cells;
            continue;
        }
        if cells.iter().all(|cell| cell.starts_with("--")) {
            continue;
        }
        // A row without a name belongs to the case above it.
        if let Some(name) = cells.first().filter(|name| !name.is_empty()) {
            (*name).clone_into(&mut row);
        }
        let peer_of = |at: usize| match head.get(1) {
            Some(&"peer") => cells.get(1),
            _ => head.get(at),
        };
        for (at, cell) in cells.iter().enumerate().skip(1) {
            if let (Some(ratio), Some(peer)) = (ratio(cell), peer_of(at)) {
                found.push(Measured {
                    section: section.clone(),
                    part: part.clone(),
                    row: row.clone(),
                    peer: (*peer).to_owned(),
                    ratio,
                });
            }
        }
    }
    found
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// `0.45 (0.35–0.53)` of the cell `**0.45**³ of 2.15 s (0.35–0.53)`; `None` of other cells.
fn ratio(cell: &str) -> Option<String> {
    let (first, rest) = cell.split_once(" of ")?;
    let number: String = first.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse::<f64>().ok()?;
    let spread = rest.split_once('(')?.1.strip_suffix(')')?;
    Some(format!("{number} ({spread})"))
}

/// The page with the present figures, the number of rows, and what is wrong.
fn quoted(page: &str, measured: &[Measured]) -> (String, usize, Vec<String>) {
    let (mut text, mut rows, mut wrong) = (String::new(), 0, Vec::new());
    let mut inside = false;
    for (index, line) in page.lines().enumerate() {
        let row = cells(line).filter(|_| inside).filter(|cells| !cells[0].starts_with("--"));
        inside = line == HEAD || (inside && line.starts_with('|'));
        let new = row.map(|cells| match cells.as_slice() {
            [format, row, peer, _] => {
                rows += 1;
                let (part, name) = row.split_once(" / ").unwrap_or(("", row));
                let is_it = |m: &&Measured| {
                    m.section == *format
                        && m.row == name
                        && m.peer == *peer
                        && (part.is_empty() || m.part == part)
                };
                let mut all = measured.iter().filter(is_it);
                match (all.next(), all.next()) {
                    (Some(one), None) => Ok(format!("| {format} | {row} | {peer} | {} |", one.ratio)),
                    (None, _) => Err(format!("docs/{SOURCE} has no `{row}` beside `{peer}` for {format}")),
                    _ => Err(format!("docs/{SOURCE} has more than one `{row}` beside `{peer}` for {format}")),
                }
            }
            _ => Err("a row of quoted figures has four cells".to_owned()),
        });
        match new {
            Some(Ok(new)) => text.push_str(&new),
            Some(Err(message)) => wrong.push(format!("docs/{PAGE}:{}: {message}", index + 1)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    (text, rows, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE_TEXT: &str = "\
## HDF5

### reading

| | goal | libhdf5 | h5py | memory |
|---|---|---|---|---|
| strings | ≤ 0.60 | **0.67**³ of 181 ms (0.29–0.72) | 0.16 of 776 ms (0.15–0.19) | 104.1 : 208.4 MiB |

## RawArray

| case | peer | goal | share of the peer's time | memory |
|---|---|---|---|---|
| read | numpy.fromfile | ≤ 0.95 | 0.15 of 721 ms (0.04–0.26) | 1 : 2 MiB |
|  | numpy.load | ≤ 0.95 | 0.66 of 206 ms (0.07–0.71) | 1 : 2 MiB |
";

    fn page(rows: &str) -> String {
        format!("text\n\n{HEAD}\n|---|---|---|---|\n{rows}\n| other | table |\n")
    }

    #[test]
    fn rows_get_the_figures_of_the_source() {
        let old = page("| HDF5 | reading / strings | libhdf5 | 9 |\n| RawArray | read | numpy.load |  |\n");
        let (text, rows, wrong) = quoted(&old, &measured(SOURCE_TEXT));
        assert_eq!((rows, wrong.len()), (2, 0), "{wrong:?}");
        assert_eq!(
            text,
            page(
                "| HDF5 | reading / strings | libhdf5 | 0.67 (0.29–0.72) |\n| RawArray | read | numpy.load | 0.66 (0.07–0.71) |\n"
            )
        );
    }

    #[test]
    fn what_was_not_measured_cannot_be_quoted() {
        let (_, _, wrong) = quoted(&page("| HDF5 | strings | netCDF4 | 0.1 |\n"), &measured(SOURCE_TEXT));
        assert_eq!(
            wrong,
            ["docs/comparison.md:5: docs/benchmarks.md has no `strings` beside `netCDF4` for HDF5"]
        );
    }
}
