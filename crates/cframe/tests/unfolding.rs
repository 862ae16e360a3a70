//! What a few bytes declare is not expanded as a whole, and not decoded again and again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cframe::{
    Array, ArrayParams, Codec, Error, Filter, Frame, Limits, OpenOptions, Params, Range, Registry, SChunk,
    Slab, Special, UserCodec,
};

/// The number of elements of four bytes in a chunk of 1 GiB.
const MANY: u32 = 1 << 28;

/// Returns options with so little memory that no such chunk and none of its blocks fit.
fn little() -> OpenOptions {
    OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20))
}

fn kinds() -> [(Special, Vec<u8>, [u8; 4]); 4] {
    [
        (Special::Zeros, vec![], [0; 4]),
        (Special::Uninit, vec![], [0; 4]),
        (Special::Nan, vec![], f32::NAN.to_le_bytes()),
        (Special::Value, vec![1, 2, 3, 4], [1, 2, 3, 4]),
    ]
}

#[test]
fn a_chunk_of_one_value_is_read_in_pieces() {
    for (kind, value, element) in kinds() {
        let mut schunk = SChunk::new(Params::new(4));
        schunk.append_special(kind, &value, MANY * 4 - 4).unwrap();
        let bytes = schunk.to_bytes().unwrap();
        assert!(bytes.len() < 300, "{} bytes", bytes.len());
        let frame = Frame::from_bytes_with(bytes, &little()).unwrap();
        for start in [0, 4, 777 * 4, u64::from(MANY) * 4 - 4004] {
            let mut part = [9; 4000];
            frame.read_bytes(start, &mut part).unwrap();
            assert!(part.chunks(4).all(|found| found == element), "{kind:?}");
            // The same holds from the middle of an element on.
            frame.read_bytes(start + 1, &mut part[..6]).unwrap();
            assert_eq!(part[..3], element[1..], "{kind:?}");
        }
        assert_eq!(frame.verify().unwrap(), 1);
        frame.check(&mut |error| panic!("{error}"));
    }
}

#[test]
fn an_array_whose_chunk_is_one_value_is_read_in_pieces() {
    for (kind, value, element) in kinds() {
        // Blocks of the largest possible size, and blocks so small that they cannot be listed.
        for block in [[1 << 13, 1 << 14], [1, 8]] {
            let spec = ArrayParams::new(&[1 << 14, 1 << 14], "<f4").unwrap();
            let params = spec.with_chunks(&[1 << 14, 1 << 14]).with_blocks(&block);
            let mut array = Array::new(&params).unwrap();
            let mut one = SChunk::new(Params::new(4));
            one.append_special(kind, &value, MANY * 4).unwrap();
            let chunk = one.chunk(0).unwrap().stored().unwrap().into_owned();
            array.schunk_mut().update_chunk(0, chunk).unwrap();
            let bytes = array.schunk().to_bytes().unwrap();
            assert!(bytes.len() < 500, "{} bytes", bytes.len());
            let frame = Frame::from_bytes_with(bytes, &little()).unwrap();
            let array = Array::from_frame(frame).unwrap();
            let slab = Slab::new(
                array.shape(),
                [Range { start: 3, count: 5, step: 3001 }, Range::new(9, 1000).by(7)],
            );
            let found = array.read_slab_bytes(&slab.unwrap()).unwrap();
            assert_eq!(found.len(), 20_000);
            assert!(found.chunks(4).all(|found| found == element), "{kind:?} {block:?}");
        }
    }
}

#[test]
fn a_value_that_elements_are_no_whole_number_of_is_a_fault() {
    let mut array = Array::new(&ArrayParams::new(&[8], "<i2").unwrap().with_chunks(&[8])).unwrap();
    let mut other = SChunk::new(Params::new(4));
    other.append_special(Special::Value, &[1, 2, 3, 4], 16).unwrap();
    array.schunk_mut().update_chunk(0, other.chunk(0).unwrap().stored().unwrap().into_owned()).unwrap();
    let array = Array::from_schunk(SChunk::from_bytes(array.schunk().to_bytes().unwrap()).unwrap()).unwrap();
    assert!(matches!(array.read_bytes(), Err(Error::Malformed { .. })));
}

/// A codec of blocks that repeat sixteen bytes, which counts the blocks that it has decoded.
struct Counting(Arc<AtomicUsize>);

impl UserCodec for Counting {
    fn decode(&self, input: &[u8], _: u8, out: &mut [u8]) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        out.chunks_mut(16).for_each(|part| part.copy_from_slice(&input[..part.len()]));
        input.len() == 16
    }
    fn encode(&self, input: &[u8], _: u8, _: u8, out: &mut Vec<u8>) -> bool {
        out.extend(&input[..16]);
        input.chunks(16).all(|part| part == &input[..16])
    }
}

fn counting() -> (OpenOptions, Arc<AtomicUsize>) {
    let decoded = Arc::new(AtomicUsize::new(0));
    let registry = Registry::default().with_codec(160, Counting(Arc::clone(&decoded)));
    (OpenOptions::default().with_registry(registry), decoded)
}

