//! Writing of selections, and changes of the shape.

use sciformats_core::arith::{add, div, fit, mul, present, product, rem, sub};
use sciformats_core::{Error, Range, Result, Slab, bound, slab::elements};

use super::{Array, unfit};
use crate::array_params::CHUNK_BYTES;
use crate::model::grid::{Grid, Touched, runs};
use crate::spec::b2nd::B2nd;
use crate::spec::chunk_header::Special;

impl Array {
    /// Overwrites the elements of a selection. The chunks that contain them are compressed again. If this fails, all elements are as
    /// they were before.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut image = Array::new(&ArrayParams::new(&[3, 4], "|u1")?)?;
    /// let inner = Slab::new(image.shape(), [Range::new(1, 1), Range::new(1, 2)])?;
    /// image.write_slab_bytes(&inner, &[200, 210])?;
    /// assert_eq!(image.read_bytes()?, [0, 0, 0, 0, 0, 200, 210, 0, 0, 0, 0, 0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the selection is one of another shape, or if `bytes` has another size; those of reading and compressing.
    pub fn write_slab_bytes(&mut self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.check(slab, bytes.len())?;
        let size = self.element_size();
        let chunk_bytes: usize = fit(self.chunk_bytes()?, "bytes of a chunk")?;
        let shape = slab.shape();
        let grid = &self.grid;
        self.schunk.all_or_none(|schunk, replaced| {
            for position in grid.touched_chunks(slab)? {
                let number = grid.chunk_number(&position)?;
                let touched = grid.touched_blocks(slab, &position)?;
                let mut chunk = if covers(grid, slab, &position, &touched)? {
                    vec![0; chunk_bytes]
                } else {
                    schunk.chunk(number)?.decode()?
                };
                fill((grid, size), &touched, (bytes, &shape), &mut chunk)?;
                schunk.replace(number, &chunk, replaced)?;
            }
            Ok(())
        })
    }

