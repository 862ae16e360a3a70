//! The frame of blocks that LZ4 (filter 32004) and bitshuffle (filter 32008) share. All numbers are big-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | total size: bytes after decoding |
//! | 8 | 4 | block size: decoded bytes of a block; the last one may be shorter |
//! | 12 | | blocks, one after another; after the blocks of bitshuffle, the last elements (fewer than eight) are stored raw |
//!
//! Each block:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | compressed size |
//! | 4 | compressed size | compressed data |

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{be_u32, be_u64};
use sciformats_core::fault::{Parsed, field};

/// Parses the total size and the block size.
pub(crate) fn sizes(i: &[u8]) -> Parsed<'_, (u64, u32)> {
    (field("total size", be_u64), field("block size", be_u32)).parse(i)
}

/// Parses a block, and returns its bytes.
pub(crate) fn block(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (i, size) = field("compressed size", be_u32)(i)?;
    field("block", take(size))(i)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    const BYTES: [u8; 23] = [
        0, 0, 0, 0, 0, 0, 1, 4, // total size: 260
        0, 0, 1, 0, // block size: 256
        0, 0, 0, 2, // compressed size of block 0
        8, 9, // block 0
        0, 0, 0, 1, // compressed size of block 1
        7, // block 1
    ];

    #[test]
    fn sizes_and_blocks() {
        let frame = locate_all("frame", 0, &BYTES, (sizes, block, block)).unwrap();
        assert_eq!(frame, ((260, 256), &[8, 9][..], &[7][..]));
        let shown = |bytes: &[u8]| locate_all("frame", 0, bytes, (sizes, block)).unwrap_err().to_string();
        assert_eq!(shown(&BYTES[..7]), "malformed frame at offset 0x0: total size is truncated");
        assert_eq!(shown(&BYTES[..15]), "malformed frame at offset 0xc: compressed size is truncated");
        assert_eq!(shown(&BYTES[..17]), "malformed frame at offset 0x10: block is truncated");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = sizes(&bytes);
            let _ = block(&bytes);
        }
    }
}
