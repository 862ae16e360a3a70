//! Tables become record batches with the values that the file has.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
};
use sciformats_arrow::arrow_array::{Array, RecordBatch, RecordBatchReader};
use sciformats_arrow::arrow_schema::{ArrowError, DataType, TimeUnit};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats_arrow::sciformats_conventions::sciformats::{ArrayInfo, ElementType, Error, File, Format};
use sciformats_arrow::{Batches, Comparison, Options, Predicate, Scalar, table, write_csv};

/// Returns an array of elements of any type.
fn stored(element: ElementType, rows: u64, bytes: Vec<u8>) -> MemoryArray {
    let mut stored = array::<u8>(&[0], &[]);
    stored.info = ArrayInfo::new(element, [rows]);
    stored.bytes = bytes;
    stored
}

fn text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text);
}

/// Records with one field of each kind.
fn records() -> Dataset {
    let color = ElementType::Enum {
        base: Box::new(ElementType::Int(1)),
        members: vec![("red".into(), -1), ("green".into(), 5)],
    };
    let element = ElementType::Compound(vec![
        ("id".into(), ElementType::Int(2)),
        ("name".into(), ElementType::Text),
        ("at".into(), ElementType::Array { element: Box::new(ElementType::F32), shape: vec![2, 1] }),
        ("color".into(), color),
        ("hits".into(), ElementType::Vlen(Box::new(ElementType::UInt(1)))),
        ("inner".into(), ElementType::Compound(vec![("yes".into(), ElementType::Bool)])),
        ("z".into(), ElementType::Complex(16)),
    ]);
    let mut bytes = Vec::new();
    for (id, name, color, hits) in [(-3i16, "a", 5i8, &[7u8, 8][..]), (9, "", -1, &[]), (300, "ü", 5, &[1])]
    {
        bytes.extend(id.to_le_bytes());
        text(&mut bytes, name.as_bytes());
        bytes.extend(f32::from(id).to_le_bytes());
        bytes.extend(0.5f32.to_le_bytes());
        bytes.extend(color.to_le_bytes());
        bytes.extend((hits.len() as u64).to_le_bytes());
        bytes.extend(hits);
        bytes.push(u8::from(id > 0));
        bytes.extend(f64::from(id).to_le_bytes());
        bytes.extend((-1.0f64).to_le_bytes());
    }
    let mut tree = Memory::new(Format::Hdf5);
    tree.array(tree.root(), "run", stored(element, 3, bytes));
    Dataset::new(File::from(tree))
}

