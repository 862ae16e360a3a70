//! Parameters of compression, and the block sizes that suit them.

use sciformats_core::{Error, Result, bound};

use crate::spec::chunk_header::{MAX_BLOCKSIZE, MAX_NBYTES};
use crate::spec::pipeline::{Codec, Filter, Pipeline, SLOTS};

/// The highest level.
const MAX_LEVEL: u8 = 9;

/// Whether blocks are divided into one stream for each byte of an element.
///
/// ```
/// use cframe::{Chunk, Codec, Params, Split};
///
/// let counts: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
/// let params = Params::new(4).with_codec(Codec::Lz4);
/// for (split, expected) in [(Split::Always, true), (Split::Never, false), (Split::Auto, true)] {
///     let bytes = cframe::compress(&counts, &params.with_split(split))?;
///     assert_eq!(Chunk::new(&bytes)?.is_split(), expected);
/// }
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Split {
    /// Always.
    Always,
    /// Never.
    Never,
    /// If the codec is fast and gains from it, which is the case after a byte shuffle.
    #[default]
    Auto,
    /// The same as `Auto`, with another number in files.
    ForwardCompatible,
}

impl Split {
    /// Returns the number in a frame's header.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Always => 0,
            Self::Never => 1,
            Self::Auto => 2,
            Self::ForwardCompatible => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Self {
        match code & 3 {
            0 => Self::Always,
            1 => Self::Never,
            2 => Self::Auto,
            _ => Self::ForwardCompatible,
        }
    }
}

/// Parameters of compression.
///
/// ```
/// use cframe::{Codec, Filter, Params};
///
/// let params = Params::new(8).with_codec(Codec::Zlib).with_level(6).with_filters(&[Filter::BITSHUFFLE])?;
/// let data: Vec<u8> = (0..1000u64).flat_map(u64::to_le_bytes).collect();
/// let chunk = cframe::compress(&data, &params)?;
/// assert!(chunk.len() < 1000);
/// assert_eq!(cframe::decompress(&chunk)?, data);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub(crate) typesize: u32,
    pub(crate) codec: Codec,
    pub(crate) codec_meta: u8,
    pub(crate) level: u8,
    pub(crate) pipeline: Pipeline,
    pub(crate) split: Split,
    pub(crate) blocksize: u32,
    pub(crate) dictionary: bool,
    pub(crate) blosc1: bool,
}

