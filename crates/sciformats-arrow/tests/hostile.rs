//! Tables that lie about themselves, and tables that are damaged: they are refused, or read as what they are.
#![cfg(all(feature = "hdf5", feature = "sql"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::Int64Type;
use sciformats_arrow::arrow_array::{Array, RecordBatch, RecordBatchReader};
use sciformats_arrow::arrow_schema::{ArrowError, DataType};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::hdf5_pure::{CreateOptions, Datatype, Writer};
use sciformats_arrow::sciformats_conventions::sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats_arrow::sciformats_conventions::sciformats::{
    ArrayInfo, ElementType, Error, File, Format, Limits, ObjectId, OpenOptions, Result,
};
use sciformats_arrow::sql::{SqlOptions, Tables, query};
use sciformats_arrow::write::{Form, WriteOptions, write_hdf5};
use sciformats_arrow::{
    Batches, Comparison, Open, Options, Predicate, Scalar, Scan, Whole, open_file, write_csv,
};

/// The tables of one file, for queries.
struct One<'a>(&'a Dataset);

impl Tables for One<'_> {
    fn table(&self, name: &str) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(Whole::new(self.0, name)?))
    }
}

fn error_of(error: ArrowError) -> String {
    match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(error) => {
                assert!(!matches!(*error, Error::Internal { .. }), "{error:#}");
                format!("{error:#}")
            }
            Err(inner) => inner.to_string(),
        },
        other => other.to_string(),
    }
}

/// Reads a table; the error as a text.
fn read(data: &Dataset, path: &str, options: &Options) -> std::result::Result<Vec<RecordBatch>, String> {
    let batches = Batches::open(data, path, options).map_err(|error| {
        assert!(!matches!(error, Error::Internal { .. }), "{error:#}");
        format!("{error:#}")
    })?;
    batches.map(|batch| batch.map_err(error_of)).collect()
}

/// Checks that a table is refused with an error that has these words.
fn refused(data: &Dataset, path: &str, words: &[&str]) {
    let error = read(data, path, &Options::default()).expect_err(path);
    for word in words {
        assert!(error.contains(word), "{path}: {word} is not in: {error}");
    }
}

fn stored(element: ElementType, shape: &[u64], bytes: Vec<u8>) -> MemoryArray {
    let mut stored = array::<u8>(&[0], &[]);
    stored.info = ArrayInfo::new(element, shape.to_vec());
    stored.bytes = bytes;
    stored
}

/// A frame of AnnData with two rows and the columns that are listed.
fn frame(columns: &[&str], add: impl FnOnce(&mut Memory, ObjectId)) -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "encoding-type", texts(&[], &["anndata"]));
    tree.attribute(root, "encoding-version", texts(&[], &["0.1.0"]));
    let obs = tree.group(root, "obs");
    tree.attribute(obs, "encoding-type", texts(&[], &["dataframe"]));
    tree.attribute(obs, "_index", texts(&[], &["cell"]));
    tree.attribute(obs, "column-order", texts(&[columns.len() as u64], columns));
    tree.array(obs, "cell", texts(&[2], &["a", "b"]));
    add(&mut tree, obs);
    Dataset::new(File::from(tree))
}

fn numbers(tree: &mut Memory, obs: ObjectId, rows: &[i32]) {
    tree.array(obs, "n", array::<i32>(&[rows.len() as u64], rows));
}

fn categories(tree: &mut Memory, obs: ObjectId, name: &str, codes: &[i8]) {
    let kind = tree.group(obs, name);
    tree.attribute(kind, "encoding-type", texts(&[], &["categorical"]));
    tree.array(kind, "codes", array::<i8>(&[codes.len() as u64], codes));
    tree.array(kind, "categories", texts(&[2], &["T", "B"]));
}

#[test]
fn frames_that_lie_are_refused_by_name() {
    let sound = frame(&["n"], |tree, obs| numbers(tree, obs, &[1, 2]));
    assert_eq!(read(&sound, "/obs", &Options::default()).unwrap()[0].num_rows(), 2);
    let lost = frame(&["n", "gone"], |tree, obs| numbers(tree, obs, &[1, 2]));
    refused(&lost, "/obs", &["gone", "column"]);
    for rows in [&[1, 2, 3][..], &[1], &[]] {
        let other = frame(&["n"], |tree, obs| numbers(tree, obs, rows));
        refused(&other, "/obs", &["n", "rows", "2"]);
    }
    for code in [2, 127, -2, -128] {
        let beyond = frame(&["kind"], |tree, obs| categories(tree, obs, "kind", &[0, code]));
        refused(&beyond, "/obs", &["kind", "code"]);
    }
    let missing = frame(&["kind"], |tree, obs| categories(tree, obs, "kind", &[1, -1]));
    assert_eq!(read(&missing, "/obs", &Options::default()).unwrap()[0].column(1).null_count(), 1);
    let short = frame(&["kind"], |tree, obs| categories(tree, obs, "kind", &[1]));
    refused(&short, "/obs", &["kind"]);
    let mask = frame(&["few"], |tree, obs| {
        let few = tree.group(obs, "few");
        tree.attribute(few, "encoding-type", texts(&[], &["nullable-integer"]));
        tree.array(few, "values", array::<i64>(&[2], &[7, 0]));
        tree.array(few, "mask", array::<u8>(&[1], &[0]));
    });
    assert!(read(&mask, "/obs", &Options::default()).is_err());
    // A name twice is the column twice; none of them is another one.
    let twice = frame(&["n", "n"], |tree, obs| numbers(tree, obs, &[1, 2]));
    let found = read(&twice, "/obs", &Options::default()).unwrap();
    assert!(found[0].num_columns() == 3 && found[0].column(1) == found[0].column(2));
}

