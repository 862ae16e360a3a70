//! Rebuilds indexes of chunks from the nodes and entries that can be read.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::Address;
use hdf5_pure::structure::{Chunked, IndexKind, Layout, MessageType, StoredChunk};
use sciformats_core::{Result, bound};

use super::Work;
use crate::report::Confidence;

/// How many times a node is compared with a dataset for each node, and how many more. Each dataset could be the one of each node, and
/// nodes may lead to each other in any order, so that the time could grow with the square of the size of the file or faster.
const PER_LEAF: u64 = 64;
const CHECKS: u64 = 1 << 25;

/// A dataset whose index is damaged.
pub(super) struct Broken {
    pub(super) at: u64,
    pub(super) layout: Chunked,
    pub(super) shape: Vec<u64>,
    pub(super) filters: usize,
    /// The chunks by the index of their first element.
    pub(super) known: BTreeMap<Vec<u64>, StoredChunk>,
    /// Those of them whose places are guessed.
    pub(super) placed: BTreeSet<Vec<u64>>,
    /// The nodes of its version 1 B-tree, read or not, or the header of its index of another kind.
    nodes: BTreeSet<u64>,
    /// The addresses of chunks that an index names twice or out of order.
    doubtful: BTreeSet<u64>,
    why: String,
    pub(super) added: usize,
}

impl Work {
    /// Makes the indexes anew of datasets whose index is damaged. Returns whether there are any.
    pub(super) fn rebuild_indexes(&mut self, file: &hdf5_pure::File) -> Result<bool> {
        let mut broken = Vec::new();
        let mut healthy = BTreeSet::new();
        let datasets = self.tree.nodes.iter().filter(|(_, node)| node.is_dataset());
        for at in datasets.map(|(&at, _)| at) {
            let Ok(dataset) = file.dataset_at(Address(at)) else { continue };
            let (Ok(Layout::Chunked(layout)), Ok(chunks)) = (dataset.layout(), dataset.chunks()) else {
                continue;
            };
            let why = chunks.iter().find_map(|chunk| chunk.as_ref().err().map(ToString::to_string));
            let filters = dataset.filters().map_or(0, |pipeline| pipeline.filters.len());
            let why = why.or_else(|| suspicious(layout, filters, &chunks).map(str::to_owned));
            let mut nodes = BTreeSet::new();
            if layout.index == IndexKind::BtreeV1
                && let Some(root) = layout.address
            {
                self.nodes_of(root.0, layout.dimensions.len(), &mut nodes);
            } else if let Some(header) = layout.address {
                nodes.insert(header.0);
            }
            let Some(why) = why else {
                healthy.extend(nodes);
                continue;
            };
            let mut found = Broken {
                at,
                layout: layout.clone(),
                shape: dataset.shape().to_vec(),
                filters,
                known: BTreeMap::new(),
                placed: BTreeSet::new(),
                nodes,
                doubtful: BTreeSet::new(),
                why,
                added: 0,
            };
            let chunks: Vec<StoredChunk> = chunks.into_iter().flatten().collect();
            let ordered = found.layout.index == IndexKind::BtreeV1;
            let sure: BTreeSet<u64> =
                unambiguous(&chunks, ordered).iter().map(|chunk| chunk.address.0).collect();
            found.doubtful =
                chunks.iter().map(|chunk| chunk.address.0).filter(|at| !sure.contains(at)).collect();
            for chunk in &chunks {
                let first = chunk.scaled.iter().zip(&layout.dimensions);
                let first: Vec<u64> = first.map(|(at, n)| bound::product(*at, *n)).collect();
                found.add(first, chunk, self);
            }
            self.read_entries(&mut found);
            broken.push(found);
        }
        self.owned.extend(&healthy);
        if broken.is_empty() {
            return Ok(false);
        }
        self.adopt_leaves(&mut broken, &healthy);
        self.adopt_blocks(file, &mut broken);
        self.place_by_order(file, &mut broken);
        for found in broken {
            self.owned.extend(&found.nodes);
            self.index_anew(&found)?;
        }
        Ok(true)
    }

