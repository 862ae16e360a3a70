//! A zlib stream (RFC 1950): two bytes of header, a DEFLATE stream, its Adler-32 checksum.

use flate2::{Compress, Compression, FlushCompress, Status};

use super::inflate::Inflater;
use super::{CORRUPT, Outcome, exact};

/// A decoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Decoder(Option<Box<Inflater>>);

impl Decoder {
    /// Decodes into all of `out`.
    pub(crate) fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Outcome {
        let made = self.run(input, out).ok_or(CORRUPT)?;
        exact(made, out.len())
    }

    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Option<usize> {
        let (header, body) = input.split_first_chunk::<2>()?;
        let [method, flags] = *header;
        // DEFLATE with a window of at most 32 KiB, and no dictionary.
        let known = method & 15 == 8 && method >> 4 <= 7 && flags & 0x20 == 0;
        if !known || !u16::from_be_bytes(*header).is_multiple_of(31) {
            return None;
        }
        let (made, taken) = self.0.get_or_insert_default().inflate(body, out)?;
        let checksum = body.get(taken..)?.first_chunk::<4>()?;
        let found = simd_adler32::adler32(&out.get(..made)?);
        (u32::from_be_bytes(*checksum) == found).then_some(made)
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
        match state.compress(input, out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Some(state.total_out() as usize),
            _ => None,
        }
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
