//! Any bytes as a chunk, and any bytes as one stream of each codec behind a header that is right.
#![no_main]

use cframe::{Chunk, Codec};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;
use sciformats_fuzz::chunks::{framed, options};

const CODECS: [Codec; 5] = [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::NdLz];
/// Filters that need nothing that a chunk does not have.
const FILTERS: [u8; 8] = [0, 1, 2, 3, 4, 34, 35, 36];

/// The first chunk of a frame, as the fixtures are, stands behind the frame's header; other bytes are taken as they are.
fn chunk_of(data: &[u8]) -> &[u8] {
    let length =
        data.get(11..).filter(|_| data.starts_with(b"\x9e\xa8b2frame\0")).and_then(|at| at.first_chunk());
    let length = length.map_or(0, |length| u32::from_be_bytes(*length) as usize);
    data.get(length..).unwrap_or(data)
}

fuzz_target!(|data: &[u8]| {
    let data = chunk_of(data);
    bounded(data.len(), || {
        if let Ok(bytes) = cframe::decompress_with(data, &options()) {
            let chunk = Chunk::new(data).expect("it was decoded");
            assert_eq!(bytes.len(), chunk.nbytes());
        }
    });
    let Some((&[codec, typesize, filters, size], payload)) = data.split_first_chunk() else { return };
    let codec = CODECS[usize::from(codec) % CODECS.len()];
    let filters = [FILTERS[usize::from(filters >> 4) % 8], FILTERS[usize::from(filters) % 8]];
    let chunk = framed(codec, typesize.max(1), filters, u32::from(size) * 40 + 1, payload);
    bounded(data.len(), || drop(cframe::decompress_with(&chunk, &options())));
});
