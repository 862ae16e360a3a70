//! N-dimensional arrays: frames whose metalayer `b2nd` says their shape.

use std::path::{Path, PathBuf};

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Range, Result, Slab, slab::elements};

use crate::array_params::{ArrayParams, CHUNK_BYTES};
use crate::model::chunk::State;
use crate::model::dtype::DType;
use crate::model::frame::shape_of;
use crate::model::grid::{Grid, Touched, runs};
use crate::model::options::Options;
use crate::model::params::Params;
use crate::model::schunk::SChunk;
use crate::spec::b2nd::B2nd;
use crate::spec::chunk_header::{MAX_NBYTES, Special};

/// An n-dimensional array. Elements are bytes in C order, in the byte order that the element type says.
///
/// ```
/// use cframe::{Array, ArrayParams, Slab, Range};
///
/// let mut array = Array::new(&ArrayParams::new(&[100, 200], "<f4")?.chunks(&[50, 100]).blocks(&[10, 20]))?;
/// let row: Vec<u8> = (0..200).flat_map(|i| (i as f32).to_le_bytes()).collect();
/// array.write_slab(&Slab::new(&[100, 200], [Range::new(7, 1), Range::all(200)])?, &row)?;
///
/// // Every third element of rows 7 and 8.
/// let slab = Slab::new(&[100, 200], [Range::new(7, 2), Range::new(0, 67).by(3)])?;
/// let part = array.read_slab(&slab)?;
/// assert_eq!(part[4..8], 3f32.to_le_bytes());
/// assert_eq!(part[67 * 4..], [0; 67 * 4]);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Debug)]
pub struct Array {
    schunk: SChunk,
    b2nd: B2nd,
    grid: Grid,
}

