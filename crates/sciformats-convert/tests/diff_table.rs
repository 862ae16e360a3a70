//! Compares pairs of files whose differences are known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use sciformats::memory::{Memory, MemoryArray, Number, array, texts};
use sciformats::{ArrayInfo, ElementType, File, Format, ObjectId, Value};
use sciformats_convert::compare::{Options, What, compare};

/// Returns each difference in a few words, with its path.
fn told(a: Memory, b: Memory, options: &Options) -> Vec<String> {
    let mut told = Vec::new();
    let (a, b) = (File::from(a), File::from(b));
    let summary = compare(&a, &b, options, &mut |difference| {
        let detail = match &difference.what {
            What::Only(side, kind) => format!(" {kind} in {side}"),
            What::Elements(found) => format!(" {}/{}", found.different, found.compared),
            _ => String::new(),
        };
        told.push(format!("{} {}{detail}", difference.path, difference.what.word()));
        ControlFlow::Continue(())
    });
    assert_eq!(summary.is_same(), told.is_empty(), "{told:?}");
    told
}

fn exact() -> Options {
    Options::exact()
}

fn within(rtol: f64, atol: f64) -> Options {
    Options::exact().with_rtol(rtol).with_atol(atol)
}

fn patterns(ignore: &[&str], only: &[&str]) -> Options {
    Options::exact().with_ignore(ignore.iter().copied()).with_only(only.iter().copied())
}

/// Returns a file with one array.
fn one(array: MemoryArray) -> Memory {
    Memory::single(Format::Hdf5, array)
}

fn of<T: Number>(values: &[T]) -> Memory {
    one(array(&[values.len() as u64], values))
}

fn shaped(shape: &[u64]) -> Memory {
    let count = shape.iter().product::<u64>() as usize;
    one(array(shape, &vec![1u8; count]))
}

fn typed(element: ElementType, bytes: &[u8], shape: impl Into<Vec<u64>>) -> Memory {
    one(MemoryArray { info: ArrayInfo::new(element, shape), bytes: bytes.into() })
}

/// Returns a file whose tree `build` creates.
fn tree(build: impl FnOnce(&mut Memory, ObjectId)) -> Memory {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    build(&mut memory, root);
    memory
}

/// Returns a file with a group `g`, an array `u` in it with the attribute `units`, and an attribute `time` of each.
fn run(units: &str, time: f64) -> Memory {
    tree(|memory, root| {
        let g = memory.group(root, "g");
        memory.attribute(g, "time", array(&[], &[time]));
        let u = memory.array(g, "u", array(&[2], &[1.0, 2.0]));
        memory.attribute(u, "units", texts(&[], &[units]));
        memory.attribute(u, "time", array(&[], &[time]));
    })
}

fn enumeration(names: &[&str]) -> ElementType {
    let members = names.iter().enumerate().map(|(i, &name)| (name.into(), i as i128)).collect();
    ElementType::Enum { base: Box::new(ElementType::UInt(1)), members }
}

type Row = (Memory, Memory, Options, &'static [&'static str]);

