//! Writes chunks: they are filtered and stored as soon as they are complete.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

use sciformats_core::arith::{add, div, increase, mul, present, product, sub};
use sciformats_core::{Result, Slab, bound};

use crate::chunk::before::Before;
use crate::chunk::copy::{Rectangle, copy, fill};
use crate::chunk::index::build::{Chunks, Stored};
use crate::chunk::index::extensible::MAX_ELEMENTS;
use crate::chunk::index::numbering::Numbering;
use crate::chunk::too_large;
use crate::filter::{self, Registry};
use crate::object::bound::Bound;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::{self, IndexKind};
use crate::spec::{Address, Sizes, width_for};

/// The chunks of a dataset.
pub(crate) struct Chunked {
    /// The number of elements of a chunk along each dimension.
    pub(crate) dimensions: Vec<u64>,
    /// The kind of index that was asked for.
    pub(crate) index: Option<IndexKind>,
    /// Whether chunks may have 4 GiB or more.
    pub(crate) wide: bool,
    /// Whether chunks that extend beyond the dataset are not filtered.
    pub(crate) unfiltered_edges: bool,
    /// The stored chunks by their coordinates. For a dataset that is being edited, these are the ones that are known.
    pub(crate) stored: BTreeMap<Box<[u64]>, Stored>,
    /// The chunks that are not complete yet.
    pub(crate) open: BTreeMap<Box<[u64]>, Open>,
    /// The address of the first chunk, if the space of all chunks was allocated at once.
    pub(crate) implicit: Option<Address>,
    /// Whether chunks to which the file leads already are overwritten.
    pub(crate) overwrites: bool,
    /// Half the children of a node of a version 1 B-tree.
    pub(crate) k: u16,
    /// Old places of chunks that were stored elsewhere since or do not belong to the dataset any more. No index in the
    /// file leads to them.
    pub(crate) left: Vec<Stored>,
    /// What the file has of a dataset that is being edited.
    pub(crate) before: Option<Box<Before>>,
}

/// A chunk in memory, and how many elements were written to it.
pub(crate) struct Open {
    pub(crate) bytes: Vec<u8>,
    pub(crate) elements: u64,
}

/// The largest number of bytes of incomplete chunks in memory. If there are more, they are stored as they are.
const OPEN_BYTES: u64 = 32 << 20;
/// The largest number of bytes of complete chunks that are encoded together.
const BATCH_BYTES: u64 = 16 << 20;
/// The bytes of elements from which on other threads help to filter chunks: to start one takes as long as to filter some
/// kilobytes.
const WORTH_THREADS: usize = 128 << 10;
/// The bytes of elements from which on other threads help if there are no filters, so that elements are only copied.
const WORTH_COPIES: usize = 1 << 20;

/// What writing chunks needs to know about the dataset.
pub(crate) struct Info<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) registry: &'a Registry,
    pub(crate) size: u64,
    pub(crate) shape: &'a [u64],
    pub(crate) maximum: &'a [Option<u64>],
    pub(crate) fill_value: Option<&'a [u8]>,
}

/// The indices of a range that lie in one chunk.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) chunk: u64,
    /// The first index of the range, and the number of indices.
    first: u64,
    count: u64,
    /// The first index inside the chunk.
    within: u64,
}

/// The part of a selection that lies in one chunk: where it is among the selected elements, and inside the chunk.
pub(super) struct Task {
    pub(super) scaled: Box<[u64]>,
    pub(super) from: Rectangle,
    pub(super) to: Rectangle,
    pub(super) counts: Vec<u64>,
}

/// A chunk that was encoded, and the filters that were skipped, as in [`Stored`].
struct Encoded<'a> {
    scaled: Box<[u64]>,
    bytes: Cow<'a, [u8]>,
    mask: Option<u32>,
}

/// Returns whether a chunk with these sides extends beyond a dataset.
fn reaches_out(sides: &[u64], shape: &[u64], scaled: &[u64]) -> bool {
    let mut sides = scaled.iter().zip(sides).zip(shape);
    sides.any(|((&at, &n), &size)| bound::product(bound::sum(at, 1), n) > size)
}

/// The sides of chunks, if those that extend beyond the dataset are not filtered.
struct Edges(Option<Vec<u64>>);

impl Edges {
    fn reaches_out(&self, info: &Info<'_>, scaled: &[u64]) -> bool {
        reaches_out(self.0.as_deref().unwrap_or_default(), info.shape, scaled)
    }

