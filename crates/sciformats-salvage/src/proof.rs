//! What proves that a change mends a file. A change that something else explains as well would hide damage, or destroy what was good.

use std::sync::Arc;

use hdf5_pure::Address;
use hdf5_pure::structure::{BtreeK, Carver, FoundHeader, SIGNATURE, Sizes, checksum};
use sciformats_core::storage::Patch;
use sciformats_core::{ReadAt, bound};

use crate::laid::Laid;

/// The most bytes of which each bit is tried.
const LONGEST: u64 = 4096;

/// Returns whether a checksum itself was changed: three of its bytes are those of the bytes that it covers. Of checksums at a wrong
/// place, or of changed bytes, fewer than one of four million agree so far.
pub(crate) fn is_checksum_changed(stored: u32, computed: u32) -> bool {
    (stored ^ computed).to_le_bytes().iter().filter(|&&byte| byte != 0).count() <= 1
}

/// Returns the offset and the bytes of the end of the file in the superblock whose checksum is at `at`, if its checksum is right with
/// the end of the file itself.
pub(crate) fn end_of_file(view: &dyn ReadAt, (at, stored): (u64, u32)) -> Option<(u64, Vec<u8>)> {
    let widths = [2u64, 4, 8];
    widths.into_iter().find_map(|width| {
        let len = bound::sum(12, bound::product(4, width));
        let start = at.checked_sub(len)?;
        let mut bytes = view.read_at(start, bound::addressable(len)).ok()?.into_owned();
        if !bytes.starts_with(&SIGNATURE) || bytes.get(9).copied().map(u64::from) != Some(width) {
            return None;
        }
        let width = bound::addressable(width);
        let field = |number: usize| 12 + number * width..12 + (number + 1) * width;
        let base = bytes.get(field(0))?.iter().rev().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
        let end = bound::sum(bound::left(view.size(), start), base).to_le_bytes();
        let end = end.get(..width)?;
        bytes.get_mut(field(2))?.copy_from_slice(end);
        (checksum(&bytes) == stored).then(|| (bound::sum(start, field(2).start as u64), end.to_vec()))
    })
}

/// Returns whether a single bit of `parts`, which are offsets and lengths, makes a file right in which nothing else is changed. It is
/// taken to be so if there are too many bits to try.
pub(crate) fn is_bit_of(
    view: &Arc<dyn ReadAt>,
    parts: &[(u64, u64)],
    is_right: impl Fn(Arc<dyn ReadAt>) -> bool,
) -> bool {
    if parts.iter().fold(0, |sum, (_, len)| bound::sum(sum, *len)) > LONGEST {
        return true;
    }
    parts.iter().any(|&(start, len)| {
        let Ok(bytes) = view.read_at(start, bound::addressable(len)) else { return true };
        (start..).zip(bytes.iter()).any(|(offset, &byte)| {
            (0..8).any(|bit| {
                let patch = Patch { offset, bytes: vec![byte ^ 1 << bit] };
                is_right(Arc::new(Laid::new(view.clone(), vec![patch])))
            })
        })
    })
}

/// Returns why the number of messages of a header of version 1 may be right, although there are others, if it may be.
pub(crate) fn other_than_count(
    view: &Arc<dyn ReadAt>,
    (base, sizes, at): (u64, Sizes, u64),
    (header, stored, found): (&FoundHeader, u64, u64),
) -> Option<&'static str> {
    if (stored ^ found).count_ones() != 1 {
        return Some("the two numbers differ by more than one bit");
    }
    if header.blocks.iter().enumerate().any(|(i, &block)| has_empty_message(&**view, i == 0, block)) {
        return Some("some of its messages may have been overwritten with zeros");
    }
    let mut parts = header.blocks.clone();
    if let Some((start, len)) = parts.first_mut() {
        // The number itself is before it.
        *start = bound::sum(*start, 4);
        *len = bound::left(*len, 4);
    }
    let is_right = |laid| {
        let carver = Carver::new(laid, base, sizes, BtreeK::default());
        carver.header(Address(at)).is_ok_and(|header| header.lost.is_empty())
    };
    is_bit_of(view, &parts, is_right).then_some("a bit of a size in it may be the one that was changed")
}

/// Returns whether a part of a header of version 1 has a message of type 0 without a body, as zeros look like.
fn has_empty_message(view: &dyn ReadAt, is_first: bool, (start, len): (u64, u64)) -> bool {
    let Ok(bytes) = view.read_at(start, bound::addressable(len)) else { return true };
    let mut rest = bytes.get(if is_first { 16 } else { 0 }..).unwrap_or_default();
    while let Some(&[a, b, c, d, ..]) = rest.first_chunk::<8>() {
        let size = u16::from_le_bytes([c, d]);
        if [a, b] == [0, 0] && size == 0 {
            return true;
        }
        rest = rest.get(bound::sum(usize::from(size), 8)..).unwrap_or_default();
    }
    false
}

/// Returns whether an index of blocks of ASDF was changed, and not the blocks: it is a text that ends the file, and leads to no block
/// that is not among those that were found.
pub(crate) fn is_index_changed(view: &dyn ReadAt, old: &[u8], blocks: &[u64]) -> bool {
    let text = old.trim_ascii_end();
    let text =
        text.iter().rposition(|&byte| byte != 0).and_then(|last| text.get(..=last)).unwrap_or_default();
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    // One byte may be the changed one.
    if text.iter().filter(|byte| !is_text(byte)).count() > 1 {
        return false;
    }
    let numbers = text
        .split(|byte| !byte.is_ascii_digit())
        .filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
    let is_block = |at: u64| {
        at < view.size() && view.read_at(at, 4).is_ok_and(|bytes| *bytes == *crate::others::asdf::MAGIC)
    };
    numbers.into_iter().all(|at| blocks.contains(&at) || !is_block(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_of_a_checksum_prove_it() {
        for byte in 0..4 {
            assert!(is_checksum_changed(0x1234_5678, 0x1234_5678 ^ 0xa5 << (8 * byte)));
        }
        assert!(!is_checksum_changed(0x1234_5678, 0x1234_5779));
        assert!(!is_checksum_changed(0x5244_484f, 0x8000_0000));
    }

    #[test]
    fn an_index_that_leads_to_an_unknown_block_is_right() {
        let mut bytes = vec![0; 100];
        bytes[10..14].copy_from_slice(crate::others::asdf::MAGIC);
        bytes[60..64].copy_from_slice(crate::others::asdf::MAGIC);
        assert!(is_index_changed(&bytes, b"- 10\n- 61\n", &[10, 60]));
        assert!(!is_index_changed(&bytes, b"- 10\n- 60\n", &[10]));
        assert!(!is_index_changed(&bytes, b"- 10\n\x01\x02", &[10, 60]));
    }
}
