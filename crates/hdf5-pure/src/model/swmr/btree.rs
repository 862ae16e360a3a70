//! Version 2 B-trees that grow while others read them.
//!
//! A node in the file is never changed: its successor goes to new space, and so do the nodes above it. Only the header is
//! written in place, last. A reader that holds the old header sees the old tree, whole.

use std::cmp::Ordering;

use sciformats_core::Result;
use sciformats_core::fault::locate;

use super::{Elements, MOST_BYTES, beyond};
use crate::model::write::output::{Output, SIZES};
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::btree_v2::{Child, Counted, Header, Node as Stored, encode_node};
use crate::spec::message::layout::NODE_SIZE;

const NODE: &str = "version 2 B-tree node";
/// Trees of more levels than this hold more records than there are bytes.
const MAX_DEPTH: u16 = 32;
/// Nodes with room for fewer records could not be split.
const LEAST: u64 = 3;

/// A tree of chunk records of a file that others read.
pub(super) struct LiveTree {
    header: Header,
    pub(super) at: Address,
    root: Option<Branch>,
    /// Coordinates at the end of a record.
    rank: usize,
    changed: bool,
}

/// A node, and the records in it and below.
struct Branch {
    node: Place,
    total: u64,
}

enum Place {
    /// In the file.
    File(Child),
    /// In memory, changed.
    Memory(Box<Node>),
}

struct Node {
    level: u16,
    records: Vec<Vec<u8>>,
    /// None in a leaf, one more than records elsewhere.
    children: Vec<Branch>,
}

impl LiveTree {
    /// The tree with the header at `at`.
    pub(super) fn open(output: &mut Output, at: Address, elements: &Elements, rank: usize) -> Result<Self> {
        const HEADER: &str = "version 2 B-tree header";
        let bytes = output.read(at, Header::size(SIZES))?;
        let base = output.base().saturating_add(at.0);
        let header = locate(HEADER, base, &bytes, |i| Header::parse(i, SIZES))?;
        let expected = Self::empty(elements, rank);
        if header.kind != expected.kind || header.record_size != expected.record_size {
            return Err(elements.mismatch(
                HEADER,
                base,
                expected.record_size.into(),
                header.record_size.into(),
            ));
        }
        if header.depth > MAX_DEPTH || u64::from(header.node_size) > MOST_BYTES {
            return Err(beyond());
        }
        let root = header.root.map(|address| Branch {
            node: Place::File(Child { address, records: header.root_records }),
            total: header.total_records,
        });
        let tree = Self { header, at, root, rank, changed: false };
        if tree.most(0).min(tree.most(1)) < LEAST { Err(beyond()) } else { Ok(tree) }
    }

    /// A tree that is not in the file yet.
    pub(super) fn create(output: &mut Output, elements: &Elements, rank: usize) -> Result<Self> {
        let at = output.allocate(Header::size(SIZES) as u64)?;
        Ok(Self { header: Self::empty(elements, rank), at, root: None, rank, changed: true })
    }

    fn empty(elements: &Elements, rank: usize) -> Header {
        let size = rank.saturating_mul(8).saturating_add(elements.absent.len());
        Header {
            kind: if elements.client == 0 { 10 } else { 11 },
            node_size: NODE_SIZE,
            record_size: u16::try_from(size).unwrap_or(u16::MAX),
            depth: 0,
            root: None,
            root_records: 0,
            total_records: 0,
        }
    }

    /// The most records of a node.
    fn most(&self, level: u16) -> u64 {
        match level.checked_sub(1) {
            None => self.header.leaf_records(),
            Some(below) => {
                let header = Header { depth: level, ..self.header };
                let pointers = header.pointers(SIZES);
                pointers.get(usize::from(below)).map_or(0, |pointer| pointer.records(&header, SIZES))
            }
        }
    }

    /// Adds a record, or replaces the one with the same coordinates.
    pub(super) fn set(&mut self, output: &mut Output, record: &[u8]) -> Result<()> {
        self.changed = true;
        let leaf = || Node { level: 0, records: Vec::new(), children: Vec::new() };
        let mut root = match self.root.take() {
            Some(root) => root,
            None => Branch { node: Place::Memory(Box::new(leaf())), total: 0 },
        };
        let depth = self.header.depth;
        let result = self.insert(output, &mut root, depth, record);
        if let Place::Memory(node) = &mut root.node
            && node.records.len() as u64 > self.most(depth)
        {
            let (separator, right) = split(node, &mut root.total);
            let level = depth.saturating_add(1);
            let total = root.total.saturating_add(right.total).saturating_add(1);
            let above = Node { level, records: vec![separator], children: vec![root, right] };
            root = Branch { node: Place::Memory(Box::new(above)), total };
            self.header.depth = level;
        }
        self.root = Some(root);
        result
    }

