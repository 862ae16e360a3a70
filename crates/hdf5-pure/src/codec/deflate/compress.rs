//! Encodes a zlib stream (RFC 1950), with all of its input in memory.
//!
//! | field | bytes |
//! |---|---|
//! | method and window, level and check | 1, 1 |
//! | blocks | |
//! | Adler-32 checksum of the plain bytes, big-endian | 4 |

use super::blocks::{self, BitWriter};
use super::matches;

/// The largest part that is compressed at once, because positions have 32 bits.
const PART: usize = 1 << 30;

/// Returns a zlib stream, compressed at a `level` of 0 to 9.
pub(crate) fn compress(level: u32, input: &[u8]) -> Vec<u8> {
    let level = level.min(9);
    let hint = match level {
        0 | 1 => 0x01,
        2..=5 => 0x5e,
        6 => 0x9c,
        _ => 0xda,
    };
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    out.extend([0x78, hint]);
    let mut bits = BitWriter::new(out);
    if level == 0 {
        blocks::store(input, true, &mut bits);
    } else {
        let parts = input.len().div_ceil(PART).max(1);
        for part in 0..parts {
            let bytes = input.get(part * PART..input.len().min((part + 1) * PART)).unwrap_or_default();
            matches::compress(level, bytes, part + 1 == parts, &mut bits);
        }
    }
    let mut out = bits.finish();
    out.extend(simd_adler32::adler32(&input).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use flate2::{Decompress, FlushDecompress};
    use proptest::prelude::*;

    use super::*;

    fn decompress(stream: &[u8], len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len + 1);
        let mut decoder = Decompress::new(true);
        let status = decoder.decompress_vec(stream, &mut out, FlushDecompress::Finish).unwrap();
        assert_eq!(status, flate2::Status::StreamEnd);
        assert_eq!(decoder.total_in(), stream.len() as u64);
        out
    }

    fn by_flate2(level: u32, input: &[u8]) -> usize {
        use std::io::Write;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(input).unwrap();
        encoder.finish().unwrap().len()
    }

    /// Returns pseudo-random numbers.
    fn noise() -> impl Iterator<Item = u32> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        })
    }

    /// Returns inputs of many kinds.
    fn kinds() -> Vec<(&'static str, Vec<u8>)> {
        let ramp = || (0u32..).zip(noise()).map(|(i, noise)| ((i >> 6) * 4 + noise % 16) as f32);
        let floats: Vec<u8> = ramp().take(65_536).flat_map(f32::to_le_bytes).collect();
        let waves: Vec<u8> = (0..20_000).flat_map(|i| (f64::from(i) / 500.0).sin().to_le_bytes()).collect();
        let words = ["the", "of", "field", "value", "number", "and", "shape", "is", "chunk", "\n"];
        let text: String = noise().take(40_000).map(|i| words[i as usize % 10].to_owned() + " ").collect();
        vec![
            ("nothing", Vec::new()),
            ("a byte", vec![7]),
            ("zeros", vec![0; 200_000]),
            ("shuffled floats", crate::codec::shuffle::encode(4, &floats)),
            ("floats", floats),
            ("shuffled waves", crate::codec::shuffle::encode(8, &waves)),
            ("waves", waves),
            ("text", text.into_bytes()),
            ("random", noise().take(100_000).map(|n| n as u8).collect()),
            ("few values", noise().take(100_000).map(|n| (n % 3) as u8).collect()),
            ("periods", (0..100_000u32).map(|i| (i % 700 * 4) as u8).collect()),
            ("rare", noise().take(200_000).map(|n| if n % 100 == 0 { n as u8 } else { 0 }).collect()),
            ("integers", (0..50_000u32).flat_map(|i| (i * 3).to_be_bytes()).collect()),
        ]
    }

    #[test]
    fn every_kind_comes_back_and_is_small() {
        for (kind, input) in kinds() {
            // If single bytes and repetitions of three matter, this encoder may lose more.
            let percent = if ["text", "rare", "integers"].contains(&kind) { 25 } else { 4 };
            for level in 0..=9 {
                let stream = compress(level, &input);
                assert_eq!(u16::from_be_bytes([stream[0], stream[1]]) % 31, 0);
                assert!(decompress(&stream, input.len()) == input, "{kind} at {level}");
                let theirs = by_flate2(level, &input);
                assert!(
                    stream.len() <= theirs + theirs * percent / 100 + 40,
                    "{kind} at {level}: {} for {theirs}",
                    stream.len()
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..30usize), 0..40),
            level in 0u32..10,
        ) {
            let input: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            prop_assert!(decompress(&compress(level, &input), input.len()) == input);
        }
    }
}
