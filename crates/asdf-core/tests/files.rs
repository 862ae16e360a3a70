//! Whole files that are written, read, changed in place, streamed and exploded.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use asdf_core::structure::IndexState;
use asdf_core::*;
use sciformats_core::ReadAt;
use sciformats_core::commit::replay;

const ALL: [Compression; 6] = [
    Compression::None,
    Compression::Zlib,
    Compression::Bzp2,
    Compression::Lz4,
    Compression::Lz4Frame,
    Compression::Zstd,
];

/// Returns the compressions that this build can write.
fn written() -> Vec<Compression> {
    ALL.into_iter()
        .filter(|&compression| compression != Compression::Zstd || cfg!(feature = "zstd"))
        .collect()
}

fn file(document: &Document) -> Asdf {
    Asdf::from_bytes(document.to_bytes().unwrap()).unwrap()
}

#[test]
fn every_compression_and_order() {
    let values: Vec<i32> = (0..5000).map(|i| i * 3 - 7000).collect();
    let mut document = Document::new();
    for (i, compression) in written().into_iter().enumerate() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let array = NewArray::new(&values, &[50, 100]).unwrap().in_order(order).unwrap();
            document.set_array(&format!("a{i}{order:?}"), array.with_compression(compression)).unwrap();
        }
    }
    let file = file(&document);
    assert!(matches!(file.layout().index, IndexState::Valid(_)), "{:?}", file.layout().index);
    assert_eq!(file.layout().unexplained, None);
    let slab = Slab::new(&[50, 100], [Range::new(3, 4).by(5), Range::new(1, 9).by(11)]).unwrap();
    let part: Vec<i32> = (0..4)
        .flat_map(|i| (0..9).map(move |j| (i, j)))
        .map(|(i, j)| values[(3 + 5 * i) * 100 + 1 + 11 * j])
        .collect();
    for i in 0..written().len() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let array = file.array(&format!("a{i}{order:?}")).unwrap();
            assert_eq!(array.read::<i32>().unwrap(), values);
            assert_eq!(array.read_slab::<i32>(&slab).unwrap(), part);
            assert!(array.read::<f32>().unwrap().iter().zip(&values).all(|(&a, &b)| a == b as f32));
            let misfit = array.read::<i8>().unwrap_err();
            assert_eq!(misfit.to_string(), "element 0 is -7000, which i8 cannot hold");
            assert!(array.with_conversion(Conversion::None).read::<f32>().is_err());
        }
    }
    for block in file.blocks() {
        assert_eq!(block.check().unwrap(), Checksum::Stored);
    }
}

#[test]
fn strides_offsets_and_views() {
    let values: Vec<u16> = (0..24).collect();
    let mut document = Document::new();
    document.set_array("base", NewArray::new(&values, &[4, 6]).unwrap()).unwrap();
    let view = |shape, offset, strides| View {
        block: 0,
        datatype: ScalarType::UInt16.into(),
        byteorder: ByteOrder::NATIVE,
        shape,
        offset,
        strides,
    };
    type Case<'a> = (&'a str, &'a [u64], u64, Option<&'a [i64]>, Vec<u16>);
    let cases: [Case<'_>; 6] = [
        (
            "fortran",
            &[6, 4],
            0,
            Some(&[2, 12]),
            (0..6).flat_map(|i| (0..4).map(move |j| i + 6 * j)).collect(),
        ),
        ("reversed", &[24], 46, Some(&[-2]), (0..24).rev().collect()),
        ("tail", &[2, 6], 24, None, (12..24).collect()),
        ("every second", &[12], 0, Some(&[4]), (0..24).step_by(2).collect()),
        ("repeated", &[3, 2], 2, Some(&[0, 2]), vec![1, 2, 1, 2, 1, 2]),
        ("scalar", &[], 10, None, vec![5]),
    ];
    for (name, shape, offset, strides, _) in &cases {
        let node = document.add_view(&view(shape, *offset, *strides)).unwrap();
        document.tree_mut().put(name, node).unwrap();
    }
    let file = file(&document);
    assert_eq!(file.blocks().len(), 1);
    for (name, shape, _, _, expected) in &cases {
        let array = file.array(name).unwrap();
        assert_eq!((array.shape(), array.read::<u16>().unwrap()), (*shape, expected.clone()), "{name}");
        for (i, value) in expected.iter().enumerate().filter(|_| shape.len() == 1) {
            let slab = Slab::new(shape, [Range::new(i as u64, 1)]).unwrap();
            assert_eq!(array.read_slab::<u16>(&slab).unwrap(), [*value]);
        }
    }
    for (shape, offset, strides) in [
        (&[25][..], 0, None),
        (&[2], 46, None),
        (&[3], 2, Some(&[-2][..])),
        (&[1 << 62], 0, Some(&[i64::MAX])),
    ] {
        let node = document.add_view(&view(shape, offset, strides)).unwrap();
        document.tree_mut().put("bad", node).unwrap();
        let file = Asdf::from_bytes(document.to_bytes().unwrap()).unwrap();
        let shown = file.array("bad").unwrap_err().to_string();
        assert!(shown.starts_with("malformed ndarray at offset"), "{shown}");
    }
}

