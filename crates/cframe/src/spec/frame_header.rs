//! The header of a frame. It is `MessagePack`, big-endian.
//!
//! | offset | marker | size | field |
//! |---|---|---|---|
//! | 0 | `9e` | 1 | array of 14 |
//! | 1 | `a8` | 9 | `b2frame\0` |
//! | 10 | `d2` | 5 | length of the header |
//! | 15 | `cf` | 9 | length of the frame |
//! | 24 | `a4` | 1 | four bytes of flags follow |
//! | 25 | | 1 | bits 0–3 version, 4–5 width of offsets, 6 chunks vary in length, 7 blocks vary in length |
//! | 26 | | 1 | bits 0–3 type: 0 contiguous, 1 directory |
//! | 27 | | 1 | bits 0–3 codec: its number, or 6 if the number is at least 6; bits 4–7 level |
//! | 28 | | 1 | bits 0–1 split mode |
//! | 29 | `d3` | 9 | decoded size of all chunks |
//! | 38 | `d3` | 9 | size of the stored chunks |
//! | 47 | `d2` | 5 | type size |
//! | 52 | `d2` | 5 | block size; 0 if unknown |
//! | 57 | `d2` | 5 | chunk size; 0 if chunks vary, −1 if not known yet |
//! | 62 | `d1` | 3 | threads for compression |
//! | 65 | `d1` | 3 | threads for decompression |
//! | 68 | `c2`/`c3` | 1 | whether the trailer has metalayers |
//! | 69 | `d8` | 2 | 16 bytes follow; the extension's type is the number of filter slots |
//! | 71 | | 6 | filters |
//! | 77 | | 1 | codec |
//! | 78 | | 1 | parameter of the codec |
//! | 79 | | 6 | parameters of the filters |
//! | 85 | | 1 | bit 0: dictionaries |
//! | 86 | | 1 | reserved |
//! | 87 | | | metalayers |

use crate::spec::marker::Marker;
use nom::bytes::complete::tag;
use nom::number::complete::u8;
use sciformats_core::Result;
use sciformats_core::arith::{fit, present};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::metalayers::{self, Layer, Place};
use super::msgpack::{
    int16, int32, marker, put_int16, put_int32, put_int64, put_marker, put_uint64, size32, size64, uint64,
};
use super::pipeline::{Codec, Pipeline, SLOTS, slots};

const MAGIC: &[u8; 8] = b"b2frame\0";
const VERSION_MASK: u8 = 0x0f;
const WIDE_OFFSETS: u8 = 0x10;
const VARIABLE_CHUNKS: u8 = 0x40;
const VARIABLE_BLOCKS: u8 = 0x80;
/// The value in place of a codec's number if the number is larger and in the byte for the codec.
const BEYOND: u8 = 6;
/// The newest version, which is that of frames whose chunks or blocks vary in length.
const VERSION_VARIABLE: u8 = 3;
const VERSION: u8 = 2;

/// Whether the chunks are inside the frame or beside it.
///
/// ```
/// use cframe::{Frame, FrameType, Params, SChunk};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("frames");
/// SChunk::create_sparse(&path, Params::new(4))?.commit()?;
/// assert_eq!(Frame::open(&path)?.frame_type(), FrameType::Sparse);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameType {
    /// The chunks are in the frame.
    Contiguous,
    /// Each chunk is a separate file in the frame's folder.
    Sparse,
}

/// The sizes of the chunks of a frame.
///
/// ```
/// use cframe::{ChunkSize, Frame, Params, SChunk};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// schunk.append(&[1; 4000])?;
/// schunk.append(&[2; 1200])?;
/// assert_eq!(Frame::from_bytes(schunk.to_bytes()?)?.chunk_size(), ChunkSize::Fixed(4000));
/// schunk.append(&[3; 4000])?;
/// assert_eq!(Frame::from_bytes(schunk.to_bytes()?)?.chunk_size(), ChunkSize::Variable);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkSize {
    /// All chunks have this size, except that the last one may be shorter.
    Fixed(u32),
    /// Each chunk declares its own size.
    Variable,
    /// The size is not known, because there are no chunks yet.
    Unknown,
}

