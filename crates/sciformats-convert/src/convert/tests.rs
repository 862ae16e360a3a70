//! Plans conversions, writes them, and reads the results.

use super::*;
use sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats::{ArrayInfo, ElementType};

fn file(memory: Memory) -> Arc<File> {
    Arc::new(File::from(memory))
}

fn lines(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    // In Blosc2, the shape and type of an array are also a metalayer.
    text.lines().skip(1).filter(|line| !line.contains("meta:b2nd")).map(String::from).collect()
}

/// Writes a plan, checks the file against it, and opens the file.
fn written(plan: &Plan, path: &Path) -> Arc<File> {
    plan.write(path, &WriteOptions::default()).unwrap();
    let options = OpenOptions::default();
    assert_eq!(plan.check(path, &options).unwrap(), None, "{}", plan.target());
    Arc::new(File::open_with(path, &options).unwrap())
}

/// Converts to another format and back. Nothing may be lost, and the result must be equal to the original.
fn round_trip(source: &Arc<File>, via: Format, expected: &[String]) {
    let dir = tempfile::tempdir().unwrap();
    let there = Plan::new(source, via, &Options::default()).unwrap();
    assert_eq!(there.losses(), [], "{} → {via}", source.format());
    let between = written(&there, &dir.path().join("there"));
    let back = Plan::new(&between, source.format(), &Options::default()).unwrap();
    assert_eq!(back.losses(), [], "{via} → {}", source.format());
    let end = written(&back, &dir.path().join("back"));
    assert_eq!(lines(&end), expected, "{} → {via} → {}", source.format(), source.format());
}

fn writable(format: Format) -> bool {
    sink::rules(format).is_ok()
}

#[test]
fn an_array_through_each_format() {
    let values: Vec<f64> = (0..60).map(|i| f64::from(i) / 7.0).collect();
    for single in [Format::RawArray, Format::Npy, Format::Blosc2] {
        for shape in [&[60u64][..], &[12, 5]] {
            let source = file(Memory::single(single, array(shape, &values)));
            for via in Format::ALL.into_iter().filter(|&via| writable(via) && writable(single)) {
                round_trip(&source, via, &lines(&source));
            }
        }
        // The array has more dimensions than GSD has, and types that only some formats have.
        let source = file(Memory::single(single, array(&[3, 2, 10], &values)));
        for via in [Format::Asdf, Format::Npy, Format::Blosc2, Format::RawArray] {
            if writable(via) && writable(single) {
                round_trip(&source, via, &lines(&source));
            }
        }
    }
}

#[test]
fn the_only_array_of_a_tree_through_formats_of_one_array() {
    for tree in [Format::Hdf5, Format::Asdf] {
        let mut memory = Memory::new(tree);
        let values: Vec<i16> = (0..5000).collect();
        memory.array(memory.root(), "data", array(&[5, 4, 250], &values));
        let source = file(memory);
        for via in [Format::RawArray, Format::Npy, Format::Blosc2] {
            if writable(tree) && writable(via) {
                round_trip(&source, via, &lines(&source));
            }
        }
    }
}

/// Writes a trajectory of three frames, as a simulation would.
#[cfg(feature = "gsd")]
fn trajectory(path: &Path) -> Arc<File> {
    use gsd_rs::{CreateOptions, Version, Writer};
    let mut writer = Writer::create(path, &CreateOptions::new("test", "hoomd", Version::new(1, 4))).unwrap();
    for step in 0..3u64 {
        writer.write("configuration/step", 1, &[step]).unwrap();
        writer.write("particles/N", 1, &[5u32]).unwrap();
        if step != 1 {
            writer.write("particles/position", 3, &[0.5f32; 15]).unwrap();
        }
        writer.end_frame().unwrap();
    }
    writer.finish().unwrap();
    Arc::new(sciformats::open(path).unwrap())
}

