//! Reads comma-separated values. The first line has the names; the types are those that all values have.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch, RecordBatchOptions,
    RecordBatchReader, TimestampMicrosecondArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_core::{Fault, FaultKind};

use crate::batches::BATCH;

/// A file of comma-separated values as a stream of record batches.
///
/// The file is read twice: once for the types, and once for the values. A column in which all values are integers has
/// integers, and so on for floating-point numbers, truth values (`true` and `false` in any case), dates in ISO 8601,
/// and texts. Empty values are missing, but quoted ones are empty texts. Lines end with a line feed, a carriage return, or
/// both. A quote inside of a value that does not begin with one is a character like others.
///
/// ```
/// use std::io::Cursor;
///
/// use sciformats_arrow::Csv;
/// use sciformats_arrow::arrow_array::RecordBatchReader;
///
/// let csv = Csv::new(Cursor::new("name,depth\r\n\"a,b\",5\r\nc,\r\n"))?;
/// let batches = csv.collect::<Result<Vec<_>, _>>().unwrap();
/// assert_eq!((batches[0].num_rows(), batches[0].column(1).null_count()), (2, 1));
/// # use sciformats_arrow::arrow_array::Array;
/// # Ok::<(), sciformats_arrow::sciformats_conventions::sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Csv<R> {
    lines: Lines<R>,
    kinds: Vec<Kind>,
    schema: SchemaRef,
    over: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing but missing values.
    Unknown,
    Truth,
    Int,
    Float,
    Moment,
    Text,
}

/// A value, or a missing one.
type Cell = Option<String>;

/// The mark with which some programs begin texts in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The largest number of bytes in one line.
const LINE: u64 = 1 << 28;

/// Records, which may have several lines. Lines end with a line feed, a carriage return, or both.
#[derive(Debug)]
struct Lines<R> {
    from: BufReader<R>,
    offset: u64,
    /// Whether the last record ended with a carriage return, after which a line feed belongs to it.
    returned: bool,
}

/// Where in a record the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of a value.
    Start,
    /// In a value without quotes, where a quote is a character like others.
    Plain,
    Quoted,
    /// After a quote in a value with quotes: the end of it, or the first one of two.
    Quote,
}

impl<R: Read> Lines<R> {
    /// Returns the cells of the next record; `None` at the end. A quoted value is never missing.
    fn record(&mut self) -> Result<Option<Vec<Cell>>> {
        if self.returned && self.peek()? == Some(b'\n') {
            self.take(1);
        }
        self.returned = false;
        let start = self.offset;
        let (mut cells, mut value, mut place) = (Vec::new(), Vec::new(), Place::Start);
        loop {
            if self.offset.saturating_sub(start) > LINE {
                return Err(fault(FaultKind::Rule("is longer than 256 MiB"), start));
            }
            let byte = self.peek()?;
            place = match (place, byte) {
                (Place::Quoted, None) => {
                    return Err(fault(FaultKind::Rule("has a quote without its end"), start));
                }
                (Place::Start, None) if self.offset == start => return Ok(None),
                (Place::Quoted, Some(b'"')) => Place::Quote,
                (Place::Quoted, Some(_)) => {
                    self.run(&mut value, |byte| byte == b'"')?;
                    continue;
                }
                (Place::Quote, Some(b'"')) => {
                    value.push(b'"');
                    Place::Quoted
                }
                (Place::Start, Some(b'"')) => Place::Quoted,
                (_, None | Some(b',' | b'\n' | b'\r')) => {
                    let text = String::from_utf8(std::mem::take(&mut value));
                    let text = text.map_err(|_| fault(FaultKind::Encoding, start))?;
                    cells.push(Some(text).filter(|text| place == Place::Quote || !text.is_empty()));
                    self.take(usize::from(byte.is_some()));
                    if byte != Some(b',') {
                        self.returned = byte == Some(b'\r');
                        return Ok(Some(cells));
                    }
                    place = Place::Start;
                    continue;
                }
                (Place::Quote, Some(_)) => {
                    return Err(fault(FaultKind::Rule("continues after the end of a quote"), start));
                }
                (Place::Start | Place::Plain, Some(_)) => {
                    self.run(&mut value, |byte| matches!(byte, b',' | b'\n' | b'\r'))?;
                    place = Place::Plain;
                    continue;
                }
            };
            self.take(1);
        }
    }

