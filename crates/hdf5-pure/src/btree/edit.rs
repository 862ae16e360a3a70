//! Changes version 2 B-trees record by record.
//!
//! No node in the file is overwritten. Its successor goes to fresh space, and so do the nodes above it, up to the root.
//! All nodes that are not on the path from the root to a changed leaf stay where they are. The header is written last,
//! in place. A change therefore reads and writes as many nodes as the tree has levels, and a few neighbours if a node
//! is split or merged.

use sciformats_core::arith::{add, increase, present, sub};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::btree::nodes::{Branch, MAX_DEPTH, Node, Order, Place, Shape, Source, Work, halves};
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v2::{Child, Header, Percents, encode_node};

const HEADER: &str = "version 2 B-tree header";

/// A B-tree that is being edited. Changes stay in memory until the tree is [written](Self::write).
pub(crate) struct EditedTree {
    at: Address,
    shape: Shape,
    root: Option<Branch>,
    changed: bool,
    outgrown: Vec<Address>,
}

impl EditedTree {
    /// Opens the B-tree with the header at `at`, whose records must have one of the types `kinds`.
    ///
    /// # Errors
    /// Returns `Malformed`, and `Unsupported` if its nodes cannot be split.
    pub(crate) fn open(source: &mut dyn Source, at: Address, kinds: &[u8]) -> Result<Self> {
        let sizes = source.sizes();
        let bytes = source.bytes(HEADER, at, Header::size(sizes) as u64)?;
        let offset = source.offset_of(at)?;
        let stored = locate(HEADER, offset, &bytes, |i| Header::parse_with_percents(i, sizes))?;
        let header = stored.0;
        if !kinds.contains(&header.kind) {
            let kind = FaultKind::Undefined { found: header.kind.into() };
            return Err(Fault::new("type", kind).at(HEADER, offset));
        }
        let root = header.root.map(|address| Branch {
            place: Place::File(Child { address, records: header.root_records }),
            total: header.total_records,
        });
        let shape = Shape::new(stored, sizes, offset)?;
        Ok(Self { at, shape, root, changed: false, outgrown: Vec::new() })
    }

    /// Creates a B-tree that is not in the file yet, with records of `record_size` bytes.
    ///
    /// # Errors
    /// Returns the errors of the output, and `Unsupported` if a node does not have room for enough records.
    pub(crate) fn create(output: &mut Output, kind: u8, node_size: u32, record_size: u16) -> Result<Self> {
        let sizes = output.sizes;
        let at = output.allocate(Header::size(sizes) as u64)?;
        let header =
            Header { kind, node_size, record_size, depth: 0, root: None, root_records: 0, total_records: 0 };
        let shape = Shape::new((header, Percents::USUAL), sizes, at.0)?;
        Ok(Self { at, shape, root: None, changed: true, outgrown: Vec::new() })
    }

    /// Returns the address of the header.
    pub(crate) fn address(&self) -> Address {
        self.at
    }