#[test]
fn inline_texts_booleans_masks_and_structures() {
    let mut document = Document::new();
    let inline = |array: NewArray| array.with_storage(Storage::Inline);
    document.set_array("ints", inline(NewArray::new(&[-1i8, 2, 3, 4], &[2, 2]).unwrap())).unwrap();
    document
        .set_array("floats", inline(NewArray::new(&[1.0f32, f32::INFINITY, 1e-30], &[3]).unwrap()))
        .unwrap();
    let texts = ["a", "", "12", "yes"];
    document.set_array("texts", inline(NewArray::from_strings(&texts, &[4]).unwrap())).unwrap();
    document.set_array("ucs4", NewArray::from_strings(&["é", "ab"], &[2]).unwrap()).unwrap();
    document.set_array("bools", NewArray::from_bools(&[true, false], &[2]).unwrap()).unwrap();
    let masked = NewArray::new(&[1.0, 2.0, 3.0], &[3]).unwrap();
    document.set_array("masked", masked.clone().with_mask(NewMask::Elements(vec![0, 1, 0]))).unwrap();
    document.set_array("value", masked.with_mask(NewMask::Value(3.0))).unwrap();
    let datatype = Datatype::Struct(vec![
        Field::new("a", ScalarType::UInt8, ByteOrder::Big),
        Field { shape: vec![2], ..Field::new("b", ScalarType::Int16, ByteOrder::Big) },
        Field::new(
            "c",
            Datatype::Struct(vec![Field::new("d", ScalarType::Ascii(2), ByteOrder::Big)]),
            ByteOrder::Little,
        ),
    ]);
    let bytes = [1, 0, 2, 0, 3, b'x', 0, 9, 1, 0, 0xFF, 0xFF, b'y', b'z'].to_vec();
    let structured = NewArray::from_bytes(datatype.clone(), ByteOrder::Big, &[2], bytes).unwrap();
    document.set_array("structured", structured.clone()).unwrap();
    document.set_array("rows", inline(structured)).unwrap();

    let file = file(&document);
    let array = |name| file.array(name).unwrap();
    assert_eq!(array("ints").read::<i8>().unwrap(), [-1, 2, 3, 4]);
    assert_eq!(array("floats").read::<f32>().unwrap(), [1.0, f32::INFINITY, 1e-30]);
    assert_eq!(array("texts").read_strings().unwrap(), texts);
    assert_eq!(array("ucs4").read_strings().unwrap(), ["é", "ab"]);
    assert_eq!(array("bools").read::<bool>().unwrap(), [true, false]);
    assert_eq!(array("masked").read_mask().unwrap().unwrap(), [0, 1, 0]);
    assert_eq!(array("value").read_mask().unwrap().unwrap(), [0, 0, 1]);
    let little = [1, 2, 0, 3, 0, b'x', 0, 9, 0, 1, 0xFF, 0xFF, b'y', b'z'];
    for name in ["structured", "rows"] {
        assert_eq!(array(name).datatype(), &datatype, "{name}");
        assert_eq!(array(name).read_bytes().unwrap(), little, "{name}");
    }
}