impl Array {
    /// An array of zeros in memory.
    ///
    /// # Errors
    /// `Usage` if the shapes do not fit each other.
    pub fn new(params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::new(params.params), params)
    }

    /// An array of zeros that becomes a file with the first [`commit`](Self::commit).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn create(path: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::create(path, params.params), params)
    }

    /// An array of zeros that becomes a folder, one file a chunk, with the first [`commit`](Self::commit).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn create_sparse(folder: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::create_sparse(folder, params.params), params)
    }

    /// An array of zeros in an empty super-chunk.
    pub(crate) fn over(mut schunk: SChunk, params: &ArrayParams) -> Result<Self> {
        let b2nd = params.b2nd()?;
        let grid = Grid::new(&b2nd).ok_or_else(unfit)?;
        schunk.set_metalayer("b2nd", &b2nd.encode())?;
        let mut array = Self { schunk, b2nd, grid };
        let size = array.chunk_bytes()?;
        let blocksize = array.block_bytes()?;
        let chunk_params = Params { blocksize, ..array.schunk.params() };
        array.schunk.set_params(chunk_params);
        for _ in 0..elements(&array.grid.chunks()).unwrap_or(0) {
            array.schunk.append_special(Special::Zeros, &[], size)?;
        }
        Ok(array)
    }

    /// Opens a file or the folder of a sparse frame, for reading and writing.
    ///
    /// # Errors
    /// As [`SChunk::open`], and [`from_schunk`](Self::from_schunk).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// As [`open`](Self::open), with limits, threads, and codecs and filters of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Self::from_schunk(SChunk::open_with(path, options)?)
    }

    /// The array in a frame that is open already. Edits stay in memory, as those of [`SChunk::from_frame`].
    ///
    /// # Errors
    /// As [`from_schunk`](Self::from_schunk).
    pub fn from_frame(frame: crate::Frame) -> Result<Self> {
        Self::from_schunk(SChunk::from_frame(frame))
    }

    /// The array that a super-chunk is.
    ///
    /// # Errors
    /// `Usage` if it has no metalayer `b2nd`; `Malformed` if its shapes do not fit each other or the chunks.
    pub fn from_schunk(schunk: SChunk) -> Result<Self> {
        let layer = schunk.metalayer("b2nd").or_else(|| schunk.metalayer("caterva"));
        let layers: Vec<_> = layer
            .map(|content| crate::spec::metalayers::Layer { name: "b2nd".into(), content: content.to_vec() })
            .into_iter()
            .collect();
        let b2nd = shape_of(&layers)?
            .ok_or_else(|| Error::usage("frame", "has no metalayer b2nd: it is no array"))?;
        let rule = FaultKind::Rule("have shapes that do not fit each other");
        let fault = || Fault::new("array, chunks and blocks", rule).at("metalayer b2nd", 0);
        let grid = Grid::new(&b2nd).ok_or_else(fault)?;
        let array = Self { schunk, b2nd, grid };
        let expected = elements(&array.grid.chunks()).ok_or_else(fault)?;
        array.chunk_bytes().map_err(|_| fault())?;
        // A selection lists the blocks that it touches, chunk by chunk.
        let blocks = elements(&array.grid.blocks()).ok_or_else(fault)?;
        array.schunk.limits().items("blocks of a chunk", blocks)?;
        if expected != array.schunk.chunks() {
            let kind = FaultKind::Mismatch { expected: array.schunk.chunks(), found: expected };
            return Err(Fault::new("number of chunks", kind).at("metalayer b2nd", 0));
        }
        Ok(array)
    }

    /// The shape, slowest dimension first.
    pub fn shape(&self) -> &[u64] {
        &self.b2nd.shape
    }

    /// The shape of a chunk.
    pub fn chunk_shape(&self) -> &[u32] {
        &self.b2nd.chunks
    }

    /// The shape of a block.
    pub fn block_shape(&self) -> &[u32] {
        &self.b2nd.blocks
    }

    /// The element type as stored; `None` in the oldest files.
    pub fn dtype(&self) -> Option<&str> {
        self.b2nd.dtype.as_ref().map(|dtype| dtype.text.as_str())
    }

    /// The element type. Where it contradicts the type size of the frame, or there is none, elements are raw bytes of the
    /// type size: that is what decides where elements are.
    ///
    /// # Errors
    /// `Unsupported` if the text names no type of a fixed size.
    pub fn element(&self) -> Result<DType> {
        let size = usize::try_from(self.typesize()).unwrap_or(usize::MAX);
        let raw =
            DType::Scalar { kind: crate::Kind::Raw, size, order: sciformats_core::endian::ByteOrder::NATIVE };
        match &self.b2nd.dtype {
            Some(stored) if stored.format == 0 => {
                let dtype = DType::parse(&stored.text)?;
                Ok(if dtype.size() == size { dtype } else { raw })
            }
            _ => Ok(raw),
        }
    }

    /// Size of an element in bytes.
    pub fn typesize(&self) -> u32 {
        self.schunk.typesize()
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        elements(self.shape()).unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The super-chunk beneath.
    pub fn schunk(&self) -> &SChunk {
        &self.schunk
    }

    /// The super-chunk beneath, for its metalayers and parameters. Chunks that are changed there are changed here.
    pub fn schunk_mut(&mut self) -> &mut SChunk {
        &mut self.schunk
    }

    /// The super-chunk alone.
    pub fn into_schunk(self) -> SChunk {
        self.schunk
    }

    /// All elements.
    ///
    /// # Errors
    /// As [`read_slab`](Self::read_slab).
    pub fn read(&self) -> Result<Vec<u8>> {
        self.read_slab(&Slab::all(self.shape())?)
    }

    /// The elements of a selection; only the blocks that it touches are decoded.
    ///
    /// # Errors
    /// `Usage` if the selection is of another shape; `LimitExceeded`; those of [`Chunk::decode`](crate::Chunk::decode).
    pub fn read_slab(&self, slab: &Slab) -> Result<Vec<u8>> {
        let size = slab.len().saturating_mul(self.typesize().into());
        let limits = self.schunk.limits();
        let mut out = zeroed(limits.memory("bytes of the selection", size)?);
        self.read_slab_into(slab, &mut out)?;
        Ok(out)
    }

    /// As [`read_slab`](Self::read_slab), into `out`.
    ///
    /// # Errors
    /// As [`read_slab`](Self::read_slab); `Usage` if `out` has another size.
    pub fn read_slab_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.check(slab, out.len())?;
        let size = self.element_size();
        let (block_bytes, chunk_bytes) =
            (to_usize(self.block_bytes()?.into()), to_usize(self.chunk_bytes()?.into()));
        let shape = slab.shape();
        for position in self.grid.touched_chunks(slab) {
            let chunk = self.schunk.chunk(self.grid.chunk_number(&position))?;
            if chunk.nbytes() != chunk_bytes {
                let kind = FaultKind::Mismatch { expected: chunk_bytes as u64, found: chunk.nbytes() as u64 };
                return Err(Fault::new("nbytes", kind).at("chunk of an array", 0));
            }
            let touched = self.grid.touched_blocks(slab, &position);
            let shared = chunk.shared(&mut State::default())?;
            let decode = |state: &mut State, index: usize| -> Result<Vec<u8>> {
                let mut block = vec![0; block_bytes];
                if let Some(touched) = touched.get(index) {
                    let start = to_usize(touched.block).saturating_mul(block_bytes);
                    chunk.read_with(start, &shared, state, &mut block)?;
                }
                Ok(block)
            };
            let bytes = touched.len().saturating_mul(block_bytes);
            let blocks = self.schunk.threads().collect(touched.len(), bytes, State::default, decode)?;
            for (touched, block) in touched.iter().zip(&blocks) {
                runs(&touched.axes, &shape, &self.grid.block, |to, from, count, step| {
                    gather(block, (from, count, step), out, to, size);
                });
            }
        }
        Ok(())
    }

    /// Overwrites the elements of a selection; chunks that are touched are compressed anew.
    ///
    /// # Errors
    /// `Usage` if the selection is of another shape or `bytes` of another size; those of reading and compressing.
    pub fn write_slab(&mut self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.check(slab, bytes.len())?;
        let size = self.element_size();
        let (block_bytes, chunk_bytes) =
            (to_usize(self.block_bytes()?.into()), to_usize(self.chunk_bytes()?.into()));
        let shape = slab.shape();
        for position in self.grid.touched_chunks(slab) {
            let number = self.grid.chunk_number(&position);
            let touched = self.grid.touched_blocks(slab, &position);
            let mut chunk = if self.covers(slab, &position, &touched) {
                vec![0; chunk_bytes]
            } else {
                self.schunk.chunk(number)?.decode()?
            };
            for touched in &touched {
                let start = to_usize(touched.block).saturating_mul(block_bytes);
                let block = chunk.get_mut(start..start.saturating_add(block_bytes)).unwrap_or_default();
                runs(&touched.axes, &shape, &self.grid.block, |to, from, count, step| {
                    scatter(bytes, to, block, (from, count, step), size);
                });
            }
            self.schunk.update(number, &chunk)?;
        }
        Ok(())
    }

    /// Changes the shape: elements beyond the new one are gone, new ones are zeros.
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
        self.schunk.set_metalayer("b2nd", &b2nd.encode())?;
        (self.b2nd, self.grid) = (b2nd, grid);
        Ok(())
    }

    /// Makes the array longer along `axis` by the elements of `bytes`, whose other dimensions are the array's.
    ///
    /// # Errors
    /// `Usage` if there is no such axis, or `bytes` are no whole number of rows; those of [`resize`](Self::resize) and
    /// [`write_slab`](Self::write_slab).
    pub fn append(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
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
        self.write_slab(&Slab::new(&shape, ranges)?, bytes)
    }

    /// Writes all edits to where the array lives.
    ///
    /// # Errors
    /// As [`SChunk::commit`].
    pub fn commit(&mut self) -> Result<()> {
        self.schunk.commit()
    }

    fn check(&self, slab: &Slab, len: usize) -> Result<()> {
        if slab.of() != self.shape() {
            return Err(Error::usage(
                "selection",
                format!("is of {:?}, the array is {:?}", slab.of(), self.shape()),
            ));
        }
        if slab.len().checked_mul(self.typesize().into()) != Some(len as u64) {
            let problem = format!("have {len} bytes, the selection {} elements", slab.len());
            return Err(Error::usage("bytes", problem));
        }
        Ok(())
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
                self.write_slab(&piece, &zeros)?;
            }
        }
        Ok(())
    }

    fn element_size(&self) -> usize {
        to_usize(self.typesize().into())
    }

    fn block_bytes(&self) -> Result<u32> {
        self.bytes(self.grid.block_elements())
    }

    fn chunk_bytes(&self) -> Result<u32> {
        self.bytes(self.grid.chunk_elements())
    }

    fn bytes(&self, elements: Option<u64>) -> Result<u32> {
        elements
            .and_then(|n| n.checked_mul(self.typesize().into()))
            .and_then(|n| u32::try_from(n).ok())
            .filter(|&n| n <= MAX_NBYTES)
            .ok_or_else(|| Error::usage("chunk shape", format!("has more than {MAX_NBYTES} bytes")))
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

/// Copies elements of a block that are `step` apart to where they stand together in a selection.
fn gather(block: &[u8], (from, count, step): (u64, u64, u64), out: &mut [u8], to: u64, size: usize) {
    let target = out.get_mut(to_usize(to).saturating_mul(size)..).unwrap_or_default();
    let source = block.get(to_usize(from).saturating_mul(size)..).unwrap_or_default();
    let (count, step) = (to_usize(count), to_usize(step));
    if step == 1 {
        let len = count.saturating_mul(size);
        if let (Some(target), Some(source)) = (target.get_mut(..len), source.get(..len)) {
            target.copy_from_slice(source);
        }
        return;
    }
    let elements = source.chunks(size.saturating_mul(step).max(1)).filter_map(|group| group.get(..size));
    target
        .chunks_exact_mut(size.max(1))
        .take(count)
        .zip(elements)
        .for_each(|(to, from)| to.copy_from_slice(from));
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

fn unfit() -> Error {
    Error::usage("shape", "and those of chunks and blocks do not fit each other")
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
