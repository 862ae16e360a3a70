//! Chunks to which no index leads: those that blocks of arrays and leaves of trees name, and those that are told by their own bytes
//! and by their order in the file.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::structure::{Dataspace, FoundMessage, IndexKind, IndexedDataset, MessageType, StoredChunk};
use hdf5_pure::{Address, Dataset, File};
use sciformats_core::bound;

use super::Work;
use super::chunks::Broken;
use crate::report::Confidence;

/// The blocks of arrays that hold elements.
const ARRAY_BLOCKS: [&str; 3] =
    ["fixed array data block", "extensible array index block", "extensible array data block"];
/// The most bytes between known parts of a file in which chunks are looked for.
const SEARCHED: u64 = 1 << 30;
/// The most ends that are tried for a stream.
const ENDS: usize = 4;
/// The bytes that may be read and decoded for each byte that is searched, and how many more. Overlapping streams would otherwise take
/// time that grows with the square of the size of the file.
const PER_BYTE: u64 = 64;
const BUDGET: u64 = 64 << 20;
/// The most chunks that are placed by their order.
const PLACED: u64 = 100_000;
/// The number of deflate.
const DEFLATE: u16 = 1;

impl Work {
    /// Adds the chunks that blocks of arrays name which name the header of the array, and those of leaves of trees that fit no other
    /// dataset.
    pub(super) fn adopt_blocks(&mut self, file: &File, broken: &mut [Broken]) {
        for found in broken.iter_mut() {
            let Some(described) = self.described(file, found) else { continue };
            let blocks: Vec<u64> = match found.layout.index {
                IndexKind::FixedArray | IndexKind::ExtensibleArray => {
                    ARRAY_BLOCKS.iter().flat_map(|block| self.addresses(block)).collect()
                }
                _ => continue,
            };
            for block in blocks {
                let chunks = self.carver.array_chunks(&described.indexed(found), Address(block));
                let added = found.add_all(chunks, self);
                if added > 0 {
                    let reason =
                        format!("{added} chunks of the dataset at {}: the block names its header", found.at);
                    self.act("add the chunks of a block", block, reason, Confidence::High);
                }
            }
        }
        let leaves: Vec<u64> = self.addresses("version 2 B-tree leaf node").collect();
        for leaf in leaves {
            let mut fitting = Vec::new();
            for (i, found) in broken.iter().enumerate() {
                let Some(described) = self.described(file, found) else { continue };
                let chunks = self.carver.leaf_chunks(&described.indexed(found), Address(leaf));
                let fits = |chunk: &StoredChunk| {
                    let same = found.known.get(&found.first_of(chunk)).map(|known| known.address);
                    same == Some(chunk.address)
                        || same.is_none()
                            && found.fits(&found.first_of(chunk), chunk, self)
                            && !self.is_reached(chunk.address.0)
                };
                if !chunks.is_empty() && chunks.iter().all(fits) {
                    fitting.push((i, chunks));
                }
            }
            if let [(owner, chunks)] = fitting.as_slice()
                && let Some(found) = broken.get_mut(*owner)
            {
                let added = found.add_all(chunks.clone(), self);
                if added > 0 {
                    let reason = format!(
                        "{added} chunks of the dataset at {}: they fit its shape and its chunk grid alone",
                        found.at
                    );
                    self.act(
                        "add the chunks of a leaf that nothing leads to",
                        leaf,
                        reason,
                        Confidence::Medium,
                    );
                }
            }
        }
    }

    fn described(&self, file: &File, found: &Broken) -> Option<Described> {
        let node = self.tree.nodes.get(&found.at)?;
        let layout = node.header.messages.iter().find(|message| message.kind == MessageType::Layout)?.clone();
        let dataset = file.dataset_at(Address(found.at)).ok()?;
        let Dataspace::Simple { maximum, .. } = dataset.dataspace() else { return None };
        Some(Described { layout, maximum: maximum.clone() })
    }

