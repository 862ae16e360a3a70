//! Reads elements that are stored in chunks.

use std::ops::ControlFlow;

use sciformats_core::arith::{add, div, fit, increase, mul, sub};
use sciformats_core::fault::FaultKind;
use sciformats_core::{Error, Result, Slab, bound};

use crate::chunk::copy::{Distances, Overlap, Placed};
use crate::chunk::index::{Bounds, Index, StoredChunk, chunk_bytes};
use crate::dataset::read::{LONG, Reader, Scratch};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::Chunked;

/// The bytes of decoded chunks from which on other threads help: to start one takes as long as to decode some kilobytes.
#[cfg(feature = "parallel")]
const WORTH_THREADS: usize = 128 << 10;

/// The bytes of elements from which on other threads help to copy chunks that have no filters.
#[cfg(feature = "parallel")]
const WORTH_COPIES: usize = 1 << 20;

/// The largest number of chunks for which memory is reserved before they are found.
const RESERVED: u64 = 1 << 20;

/// Reads the selected elements of a chunked dataset.
pub(crate) fn read(reader: &Reader<'_>, layout: &Chunked, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let (found, complete) = stored(reader, layout, slab)?;
    if !complete {
        reader.fill(out)?;
    }
    let bytes = chunk_size(reader, layout)?;
    let distances = Distances::new(&layout.dimensions, &slab.shape(), reader.element());
    let distances = distances.ok_or_else(|| reader.layout_fault("chunk size", FaultKind::Overflow))?;
    let dimensions = reader.content.dataspace.shape();
    Chunks { reader, layout, dimensions, slab, bytes, distances }.run(&found, out)
}

/// Returns the stored chunks that a selection touches, and whether these are all chunks that it touches.
pub(crate) fn stored(reader: &Reader<'_>, layout: &Chunked, slab: &Slab) -> Result<(Vec<StoredChunk>, bool)> {
    let Dataspace::Simple { dimensions, maximum } = &reader.content.dataspace else {
        return Err(reader.layout_fault("dimensionality", FaultKind::Rule("does not fit a scalar dataset")));
    };
    if layout.dimensions.len() != dimensions.len() {
        let kind =
            FaultKind::Mismatch { expected: dimensions.len() as u64, found: layout.dimensions.len() as u64 };
        return Err(reader.layout_fault("dimensionality", kind));
    }
    if layout.element_size != u64::from(reader.content.datatype.size) {
        let kind =
            FaultKind::Mismatch { expected: reader.content.datatype.size.into(), found: layout.element_size };
        return Err(reader.layout_fault("dataset element size", kind));
    }
    let filtered = !reader.content.storage()?.pipeline.filters.is_empty();
    let index = Index { context: &reader.opened.context, layout, dimensions, maximum, filtered };
    let bounds = bounds(slab, &layout.dimensions)?;
    let found = found(reader, &index, &bounds)?;
    let complete = bounds.volume() == Some(found.len() as u64);
    Ok((found, complete))
}

/// Returns the number of bytes of a chunk without filters, which is within the limits.
pub(crate) fn chunk_size(reader: &Reader<'_>, layout: &Chunked) -> Result<usize> {
    let bytes = chunk_bytes(layout).ok_or_else(|| reader.layout_fault("chunk size", FaultKind::Overflow))?;
    reader.opened.context.limits.memory("bytes of a chunk", bytes)
}

/// Returns what a chunk and a selection have in common along a dimension of a dataset of the shape `dimensions`.
pub(crate) fn overlap(
    layout: &Chunked,
    dimensions: &[u64],
    slab: &Slab,
    axis: usize,
    chunk: &StoredChunk,
) -> Option<Overlap> {
    let range = slab.ranges().get(axis)?;
    let (n, size) = (*layout.dimensions.get(axis)?, *dimensions.get(axis)?);
    let origin = chunk.scaled.get(axis)?.checked_mul(n)?;
    let end = origin.checked_add(n)?.min(size);
    // This is the first selected index that is not before the chunk.
    let to = bound::left(origin, range.start).div_ceil(range.step);
    let first = range.start.checked_add(to.checked_mul(range.step)?)?;
    if to >= range.count || first >= end {
        return None;
    }
    let count = end.checked_sub(first)?.div_ceil(range.step).min(range.count.checked_sub(to)?);
    Some(Overlap { start: first.checked_sub(origin)?, step: range.step, to, count })
}