    /// Changes the shape. Elements beyond the new shape are removed, and new elements are zeros.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Slab};
    ///
    /// let mut image = Array::new(&ArrayParams::new(&[2, 3], "|u1")?)?;
    /// image.write_slab_bytes(&Slab::all(&[2, 3])?, &[1, 2, 3, 4, 5, 6])?;
    /// image.resize(&[3, 2])?;
    /// assert_eq!(image.read_bytes()?, [1, 2, 4, 5, 0, 0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the number of dimensions differs; those of reading and compressing. The array is then unchanged.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        self.check_rank(shape)?;
        self.whole_or_not(|array| {
            array.clear_padding(shape)?;
            array.reshape(shape)
        })
    }

    /// Carries out an edit, or leaves the array as it was if the edit fails in the middle.
    fn whole_or_not(&mut self, edit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (schunk, b2nd, grid) = (self.schunk.edited(), self.b2nd.clone(), self.grid.clone());
        let done = edit(self);
        if done.is_err() {
            self.schunk.take_back(schunk);
            (self.b2nd, self.grid) = (b2nd, grid);
        }
        done
    }

    fn check_rank(&self, shape: &[u64]) -> Result<()> {
        if shape.len() == self.shape().len() {
            return Ok(());
        }
        let problem = format!("has {} dimensions, but the array has {}", shape.len(), self.shape().len());
        Err(Error::usage("shape", problem))
    }

    /// Does the same as [`resize`](Self::resize), but new elements in chunks that were there before can be anything.
    fn reshape(&mut self, shape: &[u64]) -> Result<()> {
        self.check_rank(shape)?;
        let b2nd = B2nd { shape: shape.into(), ..self.b2nd.clone() };
        let grid = Grid::new(&b2nd).ok_or_else(unfit)?;
        self.clear_beyond(shape)?;
        let (old, new) = (self.grid.chunks(), grid.chunks());
        let size = self.chunk_bytes()?;
        let count = elements(&new).ok_or_else(unfit)?;
        if elements(&old) == Some(0) && count > 0 && grid.block.contains(&0) {
            return Err(Error::usage("shape", "cannot be larger, because the chunks have no elements"));
        }
        let order = (0..count).map(|number| {
            let position = position_of(number, &new)?;
            let stays = position.iter().zip(&old).all(|(at, old)| at < old);
            stays.then(|| self.grid.chunk_number(&position)).transpose()
        });
        let order: Vec<Option<u64>> = order.collect::<Result<_>>()?;
        self.schunk.rearrange(&order, size)?;
        self.schunk.set_shape(&b2nd)?;
        (self.b2nd, self.grid) = (b2nd, grid);
        Ok(())
    }

    /// Extends the array along `axis` by the elements of `bytes`. The other dimensions are those of the array.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut counts = Array::new(&ArrayParams::new(&[0, 3], "|u1")?.with_chunks(&[100, 3]).with_blocks(&[10, 3]))?;
    /// counts.append_bytes(0, &[1, 2, 3])?;
    /// counts.append_bytes(0, &[4, 5, 6, 7, 8, 9])?; // two rows
    /// assert_eq!(counts.shape(), [3, 3]);
    /// counts.append_bytes(1, &[0, 0, 0])?; // a column
    /// assert_eq!(counts.read_bytes()?, [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such axis, or if `bytes` are not whole rows; those of [`resize`](Self::resize) and
    /// [`write_slab_bytes`](Self::write_slab_bytes). The array is then unchanged.
    pub fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let mut shape = self.shape().to_vec();
        let Some(length) = shape.get_mut(axis) else {
            return Err(Error::usage(
                "axis",
                format!("is {axis}, but the array has {} dimensions", self.shape().len()),
            ));
        };
        let before = *length;
        *length = 1;
        let row =
            elements(&shape).and_then(|row| row.checked_mul(self.typesize().into())).ok_or_else(unfit)?;
        let rows = (bytes.len() as u64).checked_div(row).filter(|_| (bytes.len() as u64).is_multiple_of(row));
        let rows =
            rows.ok_or_else(|| Error::usage("bytes", format!("are not whole rows of {row} bytes each")))?;
        if let Some(length) = shape.get_mut(axis) {
            *length = before.checked_add(rows).ok_or_else(unfit)?;
        }
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        if let Some(range) = ranges.get_mut(axis) {
            *range = Range::new(before, rows);
        }
        let slab = Slab::new(&shape, ranges)?;
        self.whole_or_not(|array| {
            // All new elements are written.
            array.reshape(&shape)?;
            array.write_slab_bytes(&slab, bytes)
        })
    }

    /// Overwrites elements beyond `shape` with zeros in chunks that remain, so that they do not reappear when the array grows
    /// again.
    fn clear_beyond(&mut self, shape: &[u64]) -> Result<()> {
        let whole = self.shape().to_vec();
        for (axis, (&new, &old)) in shape.iter().zip(&whole).enumerate() {
            let side = present(self.grid.chunk.get(axis), "side of a chunk")?;
            // If there is no such multiple, the array ends before it.
            let end = new.checked_next_multiple_of((*side).max(1)).map_or(old, |end| end.min(old));
            if new >= end || elements(&whole) == Some(0) {
                continue;
            }
            let ranges: Vec<Range> = whole
                .iter()
                .enumerate()
                .map(|(i, &n)| if i == axis { Range::new(new, end - new) } else { Range::all(n) })
                .collect();
            let slab = Slab::new(&whole, ranges)?;
            for piece in slab.pieces(CHUNK_BYTES) {
                let zeros = vec![0; fit(mul(piece.len(), self.typesize().into())?, "bytes of the zeros")?];
                self.write_slab_bytes(&piece, &zeros)?;
            }
        }
        Ok(())
    }

    /// Overwrites what chunks contain beyond the array with zeros, where the array will be longer. Other programs may leave anything
    /// there: a chunk that repeats a value repeats it there, too.
    fn clear_padding(&mut self, shape: &[u64]) -> Result<()> {
        let whole = self.shape().to_vec();
        if elements(&whole) == Some(0) {
            return Ok(());
        }
        for (axis, (&new, &old)) in shape.iter().zip(&whole).enumerate() {
            let side = present(self.grid.chunk.get(axis), "side of a chunk")?;
            if new <= old || old.is_multiple_of(*side) {
                continue;
            }
            let last = whole.iter().enumerate();
            let last = last.map(|(i, &n)| if i == axis { Range::new(old - 1, 1) } else { Range::all(n) });
            for position in self.grid.touched_chunks(&Slab::new(&whole, last.collect::<Vec<_>>())?)? {
                self.clear_padding_of(&position)?;
            }
        }
        Ok(())
    }

    /// Does the same in the chunk at this position.
    fn clear_padding_of(&mut self, position: &[u64]) -> Result<()> {
        let number = self.grid.chunk_number(position)?;
        let chunk = self.schunk.chunk(number)?;
        if let Some(Special::Zeros | Special::Uninit) = chunk.special() {
            return Ok(());
        }
        let old = chunk.decode()?;
        let inside = position.iter().zip(&self.grid.chunk).zip(&self.grid.shape).map(|((&at, &side), &n)| {
            let start = mul(at, side)?;
            Ok(Range::new(start, sub(n, start)?.min(side)))
        });
        let inside = Slab::new(&self.grid.shape, inside.collect::<Result<Vec<_>>>()?)?;
        let touched = self.grid.touched_blocks(&inside, position)?;
        let mut new = vec![0; old.len()];
        let bytes = self.read_slab_bytes(&inside)?;
        fill((&self.grid, self.element_size()), &touched, (&bytes, &inside.shape()), &mut new)?;
        if new == old { Ok(()) } else { self.schunk.update(number, &new) }
    }
}

