//! The chunks of a dataset that is edited, as the file leads to them: looked up as they are needed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sciformats_core::{Result, bound};

use crate::chunk::index::build::Stored;
use crate::chunk::index::write::IndexWriter;
use crate::chunk::index::{Bounds, Index, StoredChunk};
use crate::space::context::Context;
use crate::spec::message::layout;

/// What the file has of the chunks of a dataset, and what is known of it.
pub(crate) struct Before {
    context: Context,
    pub(crate) layout: layout::Chunked,
    dimensions: Vec<u64>,
    maximum: Vec<Option<u64>>,
    filtered: bool,
    /// The filters that chunks skip which reach out of the dataset.
    skipped: u32,
    /// Every chunk of the file in this box is known.
    pub(crate) seen: Option<Bounds>,
    /// Chunks that are none of the dataset any more.
    pub(crate) removed: BTreeSet<Box<[u64]>>,
    /// The index, with what was read of it.
    pub(crate) writer: Option<IndexWriter>,
}

impl Before {
    /// The chunks of a dataset of this extent; `skipped` are the filters that chunks skip which reach out of it.
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

    /// What is going to be written is in the file.
    pub(crate) fn renew(&mut self, layout: layout::Chunked, dimensions: &[u64]) {
        self.layout = layout;
        self.dimensions = dimensions.to_vec();
        self.skipped = 0;
        self.seen = None;
        self.removed.clear();
        self.writer = None;
    }

    /// Whether all chunks in a box are known.
    pub(crate) fn covers(&self, bounds: &Bounds) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.holds(&bounds.first) && seen.holds(&bounds.last))
    }

    /// A chunk that the file leads to. Those that have their places by their numbers are overwritten there.
    fn stored(&self, chunk: &StoredChunk) -> Stored {
        let mut sides = chunk.scaled.iter().zip(&self.layout.dimensions).zip(&self.dimensions);
        // What is stored without filters because it reaches out of the shape says so from now on.
        let out = sides.any(|((&at, &n), &size)| bound::product(bound::sum(at, 1), n) > size);
        let mask = chunk.filter_mask | if out { self.skipped } else { 0 };
        let live = self.layout.index != layout::IndexKind::Implicit;
        Stored { address: chunk.address, size: chunk.size, mask, live }
    }

    /// The chunks of the file in a box.
    pub(crate) fn within(&self, bounds: &Bounds) -> Result<Vec<(Box<[u64]>, Stored)>> {
        let mut found = Ok(Vec::new());
        self.index().visit(bounds, &mut |chunk| match (chunk, &mut found) {
            (Ok(chunk), Ok(all)) => {
                let stored = self.stored(&chunk);
                all.push((chunk.scaled.into(), stored));
                ControlFlow::Continue(())
            }
            (Err(error), _) => {
                found = Err(error);
                ControlFlow::Break(())
            }
            (Ok(_), Err(_)) => ControlFlow::Break(()),
        });
        found
    }

    /// All chunks of the file.
    pub(crate) fn all(&self) -> Result<Vec<(Box<[u64]>, Stored)>> {
        let last: Vec<u64> = self.index().counts().iter().map(|n| bound::left(*n, 1)).collect();
        self.within(&Bounds { first: vec![0; last.len()], last })
    }

    /// Whether it is known that the file has no chunk `scaled` that is still one of the dataset.
    pub(crate) fn lacks(&self, scaled: &[u64]) -> bool {
        let counts = self.index().counts();
        let mut sides = scaled.iter().zip(&counts).zip(&self.maximum);
        self.removed.contains(scaled)
            || self.seen.as_ref().is_some_and(|seen| seen.holds(scaled))
            // What lies beyond the greatest extent is in no index.
            || sides.any(|((at, n), max)| max.is_some() && at >= n)
    }

    /// The chunk `scaled` of the file, if it is there and still one of the dataset.
    pub(crate) fn find(&self, scaled: &[u64]) -> Result<Option<Stored>> {
        if self.lacks(scaled) {
            return Ok(None);
        }
        let found = self.within(&Bounds { first: scaled.to_vec(), last: scaled.to_vec() })?;
        Ok(found.into_iter().next().map(|(_, stored)| stored))
    }

    /// The chunks of a dataset of this shape, as a box; nothing if there are none.
    pub(crate) fn whole(&self, shape: &[u64]) -> Option<Bounds> {
        let sides = shape.iter().zip(&self.layout.dimensions);
        let last = sides.map(|(size, n)| size.checked_sub(1)?.checked_div(*n)).collect::<Option<Vec<_>>>()?;
        Some(Bounds { first: vec![0; last.len()], last })
    }

    /// The extent of the dataset as the file has it.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.dimensions
    }

    /// Boxes of the chunks of `outer` that have an element which is not in `inner`, along some side a smaller shape.
    pub(crate) fn between(&self, inner: &[u64], outer: &[u64]) -> Vec<Bounds> {
        let Some(Bounds { mut first, mut last }) = self.whole(outer) else { return Vec::new() };
        // A box for each side that is shorter; those after it do not hold what is in it.
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