    /// Reads the nodes of a tree that cannot be read as a whole entry by entry. What they lead to are chunks or other nodes.
    fn read_entries(&self, found: &mut Broken) {
        if found.layout.index != IndexKind::BtreeV1 {
            return;
        }
        let nodes: BTreeSet<u64> = self.addresses("chunk B-tree node").collect();
        let rank = found.layout.dimensions.len();
        for at in found.nodes.clone() {
            if self.carver.chunk_node(Address(at), rank).is_ok() {
                continue;
            }
            for chunk in self.carver.chunk_entries(Address(at), rank) {
                if nodes.contains(&chunk.address.0) {
                    self.nodes_of(chunk.address.0, rank, &mut found.nodes);
                } else if found.add(chunk.scaled.clone(), &chunk, self) {
                    found.added += 1;
                }
            }
        }
    }

    /// Collects the nodes of a tree. Nodes that cannot be read are among them, because what they are is known.
    fn nodes_of(&self, root: u64, rank: usize, nodes: &mut BTreeSet<u64>) {
        let mut queue = vec![root];
        while let Some(at) = queue.pop() {
            if nodes.insert(at)
                && let Ok(node) = self.carver.chunk_node(Address(at), rank)
            {
                queue.extend(node.children.iter().map(|child| child.0));
            }
        }
    }

    /// Gives leaves that nothing leads to to the dataset that their neighbours belong to, or to the only one that they fit.
    fn adopt_leaves(&mut self, broken: &mut [Broken], healthy: &BTreeSet<u64>) {
        let mut leaves: Vec<u64> =
            self.addresses("chunk B-tree node").filter(|at| !healthy.contains(at)).collect();
        let mut checks = bound::sum(CHECKS, bound::product(PER_LEAF, leaves.len() as u64));
        let each = broken.len() as u64;
        let mut spend = || {
            let left = checks.checked_sub(each);
            checks = left.unwrap_or(0);
            left.is_some()
        };
        loop {
            let before = leaves.len();
            let mut rest = Vec::new();
            for leaf in leaves {
                match spend().then(|| self.owner(leaf, broken, false)).flatten() {
                    Some(owner) => self.adopt_leaf(leaf, owner, broken, Confidence::High),
                    None => rest.push(leaf),
                }
            }
            leaves = rest;
            if leaves.len() == before {
                break;
            }
            // Neighbours may follow each other in either direction.
            leaves.reverse();
        }
        for leaf in leaves {
            if let Some(owner) = spend().then(|| self.owner(leaf, broken, true)).flatten() {
                self.adopt_leaf(leaf, owner, broken, Confidence::Medium);
            }
        }
    }

    /// Returns the dataset to which a node belongs: the one whose tree leads to it or to a neighbour, or else the only one that it
    /// fits.
    fn owner(&self, leaf: u64, broken: &[Broken], alone: bool) -> Option<usize> {
        let mut fitting = Vec::new();
        let mut nodes = BTreeMap::new();
        for (i, found) in broken.iter().enumerate() {
            if found.layout.index != IndexKind::BtreeV1 {
                continue;
            }
            let rank = found.shape.len();
            let node = nodes.entry(rank).or_insert_with(|| self.carver.chunk_node(Address(leaf), rank).ok());
            let Some(node) = node else { continue };
            if !node.chunks.iter().all(|chunk| found.fits(&chunk.scaled, chunk, self)) {
                continue;
            }
            let near = node.siblings.iter().flatten().chain(&node.children);
            if found.nodes.contains(&leaf) || near.into_iter().any(|at| found.nodes.contains(&at.0)) {
                return Some(i);
            }
            if node.level == 0 && !node.chunks.is_empty() {
                fitting.push(i);
            }
        }
        match fitting.as_slice() {
            [only] if alone => Some(*only),
            _ => None,
        }
    }

