//! Cases in which the C library is wrong, and peculiarities of other writers that are tolerated.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too, fail by panicking")]

use cframe::{
    Array, ArrayParams, Chunk, ChunkPlace, ChunkSize, Codec, DType, Filter, Frame, Kind, OpenOptions, Params,
    SChunk, Slab, Special, Split, compress, decompress,
};

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7 + i / 100) as u8).collect()
}

fn text(len: usize) -> Vec<u8> {
    (0u32..).flat_map(|i| format!("record {} of many, ", i * i % 97).into_bytes()).take(len).collect()
}

/// Checks that every part of a chunk that is read separately is the expected part.
fn parts(chunk: &[u8], data: &[u8]) {
    let chunk = Chunk::new(chunk).unwrap();
    assert!(chunk.decode().unwrap() == data);
    for (start, len) in [(0, 1), (1, 7), (data.len() / 2, 300), (data.len() - 5, 5), (700, data.len() - 701)]
    {
        let mut part = vec![0; len];
        chunk.read_into(start, &mut part).unwrap();
        assert!(part == data[start..start + len], "{start}, {len}");
    }
}

#[test]
fn parts_of_a_chunk_with_delta_decode_the_first_block_first() {
    let data = data(20_000);
    for filters in
        [&[Filter::DELTA][..], &[Filter::DELTA, Filter::SHUFFLE], &[Filter::SHUFFLE, Filter::DELTA]]
    {
        let params = Params::new(4).with_filters(filters).unwrap().with_blocksize(512);
        parts(&compress(&data, &params).unwrap(), &data);
    }
    let filters = Params::new(4).with_filters(&[Filter::DELTA, Filter::SHUFFLE]).unwrap();
    let spec = ArrayParams::new(&[50, 100], "<i4")
        .unwrap()
        .with_chunks(&[50, 100])
        .with_blocks(&[5, 20])
        .with_params(filters);
    let mut array = Array::new(&spec).unwrap();
    array.write_slab_bytes(&Slab::all(&[50, 100]).unwrap(), &data).unwrap();
    let slab = Slab::new(&[50, 100], [(40..41).into(), (90..95).into()]).unwrap();
    assert_eq!(array.read_slab_bytes(&slab).unwrap(), data[4 * 4090..4 * 4095]);
}

#[test]
fn parts_of_a_chunk_with_a_dictionary_load_it() {
    let text = text(60_000);
    for codec in [Codec::Lz4, Codec::Lz4Hc, Codec::Zstd] {
        if codec == Codec::Zstd && !cfg!(feature = "zstd") {
            continue;
        }
        let params = Params::new(1)
            .with_codec(codec)
            .with_filters(&[])
            .unwrap()
            .with_blocksize(2000)
            .with_dictionary(true);
        let chunk = compress(&text, &params).unwrap();
        assert!(Chunk::new(&chunk).unwrap().has_dictionary());
        parts(&chunk, &text);
    }
}

#[test]
fn bytes_behind_the_last_whole_element_are_kept_by_every_filter() {
    let pipelines: [&[Filter]; 8] = [
        &[Filter::SHUFFLE],
        &[Filter::BITSHUFFLE],
        &[Filter::DELTA],
        &[Filter::BYTEDELTA],
        &[Filter::SHUFFLE, Filter::BYTEDELTA],
        &[Filter::DELTA, Filter::BITSHUFFLE],
        &[Filter::new(1, 3)],
        &[Filter::new(34, 0)],
    ];
    for filters in pipelines {
        for typesize in [2, 3, 4, 7, 8, 16] {
            for tail in 1..typesize as usize {
                let data = data(16 * 8 * typesize as usize + tail);
                let params = Params::new(typesize).with_filters(filters).unwrap().with_codec(Codec::Lz4);
                let found = decompress(&compress(&data, &params).unwrap()).unwrap();
                assert!(found == data, "{filters:?} {typesize} {tail}");
            }
        }
    }
    // These filters drop bits of numbers, and nothing of the other bytes.
    for filter in [Filter::trunc_prec(10), Filter::new(36, 8)] {
        let data = [data(400), vec![0xEE; 3]].concat();
        let params = Params::new(4).with_filters(&[filter]).unwrap();
        let found = decompress(&compress(&data, &params).unwrap()).unwrap();
        assert_eq!(found[400..], [0xEE; 3], "{filter:?}");
    }
}