    /// Returns the next byte, which stays.
    fn peek(&mut self) -> Result<Option<u8>> {
        let buffer = self.from.fill_buf().map_err(|error| Error::io("read", error))?;
        Ok(buffer.first().copied())
    }

    /// Goes on by some bytes of the buffer.
    fn take(&mut self, count: usize) {
        self.from.consume(count);
        self.offset = self.offset.saturating_add(count as u64); // a bound
    }

    /// Appends the bytes before the first one that ends a run, as far as they are in the buffer.
    fn run(&mut self, value: &mut Vec<u8>, ends: impl Fn(u8) -> bool) -> Result<()> {
        let buffer = self.from.fill_buf().map_err(|error| Error::io("read", error))?;
        let end = buffer.iter().position(|&byte| ends(byte)).unwrap_or(buffer.len());
        value.extend_from_slice(buffer.get(..end).unwrap_or_default());
        self.take(end);
        Ok(())
    }
}

fn fault(kind: FaultKind, offset: u64) -> Error {
    Fault { field: Some("line"), kind }.at("comma-separated values", offset)
}

impl Kind {
    fn of(cell: &str) -> Self {
        if cell.parse::<i64>().is_ok() {
            Self::Int
        } else if cell.parse::<f64>().is_ok() {
            Self::Float
        } else if truth(cell).is_some() {
            Self::Truth
        } else if moment(cell).is_some() {
            Self::Moment
        } else {
            Self::Text
        }
    }

    /// Returns a type that has the values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, other) | (other, Self::Unknown) => other,
            (one, other) if one == other => one,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Truth => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Moment => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Text | Self::Unknown => DataType::LargeUtf8,
        }
    }
}

fn truth(cell: &str) -> Option<bool> {
    if cell.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    cell.eq_ignore_ascii_case("false").then_some(false)
}

/// Returns a date as microseconds since the start of 1970.
fn moment(cell: &str) -> Option<i64> {
    let digits = cell.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
    let nanoseconds =
        crate::predicate::moment(cell).filter(|_| digits && cell.as_bytes().get(4) == Some(&b'-'))?;
    i64::try_from(nanoseconds.div_euclid(1_000)).ok()
}