#[cfg(feature = "gsd")]
#[test]
fn trajectories_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let source = trajectory(&dir.path().join("a.gsd"));
    for via in [Format::Gsd, Format::Asdf, Format::Hdf5] {
        if !writable(via) {
            continue;
        }
        round_trip(&source, via, &lines(&source));
        // The conversion back restores the header.
        let there = Plan::new(&source, via, &Options::default()).unwrap();
        let between = written(&there, &dir.path().join("there"));
        let back = Plan::new(&between, Format::Gsd, &Options::default()).unwrap();
        let end = written(&back, &dir.path().join("back"));
        assert_eq!(end.source().facts()[..3], source.source().facts()[..3]);
    }
}

/// Returns a tree with something of everything.
fn tree(format: Format) -> Memory {
    let mut memory = Memory::new(format);
    let root = memory.root();
    memory.attribute(root, "title", texts(&[], &["a run"]));
    let g = memory.group(root, "g");
    let u = memory.array(g, "u", array::<f32>(&[2, 3], &[1., 2., 3., f32::NAN, 5., 6.]));
    memory.attribute(u, "units", texts(&[], &["m/s"]));
    memory.attribute(u, "scale", array::<f64>(&[], &[2.5]));
    memory.attribute(u, "count", array::<i64>(&[], &[-7]));
    memory.attribute(u, "small", array::<i16>(&[2], &[1, 2]));
    memory.attribute(g, "a/b", texts(&[2], &["x", "y"]));
    memory.array(g, "names", texts(&[3], &["a", "", "µ"]));
    memory.array(root, "t~il~1de", array::<u8>(&[1], &[1]));
    let numbered = memory.group(root, "list");
    for i in 0..12u8 {
        memory.array(numbered, &i.to_string(), array(&[], &[i]));
    }
    memory.group(root, "empty");
    memory.hard_link(root, "again", u);
    memory
}

