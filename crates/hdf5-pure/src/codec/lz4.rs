//! LZ4 (filter 32004): blocks in the frame of [`framed`](super::framed), each of which is a raw LZ4 block. A block that would
//! not become shorter is stored uncompressed; it then has the same size as its data.

use sciformats_core::{Fault, FaultKind, bound};

use super::framed::{block, sizes};
use super::front;

/// Decodes at most `max` bytes into the memory of `out`.
pub(crate) fn decode(mut out: Vec<u8>, input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let (mut rest, (total, size)) = front(input, sizes)?;
    let total =
        usize::try_from(total).ok().filter(|&total| total <= max).ok_or_else(|| super::too_long(max))?;
    let size = bound::addressable(size.into());
    if size == 0 && total > 0 {
        return Err(Fault::new("block size", FaultKind::Undefined { found: 0 }));
    }
    out.clear();
    out.reserve(total);
    while out.len() < total {
        let len = size.min(total - out.len());
        let (after, data) = front(rest, block)?;
        if data.len() == len {
            out.extend_from_slice(data);
        } else {
            append(data, &mut out, len)?;
        }
        rest = after;
    }
    Ok(out)
}

/// Decodes a block without a frame, which must unfold to exactly `len` bytes, into the memory of `out`.
pub(crate) fn decode_block(mut out: Vec<u8>, data: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    out.clear();
    out.reserve(len);
    append(data, &mut out, len)?;
    Ok(out)
}

/// Appends what a block unfolds to, which must be exactly `len` bytes.
fn append(data: &[u8], out: &mut Vec<u8>, len: usize) -> Result<(), Fault> {
    match sciformats_core::lz4::append(data, out, len) {
        Some(written) if written == len => Ok(()),
        Some(_) => Err(super::truncated("block")),
        None => Err(Fault::new("block", FaultKind::Rule("cannot be decoded"))),
    }
}

/// Encodes in blocks of `block` bytes, or in one block if that is 0.
pub(crate) fn encode(block: usize, input: &[u8]) -> Result<Vec<u8>, Fault> {
    let block = if block == 0 { 1 << 30 } else { block }.min(input.len()).max(1);
    let mut out = Vec::with_capacity(bound::sum(16, lz4_flex::block::get_maximum_output_size(block)));
    out.extend((input.len() as u64).to_be_bytes());
    out.extend(super::length("block size", block)?.to_be_bytes());
    for part in input.chunks(block) {
        let start = out.len();
        let begin = start + 4;
        out.resize(begin + lz4_flex::block::get_maximum_output_size(part.len()), 0);
        match lz4_flex::block::compress_into(part, out.split_at_mut(begin).1) {
            Ok(len) if len < part.len() => out.truncate(begin + len),
            _ => {
                // A compressed size equal to the block size means that the block is stored without compression.
                out.truncate(begin);
                out.extend_from_slice(part);
            }
        }
        let stored = super::length("block", out.len() - begin)?.to_be_bytes();
        out.get_mut(start..begin).into_iter().for_each(|size| size.copy_from_slice(&stored));
    }
    Ok(out)
}

/// Encodes a block without a frame.
pub(crate) fn encode_block(data: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_byte_by_byte() {
        let bytes = [
            0, 0, 0, 0, 0, 0, 0, 15, // total size
            0, 0, 0, 12, // block size
            0, 0, 0, 8, // compressed size of block 0
            0x34, b'a', b'b', b'c', // three literals, then a match of eight
            3, 0, // the match: three bytes back
            0x10, b'!', // one literal
            0, 0, 0, 3, // size of block 1, that of its data: stored as it is
            b'x', b'y', b'z', // block 1
        ];
        assert_eq!(decode(vec![1; 3], &bytes, 15).unwrap(), b"abcabcabcab!xyz");
        let fault = |bytes: &[u8], max| decode(Vec::new(), bytes, max).unwrap_err().to_string();
        assert_eq!(fault(&bytes[..7], 15), "total size is truncated");
        assert_eq!(fault(&bytes[..14], 15), "compressed size is truncated");
        assert_eq!(fault(&bytes[..20], 15), "block is truncated");
        assert_eq!(fault(&bytes, 14), "decoded length is 15, out of bounds (end 15)");
        assert_eq!(
            encode(3, b"xyz").unwrap(),
            [&[0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3], &bytes[24..]].concat()
        );
    }

    proptest! {
        #[test]
        fn decode_reverses_encode(bytes in prop::collection::vec(0u8..4, 0..900), block in 0usize..400) {
            prop_assert_eq!(decode(Vec::new(), &encode(block, &bytes).unwrap(), bytes.len()).unwrap(), bytes);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, total in 0u8..100, size in 0u8..50, compressed in 0u8..20, max in 0usize..200) {
            let framed = [&[0, 0, 0, 0, 0, 0, 0, total, 0, 0, 0, size, 0, 0, 0, compressed], &bytes[..]].concat();
            for input in [&bytes, &framed] {
                let _ = decode(Vec::new(), input, max);
            }
        }
    }
}