#[test]
fn chunks_of_blosc1_from_before_the_split_flag() {
    let data = data(4000);
    // Too wide or too short to be split: before the flag existed, readers knew this from the sizes alone.
    for (typesize, blocksize) in [(32, 1024), (8, 512)] {
        let params = Params::new(typesize)
            .with_codec(Codec::BloscLz)
            .with_blocksize(blocksize)
            .with_split(Split::Never)
            .with_blosc1();
        let mut chunk = compress(&data, &params).unwrap();
        assert_eq!((chunk[0], chunk[2] & 0x10), (2, 0x10), "Blosc1, not split");
        chunk[2] &= !0x10;
        assert!(decompress(&chunk).unwrap() == data, "{typesize}");
    }
}

#[test]
fn tails_of_bitshuffled_blocks_of_blosc1() {
    let content: Vec<u8> = (0..39).collect();
    let mut chunk = vec![2, 1, 0x04 | 0x10, 4]; // version 2, bitshuffle, not split, type size 4
    for number in [39u32, 39, 20 + 4 + 39] {
        chunk.extend(number.to_le_bytes()); // nbytes, blocksize, cbytes
    }
    chunk.extend(20u32.to_le_bytes()); // start of the block
    chunk.extend(39u32.to_le_bytes()); // size of its stream: stored raw
    chunk.extend(&content); // nine elements are not a multiple of eight, so they are not shuffled; then three more bytes
    assert_eq!(decompress(&chunk).unwrap(), content);
}

#[test]
fn repeated_values_wider_than_255_bytes() {
    let value: Vec<u8> = (0..300u32).map(|i| (i % 251) as u8).collect();
    let mut schunk = SChunk::new(Params::new(300));
    schunk.append_special(Special::Value, &value, 3000).unwrap();
    let frame = Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap();
    let mut part = vec![0; 450];
    frame.read_bytes(750, &mut part).unwrap();
    assert_eq!(part, value.repeat(4)[750..1200]);
}

#[test]
fn uninitialised_chunks_read_as_zeros() {
    let mut schunk = SChunk::new(Params::new(8));
    schunk.append_special(Special::Uninit, &[], 800).unwrap();
    let frame = Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap();
    assert_eq!(frame.special(0).unwrap(), Some(Special::Uninit));
    let mut bytes = [0xEE; 800];
    frame.chunk(0).unwrap().decode_into(&mut bytes).unwrap();
    assert_eq!(bytes, [0; 800]);
}

#[test]
fn the_type_size_wins_over_an_element_type_that_contradicts_it() {
    let mut array = Array::new(&ArrayParams::new(&[10], "<i4").unwrap()).unwrap();
    array.write_slab_bytes(&Slab::all(&[10]).unwrap(), &data(40)).unwrap();
    let mut layer = array.schunk().metalayer("b2nd").unwrap().to_vec();
    let at = layer.len() - 3;
    layer[at..].copy_from_slice(b"|u1");
    let mut schunk = array.into_schunk();
    schunk.set_metalayer("b2nd", &layer).unwrap();
    let array = Array::from_schunk(SChunk::from_bytes(schunk.to_bytes().unwrap()).unwrap()).unwrap();
    assert_eq!(array.dtype(), Some("|u1"));
    assert!(matches!(array.element().unwrap(), DType::Scalar { kind: Kind::Raw, size: 4, .. }));
    assert_eq!(array.read_bytes().unwrap(), data(40));
    assert_eq!(array.read_slab::<i32>(&Slab::all(&[10]).unwrap()).unwrap().len(), 10);
}

#[test]
fn more_than_sixteen_metalayers_of_variable_length() {
    let mut schunk = SChunk::new(Params::new(1));
    schunk.append(b"one chunk").unwrap();
    for i in 0..100 {
        schunk.set_vlmeta(&format!("layer {i}"), &data(i)).unwrap();
    }
    let frame = Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap();
    assert_eq!(frame.vlmeta_names().len(), 100);
    assert!((0..100).all(|i| frame.vlmeta(&format!("layer {i}")).unwrap() == data(i)));
}

