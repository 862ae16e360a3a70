//! Tables in real HDF5 files: what is read of them, and what is written.
#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::{Float64Type, Int32Type};
use sciformats_arrow::arrow_array::{Array, RecordBatch, RecordBatchReader};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::hdf5_pure::{CreateOptions, Datatype, Writer};
use sciformats_arrow::sciformats_conventions::sciformats::{Error, File, OpenOptions, Result};
use sciformats_arrow::write::{Form, WriteOptions, write_hdf5};
use sciformats_arrow::{Batches, Comparison, Open, Options, Predicate, Scalar, open_file};
use sciformats_core::ReadAt;

/// Counts the bytes that are read.
struct Counting(Vec<u8>, Arc<AtomicU64>);

impl ReadAt for Counting {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.1.fetch_add(len as u64, Ordering::Relaxed);
        self.0[..].read_at(offset, len)
    }
}

const ROWS: usize = 200_000;

/// A group with four columns, and the same as records with fixed texts and big-endian numbers.
fn file() -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    let numbers: Vec<i32> = (0..ROWS as i32).collect();
    for name in ["a", "b", "c", "d"] {
        file.dataset(&format!("group/{name}")).write(&numbers).unwrap();
    }
    let row = Datatype::compound([
        ("at", Datatype::integer(true, 4)),
        ("big", Datatype::float64().big_endian()),
        ("name", Datatype::fixed_string(5)),
        ("flag", Datatype::bits(1)),
    ]);
    let mut bytes = Vec::new();
    for at in 0..ROWS as i32 {
        bytes.extend(at.to_le_bytes());
        bytes.extend((f64::from(at) / 2.0).to_be_bytes());
        bytes.extend(format!("{:\0<5}", at % 1000).as_bytes());
        bytes.push((at % 2) as u8);
    }
    let records = file.dataset("records").datatype(row).shape([ROWS as u64]).chunks([1000]).deflate(1);
    records.write_raw(&bytes).unwrap();
    file.into_bytes().unwrap()
}

fn counted(bytes: &[u8]) -> (Dataset, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let storage = Counting(bytes.to_vec(), Arc::clone(&read));
    (Dataset::new(File::from_storage(storage, &OpenOptions::default()).unwrap()), read)
}

fn all(data: &Dataset, path: &str, options: &Options) -> Vec<RecordBatch> {
    Batches::open(data, path, options).unwrap().collect::<std::result::Result<_, _>>().unwrap()
}

#[test]
fn only_the_columns_that_are_requested_are_read() {
    let bytes = file();
    let column = 4 * ROWS as u64;
    let (data, read) = counted(&bytes);
    all(&data, "/group", &Options::default().with_columns(["b"]));
    let one = read.load(Ordering::Relaxed);
    assert!((column..column + 200_000).contains(&one), "{one}");
    // Rows that are not requested are not read either.
    let (data, read) = counted(&bytes);
    all(&data, "/group", &Options::default().with_columns(["b", "c"]).with_rows(1_000..2_000));
    assert!(read.load(Ordering::Relaxed) < 200_000);
    // The other columns are only read where a condition holds.
    let (data, read) = counted(&bytes);
    let late = Predicate::new("a", Comparison::GreaterOrEqual, Scalar::from(ROWS as i32 - 10));
    let found = all(&data, "/group", &Options::default().with_filter(late.clone()));
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert!(read.load(Ordering::Relaxed) < column + 200_000);
    // A search reads next to nothing.
    let (data, read) = counted(&bytes);
    let found = all(&data, "/group", &Options::default().with_filter(late).with_sorted("a"));
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert!(read.load(Ordering::Relaxed) < 300_000, "{}", read.load(Ordering::Relaxed));
}

#[test]
fn fields_in_any_form_are_read() {
    let (data, _) = counted(&file());
    let batches = all(&data, "/records", &Options::default().with_rows(500..1_700));
    let schema = batches[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["at", "big", "name", "flag"]);
    let batch = &batches[0];
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), 500);
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(1), 250.5);
    assert_eq!(batch.column(2).as_string::<i64>().value(7), "507");
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 1_200);
    // Batches end where chunks end.
    let batches = all(&data, "/records", &Options::default().with_rows(500..5_000).with_batch_rows(2_200));
    let heights: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(heights, [1_500, 2_000, 1_000]);
}

