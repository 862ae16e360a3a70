//! Reads every object, and says how much of it is left.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::options::MissingSources;
use hdf5_pure::structure::{Chunked, IndexKind, Layout, MessageType, Selection, StoredChunk};
use hdf5_pure::{Address, Dataset, File, OpenOptions};
use sciformats::formats::hdf5::leads_elsewhere;
use sciformats_core::{Result, bound};

use super::Work;
use super::leads::{ATTEMPTS, REFERS, read};
use super::reach::Node;
use crate::boxes::{boxes, chunk as chunk_box};
use crate::report::{ObjectReport, State};

/// The filters that store a checksum of the elements: deflate and Fletcher32.
const CHECKING: [u16; 2] = [1, 3];
/// Why elements count as missing that can be read.
const ZEROS: &str = "elements are in sectors of zeros, and nothing tells whether they were written so";
/// Why elements count as missing that other parts of the file claim.
const CLASH: &str = "bytes of elements also belong to something else";
/// Why elements count as missing that were placed by their order.
const PLACED: &str = "the place of chunks is guessed by their order in the file";
/// So many bytes of zeros at an end of the value of an attribute may be those of a lost sector.
const LOST_BYTES: usize = 8;
/// What the bytes of chunks are whose dataset is lost.
const CHUNKS: &str = "chunks";
/// The most missing chunks that are listed.
const LISTED: u64 = 1 << 20;

impl Work {
    /// Reads everything that was found.
    pub(super) fn assess(&self, file: &File) -> Vec<ObjectReport> {
        let mut objects: Vec<ObjectReport> = self
            .tree
            .nodes
            .iter()
            .map(|(&at, node)| self.object(file, at, node))
            .chain(self.lost())
            .collect();
        self.shown(file, &mut objects);
        objects.sort_by(|a, b| a.path.cmp(&b.path));
        objects
    }

    fn object(&self, file: &File, at: u64, node: &Node) -> ObjectReport {
        let mut report = ObjectReport {
            path: node.path.clone(),
            address: at,
            kind: if self.pieces.contains(&at) && node.is_dataset() { CHUNKS } else { node.kind() },
            state: State::Whole,
            unchecked: false,
            chunks: None,
            missing: Vec::new(),
            reasons: Vec::new(),
        };
        if node.header.version != 2 {
            unchecked(&mut report);
        }
        if let Some(lost) = self.mended.get(&at) {
            // The header that is read now was made, and its checksum says nothing.
            unchecked(&mut report);
            if let Some(why) = lost {
                spoil(&mut report, State::Partial, why.clone());
            }
        }
        for error in &node.header.lost {
            spoil(&mut report, State::Partial, error.to_string());
        }
        if let Some(why) = &node.broken {
            spoil(&mut report, State::Partial, format!("some links may be missing: {why}"));
        }
        if node.has_dead {
            spoil(&mut report, State::Partial, "a link leads to an object that cannot be read".into());
        }
        if node.is_group() && node.header.has(MessageType::SymbolTable) {
            unchecked(&mut report);
        }
        // Blocks of heaps need not have checksums.
        if node.header.has(MessageType::AttributeInfo)
            || node.header.has(MessageType::LinkInfo) && node.links.len() > 8
        {
            unchecked(&mut report);
        }
        match file.attributes_at(Address(at)) {
            Ok(attributes) => {
                let zeros = self.damaged && self.has_zeros_in_structures(at);
                for attribute in attributes {
                    let name =
                        attribute.name().map(ToString::to_string).unwrap_or_else(|| "without a name".into());
                    if attribute.datatype().is_ok_and(leads_elsewhere) {
                        unchecked(&mut report);
                    }
                    match attribute.canonical() {
                        Ok(bytes)
                            if self.damaged
                                && attribute.datatype().is_ok_and(|of| self.refers_to_lost(of, &bytes)) =>
                        {
                            spoil(&mut report, State::Partial, format!("the attribute {name}: {REFERS}"));
                        }
                        Ok(_) if zeros && attribute.raw().is_ok_and(ends_in_zeros) => {
                            spoil(&mut report, State::Partial, format!("the attribute {name}: {ZEROS}"));
                        }
                        Ok(_) => {}
                        Err(error) => {
                            spoil(&mut report, State::Partial, format!("the attribute {name}: {error}"));
                        }
                    }
                }
            }
            Err(error) => spoil(&mut report, State::Partial, format!("its attributes: {error}")),
        }
        if !node.is_group() && !node.is_dataset() && node.header.has(MessageType::Dataspace) {
            // Readers take such an object for a dataset of which no element was written.
            if let Ok(dataset) = file.dataset_at(Address(at)) {
                report.missing = vec![(vec![0; dataset.shape().len()], dataset.shape().to_vec())];
            }
            spoil(&mut report, State::Metadata, "what says where its elements are is lost".into());
        }
        if node.is_dataset() {
            match file.dataset_at(Address(at)) {
                Ok(dataset) => {
                    if let Err(error) = self.dataset(&dataset, at, &mut report) {
                        spoil(&mut report, State::Metadata, error.to_string());
                    }
                }
                Err(error) => spoil(&mut report, State::Metadata, error.to_string()),
            }
        }
        report
    }

