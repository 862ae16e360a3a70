//! Version 2 B-trees that grow while others read them.
//!
//! A node in the file is never changed: its successor goes to new space, and so do the nodes above it. Only the header is
//! written in place, last. A reader that holds the old header sees the old tree, whole.

use std::cmp::Ordering;

use sciformats_core::arith::{add, fit, increase, mul, present, sub, sum};
use sciformats_core::fault::locate;
use sciformats_core::{Error, Result};

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
        let base = add(output.base(), at.0)?;
        let header = locate(HEADER, base, &bytes, |i| Header::parse(i, SIZES))?;
        let expected = Self::empty(elements, rank)?;
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
        Ok(Self { header: Self::empty(elements, rank)?, at, root: None, rank, changed: true })
    }

    fn empty(elements: &Elements, rank: usize) -> Result<Header> {
        let size = add(mul(rank, 8)?, elements.absent.len())?;
        Ok(Header {
            kind: if elements.client == 0 { 10 } else { 11 },
            node_size: NODE_SIZE,
            record_size: fit(size, "size of a record")?,
            depth: 0,
            root: None,
            root_records: 0,
            total_records: 0,
        })
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
            let (separator, right) = split(node, &mut root.total)?;
            let level = add(depth, 1)?;
            let total = sum([root.total, right.total, 1])?;
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
                *present(node.records.get_mut(found), "record of a node")? = record.to_vec();
                return Ok(());
            }
            Err(slot) => slot,
        };
        let Some(below) = level.checked_sub(1) else {
            node.records.insert(slot, record.to_vec());
            increase(&mut branch.total, 1)?;
            return Ok(());
        };
        let child = node.children.get_mut(slot).ok_or_else(beyond)?;
        let before = child.total;
        self.insert(output, child, below, record)?;
        let added = sub(child.total, before)?;
        if let Place::Memory(full) = &mut child.node
            && full.records.len() as u64 > self.most(below)
        {
            let (separator, right) = split(full, &mut child.total)?;
            node.records.insert(slot, separator);
            node.children.insert(add(slot, 1)?, right);
        }
        increase(&mut branch.total, added)
    }

    /// The coordinates decide, the slowest first.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let tail = |record| ChunkRecord::encoded_scaled(record, self.rank);
        tail(a).cmp(&tail(b))
    }

    /// The node of a branch, in memory.
    fn load<'b>(&self, output: &mut Output, branch: &'b mut Branch, level: u16) -> Result<&'b mut Node> {
        if let Place::File(child) = branch.node {
            let len = fit(self.header.node_size, "size of a node")?;
            let bytes = output.read(child.address, len)?;
            let base = add(output.base(), child.address.0)?;
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
        self.header.encode(&mut bytes, SIZES)?;
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
        encode_node(&mut bytes, &header, SIZES, &node.records.concat(), below)?;
        let records = fit(node.records.len(), "number of records of a node")?;
        let child = Child { address: output.put(&bytes)?, records };
        branch.node = Place::File(child);
        Ok(child)
    }
}

/// Moves the upper half of a node to a new one; returns the record between the two. `total` counts what is left.
fn split(node: &mut Node, total: &mut u64) -> Result<(Vec<u8>, Branch)> {
    let middle = node.records.len() / 2;
    let mut records = node.records.split_off(middle);
    if records.is_empty() {
        return Err(Error::internal("a node without records is split"));
    }
    let separator = records.remove(0);
    let children = match node.children.is_empty() {
        true => Vec::new(),
        false => node.children.split_off(add(middle, 1)?),
    };
    let below = sum(children.iter().map(|child| child.total))?;
    let right = add(below, records.len() as u64)?;
    *total = sub(*total, add(right, 1)?)?;
    let node = Node { level: node.level, records, children };
    Ok((separator, Branch { node: Place::Memory(Box::new(node)), total: right }))
}