/// The header of a frame as it is stored.
///
/// ```
/// use cframe::{Frame, Params, SChunk};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// schunk.append(&[21; 4000])?;
/// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
/// let header = frame.header();
/// assert_eq!((header.typesize, header.nbytes, header.has_vlmeta), (4, 4000, false));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameHeader {
    /// The length of the header itself. It is ignored when a header is encoded.
    pub header_len: u32,
    /// The length of the frame in bytes.
    pub frame_len: u64,
    /// Bits 0–3: version; bits 4–5: width of offsets; bit 6: chunks vary in length; bit 7: blocks vary in length.
    pub general_flags: u8,
    /// Bits 0–3: 0 contiguous, 1 directory.
    pub frame_type: u8,
    /// Bits 0–3: number of the codec, or 6 if the number is at least 6; bits 4–7: level.
    pub codec_flags: u8,
    /// Bits 0–1: split mode minus one.
    pub other_flags: u8,
    /// The size of all decoded chunks in bytes.
    pub nbytes: u64,
    /// The size of all stored chunks in bytes, including holes between them.
    pub cbytes: u64,
    /// The size of an element in bytes.
    pub typesize: u32,
    /// The size of a block in bytes, or 0 if each chunk has its own.
    pub blocksize: u32,
    /// The sizes of the chunks.
    pub chunksize: ChunkSize,
    /// The numbers of threads for compression and decompression, which are not used.
    pub threads: [i16; 2],
    /// Whether the trailer has metalayers.
    pub has_vlmeta: bool,
    /// The number of filter slots.
    pub filter_slots: u8,
    /// The filters that new chunks are written with by default.
    pub pipeline: Pipeline,
    /// The number of the codec.
    pub codec: u8,
    /// The parameter of the codec.
    pub codec_meta: u8,
    /// Bit 0: dictionaries.
    pub other_flags2: u8,
    /// A byte that is not used yet.
    pub reserved: u8,
    pub(crate) layers: Vec<Layer>,
}

/// What varies in size from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Varying {
    pub(crate) chunks: bool,
    pub(crate) blocks: bool,
}

impl Varying {
    pub(crate) const NONE: Self = Self { chunks: false, blocks: false };
}

impl FrameHeader {
    /// The number of bytes before the metalayers.
    pub(crate) const FIXED: usize = 87;
    /// The number of bytes of a header without metalayers.
    pub(crate) const MIN: u32 = 97;

    /// The number of bytes that contain the signature.
    pub(crate) const SIGNATURE: usize = 2 + MAGIC.len();

    /// Returns whether a file that begins with these bytes has the signature of the format.
    pub(crate) fn begins(head: &[u8]) -> bool {
        head.get(2..).is_some_and(|magic| magic.starts_with(MAGIC))
    }

