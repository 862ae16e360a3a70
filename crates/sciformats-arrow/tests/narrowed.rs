//! Conditions that say which part of a table is read: by an index of `PyTables`, and by the coordinates of a grid.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use sciformats_arrow::arrow_array::RecordBatch;
use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::{Float64Type, Int32Type, Int64Type};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats_arrow::sciformats_conventions::sciformats::{
    ArrayInfo, ElementType, Error, File, Format, ObjectId,
};
use sciformats_arrow::{Batches, Comparison, Options, Predicate, Scalar, table};

const ROWS: usize = 5_000;
/// The number of rows in a chunk of the table, in a slice, in a chunk of a slice and in a block of slices.
const TABLE: usize = 48;
const SLICE: usize = 1024;
const CHUNK: usize = 64;
const BLOCK: usize = 2048;

/// What differs between the kinds of indexes: the bytes of a place, and how many values are stored.
#[derive(Clone, Copy, Debug)]
struct Kind(u8, usize);

const KINDS: [Kind; 6] = [Kind(1, 4), Kind(2, 1), Kind(2, 2), Kind(4, 1), Kind(4, 2), Kind(8, 1)];

/// An index as it is written.
#[derive(Clone)]
struct Index {
    sorted: Vec<f64>,
    places: Vec<u64>,
    bounds: Vec<f64>,
    last_sorted: Vec<f64>,
    last_places: Vec<u64>,
    last: (i64, i64),
    sizes: [i64; 4],
    dirty: Option<i64>,
    version: &'static str,
    /// The number of bytes of a place.
    width: u8,
}

/// Values in no order, of which many are the same, and some are no numbers.
fn values() -> Vec<f64> {
    let mut state = 7u64;
    let next = |at: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if at.is_multiple_of(501) { f64::NAN } else { (state >> 40) as f64 / 1000.0 - 3.0 }
    };
    (0..ROWS).map(next).collect()
}

/// Sorts slices of values as `PyTables` does.
fn index(values: &[f64], Kind(width, reduction): Kind) -> Index {
    let bucket = TABLE.min(CHUNK);
    let slices = values.len() / SLICE;
    let place = |row: usize| {
        let slice = row / SLICE;
        match width {
            1 => row / bucket - slice * SLICE / bucket,
            // What PyTables does where blocks end within buckets: their beginnings are rounded.
            2 => (row / bucket) - (slice / (BLOCK / SLICE)) * BLOCK / bucket,
            4 => row / bucket,
            _ => row,
        }
    };
    let mut made = Index {
        sorted: Vec::new(),
        places: Vec::new(),
        bounds: Vec::new(),
        last_sorted: Vec::new(),
        last_places: Vec::new(),
        last: (0, 0),
        sizes: [SLICE as i64, CHUNK as i64, BLOCK as i64, reduction as i64],
        dirty: Some(0),
        version: "2.1",
        width,
    };
    for slice in 0..=slices {
        let rows = slice * SLICE..((slice + 1) * SLICE).min(values.len());
        let mut order: Vec<usize> = rows.clone().collect();
        order.sort_by(|one, other| {
            let (one, other) = (values[*one], values[*other]);
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        });
        let stored: Vec<f64> = order.iter().step_by(reduction).map(|&row| values[row]).collect();
        let places = order.iter().map(|&row| place(row) as u64);
        let firsts = stored.iter().step_by(CHUNK / reduction).copied();
        if slice < slices {
            made.bounds.extend(firsts.skip(1));
            made.sorted.extend(&stored);
            made.places.extend(places);
        } else {
            made.last = (stored.len() as i64, order.len() as i64);
            made.last_sorted =
                stored.iter().copied().chain(firsts).chain(order.last().map(|&row| values[row])).collect();
            made.last_sorted.resize(SLICE / reduction + SLICE / CHUNK + 1, 0.0);
            made.last_places = places.collect();
            made.last_places.resize(SLICE, 0);
        }
    }
    made
}

