//! Repacks Blosc2 frames, and checks that whatever no option names stays as it is stored.

#![cfg(feature = "blosc2")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cframe::{
    Array, ArrayParams, Codec, Filter, Frame, FrameHeader, FrameType, OpenOptions, Params, Registry, SChunk,
    Slab, Special, UserCodec,
};
use sciformats::{Error, File, cframe};
use sciformats_convert::manifest;
use sciformats_convert::repack::rewrite;
use sciformats_convert::sink::WriteOptions;

fn lines(path: &Path) -> String {
    let mut out = Vec::new();
    manifest::write(&sciformats::open(path).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn repacked(input: &Path, output: &Path, options: &WriteOptions) -> sciformats::Result<()> {
    rewrite(&Arc::new(sciformats::open(input)?), output, options, None)
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/blosc2");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending.to_string_lossy().starts_with("b2")));
    files.sort();
    files
}

/// Returns the header without the fields that depend on positions in the file.
fn header(frame: &Frame) -> FrameHeader {
    let mut header = frame.header().clone();
    (header.header_len, header.frame_len, header.cbytes) = (0, 0, 0);
    header
}

/// Returns whether all chunks have the same bytes in both frames.
fn is_stored_as(a: &Frame, b: &Frame) -> bool {
    let one = |frame: &Frame| -> Vec<_> {
        let told =
            |i| (frame.special(i).unwrap(), frame.stored_bytes(i).unwrap().map(std::borrow::Cow::into_owned));
        (0..frame.chunks()).map(told).collect()
    };
    one(a) == one(b)
}

fn layers(frame: &Frame) -> Vec<(String, Vec<u8>)> {
    let fixed = frame.metalayers().map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    let variable = frame.vlmeta_names().map(|name| (name.to_owned(), frame.vlmeta(name).unwrap()));
    fixed.chain(variable).collect()
}

#[test]
fn fixtures_stay_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut written = 0;
    for path in fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let out = dir.path().join(&name);
        repacked(&path, &out, &WriteOptions::default()).unwrap();
        let (old, new) = (Frame::open(&path).unwrap(), Frame::open(&out).unwrap());
        assert_eq!(header(&old), header(&new), "{name}");
        assert_eq!(layers(&old), layers(&new), "{name}");
        assert!(is_stored_as(&new, &old), "{name}");
        assert_eq!(old.frame_type(), new.frame_type(), "{name}");
        assert!(new.cbytes() <= old.cbytes(), "{name}");
        assert_eq!(lines(&path), lines(&out), "{name}");
        let live: u64 = new.iter().map(|chunk| chunk.unwrap().cbytes() as u64).sum();
        let kinds = (0..new.chunks()).filter(|&i| new.special(i).unwrap().is_some()).count() as u64;
        assert!(new.cbytes() <= live && live <= new.cbytes() + 32 * kinds, "{name}: there are holes");
        written += 1;
    }
    assert!(written > 25, "{written}");
}

