//! Changes the chunks of a dataset that was in the file before. Only touched chunks are looked up, and only the parts
//! of the index that lead to them are written.

use sciformats_core::{Result, bound};

use crate::chunk::index::Bounds;
use crate::chunk::index::build::Stored;
use crate::chunk::index::extensible::MAX_ELEMENTS;
use crate::chunk::index::write::{Elements, IndexWriter, Shape};
use crate::chunk::write::{Chunked, Info, Part, counts};
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::message::layout::{self, IndexKind};

impl Chunked {
    /// Returns where a chunk is stored, if it is.
    ///
    /// # Errors
    /// Returns any error of reading the index.
    pub(crate) fn find(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        scaled: &[u64],
    ) -> Result<Option<Stored>> {
        let lacks = self.before.as_ref().is_none_or(|before| before.lacks(scaled));
        if lacks || self.stored.contains_key(scaled) {
            return Ok(self.stored.get(scaled).copied());
        }
        let Some(mut index) = self.open_index(output, info)? else { return self.find_by_number(scaled) };
        let found = index.find(output, scaled);
        if let Some(before) = &mut self.before {
            before.writer = Some(index);
        }
        found
    }

    /// Works like [`find`](Self::find), without an index in memory.
    pub(crate) fn find_by_number(&self, scaled: &[u64]) -> Result<Option<Stored>> {
        match (self.stored.get(scaled), &self.before) {
            (Some(stored), _) => Ok(Some(*stored)),
            (None, Some(before)) => before.find(scaled),
            (None, None) => Ok(None),
        }
    }

    /// Looks up the chunks of a selection in one pass if they are close together.
    pub(crate) fn look(&mut self, parts: &[Vec<Part>]) -> Result<()> {
        /// The largest ratio of chunks in the surrounding box to selected chunks.
        const BETWEEN: u64 = 4;
        let Some(before) = &mut self.before else { return Ok(()) };
        let of = |part: fn(&Vec<Part>) -> Option<&Part>| -> Option<Vec<u64>> {
            parts.iter().map(|parts| Some(part(parts)?.chunk)).collect()
        };
        let (Some(first), Some(last)) = (of(|parts| parts.first()), of(|parts| parts.last())) else {
            return Ok(());
        };
        let touched = parts.iter().fold(1, |product, parts| bound::product(product, parts.len() as u64));
        let bounds = Bounds { first, last };
        let volume = bounds.volume().unwrap_or(u64::MAX); // a bound
        if touched <= 1 || volume > bound::product(touched, BETWEEN) || before.covers(&bounds) {
            return Ok(());
        }
        let found = before.within(&bounds)?;
        before.seen = Some(bounds);
        self.take(found);
        Ok(())
    }

    /// Looks up the chunks of `outer` that have an element outside `inner`.
    ///
    /// # Errors
    /// Returns any error of reading the index.
    pub(crate) fn recall_between(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        (inner, outer): (&[u64], &[u64]),
    ) -> Result<()> {
        /// The largest number of chunks that are looked up one by one. The nodes that lead to them will be needed again
        /// to change the index.
        const FEW: u64 = 4;
        let boxes = self.before.as_ref().map(|before| before.between(inner, outer)).unwrap_or_default();
        for bounds in boxes {
            if bounds.volume().is_none_or(|volume| volume > FEW) {
                let found = self.before.as_ref().map(|before| before.within(&bounds)).transpose()?;
                self.take(found.unwrap_or_default());
                continue;
            }
            for scaled in bounds.each() {
                if let Some(stored) = self.find(output, info, &scaled)? {
                    self.stored.entry(scaled.into()).or_insert(stored);
                }
            }
        }
        Ok(())
    }

    /// Adds chunks that the file leads to, as far as they still belong to the dataset.
    fn take(&mut self, found: Vec<(Box<[u64]>, Stored)>) {
        let Some(before) = &self.before else { return };
        for (scaled, stored) in found {
            if !before.removed.contains(&scaled) {
                self.stored.entry(scaled).or_insert(stored);
            }
        }
    }

