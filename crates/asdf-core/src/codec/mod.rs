//! The compressions of blocks. Stored bytes become data of a known length, and vice versa.
//!
//! | label | stored as | module |
//! |---|---|---|
//! | zeros | uncompressed | |
//! | `zlib` | one zlib stream | `stream`, `zlib` |
//! | `bzp2` | one bzip2 stream | `stream`, `bzip2` |
//! | `lz4` | chunks of LZ4 blocks with their lengths, or an LZ4 frame | `lz4` |
//! | `lz4f` | one LZ4 frame | `stream` |
//! | `zstd` | one Zstandard frame | `stream` |
//! | `blsc` | one chunk of Blosc 1 or 2, with the feature `blosc` | `blosc` |
//! | `bls2` | one chunk of Blosc 2, with the feature `blosc` | `blosc` |
//!
//! A decoder fills exactly the bytes that it is given. If a stream contains fewer or more bytes, this is a fault. Bytes after
//! the end of the compressed stream are ignored, as other readers do.

#[cfg(feature = "blosc")]
mod blosc;
mod bzip2;
mod encoder;
mod lz4;
mod md5_lanes;
mod stream;
mod zlib;

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;
use std::ops::RangeInclusive;

use md5::{Digest, Md5};

pub(crate) use self::encoder::Encoder;
pub(crate) use self::md5_lanes::{LANES, Sums, sums as md5s};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

/// How a block is compressed.
///
/// ```
/// use asdf_core::{Asdf, Compression, Document, NewArray};
///
/// let mut document = Document::new();
/// document.set_array("dark", NewArray::new(&[0.0; 1000], &[1000])?.with_compression(Compression::Lz4))?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// let block = file.block(0)?;
/// assert_eq!((block.compression(), block.compression().name()), (Compression::Lz4, "lz4".into()));
/// assert!(block.stored_size() < block.data_size());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// `zlib`, which the standard defines.
    Zlib,
    /// `bzp2`, which the standard defines: bzip2.
    Bzp2,
    /// `lz4`, as Python's library writes it.
    Lz4,
    /// `lz4f`: an LZ4 frame.
    Lz4Frame,
    /// `zstd`: a Zstandard frame.
    Zstd,
    /// `blsc`: a Blosc chunk that readers of Blosc 1 understand.
    Blosc,
    /// `bls2`: a Blosc 2 chunk.
    Blosc2,
    /// A label that this library does not know, such as xz or a private one.
    Unknown([u8; 4]),
}

impl Compression {
    /// Returns the compression that a label stands for.
    ///
    /// ```
    /// use asdf_core::Compression;
    ///
    /// assert_eq!(Compression::from_label(*b"bzp2"), Compression::Bzp2);
    /// assert_eq!(Compression::from_label(*b"xz\0\0"), Compression::Unknown(*b"xz\0\0"));
    /// ```
    pub fn from_label(label: [u8; 4]) -> Self {
        match &label {
            [0, 0, 0, 0] => Self::None,
            b"zlib" => Self::Zlib,
            b"bzp2" => Self::Bzp2,
            b"lz4\0" => Self::Lz4,
            b"lz4f" => Self::Lz4Frame,
            b"zstd" => Self::Zstd,
            b"blsc" => Self::Blosc,
            b"bls2" => Self::Blosc2,
            _ => Self::Unknown(label),
        }
    }

    /// Returns its label.
    pub fn label(self) -> [u8; 4] {
        match self {
            Self::None => [0; 4],
            Self::Zlib => *b"zlib",
            Self::Bzp2 => *b"bzp2",
            Self::Lz4 => *b"lz4\0",
            Self::Lz4Frame => *b"lz4f",
            Self::Zstd => *b"zstd",
            Self::Blosc => *b"blsc",
            Self::Blosc2 => *b"bls2",
            Self::Unknown(label) => label,
        }
    }

    /// Returns its label as text, without the zeros at its end.
    ///
    /// ```
    /// use asdf_core::Compression;
    ///
    /// assert_eq!((Compression::Lz4.name(), Compression::None.name()), ("lz4".into(), String::new()));
    /// ```
    pub fn name(self) -> String {
        let label = self.label();
        let end = label.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        label.get(..end).unwrap_or_default().escape_ascii().to_string()
    }

    /// Returns the levels that it has, or `None` if it has no levels.
    ///
    /// ```
    /// use asdf_core::Compression;
    ///
    /// assert_eq!(Compression::Zstd.levels(), Some(1..=22));
    /// assert_eq!(Compression::Lz4.levels(), None);
    /// ```
    pub fn levels(self) -> Option<RangeInclusive<u32>> {
        match self {
            Self::Zlib | Self::Blosc | Self::Blosc2 => Some(0..=9),
            Self::Bzp2 => Some(1..=9),
            Self::Zstd => Some(1..=22),
            Self::None | Self::Lz4 | Self::Lz4Frame | Self::Unknown(_) => None,
        }
    }