/// Checks files as Python's library writes them, in which only the shape declares the dimensions after an empty one.
#[test]
fn inline_arrays_without_elements() {
    for (data, shape, fits) in [
        ("[]", "[0]", true),
        ("[]", "[0, 2]", true),
        ("[]", "[0, 0]", true),
        ("[[], []]", "[2, 0]", true),
        ("[[], []]", "[2, 0, 3]", true),
        ("[[]]", "[1, 0, 0]", true),
        ("[[[], []]]", "[1, 2, 0, 5]", true),
        ("[]", "[2, 0]", false),
        ("[[]]", "[2, 0]", false),
        ("[1]", "[1, 0]", false),
        ("[[], []]", "[2]", false),
    ] {
        for datatype in ["float64", "[{name: a, datatype: int32}]"] {
            let head = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
            let array =
                format!("x: !core/ndarray-1.1.0 {{data: {data}, datatype: {datatype}, shape: {shape}}}\n");
            let file = Asdf::from_bytes(format!("{head}{array}...\n").into_bytes()).unwrap();
            let found = file.array("x").map(|array| format!("{:?}", array.shape()));
            match fits {
                true => assert_eq!(found.unwrap(), shape, "{data}"),
                false => assert!(found.is_err(), "{data} {shape}"),
            }
        }
    }
}

#[test]
fn inline_types_are_inferred() {
    let text = |data: &str| {
        let tag = "tag:stsci.edu:asdf/core/";
        let file = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! {tag}\n---\na: !ndarray-1.0.0 {data}\n...\n");
        let file = Asdf::from_bytes(file).unwrap();
        file.array("a").map(|array| {
            let datatype = array.datatype().scalar().unwrap();
            (datatype, array.shape().to_vec(), array.read_bytes().unwrap().len(), array.read_mask().unwrap())
        })
    };
    assert_eq!(text("[1, 2]").unwrap(), (ScalarType::Int64, vec![2], 16, None));
    assert_eq!(text("[1, 18446744073709551615]").unwrap().0, ScalarType::UInt64);
    assert_eq!(
        text("[[1, 2.0], [3, null]]").unwrap(),
        (ScalarType::Float64, vec![2, 2], 32, Some(vec![0, 0, 0, 1]))
    );
    assert_eq!(text("[true, false]").unwrap().0, ScalarType::Bool8);
    assert_eq!(text("[a, bcd]").unwrap().0, ScalarType::Ucs4(3));
    assert_eq!(text("[1, !complex-1.0.0 1+2j]").unwrap().0, ScalarType::Complex128);
    assert_eq!(text("{data: [1, 2], datatype: float16}").unwrap(), (ScalarType::Float16, vec![2], 4, None));
    assert_eq!(text("[]").unwrap(), (ScalarType::Float64, vec![0], 0, None));
    for bad in [
        "[[1], [2, 3]]",
        "[1, [2]]",
        "{data: [300], datatype: int8}",
        "[1, a]",
        "{data: [1], shape: [2]}",
        "{}",
        "x",
    ] {
        assert!(text(bad).is_err(), "{bad}");
    }
}

#[test]
fn streams_grow_and_drop_partial_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.asdf");
    let mut document = Document::new();
    document.set_array("fixed", NewArray::new(&[9u8], &[1]).unwrap()).unwrap();
    let mut writer = StreamWriter::create(&path, document, "rows", &ScalarType::Int32.into(), &[3]).unwrap();
    writer.append(&[1i32, 2, 3]).unwrap();
    assert!(writer.append(&[1i32]).is_err());
    drop(writer);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([7; 5]);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(Asdf::open(&path).unwrap().array("rows").unwrap().shape(), [1, 3]);
    let mut other = Document::open(&path).unwrap();
    other.set("note", &"x".repeat(900)).unwrap();
    let mut writer = StreamWriter::append_to(&path).unwrap();
    assert!(StreamWriter::append_to(&path).is_err(), "one writer at a time");
    assert!(other.update().unwrap_err().to_string().contains("another program has it locked"));
    writer.append(&[4i32, 5, 6, 7, 8, 9]).unwrap();
    assert_eq!(writer.rows(), 3);
    writer.finish().unwrap();
    assert!(
        other.update().unwrap_err().to_string().contains("another program changed it since it was opened")
    );
    let file = Asdf::open(&path).unwrap();
    assert_eq!(file.array("rows").unwrap().read::<i32>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(file.array("fixed").unwrap().read::<u8>().unwrap(), [9]);

    // New blocks are inserted before the streamed block, and the tree can change.
    let mut document = Document::open(&path).unwrap();
    document.set_array("more", NewArray::new(&[1.5f64], &[1]).unwrap()).unwrap();
    assert_eq!(document.update().unwrap(), Update::Rewritten);
    document.set("note", "x").unwrap();
    assert!(matches!(document.update().unwrap(), Update::InPlace { .. }));
    let file = Asdf::open(&path).unwrap();
    assert_eq!(file.array("rows").unwrap().read::<i32>().unwrap().len(), 9);
    assert_eq!(file.array("more").unwrap().read::<f64>().unwrap(), [1.5]);
}

