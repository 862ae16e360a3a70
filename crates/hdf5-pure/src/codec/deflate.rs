//! Deflate (filter 1): a zlib stream.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use sciformats_core::inflate::{Inflater, is_repetitive, zlib_body};
use sciformats_core::{Error, Fault, FaultKind, Result, bound};

/// The weakest level that is used. Level 1 of zlib-rs never makes codes of its own, so that noise grows by 6 % and bytes
/// of the shuffle filter become a third larger than with level 2, which is still faster than level 1 of zlib.
const WEAKEST: u32 = 2;

thread_local! {
    /// The encoder and the decoder that the thread used last. The tables of an encoder take a quarter of a megabyte, and chunks may
    /// have a few bytes.
    static ENCODER: RefCell<Option<(u32, Compress)>> = const { RefCell::new(None) };
    static DECODER: RefCell<Option<Decompress>> = const { RefCell::new(None) };
    static INFLATER: RefCell<Option<Inflater>> = const { RefCell::new(None) };
}

/// Returns a zlib stream, compressed at a `level` of 0 to 9.
pub(crate) fn encode(level: u32, input: &[u8]) -> Result<Vec<u8>> {
    let level = if level == 0 { 0 } else { level.clamp(WEAKEST, 9) };
    let kept = ENCODER.take().filter(|(of, _)| *of == level).map(|(_, mut stream)| {
        stream.reset();
        stream
    });
    let mut stream = kept.unwrap_or_else(|| Compress::new(Compression::new(level), true));
    let out = deflated(&mut stream, input)?;
    ENCODER.set(Some((level, stream)));
    Ok(out)
}

fn deflated(stream: &mut Compress, input: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    loop {
        let read = bound::addressable(stream.total_in());
        let rest = input.get(read..).unwrap_or_default();
        match stream.compress_vec(rest, &mut out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return Ok(out),
            // There was no more room.
            Ok(_) if out.len() == out.capacity() => out.reserve(out.len()),
            Ok(_) | Err(_) => {
                return Err(Error::internal("the encoder of a zlib stream stopped before its end"));
            }
        }
    }
}

/// Decodes a stream of about `expected` and at most `max` bytes into `out`. Bytes after the stream are ignored.
pub(crate) fn decode(input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    // WebAssembly has none of the instructions of processors for which zlib-rs is tuned.
    if let Some(stream) = zlib_body(input)
        && (cfg!(target_family = "wasm") || is_repetitive(stream, expected.min(max)))
        && in_one_go(stream, expected, max, out).is_some()
    {
        return Ok(());
    }
    by_parts(input, expected, max, out)
}

/// Decodes the deflate stream of a zlib stream without faults with the decoder of this project. It returns `None` for whatever it cannot decode, and the other decoder says why.
fn in_one_go(stream: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut inflater = INFLATER.take().unwrap_or_default();
    let used = inflater.inflate(stream, expected, max, out);
    INFLATER.set(Some(inflater));
    let sum = stream.get(used?..)?.first_chunk()?;
    (simd_adler32::adler32(&out.as_slice()) == u32::from_be_bytes(*sum)).then_some(())
}

fn by_parts(input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut stream = DECODER.take().unwrap_or_else(|| Decompress::new(true));
    stream.reset(true);
    let result = inflated(&mut stream, input, (expected, max), out);
    DECODER.set(Some(stream));
    result
}

