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
    let mut out = Vec::with_capacity(input.len());
    let mut rest = input;
    while rest.len() / size >= 8 {
        let n = elements.min(rest.len() / size / 8 * 8);
        let (block, after) = rest.split_at_checked(n * size).ok_or_else(|| super::truncated("block"))?;
        transpose(block, size, &mut out);
        rest = after;
    }
    out.extend_from_slice(rest);
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
    let mut rest = input;
    while (total - out.len()) / size >= 8 {
        let n = elements.min((total - out.len()) / size / 8 * 8);
        let (after, data) = front(rest, framed::block)?;
        let block = decompress(codec, data, n * size)?;
        transpose(&block, size, &mut out);
        rest = after;
    }
    let tail = rest.get(..total - out.len()).ok_or_else(|| super::truncated("last elements"))?;
    out.extend_from_slice(tail);
    Ok(out)
}

fn decompress(codec: usize, data: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    match codec {
        #[cfg(feature = "lz4")]
        2 => super::lz4::decode_block(data, len),
        #[cfg(any(feature = "zstd", feature = "ruzstd"))]
        3 => super::zstd::decode(Vec::new(), data, (len, len))
            .and_then(|out| if out.len() == len { Ok(out) } else { Err(super::truncated("block")) }),
        found => {
            let _ = (data, len);
            Err(Fault::new("compression", FaultKind::Undefined { found: found as u64 }))
        }
    }
}

/// Reassembles the bits of a block of elements, whose number is a multiple of 8.
fn transpose(block: &[u8], size: usize, out: &mut Vec<u8>) {
    let row = block.len() / size / 8; // bytes that hold one bit of every element
    let start = out.len();
    out.resize(start + block.len(), 0);
    let (_, elements) = out.split_at_mut(start);
    if row == 0 {
        return;
    }
    for (byte, rows) in block.chunks_exact(row * 8).enumerate() {
        for group in 0..row {
            // One byte of each of eight rows gives one byte of eight elements.
            let mut bits = [0u8; 8];
            for (bit, row) in bits.iter_mut().zip(rows.chunks_exact(row)) {
                *bit = row.get(group).copied().unwrap_or(0); // a bound: a row always has this byte
            }
            let columns = transpose8(u64::from_le_bytes(bits)).to_le_bytes();
            for (element, value) in columns.into_iter().enumerate() {
                if let Some(slot) = elements.get_mut((group * 8 + element) * size + byte) {
                    *slot = value;
                }
            }
        }
    }
}

/// Transposes a matrix of 8 x 8 bits, with one row per byte.
fn transpose8(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let t = (x ^ x >> shift) & mask;
        x ^= t ^ t << shift;
    }
    x
}

/// Encodes as the client data values require.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Vec<u8>, Fault> {
    let value = |at: usize| values.get(at).map_or(0, |&value| bound::addressable(value.into()));
    let size = value(2);
    if size == 0 {
        return Err(Fault::new("element size", FaultKind::Undefined { found: 0 }));
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
    for part in blocks.chunks(block) {
        let shuffled = spread(part, size);
        if value(4) == 0 {
            out.extend(shuffled);
            continue;
        }
        let encoded = compress(values, &shuffled)?;
        out.extend(super::length("block", encoded.len())?.to_be_bytes());
        out.extend(encoded);
    }
    out.extend_from_slice(tail);
    Ok(out)
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

/// Rearranges the bits of a block of elements by their position in the element. The number of elements is a multiple of
/// 8.
fn spread(block: &[u8], size: usize) -> Vec<u8> {
    let row = block.len() / size / 8; // bytes that hold one bit of every element
    let mut out = vec![0; block.len()];
    if row == 0 {
        return out;
    }
    for (group, elements) in block.chunks_exact(size * 8).enumerate() {
        for (byte, rows) in out.chunks_exact_mut(row * 8).enumerate() {
            let mut column = [0u8; 8];
            for (to, element) in column.iter_mut().zip(elements.chunks_exact(size)) {
                *to = element.get(byte).copied().unwrap_or(0); // a bound: an element always has this byte
            }
            let bits = transpose8(u64::from_le_bytes(column)).to_le_bytes();
            for (row, value) in rows.chunks_exact_mut(row).zip(bits) {
                if let Some(slot) = row.get_mut(group) {
                    *slot = value;
                }
            }
        }
    }
    out
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
}
