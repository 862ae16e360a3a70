//! Tables in real HDF5 files: what is read of them, and what is written.
#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::{Float64Type, Int32Type, UInt8Type};
use sciformats_arrow::arrow_array::{Array, RecordBatch, RecordBatchReader};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::hdf5_pure::{CreateOptions, Datatype, Writer};
use sciformats_arrow::sciformats_conventions::sciformats::{Error, File, OpenOptions, Result};
use sciformats_arrow::write::{Form, WriteOptions, rehearse_hdf5, write_hdf5};
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
        ("at", Datatype::signed(4)),
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
fn a_small_field_beside_a_large_one_is_read_alone() {
    const SIZE: u32 = 1 << 20;
    let image = Datatype::array(&[SIZE], &Datatype::unsigned(1));
    let row = Datatype::compound([
        ("at", Datatype::signed(4)),
        ("image", image),
        ("big", Datatype::float64().big_endian()),
        ("name", Datatype::fixed_string(5)),
    ]);
    for chunks in [None, Some(1), Some(4)] {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        let mut bytes = Vec::new();
        for at in 0..10i32 {
            bytes.extend(at.to_le_bytes());
            bytes.extend(std::iter::repeat_n(at as u8, SIZE as usize));
            bytes.extend((f64::from(at) / 2.0).to_be_bytes());
            bytes.extend(format!("{at:\0<5}").as_bytes());
        }
        let rows = file.dataset("rows").datatype(row.clone()).shape([10]);
        let rows = if let Some(chunk) = chunks { rows.chunks([chunk]) } else { rows };
        rows.write_raw(&bytes).unwrap();
        let (data, read) = counted(&file.into_bytes().unwrap());
        let small = Options::default().with_columns(["name", "at", "big"]);
        let batches = all(&data, "/rows", &small);
        let read = read.load(Ordering::Relaxed);
        assert!(read < 100_000, "{read} with {chunks:?}");
        for at in 0..10 {
            assert_eq!(batches[0].column(0).as_string::<i64>().value(at), at.to_string());
            assert_eq!(batches[0].column(1).as_primitive::<Int32Type>().value(at), at as i32);
            assert_eq!(batches[0].column(2).as_primitive::<Float64Type>().value(at), at as f64 / 2.0);
        }
        let found = all(&data, "/rows", &Options::default().with_rows(3..4));
        let image = found[0].column(1).as_fixed_size_list().values().clone();
        assert!(image.as_primitive::<UInt8Type>().values().iter().all(|&value| value == 3));
    }
}

