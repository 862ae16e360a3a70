//! Reads the elements of chunks: of one chunk, or of all chunks with their positions.

use std::ops::ControlFlow;

use sciformats_core::{Error, Range, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::chunk::index::{Bounds, StoredChunk};
use crate::value::element::Element;

impl Dataset {
    /// Returns the chunk that holds the element at `index`, or `None` if that chunk is not stored. All elements of a
    /// chunk that is not stored have the fill value.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([3, 4]).chunks([2, 2]).write(&[0u16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let chunk = counts.chunk_at(&[1, 3])?.ok_or(hdf5_pure::Error::not_found("chunk", "1, 3"))?;
    /// assert_eq!(chunk.scaled, [0, 1]);
    /// assert_eq!(counts.read_chunk::<u16>(&chunk)?, [2, 3, 6, 7]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset is not chunked or has no such element, and `Malformed` if the chunk
    /// index is damaged.
    pub fn chunk_at(&self, index: &[u64]) -> Result<Option<StoredChunk>> {
        let shape = self.shape();
        let layout = self.chunked()?;
        if index.len() != shape.len() || index.iter().zip(shape).any(|(at, size)| at >= size) {
            let problem = format!("{index:?} is outside the shape {shape:?}");
            return Err(Error::usage("index", problem));
        }
        let scaled = index.iter().zip(&layout.dimensions).map(|(at, side)| at / (*side).max(1));
        let scaled: Vec<u64> = scaled.collect();
        let mut found = None;
        self.visit_chunks(
            &Bounds { first: scaled.clone(), last: scaled.clone() },
            &mut |chunk| match chunk {
                Ok(chunk) if chunk.scaled != scaled => ControlFlow::Continue(()),
                chunk => {
                    found = Some(chunk);
                    ControlFlow::Break(())
                }
            },
        )?;
        found.transpose()
    }

    /// Returns the part of the dataset that a chunk covers. At the edges of the dataset, this is less than a whole
    /// chunk.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset has no such chunk.
    pub fn chunk_slab(&self, chunk: &StoredChunk) -> Result<Slab> {
        part_of_chunk(&self.chunked()?.dimensions, &chunk.scaled, self.shape())
    }

    /// Reads the elements of a chunk in C order, without those that lie beyond the edges of the dataset. The result has
    /// as many elements as [`chunk_slab`](Self::chunk_slab).
    ///
    /// Several threads can read chunks at the same time.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").max_shape([None]).chunks([2]).shuffle().write(&[1u16, 515, 7])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let mut values = Vec::new();
    /// for chunk in counts.chunks()? {
    ///     values.push(counts.read_chunk::<u32>(&chunk?)?);
    /// }
    /// assert_eq!(values, [vec![1, 515], vec![7]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::Usage`] if the dataset has no such chunk.
    pub fn read_chunk<T: Element>(&self, chunk: &StoredChunk) -> Result<Vec<T>> {
        let inside = self.chunk_slab(chunk)?;
        let sides = &self.chunked()?.dimensions;
        let decoded = self.chunk_decoded(chunk)?;
        if inside.shape() == *sides {
            return self.typed(self.datatype(), &decoded);
        }
        let size = bound::addressable(self.element_size());
        let counts: Vec<Range> = inside.shape().into_iter().map(Range::all).collect();
        let mut raw = Vec::with_capacity(decoded.len());
        for run in Slab::new(sides, counts)?.runs() {
            // The elements of a run are adjacent in the decoded chunk, because none of these ranges has a step.
            let from = bound::product(bound::addressable(run.from), size);
            let to = bound::sum(from, bound::product(bound::addressable(run.len), size));
            let row = decoded.get(from..to).filter(|_| run.step == 1 || run.len == 1);
            match row {
                Some(row) => raw.extend_from_slice(row),
                None => (0..run.len).for_each(|i| {
                    let at = bound::sum(run.from, bound::product(i, run.step));
                    let from = bound::product(bound::addressable(at), size);
                    raw.extend_from_slice(decoded.get(from..bound::sum(from, size)).unwrap_or_default());
                }),
            }
        }
        self.typed(self.datatype(), &raw)
    }

    /// Returns an iterator over the stored chunks. Each item holds the part of the dataset that the chunk covers, and
    /// its elements. Chunks that were never written are left out.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").max_shape([None]).chunks([2]).write(&[1u16, 515, 7])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// for chunk in counts.read_chunks::<f64>()? {
    ///     let (slab, values) = chunk?;
    ///     println!("from {}: {values:?}", slab.ranges()[0].start);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`chunks`](Self::chunks). If one chunk cannot be read, its item is the error.
    pub fn read_chunks<T: Element>(
        &self,
    ) -> Result<impl Iterator<Item = Result<(Slab, Vec<T>)>> + use<'_, T>> {
        let read = |chunk: Result<StoredChunk>| {
            let chunk = chunk?;
            Ok((self.chunk_slab(&chunk)?, self.read_chunk(&chunk)?))
        };
        Ok(self.chunks()?.into_iter().map(read))
    }
}

/// Returns the part of an array of `shape` that the chunk at the position `scaled` covers.
pub(crate) fn part_of_chunk(sides: &[u64], scaled: &[u64], shape: &[u64]) -> Result<Slab> {
    let none = || Error::usage("chunk", format!("{scaled:?} is not a chunk of the dataset"));
    if scaled.len() != shape.len() || sides.len() != shape.len() {
        return Err(none());
    }
    let ranges = scaled.iter().zip(sides).zip(shape).map(|((at, &side), &size)| {
        let start = at.checked_mul(side).filter(|&start| start < size)?;
        Some(Range::new(start, side.min(size - start)))
    });
    Slab::new(shape, ranges.collect::<Option<Vec<_>>>().ok_or_else(none)?)
}