fn all(data: &Dataset, path: &str, options: &Options) -> Vec<RecordBatch> {
    Batches::open(data, path, options).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn records_have_all_kinds_of_fields() {
    let batches = all(&records(), "/run", &Options::default());
    let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
    let column = |name: &str| Arc::clone(batch.column_by_name(name).unwrap());
    assert_eq!(column("id").as_primitive::<Int16Type>().values(), &[-3, 9, 300]);
    let names: Vec<_> =
        column("name").as_string::<i64>().iter().map(|name| name.map(str::to_owned)).collect();
    assert_eq!(names, [Some("a".into()), Some(String::new()), Some("ü".into())]);
    let at = column("at");
    let rows = at.as_fixed_size_list();
    assert_eq!((rows.value_length(), rows.len()), (2, 3));
    let numbers = rows.values().as_fixed_size_list().values().as_primitive::<Float32Type>().values().to_vec();
    assert_eq!(numbers, [-3.0, 0.5, 9.0, 0.5, 300.0, 0.5]);
    let color = column("color");
    let color = color.as_dictionary::<Int32Type>();
    let known = color.values().as_string::<i64>();
    let colors: Vec<&str> = color.keys().values().iter().map(|key| known.value(*key as usize)).collect();
    assert_eq!(colors, ["green", "red", "green"]);
    let hits = column("hits");
    let hits = hits.as_list::<i64>();
    assert_eq!(hits.value_offsets(), [0, 2, 2, 3]);
    assert_eq!(hits.values().as_primitive::<UInt8Type>().values(), &[7, 8, 1]);
    let inner = column("inner");
    let truths: Vec<_> = inner.as_struct().column(0).as_boolean().iter().collect();
    assert_eq!(truths, [Some(false), Some(true), Some(true)]);
    let z = column("z");
    let parts = z.as_fixed_size_list().values().as_primitive::<Float64Type>().values().to_vec();
    assert_eq!(parts, [-3.0, -1.0, 9.0, -1.0, 300.0, -1.0]);
}

#[test]
fn options_choose_columns_rows_and_portions() {
    let options = Options::default().with_columns(["name", "id"]).with_rows(1..3).with_batch_rows(1);
    let batches = all(&records(), "/run", &options);
    let ids: Vec<i16> =
        batches.iter().map(|batch| batch.column(1).as_primitive::<Int16Type>().value(0)).collect();
    assert_eq!(ids, [9, 300]);
    assert_eq!(batches[0].schema().field(0).name(), "name");
    // A query that only counts rows needs no columns.
    let none: [&str; 0] = [];
    let batches = all(&records(), "/run", &Options::default().with_columns(none));
    assert_eq!((batches[0].num_rows(), batches[0].num_columns()), (3, 0));
}

#[test]
fn wrong_options_are_refused() {
    let data = records();
    let refused = |options: Options| Batches::open(&data, "/run", &options).unwrap_err();
    assert!(matches!(refused(Options::default().with_columns(["nam"])), Error::NotFound { .. }));
    assert!(matches!(refused(Options::default().with_rows(2..4)), Error::Usage { .. }));
    assert!(matches!(refused(Options::default().with_batch_rows(0)), Error::Usage { .. }));
    assert!(matches!(table(&data, "/").unwrap_err(), Error::Usage { .. }));
}

/// A frame of AnnData with an index, categories, and integers that may be missing.
fn cells() -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "encoding-type", texts(&[], &["anndata"]));
    tree.attribute(root, "encoding-version", texts(&[], &["0.1.0"]));
    let obs = tree.group(root, "obs");
    tree.attribute(obs, "encoding-type", texts(&[], &["dataframe"]));
    tree.attribute(obs, "_index", texts(&[], &["cell"]));
    tree.attribute(obs, "column-order", texts(&[3], &["kind", "count", "few"]));
    tree.array(obs, "cell", texts(&[4], &["a", "b,\"c\"", "", "d"]));
    tree.array(obs, "count", array::<f32>(&[4], &[0.5, 1.5, f32::NAN, 3.5]));
    let kind = tree.group(obs, "kind");
    tree.attribute(kind, "encoding-type", texts(&[], &["categorical"]));
    tree.attribute(kind, "ordered", array::<u8>(&[], &[1]));
    tree.array(kind, "codes", array::<i8>(&[4], &[0, 1, -1, 0]));
    tree.array(kind, "categories", texts(&[2], &["T", "B cell"]));
    let few = tree.group(obs, "few");
    tree.attribute(few, "encoding-type", texts(&[], &["nullable-integer"]));
    tree.array(few, "values", array::<i64>(&[4], &[7, 0, 9, 1]));
    tree.array(few, "mask", array::<u8>(&[4], &[0, 1, 0, 0]));
    Dataset::new(File::from(tree))
}

#[test]
fn frames_have_an_index_categories_and_missing_values() {
    let reader = Batches::open(&cells(), "/obs", &Options::default().with_batch_rows(3)).unwrap();
    let schema = reader.schema();
    assert_eq!(schema.field(0).metadata().get("index").map(String::as_str), Some("true"));
    assert_eq!(schema.field(1).dict_is_ordered(), Some(true));
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [3, 1]);
    let column = |name: &str| Arc::clone(batches[0].column_by_name(name).unwrap());
    let kind = column("kind");
    assert_eq!((kind.is_null(0), kind.is_null(2)), (false, true));
    let few = column("few");
    let few: Vec<_> = few.as_primitive::<Int64Type>().iter().collect();
    assert_eq!(few, [Some(7), None, Some(9)]);
    let count = column("count");
    assert!(count.is_valid(2) && count.as_primitive::<Float32Type>().value(2).is_nan());
    let mut out = Vec::new();
    let data = cells();
    let reader = Batches::open(&data, "/obs", &Options::default().with_batch_rows(3)).unwrap();
    let rows = write_csv(reader, &mut out);
    assert_eq!(rows.unwrap(), 4);
    let expected =
        "cell,kind,count,few\r\na,T,0.5,7\r\n\"b,\"\"c\"\"\",B cell,1.5,\r\n\"\",,,9\r\nd,T,3.5,1\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn categories_are_compared_by_their_order() {
    let data = cells();
    let count = |comparison, value: &str, sorted: bool| {
        let mut options =
            Options::default().with_filter(Predicate::new("kind", comparison, Scalar::from(value)));
        options.sorted = sorted.then(|| "kind".to_owned());
        let batches = Batches::open(&data, "/obs", &options)?;
        Ok::<_, Error>(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>())
    };
    // `T` is before `B cell` in the list.
    assert_eq!(count(Comparison::Less, "B cell", false).unwrap(), 2);
    assert_eq!(count(Comparison::Greater, "T", false).unwrap(), 1);
    assert_eq!(count(Comparison::GreaterOrEqual, "T", false).unwrap(), 3);
    for sorted in [false, true] {
        assert_eq!(count(Comparison::Equal, "T", sorted).unwrap(), 2);
        assert_eq!(count(Comparison::Equal, "none", sorted).unwrap(), 0);
    }
    let error = count(Comparison::Less, "none", false).unwrap_err().to_string();
    assert!(error.contains("not among the categories of kind"), "{error}");
    // The names of an enumeration have no order.
    let mut tree = Memory::new(Format::Hdf5);
    let members = vec![("on".into(), 1), ("off".into(), 0)];
    let state = ElementType::Enum { base: Box::new(ElementType::UInt(1)), members };
    tree.array(tree.root(), "state", stored(state, 3, vec![1, 0, 1]));
    let data = Dataset::new(File::from(tree));
    let open = |comparison| {
        let condition = Predicate::new("state", comparison, Scalar::from("on"));
        Batches::open(&data, "/state", &Options::default().with_filter(condition))
    };
    let found: usize = open(Comparison::Equal).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(found, 2);
    let error = open(Comparison::Less).unwrap_err().to_string();
    assert!(error.contains("state < 'on'") && error.contains("order"), "{error}");
}

