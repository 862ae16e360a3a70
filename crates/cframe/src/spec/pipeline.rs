//! The common parts of chunks and frames: codecs, and the pipeline of filters.

use nom::bytes::complete::take;
use sciformats_core::fault::{Parsed, field};

/// The number of filter slots. Slot 0 is applied first when compressing, and last when reading.
pub const SLOTS: usize = 6;

/// A compressor, identified by its number in Blosc2.
///
/// ```
/// use cframe::Codec;
///
/// assert_eq!((Codec::Zstd.id(), Codec::Zstd.name()), (5, "zstd"));
/// assert_eq!(Codec::from_id(5), Codec::Zstd);
/// assert_eq!((Codec::from_id(200), Codec::Other(200).name()), (Codec::Other(200), "user"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// 0, Blosc's own byte-oriented LZ77.
    #[default]
    BloscLz,
    /// 1, an LZ4 block.
    Lz4,
    /// 2, an LZ4 block from a slower and stronger compressor.
    Lz4Hc,
    /// 3, Snappy, which only exists in chunks of Blosc 1.
    Snappy,
    /// 4, a zlib stream.
    Zlib,
    /// 5, a Zstandard frame.
    Zstd,
    /// 32, cells of 4 × 4 or 8 × 8 bytes.
    NdLz,
    /// Another number: a registered codec (33–159) or a codec of the user (160–255).
    Other(u8),
}

impl Codec {
    /// Returns the codec with this number.
    pub fn from_id(id: u8) -> Self {
        match id {
            0 => Self::BloscLz,
            1 => Self::Lz4,
            2 => Self::Lz4Hc,
            3 => Self::Snappy,
            4 => Self::Zlib,
            5 => Self::Zstd,
            32 => Self::NdLz,
            other => Self::Other(other),
        }
    }

    /// Returns its number.
    pub fn id(self) -> u8 {
        match self {
            Self::BloscLz => 0,
            Self::Lz4 => 1,
            Self::Lz4Hc => 2,
            Self::Snappy => 3,
            Self::Zlib => 4,
            Self::Zstd => 5,
            Self::NdLz => 32,
            Self::Other(id) => id,
        }
    }

    /// Returns its registered name; `user` for numbers that are reserved for users, `unknown` for numbers that are not
    /// registered.
    pub fn name(self) -> &'static str {
        match self.id() {
            0 => "blosclz",
            1 => "lz4",
            2 => "lz4hc",
            3 => "snappy",
            4 => "zlib",
            5 => "zstd",
            32 => "ndlz",
            33 => "zfp_acc",
            34 => "zfp_prec",
            35 => "zfp_rate",
            36 => "openhtj2k",
            37 => "grok",
            38 => "openzl",
            39 => "j2k",
            40 => "htj2k",
            160.. => "user",
            _ => "unknown",
        }
    }

    /// Returns the three bits of a chunk's flags, which are also the low half of a frame's codec byte. Several codecs share a
    /// format.
    pub(crate) fn format(self) -> u8 {
        match self {
            Self::BloscLz => 0,
            Self::Lz4 | Self::Lz4Hc => 1,
            Self::Snappy => 2,
            Self::Zlib => 3,
            Self::Zstd => 4,
            Self::NdLz | Self::Other(_) => 6,
        }
    }

    /// Returns the codec for the format bits of a chunk without a byte for the codec.
    pub(crate) fn from_format(format: u8) -> Self {
        match format {
            0 => Self::BloscLz,
            1 => Self::Lz4,
            2 => Self::Snappy,
            3 => Self::Zlib,
            4 => Self::Zstd,
            other => Self::Other(other),
        }
    }
}

/// A filter with its parameter, as in one slot of a pipeline.
///
/// ```
/// use cframe::{Filter, Params};
///
/// let params = Params::new(4).with_filters(&[Filter::SHUFFLE, Filter::BYTEDELTA])?;
/// let chunk = cframe::compress(&[21; 4000], &params)?;
/// assert_eq!(Filter::BYTEDELTA.name(), "bytedelta");
/// assert_eq!(cframe::Chunk::new(&chunk)?.pipeline().filters().last(), Some(Filter::BYTEDELTA));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Filter {
    /// Its number: 0 none, 1–31 built in, 32–159 registered, 160–255 reserved for users.
    pub id: u8,
    /// Its parameter, whose meaning depends on the filter.
    pub meta: u8,
}

impl Filter {
    /// An empty slot.
    pub const NONE: Self = Self::new(0, 0);
    /// The byte shuffle, which makes bytes of equal significance adjacent.
    pub const SHUFFLE: Self = Self::new(1, 0);
    /// The bit shuffle, which makes bits of equal significance adjacent.
    pub const BITSHUFFLE: Self = Self::new(2, 0);
    /// Exclusive or with the first block.
    pub const DELTA: Self = Self::new(3, 0);
    /// Differences of neighbouring bytes, which are used after a shuffle.
    pub const BYTEDELTA: Self = Self::new(35, 0);

