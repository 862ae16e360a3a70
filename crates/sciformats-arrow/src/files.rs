//! Files of other formats that tables are written to.

use std::io::{self, Write};

use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Column, Table};

use crate::Options;

/// Writes a table as comma-separated values with a line of names, as RFC 4180 says. Missing values are empty.
/// Returns the number of rows.
///
/// # Errors
///
/// As [`Batches::new`](crate::Batches::new); [`Error::Unsupported`] if rows of a column have several values;
/// the error of reading or of writing.
pub fn write_csv(table: &Table, options: &Options, out: &mut impl Write) -> Result<u64> {
    let failed = |error| Error::io("write", error);
    // The options are checked as for batches.
    let batches = crate::Batches::new(table, options)?;
    let columns: Vec<&Column> = batches.columns().collect();
    for column in &columns {
        if !column.row_shape().is_empty() {
            let name = &column.name;
            return Err(Error::unsupported(format!(
                "the column {name}, whose rows have several values, in CSV"
            )));
        }
    }
    line(out, columns.iter().map(|column| Some(column.name.as_str()))).map_err(failed)?;
    let mut next = batches.rows();
    while !next.is_empty() {
        let count = options.batch_rows.min(next.end.saturating_sub(next.start));
        let mut cells = Vec::new();
        for values in Table::read_columns(&columns, (next.start, count))? {
            cells.push(values.cells()?.into_iter());
        }
        for _ in 0..count {
            let row: Vec<Option<String>> = cells.iter_mut().map(|column| column.next().flatten()).collect();
            line(out, row.iter().map(Option::as_deref)).map_err(failed)?;
        }
        next.start = next.start.saturating_add(count);
    }
    out.flush().map_err(failed)?;
    let rows = batches.rows();
    Ok(rows.end.saturating_sub(rows.start))
}

/// Writes one line.
fn line<'a>(out: &mut impl Write, cells: impl Iterator<Item = Option<&'a str>>) -> io::Result<()> {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match cell {
            // An empty text is not a missing one.
            Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                write!(out, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Some(text) => out.write_all(text.as_bytes())?,
            None => {}
        }
    }
    out.write_all(b"\r\n")
}