    /// Looks for lost chunks among the bytes that nothing is known about. If there are as many as a dataset lacks, and no other dataset
    /// can have them, they are placed in the order in which they are in the file. Nothing but this order tells their places, so
    /// that their elements count as missing nevertheless.
    pub(super) fn place_by_order(&mut self, file: &File, broken: &mut [Broken]) {
        self.note_reached();
        let gaps = self.gaps(broken);
        if gaps.iter().map(|(start, end)| end - start).fold(0, bound::sum) > SEARCHED {
            return;
        }
        let mut claims: BTreeMap<u64, Vec<(usize, StoredChunk)>> = BTreeMap::new();
        let mut lost: Vec<Vec<Vec<u64>>> = Vec::new();
        for (i, found) in broken.iter().enumerate() {
            let places = found.lost();
            let dataset = file.dataset_at(Address(found.at)).ok().filter(|_| !places.is_empty());
            lost.push(places);
            let Some(dataset) = dataset else { continue };
            for chunk in self.candidates(&dataset, found, &gaps) {
                claims.entry(chunk.address.0).or_default().push((i, chunk));
            }
        }
        // A chunk that two datasets can have belongs to neither.
        let mut sole: BTreeMap<usize, Vec<StoredChunk>> = BTreeMap::new();
        let mut disputed = BTreeSet::new();
        for claim in claims.into_values() {
            match claim.as_slice() {
                [(owner, chunk)] => sole.entry(*owner).or_default().push(chunk.clone()),
                several => disputed.extend(several.iter().map(|(owner, _)| *owner)),
            }
        }
        for (owner, chunks) in sole {
            let (Some(found), Some(places)) = (broken.get_mut(owner), lost.get(owner)) else { continue };
            if disputed.contains(&owner) || chunks.len() != places.len() {
                continue;
            }
            for (chunk, place) in chunks.into_iter().zip(places) {
                found.placed.insert(place.clone());
                found.known.insert(place.clone(), StoredChunk { scaled: place.clone(), ..chunk });
            }
            let (at, count) = (found.at, places.len());
            let reason =
                format!("{count} chunks of the dataset at {at}: as many as it lacks are left in the file");
            self.act("place chunks by their order", at, reason, Confidence::Speculative);
        }
    }

    /// Returns the ranges of the file that belong to nothing that is known.
    fn gaps(&self, broken: &[Broken]) -> Vec<(u64, u64)> {
        let mut known: Vec<(u64, u64)> =
            self.reached.iter().map(|(&start, &(end, _))| (start, end)).collect();
        known.extend(self.carved.iter().map(|carved| {
            let start = self.carver.offset(carved.address);
            (start, bound::sum(start, carved.len))
        }));
        for chunk in broken.iter().flat_map(|found| found.known.values()) {
            let start = self.carver.offset(chunk.address);
            known.push((start, bound::sum(start, chunk.size)));
        }
        known.sort_unstable();
        let mut gaps = Vec::new();
        let mut at = self.base;
        for (start, end) in known.into_iter().chain([(self.source.size(), self.source.size())]) {
            let start = start.min(self.source.size());
            if start > at {
                gaps.push((at, start));
            }
            at = at.max(end);
        }
        gaps
    }