/// Adds an array in chunks.
fn chunked(
    tree: &mut Memory,
    group: ObjectId,
    name: &str,
    (shape, chunk): (&[u64], &[u64]),
    mut of: MemoryArray,
) -> ObjectId {
    of.info = ArrayInfo::new(of.info.element.clone(), shape.to_vec());
    of.info.chunks = Some(chunk.to_vec());
    of.info.filters = vec!["shuffle".into(), "deflate 1".into()];
    tree.array(group, name, of)
}

fn places(width: u8, of: &[u64]) -> MemoryArray {
    let mut stored = array::<u8>(&[0], &[]);
    stored.info.element = ElementType::UInt(width.into());
    stored.bytes = of.iter().flat_map(|place| place.to_le_bytes()[..usize::from(width)].to_vec()).collect();
    stored
}

/// A table with an indexed column, and a column with the numbers of the rows.
fn file(values: &[f64], index: &Index) -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "PYTABLES_FORMAT_VERSION", texts(&[], &["2.1"]));
    let mut records = array::<u8>(&[0], &[]);
    records.info.element =
        ElementType::Compound(vec![("row".into(), ElementType::Int(4)), ("x".into(), ElementType::F64)]);
    for (row, value) in values.iter().enumerate() {
        records.bytes.extend((row as i32).to_le_bytes());
        records.bytes.extend(value.to_le_bytes());
    }
    let table = chunked(&mut tree, root, "log", (&[values.len() as u64], &[TABLE as u64]), records);
    tree.attribute(table, "CLASS", texts(&[], &["TABLE"]));
    let group = tree.group(root, "_i_log");
    let group = tree.group(group, "x");
    tree.attribute(group, "CLASS", texts(&[], &["INDEX"]));
    tree.attribute(group, "VERSION", texts(&[], &[index.version]));
    if let Some(dirty) = index.dirty {
        tree.attribute(group, "DIRTY", array::<i64>(&[], &[dirty]));
    }
    for (name, size) in ["slicesize", "chunksize", "blocksize", "reduction"].into_iter().zip(index.sizes) {
        tree.attribute(group, name, array::<i64>(&[], &[size]));
    }
    let reduction = (SLICE * (values.len() / SLICE)).checked_div(index.sorted.len()).unwrap_or(1) as u64;
    let (slice, chunk) = (SLICE as u64, CHUNK as u64);
    let slices = index.places.len() as u64 / slice;
    let of = |values: &[f64]| array::<f64>(&[values.len() as u64], values);
    chunked(
        &mut tree,
        group,
        "sorted",
        (&[slices, slice / reduction], &[1, chunk / reduction]),
        of(&index.sorted),
    );
    chunked(&mut tree, group, "indices", (&[slices, slice], &[1, chunk]), places(index.width, &index.places));
    chunked(
        &mut tree,
        group,
        "bounds",
        (&[slices, slice / chunk - 1], &[1, slice / chunk - 1]),
        of(&index.bounds),
    );
    let length = index.last_sorted.len() as u64;
    let last =
        chunked(&mut tree, group, "sortedLR", (&[length], &[chunk / reduction]), of(&index.last_sorted));
    tree.attribute(last, "nelements", array::<i64>(&[], &[index.last.0]));
    let last =
        chunked(&mut tree, group, "indicesLR", (&[slice], &[chunk]), places(index.width, &index.last_places));
    tree.attribute(last, "nelements", array::<i64>(&[], &[index.last.1]));
    Dataset::new(File::from(tree))
}

/// Conditions on `x`, each with how it is checked.
type Condition = (Vec<(Comparison, f64)>, fn(f64) -> bool);

