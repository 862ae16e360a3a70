//! A zlib stream.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{CORRUPT, Outcome, exact};

/// A decoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Decoder(Option<Decompress>);

impl Decoder {
    /// Decodes into all of `out`.
    pub(crate) fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Outcome {
        let state = self.0.get_or_insert_with(|| Decompress::new(true));
        state.reset(true);
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
    /// Encodes `input` behind what `out` holds, if that takes less than `limit` bytes. Returns whether it did; if it
    /// did not, `out` is as it was.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, out: &mut Vec<u8>, limit: usize) -> bool {
        let fresh = || (level, Compress::new(Compression::new(level.min(9).into()), true));
        let (of, state) = self.0.get_or_insert_with(fresh);
        if *of == level {
            state.reset();
        } else {
            (*of, *state) = fresh();
        }
        let start = out.len();
        out.resize(start + limit.saturating_sub(1), 0);
        let target = out.get_mut(start..).unwrap_or_default();
        let done = matches!(state.compress(input, target, FlushCompress::Finish), Ok(Status::StreamEnd));
        out.truncate(start + if done { state.total_out() as usize } else { 0 });
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_one_after_another() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for level in [1, 1, 9, 5] {
            let input: Vec<u8> = (0..5000u32).map(|i| (i / 9 * u32::from(level)) as u8).collect();
            let mut bytes = vec![1];
            assert!(encoder.encode(&input, level, &mut bytes, input.len()));
            let mut out = vec![0; input.len()];
            decoder.decode(&bytes[1..], &mut out).unwrap();
            assert_eq!(out, input);
            assert!(decoder.decode(&bytes[1..], &mut vec![0; 4999]).is_err());
            assert!(decoder.decode(&bytes[1..], &mut vec![0; 5001]).is_err());
            assert!(decoder.decode(&bytes[1..20], &mut out).is_err());
            let fits = bytes.len() - 1;
            let mut again = Vec::new();
            assert!(!encoder.encode(&input, level, &mut again, fits) && again.is_empty());
            assert!(encoder.encode(&input, level, &mut again, fits + 1));
        }
    }
}
