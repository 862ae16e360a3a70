//! N-dimensional arrays, which are frames whose metalayer `b2nd` contains their shape.

mod read;
mod write;

pub(crate) use write::{fill, position_of};

use std::path::{Path, PathBuf};

use sciformats_core::error::Within;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Conversion, Error, Result, Slab, bound, slab::elements};

use crate::array_params::ArrayParams;
use crate::model::dtype::DType;
use crate::model::frame::shape_of;
use crate::model::grid::Grid;
use crate::model::options::OpenOptions;
use crate::model::params::Params;
use crate::model::schunk::SChunk;
use crate::spec::b2nd::B2nd;
use crate::spec::chunk_header::{MAX_NBYTES, Special};

/// An n-dimensional array. Elements are bytes in C order, in the byte order of the element type.
///
/// ```
/// use cframe::{Array, ArrayParams, Slab, Range};
///
/// let mut array = Array::new(&ArrayParams::new(&[100, 200], "<f4")?.with_chunks(&[50, 100]).with_blocks(&[10, 20]))?;
/// let row: Vec<u8> = (0..200).flat_map(|i| (i as f32).to_le_bytes()).collect();
/// array.write_slab_bytes(&Slab::new(&[100, 200], [Range::new(7, 1), Range::all(200)])?, &row)?;
///
/// // Every third element of rows 7 and 8.
/// let slab = Slab::new(&[100, 200], [Range::new(7, 2), Range::new(0, 67).by(3)])?;
/// let part = array.read_slab_bytes(&slab)?;
/// assert_eq!(part[4..8], 3f32.to_le_bytes());
/// assert_eq!(part[67 * 4..], [0; 67 * 4]);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Debug)]
pub struct Array {
    schunk: SChunk,
    b2nd: B2nd,
    grid: Grid,
    pub(crate) conversion: Conversion,
}

