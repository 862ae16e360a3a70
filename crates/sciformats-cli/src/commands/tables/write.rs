//! Writes tables: to files, and to stdout.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use sciformats::storage::{Durability, Replacement, WriteAt};
use sciformats::{Error, Result};
use sciformats_arrow::arrow_array::{Array, RecordBatch};
use sciformats_arrow::arrow_schema::DataType;
use sciformats_arrow::{ParquetOptions, Reader, Style, write_cell, write_csv, write_ipc, write_parquet};

use crate::failure::{Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table};
use crate::output::redirected;
use crate::session::Session;

/// The form of a table that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Aligned text
    Table,
    /// Comma-separated values
    Csv,
    /// JSON Lines: an object for each row
    Json,
    /// A file of Parquet
    Parquet,
    /// A file of Arrow, which is also Feather version 2
    Arrow,
}

impl TableFormat {
    /// Returns the form that the ending of a name selects.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            _ => return None,
        })
    }
}

/// Writes a table to `out`; returns the number of rows.
fn write(table: Reader, format: TableFormat, out: &mut (impl Write + Send), threads: usize) -> Result<u64> {
    match format {
        TableFormat::Csv => write_csv(table, out),
        TableFormat::Json => json(table, out),
        TableFormat::Parquet => write_parquet(table, out, &ParquetOptions::default().with_threads(threads)),
        TableFormat::Arrow => write_ipc(table, out),
        TableFormat::Table => {
            let mut rows = 0;
            // The terminal has no part in what a file contains.
            aligned(table, out, &mut rows, Table::uncoloured).map_err(|stop| match stop {
                Stop::Read(error) => error,
                Stop::Write(error) => Error::io("write", error),
            })?;
            Ok(rows)
        }
    }
}

/// A new file that appears when it is complete.
struct Out {
    file: Replacement,
    at: u64,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.at, bytes).map_err(io::Error::other)?;
        self.at = self.at.saturating_add(bytes.len() as u64); // a bound: no file is that long
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a table to a file; returns the number of rows and the size. Without an input, errors of reading name their file
/// themselves.
pub(super) fn to_file(
    table: Reader,
    format: TableFormat,
    (output, input): (&Path, Option<&Path>),
    session: &Session,
) -> Outcome<(u64, u64)> {
    let file = Replacement::create(output).map_err(|error| Failure::unwritten(output, &error))?;
    let mut out = io::BufWriter::with_capacity(1 << 18, Out { file, at: 0 });
    let rows = write(table, format, &mut out, session.options().threads)
        .map_err(|error| failed(&error, input, output))?;
    let out =
        out.into_inner().map_err(|error| Failure::Unwritten(output.into(), error.error().to_string()))?;
    let size = out.at;
    session.far().unchanged()?;
    out.file.finish(Durability::Process).map_err(|error| Failure::unwritten(output, &error))?;
    Ok((rows, size))
}

/// Returns the failure for an error of reading or writing.
pub(super) fn failed(error: &Error, input: Option<&Path>, output: &Path) -> Failure {
    match (error, input) {
        (Error::Io { action: "write", .. }, _) => Failure::unwritten(output, error),
        (Error::Unsupported { .. }, Some(input)) => Failure::refused(input, error),
        (_, Some(input)) => Failure::of(input, error),
        (_, None) => read(error),
    }
}

/// Returns the failure for an error of reading that names its file itself.
fn read(error: &Error) -> Failure {
    match error {
        Error::Usage { .. } | Error::NotFound { .. } => Failure::Usage(format!("{error:#}")),
        Error::Unsupported { .. } => Failure::Refused(format!("{error:#}")),
        other => Failure::Input(format!("{other:#}")),
    }
}

/// Writes a table to stdout.
pub(super) fn to_stdout(table: Reader, format: TableFormat, session: &Session) -> Outcome<()> {
    printed(table, format, session)?;
    // What was printed may be partly old and partly new.
    session.far().unchanged()
}