#[test]
fn options_change_what_they_name() {
    let dir = tempfile::tempdir().unwrap();
    for path in fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let out = dir.path().join(&name);
        let old = Frame::open(&path).unwrap();
        for options in [WriteOptions::default().with_filter("zlib"), WriteOptions::default().with_level(9)] {
            repacked(&path, &out, &options).unwrap();
            let new = Frame::open(&out).unwrap();
            let mut expected = header(&old);
            expected.codec_flags = header(&new).codec_flags;
            if options.filter.is_some() {
                assert_eq!(new.codec(), Codec::Zlib, "{name}");
                (expected.codec, expected.codec_meta) = (Codec::Zlib.id(), 0);
                // This codec has no dictionaries.
                expected.other_flags2 = 0;
            } else {
                assert_eq!((new.codec(), new.level()), (old.codec(), 9), "{name}");
            }
            assert_eq!(header(&new), expected, "{name}");
            assert_eq!(layers(&old), layers(&new), "{name}");
            assert_eq!(lines(&path), lines(&out), "{name}");
            for index in 0..old.chunks() {
                let (old, new) = (old.chunk(index).unwrap(), new.chunk(index).unwrap());
                let one = |chunk: &cframe::Chunk<'_>| (chunk.pipeline(), chunk.blocksize(), chunk.blocks());
                assert!(new.special().is_some() || one(&old) == one(&new), "{name}");
            }
        }
        match repacked(&path, &out, &WriteOptions::default().with_chunks([3])) {
            // If chunks or blocks vary in size, their sizes have a meaning and cannot be changed.
            Err(Error::Unsupported { .. }) if old.header().general_flags & 0xC0 != 0 => continue,
            // A scalar has no dimension.
            Err(Error::Usage { argument: "chunks", .. }) if name.starts_with("scalar") => continue,
            done => done.unwrap(),
        }
        let new = Frame::open(&out).unwrap();
        assert_eq!(
            (new.pipeline(), new.codec(), new.level()),
            (old.pipeline(), old.codec(), old.level()),
            "{name}"
        );
        assert_eq!(new.frame_type(), old.frame_type(), "{name}");
        let without = |path: &Path| {
            let told = lines(path);
            told.lines().filter(|line| !line.contains("meta:b2nd")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without(&path), without(&out), "{name}");
        if let Ok(array) = Array::open(&out) {
            assert_eq!(array.chunk_shape().first(), Some(&3.min(array.shape()[0])), "{name}");
            assert_eq!(array.dtype(), Array::open(&path).unwrap().dtype(), "{name}");
        }
    }
}

/// A codec that only this test has. It drops half of the bytes.
struct Half;

impl UserCodec for Half {
    fn decode(&self, input: &[u8], _: u8, out: &mut [u8]) -> bool {
        out.iter_mut().zip(input).for_each(|(to, from)| *to = *from);
        true
    }

    fn encode(&self, input: &[u8], _: u8, _: u8, out: &mut Vec<u8>) -> bool {
        out.extend(input.iter().take(input.len() / 2));
        true
    }
}

#[test]
fn nobody_needs_the_codec_of_what_is_copied() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("a.b2frame"), dir.path().join("b.b2frame"));
    let registry = Registry::default().with_codec(200, Half);
    let options = OpenOptions::default().with_registry(registry);
    let params = Params::new(4).with_codec(Codec::Other(200)).with_codec_meta(7);
    SChunk::create(&path, Params::new(4)).unwrap().commit().unwrap();
    let mut made = SChunk::open_with(&path, &options).unwrap();
    made.set_params(params);
    for i in 0..3u32 {
        made.append(&(i..i + 1000).flat_map(|n| (n * n).to_le_bytes()).collect::<Vec<_>>()).unwrap();
    }
    made.commit().unwrap();
    assert_eq!(Frame::open(&path).unwrap().chunks(), 3);
    assert!(Frame::open(&path).unwrap().chunk(0).is_err());
    repacked(&path, &out, &WriteOptions::default()).unwrap();
    let (old, new) = (Frame::open(&path).unwrap(), Frame::open(&out).unwrap());
    assert!(is_stored_as(&new, &old));
    assert_eq!(header(&old), header(&new));
    for options in [WriteOptions::default().with_level(3), WriteOptions::default().with_filter("lz4")] {
        let error = repacked(&path, &out, &options).unwrap_err();
        assert!(
            matches!(error, Error::Unsupported { .. }) && error.to_string().contains("codec 200"),
            "{error}"
        );
    }
    assert!(is_stored_as(&Frame::open(&out).unwrap(), &old));
}

