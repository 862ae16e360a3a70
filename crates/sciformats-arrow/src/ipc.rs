//! Files of Arrow: the file format, which is also Feather version 2, and the stream format.

use std::io::{BufReader, Read, Seek, SeekFrom, Write};

use arrow_array::RecordBatchReader;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use sciformats_conventions::sciformats::{Error, Result};

use crate::Options;
use crate::csv::of_arrow;
use crate::guarded::{Part, Reader, guarded, of_reading};

/// The bytes with which the file format begins.
const MAGIC: &[u8; 6] = b"ARROW1";

/// What an error about such a file names.
const WHAT: &str = "file of Arrow";

/// Writes a table in Arrow's file format. Returns the number of rows.
///
/// # Errors
///
/// The error of reading or of writing.
pub fn write_ipc(table: impl RecordBatchReader, out: impl Write) -> Result<u64> {
    let mut writer = FileWriter::try_new(out, &table.schema()).map_err(written)?;
    let mut rows = 0u64;
    for batch in table {
        let batch = batch.map_err(of_arrow)?;
        rows = rows.saturating_add(batch.num_rows() as u64); // a bound
        writer.write(&batch).map_err(written)?;
    }
    writer.finish().map_err(written)?;
    writer.get_mut().flush().map_err(|error| Error::io("write", error))?;
    Ok(rows)
}

fn written(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, source) => Error::io("write", source),
        other => of_arrow(other),
    }
}

/// Reads the part of a file of Arrow that options select; their number of rows per batch is that of the file.
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such column; [`Error::Malformed`] or [`Error::Unsupported`] if the file is none
/// of Arrow.
pub fn read_ipc(mut file: impl Read + Seek + Send + 'static, options: &Options) -> Result<Reader> {
    let io = |error| Error::io("read", error);
    let damage = |error| of_reading(WHAT, error);
    let mut magic = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(io)?;
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    let file = BufReader::with_capacity(1 << 18, file);
    if magic == MAGIC {
        let reader = guarded(WHAT, || FileReader::try_new(file, None).map_err(damage))?;
        return Ok(Box::new(Part::new(reader, WHAT, options)?));
    }
    let reader = guarded(WHAT, || StreamReader::try_new(file, None).map_err(damage))?;
    Ok(Box::new(Part::new(reader, WHAT, options)?))
}
