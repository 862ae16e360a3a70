//! Appends rows to a file, and after each of them writes the number of rows to its first element, until the process is killed:
//! `edits_until_killed FILE`. Each commit is reported.

#![allow(clippy::print_stdout, reason = "the reports are what it is for")]

use std::io::Write as _;

use npy::{Editor, Error, Range, Result, Slab};

/// The number of elements of a row, which make a row larger than a sector.
const ROW: u64 = 100;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| Error::usage("FILE", "is missing"))?;
    let mut editor = Editor::open(path)?;
    loop {
        let rows = editor.shape().first().copied().unwrap_or_default();
        let row: Vec<u64> = (0..ROW).map(|i| rows.wrapping_mul(ROW).wrapping_add(i)).collect();
        editor.append(&row)?;
        let first = Slab::new(editor.shape(), [Range::new(0, 1), Range::new(0, 1)])?;
        editor.write_slab(&first, &[rows])?;
        println!("committed {rows}");
        std::io::stdout().flush().map_err(|error| Error::io("report", error))?;
    }
}