    /// Returns the chunks of a dataset that may be in these ranges, in the order in which they are in the file.
    fn candidates(&self, dataset: &Dataset, found: &Broken, gaps: &[(u64, u64)]) -> Vec<StoredChunk> {
        let filters: Vec<u16> = dataset
            .filters()
            .map(|pipeline| pipeline.filters.iter().map(|filter| filter.id).collect())
            .unwrap_or_default();
        let at = |start: u64, size: u64| StoredChunk {
            scaled: vec![0; found.shape.len()],
            address: self.carver.address(start),
            size,
            filter_mask: 0,
        };
        let mut chunks = Vec::new();
        if filters.is_empty() {
            // Chunks that are stored as they are fill a range exactly.
            let size = found.bytes();
            for &(start, end) in gaps {
                if size >= 64 && (end - start).is_multiple_of(size) {
                    chunks
                        .extend((start..end).step_by(bound::addressable(size)).map(|start| at(start, size)));
                }
            }
            return chunks;
        }
        if filters.last() != Some(&DEFLATE) {
            return Vec::new();
        }
        let searched = gaps.iter().map(|(start, end)| end - start).fold(0, bound::sum);
        let mut budget = bound::sum(BUDGET, bound::product(PER_BYTE, searched));
        // Deflate adds five bytes to every 16 KiB that it cannot compress, and a few to each stream.
        let longest = bound::addressable(bound::sum(found.bytes(), found.bytes() / 1024)).saturating_add(64); // a bound
        for &(start, end) in gaps {
            let len = bound::addressable(end - start);
            let Ok(bytes) = self.source.read_at(start, len) else { continue };
            let begins = |i: &usize| matches!(bytes.get(*i..*i + 2), Some([0x78, 0x01 | 0x5e | 0x9c | 0xda]));
            let starts: Vec<usize> = (0..len.saturating_sub(1)).filter(begins).collect(); // a bound
            let mut next = 0;
            for (i, &from) in starts.iter().enumerate() {
                if from < next {
                    continue;
                }
                let ends = starts.iter().skip(i + 1).copied().chain([len]).take(ENDS).chain([len]);
                for to in ends.filter(|to| to - from <= longest) {
                    let chunk = at(start + from as u64, (to - from) as u64);
                    let Some(left) = budget.checked_sub(bound::sum(chunk.size, found.bytes())) else {
                        return chunks;
                    };
                    budget = left;
                    // A stream ends in a checksum, and must have exactly the bytes of a chunk.
                    if dataset.chunk_decoded(&chunk).is_ok() {
                        chunks.push(chunk);
                        next = to;
                        break;
                    }
                }
            }
        }
        chunks
    }
}

/// What a dataset's header says about its index.
struct Described {
    layout: FoundMessage,
    maximum: Vec<Option<u64>>,
}

impl Described {
    fn indexed<'a>(&'a self, found: &'a Broken) -> IndexedDataset<'a> {
        IndexedDataset {
            layout: &self.layout,
            shape: &found.shape,
            maximum: &self.maximum,
            filtered: found.filters > 0,
        }
    }
}

impl Broken {
    /// Returns the index of the first element of a chunk.
    fn first_of(&self, chunk: &StoredChunk) -> Vec<u64> {
        chunk.scaled.iter().zip(&self.layout.dimensions).map(|(at, n)| bound::product(*at, *n)).collect()
    }

    /// Adds chunks, and returns how many of them were not known.
    fn add_all(&mut self, chunks: Vec<StoredChunk>, work: &Work) -> usize {
        let mut added = 0;
        for chunk in chunks {
            added += usize::from(self.add(self.first_of(&chunk), &chunk, work));
        }
        self.added += added;
        added
    }

    /// Returns the bytes of a chunk without filters.
    fn bytes(&self) -> u64 {
        self.layout.dimensions.iter().fold(self.layout.element_size, |bytes, &n| bound::product(bytes, n))
    }

    /// Returns the first elements of the chunks that are not known, in the order of the array.
    fn lost(&self) -> Vec<Vec<u64>> {
        let counts: Vec<u64> = self
            .shape
            .iter()
            .zip(&self.layout.dimensions)
            .map(|(size, n)| size.div_ceil((*n).max(1)))
            .collect();
        let total = counts.iter().fold(1, |product, &n| bound::product(product, n));
        if total > PLACED {
            return Vec::new();
        }
        let first = |mut number: u64| -> Vec<u64> {
            let mut at: Vec<u64> = counts
                .iter()
                .zip(&self.layout.dimensions)
                .rev()
                .map(|(&count, &n)| {
                    let index = number % count.max(1);
                    number /= count.max(1);
                    bound::product(index, n)
                })
                .collect();
            at.reverse();
            at
        };
        (0..total).map(first).filter(|first| !self.known.contains_key(first)).collect()
    }
}
