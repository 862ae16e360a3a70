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
/// The bytes that may be read and decoded for each byte that is searched, and how many more, for all datasets together. Overlapping
/// streams, and many datasets, would otherwise take time that grows with the square of the size of the file.
const PER_BYTE: u64 = 64;
const BUDGET: u64 = 1 << 30;
/// The most chunks of a dataset that are placed by their order.
const PLACED: u64 = 100_000;
/// The most chunks that are looked for, and the most that are found, for all datasets together.
const ALL: usize = 1 << 20;
/// The numbers of filters whose result tells whether a chunk was found: a stream of deflate has an end, and Fletcher32 a checksum.
const DEFLATE: u16 = 1;
const FLETCHER32: u16 = 3;
/// The number of a filter that does not change the size.
const SHUFFLE: u16 = 2;

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
        if length(&gaps) > SEARCHED {
            return;
        }
        let mut lost: Vec<Vec<Vec<u64>>> = Vec::new();
        let mut count = 0;
        for found in broken.iter() {
            let places = found.lost();
            count += places.len();
            if count > ALL {
                return;
            }
            lost.push(places);
        }
        let incomplete: Vec<(usize, Dataset)> = broken
            .iter()
            .enumerate()
            .filter(|(i, _)| lost.get(*i).is_some_and(|places| !places.is_empty()))
            .filter_map(|(i, found)| Some((i, file.dataset_at(Address(found.at)).ok()?)))
            .collect();
        let claims = self.claims(&incomplete, broken, &gaps);
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
            if disputed.contains(&owner) {
                continue;
            }
            let placed = in_order(&found.known, chunks, places, self.is_cut());
            let (at, count) = (found.at, placed.len());
            if count == 0 {
                continue;
            }
            let reason = format!(
                "{count} of the {} chunks that the dataset at {at} lacks: as many as it lacks between those that are known, \
                 or before the end of a file that was cut off",
                places.len()
            );
            for (place, chunk) in placed {
                found.placed.insert(place.clone());
                found.known.insert(place, chunk);
            }
            self.act("place chunks by their order", at, reason, Confidence::Speculative);
        }
    }

    /// Returns the chunks that datasets may have, by their addresses.
    fn claims(
        &self,
        incomplete: &[(usize, Dataset)],
        broken: &[Broken],
        gaps: &[(u64, u64)],
    ) -> BTreeMap<u64, Vec<(usize, StoredChunk)>> {
        let mut claims: BTreeMap<u64, Vec<(usize, StoredChunk)>> = BTreeMap::new();
        let bytes = bound::sum(BUDGET, bound::product(PER_BYTE, length(gaps)));
        let mut left = Left { bytes, chunks: ALL };
        let mut proven = Vec::new();
        // Chunks that tell whether they were found come first, and the others are looked for in what is left.
        for is_proven in [true, false] {
            let gaps = without(gaps, &mut proven);
            let mut claimed = Vec::new();
            for (i, dataset) in incomplete {
                let Some(found) = broken.get(*i).filter(|found| is_proven == (found.filters > 0)) else {
                    continue;
                };
                // A dataset that was not looked at could have the chunks of another of its kind.
                let Some(chunks) = self.candidates(dataset, found, &gaps, &mut left) else { return claims };
                claimed.extend(chunks.into_iter().map(|chunk| (*i, chunk)));
            }
            for (i, chunk) in claimed {
                let start = self.carver.offset(chunk.address);
                proven.push((start, bound::sum(start, chunk.size)));
                claims.entry(chunk.address.0).or_default().push((i, chunk));
            }
        }
        claims
    }

    /// Returns whether the file ends before the place that its superblock declares.
    fn is_cut(&self) -> bool {
        self.superblock.as_ref().is_some_and(|found| {
            bound::sum(bound::left(found.end_of_file, found.base), self.base) > self.source.size()
        })
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
        without(&[(self.base, self.source.size())], &mut known)
    }

    /// Returns the chunks of a dataset that may be in these ranges, in the order in which they are in the file; `None` if there are too
    /// many to look at.
    fn candidates(
        &self,
        dataset: &Dataset,
        found: &Broken,
        gaps: &[(u64, u64)],
        left: &mut Left,
    ) -> Option<Vec<StoredChunk>> {
        let filters: Vec<u16> = dataset
            .filters()
            .map(|pipeline| pipeline.filters.iter().map(|filter| filter.id).collect())
            .unwrap_or_default();
        match filters.as_slice() {
            [] => self.bare(found, gaps, left),
            [FLETCHER32] | [SHUFFLE, FLETCHER32] => self.summed((dataset, found), gaps, left),
            [.., DEFLATE] => self.streams((dataset, found), gaps, left),
            _ => Some(Vec::new()),
        }
    }

    fn stray(&self, found: &Broken, start: u64, size: u64) -> StoredChunk {
        StoredChunk {
            scaled: vec![0; found.shape.len()],
            address: self.carver.address(start),
            size,
            filter_mask: 0,
        }
    }

    /// Chunks that are stored as they are fill a range exactly.
    fn bare(&self, found: &Broken, gaps: &[(u64, u64)], left: &mut Left) -> Option<Vec<StoredChunk>> {
        let size = found.bytes();
        if size < 64 {
            return Some(Vec::new());
        }
        let mut chunks = Vec::new();
        for &(start, end) in gaps.iter().filter(|(start, end)| (end - start).is_multiple_of(size)) {
            for start in (start..end).step_by(bound::addressable(size)) {
                left.take_chunk()?;
                chunks.push(self.stray(found, start, size));
            }
        }
        Some(chunks)
    }

    /// Chunks with a checksum begin anywhere.
    fn summed(
        &self,
        (dataset, found): (&Dataset, &Broken),
        gaps: &[(u64, u64)],
        left: &mut Left,
    ) -> Option<Vec<StoredChunk>> {
        let size = bound::sum(found.bytes(), 4);
        let mut chunks = Vec::new();
        for &(start, end) in gaps {
            let mut next = start;
            while bound::sum(next, size) <= end {
                left.take_bytes(size)?;
                let chunk = self.stray(found, next, size);
                // The checksum of zeros is zero, so that zeros prove nothing.
                let decoded = dataset.chunk_decoded(&chunk);
                if decoded.is_ok_and(|bytes| bytes.iter().any(|&byte| byte != 0)) {
                    left.take_chunk()?;
                    chunks.push(chunk);
                    next += size;
                } else {
                    next += 1;
                }
            }
        }
        Some(chunks)
    }

    /// Streams of deflate begin with two bytes that tell how they were made, and end in a checksum.
    fn streams(
        &self,
        (dataset, found): (&Dataset, &Broken),
        gaps: &[(u64, u64)],
        left: &mut Left,
    ) -> Option<Vec<StoredChunk>> {
        // Deflate adds five bytes to every 16 KiB that it cannot compress, and a few to each stream.
        let longest = bound::addressable(bound::sum(found.bytes(), found.bytes() / 1024)).saturating_add(64); // a bound
        let mut chunks = Vec::new();
        for &(start, end) in gaps {
            let len = bound::addressable(end - start);
            left.take_bytes(end - start)?;
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
                    let chunk = self.stray(found, start + from as u64, (to - from) as u64);
                    left.take_bytes(bound::sum(chunk.size, found.bytes()))?;
                    // A stream must have exactly the bytes of a chunk.
                    if dataset.chunk_decoded(&chunk).is_ok() {
                        left.take_chunk()?;
                        chunks.push(chunk);
                        next = to;
                        break;
                    }
                }
            }
        }
        Some(chunks)
    }
}