fn inflated(
    stream: &mut Decompress,
    input: &[u8],
    (expected, max): (usize, usize),
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    out.clear();
    out.reserve(expected.min(max));
    loop {
        let read = bound::addressable(stream.total_in());
        let before = (stream.total_in(), stream.total_out());
        let input = input.get(read..).unwrap_or_default();
        match stream.decompress_vec(input, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) if out.len() <= max => return Ok(()),
            Ok(_) if out.len() >= max => return Err(super::too_long(max)),
            Ok(_) if out.len() == out.capacity() => out.reserve((max - out.len()).min(out.len().max(4096))),
            Ok(_) if before == (stream.total_in(), stream.total_out()) => {
                return Err(super::truncated("zlib stream"));
            }
            Ok(_) => {}
            Err(_) => return Err(Fault::new("zlib stream", FaultKind::Rule("cannot be decoded"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(stream: &[u8], len: usize) -> Vec<u8> {
        let mut out = Vec::new();
        decode(stream, len, len, &mut out).unwrap();
        out
    }

    fn quickly(stream: &[u8], expected: usize, max: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        in_one_go(zlib_body(stream)?, expected, max, &mut out).map(|()| out)
    }

    /// Returns pseudo-random numbers.
    fn noise() -> impl Iterator<Item = u32> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        })
    }

    #[test]
    fn a_stream_byte_by_byte() {
        let stream = [
            0x78, 0x01, // method and window, level and check
            0x01, // last block, stored
            3, 0, 0xfc, 0xff, // length, its complement
            b'a', b'b', b'c', // bytes
            0x02, 0x4d, 0x01, 0x27, // Adler-32, big-endian
        ];
        assert_eq!(decoded(&stream, 3), b"abc");
        assert_eq!(encode(0, b"abc").unwrap(), stream);
        let fault = |stream: &[u8], max| decode(stream, 3, max, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(fault(&stream[..9], 3), "zlib stream is truncated");
        assert_eq!(fault(&stream, 2), "decoded length is 3, out of bounds (end 3)");
        assert_eq!(fault(&[&stream[..13], &[0]].concat(), 3), "zlib stream cannot be decoded");
    }

    #[test]
    fn nothing_is_left_of_the_stream_before() {
        let chunks: Vec<Vec<u8>> = (0..6)
            .map(|part| noise().skip(part * 7).take(20_000).map(|noise| (noise % 9) as u8).collect())
            .collect();
        let alone = |level: u32, chunk: &[u8]| {
            let chunk = chunk.to_vec();
            std::thread::spawn(move || encode(level, &chunk).unwrap()).join().unwrap()
        };
        for (level, chunk) in [4, 4, 9, 1, 1, 0].into_iter().zip(&chunks) {
            let stream = encode(level, chunk).unwrap();
            assert!(stream == alone(level, chunk), "of level {level}");
            // A stream that is cut or wrong leaves the decoder in the middle.
            assert!(decode(&stream[..stream.len() / 2], 20_000, 20_000, &mut Vec::new()).is_err());
            assert!(decode(b"no stream", 20_000, 20_000, &mut Vec::new()).is_err());
            assert!(decoded(&stream, 20_000) == *chunk);
        }
    }

    #[test]
    fn every_kind_comes_back_and_none_grows() {
        let ramp = || (0u32..).zip(noise()).map(|(i, noise)| ((i >> 6) * 4 + noise % 16) as f32);
        let floats: Vec<u8> = ramp().take(65_536).flat_map(f32::to_le_bytes).collect();
        let waves: Vec<u8> = (0..20_000).flat_map(|i| (f64::from(i) / 500.0).sin().to_le_bytes()).collect();
        let words = [
            "temperature",
            "of",
            "the",
            "sea",
            "is",
            "0.25",
            "degrees",
            "\n",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ];
        let words = noise().map(|noise| words[noise as usize % words.len()]).take(20_000);
        let words = words.collect::<Vec<_>>().join(" ").into_bytes();
        let kinds = [
            ("nothing", Vec::new(), 0),
            ("a byte", vec![7], 1),
            ("zeros", vec![0; 200_000], 1000),
            ("shuffled floats", crate::codec::shuffle::encode(4, &floats), 60_000),
            ("floats", floats, 110_000),
            ("waves", waves, 160_000),
            ("random", noise().take(100_000).map(|n| n as u8).collect(), 100_000),
            ("words", words, 40_000),
            ("integers", (0..50_000u32).flat_map(|i| (i * 3).to_be_bytes()).collect(), 130_000),
        ];
        for (kind, input, most) in kinds {
            for level in 0..=10 {
                let stream = encode(level, &input).unwrap();
                assert!(decoded(&stream, input.len()) == input, "{kind} at {level}");
                for expected in [input.len(), input.len() / 3] {
                    let quick = quickly(&stream, expected, input.len());
                    assert!(quick.as_ref() == Some(&input), "{kind} at {level}");
                }
                let most = if level == 0 { input.len() } else { most };
                assert!(stream.len() <= most + most / 1000 + 32, "{kind} at {level}: {}", stream.len());
            }
        }
    }

    #[test]
    fn long_streams_that_are_damaged_or_cut_are_never_taken_for_others() {
        let walk = noise().scan(0i32, |at, noise| {
            *at += (noise % 201) as i32 - 100;
            Some(*at as f32 / 100.0)
        });
        let input: Vec<u8> = walk.take(30_000).flat_map(f32::to_le_bytes).collect();
        for level in [0, 2, 4, 9] {
            let stream = encode(level, &input).unwrap();
            assert!(quickly(&stream, input.len(), input.len()).as_ref() == Some(&input));
            for hit in noise().take(150) {
                let (at, bit) = (hit as usize / 8 % stream.len(), hit % 8);
                let mut damaged = stream.clone();
                damaged[at] ^= 1 << bit;
                let mut out = Vec::new();
                let whole = by_parts(&damaged, input.len(), input.len(), &mut out).map(|()| out);
                if let Some(quick) = quickly(&damaged, input.len(), input.len()) {
                    assert!(whole.as_ref() == Ok(&quick), "bit {bit} of byte {at} at {level}");
                }
                assert!(quickly(&stream[..at], input.len(), input.len()).is_none(), "{at} bytes at {level}");
            }
        }
    }

    proptest! {
        #[test]
        fn decode_reverses_encode(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..30usize), 0..40),
            level in 0u32..10,
        ) {
            let input: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            prop_assert!(decoded(&encode(level, &input).unwrap(), input.len()) == input);
        }

        #[test]
        fn both_decoders_agree_about_damaged_streams(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..30usize), 0..40),
            level in 0u32..10,
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
            (expected, max) in (0usize..20_000, 0usize..20_000),
        ) {
            let input: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            let mut stream = encode(level, &input).unwrap();
            for (at, byte) in &hits {
                *at.get_mut(&mut stream) = *byte;
            }
            for stream in [&stream[..], &stream[..cut.index(stream.len())]] {
                let mut out = Vec::new();
                let whole = by_parts(stream, expected, max, &mut out).map(|()| out);
                if let Some(quick) = quickly(stream, expected, max) {
                    prop_assert!(whole.as_ref() == Ok(&quick), "{whole:?}");
                }
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, expected in 0usize..300, max in 0usize..300) {
            for stream in [&bytes, &[&[0x78, 0x9c], &bytes[..]].concat()] {
                let _ = decode(stream, expected, max, &mut Vec::new());
                let _ = quickly(stream, expected, max);
            }
        }
    }
}