    /// Notes that a chunk does not belong to the dataset any more.
    pub(crate) fn forget(&mut self, scaled: &[u64]) {
        self.open.remove(scaled);
        self.left.extend(self.stored.remove(scaled).filter(|stored| !stored.live));
        if let Some(before) = &mut self.before {
            before.removed.insert(scaled.into());
        }
    }

    /// Updates the index in the file for the chunks that have changed. Returns `false` if the index has to be built
    /// again.
    ///
    /// # Errors
    /// Returns `Io`, and `Malformed` if the part of the index that leads to them is damaged.
    pub(crate) fn update(&mut self, output: &mut Output, info: &Info<'_>) -> Result<bool> {
        if self.implicit.is_some() {
            // The chunks keep their places, so an index that exists remains right.
            return Ok(self.before.as_ref().is_some_and(|before| before.layout.address.is_some()));
        }
        let Some(mut index) = self.open_index(output, info)? else { return Ok(false) };
        let Some(before) = &self.before else { return Ok(false) };
        for scaled in before.removed.iter().filter(|&scaled| !self.stored.contains_key(scaled)) {
            self.left.extend(index.remove(output, scaled)?);
        }
        for (scaled, stored) in self.stored.iter().filter(|(_, stored)| !stored.live) {
            self.left.extend(index.insert(output, scaled, *stored)?);
        }
        index.flush(output)?;
        self.give_back(output)?;
        Ok(true)
    }

    /// Opens the index so that it can be changed in place. Returns `None` if there is no index or it has to be built
    /// again.
    fn open_index(&mut self, output: &mut Output, info: &Info<'_>) -> Result<Option<IndexWriter>> {
        let Some(before) = &mut self.before else { return Ok(None) };
        let kind = before.layout.index;
        let has_structures = !matches!(kind, IndexKind::Single(_) | IndexKind::Implicit);
        let Some(at) = before.layout.address.filter(|_| has_structures) else { return Ok(None) };
        if self.index != Some(kind) || before.layout.unfiltered_edges {
            return Ok(None);
        }
        let counts = counts(info.maximum, info.shape, &self.dimensions);
        let all = counts.iter().fold(1u64, |product, &n| bound::product(product, n));
        if kind == IndexKind::ExtensibleArray && all >= MAX_ELEMENTS {
            return Ok(None);
        }
        if let Some(writer) = before.writer.take() {
            return Ok(Some(writer));
        }
        let bytes = self.chunk_bytes(info)? as u64;
        let width = self.size_width(!info.pipeline.filters.is_empty(), output.sizes, bytes);
        let unlimited = info.maximum.iter().position(Option::is_none);
        let shape = Shape { chunk: &self.dimensions, counts: &counts, unlimited, k: self.k };
        let elements = Elements::new(output.sizes, width, bytes)?;
        let index = IndexWriter::open(output, (kind, Some(at)), elements, &shape)?;
        Ok(index.filter(|index| !index.is_blank()))
    }

    /// Frees the space of chunks to which nothing leads any more.
    pub(crate) fn give_back(&mut self, output: &mut Output) -> Result<()> {
        std::mem::take(&mut self.left)
            .iter()
            .try_for_each(|left| output.free(left.address, left.size, Use::Data))
    }

    /// Looks up all chunks of the file, so that their index can be built again.
    ///
    /// # Errors
    /// Returns any error of reading the index.
    pub(crate) fn recall(&mut self) -> Result<()> {
        let Some(before) = &mut self.before else { return Ok(()) };
        for (scaled, found) in before.all()? {
            let gone = before.removed.contains(&scaled);
            match self.stored.get(&scaled).copied() {
                Some(stored) if stored.address == found.address => {}
                None if !gone => drop(self.stored.insert(scaled, found)),
                _ => self.left.push(found),
            }
        }
        before.removed.clear();
        Ok(())
    }

    /// Notes that what was written is in the file now, and drops it from memory.
    pub(crate) fn renew(&mut self, layout: &layout::Chunked, shape: &[u64]) {
        self.stored.clear();
        self.index = Some(layout.index);
        if let Some(before) = &mut self.before {
            before.renew(layout.clone(), shape);
        }
    }
}
