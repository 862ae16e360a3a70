//! Frames and arrays that are written again.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, fail by panicking")]

use cframe::{
    Array, ArrayParams, Codec, Filter, Frame, FrameType, Params, Repack, SChunk, Slab, Special, Value,
};

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7 + i / 100) as u8).collect()
}

fn content(frame: &Frame) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(frame.nbytes()).unwrap()];
    frame.read_bytes(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn items() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.b2frame"), dir.path().join("b.b2frame"));
    let mut schunk = SChunk::create(&from, Params::new(8)).unwrap();
    (0..5).for_each(|i| schunk.append(&data(8000 + i)[i..]).unwrap());
    schunk.append_special(Special::Nan, &[], 8000).unwrap();
    schunk.commit().unwrap();
    schunk.set_vlmeta_value("note", &Value::from("kept")).unwrap();
    schunk.remove(1).unwrap();
    schunk.commit().unwrap();
    let all = content(&Frame::open(&from).unwrap());
    let zlib = Params::new(1).with_codec(Codec::Zlib).with_filters(&[Filter::BITSHUFFLE]).unwrap();
    let cases = [
        (Repack::new(), 5, Codec::Lz4),
        (Repack::new().with_params(zlib), 5, Codec::Zlib),
        (Repack::new().with_chunk_bytes(2405), 17, Codec::Lz4),
        (Repack::new().with_params(zlib).with_sparse(true), 5, Codec::Zlib),
    ];
    for (number, (repack, chunks, codec)) in cases.into_iter().enumerate() {
        let to = if number == 3 { dir.path().join("folder") } else { to.clone() };
        repack.run(&from, &to).unwrap();
        let frame = Frame::open(&to).unwrap();
        assert!(content(&frame) == all, "{number}");
        assert_eq!((frame.chunks(), frame.codec(), frame.typesize()), (chunks, codec, 8), "{number}");
        assert_eq!(frame.vlmeta_value("note").unwrap().as_str(), Some("kept"));
        assert_eq!(frame.chunk(0).unwrap().codec(), codec);
        assert_eq!(frame.frame_type() == FrameType::Sparse, number == 3);
        if chunks == 5 {
            assert_eq!(frame.special(4).unwrap(), Some(Special::Nan));
        }
    }
    let sparse = dir.path().join("folder");
    Repack::new().with_sparse(false).run(&sparse, &from).unwrap();
    let frame = Frame::open(&from).unwrap();
    assert!(content(&frame) == all && frame.anatomy().behind.is_empty());
    assert!(Repack::new().with_chunks(&[3]).run(&from, &to).is_err());
}

#[test]
fn blocks_of_variable_length_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.b2frame"), dir.path().join("b.b2frame"));
    let mut schunk = SChunk::create(&from, Params::new(1)).unwrap();
    schunk.append_blocks(&[b"one", &data(3000), b"three"]).unwrap();
    schunk.append_blocks(&[&data(100)]).unwrap();
    schunk.commit().unwrap();
    Repack::new().with_params(Params::new(1).with_codec(Codec::Zlib).with_level(9)).run(&from, &to).unwrap();
    let frame = Frame::open(&to).unwrap();
    assert_eq!((frame.chunk(0).unwrap().blocks(), frame.chunk(0).unwrap().codec()), (3, Codec::Zlib));
    assert!(content(&frame) == content(&Frame::open(&from).unwrap()));
}

#[test]
fn arrays() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.b2nd"), dir.path().join("b.b2nd"));
    let shape = [23, 31];
    let spec = ArrayParams::new(&shape, "<f4").unwrap().with_chunks(&[10, 12]).with_blocks(&[3, 5]);
    let mut array = Array::create(&from, &spec).unwrap();
    let all = data(23 * 31 * 4);
    array.write_slab_bytes(&Slab::all(&shape).unwrap(), &all).unwrap();
    array.schunk_mut().set_metalayer("units", b"K").unwrap();
    array.schunk_mut().set_vlmeta("note", b"kept").unwrap();
    array.commit().unwrap();
    let params = Params::new(4).with_codec(Codec::Zlib).with_level(9);
    let cases: [(Repack, [u64; 2], [u64; 2]); 4] = [
        (Repack::new(), [10, 12], [3, 5]),
        (Repack::new().with_params(params), [10, 12], [3, 5]),
        (Repack::new().with_chunks(&[23, 4]).with_blocks(&[23, 4]), [23, 4], [23, 4]),
        (Repack::new().with_blocks(&[10, 1]).with_params(params), [10, 12], [10, 1]),
    ];
    for (repack, chunks, blocks) in cases {
        repack.run(&from, &to).unwrap();
        let array = Array::open(&to).unwrap();
        assert!(array.read_bytes().unwrap() == all);
        assert_eq!((array.chunk_shape(), array.block_shape()), (&chunks[..], &blocks[..]));
        assert_eq!(array.dtype(), Some("<f4"));
        assert_eq!(array.schunk().metalayer("units"), Some(&b"K"[..]));
        assert_eq!(array.schunk().vlmeta("note").unwrap(), b"kept");
    }
    assert!(Repack::new().with_chunk_bytes(100).run(&from, &to).is_err());
}

/// c-blosc2 opens no folder in which a chunk file has a number beyond the bytes of all chunks.
#[test]
fn chunk_files_that_replace_many_get_low_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.b2frame"), dir.path().join("folder"));
    let mut few = SChunk::create(&from, Params::new(1)).unwrap();
    (1..4).for_each(|i| few.append(&[i, 2]).unwrap());
    few.commit().unwrap();
    let mut many = SChunk::create_sparse(&to, Params::new(1)).unwrap();
    (0..200).for_each(|i| many.append(&[i, 1]).unwrap());
    many.commit().unwrap();
    drop(many);
    Repack::new().with_sparse(true).run(&from, &to).unwrap();
    assert_eq!(content(&Frame::open(&to).unwrap()), [1, 2, 2, 2, 3, 2]);
    let mut names: Vec<_> = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["00000000.chunk", "00000001.chunk", "00000002.chunk", "chunks.b2frame"]);
}
