//! Fletcher-32 (filter 3): a checksum of four bytes after the data.

use sciformats_core::{Fault, FaultKind};

/// Verifies and removes the checksum.
pub(crate) fn decode(input: &[u8]) -> Result<&[u8], Fault> {
    let (data, stored) = input.split_last_chunk::<4>().ok_or_else(|| super::truncated("checksum"))?;
    let computed = checksum(data);
    let [a, b, c, d] = *stored;
    // Libraries before 1.6.3 swapped the bytes of each half of the checksum on little-endian machines. Their files must
    // still be readable.
    if u32::from_le_bytes([a, b, c, d]) == computed || u32::from_le_bytes([b, a, d, c]) == computed {
        return Ok(data);
    }
    let stored = u32::from_le_bytes(*stored).into();
    Err(Fault::new("checksum", FaultKind::Checksum { stored, computed: computed.into() }))
}

/// Returns the checksum of `data`, taken as big-endian words of two bytes.
pub(crate) fn checksum(data: &[u8]) -> u32 {
    let (words, odd) = data.as_chunks::<2>();
    let fold = |x: u32| (x & 0xffff) + (x >> 16);
    let (mut first, mut second) = (0u32, 0u32);
    for block in words.chunks(360) {
        for &word in block {
            first += u32::from(u16::from_be_bytes(word));
            second += first;
        }
        (first, second) = (fold(first), fold(second));
    }
    if let [last] = odd {
        first += u32::from(*last) << 8;
        second += first;
        (first, second) = (fold(first), fold(second));
    }
    (first, second) = (fold(first), fold(second));
    second << 16 | first
}

/// Appends the checksum.
pub(crate) fn encode(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() + 4);
    out.extend_from_slice(input);
    out.extend(checksum(input).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_taken() {
        let data = [1, 2, 3, 4, 5];
        let sum = checksum(&data);
        assert_eq!(sum, 0x0e0e_0906);
        let [a, b, c, d] = sum.to_le_bytes();
        assert_eq!(decode(&[1, 2, 3, 4, 5, a, b, c, d]).unwrap(), data);
        assert_eq!(decode(&[1, 2, 3, 4, 5, b, a, d, c]).unwrap(), data);
        assert!(decode(&[1, 2, 3, 4, 6, a, b, c, d]).is_err());
    }
}
