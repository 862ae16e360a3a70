//! References as a folder of Parquet files, which readers load in parts.
//!
//! The folder has the metadata of Zarr in `.zmetadata`, and for each array files `NAME/refs.N.parq`. File N has the
//! references to the chunks from N × `record_size` on. Readers that look for the protocol of the URLs read every file, so a file
//! without a stored chunk is written too, unless the array has thousands of them. Memory holds one file.

mod table;
mod thrift;

use std::fs;
use std::path::Path;

use sciformats::{Error, File, Result};
use serde_json::{Map, Value, json};

use crate::bare;
use crate::chunks::Place;
use crate::extent;
use crate::kerchunk;
use crate::model::{Options, Report, Sink, VirtualArray};
use crate::scan::scan;

/// The largest number of files of an array of which those without a stored chunk are written.
const EMPTY: u64 = 1000;

/// The number of references in a file that other writers use.
pub const RECORD_SIZE: u32 = 10_000;

/// Writes the references to a file into an existing, empty folder, with `record_size` references per table.
///
/// # Errors
/// `Io` if the folder cannot be written, `Usage` if `record_size` is 0, and `Unsupported` if the inlined bytes of one
/// table exceed 2 GiB. What cannot be referenced is an entry of the report.
pub fn write(file: &File, options: &Options, folder: &Path, record_size: u32) -> Result<Report> {
    let mut writer = Writer::new(folder, std::slice::from_ref(&options.url), record_size)?;
    let report = scan(file, options, &mut writer)?;
    writer.finish()?;
    Ok(report)
}

/// Receives groups and arrays, and writes their tables at once.
#[derive(Debug)]
pub struct Writer<'a> {
    folder: &'a Path,
    urls: &'a [String],
    record_size: u32,
    metadata: Map<String, Value>,
}

impl<'a> Writer<'a> {
    /// Begins with the URLs of the files that ranges are in.
    ///
    /// # Errors
    /// `Usage` if `record_size` is 0.
    pub fn new(folder: &'a Path, urls: &'a [String], record_size: u32) -> Result<Self> {
        if record_size == 0 {
            return Err(Error::usage("record_size", "must not be 0"));
        }
        Ok(Self { folder, urls, record_size, metadata: Map::new() })
    }

    /// Writes the metadata.
    ///
    /// # Errors
    /// `Io` if the folder cannot be written.
    pub fn finish(self) -> Result<()> {
        let all = json!({"metadata": self.metadata, "record_size": self.record_size});
        put(&self.folder.join(".zmetadata"), bare::text(&all.to_string()).as_bytes())
    }
}

impl Sink for Writer<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()> {
        let at = kerchunk::prefix(path);
        self.metadata.insert(format!("{at}.zgroup"), json!({"zarr_format": 2}));
        self.metadata.insert(format!("{at}.zattrs"), Value::Object(attributes.clone()));
        Ok(())
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        let at = kerchunk::prefix(&array.path);
        self.metadata.insert(format!("{at}.zarray"), kerchunk::metadata(array));
        self.metadata.insert(format!("{at}.zattrs"), kerchunk::attributes(array));
        // No part of the path leads out of the folder: the scan refuses such names.
        let folder = at
            .split('/')
            .filter(|part| !part.is_empty())
            .fold(self.folder.to_owned(), |path, part| path.join(part));
        fs::create_dir_all(&folder).map_err(unwritten)?;
        let size = u64::from(self.record_size);
        let mut rows: Vec<Option<Place<'_>>> = Vec::new();
        // A bound: more are never counted one by one.
        let records = extent::count(array.chunks.grid()).unwrap_or(u64::MAX).div_ceil(size);
        let (mut record, mut next) = (0, 0);
        for (number, place) in array.chunks.iter() {
            if number / size != record {
                if !rows.is_empty() {
                    self.table(&folder, record, &mut rows)?;
                    next = record.saturating_add(1); // a bound: one more than a number of a file
                }
                record = number / size;
                if records <= EMPTY {
                    (next..record).try_for_each(|empty| self.table(&folder, empty, &mut rows))?;
                }
            }
            let row = usize::try_from(number % size)
                .map_err(|_| Error::internal("a table is larger than memory"))?;
            rows.resize(row, None);
            rows.push(Some(place));
        }
        if !rows.is_empty() {
            self.table(&folder, record, &mut rows)?;
            next = record.saturating_add(1); // a bound: one more than a number of a file
        }
        let end = if records <= EMPTY { records } else { next };
        (next..end).try_for_each(|empty| self.table(&folder, empty, &mut rows))
    }
}

