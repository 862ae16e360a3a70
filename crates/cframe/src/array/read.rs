//! Reading of selections.

use sciformats_core::arith::{add, div, fit, mul, present, sub};
use sciformats_core::error::Within;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, Slab, bound};

use super::{Array, to_usize};
use crate::model::chunk::{Chunk, State, fill};
use crate::model::grid::{Touched, runs, span};
use crate::model::kept::{Kept, Scratch, sized};

/// The size of a block from which on blocks are read one after another, and only the selected part of each.
const LARGE: usize = 8 << 20;

impl Array {
    /// Reads all elements as bytes.
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
    /// Those of [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.read_slab_bytes(&Slab::all(self.shape())?)
    }

    /// Reads the elements of a selection as bytes. Only the blocks that contain them are decoded.
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
    /// `Usage` if the selection is one of another shape; `LimitExceeded`; those of
    /// [`Frame::has_elements`](crate::Frame::has_elements) and [`Chunk::decode`](crate::Chunk::decode).
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        // The product is a bound: a size that does not fit its type exceeds every limit.
        let size = bound::product(slab.len(), self.typesize().into());
        let limits = self.schunk.limits();
        let mut out = zeroed(limits.memory("bytes of the selection", size)?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`read_slab_bytes`](Self::read_slab_bytes), but writes to `out`.
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
    /// Those of [`read_slab_bytes`](Self::read_slab_bytes); `Usage` if `out` has another size.
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.gathered(slab, out).within(self.schunk.path(), None)
    }

    fn gathered(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.check(slab, out.len())?;
        let chunk_bytes = to_usize(self.chunk_bytes()?.into());
        let mut blocks = Blocks {
            array: self,
            slab,
            shape: slab.shape(),
            own: State::default(),
            scratch: Kept::<Scratch>::default(),
        };
        for position in self.grid.touched_chunks(slab)? {
            let chunk = self.schunk.chunk(self.grid.chunk_number(&position)?)?;
            if chunk.nbytes() != chunk_bytes {
                let kind = FaultKind::Mismatch { expected: chunk_bytes as u64, found: chunk.nbytes() as u64 };
                return Err(Fault::new("nbytes", kind).at("chunk of an array", 0));
            }
            match chunk.repeated() {
                Some(value) => self.alike((&chunk, value), (slab, &position), out)?,
                None => blocks.read(&chunk, &position, out)?,
            }
        }
        Ok(())
    }

    /// Reads elements from a chunk that repeats one value. Only the selected elements are expanded.
    fn alike(
        &self,
        (chunk, value): (&Chunk<'_>, &[u8]),
        (slab, position): (&Slab, &[u64]),
        out: &mut [u8],
    ) -> Result<()> {
        let size = self.element_size();
        if size.checked_rem(value.len()) != Some(0) {
            let kind = FaultKind::Rule(
                "is repeated in a chunk of an array, but does not divide the elements evenly",
            );
            return Err(Fault::new("value", kind).at("chunk of an array", chunk.base()));
        }
        let axes = self.grid.within_chunk(slab, position)?;
        // The position of the elements in the chunk does not matter.
        runs(&axes, &slab.shape(), &self.grid.chunk, |to, _, count, _| {
            let start = mul(fit(to, "place of an element")?, size)?;
            let end = add(start, mul(fit(count, "place of an element")?, size)?)?;
            fill(value, 0, present(out.get_mut(start..end), "selected elements")?)
        })
    }
}

/// The blocks of a selection, which are read chunk by chunk.
struct Blocks<'a> {
    array: &'a Array,
    slab: &'a Slab,
    shape: Vec<u64>,
    own: State,
    scratch: Kept<Scratch>,
}

impl Blocks<'_> {
    fn read(&mut self, chunk: &Chunk<'_>, position: &[u64], out: &mut [u8]) -> Result<()> {
        let Self { array, slab, shape, own, scratch } = self;
        let (grid, size, threads) = (&array.grid, array.element_size(), array.schunk.threads());
        let block_bytes = array.schunk.limits().memory("bytes of a block", array.block_bytes()?.into())?;
        let touched = grid.touched_blocks(slab, position)?;
        let shared = chunk.shared(own)?;
        // The range of bytes in the chunk from the first to the last selected byte of a block.
        let part = |Touched { block, axes }: &Touched| {
            let wanted = span(axes, &grid.block)?;
            let at = |place: u64| mul(fit(place, "place of an element")?, size);
            let (first, end) = (at(wanted.start)?, at(wanted.end)?);
            let start = mul(fit(*block, "number of a block")?, block_bytes)?;
            Ok::<_, Error>((start, first, end))
        };
        if block_bytes >= LARGE {
            // Only the requested part of a large block counts as memory.
            for touched in &touched {
                let (start, first, end) = part(touched)?;
                let bytes = sized(&mut scratch.0, sub(end, first)?)?;
                chunk.read_with(add(start, first)?, &shared, own, bytes)?;
                let bytes = &*bytes;
                runs(&touched.axes, shape, &grid.block, |to, from, count, step| {
                    let from = sub(from, div(first, size.max(1))? as u64)?;
                    gather(bytes, (from, count, step), out, to, size)
                })?;
            }
            return Ok(());
        }
        // Decode a few blocks at a time, so that they are still in the cache when their elements are copied.
        for some in touched.chunks(threads.batch(block_bytes)) {
            let bytes = sized(&mut scratch.0, mul(some.len(), block_bytes)?)?;
            let decode = |state: &mut State, index: usize, block: &mut [u8]| {
                let Some(touched) = some.get(index) else { return Ok(()) };
                let (start, first, end) = part(touched)?;
                let wanted = present(block.get_mut(first..end), "elements of a block")?;
                chunk.read_with(add(start, first)?, &shared, state, wanted)
            };
            threads.each_piece((bytes, block_bytes), own, State::default, decode)?;
            let blocks = scratch.0.chunks(block_bytes.max(1));
            for (touched, block) in some.iter().zip(blocks) {
                runs(&touched.axes, shape, &grid.block, |to, from, count, step| {
                    gather(block, (from, count, step), out, to, size)
                })?;
            }
        }
        Ok(())
    }
}

/// Copies elements of a block with the distance `step` to adjacent places of a selection.
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
    // The step is a bound of what is skipped, because steps that lead out of the block are not made.
    let step = bound::addressable(step);
    if step == 1 {
        target.copy_from_slice(present(source.get(..target.len()), "elements of a block")?);
        return Ok(());
    }
    let elements = source.chunks(bound::product(size, step).max(1)).filter_map(|group| group.get(..size));
    target.chunks_exact_mut(size.max(1)).zip(elements).for_each(|(to, from)| to.copy_from_slice(from));
    Ok(())
}
