//! The header of a chunk, which has 16 bytes, or 32 bytes if the flags say so. It is little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version of the format: 1 and 2 Blosc1, 3 to 5 Blosc2, 6 blocks of variable length |
//! | 1 | 1 | version of the codec's format |
//! | 2 | 1 | flags: 0x01 shuffle, 0x02 stored raw, 0x04 bitshuffle, 0x08 delta, 0x10 not split, 0xe0 codec format |
//! | 3 | 1 | type size; 1 if the real size exceeds 255 |
//! | 4 | 4 | nbytes: size of the decoded chunk |
//! | 8 | 4 | blocksize: size of a decoded block, or the number of blocks of variable length |
//! | 12 | 4 | cbytes: size of the chunk, including the header |
//! | 16 | 6 | filters, one byte per slot |
//! | 22 | 1 | codec |
//! | 23 | 1 | parameter of the codec |
//! | 24 | 6 | parameters of the filters |
//! | 30 | 1 | flags 2: 0x01 blocks of variable length |
//! | 31 | 1 | flags 3: 0x01 dictionary, 0x02 big-endian writer, 0x08 lazy, 0x70 special kind |
//!
//! The second half exists if both shuffle flags are set. It then contains what the flags of the first half no longer say.
//!
//! Before a dictionary, and before each block of variable length, there is its size:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | number of bytes that follow |

use nom::Parser;
use nom::number::complete::{le_u32, u8};
use sciformats_core::bound;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::pipeline::{Codec, Filter, Pipeline, slots};

/// The version of the chunks that Blosc2 writes.
pub(crate) const VERSION: u8 = 5;
/// The version of a chunk whose blocks vary in length.
pub(crate) const VERSION_VL: u8 = 6;
/// The last version with the rules of Blosc 1.
pub(crate) const VERSION_BLOSC1: u8 = 2;

const SHUFFLED: u8 = 0x01;
const RAW: u8 = 0x02;
const BITSHUFFLED: u8 = 0x04;
const DELTA: u8 = 0x08;
const UNSPLIT: u8 = 0x10;
const EXTENDED: u8 = SHUFFLED | BITSHUFFLED;
const VL_BLOCKS: u8 = 0x01;
const DICTIONARY: u8 = 0x01;

/// The largest size of a decoded chunk. Together with a header, it must fit 31 bits.
pub(crate) const MAX_NBYTES: u32 = i32::MAX as u32 - 32;
/// The largest size of a block.
pub(crate) const MAX_BLOCKSIZE: u32 = 536_866_816;
/// The largest number of streams into which Blosc 1 splits a block.
const BLOSC1_MAX_SPLIT: u8 = 16;
/// The smallest size of a stream into which Blosc 1 splits a block.
const BLOSC1_MIN_STREAM: u32 = 128;

/// The value of all bytes of a chunk for which no bytes are stored.
///
/// ```
/// use cframe::{Params, SChunk, Special};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// schunk.append_special(Special::Nan, &[], 4000)?;
/// assert_eq!(schunk.chunk(0)?.special(), Some(Special::Nan));
/// assert!(f32::from_le_bytes(schunk.read_items(0, 1)?.try_into().unwrap_or_default()).is_nan());
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Zeros.
    Zeros,
    /// NaN, as 4-byte or 8-byte floats.
    Nan,
    /// One value repeated, which follows the header.
    Value,
    /// Elements that nobody has written. They are read as zeros.
    Uninit,
}

impl Special {
    fn code(self) -> u8 {
        match self {
            Self::Zeros => 1,
            Self::Nan => 2,
            Self::Value => 3,
            Self::Uninit => 4,
        }
    }
}

/// The second half of a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extension {
    pub(crate) pipeline: Pipeline,
    pub(crate) codec: u8,
    pub(crate) codec_meta: u8,
    pub(crate) flags2: u8,
    pub(crate) flags3: u8,
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) version: u8,
    pub(crate) version_lz: u8,
    pub(crate) flags: u8,
    pub(crate) typesize: u8,
    pub(crate) nbytes: u32,
    pub(crate) blocksize: u32,
    pub(crate) cbytes: u32,
    pub(crate) extension: Option<Extension>,
}

