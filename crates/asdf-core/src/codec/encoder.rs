//! The compression of data that arrives piece by piece. A block can then be larger than the memory.

use sciformats_core::Result;

use super::{Compression, Sink, bzip2, encode_into, lz4, stream, zlib};

/// A block that is being compressed.
pub(crate) enum Encoder {
    /// Not compressed at all.
    Plain,
    Zlib(zlib::Encoder),
    Bzip2(bzip2::Encoder),
    Lz4(lz4::Encoder),
    Stream(stream::Encoder),
    /// A compression that needs all of the data at once.
    Whole {
        compression: Compression,
        level: Option<u32>,
        threads: usize,
        data: Vec<u8>,
    },
}

impl Encoder {
    /// Begins a block of `size` bytes of data. `level` is the compression's own scale; `None` selects the level that
    /// other writers use.
    ///
    /// # Errors
    /// The same as for [`encode_into`].
    pub(crate) fn new(
        (compression, level): (Compression, Option<u32>),
        size: u64,
        threads: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Self> {
        compression.check_level(level)?;
        Ok(match compression {
            Compression::None => Self::Plain,
            Compression::Zlib => Self::Zlib(zlib::Encoder::new(level.unwrap_or(6), threads, sink)?),
            Compression::Bzp2 => Self::Bzip2(bzip2::Encoder::new(level.unwrap_or(9), threads)),
            Compression::Lz4 => Self::Lz4(lz4::Encoder::new(threads)),
            Compression::Lz4Frame => Self::Stream(stream::Encoder::lz4_frame()),
            Compression::Zstd => Self::Stream(stream::Encoder::zstd(level.unwrap_or(3), size)?),
            Compression::Blosc | Compression::Blosc2 | Compression::Unknown(_) => {
                Self::Whole { compression, level, threads, data: Vec::new() }
            }
        })
    }

    /// Takes the next piece of the data. What is ready of the block goes to `sink`.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub(crate) fn push(&mut self, piece: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        match self {
            Self::Plain => sink(piece.into()),
            Self::Zlib(encoder) => encoder.push(piece, sink),
            Self::Bzip2(encoder) => encoder.push(piece, sink),
            Self::Lz4(encoder) => encoder.push(piece, sink),
            Self::Stream(encoder) => encoder.push(piece, sink),
            Self::Whole { data, .. } => {
                data.extend_from_slice(piece);
                Ok(())
            }
        }
    }

    /// Ends the block after the last piece.
    ///
    /// # Errors
    /// Errors of `sink`; `Unsupported` for a compression that is not known or not built in.
    pub(crate) fn finish(self, sink: &mut Sink<'_>) -> Result<()> {
        match self {
            Self::Plain => Ok(()),
            Self::Zlib(encoder) => encoder.finish(sink),
            Self::Bzip2(encoder) => encoder.finish(sink),
            Self::Lz4(encoder) => encoder.finish(sink),
            Self::Stream(encoder) => encoder.finish(sink),
            Self::Whole { compression, level, threads, data } => {
                encode_into(compression, level, &data, threads, sink)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;

    #[test]
    fn data_in_pieces_becomes_what_it_becomes_as_a_whole() {
        // More than what any of them compresses at a time, with runs and noise.
        let data: Vec<u8> = (0..40_000_001u32).map(|i| (i.wrapping_mul(i >> 12) >> 13) as u8).collect();
        let all = [
            Compression::None,
            Compression::Zlib,
            Compression::Bzp2,
            Compression::Lz4,
            Compression::Lz4Frame,
        ];
        for (compression, level) in all.into_iter().zip([None, Some(1), Some(1), None, None]) {
            let most = if matches!(compression, Compression::Lz4) { data.len() } else { 9_000_001 };
            for (len, size) in [(most, 777_777), (5 << 20, 1 << 20), (10, 3), (0, 1)] {
                let data = &data[..len];
                let mut out = Vec::new();
                let sink: &mut Sink<'_> = &mut |part| {
                    out.extend_from_slice(&part);
                    Ok(())
                };
                let mut encoder = Encoder::new((compression, level), len as u64, 2, sink).unwrap();
                data.chunks(size).for_each(|piece| encoder.push(piece, sink).unwrap());
                encoder.finish(sink).unwrap();
                assert!(
                    out == encode(compression, level, data, 2).unwrap(),
                    "{compression:?} of {len} bytes"
                );
            }
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn a_zstandard_frame_in_pieces_says_its_size() {
        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i >> 9) as u8).collect();
        let mut out = Vec::new();
        let sink: &mut Sink<'_> = &mut |part| {
            out.extend_from_slice(&part);
            Ok(())
        };
        let mut encoder = Encoder::new((Compression::Zstd, Some(3)), data.len() as u64, 1, sink).unwrap();
        data.chunks(100_000).for_each(|piece| encoder.push(piece, sink).unwrap());
        encoder.finish(sink).unwrap();
        let mut back = vec![0; data.len()];
        super::super::decode(Compression::Zstd, &out, &mut back, 1).unwrap();
        assert!(back == data);
        let stated = zstd::zstd_safe::get_frame_content_size(&out).ok().flatten();
        assert_eq!(stated, Some(data.len() as u64));
    }
}
