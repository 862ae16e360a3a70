//! Changes version 1 B-trees of chunks in place.
//!
//! Nodes refer to their neighbours, so they cannot move. The few bytes of a node that change wait for the commit. A
//! full node is split, and its upper half goes to fresh space. The B-tree keeps the form that the C library gives it:
//! the first key of a node is the last key of its left neighbour, the root keeps its address when the tree grows, and a
//! node is freed when it is empty, but not earlier.

use std::collections::BTreeMap;

use sciformats_core::arith::{add, present, sub};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::chunk::index::btree1::build::{end, key, offsets};
use crate::chunk::index::build::Stored;
use crate::chunk::index::leaves::rewrite;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::btree_v1::{ChunkKey, ChunkNode, Place};
use crate::spec::{Address, Sizes};

const NODE: &str = "chunk B-tree node";

/// A B-tree that is being changed.
pub(crate) struct Btree1Writer {
    pub(crate) root: Address,
    shape: Shape,
    nodes: BTreeMap<Address, Held>,
    /// The nodes to which nothing leads any more.
    gone: Vec<Address>,
}

/// What all nodes of a B-tree have in common.
pub(crate) struct Shape {
    pub(crate) sizes: Sizes,
    /// The number of elements of a chunk along each dimension.
    pub(crate) chunk: Vec<u64>,
    /// Half the children of a node.
    pub(crate) k: u16,
}

/// A node in memory.
struct Held {
    node: ChunkNode,
    left: Option<Address>,
    right: Option<Address>,
    /// The node's bytes in the file, or `None` if it is new.
    stored: Option<Vec<u8>>,
    changed: bool,
}

/// A node on the path down, and the number of the child to which the path leads.
#[derive(Clone, Copy)]
struct Step {
    at: Address,
    child: usize,
}

/// The path from the root to the leaf of a chunk.
struct Way {
    steps: Vec<Step>,
    /// The key after the leaf, unless it is the last leaf of the B-tree.
    end: Option<ChunkKey>,
}

impl Btree1Writer {
    /// Creates the state for the B-tree with this root.
    pub(crate) fn new(root: Address, shape: Shape) -> Self {
        Self { root, shape, nodes: BTreeMap::new(), gone: Vec::new() }
    }

    /// Returns the number of children of a full node.
    fn most(&self) -> usize {
        usize::from(self.shape.k.max(1)) * 2
    }

    /// Returns the size of a node with so many children.
    fn size(&self, children: usize) -> Result<usize> {
        ChunkNode::size(self.shape.sizes, children, self.shape.chunk.len())
    }

    /// Reads the node at `at`, which must have the given level, unless it is in memory.
    fn load(&mut self, output: &mut Output, at: Address, level: Option<u8>) -> Result<&mut Held> {
        if !self.nodes.contains_key(&at) {
            let bytes = output.read_stored(NODE, at, self.size(self.most())? as u64)?;
            let base = add(output.base(), at.0)?;
            let Shape { sizes, chunk, .. } = &self.shape;
            let parse = |i| ChunkNode::parse_placed(i, *sizes, chunk.len());
            let (node, Place { left, right, .. }) = locate(NODE, base, &bytes, parse)?;
            let held = Held { node, left, right, stored: Some(bytes), changed: false };
            self.nodes.insert(at, held);
        }
        let held = present(self.nodes.get_mut(&at), "node of a tree")?;
        match level {
            Some(expected) if expected != held.node.level => {
                let kind = FaultKind::Mismatch { expected: expected.into(), found: held.node.level.into() };
                Err(Fault::new("node level", kind).at(NODE, add(output.base(), at.0)?))
            }
            _ => Ok(held),
        }
    }

    /// Returns a node in memory in order to change it.
    fn change(&mut self, at: Address) -> Result<&mut Held> {
        let held = present(self.nodes.get_mut(&at), "node of a tree")?;
        held.changed = true;
        Ok(held)
    }