#[test]
fn updates_in_place_and_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.asdf");
    let mut document = Document::new();
    document.set("a", &vec![1, 2]).unwrap();
    document.set_array("x", NewArray::new(&[1u32, 2], &[2]).unwrap()).unwrap();
    document.save(&path).unwrap();

    let mut document = Document::open(&path).unwrap();
    assert_eq!(document.update().unwrap(), Update::Unchanged);
    document.set("a", &vec![3, 4]).unwrap();
    assert!(matches!(document.update().unwrap(), Update::InPlace { .. }));
    document.set("long", &"x".repeat(300)).unwrap();
    assert_eq!(document.update().unwrap(), Update::Rewritten);
    document.set("long", &"y".repeat(300)).unwrap();
    document
        .set_array("y", NewArray::new(&[5u8; 700], &[700]).unwrap().with_compression(Compression::Zlib))
        .unwrap();
    assert!(matches!(document.update().unwrap(), Update::InPlace { .. }));
    let file = Asdf::open(&path).unwrap();
    assert!(matches!(file.layout().index, IndexState::Valid(_)));
    assert_eq!(file.array("x").unwrap().read::<u32>().unwrap(), [1, 2]);
    assert_eq!(file.array("y").unwrap().read::<u8>().unwrap(), [5; 700]);
    assert_eq!(file.tree().get_as::<Vec<u8>>("a").unwrap(), [3, 4]);

    document.tree_mut().remove("x").unwrap();
    document.drop_unused_blocks();
    assert_eq!(document.update().unwrap(), Update::Rewritten);
    let file = Asdf::open(&path).unwrap();
    assert_eq!((file.blocks().len(), file.array("y").unwrap().read::<u8>().unwrap()), (1, vec![5; 700]));
    document.recompress(Compression::Lz4, None).unwrap();
    document.update().unwrap();
    let file = Asdf::open(&path).unwrap();
    assert_eq!(file.block(0).unwrap().compression(), Compression::Lz4);
    assert_eq!(file.array("y").unwrap().read::<u8>().unwrap(), [5; 700]);
}

#[test]
fn a_large_file_has_room_for_its_tree_and_blocks_are_aligned() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.asdf");
    let mut document = Document::new();
    document.set_array("odd", NewArray::new(&[1u8; 99_999], &[99_999]).unwrap()).unwrap();
    document.set_array("x", NewArray::new(&[1.5f64; 20_000], &[20_000]).unwrap()).unwrap();
    document.save(&path).unwrap();
    let mut document = Document::open(&path).unwrap();
    document.set("note", &"x".repeat(3000)).unwrap();
    assert!(matches!(document.update().unwrap(), Update::InPlace { bytes } if bytes < 4000));
    document.set("note", &"y".repeat(9000)).unwrap();
    assert_eq!(document.update().unwrap(), Update::Rewritten);
    let file = Asdf::from_bytes(std::fs::read(&path).unwrap()).unwrap();
    assert!(file.layout().blocks.iter().all(|block| block.data_offset().is_multiple_of(16)));
    assert!(file.array("x").unwrap().as_slice::<f64>().is_some_and(|x| x == [1.5; 20_000]));
    assert!(file.verify().unwrap().is_empty());
}

