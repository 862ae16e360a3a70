//! A zlib stream (RFC 1950): a header of two bytes, a DEFLATE stream (RFC 1951), and its Adler-32 checksum.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use sciformats_core::inflate::{Inflater, is_repetitive, zlib_body};

use super::{CORRUPT, Outcome, exact, lz};

/// A decoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Decoder {
    state: Option<Decompress>,
    inflater: Option<Inflater>,
}

impl Decoder {
    /// Decodes into all of `out`.
    pub(crate) fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Outcome {
        match zlib_body(input) {
            // WebAssembly has none of the instructions of processors for which zlib-rs is tuned.
            Some(stream) if cfg!(target_family = "wasm") || is_repetitive(stream, out.len()) => {
                self.in_one_go(stream, out).map_or_else(|| self.by_parts(input, out), Ok)
            }
            _ => self.by_parts(input, out),
        }
    }

    /// Decodes a stream without faults, and compares its checksum. It returns `None` for any other, and the other decoder says why.
    fn in_one_go(&mut self, stream: &[u8], out: &mut [u8]) -> Option<()> {
        let used = self.inflater.get_or_insert_default().inflate_into(stream, out)?;
        let sum = stream.get(used..)?.first_chunk()?;
        (simd_adler32::adler32(&&*out) == u32::from_be_bytes(*sum)).then_some(())
    }

    fn by_parts(&mut self, input: &[u8], out: &mut [u8]) -> Outcome {
        let state = match &mut self.state {
            Some(state) => {
                state.reset(true);
                state
            }
            empty => empty.insert(Decompress::new(true)),
        };
        match state.decompress(input, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => exact(state.total_out() as usize, out.len()),
            _ => Err(CORRUPT),
        }
    }
}

/// An encoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Encoder(Option<(u8, Compress)>);

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, out: &mut [u8]) -> Option<usize> {
        let fresh = || (level, Compress::new(Compression::new(level.min(9).into()), true));
        let (of, state) = self.0.get_or_insert_with(fresh);
        if *of == level {
            state.reset();
        } else {
            (*of, *state) = fresh();
        }
        // Long inputs that look like noise are only compressed if their front can be compressed.
        if let Some((front, [_, ..])) = input.split_at_checked(FRONT)
            && lz::hopeless(input)
            && lz::even(input)
        {
            run(state, front, out).filter(|&len| len < FRONT)?;
            state.reset();
        }
        run(state, input, out)
    }
}

/// Twice the largest distance of a match.
const FRONT: usize = 64 << 10;

fn run(state: &mut Compress, input: &[u8], out: &mut [u8]) -> Option<usize> {
    match state.compress(input, out, FlushCompress::Finish) {
        Ok(Status::StreamEnd) => Some(state.total_out() as usize),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, len in 0usize..3000) {
            let mut decoder = Decoder::default();
            let _ = decoder.decode(&bytes, &mut vec![0; len]);
            let body = [&[0x78, 0x9c], bytes.as_slice()].concat();
            let _ = decoder.decode(&body, &mut vec![0; len]);
        }
    }

    #[test]
    fn noise_is_given_up_unless_it_recurs_or_is_uneven() {
        let mut state = 1u32;
        let mut noise = |len: usize| -> Vec<u8> {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            std::iter::repeat_with(next).take(len).collect()
        };
        let mut encoder = Encoder::default();
        let mut out = vec![0; 400_000];
        let all = noise(300_000);
        assert_eq!(encoder.encode(&all, 6, &mut out), None);
        // Short inputs are always tried.
        assert!(encoder.encode(&all[..FRONT], 6, &mut out).is_some_and(|len| len > FRONT));
        // Repetitions whose distance is larger than the reach of a sample.
        let far = noise(20_000).repeat(15);
        assert!(lz::hopeless(&far) && encoder.encode(&far, 6, &mut out).unwrap() < 30_000);
        let few: Vec<u8> = all.iter().map(|byte| byte & 0xfb).collect();
        assert!(lz::hopeless(&few) && encoder.encode(&few, 6, &mut out).unwrap() < 270_000);
        let mut back = vec![0; 300_000];
        let len = encoder.encode(&few, 6, &mut out).unwrap();
        Decoder::default().decode(&out[..len], &mut back).unwrap();
        assert!(back == few);
    }

    #[test]
    fn streams_one_after_another() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for level in [1, 1, 9, 5] {
            let input: Vec<u8> = (0..5000u32).map(|i| (i / 9 * u32::from(level)) as u8).collect();
            let mut bytes = vec![0; input.len()];
            let len = encoder.encode(&input, level, &mut bytes).unwrap();
            bytes.truncate(len);
            let mut out = vec![0; input.len()];
            decoder.decode(&bytes, &mut out).unwrap();
            assert_eq!(out, input);
            assert!(decoder.decode(&bytes, &mut vec![0; 4999]).is_err());
            assert!(decoder.decode(&bytes, &mut vec![0; 5001]).is_err());
            assert!(decoder.decode(&bytes[..20], &mut out).is_err());
            bytes[len - 1] ^= 1;
            assert!(decoder.decode(&bytes, &mut out).is_err(), "the checksum");
            let mut again = vec![0; len];
            assert_eq!(encoder.encode(&input, level, &mut again[1..]), None);
            assert_eq!(encoder.encode(&input, level, &mut again), Some(len));
        }
    }
}