    /// Returns whether structures of an object are in sectors of zeros, at least in part. They may be unused space.
    fn has_zeros_in_structures(&self, at: u64) -> bool {
        let (parts, _) = self.carver.extents_of(Address(at));
        parts.into_iter().any(|(start, len, elements)| !elements && self.in_zeros(start, len))
    }

    fn dataset(&self, dataset: &Dataset, at: u64, report: &mut ObjectReport) -> Result<()> {
        if dataset.is_null() || dataset.shape().contains(&0) {
            return Ok(());
        }
        let elements = dataset.shape().iter().fold(1, |product, &n| bound::product(product, n));
        let elsewhere = leads_elsewhere(dataset.datatype());
        if elsewhere {
            unchecked(report);
        }
        match dataset.layout()? {
            Layout::Compact(data) => {
                self.compact(dataset, at, (data, elements), report);
                self.pieces(dataset, 0..elements, elsewhere, report);
            }
            Layout::Contiguous { address: None } => {
                if let Err(error) = dataset.check_elsewhere() {
                    report.missing = vec![(vec![0; dataset.shape().len()], dataset.shape().to_vec())];
                    spoil(report, State::Metadata, error.to_string());
                }
            }
            Layout::Contiguous { address: Some(start) } => {
                unchecked(report);
                let size = u64::from(dataset.datatype().size).max(1);
                let offset = self.carver.offset(*start);
                let there = bound::left(self.source.size(), offset) / size;
                let whole = there.min(elements);
                if whole < elements {
                    let why = format!("the elements from number {whole} on are behind the end of the file");
                    spoil(report, if whole == 0 { State::Metadata } else { State::Partial }, why);
                    report.missing = boxes(dataset.shape(), whole, elements);
                }
                if self.damaged {
                    let mut zeros = Vec::new();
                    self.zeros((offset, bound::product(whole, size)), size, &mut |from, to| {
                        zeros.extend(boxes(dataset.shape(), from, to.min(whole)));
                    });
                    if !zeros.is_empty() {
                        report.missing.extend(zeros);
                        spoil(report, State::Partial, ZEROS.into());
                    }
                }
                let mut doubtful = Vec::new();
                self.clashes.each((offset, bound::product(whole, size)), &mut |from, to| {
                    doubtful.extend(boxes(dataset.shape(), from / size, to.div_ceil(size).min(whole)));
                });
                if !doubtful.is_empty() {
                    report.missing.extend(doubtful);
                    spoil(report, State::Partial, CLASH.into());
                }
                if let Some(why) = self.adrift {
                    report.missing = vec![(vec![0; dataset.shape().len()], dataset.shape().to_vec())];
                    spoil(report, State::Partial, why.into());
                }
                self.pieces(dataset, 0..whole, elsewhere, report);
            }
            Layout::Chunked(layout) => self.chunked(dataset, layout, (at, elsewhere), report)?,
            Layout::Virtual(_) => {
                unchecked(report);
                self.sources(dataset, at, report)?;
            }
        }
        Ok(())
    }

    /// Treats elements in the header of an object as missing if they are in sectors of zeros, unless the header has a checksum.
    fn compact(&self, dataset: &Dataset, at: u64, (data, elements): (&[u8], u64), report: &mut ObjectReport) {
        let Some(node) = self.tree.nodes.get(&at).filter(|node| self.damaged && node.header.version != 2)
        else {
            return;
        };
        if data.is_empty() || !self.has_zeros_in_structures(at) {
            return;
        }
        let size = u64::from(dataset.datatype().size).max(1);
        let mut zeros = Vec::new();
        for &(start, len) in &node.header.blocks {
            let Ok(bytes) = self.source.read_at(start, bound::addressable(len)) else { continue };
            let Some(from) = bytes.windows(data.len()).position(|window| window == data) else { continue };
            let part = (bound::sum(start, from as u64), data.len() as u64);
            self.zeros(part, size, &mut |from, to| {
                zeros.extend(boxes(dataset.shape(), from, to.min(elements)));
            });
        }
        if !zeros.is_empty() {
            report.missing.extend(zeros);
            spoil(report, State::Partial, ZEROS.into());
        }
    }