#[test]
fn a_text_of_any_length_beside_a_large_field_is_read_alone() {
    sciformats_arrow::sciformats_conventions::sciformats::hdf5_pure::record! {
        struct Shot { image: [u8; 9000], note: String }
    }
    let notes: Vec<Shot> = (0..200).map(|at| Shot { image: [1; 9000], note: format!("shot {at}") }).collect();
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("shots").write(&notes).unwrap();
    let (data, read) = counted(&file.into_bytes().unwrap());
    let batches = all(&data, "/shots", &Options::default().with_columns(["note"]));
    assert_eq!(batches[0].column(0).as_string::<i64>().value(199), "shot 199");
    let read = read.load(Ordering::Relaxed);
    assert!(read < 200 * 1000, "{read}");
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
fn every_form_obeys_the_level() {
    let folder = Folder::new("levels");
    let csv = folder.path().join("log.csv");
    let rows: String = (0..5000).map(|row| format!("{row},0.5,name {}\r\n", row % 3)).collect();
    std::fs::write(&csv, format!("at,share,name\r\n{rows}")).unwrap();
    let table = open_file(&csv, None, &opener()).unwrap();
    for form in Form::ALL {
        let path = folder.path().join(format!("{}.h5", form.word()));
        let size = |level| {
            let options = WriteOptions::default().with_form(form).with_level(level).with_overwrite(true);
            write_hdf5(table.as_ref(), &path, &options).unwrap();
            let file = Dataset::open(&path).unwrap();
            let infos = file.file().arrays().map(|array| array.unwrap().info().clone());
            let long = infos.filter(|info| info.elements().unwrap() > 3);
            assert!(long.into_iter().all(|info| info.filters.is_empty() == (level == 0)), "{form:?} {level}");
            std::fs::metadata(&path).unwrap().len()
        };
        assert!(size(9) + 20_000 < size(0), "{form:?}");
        let beyond = WriteOptions::default().with_form(form).with_level(10).with_overwrite(true);
        assert!(write_hdf5(table.as_ref(), &path, &beyond).is_err(), "{form:?}");
        assert!(rehearse_hdf5(table.as_ref(), &path, &beyond).is_err(), "{form:?}");
    }
}

#[test]
fn a_small_table_is_a_small_file() {
    let folder = Folder::new("small");
    let csv = folder.path().join("log.csv");
    std::fs::write(&csv, "at,share\r\n1,0.5\r\n").unwrap();
    let table = open_file(&csv, None, &opener()).unwrap();
    for form in [Form::Records, Form::PyTables, Form::Columns] {
        let path = folder.path().join(format!("{}.h5", form.word()));
        write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(form)).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < 16_384, "{form:?}: {size}");
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

/// Columns of the types that HDF5 has no elements for, and others, with missing values where every form has them.
#[cfg(all(feature = "parquet", feature = "ipc"))]
fn of_all_types() -> Vec<(&'static str, sciformats_arrow::arrow_array::ArrayRef)> {
    use sciformats_arrow::arrow_array::*;
    use sciformats_arrow::arrow_schema::{DataType, Field};
    let dates = Arc::new(Date32Array::from(vec![Some(19_000), None, Some(-1)]));
    let inner = Arc::new(TimestampMillisecondArray::from(vec![Some(5), None, Some(-7)]));
    let fields =
        vec![Field::new("since", inner.data_type().clone(), true), Field::new("n", DataType::Int16, true)];
    let records =
        StructArray::new(fields.into(), vec![inner, Arc::new(Int16Array::from(vec![1, 2, 3]))], None);
    let item = Arc::new(Field::new("item", DataType::Date32, true));
    let days = Arc::new(Date32Array::from((0..6).collect::<Vec<_>>()));
    vec![
        ("day", dates),
        ("plain", Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(i64::MAX)]))),
        ("utc", Arc::new(TimestampNanosecondArray::from(vec![1, 2, 3]).with_timezone("Europe/Berlin"))),
        ("span", Arc::new(DurationMicrosecondArray::from(vec![Some(-5), None, Some(0)]))),
        ("clock", Arc::new(Time64MicrosecondArray::from(vec![Some(86_399_999_999), None, Some(0)]))),
        ("second", Arc::new(Time32MillisecondArray::from(vec![Some(5), None, Some(0)]))),
        ("count", Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX]))),
        ("records", Arc::new(records)),
        ("pair", Arc::new(FixedSizeListArray::new(item, 2, days, None))),
        (
            "id",
            Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab\0", b"\0\0\0", b"xyz"].into_iter()).unwrap()),
        ),
    ]
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
fn stored(
    folder: &Folder,
    columns: Vec<(&'static str, sciformats_arrow::arrow_array::ArrayRef)>,
) -> std::path::PathBuf {
    use sciformats_arrow::arrow_array::RecordBatchIterator;
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, of)| (name, of, true)))
            .unwrap();
    let path = folder.path().join("table.arrow");
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    sciformats_arrow::write_ipc(reader, std::fs::File::create(&path).unwrap()).unwrap();
    path
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn dates_times_and_spans_come_back_from_every_form() {
    use sciformats_arrow::arrow_array::types::Date32Type;
    let folder = Folder::new("dates");
    let table = open_file(&stored(&folder, of_all_types()), None, &opener()).unwrap();
    for form in [Form::Records, Form::PyTables, Form::Columns] {
        let path = folder.path().join(format!("{}.h5", form.word()));
        write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(form)).unwrap();
        let again = open_file(&path, Some("/table"), &opener()).unwrap();
        let batches: Vec<RecordBatch> =
            again.scan(&Options::default()).unwrap().collect::<std::result::Result<_, _>>().unwrap();
        let batch = &batches[0];
        for (name, column) in of_all_types() {
            // Records beside arrays have a column for each field.
            let found = match (form, name) {
                (Form::Columns, "records") => {
                    let of = column.as_struct();
                    assert_eq!(batch.column_by_name("records.n").unwrap().to_data(), of.column(1).to_data());
                    assert_eq!(
                        batch.column_by_name("records.since").unwrap().to_data(),
                        of.column(0).to_data()
                    );
                    continue;
                }
                _ => batch.column_by_name(name).unwrap(),
            };
            assert_eq!(found.to_data(), column.to_data(), "{form:?} {name}");
        }
        // Conditions are those of dates too.
        let late = Predicate::new("day", Comparison::Greater, Scalar::from("2020-01-01"));
        let some = Options::default().with_columns(["day"]).with_filter(late);
        let found = again.scan(&some).unwrap().next().unwrap().unwrap();
        assert_eq!((found.num_rows(), found.column(0).as_primitive::<Date32Type>().value(0)), (1, 19_000));
    }
}

