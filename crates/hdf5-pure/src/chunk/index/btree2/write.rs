//! Changes version 2 B-trees of chunks.
//!
//! A node in the file is never changed. Its successor goes to fresh space, and so do the nodes above it. Only the
//! header is written in place, as the last step. A reader that has read the old header therefore sees the complete old
//! tree.

use std::cmp::Ordering;

use sciformats_core::arith::{add, fit, mul};
use sciformats_core::{Error, Result};

use crate::btree::{EditedTree, Order};
use crate::chunk::index::write::Elements;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::message::layout::NODE_SIZE;

/// A B-tree of chunk records that is being changed.
pub(crate) struct Btree2Writer {
    tree: EditedTree,
    pub(crate) at: Address,
    /// The number of coordinates at the end of a record.
    rank: usize,
    kind: u8,
    changed: bool,
    /// Why a change failed half way.
    broken: Option<Error>,
}

impl Btree2Writer {
    /// Opens the B-tree with the header at `at`. Returns `None` if its nodes have a form that this library does not
    /// split.
    pub(crate) fn open(
        output: &mut Output,
        at: Address,
        elements: &Elements,
        rank: usize,
    ) -> Result<Option<Self>> {
        let tree = match EditedTree::open(output, at, &[kind(elements)]) {
            Err(Error::Unsupported { .. }) => return Ok(None),
            other => other?,
        };
        let (expected, found) = (record_size(elements, rank)?, tree.record_size());
        if expected != found {
            let offset = add(output.base(), at.0)?;
            return Err(elements.mismatch("version 2 B-tree header", offset, expected as u64, found as u64));
        }
        Ok(Some(Self { tree, at, rank, kind: kind(elements), changed: false, broken: None }))
    }

    /// Creates a B-tree that is not in the file yet.
    pub(crate) fn create(output: &mut Output, elements: &Elements, rank: usize) -> Result<Self> {
        let size = fit(record_size(elements, rank)?, "size of a record")?;
        let tree = EditedTree::create(output, kind(elements), NODE_SIZE, size)?;
        Ok(Self { at: tree.address(), tree, rank, kind: kind(elements), changed: true, broken: None })
    }

    /// Returns the record with these coordinates, if it exists.
    pub(crate) fn get(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Vec<u8>>> {
        self.sound()?;
        let rank = self.rank;
        self.tree.find(output, &mut order(scaled, rank))
    }

    /// Adds a record, or replaces the one with the same coordinates and returns the old one.
    pub(crate) fn insert(&mut self, output: &mut Output, record: &[u8]) -> Result<Option<Vec<u8>>> {
        let scaled = ChunkRecord::encoded_scaled(record, self.rank);
        self.change(&scaled, |tree, order| tree.insert(output, record, order))
    }

    /// Removes the record with these coordinates and returns it.
    pub(crate) fn remove(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Vec<u8>>> {
        self.change(scaled, |tree, order| tree.remove(output, order))
    }

    /// Changes what concerns the record with these coordinates. The slowest coordinate is compared first.
    fn change<T>(
        &mut self,
        scaled: &[u64],
        change: impl FnOnce(&mut EditedTree, &mut Order<'_>) -> Result<T>,
    ) -> Result<T> {
        self.sound()?;
        self.changed = true;
        let rank = self.rank;
        change(&mut self.tree, &mut order(scaled, rank))
            .inspect_err(|error| self.broken = Some(error.clone()))
    }

    /// Fails with the error of a change that failed half way.
    fn sound(&self) -> Result<()> {
        self.broken.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Writes changed nodes to fresh space, children first, and then the header.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.sound()?;
        self.tree.write(output)?;
        if std::mem::take(&mut self.changed) && !output.is_edited() {
            // Opening the tree again drops its nodes from memory. Otherwise a tree that grows for a long time would
            // fill it.
            self.tree = EditedTree::open(output, self.at, &[self.kind])?;
        }
        Ok(())
    }
}

/// Returns how a record compares to the one with these coordinates.
fn order(scaled: &[u64], rank: usize) -> impl FnMut(&[u8]) -> Result<Ordering> {
    move |record| Ok(ChunkRecord::encoded_scaled(record, rank).as_slice().cmp(scaled))
}

/// Returns the type of the records.
fn kind(elements: &Elements) -> u8 {
    if elements.client == 0 { 10 } else { 11 }
}

/// Returns the size of a record.
fn record_size(elements: &Elements, rank: usize) -> Result<usize> {
    add(mul(rank, 8)?, elements.absent.len())
}