    /// Looks for the parts of a virtual dataset whose sources cannot be read.
    fn sources(&self, dataset: &Dataset, at: u64, report: &mut ObjectReport) -> Result<()> {
        let options = OpenOptions::default().with_missing(MissingSources::Refused);
        let strict = File::from_storage(self.readable(), &options)?;
        let strict = strict.dataset_at(Address(at))?;
        let mut found = 0usize;
        let mappings = dataset.mappings()?;
        for mapping in &mappings {
            let Some((start, count)) = bounds(&mapping.target, dataset.shape()) else { continue };
            // A missing source has no readable element, so one element is enough to test.
            let one = first(&mapping.target).unwrap_or_else(|| start.clone());
            match read(&strict, &one, &vec![1; one.len()]) {
                Ok(_) => found = bound::sum(found, 1),
                Err(error) => {
                    spoil(report, State::Partial, error.to_string());
                    report.missing.push((start, count));
                }
            }
        }
        if found == 0 && !mappings.is_empty() {
            spoil(report, State::Metadata, "none of its sources can be read".into());
        }
        Ok(())
    }

    /// Notes which parts of virtual datasets show datasets of the same file of which something is missing.
    fn shown(&self, file: &File, objects: &mut [ObjectReport]) {
        let damaged: BTreeMap<String, bool> = objects
            .iter()
            .filter(|object| object.state >= State::Partial)
            .map(|object| (object.path.clone(), object.state > State::Partial || !object.missing.is_empty()))
            .collect();
        for report in objects.iter_mut().filter(|report| report.kind == "dataset") {
            let Ok(dataset) = file.dataset_at(Address(report.address)) else { continue };
            if !matches!(dataset.layout(), Ok(Layout::Virtual(_))) {
                continue;
            }
            for mapping in dataset.mappings().unwrap_or_default() {
                // A mapping stores a percent sign twice.
                let path = mapping.dataset.to_string().replace("%%", "%");
                let path = format!("/{}", path.trim_matches('/'));
                let is_own = mapping.file.as_bytes() == b".";
                if !is_own || damaged.get(&path) != Some(&true) {
                    continue;
                }
                let Some(part) = bounds(&mapping.target, dataset.shape()) else { continue };
                if !report.missing.contains(&part) {
                    report.missing.push(part);
                }
                spoil(
                    report,
                    State::Partial,
                    format!("elements are those of {path}, of which some are missing"),
                );
            }
        }
    }

    /// Treats elements in sectors of zeros as missing, if anything else in the file is damaged. They may have been written so, but
    /// they may as well be sectors that were lost or that were never written.
    fn zeros(&self, (offset, len): (u64, u64), size: u64, each: &mut dyn FnMut(u64, u64)) {
        let end = bound::sum(offset, len);
        // A file may have many sectors of zeros, and many chunks that are compared with them.
        let first = self.scan.zeros.partition_point(|(_, to)| *to <= offset);
        for &(from, to) in self.scan.zeros.iter().skip(first).take_while(|(from, _)| *from < end) {
            let (from, to) = (bound::left(from.max(offset), offset), bound::left(to.min(end), offset));
            each(from / size, to.div_ceil(size));
        }
    }

