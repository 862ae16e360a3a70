//! Any bytes as a chunk, and any bytes as one stream of each codec behind a header that is right.
#![no_main]

use cframe::{Chunk, Limits, Options, Threads};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

/// Codecs, and the flags of their formats.
const CODECS: [(u8, u8); 5] = [(0, 0x00), (1, 0x20), (4, 0x60), (5, 0x80), (32, 0xc0)];
/// Filters that need nothing that a chunk does not have.
const FILTERS: [u8; 8] = [0, 1, 2, 3, 4, 34, 35, 36];

fuzz_target!(|data: &[u8]| {
    let options =
        Options::default().with_limits(Limits::default().with_memory(2 << 20)).with_threads(Threads::One);
    bounded(data.len(), || {
        if let Ok(bytes) = cframe::decompress_with(data, &options) {
            let chunk = Chunk::new(data).expect("it was decoded");
            assert_eq!(bytes.len(), chunk.nbytes());
        }
    });
    let Some((&[codec, typesize, filters, size], payload)) = data.split_first_chunk() else { return };
    let chunk = framed(usize::from(codec), typesize.max(1), filters, u32::from(size) * 40 + 1, payload);
    bounded(data.len(), || drop(cframe::decompress_with(&chunk, &options)));
});

/// A chunk of one unsplit block of one stream.
fn framed(codec: usize, typesize: u8, filters: u8, nbytes: u32, payload: &[u8]) -> Vec<u8> {
    let (id, flags) = CODECS[codec % CODECS.len()];
    let mut out = vec![5, 1, 0x15 | flags, typesize];
    let cbytes = 32 + 4 + 4 + payload.len() as u32;
    [nbytes, nbytes, cbytes].iter().for_each(|word| out.extend(word.to_le_bytes()));
    let (first, last) = (FILTERS[usize::from(filters >> 4) % 8], FILTERS[usize::from(filters) % 8]);
    out.extend([0, 0, 0, 0, first, last, id, 4]);
    out.extend([0; 8]);
    out.extend(36u32.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(payload);
    out
}