impl ChunkHeader {
    /// The size of the short header in bytes.
    pub(crate) const SHORT: u32 = 16;
    /// The size of the long header in bytes.
    pub(crate) const LONG: u32 = 32;

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, version) = checked("version", u8, |&v| undefined(v == 0, v))(i)?;
        let (i, version_lz) = field("codec version", u8)(i)?;
        let (i, flags) = field("flags", u8)(i)?;
        let (i, typesize) = checked("typesize", u8, |&v| undefined(v == 0, v))(i)?;
        let (i, nbytes) = checked("nbytes", le_u32, |&v| beyond(v, 0x7fff_ffff))(i)?;
        let (i, blocksize) = checked("blocksize", le_u32, |&v| beyond(v, 0x7fff_ffff))(i)?;
        let size = if flags & EXTENDED == EXTENDED { Self::LONG } else { Self::SHORT };
        let (i, cbytes) = checked("cbytes", le_u32, |&v| {
            beyond(v, 0x7fff_ffff).or((v < size).then_some(FaultKind::Rule("is less than the header")))
        })(i)?;
        let (i, extension) = if size == Self::LONG {
            let (i, extension) = Extension::parse(i, version)?;
            (i, Some(extension))
        } else {
            (i, None)
        };
        Ok((i, Self { version, version_lz, flags, typesize, nbytes, blocksize, cbytes, extension }))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.version, self.version_lz, self.flags, self.typesize]);
        for word in [self.nbytes, self.blocksize, self.cbytes] {
            out.extend(word.to_le_bytes());
        }
        if let Some(extension) = &self.extension {
            extension.encode(out);
        }
    }

    /// Returns the long header of a chunk without a codec and filters.
    pub(crate) fn plain(typesize: u8, nbytes: u32, blocksize: u32) -> Self {
        let extension =
            Extension { pipeline: Pipeline::default(), codec: 0, codec_meta: 0, flags2: 0, flags3: 0 };
        Self {
            version: VERSION,
            version_lz: 1,
            flags: EXTENDED,
            typesize,
            nbytes,
            blocksize,
            cbytes: Self::LONG,
            extension: Some(extension),
        }
    }

    /// Sets the codec and the filters of a long header, and the flags that go with them.
    pub(crate) fn with_coding(
        mut self,
        codec: Codec,
        codec_meta: u8,
        pipeline: Pipeline,
        split: bool,
    ) -> Self {
        let delta = if pipeline.contains(Filter::DELTA.id) { DELTA } else { 0 };
        let unsplit = if split { 0 } else { UNSPLIT };
        self.flags = EXTENDED | delta | unsplit | (codec.format() << 5);
        if let Some(extension) = &mut self.extension {
            *extension = Extension { pipeline, codec: codec.id(), codec_meta, ..*extension };
        }
        self
    }

    /// Marks the content as uncompressed.
    pub(crate) fn raw(self) -> Self {
        Self { flags: self.flags | RAW, ..self }
    }

    /// Marks the content as one repeated value.
    pub(crate) fn special_kind(mut self, special: Special) -> Self {
        if let Some(extension) = &mut self.extension {
            extension.flags3 = (extension.flags3 & !0x70) | (special.code() << 4);
        }
        self
    }

    /// Marks that a dictionary follows the block starts.
    pub(crate) fn with_dictionary(mut self) -> Self {
        if let Some(extension) = &mut self.extension {
            extension.flags3 |= DICTIONARY;
        }
        self
    }

    /// Marks the blocks as blocks of variable length; `blocksize` is then their number.
    pub(crate) fn with_vl_blocks(mut self) -> Self {
        self.version = VERSION_VL;
        self.flags |= UNSPLIT;
        if let Some(extension) = &mut self.extension {
            extension.flags2 |= VL_BLOCKS;
        }
        self
    }

    /// Returns its own size in bytes.
    pub(crate) fn size(&self) -> u32 {
        if self.extension.is_some() { Self::LONG } else { Self::SHORT }
    }

    pub(crate) fn codec(&self) -> Codec {
        let format = self.flags >> 5;
        match &self.extension {
            // The codec byte distinguishes codecs that share a format. The first writers left it 0.
            Some(extension) if format == 6 || Codec::from_id(extension.codec).format() == format => {
                Codec::from_id(extension.codec)
            }
            _ => Codec::from_format(format),
        }
    }

    pub(crate) fn codec_meta(&self) -> u8 {
        self.extension.map_or(0, |extension| extension.codec_meta)
    }

    /// Returns the filters: those of the long header, or those that the flags of a short one stand for.
    pub(crate) fn pipeline(&self) -> Pipeline {
        match &self.extension {
            Some(extension) => extension.pipeline,
            None => {
                let pick = |flag: u8, filter: Filter| {
                    if self.flags & flag == 0 { Filter::NONE } else { filter }
                };
                let last = match pick(SHUFFLED, Filter::SHUFFLE) {
                    Filter::NONE => pick(BITSHUFFLED, Filter::BITSHUFFLE),
                    shuffle => shuffle,
                };
                let none = Filter::NONE;
                Pipeline([none, none, none, none, pick(DELTA, Filter::DELTA), last])
            }
        }
    }

    pub(crate) fn is_raw(&self) -> bool {
        self.flags & RAW != 0
    }

    pub(crate) fn has_vl_blocks(&self) -> bool {
        self.extension.is_some_and(|extension| extension.flags2 & VL_BLOCKS != 0)
    }

    pub(crate) fn has_dictionary(&self) -> bool {
        self.extension.is_some_and(|extension| extension.flags3 & DICTIONARY != 0)
    }

    /// Returns the special kind, or `None` for ordinary content.
    pub(crate) fn special(&self) -> Option<Special> {
        match self.extension?.flags3 >> 4 & 7 {
            1 => Some(Special::Zeros),
            2 => Some(Special::Nan),
            3 => Some(Special::Value),
            4 => Some(Special::Uninit),
            _ => None,
        }
    }

    /// Returns whether whole blocks are split into one stream for each byte of an element. `blocksize` is the real one.
    pub(crate) fn is_split(&self, blocksize: u32) -> bool {
        if self.flags & UNSPLIT != 0 || self.has_vl_blocks() {
            return false;
        }
        // The flag was introduced after the first releases of Blosc 1, which had this rule.
        let always = self.extension.is_some() || self.version > VERSION_BLOSC1;
        let stream = blocksize.checked_div(u32::from(self.typesize)).unwrap_or_default();
        always || (self.typesize <= BLOSC1_MAX_SPLIT && stream >= BLOSC1_MIN_STREAM)
    }
}