    fn encode<'c>(&self, info: &Info<'_>, scaled: Box<[u64]>, chunk: Cow<'c, [u8]>) -> Result<Encoded<'c>> {
        if self.reaches_out(info, &scaled) {
            return Ok(Encoded { scaled, bytes: chunk, mask: None });
        }
        let (bytes, mask) = filter::encode(info.pipeline, info.registry, chunk)?;
        Ok(Encoded { scaled, bytes, mask: Some(mask) })
    }
}

impl Chunked {
    /// Returns the number of bytes of a chunk.
    pub(crate) fn chunk_bytes(&self, info: &Info<'_>) -> Result<usize> {
        let bytes = self.dimensions.iter().try_fold(info.size, |product, &n| product.checked_mul(n));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_large)
    }

    /// Returns the number of elements of a chunk inside the maximum shape. When so many were written, the chunk is
    /// complete.
    fn complete(&self, info: &Info<'_>, scaled: &[u64]) -> u64 {
        let lengths = scaled.iter().zip(self.dimensions.iter().zip(info.maximum));
        lengths.fold(1, |product: u64, (&at, (&n, max))| {
            let left = max.map_or(n, |max| bound::left(max, bound::product(at, n)));
            bound::product(product, left.min(n))
        })
    }

    pub(crate) fn write(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        slab: &Slab,
        bytes: &[u8],
    ) -> Result<()> {
        let chunk_bytes = self.chunk_bytes(info)?;
        let parts = self.parts(slab)?;
        let batch = div(BATCH_BYTES, (chunk_bytes as u64).max(1))?.max(1);
        let mut tasks = Vec::new();
        let mut looked = false;
        let mut position = vec![0usize; parts.len()];
        loop {
            let task = self.task(slab, &parts, &position)?;
            let elements = product(task.counts.iter().copied())?;
            let untouched = !self.open.contains_key(&task.scaled);
            if untouched && elements >= self.complete(info, &task.scaled) {
                tasks.push(task);
                if tasks.len() as u64 >= batch {
                    self.store_whole(output, info, std::mem::take(&mut tasks), bytes)?;
                }
            } else {
                if !std::mem::replace(&mut looked, true) {
                    self.look(&parts)?;
                }
                self.put(output, info, &task, bytes, elements)?;
            }
            if !advance(&mut position, &parts)? {
                break;
            }
        }
        self.store_whole(output, info, tasks, bytes)?;
        self.relieve(output, info)
    }

    /// Stores the chunks in memory if they take too much space.
    pub(crate) fn relieve(&mut self, output: &mut Output, info: &Info<'_>) -> Result<()> {
        let open = bound::product(self.open.len() as u64, self.chunk_bytes(info)? as u64);
        if open > OPEN_BYTES { self.flush(output, info) } else { Ok(()) }
    }

    /// Returns the parts into which chunks divide a selection along each dimension.
    pub(super) fn parts(&self, slab: &Slab) -> Result<Vec<Vec<Part>>> {
        let sides = slab.ranges().iter().zip(&self.dimensions);
        sides.map(|(range, &chunk)| parts(*range, chunk)).collect()
    }

    pub(super) fn task(&self, slab: &Slab, parts: &[Vec<Part>], position: &[usize]) -> Result<Task> {
        let part =
            |(parts, &at): (&Vec<Part>, &usize)| present(parts.get(at).copied(), "part of a selection");
        let part: Vec<Part> = parts.iter().zip(position).map(part).collect::<Result<_>>()?;
        let of = |value: fn(&Part) -> u64| -> Vec<u64> { part.iter().map(value).collect() };
        Ok(Task {
            scaled: of(|part| part.chunk).into(),
            from: Rectangle { shape: slab.shape(), start: of(|part| part.first), step: vec![1; part.len()] },
            to: Rectangle {
                shape: self.dimensions.clone(),
                start: of(|part| part.within),
                step: slab.ranges().iter().map(|range| range.step).collect(),
            },
            counts: of(|part| part.count),
        })
    }

    /// Encodes and stores chunks all of whose elements are in `bytes`.
    fn store_whole(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        tasks: Vec<Task>,
        bytes: &[u8],
    ) -> Result<()> {
        let len = self.chunk_bytes(info)?;
        let edges = self.edges();
        let encode = |task: Task| -> Result<Encoded<'static>> {
            let mut chunk = vec![0; len];
            let whole = task.counts == task.to.shape;
            if !whole {
                fill(&mut chunk, info.fill_value);
            }
            scatter(info, &task, bytes, &mut chunk)?;
            edges.encode(info, task.scaled, Cow::Owned(chunk))
        };
        let threads = threads(output, info, bound::product(tasks.len(), len));
        filter::each(threads, tasks, encode, |encoded| self.store(output, encoded))
    }

    /// Stores a chunk that has passed through its filters already, in place of the existing one.
    pub(crate) fn put_filtered(
        &mut self,
        output: &mut Output,
        scaled: &[u64],
        (mask, bytes): (Option<u32>, &[u8]),
    ) -> Result<()> {
        self.store(output, Encoded { scaled: scaled.into(), bytes: bytes.into(), mask })?;
        self.open.remove(scaled);
        Ok(())
    }

    /// Allocates the space of a chunk whose bytes come later, in place of the existing one.
    pub(crate) fn reserve(
        &mut self,
        output: &mut Output,
        scaled: &[u64],
        (mask, size): (Option<u32>, u64),
    ) -> Result<Address> {
        self.open.remove(scaled);
        let before = match self.implicit {
            Some(_) => self.find_by_number(scaled)?,
            None => self.stored.get(scaled).copied(),
        };
        if let Some(before) = before.filter(|before| before.size == size && !before.live) {
            self.stored.insert(scaled.into(), Stored { mask, ..before });
            return Ok(before.address);
        }
        let address = output.allocate_zeroed(size)?;
        self.left.extend(before.filter(|before| !before.live));
        self.stored.insert(scaled.into(), Stored { address, size, mask, live: false });
        Ok(address)
    }

    /// Writes elements to a chunk that stays in memory until it is complete.
    fn put(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        task: &Task,
        bytes: &[u8],
        elements: u64,
    ) -> Result<()> {
        if !self.open.contains_key(&task.scaled) {
            let chunk = self.load(output, info, &task.scaled)?;
            self.open.insert(task.scaled.clone(), Open { bytes: chunk, elements: 0 });
        }
        let complete = self.complete(info, &task.scaled);
        let open = present(self.open.get_mut(&task.scaled), "open chunk")?;
        scatter(info, task, bytes, &mut open.bytes)?;
        open.elements = bound::sum(open.elements, elements);
        if open.elements < complete {
            return Ok(());
        }
        let open = present(self.open.remove(&task.scaled), "open chunk")?;
        let encoded = self.edges().encode(info, task.scaled.clone(), Cow::Borrowed(&open.bytes));
        let stored = encoded.and_then(|encoded| self.store(output, encoded));
        if stored.is_err() {
            // Its elements are nowhere else.
            self.open.insert(task.scaled.clone(), open);
        }
        stored
    }

    /// Returns the elements that a chunk has so far.
    pub(crate) fn load(&mut self, output: &mut Output, info: &Info<'_>, scaled: &[u64]) -> Result<Vec<u8>> {
        let len = self.chunk_bytes(info)?;
        if let Some(stored) = self.find(output, info, scaled)? {
            let bytes = output.read_stored("chunk", stored.address, stored.size)?;
            let at = add(output.base(), stored.address.0)?;
            let decoded = info.registry.decode(info.pipeline, stored.skipped(), bytes.into(), len, at)?;
            return Ok(decoded.into_owned());
        }
        let mut chunk = vec![0; len];
        fill(&mut chunk, info.fill_value);
        Ok(chunk)
    }

    fn store(&mut self, output: &mut Output, encoded: Encoded<'_>) -> Result<()> {
        let Encoded { scaled, bytes, mask } = encoded;
        let size = bytes.len() as u64;
        // If the chunk has an index, the index will tell its old place when it is changed. Without an index, the chunk
        // keeps its place.
        let before = match self.implicit {
            Some(_) => self.find_by_number(&scaled)?,
            None => self.stored.get(&scaled).copied(),
        };
        let fits = |stored: &Stored| stored.size >= size && (!stored.live || self.overwrites);
        let stored = match before.filter(fits) {
            Some(before) => {
                output.write_part(before.address, &bytes)?;
                if before.size > size {
                    let end = Address(add(before.address.0, size)?);
                    output.free(end, sub(before.size, size)?, Use::Data)?;
                }
                Stored { size, mask, ..before }
            }
            None => Stored { address: output.put_data(&bytes)?, size, mask, live: false },
        };
        self.left.extend(before.filter(|before| !before.live && before.address != stored.address));
        self.stored.insert(scaled, stored);
        Ok(())
    }

    /// Stores the chunks that are in memory. After an error, those that are not stored stay in memory.
    pub(crate) fn flush(&mut self, output: &mut Output, info: &Info<'_>) -> Result<()> {
        let open = std::mem::take(&mut self.open);
        let edges = self.edges();
        let bytes = open.values().map(|open| open.bytes.len()).fold(0, bound::sum);
        let (threads, chunks) = (threads(output, info, bytes), open.iter().collect::<Vec<_>>());
        let mut stored = 0usize;
        let flushed = filter::each(
            threads,
            chunks,
            |(scaled, open)| edges.encode(info, scaled.clone(), Cow::Borrowed(&open.bytes)),
            |encoded| {
                self.store(output, encoded)?;
                increase(&mut stored, 1)
            },
        );
        if flushed.is_err() {
            self.open = open.into_iter().skip(stored).collect();
        }
        flushed
    }

    /// Returns whether a chunk extends beyond a dataset of this shape.
    pub(crate) fn reaches_out(&self, shape: &[u64], scaled: &[u64]) -> bool {
        reaches_out(&self.dimensions, shape, scaled)
    }

    fn edges(&self) -> Edges {
        Edges(self.unfiltered_edges.then(|| self.dimensions.clone()))
    }

    /// Stores chunks again whose treatment has changed with the shape: those that extended beyond the dataset when they
    /// were stored but no longer do, and the reverse.
    fn settle_edges(&mut self, output: &mut Output, info: &Info<'_>) -> Result<()> {
        let edges = self.edges();
        if edges.0.is_none() {
            return Ok(());
        }
        let changed: Vec<Box<[u64]>> = self
            .stored
            .iter()
            .filter(|(scaled, stored)| stored.mask.is_none() != edges.reaches_out(info, scaled))
            .map(|(scaled, _)| scaled.clone())
            .collect();
        for scaled in changed {
            let chunk = self.load(output, info, &scaled)?;
            let encoded = edges.encode(info, scaled, Cow::Owned(chunk))?;
            self.store(output, encoded)?;
        }
        Ok(())
    }

    /// Allocates the space of all chunks at once, in the order of their numbers.
    pub(crate) fn allocate_all(
        &mut self,
        output: &mut Output,
        size: u64,
        maximum: &[u64],
        fill_value: Option<&[u8]>,
    ) -> Result<()> {
        let counts: Vec<u64> = maximum
            .iter()
            .zip(&self.dimensions)
            .map(|(max, chunk)| max.div_ceil((*chunk).max(1)).max(1))
            .collect();
        let chunk = self
            .dimensions
            .iter()
            .try_fold(size, |product, &n| product.checked_mul(n))
            .ok_or_else(too_large)?;
        let total =
            counts.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).ok_or_else(too_large)?;
        let bytes = total.checked_mul(chunk).ok_or_else(too_large)?;
        let address = output.allocate_filled(bytes, fill_value)?;
        self.implicit = Some(address);
        let numbering = Numbering::new(&counts, None);
        for number in 0..total {
            let address = Address(add(address.0, mul(number, chunk)?)?);
            self.stored.insert(
                numbering.scaled(number).into(),
                Stored { address, size: chunk, mask: Some(0), live: false },
            );
        }
        Ok(())
    }

    pub(crate) fn close(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        bound: Bound,
    ) -> Result<layout::Chunked> {
        self.settle_edges(output, info)?;
        let counts = counts(info.maximum, info.shape, &self.dimensions);
        let filtered = !info.pipeline.filters.is_empty();
        let index = self.index_kind(info, bound, (&counts, output.sizes));
        let size_width = self.size_width(filtered, output.sizes, self.chunk_bytes(info)? as u64);
        let chunks = Chunks {
            stored: self.stored.iter().map(|(scaled, &stored)| (&scaled[..], stored)).collect(),
            dimensions: &self.dimensions,
            counts,
            unlimited: info.maximum.iter().position(Option::is_none),
            filtered,
            size_width,
            k: self.k,
            sizes: output.sizes,
        };
        let address = chunks.build(output, index)?;
        self.give_back(output)?;
        let index = match index {
            IndexKind::Single(_) if filtered => {
                let first = self.stored.values().next();
                IndexKind::Single(Some(first.map_or((0, 0), |stored| (stored.size, stored.listed()))))
            }
            other => other,
        };
        Ok(layout::Chunked {
            dimensions: self.dimensions.clone(),
            element_size: info.size,
            unfiltered_edges: self.unfiltered_edges,
            wide_sizes: self.wide,
            index,
            address,
        })
    }

    /// Returns the width of the stored size in the index for chunks of `bytes` bytes, or 0 without filters.
    pub(crate) fn size_width(&self, filtered: bool, sizes: Sizes, bytes: u64) -> usize {
        match (filtered, self.wide) {
            (false, _) => 0,
            (true, true) => sizes.lengths.into(),
            // The C library uses one byte more than the unfiltered size needs, and at most 8.
            (true, false) => bound::sum(width_for(bytes), 1).min(8),
        }
    }

    fn index_kind(&self, info: &Info<'_>, bound: Bound, (counts, sizes): (&[u64], Sizes)) -> IndexKind {
        // The older layout message can say neither of the two.
        if bound < Bound::V110 && !self.unfiltered_edges && !self.wide {
            return IndexKind::BtreeV1;
        }
        if let Some(index) = self.index {
            return index;
        }
        // This saturates, because no array has more chunks than 64 bits can count.
        let chunks = counts.iter().fold(1, |product, &n| bound::product(product, n));
        // An array of which little is used would be larger than a B-tree.
        let sparse = chunks > 1 << 16 && chunks >> 4 > self.stored.len() as u64;
        match info.maximum.iter().filter(|max| max.is_none()).count() {
            0 if info.shape == self.dimensions
                && info.maximum.iter().zip(info.shape).all(|(max, &n)| *max == Some(n)) =>
            {
                IndexKind::Single(None)
            }
            0 if !sparse => IndexKind::FixedArray,
            // If lengths have 4 bytes, the C library takes the stored maximum 2^32 - 1 for a size and overlooks that
            // the dimension can grow.
            1 if !sparse && chunks < MAX_ELEMENTS && sizes.lengths == 8 => IndexKind::ExtensibleArray,
            _ => IndexKind::BtreeV2,
        }
    }
}

