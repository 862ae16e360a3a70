//! Arrays with chunks and blocks of another shape.

use sciformats_core::arith::{add, fit, mul, product, sub};
use sciformats_core::fault::locate;
use sciformats_core::storage::zeroed;
use sciformats_core::{Range, Result, Slab, bound, slab::elements};

use super::job::Job;
use crate::array::{Array, fill, position_of, unfit};
use crate::array_params::{ArrayParams, lengths};
use crate::model::chunk::Context;
use crate::model::grid::{Grid, wide};
use crate::model::params::Params;
use crate::model::schunk::stream::Stream;
use crate::spec::b2nd::B2nd;
use crate::spec::chunk_header::{MAX_NBYTES, Special};
use crate::spec::frame_header::FrameHeader;

/// The number of bytes that are read at once, so that blocks of the old chunks are used for several new ones.
const GROUP: u64 = 96 << 20;

impl Job<'_> {
    /// Returns the shapes of chunks and blocks that the array will have.
    pub(super) fn shapes(&self, array: &Array) -> Result<B2nd> {
        let old = array.b2nd();
        let chunks = match &self.options.chunks {
            Some(chunks) => lengths("chunks", chunks)?,
            None => old.chunks.clone(),
        };
        let cut = || old.blocks.iter().zip(&chunks).map(|(&block, &chunk)| block.min(chunk)).collect();
        let blocks = match &self.options.blocks {
            Some(blocks) => lengths("blocks", blocks)?,
            None if old.blocks.len() == chunks.len() && old.blocks != old.chunks => cut(),
            None => {
                let params = Params { blocksize: 0, ..self.params()? };
                let spec = ArrayParams::raw(&old.shape, "", array.typesize()).with_params(params);
                spec.with_chunks(&wide(&chunks)).b2nd()?.blocks
            }
        };
        let spec = ArrayParams::raw(&old.shape, "", array.typesize());
        // This checks the number of dimensions.
        spec.with_chunks(&wide(&chunks)).with_blocks(&wide(&blocks)).b2nd()?;
        Ok(B2nd { chunks, blocks, ..old.clone() })
    }

    /// Writes the array in chunks and blocks of these shapes.
    pub(super) fn lay(&self, array: &Array, b2nd: &B2nd) -> Result<()> {
        let new = Grid::new(b2nd).ok_or_else(unfit)?;
        let limits = self.from.limits();
        let bytes = |elements: Option<u64>| {
            let bytes = elements.and_then(|n| n.checked_mul(self.from.typesize().into()))?;
            u32::try_from(bytes).ok().filter(|&n| n <= MAX_NBYTES)
        };
        let chunk_bytes = bytes(new.chunk_elements()).ok_or_else(unfit)?;
        let blocksize = bytes(new.block_elements()).ok_or_else(unfit)?;
        let counts = new.chunks();
        let count = elements(&counts).ok_or_else(unfit)?;
        limits.items("chunks", count)?;
        limits.items("blocks of a chunk", elements(&new.blocks()).ok_or_else(unfit)?)?;
        let params = Params { blocksize, ..self.params()? };
        let header = self.cut_header(&params, (chunk_bytes, mul(count, chunk_bytes.into())?));
        let out = self.begin(with_shape(header, b2nd)?, count)?;

        let sides = self.group(array.grid(), &new);
        let groups: Vec<u64> =
            counts.iter().zip(&sides).map(|(&count, &side)| count.div_ceil(side.max(1))).collect();
        let context = Context { block_shape: b2nd.blocks.clone(), ..self.from.context().clone() };
        let chunk = zeroed(limits.memory("bytes of a chunk", chunk_bytes.into())?)?;
        let mut laying = Laying { job: self, array, new, params, context, out, chunk, data: Vec::new() };
        let groups_count = if count > 0 { product(groups.iter().copied())? } else { 0 };
        for number in 0..groups_count {
            let place = position_of(number, &groups)?;
            let corner =
                place.iter().zip(&sides).map(|(&at, &side)| mul(at, side)).collect::<Result<Vec<u64>>>()?;
            let left = counts.iter().zip(&corner).map(|(&count, &at)| sub(count, at));
            let extent =
                left.zip(&sides).map(|(left, &side)| Ok(left?.min(side))).collect::<Result<Vec<u64>>>()?;
            laying.group(&corner, &extent)?;
        }
        laying.out.finish()
    }

    /// Returns the content of the elements of a new chunk, if the old chunks that contain them are all of one kind.
    fn kind_at(&self, array: &Array, new: &Grid, position: &[u64]) -> Result<Option<(Special, Vec<u8>)>> {
        let single = vec![1; position.len()];
        let slab = Slab::new(&new.shape, ranges(new, position, &single)?)?;
        let grid = array.grid();
        let chunks = grid.touched_chunks(&slab)?;
        let numbers = chunks.iter().map(|position| grid.chunk_number(position));
        self.uniform(numbers.collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// Returns the numbers of new chunks along each dimension for which elements are read at once. These are as many as have
    /// elements in one old chunk, within the limit of memory, counted from the last dimension to the first.
    fn group(&self, old: &Grid, new: &Grid) -> Vec<u64> {
        let size = u64::from(self.from.typesize());
        let most = GROUP.min(self.from.limits().memory);
        let cut = |(&side, &n): (&u64, &u64)| side.min(n).max(1);
        let one = new.chunk.iter().zip(&new.shape).map(cut).fold(size, bound::product); // a bound of memory
        let mut bytes = one.max(1);
        let mut sides = Vec::new();
        for ((&old, &new), &count) in old.chunk.iter().zip(&new.chunk).zip(&new.chunks()).rev() {
            let wanted = old.div_ceil(new.max(1)).clamp(1, count.max(1));
            let side = wanted.min(most.checked_div(bytes.max(1)).map_or(1, |side| side.max(1))).max(1);
            bytes = bound::product(bytes, side); // a bound of memory
            sides.push(side);
        }
        sides.reverse();
        sides
    }
}

/// An array whose elements are being divided into other chunks.
struct Laying<'a> {
    job: &'a Job<'a>,
    array: &'a Array,
    new: Grid,
    params: Params,
    context: Context,
    out: Stream,
    /// The new chunk.
    chunk: Vec<u8>,
    /// The elements of all chunks of the group.
    data: Vec<u8>,
}

