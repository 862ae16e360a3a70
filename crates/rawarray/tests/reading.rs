//! What is read from a file, and which files are refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail like tests")]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rawarray::{
    ByteOrder, Conversion, Durability, ElementKind, ElementType, Encoding, Error, Flags, Header, Limits,
    OpenOptions, Range, RawArray, ReadAt, Reader, Result, Slab, WriteOptions, Writer, is_rawarray,
};

/// Counts the bytes that are read through it.
struct Counting<S>(S, Arc<AtomicU64>);

impl<S: ReadAt> ReadAt for Counting<S> {
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.1.fetch_add(len as u64, Ordering::Relaxed);
        self.0.read_at(offset, len)
    }
}

fn counted(file: Vec<u8>) -> (Reader, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    (Reader::from_storage(Counting(file, Arc::clone(&count)), &OpenOptions::default()).unwrap(), count)
}

fn file(words: [u64; 4], dims: &[u64], rest: &[u8]) -> Vec<u8> {
    let [flags, code, elbyte, size] = words;
    let (flags, eltype) = (Flags::from_bits(flags), ElementKind::from_code(code));
    let mut out = Vec::new();
    Header { flags, eltype, elbyte, size, dims: dims.to_vec() }.encode(&mut out);
    out.extend(rest);
    out
}

