//! Writing selections, and other shapes.

use sciformats_core::{Error, Range, Result, Slab, slab::elements};

use super::{Array, to_usize, unfit};
use crate::array_params::CHUNK_BYTES;
use crate::model::grid::{Grid, Touched, runs};
use crate::spec::b2nd::B2nd;

impl Array {
    /// Overwrites the elements of a selection; chunks that are touched are compressed anew.
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
    /// `Usage` if the selection is of another shape or `bytes` of another size; those of reading and compressing.
    pub fn write_slab_bytes(&mut self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.check(slab, bytes.len())?;
        let size = self.element_size();
        let chunk_bytes = to_usize(self.chunk_bytes()?.into());
        let shape = slab.shape();
        for position in self.grid.touched_chunks(slab) {
            let number = self.grid.chunk_number(&position);
            let touched = self.grid.touched_blocks(slab, &position);
            let mut chunk = if self.covers(slab, &position, &touched) {
                vec![0; chunk_bytes]
            } else {
                self.schunk.chunk(number)?.decode()?
            };
            fill((&self.grid, size), &touched, (bytes, &shape), &mut chunk);
            self.schunk.update(number, &chunk)?;
        }
        Ok(())
    }

    /// Changes the shape: elements beyond the new one are gone, new ones are zeros.
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
    /// `Usage` if the number of dimensions differs; those of reading and compressing.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        if shape.len() != self.shape().len() {
            let problem = format!("has {} dimensions, the array {}", shape.len(), self.shape().len());
            return Err(Error::usage("shape", problem));
        }
        let b2nd = B2nd { shape: shape.into(), ..self.b2nd.clone() };
        let grid = Grid::new(&b2nd).ok_or_else(unfit)?;
        self.clear_beyond(shape)?;
        let (old, new) = (self.grid.chunks(), grid.chunks());
        let size = self.chunk_bytes()?;
        let count = elements(&new).ok_or_else(unfit)?;
        if elements(&old) == Some(0) && count > 0 && grid.block.contains(&0) {
            return Err(Error::usage("shape", "grows an array whose chunks have no elements"));
        }
        let order = (0..count).map(|number| {
            let position = position_of(number, &new);
            let stays = position.iter().zip(&old).all(|(at, old)| at < old);
            stays.then(|| self.grid.chunk_number(&position))
        });
        let order: Vec<Option<u64>> = order.collect();
        self.schunk.rearrange(&order, size)?;
        self.schunk.set_metalayer("b2nd", &b2nd.encode()?)?;
        (self.b2nd, self.grid) = (b2nd, grid);
        Ok(())
    }

    /// Makes the array longer along `axis` by the elements of `bytes`, whose other dimensions are the array's.
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
    /// `Usage` if there is no such axis, or `bytes` are no whole number of rows; those of [`resize`](Self::resize) and
    /// [`write_slab_bytes`](Self::write_slab_bytes).
    pub fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let mut shape = self.shape().to_vec();
        let Some(length) = shape.get_mut(axis) else {
            return Err(Error::usage(
                "axis",
                format!("is {axis}, the array has {} dimensions", self.shape().len()),
            ));
        };
        let before = *length;
        *length = 1;
        let row = elements(&shape).unwrap_or(u64::MAX).saturating_mul(self.typesize().into());
        let rows = (bytes.len() as u64)
            .checked_div(row)
            .filter(|&rows| rows.saturating_mul(row) == bytes.len() as u64);
        let rows =
            rows.ok_or_else(|| Error::usage("bytes", format!("are no multiple of a row of {row} bytes")))?;
        if let Some(length) = shape.get_mut(axis) {
            *length = before.checked_add(rows).ok_or_else(unfit)?;
        }
        self.resize(&shape)?;
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        if let Some(range) = ranges.get_mut(axis) {
            *range = Range::new(before, rows);
        }
        self.write_slab_bytes(&Slab::new(&shape, ranges)?, bytes)
    }

    /// Whether a selection has every element of a chunk that lies in the array.
    fn covers(&self, slab: &Slab, position: &[u64], touched: &[Touched]) -> bool {
        let inside = position.iter().zip(&self.grid.chunk).zip(&self.grid.shape).fold(
            1u64,
            |n, ((&at, &side), &total)| {
                let start = at.saturating_mul(side);
                n.saturating_mul(total.saturating_sub(start).min(side))
            },
        );
        let selected = touched.iter().fold(0u64, |sum, touched| {
            sum.saturating_add(touched.axes.iter().fold(1u64, |n, axis| n.saturating_mul(axis.count)))
        });
        inside == selected && !slab.is_empty()
    }

    /// Zeroes what lies beyond `shape` in chunks that stay, so that it does not come back when the array grows again.
    fn clear_beyond(&mut self, shape: &[u64]) -> Result<()> {
        let whole = self.shape().to_vec();
        for (axis, (&new, &old)) in shape.iter().zip(&whole).enumerate() {
            let side = self.grid.chunk.get(axis).copied().unwrap_or(0).max(1);
            let end = new.next_multiple_of(side).min(old);
            if new >= end || elements(&whole) == Some(0) {
                continue;
            }
            let ranges: Vec<Range> = whole
                .iter()
                .enumerate()
                .map(|(i, &n)| if i == axis { Range::new(new, end - new) } else { Range::all(n) })
                .collect();
            let slab = Slab::new(&whole, ranges)?;
            let size = to_usize(self.typesize().into());
            for piece in slab.pieces(CHUNK_BYTES) {
                let zeros = vec![0; to_usize(piece.len()).saturating_mul(size)];
                self.write_slab_bytes(&piece, &zeros)?;
            }
        }
        Ok(())
    }
}