impl Laying<'_> {
    /// Writes `extent` chunks, beginning with the one at `corner`.
    fn group(&mut self, corner: &[u64], extent: &[u64]) -> Result<()> {
        let slab = Slab::new(&self.new.shape, ranges(&self.new, corner, extent)?)?;
        let mut read = false;
        for inner in 0..product(extent.iter().copied())? {
            self.job.go_on()?;
            let place = position_of(inner, extent)?;
            let position = place.iter().zip(corner).map(|(&inner, &corner)| add(inner, corner));
            let position = position.collect::<Result<Vec<u64>>>()?;
            let index = self.new.chunk_number(&position)?;
            if let Some(kind) = self.job.kind_at(self.array, &self.new, &position)? {
                let nbytes = fit(self.chunk.len(), "bytes of a chunk")?;
                self.job.alike(&mut self.out, index, &kind, nbytes)?;
                continue;
            }
            if !read {
                self.read(&slab)?;
                read = true;
            }
            self.chunk.fill(0);
            let touched = self.new.touched_blocks(&slab, &position)?;
            let size = fit(self.array.typesize(), "bytes of an element")?;
            fill((&self.new, size), &touched, (&self.data, &slab.shape()), &mut self.chunk)?;
            self.job.compressed(&mut self.out, index, &self.chunk, (&self.params, &self.context))?;
        }
        Ok(())
    }

    fn read(&mut self, slab: &Slab) -> Result<()> {
        let len = mul(slab.len(), self.array.typesize().into())?;
        let len = self.job.from.limits().memory("bytes of the chunks", len)?;
        if self.data.len() != len {
            drop(std::mem::take(&mut self.data));
            self.data = zeroed(len)?;
        }
        self.array.read_slab_bytes_into(slab, &mut self.data)
    }
}

/// Returns the indices of the elements in `extent` chunks, beginning with the one at `corner`.
fn ranges(grid: &Grid, corner: &[u64], extent: &[u64]) -> Result<Vec<Range>> {
    let sides = grid.shape.iter().zip(&grid.chunk);
    let boxes = sides.zip(corner.iter().zip(extent));
    boxes
        .map(|((&n, &side), (&at, &count))| {
            let start = mul(at, side)?;
            Ok(Range::new(start, bound::product(count, side).min(sub(n, start)?)))
        })
        .collect()
}

/// Returns the header with other shapes in its metalayers.
fn with_shape(mut header: FrameHeader, b2nd: &B2nd) -> Result<FrameHeader> {
    for layer in header.layers.iter_mut().filter(|layer| matches!(layer.name.as_str(), "b2nd" | "caterva")) {
        let dtype = locate("metalayer b2nd", 0, &layer.content, B2nd::parse)?.dtype;
        layer.content = B2nd { dtype, ..b2nd.clone() }.encode()?;
    }
    Ok(header)
}
