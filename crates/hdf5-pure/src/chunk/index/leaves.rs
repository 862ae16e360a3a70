//! Blocks of an index that are changed in memory, and written when all changes are known.

use std::collections::BTreeMap;

use sciformats_core::arith::{add, present};
use sciformats_core::{Result, bound};

use crate::space::output::Output;
use crate::spec::{Address, put_checksum};

/// The number of bytes of a checksum.
const CHECKSUM: usize = 4;

/// The blocks of an array that were changed since they were last written, and the block that was used last.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    held: BTreeMap<Address, Leaf>,
    recent: Option<Address>,
}

/// A block of elements that ends in a checksum.
#[derive(Debug)]
struct Leaf {
    /// The bytes in the file with the checksum, or `None` if the block is new.
    stored: Option<Vec<u8>>,
    /// The bytes without the checksum.
    bytes: Vec<u8>,
    /// The offset of the first element.
    first: usize,
    changed: bool,
}

impl Leaves {
    /// Returns whether the block at `at` is in memory.
    pub(crate) fn holds(&self, at: Address) -> bool {
        self.held.contains_key(&at)
    }

    /// Takes over a block with its bytes in the file, checksum included. Its elements start at `first`.
    pub(crate) fn load(&mut self, at: Address, stored: Vec<u8>, first: usize) {
        let bytes = stored.get(..bound::left(stored.len(), CHECKSUM)).unwrap_or_default().to_vec();
        self.held.insert(at, Leaf { stored: Some(stored), bytes, first, changed: false });
    }

    /// Takes over a block that is not in the file yet, without a checksum.
    pub(crate) fn create(&mut self, at: Address, bytes: Vec<u8>, first: usize) {
        self.held.insert(at, Leaf { stored: None, bytes, first, changed: true });
    }

    /// Returns an element of `len` bytes of the block at `at`, or `None` if there is no such element or the block is
    /// not in memory.
    pub(crate) fn get(&self, at: Address, slot: u64, len: usize) -> Option<Vec<u8>> {
        let leaf = self.held.get(&at)?;
        element(leaf.bytes.get(leaf.first..)?, slot, len).map(<[u8]>::to_vec)
    }

    /// Replaces an element of the block at `at` and returns the old one, or `None` if there is no such element or the
    /// block is not in memory.
    pub(crate) fn replace(&mut self, at: Address, slot: u64, element: &[u8]) -> Option<Vec<u8>> {
        let leaf = self.held.get_mut(&at)?;
        let before = replace(leaf.bytes.get_mut(leaf.first..)?, slot, element)?;
        leaf.changed = true;
        self.recent = Some(at);
        Some(before)
    }

    /// Writes what was changed, in the order of the addresses.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        for (&at, leaf) in self.held.iter_mut().filter(|(_, leaf)| leaf.changed) {
            let mut bytes = leaf.bytes.clone();
            put_checksum(&mut bytes, 0)?;
            rewrite(output, at, leaf.stored.as_deref(), &bytes)?;
            leaf.stored = Some(bytes);
            leaf.changed = false;
        }
        let recent = self.recent;
        self.held.retain(|&at, _| Some(at) == recent);
        Ok(())
    }
}

/// A structure that is always encoded as a whole: its bytes in the file, and whether it has changed.
#[derive(Debug, Default)]
pub(crate) struct Root {
    stored: Option<Vec<u8>>,
    pub(crate) changed: bool,
}

impl Root {
    /// Creates the state of a structure with these bytes in the file.
    pub(crate) fn stored(bytes: Vec<u8>) -> Self {
        Self { stored: Some(bytes), changed: false }
    }

    /// Creates the state of a structure that is not in the file yet.
    pub(crate) fn fresh() -> Self {
        Self { stored: None, changed: true }
    }

    /// Writes what `encode` returns, if something was changed.
    pub(crate) fn flush(
        &mut self,
        output: &mut Output,
        at: Address,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        let mut bytes = Vec::new();
        encode(&mut bytes)?;
        rewrite(output, at, self.stored.as_deref(), &bytes)?;
        *self = Self::stored(bytes);
        Ok(())
    }
}

/// The largest number of unchanged bytes between two changes that are written together with them. One longer write
/// costs less than two.
const GAP: usize = 16;

/// Writes `new` at `at`, where the file has `stored`. If readers follow the file, all bytes are written at once. If a
/// commit moves everything to its place, only the differing parts are written.
pub(crate) fn rewrite(output: &mut Output, at: Address, stored: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let Some(stored) = stored.filter(|stored| output.is_edited() && stored.len() == new.len()) else {
        return output.write_part(at, new);
    };
    for (first, last) in changes(stored, new) {
        let part = present(new.get(first..=last), "changed bytes of a block")?;
        output.write_part(Address(add(at.0, first as u64)?), part)?;
    }
    Ok(())
}

/// Returns the parts in which two blocks differ, by their first and last byte.
fn changes(old: &[u8], new: &[u8]) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let differing = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
    for (i, _) in differing {
        match parts.last_mut() {
            Some((_, last)) if bound::left(i, *last) <= GAP => *last = i,
            _ => parts.push((i, i)),
        }
    }
    parts
}

/// Returns the element `slot` of `elements`, which have `len` bytes each.
pub(crate) fn element(elements: &[u8], slot: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(slot).ok()?.checked_mul(len)?;
    elements.get(start..start.checked_add(len)?)
}

/// Replaces the element `slot` of `elements` and returns the old one.
pub(crate) fn replace(elements: &mut [u8], slot: u64, element: &[u8]) -> Option<Vec<u8>> {
    let start = usize::try_from(slot).ok()?.checked_mul(element.len())?;
    let place = elements.get_mut(start..start.checked_add(element.len())?)?;
    let before = place.to_vec();
    place.copy_from_slice(element);
    Some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_changes_are_one() {
        let old = [0u8; 100];
        let mut new = old;
        assert!(changes(&old, &new).is_empty());
        for at in [0, 16, 50, 99] {
            new[at] = 1;
        }
        assert_eq!(changes(&old, &new), [(0, 16), (50, 50), (99, 99)]);
    }

    #[test]
    fn elements_are_replaced() {
        let mut elements = [1, 2, 3, 4, 5, 6];
        assert_eq!(replace(&mut elements, 1, &[9, 8]), Some(vec![3, 4]));
        assert_eq!(elements, [1, 2, 9, 8, 5, 6]);
        assert_eq!(replace(&mut elements, 3, &[0, 0]), None);
    }
}