/// Options that let little be read of a small file.
fn bounded() -> OpenOptions {
    OpenOptions::default().with_limits(Limits::default().with_memory(256 << 20)).with_unfolded(64 << 20)
}

#[test]
fn declared_sizes_are_no_reason_to_read_for_ever() {
    for rows in [1u64 << 33, 1 << 50] {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        let row = Datatype::compound([("x", Datatype::float64()), ("y", Datatype::signed(4))]);
        file.dataset("run")
            .datatype(row)
            .shape([rows])
            .max_shape([None])
            .chunks([1000])
            .create_encoded()
            .unwrap();
        let file = File::from_storage(file.into_bytes().unwrap(), &bounded()).unwrap();
        let data = Dataset::new(file);
        let begin = Instant::now();
        refused(&data, "/run", &["limit"]);
        let far = Options::default().with_filter(Predicate::new("x", Comparison::Greater, Scalar::from(1)));
        assert!(read(&data, "/run", &far).unwrap_err().contains("limit"));
        // Rows that are only counted are too many to be believed, too.
        let none: [&str; 0] = [];
        assert!(read(&data, "/run", &Options::default().with_columns(none)).unwrap_err().contains("limit"));
        assert_eq!(read(&data, "/run", &Options::default().with_limit(5)).unwrap()[0].num_rows(), 5);
        assert!(begin.elapsed() < Duration::from_secs(60), "{rows}: {:?}", begin.elapsed());
    }
}

#[test]
fn deep_and_wide_schemas_end() {
    // Records in records, arrays in arrays, and lists in lists.
    for depth in [8, 200, 5000] {
        let mut element = ElementType::Int(4);
        for level in 0..depth {
            element = match level % 3 {
                0 => ElementType::Compound(vec![("a".into(), element)]),
                1 => ElementType::Array { element: Box::new(element), shape: vec![1] },
                _ => ElementType::Compound(vec![("b".into(), element)]),
            };
        }
        let element = ElementType::Compound(vec![("x".into(), element)]);
        let mut tree = Memory::new(Format::Hdf5);
        tree.array(tree.root(), "run", stored(element, &[1], vec![1, 0, 0, 0]));
        let data = Dataset::new(File::from(tree));
        let found = std::thread::Builder::new().stack_size(256 << 20).spawn(move || {
            let found = read(&data, "/run", &Options::default());
            let _ = query("SELECT count(*) FROM \"/run\"", &One(&data), &SqlOptions::default());
            // Such a type has to be freed again, too.
            std::mem::forget(data);
            found.map(|batches| batches[0].num_rows())
        });
        match found.unwrap().join().unwrap() {
            Ok(rows) => assert_eq!(rows, 1),
            Err(error) => assert!(error.contains("run") || error.contains('x'), "{depth}: {error}"),
        }
    }
    // An array in each record that no machine holds.
    for shape in [vec![u64::MAX], vec![1 << 40, 1 << 40], vec![1 << 31]] {
        let wide = ElementType::Array { element: Box::new(ElementType::F64), shape };
        let element = ElementType::Compound(vec![("x".into(), wide)]);
        let mut tree = Memory::new(Format::Hdf5);
        tree.array(tree.root(), "run", stored(element, &[1], vec![0; 8]));
        assert!(read(&Dataset::new(File::from(tree)), "/run", &Options::default()).is_err());
    }
}