impl Params {
    /// Returns parameters for elements of `typesize` bytes, with the byte shuffle and the fastest codec at level 5.
    ///
    /// ```
    /// use cframe::{Chunk, Codec, Filter, Params};
    ///
    /// let bytes = cframe::compress(&[21; 4000], &Params::new(4))?;
    /// let chunk = Chunk::new(&bytes)?;
    /// assert_eq!((chunk.typesize(), chunk.codec()), (4, Codec::Lz4));
    /// assert!(chunk.pipeline().filters().eq([Filter::SHUFFLE]));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn new(typesize: u32) -> Self {
        let mut slots = [Filter::NONE; SLOTS];
        if let Some(last) = slots.last_mut() {
            *last = Filter::SHUFFLE;
        }
        Self {
            typesize,
            codec: Codec::Lz4,
            codec_meta: 0,
            level: 5,
            pipeline: Pipeline(slots),
            split: Split::Auto,
            blocksize: 0,
            dictionary: false,
            blosc1: false,
        }
    }

    /// Returns the same parameters with another codec.
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Self {
        Self { codec, ..self }
    }

    /// Returns the same parameters with another parameter of the codec.
    #[must_use]
    pub fn with_codec_meta(self, codec_meta: u8) -> Self {
        Self { codec_meta, ..self }
    }

    /// Returns the same parameters with another level, from 0 (uncompressed) to 9 (smallest). Compressing or writing with a
    /// larger level fails with `Usage`.
    ///
    /// ```
    /// use cframe::{Error, Params};
    ///
    /// let error = cframe::compress(&[21; 4000], &Params::new(4).with_level(10)).unwrap_err();
    /// assert!(matches!(error, Error::Usage { argument: "level", .. }));
    /// ```
    #[must_use]
    pub fn with_level(self, level: u8) -> Self {
        Self { level, ..self }
    }

    /// Fails if chunks and frames cannot store these parameters.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn check(&self) -> Result<()> {
        match self.level {
            0..=MAX_LEVEL => Ok(()),
            level => Err(Error::usage("level", format!("is {level}, but must be 0 to {MAX_LEVEL}"))),
        }
    }

    /// Returns the same parameters with other filters, at most six, in the order in which they are applied. They take the last
    /// slots.
    ///
    /// ```
    /// use cframe::{Filter, Params};
    ///
    /// // Floats of which ten bits of the mantissa are worth keeping.
    /// let params = Params::new(4).with_filters(&[Filter::trunc_prec(10), Filter::BITSHUFFLE])?;
    /// let chunk = cframe::compress(&281.537f32.to_le_bytes().repeat(1000), &params)?;
    /// let first = f32::from_le_bytes(cframe::decompress(&chunk)?[..4].try_into()?);
    /// assert!((first - 281.537).abs() < 0.25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there are more than six.
    pub fn with_filters(self, filters: &[Filter]) -> Result<Self> {
        let mut slots = [Filter::NONE; SLOTS];
        let free = SLOTS.checked_sub(filters.len());
        let free = free.ok_or_else(|| {
            Error::usage(
                "filters",
                format!("are {} in number, but a chunk can have at most 6", filters.len()),
            )
        })?;
        slots.iter_mut().skip(free).zip(filters).for_each(|(slot, filter)| *slot = *filter);
        Ok(self.with_pipeline(Pipeline(slots)))
    }

    /// Returns the same parameters with other filters, slot by slot.
    #[must_use]
    pub fn with_pipeline(self, pipeline: Pipeline) -> Self {
        Self { pipeline, ..self }
    }

    /// Returns the same parameters; blocks are split or not.
    #[must_use]
    pub fn with_split(self, split: Split) -> Self {
        Self { split, ..self }
    }

    /// Returns the same parameters with another size of blocks in bytes; 0 chooses one automatically.
    #[must_use]
    pub fn with_blocksize(self, blocksize: u32) -> Self {
        Self { blocksize, ..self }
    }

    /// Returns the same parameters; a dictionary is made for each chunk, if the codec has dictionaries.
    ///
    /// ```
    /// use cframe::{Chunk, Codec, Params};
    ///
    /// let names: Vec<u8> = (0..5000).flat_map(|i| format!("station {i}, ").into_bytes()).collect();
    /// let params = Params::new(1).with_codec(Codec::Lz4).with_filters(&[])?.with_blocksize(2000).with_dictionary(true);
    /// let bytes = cframe::compress(&names, &params)?;
    /// assert!(Chunk::new(&bytes)?.has_dictionary());
    /// assert_eq!(cframe::decompress(&bytes)?, names);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_dictionary(self, dictionary: bool) -> Self {
        Self { dictionary, ..self }
    }

    /// Returns the same parameters for chunks that Blosc 1 can read. No filters but one shuffle are possible.
    ///
    /// ```
    /// use cframe::{Chunk, Codec, Params};
    ///
    /// let bytes = cframe::compress(&[21; 4000], &Params::new(4).with_codec(Codec::BloscLz).with_blosc1())?;
    /// assert_eq!(Chunk::new(&bytes)?.version(), 2);
    /// assert_eq!(cframe::decompress(&bytes)?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_blosc1(self) -> Self {
        Self { blosc1: true, ..self }
    }

    /// Returns the type size that is stored in a chunk's header.
    pub(crate) fn stored_typesize(&self) -> u8 {
        u8::try_from(self.typesize).unwrap_or(1).max(1)
    }

    /// Returns whether whole blocks of `blocksize` bytes are split.
    pub(crate) fn splits(&self, blocksize: u32) -> bool {
        let typesize = u32::from(self.stored_typesize());
        let Some(stream) = blocksize.checked_div(typesize) else { return false };
        if self.blosc1 && (typesize > 16 || stream < 128) {
            return false;
        }
        match self.split {
            Split::Always => blocksize.is_multiple_of(typesize),
            Split::Never => false,
            Split::Auto | Split::ForwardCompatible => {
                let fast = match self.codec {
                    Codec::BloscLz | Codec::Lz4 => true,
                    Codec::Zstd => self.level <= 5,
                    _ => false,
                };
                fast && self.pipeline.contains(Filter::SHUFFLE.id)
                    && typesize <= 16
                    && stream >= 32
                    && blocksize.is_multiple_of(typesize)
            }
        }
    }

    /// Returns the size of the blocks of a chunk of `nbytes` bytes, at least one.
    pub(crate) fn blocksize_for(&self, nbytes: u32) -> u32 {
        let typesize = u32::from(self.stored_typesize());
        let wanted = if self.blocksize > 0 { self.blocksize } else { self.automatic(nbytes, typesize) };
        let size = wanted.min(nbytes).min(MAX_BLOCKSIZE);
        let whole = size.checked_rem(typesize).map_or(size, |rest| bound::left(size, rest));
        if whole == 0 { size.max(1) } else { whole }
    }

    /// Returns parameters for a chunk of Blosc 1 with `nbytes` bytes that every reader reads. If the last block has whole octets of
    /// elements and then a part of one, C-Blosc2 loses this part with bitshuffle, but not with shuffle.
    pub(crate) fn for_every_reader(self, nbytes: u32) -> Self {
        let typesize = u32::from(self.stored_typesize());
        let last = nbytes.checked_rem(self.blocksize_for(nbytes)).unwrap_or(0); // a bound
        let last = if last == 0 { self.blocksize_for(nbytes).min(nbytes) } else { last };
        let count = last.checked_div(typesize).unwrap_or(0); // a bound
        if !self.pipeline.contains(Filter::BITSHUFFLE.id)
            || last.is_multiple_of(typesize)
            || !count.is_multiple_of(8)
        {
            return self;
        }
        let pipeline = self.pipeline.0.map(|filter| match filter {
            Filter::BITSHUFFLE => Filter::SHUFFLE,
            other => other,
        });
        Self { pipeline: Pipeline(pipeline), ..self }
    }

    /// Returns the block size that a frame declares; 0 if each chunk chooses its own. c-blosc2 compresses with it as it is, and cannot
    /// read the chunk if it ends within an element.
    pub(crate) fn declared_blocksize(&self) -> u32 {
        if self.blocksize == 0 { 0 } else { self.blocksize_for(MAX_NBYTES) }
    }

    /// Returns whether a dictionary is made for each chunk. c-blosc2 compresses nothing if a frame declares dictionaries for a codec
    /// that has none.
    pub(crate) fn makes_dictionaries(&self) -> bool {
        self.dictionary && matches!(self.codec, Codec::Lz4 | Codec::Lz4Hc | Codec::Zstd)
    }

    fn automatic(&self, nbytes: u32, typesize: u32) -> u32 {
        const BASE: u32 = 32 << 10;
        const LARGEST: u32 = 4 << 20;
        if nbytes < BASE {
            return nbytes;
        }
        let strong = matches!(self.codec, Codec::Lz4Hc | Codec::Zlib | Codec::Zstd);
        let base = if strong { BASE << 1 } else { BASE };
        let size = match self.level {
            0 => base >> 2,
            1 => base >> 1,
            2 => base,
            3 => base << 1,
            4 | 5 => base << 2,
            6..=8 => base << 3,
            _ if strong => base << 4,
            _ => base << 3,
        };
        if self.level == 0 || !self.splits(size) {
            return size;
        }
        let stream: u32 = match self.level {
            0..=3 => 32 << 10,
            4..=6 => 64 << 10,
            7 => 128 << 10,
            8 => 256 << 10,
            _ => 512 << 10,
        };
        bound::product(stream, typesize).clamp(BASE, LARGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes() {
        let shuffled = Params::new(8);
        assert_eq!(shuffled.blocksize_for(1 << 24), 512 << 10);
        assert_eq!(shuffled.with_codec(Codec::Zlib).blocksize_for(1 << 24), 256 << 10);
        assert_eq!(shuffled.with_blocksize(1003).blocksize_for(1 << 24), 1000);
        assert_eq!(shuffled.blocksize_for(100), 96);
        assert_eq!(shuffled.blocksize_for(5), 5);
        assert_eq!(shuffled.blocksize_for(0), 1);
        assert_eq!(Params::new(300).with_blocksize(7).blocksize_for(100), 7);
    }

    #[test]
    fn filters_take_the_last_slots() {
        let params = Params::new(4).with_filters(&[Filter::DELTA, Filter::SHUFFLE]).unwrap();
        assert_eq!(params.pipeline.ids(), [0, 0, 0, 0, 3, 1]);
        assert!(params.with_filters(&[Filter::DELTA; 7]).is_err());
        assert_eq!((0..4).map(Split::from_code).map(Split::code).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}
