//! Lists of trees in memory.

use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Value};

use super::*;
use crate::args::{Color, Global};

fn sample() -> Memory {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    memory.fact("version", "1.10");
    memory.attribute(root, "title", texts(&[], &["a run\x1b[0m"]));
    let fields = memory.group(root, "fields");
    let mut u = array::<f64>(&[2, 3], &[0.0; 6]);
    u.info.chunks = Some(vec![1, 3]);
    u.info.filters = vec!["shuffle".into(), "zlib 6".into()];
    u.info.stored = Some(20);
    let u = memory.array(fields, "u", u);
    memory.attribute(u, "units", texts(&[], &["m/s"]));
    memory.attribute(u, "range", array::<i32>(&[2], &[-1, 1]));
    memory.group(fields, "empty");
    memory.hard_link(root, "same", u);
    memory.soft_link(root, "soft", "/fields/u");
    memory.external_link(root, "other", "b.h5", "/x");
    memory.user_link(root, "user", 187);
    memory.value(root, "answer", Value::from(42u8));
    memory.damage(root, "torn");
    memory
}

fn listed(flags: [bool; 3], json: bool) -> String {
    listed_of(sample(), flags, json)
}

fn listed_of(memory: Memory, flags: [bool; 3], json: bool) -> String {
    let [recursive, long, attrs] = flags;
    let args = Ls {
        file: "run.h5".into(),
        path: "/".into(),
        more: Vec::new(),
        depth: None,
        recursive,
        long,
        sizes: false,
        attrs,
        all: false,
    };
    let global = Global {
        stats: false,
        index: None,
        external: Vec::new(),
        json,
        threads: 1,
        limit_memory: None,
        limit_unfolded: None,
        quiet: true,
        color: Color::Auto,
    };
    let session = Session::new(&global, Default::default()).unwrap();
    let (files, table) = (Table::new(columns(2, long)), Table::new(columns(1, long)));
    let mut list = List {
        args: &args,
        session: &session,
        out: Vec::new(),
        files,
        table,
        blocks: false,
        failed: Vec::new(),
    };
    let data = Dataset::new(File::from(memory));
    let root = data.file().source().root();
    list.file(Path::new("data/run.h5"), &data, ("/", root)).unwrap();
    anstream::adapter::strip_str(&String::from_utf8(list.out).unwrap()).to_string()
}

#[test]
fn the_members_of_a_group() {
    assert_eq!(
        listed([false; 3], false),
        "\
data/run.h5  HDF5 1.10  0 B
├── answer  42
├── fields/
├── other → b.h5 : /x
├── same    float64, m/s  2 × 3  20 B  shuffle, zlib 6
├── soft → /fields/u
├── torn    malformed object at offset 0x40: it is truncated
└── user → class 187
"
    );
}

#[test]
fn the_whole_tree_with_everything() {
    assert_eq!(
        listed([true; 3], false),
        "\
data/run.h5  HDF5 1.10  0 B
│   @title = a run\\u{1b}[0m
├── answer  42
├── fields/
│   ├── empty/
│   └── u   float64, m/s  2 × 3  20 B  of 48 B  chunks 1 × 3, shuffle, zlib 6
│       @range = [-1, 1]  int32 2
│       @units = m/s
├── other → b.h5 : /x
├── same = /fields/u
├── soft → /fields/u
├── torn    malformed object at offset 0x40: it is truncated
└── user → class 187
"
    );
}

fn frames() -> Memory {
    let mut memory = Memory::new(Format::Gsd);
    let frames = memory.group(memory.root(), "frames");
    for i in 0..12u8 {
        let frame = memory.group(frames, &i.to_string());
        let mut x = array::<f32>(&[2], &[f32::from(i), 0.0]);
        x.info.facts = vec![("offset", Value::from(8 * i)), ("byte order", "little-endian".into())];
        if i == 0 {
            memory.array(frame, "n", array::<u32>(&[1], &[2]));
            x.info.facts.clear();
        }
        memory.array(frame, "x", x);
    }
    memory
}

#[test]
fn members_that_are_alike_are_one_line() {
    assert_eq!(
        listed_of(frames(), [true, true, false], false),
        "\
data/run.h5  GSD  0 B
└── frames/
    ├── 0/
    │   ├── n  uint32   1    of 4 B
    │   └── x  float32  2    of 8 B
    └── 1…11/
        └── x  float32  2    of 8 B  little-endian
"
    );
    // Programs get them all, in the same order.
    let text = listed_of(frames(), [true, false, false], true);
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let groups: Vec<String> = lines
        .filter(|line| line["kind"] == "group")
        .map(|line| line["path"].as_str().unwrap().replace("/frames/", ""))
        .collect();
    assert_eq!(groups[2..], ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    assert_eq!(text.lines().count(), 2 + 12 + 13);
}

#[test]
fn lines_for_programs() {
    let text = listed([true, false, true], true);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 13);
    assert_eq!(lines[0]["format"], "hdf5");
    let u = lines.iter().find(|line| line["path"] == "/fields/u").unwrap();
    assert_eq!(
        u.to_string(),
        r#"{"file":"data/run.h5","path":"/fields/u","kind":"array","type":"f8","shape":[2,3],"chunks":[1,3],"filters":["shuffle","zlib 6"],"stored":20,"logical":48,"units":"m/s"}"#
    );
    assert!(lines.iter().any(|line| line["kind"] == "attribute" && line["value"] == "m/s"));
}

#[test]
fn a_group_may_stand_for_an_array_of_one_value() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    memory.attribute(root, "openPMD", texts(&[], &["1.1.0"]));
    let e = memory.group(root, "E");
    memory.attribute(e, "unitDimension", array::<f64>(&[7], &[1.0, 1.0, -3.0, -1.0, 0.0, 0.0, 0.0]));
    let z = memory.group(e, "z");
    memory.attribute(z, "value", array::<f32>(&[], &[1.5]));
    memory.attribute(z, "shape", array::<u64>(&[2], &[2, 3]));
    let text = listed_of(memory, [true, false, false], false);
    assert!(text.contains("z/  constant  float32, m kg s^-3 A^-1  2 × 3"), "{text}");
}
