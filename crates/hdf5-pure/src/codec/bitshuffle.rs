//! Bitshuffle (filter 32008): the first bits of all elements of a block come first, then their second bits, and so on.
//! Each block may be compressed.

use sciformats_core::{Fault, FaultKind, bound};

use super::{framed, front};

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let value = |at: usize| values.get(at).map_or(0, |&value| bound::addressable(value.into()));
    let size = value(2);
    if size == 0 {
        return Err(Fault::new("element size", FaultKind::Undefined { found: 0 }));
    }
    let default = (8192 / size / 8 * 8).max(128);
    if value(4) == 0 {
        let elements = if value(3) == 0 { default } else { value(3) };
        return plain(input, size, elements);
    }
    let (rest, (total, block)) = front(input, framed::sizes)?;
    let total =
        usize::try_from(total).ok().filter(|&total| total <= max).ok_or_else(|| super::too_long(max))?;
    let elements = bound::addressable(block.into()) / size / 8 * 8;
    if elements == 0 && total / size >= 8 {
        return Err(Fault::new("block size", FaultKind::Undefined { found: block.into() }));
    }
    compressed(rest, size, elements, total, value(4))
}

fn plain(input: &[u8], size: usize, elements: usize) -> Result<Vec<u8>, Fault> {
    if !elements.is_multiple_of(8) {
        return Err(Fault::new("block size", FaultKind::Undefined { found: elements as u64 }));
    }
    let mut out = vec![0; input.len()];
    let mut planes = Vec::new();
    let mut done = 0;
    while (input.len() - done) / size >= 8 {
        let n = elements.min((input.len() - done) / size / 8 * 8);
        let end = done + n * size;
        let (Some(block), Some(to)) =
            (input.get(done..end).filter(|block| !block.is_empty()), out.get_mut(done..end))
        else {
            return Err(super::truncated("block"));
        };
        gather(block, size, &mut planes, to);
        done = end;
    }
    let (Some(tail), Some(to)) = (input.get(done..), out.get_mut(done..)) else { return Ok(out) };
    to.copy_from_slice(tail);
    Ok(out)
}

fn compressed(
    input: &[u8],
    size: usize,
    elements: usize,
    total: usize,
    codec: usize,
) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let (mut block, mut planes) = (Vec::new(), Vec::new());
    let mut rest = input;
    while (total - out.len()) / size >= 8 {
        let n = elements.min((total - out.len()) / size / 8 * 8);
        let (after, data) = front(rest, framed::block)?;
        block = decompress(codec, block, data, n * size)?;
        let start = out.len();
        if start == 0 {
            // The first block could be decoded, so that the others are likely to be there too.
            out.reserve(total);
        }
        out.resize(start + block.len(), 0);
        gather(&block, size, &mut planes, out.get_mut(start..).unwrap_or_default());
        rest = after;
    }
    let tail = rest.get(..total - out.len()).ok_or_else(|| super::truncated("last elements"))?;
    out.extend_from_slice(tail);
    Ok(out)
}

/// Decodes a block to `len` bytes in the memory of `out`.
fn decompress(codec: usize, out: Vec<u8>, data: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    match codec {
        #[cfg(feature = "lz4")]
        2 => super::lz4::decode_block(out, data, len),
        #[cfg(any(feature = "zstd", feature = "ruzstd"))]
        3 => super::zstd::decode(out, data, (len, len))
            .and_then(|out| if out.len() == len { Ok(out) } else { Err(super::truncated("block")) }),
        found => {
            let _ = (out, data, len);
            Err(Fault::new("compression", FaultKind::Undefined { found: found as u64 }))
        }
    }
}

/// Reassembles the bits of a block of elements, whose number is a multiple of 8. `out` is as long as the block.
fn gather(block: &[u8], size: usize, planes: &mut Vec<u8>, out: &mut [u8]) {
    // Where it is compiled anyway, the kernels of Blosc2 use the vectors of the processor.
    #[cfg(feature = "blosc2")]
    {
        let _ = planes;
        cframe::shuffle::bitunshuffle(block, size, out);
    }
    #[cfg(not(feature = "blosc2"))]
    in_words::gather(block, size, planes, out);
}

/// Rearranges the bits of a block of elements by their position in the element. The number of elements is a multiple of
/// 8, and `out` is as long as the block.
fn spread(block: &[u8], size: usize, planes: &mut Vec<u8>, out: &mut [u8]) {
    #[cfg(feature = "blosc2")]
    {
        let _ = planes;
        cframe::shuffle::bitshuffle(block, size, out);
    }
    #[cfg(not(feature = "blosc2"))]
    in_words::spread(block, size, planes, out);
}

/// The same with words of 64 bits. Eight rows of bits are shuffled to words, in each of which a matrix of bits is transposed; this
/// makes planes of bytes, which are those of the shuffle filter.
#[cfg(any(test, not(feature = "blosc2")))]
mod in_words {
    use super::super::shuffle;

    pub(super) fn gather(block: &[u8], size: usize, planes: &mut Vec<u8>, out: &mut [u8]) {
        let plane = block.len() / size;
        planes.resize(block.len(), 0);
        for (rows, plane) in block.chunks_exact(plane).zip(planes.chunks_exact_mut(plane)) {
            shuffle::decode_to(8, rows, plane);
            transpose(plane);
        }
        shuffle::decode_to(size, planes, out);
    }