/// The position of a chunk in a grid of `counts`.
pub(crate) fn position_of(number: u64, counts: &[u64]) -> Vec<u64> {
    let mut rest = number;
    let mut position: Vec<u64> = counts
        .iter()
        .rev()
        .map(|&count| {
            let at = rest.checked_rem(count).unwrap_or(0);
            rest = rest.checked_div(count).unwrap_or(0);
            at
        })
        .collect();
    position.reverse();
    position
}

/// Puts the elements of a selection of so many indices into the blocks of a chunk that it touches. Elements have `size`
/// bytes.
pub(crate) fn fill(
    (grid, size): (&Grid, usize),
    touched: &[Touched],
    (bytes, shape): (&[u8], &[u64]),
    chunk: &mut [u8],
) {
    let block_bytes = to_usize(grid.block_elements().unwrap_or(0)).saturating_mul(size);
    for touched in touched {
        let start = to_usize(touched.block).saturating_mul(block_bytes);
        let block = chunk.get_mut(start..start.saturating_add(block_bytes)).unwrap_or_default();
        runs(&touched.axes, shape, &grid.block, |to, from, count, step| {
            scatter(bytes, to, block, (from, count, step), size);
        });
    }
}

/// The reverse of [`gather`].
fn scatter(bytes: &[u8], to: u64, block: &mut [u8], (from, count, step): (u64, u64, u64), size: usize) {
    let source = bytes.get(to_usize(to).saturating_mul(size)..).unwrap_or_default();
    let target = block.get_mut(to_usize(from).saturating_mul(size)..).unwrap_or_default();
    let (count, step) = (to_usize(count), to_usize(step));
    if step == 1 {
        let len = count.saturating_mul(size);
        if let (Some(target), Some(source)) = (target.get_mut(..len), source.get(..len)) {
            target.copy_from_slice(source);
        }
        return;
    }
    let elements =
        target.chunks_mut(size.saturating_mul(step).max(1)).filter_map(|group| group.get_mut(..size));
    source
        .chunks_exact(size.max(1))
        .take(count)
        .zip(elements)
        .for_each(|(from, to)| to.copy_from_slice(from));
}
