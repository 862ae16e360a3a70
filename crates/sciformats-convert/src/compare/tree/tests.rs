//! Whole trees compared with each other.

use super::*;
use crate::compare::Pattern;
use crate::manifest;
use sciformats::Format;
use sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats::model::ElementType;

fn told(a: Memory, b: Memory, options: &Options) -> (Vec<String>, Summary) {
    let mut told = Vec::new();
    let summary = compare((&File::from(a), &File::from(b)), options, &mut |difference| {
        let what = match &difference.what {
            What::Only(side, kind) => format!("{kind} only in {side}"),
            What::Kind(a, b) => format!("{a} / {b}"),
            What::Target(a, b) | What::Value(a, b) | What::Times(a, b) => format!("{a} / {b}"),
            What::Type(a, b) | What::Incomparable(a, b) => format!("{a} / {b}"),
            What::Shape(a, b) => format!("{a:?} / {b:?}"),
            What::Storage(what, a, b) => format!("{what} {a} / {b}"),
            What::Unreadable(side, _) => format!("{side}"),
            What::Elements(found) => {
                let first: Vec<_> =
                    found.first.iter().map(|m| format!("{:?} {} {}", m.index, m.a, m.b)).collect();
                let max = (found.max_abs, found.max_rel);
                format!("{}/{} {first:?} {max:?}", found.different, found.compared)
            }
        };
        told.push(format!("{}: {} {what}", difference.path, difference.what.word()));
        ControlFlow::Continue(())
    });
    (told, summary)
}

#[test]
fn seen_enough_the_answer_is_right() {
    let one = |value: MemoryArray| File::from(Memory::single(Format::Npy, value));
    let a = one(array::<i32>(&[1], &[1]));
    for b in
        [array::<i32>(&[1], &[2]), array::<i32>(&[2], &[1, 1]), array::<i64>(&[1], &[1]), texts(&[1], &["1"])]
    {
        let summary = compare((&a, &one(b)), &Options::exact(), &mut |_| ControlFlow::Break(()));
        assert!(!summary.is_same(), "{summary:?}");
    }
}

fn sample(format: Format) -> Memory {
    let mut memory = Memory::new(format);
    let root = memory.root();
    let g = memory.group(root, "g");
    let x = memory.array(g, "x", array::<f64>(&[2, 2], &[1.0, f64::NAN, 3.0, 4.0]));
    memory.attribute(x, "units", texts(&[], &["m"]));
    memory.array(g, "names", texts(&[2], &["a", "b"]));
    memory.hard_link(root, "again", x);
    memory.soft_link(root, "soft", "/g");
    memory.value(root, "v", 7u8);
    memory
}

#[test]
fn the_same_contents_in_two_formats() {
    let (told, summary) = told(sample(Format::Hdf5), sample(Format::Asdf), &Options::exact());
    assert_eq!(told, [""; 0]);
    assert_eq!(summary, Summary { same: 8, different: 0, incomparable: 0 });
    // The manifests agree as well, below the first line.
    let lines = |memory| {
        let mut out = Vec::new();
        manifest::write(&File::from(memory), &mut out).unwrap();
        String::from_utf8(out).unwrap().split_once('\n').unwrap().1.to_owned()
    };
    assert_eq!(lines(sample(Format::Hdf5)), lines(sample(Format::Asdf)));
}

#[test]
fn every_kind_of_difference() {
    let (mut a, mut b) = (Memory::new(Format::Hdf5), Memory::new(Format::Hdf5));
    for (memory, second) in [(&mut a, false), (&mut b, true)] {
        let root = memory.root();
        let value = if second { 4.5 } else { 4.0 };
        let x = memory.array(root, "x", array::<f64>(&[2, 2], &[1.0, f64::NAN, 3.0, value]));
        memory.attribute(x, if second { "new" } else { "old" }, texts(&[], &["m"]));
        memory.attribute(x, "units", texts(&[], &[if second { "cm" } else { "m" }]));
        memory.soft_link(root, "soft", if second { "/x" } else { "/y" });
        memory.value(root, "v", if second { Value::from(1u8) } else { Value::from("1") });
        if second {
            memory.array(root, "width", array::<i64>(&[2], &[1, 3]));
            memory.array(root, "shape", array::<u8>(&[2], &[1, 2]));
            memory.array(root, "type", texts(&[1], &["1"]));
            memory.array(root, "kind", array::<u8>(&[1], &[1]));
            memory.hard_link(root, "y", x);
            memory.damage(root, "z");
        } else {
            memory.array(root, "width", array::<i32>(&[2], &[1, 2]));
            memory.array(root, "shape", array::<u8>(&[1, 2], &[1, 2]));
            memory.array(root, "type", array::<u8>(&[1], &[1]));
            let kind = memory.group(root, "kind");
            memory.group(kind, "inside");
            memory.array(root, "y", array::<u8>(&[1], &[1]));
            memory.array(root, "z", array::<u8>(&[1], &[1]));
        }
    }
    let (told, summary) = told(a, b, &Options::exact());
    assert_eq!(
        told,
        [
            "/kind: kind group / array",
            "/shape: shape Some([1, 2]) / Some([2])",
            "/soft: target /y / /x",
            "/type: incomparable uint8 / string",
            "/v: value 1 / 1",
            "/width: type int32 / int64",
            "/width: elements 1/2 [\"[1] 2 3\"] (Some(1.0), Some(0.3333333333333333))",
            "/x: elements 1/4 [\"[1, 1] 4.0 4.5\"] (Some(0.5), Some(0.1111111111111111))",
            "/x@new: only attribute only in B",
            "/x@old: only attribute only in A",
            "/x@units: elements 1/1 [\"[] m cm\"] (None, None)",
            "/y: kind object / hardlink",
            "/z: unreadable B",
        ]
    );
    assert_eq!(summary, Summary { same: 1, different: 10, incomparable: 2 });
}

