//! Streams of deflate that nothing but their own checksums tells.

use sciformats_core::bound;
use sciformats_core::inflate::{Inflater, zlib_body};

/// The most bytes of a decoded stream.
const LONGEST: usize = 1 << 28;
/// The bytes that a checksum behind a stream has.
const CHECKSUM: usize = 4;

/// Decodes a stream of deflate with its header and its checksum, which fills its bytes up to a checksum of another filter.
pub(super) fn inflated(
    inflater: &mut Inflater,
    bytes: &[u8],
    out: &mut Vec<u8>,
    budget: &mut u64,
) -> Option<()> {
    let stream = zlib_body(bytes)?;
    let most = bound::addressable(*budget).min(LONGEST);
    let used = inflater.inflate(stream, bound::product(stream.len(), 4), most, out);
    // What a stream took before it failed is not known.
    let spent = if used.is_some() { out.len() } else { stream.len() };
    *budget = bound::left(*budget, spent as u64);
    let (sum, rest) = stream.get(used?..)?.split_first_chunk()?;
    (u32::from_be_bytes(*sum) == adler32(out) && [0, CHECKSUM].contains(&rest.len())).then_some(())
}

/// Computes the checksum at the end of a zlib stream (RFC 1950, section 2.2).
fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    // So many bytes keep the sums below 2^32.
    const PART: usize = 5552;
    let (mut a, mut b) = (1u32, 0u32);
    for part in bytes.chunks(PART) {
        for &byte in part {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % PRIME, b % PRIME);
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_by_their_checksums() {
        // The last block, stored: its length, the complement of it, and three bytes.
        let stream = [0x78, 0x01, 1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c', 0x02, 0x4d, 0x01, 0x27];
        let decoded = |bytes: &[u8]| {
            let mut out = Vec::new();
            inflated(&mut Inflater::new(), bytes, &mut out, &mut 1000).map(|()| out)
        };
        assert_eq!(decoded(&stream).unwrap(), b"abc");
        assert_eq!(decoded(&[&stream[..], &[1, 2, 3, 4]].concat()).unwrap(), b"abc");
        assert!(decoded(&[&stream[..], &[1]].concat()).is_none() && decoded(&stream[..13]).is_none());
        let mut changed = stream;
        changed[8] ^= 1;
        assert!(decoded(&changed).is_none());
        let sums = [1 + 255 * 100_000, 100_000 + 255 * 50_000 * 100_001].map(|sum: u64| sum % 65_521);
        assert_eq!(u64::from(adler32(&vec![0xff; 100_000])), sums[1] << 16 | sums[0]);
    }
}