impl Extension {
    fn parse(i: &[u8], version: u8) -> Parsed<'_, Self> {
        let (i, mut filters) = slots("filters")(i)?;
        let (i, codec) = field("codec", u8)(i)?;
        let (i, codec_meta) = field("codec meta", u8)(i)?;
        let (i, mut metas) = slots("filters meta")(i)?;
        let (i, flags2) =
            checked("flags 2", u8, |&v| undefined(version > VERSION_VL && v > VL_BLOCKS, v))(i)?;
        let (i, flags3) = checked("flags 3", u8, |&v| undefined(v >> 4 & 7 > 4, v))(i)?;
        if version == 3 {
            // Writers of this version did not initialize the last slot.
            let last = filters.iter_mut().zip(&mut metas).last();
            last.into_iter().for_each(|(id, meta)| (*id, *meta) = (0, 0));
        }
        Ok((i, Self { pipeline: Pipeline::of(filters, metas), codec, codec_meta, flags2, flags3 }))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.pipeline.ids());
        out.extend([self.codec, self.codec_meta]);
        out.extend(self.pipeline.metas());
        out.extend([self.flags2, self.flags3]);
    }
}

fn undefined(is: bool, found: u8) -> Option<FaultKind> {
    is.then_some(FaultKind::Undefined { found: found.into() })
}

fn beyond(found: u32, last: u32) -> Option<FaultKind> {
    let end = bound::sum(last.into(), 1);
    (found > last).then_some(FaultKind::OutOfBounds { found: found.into(), end })
}

/// Parses the length of a dictionary.
pub(crate) fn dictionary_size(i: &[u8]) -> Parsed<'_, u32> {
    checked("size of the dictionary", le_u32, |&v| {
        (v == 0 || v > MAX_DICTIONARY)
            .then_some(FaultKind::OutOfBounds { found: v.into(), end: bound::sum(MAX_DICTIONARY.into(), 1) })
    })(i)
}

/// The largest size of a dictionary.
pub(crate) const MAX_DICTIONARY: u32 = 32_768;