/// A folder of its own for a test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sciformats-arrow-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn opener() -> Open {
    Arc::new(|path: &Path| Dataset::open(path))
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new("written");
    let csv = folder.path().join("log.csv");
    std::fs::write(&csv, "at,share,name,yes\r\n1,0.5,a,true\r\n-2,,\"b,c\",false\r\n").unwrap();
    let table = open_file(&csv, None, &opener()).unwrap();
    for form in Form::ALL {
        let path = folder.path().join(format!("{}.h5", form.word()));
        let rows = write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(form).with_level(1))
            .unwrap();
        assert_eq!(rows, 2, "{form:?}");
        let again = open_file(&path, Some(form.place()), &opener()).unwrap();
        let options = Options::default().with_columns(["at", "share", "name", "yes"]);
        let batches: Vec<RecordBatch> =
            again.scan(&options).unwrap().collect::<std::result::Result<_, _>>().unwrap();
        let batch = &batches[0];
        assert_eq!(batch.num_rows(), 2, "{form:?}");
        let share = batch.column(1).as_primitive::<Float64Type>();
        assert!(share.value(0) == 0.5 && (share.is_null(1) || share.value(1).is_nan()), "{form:?}");
        assert_eq!(batch.column(2).as_string::<i64>().value(1), "b,c", "{form:?}");
        assert!(batch.column(3).as_boolean().value(0) && !batch.column(3).as_boolean().value(1), "{form:?}");
    }
}

#[test]
fn missing_values_without_a_place_are_refused_by_name() {
    let folder = Folder::new("missing");
    let csv = folder.path().join("log.csv");
    std::fs::write(&csv, "count,name\r\n1,a\r\n,b\r\n").unwrap();
    let table = open_file(&csv, None, &opener()).unwrap();
    for form in [Form::Records, Form::PyTables, Form::Columns] {
        let path = folder.path().join("out.h5");
        let error = write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(form)).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("count"), "{error}");
        assert!(!path.exists(), "{form:?}");
    }
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn files_of_parquet_and_arrow_come_back() {
    use sciformats_arrow::{ParquetOptions, write_ipc, write_parquet};
    let folder = Folder::new("foreign");
    let (data, _) = counted(&file());
    let batches = || Batches::open(&data, "/records", &Options::default()).unwrap();
    let expected = all(&data, "/records", &Options::default());
    let expected = sciformats_arrow_concat(&expected);
    for name in ["t.parquet", "t.arrow"] {
        let path = folder.path().join(name);
        let out = std::fs::File::create(&path).unwrap();
        let mut options = ParquetOptions::default().with_threads(2);
        options.group_rows = 70_000;
        let rows = match name {
            "t.parquet" => write_parquet(batches(), out, &options).unwrap(),
            _ => write_ipc(batches(), out).unwrap(),
        };
        assert_eq!(rows, ROWS as u64);
        let table = open_file(&path, None, &opener()).unwrap();
        let reader = table.scan(&Options::default()).unwrap();
        assert_eq!(reader.schema().fields(), expected.schema().fields(), "{name}");
        let found: Vec<RecordBatch> = reader.collect::<std::result::Result<_, _>>().unwrap();
        assert_eq!(sciformats_arrow_concat(&found).columns(), expected.columns(), "{name}");
        let few = Options::default()
            .with_columns(["name"])
            .with_filter(Predicate::new("at", Comparison::Less, Scalar::from(3)))
            .with_limit(2);
        let few: Vec<RecordBatch> = table.scan(&few).unwrap().collect::<std::result::Result<_, _>>().unwrap();
        assert_eq!((few[0].num_rows(), few[0].num_columns()), (2, 1));
    }
    // What is damaged is an error, not the end.
    for name in ["t.parquet", "t.arrow"] {
        let mut bytes = std::fs::read(folder.path().join(name)).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 40) {
            let before = bytes[at];
            bytes[at] ^= 0xff;
            let path = folder.path().join(format!("broken-{name}"));
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(table) = open_file(&path, None, &opener())
                && let Ok(reader) = table.scan(&Options::default())
            {
                let _ = reader.map(|batch| batch.is_ok()).collect::<Vec<_>>();
            }
            bytes[at] = before;
        }
    }
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
fn sciformats_arrow_concat(batches: &[RecordBatch]) -> RecordBatch {
    arrow_select::concat::concat_batches(&batches[0].schema(), batches).unwrap()
}