/// A group of arrays of one length, one of which has dates.
fn log(units: &str, times: &[i32], calendar: &str) -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
    let time = tree.array(root, "time", array::<i32>(&[2], times));
    tree.attribute(time, "units", texts(&[], &[units]));
    tree.attribute(time, "calendar", texts(&[], &[calendar]));
    let wind = tree.array(root, "wind", array::<f32>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    tree.attribute(wind, "units", texts(&[], &["m s-1"]));
    Dataset::new(File::from(tree))
}

#[test]
fn groups_of_arrays_are_tables() {
    let batches = all(&log("days since 1970-01-02", &[0, -1], "standard"), "/", &Options::default());
    let time = batches[0].column_by_name("time").unwrap();
    assert_eq!(time.data_type(), &DataType::Timestamp(TimeUnit::Nanosecond, None));
    assert_eq!(time.as_primitive::<TimestampNanosecondType>().values(), &[86_400_000_000_000, 0]);
    let wind = batches[0].column_by_name("wind").unwrap();
    assert_eq!(wind.as_fixed_size_list().value(1).as_primitive::<Float32Type>().values(), &[4.0, 5.0, 6.0]);
    let schema = batches[0].schema();
    let wind = schema.field_with_name("wind").unwrap();
    assert_eq!(wind.metadata().get("units").map(String::as_str), Some("m s-1"));
}

#[test]
fn fractions_of_seconds_stay() {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
    let fractions = tree.array(root, "fractions", array::<f64>(&[2], &[0.123_456, -1e-6]));
    let packed = tree.array(root, "packed", array::<i32>(&[2], &[1, -1]));
    tree.attribute(packed, "scale_factor", array::<f64>(&[], &[1e-4]));
    let whole = tree.array(root, "whole", array::<i64>(&[2], &[1, -1]));
    for time in [fractions, packed, whole] {
        tree.attribute(time, "units", texts(&[], &["seconds since 1970-01-01"]));
        tree.attribute(time, "calendar", texts(&[], &["proleptic_gregorian"]));
    }
    let data = Dataset::new(File::from(tree));
    for (path, expected) in [("/fractions", [123_456, -1]), ("/packed", [100, -100])] {
        let batches = all(&data, path, &Options::default());
        let times = batches[0].column(0).as_primitive_opt::<TimestampMicrosecondType>();
        assert_eq!(times.map(|times| times.values().to_vec()), Some(expected.to_vec()), "{path}");
    }
    let batches = all(&data, "/whole", &Options::default());
    assert_eq!(batches[0].column(0).as_primitive::<TimestampMillisecondType>().values(), &[1_000, -1_000]);
}

#[test]
fn days_of_models_are_texts() {
    let data = log("days since 2000-02-29", &[0, 1], "360_day");
    let batches = all(&data, "/time", &Options::default());
    assert_eq!(batches[0].column(0).as_string::<i64>().value(1), "2000-02-30T00:00:00");
}

