//! Any bytes as a chunk, and any bytes as one stream of each codec behind a header that is right.
#![no_main]

use cframe::{Chunk, Codec};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;
use sciformats_fuzz::chunks::{framed, options};

const CODECS: [Codec; 5] = [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::NdLz];
/// Filters that need nothing that a chunk does not have.
const FILTERS: [u8; 8] = [0, 1, 2, 3, 4, 34, 35, 36];

fuzz_target!(|data: &[u8]| {
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
