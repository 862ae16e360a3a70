//! Blocks of elements that end in a checksum: changed in memory, and written whole.

use std::collections::BTreeMap;

use sciformats_core::Result;

use crate::model::write::output::Output;
use crate::spec::{Address, put_checksum};

/// The blocks of an array that were changed since they were last written, and the one that was used last.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    held: BTreeMap<Address, Leaf>,
    recent: Option<Address>,
}

#[derive(Debug)]
struct Leaf {
    /// All but the checksum.
    bytes: Vec<u8>,
    /// Where the elements begin.
    first: usize,
    changed: bool,
}

impl Leaves {
    /// Whether the block at `at` is in memory.
    pub(super) fn holds(&self, at: Address) -> bool {
        self.held.contains_key(&at)
    }

    /// Takes a block that is in the file as it is here; its elements begin at `first`.
    pub(super) fn load(&mut self, at: Address, bytes: Vec<u8>, first: usize) {
        self.held.insert(at, Leaf { bytes, first, changed: false });
    }

    /// Takes a block that is not in the file yet.
    pub(super) fn create(&mut self, at: Address, bytes: Vec<u8>, first: usize) {
        self.held.insert(at, Leaf { bytes, first, changed: true });
    }

    /// Replaces an element of the block at `at`; `None` if it has no such element or is not in memory.
    pub(super) fn set(&mut self, at: Address, slot: u64, element: &[u8]) -> Option<()> {
        let leaf = self.held.get_mut(&at)?;
        put(leaf.bytes.get_mut(leaf.first..)?, slot, element)?;
        leaf.changed = true;
        self.recent = Some(at);
        Some(())
    }

    /// Writes what was changed, in the order of the addresses.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        for (&at, leaf) in self.held.iter_mut().filter(|(_, leaf)| leaf.changed) {
            let mut bytes = leaf.bytes.clone();
            put_checksum(&mut bytes, 0)?;
            output.write_part(at, &bytes)?;
            leaf.changed = false;
        }
        let recent = self.recent;
        self.held.retain(|&at, _| Some(at) == recent);
        Ok(())
    }
}

/// Replaces element number `slot` of `elements`.
pub(super) fn put(elements: &mut [u8], slot: u64, element: &[u8]) -> Option<()> {
    let start = usize::try_from(slot).ok()?.checked_mul(element.len())?;
    elements.get_mut(start..start.checked_add(element.len())?)?.copy_from_slice(element);
    Some(())
}