#[test]
fn patterns_choose_what_is_compared() {
    let mut b = sample(Format::Hdf5);
    let root = b.root();
    let more = b.group(root, "more");
    b.array(more, "deep", array::<u8>(&[1], &[1]));
    let options = |ignore: &[&str], only: &[&str]| Options {
        ignore: ignore.iter().map(|&p| Pattern::from(p)).collect(),
        only: only.iter().map(|&p| Pattern::from(p)).collect(),
        ..Options::exact()
    };
    let run = |options: Options| {
        let mut b = Memory::new(Format::Hdf5);
        let more = b.group(b.root(), "more");
        b.array(more, "deep", array::<u8>(&[1], &[1]));
        told(Memory::new(Format::Hdf5), b, &options).0
    };
    assert_eq!(run(options(&[], &[])), ["/more: only group only in B"]);
    assert_eq!(run(options(&["/more"], &[])), [""; 0]);
    assert_eq!(run(options(&[], &["*deep"])), ["/more/deep: only array only in B"]);
    assert_eq!(run(options(&[], &["/other"])), [""; 0]);
}

#[test]
fn what_is_chosen_by_a_later_path_is_compared_there() {
    let tree = |value: f64, unit: &str, apart: bool| {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let d = memory.array(root, "d", array::<f64>(&[1], &[value]));
        memory.attribute(d, "unit", texts(&[], &[unit]));
        let g = memory.group(root, "g");
        let x = memory.array(g, "x", array::<f64>(&[1], &[value]));
        memory.hard_link(g, "up", g);
        memory.hard_link(root, "k", g);
        memory.hard_link(root, "l", g);
        if apart {
            memory.array(root, "h", array::<f64>(&[1], &[1.0]));
            memory.array(root, "i", array::<f64>(&[1], &[1.0]));
        } else {
            memory.hard_link(root, "h", d);
            memory.hard_link(root, "i", x);
        }
        memory
    };
    let only = |patterns: &[&str]| Options::exact().with_only(patterns.iter().copied());
    let run = |b: Memory, patterns: &[&str]| told(tree(1.0, "m", false), b, &only(patterns)).0;
    let other = || tree(2.0, "km", false);
    let elements = "elements 1/1 [\"[0] 1.0 2.0\"] (Some(1.0), Some(0.5))";
    let unit = "/h@unit: elements 1/1 [\"[] m km\"] (None, None)";
    assert_eq!(run(other(), &["/h", "/h@*"]), [format!("/h: {elements}"), unit.into()]);
    assert_eq!(run(other(), &["/k*"]), [format!("/k/x: {elements}")]);
    // Of two chosen links to one object, the second one is a link to the first.
    assert_eq!(run(other(), &["/k*", "/l*"]), [format!("/k/x: {elements}")]);
    assert_eq!(run(other(), &["/i", "/h"]), [format!("/h: {elements}"), format!("/i: {elements}")]);
    // An object of its own is no difference to a link whose object is not chosen.
    assert_eq!(run(tree(1.0, "m", true), &["/h", "/i"]), [""; 0]);
    assert_eq!(run(tree(1.0, "m", false), &["/k*", "/l*", "/h", "/h@*", "/i"]), [""; 0]);
}

#[test]
fn tolerances_and_early_end() {
    let one = |x: f32| Memory::single(Format::RawArray, array::<f32>(&[3], &[1.0, x, 3.0]));
    let close = Options { rtol: 0.1, ..Options::exact() };
    assert_eq!(told(one(2.0), one(2.1), &close).0, [""; 0]);
    let mut count = 0;
    let (a, b) = (File::from(one(2.0)), File::from(one(9.0)));
    compare((&a, &b), &close, &mut |_| {
        count += 1;
        ControlFlow::Break(())
    });
    assert_eq!(count, 1);
}

#[test]
fn large_arrays_tell_where_they_differ() {
    let mut values: Vec<u32> = (0..3_000_000).collect();
    let a = Memory::single(Format::RawArray, array(&[3000, 1000], &values));
    values[2_345_678] = 0;
    let b = Memory::single(Format::RawArray, array(&[3000, 1000], &values));
    let (told, _) = told(a, b, &Options::exact());
    let expected = "/: elements 1/3000000 [\"[2345, 678] 2345678 0\"] (Some(2345678.0), None)";
    assert_eq!(told, [expected]);
}

#[test]
fn compounds_count_whole_elements() {
    let element = ElementType::Compound(vec![
        ("n".into(), ElementType::UInt(1)),
        ("v".into(), ElementType::Vlen(Box::new(ElementType::UInt(1)))),
    ]);
    let one = |n: u8, v: &[u8]| {
        let mut bytes = vec![n];
        bytes.extend((v.len() as u64).to_le_bytes());
        bytes.extend(v);
        Memory::single(Format::Hdf5, MemoryArray { info: ArrayInfo::new(element.clone(), []), bytes })
    };
    assert_eq!(told(one(1, &[2, 3]), one(1, &[2, 3]), &Options::exact()).0, [""; 0]);
    let (told, _) = told(one(1, &[2, 3]), one(2, &[2]), &Options::exact());
    assert_eq!(told, ["/: elements 1/1 [\"[] {n: 1, v: [2, 3]} {n: 2, v: [2]}\"] (Some(1.0), Some(0.5))"]);
}