#[track_caller]
fn refused(file: Vec<u8>, expected: &str) {
    let error = Reader::from_bytes(file).and_then(|reader| reader.read_bytes()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn opening_reads_the_header_alone() {
    for (dims, metadata) in [(&[][..], 0), (&[5], 0), (&[5, 2, 3], 7), (&[64, 1024], 3)] {
        let data = vec![1.5f64; dims.iter().product::<u64>() as usize];
        let file = Writer::new(dims).with_metadata(&vec![9; metadata]).encode(&data).unwrap();
        let (reader, count) = counted(file);
        assert_eq!(count.load(Ordering::Relaxed), 48 + 8 * dims.len() as u64);
        assert_eq!((reader.dims(), reader.metadata_len()), (dims, metadata as u64));
        assert_eq!(count.load(Ordering::Relaxed), 48 + 8 * dims.len() as u64);
    }
}

#[test]
fn a_large_slab_is_read_in_parts_that_meet() {
    let dims = [1201u64, 3, 1000];
    let data: Vec<u32> = (0..dims.iter().product::<u64>() as u32).collect();
    let (reader, _) = counted(Writer::new(&dims[..]).encode(&data).unwrap());
    let of = reader.shape();
    // Each slab has at least 11 MiB, which is more than one thread reads alone.
    for ranges in [
        [Range::all(of[0]), Range::all(of[1]), Range::new(7, 1190)],
        [Range::new(1, 999), Range::all(of[1]), Range::new(3, 999)],
        [Range::all(of[0]), Range::new(0, 3), Range::new(200, 1001)],
    ] {
        let slab = Slab::new(of, ranges).unwrap();
        let expected: Vec<u32> =
            slab.runs().flat_map(|run| run.from as u32..(run.from + run.len) as u32).collect();
        assert!(expected.len() > 2 << 20);
        assert!(reader.read_slab::<u32>(&slab).unwrap() == expected, "{ranges:?}");
    }
}

#[test]
fn a_slab_reads_little_more_than_itself() {
    let data: Vec<u32> = (0..1 << 20).collect();
    let (reader, count) = counted(Writer::new(&[1024, 1024][..]).encode(&data).unwrap());
    let read = |ranges: [Range; 2]| {
        count.store(0, Ordering::Relaxed);
        let slab = Slab::new(reader.shape(), ranges).unwrap();
        let elements = reader.read_slab::<u32>(&slab).unwrap();
        (elements, count.load(Ordering::Relaxed))
    };
    // Whole rows and elements that are far apart: exactly these bytes are read.
    let (rows, bytes) = read([Range::new(100, 10), Range::all(1024)]);
    assert_eq!((rows[0], rows.len(), bytes), (102_400, 10_240, 40_960));
    let (far, bytes) = read([Range::new(0, 8).by(128), Range::new(5, 1)]);
    assert_eq!((far[7], bytes), (7 * 128 * 1024 + 5, 32));
    // Elements that are close to each other: the gaps between them are read too, but nothing else.
    let (near, bytes) = read([Range::new(3, 1), Range::new(0, 100).by(10)]);
    assert_eq!((near[99], bytes), (3 * 1024 + 990, 991 * 4));
    let (block, bytes) = read([Range::new(0, 100), Range::new(0, 100)]);
    assert_eq!((block.len(), block[100]), (10_000, 1024));
    assert!((40_000..=(99 * 1024 + 100) * 4).contains(&bytes), "{bytes}");
}

#[test]
fn memory_is_borrowed_where_it_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("array.ra");
    let array = RawArray::new([3, 2], vec![1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let borrowed = |options: &WriteOptions| {
        array.write_with(&path, options).unwrap();
        let reader = Reader::from_bytes(std::fs::read(&path).unwrap()).unwrap();
        let view = reader.view::<f64>().unwrap();
        assert_eq!(*view, *array.data());
        matches!(view, Cow::Borrowed(_))
    };
    let options = WriteOptions::default().with_byte_order(ByteOrder::NATIVE);
    let other = if ByteOrder::NATIVE == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    assert!(borrowed(&options));
    assert!(!borrowed(&options.with_byte_order(other)));
    #[cfg(feature = "lz4")]
    assert!(!borrowed(&options.with_encoding(Encoding::Lz4)));
    assert!(borrowed(&options.with_durability(Durability::Power)));
    let read = Reader::open(&path).unwrap();
    assert!(matches!(read.view::<f64>().unwrap(), Cow::Owned(_)));

    RawArray::from(vec![true, false]).write_with(&path, &options.with_byte_order(other)).unwrap();
    let reader = Reader::from_bytes(std::fs::read(&path).unwrap()).unwrap();
    assert!(matches!(reader.view::<bool>().unwrap(), Cow::Borrowed([true, false])));
}

#[test]
fn the_type_must_be_the_stored_one_where_that_is_asked_for() {
    let reader =
        Reader::from_bytes(RawArray::from(vec![1u16]).encode(&WriteOptions::default()).unwrap()).unwrap();
    assert_eq!(reader.read::<i16>().unwrap(), [1]);
    let reader = reader.with_conversion(Conversion::None);
    let error = reader.read::<i16>().unwrap_err();
    assert_eq!(error.to_string(), "element type is i2, but the elements are stored as u2");
    assert!(reader.view::<[u8; 2]>().is_err());
    let error = reader.read_into(&mut [0u16; 2]).unwrap_err();
    assert_eq!(error.to_string(), "out has a length of 2, not 1");
    let foreign = Slab::all(&[2]).unwrap();
    let error = reader.read_slab::<u16>(&foreign).unwrap_err();
    assert_eq!(error.to_string(), "slab selects from an array of [2], but this array has the shape [1]");
}

#[test]
fn the_files_that_other_implementations_write() {
    // A BitArray of 3 × 40 by Julia: one bit per element, and the number of words in place of the number of dimensions.
    let words: [u64; 2] = [0b1011, 1 << 55];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut julia = file([6, 5, 8, 16], &[3, 40], &bytes);
    let check = |file: Vec<u8>| {
        let reader = Reader::from_bytes(file).unwrap();
        assert_eq!((reader.encoding(), reader.dims()), (Encoding::Bits, &[3, 40][..]));
        let values = reader.read::<bool>().unwrap();
        let set: Vec<usize> = (0..120).filter(|&i| values[i]).collect();
        assert_eq!(set, [0, 1, 3, 119]);
    };
    check(julia.clone());
    assert_eq!(julia[40], 2);
    let mut wider = file([6, 5, 8, 32], &[3, 70], &[bytes, vec![0; 16]].concat());
    wider[40] = 4;
    let reader = Reader::from_bytes(wider).unwrap();
    assert_eq!((reader.dims(), reader.len()), (&[3, 70][..], 210));
    // So few bits that the first dimensions alone would explain the size.
    let small = Reader::from_bytes(file([6, 5, 8, 8], &[3, 5], &[7, 0, 0, 0, 0, 0, 0, 0])).unwrap();
    assert_eq!(small.dims(), [3, 5]);
    let mut small = file([6, 5, 8, 8], &[3, 5], &[7, 0, 0, 0, 0, 0, 0, 0]);
    small[40] = 1;
    assert_eq!(Reader::from_bytes(small).unwrap().dims(), [3, 5]);
    julia[40] = 3;
    refused(julia, "malformed header at offset 0x20: size is 16, expected 168");

    // Floats by Julia with the flag for integers: they are stored without an encoding.
    let floats = file([2, 3, 4, 8], &[2], &[0, 0, 128, 63, 0, 0, 0, 64]);
    let reader = Reader::from_bytes(floats).unwrap();
    assert_eq!((reader.encoding(), reader.read::<f32>().unwrap()), (Encoding::Raw, vec![1.0, 2.0]));

    // An element code that is not defined yet.
    let reader = Reader::from_bytes(file([0, 77, 3, 6], &[2], b"abcdef")).unwrap();
    assert_eq!(
        (reader.element(), reader.read::<[u8; 3]>().unwrap()),
        (ElementType::Opaque(3), vec![*b"abc", *b"def"])
    );
}

#[test]
fn flags_that_are_not_defined() {
    let flagged = file([1 << 3 | 1 << 8, 2, 1, 2], &[2], &[5, 6]);
    refused(flagged.clone(), "flag bit 3 is not supported (at offset 0x8)");
    let options = OpenOptions::default().with_undefined_flags_ignored(true);
    let reader = Reader::from_storage(flagged, &options).unwrap();
    assert_eq!(reader.read::<u8>().unwrap(), [5, 6]);
    assert_eq!(reader.header().flags.bits(), 0x108);
}

#[test]
fn headers_that_contradict_themselves_or_the_file() {
    let header = |message| format!("malformed header at offset {message}");
    refused(Vec::new(), "the file is not RawArray; it is empty");
    refused(b"rawarray".to_vec(), &header("0x8: flags is truncated"));
    let mut dims = file([0, 2, 1, 0], &[], &[]);
    dims[47] = 0x10;
    refused(dims, &header("0x28: ndims is 1152921504606846976, out of bounds (end 1)"));
    refused(file([0, 2, 1, 6], &[2, 2], &[0; 6]), &header("0x20: size is 6, expected 4"));
    refused(file([0, 2, 8, 0], &[1 << 31, 1 << 31], &[]), &header("0x30: dims overflows"));
    refused(file([0, 2, 1, 0], &[1 << 32, 1 << 32], &[]), &header("0x30: dims overflows"));
    refused(
        file([0, 2, 4, 12], &[3], &[0; 11]),
        "malformed file at offset 0x43: the array's data is truncated",
    );
    refused(
        file([0, 2, 4, u64::MAX], &[0], &[0; 11]),
        &header("0x20: size is unfinished: its writer stopped early"),
    );
    let empty = Reader::from_bytes(file([0, 2, 4, 0], &[0, u64::MAX, u64::MAX], &[])).unwrap();
    assert_eq!(empty.read::<u32>().unwrap(), []);
    // Many elements without bytes need no memory.
    let nothing = Reader::from_bytes(file([0, 0, 0, 0], &[1 << 60], &[])).unwrap();
    assert_eq!(nothing.read_bytes().unwrap(), []);
    let all = Slab::all(nothing.shape()).unwrap();
    nothing.read_slab_bytes_into(&all, &mut []).unwrap();
}

#[test]
fn payloads_that_do_not_decode() {
    refused(
        file([2, 3, 4, 2], &[1 << 40], &[0x1F, 0]),
        "malformed header at offset 0x20: size is smaller than LZ4 can compress the array to",
    );
    #[cfg(feature = "lz4")]
    refused(
        file([2, 3, 4, 2], &[16], &[0xF0, 0]),
        "malformed LZ4 block at offset 0x38: it is not a valid LZ4 block",
    );
    let leb = |payload: &[u8]| file([2, 2, 2, 4], &[2], payload);
    refused(leb(&[1]), "malformed file at offset 0x39: the array's data is truncated");
    refused(leb(&[1, 0x80]), "malformed LEB128 payload at offset 0x39: element is truncated");
    refused(leb(&[1, 2, 3]), "malformed LEB128 payload at offset 0x3a: it leaves 1 byte unread");
    refused(leb(&[1, 0xFF, 0xFF, 0x07]), "malformed LEB128 payload at offset 0x39: element overflows");
    refused(file([2, 1, 17, 17], &[1], &[0; 17]), "LEB128 of integers of 17 bytes is not supported");
    let bools = Reader::from_bytes(file([0, 5, 1, 3], &[3], &[0, 1, 2])).unwrap();
    let error = bools.read::<bool>().unwrap_err();
    assert_eq!(error.to_string(), "malformed array at offset 0x38: element is neither 0 nor 1");
    assert!(bools.view::<bool>().is_err());
}

#[test]
fn what_an_encoded_array_unfolds_to_is_limited() {
    let options = WriteOptions::default().with_encoding(Encoding::Bits);
    let file = RawArray::from(vec![false; 100_000]).encode(&options).unwrap();
    let limits = Limits::default().with_memory(99_999);
    let reader = Reader::from_storage(file, &OpenOptions::default().with_limits(limits)).unwrap();
    let slab = Slab::new(&[100_000], [Range::new(5, 1)]).unwrap();
    let errors = [
        reader.read::<bool>().unwrap_err(),
        reader.read_bytes().unwrap_err(),
        reader.read_slab::<bool>(&slab).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::LimitExceeded { declared: 100_000, limit: 99_999, .. }), "{error}");
    }
}

#[test]
fn files_in_a_file() {
    let inner: Vec<Vec<u8>> = (0..3u16)
        .map(|i| RawArray::from(vec![i, 10 * i]).encode(&WriteOptions::default()).unwrap())
        .collect();
    let size = inner[0].len() as u64;
    let middle = Writer::new(&[3][..]).encode_bytes(ElementType::Opaque(size), &inner.concat()).unwrap();
    let outer =
        Writer::new(&[1][..]).encode_bytes(ElementType::Opaque(middle.len() as u64), &middle).unwrap();
    let reader = Reader::from_bytes(outer.clone()).unwrap();
    let middle = reader.nested(0).unwrap();
    for i in 0..3 {
        assert_eq!(middle.nested(i).unwrap().read::<u16>().unwrap(), [i as u16, 10 * i as u16]);
    }
    assert_eq!(middle.nested(3).unwrap_err().to_string(), "index is 3, but the array has 3 elements");
    assert!(matches!(middle.nested(0).unwrap().nested(0), Err(Error::Malformed { .. })));
    let options = OpenOptions::default().with_limits(Limits::default().with_depth(1));
    let reader = Reader::from_storage(outer, &options).unwrap();
    let error = reader.nested(0).unwrap().nested(0).unwrap_err();
    assert_eq!(error.to_string(), "2 levels of files in files exceed the limit of 1");
}

#[test]
fn the_magic_tells_a_rawarray() {
    assert!(is_rawarray(&b"rawarray"[..]) && is_rawarray(&b"rawarray and more"[..]));
    assert!(!is_rawarray(&b"rawarra"[..]) && !is_rawarray(&b"RAWARRAY"[..]));
}

#[test]
fn an_editor_and_a_stream_name_the_file_that_they_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.ra");
    rawarray::Writer::new(vec![3]).write(&path, &[1u16, 2, 3]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..40]).unwrap();
    let edited = rawarray::Editor::open(&path).unwrap_err();
    let resumed = rawarray::StreamWriter::resume(&path).unwrap_err();
    for error in [edited, resumed] {
        assert!(matches!(&error, rawarray::Error::Malformed { .. }), "{error}");
        assert_eq!(error.path(), Some(&*path));
    }
}
