//! An LZ4 block, without length or frame; optionally with a dictionary, which stands before the first byte.

use super::{CORRUPT, Outcome, exact};

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Outcome {
    let expected = out.len();
    let made = match dictionary {
        None => lz4_flex::block::decompress_into(input, out),
        Some(dictionary) => lz4_flex::block::decompress_into_with_dict(input, out, dictionary),
    };
    exact(made.map_err(|_| CORRUPT)?, expected)
}

/// Encodes `input` behind what `out` holds, if that takes less than `limit` bytes. Returns whether it did; if it did
/// not, `out` is as it was.
pub(crate) fn encode(input: &[u8], dictionary: Option<&[u8]>, out: &mut Vec<u8>, limit: usize) -> bool {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(input.len()), 0);
    let target = out.get_mut(start..).unwrap_or_default();
    let made = match dictionary {
        None => lz4_flex::block::compress_into(input, target),
        Some(dictionary) => lz4_flex::block::compress_into_with_dict(input, target, dictionary),
    };
    let made = made.ok().filter(|&made| made < limit);
    out.truncate(start + made.unwrap_or(0));
    made.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_by_hand() {
        let bytes = [
            0x32, b'a', b'b', b'c', 3, 0, // three literals, six bytes from three back
            0x50, b'h', b'e', b'l', b'l', b'o', // five literals
        ];
        let mut out = [0; 14];
        decode(&bytes, None, &mut out).unwrap();
        assert_eq!(&out, b"abcabcabchello");
        assert!(decode(&bytes, None, &mut [0; 13]).is_err() && decode(&bytes, None, &mut [0; 15]).is_err());
    }

    #[test]
    fn a_dictionary_stands_before() {
        let dictionary: Vec<u8> = (0..=255).collect();
        let input: Vec<u8> = (10..200).collect();
        let mut out = Vec::new();
        assert!(encode(&input, Some(&dictionary), &mut out, input.len()));
        assert!(out.len() < 30);
        let mut again = vec![0; input.len()];
        decode(&out, Some(&dictionary), &mut again).unwrap();
        assert_eq!(again, input);
        assert!(decode(&out, None, &mut again).is_err());
    }
}