    fn adopt_leaf(&mut self, leaf: u64, owner: usize, broken: &mut [Broken], confidence: Confidence) {
        let Some(found) = broken.get_mut(owner) else { return };
        let Ok(node) = self.carver.chunk_node(Address(leaf), found.shape.len()) else { return };
        let known = found.nodes.contains(&leaf);
        found.nodes.insert(leaf);
        found.nodes.extend(node.children.iter().map(|child| child.0));
        let mut added = 0usize;
        for chunk in node.chunks {
            if found.add(chunk.scaled.clone(), &chunk, self) {
                added += 1;
            }
        }
        found.added += added;
        if added > 0 && !known {
            let at = found.at;
            let reason = match confidence {
                Confidence::High => "a neighbour of the node belongs to it",
                _ => "the chunks fit the shape and the chunk grid of this dataset alone",
            };
            let reason = format!("{added} chunks of the dataset at {at}: {reason}");
            self.act("add the chunks of a node that nothing leads to", leaf, reason, confidence);
        }
    }

    fn index_anew(&mut self, found: &Broken) -> Result<()> {
        let Some(node) = self.tree.nodes.get(&found.at) else { return Ok(()) };
        let chunks: Vec<StoredChunk> = found.known.values().cloned().collect();
        let mut messages = node.header.messages.clone();
        let mut patches = Vec::new();
        let mut tree = None;
        let mut end = self.next;
        if !chunks.is_empty() {
            let (bytes, root) =
                self.carver.chunk_tree(&chunks, &found.layout.dimensions, Address(self.next))?;
            end = bound::sum(end, bytes.len() as u64).next_multiple_of(8);
            patches.push(sciformats_core::storage::Patch {
                offset: self.carver.offset(Address(self.next)),
                bytes,
            });
            tree = Some(root);
        }
        for message in &mut messages {
            if message.kind == MessageType::Layout {
                *message = self.carver.chunked_message(message, tree)?;
            }
        }
        patches.extend(self.carver.object(Address(found.at), &messages, Address(end))?);
        self.lay(patches);
        let reason = format!("{}; {} chunks are known", found.why, found.known.len());
        self.act("make an index of chunks", found.at, reason, Confidence::High);
        self.reindexed.insert(found.at);
        if !found.placed.is_empty() {
            self.placed.insert(found.at, found.placed.clone());
        }
        Ok(())
    }
}

/// Returns what shows that an index is wrong although it can be read.
fn suspicious(layout: &Chunked, filters: usize, chunks: &[Result<StoredChunk>]) -> Option<&'static str> {
    let chunks = || chunks.iter().flatten();
    let bytes = layout.dimensions.iter().fold(layout.element_size, |bytes, &n| bound::product(bytes, n));
    if chunks().any(|chunk| chunk.size == 0) {
        return Some("a chunk of its index has no bytes");
    }
    if filters == 0 && chunks().any(|chunk| chunk.size != bytes) {
        return Some("a chunk of its index has the wrong size");
    }
    let mut places = BTreeSet::new();
    if !chunks().all(|chunk| places.insert(&chunk.scaled)) {
        return Some("two chunks of its index have the same place");
    }
    let ascends = chunks().zip(chunks().skip(1)).all(|(a, b)| a.scaled < b.scaled);
    (layout.index == IndexKind::BtreeV1 && !ascends).then_some("the chunks of its index are not in order")
}