impl Array {
    /// Creates an array of zeros in memory.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let temperature = Array::new(&ArrayParams::of::<f32>(&[365, 180, 360])?.with_chunks(&[30, 180, 360]))?;
    /// assert_eq!(temperature.shape(), [365, 180, 360]);
    /// assert_eq!((temperature.dtype(), temperature.len()), (Some("<f4"), 365 * 180 * 360));
    /// assert!(temperature.schunk().to_bytes()?.len() < 500); // zeros take no room
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the shapes of the array, its chunks and its blocks contradict each other.
    pub fn new(params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::new(params.params), params)
    }

    /// Creates an array of zeros. The first [`commit`](Self::commit) writes it to a file, which must not exist yet;
    /// [`overwrite`](Self::overwrite) replaces an existing file.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Slab};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("temperature.b2nd");
    /// let mut temperature = Array::create(&path, &ArrayParams::of::<f32>(&[2, 3])?)?;
    /// temperature.write_slab(&Slab::all(&[2, 3])?, &[281.5f32, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// assert!(!path.exists());
    /// temperature.commit()?;
    /// assert_eq!(Array::open(&path)?.shape(), [2, 3]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `Io` if the file exists, which the first commit checks again.
    pub fn create(path: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::create(path, params.params)?, params)
    }

    /// Does the same as [`create`](Self::create), but the first commit replaces an existing file.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn overwrite(path: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::overwrite(path, params.params)?, params)
    }

    /// Creates an array of zeros. The first [`commit`](Self::commit) writes it to a folder with one file per chunk, which must not
    /// exist yet; [`overwrite_sparse`](Self::overwrite_sparse) replaces an existing sparse frame.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, FrameType, Slab};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("temperature");
    /// let mut temperature = Array::create_sparse(&path, &ArrayParams::of::<f32>(&[4, 3])?.with_chunks(&[1, 3]))?;
    /// temperature.write_slab(&Slab::all(&[4, 3])?, &[281.5f32; 12])?;
    /// temperature.commit()?;
    /// assert_eq!(temperature.schunk().frame().map(|frame| frame.frame_type()), Some(FrameType::Sparse));
    /// assert!(path.join("chunks.b2frame").exists());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `Io` if the folder exists, which the first commit checks again.
    pub fn create_sparse(folder: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::create_sparse(folder, params.params)?, params)
    }

    /// As [`create_sparse`](Self::create_sparse), but the first commit replaces a sparse frame that is already there.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn overwrite_sparse(folder: impl Into<PathBuf>, params: &ArrayParams) -> Result<Self> {
        Self::over(SChunk::overwrite_sparse(folder, params.params)?, params)
    }

    /// Creates an array of zeros in an empty super-chunk.
    pub(crate) fn over(mut schunk: SChunk, params: &ArrayParams) -> Result<Self> {
        let b2nd = params.b2nd()?;
        let grid = Grid::new(&b2nd).ok_or_else(unfit)?;
        schunk.set_metalayer("b2nd", &b2nd.encode()?)?;
        let mut array = Self { schunk, b2nd, grid, conversion: Conversion::Exact };
        let size = array.chunk_bytes()?;
        let blocksize = array.block_bytes()?;
        let chunk_params = Params { blocksize, ..array.schunk.params() };
        array.schunk.set_params(chunk_params);
        for _ in 0..elements(&array.grid.chunks()).ok_or_else(unfit)? {
            array.schunk.append_special(Special::Zeros, &[], size)?;
        }
        Ok(array)
    }

    /// Opens an array, as [`open`](Self::open) does. If there is no file, an array of zeros is created first, in which `fill`
    /// writes the elements. This suits programs that compute an array once.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("squares.b2nd");
    /// let params = ArrayParams::of::<u32>(&[10, 10])?;
    /// for _ in 0..2 { // the same program, twice
    ///     let squares = Array::open_or_create(&path, &params, |new| new.fill_with(|[y, x]| (y * y + x * x) as u32))?;
    ///     assert_eq!(squares.read_slice::<u32>((3, 4))?, [25]);
    /// }
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open), [`create`](Self::create), `fill` and [`commit`](Self::commit). If `fill` fails, there is no
    /// file. The parameters of an array that exists are not compared with `params`.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        params: &ArrayParams,
        fill: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        match Self::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                let mut new = Self::create(path, params)?;
                fill(&mut new)?;
                new.commit()?;
                Ok(new)
            }
            opened => opened,
        }
    }

    /// Opens a file, or the folder of a sparse frame, for reading and writing.
    ///
    /// ```
    /// use cframe::{Array, Range, Slab};
    ///
    /// # use cframe::ArrayParams;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("temperature.b2nd");
    /// # let mut made = Array::create(&path, &ArrayParams::of::<f32>(&[100, 3])?)?;
    /// # made.write_slab(&Slab::new(&[100, 3], [Range::new(7, 1), Range::all(3)])?, &[281.5f32, 282.0, 282.5])?;
    /// # made.commit()?;
    /// let temperature = Array::open(&path)?;
    /// let row = Slab::new(temperature.shape(), [Range::new(7, 1), Range::all(3)])?;
    /// assert_eq!(temperature.read_slab::<f32>(&row)?, [281.5, 282.0, 282.5]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SChunk::open`] and [`from_schunk`](Self::from_schunk).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with limits, threads, and the caller's own codecs and filters.
    ///
    /// ```no_run
    /// use cframe::{Array, Limits, OpenOptions};
    ///
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 30)).with_threads(1);
    /// let temperature = Array::open_with("temperature.b2nd", &options)?;
    /// assert_eq!(temperature.dtype(), Some("<f4"));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::from_schunk(SChunk::open_with(path, options)?).within(Some(path), None)
    }

    /// Returns the array in an open frame. Edits stay in memory, as with [`SChunk::from_frame`].
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Frame, Slab};
    ///
    /// # let mut made = Array::new(&ArrayParams::of::<f32>(&[2])?)?;
    /// # made.write_slab(&Slab::all(&[2])?, &[281.5f32, 282.0])?;
    /// # let bytes = made.schunk().to_bytes()?;
    /// let frame = Frame::from_bytes(bytes)?; // or a frame inside another file: `Frame::from_storage`
    /// let temperature = Array::from_frame(frame)?;
    /// assert_eq!(temperature.read_slab::<f32>(&Slab::all(&[2])?)?, [281.5, 282.0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`from_schunk`](Self::from_schunk).
    pub fn from_frame(frame: crate::Frame) -> Result<Self> {
        Self::from_schunk(SChunk::from_frame(frame))
    }

    /// Returns the array in a super-chunk.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Params, SChunk};
    ///
    /// let bytes = Array::new(&ArrayParams::of::<f64>(&[10, 20])?)?.schunk().to_bytes()?;
    /// let array = Array::from_schunk(SChunk::from_bytes(bytes)?)?;
    /// assert_eq!(array.shape(), [10, 20]);
    ///
    /// let error = Array::from_schunk(SChunk::new(Params::new(8))).unwrap_err();
    /// assert_eq!(error.to_string(), "frame has no metalayer b2nd, so it is not an array");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if it has no metalayer `b2nd`; `Malformed` if the shapes contradict each other or the chunks.
    pub fn from_schunk(schunk: SChunk) -> Result<Self> {
        let layer = schunk.metalayer("b2nd").or_else(|| schunk.metalayer("caterva"));
        let layers: Vec<_> = layer
            .map(|content| crate::spec::metalayers::Layer { name: "b2nd".into(), content: content.to_vec() })
            .into_iter()
            .collect();
        let b2nd = shape_of(&layers)?
            .ok_or_else(|| Error::usage("frame", "has no metalayer b2nd, so it is not an array"))?;
        let rule = FaultKind::Rule("have shapes that contradict each other");
        let fault = || Fault::new("array, chunks and blocks", rule).at("metalayer b2nd", 0);
        let grid = Grid::new(&b2nd).ok_or_else(fault)?;
        let array = Self { schunk, b2nd, grid, conversion: Conversion::Exact };
        let expected = elements(&array.grid.chunks()).ok_or_else(fault)?;
        array.chunk_bytes().map_err(|_| fault())?;
        // A selection lists its blocks chunk by chunk, so their number must not exceed the limit.
        let blocks = elements(&array.grid.blocks()).ok_or_else(fault)?;
        array.schunk.limits().items("blocks of a chunk", blocks)?;
        if expected != array.schunk.chunks() {
            let kind = FaultKind::Mismatch { expected: array.schunk.chunks(), found: expected };
            return Err(Fault::new("number of chunks", kind).at("metalayer b2nd", 0));
        }
        Ok(array)
    }

    /// Returns the shape, the slowest varying dimension first.
    pub fn shape(&self) -> &[u64] {
        &self.b2nd.shape
    }

    /// Returns the shape of a chunk.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let pressure = Array::new(&ArrayParams::of::<f64>(&[500, 1000])?.with_chunks(&[250, 1000]).with_blocks(&[25, 100]))?;
    /// assert_eq!((pressure.chunk_shape(), pressure.block_shape()), (&[250, 1000][..], &[25, 100][..]));
    /// assert_eq!((pressure.len(), pressure.typesize(), pressure.dtype()), (500_000, 8, Some("<f8")));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn chunk_shape(&self) -> &[u64] {
        &self.grid.chunk
    }

    /// Returns the shape of a block.
    pub fn block_shape(&self) -> &[u64] {
        &self.grid.block
    }

    /// Returns the stored name of the element type, which is `None` in the oldest files.
    pub fn dtype(&self) -> Option<&str> {
        self.b2nd.dtype.as_ref().map(|dtype| dtype.text.as_str())
    }

    /// Returns the element type. If it contradicts the type size of the frame, or if there is none, elements are raw bytes of the
    /// type size, because this size determines where elements are.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, DType, Kind};
    ///
    /// let array = Array::new(&ArrayParams::new(&[5], ">i2")?)?;
    /// assert!(matches!(array.element()?, DType::Scalar { kind: Kind::Signed, size: 2, .. }));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the name is not that of a type of a fixed size.
    pub fn element(&self) -> Result<DType> {
        let size = bound::addressable(self.typesize().into());
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

    /// Returns the size of an element in bytes.
    pub fn typesize(&self) -> u32 {
        self.schunk.typesize()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        elements(self.shape()).unwrap_or(u64::MAX) // a bound: the shape was checked at opening
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the super-chunk that contains the array.
    pub fn schunk(&self) -> &SChunk {
        &self.schunk
    }

    /// Returns the super-chunk that contains the array, for changing its metalayers and parameters. Changing its chunks changes
    /// the array.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut temperature = Array::new(&ArrayParams::of::<f32>(&[24])?)?;
    /// temperature.schunk_mut().set_vlmeta_value("units", &"K".into())?;
    /// assert_eq!(temperature.schunk().vlmeta_value("units")?.as_str(), Some("K"));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn schunk_mut(&mut self) -> &mut SChunk {
        &mut self.schunk
    }

    /// Returns the super-chunk.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("temperature.b2nd");
    /// let temperature = Array::new(&ArrayParams::of::<f32>(&[24])?)?; // in memory
    /// temperature.into_schunk().save(&path)?;
    /// assert_eq!(Array::open(&path)?.shape(), [24]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn into_schunk(self) -> SChunk {
        self.schunk
    }

    /// Writes all edits to the place of the array.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Slab};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("temperature.b2nd");
    /// # Array::create(&path, &ArrayParams::of::<f32>(&[3])?)?.commit()?;
    /// let mut temperature = Array::open(&path)?;
    /// temperature.write_slab(&Slab::all(&[3])?, &[281.5f32, 282.0, 282.5])?;
    /// temperature.commit()?; // until here the file is as it was
    /// assert_eq!(Array::open(&path)?.read_slab::<f32>(&Slab::all(&[3])?)?, [281.5, 282.0, 282.5]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SChunk::commit`].
    pub fn commit(&mut self) -> Result<()> {
        self.schunk.commit()
    }

    /// Fails if the selection or the bytes do not fit, or if elements are not in the chunks.
    fn check(&self, slab: &Slab, len: usize) -> Result<()> {
        crate::model::elsewhere::check(self.schunk.metalayers())?;
        if slab.of() != self.shape() {
            return Err(Error::usage(
                "selection",
                format!(
                    "selects from an array of {:?}, but this array has the shape {:?}",
                    slab.of(),
                    self.shape()
                ),
            ));
        }
        if slab.len().checked_mul(self.typesize().into()) != Some(len as u64) {
            let problem =
                format!("have {len} bytes, which do not agree with the {} selected elements", slab.len());
            return Err(Error::usage("bytes", problem));
        }
        Ok(())
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    pub(crate) fn b2nd(&self) -> &B2nd {
        &self.b2nd
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

pub(crate) fn unfit() -> Error {
    Error::usage("shape", "contradicts the shapes of chunks and blocks")
}

fn to_usize(n: u64) -> usize {
    bound::addressable(n)
}
