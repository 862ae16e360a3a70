//! Rebuilds indexes of chunks from the nodes and entries that can be read.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::Address;
use hdf5_pure::structure::{Chunked, IndexKind, Layout, MessageType, StoredChunk};
use sciformats_core::{Result, bound};

use super::Work;
use crate::report::Confidence;

/// A dataset whose index is damaged.
struct Broken {
    at: u64,
    layout: Chunked,
    shape: Vec<u64>,
    filters: usize,
    /// The chunks by the index of their first element.
    known: BTreeMap<Vec<u64>, StoredChunk>,
    /// The nodes of its tree, read or not.
    nodes: BTreeSet<u64>,
    why: String,
    added: usize,
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
            let mut nodes = BTreeSet::new();
            if layout.index == IndexKind::BtreeV1
                && let Some(root) = layout.address
            {
                self.nodes_of(root.0, layout.dimensions.len(), &mut nodes);
            }
            let Some(why) = why else {
                healthy.extend(nodes);
                continue;
            };
            let filters = dataset.filters().map_or(0, |pipeline| pipeline.filters.len());
            let mut found = Broken {
                at,
                layout: layout.clone(),
                shape: dataset.shape().to_vec(),
                filters,
                known: BTreeMap::new(),
                nodes,
                why,
                added: 0,
            };
            for chunk in chunks.into_iter().flatten() {
                let first = chunk.scaled.iter().zip(&layout.dimensions);
                let first: Vec<u64> = first.map(|(at, n)| bound::product(*at, *n)).collect();
                found.add(first, &chunk, self);
            }
            broken.push(found);
        }
        if broken.is_empty() {
            return Ok(false);
        }
        self.adopt_leaves(&mut broken, &healthy);
        for found in broken {
            self.index_anew(&found)?;
        }
        Ok(true)
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
        loop {
            let before = leaves.len();
            let mut rest = Vec::new();
            for leaf in leaves {
                match self.owner(leaf, broken, false) {
                    Some(owner) => self.adopt_leaf(leaf, owner, broken, Confidence::High),
                    None => rest.push(leaf),
                }
            }
            leaves = rest;
            if leaves.len() == before {
                break;
            }
        }
        for leaf in leaves {
            if let Some(owner) = self.owner(leaf, broken, true) {
                self.adopt_leaf(leaf, owner, broken, Confidence::Medium);
            }
        }
    }

    /// Returns the dataset to which a node belongs: the one whose tree leads to it or to a neighbour, or else the only one that it
    /// fits.
    fn owner(&self, leaf: u64, broken: &[Broken], alone: bool) -> Option<usize> {
        let mut fitting = Vec::new();
        for (i, found) in broken.iter().enumerate() {
            if found.layout.index != IndexKind::BtreeV1 {
                continue;
            }
            let Ok(node) = self.carver.chunk_node(Address(leaf), found.shape.len()) else { continue };
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
        Ok(())
    }
}

impl Broken {
    /// Returns whether a chunk can be one of this dataset.
    fn fits(&self, first: &[u64], chunk: &StoredChunk, work: &Work) -> bool {
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
    fn add(&mut self, first: Vec<u64>, chunk: &StoredChunk, work: &Work) -> bool {
        let there = chunk.size <= bound::left(work.source.size(), work.carver.offset(chunk.address));
        if !there || !self.fits(&first, chunk, work) || self.known.contains_key(&first) {
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