impl<R: Read + Seek> Csv<R> {
    /// Reads the names and the types.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if lines have different numbers of values, or a quote has no end; the error of reading.
    pub fn new(from: R) -> Result<Self> {
        let mut lines = Lines { from: BufReader::with_capacity(1 << 18, from), offset: 0, returned: false };
        if lines.from.fill_buf().map_err(|error| Error::io("read", error))?.starts_with(MARK) {
            lines.take(MARK.len());
        }
        let names = lines.record()?.unwrap_or_default();
        let (begin, returned) = (lines.offset, lines.returned);
        let mut kinds = vec![Kind::Unknown; names.len()];
        loop {
            let start = lines.offset;
            let Some(record) = lines.record()? else { break };
            if record.len() != kinds.len() {
                if record == [None] {
                    continue;
                }
                let (expected, found) = (kinds.len() as u64, record.len() as u64);
                return Err(fault(FaultKind::Mismatch { expected, found }, start));
            }
            for (kind, cell) in kinds.iter_mut().zip(&record) {
                if let (Some(cell), true) = (cell, *kind != Kind::Text) {
                    *kind = kind.with(Kind::of(cell));
                }
            }
        }
        lines.from.seek(SeekFrom::Start(begin)).map_err(|error| Error::io("seek", error))?;
        (lines.offset, lines.returned) = (begin, returned);
        let fields = names.into_iter().zip(&kinds).enumerate().map(|(at, (name, kind))| {
            let name = name.unwrap_or_else(|| format!("column_{}", at + 1));
            Field::new(name, kind.data_type(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { lines, kinds, schema, over: false })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut columns: Vec<Vec<Cell>> = self.kinds.iter().map(|_| Vec::new()).collect();
        let mut rows = 0;
        while (rows as u64) < BATCH {
            let Some(record) = self.lines.record()? else { break };
            if record.len() != columns.len() {
                continue;
            }
            for (column, cell) in columns.iter_mut().zip(record) {
                column.push(cell);
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = self.kinds.iter().zip(columns).map(|(kind, cells)| array(*kind, cells)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch.map(Some).map_err(|error| crate::decode::internal(&error))
    }
}

fn array(kind: Kind, cells: Vec<Cell>) -> ArrayRef {
    let parsed = cells.iter().map(Option::as_deref);
    match kind {
        Kind::Truth => Arc::new(parsed.map(|cell| truth(cell?)).collect::<BooleanArray>()),
        Kind::Int => Arc::new(parsed.map(|cell| cell?.parse().ok()).collect::<Int64Array>()),
        Kind::Float => Arc::new(parsed.map(|cell| cell?.parse().ok()).collect::<Float64Array>()),
        Kind::Moment => Arc::new(parsed.map(|cell| moment(cell?)).collect::<TimestampMicrosecondArray>()),
        Kind::Text | Kind::Unknown => Arc::new(cells.into_iter().collect::<LargeStringArray>()),
    }
}

impl<R: Read + Seek> Iterator for Csv<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let batch = self.batch();
        self.over = !matches!(batch, Ok(Some(_)));
        batch.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl<R: Read + Seek> RecordBatchReader for Csv<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn kinds(text: &str) -> Vec<DataType> {
        let csv = Csv::new(Cursor::new(text)).unwrap();
        csv.schema().fields().iter().map(|field| field.data_type().clone()).collect()
    }

    #[test]
    fn types_are_those_of_all_values() {
        let text = "a,b,c,d,e,f\r\n1,1,true,2001-07-01,x,\r\n,2.5,False,2001-07-01T06:00:00,7,\r\n";
        let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            kinds(text),
            [
                DataType::Int64,
                DataType::Float64,
                DataType::Boolean,
                moment,
                DataType::LargeUtf8,
                DataType::LargeUtf8
            ]
        );
        assert_eq!(kinds("a,b\n"), [DataType::LargeUtf8, DataType::LargeUtf8]);
        assert_eq!(kinds(""), [DataType::Null; 0]);
    }

    /// All values, with `-` for a missing one.
    fn values(text: &str) -> Vec<Vec<String>> {
        let lines =
            Lines { from: BufReader::with_capacity(2, Cursor::new(text)), offset: 0, returned: false };
        let mut lines = lines;
        let mut all = Vec::new();
        while let Some(record) = lines.record().unwrap() {
            all.push(record.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into())).collect());
        }
        all
    }

    #[test]
    fn lines_end_in_three_ways() {
        for end in ["\n", "\r", "\r\n"] {
            for last in ["", end] {
                let text = format!("a,b{end}1,\"x{end}y\"{end},\"\"{last}");
                let quoted = format!("x{end}y");
                assert_eq!(values(&text), [["a", "b"], ["1", &quoted], ["-", ""]], "{text:?}");
                assert_eq!(kinds(&text), [DataType::Int64, DataType::LargeUtf8], "{text:?}");
                let rows: usize =
                    Csv::new(Cursor::new(&text)).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
                assert_eq!(rows, 2, "{text:?}");
            }
        }
        assert_eq!(values("a\r\rb\n\nc"), [["a"], ["-"], ["b"], ["-"], ["c"]]);
    }

    #[test]
    fn quotes_are_characters_inside_of_values() {
        assert_eq!(
            values("x\"y,5\" 3,\"a\"\"b\",c\"\"\n\",\""),
            [vec!["x\"y", "5\" 3", "a\"b", "c\"\""], vec![","]]
        );
        let csv = Csv::new(Cursor::new("\u{feff}\"a\",b\n1,2\n")).unwrap();
        assert_eq!(csv.schema().field(0).name(), "a");
    }

    #[test]
    fn lines_that_do_not_fit_are_named() {
        for text in ["a,b\n1\n", "a\n\"x\n", "a\n\"x\"y\n"] {
            let error = Csv::new(Cursor::new(text)).unwrap_err();
            assert!(matches!(error, Error::Malformed { offset: 2.., .. }), "{error}");
        }
    }
}