    /// Fails if it does not have this level.
    ///
    /// # Errors
    /// `Usage`, with the levels that exist.
    pub(crate) fn check_level(self, level: Option<u32>) -> Result<()> {
        let Some(level) = level else { return Ok(()) };
        match (self.levels(), self) {
            (Some(levels), _) if levels.contains(&level) => Ok(()),
            (Some(levels), _) => {
                let (name, (first, last)) = (self.name(), levels.into_inner());
                Err(Error::usage("level", format!("is {level}, but {name} has levels {first} to {last}")))
            }
            (None, Self::None) => {
                Err(Error::usage("level", "is given without a compression that has levels"))
            }
            (None, _) => Err(Error::usage("level", format!("is {level}, but {} has no levels", self.name()))),
        }
    }

    /// Returns whether [`encode_into`] returns large data in many parts.
    pub(crate) fn has_parts(self) -> bool {
        matches!(self, Self::Zlib | Self::Lz4)
    }

    /// Returns whether [`decode_stream`] decodes it as fast as [`decode`] does.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Self::Zlib | Self::Lz4 | Self::Lz4Frame | Self::Zstd)
    }

    /// Returns whether [`decode_pieces`] can decode it.
    pub(crate) fn is_read_in_pieces(self) -> bool {
        self.is_stream() || matches!(self, Self::None | Self::Bzp2)
    }

    /// Returns the format of the stream that the label stands for. One writer stores LZ4 frames under the label of LZ4 chunks.
    fn stream(self) -> Self {
        if self == Self::Lz4 { Self::Lz4Frame } else { self }
    }

    /// Returns the reason why this build of the library cannot decode such blocks, if there is one. Nothing needs to be read to
    /// know it.
    pub(crate) fn obstacle(self) -> Option<Error> {
        let what = || format!("block compression `{}`", self.name());
        match self {
            Self::Unknown(_) => Some(Error::unsupported(what())),
            #[cfg(not(feature = "blosc"))]
            Self::Blosc | Self::Blosc2 => Some(Error::missing_feature(what(), "blosc")),
            _ => None,
        }
    }
}

/// The reason why a block cannot be decoded.
///
/// ```
/// use asdf_core::Compression;
/// use asdf_core::codec::decode;
///
/// let error = decode(Compression::Zlib, b"no such stream", &mut [0; 10], 1).unwrap_err();
/// assert_eq!(error.at(0x200).offset(), Some(0x200)); // an error of a block whose bytes stand there
/// ```
#[derive(Debug)]
pub enum DecodeError {
    /// The stored bytes are wrong.
    Fault(Fault),
    /// This build of the library does not know the compression.
    Unsupported(Error),
}

