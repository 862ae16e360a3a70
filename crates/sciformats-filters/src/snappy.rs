//! Snappy (filter 32003, and inside Blosc 1): a raw block, or the framed form, which begins with a stream identifier.

use std::io::Read;

use sciformats_core::{Fault, bound};

use crate::Filter;
use crate::filter::{rule, within};

/// The first chunk of the framed form.
const IDENTIFIER: &[u8] = b"\xff\x06\x00\x00sNaPpY";

/// The filter.
pub(crate) struct Snappy;

impl Filter for Snappy {
    fn id(&self) -> u16 {
        32003
    }

    fn name(&self) -> &'static str {
        "snappy"
    }

    fn decode(&self, _values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        // These bytes are not the start of a raw block that can be decoded: they declare 895 bytes, and then copy from before the
        // start.
        if !input.starts_with(IDENTIFIER) {
            let len = snap::raw::decompress_len(input).map_err(|_| rule("decoded length", "is not valid"))?;
            let mut out = vec![0; within("decoded length", len as u64, max)?];
            block(input, &mut out)?;
            return Ok(out);
        }
        let mut out = Vec::new();
        let frames =
            snap::read::FrameDecoder::new(input).take(bound::sum(max as u64, 1)).read_to_end(&mut out);
        frames.map_err(|_| rule("snappy frame", "cannot be decoded"))?;
        within("decoded length", out.len() as u64, max)?;
        Ok(out)
    }

    fn encode(&self, _values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let encoded = snap::raw::Encoder::new().compress_vec(input);
        encoded.map(Some).map_err(|_| rule("chunk", "is too large for a block of Snappy"))
    }
}

/// Decodes a raw block into all of `out`.
pub(crate) fn block(input: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    let wrong = || rule("snappy block", "cannot be decoded");
    let declared = snap::raw::decompress_len(input).map_err(|_| wrong())?;
    let made = if declared == out.len() { snap::raw::Decoder::new().decompress(input, out) } else { Ok(0) };
    if made.map_err(|_| wrong())? == out.len() { Ok(()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: [u8; 8] = [
        10,          // decoded length
        0b0000_1000, // literal of 3 bytes
        b'a',
        b'b',
        b'c', //
        0b0000_1101,
        3,    // copy of 7 bytes from 3 bytes before
        0xff, // more than there should be
    ];

    #[test]
    fn a_block_and_its_faults() {
        assert_eq!(Snappy.decode(&[], &BLOCK[..7], 10).unwrap(), b"abcabcabca");
        assert!(Snappy.decode(&[], &BLOCK[..7], 9).is_err());
        assert!(Snappy.decode(&[], &BLOCK, 10).is_err());
        assert!(Snappy.decode(&[], &BLOCK[..6], 10).is_err());
        assert!(Snappy.decode(&[], &[], 10).is_err());
    }

    #[test]
    fn the_framed_form() {
        let mut framed = snap::read::FrameEncoder::new(&[7u8; 5000][..]);
        let mut bytes = Vec::new();
        framed.read_to_end(&mut bytes).unwrap();
        assert_eq!(Snappy.decode(&[], &bytes, 5000).unwrap(), [7; 5000]);
        assert!(Snappy.decode(&[], &bytes, 4999).is_err());
        assert!(Snappy.decode(&[], &bytes[..bytes.len() - 1], 5000).is_err());
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(input: Vec<u8>) {
            let bytes = Snappy.encode(&[], &input).unwrap().unwrap();
            prop_assert_eq!(Snappy.decode(&[], &bytes, input.len()).unwrap(), input);
        }

        #[test]
        fn no_bytes_panic(input: Vec<u8>) {
            let _ = Snappy.decode(&[], &input, 1000);
        }
    }
}