fn conditions() -> Vec<Condition> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    vec![
        (vec![(Less, -2.5)], |x| x < -2.5),
        (vec![(LessOrEqual, -2.9)], |x| x <= -2.9),
        (vec![(Greater, 13_000.0)], |x| x > 13_000.0),
        (vec![(GreaterOrEqual, 16_770.0)], |x| x >= 16_770.0),
        (vec![(Greater, 500.0), (LessOrEqual, 700.0)], |x| x > 500.0 && x <= 700.0),
        (vec![(Equal, 0.5)], |x| x == 0.5),
        (vec![(Less, -1e9)], |x| x < -1e9),
        (vec![(Greater, 1e9)], |x| x > 1e9),
        (vec![(Greater, 700.0), (Less, 500.0)], |_| false),
    ]
}

fn rows(batches: Batches) -> Vec<i32> {
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect()
}

/// Checks the rows for all conditions; returns how many of them the index has answered.
fn answered(values: &[f64], index: &Index) -> usize {
    let data = file(values, index);
    let mut answered = 0;
    for (tests, check) in conditions() {
        let mut options = Options::default().with_columns(["row"]).with_batch_rows(300);
        for (comparison, value) in tests {
            options = options.with_filter(Predicate::new("x", comparison, Scalar::Float(value)));
        }
        let expected: Vec<i32> =
            values.iter().zip(0..).filter(|(value, _)| check(**value)).map(|(_, row)| row).collect();
        let batches = Batches::open(&data, "/log", &options).unwrap();
        answered += usize::from(batches.indexed() == ["x"]);
        assert_eq!(rows(batches), expected, "{:?}", options.filter);
        let without = Batches::open(&data, "/log", &options.with_indexes(false)).unwrap();
        assert!(without.indexed().is_empty());
        assert_eq!(rows(without), expected);
    }
    answered
}

#[test]
fn indexes_of_each_kind_answer_conditions() {
    // So that some values exist that are asked for, several times in one slice and in several.
    let mut values = values();
    for row in [3, 4, 900, 1024, 4999] {
        values[row] = 0.5;
    }
    for kind in KINDS {
        let index = index(&values, kind);
        assert!(answered(&values, &index) >= 7, "{kind:?}: {}", answered(&values, &index));
        // Without a mark of being out of date, an index is not.
        assert!(answered(&values, &Index { dirty: None, ..index.clone() }) >= 7, "{kind:?}");
    }
}

#[test]
fn only_the_rows_that_an_index_names_are_read() {
    let values = values();
    let data = file(&values, &index(&values, KINDS[5]));
    let options = Options::default().with_filter(Predicate::new("x", Comparison::Less, Scalar::Float(-2.9)));
    let before = data.file().bytes_read();
    let found = rows(Batches::open(&data, "/log", &options).unwrap());
    let read = data.file().bytes_read() - before;
    let before = data.file().bytes_read();
    assert_eq!(rows(Batches::open(&data, "/log", &options.with_indexes(false)).unwrap()), found);
    let all = data.file().bytes_read() - before;
    assert!(read < all, "{read} bytes instead of {all}");
}

#[test]
fn an_index_that_is_out_of_date_is_not_used() {
    let mut values = values();
    for kind in KINDS {
        let index = index(&values, kind);
        assert_eq!(answered(&values, &Index { dirty: Some(1), ..index.clone() }), 0);
        assert_eq!(answered(&values, &Index { version: "3.0", ..index.clone() }), 0);
        // Rows were appended, or have gone.
        let longer: Vec<f64> = values.iter().copied().chain([1e12, -1e12]).collect();
        assert_eq!(answered(&longer, &index), 0);
        assert_eq!(answered(&values[..ROWS - 3], &index), 0);
        // Other values, without a mark.
        values.rotate_left(1234);
        answered(&values, &index);
        values.rotate_right(1234);
    }
}