    fn chunked(
        &self,
        dataset: &Dataset,
        layout: &Chunked,
        (at, elsewhere): (u64, bool),
        report: &mut ObjectReport,
    ) -> Result<()> {
        let filters = &dataset.filters()?.filters;
        let checking: u32 = filters
            .iter()
            .enumerate()
            .filter(|(_, filter)| CHECKING.contains(&filter.id))
            .fold(0, |mask, (i, _)| mask | 1u32.unbounded_shl(u32::try_from(i).unwrap_or(32)));
        if layout.index == IndexKind::BtreeV1 {
            unchecked(report);
        }
        let counts: Vec<u64> = dataset
            .shape()
            .iter()
            .zip(&layout.dimensions)
            .map(|(size, n)| size.div_ceil((*n).max(1)))
            .collect();
        let expected = counts.iter().fold(1, |product, &n| bound::product(product, n));
        let twice = led_to_twice(dataset)?;
        let mut seen = BTreeSet::new();
        let mut found = 0;
        let mut attempts = ATTEMPTS;
        let mut damaged = self.reindexed.contains(&at);
        for chunk in dataset.chunks()? {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    damaged = true;
                    spoil(report, State::Partial, format!("its index: {error}"));
                    continue;
                }
            };
            if !seen.insert(chunk.scaled.clone()) {
                // One of the two entries is wrong, so neither the place nor the absence of others can be relied upon.
                damaged = true;
                report.missing.push(chunk_box(dataset.shape(), &layout.dimensions, &chunk.scaled));
                spoil(report, State::Partial, "two chunks have the same place".into());
                continue;
            }
            match dataset.chunk_decoded(&chunk).map(drop) {
                Ok(()) if self.is_placed(at, layout, &chunk) => {
                    found += 1;
                    report.missing.push(chunk_box(dataset.shape(), &layout.dimensions, &chunk.scaled));
                    spoil(report, State::Partial, PLACED.into());
                }
                Ok(()) => {
                    found += 1;
                    if elsewhere {
                        let part = chunk_box(dataset.shape(), &layout.dimensions, &chunk.scaled);
                        self.leads(dataset, part, &mut attempts, report);
                    }
                    self.judge(dataset, layout, (&chunk, checking, twice.contains(&chunk.address)), report);
                }
                Err(error) => {
                    report.missing.push(chunk_box(dataset.shape(), &layout.dimensions, &chunk.scaled));
                    spoil(report, State::Partial, error.to_string());
                }
            }
        }
        let stored = seen.len() as u64;
        if damaged && stored < expected {
            let absent = expected - stored;
            spoil(report, State::Partial, format!("{absent} chunks were not found"));
            if expected <= LISTED {
                for scaled in grid(&counts).filter(|scaled| !seen.contains(scaled)) {
                    report.missing.push(chunk_box(dataset.shape(), &layout.dimensions, &scaled));
                }
            } else {
                report.missing.push((vec![0; counts.len()], dataset.shape().to_vec()));
            }
        }
        // Chunks that a sound index does not have were never written.
        let wanted = if damaged { expected } else { stored };
        report.chunks = Some((found, wanted));
        if found == 0 && wanted > 0 {
            report.state = report.state.max(State::Metadata);
        }
        Ok(())
    }

    /// Says which elements of a chunk that can be read are doubtful nevertheless. `checking` are the filters that store a checksum.
    fn judge(
        &self,
        dataset: &Dataset,
        layout: &Chunked,
        (chunk, checking, is_shared): (&StoredChunk, u32, bool),
        report: &mut ObjectReport,
    ) {
        let part = chunk_box(dataset.shape(), &layout.dimensions, &chunk.scaled);
        let offset = self.carver.offset(chunk.address);
        let bare = checking & !chunk.filter_mask == 0;
        // The checksum of zeros is zero in Fletcher32, so that a lost chunk passes.
        let raw = dataset.chunk_raw(chunk);
        let empty = raw.is_ok_and(|bytes| bytes.iter().all(|&byte| byte == 0));
        let plain = dataset.filters().is_ok_and(|found| {
            (0u32..).zip(&found.filters).all(|(i, _)| chunk.filter_mask & 1u32.unbounded_shl(i) != 0)
        });
        let mut zeros = Vec::new();
        if self.damaged && empty {
            zeros.push(part.clone());
        } else if self.damaged && plain {
            // Zeros behind the edge of the array are no elements.
            self.zeros((offset, chunk.size), layout.element_size.max(1), &mut |from, to| {
                zeros.extend(inside(layout, &part, from, to));
            });
        } else if self.damaged && bare {
            self.zeros((offset, chunk.size), 1, &mut |_, _| zeros = vec![part.clone()]);
        }
        if empty || bare {
            unchecked(report);
        }
        let lost = zeros.contains(&part);
        if !zeros.is_empty() {
            report.missing.extend(zeros);
            spoil(report, State::Partial, ZEROS.into());
        }
        if lost {
            return;
        }
        let why = match self.adrift.filter(|_| bare) {
            None if is_shared || self.clashes.hits((offset, chunk.size), bare) => CLASH,
            None => return,
            Some(why) => why,
        };
        report.missing.push(part);
        spoil(report, State::Partial, why.into());
    }

    /// Returns whether nothing but its order in the file tells the place of a chunk.
    fn is_placed(&self, at: u64, layout: &Chunked, chunk: &StoredChunk) -> bool {
        let Some(placed) = self.placed.get(&at) else { return false };
        let scaled = chunk.scaled.iter().zip(&layout.dimensions);
        let first: Vec<u64> = scaled.map(|(at, n)| bound::product(*at, *n)).collect();
        placed.contains(&first)
    }
}

