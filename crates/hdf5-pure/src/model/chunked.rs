//! Reading elements that are stored in chunks.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats_core::fault::FaultKind;
use sciformats_core::{Error, Result, Slab};

use super::chunks::{Bounds, Index, StoredChunk, chunk_bytes};
use super::copy::{self, Rectangle};
use super::read::Reader;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::Chunked;

/// Reads the selected elements of a dataset in chunks.
pub(crate) fn read(reader: &Reader<'_>, layout: &Chunked, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let Dataspace::Simple { dimensions, maximum } = &reader.content.dataspace else {
        return Err(
            reader.layout_fault("dimensionality", FaultKind::Rule("does not fit a dataset of one element"))
        );
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
    let bounds = bounds(slab, &layout.dimensions);
    let mut found = Vec::new();
    let mut failed = None;
    index.visit(&bounds, &mut |chunk| match chunk {
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
    // Equal coordinates would hide that others are missing.
    found.sort_by(|a, b| a.scaled.cmp(&b.scaled));
    found.dedup_by(|a, b| a.scaled == b.scaled);
    if bounds.volume() != Some(found.len() as u64) {
        reader.fill(out)?;
    }
    let bytes = chunk_bytes(layout).ok_or_else(|| reader.layout_fault("chunk size", FaultKind::Overflow))?;
    let bytes = reader.opened.context.limits.memory("bytes of a chunk", bytes)?;
    let task = Chunks { reader, layout, dimensions, slab, bytes };
    task.run(&found, out)
}

/// The chunks that a selection touches.
fn bounds(slab: &Slab, chunk: &[u64]) -> Bounds {
    let ranges = || slab.ranges().iter().zip(chunk);
    let last = |range: &sciformats_core::Range| {
        range.start.saturating_add(range.count.saturating_sub(1).saturating_mul(range.step))
    };
    Bounds {
        first: ranges().map(|(range, n)| range.start.checked_div(*n).unwrap_or(0)).collect(),
        last: ranges().map(|(range, n)| last(range).checked_div(*n).unwrap_or(0)).collect(),
    }
}

/// The chunks of one read.
struct Chunks<'a> {
    reader: &'a Reader<'a>,
    layout: &'a Chunked,
    dimensions: &'a [u64],
    slab: &'a Slab,
    bytes: usize,
}

/// The elements of a chunk.
enum Bytes<'a> {
    Own(Cow<'a, [u8]>),
    Shared(Arc<[u8]>),
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// What a chunk and a selection have in common along one dimension.
struct Overlap {
    /// First index in the chunk.
    start: u64,
    /// First index in the selection.
    to: u64,
    count: u64,
    step: u64,
}

impl Chunks<'_> {
    /// Copies from `chunks`, which are sorted, into `out`. Chunks of different rows of chunks write to different parts of
    /// it, so that each row can have a thread.
    fn run(&self, chunks: &[StoredChunk], out: &mut [u8]) -> Result<()> {
        let rows = chunks.chunk_by(|a, b| a.scaled.first() == b.scaled.first());
        let inner =
            self.slab.shape().iter().skip(1).try_fold(self.layout.element_size, |n, &c| n.checked_mul(c));
        let inner = inner.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let mut tasks = Vec::new();
        let (mut rest, mut at) = (out, 0u64);
        for row in rows {
            let Some(overlap) = row.first().and_then(|chunk| self.overlap(0, chunk)) else { continue };
            let skip =
                usize::try_from(overlap.to.saturating_sub(at)).unwrap_or(usize::MAX).saturating_mul(inner);
            let len = usize::try_from(overlap.count).unwrap_or(usize::MAX).saturating_mul(inner);
            let Some((part, after)) = std::mem::take(&mut rest)
                .split_at_mut_checked(skip)
                .and_then(|(_, rest)| rest.split_at_mut_checked(len))
            else {
                return Err(Error::usage("out", "has not the size of the selection"));
            };
            tasks.push((row, part, overlap.to, overlap.count));
            (rest, at) = (after, overlap.to.saturating_add(overlap.count));
        }
        let work = |(row, part, first, count): (&[StoredChunk], &mut [u8], u64, u64)| {
            row.iter().try_for_each(|chunk| self.copy(chunk, part, first, count))
        };
        #[cfg(feature = "rayon")]
        if self.reader.threads > 1 && tasks.len() > 1 {
            use rayon::iter::{IntoParallelIterator, ParallelIterator};
            // As many threads as the caller allows, each with the next row as soon as it is done with one.
            let queue = std::sync::Mutex::new(tasks.into_iter());
            let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            return (0..self.reader.threads).into_par_iter().try_for_each(|_| {
                while let Some(task) = next() {
                    work(task)?;
                }
                Ok(())
            });
        }
        tasks.into_iter().try_for_each(work)
    }

    /// The elements of a chunk. If only a part of them is wanted, the rest may be wanted soon.
    fn bytes_of(&self, chunk: &StoredChunk, whole: bool) -> Result<Bytes<'_>> {
        let cache = &self.reader.opened.chunks;
        let keep = !whole && cache.takes(self.bytes);
        if keep && let Some(bytes) = cache.get(chunk.address) {
            return Ok(Bytes::Shared(bytes));
        }
        match self.reader.chunk(self.layout, chunk, self.bytes)? {
            Cow::Owned(bytes) if keep => {
                let bytes = Arc::from(bytes);
                cache.put(chunk.address, Arc::clone(&bytes));
                Ok(Bytes::Shared(bytes))
            }
            bytes => Ok(Bytes::Own(bytes)),
        }
    }

    fn overlap(&self, axis: usize, chunk: &StoredChunk) -> Option<Overlap> {
        let range = self.slab.ranges().get(axis)?;
        let (n, size) = (*self.layout.dimensions.get(axis)?, *self.dimensions.get(axis)?);
        let origin = chunk.scaled.get(axis)?.checked_mul(n)?;
        let end = origin.checked_add(n)?.min(size);
        // The first selected index that is not before the chunk.
        let to = origin.saturating_sub(range.start).div_ceil(range.step);
        let first = range.start.checked_add(to.checked_mul(range.step)?)?;
        if to >= range.count || first >= end {
            return None;
        }
        let count = end.checked_sub(first)?.div_ceil(range.step).min(range.count.checked_sub(to)?);
        Some(Overlap { start: first.checked_sub(origin)?, to, count, step: range.step })
    }

    /// Copies what is selected of a chunk into `part`, the rows `first` to `first + rows` of the selection.
    fn copy(&self, chunk: &StoredChunk, part: &mut [u8], first: u64, rows: u64) -> Result<()> {
        let rank = self.dimensions.len();
        let overlaps: Option<Vec<Overlap>> = (0..rank).map(|axis| self.overlap(axis, chunk)).collect();
        let Some(overlaps) = overlaps else { return Ok(()) };
        let whole = overlaps.iter().zip(&self.layout.dimensions).all(|(overlap, n)| overlap.count == *n);
        let bytes = self.bytes_of(chunk, whole)?;
        let from = Rectangle {
            shape: self.layout.dimensions.clone(),
            start: overlaps.iter().map(|overlap| overlap.start).collect(),
            step: overlaps.iter().map(|overlap| overlap.step).collect(),
        };
        let mut to = Rectangle {
            shape: self.slab.shape(),
            start: overlaps.iter().map(|overlap| overlap.to).collect(),
            step: vec![1; rank],
        };
        if let (Some(shape), Some(start)) = (to.shape.first_mut(), to.start.first_mut()) {
            *shape = rows;
            *start = start.saturating_sub(first);
        }
        let counts: Vec<u64> = overlaps.iter().map(|overlap| overlap.count).collect();
        copy::copy((bytes.as_ref(), &from), (part, &to), &counts, self.reader.element())
            .ok_or_else(|| self.reader.layout_fault("chunk size", FaultKind::Overflow))
    }
}
