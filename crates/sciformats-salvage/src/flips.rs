//! Single bits that were flipped in structures with a checksum: the one bit with which the stored checksum is right again.

use hdf5_pure::structure::checksum;
use sciformats_core::{Error, FaultKind, ReadAt, bound};

/// The longest structure of which each bit is tried.
const LONGEST: u64 = 4096;
/// The signatures with which structures begin that end in a checksum.
const SIGNATURES: [&[u8; 4]; 18] = [
    b"\x89HDF", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB",
    b"EAHD", b"EAIB", b"EASB", b"EADB", b"FSHD", b"SMTB", b"SMLI",
];

/// A byte with another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flip {
    pub(crate) offset: u64,
    pub(crate) old: u8,
    pub(crate) new: u8,
}

/// Returns the offset of a checksum that an error is about, the stored checksum, and the one of the bytes before it.
pub(crate) fn wrong_checksum(error: &Error) -> Option<(u64, u32, u32)> {
    let (Error::Malformed { fault, .. }, Some(offset)) = (error, error.offset()) else { return None };
    let FaultKind::Checksum { stored, computed } = fault.kind else { return None };
    Some((offset, u32::try_from(stored).ok()?, u32::try_from(computed).ok()?))
}

/// Returns the one bit with which a structure has the checksum that it stores at `end`; `None` if there is no such bit, or if there
/// are several. By chance, one of ten thousand bits fits once in four hundred thousand structures.
pub(crate) fn flipped(source: &dyn ReadAt, (end, stored, computed): (u64, u32, u32)) -> Option<Flip> {
    let from = bound::left(end, LONGEST);
    let bytes = source.read_at(from, bound::addressable(bound::sum(end - from, 4))).ok()?;
    let (before, own) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    if own != stored.to_le_bytes() {
        return None;
    }
    let starts = (0..before.len().saturating_sub(3)).rev(); // a bound: no structure is that short
    let structure = starts
        .filter_map(|at| before.get(at..))
        .filter(|bytes| SIGNATURES.iter().any(|signature| bytes.starts_with(*signature)))
        .find(|bytes| checksum(bytes) == computed)?;
    let start = bound::left(end, structure.len() as u64);
    let mut found = Vec::new();
    if (stored ^ computed).count_ones() == 1 {
        // The bit is in the checksum.
        let at = (stored ^ computed).trailing_zeros() / 8; // the number of the byte
        let byte = |sum: u32| sum.to_le_bytes().get(at as usize).copied();
        found.push(Flip { offset: bound::sum(end, at.into()), old: byte(stored)?, new: byte(computed)? });
    }
    let mut copy = structure.to_vec();
    for at in 4..copy.len() {
        let old = copy.get(at).copied()?;
        for bit in 0..8 {
            let new = old ^ 1 << bit;
            *copy.get_mut(at)? = new;
            if checksum(&copy) == stored {
                found.push(Flip { offset: bound::sum(start, at as u64), old, new });
            }
        }
        *copy.get_mut(at)? = old;
    }
    match found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure() -> Vec<u8> {
        let mut bytes = b"before itOHDR".to_vec();
        bytes.extend((0..200).map(|i| (i * 7 + 3) as u8));
        let sum = checksum(&bytes[9..]);
        bytes.extend(sum.to_le_bytes());
        bytes.extend(b"behind it");
        bytes
    }

    /// The correction of a structure with these bits flipped, by byte and bit.
    fn correction(flips: &[(usize, u32)]) -> Option<Flip> {
        let mut bytes = structure();
        for &(at, bit) in flips {
            bytes[at] ^= 1 << bit;
        }
        let end = bytes.len() - 13;
        let stored = u32::from_le_bytes(*bytes[end..].first_chunk().unwrap());
        let computed = checksum(&bytes[9..end]);
        flipped(&bytes, (end as u64, stored, computed))
    }

    #[test]
    fn any_single_bit_is_found() {
        let right = structure();
        let end = right.len() - 9;
        for (at, &new) in right.iter().enumerate().take(end).skip(13) {
            for bit in 0..8 {
                let found = correction(&[(at, bit)]).unwrap();
                assert_eq!(found, Flip { offset: at as u64, old: new ^ 1 << bit, new });
            }
        }
    }

    #[test]
    fn two_bits_are_not_guessed() {
        for at in 20..100 {
            assert_eq!(correction(&[(at, 1), (at + 30, 4)]), None);
        }
    }
}