/// How much may still be looked at for all datasets together.
struct Left {
    bytes: u64,
    chunks: usize,
}

impl Left {
    /// Takes bytes that are read or decoded; `None` if there are too many.
    fn take_bytes(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.checked_sub(count)?;
        Some(())
    }

    fn take_chunk(&mut self) -> Option<()> {
        self.chunks = self.chunks.checked_sub(1)?;
        Some(())
    }
}

/// Returns the number of bytes of ranges.
fn length(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(start, end)| end - start).fold(0, bound::sum)
}

/// Gives chunks the places that a dataset lacks, if there are as many between two neighbours that are known in the array as in the
/// file. If the file was cut off, there may be fewer chunks behind the last one that is known.
fn in_order(
    known: &BTreeMap<Vec<u64>, StoredChunk>,
    chunks: Vec<StoredChunk>,
    places: &[Vec<u64>],
    is_cut: bool,
) -> Vec<(Vec<u64>, StoredChunk)> {
    let addresses: Vec<u64> = known.values().map(|chunk| chunk.address.0).collect();
    if !addresses.is_sorted() {
        // Chunks were not written in the order of the array, so that only all of them together tell anything.
        let fit = chunks.len() == places.len();
        return if fit { places.iter().cloned().zip(chunks).map(placed).collect() } else { Vec::new() };
    }
    let mut parts: BTreeMap<usize, (Vec<StoredChunk>, Vec<Vec<u64>>)> = BTreeMap::new();
    for chunk in chunks {
        let part = addresses.partition_point(|&address| address < chunk.address.0);
        parts.entry(part).or_default().0.push(chunk);
    }
    let firsts: Vec<&Vec<u64>> = known.keys().collect();
    for place in places {
        let part = firsts.partition_point(|&first| first < place);
        parts.entry(part).or_default().1.push(place.clone());
    }
    let fits = |part: usize, chunks: usize, places: usize| {
        chunks == places || is_cut && part == addresses.len() && chunks < places
    };
    let parts = parts.into_iter().filter(|(part, (chunks, places))| fits(*part, chunks.len(), places.len()));
    parts.flat_map(|(_, (chunks, places))| places.into_iter().zip(chunks)).map(placed).collect()
}

