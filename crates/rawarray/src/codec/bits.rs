//! Truth values packed into words of 64 bits. The first value is in the lowest bit.
//!
//! The words are little-endian; the caller swaps the words of a big-endian file.

/// The size of a word in bytes.
pub(crate) const WORD: usize = 8;

/// Unpacks one bit for each byte of `out`, beginning with bit number `first`. A byte becomes 0 or 1.
///
/// The caller passes enough words; if bits are missing, the rest of `out` is left unchanged.
pub(crate) fn unpack(words: &[u8], first: usize, out: &mut [u8]) {
    let skip = first / 8;
    let bits = words.iter().skip(skip).flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
    for (value, bit) in out.iter_mut().zip(bits.skip(first % 8)) {
        *value = bit;
    }
}

/// Packs truth values of one byte each; 0 is false. The last word is padded with zeros.
pub(crate) fn pack(values: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.len().div_ceil(64) * WORD);
    for eight in values.chunks(8) {
        out.push(eight.iter().enumerate().fold(0, |byte, (bit, &value)| byte | u8::from(value != 0) << bit));
    }
    out.resize(out.len().next_multiple_of(WORD), 0);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_value_is_the_lowest_bit() {
        assert_eq!(pack(&[1, 0, 0, 1, 0, 0, 0, 0, 1]), [0b1001, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(pack(&[]), []);
        let mut out = [9; 4];
        unpack(&[0b0110_0000, 0b1], 5, &mut out);
        assert_eq!(out, [1, 1, 0, 1]);
    }

    proptest! {
        #[test]
        fn unpack_reverses_pack(values in prop::collection::vec(0u8..2, 0..300), first in 0usize..300) {
            let words = pack(&values);
            prop_assert_eq!(words.len(), values.len().div_ceil(64) * 8);
            let first = first.min(values.len());
            let mut out = vec![7; values.len() - first];
            unpack(&words, first, &mut out);
            prop_assert_eq!(&out, &values[first..]);
        }
    }
}
