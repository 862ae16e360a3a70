//! Indexes of chunks to which no dataset that can be read leads, because the header of the dataset is lost.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::structure::{IndexKind, LooseIndex, LooseNode, StoredChunk};
use hdf5_pure::{Address, File};
use sciformats_core::bound;

use super::Work;

/// The most chunks of such indexes, all together.
pub(super) const CHUNKS: usize = 1 << 20;

/// What the positions of chunks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Elements along each dimension, as in version 1 B-trees.
    Elements,
    /// Chunks along each dimension, as in version 2 B-trees.
    Chunks,
    /// Chunks one after another, as in arrays.
    Numbers,
}

/// One such index, of a version 1 B-tree the nodes as far as they lead to each other, and its chunks.
pub(super) struct Index {
    /// The address of the header, or that of the node nearest to the root.
    pub(super) at: u64,
    pub(super) rank: usize,
    /// The chunks in the order of their positions.
    pub(super) chunks: Vec<StoredChunk>,
    /// How many chunks the index names, with those whose bytes are lost or belong to something else.
    pub(super) named: usize,
    /// The shape of a chunk, and the size of an element, if a key tells them.
    pub(super) sides: Option<Vec<u64>>,
    pub(super) element_size: Option<u64>,
    /// What the positions of chunks count.
    pub(super) unit: Unit,
    /// Whether the index says how many bytes chunks have. Otherwise they end at the latest where something else begins.
    pub(super) sized: bool,
}

impl Work {
    /// Looks for indexes whose structures belong to no dataset that can be read, and for those of their chunks whose bytes are all there
    /// and belong to nothing else. Returns also the addresses of those that are left out because they have too many chunks.
    pub(super) fn loose_indexes(&self, file: &File) -> (Vec<Index>, Vec<u64>) {
        let mut known = self.claimed(file);
        let nodes = self.loose_nodes(&known);
        let (headed, mut left_out) = self.headed(&known);
        let range = |at: Address, len: u64| {
            let start = self.carver.offset(at);
            (start, bound::sum(start, len))
        };
        known.extend(nodes.iter().map(|(&at, node)| range(Address(at), node.len)));
        let structures = headed.iter().flat_map(|(_, found)| &found.structures);
        known.extend(structures.map(|&(at, len)| range(at, len)));
        let known = joined(known);
        let mut indexes: Vec<Index> = parts(&nodes).iter().map(|part| index(&nodes, part)).collect();
        indexes.extend(headed.into_iter().map(|(at, found)| of_header(at, &found)));
        left_out.extend(keep_up_to(&mut indexes, CHUNKS));
        self.measure(&mut indexes, &known);
        let taken = self.overlapping(&indexes);
        for index in &mut indexes {
            index.chunks.retain(|chunk| {
                let (start, end) = range(chunk.address, chunk.size);
                start >= self.base
                    && chunk.size > 0
                    && end <= self.source.size()
                    && !taken.contains(&start)
                    && !touches(&known, start, end)
            });
        }
        indexes.retain(|index| !index.chunks.is_empty());
        (indexes, left_out)
    }

    /// Returns the indexes with a header that belong to nothing that is known, with the addresses of their headers. Of those that
    /// share a structure, the first one is taken. The addresses of those that have too many chunks are returned apart.
    fn headed(&self, known: &[(u64, u64)]) -> (Vec<(u64, LooseIndex)>, Vec<u64>) {
        let mut left = CHUNKS;
        let (mut found, mut taken, mut left_out) = (Vec::new(), BTreeSet::new(), Vec::new());
        for kind in ["version 2 B-tree header", "fixed array header", "extensible array header"] {
            for at in self.addresses(kind) {
                let start = self.carver.offset(Address(at));
                if self.owned.contains(&at) || touches(known, start, bound::sum(start, 1)) {
                    continue;
                }
                let Some(index) = self.carver.loose_index(Address(at), bound::sum(left, 1)) else { continue };
                let is_known = index.structures.iter().any(|(at, _)| taken.contains(at));
                if is_known {
                    continue;
                }
                if index.chunks.len() > left {
                    left_out.push(at);
                    continue;
                }
                left = bound::left(left, index.chunks.len());
                taken.extend(index.structures.iter().map(|&(at, _)| at));
                found.push((at, index));
            }
        }
        (found, left_out)
    }

    /// Gives chunks whose index does not say how many bytes they have as many as each of them has before the next thing begins: an
    /// object that can be read, a structure or another chunk. The end of the file counts only if nothing else is behind any of them,
    /// because the file may have been cut off within a chunk.
    fn measure(&self, indexes: &mut [Index], known: &[(u64, u64)]) {
        let start = |chunk: &StoredChunk| self.carver.offset(chunk.address);
        let chunks = indexes.iter().flat_map(|index| &index.chunks).map(start);
        let mut starts: Vec<u64> = chunks.chain(known.iter().map(|&(start, _)| start)).collect();
        starts.sort_unstable();
        for index in indexes.iter_mut().filter(|index| !index.sized) {
            let room = |chunk: &StoredChunk| {
                let start = start(chunk);
                let next = starts.get(starts.partition_point(|&other| other <= start))?;
                // What begins within something else is no chunk.
                (!touches(known, start, bound::sum(start, 1))).then_some(bound::left(*next, start))
            };
            let to_end = |chunk: &StoredChunk| bound::left(self.source.size(), start(chunk));
            let size = index.chunks.iter().filter_map(room).min();
            let size = size.or_else(|| index.chunks.iter().map(to_end).min()).unwrap_or(0);
            index.chunks.iter_mut().for_each(|chunk| chunk.size = size);
        }
    }

