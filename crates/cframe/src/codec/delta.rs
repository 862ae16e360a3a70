//! Delta: exclusive or with earlier bytes.
//!
//! In the first block, each word is combined with the word before it. In every other block, each byte is combined with the byte
//! at the same position of the first block of the decoded chunk. Bytes after the last whole word are unchanged.

/// Returns the word size for a type size.
pub(crate) fn word(size: usize) -> usize {
    match size {
        1 | 2 | 4 | 8 => size,
        _ if size.is_multiple_of(8) => 8,
        _ => 1,
    }
}

/// Encodes the first block.
pub(crate) fn encode_first(input: &[u8], size: usize, out: &mut [u8]) {
    let word = word(size);
    let whole = input.len() / word * word;
    out.copy_from_slice(input);
    let later = out.get_mut(word..whole.max(word)).unwrap_or_default();
    later.iter_mut().zip(input).for_each(|(byte, before)| *byte ^= before);
}

/// Decodes the first block in place.
pub(crate) fn decode_first(block: &mut [u8], size: usize) {
    fn prefix<const N: usize>(block: &mut [u8]) {
        let mut before = [0; N];
        for word in block.as_chunks_mut::<N>().0 {
            word.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
            before = *word;
        }
    }
    match word(size) {
        1 => prefix::<1>(block),
        2 => prefix::<2>(block),
        4 => prefix::<4>(block),
        _ => prefix::<8>(block),
    }
}

/// Encodes or decodes another block in place; `reference` is the first block.
pub(crate) fn apply(block: &mut [u8], size: usize, reference: &[u8]) {
    let word = word(size);
    let whole = block.len() / word * word;
    let body = block.get_mut(..whole).unwrap_or_default();
    body.iter_mut().zip(reference).for_each(|(byte, other)| *byte ^= other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_other_blocks() {
        let input: Vec<u8> = (0..43).map(|i| (i * 37) as u8).collect();
        for size in [1, 2, 3, 4, 7, 8, 12, 16, 24] {
            let mut out = vec![0; input.len()];
            encode_first(&input, size, &mut out);
            let step = word(size);
            assert_eq!(out[step], input[step] ^ input[0]);
            decode_first(&mut out, size);
            assert_eq!(out, input, "size {size}");
            let reference = vec![0x55; 43];
            apply(&mut out, size, &reference);
            assert_eq!(out[0], input[0] ^ 0x55);
            apply(&mut out, size, &reference);
            assert_eq!(out, input);
        }
        encode_first(&[1], 8, &mut [0]);
    }
}
