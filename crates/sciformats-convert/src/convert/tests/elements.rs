//! Elements whose type the other format has in another form: texts, sequences, references, arrays.

use super::*;

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