#[track_caller]
fn check(rows: Vec<Row>) -> usize {
    let count = rows.len();
    for (i, (a, b, options, expected)) in rows.into_iter().enumerate() {
        assert_eq!(told(a, b, &options), expected, "row {i}");
    }
    count
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn numbers() -> Vec<Row> {
    let one_of_three: &[&str] = &["/ elements 1/3"];
    vec![
        (of(&[1.0, 2.0, 3.0]), of(&[1.0, 2.0, 3.0]), exact(), &[]),
        (of(&[1.0, 2.0, 3.0]), of(&[1.0, 2.0, 3.5]), exact(), one_of_three),
        // This is the smallest possible difference, also relative to a very large or very small number.
        (of(&[1.0]), of(&[1.0 + f64::EPSILON]), exact(), &["/ elements 1/1"]),
        (of(&[1e300]), of(&[1e300 * (1.0 + f64::EPSILON)]), exact(), &["/ elements 1/1"]),
        (of(&[5e-324]), of(&[0.0]), exact(), &["/ elements 1/1"]),
        (of(&[1e-20]), of(&[2e-20]), exact(), &["/ elements 1/1"]),
        (of(&[1e-20]), of(&[2e-20]), within(1e-3, 0.0), &["/ elements 1/1"]),
        (of(&[1e-20]), of(&[2e-20]), within(0.0, 1e-12), &[]),
        (of(&[1.0, 2.0, 100.0]), of(&[1.001, 2.0, 100.2]), within(1e-3, 0.0), one_of_three),
        (of(&[1.0, 2.0, 100.0]), of(&[1.001, 2.0, 100.2]), within(1e-2, 0.0), &[]),
        (of(&[0.0]), of(&[1e-9]), within(0.5, 0.0), &["/ elements 1/1"]),
        // The tolerance is relative to the second file, as in NumPy.
        (of(&[1.0]), of(&[2.0]), within(0.5, 0.0), &[]),
        (of(&[2.0]), of(&[1.0]), within(0.5, 0.0), &["/ elements 1/1"]),
        (of(&[0.0]), of(&[-0.0]), exact(), &[]),
        (of(&[NAN, 1.0]), of(&[NAN, 1.0]), exact(), &[]),
        (of(&[NAN, 1.0]), of(&[1.0, NAN]), within(1e9, 1e9), &["/ elements 2/2"]),
        (of(&[INF, -INF]), of(&[INF, -INF]), exact(), &[]),
        (of(&[INF]), of(&[f64::MAX]), within(1.0, 1e300), &["/ elements 1/1"]),
        (of(&[INF]), of(&[-INF]), within(1.0, 0.0), &["/ elements 1/1"]),
        (of(&[f32::MIN_POSITIVE]), of(&[0.0f32]), exact(), &["/ elements 1/1"]),
        // Integers are compared exactly, even if floating-point numbers could not distinguish them.
        (of(&[u64::MAX]), of(&[u64::MAX - 1]), exact(), &["/ elements 1/1"]),
        (of(&[u64::MAX]), of(&[u64::MAX - 1]), within(0.0, 0.5), &["/ elements 1/1"]),
        (of(&[i64::MIN]), of(&[i64::MAX]), within(0.0, 1e3), &["/ elements 1/1"]),
        (of(&[(1i64 << 53) + 1]), of(&[1i64 << 53]), exact(), &["/ elements 1/1"]),
    ]
}

fn types_and_shapes() -> Vec<Row> {
    let flat: Vec<u8> = vec![1; 6];
    vec![
        (shaped(&[2, 3]), shaped(&[3, 2]), exact(), &["/ shape"]),
        (shaped(&[6]), shaped(&[2, 3]), exact(), &["/ shape"]),
        (shaped(&[6]), shaped(&[7]), exact(), &["/ shape"]),
        (shaped(&[1]), shaped(&[]), exact(), &["/ shape"]),
        (shaped(&[0]), shaped(&[0]), exact(), &[]),
        (shaped(&[0, 3]), shaped(&[0, 4]), exact(), &["/ shape"]),
        (shaped(&[6]), of(&flat), exact(), &[]),
        // A difference in type is reported, and the numbers are compared nevertheless.
        (of(&[1u8, 2]), of(&[1u16, 2]), exact(), &["/ type"]),
        (of(&[1i32, 2]), of(&[1.0, 2.5]), exact(), &["/ type", "/ elements 1/2"]),
        (of(&[0.1f32]), of(&[0.1]), exact(), &["/ type", "/ elements 1/1"]),
        (of(&[0.1f32]), of(&[0.1]), within(1e-6, 0.0), &["/ type"]),
        (of(&[-1i8]), of(&[255u8]), exact(), &["/ type", "/ elements 1/1"]),
        (of(&[1u8]), one(texts(&[1], &["1"])), exact(), &["/ incomparable"]),
        (of(&[1u8]), one(texts(&[2], &["1", "2"])), exact(), &["/ incomparable", "/ shape"]),
        (one(texts(&[2], &["a", "b"])), one(texts(&[2], &["a", "b"])), exact(), &[]),
        (one(texts(&[2], &["a", "b"])), one(texts(&[2], &["a", "b "])), exact(), &["/ elements 1/2"]),
        (one(texts(&[1], &["é"])), one(texts(&[1], &["e\u{301}"])), exact(), &["/ elements 1/1"]),
        (
            typed(enumeration(&["a", "b"]), &[1], [1]),
            typed(enumeration(&["a", "b"]), &[1], [1]),
            exact(),
            &[],
        ),
        (
            typed(enumeration(&["a", "b"]), &[1], [1]),
            typed(enumeration(&["a", "c"]), &[1], [1]),
            exact(),
            &["/ type"],
        ),
        (
            typed(ElementType::Opaque(2), &[1, 2], [1]),
            typed(ElementType::Opaque(2), &[1, 3], [1]),
            exact(),
            &["/ elements 1/1"],
        ),
        (
            typed(ElementType::Complex(8), &[0; 8], [1]),
            typed(ElementType::Complex(8), &[0, 0, 0, 0, 0, 0, 0x80, 0x3F], [1]),
            exact(),
            &["/ elements 1/1"],
        ),
    ]
}

fn trees() -> Vec<Row> {
    let group = |name: &'static str| {
        tree(move |memory, root| {
            memory.group(root, name);
        })
    };
    let value = |value: Value| {
        tree(move |memory, root| {
            memory.value(root, "v", value);
        })
    };
    let soft = |to: &'static str| tree(move |memory, root| memory.soft_link(root, "s", to));
    let links = |second: &'static str| {
        tree(move |memory, root| {
            let x = memory.array(root, "x", array::<u8>(&[], &[1]));
            memory.array(root, "y", array::<u8>(&[], &[1]));
            if second == "x" {
                memory.hard_link(root, "z", x);
            } else {
                memory.array(root, "z", array::<u8>(&[], &[1]));
            }
        })
    };
    // An array whose metalayer says how it is stored, with another metalayer beside it.
    let stored = |layer: u8, note: u8| {
        let mut memory = Memory::single(Format::Blosc2, array::<u8>(&[2], &[1, 2]));
        let root = memory.root();
        memory.attribute(root, "meta:b2nd", array(&[1], &[layer]));
        memory.attribute(root, "vlmeta:note", array(&[1], &[note]));
        memory
    };
    vec![
        (stored(1, 1), stored(2, 1), exact(), &[]),
        (stored(1, 1), stored(1, 2), exact(), &["/@vlmeta:note elements 1/1"]),
        (stored(1, 1), of(&[1u8, 2]), exact(), &["/@vlmeta:note only attribute in A"]),
        (group("a"), group("a"), exact(), &[]),
        (group("a"), group("b"), exact(), &["/a only group in A", "/b only group in B"]),
        (group("v"), value(Value::Null), exact(), &["/v kind"]),
        (value(1u8.into()), value(Value::Float(1.0)), exact(), &[]),
        (value(1u8.into()), value("1".into()), exact(), &["/v value"]),
        (value(Value::Float(NAN)), value(Value::Float(NAN)), exact(), &[]),
        (value(Value::Null), value(false.into()), exact(), &["/v value"]),
        (soft("/a"), soft("/a"), exact(), &[]),
        (soft("/a"), soft("/b"), exact(), &["/s target"]),
        (links("x"), links("x"), exact(), &[]),
        (links("x"), links("y"), exact(), &["/z kind"]),
    ]
}