/// Returns the chunks that are alone in their places, and in order, if the index has an order. Nothing tells where the others belong.
fn unambiguous(chunks: &[StoredChunk], ordered: bool) -> Vec<&StoredChunk> {
    let mut places: BTreeMap<&[u64], usize> = BTreeMap::new();
    for chunk in chunks.iter().filter(|chunk| chunk.size > 0) {
        let count = places.entry(&chunk.scaled).or_insert(0);
        *count = bound::sum(*count, 1);
    }
    let alone: Vec<&StoredChunk> = chunks
        .iter()
        .filter(|chunk| chunk.size > 0 && places.get(chunk.scaled.as_slice()) == Some(&1))
        .collect();
    if !ordered {
        return alone;
    }
    // A chunk is in order if it is behind all chunks before it and before all chunks behind it.
    let mut least = Vec::with_capacity(alone.len());
    for chunk in alone.iter().rev() {
        let before = least.last().copied().filter(|last: &&StoredChunk| last.scaled < chunk.scaled);
        least.push(before.unwrap_or(chunk));
    }
    least.reverse();
    let mut most: Option<&StoredChunk> = None;
    let mut found = Vec::with_capacity(alone.len());
    for (i, chunk) in alone.iter().enumerate() {
        let behind = most.is_none_or(|most| most.scaled < chunk.scaled);
        let before = least.get(bound::sum(i, 1)).is_none_or(|least| chunk.scaled < least.scaled);
        if behind && before {
            found.push(*chunk);
        }
        if behind {
            most = Some(chunk);
        }
    }
    found
}

impl Broken {
    /// Returns whether a chunk can be one of this dataset.
    pub(super) fn fits(&self, first: &[u64], chunk: &StoredChunk, work: &Work) -> bool {
        let dimensions = &self.layout.dimensions;
        let grid = first.iter().zip(dimensions).zip(&self.shape);
        let placed = first.len() == self.shape.len()
            && grid.into_iter().all(|((at, n), size)| *n > 0 && at.is_multiple_of(*n) && at < size);
        let bytes = dimensions.iter().fold(self.layout.element_size, |bytes, &n| bound::product(bytes, n));
        let sized = chunk.size > 0 && (self.filters > 0 || chunk.size == bytes);
        let there = chunk.size <= bound::left(work.source.size(), work.carver.offset(chunk.address));
        let same = self.known.get(first).is_none_or(|known| known.address == chunk.address);
        // A chunk behind the end of a file that was cut off still shows where the node belongs.
        placed && sized && same && (there || work.superblock.is_some())
    }

    /// Adds a chunk whose bytes are all in the file.
    pub(super) fn add(&mut self, first: Vec<u64>, chunk: &StoredChunk, work: &Work) -> bool {
        let there = chunk.size <= bound::left(work.source.size(), work.carver.offset(chunk.address));
        if !there
            || self.doubtful.contains(&chunk.address.0)
            || !self.fits(&first, chunk, work)
            || self.known.contains_key(&first)
        {
            return false;
        }
        let ends = first.iter().zip(&self.layout.dimensions).map(|(at, n)| bound::sum(*at, *n));
        let edge = self.layout.unfiltered_edges && ends.zip(&self.shape).any(|(end, size)| end > *size);
        let all = u32::MAX.unbounded_shr(32u32.saturating_sub(u32::try_from(self.filters).unwrap_or(32))); // a bound
        let filter_mask = if edge { all } else { chunk.filter_mask };
        self.known.insert(
            first.clone(),
            StoredChunk { scaled: first, filter_mask, address: chunk.address, size: chunk.size },
        );
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(place: u64, size: u64) -> StoredChunk {
        StoredChunk { scaled: vec![place], address: Address(1000 + place), size, filter_mask: 0 }
    }

    fn sure(places: &[u64], ordered: bool) -> Vec<u64> {
        let chunks: Vec<StoredChunk> = places.iter().map(|&place| chunk(place, 8)).collect();
        unambiguous(&chunks, ordered).iter().map(|chunk| chunk.scaled[0]).collect()
    }

    #[test]
    fn chunks_at_one_place_and_out_of_order_are_left_out() {
        assert_eq!(sure(&[0, 1, 2, 3], true), [0, 1, 2, 3]);
        assert_eq!(sure(&[0, 1, 1, 3], true), [0, 3]);
        assert_eq!(sure(&[0, 3, 2, 4], true), [0, 4]);
        assert_eq!(sure(&[0, 3, 2, 4], false), [0, 3, 2, 4]);
        assert!(unambiguous(&[chunk(0, 0)], true).is_empty());
    }
}