/// Returns a chunk of two blocks of 16 MiB, each of which repeats sixteen bytes.
fn large_blocks(options: &OpenOptions, params: Params) -> Vec<u8> {
    let data: Vec<u8> =
        [7u8, 90].iter().flat_map(|&first| (first..first + 16).collect::<Vec<_>>().repeat(1 << 20)).collect();
    let params = params.with_codec(Codec::Other(160)).with_blocksize(16 << 20);
    cframe::compress_with(&data, &params, options).unwrap()
}

#[test]
fn a_large_block_is_not_decoded_for_each_of_its_parts() {
    let (options, decoded) = counting();
    for (filters, most) in [(&[][..], 4), (&[Filter::DELTA], 6)] {
        let params = Params::new(1).with_filters(filters).unwrap();
        let chunk = large_blocks(&options, params);
        let empty = SChunk::new(params).to_bytes().unwrap();
        let mut schunk = SChunk::from_bytes_with(empty, &options).unwrap();
        schunk.insert_chunk(0, chunk).unwrap();
        let frame = Frame::from_bytes_with(schunk.to_bytes().unwrap(), &options).unwrap();
        decoded.store(0, Ordering::Relaxed);
        let mut part = vec![0; 1 << 20];
        for number in 0..32u8 {
            frame.read_bytes(u64::from(number) << 20, &mut part).unwrap();
            let first = if number < 16 { 7 } else { 90 };
            assert!(part.chunks(16).all(|part| part.iter().copied().eq(first..first + 16)), "{number}");
        }
        let decoded = decoded.load(Ordering::Relaxed);
        assert!(decoded <= most, "{decoded} blocks were decoded for {filters:?}");
    }
}

#[test]
fn an_array_in_large_blocks_is_not_decoded_for_each_row() {
    let (options, decoded) = counting();
    let side = 4096;
    let spec = ArrayParams::new(&[side, side], "|u1")
        .unwrap()
        .with_params(Params::new(1).with_filters(&[]).unwrap());
    let array = Array::new(&spec.with_chunks(&[4096, 4096]).with_blocks(&[4096, 4096])).unwrap();
    let bytes = array.schunk().to_bytes().unwrap();
    let mut array = Array::from_schunk(SChunk::from_bytes_with(bytes, &options).unwrap()).unwrap();
    let row: Vec<u8> = (7..23).collect();
    let params =
        Params::new(1).with_codec(Codec::Other(160)).with_filters(&[]).unwrap().with_blocksize(16 << 20);
    let chunk = cframe::compress_with(&row.repeat(1 << 20), &params, &options).unwrap();
    array.schunk_mut().update_chunk(0, chunk).unwrap();
    let frame = Frame::from_bytes_with(array.schunk().to_bytes().unwrap(), &options).unwrap();
    let array = Array::from_frame(frame).unwrap();
    for start in 0..64 {
        let slab =
            Slab::new(&[side, side], [Range::new(start * 64, 2), Range { start: 1, count: 30, step: 16 }]);
        assert_eq!(array.read_slab_bytes(&slab.unwrap()).unwrap(), [8; 60]);
    }
    let decoded = decoded.load(Ordering::Relaxed);
    assert!(decoded <= 2, "{decoded} blocks were decoded");
}

#[test]
fn chunks_at_one_place_are_checked_once() {
    let (options, decoded) = counting();
    let params = Params::new(1).with_filters(&[]).unwrap();
    let chunk = large_blocks(&options, params);
    let mut schunk = SChunk::from_bytes_with(SChunk::new(params).to_bytes().unwrap(), &options).unwrap();
    for _ in 0..2 {
        schunk.insert_chunk(0, chunk.clone()).unwrap();
    }
    let mut bytes = schunk.to_bytes().unwrap();
    let frame = Frame::from_bytes_with(bytes.clone(), &options).unwrap();
    // The offsets are stored uncompressed, so the second chunk is where the first one is.
    let offsets = frame.anatomy().offsets;
    let second = usize::try_from(offsets.end).unwrap() - 8;
    assert_eq!(bytes[second..second + 8], (chunk.len() as u64).to_le_bytes());
    bytes[second..second + 8].fill(0);
    let frame = Frame::from_bytes_with(bytes, &options).unwrap();
    decoded.store(0, Ordering::Relaxed);
    frame.check(&mut |error| panic!("{error}"));
    assert_eq!(decoded.load(Ordering::Relaxed), 2);
}

#[test]
fn a_metalayer_is_no_larger_than_its_bytes_can_tell() {
    let mut schunk = SChunk::new(Params::new(1));
    schunk.set_vlmeta("large", &vec![0; 70 << 20]).unwrap();
    let bytes = schunk.to_bytes().unwrap();
    assert!(bytes.len() < 1000, "{} bytes", bytes.len());
    let frame = Frame::from_bytes(bytes).unwrap();
    assert!(matches!(
        frame.vlmeta("large"),
        Err(Error::LimitExceeded { what: "bytes of the metalayer", .. })
    ));
}
