//! Reading selections.

use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::zeroed;
use sciformats_core::{Result, Slab, bound};

use super::{Array, to_usize};
use crate::model::chunk::State;
use crate::model::grid::{Touched, runs, span};
use crate::model::kept::{Kept, Scratch, sized};

impl Array {
    /// All elements.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Slab};
    ///
    /// let mut counts = Array::new(&ArrayParams::new(&[3], "<i2")?)?;
    /// counts.write_slab(&Slab::all(&[3])?, &[1i16, 2, 515])?;
    /// assert_eq!(counts.read_bytes()?, [1, 0, 2, 0, 3, 2]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.read_slab_bytes(&Slab::all(self.shape())?)
    }

    /// The elements of a selection; only the blocks that it touches are decoded.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut counts = Array::new(&ArrayParams::new(&[2, 3], "|u1")?)?;
    /// counts.write_slab_bytes(&Slab::all(&[2, 3])?, &[10, 11, 12, 20, 21, 22])?;
    /// let last_column = Slab::new(counts.shape(), [Range::all(2), Range::new(2, 1)])?;
    /// assert_eq!(counts.read_slab_bytes(&last_column)?, [12, 22]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the selection is of another shape; `LimitExceeded`; those of [`Chunk::decode`](crate::Chunk::decode).
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        // More than memory holds passes no limit: a bound.
        let size = bound::product(slab.len(), self.typesize().into());
        let limits = self.schunk.limits();
        let mut out = zeroed(limits.memory("bytes of the selection", size)?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// As [`read_slab_bytes`](Self::read_slab_bytes), into `out`.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// # let mut counts = Array::new(&ArrayParams::new(&[2, 3], "|u1")?)?;
    /// # counts.write_slab_bytes(&Slab::all(&[2, 3])?, &[10, 11, 12, 20, 21, 22])?;
    /// let mut row = [0; 3]; // one buffer for all rows
    /// for number in 0..2 {
    ///     counts.read_slab_bytes_into(&Slab::new(&[2, 3], [Range::new(number, 1), Range::all(3)])?, &mut row)?;
    ///     assert_eq!(u64::from(row[0]), 10 * (number + 1));
    /// }
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_slab_bytes`](Self::read_slab_bytes); `Usage` if `out` has another size.
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.check(slab, out.len())?;
        let size = self.element_size();
        let block_bytes = self.schunk.limits().memory("bytes of a block", self.block_bytes()?.into())?;
        let chunk_bytes = to_usize(self.chunk_bytes()?.into());
        let shape = slab.shape();
        let threads = self.schunk.threads();
        let (mut own, mut scratch) = (State::default(), Kept::<Scratch>::default());
        for position in self.grid.touched_chunks(slab)? {
            let chunk = self.schunk.chunk(self.grid.chunk_number(&position)?)?;
            if chunk.nbytes() != chunk_bytes {
                let kind = FaultKind::Mismatch { expected: chunk_bytes as u64, found: chunk.nbytes() as u64 };
                return Err(Fault::new("nbytes", kind).at("chunk of an array", 0));
            }
            let touched = self.grid.touched_blocks(slab, &position)?;
            let shared = chunk.shared(&mut own)?;
            // A few blocks at a time: they are still in the cache when elements are taken out of them.
            for some in touched.chunks(threads.batch(block_bytes)) {
                let bytes = sized(&mut scratch.0, mul(some.len(), block_bytes)?)?;
                let decode = |state: &mut State, index: usize, block: &mut [u8]| {
                    let Some(Touched { block: number, axes }) = some.get(index) else { return Ok(()) };
                    let wanted = span(axes, &self.grid.block)?;
                    let at = |place: u64| mul(fit(place, "place of an element")?, size);
                    let (first, end) = (at(wanted.start)?, at(wanted.end)?);
                    let part = present(block.get_mut(first..end), "elements of a block")?;
                    let start = add(mul(fit(*number, "number of a block")?, block_bytes)?, first)?;
                    chunk.read_with(start, &shared, state, part)
                };
                threads.each_piece((bytes, block_bytes), &mut own, State::default, decode)?;
                let blocks = scratch.0.chunks(block_bytes.max(1));
                for (touched, block) in some.iter().zip(blocks) {
                    runs(&touched.axes, &shape, &self.grid.block, |to, from, count, step| {
                        gather(block, (from, count, step), out, to, size)
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Copies elements of a block that are `step` apart to where they stand together in a selection.
fn gather(
    block: &[u8],
    (from, count, step): (u64, u64, u64),
    out: &mut [u8],
    to: u64,
    size: usize,
) -> Result<()> {
    let at = |place: u64| mul(fit(place, "place of an element")?, size);
    let target = present(out.get_mut(at(to)?..add(at(to)?, at(count)?)?), "selected elements")?;
    let source = present(block.get(at(from)?..), "elements of a block")?;
    // Steps that leave the block are not taken: they are a bound of what is passed over.
    let step = bound::addressable(step);
    if step == 1 {
        target.copy_from_slice(present(source.get(..target.len()), "elements of a block")?);
        return Ok(());
    }
    let elements = source.chunks(bound::product(size, step).max(1)).filter_map(|group| group.get(..size));
    target.chunks_exact_mut(size.max(1)).zip(elements).for_each(|(to, from)| to.copy_from_slice(from));
    Ok(())
}