/// Returns the error of the only batch.
fn failure(data: &Dataset, path: &str) -> String {
    match Batches::open(data, path, &Options::default()).unwrap().next().unwrap() {
        Err(ArrowError::ExternalError(error)) => {
            assert!(matches!(error.downcast_ref::<Error>(), Some(Error::Unsupported { .. })), "{error}");
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_arrow_cannot_hold_is_refused_by_name() {
    let far = log("days since 0001-01-01", &[0, 1], "proleptic_gregorian");
    assert!(failure(&far, "/time").contains("0001-01-01"), "{}", failure(&far, "/time"));
    let mut tree = Memory::new(Format::Hdf5);
    let mut bytes = Vec::new();
    text(&mut bytes, &[0xff]);
    tree.array(tree.root(), "latin", stored(ElementType::Text, 1, bytes));
    let lists = ElementType::Vlen(Box::new(ElementType::Opaque(0)));
    tree.array(tree.root(), "empty", stored(lists, 1, 3u64.to_le_bytes().to_vec()));
    let sure = ElementType::Enum { base: Box::new(ElementType::UInt(1)), members: vec![("one".into(), 1)] };
    tree.array(tree.root(), "unnamed", stored(sure, 1, vec![2]));
    let data = Dataset::new(File::from(tree));
    assert!(failure(&data, "/latin").contains("UTF-8"));
    assert!(failure(&data, "/unnamed").contains("value 2"));
    let empty = Batches::open(&data, "/empty", &Options::default()).unwrap_err();
    assert!(matches!(empty, Error::Unsupported { .. }), "{empty}");
}

/// A long list of records: a column in ascending order, and one that repeats.
fn long() -> Dataset {
    let element = ElementType::Compound(vec![
        ("at".into(), ElementType::Int(4)),
        ("kind".into(), ElementType::UInt(1)),
    ]);
    let mut bytes = Vec::new();
    for at in 0..10_000i32 {
        bytes.extend((at * 2).to_le_bytes());
        bytes.push((at % 3) as u8);
    }
    let mut tree = Memory::new(Format::Hdf5);
    tree.array(tree.root(), "run", stored(element, 10_000, bytes));
    Dataset::new(File::from(tree))
}

fn column_of(batches: &[RecordBatch], at: usize) -> Vec<i32> {
    batches.iter().flat_map(|batch| batch.column(at).as_primitive::<Int32Type>().values().to_vec()).collect()
}

#[test]
fn conditions_order_and_limits_choose_rows() {
    let data = long();
    let at = |comparison, value: i32| Predicate::new("at", comparison, Scalar::from(value));
    let kind = Predicate::new("kind", Comparison::Equal, Scalar::from(1));
    for threads in [1, 3] {
        let options = Options::default().with_batch_rows(700).with_threads(threads);
        let whole = column_of(&all(&data, "/run", &options), 0);
        assert!(whole.iter().copied().eq((0..10_000).map(|at| at * 2)));
        let some = options.clone().with_filter(at(Comparison::Greater, 5_000)).with_filter(kind.clone());
        let expected: Vec<i32> =
            (0..10_000).filter(|at| at % 3 == 1 && at * 2 > 5_000).map(|at| at * 2).collect();
        assert_eq!(column_of(&all(&data, "/run", &some), 0), expected);
        assert_eq!(column_of(&all(&data, "/run", &some.clone().with_sorted("at")), 0), expected);
        let limited = some.with_columns(["at"]).with_limit(5);
        assert_eq!(column_of(&all(&data, "/run", &limited), 0), expected[..5]);
        assert_eq!(column_of(&all(&data, "/run", &options.with_limit(1_000)), 0), whole[..1_000]);
    }
}

#[test]
fn a_search_finds_the_rows_of_every_comparison() {
    let data = long();
    let comparisons = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    for comparison in comparisons {
        for value in [-1, 0, 1, 2, 9_999, 19_997, 19_998, 30_000] {
            let options =
                Options::default().with_filter(Predicate::new("at", comparison, Scalar::from(value)));
            let plain = column_of(&all(&data, "/run", &options), 0);
            let searched = column_of(&all(&data, "/run", &options.with_sorted("at")), 0);
            assert_eq!(plain, searched, "{comparison:?} {value}");
            assert!(plain.iter().all(|at| comparison.allows(at.cmp(&value))));
        }
    }
}

#[test]
fn conditions_that_cannot_be_compared_are_refused() {
    let data = long();
    let refused = |predicate: Predicate| {
        Batches::open(&data, "/run", &Options::default().with_filter(predicate)).unwrap_err()
    };
    assert!(matches!(
        refused(Predicate::new("at", Comparison::Less, Scalar::from("x"))),
        Error::Usage { .. }
    ));
    assert!(matches!(
        refused(Predicate::new("att", Comparison::Less, Scalar::from(1))),
        Error::NotFound { .. }
    ));
}

#[test]
fn truth_values_of_h5py_are_truth_values() {
    let truth = ElementType::Enum {
        base: Box::new(ElementType::Int(1)),
        members: vec![("FALSE".into(), 0), ("TRUE".into(), 1)],
    };
    let element = ElementType::Compound(vec![("yes".into(), truth)]);
    let mut tree = Memory::new(Format::Hdf5);
    tree.array(tree.root(), "run", stored(element, 3, vec![1, 0, 1]));
    let batches = all(&Dataset::new(File::from(tree)), "/run", &Options::default());
    let truths: Vec<_> = batches[0].column(0).as_boolean().iter().collect();
    assert_eq!(truths, [Some(true), Some(false), Some(true)]);
}