/// A frame of pandas in the format `fixed`, of which a block is this pickle.
fn pickled(pickle: &[u8], rows: u64) -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "PYTABLES_FORMAT_VERSION", texts(&[], &["2.1"]));
    let group = tree.group(root, "log");
    tree.attribute(group, "CLASS", texts(&[], &["GROUP"]));
    tree.attribute(group, "pandas_type", texts(&[], &["frame"]));
    tree.attribute(group, "nblocks", array::<i64>(&[], &[1]));
    let list = |tree: &mut Memory, name: &str, of: MemoryArray| {
        let node = tree.array(group, name, of);
        tree.attribute(node, "CLASS", texts(&[], &["ARRAY"]));
        tree.attribute(node, "kind", texts(&[], &["string"]));
    };
    list(&mut tree, "axis0", texts(&[1], &["name"]));
    let index: Vec<i64> = (0..rows).map(|row| row as i64).collect();
    let axis = tree.array(group, "axis1", array::<i64>(&[rows], &index));
    tree.attribute(axis, "kind", texts(&[], &["integer"]));
    list(&mut tree, "block0_items", texts(&[1], &["name"]));
    let mut bytes = (pickle.len() as u64).to_le_bytes().to_vec();
    bytes.extend(pickle);
    let block = stored(ElementType::Vlen(Box::new(ElementType::UInt(1))), &[1], bytes);
    let block = tree.array(group, "block0_values", block);
    tree.attribute(block, "CLASS", texts(&[], &["VLARRAY"]));
    tree.attribute(block, "PSEUDOATOM", texts(&[], &["object"]));
    Dataset::new(File::from(tree))
}

fn numpy(elements: &str) -> Vec<u8> {
    format!("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\ntcnumpy\ndtype\n(S'O8'\ntRI00\n({elements}ltb.").into_bytes()
}