#[test]
fn large_blocks_from_a_file_are_summed_and_decoded_as_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // These bytes are hard to compress, so that the block stays large.
    let bytes: Vec<u8> =
        (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 & 63).collect();
    std::fs::write(path("raw"), &bytes).unwrap();
    for compression in written() {
        let data = sciformats_core::storage::FileStorage::open(path("raw")).unwrap();
        let array = NewArray::from_bytes(ScalarType::UInt8, ByteOrder::Big, &[3_000_000], data).unwrap();
        let mut document = Document::new();
        document.options_mut().threads = 2;
        document.set_array("a", array.with_compression(compression)).unwrap();
        document.save(path("file")).unwrap();
        for threads in [1, 2] {
            let options = OpenOptions::default().with_threads(threads);
            let file = Asdf::open_with(path("file"), &options).unwrap();
            assert!(file.array("a").unwrap().read::<u8>().unwrap() == bytes, "{compression:?}");
            assert_eq!(file.block(0).unwrap().check().unwrap(), Checksum::Stored);
        }
    }
}

#[test]
fn several_blocks_from_a_file_are_copied_and_summed_together() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let bytes: Vec<u8> = (0..6_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(path("raw"), &bytes).unwrap();
    // Blocks that end in different pieces, a small one between them, and one more than is copied together.
    let lengths = [5_000_001u64, 70_000, 1 << 20, 2 << 20, 3_000_000, 100, 80_001, 80_063, 0, 90_000];
    for (threads, padding) in [(1, 0), (2, 0), (2, 4096), (3, 100)] {
        let mut document = Document::new();
        document.options_mut().threads = threads;
        document.options_mut().block_padding = padding;
        for (index, &len) in lengths.iter().enumerate() {
            let raw = sciformats_core::storage::FileStorage::open(path("raw")).unwrap();
            let part = sciformats_core::storage::Window::new(raw, index as u64 * 1000, len).unwrap();
            let array = NewArray::from_bytes(ScalarType::UInt8, ByteOrder::Big, &[len], part).unwrap();
            document.set_array(&format!("a{index}"), array).unwrap();
        }
        document.save(path("file")).unwrap();
        let file = Asdf::open(path("file")).unwrap();
        assert!(file.verify().unwrap().is_empty());
        for (index, &len) in lengths.iter().enumerate() {
            let expected = &bytes[index * 1000..][..len as usize];
            let array = file.array(&format!("a{index}")).unwrap();
            assert!(array.read::<u8>().unwrap() == expected, "{threads} {padding} {index}");
            if len > 0 {
                assert_eq!(file.block(index).unwrap().check().unwrap(), Checksum::Stored);
            }
        }
    }
}

/// Returns the meaning of a file, for comparison.
fn meaning(bytes: &[u8]) -> (String, Vec<Vec<u8>>) {
    let file = Asdf::from_bytes(bytes).unwrap();
    let blocks = file.blocks().map(|block| block.data().unwrap().into_owned()).collect();
    (file.tree().to_text().unwrap(), blocks)
}

#[test]
fn every_cut_of_an_update_leaves_the_old_file_or_the_new_one() {
    let mut original = Document::new();
    original.options_mut().tree_padding = Some(2000);
    original.set("a", &vec![1, 2]).unwrap();
    original.set_array("x", NewArray::new(&[7u8; 600], &[600]).unwrap()).unwrap();
    let old = original.to_bytes().unwrap();
    let (mut cuts, mut disks) = (replay::Cuts::default(), 0);
    for append in [false, true] {
        let mut document = Document::from_file(Asdf::from_bytes(old.clone()).unwrap());
        document.set("a", &"changed".repeat(40)).unwrap();
        if append {
            document.set_array("y", NewArray::new(&[8u8; 1500], &[1500]).unwrap()).unwrap();
        }
        let steps = document.update_steps().unwrap().unwrap();
        let mut new = old.clone();
        sciformats_core::commit::apply(&steps, &mut new).unwrap();
        let (before, after) = (meaning(&old), meaning(&new));
        assert_ne!(before, after);
        assert_eq!(after.1.len(), if append { 2 } else { 1 });
        let (mut olds, mut news) = (0, 0);
        cuts += replay::every_cut(&old, &steps, |cut, file| {
            let seen = meaning(file);
            assert!(seen == before || seen == after, "{cut:?}");
            if seen == before { olds += 1 } else { news += 1 }
        });
        disks += replay::every_full_disk(&old, &steps, |file| assert!(meaning(file) == before));
        assert!(olds > 0 && news > 0);
    }
    // A change within one sector needs no journal.
    let mut document = Document::from_file(Asdf::from_bytes(old.clone()).unwrap());
    document.set("a", &vec![3, 4]).unwrap();
    let steps = document.update_steps().unwrap().unwrap();
    assert_eq!(steps.len(), 2);
    let mut new = old.clone();
    sciformats_core::commit::apply(&steps, &mut new).unwrap();
    cuts += replay::every_cut(&old, &steps, |cut, file| {
        assert!([meaning(&old), meaning(&new)].contains(&meaning(file)), "{cut:?}");
    });
    println!("crash matrix: asdf: updates in place: {cuts}, {disks} full disks");
    assert!(cuts.total() > 30 && disks > 3, "{cuts:?}, {disks}");
}

