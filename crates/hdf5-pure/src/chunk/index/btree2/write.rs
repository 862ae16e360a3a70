//! Version 2 B-trees of chunks that are changed.
//!
//! A node in the file is never changed: its successor goes to new space, and so do the nodes above it. Only the header is
//! written in place, last. A reader that holds the old header sees the old tree, whole.

use std::cmp::Ordering;

use sciformats_core::arith::{add, fit, mul};
use sciformats_core::{Error, Result};

use crate::btree::{EditedTree, Order};
use crate::chunk::index::write::Elements;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::message::layout::NODE_SIZE;

/// A tree of chunk records that is changed.
pub(crate) struct Btree2Writer {
    tree: EditedTree,
    pub(crate) at: Address,
    /// Coordinates at the end of a record.
    rank: usize,
    kind: u8,
    changed: bool,
    /// A change failed half way.
    broken: bool,
}

impl Btree2Writer {
    /// The tree with the header at `at`; nothing if its nodes are none that can be divided.
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
        Ok(Some(Self { tree, at, rank, kind: kind(elements), changed: false, broken: false }))
    }

    /// A tree that is not in the file yet.
    pub(crate) fn create(output: &mut Output, elements: &Elements, rank: usize) -> Result<Self> {
        let size = fit(record_size(elements, rank)?, "size of a record")?;
        let tree = EditedTree::create(output, kind(elements), NODE_SIZE, size)?;
        Ok(Self { at: tree.address(), tree, rank, kind: kind(elements), changed: true, broken: false })
    }

    /// The record with these coordinates, if it is there.
    pub(crate) fn get(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Vec<u8>>> {
        self.sound()?;
        let rank = self.rank;
        self.tree.find(output, &mut order(scaled, rank))
    }

    /// Adds a record, or replaces the one with the same coordinates, which is given back.
    pub(crate) fn insert(&mut self, output: &mut Output, record: &[u8]) -> Result<Option<Vec<u8>>> {
        let scaled = ChunkRecord::encoded_scaled(record, self.rank);
        self.change(&scaled, |tree, order| tree.insert(output, record, order))
    }

    /// Takes out the record with these coordinates, which is given back.
    pub(crate) fn remove(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Vec<u8>>> {
        self.change(scaled, |tree, order| tree.remove(output, order))
    }

    /// Changes what concerns the record with these coordinates, the slowest of which decides first.
    fn change<T>(
        &mut self,
        scaled: &[u64],
        change: impl FnOnce(&mut EditedTree, &mut Order<'_>) -> Result<T>,
    ) -> Result<T> {
        self.sound()?;
        self.changed = true;
        let rank = self.rank;
        change(&mut self.tree, &mut order(scaled, rank)).inspect_err(|_| self.broken = true)
    }

    fn sound(&self) -> Result<()> {
        match self.broken {
            true => Err(Error::usage(
                "chunk index",
                "cannot be used after a change failed half way: open the file again",
            )),
            false => Ok(()),
        }
    }

    /// Writes changed nodes to new space, children first, and then the header.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.sound()?;
        self.tree.write(output).inspect_err(|_| self.broken = true)?;
        if std::mem::take(&mut self.changed) && !output.is_edited() {
            // The nodes of a tree that grows for long do not all stay in memory.
            self.tree = EditedTree::open(output, self.at, &[self.kind])?;
        }
        Ok(())
    }
}

/// How records stand to the one with these coordinates.
fn order(scaled: &[u64], rank: usize) -> impl FnMut(&[u8]) -> Result<Ordering> {
    move |record| Ok(ChunkRecord::encoded_scaled(record, rank).as_slice().cmp(scaled))
}

/// What the records are.
fn kind(elements: &Elements) -> u8 {
    if elements.client == 0 { 10 } else { 11 }
}

/// Bytes of a record.
fn record_size(elements: &Elements, rank: usize) -> Result<usize> {
    add(mul(rank, 8)?, elements.absent.len())
}