/// Returns the stored chunks within bounds, in the order of their positions.
fn found(reader: &Reader<'_>, index: &Index<'_>, bounds: &Bounds) -> Result<Vec<StoredChunk>> {
    let mut found = Vec::new();
    if let Some(places) = &reader.content.places
        && places.find(index, bounds, &mut found)
    {
        return Ok(found);
    }
    found.clear();
    // A list that is long enough from the start is never moved. Most indexes store an address for each chunk, so that the file
    // bounds the list; if there is no memory for it in advance, it grows as chunks are found.
    let stored = index.context.storage.size() / 8;
    let expected = bounds.volume().unwrap_or(stored).min(stored).min(RESERVED);
    let _ = found.try_reserve(bound::addressable(expected));
    let mut failed = None;
    index.visit(bounds, &mut |chunk| match chunk {
        Ok(chunk) => {
            found.push(chunk);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    // Two chunks with the same coordinates would hide that another chunk is missing.
    sciformats_core::order::sort_by(&mut found, |a, b| a.scaled.cmp(&b.scaled));
    found.dedup_by(|a, b| a.scaled == b.scaled);
    Ok(found)
}

/// Returns the bounds of the chunks that a selection touches.
fn bounds(slab: &Slab, chunk: &[u64]) -> Result<Bounds> {
    let ranges = || slab.ranges().iter().zip(chunk);
    // A selection with elements lies within its shape, and chunks have no side of 0, so the divisions are safe.
    let last = |range: &sciformats_core::Range| add(range.start, mul(sub(range.count, 1)?, range.step)?);
    let chunks = |index: Result<u64>, n: &u64| div(index?, *n);
    Ok(Bounds {
        first: ranges().map(|(range, n)| chunks(Ok(range.start), n)).collect::<Result<_>>()?,
        last: ranges().map(|(range, n)| chunks(last(range), n)).collect::<Result<_>>()?,
    })
}

/// Divides chunks into batches that are fetched together. A batch is a quarter of what may be fetched ahead, so that
/// the first batch arrives soon.
fn batches(chunks: &[StoredChunk], ahead: u64) -> Vec<&[StoredChunk]> {
    let (mut rest, mut batches) = (chunks, Vec::new());
    while !rest.is_empty() {
        let mut left = ahead / 4;
        let fits = rest.iter().take_while(|chunk| {
            let room = left > 0;
            left = bound::left(left, chunk.size);
            room
        });
        let (batch, later) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = later;
    }
    batches
}

/// The chunks of one read.
struct Chunks<'a> {
    reader: &'a Reader<'a>,
    layout: &'a Chunked,
    dimensions: &'a [u64],
    slab: &'a Slab,
    bytes: usize,
    distances: Distances,
}

/// A row of chunks, and the part of the result that belongs to it.
struct Row<'a> {
    chunks: &'a [StoredChunk],
    part: &'a mut [u8],
    /// The first index of the row along the slowest dimension of the selection.
    first: u64,
    /// Whether the chunks follow each other in the file as their elements do in the result, so that they are several
    /// rows that one read can bring.
    joined: bool,
}

/// Short chunks are read together up to this many bytes, which leaves enough pieces for several threads.
const JOINED: u64 = 1 << 20;

/// The buffers that a thread reuses from chunk to chunk.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    overlaps: Vec<Overlap>,
    placed: Placed,
}