#[test]
fn block_starts_in_any_order() {
    let data = text(4096);
    let chunk = compress(&data, &Params::new(4).with_blocksize(1024).with_codec(Codec::Lz4)).unwrap();
    assert!(chunk.len() < data.len());
    let start = |i: usize| u32::from_le_bytes(chunk[32 + 4 * i..36 + 4 * i].try_into().unwrap()) as usize;
    let starts: Vec<usize> = (0..4).map(start).chain([chunk.len()]).collect();
    let mut other = chunk[..48].to_vec();
    for block in [2, 0, 3, 1] {
        let at = (other.len() as u32).to_le_bytes();
        other[32 + 4 * block..36 + 4 * block].copy_from_slice(&at);
        other.extend(&chunk[starts[block]..starts[block + 1]]);
    }
    assert_ne!(chunk, other);
    parts(&other, &data);
}

#[test]
fn chunks_in_any_order_with_holes_between_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let mut schunk = SChunk::create(&path, Params::new(1).with_level(0)).unwrap();
    (1..5).for_each(|i| schunk.append(&[i; 200]).unwrap());
    schunk.commit().unwrap();
    schunk.insert(0, &[9; 200]).unwrap();
    schunk.remove(2).unwrap();
    schunk.commit().unwrap();
    let frame = Frame::open(&path).unwrap();
    let places: Vec<u64> = (0..4)
        .map(|i| match frame.chunk_place(i).unwrap() {
            ChunkPlace::At(at) => at,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(places[0] > places[3] && places[2] - places[1] > 300, "{places:?}");
    let mut bytes = vec![0; 800];
    frame.read_bytes(0, &mut bytes).unwrap();
    assert_eq!(bytes, [[9; 200], [1; 200], [3; 200], [4; 200]].concat());
}

#[test]
fn no_block_size_no_chunk_size_and_bytes_around() {
    let empty = SChunk::new(Params::new(4)).to_bytes().unwrap();
    let frame = Frame::from_bytes(empty).unwrap();
    assert_eq!((frame.chunk_size(), frame.block_size(), frame.chunks()), (ChunkSize::Unknown, 0, 0));
    assert_eq!(frame.verify().unwrap(), 0);

    let mut schunk = SChunk::new(Params::new(4));
    schunk.append(&data(1000)).unwrap();
    let bytes = [vec![0xEE; 1001], schunk.to_bytes().unwrap(), vec![0xDD; 77]].concat();
    let frame = Frame::from_storage(bytes, 1001, &OpenOptions::default()).unwrap();
    assert_eq!(frame.block_size(), 0);
    assert_eq!(frame.chunk(0).unwrap().decode().unwrap(), data(1000));
    let behind = frame.anatomy().behind;
    assert_eq!(behind.end - behind.start, 77);
}

#[test]
fn what_is_not_known_survives_a_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let mut schunk = SChunk::new(Params::new(4));
    schunk.set_metalayer("of another make", &data(77)).unwrap();
    schunk.append(&data(1000)).unwrap();
    let mut bytes = schunk.to_bytes().unwrap();
    bytes[26] |= 0x50; // frame type
    bytes[28] |= 0xa4; // other flags
    bytes[85] |= 0x84; // other flags 2
    bytes[86] = 0x5a; // reserved
    let end = bytes.len();
    bytes[end - 17] = 3; // kind of fingerprint
    bytes[end - 16..].fill(0x77);
    std::fs::write(&path, &bytes).unwrap();
    let check = |bytes: &[u8]| {
        assert_eq!((bytes[26] & 0xf0, bytes[28] & 0xfc), (0x50, 0xa4));
        assert_eq!((bytes[85] & 0xfe, bytes[86]), (0x84, 0x5a));
        assert_eq!(bytes[bytes.len() - 17..], [[3].as_slice(), &[0x77; 16]].concat());
        let frame = Frame::from_bytes(bytes.to_vec()).unwrap();
        assert_eq!(frame.metalayer("of another make"), Some(&data(77)[..]));
    };
    let mut schunk = SChunk::open(&path).unwrap();
    schunk.append(&data(1000)).unwrap();
    schunk.set_params(Params::new(4).with_codec(Codec::Zlib));
    schunk.commit().unwrap();
    check(&std::fs::read(&path).unwrap());
    schunk.set_metalayer("one more", b"").unwrap();
    schunk.commit().unwrap();
    check(&std::fs::read(&path).unwrap());
    check(&schunk.to_bytes().unwrap());
    assert_eq!(schunk.chunks(), 2);
}
