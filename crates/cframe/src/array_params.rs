//! Parameters of new arrays: the shapes and the element type.

use sciformats_core::{Error, Result, bound};

use crate::model::dtype::DType;
use crate::model::params::Params;
use crate::spec::b2nd::{B2nd, MAX_DIMENSIONS, StoredType};
use crate::spec::chunk_header::MAX_NBYTES;
use crate::spec::pipeline::Codec;

/// The shape of a new array, its element type, and the shapes of its chunks and blocks.
///
/// ```
/// use cframe::{Array, ArrayParams, Codec, Filter, Params};
///
/// let small = Params::new(8).with_codec(Codec::Zlib).with_level(9).with_filters(&[Filter::BITSHUFFLE])?;
/// let params = ArrayParams::of::<f64>(&[1000, 1000])?.with_chunks(&[250, 1000]).with_blocks(&[25, 100]).with_params(small);
/// let pressure = Array::new(&params)?;
/// assert_eq!((pressure.chunk_shape(), pressure.block_shape()), (&[250, 1000][..], &[25, 100][..]));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrayParams {
    shape: Vec<u64>,
    dtype: String,
    chunks: Option<Vec<u64>>,
    blocks: Option<Vec<u64>>,
    pub(crate) params: Params,
}

/// The largest size of a chunk in bytes, if its shape is chosen automatically.
pub(crate) const CHUNK_BYTES: u64 = 4 << 20;
/// The length that stands for an empty dimension when the shape of chunks is chosen.
const EMPTY: u64 = 1024;

impl ArrayParams {
    /// Creates parameters for an array of `shape`; `dtype` is the element type as NumPy writes it.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let big_endian = Array::new(&ArrayParams::new(&[365], ">f4")?)?;
    /// let records = Array::new(&ArrayParams::new(&[10], "[('time', '<i8'), ('position', '<f4', (3,))]")?)?;
    /// assert_eq!((big_endian.typesize(), records.typesize()), (4, 20));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the type does not have a fixed size; `Usage` if its elements have no bytes, or if there are more than 16
    /// dimensions.
    pub fn new(shape: &[u64], dtype: &str) -> Result<Self> {
        let size = DType::parse(dtype)?.size();
        let typesize = u32::try_from(size).ok().filter(|&size| size > 0);
        let typesize = typesize.ok_or_else(|| {
            Error::usage("dtype", format!("has elements of {size} bytes, which is not possible"))
        })?;
        if shape.len() > usize::from(MAX_DIMENSIONS) {
            return Err(Error::usage(
                "shape",
                format!("has {} dimensions, but at most 16 are possible", shape.len()),
            ));
        }
        Ok(Self::raw(shape, dtype, typesize))
    }

    /// Does the same as [`new`](Self::new), for an element type that need not be known.
    pub(crate) fn raw(shape: &[u64], dtype: &str, typesize: u32) -> Self {
        Self {
            shape: shape.into(),
            dtype: dtype.into(),
            chunks: None,
            blocks: None,
            params: Params::new(typesize),
        }
    }

    /// Returns the same parameters with this shape of the chunks.
    #[must_use]
    pub fn with_chunks(self, chunks: &[u64]) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Returns the same parameters with this shape of the blocks.
    #[must_use]
    pub fn with_blocks(self, blocks: &[u64]) -> Self {
        Self { blocks: Some(blocks.into()), ..self }
    }

    /// Returns the same parameters with another codec of the chunks.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Codec};
    ///
    /// let small = ArrayParams::of::<f32>(&[1000, 1000])?.with_codec(Codec::Zlib).with_level(9);
    /// assert_eq!(Array::new(&small)?.shape(), [1000, 1000]);
    /// let beyond = ArrayParams::of::<f32>(&[0])?.with_codec(Codec::Zlib).with_level(10);
    /// assert!(Array::new(&beyond).and_then(|mut array| array.append(0, &[1.0f32])).is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Self {
        Self { params: self.params.with_codec(codec), ..self }
    }

    /// Returns the same parameters with another level, from 0 (uncompressed) to 9 (smallest). Writing elements with a larger
    /// level fails with `Usage`.
    #[must_use]
    pub fn with_level(self, level: u8) -> Self {
        Self { params: self.params.with_level(level), ..self }
    }

    /// Returns the same parameters with another compression of the chunks. The type size stays that of the element type.
    #[must_use]
    pub fn with_params(self, params: Params) -> Self {
        let typesize = self.params.typesize;
        Self { params: Params { typesize, ..params }, ..self }
    }

    pub(crate) fn b2nd(&self) -> Result<B2nd> {
        let size = u64::from(self.params.typesize);
        let chunks = match &self.chunks {
            Some(chunks) => lengths("chunks", chunks)?,
            None => {
                // An empty dimension is expected to grow.
                let grown = |&n: &u64| if n == 0 { EMPTY } else { n };
                part_of(&self.shape.iter().map(grown).collect::<Vec<_>>(), CHUNK_BYTES / size)
            }
        };
        let block_bytes = self.params.blocksize_for(MAX_NBYTES);
        let blocks = match &self.blocks {
            Some(blocks) => lengths("blocks", blocks)?,
            None => {
                part_of(&chunks.iter().map(|&n| n.into()).collect::<Vec<_>>(), u64::from(block_bytes) / size)
            }
        };
        if chunks.len() != self.shape.len() || blocks.len() != self.shape.len() {
            return Err(Error::usage(
                "chunk or block shape",
                "has another number of dimensions than the array",
            ));
        }
        let dtype = Some(StoredType { format: 0, text: self.dtype.clone() });
        Ok(B2nd { shape: self.shape.clone(), chunks, blocks, dtype })
    }
}

/// Returns lengths as the format stores them.
///
/// # Errors
/// Returns `Usage` if one of them has more than 32 bits.
pub(crate) fn lengths(argument: &'static str, shape: &[u64]) -> Result<Vec<u32>> {
    let narrow = shape.iter().map(|&n| u32::try_from(n)).collect::<std::result::Result<_, _>>();
    narrow.map_err(|_| Error::usage(argument, "have 2^32 or more elements along a dimension"))
}

/// Returns the shape of a box inside `shape` that has at most `elements` elements (at least one), with sides as equal as
/// possible.
fn part_of(shape: &[u64], elements: u64) -> Vec<u32> {
    const LONGEST: u32 = u32::MAX >> 1;
    let mut part: Vec<u32> =
        shape.iter().map(|&n| u32::try_from(n).map_or(LONGEST, |n| n.min(LONGEST))).collect();
    let count = |part: &[u32]| part.iter().fold(1u64, |product, &n| bound::product(product, n.into()));
    while count(&part) > elements.max(1) {
        let Some(largest) = part.iter_mut().max().filter(|largest| **largest > 1) else { break };
        *largest = largest.div_ceil(2);
    }
    part
}
