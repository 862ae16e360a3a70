//! Chunks of Blosc2 around a payload that comes from the fuzzer.

use cframe::{Codec, Filter, Limits, OpenOptions, Params};

use crate::bounded;

/// Little memory, one thread.
#[must_use]
pub fn options() -> OpenOptions {
    OpenOptions::default().with_limits(Limits::default().with_memory(2 << 20)).with_threads(1)
}

/// A chunk of one unsplit block of one stream, which decodes to `nbytes` bytes if the payload is right.
#[must_use]
pub fn framed(codec: Codec, typesize: u8, filters: [u8; 2], nbytes: u32, payload: &[u8]) -> Vec<u8> {
    let format = match codec {
        Codec::BloscLz => 0,
        Codec::Lz4 | Codec::Lz4Hc => 1,
        Codec::Zlib => 3,
        Codec::Zstd => 4,
        _ => 6,
    };
    let id = match codec {
        Codec::BloscLz => 0,
        Codec::Lz4 => 1,
        Codec::Lz4Hc => 2,
        Codec::Zlib => 4,
        Codec::Zstd => 5,
        _ => 32,
    };
    let mut out = vec![5, 1, 0x15 | format << 5, typesize];
    let cbytes = 32 + 4 + 4 + payload.len() as u32;
    [nbytes, nbytes, cbytes].iter().for_each(|word| out.extend(word.to_le_bytes()));
    out.extend([0, 0, 0, 0, filters[0], filters[1], id, 4]);
    out.extend([0; 8]);
    out.extend(36u32.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(payload);
    out
}

/// Any bytes as a stream of a codec; and any bytes as data that the codec must give back, if it writes.
///
/// # Panics
/// If it does not, or takes more memory than it may.
pub fn codec(codec: Codec, data: &[u8]) {
    let Some((&[low, high, level], payload)) = data.split_first_chunk() else { return };
    let nbytes = u32::from(u16::from_le_bytes([low, high])) + 1;
    let chunk = framed(codec, 1, [0, 0], nbytes, payload);
    bounded(data.len(), || {
        if let Ok(bytes) = cframe::decompress_with(&chunk, &options()) {
            assert_eq!(bytes.len(), nbytes as usize);
        }
    });
    // The highest level of zstd takes long.
    let level = level % 9 + u8::from(codec != Codec::Zstd);
    let filter = if high & 1 == 0 { Filter::NONE } else { Filter::SHUFFLE };
    let params = Params::new(u32::from(low % 17) + 1).with_codec(codec).with_level(level);
    let params = params.with_filters(&[filter]).expect("one");
    // Data that repeats has long matches.
    for data in [payload.to_vec(), payload.repeat(1 + usize::from(low) / 8)] {
        let Ok(chunk) = cframe::compress_with(&data, &params, &options()) else { return };
        assert!(cframe::decompress_with(&chunk, &options()).expect("it was compressed") == data);
    }
}
