//! Zstandard (filter 32015): one frame. With the feature `zstd` the C library is used; otherwise frames can only be
//! read, by `ruzstd`, in pure Rust.

#[cfg(feature = "zstd")]
use std::io::Read;

#[cfg(feature = "zstd")]
use sciformats_core::bound;
use sciformats_core::{Fault, FaultKind};

/// Decodes a frame of about `expected` and at most `max` bytes into the memory of `out`.
#[cfg(feature = "zstd")]
pub(crate) fn decode(
    mut out: Vec<u8>,
    input: &[u8],
    (expected, max): (usize, usize),
) -> Result<Vec<u8>, Fault> {
    let decoder = ::zstd::stream::read::Decoder::with_buffer(input).map_err(|_| wrong())?;
    out.clear();
    out.reserve(expected.min(max));
    let mut decoder = decoder.single_frame().take(bound::sum(max as u64, 1));
    decoder.read_to_end(&mut out).map_err(|_| wrong())?;
    if out.len() > max { Err(super::too_long(max)) } else { Ok(out) }
}

#[cfg(not(feature = "zstd"))]
pub(crate) use in_rust as decode;

/// Decodes without the C library.
#[cfg(all(feature = "ruzstd", any(test, not(feature = "zstd"))))]
pub(crate) fn in_rust(
    mut out: Vec<u8>,
    input: &[u8],
    (expected, max): (usize, usize),
) -> Result<Vec<u8>, Fault> {
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
    // The decoder that is a `Read` would bring all texts of its errors along, which nobody sees.
    let (mut rest, mut decoder) = (input, FrameDecoder::new());
    out.clear();
    out.reserve(expected.min(max));
    decoder.init(&mut rest).map_err(|_| wrong())?;
    while !decoder.is_finished() {
        let some = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut rest, some).map_err(|_| wrong())?;
        decoder.collect_to_writer(&mut out).map_err(|_| wrong())?;
        if out.len() > max {
            break;
        }
    }
    if out.len() > max { Err(super::too_long(max)) } else { Ok(out) }
}

fn wrong() -> Fault {
    Fault::new("zstd frame", FaultKind::Rule("cannot be decoded"))
}

/// Encodes a frame that stores the length of its content.
#[cfg(feature = "zstd")]
pub(crate) fn encode(level: i32, input: &[u8]) -> Result<Vec<u8>, Fault> {
    ::zstd::bulk::compress(input, level)
        .map_err(|_| Fault::new("zstd frame", FaultKind::Rule("cannot be encoded")))
}

#[cfg(all(test, feature = "zstd", feature = "ruzstd"))]
mod tests {
    use super::*;

    #[test]
    fn both_decoders_agree() {
        let input: Vec<u8> = (0..70_000u32).map(|i| (i / 7 * (i % 5)) as u8).collect();
        let bytes = encode(3, &input).unwrap();
        for decode in [decode, in_rust] {
            // What the memory held before, and what is expected, changes nothing.
            for expected in [0, 70_000, 1 << 20] {
                assert_eq!(decode(vec![1; 5], &bytes, (expected, 70_000)).unwrap(), input);
            }
            assert!(decode(Vec::new(), &bytes, (70_000, 69_999)).is_err());
            assert!(decode(Vec::new(), &bytes[..bytes.len() - 9], (70_000, 70_000)).is_err());
            assert!(decode(Vec::new(), &bytes[3..], (70_000, 70_000)).is_err());
        }
    }
}