#[test]
fn pickles_are_data_or_refused_by_name() {
    let sound = pickled(&numpy("Va\nVb\n"), 2);
    assert_eq!(read(&sound, "/log", &Options::default()).unwrap()[0].num_rows(), 2);
    for (evil, word) in [
        ("cos\nsystem\n(S'touch /tmp/sciformats-was-here'\ntRVb\n", "system"),
        ("cposix\nsystem\n(S'touch /tmp/sciformats-was-here'\ntRVb\n", "system"),
        ("cbuiltins\neval\n(S'1'\ntRVb\n", "eval"),
        ("csubprocess\nPopen\n(S'true'\ntRVb\n", "Popen"),
        ("(i__main__\nX\nVb\n", ""),
        ("cbuiltins\ngetattr\n(cos\nsystem\nS'x'\ntRVb\n", "system"),
    ] {
        let data = pickled(&numpy(evil), 2);
        let error = read(&data, "/log", &Options::default()).expect_err(evil);
        assert!(
            word.is_empty() || error.contains(word) && error.contains("/log without its column `name`"),
            "{evil:?}: {error}"
        );
    }
    // Fewer and more elements than there are rows.
    for elements in ["Va\n", "Va\nVb\nVc\n", ""] {
        assert!(read(&pickled(&numpy(elements), 2), "/log", &Options::default()).is_err(), "{elements:?}");
    }
    // Machines that never stop, lists in lists, memos of memos.
    let deep = [vec![b'('; 100_000], vec![b't'; 100_000], b".".to_vec()].concat();
    let lists = [vec![b']'; 100_000], vec![b'a'; 99_999], b".".to_vec()].concat();
    let mut memo = b"(lp0\n".to_vec();
    for number in 0..64 {
        memo.extend(format!("(g{number}\ng{number}\nlp{}\n", number + 1).bytes());
    }
    memo.push(b'.');
    let huge = b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.".to_vec();
    for pickle in
        [deep, lists, memo, huge, b"\x80\x05\x95\xff\xff\xff\xff\xff\xff\xff\xff.".to_vec(), vec![b'0'; 1000]]
    {
        let begin = Instant::now();
        let data = pickled(&pickle, 2);
        let error = read(&data, "/log", &Options::default());
        assert!(error.is_err(), "{:?}", &pickle[..8]);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    assert!(!std::path::Path::new("/tmp/sciformats-was-here").exists());
}

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Damages some bytes of a file.
fn mutant(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        let near = if random.below(2) == 0 { bytes.len().min(4096) } else { bytes.len() };
        let at = random.below(near);
        let length = (1 + random.below(32)).min(bytes.len() - at);
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => {
                let edge =
                    [0u64, 1, 0x7f, 0xffff, 0xffff_ffff, 1 << 62, u64::MAX][random.below(7)].to_le_bytes();
                let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
            3 => bytes[at..at + length].fill(random.next() as u8),
            4 => bytes.truncate(at.max(8)),
            _ => {
                let from = random.below(bytes.len() - length + 1);
                bytes.copy_within(from..from + length, at);
            }
        }
    }
    bytes
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sciformats-hostile-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Files with tables in every form that is written, and the paths of the tables.
fn originals() -> Vec<(Vec<u8>, &'static str)> {
    let folder = folder("originals");
    let csv = folder.join("t.csv");
    let mut text = String::from("at,share,name,yes\n");
    for row in 0..400 {
        text += &format!("{row},{},n{},{}\n", f64::from(row % 37) / 4.0, row % 11, row % 3 == 0);
    }
    std::fs::write(&csv, text).unwrap();
    let open: Open = Arc::new(|path| Dataset::open(path));
    let table = open_file(&csv, None, &open).unwrap();
    let mut all = Vec::new();
    for form in Form::ALL {
        for level in [0, 1] {
            let path = folder.join(format!("{}{level}.h5", form.word()));
            let options = WriteOptions::default().with_form(form).with_level(level);
            write_hdf5(table.as_ref(), &path, &options).unwrap();
            all.push((std::fs::read(&path).unwrap(), form.place()));
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    all
}

/// All cells of a table as text, or the error.
fn cells(data: &Dataset, path: &str, options: &Options) -> std::result::Result<String, String> {
    let batches = Batches::open(data, path, options).map_err(|error| format!("{error:#}"))?;
    let mut out = Vec::new();
    match write_csv(batches, &mut out) {
        Ok(_) => Ok(String::from_utf8(out).unwrap()),
        Err(error) => {
            assert!(!matches!(error, Error::Internal { .. }), "{error:#}");
            Err(format!("{error:#}"))
        }
    }
}

/// Reads a damaged file in several ways, which have to agree.
fn harmless(bytes: Vec<u8>, path: &str) -> bool {
    let Ok(file) = File::from_storage(bytes, &bounded()) else { return false };
    let data = Dataset::new(file);
    let Ok(table) = sciformats_arrow::table(&data, path) else { return false };
    let rows = table.rows;
    let all = Options::default().with_threads(1);
    let whole = cells(&data, path, &all);
    // Small portions, several threads and another order of columns change nothing.
    let small = cells(&data, path, &all.clone().with_batch_rows(7).with_threads(2));
    match (&whole, &small) {
        (Ok(one), Ok(other)) => assert_eq!(one, other),
        (Err(_), Err(_)) => {}
        // Damage in a part that only one of both has read to its end.
        (one, other) => panic!("{one:?} and {other:?}"),
    }
    let limits = Limits::default().with_memory(256 << 20);
    let counted = query(
        &format!("SELECT count(*) AS n FROM \"{path}\""),
        &One(&data),
        &SqlOptions::default().with_limits(limits),
    );
    if let Ok(reader) = counted
        && let Ok(batches) = reader.collect::<std::result::Result<Vec<_>, _>>()
        && let Some(batch) = batches.first()
    {
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0) as u64, rows);
    }
    let Ok(whole) = whole else { return false };
    let schema = Batches::open(&data, path, &all).unwrap().schema();
    for field in schema.fields() {
        let name = field.name();
        let value = match field.data_type() {
            DataType::Int64 | DataType::Int32 | DataType::Float64 => Scalar::from(5),
            DataType::LargeUtf8 => Scalar::from("n5"),
            _ => continue,
        };
        // Rows that a condition keeps and those that it leaves out are all rows, and a query gives the same.
        let test = |comparison| all.clone().with_filter(Predicate::new(name, comparison, value.clone()));
        let kept = cells(&data, path, &test(Comparison::Less)).unwrap();
        let with = cells(&data, path, &test(Comparison::Less).with_batch_rows(11)).unwrap();
        assert_eq!(kept, with, "{name}");
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let of_whole = lines(&whole);
        assert!(lines(&kept).iter().all(|line| of_whole.contains(line)), "{name}");
        let quoted = name.replace('"', "\"\"");
        let value = match &value {
            Scalar::Text(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        let text = format!("SELECT * FROM \"{path}\" WHERE \"{quoted}\" < {value}");
        if let Ok(reader) = query(&text, &One(&data), &SqlOptions::default()) {
            let mut out = Vec::new();
            if write_csv(reader, &mut out).is_ok() {
                assert_eq!(String::from_utf8(out).unwrap(), kept, "{text}");
            }
        }
    }
    true
}

#[test]
fn damaged_tables_do_no_harm_and_tell_no_lies() {
    let originals = originals();
    assert_eq!(originals.len(), 8);
    let (mut read, mut slowest) = (0, Duration::ZERO);
    for (bytes, path) in &originals {
        assert!(harmless(bytes.clone(), path), "{path}");
    }
    for number in 0..2000u64 {
        let (bytes, path) = &originals[number as usize % originals.len()];
        let bytes = mutant(bytes, &mut Random(number));
        let begin = Instant::now();
        let kept = bytes.clone();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| harmless(kept, path)));
        slowest = slowest.max(begin.elapsed());
        match found {
            Ok(found) => read += u64::from(found),
            Err(why) => panic!("mutant {number} of {path}: {why:?}"),
        }
    }
    // A damaged file that is refused as a whole would prove nothing.
    assert!((200..2000).contains(&read), "{read} of 2000 were read");
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
}