#[test]
fn rows_are_appended_in_the_order_of_bytes_that_the_file_has() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.asdf");
    drop(StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt16.into(), &[2]).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let again = StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt16.into(), &[2]);
    assert!(matches!(again, Err(asdf_core::Error::Io { action: "create", .. })));
    assert!(std::fs::read(&path).unwrap() == bytes);
    // A stream has the byte order of the machine that creates it. This one gets the other byte order.
    let (native, other): (&[u8], &[u8]) = match ByteOrder::NATIVE {
        ByteOrder::Little => (b"byteorder: little", b"byteorder: big"),
        ByteOrder::Big => (b"byteorder: big", b"byteorder: little"),
    };
    let at = bytes.windows(native.len()).position(|part| part == native).unwrap();
    std::fs::write(&path, [&bytes[..at], other, &bytes[at + native.len()..]].concat()).unwrap();
    let mut writer = StreamWriter::append_to(&path).unwrap();
    assert!(writer.append(&[1i16, 2]).is_err() && writer.append(&[1u8, 2, 3, 4]).is_err());
    writer.append(&[0x102u16, 0x304]).unwrap();
    writer.finish().unwrap();
    let stored = [0x102u16, 0x304].map(|number| number.swap_bytes().to_ne_bytes()).concat();
    assert!(std::fs::read(&path).unwrap().ends_with(&stored));
    assert_eq!(Asdf::open(&path).unwrap().array("rows").unwrap().read::<u16>().unwrap(), [0x102, 0x304]);
}

#[test]
fn every_cut_of_a_stream_keeps_whole_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.asdf");
    let writer =
        StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt16.into(), &[4]).unwrap();
    drop(writer);
    let start = std::fs::read(&path).unwrap();
    // Stored bytes have the byte order of this machine; bytes that are read are little-endian.
    let numbers = [0x100u16, 0x302, 0x504, 0x706];
    let stored = numbers.map(u16::to_ne_bytes).concat();
    let row = numbers.map(u16::to_le_bytes).concat();
    let mut cuts = 0;
    for length in 0..=24 {
        let mut bytes = start.clone();
        bytes.extend(stored.iter().cycle().take(length));
        let file = Asdf::from_bytes(bytes).unwrap();
        let array = file.array("rows").unwrap();
        assert_eq!(array.shape(), [length as u64 / 8, 4]);
        assert_eq!(array.read_bytes().unwrap(), row.repeat(length / 8));
        cuts += 1;
    }
    println!("crash matrix: asdf: streams: {cuts} torn");
}