    /// Returns the size of a record.
    pub(crate) fn record_size(&self) -> usize {
        self.shape.header.record_size.into()
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> u64 {
        self.root.as_ref().map_or(0, |root| root.total)
    }

    fn work<'w>(shape: Shape, source: &'w mut dyn Source, outgrown: &'w mut Vec<Address>) -> Work<'w> {
        Work { shape, source, outgrown }
    }

    /// Returns the record for which `order` returns `Equal`.
    ///
    /// # Errors
    /// Returns `Malformed` if a node on the path cannot be read, and the errors of `order`.
    pub(crate) fn find(&mut self, source: &mut dyn Source, order: &mut Order<'_>) -> Result<Option<Vec<u8>>> {
        let mut work = Self::work(self.shape, source, &mut self.outgrown);
        let mut level = self.shape.header.depth;
        let Some(mut branch) = self.root.as_mut() else { return Ok(None) };
        loop {
            let node = work.load(branch, level)?;
            let (slot, found) = node.position(order)?;
            if found {
                return Ok(node.records.get(slot).cloned());
            }
            let Some(below) = level.checked_sub(1) else { return Ok(None) };
            (branch, level) = (node.child(slot)?, below);
        }
    }

    /// Adds a record. If a record for which `order` returns `Equal` exists, it is replaced and returned.
    ///
    /// # Errors
    /// Returns the errors of [`find`](Self::find). After an error the tree must not be written.
    pub(crate) fn insert(
        &mut self,
        source: &mut dyn Source,
        record: &[u8],
        order: &mut Order<'_>,
    ) -> Result<Option<Vec<u8>>> {
        if record.len() != self.record_size() {
            return Err(Error::internal("a record does not have the record size of its B-tree"));
        }
        self.changed = true;
        let depth = self.shape.header.depth;
        let mut root = match self.root.take() {
            Some(root) => root,
            None => Branch::of(Node::new(0, Vec::new(), Vec::new()))?,
        };
        let mut work = Self::work(self.shape, source, &mut self.outgrown);
        let replaced = work.insert(&mut root, depth, record, order)?;
        if root.len() > work.shape.most(depth)? {
            let full = work.load(&mut root, depth)?;
            let content = (std::mem::take(&mut full.records), std::mem::take(&mut full.children));
            let (left, separator, right) = halves(content.0, content.1)?;
            (full.records, full.children, full.changed) = (left.0, left.1, true);
            let right = Branch::of(Node::new(depth, right.0, right.1))?;
            root.total = sub(root.total, add(right.total, 1)?)?;
            let level = add(depth, 1)?;
            if level > MAX_DEPTH {
                return Err(Error::internal("a B-tree has more levels than its depth field can count"));
            }
            root = Branch::of(Node::new(level, vec![separator], vec![root, right]))?;
            self.shape.header.depth = level;
        }
        self.root = Some(root);
        Ok(replaced)
    }

    /// Removes the record for which `order` returns `Equal`, and returns it.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert).
    pub(crate) fn remove(
        &mut self,
        source: &mut dyn Source,
        order: &mut Order<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let depth = self.shape.header.depth;
        let Some(mut root) = self.root.take() else { return Ok(None) };
        let mut work = Self::work(self.shape, source, &mut self.outgrown);
        let removed = work.remove(&mut root, depth, order)?;
        self.changed |= removed.is_some();
        if root.len() > 0 {
            self.root = Some(root);
            return Ok(removed);
        }
        // A root without records has one child, which becomes the root, or no child at all.
        let emptied = work.load(&mut root, depth)?;
        let (child, from) = (emptied.children.pop(), emptied.from);
        self.outgrown.extend(from);
        self.shape.header.depth = depth.checked_sub(1).unwrap_or(depth); // if the last node was a leaf, the depth stays 0
        self.root = child;
        Ok(removed)
    }

    /// Writes what has changed, children first. Then it frees the old nodes, and writes the header last. After an error the
    /// tree can be written again: nodes that were written are not written twice.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub(crate) fn write(&mut self, output: &mut Output) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        let mut header = self.shape.header;
        (header.root, header.root_records, header.total_records) = (None, 0, self.len());
        if let Some(root) = &mut self.root {
            let child = write(&self.shape, output, root, &mut self.outgrown)?;
            (header.root, header.root_records) = (Some(child.address), child.records);
        }
        self.shape.header = header;
        for node in std::mem::take(&mut self.outgrown) {
            output.free(node, header.node_size.into(), Use::Metadata)?;
        }
        let mut bytes = Vec::new();
        header.encode_with(&mut bytes, output.sizes, self.shape.percents)?;
        output.write(self.at, &bytes)?;
        self.changed = false;
        Ok(())
    }
}

/// Writes a node and the nodes below it to fresh space, as far as they have changed.
fn write(
    shape: &Shape,
    output: &mut Output,
    branch: &mut Branch,
    outgrown: &mut Vec<Address>,
) -> Result<Child> {
    let node = match &mut branch.place {
        Place::File(child) => return Ok(*child),
        Place::Memory(node) => node,
    };
    let records = sciformats_core::arith::fit(node.records.len(), "number of records of a node")?;
    if let Some(address) = node.from.filter(|_| !node.changed) {
        return Ok(Child { address, records });
    }
    let mut children = Vec::with_capacity(node.children.len());
    for child in &mut node.children {
        children.push((write(shape, output, child, outgrown)?, child.total));
    }
    let (header, pointer) = shape.at(node.level);
    let mut bytes = Vec::new();
    let below = pointer.map(|pointer| (pointer, &children[..]));
    encode_node(&mut bytes, &header, output.sizes, &node.records.concat(), below)?;
    let address = output.put(&bytes)?;
    outgrown.extend(node.from.replace(address));
    node.changed = false;
    Ok(Child { address, records })
}