    /// Returns the path to the leaf that has a chunk, or would have it.
    fn descend(&mut self, output: &mut Output, offsets: &[u64]) -> Result<Way> {
        let mut way = Way { steps: Vec::new(), end: None };
        let (mut at, mut level) = (self.root, None);
        loop {
            let node = &self.load(output, at, level)?.node;
            let before = |key: &ChunkKey| (&key.offsets[..], key.byte) <= (offsets, 0);
            let firsts = node.keys.get(..node.children.len()).unwrap_or_default();
            let child = bound::left(firsts.partition_point(before), 1);
            way.end = firsts.get(add(child, 1)?).cloned().or(way.end);
            way.steps.push(Step { at, child });
            let Some(below) = node.level.checked_sub(1) else { return Ok(way) };
            let next = node.children.get(child).copied().flatten();
            let missing = Fault::new("child", FaultKind::Rule("is missing"));
            let base = add(output.base(), at.0)?;
            (at, level) = (next.ok_or_else(|| missing.at(NODE, base))?, Some(below));
        }
    }

    /// Returns the position of the chunk with these offsets in the leaf at the end of a path, if it is there.
    fn find(&self, way: &Way, offsets: &[u64]) -> Result<Option<Step>> {
        let leaf = *present(way.steps.last(), "leaf of a tree")?;
        let node = &present(self.nodes.get(&leaf.at), "leaf of a tree")?.node;
        let key = node.keys.get(leaf.child).filter(|_| leaf.child < node.children.len());
        Ok(Some(leaf).filter(|_| key.is_some_and(|key| key.offsets == offsets)))
    }