/// Returns the boxes of the elements `from..to` of a chunk that lie in `part`, the box of the chunk in the array.
fn inside(
    layout: &Chunked,
    (first, len): &(Vec<u64>, Vec<u64>),
    from: u64,
    to: u64,
) -> Vec<(Vec<u64>, Vec<u64>)> {
    let clipped = |(start, count): (Vec<u64>, Vec<u64>)| {
        let places = start.iter().zip(&count).zip(len);
        let count: Vec<u64> = places.map(|((&at, &n), &len)| n.min(bound::left(len, at))).collect();
        let start = start.iter().zip(first).map(|(&at, &first)| bound::sum(first, at)).collect();
        (!count.contains(&0)).then_some((start, count))
    };
    boxes(&layout.dimensions, from, to).into_iter().filter_map(clipped).collect()
}

/// Returns an element of a selection; `None` if that of an array is the first one.
fn first(selection: &Selection) -> Option<Vec<u64>> {
    match selection {
        Selection::Points(points) => points.first().cloned(),
        Selection::Blocks(blocks) => blocks.first().map(|(first, _)| first.clone()),
        _ => None,
    }
}

/// Returns the smallest part of an array that contains a selection; `None` if that is empty.
fn bounds(selection: &Selection, shape: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let corners = |all: &mut dyn Iterator<Item = (&Vec<u64>, &Vec<u64>)>| {
        let (first, last) = all.next()?;
        let (mut low, mut high) = (first.clone(), last.clone());
        for (first, last) in all {
            low.iter_mut().zip(first).for_each(|(low, at)| *low = (*low).min(*at));
            high.iter_mut().zip(last).for_each(|(high, at)| *high = (*high).max(*at));
        }
        Some((low, high))
    };
    let (low, high) = match selection {
        Selection::None => return None,
        Selection::All => (vec![0; shape.len()], shape.iter().map(|&n| bound::left(n, 1)).collect()),
        Selection::Points(points) => corners(&mut points.iter().map(|point| (point, point)))?,
        Selection::Blocks(blocks) => corners(&mut blocks.iter().map(|(first, last)| (first, last)))?,
        Selection::Regular(all) => all
            .iter()
            .map(|one| {
                let last = one.block.zip(one.count).map(|(block, count)| {
                    let way = bound::product(bound::left(count, 1), one.stride);
                    bound::left(bound::sum(bound::sum(one.start, way), block), 1)
                });
                (one.start, last.unwrap_or(u64::MAX)) // a bound: clipped below
            })
            .unzip(),
    };
    let ends = high.iter().zip(shape).map(|(&high, &n)| bound::sum(high, 1).min(n));
    let count: Vec<u64> = ends.zip(&low).map(|(end, &low)| bound::left(end, low)).collect();
    (!count.contains(&0) && count.len() == shape.len()).then_some((low, count))
}

/// Returns whether the first or the last bytes of a value are zeros, as if a sector of zeros began or ended in it.
fn ends_in_zeros(value: &[u8]) -> bool {
    let zeros = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
    let some = value.len().min(LOST_BYTES);
    some > 0
        && (zeros(value.get(..some)) || zeros(value.len().checked_sub(some).and_then(|at| value.get(at..))))
}

/// Notes that no checksum covers a part.
fn unchecked(report: &mut ObjectReport) {
    report.unchecked = true;
    report.state = report.state.max(State::Unchecked);
}

/// Notes a reason, and that not more than this is left.
pub(super) fn spoil(report: &mut ObjectReport, state: State, why: String) {
    report.state = report.state.max(state);
    if report.reasons.len() < 16 && !report.reasons.contains(&why) {
        report.reasons.push(why);
    }
}

/// Returns all indices of a grid.
fn grid(counts: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let total = counts.iter().fold(1, |product, &n| bound::product(product, n));
    (0..total).map(move |mut number| {
        let mut index: Vec<u64> = counts
            .iter()
            .rev()
            .map(|&n| {
                let at = number % n.max(1);
                number /= n.max(1);
                at
            })
            .collect();
        index.reverse();
        index
    })
}

/// Returns the addresses that an index leads to from more than one place. A walk over the extents of a dataset ends at the second
/// one, so that the comparison of all extents does not notice it.
fn led_to_twice(dataset: &Dataset) -> Result<BTreeSet<Address>> {
    let mut once = BTreeSet::new();
    Ok(dataset
        .chunks()?
        .into_iter()
        .flatten()
        .map(|chunk| chunk.address)
        .filter(|at| !once.insert(*at))
        .collect())
}