#[cfg(feature = "asdf")]
#[test]
fn trees_with_attributes_through_asdf() {
    let source = file(tree(Format::Hdf5));
    if writable(Format::Hdf5) {
        round_trip(&source, Format::Asdf, &lines(&source));
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan::new(&source, Format::Asdf, &Options::default()).unwrap();
    assert_eq!(plan.losses(), []);
    assert_eq!(plan.remarks(), [(Remark::AttributeAsMember, 6), (Remark::Escaped, 1)]);
    let asdf = written(&plan, &dir.path().join("x.asdf"));
    let found = lines(&asdf);
    assert!(
        found.contains(&r#"{"path":"/again@units","kind":"value","value":"m/s"}"#.to_string()),
        "{found:#?}"
    );
    assert!(found.contains(&r#"{"path":"/@title","kind":"value","value":"a run"}"#.to_string()));
    assert!(found.contains(&r#"{"path":"/g/u","kind":"hardlink","target":"/again"}"#.to_string()));
    // Members with numbers as names become a sequence. The next name is 12, and names are compared as numbers.
    let text = std::fs::read(dir.path().join("x.asdf")).unwrap();
    assert!(String::from_utf8_lossy(&text).contains("list:\n- !core/ndarray"));
    // A conversion from ASDF to ASDF changes nothing.
    round_trip(&asdf, Format::Asdf, &lines(&asdf));
}

#[cfg(feature = "asdf")]
#[test]
fn what_cannot_be_held_is_told_before() {
    let mut memory = tree(Format::Hdf5);
    let root = memory.root();
    memory.soft_link(root, "s", "/g");
    memory.external_link(root, "e", "f.h5", "/x");
    memory.user_link(root, "user", 65);
    memory.datatype(root, "type", ElementType::Opaque(3));
    memory.damage(root, "bad");
    memory.array(
        root,
        "half",
        MemoryArray { info: ArrayInfo::new(ElementType::BF16, [2]), bytes: vec![0x80, 0x3F, 0, 0x40] },
    );
    memory.array(
        root,
        "opaque",
        MemoryArray { info: ArrayInfo::new(ElementType::Opaque(2), [1]), bytes: vec![1, 2] },
    );
    let g = memory.group(root, "loop");
    memory.hard_link(g, "up", g);
    let source = file(memory);
    let plan = Plan::new(&source, Format::Asdf, &Options::default()).unwrap();
    let losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    assert_eq!(
        losses,
        [
            "/bad cannot be read: malformed object at offset 0x40: it is truncated",
            "/e is left out: it is a link to /x in f.h5",
            "/half has elements of type bfloat16, which become float32",
            "/opaque is left out: its elements are of type opaque(2)",
            "/s is left out: it is a link to /g",
            "/type is left out: it is a committed datatype",
            "/user is left out: it is a link of the user-defined class 65",
            "/loop/up is left out: it is another link to /loop",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let asdf = written(&plan, &dir.path().join("x.asdf"));
    assert_eq!(asdf.array("/half").unwrap().read::<f32>().unwrap(), [1.0, 2.0]);
}

#[cfg(feature = "gsd")]
#[test]
fn shapes_that_gsd_flattens() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    let values: Vec<u16> = (0..24).collect();
    memory.array(root, "cube", array(&[2, 3, 4], &values));
    memory.array(root, "one", array::<u16>(&[], &[9]));
    let deep = memory.group(root, "frames");
    let frame = memory.group(deep, "2");
    memory.array(frame, "x", array(&[24], &values));
    memory.group(frame, "empty");
    let plan = Plan::new(&file(memory), Format::Gsd, &Options::default()).unwrap();
    let losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    assert_eq!(
        losses,
        [
            "/cube is of shape 2 × 3 × 4, which becomes 2 × 12",
            "/one is of shape scalar, which becomes 1",
            "/frames/2/empty is left out: it is a group without arrays",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let gsd = written(&plan, &dir.path().join("x.gsd"));
    assert_eq!(gsd.array("/frames/0/cube").unwrap().read::<u16>().unwrap(), values);
    assert_eq!(gsd.array("/frames/2/x").unwrap().shape(), [24]);
}

#[test]
fn one_array_of_many_is_selected() {
    let source = file(tree(Format::Hdf5));
    let error = Plan::new(&source, Format::Npy, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "file holds 15 arrays, but npy holds only one; select one by its path");
    let mut options = Options { select: vec!["/g/names".into()], ..Options::default() };
    let plan = Plan::new(&source, Format::Npy, &options).unwrap();
    assert_eq!((plan.losses(), plan.remarks()), (&[][..], &[(Remark::Moved, 1)][..]));
    assert_eq!(plan.counts(), Counts { arrays: 1, ..Counts::default() });
    options.select = vec!["/again".into()];
    let plan = Plan::new(&source, Format::Npy, &options).unwrap();
    assert_eq!(plan.losses().len(), 4);
    options.select = vec!["/empty".into()];
    let error = Plan::new(&source, Format::Npy, &options).unwrap_err();
    assert_eq!(error.to_string(), "file has no array that npy can hold");
}

#[test]
fn cancelled_nothing_is_left() {
    let source = file(Memory::single(Format::Npy, array::<f64>(&[3], &[1., 2., 3.])));
    let cancel = Arc::new(AtomicBool::new(true));
    let options = Options { cancel: Some(cancel), ..Options::default() };
    let dir = tempfile::tempdir().unwrap();
    for format in Format::ALL.into_iter().filter(|&format| writable(format)) {
        let plan = Plan::new(&source, format, &options).unwrap();
        let error = plan.write(dir.path().join("x"), &WriteOptions::default()).unwrap_err();
        assert!(
            matches!(&error, sciformats::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted)
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// Returns the canonical bytes of a text or a path.
#[cfg(feature = "hdf5")]
fn text_bytes(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Returns the canonical bytes of a sequence.
#[cfg(feature = "hdf5")]
fn sequence(items: &[Vec<u8>]) -> Vec<u8> {
    [&(items.len() as u64).to_le_bytes()[..], &items.concat()].concat()
}

#[cfg(feature = "hdf5")]
#[test]
fn sequences_references_and_compounds_with_text() {
    use ElementType as T;
    let of = |element: T, shape: &[u64], bytes: Vec<u8>| MemoryArray {
        info: ArrayInfo::new(element, shape),
        bytes,
    };
    let number = |value: i16| value.to_le_bytes().to_vec();
    let vlen = |element: T| T::Vlen(Box::new(element));
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    let group = memory.group(root, "g");
    let x = memory.array(group, "x", array::<f32>(&[2], &[1.0, 2.0]));
    memory.attribute(x, "DIMENSION_LIST", of(vlen(T::Reference), &[1], sequence(&[text_bytes("/z")])));
    memory.array(root, "z", array::<f64>(&[2], &[0.0, 1.0]));
    let ragged = [sequence(&[number(1), number(-2)]), sequence(&[]), sequence(&[number(3)])].concat();
    memory.array(root, "ragged", of(vlen(T::Int(2)), &[3], ragged));
    let words = sequence(&[text_bytes("a"), text_bytes("µ"), text_bytes("")]);
    memory.array(root, "words", of(vlen(T::Text), &[1], words));
    let row = |name: &str, to: &str, flag: u8| [text_bytes(name), text_bytes(to), vec![flag]].concat();
    let fields = vec![("name".into(), T::Text), ("at".into(), T::Reference), ("ok".into(), T::UInt(1))];
    let rows = [row("one", "/g/x", 1), row("", "", 0), row("three", "/", 1)].concat();
    memory.array(root, "rows", of(T::Compound(fields), &[3], rows));
    let one = of(T::Reference, &[], text_bytes("/g"));
    memory.array(root, "one", one);
    let regions = ["/a b all", "/g/x none", "/g/x (1)", "/g/x (2)(0)", "/a b (0,0)-(0,1)(2,0)-(2,1)", ""];
    let regions = regions.map(text_bytes).concat();
    memory.array(root, "regions", of(T::Region, &[6], regions));
    memory.array(root, "a b", array(&[3, 2], &[0u8; 6]));
    let source = file(memory);
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan::new(&source, Format::Hdf5, &Options::default()).unwrap();
    assert_eq!(plan.losses(), []);
    let found = written(&plan, &dir.path().join("a.h5"));
    assert_eq!(lines(&found), lines(&source));
    // If the target of a reference is not converted, this is a loss.
    let options = Options { select: vec!["/g".into(), "/rows".into()], cancel: None };
    let plan = Plan::new(&source, Format::Hdf5, &options).unwrap();
    let losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    assert_eq!(
        losses,
        ["/g/x@DIMENSION_LIST has a reference to missing objects, which become null in the target"]
    );
    written(&plan, &dir.path().join("b.h5"));
    for (path, count) in [("/one", 1), ("/regions", 6)] {
        let options = Options { select: vec![path.into()], cancel: None };
        let plan = Plan::new(&source, Format::Hdf5, &options).unwrap();
        assert_eq!(plan.losses().len(), 1);
        let alone = written(&plan, &dir.path().join("c.h5"));
        let paths: Vec<String> = alone.array(path).unwrap().read().unwrap();
        assert_eq!(paths, vec![""; count]);
    }
}

#[test]
fn texts_that_the_target_cannot_hold_are_told_before() {
    for (format, text, fits) in [
        (Format::Asdf, &b"\xff"[..], false),
        (Format::Asdf, b"a\0", false),
        (Format::Asdf, b"\0a", true),
        (Format::Hdf5, b"\xff", true),
        (Format::Hdf5, b"\0a", false),
        // The text becomes a string of bytes.
        (Format::Npy, b"\xff", true),
        (Format::Blosc2, b"\xff", true),
        (Format::Npy, b"a\0", false),
    ] {
        if !writable(format) {
            continue;
        }
        let bytes = [&(text.len() as u64).to_le_bytes()[..], text].concat();
        let array = MemoryArray { info: ArrayInfo::new(ElementType::Text, [1]), bytes };
        let source = file(Memory::single(Format::Hdf5, array));
        match Plan::new(&source, format, &Options::default()) {
            Ok(plan) => {
                assert_eq!(plan.losses().is_empty(), fits, "{format} {text:?}");
                let dir = tempfile::tempdir().unwrap();
                plan.write(dir.path().join("x"), &WriteOptions::default()).unwrap();
            }
            Err(error) => {
                assert!(!fits && error.to_string().contains("not UTF-8"), "{format} {text:?} {error}");
            }
        }
    }
}

#[test]
fn elements_that_are_arrays_are_more_dimensions() {
    use ElementType as T;
    let of = |element: T, shape: &[u64]| T::Array { element: Box::new(element), shape: shape.to_vec() };
    let element = of(of(T::Int(2), &[3]), &[2]);
    let info = ArrayInfo { chunks: Some(vec![2]), ..ArrayInfo::new(element, [5]) };
    let bytes: Vec<u8> = (0..30i16).flat_map(i16::to_le_bytes).collect();
    let values: Vec<i16> = (0..30).collect();
    let dir = tempfile::tempdir().unwrap();
    for format in Format::ALL.into_iter().filter(|&format| writable(format)) {
        let array = MemoryArray { info: info.clone(), bytes: bytes.clone() };
        let source = file(Memory::single(Format::Hdf5, array));
        let plan = Plan::new(&source, format, &Options::default()).unwrap();
        let told = plan.remarks().contains(&(Remark::ArrayAsDimensions, 1));
        assert_eq!(told, format != Format::Hdf5, "{format}");
        let found = written(&plan, &dir.path().join("x"));
        let path = match sink::rules(format).unwrap().layout {
            sink::Layout::Single => "/",
            sink::Layout::Tree => "/data",
            sink::Layout::Frames => "/frames/0/data",
        };
        let array = found.array(path).unwrap();
        match format {
            Format::Hdf5 => assert_eq!(array.element().to_string(), "int16[3][2]"),
            Format::Gsd => assert_eq!(array.shape(), [5, 6]),
            _ => {
                assert_eq!(plan.losses(), []);
                assert_eq!(array.shape(), [5, 2, 3]);
            }
        }
        if format != Format::Hdf5 {
            assert_eq!(array.read::<i16>().unwrap(), values);
        }
        // Any part of the array can be read.
        let planned = plan.tree().array(path).unwrap();
        if planned.shape() == [5, 2, 3] {
            let ranges = [
                sciformats::Range::new(1, 2).by(3),
                sciformats::Range::new(1, 1),
                sciformats::Range::new(0, 2).by(2),
            ];
            let slab = sciformats::Slab::new(&[5, 2, 3], ranges).unwrap();
            assert_eq!(planned.read_slab::<i16>(&slab).unwrap(), [9, 11, 27, 29]);
        }
    }
}

#[cfg(feature = "rawarray")]
#[test]
fn bytes_after_an_array_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    for metadata in [&b"volts"[..], b"\xff\0\x01"] {
        let path = dir.path().join("a.ra");
        rawarray::Writer::new(&[3, 2]).with_metadata(metadata).write(&path, &[1.0f32; 6]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let source = Arc::new(sciformats::open(&path).unwrap());
        for via in [Format::RawArray, Format::Hdf5, Format::Asdf] {
            if !writable(via) {
                continue;
            }
            let plan = Plan::new(&source, via, &Options::default()).unwrap();
            if via == Format::Asdf && metadata.contains(&0) {
                assert_eq!(plan.losses().len(), 1);
                continue;
            }
            assert_eq!(plan.losses(), []);
            let between = written(&plan, &dir.path().join("between"));
            let back = Plan::new(&between, Format::RawArray, &Options::default()).unwrap();
            assert_eq!(back.losses(), []);
            back.write(dir.path().join("back.ra"), &WriteOptions::default()).unwrap();
            assert_eq!(std::fs::read(dir.path().join("back.ra")).unwrap(), bytes, "{via}");
        }
        for via in [Format::Npy, Format::Gsd, Format::Blosc2].into_iter().filter(|&via| writable(via)) {
            let plan = Plan::new(&source, via, &Options::default()).unwrap();
            assert_eq!(plan.losses()[0].what, "has bytes after its array, which are left out");
            plan.write(dir.path().join("x"), &WriteOptions::default()).unwrap();
        }
    }
}

#[test]
fn compounds_with_text_for_numpy() {
    use ElementType as T;
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let inner = T::Compound(vec![("t".into(), T::Text), ("v".into(), T::F32)]);
    let element = T::Compound(vec![
        ("name".into(), T::Text),
        ("at".into(), T::Array { element: Box::new(T::Int(1)), shape: vec![2] }),
        ("in".into(), inner),
    ]);
    let row = |a: &str, b: &str| [text(a), vec![1, 2], text(b), 0.5f32.to_le_bytes().to_vec()].concat();
    let bytes = [row("north", "\u{b5}"), row("", "abc")].concat();
    let array = MemoryArray { info: ArrayInfo::new(element, [2]), bytes };
    let source = file(Memory::single(Format::Npy, array));
    for via in [Format::Npy, Format::Blosc2, Format::Asdf, Format::Hdf5] {
        if writable(via) {
            round_trip(&source, via, &lines(&source));
        }
    }
}

#[test]
fn a_rescue_goes_on_past_what_cannot_be_read() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    for i in 0..3u8 {
        memory.array(root, &format!("good{i}"), array::<u8>(&[2], &[i, i]));
    }
    memory.array(root, "bad", array::<u16>(&[4], &[1, 2, 3]));
    memory.damage(root, "worse");
    let short =
        MemoryArray { info: ArrayInfo::new(ElementType::Text, [2]), bytes: vec![1, 0, 0, 0, 0, 0, 0, 0, 65] };
    memory.array(root, "texts", short);
    let source = file(memory);
    let dir = tempfile::tempdir().unwrap();
    for format in [Format::Hdf5, Format::Asdf, Format::Gsd].into_iter().filter(|&format| writable(format)) {
        let path = dir.path().join(format.word());
        let plan = Plan::new(&source, format, &Options::default()).unwrap();
        assert!(plan.write(&path, &WriteOptions::default()).is_err());
        // ASDF writes texts first.
        let first = if format == Format::Asdf { "/texts" } else { "/bad" };
        assert_eq!(plan.unread().as_deref(), Some(first));
        assert!(!path.exists());
        // Texts are examined while planning, so their losses are in the plan.
        if format != Format::Gsd {
            let planned: Vec<&str> = plan.losses().iter().map(|loss| loss.path.as_str()).collect();
            assert_eq!(planned, ["/worse", "/texts"]);
        }
        let losses = plan.rescue(&path, &WriteOptions::default()).unwrap();
        let told: Vec<String> = losses.iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
        let reason = "malformed array in memory at offset 0x0: elements is truncated";
        assert_eq!(told, [format!("/bad 2 bytes starting at element (3) cannot be read: {reason}")]);
        assert_eq!(plan.check(&path, &OpenOptions::default()).unwrap(), None);
        let written = sciformats::open(&path).unwrap();
        let under = if format == Format::Gsd { "/frames/0" } else { "" };
        assert_eq!(written.array(&format!("{under}/bad")).unwrap().read::<u16>().unwrap(), [1, 2, 3, 0]);
        assert_eq!(written.array(&format!("{under}/good2")).unwrap().read::<u8>().unwrap(), [2, 2]);
        if format != Format::Gsd {
            assert_eq!(written.array("/texts").unwrap().read::<String>().unwrap(), ["A", ""]);
        }
    }
}

#[cfg(all(feature = "asdf", feature = "blosc2", feature = "hdf5"))]
#[test]
fn texts_keep_the_widths_that_both_formats_have() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let row = |s: &[u8; 6], u: &str| {
        let mut wide: Vec<u8> = u.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        wide.resize(16, 0);
        [&s[..], &wide].concat()
    };
    let descr = "[('s', 'S6'), ('u', '<U4')]";
    let mut bytes = npy::Header::new(npy::DType::parse(descr).unwrap(), [2]).to_bytes().unwrap();
    bytes.extend([row(b"a\0b\0\0\0", "\u{e9}"), row(b"\0\0\0\0\0\0", "xyz")].concat());
    let mut plain = npy::Header::new(npy::DType::parse("'S6'").unwrap(), [2]).to_bytes().unwrap();
    plain.extend(b"ab\0\0\0\0c\0\0\0\0\0");
    let of = |bytes: &[u8]| Arc::new(File::from_bytes(bytes.to_vec()).unwrap());
    let dtype = |path: &Path| npy::Reader::open(path).unwrap().dtype().to_string();

    // Through each format and back. HDF5 has no texts of a fixed number of characters.
    for via in [Format::Hdf5, Format::Asdf, Format::Blosc2] {
        let there = Plan::new(&of(&plain), via, &Options::default()).unwrap();
        assert_eq!(there.losses(), [], "{via}");
        let back = Plan::new(&written(&there, &at("there")), Format::Npy, &Options::default()).unwrap();
        written(&back, &at("back.npy"));
        assert_eq!(dtype(&at("back.npy")), "'|S6'", "{via}");
    }
    // Bytes that are not ASCII stay bytes, except in ASDF, which says so.
    let mut wide = npy::Header::new(npy::DType::parse("'S6'").unwrap(), [2]).to_bytes().unwrap();
    wide.extend("\u{b5}m\0\0\0c\0\0\0\0\0".as_bytes());
    for (via, dtype_after) in
        [(Format::Hdf5, "'|S6'"), (Format::Blosc2, "'|S6'"), (Format::Npy, "'|S6'"), (Format::Asdf, "'<U2'")]
    {
        let there = Plan::new(&of(&wide), via, &Options::default()).unwrap();
        let told = there.remarks().iter().any(|(remark, _)| *remark == Remark::BytesAsCharacters);
        assert_eq!((there.losses(), told), (&[][..], via == Format::Asdf), "{via}");
        let back = Plan::new(&written(&there, &at("there")), Format::Npy, &Options::default()).unwrap();
        written(&back, &at("back.npy"));
        assert_eq!(dtype(&at("back.npy")), dtype_after, "{via}");
    }
    let there = Plan::new(&of(&bytes), Format::Hdf5, &Options::default()).unwrap();
    assert_eq!(there.losses().len(), 1, "a text of any length must not contain a NUL");
    bytes.iter_mut().rev().take(22 * 2).filter(|byte| **byte == b'b').for_each(|byte| *byte = 0);
    let there = Plan::new(&of(&bytes), Format::Hdf5, &Options::default()).unwrap();
    assert_eq!(there.losses(), []);
    assert!(there.remarks().contains(&(Remark::TextsOfAnyLength, 1)), "{:?}", there.remarks());
    written(&there, &at("there.h5"));
    let stored = hdf5_pure::File::open(at("there.h5")).unwrap().dataset("data").unwrap().datatype().clone();
    assert_eq!((stored.member("s").unwrap().1.size, stored.member("u").unwrap().1.size), (6, 16));
    let back = Plan::new(&written(&there, &at("there.h5")), Format::Npy, &Options::default()).unwrap();
    written(&back, &at("back.npy"));
    assert_eq!(dtype(&at("back.npy")), "[('s', '|S6'), ('u', '<U3')]");
    let asdf = Plan::new(&of(&bytes), Format::Asdf, &Options::default()).unwrap();
    written(&asdf, &at("there.asdf"));
    let file = asdf_core::Asdf::open(at("there.asdf")).unwrap();
    let text = format!("{:?}", file.array("data").unwrap().datatype());
    assert!(text.contains("Ascii(6)") && text.contains("Ucs4(4)"), "{text}");
}

#[cfg(feature = "rawarray")]
#[test]
fn a_file_that_is_overwritten_while_it_is_read_is_not_converted() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("u.npy"), dir.path().join("u.ra"));
    std::fs::write(&path, sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5]).unwrap()).unwrap();
    let old = std::fs::File::options().write(true).open(&path).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let file = Arc::new(sciformats::open(&path).unwrap());
    let plan = Plan::new(&file, Format::RawArray, &Options::default()).unwrap();
    std::fs::write(&path, sciformats::npy::to_bytes(&[2], &[7.5f32, 8.5]).unwrap()).unwrap();
    let error = plan.write(&new, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("another program changed it"), "{error}");
    assert!(!new.exists());
}

/// Writes a file whose names are not UTF-8: a dataset with an attribute, a group, and references to both.
#[cfg(feature = "hdf5")]
fn latin(path: &Path) -> Arc<File> {
    use hdf5_pure::references::RegionReference;
    use hdf5_pure::{Datatype, Name, Slab, Writer};
    let mut made = Writer::create(path).unwrap();
    let data = made.dataset(&Name::from(&b"caf\xe9"[..])).write(&[1i32, 2, 3]).unwrap();
    made.attribute(data, &Name::from(&b"\xb5m"[..]), 7).unwrap();
    made.dataset(r"caf\xe9").write(&[4i32]).unwrap(); // a backslash and three characters
    let record = Datatype::compound([(Name::from(&b"t\xe9"[..]), Datatype::integer(true, 1))]);
    made.dataset("record").shape([2]).datatype(record).write_raw(&[1, 2]).unwrap();
    let group = made.group(&Name::from(&b"gr\xfcn"[..])).unwrap().id();
    let inner = made.dataset(&Name::from(&b"gr\xfcn/in\xe9"[..])).write(&[5i32]).unwrap();
    let all = [data, group, inner].map(|id| made.reference(id).unwrap());
    made.dataset("refs").write(&all).unwrap();
    let part = RegionReference::new(all[0], Slab::new(&[3], [(1..3).into()]).unwrap());
    made.root().attribute("part", part).unwrap();
    made.finish().unwrap();
    Arc::new(sciformats::open(path).unwrap())
}

#[cfg(feature = "hdf5")]
#[test]
fn references_to_names_that_are_not_utf8_are_rescued() {
    let dir = tempfile::tempdir().unwrap();
    let source = latin(&dir.path().join("a.h5"));
    let plan = Plan::new(&source, Format::Hdf5, &Options::default()).unwrap();
    assert_eq!(plan.losses(), []);
    let path = dir.path().join("b.h5");
    assert_eq!(plan.rescue(&path, &WriteOptions::default()).unwrap(), []);
    assert_eq!(lines(&sciformats::open(&path).unwrap()), lines(&source));
}

#[cfg(all(feature = "hdf5", feature = "asdf"))]
#[test]
fn names_that_are_not_utf8_are_escaped_once_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = latin(&dir.path().join("a.h5"));
    let select = ["/caf*", "/record", r"/gr\xfcn"];
    let plan = Plan::new(&source, Format::Asdf, &Options::default().with_select(select)).unwrap();
    let mut losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    losses.sort();
    let what = "is not UTF-8, which becomes the text";
    let expected = [
        format!(r"/caf\xe9 has a name that {what} caf\xe9"),
        format!(r"/caf\xe9@\xb5m has a name that {what} \xb5m"),
        format!(r"/gr\xfcn has a name that {what} gr\xfcn"),
        format!(r"/gr\xfcn/in\xe9 has a name that {what} in\xe9"),
        format!(r"/record has a field whose name {what} t\xe9"),
    ];
    assert_eq!(losses, expected);
    assert_eq!(plan.remarks(), [(Remark::AttributeAsMember, 1), (Remark::Escaped, 1)]);
    let asdf = written(&plan, &dir.path().join("a.asdf"));
    let text = std::fs::read(dir.path().join("a.asdf")).unwrap();
    let text = String::from_utf8_lossy(&text);
    for key in [r"caf\xe9: ", r"caf\xe9@\xb5m: ", r"caf\\xe9: ", r"gr\xfcn:", r"in\xe9: ", r"t\xe9"] {
        assert!(text.contains(key), "{key}: {text}");
    }
    assert_eq!(asdf.array(r"/caf\xe9").unwrap().read::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(asdf.array(r"/caf\\xe9").unwrap().read::<i32>().unwrap(), [4]);
    let back = Plan::new(&asdf, Format::Hdf5, &Options::default()).unwrap();
    assert_eq!((back.losses(), back.remarks()[1]), (&[][..], (Remark::Unescaped, 3)));
    let back = written(&back, &dir.path().join("b.h5"));
    let mut all = lines(&source);
    all.retain(|line| !line.contains("refs") && !line.contains("part"));
    assert_eq!(lines(&back), all);
}