    /// Returns the filter with this number.
    ///
    /// ```
    /// assert_eq!(cframe::Filter::new(2, 0), cframe::Filter::BITSHUFFLE);
    /// ```
    pub const fn new(id: u8, meta: u8) -> Self {
        Self { id, meta }
    }

    /// Keeps `bits` bits of the mantissa of floats (or drops `-bits` if negative). This loses precision.
    ///
    /// ```
    /// use cframe::{Filter, Params};
    ///
    /// let params = Params::new(8).with_filters(&[Filter::trunc_prec(12), Filter::SHUFFLE])?;
    /// let chunk = cframe::compress(&281.537_f64.to_le_bytes(), &params)?;
    /// let read = f64::from_le_bytes(cframe::decompress(&chunk)?.try_into().unwrap_or_default());
    /// assert!((read - 281.537).abs() < 0.1);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub const fn trunc_prec(bits: i8) -> Self {
        Self::new(4, bits.cast_unsigned())
    }

    /// Returns its registered name; `user` for numbers that are reserved for users, `unknown` for numbers that are not
    /// registered.
    pub fn name(self) -> &'static str {
        match self.id {
            0 => "none",
            1 => "shuffle",
            2 => "bitshuffle",
            3 => "delta",
            4 => "trunc_prec",
            32 => "ndcell",
            33 => "ndmean",
            34 => "bytedelta_buggy",
            35 => "bytedelta",
            36 => "int_trunc",
            160.. => "user",
            _ => "unknown",
        }
    }
}

/// The filters of all slots.
///
/// ```
/// use cframe::{Filter, Params, Pipeline};
///
/// let mut pipeline = Pipeline::default();
/// pipeline.0[5] = Filter::BITSHUFFLE; // the last slot
/// let params = Params::new(4).with_pipeline(pipeline);
/// assert_eq!(params, Params::new(4).with_filters(&[Filter::BITSHUFFLE])?);
/// assert_eq!(pipeline.filters().count(), 1);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Pipeline(pub [Filter; SLOTS]);

impl Pipeline {
    /// Returns the pipeline for numbers and parameters that are stored separately.
    pub(crate) fn of(ids: [u8; SLOTS], metas: [u8; SLOTS]) -> Self {
        let mut slots = [Filter::NONE; SLOTS];
        for (slot, (id, meta)) in slots.iter_mut().zip(ids.into_iter().zip(metas)) {
            *slot = Filter { id, meta };
        }
        Self(slots)
    }

    /// Returns the filters of all slots that are not empty, in the order of compression.
    pub fn filters(&self) -> impl DoubleEndedIterator<Item = Filter> + '_ {
        self.0.iter().copied().filter(|filter| filter.id != 0)
    }

    /// Returns whether one of the filters has this number.
    ///
    /// ```
    /// use cframe::{Filter, Pipeline};
    ///
    /// let pipeline = Pipeline([Filter::SHUFFLE; 6]);
    /// assert!(pipeline.contains(Filter::SHUFFLE.id) && !pipeline.contains(Filter::DELTA.id));
    /// ```
    pub fn contains(&self, id: u8) -> bool {
        self.0.iter().any(|filter| filter.id == id)
    }

    pub(crate) fn ids(&self) -> [u8; SLOTS] {
        self.0.map(|filter| filter.id)
    }

    pub(crate) fn metas(&self) -> [u8; SLOTS] {
        self.0.map(|filter| filter.meta)
    }
}

/// Parses one byte per slot.
pub(crate) fn slots<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, [u8; SLOTS]> {
    move |i| {
        let (i, bytes) = field(name, take(SLOTS))(i)?;
        let mut out = [0; SLOTS];
        out.copy_from_slice(bytes);
        Ok((i, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codecs_are_one_to_one() {
        for id in 0..=255 {
            assert_eq!(Codec::from_id(id).id(), id);
        }
        assert_eq!(Codec::from_format(Codec::Lz4Hc.format()), Codec::Lz4);
    }

    #[test]
    fn a_pipeline_keeps_its_slots() {
        let pipeline = Pipeline::of([0, 3, 0, 0, 0, 1], [9, 0, 0, 0, 0, 4]);
        assert_eq!(pipeline.ids(), [0, 3, 0, 0, 0, 1]);
        assert_eq!(pipeline.metas(), [9, 0, 0, 0, 0, 4]);
        assert_eq!(pipeline.filters().map(Filter::name).collect::<Vec<_>>(), ["delta", "shuffle"]);
        assert_eq!(Filter::trunc_prec(-3).meta, 253);
    }
}