impl Work<'_> {
    fn insert(
        &mut self,
        branch: &mut Branch,
        level: u16,
        record: &[u8],
        order: &mut Order<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let node = self.load(branch, level)?;
        let (slot, found) = node.position(order)?;
        if found {
            return node.replace(slot, record.to_vec()).map(Some);
        }
        node.changed = true;
        match level.checked_sub(1) {
            None => node.records.insert(slot, record.to_vec()),
            Some(below) => {
                let child = node.child(slot)?;
                let replaced = self.insert(child, below, record, order)?;
                if replaced.is_some() {
                    return Ok(replaced);
                }
                if child.len() > self.shape.most(below)? {
                    self.relieve(node, slot)?;
                }
            }
        }
        increase(&mut branch.total, 1)?;
        Ok(None)
    }

    fn remove(&mut self, branch: &mut Branch, level: u16, order: &mut Order<'_>) -> Result<Option<Vec<u8>>> {
        let node = self.load(branch, level)?;
        let (slot, found) = node.position(order)?;
        let removed = match (level.checked_sub(1), found) {
            (None, false) => return Ok(None),
            (None, true) => node.records.remove(slot),
            (Some(below), false) => match self.remove(node.child(slot)?, below, order)? {
                Some(removed) => removed,
                None => return Ok(None),
            },
            // The record is replaced by the last record before it, which is in a leaf, because only leaves can give up
            // a record.
            (Some(below), true) => {
                let last = self.remove_last(node.child(slot)?, below)?;
                node.replace(slot, last)?
            }
        };
        self.removed(branch, level, slot)?;
        Ok(Some(removed))
    }

    fn remove_last(&mut self, branch: &mut Branch, level: u16) -> Result<Vec<u8>> {
        let node = self.load(branch, level)?;
        let last = node.children.len().checked_sub(1);
        let removed = match (level.checked_sub(1), last) {
            (Some(below), Some(last)) => self.remove_last(node.child(last)?, below)?,
            _ => present(node.records.pop(), "last record of a leaf")?,
        };
        self.removed(branch, level, last.unwrap_or_default())?; // a leaf has no children, so the number does not matter
        Ok(removed)
    }

    /// Notes that the node of a branch, or its child with that number, has lost a record.
    fn removed(&mut self, branch: &mut Branch, level: u16, child: usize) -> Result<()> {
        branch.total = sub(branch.total, 1)?;
        let node = self.load(branch, level)?;
        node.changed = true;
        if level > 0 { self.fill(node, child) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::space::output::Target;

    fn record(key: u32, value: u8) -> Vec<u8> {
        [&key.to_be_bytes()[..], &[value; 7]].concat()
    }

    fn by_key(key: u32) -> impl FnMut(&[u8]) -> Result<Ordering> {
        move |record| Ok(record[..4].cmp(&key.to_be_bytes()))
    }

    /// Returns all records in order. Fails if a node has a number of records that its level does not allow.
    fn all(tree: &mut EditedTree, output: &mut Output) -> Vec<Vec<u8>> {
        fn visit(work: &mut Work<'_>, branch: &mut Branch, level: u16, root: bool, out: &mut Vec<Vec<u8>>) {
            let header = Header { depth: level, ..work.shape.header };
            let room = match header.pointers(work.shape.sizes).last() {
                Some(pointer) => pointer.records(&header, work.shape.sizes),
                None => header.leaf_records(),
            };
            let total = branch.total;
            let node = work.load(branch, level).unwrap();
            let len = node.records.len() as u64;
            assert!(len <= room && (root || len >= room * 40 / 100), "{len} of {room} at {level}");
            let before = out.len();
            for (number, child) in node.children.iter_mut().enumerate() {
                visit(work, child, level - 1, false, out);
                out.extend(node.records.get(number).cloned());
            }
            if level == 0 {
                out.extend(node.records.iter().cloned());
            }
            assert_eq!((out.len() - before) as u64, total);
        }
        let mut out = Vec::new();
        let (shape, depth) = (tree.shape, tree.shape.header.depth);
        let mut work = EditedTree::work(shape, output, &mut tree.outgrown);
        if let Some(root) = &mut tree.root {
            visit(&mut work, root, depth, true, &mut out);
        }
        out
    }

    fn check(tree: &mut EditedTree, output: &mut Output, model: &BTreeMap<u32, u8>) {
        let expected: Vec<Vec<u8>> = model.iter().map(|(&key, &value)| record(key, value)).collect();
        assert_eq!(all(tree, output), expected);
        assert_eq!(tree.len(), model.len() as u64);
        tree.write(output).unwrap();
        let mut stored = EditedTree::open(output, tree.address(), &[5]).unwrap();
        assert_eq!(all(&mut stored, output), expected);
        assert_eq!(stored.len(), model.len() as u64);
        *tree = stored;
    }

    /// Returns pseudo-random numbers.
    fn random(state: &mut u64) -> u32 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        u32::try_from(*state >> 32).unwrap()
    }

    #[test]
    fn thousands_of_records_come_and_go() {
        let mut output = Output::new(Target::Memory(Vec::new()), 0);
        let mut tree = EditedTree::create(&mut output, 5, 512, 11).unwrap();
        let (mut model, mut state) = (BTreeMap::new(), 7);
        for round in 0u32..40 {
            for i in 0..1500 {
                let key = match round % 4 {
                    0 => round * 1500 + i,
                    _ => random(&mut state) % 60_000,
                };
                // With each round more records are removed, until nothing is left.
                if random(&mut state) % 40 >= round {
                    let value = random(&mut state).to_le_bytes()[0];
                    let replaced = tree.insert(&mut output, &record(key, value), &mut by_key(key)).unwrap();
                    assert_eq!(replaced, model.insert(key, value).map(|value| record(key, value)));
                } else {
                    let removed = tree.remove(&mut output, &mut by_key(key)).unwrap();
                    assert_eq!(removed, model.remove(&key).map(|value| record(key, value)));
                }
            }
            check(&mut tree, &mut output, &model);
            assert!(round < 4 || tree.shape.header.depth >= 1);
        }
        for key in model.keys().copied().collect::<Vec<_>>() {
            assert!(tree.remove(&mut output, &mut by_key(key)).unwrap().is_some());
        }
        model.clear();
        check(&mut tree, &mut output, &model);
        assert!(tree.root.is_none() && tree.shape.header.depth == 0);
    }

    #[test]
    fn one_change_writes_a_path() {
        let mut output = Output::new(Target::Memory(Vec::new()), 0);
        let records: Vec<u8> = (0..50_000).flat_map(|key| record(key * 2, 1)).collect();
        let at = crate::btree::build(&mut output, 5, 512, 11, &records).unwrap();
        for key in [0, 31_111, 99_999] {
            let mut tree = EditedTree::open(&mut output, at, &[5]).unwrap();
            let before = output.end();
            tree.insert(&mut output, &record(key | 1, 2), &mut by_key(key | 1)).unwrap();
            tree.write(&mut output).unwrap();
            let written = output.end() - before;
            assert!(written <= 512 * 8, "{written} bytes for a tree of {} levels", tree.shape.header.depth);
        }
        let mut tree = EditedTree::open(&mut output, at, &[5]).unwrap();
        assert_eq!(tree.find(&mut output, &mut by_key(31_111)).unwrap(), Some(record(31_111, 2)));
        assert_eq!(tree.find(&mut output, &mut by_key(31_113)).unwrap(), None);
        assert_eq!(tree.len(), 50_003);
    }

    proptest! {
        #[test]
        fn a_sorted_map(steps in prop::collection::vec((0u32..400, any::<u8>(), any::<bool>()), 0..600)) {
            let mut output = Output::new(Target::Memory(Vec::new()), 0);
            // The nodes are so small that three records fill a leaf.
            let mut tree = EditedTree::create(&mut output, 5, 96, 11).unwrap();
            let mut model = BTreeMap::new();
            for (key, value, add) in steps {
                if add {
                    tree.insert(&mut output, &record(key, value), &mut by_key(key)).unwrap();
                    model.insert(key, value);
                } else {
                    tree.remove(&mut output, &mut by_key(key)).unwrap();
                    model.remove(&key);
                }
            }
            check(&mut tree, &mut output, &model);
        }
    }
}