    /// Parses the length of the header and of the frame, which are at its start.
    pub(crate) fn parse_lengths(i: &[u8]) -> Parsed<'_, (u32, u64)> {
        let (i, ()) = marker("frame", Marker::FixArray(14))(i)?;
        let (i, ()) = marker("magic number", Marker::FixStr(8))(i)?;
        let (i, _) = field("magic number", tag(&MAGIC[..]))(i)?;
        let (rest, header_len) = size32("header length")(i)?;
        if header_len < Self::MIN {
            return field("header length", |i| fail(i, FaultKind::Rule("is less than the fixed part")))(i);
        }
        let (i, frame_len) = uint64("frame length")(rest)?;
        if frame_len < u64::from(header_len) {
            return field("frame length", |i| fail(i, FaultKind::Rule("is less than the header's")))(rest);
        }
        Ok((i, (header_len, frame_len)))
    }

    /// Parses a whole header; `whole` must have exactly its length.
    pub(crate) fn parse(whole: &[u8]) -> Parsed<'_, Self> {
        let (i, (header_len, frame_len)) = Self::parse_lengths(whole)?;
        let (i, ()) = marker("flags", Marker::FixStr(4))(i)?;
        let (i, general_flags) = checked("general flags", u8, check_general)(i)?;
        let (i, frame_type) = field("frame type", u8)(i)?;
        let (i, codec_flags) = field("codec flags", u8)(i)?;
        let (i, other_flags) = field("other flags", u8)(i)?;
        let (i, nbytes) = size64("uncompressed size")(i)?;
        let (i, cbytes) = size64("compressed size")(i)?;
        let (i, typesize) = checked("type size", size32("type size"), |&v| {
            (v == 0).then_some(FaultKind::Undefined { found: 0 })
        })(i)?;
        let (i, blocksize) = size32("block size")(i)?;
        let (i, chunksize) = chunk_size(i)?;
        let (i, compressing) = int16("threads for compression")(i)?;
        let (i, decompressing) = int16("threads for decompression")(i)?;
        let (i, has_vlmeta) = boolean("has vlmetalayers")(i)?;
        let (i, ()) = marker("filter pipeline", Marker::FixExt16)(i)?;
        let (i, filter_slots) = checked("number of filters", u8, |&v| {
            (usize::from(v) > SLOTS).then_some(FaultKind::Undefined { found: v.into() })
        })(i)?;
        let (i, filters) = slots("filters")(i)?;
        let (i, codec) = field("codec", u8)(i)?;
        let (i, codec_meta) = field("codec meta", u8)(i)?;
        let (i, metas) = slots("filters meta")(i)?;
        let (i, other_flags2) = field("other flags 2", u8)(i)?;
        let (_, reserved) = field("reserved", u8)(i)?;
        let (i, layers) = metalayers::parse(whole, Self::FIXED)?;
        let header = Self {
            header_len,
            frame_len,
            general_flags,
            frame_type,
            codec_flags,
            other_flags,
            nbytes,
            cbytes,
            typesize,
            blocksize,
            chunksize,
            threads: [compressing, decompressing],
            has_vlmeta,
            filter_slots,
            pipeline: Pipeline::of(filters, metas),
            codec,
            codec_meta,
            other_flags2,
            reserved,
            layers,
        };
        Ok((i, header))
    }

    /// Returns the bytes of the header. Its length field is computed.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut layers = vec![0; Self::FIXED];
        metalayers::encode(&self.layers, Place::Header, &mut layers)?;

        let mut out = Vec::with_capacity(layers.len());
        put_marker(&mut out, Marker::FixArray(14));
        put_marker(&mut out, Marker::FixStr(8));
        out.extend(MAGIC);
        put_int32(&mut out, fit(layers.len(), "length of the header")?);
        put_uint64(&mut out, self.frame_len);
        put_marker(&mut out, Marker::FixStr(4));
        out.extend([self.general_flags, self.frame_type, self.codec_flags, self.other_flags]);
        put_int64(&mut out, fit(self.nbytes, "uncompressed size")?);
        put_int64(&mut out, fit(self.cbytes, "compressed size")?);
        put_int32(&mut out, fit(self.typesize, "type size")?);
        put_int32(&mut out, fit(self.blocksize, "block size")?);
        put_int32(
            &mut out,
            match self.chunksize {
                ChunkSize::Fixed(size) => fit(size, "chunk size")?,
                ChunkSize::Variable => 0,
                ChunkSize::Unknown => -1,
            },
        );
        self.threads.iter().for_each(|&threads| put_int16(&mut out, threads));
        put_marker(&mut out, if self.has_vlmeta { Marker::True } else { Marker::False });
        put_marker(&mut out, Marker::FixExt16);
        out.push(self.filter_slots);
        out.extend(self.pipeline.ids());
        out.extend([self.codec, self.codec_meta]);
        out.extend(self.pipeline.metas());
        out.extend([self.other_flags2, self.reserved]);
        out.extend(present(layers.get(Self::FIXED..), "metalayers of a header")?);
        Ok(out)
    }

    /// Returns whether blocks vary in length.
    pub(crate) fn has_vl_blocks(&self) -> bool {
        self.general_flags & VARIABLE_BLOCKS != 0
    }

    /// Returns the general flags of a frame, which say what varies in size.
    pub(crate) fn general_flags(varying: Varying) -> u8 {
        let version = if varying == Varying::NONE { VERSION } else { VERSION_VARIABLE };
        let chunks = if varying.chunks { VARIABLE_CHUNKS } else { 0 };
        let blocks = if varying.blocks { VARIABLE_BLOCKS } else { 0 };
        version | WIDE_OFFSETS | chunks | blocks
    }

    pub(crate) fn frame_type(&self) -> Option<FrameType> {
        match self.frame_type & 0x0f {
            0 => Some(FrameType::Contiguous),
            1 => Some(FrameType::Sparse),
            _ => None,
        }
    }

    /// Returns the codec that new chunks are written with by default.
    pub(crate) fn codec(&self) -> Codec {
        match self.codec_flags & 0x0f {
            BEYOND => Codec::from_id(self.codec),
            number => Codec::from_id(number),
        }
    }

    /// Returns the byte that contains a codec and a level.
    pub(crate) fn codec_flags(codec: Codec, level: u8) -> u8 {
        codec.id().min(BEYOND) | (level << 4)
    }

    pub(crate) fn level(&self) -> u8 {
        self.codec_flags >> 4
    }
}

fn check_general(&flags: &u8) -> Option<FaultKind> {
    let version = flags & VERSION_MASK;
    let width = flags >> 4 & 3;
    (version > VERSION_VARIABLE || width != 1).then_some(FaultKind::Undefined { found: flags.into() })
}

