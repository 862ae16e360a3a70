//! Zstandard (filter 32015): one frame. With the feature `zstd` the C library is used; otherwise frames can only be
//! read, by `ruzstd`, in pure Rust.

#[cfg(feature = "zstd")]
use std::cell::RefCell;
#[cfg(feature = "zstd")]
use std::io::Read;

#[cfg(feature = "zstd")]
use ::zstd::bulk::{Compressor, Decompressor};
#[cfg(feature = "zstd")]
use ::zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};
#[cfg(feature = "zstd")]
use sciformats_core::bound;
use sciformats_core::{Fault, FaultKind};

#[cfg(feature = "zstd")]
thread_local! {
    /// The encoder, with its level, and the decoder that the thread used last. Their tables are large, and blocks of bitshuffle are not.
    static ENCODER: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
    static DECODER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decodes a frame of about `expected` and at most `max` bytes into the memory of `out`.
#[cfg(feature = "zstd")]
pub(crate) fn decode(
    mut out: Vec<u8>,
    input: &[u8],
    (expected, max): (usize, usize),
) -> Result<Vec<u8>, Fault> {
    out.clear();
    // A frame that says how long its content is can be decoded in one go, without a copy of what is decoded.
    if let Ok(Some(len)) = get_frame_content_size(input) {
        let len = usize::try_from(len).ok().filter(|&len| len <= max).ok_or_else(|| super::too_long(max))?;
        let frame =
            find_frame_compressed_size(input).ok().and_then(|end| input.get(..end)).ok_or_else(wrong)?;
        out.reserve(len);
        let mut decoder = match DECODER.take() {
            Some(decoder) => decoder,
            None => Decompressor::new().map_err(|_| wrong())?,
        };
        let decoded = decoder.decompress_to_buffer(frame, &mut out);
        DECODER.set(Some(decoder));
        return if decoded.is_ok_and(|found| found == len) { Ok(out) } else { Err(wrong()) };
    }
    let decoder = ::zstd::stream::read::Decoder::with_buffer(input).map_err(|_| wrong())?;
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
    let wrong = |_| Fault::new("zstd frame", FaultKind::Rule("cannot be encoded"));
    let mut encoder = match ENCODER.take() {
        Some((of, encoder)) if of == level => encoder,
        _ => Compressor::new(level).map_err(wrong)?,
    };
    let encoded = encoder.compress(input).map_err(wrong);
    ENCODER.set(Some((level, encoder)));
    encoded
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
            // What follows a frame is not part of it.
            let two = [&bytes[..], &bytes].concat();
            assert_eq!(decode(Vec::new(), &two, (70_000, 70_000)).unwrap(), input);
        }
        // A frame that does not say how long its content is.
        let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        std::io::Write::write_all(&mut encoder, &input).unwrap();
        let streamed = encoder.finish().unwrap();
        for decode in [decode, in_rust] {
            assert_eq!(decode(vec![1; 5], &streamed, (0, 70_000)).unwrap(), input);
            assert!(decode(Vec::new(), &streamed, (0, 69_999)).is_err());
        }
    }
}
