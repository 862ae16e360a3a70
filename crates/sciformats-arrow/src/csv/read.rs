//! Reads comma-separated values. The first line has the names; the types are those that all values have.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_core::{Fault, FaultKind};

use super::kind::{Cell, Kind, Kinds};
use crate::batches::BATCH;

/// A file of comma-separated values as a stream of record batches.
///
/// The file is read twice: once for the types, and once for the values. A column has the first type that has all of its
/// values as they are: truth values (`true` and `false` in any case), integers of 64 bits with or without a sign,
/// floating-point numbers, dates in ISO 8601 of microseconds or nanoseconds, and texts. So a column with 0.5 and an
/// integer that is no double has texts, and so has one of numbers beyond all doubles. Decimal fractions become the
/// nearest double, and zeros before a number are dropped. Dates are in UTC if all texts tell their distance from it, and
/// texts if only some do. Empty values are missing, but quoted ones are empty texts; in a
/// table of one column, both are missing. Lines end with a line feed, a carriage return, or
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

    /// Returns the cells of the next row of a table with so many columns; `None` at the end.
    fn row(&mut self, columns: usize) -> Result<Option<Vec<Cell>>> {
        loop {
            let start = self.offset;
            let Some(mut record) = self.record()? else { return Ok(None) };
            if !is_row(&record, columns, start)? {
                continue;
            }
            // Because readers skip empty lines, quotes are what other programs write for a missing value.
            if let [only] = record.as_mut_slice() {
                *only = only.take().filter(|text| !text.is_empty());
            }
            return Ok(Some(record));
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

/// Returns whether a record has a value for each column; an empty line is none.
fn is_row(record: &[Cell], columns: usize, start: u64) -> Result<bool> {
    if record.len() == columns {
        return Ok(true);
    }
    if record == [None] {
        return Ok(false);
    }
    let (expected, found) = (columns as u64, record.len() as u64);
    Err(fault(FaultKind::Mismatch { expected, found }, start))
}

fn fault(kind: FaultKind, offset: u64) -> Error {
    Fault { field: Some("line"), kind }.at("comma-separated values", offset)
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
        let mut kinds = vec![Kinds::ANY; names.len()];
        while let Some(record) = lines.row(kinds.len())? {
            for (kinds, cell) in kinds.iter_mut().zip(&record) {
                if let Some(cell) = cell {
                    kinds.add(cell);
                }
            }
        }
        lines.from.seek(SeekFrom::Start(begin)).map_err(|error| Error::io("seek", error))?;
        (lines.offset, lines.returned) = (begin, returned);
        let kinds: Vec<Kind> = kinds.into_iter().map(Kinds::best).collect();
        let fields = names.into_iter().zip(&kinds).enumerate().map(|(at, (name, kind))| {
            let name = name.unwrap_or_else(|| format!("column_{}", at + 1));
            Field::new(name, kind.data_type(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { lines, kinds, schema, over: false })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut columns: Vec<Vec<Cell>> = self.kinds.iter().map(|_| Vec::new()).collect();
        let (mut rows, begin) = (0, self.lines.offset);
        while (rows as u64) < BATCH {
            let Some(record) = self.lines.row(columns.len())? else { break };
            for (column, cell) in columns.iter_mut().zip(record) {
                column.push(cell);
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut arrays = Vec::with_capacity(columns.len());
        for (kind, cells) in self.kinds.iter().zip(columns) {
            let missing = cells.iter().filter(|cell| cell.is_none()).count();
            let array = kind.array(cells);
            // The types are those of all values that were there before.
            if array.null_count() != missing {
                return Err(fault(FaultKind::Rule("changed while it was read"), begin));
            }
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch.map(Some).map_err(|error| crate::decode::internal(&error))
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

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, TimestampNanosecondType, UInt64Type};
    use arrow_schema::{DataType, TimeUnit};

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

    #[test]
    fn values_are_those_of_the_text() {
        let text =
            "a,b,c,d\n18446744073709551615,0.5,1969-12-31T23:59:59.999999999,9007199254740993\n,,,0.5\n";
        let batch = Csv::new(Cursor::new(text)).unwrap().next().unwrap().unwrap();
        assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(0), u64::MAX);
        assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(0), 0.5);
        assert_eq!(batch.column(2).as_primitive::<TimestampNanosecondType>().value(0), -1);
        assert_eq!(batch.column(3).as_string::<i64>().value(0), "9007199254740993");
        assert!(batch.columns().iter().take(3).all(|column| column.is_null(1)));
        let zoned = "t\n2001-07-01T06:00:00+02:00\n";
        let schema = Csv::new(Cursor::new(zoned)).unwrap().schema();
        assert_eq!(
            *schema.field(0).data_type(),
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
        );
        let mut out = Vec::new();
        crate::write_csv(Csv::new(Cursor::new(zoned)).unwrap(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "t\r\n2001-07-01T04:00:00Z\r\n");
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
    fn a_missing_value_alone_in_its_line_has_quotes() {
        let text = "n\n1\n\"\"\n\n4\n";
        let batch = Csv::new(Cursor::new(text)).unwrap().next().unwrap().unwrap();
        assert_eq!(*batch.column(0).data_type(), DataType::Int64);
        let present: Vec<bool> = (0..4).map(|row| batch.column(0).is_valid(row)).collect();
        assert_eq!(present, [true, false, false, true]);
        let mut out = Vec::new();
        crate::write_csv(Csv::new(Cursor::new(text)).unwrap(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "n\r\n1\r\n\"\"\r\n\"\"\r\n4\r\n");
        let two = Csv::new(Cursor::new("a,b\n\"\",1\n")).unwrap().next().unwrap().unwrap();
        assert!(two.column(0).is_valid(0));
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

    /// A file that another program replaces after it was read once.
    #[derive(Debug)]
    struct Replaced(Cursor<&'static str>, &'static str);

    impl Read for Replaced {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(to)
        }
    }

    impl Seek for Replaced {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.0 = Cursor::new(self.1);
            self.0.seek(to)
        }
    }

    #[test]
    fn values_that_came_later_are_not_left_out() {
        let rows = |later| {
            let csv = Csv::new(Replaced(Cursor::new("a,b\n1,2\n"), later)).unwrap();
            csv.map(|batch| batch.map(|batch| batch.num_rows())).collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(rows("a,b\n1,2\n3,\n").unwrap(), [2]);
        for later in ["a,b\n1,2\n3\n", "a,b\n1,2\n3,none\n"] {
            assert!(rows(later).is_err(), "{later}");
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_named() {
        for text in ["a,b\n1\n", "a\n\"x\n", "a\n\"x\"y\n"] {
            let error = Csv::new(Cursor::new(text)).unwrap_err();
            assert!(matches!(error, Error::Malformed { offset: 2.., .. }), "{error}");
        }
    }
}