impl DecodeError {
    /// Adds the position to the error; `offset` is that of the stored bytes.
    ///
    /// ```
    /// use asdf_core::codec::decode;
    /// use asdf_core::{Compression, Error};
    ///
    /// let decoded = decode(Compression::None, &[1, 2, 3], &mut [0; 10], 1); // three bytes are not ten
    /// let error: Option<Error> = decoded.map_err(|error| error.at(64)).err();
    /// assert_eq!(error.and_then(|error| error.offset()), Some(64));
    /// ```
    pub fn at(self, offset: u64) -> Error {
        match self {
            Self::Fault(fault) => fault.at("block", offset),
            Self::Unsupported(mut error) => {
                if let Error::Unsupported { offset: place, .. } = &mut error {
                    *place = Some(offset);
                }
                error
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Unsupported(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DecodeError {}

fn fault<T>(rule: &'static str) -> Result<T, DecodeError> {
    Err(wrong(rule))
}

fn wrong(rule: &'static str) -> DecodeError {
    DecodeError::Fault(Fault::new("compressed stream", FaultKind::Rule(rule)))
}

/// Decodes `stored` into all of `out`. Uses up to `threads` threads if the format has parts.
///
/// ```
/// use asdf_core::Compression;
/// use asdf_core::codec::{decode, encode};
///
/// let stored = encode(Compression::Zlib, None, &[7; 1000], 1)?;
/// let mut data = vec![0; 1000]; // as long as the data were
/// decode(Compression::Zlib, &stored, &mut data, 1).map_err(|error| error.at(0))?;
/// assert_eq!(data, [7; 1000]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
///
/// # Errors
/// [`DecodeError`].
pub fn decode(
    compression: Compression,
    stored: &[u8],
    out: &mut [u8],
    threads: usize,
) -> Result<(), DecodeError> {
    match compression {
        Compression::None if stored.len() == out.len() => {
            out.copy_from_slice(stored);
            Ok(())
        }
        Compression::None => fault("is not as long as its declared data"),
        Compression::Bzp2 if threads > 1 && bzip2::decode(stored, out, threads) => Ok(()),
        Compression::Lz4 if !lz4::is_frame(stored) => lz4::decode(stored, out, threads),
        Compression::Zlib
        | Compression::Bzp2
        | Compression::Lz4
        | Compression::Lz4Frame
        | Compression::Zstd => stream::fill(stream::decoder(compression.stream(), stored)?, out),
        #[cfg(feature = "blosc")]
        Compression::Blosc | Compression::Blosc2 => blosc::decode(stored, out),
        _ => compression.obstacle().map_or(Ok(()), |error| Err(DecodeError::Unsupported(error))),
    }
}

/// Does the same as [`decode`] for stored bytes that need not be in memory. Compressions that need all bytes at once are refused.
pub(crate) fn decode_stream(
    compression: Compression,
    stored: &mut dyn BufRead,
    out: &mut [u8],
    threads: usize,
) -> Result<(), DecodeError> {
    if compression == Compression::Lz4 && !lz4::is_frame(stored.fill_buf().map_err(stream::damage)?) {
        return lz4::decode_stream(stored, out, threads);
    }
    stream::fill(stream::decoder(compression.stream(), stored)?, out)
}

/// Decodes stored bytes into `size` bytes of data, which `take` receives piece by piece. Neither the stored bytes nor the data
/// need to be in memory as a whole. `at` is the offset of the stored bytes.
///
/// # Errors
/// Errors of `take`; `Malformed`; `Unsupported` for a compression that needs all of its bytes at once.
pub(crate) fn decode_pieces(
    compression: Compression,
    stored: &mut dyn BufRead,
    (size, at): (u64, u64),
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if compression == Compression::None {
        return stream::pieces(stored, (size, at), take);
    }
    let begin = stored.fill_buf().map_err(|error| stream::damage(error).at(at))?;
    if compression == Compression::Lz4 && !lz4::is_frame(begin) {
        return stream::pieces(lz4::Decoder::new(stored, size), (size, at), take);
    }
    let decoder = stream::decoder(compression.stream(), stored).map_err(|error| error.at(at))?;
    stream::pieces(decoder, (size, at), take)
}

/// Encodes `data`. Uses up to `threads` threads if the format has parts. `level` is on the compression's own scale; `None`
/// selects the level that other writers of ASDF use.
///
/// ```
/// use asdf_core::Compression;
/// use asdf_core::codec::encode;
///
/// let stored = encode(Compression::Zlib, Some(9), &[7; 1000], 1)?;
/// assert!(stored.len() < 100);
/// assert!(encode(Compression::Unknown(*b"xz\0\0"), None, &[7; 1000], 1).is_err());
/// # Ok::<(), asdf_core::Error>(())
/// ```
///
/// # Errors
/// `Unsupported` if the compression is not known or not part of this build; `Usage` if it does not have the level.
pub fn encode(compression: Compression, level: Option<u32>, data: &[u8], threads: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode_into(compression, level, data, threads, &mut |part| {
        // Most compressions return everything in one part.
        match out.is_empty() {
            true => out = part.into_owned(),
            false => out.extend_from_slice(&part),
        }
        Ok(())
    })?;
    Ok(out)
}

/// Accepts encoded bytes.
pub(crate) type Sink<'a> = dyn FnMut(Cow<'_, [u8]>) -> Result<()> + 'a;

/// Encodes `data`, and passes the parts to `sink` one after another. Uses up to `threads` threads if the format has parts.
/// `level` is on the compression's own scale; `None` selects the level that other writers of ASDF use.
///
/// # Errors
/// Those of `sink`; `Unsupported` if the compression is not known or not part of this build; `Usage` if it does not have the
/// level.
pub(crate) fn encode_into(
    compression: Compression,
    level: Option<u32>,
    data: &[u8],
    threads: usize,
    sink: &mut Sink<'_>,
) -> Result<()> {
    compression.check_level(level)?;
    match compression {
        Compression::None => sink(data.into()),
        Compression::Zlib => zlib::encode(data, level.unwrap_or(6), threads, sink),
        Compression::Bzp2 => sink(bzip2::encode(data, level.unwrap_or(9), threads)?.into()),
        Compression::Lz4 => lz4::encode(data, threads, sink),
        Compression::Lz4Frame => sink(stream::encode_lz4_frame(data)?.into()),
        Compression::Zstd => sink(stream::encode_zstd(data, level.unwrap_or(3))?.into()),
        #[cfg(feature = "blosc")]
        Compression::Blosc | Compression::Blosc2 => {
            sink(blosc::encode(data, compression == Compression::Blosc, level.unwrap_or(5))?.into())
        }
        _ => compression.obstacle().map_or(Ok(()), Err),
    }
}

/// Returns the MD5 of some bytes.
///
/// ```
/// use asdf_core::codec::md5;
///
/// assert_eq!(u128::from_be_bytes(md5(b"abc")), 0x900150983cd24fb0d6963f7d28e17f72);
/// ```
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

/// An MD5 that is computed piece by piece.
///
/// ```
/// use asdf_core::codec::{Md5Sum, md5};
///
/// let mut sum = Md5Sum::default();
/// for piece in [&b"a block that is larger "[..], b"than the memory"] {
///     sum.update(piece);
/// }
/// assert_eq!(sum.finish(), md5(b"a block that is larger than the memory"));
/// ```
#[derive(Clone, Default)]
pub struct Md5Sum(Md5);

impl Md5Sum {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the sum of all bytes that were added.
    pub fn finish(self) -> [u8; 16] {
        self.0.finalize().into()
    }
}

impl std::fmt::Debug for Md5Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Md5Sum")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Compression; 7] = [
        Compression::Zlib,
        Compression::Bzp2,
        Compression::Lz4,
        Compression::Lz4Frame,
        Compression::Zstd,
        Compression::Blosc,
        Compression::Blosc2,
    ];

    fn can_encode(compression: Compression) -> bool {
        match compression {
            Compression::Zstd => cfg!(feature = "zstd"),
            Compression::Blosc | Compression::Blosc2 => cfg!(feature = "blosc"),
            _ => true,
        }
    }

    #[test]
    fn exact_lengths_only() {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i / 7) as u8).collect();
        for compression in ALL.into_iter().filter(|&c| can_encode(c)) {
            let mut stored = encode(compression, None, &data, 2).unwrap();
            for (size, expected) in [
                (data.len(), None),
                (data.len() + 1, Some("ends early")),
                (data.len() - 1, Some("continues")),
            ] {
                let mut out = vec![0; size];
                match (decode(compression, &stored, &mut out, 2), expected) {
                    (Ok(()), None) => assert!(out == data, "{compression:?}"),
                    (Err(error), Some(text)) => {
                        let shown = error.at(0x10).to_string();
                        assert!(
                            shown.starts_with("malformed block at offset 0x10: compressed stream"),
                            "{shown}"
                        );
                        assert!(shown.contains(text), "{compression:?} {size}: {shown}");
                    }
                    (result, _) => panic!("{compression:?} {size}: {result:?}"),
                }
            }
            stored.truncate(stored.len() / 2);
            assert!(
                decode(compression, &stored, &mut vec![0; data.len()], 1).is_err(),
                "{compression:?} cut"
            );
        }
    }

