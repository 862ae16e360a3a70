//! The payload as one raw LZ4 block without a frame, a length or a checksum.

use sciformats_core::fault::ParseError;
use sciformats_core::{Error, Result};

/// The largest number of bytes that one stored byte of an LZ4 block can stand for.
pub(crate) const EXPANSION: u64 = 255;

/// The size of the largest input of the reference implementation, in which lengths are C `int`s.
#[cfg(feature = "lz4")]
const LARGEST: usize = 0x7E00_0000;

/// Decompresses `block`, whose content must fill `out`. The outer error concerns this build, and the inner one the bytes.
#[cfg(feature = "lz4")]
pub(crate) fn decompress(block: &[u8], out: &mut [u8]) -> Result<Result<(), ParseError>> {
    use sciformats_core::{Fault, FaultKind, lz4};
    let expected = out.len();
    let fault: Fault = match lz4::decode(block, out) {
        Some(found) if found == expected => return Ok(Ok(())),
        Some(found) => {
            let (expected, found) = (expected as u64, found as u64);
            Fault::new("its decompressed size", FaultKind::Mismatch { expected, found })
        }
        // What is right as far as it fits has more bytes than that.
        None if !block.is_empty() && lz4::decode_front(block, out) == Some(expected) => {
            FaultKind::Rule("contains more bytes than the dimensions require").into()
        }
        None => FaultKind::Rule("is not a valid LZ4 block").into(),
    };
    Ok(Err(ParseError::new(block.len(), fault)))
}

/// Compresses `bytes` into one block.
#[cfg(feature = "lz4")]
pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.len() > LARGEST {
        return Err(Error::unsupported("LZ4 compression of more than 0x7e000000 bytes"));
    }
    Ok(lz4_flex::block::compress(bytes))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decompress(_: &[u8], _: &mut [u8]) -> Result<Result<(), ParseError>> {
    Err(Error::missing_feature("LZ4 compression", "lz4"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn compress(_: &[u8]) -> Result<Vec<u8>> {
    Err(Error::missing_feature("LZ4 compression", "lz4"))
}

#[cfg(all(test, feature = "lz4"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn too_much_too_little_and_nonsense_are_faults() {
        #[rustfmt::skip]
        let block = [
            0x34,             // token: 3 literals, a match of 4 + 4
            b'a', b'b', b'c', // the literals
            3, 0,             // the match: 3 bytes back
            0x10,             // token: 1 literal, the end
            b'!',
        ];
        let mut out = [0; 12];
        decompress(&block, &mut out).unwrap().unwrap();
        assert_eq!(&out, b"abcabcabcab!");
        let fault = |bytes: &[u8], len| {
            decompress(bytes, &mut vec![0; len]).unwrap().unwrap_err().fault().to_string()
        };
        assert_eq!(fault(&block, 11), "it contains more bytes than the dimensions require");
        assert_eq!(fault(&block, 13), "its decompressed size is 12, expected 13");
        assert_eq!(fault(&block[..5], 12), "it is not a valid LZ4 block");
    }

    proptest! {
        #[test]
        fn decompress_reverses_compress(bytes in prop::collection::vec(0u8..4, 0..3000)) {
            let block = compress(&bytes).unwrap();
            let mut out = vec![0; bytes.len()];
            decompress(&block, &mut out).unwrap().unwrap();
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), len in 0usize..300) {
            let _ = decompress(&bytes, &mut vec![0; len]).unwrap();
        }

        #[test]
        fn damaged_blocks_give_what_another_decoder_gives(
            bytes in prop::collection::vec(0u8..3, 1..300),
            (place, byte) in any::<(prop::sample::Index, u8)>(),
            len in 1usize..400,
        ) {
            let mut block = compress(&bytes).unwrap();
            let place = place.index(block.len());
            block[place] = byte;
            let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
            let is_whole = lz4_flex::block::decompress_into(&block, &mut theirs).is_ok_and(|found| found == len);
            prop_assert_eq!(decompress(&block, &mut ours).unwrap().is_ok(), is_whole);
            prop_assert!(!is_whole || ours == theirs);
        }
    }
}