fn placed((place, chunk): (Vec<u64>, StoredChunk)) -> (Vec<u64>, StoredChunk) {
    let chunk = StoredChunk { scaled: place.clone(), ..chunk };
    (place, chunk)
}

/// Returns the parts of ranges in ascending order that none of the `known` ranges has.
fn without(ranges: &[(u64, u64)], known: &mut [(u64, u64)]) -> Vec<(u64, u64)> {
    known.sort_unstable();
    let mut left = Vec::new();
    for &(start, end) in ranges {
        let mut at = start;
        for &(from, to) in known.iter().skip_while(|(_, to)| *to <= start).take_while(|(from, _)| *from < end)
        {
            if from > at {
                left.push((at, from));
            }
            at = at.max(to);
        }
        if at < end {
            left.push((at, end));
        }
    }
    left
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(address: u64) -> StoredChunk {
        StoredChunk { scaled: vec![0], address: Address(address), size: 10, filter_mask: 0 }
    }

    /// The places, by their number, that chunks at these addresses get in an array of ten chunks, of which some are known.
    fn places(known: &[(u64, u64)], chunks: &[u64], is_cut: bool) -> Vec<(u64, u64)> {
        let known: BTreeMap<Vec<u64>, StoredChunk> =
            known.iter().map(|&(place, address)| (vec![place], chunk(address))).collect();
        let lost: Vec<Vec<u64>> =
            (0..10).map(|place| vec![place]).filter(|at| !known.contains_key(at)).collect();
        let chunks = chunks.iter().map(|&address| chunk(address)).collect();
        let found = in_order(&known, chunks, &lost, is_cut);
        assert!(found.iter().all(|(place, chunk)| *place == chunk.scaled));
        found.into_iter().map(|(place, chunk)| (place[0], chunk.address.0)).collect()
    }

    #[test]
    fn chunks_are_placed_between_those_that_are_known() {
        let known = [(2, 120), (3, 130), (5, 150)];
        // Two places before the first known chunk, one between the last two, and four behind them.
        assert_eq!(places(&known, &[100, 110], false), [(0, 100), (1, 110)]);
        assert_eq!(places(&known, &[100, 140], false), [(4, 140)]);
        assert_eq!(places(&known, &[160, 170], false), []);
        assert_eq!(places(&known, &[160, 170], true), [(6, 160), (7, 170)]);
        assert_eq!(places(&known, &[100, 160], true), [(6, 160)]);
        assert_eq!(places(&known, &[160, 170, 180, 190, 200], true), []);
        // Without a known chunk, all of them, or the first ones before the cut.
        assert_eq!(places(&[], &[100, 110], false), []);
        assert_eq!(places(&[], &[100, 110], true), [(0, 100), (1, 110)]);
        // Another order in the file than in the array.
        let known = [(2, 130), (3, 120)];
        assert_eq!(places(&known, &[100, 110], true), []);
        assert_eq!(places(&known, &[0, 1, 4, 5, 6, 7, 8, 9], false).len(), 8);
    }

    #[test]
    fn known_ranges_are_taken_out_of_others() {
        let ranges = [(0, 100), (200, 300)];
        assert_eq!(without(&ranges, &mut []), ranges);
        assert_eq!(
            without(&ranges, &mut [(250, 400), (0, 10), (20, 30), (25, 40)]),
            [(10, 20), (40, 100), (200, 250)]
        );
        assert_eq!(without(&ranges, &mut [(50, 250)]), [(0, 50), (250, 300)]);
        assert_eq!(without(&ranges, &mut [(0, 1000)]), []);
    }
}