/// Parses the length of a block of variable length.
pub(crate) fn vl_block_size(i: &[u8]) -> Parsed<'_, u32> {
    let (rest, size) = field("size of a block", le_u32).parse(i)?;
    if size > MAX_NBYTES {
        return field("size of a block", |i| fail(i, FaultKind::Overflow))(i);
    }
    Ok((rest, size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    const LONG: [u8; 32] = [
        5,    // version
        1,    // codec version
        0x8d, // flags: extended, delta, zstd
        4,    // typesize
        0, 1, 0, 0, // nbytes 256
        128, 0, 0, 0, // blocksize
        40, 0, 0, 0, // cbytes
        0, 0, 0, 0, 3, 1, // filters: delta, shuffle
        5, // codec zstd
        0, // codec meta
        0, 0, 0, 0, 0, 2,    // filters meta
        0,    // flags 2
        0x31, // flags 3: repeated value, dictionary
    ];

    #[test]
    fn a_long_header() {
        let (rest, header) = ChunkHeader::parse(&LONG).unwrap();
        assert!(rest.is_empty());
        assert_eq!(header.codec(), Codec::Zstd);
        assert_eq!(header.special(), Some(Special::Value));
        assert!(header.has_dictionary() && header.is_split(128) && !header.is_raw());
        assert_eq!(header.pipeline().0[5], Filter::new(1, 2));
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, LONG);
    }

    #[test]
    fn a_short_header_has_its_pipeline_in_the_flags() {
        let short = [
            2,    // version
            1,    // codec version
            0x24, // flags: bitshuffle, lz4
            4,    // typesize
            0, 1, 0, 0, // nbytes 256
            128, 0, 0, 0, // blocksize
            40, 0, 0, 0, // cbytes
        ];
        let header = locate("chunk header", 0, &short, ChunkHeader::parse).unwrap();
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, short);
        assert_eq!(header.codec(), Codec::Lz4);
        assert_eq!(header.pipeline().filters().collect::<Vec<_>>(), [Filter::BITSHUFFLE]);
        // Streams of 128 / 4 bytes are too short for the rule of Blosc 1.
        assert!(!header.is_split(128) && header.is_split(512));
    }

    #[test]
    fn sizes_of_dictionaries_and_blocks() {
        let bytes = [
            0, 0x80, 0, 0,    // size: 32768
            0xff, // what it is the size of
        ];
        assert_eq!(dictionary_size(&bytes), Ok((&[0xff][..], MAX_DICTIONARY)));
        assert_eq!(vl_block_size(&bytes), Ok((&[0xff][..], 32_768)));
        assert!(dictionary_size(&[1, 0x80, 0, 0]).is_err() && dictionary_size(&[0; 4]).is_err());
        assert!(vl_block_size(&[0xff; 4]).is_err());
    }

    #[test]
    fn faults_name_the_field() {
        let show = |position: usize, value: u8| {
            let mut bytes = LONG;
            bytes[position] = value;
            locate("chunk header", 0x20, &bytes, ChunkHeader::parse).unwrap_err().to_string()
        };
        assert_eq!(
            show(0, 0),
            "malformed chunk header at offset 0x20: version is 0 (0x0), which is not defined"
        );
        assert_eq!(show(12, 31), "malformed chunk header at offset 0x2c: cbytes is less than the header");
        assert_eq!(
            show(31, 0x50),
            "malformed chunk header at offset 0x3f: flags 3 is 80 (0x50), which is not defined"
        );
        let short = locate("chunk header", 0, &LONG[..9], ChunkHeader::parse).unwrap_err();
        assert_eq!(short.to_string(), "malformed chunk header at offset 0x8: blocksize is truncated");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), flags: u8) {
            let mut long = bytes.clone();
            long.iter_mut().skip(2).take(1).for_each(|byte| *byte = flags | EXTENDED);
            for bytes in [&bytes, &long] {
                if let Ok((_, header)) = ChunkHeader::parse(bytes) {
                    let _ = (header.codec(), header.pipeline(), header.special(), header.is_split(header.blocksize));
                }
                let _ = dictionary_size(bytes);
                let _ = vl_block_size(bytes);
            }
        }

        #[test]
        fn parsing_what_was_parsed_gives_the_same(mut bytes: [u8; 32]) {
            bytes[7] &= 0x7f;
            bytes[11] &= 0x7f;
            bytes[15] &= 0x7f;
            if let Ok((_, header)) = ChunkHeader::parse(&bytes) {
                let mut out = Vec::new();
                header.encode(&mut out);
                prop_assert_eq!(ChunkHeader::parse(&out).unwrap().1, header);
                if header.version != 3 {
                    prop_assert_eq!(&out[..], &bytes[..out.len()]);
                }
            }
        }
    }
}