fn printed(table: Reader, format: TableFormat, session: &Session) -> Outcome<()> {
    let from = |error: Error| match error {
        Error::Io { action: "write", source, .. } => {
            Failure::Output(io::Error::new(source.kind(), source.to_string()))
        }
        other => read(&other),
    };
    match format {
        TableFormat::Table => {
            let mut out = session.text();
            let mut rows = 0;
            aligned(table, &mut out, &mut rows, Table::fitted).map_err(|stop| match stop {
                Stop::Read(error) => from(error),
                Stop::Write(error) => Failure::Output(error),
            })?;
            if !session.quiet {
                writeln!(out, "{FAINT}{}{FAINT:#}", look::count(rows, "row"))?;
            }
            Ok(out.flush()?)
        }
        TableFormat::Parquet | TableFormat::Arrow => {
            redirected()?;
            // These are written by several threads, of which none may keep stdout for itself.
            let mut out = io::BufWriter::with_capacity(1 << 18, io::stdout());
            write(table, format, &mut out, session.options().threads).map_err(from)?;
            Ok(out.flush()?)
        }
        _ => {
            let mut out = session.data();
            write(table, format, &mut out, session.options().threads).map_err(from)?;
            Ok(out.flush()?)
        }
    }
}

/// Returns the error of this project that is in an error of Arrow.
fn of_arrow(error: sciformats_arrow::arrow_schema::ArrowError) -> Error {
    use sciformats_arrow::arrow_schema::ArrowError;
    match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => Error::unsupported(inner.to_string()),
        },
        other => Error::unsupported(other.to_string()),
    }
}

/// Writes an object for each row.
fn json(table: Reader, out: &mut impl Write) -> Result<u64> {
    let failed = |error| Error::io("write", error);
    let schema = table.schema();
    let mut known = std::collections::HashSet::new();
    if let Some(twice) = schema.fields().iter().find(|field| !known.insert(field.name().as_str())) {
        let name = twice.name();
        return Err(Error::unsupported(format!(
            "writing two columns with the name {name} in JSON, of which readers keep one"
        )));
    }
    let keys: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| {
            let mut key = String::new();
            sciformats::model::write_text(&mut key, field.name());
            key
        })
        .collect();
    let mut rows = 0u64;
    let mut line = String::new();
    for batch in table {
        let batch = batch.map_err(of_arrow)?;
        for row in 0..batch.num_rows() {
            line.clear();
            line.push('{');
            for (at, (key, column)) in keys.iter().zip(batch.columns()).enumerate() {
                line.push_str(if at > 0 { "," } else { "" });
                line.push_str(key);
                line.push(':');
                write_cell(&mut line, Style::Json, column.as_ref(), row);
            }
            line.push('}');
            // On a terminal the control characters of texts would otherwise be shown as escapes that JSON does not know.
            out.write_all(look::safe_json(&line).as_bytes()).map_err(failed)?;
            out.write_all(b"\n").map_err(failed)?;
        }
        rows = rows.saturating_add(batch.num_rows() as u64); // a bound
    }
    out.flush().map_err(failed)?;
    Ok(rows)
}

/// Why a table ends early.
enum Stop {
    Read(Error),
    Write(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes aligned columns.
fn aligned(
    table: Reader,
    out: &mut impl Write,
    rows: &mut u64,
    fit: impl Fn(Table) -> Table,
) -> std::result::Result<(), Stop> {
    let schema = table.schema();
    let is_number = |kind: &DataType| kind.is_numeric() || matches!(kind, DataType::Timestamp(..));
    let fields = schema.fields().iter();
    let aligns: Vec<Align> =
        fields.map(|field| if is_number(field.data_type()) { Align::Right } else { Align::Left }).collect();
    let mut shown = fit(Table::new(aligns)).grid();
    let heads = schema.fields().iter().map(|field| Cell::new(TITLE, look::safe(field.name())));
    shown.row(out, heads.collect())?;
    for batch in table {
        let batch = batch.map_err(|error| Stop::Read(of_arrow(error)))?;
        for row in 0..batch.num_rows() {
            shown.row(out, cells(&batch, row))?;
        }
        *rows = rows.saturating_add(batch.num_rows() as u64); // a bound
    }
    shown.flush(out)?;
    look::left_out(out, &shown, "--format csv")?;
    Ok(())
}

/// Returns whether values of a type can be no number without being missing.
fn are_floats(kind: &DataType) -> bool {
    match kind {
        DataType::RunEndEncoded(_, values) => are_floats(values.data_type()),
        kind => kind.is_floating(),
    }
}

fn cells(batch: &RecordBatch, row: usize) -> Vec<Cell> {
    let cell = |column: &std::sync::Arc<dyn Array>| {
        let mut text = String::new();
        if write_cell(&mut text, Style::Plain, column.as_ref(), row) {
            Cell::new(PLAIN, look::safe(&text))
        } else {
            let is_nan = !column.is_null(row) && are_floats(column.data_type());
            Cell::new(FAINT, if is_nan { "NaN" } else { "" })
        }
    };
    batch.columns().iter().map(cell).collect()
}
