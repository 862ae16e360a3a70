//! Zstandard, which other filters contain: one frame. With the feature `zstd` the C library is used; otherwise frames can only
//! be read, by `ruzstd`.

use sciformats_core::Fault;

use crate::filter::rule;

/// Decodes a frame of at most `max` bytes.
#[cfg(feature = "zstd")]
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    use std::io::Read;

    use sciformats_core::bound;
    use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};

    let wrong = || rule("zstd frame", "cannot be decoded");
    // A frame that says how long its content is can be decoded in one go, without a copy of what is decoded.
    if let Ok(Some(len)) = get_frame_content_size(input) {
        let len = crate::filter::within("decoded length", len, max)?;
        let frame =
            find_frame_compressed_size(input).ok().and_then(|end| input.get(..end)).ok_or_else(wrong)?;
        let out = zstd::bulk::decompress(frame, len).map_err(|_| wrong())?;
        return if out.len() == len { Ok(out) } else { Err(wrong()) };
    }
    let decoder = zstd::stream::read::Decoder::with_buffer(input).map_err(|_| wrong())?.single_frame();
    let mut out = Vec::new();
    decoder.take(bound::sum(max as u64, 1)).read_to_end(&mut out).map_err(|_| wrong())?;
    crate::filter::within("decoded length", out.len() as u64, max)?;
    Ok(out)
}

/// Decodes a frame of at most `max` bytes.
#[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    let wrong = || rule("zstd frame", "cannot be decoded");
    // The decoder that is a `Read` would bring all texts of its errors along, which nobody sees.
    let (mut rest, mut decoder, mut out) = (input, FrameDecoder::new(), Vec::new());
    decoder.init(&mut rest).map_err(|_| wrong())?;
    while !decoder.is_finished() {
        let some = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut rest, some).map_err(|_| wrong())?;
        decoder.collect_to_writer(&mut out).map_err(|_| wrong())?;
        crate::filter::within("decoded length", out.len() as u64, max)?;
    }
    Ok(out)
}

/// Decodes nothing.
#[cfg(not(any(feature = "zstd", feature = "ruzstd")))]
pub(crate) fn decode(_: &[u8], _: usize) -> Result<Vec<u8>, Fault> {
    Err(rule("zstd frame", "needs the feature `zstd` or `ruzstd` of this library"))
}

/// Encodes a frame that stores the length of its content.
#[cfg(feature = "zstd")]
pub(crate) fn encode(level: u32, input: &[u8]) -> Result<Vec<u8>, Fault> {
    let level = i32::try_from(level).map_err(|_| rule("zstd level", "is too large"))?;
    zstd::bulk::compress(input, level).map_err(|_| rule("zstd frame", "cannot be encoded"))
}

/// Encodes nothing.
#[cfg(not(feature = "zstd"))]
pub(crate) fn encode(_: u32, _: &[u8]) -> Result<Vec<u8>, Fault> {
    Err(rule("zstd frame", "is only written with the feature `zstd` of this library"))
}