    /// Returns the ranges of the file that belong to objects that can be read, in order and apart from each other.
    fn claimed(&self, file: &File) -> Vec<(u64, u64)> {
        let mut parts = vec![(self.base, self.end_of_superblock())];
        for (&at, node) in &self.tree.nodes {
            let blocks = node.header.blocks.iter().map(|&(start, len)| (start, bound::sum(start, len)));
            parts.extend(blocks);
            if node.is_dataset() && file.dataset_at(Address(at)).is_err() {
                continue;
            }
            let (found, _) = self.carver.extents_of(Address(at));
            parts.extend(found.into_iter().map(|(start, len, _)| (start, bound::sum(start, len))));
        }
        joined(parts)
    }

    /// Returns the nodes that belong to nothing that is known. Of nodes that overlap, the first one is taken.
    fn loose_nodes(&self, known: &[(u64, u64)]) -> BTreeMap<u64, LooseNode> {
        let mut nodes = BTreeMap::new();
        let mut next = 0;
        for at in self.addresses("chunk B-tree node") {
            let start = self.carver.offset(Address(at));
            if start < next || self.owned.contains(&at) || touches(known, start, bound::sum(start, 1)) {
                continue;
            }
            if let Some(node) = self.carver.loose_node(Address(at)) {
                next = bound::sum(start, node.len);
                nodes.insert(at, node);
            }
        }
        nodes
    }

    /// Returns the offsets of chunks whose bytes other chunks of these indexes have as well.
    fn overlapping(&self, indexes: &[Index]) -> BTreeSet<u64> {
        let chunks = indexes.iter().flat_map(|index| &index.chunks);
        let mut ranges: Vec<(u64, u64)> = chunks
            .map(|chunk| {
                let start = self.carver.offset(chunk.address);
                (start, bound::sum(start, chunk.size))
            })
            .collect();
        ranges.sort_unstable();
        let mut found = BTreeSet::new();
        // The one that reaches furthest.
        let mut last = (0, 0);
        for (start, end) in ranges {
            if start < last.1 {
                found.extend([start, last.0]);
            }
            if end > last.1 {
                last = (start, end);
            }
        }
        found
    }
}

/// Keeps the indexes that together have at most this many chunks, and returns the addresses of the others.
fn keep_up_to(indexes: &mut Vec<Index>, most: usize) -> Vec<u64> {
    let (mut count, mut left_out) = (0, Vec::new());
    indexes.retain(|index| {
        let with = bound::sum(count, index.chunks.len());
        if with > most {
            left_out.push(index.at);
            return false;
        }
        count = with;
        true
    });
    left_out
}

/// Returns ranges in order, joined where they touch or overlap.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match found.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => found.push((start, end)),
        }
    }
    found
}

/// Returns whether one of the ranges, which are in order and apart from each other, has a byte of another range.
fn touches(ranges: &[(u64, u64)], start: u64, end: u64) -> bool {
    let next = ranges.partition_point(|(_, to)| *to <= start);
    ranges.get(next).is_some_and(|(from, _)| *from < end)
}

/// Returns the nodes that lead to each other, as parents or as neighbours that name each other, in one part for each tree.
fn parts(nodes: &BTreeMap<u64, LooseNode>) -> Vec<Vec<u64>> {
    let mut near: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut join = |a: u64, b: u64| {
        near.entry(a).or_default().push(b);
        near.entry(b).or_default().push(a);
    };
    for (&at, found) in nodes {
        let is_alike = |other: &LooseNode, level: u8| other.rank == found.rank && other.node.level == level;
        for child in &found.node.children {
            let below = nodes.get(&child.0).zip(found.node.level.checked_sub(1));
            if below.is_some_and(|(node, level)| is_alike(node, level)) {
                join(at, child.0);
            }
        }
        let [_, right] = found.node.siblings;
        if let Some(right) = right
            && let Some(node) = nodes.get(&right.0)
            && is_alike(node, found.node.level)
            && node.node.siblings.first() == Some(&Some(Address(at)))
        {
            join(at, right.0);
        }
    }
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for &at in nodes.keys() {
        let mut part = Vec::new();
        let mut queue = vec![at];
        while let Some(at) = queue.pop() {
            if seen.insert(at) {
                part.push(at);
                queue.extend(near.get(&at).into_iter().flatten());
            }
        }
        if !part.is_empty() {
            all.push(part);
        }
    }
    all
}

