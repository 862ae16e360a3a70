//! One file of references: a table of Parquet with up to four columns, in one row group with one page per column. A table without a
//! range has the last column only, and one without inlined bytes lacks it: readers take nulls in all rows for numbers.
//!
//! | column | type | content |
//! |---|---|---|
//! | `path` | text, or null | the URL of the file; an index into a dictionary |
//! | `offset` | 64-bit integer | the first byte of the chunk |
//! | `size` | 64-bit integer | the number of bytes |
//! | `raw` | bytes, or null | the bytes of an inlined chunk |

use sciformats::{Error, Result};

use super::thrift::{Struct, structure, varint};
use crate::chunks::Place;

const MAGIC: &[u8; 4] = b"PAR1";

// Types of elements, encodings, kinds of pages, and whether a column has nulls, by their numbers in Parquet.
const INT64: u32 = 2;
const BYTE_ARRAY: u32 = 6;
const PLAIN: u32 = 0;
const RLE: u32 = 3;
const RLE_DICTIONARY: u32 = 8;
const DATA_PAGE: u32 = 0;
const DICTIONARY_PAGE: u32 = 2;
const UTF8: u32 = 0;

/// A column, and where it is in the file.
struct Column {
    name: &'static str,
    kind: u32,
    nullable: bool,
    dictionary: Option<usize>,
    page: usize,
    end: usize,
    /// The bytes of its pages before they were compressed, headers included.
    plain: usize,
}

/// Encodes the references to consecutive chunks; those that are missing are null.
///
/// # Errors
/// `Unsupported` if the inlined bytes of one table exceed 2 GiB.
pub(super) fn encode(urls: &[String], rows: &[Option<Place<'_>>]) -> Result<Vec<u8>> {
    let mut table = Table { out: MAGIC.to_vec(), rows: small(rows.len())?, columns: Vec::new() };
    let range = |row: &Option<Place<'_>>| match row {
        Some(Place::Range { offset, length, .. }) => (*offset, *length),
        _ => (0, 0),
    };
    let referenced = |row: &Option<Place<'_>>| matches!(row, Some(Place::Range { .. }));
    let files: Vec<u64> = rows.iter().filter_map(file).collect();
    if !files.is_empty() {
        let mut distinct = files.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut values = Vec::new();
        for file in &distinct {
            let url = usize::try_from(*file).ok().and_then(|file| urls.get(file));
            byte_array(url.ok_or_else(|| Error::usage("file", "has no URL"))?.as_bytes(), &mut values)?;
        }
        // Each value is an index into the dictionary, of four bytes.
        let mut page = levels(rows, referenced)?;
        page.push(32);
        for same in files.chunk_by(|a, b| a == b) {
            let place = same.first().and_then(|file| distinct.binary_search(file).ok()).unwrap_or_default();
            varint((same.len() as u64) << 1, &mut page);
            page.extend_from_slice(&small(place)?.to_le_bytes());
        }
        table.column("path", BYTE_ARRAY, Some((values.as_slice(), small(distinct.len())?)), &page)?;
        let offsets: Vec<u8> = rows.iter().flat_map(|row| range(row).0.to_le_bytes()).collect();
        table.column("offset", INT64, None, &offsets)?;
        let sizes: Vec<u8> = rows.iter().flat_map(|row| range(row).1.to_le_bytes()).collect();
        table.column("size", INT64, None, &sizes)?;
    }
    let inlined = |row: &Option<Place<'_>>| matches!(row, Some(Place::Bytes(_)));
    if files.is_empty() || rows.iter().any(inlined) {
        let mut raw = levels(rows, inlined)?;
        for row in rows {
            if let Some(Place::Bytes(bytes)) = row {
                byte_array(bytes, &mut raw)?;
            }
        }
        table.column("raw", BYTE_ARRAY, None, &raw)?;
    }
    table.finish()
}

struct Table {
    out: Vec<u8>,
    rows: u32,
    columns: Vec<Column>,
}

impl Table {
    /// Appends the pages of a column. Texts and bytes have nulls, and integers have none.
    fn column(
        &mut self,
        name: &'static str,
        kind: u32,
        dictionary: Option<(&[u8], u32)>,
        page: &[u8],
    ) -> Result<()> {
        let rows = self.rows;
        let (start, mut plain) = (self.out.len(), 0);
        if let Some((values, count)) = dictionary {
            plain += self.page(values, DICTIONARY_PAGE, |header| {
                header.part(7, |dictionary| _ = dictionary.i32(1, count).i32(2, PLAIN));
            })?;
        }
        let at = self.out.len();
        let encoding = if dictionary.is_some() { RLE_DICTIONARY } else { PLAIN };
        plain += self.page(page, DATA_PAGE, |header| {
            header.part(5, |data| _ = data.i32(1, rows).i32(2, encoding).i32(3, RLE).i32(4, RLE));
        })?;
        self.columns.push(Column {
            name,
            kind,
            nullable: kind == BYTE_ARRAY,
            dictionary: dictionary.map(|_| start),
            page: at,
            end: self.out.len(),
            plain,
        });
        Ok(())
    }