    /// Returns where a chunk is stored, if it is.
    pub(crate) fn get(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Stored>> {
        let offsets = offsets(scaled, &self.shape.chunk)?;
        let way = self.descend(output, &offsets)?;
        let Some(Step { at, child }) = self.find(&way, &offsets)? else { return Ok(None) };
        let node = &present(self.nodes.get(&at), "leaf of a tree")?.node;
        let key = present(node.keys.get(child), "key of a chunk")?;
        Ok(entry(key, node.children.get(child).copied().flatten()))
    }

    /// Sets where a chunk is stored. Returns its old place, if it had one.
    pub(crate) fn insert(
        &mut self,
        output: &mut Output,
        scaled: &[u64],
        stored: Stored,
    ) -> Result<Option<Stored>> {
        let new = key(scaled, stored, &self.shape.chunk)?;
        let way = self.descend(output, &new.offsets)?;
        if let Some(Step { at, child }) = self.find(&way, &new.offsets)? {
            let node = &mut self.change(at)?.node;
            let key = present(node.keys.get_mut(child), "key of a chunk")?;
            let place = present(node.children.get_mut(child), "place of a chunk")?;
            let before = entry(key, place.replace(stored.address));
            *key = new;
            self.mend(&way.steps)?;
            return Ok(before);
        }
        let leaf = *present(way.steps.last(), "leaf of a tree")?;
        let last = end(&new, &self.shape.chunk)?;
        let node = &mut self.change(leaf.at)?.node;
        if node.children.is_empty() {
            node.keys = vec![new, last];
            node.children = vec![Some(stored.address)];
            self.mend(&way.steps)?;
            return Ok(None);
        }
        let first = present(node.keys.first(), "first key of a node")?;
        let slot = if first.offsets > new.offsets { 0 } else { add(leaf.child, 1)? };
        let offsets = new.offsets.clone();
        node.keys.insert(slot, new);
        node.children.insert(slot, Some(stored.address));
        let bound = present(node.keys.last_mut(), "last key of a node")?;
        if (&bound.offsets, bound.byte) <= (&offsets, 0) {
            *bound = way.end.unwrap_or(last);
        }
        self.mend(&way.steps)?;
        self.divide(output, &way.steps)?;
        Ok(None)
    }

    /// Updates the keys of the nodes on the path upwards to match the first and last keys of the nodes below them.
    fn mend(&mut self, way: &[Step]) -> Result<()> {
        for (above, below) in way.iter().zip(way.iter().skip(1)).rev() {
            let (first, last) = present(self.nodes.get(&below.at), "node of a tree")?.ends()?;
            let held = present(self.nodes.get_mut(&above.at), "node of a tree")?;
            let after = add(above.child, 1)?;
            let ends = after == held.node.children.len();
            for (slot, key) in [(above.child, Some(first)), (after, Some(last).filter(|_| ends))] {
                let Some(key) = key else { continue };
                let place = present(held.node.keys.get_mut(slot), "key of a node")?;
                if *place != key {
                    *place = key;
                    held.changed = true;
                }
            }
        }
        Ok(())
    }

    /// Splits nodes that have too many children, from the leaf upwards.
    fn divide(&mut self, output: &mut Output, way: &[Step]) -> Result<()> {
        for (depth, step) in way.iter().enumerate().rev() {
            let whole = self.size(self.most())? as u64;
            let most = self.most();
            let held = self.change(step.at)?;
            let children = held.node.children.len();
            if children <= most {
                return Ok(());
            }
            // Chunks usually come in order, so the last node of a level is left full when it is split, as the C library
            // does it.
            let kept = match (held.left, held.right) {
                (_, None) => bound::left(children, children / 10),
                (None, _) => children / 10,
                _ => children / 2,
            };
            let kept = kept.clamp(1, sub(children, 1)?);
            let right = output.allocate(whole)?;
            let mut upper = held.divide(kept)?;
            upper.left = Some(step.at);
            let (first, _) = upper.ends()?;
            let beside = upper.right;
            let level = upper.node.level;
            held.right = Some(right);
            self.nodes.insert(right, upper);
            if let Some(beside) = beside {
                self.load(output, beside, Some(level))?.left = Some(right);
                self.change(beside)?;
            }
            match depth.checked_sub(1).and_then(|above| way.get(above)) {
                Some(above) => {
                    let node = &mut self.change(above.at)?.node;
                    let slot = add(above.child, 1)?;
                    node.keys.insert(slot, first);
                    node.children.insert(slot, Some(right));
                }
                None => {
                    let left = output.allocate(whole)?;
                    self.raise(left, right)?;
                }
            }
        }
        Ok(())
    }

    /// Moves the root to `left`, which has a right neighbour now, and puts a new root in its place.
    fn raise(&mut self, left: Address, right: Address) -> Result<()> {
        let root = self.change(self.root)?;
        let level = add(root.node.level, 1)?;
        let (first, middle) = root.ends()?;
        let (_, last) = present(self.nodes.get(&right), "node of a tree")?.ends()?;
        let node =
            ChunkNode { level, keys: vec![first, middle, last], children: vec![Some(left), Some(right)] };
        let root = self.change(self.root)?;
        let node = std::mem::replace(&mut root.node, node);
        root.right = None;
        let moved = Held { node, left: None, right: Some(right), stored: None, changed: true };
        self.nodes.insert(left, moved);
        self.change(right)?.left = Some(left);
        Ok(())
    }

    /// Removes a chunk. Returns its place, if it had one.
    pub(crate) fn remove(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Stored>> {
        let offsets = offsets(scaled, &self.shape.chunk)?;
        let way = self.descend(output, &offsets)?;
        let Some(found) = self.find(&way, &offsets)? else { return Ok(None) };
        let node = &self.change(found.at)?.node;
        let place = node.children.get(found.child).copied().flatten();
        let removed = entry(present(node.keys.get(found.child), "key of a chunk")?, place);
        for (depth, step) in way.steps.iter().enumerate().rev() {
            let held = self.change(step.at)?;
            let only = held.node.children.len() == 1;
            if only && depth > 0 {
                self.unlink(output, step.at)?;
                continue;
            }
            held.node.children.remove(step.child);
            if only {
                // Only the root is left, and it stays.
                held.node.keys.truncate(1);
                held.node.level = 0;
            } else {
                held.node.keys.remove(step.child);
                if step.child == 0 {
                    self.mend_left(output, way.steps.get(..=depth).unwrap_or_default())?;
                }
            }
            break;
        }
        Ok(removed)
    }

    /// Passes the changed first key of a node on to its neighbour and to the nodes above.
    fn mend_left(&mut self, output: &mut Output, way: &[Step]) -> Result<()> {
        let last = present(way.last(), "node of a tree")?;
        let (first, _) = present(self.nodes.get(&last.at), "node of a tree")?.ends()?;
        for (depth, step) in way.iter().enumerate().rev() {
            let held = self.change(step.at)?;
            let (left, level) = (held.left, held.node.level);
            if depth < sub(way.len(), 1)? {
                *present(held.node.keys.get_mut(step.child), "key of a node")? = first.clone();
            }
            let stays = depth < sub(way.len(), 1)? && step.child > 0;
            if stays {
                break;
            }
            if let Some(left) = left {
                self.load(output, left, Some(level))?;
                let end = self.change(left)?.node.keys.last_mut();
                *present(end, "last key of a node")? = first.clone();
            }
        }
        Ok(())
    }

    /// Removes an empty node from its level.
    fn unlink(&mut self, output: &mut Output, at: Address) -> Result<()> {
        let held = present(self.nodes.remove(&at), "node of a tree")?;
        let level = Some(held.node.level);
        if let Some(left) = held.left {
            self.load(output, left, level)?;
            let beside = self.change(left)?;
            beside.right = held.right;
            let end = present(held.node.keys.last(), "last key of a node")?;
            *present(beside.node.keys.last_mut(), "last key of a node")? = end.clone();
        }
        if let Some(right) = held.right {
            self.load(output, right, level)?;
            self.change(right)?.left = held.left;
        }
        self.gone.push(at);
        Ok(())
    }

    /// Writes what was changed.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        let whole = self.size(self.most())?;
        let Shape { sizes, chunk, k } = &self.shape;
        for (&at, held) in self.nodes.iter_mut().filter(|(_, held)| held.changed) {
            let Held { node, left, right, .. } = held;
            let place = Place { level: node.level, left: *left, right: *right };
            let mut bytes = Vec::new();
            node.encode(&mut bytes, *sizes, (*k).max(1), chunk.len(), place)?;
            match &held.stored {
                // Bytes after the last key have no meaning and are not written.
                Some(stored) => {
                    let used = ChunkNode::size(*sizes, node.children.len(), chunk.len())?;
                    bytes.truncate(used);
                    rewrite(output, at, stored.get(..used), &bytes)?;
                    bytes.extend_from_slice(stored.get(used..).unwrap_or_default());
                }
                None => output.write_part(at, &bytes)?,
            }
            (held.stored, held.changed) = (Some(bytes), false);
        }
        self.gone.drain(..).try_for_each(|node| output.free(node, whole as u64, Use::Metadata))
    }
}

impl Held {
    /// Returns the first and the last key.
    fn ends(&self) -> Result<(ChunkKey, ChunkKey)> {
        let (first, last) = (self.node.keys.first().cloned(), self.node.keys.last().cloned());
        Ok((present(first, "first key of a node")?, present(last, "last key of a node")?))
    }

    /// Splits the node. It keeps its first `kept` children, and the others go to the returned node, which gets its
    /// right neighbour.
    fn divide(&mut self, kept: usize) -> Result<Self> {
        let Self { node, right, .. } = self;
        let children = node.children.split_off(kept);
        let keys = node.keys.split_off(kept);
        node.keys.push(present(keys.first(), "first key of a node")?.clone());
        let upper = ChunkNode { level: node.level, keys, children };
        Ok(Self { node: upper, left: None, right: *right, stored: None, changed: true })
    }
}

/// Returns the stored chunk of a leaf entry.
fn entry(key: &ChunkKey, address: Option<Address>) -> Option<Stored> {
    address.map(|address| Stored { address, size: key.size.into(), mask: Some(key.filter_mask), live: true })
}