#[test]
fn a_damaged_index_never_leaves_rows_out() {
    let values = values();
    for kind in KINDS {
        let sound = index(&values, kind);
        let mut harm: Vec<(&str, Index)> = Vec::new();
        let mut with = |name, change: &dyn Fn(&mut Index)| {
            let mut index = sound.clone();
            change(&mut index);
            harm.push((name, index));
        };
        with("zeros", &|of| of.sorted.fill(0.0));
        with("zeros at the end", &|of| of.last_sorted.fill(0.0));
        with("in reverse", &|of| of.sorted.reverse());
        with("no numbers", &|of| of.sorted.fill(f64::NAN));
        with("larger", &|of| of.sorted.iter_mut().for_each(|value| *value += 1000.0));
        with("one row", &|of| of.places.fill(0));
        with("beyond", &|of| of.places.fill(u64::MAX));
        with("moved", &|of| of.places.iter_mut().for_each(|place| *place = place.wrapping_add(1)));
        with("turned", &|of| of.places.rotate_left(17));
        with("turned at the end", &|of| of.last_places.rotate_left(17));
        with("bounds", &|of| of.bounds.fill(1e12));
        with("bounds", &|of| of.bounds.fill(-1e12));
        for number in 0..4 {
            for size in [0, 1, -1, 3, 128, 512, i64::MAX] {
                with("sizes", &|of| of.sizes[number] = size);
            }
        }
        for count in [0, 1, -1, i64::MAX] {
            with("values at the end", &|of| of.last.0 = count);
            with("places at the end", &|of| of.last.1 = count);
            with("rows at the end", &|of| of.last = (count, count));
        }
        for (name, index) in &harm {
            let answered = std::panic::catch_unwind(|| answered(&values, index));
            assert!(answered.is_ok(), "{kind:?}: {name}, {:?}, {:?}", index.sizes, index.last);
        }
        // A change of a single value or place, anywhere. Where only some of the values are stored, checksums find it.
        let several = if kind.1 == 1 { sound.places.len() } else { 0 };
        for at in (0..several).step_by(397) {
            let mut index = sound.clone();
            index.places[at] = index.places[at].wrapping_add(5);
            answered(&values, &index);
            let mut index = sound.clone();
            let at = at % index.sorted.len();
            index.sorted[at] += 2.0;
            answered(&values, &index);
        }
    }
}

const TIMES: usize = 6;
const LATITUDES: usize = 5;
const LONGITUDES: usize = 7;

/// Two variables over one grid, with coordinates of one dimension and of two; a third dimension has none.
fn weather() -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
    let time = tree.array(root, "time", array::<i32>(&[6], &[0, 6, 12, 18, 24, 30]));
    tree.attribute(time, "units", texts(&[], &["hours since 2001-01-01"]));
    let lat = tree.array(root, "lat", array::<f64>(&[5], &[90.0, 45.0, 0.0, -45.0, -90.0]));
    tree.attribute(lat, "units", texts(&[], &["degrees_north"]));
    let count = TIMES * LATITUDES * LONGITUDES;
    let mut values = array::<f64>(&[6, 5, 7], &(0..count).map(|at| at as f64).collect::<Vec<_>>());
    values.info.chunks = Some(vec![2, 5, 7]);
    let area: Vec<f64> = (0..LATITUDES * LONGITUDES).map(|at| 1.0 + at as f64).collect();
    let area = tree.array(root, "area", array::<f64>(&[5, 7], &area));
    let tas = tree.array(root, "tas", values);
    let whole: Vec<i64> = (0..count).map(|at| -(at as i64)).collect();
    let pr = tree.array(root, "pr", array::<i64>(&[6, 5, 7], &whole));
    tree.attribute(tas, "coordinates", texts(&[], &["area"]));
    for (variable, names) in [
        (time, &["time"][..]),
        (lat, &["lat"]),
        (area, &["lat", "lon"]),
        (tas, &["time", "lat", "lon"]),
        (pr, &["time", "lat", "lon"]),
    ] {
        if let [name] = names {
            tree.attribute(variable, "CLASS", texts(&[], &["DIMENSION_SCALE"]));
            tree.attribute(variable, "NAME", texts(&[], &[name]));
            continue;
        }
        let scales: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
        let scales: Vec<&str> = scales.iter().map(String::as_str).collect();
        let rank = names.len() as u64;
        tree.attribute(variable, "DIMENSION_LIST", texts(&[rank], &scales));
        tree.attribute(variable, "DIMENSION_LABELS", texts(&[rank], names));
    }
    Dataset::new(File::from(tree))
}

