//! The chunks of a dataset that is being edited, as the file leads to them. They are looked up when they are needed.

use std::collections::BTreeSet;

use sciformats_core::{Result, bound};

use crate::chunk::index::build::Stored;
use crate::chunk::index::write::IndexWriter;
use crate::chunk::index::{Bounds, Index, StoredChunk};
use crate::space::context::Context;
use crate::spec::message::layout;

/// What the file has of the chunks of a dataset, and what is known about it.
pub(crate) struct Before {
    context: Context,
    pub(crate) layout: layout::Chunked,
    dimensions: Vec<u64>,
    maximum: Vec<Option<u64>>,
    filtered: bool,
    /// The filters that chunks skip if they extend beyond the dataset.
    skipped: u32,
    /// The box in which every chunk of the file is known.
    pub(crate) seen: Option<Bounds>,
    /// The chunks that do not belong to the dataset any more.
    pub(crate) removed: BTreeSet<Box<[u64]>>,
    /// The index, with the parts of it that were read.
    pub(crate) writer: Option<IndexWriter>,
}

impl Before {
    /// Creates the state for a dataset of this extent. `skipped` are the filters that chunks skip if they extend beyond
    /// the dataset.
    pub(crate) fn new(
        context: Context,
        layout: layout::Chunked,
        (dimensions, maximum): (&[u64], &[Option<u64>]),
        filtered: bool,
        skipped: u32,
    ) -> Self {
        let (dimensions, maximum) = (dimensions.to_vec(), maximum.to_vec());
        let removed = BTreeSet::new();
        Self { context, layout, dimensions, maximum, filtered, skipped, seen: None, removed, writer: None }
    }

    pub(crate) fn index(&self) -> Index<'_> {
        Index {
            context: &self.context,
            layout: &self.layout,
            dimensions: &self.dimensions,
            maximum: &self.maximum,
            filtered: self.filtered,
        }
    }

    /// Notes that what was going to be written is in the file now.
    pub(crate) fn renew(&mut self, layout: layout::Chunked, dimensions: &[u64]) {
        self.layout = layout;
        self.dimensions = dimensions.to_vec();
        self.skipped = 0;
        self.seen = None;
        self.removed.clear();
        self.writer = None;
    }

    /// Returns whether all chunks in a box are known.
    pub(crate) fn covers(&self, bounds: &Bounds) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.holds(&bounds.first) && seen.holds(&bounds.last))
    }

    /// Returns a chunk that the file leads to. Chunks with an implicit index can be overwritten, because they keep
    /// their places.
    fn stored(&self, chunk: &StoredChunk) -> Stored {
        let mut sides = chunk.scaled.iter().zip(&self.layout.dimensions).zip(&self.dimensions);
        // An edge chunk that was stored without filters must be marked as unfiltered now. Readers otherwise conclude
        // that from the shape, which may change.
        let out = sides.any(|((&at, &n), &size)| bound::product(bound::sum(at, 1), n) > size);
        let mask = chunk.filter_mask | if out { self.skipped } else { 0 };
        let live = self.layout.index != layout::IndexKind::Implicit;
        Stored { address: chunk.address, size: chunk.size, mask: Some(mask), live }
    }

    /// Returns the chunks of the file in a box.
    pub(crate) fn within(&self, bounds: &Bounds) -> Result<Vec<(Box<[u64]>, Stored)>> {
        self.index().collect(bounds, |chunk| {
            let stored = self.stored(&chunk);
            (chunk.scaled.into(), stored)
        })
    }

    /// Returns all chunks of the file.
    pub(crate) fn all(&self) -> Result<Vec<(Box<[u64]>, Stored)>> {
        let last: Vec<u64> = self.index().counts().iter().map(|n| bound::left(*n, 1)).collect();
        self.within(&Bounds { first: vec![0; last.len()], last })
    }

    /// Returns whether the file is known to have no chunk `scaled` that still belongs to the dataset.
    pub(crate) fn lacks(&self, scaled: &[u64]) -> bool {
        let counts = self.index().counts();
        let mut sides = scaled.iter().zip(&counts).zip(&self.maximum);
        self.removed.contains(scaled)
            || self.seen.as_ref().is_some_and(|seen| seen.holds(scaled))
            // No index has chunks beyond the maximum shape.
            || sides.any(|((at, n), max)| max.is_some() && at >= n)
    }

    /// Returns the chunk `scaled` of the file if it exists and still belongs to the dataset.
    pub(crate) fn find(&self, scaled: &[u64]) -> Result<Option<Stored>> {
        if self.lacks(scaled) {
            return Ok(None);
        }
        let found = self.within(&Bounds { first: scaled.to_vec(), last: scaled.to_vec() })?;
        Ok(found.into_iter().next().map(|(_, stored)| stored))
    }

    /// Returns the chunks of a dataset of this shape as a box, or `None` if there are none.
    pub(crate) fn whole(&self, shape: &[u64]) -> Option<Bounds> {
        let sides = shape.iter().zip(&self.layout.dimensions);
        let last = sides.map(|(size, n)| size.checked_sub(1)?.checked_div(*n)).collect::<Option<Vec<_>>>()?;
        Some(Bounds { first: vec![0; last.len()], last })
    }

    /// Returns the extent of the dataset in the file.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.dimensions
    }

    /// Returns boxes with the chunks of `outer` that have an element outside `inner`, which is smaller along some
    /// sides.
    pub(crate) fn between(&self, inner: &[u64], outer: &[u64]) -> Vec<Bounds> {
        let Some(Bounds { mut first, mut last }) = self.whole(outer) else { return Vec::new() };
        // There is one box per shorter side. Later boxes leave out what earlier ones contain.
        let mut boxes = Vec::new();
        let sides = inner.iter().zip(outer).zip(&self.layout.dimensions);
        for (axis, ((inner, outer), n)) in sides.enumerate() {
            let (Some(from), Some(to)) = (first.get_mut(axis), last.get_mut(axis)) else { continue };
            let (cut, end) = (inner.checked_div(*n).unwrap_or_default(), *to);
            if inner >= outer {
                continue;
            }
            *from = cut;
            if cut <= end {
                boxes.push(Bounds { first: first.clone(), last: last.clone() });
            }
            let (Some(from), Some(to)) = (first.get_mut(axis), last.get_mut(axis)) else { continue };
            let Some(before) = cut.checked_sub(1) else { break };
            (*from, *to) = (0, before.min(end));
        }
        boxes
    }
}