impl Chunks<'_> {
    /// Copies from `chunks`, which are sorted, into `out`. Different rows of chunks write to different parts of `out`,
    /// so each row can have a thread.
    fn run(&self, chunks: &[StoredChunk], out: &mut [u8]) -> Result<()> {
        let context = &self.reader.opened.context;
        let ahead = context.storage.read_ahead();
        if ahead == 0 {
            return self.decode(chunks, out);
        }
        // If a read costs a round trip, chunks are fetched in batches, and each batch is fetched while the previous one
        // is decoded.
        let announce =
            |batch: &[StoredChunk]| context.announce(batch.iter().map(|chunk| (chunk.address, chunk.size)));
        let mut batches = batches(chunks, ahead).into_iter().peekable();
        announce(batches.peek().copied().unwrap_or_default())?;
        while let Some(batch) = batches.next() {
            let next = batches.peek().copied().unwrap_or_default();
            if next.is_empty() || cfg!(target_family = "wasm") {
                self.decode(batch, out)?;
                announce(next)?;
                continue;
            }
            std::thread::scope(|scope| {
                let next = scope.spawn(|| announce(next));
                let done = self.decode(batch, out);
                done.and(next.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })?;
        }
        Ok(())
    }

    /// Works like [`run`](Self::run), with chunks that are in memory or whose reads cost no round trip.
    fn decode(&self, chunks: &[StoredChunk], out: &mut [u8]) -> Result<()> {
        #[cfg(feature = "parallel")]
        let worth = match self.reader.content.storage()?.pipeline.filters.is_empty() {
            true => out.len() >= WORTH_COPIES,
            false => bound::product(chunks.len(), self.bytes) >= WORTH_THREADS,
        };
        let rows = self.rows(chunks, out)?;
        #[cfg(feature = "parallel")]
        if self.reader.threads > 1 && rows.len() > 1 && worth {
            // Each thread takes the next row as soon as it has finished one, so that uneven rows do not leave threads
            // idle.
            let threads = self.reader.threads.min(rows.len());
            let queue = std::sync::Mutex::new(rows.into_iter());
            let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            return crate::filter::shared(threads, || {
                let mut worker = Worker::default();
                while let Some(row) = next() {
                    self.row(row, &mut worker)?;
                }
                Ok(())
            })
            .map(drop);
        }
        let mut worker = Worker::default();
        rows.into_iter().try_for_each(|row| self.row(row, &mut worker))
    }

    /// Divides the result among rows of chunks.
    fn rows<'r>(&self, chunks: &'r [StoredChunk], out: &'r mut [u8]) -> Result<Vec<Row<'r>>> {
        let inner =
            self.slab.shape().iter().skip(1).try_fold(self.layout.element_size, |n, &c| n.checked_mul(c));
        let too_large = || self.reader.layout_fault("chunk size", FaultKind::Overflow);
        let inner = inner.ok_or_else(too_large)?;
        let bytes = |rows: u64| fit::<usize, _>(mul(rows, inner)?, "bytes of rows");
        let mut rows = Vec::new();
        let (mut rest, mut at) = (out, 0u64);
        let mut left = chunks;
        while let Some(chunk) = left.first() {
            let joined = self.joined(left)?;
            let of_row =
                || left.iter().take_while(|other| other.scaled.first() == chunk.scaled.first()).count();
            let (chunks, later) = left.split_at(if joined > 1 { joined } else { of_row() });
            left = later;
            let (Some(overlap), Some(last)) =
                (self.overlap(0, chunk), chunks.last().and_then(|chunk| self.overlap(0, chunk)))
            else {
                continue;
            };
            let end = add(last.to, last.count)?;
            let (skip, len) = (bytes(sub(overlap.to, at)?)?, bytes(sub(end, overlap.to)?)?);
            let parts = std::mem::take(&mut rest).split_at_mut_checked(skip);
            let Some((part, after)) = parts.and_then(|(_, rest)| rest.split_at_mut_checked(len)) else {
                return Err(Error::usage("out", "must have as many bytes as the selection"));
            };
            rows.push(Row { chunks, part, first: overlap.to, joined: joined > 1 });
            (rest, at) = (after, end);
        }
        Ok(rows)
    }

    /// Returns how many of the first chunks one read can bring, because they are whole rows of the result that are stored
    /// without filters, one after the other.
    fn joined(&self, chunks: &[StoredChunk]) -> Result<usize> {
        let mut inner = self.slab.ranges().iter().zip(&self.layout.dimensions).skip(1);
        let whole_rows =
            inner.all(|(range, n)| range.step == 1 && range.count == *n && range.start.is_multiple_of(*n));
        if !whole_rows || self.bytes as u64 >= JOINED {
            return Ok(0);
        }
        let (mut count, mut next) = (0usize, None);
        for chunk in
            chunks.iter().take(bound::addressable(JOINED.checked_div(self.bytes as u64).unwrap_or_default()))
        {
            let whole = self
                .overlap(0, chunk)
                .is_some_and(|part| part.step == 1 && Some(&part.count) == self.layout.dimensions.first());
            let end = bound::sum(chunk.address.0, chunk.size);
            let follows = next.is_none_or(|next| next == (chunk.address.0, chunk.scaled.first().copied()));
            if !(whole
                && follows
                && chunk.size == self.bytes as u64
                && self.reader.is_plain(self.layout, chunk)?)
            {
                break;
            }
            increase(&mut count, 1)?;
            next = Some((end, chunk.scaled.first().map(|at| bound::sum(*at, 1))));
        }
        Ok(count)
    }

    fn row(&self, row: Row<'_>, worker: &mut Worker) -> Result<()> {
        let Row { chunks, part, first, joined } = row;
        if joined
            && let Some(chunk) = chunks.first()
            && self.reader.opened.context.read_into("chunk", chunk.address, part).is_ok()
        {
            return Ok(());
        }
        // Where joined chunks cannot be read, reading them one by one tells which of them is at fault.
        chunks.iter().try_for_each(|chunk| self.copy(chunk, part, first, worker))
    }

    fn overlap(&self, axis: usize, chunk: &StoredChunk) -> Option<Overlap> {
        overlap(self.layout, self.dimensions, self.slab, axis, chunk)
    }

    /// Copies the selected elements of a chunk into `part`, which starts at row `first` of the selection.
    fn copy(&self, chunk: &StoredChunk, part: &mut [u8], first: u64, worker: &mut Worker) -> Result<()> {
        let Worker { scratch, overlaps, placed } = worker;
        overlaps.clear();
        for axis in 0..self.dimensions.len() {
            let Some(overlap) = self.overlap(axis, chunk) else { return Ok(()) };
            overlaps.push(overlap);
        }
        if let Some(rows) = overlaps.first_mut() {
            rows.to = sub(rows.to, first)?;
        }
        let wrong = || self.reader.layout_fault("chunk size", FaultKind::Overflow);
        self.distances.place(overlaps, placed).ok_or_else(wrong)?;
        if self.bytes as u64 >= LONG
            && let Some(out) = placed.whole(part, self.bytes)
            && self.reader.is_plain(self.layout, chunk)?
            && chunk.size >= out.len() as u64
        {
            return self.reader.opened.context.read_into("chunk", chunk.address, out);
        }
        let plain = self.reader.is_plain(self.layout, chunk)?;
        if plain
            && chunk.size >= self.bytes as u64
            && let Some(span) = placed.span().filter(|(_, len)| bound::product(*len, 2) <= self.bytes)
        {
            // Reading the rest of the chunk would take longer than to read it again when it is wanted.
            return placed.copy_span(self.reader.piece(chunk, span, scratch)?, part).ok_or_else(wrong);
        }
        let whole = overlaps.iter().zip(&self.layout.dimensions).all(|(overlap, n)| overlap.count == *n);
        if !plain && let Some(out) = placed.whole(part, self.bytes) {
            return self.reader.chunk_into(chunk, out, scratch);
        }
        // If only a part of a chunk is wanted, the rest is likely to be wanted soon, so the decoded chunk is cached.
        if !whole && !plain && self.reader.opened.chunks.takes(self.bytes) {
            return self.copy_cached(chunk, part, scratch, placed);
        }
        let bytes = self.reader.chunk(self.layout, chunk, self.bytes, scratch)?;
        placed.copy(bytes, part).ok_or_else(wrong)
    }

    /// Copies the selected elements of a chunk that is in the cache, or comes there.
    fn copy_cached(
        &self,
        chunk: &StoredChunk,
        part: &mut [u8],
        scratch: &mut Scratch,
        placed: &Placed,
    ) -> Result<()> {
        let (opened, Scratch { stored, buffers }) = (self.reader.opened, scratch);
        let wrong = || self.reader.layout_fault("chunk size", FaultKind::Overflow);
        if opened.unchanging
            && let Some(bytes) = opened.chunks.get(chunk.address, &[])
        {
            return placed.copy(&bytes, part).ok_or_else(wrong);
        }
        let stored = opened.context.read_with("chunk", chunk.address, chunk.size, stored)?;
        // Another program that writes the file may write a chunk again at the same place.
        let now = if opened.unchanging { &[][..] } else { stored };
        if !opened.unchanging
            && let Some(bytes) = opened.chunks.get(chunk.address, now)
        {
            return placed.copy(&bytes, part).ok_or_else(wrong);
        }
        let bytes = self.reader.decoded(self.layout, chunk, (stored, self.bytes), buffers)?;
        opened.chunks.put(chunk.address, now, bytes);
        placed.copy(bytes, part).ok_or_else(wrong)
    }
}