    /// Appends a page with its header, and returns the number of bytes that it has without compression.
    fn page(&mut self, bytes: &[u8], kind: u32, more: impl FnOnce(&mut Struct<'_>)) -> Result<usize> {
        let stored = compression::encode(bytes)?;
        let (before, plain, compressed) = (self.out.len(), small(bytes.len())?, small(stored.len())?);
        structure(&mut self.out, |header| {
            header.i32(1, kind).i32(2, plain).i32(3, compressed);
            more(header);
        });
        let header = self.out.len().saturating_sub(before); // a bound: the output only grows
        self.out.extend_from_slice(&stored);
        Ok(header.saturating_add(bytes.len())) // a bound: both are in memory
    }

    /// Appends the metadata.
    fn finish(mut self) -> Result<Vec<u8>> {
        let (rows, start) = (u64::from(self.rows), self.out.len());
        let columns = std::mem::take(&mut self.columns);
        let plain: usize = columns.iter().map(|column| column.plain).sum();
        let count = small(columns.len())?;
        structure(&mut self.out, |file| {
            file.i32(1, 1);
            file.parts(2, &schema(&columns), |column, element| match column {
                None => _ = element.text(4, "schema").i32(5, count),
                Some(column) => {
                    element.i32(1, column.kind).i32(3, column.nullable.into()).text(4, column.name);
                    if column.name == "path" {
                        element.i32(6, UTF8);
                    }
                }
            });
            file.i64(3, rows);
            file.parts(4, &[()], |(), group| {
                group.parts(1, &columns, |column, chunk| {
                    let first = column.dictionary.unwrap_or(column.page);
                    chunk.i64(2, first as u64).part(3, |data| {
                        let encodings: &[u32] = if column.dictionary.is_some() {
                            &[PLAIN, RLE, RLE_DICTIONARY]
                        } else {
                            &[PLAIN, RLE]
                        };
                        data.i32(1, column.kind).i32s(2, encodings).texts(3, &[column.name]);
                        data.i32(4, compression::NUMBER).i64(5, rows).i64(6, column.plain as u64);
                        // A bound: pages are appended one after another.
                        data.i64(7, column.end.saturating_sub(first) as u64).i64(9, column.page as u64);
                        if let Some(dictionary) = column.dictionary {
                            data.i64(11, dictionary as u64);
                        }
                        if !column.nullable {
                            // Without the number of nulls, which is 0, readers make numbers with decimals of integers.
                            data.part(12, |statistics| _ = statistics.i64(3, 0));
                        }
                    });
                });
                group.i64(2, plain as u64).i64(3, rows);
            });
            file.text(6, "sciformats");
        });
        let length = small(self.out.len().saturating_sub(start))?; // a bound: the output only grows
        self.out.extend_from_slice(&length.to_le_bytes());
        self.out.extend_from_slice(MAGIC);
        Ok(self.out)
    }
}

/// The elements of the schema: the table itself, and its columns.
fn schema(columns: &[Column]) -> Vec<Option<&Column>> {
    std::iter::once(None).chain(columns.iter().map(Some)).collect()
}

/// The levels of a column with nulls: runs of rows with a value, and of rows without, after the number of their bytes.
fn levels(rows: &[Option<Place<'_>>], has: impl Fn(&Option<Place<'_>>) -> bool) -> Result<Vec<u8>> {
    let mut runs = Vec::new();
    for rows in rows.chunk_by(|a, b| has(a) == has(b)) {
        run(rows.len(), rows.first().is_some_and(&has).into(), &mut runs);
    }
    let mut out = small(runs.len())?.to_le_bytes().to_vec();
    out.extend(runs);
    Ok(out)
}

/// The number of the file that a chunk is in.
fn file(row: &Option<Place<'_>>) -> Option<u64> {
    match row {
        Some(Place::Range { file, .. }) => Some(*file),
        _ => None,
    }
}

/// A run of equal values of one bit.
fn run(count: usize, value: u8, out: &mut Vec<u8>) {
    varint((count as u64) << 1, out);
    out.push(value);
}

fn byte_array(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&small(bytes.len())?.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Counts of Parquet have 31 bits.
fn small(count: usize) -> Result<u32> {
    let fits = i32::try_from(count).ok().and_then(|count| u32::try_from(count).ok());
    fits.ok_or_else(|| Error::unsupported("a table of references of more than 2 GiB"))
}

#[cfg(feature = "zstd")]
mod compression {
    //! Zstandard.

    use sciformats::{Error, Result};

    pub(super) const NUMBER: u32 = 6;

    pub(super) fn encode(bytes: &[u8]) -> Result<Vec<u8>> {
        zstd::bulk::compress(bytes, 3).map_err(|error| Error::io("compress the references", error))
    }
}

#[cfg(not(feature = "zstd"))]
mod compression {
    //! Snappy.

    use sciformats::{Error, Result};

    pub(super) const NUMBER: u32 = 1;

    pub(super) fn encode(bytes: &[u8]) -> Result<Vec<u8>> {
        snap::raw::Encoder::new()
            .compress_vec(bytes)
            .map_err(|error| Error::io("compress the references", std::io::Error::other(error)))
    }
}
