//! Tables as comma-separated values.

mod kind;
mod read;

use std::io::Write;

use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType};
use sciformats_conventions::sciformats::{Error, Result};

pub use read::Csv;

use crate::text::{Style, write_cell};

/// Returns the error of this project that an error of Arrow contains.
pub(crate) fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => Error::unsupported(inner.to_string()),
        },
        ArrowError::IoError(_, source) => Error::io("read", source),
        other => Error::unsupported(other.to_string()),
    }
}

/// Writes a table as comma-separated values with a line of names, as RFC 4180 says. Missing values are empty,
/// with quotes if they are alone in their line. Returns the number of rows.
///
/// # Errors
///
/// The error of reading or of writing; [`Error::Unsupported`] if rows of a column have several values.
pub fn write_csv(table: impl RecordBatchReader, out: &mut impl Write) -> Result<u64> {
    let failed = |error| Error::io("write", error);
    let schema = table.schema();
    for field in schema.fields() {
        if is_nested(field.data_type()) {
            let name = field.name();
            return Err(Error::unsupported(format!(
                "the column {name}, whose rows have several values, in CSV"
            )));
        }
    }
    let mut line = String::new();
    for (at, field) in schema.fields().iter().enumerate() {
        line.push_str(if at > 0 { "," } else { "" });
        quoted(&mut line, field.name());
    }
    line.push_str("\r\n");
    out.write_all(line.as_bytes()).map_err(failed)?;
    let mut rows = 0u64;
    for batch in table {
        let batch = batch.map_err(of_arrow)?;
        rows = rows.saturating_add(batch.num_rows() as u64); // a bound
        lines(&batch, out).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(rows)
}

fn is_nested(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_nested(values),
        DataType::RunEndEncoded(_, values) => is_nested(values.data_type()),
        _ => kind.is_nested(),
    }
}

fn lines(batch: &RecordBatch, out: &mut impl Write) -> std::io::Result<()> {
    /// The bytes that are written at once.
    const AT_ONCE: usize = 1 << 16;
    let (mut line, mut cell) = (String::new(), String::new());
    for row in 0..batch.num_rows() {
        let before = line.len();
        for (at, column) in batch.columns().iter().enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            if is_text(column.as_ref()) {
                cell.clear();
                // An empty text is not a missing one.
                if write_cell(&mut cell, Style::Plain, column.as_ref(), row) {
                    quoted(&mut line, &cell);
                }
            } else {
                write_cell(&mut line, Style::Plain, column.as_ref(), row);
            }
        }
        // Most readers skip an empty line, and take this for a missing value.
        if line.len() == before && batch.num_columns() == 1 {
            line.push_str("\"\"");
        }
        line.push_str("\r\n");
        if line.len() >= AT_ONCE {
            out.write_all(line.as_bytes())?;
            line.clear();
        }
    }
    out.write_all(line.as_bytes())
}

fn is_text(array: &dyn Array) -> bool {
    matches!(
        array.data_type(),
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Dictionary(..)
            | DataType::RunEndEncoded(..)
    )
}

fn quoted(line: &mut String, text: &str) {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}