/// h5py and NumPy only read bytes without a meaning if their tag is empty.
#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn bytes_of_one_length_have_no_tag() {
    use sciformats_arrow::arrow_array::FixedSizeBinaryArray;
    use sciformats_arrow::sciformats_conventions::sciformats::hdf5_pure::File as Stored;
    let folder = Folder::new("tags");
    let bytes = Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab\0", b"xyz"].into_iter()).unwrap());
    let table = open_file(&stored(&folder, vec![("id", bytes)]), None, &opener()).unwrap();
    for (form, place, expected) in [
        (Form::Records, "table", Datatype::compound([("id", Datatype::opaque(3, ""))])),
        (Form::Columns, "table/id", Datatype::opaque(3, "")),
    ] {
        let path = folder.path().join(format!("{}.h5", form.word()));
        write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(form)).unwrap();
        let found = Stored::open(&path).unwrap().dataset(place).unwrap().datatype().clone();
        assert_eq!((found.size, found.class), (expected.size, expected.class), "{form:?}");
    }
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn frames_keep_missing_names_and_the_types_of_no_rows() {
    use sciformats_arrow::arrow_array::types::Int64Type;
    use sciformats_arrow::arrow_array::{ArrayRef, Int64Array, StringArray};
    let folder = Folder::new("frames");
    let write = |columns: Vec<(&'static str, ArrayRef)>| {
        let table = open_file(&stored(&folder, columns), None, &opener()).unwrap();
        let path = folder.path().join("out.h5ad");
        let options = WriteOptions::default().with_form(Form::AnnData).with_overwrite(true);
        write_hdf5(table.as_ref(), &path, &options).unwrap();
        open_file(&path, Some("/obs"), &opener()).unwrap()
    };
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![5, 7]));
    let again = write(vec![("index", names), ("n", numbers)]);
    let options = Options::default().with_columns(["index", "n"]);
    let batch = again.scan(&options).unwrap().next().unwrap().unwrap();
    assert!(batch.column(0).is_valid(0) && batch.column(0).is_null(1));
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().values(), &[5, 7]);
    // The column that names the rows keeps its name.
    for (name, kept) in [("index", "index"), ("_index", "_index"), ("__index_level_0__", "_index")] {
        let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let schema = write(vec![(name, names), ("n", Arc::new(Int64Array::from(vec![5, 7])))]).schema();
        assert_eq!(schema.field(0).name(), kept);
        assert_eq!(schema.field(0).metadata().get("index").map(String::as_str), Some("true"));
    }
    let csv = folder.path().join("none.csv");
    std::fs::write(&csv, "name,n\n").unwrap();
    let table = open_file(&csv, None, &opener()).unwrap();
    let path = folder.path().join("none.h5ad");
    write_hdf5(table.as_ref(), &path, &WriteOptions::default().with_form(Form::AnnData)).unwrap();
    let again = open_file(&path, Some("/obs"), &opener()).unwrap();
    let schema = again.schema();
    assert_eq!(schema.field_with_name("name").unwrap().data_type(), table.schema().field(0).data_type());
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn values_that_a_form_would_change_are_refused() {
    use arrow_buffer::OffsetBuffer;
    use sciformats_arrow::arrow_array::types::{Int8Type, Int64Type};
    use sciformats_arrow::arrow_array::{
        ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int64Array, ListArray, StringArray,
        TimestampSecondArray,
    };
    use sciformats_arrow::arrow_schema::{DataType, Field};
    let folder = Folder::new("changed");
    let write = |columns: Vec<(&'static str, ArrayRef)>, form: Form| {
        let table = open_file(&stored(&folder, columns), None, &opener()).unwrap();
        let path = folder.path().join("out.h5");
        let options = WriteOptions::default().with_form(form).with_overwrite(true);
        write_hdf5(table.as_ref(), &path, &options).map(|_| path)
    };
    let zero: ArrayRef = Arc::new(StringArray::from(vec!["a", "b\0c"]));
    let first: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, i64::MIN]));
    for form in [Form::Records, Form::PyTables, Form::Columns] {
        for (column, word) in [(&zero, "zero byte"), (&first, "smallest integer")] {
            let error = write(vec![("s", Arc::clone(column))], form).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("column s"), "{form:?}: {error}");
        }
    }
    let pair = FixedSizeListArray::new(
        Arc::new(Field::new("item", DataType::Int64, true)),
        1,
        Arc::new(Int64Array::from(vec![1, 2])),
        None,
    );
    let item = Arc::new(Field::new("item", pair.data_type().clone(), true));
    let ends = OffsetBuffer::from_lengths([2]);
    let lists: ArrayRef = Arc::new(ListArray::new(item, ends, Arc::new(pair), None));
    let error = write(vec![("s", lists)], Form::Records).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    // Categories that are numbers are stored as numbers, and one that is missing is a missing value.
    let keys = || Int8Array::from(vec![Some(0), Some(1), None]);
    let numbers = DictionaryArray::<Int8Type>::new(keys(), Arc::new(Int64Array::from(vec![5, 7])));
    let gone = DictionaryArray::<Int8Type>::new(keys(), Arc::new(StringArray::from(vec![Some("x"), None])));
    let path =
        write(vec![("n", Arc::new(numbers.clone())), ("t", Arc::new(gone.clone()))], Form::AnnData).unwrap();
    let again = open_file(&path, Some("/obs"), &opener()).unwrap();
    let batch = again.scan(&Options::default().with_columns(["n", "t"])).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(5), Some(7), None]));
    assert!(batch.column(1).is_valid(0) && batch.column(1).is_null(1) && batch.column(1).is_null(2));
    let error = write(vec![("t", Arc::new(gone))], Form::Records).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    let path = write(vec![("n", Arc::new(numbers.slice(0, 2)))], Form::Records).unwrap();
    let again = open_file(&path, Some("/table"), &opener()).unwrap();
    let batch = again.scan(&Options::default()).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>(), &Int64Array::from(vec![5, 7]));
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn texts_that_grow_are_not_cut() {
    use sciformats_arrow::arrow_array::{RecordBatchIterator, StringArray};
    use sciformats_arrow::arrow_schema::{DataType, Field, Schema, SchemaRef};
    use sciformats_arrow::{Reader, Scan};
    /// A table whose text is longer when it is read again.
    struct Growing(AtomicU64);
    impl Scan for Growing {
        fn schema(&self) -> SchemaRef {
            Arc::new(Schema::new(vec![Field::new("s", DataType::Utf8, true)]))
        }

        fn scan(&self, _: &Options) -> Result<Reader> {
            let text = if self.0.fetch_add(1, Ordering::Relaxed) == 0 { "a" } else { "abc" };
            let texts = Arc::new(StringArray::from(vec![text]));
            let batch = RecordBatch::try_new(self.schema(), vec![texts]).unwrap();
            Ok(Box::new(RecordBatchIterator::new([Ok(batch)], self.schema())))
        }
    }
    let folder = Folder::new("growing");
    let options = WriteOptions::default().with_form(Form::PyTables);
    let path = folder.path().join("out.h5");
    let error = write_hdf5(&Growing(AtomicU64::new(0)), &path, &options).unwrap_err().to_string();
    assert!(error.contains("a text of more than 1 bytes of the column s"), "{error}");
    assert!(!path.exists());
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn names_that_pytables_cannot_open_are_refused() {
    use sciformats_arrow::arrow_array::{ArrayRef, Int64Array};
    let folder = Folder::new("names");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let path = folder.path().join("out.h5");
    for name in ["a/b", "_v_x", "_f_x", "_g_x", "_c_x", "__members__", "."] {
        let table = open_file(&stored(&folder, vec![(name, Arc::clone(&column))]), None, &opener()).unwrap();
        let options = WriteOptions::default().with_form(Form::PyTables);
        let error = write_hdf5(table.as_ref(), &path, &options).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains(name), "{error}");
        assert!(!path.exists());
    }
    let table = open_file(&stored(&folder, vec![("a", column)]), None, &opener()).unwrap();
    let options = WriteOptions::default().with_form(Form::PyTables).with_path("/_v_x/t");
    assert!(write_hdf5(table.as_ref(), &path, &options).unwrap_err().to_string().contains("_v_x"));
}