fn all(data: &Dataset, path: &str, options: &Options) -> Vec<RecordBatch> {
    Batches::open(data, path, options).unwrap().map(Result::unwrap).collect()
}

fn numbers(batches: &[RecordBatch], name: &str) -> Vec<f64> {
    let of = |batch: &RecordBatch| {
        batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().values().to_vec()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn variables_over_a_grid_have_a_row_for_each_point() {
    let data = weather();
    for (rows, threads) in [(1, 1), (17, 1), (64, 2), (65_536, 1)] {
        let options = Options::default().with_batch_rows(rows).with_threads(threads);
        let found = all(&data, "/tas", &options);
        let names: Vec<String> =
            found[0].schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["time", "lat", "lon", "area", "tas"]);
        let count = TIMES * LATITUDES * LONGITUDES;
        assert!(numbers(&found, "tas").into_iter().eq((0..count).map(|at| at as f64)), "{rows}");
        let lat = [90.0, 45.0, 0.0, -45.0, -90.0];
        assert!(numbers(&found, "lat").into_iter().eq((0..count).map(|at| lat[at / LONGITUDES % LATITUDES])));
        assert!(numbers(&found, "area").into_iter().eq((0..count).map(|at| 1.0 + (at % 35) as f64)));
        let lon = |batch: &RecordBatch| {
            batch.column_by_name("lon").unwrap().as_primitive::<Int64Type>().values().to_vec()
        };
        assert!(found.iter().flat_map(lon).eq((0..count).map(|at| (at % LONGITUDES) as i64)));
    }
    // Rows have the numbers of the whole table.
    let part = all(&data, "/tas", &Options::default().with_rows(33..71));
    assert!(numbers(&part, "tas").into_iter().eq((33..71).map(f64::from)));
}

#[test]
fn several_variables_are_columns() {
    let data = weather();
    for path in ["/", "/tas,pr", "/tas, /pr"] {
        let table = table(&data, path).unwrap();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert!(names == ["tas", "pr"] || names == ["pr", "tas"], "{path}: {names:?}");
        assert_eq!(table.rows, 210);
    }
    for path in ["/tas,area", "/tas,none", "/none,tas", "/,"] {
        let error = table(&data, path).unwrap_err();
        assert!(matches!(error, Error::Usage { .. } | Error::NotFound { .. }), "{path}: {error}");
    }
    // A list of one is such a table, even if it has only one dimension.
    assert_eq!(table(&data, "/lat,").unwrap().rows, 5);
}

#[test]
fn conditions_on_coordinates_select_what_is_read() {
    let data = weather();
    let moment = |text: &str| Scalar::from(text);
    let with = |conditions: Vec<(&str, Comparison, Scalar)>| {
        let tests =
            conditions.into_iter().map(|(name, comparison, value)| Predicate::new(name, comparison, value));
        tests.fold(Options::default(), Options::with_filter)
    };
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, NotEqual};
    let of = |at: usize| (at / 35, at / 7 % 5, at % 7);
    type Check = fn((usize, usize, usize)) -> bool;
    let cases: Vec<(Options, Check, u64)> = vec![
        (with(vec![("lat", Less, Scalar::from(-10))]), |(_, lat, _)| lat > 2, 6 * 2 * 7),
        (
            with(vec![("lon", GreaterOrEqual, Scalar::from(2)), ("lon", Less, Scalar::from(4))]),
            |(_, _, lon)| lon == 2 || lon == 3,
            60,
        ),
        (with(vec![("time", Greater, moment("2001-01-02"))]), |(time, _, _)| time == 5, 35),
        (
            with(vec![
                ("time", Equal, moment("2001-01-01T06:00")),
                ("lat", Equal, Scalar::from(0)),
                ("lon", Equal, Scalar::from(6)),
            ]),
            |at| at == (1, 2, 6),
            1,
        ),
        (with(vec![("lat", NotEqual, Scalar::from(0))]), |(_, lat, _)| lat != 2, 210),
        (with(vec![("lat", Greater, Scalar::from(100))]), |_| false, 0),
        (with(vec![("lon", Greater, Scalar::from(4)), ("lon", Less, Scalar::from(2))]), |_| false, 0),
        (
            with(vec![("area", Greater, Scalar::from(34)), ("time", Less, moment("2001-01-01T10:00"))]),
            |(time, lat, lon)| lat * 7 + lon >= 34 && time < 2,
            70,
        ),
    ];
    for (options, check, rows) in cases {
        let before = data.file().bytes_read();
        let found = all(&data, "/tas", &options);
        let read = data.file().bytes_read() - before;
        let expected: Vec<f64> = (0..210).filter(|at| check(of(*at))).map(|at| at as f64).collect();
        assert_eq!(numbers(&found, "tas"), expected, "{:?}", options.filter);
        // Eight bytes for each row of the part, and at most as many for each coordinate of it, and the axes twice.
        assert!(
            read <= rows * 8 * 2 + 8 * (6 + 5 + 7) * 3,
            "{read} bytes for {rows} rows, {:?}",
            options.filter
        );
    }
    // Rows that are selected by their numbers have the same numbers as without conditions.
    let options = with(vec![("lat", Less, Scalar::from(-10))]).with_rows(0..70);
    assert_eq!(numbers(&all(&data, "/tas", &options), "tas").len(), 28);
}