fn chunk_size(i: &[u8]) -> Parsed<'_, ChunkSize> {
    let (rest, size) = int32("chunk size")(i)?;
    match (size, u32::try_from(size)) {
        (0, _) => Ok((rest, ChunkSize::Variable)),
        (_, Ok(size)) => Ok((rest, ChunkSize::Fixed(size))),
        (-1, _) => Ok((rest, ChunkSize::Unknown)),
        _ => field("chunk size", |i| fail(i, FaultKind::Rule("is negative")))(i),
    }
}

fn boolean<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, bool> {
    move |i| {
        let (rest, byte) = field(name, u8)(i)?;
        match Marker::from_u8(byte) {
            Marker::True => Ok((rest, true)),
            Marker::False => Ok((rest, false)),
            _ => field(name, |i| fail(i, FaultKind::Undefined { found: byte.into() }))(i),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    fn bytes() -> Vec<u8> {
        [
            &[0x9e][..],
            &[0xa8],
            b"b2frame\0",
            &[0xd2, 0, 0, 0, 97],                        // header length
            &[0xcf, 0, 0, 0, 0, 0, 0, 1, 0],             // frame length
            &[0xa4, 0x12, 0x00, 0x51, 0x03], // flags: version 2, contiguous, lz4 level 5, split mode
            &[0xd3, 0, 0, 0, 0, 0, 0, 0, 80], // uncompressed size
            &[0xd3, 0, 0, 0, 0, 0, 0, 0, 44], // compressed size
            &[0xd2, 0, 0, 0, 8],             // type size
            &[0xd2, 0, 0, 0, 0],             // block size
            &[0xd2, 0xff, 0xff, 0xff, 0xff], // chunk size: not known
            &[0xd1, 0, 1, 0xd1, 0, 2],       // threads
            &[0xc2],                         // no metalayers in the trailer
            &[0xd8, 6],                      // six slots
            &[0, 0, 0, 0, 0, 1],             // filters: shuffle
            &[1, 0],                         // codec
            &[0, 0, 0, 0, 0, 0],             // filters meta
            &[0, 0x55],                      // flags, reserved
            &[0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0], // metalayers: none
        ]
        .concat()
    }

    #[test]
    fn field_by_field() {
        let bytes = bytes();
        let header = locate_all("frame header", 0, &bytes, FrameHeader::parse).unwrap();
        assert_eq!(header.codec(), Codec::Lz4);
        assert_eq!((header.level(), header.typesize, header.frame_len), (5, 8, 256));
        assert_eq!(header.chunksize, ChunkSize::Unknown);
        assert_eq!(header.reserved, 0x55);
        assert_eq!(header.encode().unwrap(), bytes);
    }

    #[test]
    fn codecs_by_their_numbers() {
        let header = FrameHeader::parse(&bytes()).unwrap().1;
        for (flags, byte, codec) in [
            (0x50, 0, Codec::BloscLz),
            (0x52, 2, Codec::Lz4Hc),
            (0x54, 4, Codec::Zlib),
            (0x95, 5, Codec::Zstd),
            (0x56, 32, Codec::NdLz),
            (0x16, 200, Codec::Other(200)),
        ] {
            assert_eq!(FrameHeader { codec_flags: flags, codec: byte, ..header.clone() }.codec(), codec);
            assert_eq!(FrameHeader::codec_flags(codec, flags >> 4), flags);
        }
    }

    #[test]
    fn faults() {
        let show = |position: usize, value: u8| {
            let mut bytes = bytes();
            bytes[position] = value;
            locate_all("frame header", 0, &bytes, FrameHeader::parse).unwrap_err().to_string()
        };
        let at = "malformed frame header at offset";
        assert_eq!(show(2, b'c'), format!("{at} 0x2: magic number is not the expected signature"));
        assert_eq!(show(14, 96), format!("{at} 0xa: header length is less than the fixed part"));
        assert_eq!(show(25, 0x14), format!("{at} 0x19: general flags is 20 (0x14), which is not defined"));
        assert_eq!(show(30, 0x80), format!("{at} 0x1d: uncompressed size is negative"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(position in 0usize..97, value: u8, cut in 0usize..97) {
            let mut bytes = bytes();
            bytes[position] = value;
            if let Ok((_, header)) = FrameHeader::parse(&bytes) {
                let again = FrameHeader::parse(&header.encode().unwrap()).unwrap().1;
                prop_assert_eq!(&again, &FrameHeader { header_len: again.header_len, ..header });
            }
            prop_assert!(FrameHeader::parse(&bytes[..cut]).is_err());
        }
    }
}