#[test]
fn records_beside_arrays_are_columns_or_an_error() {
    let made = |rows: u64| {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        file.dataset("run/a").write(&[1i32, 2]).unwrap();
        let row = Datatype::compound([("x", Datatype::signed(4))]);
        let bytes: Vec<u8> = (0..rows as i32).flat_map(i32::to_le_bytes).collect();
        file.dataset("run/events").datatype(row).shape([rows]).write_raw(&bytes).unwrap();
        file.dataset("run/z").write(&[3i32, 4]).unwrap();
        counted(&file.into_bytes().unwrap()).0
    };
    let found = &all(&made(2), "/run", &Options::default())[0];
    let names: Vec<_> = found.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["a", "events.x", "z"]);
    assert_eq!(found.column(1).as_primitive::<Int32Type>().values(), &[0, 1]);
    let error = Batches::open(&made(3), "/run", &Options::default()).unwrap_err();
    assert!(
        matches!(error, Error::Usage { .. }) && error.to_string().contains("events has 3 rows"),
        "{error}"
    );
}

#[test]
fn errors_of_one_of_many_files_name_it() {
    use sciformats_arrow::{Files, Scan};
    let folder = Folder::new("many");
    let path = |name: &str| folder.path().join(name);
    for (name, columns) in [("a.h5", ["x", "y"].as_slice()), ("b.h5", ["x"].as_slice())] {
        let mut file = Writer::create(path(name)).unwrap();
        for column in columns {
            file.dataset(&format!("run/{column}")).write(&[1i32, 2]).unwrap();
        }
        file.finish().unwrap();
    }
    let files = || vec![path("a.h5"), path("b.h5")];
    for (place, word) in [("/nope", "a.h5:/nope"), ("/", "a.h5")] {
        let error = Files::new(files(), Some(place), "file", &opener()).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
    let table = Files::new(files(), Some("/run"), "file", &opener()).unwrap();
    let last = table.scan(&Options::default()).unwrap().last().unwrap().unwrap_err().to_string();
    assert!(last.contains("b.h5") && last.contains('y'), "{last}");
    // What is only compared has one type, too: NaN differs from 5, and what is missing does not.
    let mut file = Writer::create(path("c.h5")).unwrap();
    file.dataset("run/x").write(&[1.0, f64::NAN]).unwrap();
    file.dataset("run/y").write(&[1i32, 2]).unwrap();
    file.finish().unwrap();
    let table = Files::new(vec![path("a.h5"), path("c.h5")], Some("/run"), "file", &opener()).unwrap();
    let other = Predicate::new("x", Comparison::NotEqual, Scalar::from(5));
    let found = table.scan(&Options::default().with_columns(["y"]).with_filter(other)).unwrap();
    let last = found.last().unwrap().unwrap_err().to_string();
    assert!(last.contains("column x in") && last.contains("c.h5") && last.contains("Float64"), "{last}");
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn dates_of_milliseconds_are_moments_in_parquet() {
    use sciformats_arrow::arrow_array::types::TimestampMillisecondType;
    use sciformats_arrow::arrow_array::{Date64Array, RecordBatchIterator};
    use sciformats_arrow::{ParquetOptions, write_parquet};
    let folder = Folder::new("date64");
    let dates = Arc::new(Date64Array::from(vec![Some(86_400_001), None]));
    let batch =
        RecordBatch::try_from_iter([("at", dates as sciformats_arrow::arrow_array::ArrayRef)]).unwrap();
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let path = folder.path().join("t.parquet");
    write_parquet(reader, std::fs::File::create(&path).unwrap(), &ParquetOptions::default()).unwrap();
    let found = open_file(&path, None, &opener()).unwrap().scan(&Options::default()).unwrap().next();
    let found = found.unwrap().unwrap();
    let moments = found.column(0).as_primitive::<TimestampMillisecondType>();
    assert!(moments.value(0) == 86_400_001 && moments.is_null(1));
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
fn sciformats_arrow_concat(batches: &[RecordBatch]) -> RecordBatch {
    arrow_select::concat::concat_batches(&batches[0].schema(), batches).unwrap()
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn damage_is_not_a_lack_of_support() {
    use sciformats_arrow::arrow_array::{LargeStringArray, RecordBatchIterator};
    use sciformats_arrow::arrow_schema::ArrowError;
    use sciformats_arrow::{write_ipc, write_parquet};
    let folder = Folder::new("damaged");
    let names: sciformats_arrow::arrow_array::ArrayRef =
        Arc::new(LargeStringArray::from(vec!["qwertz", "other"]));
    let batch = RecordBatch::try_from_iter([("name", names)]).unwrap();
    let table = || RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let mut arrow = Vec::new();
    write_ipc(table(), &mut arrow).unwrap();
    let mut parquet = Vec::new();
    write_parquet(table(), &mut parquet, &Default::default()).unwrap();
    let at = arrow.windows(6).position(|part| part == b"qwertz").unwrap();
    let mut wrong = arrow.clone();
    wrong[at] = 0xff;
    let ends = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    for (name, bytes) in
        [("text.arrow", wrong), ("ends.arrow", ends(&arrow)), ("ends.parquet", ends(&parquet))]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let read = open_file(&path, None, &opener()).and_then(|table| {
            let batches = table.scan(&Options::default())?;
            let batches = batches.collect::<std::result::Result<Vec<_>, _>>();
            batches.map_err(|error| match error {
                ArrowError::ExternalError(inner) => *inner.downcast::<Error>().unwrap(),
                other => panic!("{other}"),
            })
        });
        assert!(matches!(read, Err(Error::Malformed { .. })), "{name}: {read:?}");
    }
}

#[test]
fn rows_of_many_files_are_counted_before_conditions() {
    use sciformats_arrow::{Files, Scan};
    let folder = Folder::new("counted");
    let mut files = Vec::new();
    for first in [0, 4] {
        let path = folder.path().join(format!("{first}.h5"));
        let mut file = Writer::create(&path).unwrap();
        let values: Vec<i32> = (first..first + 4).collect();
        file.dataset("run/x").write(&values).unwrap();
        file.dataset("run/y").write(&values).unwrap();
        file.finish().unwrap();
        files.push(path);
    }
    let table = Files::new(files, Some("/run"), "file", &opener()).unwrap();
    let odd = Predicate::new("y", Comparison::Greater, Scalar::from(1));
    let rows = |options: Options| -> Vec<i32> {
        let batches = table.scan(&options.with_columns(["x"])).unwrap();
        batches
            .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec())
            .collect()
    };
    let part = || Options::default().with_rows(1..6);
    assert_eq!(rows(part()), [1, 2, 3, 4, 5]);
    assert_eq!(rows(part().with_filter(odd.clone())), [2, 3, 4, 5]);
    assert_eq!(rows(part().with_filter(odd.clone()).with_limit(1)), [2]);
    assert_eq!(rows(Options::default().with_rows(5..8).with_limit(2)), [5, 6]);
    assert_eq!(rows(Options::default().with_filter(odd).with_limit(3)), [2, 3, 4]);
}

#[cfg(feature = "parquet")]
#[test]
fn maps_come_back_from_parquet() {
    use sciformats_arrow::arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
    use sciformats_arrow::arrow_array::{ArrayRef, Int32Array, RecordBatchIterator};
    use sciformats_arrow::{ParquetOptions, write_parquet};
    let folder = Folder::new("maps");
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("a");
    maps.values().append_value(1);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let columns = [
        ("tags", Arc::new(maps.finish()) as ArrayRef),
        ("n", Arc::new(Int32Array::from(vec![7, 8])) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let path = folder.path().join("t.parquet");
    write_parquet(reader, std::fs::File::create(&path).unwrap(), &ParquetOptions::default()).unwrap();
    let found = open_file(&path, None, &opener()).unwrap().scan(&Options::default()).unwrap().next();
    assert_eq!(found.unwrap().unwrap().columns(), batch.columns());
}

/// Rows of ordered categories: the names, and their places among them.
#[cfg(any(feature = "sql", all(feature = "parquet", feature = "ipc")))]
fn stages(names: Vec<&str>, codes: Vec<i32>) -> RecordBatch {
    use sciformats_arrow::arrow_array::{DictionaryArray, Int32Array, LargeStringArray};
    use sciformats_arrow::arrow_schema::{Field, Schema};
    let names = Arc::new(LargeStringArray::from(names));
    let stages = DictionaryArray::<Int32Type>::try_new(Int32Array::from(codes), names).unwrap();
    let field = Field::new("stage", stages.data_type().clone(), true).with_dict_is_ordered(true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(stages)]).unwrap()
}

#[cfg(all(feature = "parquet", feature = "ipc"))]
#[test]
fn parquet_lists_categories_as_they_come_and_arrow_in_their_order() {
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use sciformats_arrow::arrow_array::RecordBatchIterator;
    use sciformats_arrow::{ParquetOptions, write_ipc, write_parquet};
    let folder = Folder::new("stages");
    let batch = stages(vec!["low", "mid", "high"], vec![2, 0, 1, 0]);
    let table = || RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let at = |name: &str| folder.path().join(name);
    let file = |name: &str| std::fs::File::create(at(name)).unwrap();
    write_parquet(table(), file("own.parquet"), &ParquetOptions::default()).unwrap();
    write_ipc(table(), file("own.arrow")).unwrap();
    let ordered =
        |name: &str| open_file(&at(name), None, &opener()).unwrap().schema().field(0).dict_is_ordered();
    assert_eq!((ordered("own.parquet"), ordered("own.arrow")), (Some(false), Some(true)));
    // Other programs list all categories in each group of rows, so no batch has rows of two groups.
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    let mut writer = ArrowWriter::try_new(file("other.parquet"), batch.schema(), Some(groups)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    assert_eq!(ordered("other.parquet"), Some(true));
    let rows = |options: Options| -> Vec<usize> {
        let table = open_file(&at("other.parquet"), None, &opener()).unwrap();
        table.scan(&options).unwrap().map(|batch| batch.unwrap().num_rows()).collect()
    };
    assert_eq!(rows(Options::default()), [2, 2]);
    assert_eq!(rows(Options::default().with_columns(["stage"]).with_limit(3)), [2, 1]);
}

#[cfg(feature = "sql")]
#[test]
fn categories_have_an_order_if_all_parts_agree_on_it() {
    use sciformats_arrow::sql::{Memory, Tables};
    let folder = Folder::new("agreed");
    for (later, agree) in [(vec!["low", "high"], true), (vec!["high", "low"], false), (vec!["none"], false)] {
        let first = stages(vec!["low", "mid", "high"], vec![2, 0]);
        let next = stages(later.clone(), vec![0]);
        let table = Memory::default().with("t", vec![first, next]).unwrap().table("t").unwrap();
        let path = folder.path().join("t.h5ad");
        let options = WriteOptions::default().with_form(Form::AnnData).with_overwrite(true);
        write_hdf5(table.as_ref(), &path, &options).unwrap();
        let schema = open_file(&path, Some("/obs"), &opener()).unwrap().schema();
        let found = schema.field_with_name("stage").unwrap().dict_is_ordered();
        assert_eq!(found, Some(agree), "{later:?}");
    }
}