    fn insert(&self, output: &mut Output, branch: &mut Branch, level: u16, record: &[u8]) -> Result<()> {
        let node = self.load(output, branch, level)?;
        let slot = match node.records.binary_search_by(|other| self.compare(other, record)) {
            Ok(found) => {
                if let Some(found) = node.records.get_mut(found) {
                    *found = record.to_vec();
                }
                return Ok(());
            }
            Err(slot) => slot,
        };
        let Some(below) = level.checked_sub(1) else {
            node.records.insert(slot, record.to_vec());
            branch.total = branch.total.saturating_add(1);
            return Ok(());
        };
        let child = node.children.get_mut(slot).ok_or_else(beyond)?;
        let before = child.total;
        self.insert(output, child, below, record)?;
        let added = child.total.saturating_sub(before);
        if let Place::Memory(full) = &mut child.node
            && full.records.len() as u64 > self.most(below)
        {
            let (separator, right) = split(full, &mut child.total);
            node.records.insert(slot, separator);
            node.children.insert(slot.saturating_add(1), right);
        }
        branch.total = branch.total.saturating_add(added);
        Ok(())
    }

    /// The coordinates decide, the slowest first.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let tail = |record| ChunkRecord::encoded_scaled(record, self.rank);
        tail(a).cmp(&tail(b))
    }

    /// The node of a branch, in memory.
    fn load<'b>(&self, output: &mut Output, branch: &'b mut Branch, level: u16) -> Result<&'b mut Node> {
        if let Place::File(child) = branch.node {
            let len = usize::try_from(self.header.node_size).unwrap_or(usize::MAX);
            let bytes = output.read(child.address, len)?;
            let base = output.base().saturating_add(child.address.0);
            let (records, children) = match level.checked_sub(1) {
                None => {
                    let leaf = locate(NODE, base, &bytes, |i| Stored::leaf(i, &self.header, child.records))?;
                    (leaf.records.to_vec(), Vec::new())
                }
                Some(below) => {
                    let pointers = Header { depth: level, ..self.header }.pointers(SIZES);
                    let pointer = *pointers.get(usize::from(below)).ok_or_else(beyond)?;
                    let (records, children) = locate(NODE, base, &bytes, |i| {
                        Stored::counted(i, &self.header, SIZES, pointer, child.records)
                    })?;
                    (records.to_vec(), children)
                }
            };
            let size = usize::from(self.header.record_size).max(1);
            let branch_of = |(child, total): Counted| Branch { node: Place::File(child), total };
            branch.node = Place::Memory(Box::new(Node {
                level,
                records: records.chunks_exact(size).map(<[u8]>::to_vec).collect(),
                children: children.into_iter().map(branch_of).collect(),
            }));
        }
        match &mut branch.node {
            Place::Memory(node) => Ok(node),
            Place::File(_) => Err(beyond()),
        }
    }

    /// Writes changed nodes to new space, children first, and then the header.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        if !std::mem::take(&mut self.changed) {
            return Ok(());
        }
        if let Some(mut root) = self.root.take() {
            let result = self.write(output, &mut root);
            self.header.total_records = root.total;
            self.root = Some(root);
            let child = result.inspect_err(|_| self.changed = true)?;
            (self.header.root, self.header.root_records) = (Some(child.address), child.records);
        }
        let mut bytes = Vec::new();
        self.header.encode(&mut bytes, SIZES);
        output.write_part(self.at, &bytes)
    }

    fn write(&self, output: &mut Output, branch: &mut Branch) -> Result<Child> {
        let node = match &mut branch.node {
            Place::File(child) => return Ok(*child),
            Place::Memory(node) => node,
        };
        let mut children = Vec::with_capacity(node.children.len());
        for child in &mut node.children {
            children.push((self.write(output, child)?, child.total));
        }
        let mut bytes = Vec::new();
        let header = Header { depth: node.level, ..self.header };
        let pointer = header.pointers(SIZES).last().copied();
        let below = pointer.map(|pointer| (pointer, &children[..]));
        encode_node(&mut bytes, &header, SIZES, &node.records.concat(), below);
        let records = u16::try_from(node.records.len()).unwrap_or(u16::MAX);
        let child = Child { address: output.put(&bytes)?, records };
        branch.node = Place::File(child);
        Ok(child)
    }
}

/// Moves the upper half of a node to a new one; returns the record between the two. `total` counts what is left.
fn split(node: &mut Node, total: &mut u64) -> (Vec<u8>, Branch) {
    let middle = node.records.len() / 2;
    let mut records = node.records.split_off(middle);
    let separator = if records.is_empty() { Vec::new() } else { records.remove(0) };
    let children = match node.children.is_empty() {
        true => Vec::new(),
        false => node.children.split_off(middle.saturating_add(1)),
    };
    let below = children.iter().fold(0u64, |sum, child| sum.saturating_add(child.total));
    let right = below.saturating_add(records.len() as u64);
    *total = total.saturating_sub(right).saturating_sub(1);
    let node = Node { level: node.level, records, children };
    (separator, Branch { node: Place::Memory(Box::new(node)), total: right })
}