/// Returns the chunks of an index with a header. Two chunks at one place are both left out.
fn of_header(at: u64, found: &LooseIndex) -> Index {
    Index {
        at,
        rank: found.rank,
        chunks: alone(&found.chunks),
        named: bound::addressable(found.named),
        sides: None,
        element_size: None,
        unit: if found.kind == IndexKind::BtreeV2 { Unit::Chunks } else { Unit::Numbers },
        sized: found.filtered,
    }
}

/// Returns the chunks that are alone in their places, in the order of these.
fn alone<'c>(chunks: impl IntoIterator<Item = &'c StoredChunk>) -> Vec<StoredChunk> {
    let mut places: BTreeMap<&[u64], Vec<&StoredChunk>> = BTreeMap::new();
    for chunk in chunks {
        places.entry(&chunk.scaled).or_default().push(chunk);
    }
    let alone = places.into_values().filter_map(|chunks| match chunks.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    });
    alone.collect()
}

/// Puts the chunks of nodes together. Two chunks at one place are both left out.
fn index(nodes: &BTreeMap<u64, LooseNode>, part: &[u64]) -> Index {
    let found = || part.iter().filter_map(|at| Some((*at, nodes.get(at)?)));
    let root = found().min_by_key(|(at, node)| (u8::MAX - node.node.level, *at));
    let all = || found().flat_map(|(_, node)| &node.node.chunks);
    let chunks = alone(all());
    // The last key of one leaf alone is behind all chunks.
    let mut ends = found().filter(|(_, node)| node.chunk.is_some());
    let end = ends.next().filter(|_| ends.next().is_none()).map(|(_, node)| node);
    let sides = end.and_then(|node| node.chunk.clone()).filter(|sides| {
        let on_grid =
            |chunk: &StoredChunk| chunk.scaled.iter().zip(sides).all(|(at, n)| at.is_multiple_of(*n));
        chunks.iter().all(on_grid)
    });
    let element_size = end.filter(|_| sides.is_some()).and_then(|node| node.element_size);
    Index {
        at: root.map_or(0, |(at, _)| at),
        rank: root.map_or(0, |(_, node)| node.rank),
        chunks,
        named: all().count(),
        sides,
        element_size,
        unit: Unit::Elements,
        sized: true,
    }
}

#[cfg(test)]
mod tests {
    use hdf5_pure::structure::FoundNode;

    use super::*;

    fn leaf(siblings: [Option<u64>; 2], firsts: &[u64], end: Option<u64>) -> LooseNode {
        let chunk = |first: &u64| StoredChunk {
            scaled: vec![*first],
            address: Address(10_000 + first),
            size: 10,
            filter_mask: 0,
        };
        let node = FoundNode {
            level: 0,
            siblings: siblings.map(|at| at.map(Address)),
            children: Vec::new(),
            chunks: firsts.iter().map(chunk).collect(),
        };
        LooseNode { node, rank: 1, len: 100, chunk: end.map(|side| vec![side]), element_size: None }
    }

    #[test]
    fn indexes_with_too_many_chunks_are_told_apart() {
        let nodes = BTreeMap::from([
            (1000, leaf([None, None], &[0, 10], None)),
            (2000, leaf([None, None], &[0, 10, 20, 30], None)),
            (3000, leaf([None, None], &[20], None)),
        ]);
        let mut indexes: Vec<Index> = parts(&nodes).iter().map(|part| index(&nodes, part)).collect();
        assert_eq!(keep_up_to(&mut indexes, 3), [2000]);
        // The small ones stay, also behind a large one.
        assert_eq!(indexes.iter().map(|index| index.at).collect::<Vec<_>>(), [1000, 3000]);
        assert_eq!(keep_up_to(&mut indexes, 3), [0; 0]);
    }

    #[test]
    fn nodes_that_name_each_other_are_one_index() {
        let nodes = BTreeMap::from([
            (1000, leaf([None, Some(2000)], &[0, 10], None)),
            (2000, leaf([Some(1000), None], &[20], Some(10))),
            // A neighbour that does not know it, and another tree.
            (3000, leaf([Some(2000), None], &[30], Some(10))),
            (4000, leaf([None, None], &[0, 7, 7], Some(7))),
        ]);
        let parts = parts(&nodes);
        assert_eq!(parts, [vec![1000, 2000], vec![3000], vec![4000]]);
        let first = index(&nodes, &parts[0]);
        assert_eq!((first.at, first.chunks.len(), first.sides), (1000, 3, Some(vec![10])));
        let last = index(&nodes, &parts[2]);
        assert_eq!((last.chunks.len(), last.named), (1, 3), "two chunks at one place");
    }

    #[test]
    fn ranges_are_joined_and_compared() {
        let known = joined(vec![(50, 60), (0, 10), (10, 20), (55, 58)]);
        assert_eq!(known, [(0, 20), (50, 60)]);
        assert!(touches(&known, 19, 21) && touches(&known, 40, 51) && touches(&known, 0, 100));
        assert!(!touches(&known, 20, 50) && !touches(&known, 60, 90));
    }
}