#[test]
fn exploded_and_imploded() {
    let dir = tempfile::tempdir().unwrap();
    let mut document = Document::new();
    let array = |value: u8| NewArray::new(&[value; 40], &[40]).unwrap();
    document.set_array("a", array(1).with_compression(Compression::Zlib)).unwrap();
    document.set_array("b/c", array(2)).unwrap();
    let path = dir.path().join("main.asdf");
    let parts = document.explode(&path).unwrap();
    assert_eq!(parts, [dir.path().join("main0000.asdf"), dir.path().join("main0001.asdf")]);
    let denied = Asdf::open(&path).unwrap();
    assert_eq!(denied.blocks().len(), 0);
    assert!(
        denied
            .array("a")
            .unwrap_err()
            .to_string()
            .contains("the file names another one, \"main0000.asdf\", which may not be opened")
    );
    let options = OpenOptions::default().with_external(External::SameFolder);
    let open = Asdf::open_with(&path, &options).unwrap();
    assert_eq!(open.array("a").unwrap().read::<u8>().unwrap(), [1; 40]);
    assert_eq!(open.array("b/c").unwrap().read::<u8>().unwrap(), [2; 40]);
    // Blocks in other files are written anew with the others, so that the new files can be read alone.
    let other = tempfile::tempdir().unwrap();
    let again = other.path().join("again.asdf");
    let mut more = Document::open_with(&path, &options).unwrap();
    more.set_array("d", array(3)).unwrap();
    assert_eq!(more.explode(&again).unwrap().len(), 3);
    let copied = Asdf::open_with(&again, &options).unwrap();
    for (name, value) in [("a", 1), ("b/c", 2), ("d", 3)] {
        assert_eq!(copied.array(name).unwrap().read::<u8>().unwrap(), [value; 40], "{name}");
    }
    let part = Asdf::open(other.path().join("again0000.asdf")).unwrap();
    assert_eq!(part.block(0).unwrap().compression(), Compression::Zlib);
    let denied = Document::open(&path).unwrap().explode(other.path().join("denied.asdf"));
    assert!(matches!(denied, Err(Error::Forbidden { .. })));
    assert!(!other.path().join("denied.asdf").exists());
    let mut whole = Document::from_file(open);
    assert_eq!(whole.implode().unwrap(), 2);
    let file = file(&whole);
    assert_eq!(file.block(0).unwrap().compression(), Compression::Zlib);
    assert_eq!(file.array("b/c").unwrap().read::<u8>().unwrap(), [2; 40]);
    for block in file.blocks() {
        assert_eq!(block.check().unwrap(), Checksum::Stored);
    }
}

#[test]
fn slices_of_memory() {
    let mut document = Document::new();
    document.set_array("a", NewArray::new(&[1u8, 2, 3], &[3]).unwrap()).unwrap();
    document
        .set_array("b", NewArray::new(&[1u8, 2, 3], &[3]).unwrap().with_compression(Compression::Zlib))
        .unwrap();
    let file = file(&document);
    assert_eq!(file.array("a").unwrap().as_slice::<u8>(), Some(&[1u8, 2, 3][..]));
    assert_eq!(file.array("a").unwrap().as_slice::<i8>(), None);
    assert_eq!(file.array("b").unwrap().as_slice::<u8>(), None);
}

/// A storage that counts the bytes that are read.
struct Counting(Vec<u8>, std::sync::Arc<std::sync::atomic::AtomicU64>);

impl ReadAt for Counting {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<std::borrow::Cow<'_, [u8]>> {
        self.1.fetch_add(len as u64, std::sync::atomic::Ordering::Relaxed);
        (*self.0).read_at(offset, len)
    }
}

#[test]
fn little_is_read_of_what_is_not_needed() {
    let mut document = Document::new();
    let values: Vec<u32> = (0..1_000_000).collect();
    document.set_array("a", NewArray::new(&values, &[1000, 1000]).unwrap()).unwrap();
    document.set_array("b", NewArray::new(&values, &[1000, 1000]).unwrap()).unwrap();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let read = || count.swap(0, std::sync::atomic::Ordering::Relaxed);
    let file =
        Asdf::from_storage(Counting(document.to_bytes().unwrap(), count.clone()), &OpenOptions::default())
            .unwrap();
    assert!(read() < 200_000, "opening reads no data");
    let array = file.array("b").unwrap();
    let slab = Slab::new(&[1000, 1000], [Range::new(10, 2), Range::new(5, 3)]).unwrap();
    assert_eq!(array.read_slab::<u32>(&slab).unwrap(), [10005, 10006, 10007, 11005, 11006, 11007]);
    assert!(read() < 10_000);
    let column = Slab::new(&[1000, 1000], [Range::all(1000), Range::new(5, 1)]).unwrap();
    assert_eq!(array.read_slab::<u32>(&column).unwrap()[999], 999_005);
    assert!(read() < 100_000);
}

