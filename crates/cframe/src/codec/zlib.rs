//! A zlib stream.

use flate2::{Compress, Compression, FlushCompress, Status};
use zune_inflate::{DeflateDecoder, DeflateOptions};

use super::{CORRUPT, Outcome, exact};

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Outcome {
    let options =
        DeflateOptions::default().set_size_hint(out.len()).set_limit(out.len()).set_confirm_checksum(true);
    let made = DeflateDecoder::new_with_options(input, options).decode_zlib().map_err(|_| CORRUPT)?;
    exact(made.len(), out.len())?;
    out.copy_from_slice(&made);
    Ok(())
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
            let _ = decode(&bytes, &mut vec![0; len]);
            let body = [&[0x78, 0x9c], bytes.as_slice()].concat();
            let _ = decode(&body, &mut vec![0; len]);
        }
    }

    #[test]
    fn streams_one_after_another() {
        let mut encoder = Encoder::default();
        for level in [1, 1, 9, 5] {
            let input: Vec<u8> = (0..5000u32).map(|i| (i / 9 * u32::from(level)) as u8).collect();
            let mut bytes = vec![0; input.len()];
            let len = encoder.encode(&input, level, &mut bytes).unwrap();
            bytes.truncate(len);
            let mut out = vec![0; input.len()];
            decode(&bytes, &mut out).unwrap();
            assert_eq!(out, input);
            assert!(decode(&bytes, &mut vec![0; 4999]).is_err());
            assert!(decode(&bytes, &mut vec![0; 5001]).is_err());
            assert!(decode(&bytes[..20], &mut out).is_err());
            bytes[len - 1] ^= 1;
            assert!(decode(&bytes, &mut out).is_err(), "the checksum");
            let mut again = vec![0; len];
            assert_eq!(encoder.encode(&input, level, &mut again[1..]), None);
            assert_eq!(encoder.encode(&input, level, &mut again), Some(len));
        }
    }
}