fn attributes() -> Vec<Row> {
    vec![
        (run("m", 1.0), run("m", 1.0), exact(), &[]),
        (run("m", 1.0), run("cm", 1.0), exact(), &["/g/u@units elements 1/1"]),
        // Only this attribute is ignored; others of the same name or of the same object are compared.
        (
            run("m", 1.0),
            run("cm", 2.0),
            patterns(&["/g/u@time"], &[]),
            &["/g@time elements 1/1", "/g/u@units elements 1/1"],
        ),
        (run("m", 1.0), run("cm", 2.0), patterns(&["*@time"], &[]), &["/g/u@units elements 1/1"]),
        (run("m", 1.0), run("cm", 2.0), patterns(&["*@*"], &[]), &[]),
        (run("m", 1.0), run("cm", 2.0), patterns(&["/g"], &[]), &[]),
        (run("m", 1.0), run("cm", 2.0), patterns(&[], &["/g@*"]), &["/g@time elements 1/1"]),
        (run("m", 1.0), run("cm", 2.0), patterns(&["*units"], &["/g/u*"]), &["/g/u@time elements 1/1"]),
        (run("m", 1.0), run("m", 1.0 + 1e-15), exact(), &["/g@time elements 1/1", "/g/u@time elements 1/1"]),
        (run("m", 1.0), run("m", 1.0 + 1e-15), within(1e-12, 0.0), &[]),
    ]
}

#[test]
fn known_answers() {
    let pairs = check(numbers()) + check(types_and_shapes()) + check(trees()) + check(attributes());
    assert!(pairs >= 60, "{pairs} pairs");
}

#[test]
fn the_answer_does_not_depend_on_the_format() {
    let values: Vec<f64> = (0..1000).map(f64::from).collect();
    for a in Format::ALL {
        for b in Format::ALL {
            let one = |format, last: f64| {
                let mut values = values.clone();
                values[999] = last;
                Memory::single(format, array(&[10, 100], &values))
            };
            assert_eq!(told(one(a, 5.0), one(b, 5.0), &exact()), [""; 0]);
            assert_eq!(told(one(a, 5.0), one(b, 6.0), &exact()), ["/ elements 1/1000"]);
        }
    }
}
