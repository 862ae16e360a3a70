//! LZ4 (filter 32004): the total size (8 bytes, big-endian) and the block size (4), then for each block its compressed
//! size (4) and its bytes.

use sciformats_core::{Fault, FaultKind, bound};

use super::big_endian;

/// Decodes at most `max` bytes.
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let (total, rest) = big_endian("total size", input, 8)?;
    let (block, mut rest) = big_endian("block size", rest, 4)?;
    let total =
        usize::try_from(total).ok().filter(|&total| total <= max).ok_or_else(|| super::too_long(max))?;
    let block = bound::addressable(block);
    if block == 0 && total > 0 {
        return Err(Fault::new("block size", FaultKind::Undefined { found: 0 }));
    }
    let mut out = Vec::new();
    while out.len() < total {
        let len = block.min(total - out.len());
        let (size, after) = big_endian("compressed size", rest, 4)?;
        let size = bound::addressable(size);
        let (data, after) = after.split_at_checked(size).ok_or_else(|| super::truncated("block"))?;
        if size == len {
            out.extend_from_slice(data);
        } else {
            out.extend(decode_block(data, len)?);
        }
        rest = after;
    }
    Ok(out)
}

/// Decodes a block without a frame, which must unfold to exactly `len` bytes.
pub(crate) fn decode_block(data: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    let mut out = vec![0; len];
    match lz4_flex::block::decompress_into(data, &mut out) {
        Ok(written) if written == len => Ok(out),
        Ok(_) => Err(super::truncated("block")),
        Err(_) => Err(Fault::new("block", FaultKind::Rule("cannot be decoded"))),
    }
}

/// Encodes in blocks of `block` bytes, or in one block if that is 0.
pub(crate) fn encode(block: usize, input: &[u8]) -> Result<Vec<u8>, Fault> {
    let block = if block == 0 { 1 << 30 } else { block }.min(input.len()).max(1);
    let mut out = Vec::with_capacity(input.len());
    out.extend((input.len() as u64).to_be_bytes());
    out.extend(super::length("block size", block)?.to_be_bytes());
    for part in input.chunks(block) {
        let encoded = encode_block(part);
        // A compressed size equal to the block size means that the block is stored without compression.
        let stored = if encoded.len() < part.len() { &encoded } else { part };
        out.extend(super::length("block", stored.len())?.to_be_bytes());
        out.extend_from_slice(stored);
    }
    Ok(out)
}

/// Encodes a block without a frame.
pub(crate) fn encode_block(data: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(data)
}