/// Returns the number of chunks along each dimension of the maximum shape.
pub(crate) fn counts(maximum: &[Option<u64>], shape: &[u64], chunk: &[u64]) -> Vec<u64> {
    let largest = maximum.iter().zip(shape).map(|(max, &n)| max.unwrap_or(n));
    largest.zip(chunk).map(|(n, chunk)| n.div_ceil((*chunk).max(1)).max(1)).collect()
}

/// Returns how many threads filter chunks with so many bytes of elements together.
fn threads(output: &Output, info: &Info<'_>, bytes: usize) -> usize {
    let worth = if info.pipeline.filters.is_empty() { WORTH_COPIES } else { WORTH_THREADS };
    if bytes < worth { 1 } else { output.threads }
}

fn scatter(info: &Info<'_>, task: &Task, bytes: &[u8], chunk: &mut [u8]) -> Result<()> {
    let size = usize::try_from(info.size).map_err(|_| too_large())?;
    copy((bytes, &task.from), (chunk, &task.to), &task.counts, size).ok_or_else(too_large)
}

/// Returns the parts into which chunks divide a range.
fn parts(range: sciformats_core::Range, chunk: u64) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut first = 0;
    while first < range.count {
        let index = add(range.start, mul(first, range.step)?)?;
        let side = present(NonZeroU64::new(chunk), "side of a chunk")?;
        let (at, within) = (index / side, index % side);
        let room = sub(chunk, within)?.div_ceil(range.step.max(1));
        let count = room.min(sub(range.count, first)?).max(1);
        parts.push(Part { chunk: at, first, count, within });
        increase(&mut first, count)?;
    }
    Ok(parts)
}

/// Advances to the next combination, the last dimension varying fastest.
pub(super) fn advance(position: &mut [usize], parts: &[Vec<Part>]) -> Result<bool> {
    for (at, parts) in position.iter_mut().zip(parts).rev() {
        increase(at, 1)?;
        if *at < parts.len() {
            return Ok(true);
        }
        *at = 0;
    }
    Ok(false)
}
