//! Data that is compressed with any parameters reads back; a list of chunks stays what it is through any edits.
#![no_main]

use cframe::{Codec, Filter, Params, SChunk, Split};
use libfuzzer_sys::fuzz_target;

const CODECS: [Codec; 5] = [Codec::BloscLz, Codec::Lz4, Codec::Lz4Hc, Codec::Zlib, Codec::Zstd];

fuzz_target!(|data: &[u8]| {
    let Some((&[codec, level, typesize, filters, blocksize], rest)) = data.split_first_chunk() else {
        return;
    };
    let list: Vec<Filter> = (0..4)
        .map(|bit| [Filter::DELTA, Filter::SHUFFLE, Filter::BITSHUFFLE, Filter::BYTEDELTA][bit])
        .zip(0..)
        .filter(|(_, bit)| filters >> bit & 1 == 1)
        .map(|(filter, _)| filter)
        .collect();
    let params = Params::new(typesize.into())
        .with_codec(CODECS[usize::from(codec) % 5])
        .with_level(level % 8)
        .with_filters(&list)
        .expect("four at most")
        .with_blocksize(u32::from(blocksize) * 8)
        .with_dictionary(filters & 0x10 != 0)
        .with_split(if filters & 0x20 == 0 { Split::Auto } else { Split::Always });
    if typesize == 0 {
        assert!(cframe::compress(rest, &params).is_err());
        return;
    }
    let chunk = cframe::compress(rest, &params).expect("it fits");
    assert!(chunk.len() <= rest.len() + 32);
    assert!(cframe::decompress(&chunk).expect("it was compressed") == rest);
    edits(params, rest);
});

fn edits(params: Params, operations: &[u8]) {
    let mut schunk = SChunk::new(params);
    let mut expected: Vec<Vec<u8>> = Vec::new();
    for (step, pair) in operations.chunks_exact(2).take(40).enumerate() {
        // A frame whose chunks are all empty has none, so they are not.
        let content = vec![step as u8; usize::from(pair[1]) % 97 + 1];
        let index = usize::from(pair[1]) % (expected.len() + 1);
        match pair[0] % 5 {
            0 | 1 => {
                schunk.insert(index as u64, &content).expect("it is inside");
                expected.insert(index, content);
            }
            2 if index < expected.len() => {
                schunk.update(index as u64, &content).expect("it is inside");
                expected[index] = content;
            }
            3 if index < expected.len() => {
                schunk.remove(index as u64).expect("it is inside");
                expected.remove(index);
            }
            _ => schunk.commit().expect("memory does not fail"),
        }
    }
    schunk.commit().expect("memory does not fail");
    assert_eq!(schunk.chunks(), expected.len() as u64);
    for (index, content) in expected.iter().enumerate() {
        assert!(
            &schunk.chunk(index as u64).and_then(|chunk| chunk.decode()).expect("it was written") == content
        );
    }
}