    pub(super) fn spread(block: &[u8], size: usize, planes: &mut Vec<u8>, out: &mut [u8]) {
        let plane = block.len() / size;
        planes.resize(block.len(), 0);
        shuffle::encode_to(size, block, planes);
        for (plane, rows) in planes.chunks_exact_mut(plane).zip(out.chunks_exact_mut(plane)) {
            transpose(plane);
            shuffle::encode_to(8, plane, rows);
        }
    }

    /// Transposes the matrix of bits in each word.
    fn transpose(plane: &mut [u8]) {
        for word in plane.as_chunks_mut::<8>().0 {
            *word = super::transpose8(u64::from_le_bytes(*word)).to_le_bytes();
        }
    }
}

/// Transposes a matrix of 8 x 8 bits, with one row per byte.
#[cfg(any(test, not(feature = "blosc2")))]
fn transpose8(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let t = (x ^ x >> shift) & mask;
        x ^= t ^ t << shift;
    }
    x
}

/// Encodes as the client data values require. `None` if the input does not consist of whole elements, as after a filter that appended a
/// checksum: the original plug-in refuses it in both directions.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let value = |at: usize| values.get(at).map_or(0, |&value| bound::addressable(value.into()));
    let size = value(2);
    if size == 0 {
        return Err(Fault::new("element size", FaultKind::Undefined { found: 0 }));
    }
    if !input.len().is_multiple_of(size) {
        return Ok(None);
    }
    let default = (8192 / size / 8 * 8).max(128);
    let elements = if value(3) == 0 { default } else { value(3) / 8 * 8 };
    let Some(block) = elements.checked_mul(size).filter(|&block| block > 0) else {
        return Err(Fault::new("block size", FaultKind::Undefined { found: elements as u64 }));
    };
    let mut out = Vec::with_capacity(input.len());
    if value(4) != 0 {
        out.extend((input.len() as u64).to_be_bytes());
        out.extend(super::length("block size", block)?.to_be_bytes());
    }
    let whole = input.len() / size / 8 * 8 * size;
    let (blocks, tail) = input.split_at(whole);
    let (mut planes, mut shuffled) = (Vec::new(), Vec::new());
    for part in blocks.chunks(block) {
        if value(4) == 0 {
            let start = out.len();
            out.resize(start + part.len(), 0);
            spread(part, size, &mut planes, out.get_mut(start..).unwrap_or_default());
            continue;
        }
        shuffled.resize(part.len(), 0);
        spread(part, size, &mut planes, &mut shuffled);
        let encoded = compress(values, &shuffled)?;
        out.extend(super::length("block", encoded.len())?.to_be_bytes());
        out.extend(encoded);
    }
    out.extend_from_slice(tail);
    Ok(Some(out))
}

fn compress(values: &[u32], data: &[u8]) -> Result<Vec<u8>, Fault> {
    match values.get(4) {
        #[cfg(feature = "lz4")]
        Some(2) => Ok(super::lz4::encode_block(data)),
        #[cfg(feature = "zstd")]
        Some(3) => super::zstd::encode(values.get(5).map_or(3, |&level| level.cast_signed()), data),
        found => {
            let _ = data;
            let found = found.copied().unwrap_or_default().into();
            Err(Fault::new("compression", FaultKind::Undefined { found }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_together() {
        // These are 16 elements of 2 bytes. Bit b of byte i of element e stands at bit e % 8 of byte (8 i + b) * 2 + e
        // / 8.
        let elements: Vec<u8> = (0..32).map(|i: u32| (i * 37 + 11) as u8).collect();
        let mut stored = vec![0u8; 32];
        for e in 0..16 {
            for i in 0..2 {
                for b in 0..8 {
                    stored[(8 * i + b) * 2 + e / 8] |= (elements[e * 2 + i] >> b & 1) << (e % 8);
                }
            }
        }
        stored.extend([1, 2, 3]);
        let decoded = decode(&[0, 4, 2, 0, 0], &stored, 100).unwrap();
        assert_eq!(decoded[..32], elements);
        assert_eq!(decoded[32..], [1, 2, 3]);
    }

    #[test]
    fn only_whole_elements_are_encoded() {
        let compressed = cfg!(feature = "lz4").then_some(&[0, 4, 8, 0, 2][..]);
        for values in std::iter::once(&[0, 4, 8, 0][..]).chain(compressed) {
            assert!(encode(values, &[7; 800]).unwrap().is_some());
            assert_eq!(encode(values, &[7; 804]).unwrap(), None);
        }
    }

    #[test]
    fn words_and_vectors_do_the_same() {
        for (size, elements) in
            [(1, 8), (2, 4096), (3, 40), (4, 2048), (4, 8), (8, 1024), (12, 72), (16, 512)]
        {
            let block: Vec<u8> = (0..size * elements).map(|i| (i * 7 + i / 251) as u8).collect();
            let (mut rows, mut words, mut back) =
                (vec![0; block.len()], vec![0; block.len()], vec![0; block.len()]);
            spread(&block, size, &mut Vec::new(), &mut rows);
            in_words::spread(&block, size, &mut vec![7; 9], &mut words);
            assert_eq!(rows, words, "{elements} elements of {size} bytes");
            gather(&rows, size, &mut Vec::new(), &mut back);
            assert_eq!(back, block);
            back.fill(0);
            in_words::gather(&rows, size, &mut vec![7; 9], &mut back);
            assert_eq!(back, block, "{elements} elements of {size} bytes");
        }
    }
}