#[cfg(all(feature = "half", feature = "num-complex"))]
#[test]
fn typed_reads_change_no_value() {
    use half::f16;
    use num_complex::Complex;

    let mut document = Document::new();
    let reals = NewArray::new(&[0.5, 0.1, f64::NAN], &[3]).unwrap().in_order(ByteOrder::Big).unwrap();
    document.set_array("reals", reals).unwrap();
    document.set_array("counts", NewArray::new(&[0u16, 1, 300], &[3]).unwrap()).unwrap();
    document.set_array("pairs", NewArray::new(&[Complex::new(1.0, 0.1)], &[1]).unwrap()).unwrap();
    document.set_array("good", NewArray::new(&[true, false], &[2]).unwrap()).unwrap();
    let file = file(&document);
    let array = |name: &str| file.array(name).unwrap();
    let misfits = [
        (array("reals").read::<f32>().err(), "element 1 is 0.1, which f32 cannot hold"),
        (array("reals").read::<u8>().err(), "element 0 is 0.5, which u8 cannot hold"),
        (array("reals").read::<f16>().err(), "element 1 is 0.1, which f16 cannot hold"),
        (array("counts").read::<i8>().err(), "element 2 is 300, which i8 cannot hold"),
        (array("counts").read::<bool>().err(), "element 2 is 300, which bool cannot hold"),
        (array("pairs").read::<Complex<f32>>().err(), "element 0 is 0.1, which f32 cannot hold"),
    ];
    for (error, shown) in misfits {
        assert!(matches!(error, Some(Error::Misfit(_))), "{error:?}");
        assert_eq!(error.unwrap().to_string(), shown);
    }
    let last = Slab::new(&[3], [Range::new(2, 1)]).unwrap();
    let nan = array("reals").read_slab::<i32>(&last).unwrap_err();
    assert_eq!(nan.to_string(), "element 0 is NaN, which i32 cannot hold");
    assert!(array("reals").read_slab::<f32>(&last).unwrap()[0].is_nan());
    assert_eq!(array("counts").read::<Complex<f32>>().unwrap()[2], Complex::new(300.0, 0.0));
    assert_eq!(array("good").read::<u8>().unwrap(), [1, 0]);
    let kind = array("pairs").read::<f64>().unwrap_err();
    assert!(matches!(kind, Error::Usage { argument: "element type", .. }), "{kind}");
    let lossy = array("reals").with_conversion(Conversion::Lossy);
    assert_eq!((lossy.read::<u8>().unwrap(), lossy.read::<f32>().unwrap()[1]), (vec![0, 0, 0], 0.1));
}

#[test]
fn paddings_that_no_file_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("padded.asdf");
    let paddings = [
        WriteOptions::default().with_block_padding(u64::MAX),
        WriteOptions::default().with_block_padding(1 << 63),
        WriteOptions::default().with_tree_padding(u64::MAX),
    ];
    for options in paddings {
        let mut document = Document::new();
        document.set_array("image", NewArray::new(&[1.0f32, 2.0], &[2]).unwrap()).unwrap();
        *document.options_mut() = options;
        for error in [document.to_bytes().unwrap_err(), document.save(&path).unwrap_err()] {
            assert!(matches!(error, Error::Usage { argument: "padding", .. }), "{error}");
        }
        assert!(!path.exists());
    }
}

#[test]
fn text_that_is_none_is_an_error_with_its_index_and_byte() {
    let mut document = Document::new();
    document.set_array("ascii", NewArray::from_strings(&["Vega", "Alpha"], &[2]).unwrap()).unwrap();
    document.set_array("ucs4", NewArray::from_strings(&["é", "éb"], &[2]).unwrap()).unwrap();
    let mut bytes = document.to_bytes().unwrap();
    let at = |of: &[u8], bytes: &[u8]| bytes.windows(of.len()).position(|window| window == of).unwrap();
    let alpha = at(b"Alpha", &bytes);
    bytes[alpha + 2] = 0xE9;
    let last = at(b"b\0\0\0", &bytes);
    bytes[last + 2] = 0x11; // beyond the last code
    let file = Asdf::from_bytes(bytes).unwrap();
    let error = |path: &str| file.array(path).unwrap().read_strings().unwrap_err();
    assert_eq!(
        error("ascii").to_string(),
        r#"element 1 is "Al\xe9ha", which is not UTF-8 from its byte 2 on"#
    );
    assert_eq!(
        error("ucs4").to_string(),
        "element 1 is text with the code 0x110062 at its byte 4, which String cannot hold"
    );
    assert!(matches!(error("ucs4"), Error::Misfit(misfit) if misfit.index == 1));
}