#[test]
fn kinds_of_chunks_stay_in_other_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("a.b2nd"), dir.path().join("b.b2nd"));
    let shape = [40, 10];
    let spec = ArrayParams::new(&shape, ">f8").unwrap().with_chunks(&[10, 10]).with_blocks(&[5, 5]);
    let mut array = Array::create(&path, &spec).unwrap();
    let ones = 1f64.to_be_bytes().repeat(100);
    array.write_slab_bytes(&Slab::new(&shape, [(30..40).into(), (0..10).into()]).unwrap(), &ones).unwrap();
    let mut schunk = array.into_schunk();
    let kinds = [Some(Special::Nan), Some(Special::Value), Some(Special::Uninit), None];
    for (index, kind) in kinds.iter().enumerate() {
        let Some(kind) = kind else { continue };
        let mut one = SChunk::new(Params::new(8));
        let value = if *kind == Special::Value { 2f64.to_be_bytes().to_vec() } else { Vec::new() };
        one.append_special(*kind, &value, 800).unwrap();
        let chunk = one.chunk(0).unwrap().stored().unwrap().into_owned();
        schunk.update_chunk(index as u64, chunk).unwrap();
    }
    schunk.commit().unwrap();
    let told = |path: &Path| {
        let frame = Frame::open(path).unwrap();
        (0..frame.chunks()).map(|index| frame.special(index).unwrap()).collect::<Vec<_>>()
    };
    let values = |path: &Path| Array::open(path).unwrap().read_bytes().unwrap();
    assert_eq!(told(&path), kinds);
    repacked(&path, &out, &WriteOptions::default()).unwrap();
    assert_eq!(told(&out), kinds);
    repacked(&path, &out, &WriteOptions::default().with_chunks([5, 10])).unwrap();
    assert_eq!(told(&out), kinds.iter().flat_map(|kind| [*kind; 2]).collect::<Vec<_>>());
    assert!(values(&path) == values(&out));
    let array = Array::open(&out).unwrap();
    assert_eq!((array.dtype(), array.block_shape()), (Some(">f8"), &[5, 5][..]));
    repacked(&path, &out, &WriteOptions::default().with_chunks([15, 4])).unwrap();
    assert!(values(&path) == values(&out));
}

#[test]
fn folders_stay_folders_and_take_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("a.b2frame"), dir.path().join("b.b2frame"));
    let mut schunk =
        SChunk::create_sparse(&path, Params::new(4).with_filters(&[Filter::DELTA]).unwrap()).unwrap();
    for i in 0..4u8 {
        schunk.append(&(0..4000u32).map(|n| (n / 7) as u8 ^ i).collect::<Vec<_>>()).unwrap();
    }
    schunk.remove(1).unwrap();
    schunk.commit().unwrap();
    for options in [WriteOptions::default(), WriteOptions::default().with_level(9), WriteOptions::default()] {
        // The second time, the output exists already.
        repacked(&path, &out, &options).unwrap();
        let frame = Frame::open(&out).unwrap();
        assert_eq!((frame.frame_type(), frame.chunks()), (FrameType::Sparse, 3));
        assert_eq!(fs::read_dir(&out).unwrap().count(), 4);
        assert_eq!(lines(&path), lines(&out));
    }
    // A frame can also be repacked in its own place.
    repacked(&out, &out, &WriteOptions::default()).unwrap();
    assert_eq!(lines(&path), lines(&out));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn cancelled_or_wrong_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for sparse in [false, true] {
        let (path, out) = (dir.path().join(format!("{sparse}.b2frame")), dir.path().join("b.b2frame"));
        let target = |path: &Path| {
            if sparse {
                SChunk::create_sparse(path, Params::new(4)).unwrap()
            } else {
                SChunk::create(path, Params::new(4)).unwrap()
            }
        };
        let mut schunk = target(&path);
        schunk.append(&[7; 4000]).unwrap();
        schunk.commit().unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        let cancelled = Some(Arc::new(AtomicBool::new(true)));
        let Err(Error::Io { source, .. }) = rewrite(&file, &out, &WriteOptions::default(), cancelled) else {
            panic!("it was not cancelled")
        };
        assert_eq!(source.kind(), std::io::ErrorKind::Interrupted);
        let wrong = [
            (WriteOptions::default().with_filter("gzip"), "filter"),
            (WriteOptions::default().with_level(10), "level"),
            (WriteOptions::default().with_chunks([3, 4]), "chunks"),
        ];
        for (options, name) in wrong {
            let error = rewrite(&file, &out, &options, None).unwrap_err();
            assert!(matches!(error, Error::Usage { argument, .. } if argument == name), "{error}");
        }
        assert!(!out.exists());
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_file_in_memory_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("b.b2nd");
    let array = Array::new(&ArrayParams::new(&[3], "<M8[ns]").unwrap()).unwrap();
    let file = Arc::new(File::from_bytes(array.schunk().to_bytes().unwrap()).unwrap());
    rewrite(&file, &out, &WriteOptions::default(), None).unwrap();
    assert_eq!(Array::open(&out).unwrap().dtype(), Some("<M8[ns]"));
}