    #[test]
    fn levels_that_do_not_exist_are_refused() {
        for (compression, right, wrong) in [
            (Compression::Zlib, &[0, 9][..], &[10, u32::MAX][..]),
            (Compression::Bzp2, &[1, 9], &[0, 10, 99]),
            (Compression::Zstd, &[1, 22], &[0, 23, 99]),
            (Compression::Blosc, &[0, 9], &[10, 255, 256]),
            (Compression::Blosc2, &[0, 9], &[10, 255, 256]),
            (Compression::Lz4, &[], &[1]),
            (Compression::Lz4Frame, &[], &[1]),
            (Compression::None, &[], &[1]),
        ] {
            let result = |level: &u32| encode(compression, Some(*level), &[7; 100], 1);
            for level in right.iter().filter(|_| can_encode(compression)) {
                assert!(result(level).is_ok(), "{compression:?} {level}");
            }
            for level in wrong {
                let error = result(level).unwrap_err();
                assert!(
                    matches!(error, Error::Usage { argument: "level", .. }),
                    "{compression:?} {level}: {error}"
                );
            }
        }
    }

    #[test]
    fn labels() {
        for compression in ALL {
            assert_eq!(Compression::from_label(compression.label()), compression);
        }
        let unknown = Compression::from_label(*b"xz\0\0");
        let shown = decode(unknown, &[], &mut [], 1).unwrap_err().at(9).to_string();
        assert_eq!(shown, "block compression `xz` is not supported (at offset 0x9)");
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(data in prop::collection::vec(0u8..4, 0..3000), threads in 1usize..3) {
            for compression in ALL.into_iter().filter(|&c| can_encode(c)) {
                let stored = encode(compression, None, &data, threads).unwrap();
                let mut out = vec![9; data.len()];
                decode(compression, &stored, &mut out, threads).map_err(|p| TestCaseError::fail(p.at(0).to_string()))?;
                prop_assert_eq!(&out, &data);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), size in 0usize..200) {
            for compression in ALL {
                let _ = decode(compression, &bytes, &mut vec![0; size], 1);
            }
        }
    }
}