impl Writer<'_> {
    /// Writes the table of a record. All tables have the same number of rows.
    fn table(&self, folder: &Path, record: u64, rows: &mut Vec<Option<Place<'_>>>) -> Result<()> {
        rows.resize(self.record_size as usize, None);
        let bytes = table::encode(self.urls, rows)?;
        rows.clear();
        put(&folder.join(format!("refs.{record}.parq")), &bytes)
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(unwritten)
}

fn unwritten(error: std::io::Error) -> Error {
    Error::io("write the references", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::Format;
    use sciformats::memory::{Memory, array};

    #[test]
    fn tables_lack_columns_of_nulls_and_no_table_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let urls = ["s3://bucket/a.h5".to_owned()];
        let mut writer = Writer::new(folder.path(), &urls, 3).unwrap();
        let mut array = |path: &str, chunks: crate::chunks::Chunks| {
            let array = VirtualArray {
                path: path.into(),
                shape: vec![8],
                chunk_shape: vec![1],
                dtype: "<u2".into(),
                fill: Value::Null,
                marked: false,
                columns: false,
                filters: Vec::new(),
                attributes: Map::new(),
                dimensions: vec!["x".into()],
                chunks,
            };
            writer.array(&array).unwrap();
        };
        let mut ranges = crate::chunks::Chunks::new(vec![8]);
        ranges.push(4, 100, 2);
        array("/ranges", ranges);
        array("/inlined", crate::chunks::Chunks::inlined(1, vec![1, 0]));
        array("/many", crate::chunks::Chunks::new(vec![9_000_000]));
        writer.finish().unwrap();
        let columns = |name: &str| {
            let table = fs::read(folder.path().join(name)).unwrap();
            let has = |column: &str| table.windows(column.len()).any(|part| part == column.as_bytes());
            ["path", "offset", "size", "raw"].map(has)
        };
        assert_eq!(columns("ranges/refs.1.parq"), [true, true, true, false]);
        // Readers look for the protocol in every table.
        for name in ["ranges/refs.0.parq", "ranges/refs.2.parq", "inlined/refs.0.parq"] {
            assert_eq!(columns(name), [false, false, false, true], "{name}");
        }
        assert_eq!(fs::read_dir(folder.path().join("ranges")).unwrap().count(), 3);
        assert_eq!(fs::read_dir(folder.path().join("many")).unwrap().count(), 0);
    }

    #[test]
    fn each_array_has_a_folder_with_its_tables() {
        let mut tree = Memory::new(Format::Hdf5);
        let group = tree.group(tree.root(), "g");
        tree.array(group, "a", array::<u16>(&[2], &[1, 515]));
        let folder = tempfile::tempdir().unwrap();
        let file = File::from(tree);
        let report = write(&file, &Options::new("s3://bucket/a.h5"), folder.path(), 3).unwrap();
        assert!(report.is_complete());
        let told: Value =
            serde_json::from_slice(&fs::read(folder.path().join(".zmetadata")).unwrap()).unwrap();
        assert_eq!(told["record_size"], 3);
        assert_eq!(told["metadata"]["g/a/.zarray"]["dtype"], "<u2");
        let table = fs::read(folder.path().join("g/a/refs.0.parq")).unwrap();
        assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
        assert!(write(&file, &Options::new("s3://bucket/a.h5"), folder.path(), 0).is_err());
    }
}