#[test]
fn edges_of_cells_are_two_columns() {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let entry = tree.group(root, "entry");
    tree.attribute(entry, "NX_class", texts(&[], &["NXentry"]));
    let data = tree.group(entry, "h");
    tree.attribute(data, "NX_class", texts(&[], &["NXdata"]));
    tree.attribute(data, "signal", texts(&[], &["n"]));
    tree.attribute(data, "axes", texts(&[1], &["e"]));
    tree.array(data, "n", array::<f64>(&[3], &[5.0, 6.0, 7.0]));
    tree.array(data, "e", array::<f64>(&[4], &[0.0, 1.0, 2.0, 4.0]));
    let grid = tree.group(entry, "g");
    tree.attribute(grid, "NX_class", texts(&[], &["NXdata"]));
    tree.attribute(grid, "signal", texts(&[], &["n"]));
    tree.attribute(grid, "axes", texts(&[2], &["x", "y"]));
    tree.array(grid, "n", array::<f64>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
    tree.array(grid, "x", array::<f64>(&[2], &[0.0, 1.0]));
    tree.array(grid, "y", array::<f64>(&[3], &[0.0, 10.0, 30.0]));
    let data = Dataset::new(File::from(tree));
    for path in ["/entry/h", "/entry/h/n"] {
        let found = all(&data, path, &Options::default());
        let names: Vec<&str> =
            found[0].schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["e_low", "e_high", "n"], "{path}");
        assert_eq!(numbers(&found, "e_low"), [0.0, 1.0, 2.0]);
        assert_eq!(numbers(&found, "e_high"), [1.0, 2.0, 4.0]);
    }
    let found = all(&data, "/entry/g/n", &Options::default());
    assert_eq!(numbers(&found, "y_high"), [10.0, 30.0, 10.0, 30.0]);
    let inside = Predicate::new("y_high", Comparison::Greater, Scalar::from(20));
    let found = all(&data, "/entry/g/n", &Options::default().with_filter(inside));
    assert_eq!((numbers(&found, "n"), numbers(&found, "y_low")), (vec![2.0, 4.0], vec![10.0, 10.0]));
}