/// Returns whether a selection contains every element of a chunk that is inside the array.
fn covers(grid: &Grid, slab: &Slab, position: &[u64], touched: &[Touched]) -> Result<bool> {
    let mut inside = 1u64;
    for ((&at, &side), &total) in position.iter().zip(&grid.chunk).zip(&grid.shape) {
        inside = mul(inside, sub(total, mul(at, side)?)?.min(side))?;
    }
    let mut selected = 0u64;
    for touched in touched {
        selected = add(selected, product(touched.axes.iter().map(|axis| axis.count))?)?;
    }
    Ok(inside == selected && !slab.is_empty())
}

/// Returns the position of a chunk in a grid of `counts`.
///
/// # Errors
/// `Internal` if the grid has no chunks, and therefore no positions.
pub(crate) fn position_of(number: u64, counts: &[u64]) -> Result<Vec<u64>> {
    let mut rest = number;
    let mut position = vec![0; counts.len()];
    for (at, &count) in position.iter_mut().zip(counts).rev() {
        (*at, rest) = (rem(rest, count)?, div(rest, count)?);
    }
    Ok(position)
}

/// Copies the elements of a selection to the blocks of a chunk. `counts` are the numbers of selected indices, and elements have
/// `size` bytes.
pub(crate) fn fill(
    (grid, size): (&Grid, usize),
    touched: &[Touched],
    (bytes, shape): (&[u8], &[u64]),
    chunk: &mut [u8],
) -> Result<()> {
    let block_elements = present(grid.block_elements(), "number of elements in a block")?;
    let block_bytes = mul(fit(block_elements, "elements of a block")?, size)?;
    for touched in touched {
        let start = mul(fit(touched.block, "number of a block")?, block_bytes)?;
        let block = present(chunk.get_mut(start..add(start, block_bytes)?), "block in its chunk")?;
        runs(&touched.axes, shape, &grid.block, |to, from, count, step| {
            scatter(bytes, to, block, (from, count, step), size)
        })?;
    }
    Ok(())
}

/// Does the reverse of [`gather`].
fn scatter(
    bytes: &[u8],
    to: u64,
    block: &mut [u8],
    (from, count, step): (u64, u64, u64),
    size: usize,
) -> Result<()> {
    let at = |place: u64| mul(fit(place, "place of an element")?, size);
    let source = present(bytes.get(at(to)?..add(at(to)?, at(count)?)?), "selected elements")?;
    let target = present(block.get_mut(at(from)?..), "elements of a block")?;
    // The step is a bound of what is skipped, because steps that lead out of the block are not made.
    let step = bound::addressable(step);
    if step == 1 {
        present(target.get_mut(..source.len()), "elements of a block")?.copy_from_slice(source);
        return Ok(());
    }
    let elements =
        target.chunks_mut(bound::product(size, step).max(1)).filter_map(|group| group.get_mut(..size));
    source.chunks_exact(size.max(1)).zip(elements).for_each(|(from, to)| to.copy_from_slice(from));
    Ok(())
}
