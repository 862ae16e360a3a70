//! Codecs of bytes.

use std::io::{Read, Write};

use sciformats::{ElementType, Error, Result};
use sciformats_core::{Fault, FaultKind};

/// The error about a chunk that is not what its metadata say.
pub(super) fn wrong(field: &'static str, what: &'static str) -> Error {
    Fault::new(field, FaultKind::Rule(what)).at("chunk of Zarr", 0)
}

/// The numbers that pcodec compresses: their first letter as in `u4`, and their size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "pcodec"), allow(dead_code, reason = "only pcodec asks for them"))]
pub(super) struct Numbers(char, u32);

impl Numbers {
    /// Returns those of an array; `None` if pcodec does not compress such elements.
    pub(super) fn of(element: &ElementType) -> Option<Self> {
        match element {
            ElementType::Int(size @ (2 | 4 | 8)) => Some(Self('i', u32::from(*size))),
            ElementType::UInt(size @ (2 | 4 | 8)) => Some(Self('u', u32::from(*size))),
            ElementType::F16 => Some(Self('f', 2)),
            ElementType::F32 => Some(Self('f', 4)),
            ElementType::F64 => Some(Self('f', 8)),
            _ => None,
        }
    }

    #[cfg(feature = "pcodec")]
    fn element(self) -> sciformats_filters::Element {
        use sciformats_filters::Element;

        match self {
            Self('i', size) => Element::signed(size),
            Self('u', size) => Element::unsigned(size),
            Self(_, size) => Element::float(size),
        }
    }
}

/// A codec of bytes, or pcodec. They are in the order of encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// The first codec, in place of that which makes bytes of elements. It has a level.
    Pcodec(Numbers, u32),
    Gzip(u32),
    Zstd(i32),
    Crc32c,
    /// Chunks of Blosc describe themselves, so that its configuration is not needed to decode them. They are not written.
    Blosc,
}

impl Codec {
    pub(super) fn encode(self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let failed = |error| Error::io("compress a chunk", error);
        match self {
            Self::Gzip(level) => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
                out.write_all(&bytes).map_err(failed)?;
                out.finish().map_err(failed)
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(level) => zstd::bulk::compress(&bytes, level).map_err(failed),
            #[cfg(not(feature = "zstd"))]
            Self::Zstd(_) => Err(absent()),
            Self::Crc32c => {
                let mut bytes = bytes;
                bytes.extend(crc32c(&bytes).to_le_bytes());
                Ok(bytes)
            }
            Self::Blosc => Err(Error::unsupported("Blosc in stores of Zarr that are written")),
            #[cfg(feature = "pcodec")]
            Self::Pcodec(numbers, level) => {
                sciformats_filters::pcodec::encode(numbers.element(), level, &bytes)
                    .map_err(|fault| fault.at("chunk of Zarr", 0))
            }
            #[cfg(not(feature = "pcodec"))]
            Self::Pcodec(..) => Err(without_pcodec()),
        }
    }

    /// Decodes bytes that become at most `most`.
    ///
    /// # Errors
    /// `Unsupported` for Zstandard without the feature `zstd`, for Blosc without the feature `blosc2` and for pcodec without the feature
    /// `pcodec`, and otherwise `Malformed` with what is wrong.
    pub(super) fn decode(self, bytes: Vec<u8>, most: u64) -> Result<Vec<u8>> {
        let long = || wrong("bytes", "are more than the elements take");
        match self {
            Self::Gzip(_) => {
                let failed = |_| wrong("bytes", "are not compressed with gzip");
                let mut out = Vec::new();
                // One byte more shows that there are more; a bound.
                let mut decoder =
                    flate2::read::MultiGzDecoder::new(bytes.as_slice()).take(most.saturating_add(1));
                decoder.read_to_end(&mut out).map_err(failed)?;
                if out.len() as u64 > most { Err(long()) } else { Ok(out) }
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => {
                let failed = |_| wrong("bytes", "are not compressed with Zstandard");
                let mut out = Vec::new();
                let decoder = zstd::stream::read::Decoder::new(bytes.as_slice()).map_err(failed)?;
                decoder.take(most.saturating_add(1)).read_to_end(&mut out).map_err(failed)?; // a bound
                if out.len() as u64 > most { Err(long()) } else { Ok(out) }
            }
            #[cfg(not(feature = "zstd"))]
            Self::Zstd(_) => Err(absent()),
            Self::Crc32c => {
                let mut bytes = bytes;
                let Some((rest, sum)) = bytes.split_last_chunk::<4>() else {
                    return Err(wrong("checksum", "is missing"));
                };
                let (stored, computed) = (u32::from_le_bytes(*sum).into(), crc32c(rest).into());
                if stored != computed {
                    let kind = FaultKind::Checksum { stored, computed };
                    return Err(Fault::new("CRC-32C", kind).at("chunk of Zarr", 0));
                }
                let len = rest.len();
                bytes.truncate(len);
                Ok(bytes)
            }
            #[cfg(feature = "pcodec")]
            Self::Pcodec(numbers, _) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX); // a bound
                sciformats_filters::pcodec::decode(numbers.element(), &bytes, most)
                    .map_err(|fault| fault.at("chunk of Zarr", 0))
            }
            #[cfg(not(feature = "pcodec"))]
            Self::Pcodec(..) => Err(without_pcodec()),
            #[cfg(feature = "blosc2")]
            Self::Blosc => {
                use sciformats::cframe;

                // The caller decodes several chunks at the same time.
                let limits = sciformats_core::Limits::default().with_memory(most);
                let options = cframe::OpenOptions::default().with_limits(limits).with_threads(1);
                let declared = cframe::Chunk::new(&bytes)?.nbytes() as u64;
                if declared > most {
                    return Err(long());
                }
                cframe::decompress_with(&bytes, &options)
            }
            #[cfg(not(feature = "blosc2"))]
            Self::Blosc => {
                Err(Error::unsupported("Blosc in stores of Zarr, in a build without the feature `blosc2`"))
            }
        }
    }
}

#[cfg(not(feature = "zstd"))]
fn absent() -> Error {
    Error::unsupported("Zstandard in stores of Zarr, in a build without the feature `zstd`")
}

#[cfg(not(feature = "pcodec"))]
fn without_pcodec() -> Error {
    Error::unsupported("pcodec in stores of Zarr, in a build without the feature `pcodec`")
}

/// The checksum with the polynomial of Castagnoli, reflected: RFC 3720, section 12.1.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let mut sum = u32::MAX;
    for byte in bytes {
        let place = (sum as u8 ^ byte) as usize;
        // The place is less than 256.
        sum = TABLE.get(place).copied().unwrap_or_default() ^ (sum >> 8);
    }
    !sum
}

const fn table() -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_lengths_are_checked() {
        // RFC 3720, appendix B.4: 32 bytes of zeros, and of ones.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        for codec in [Codec::Gzip(5), Codec::Crc32c] {
            let stored = codec.encode(vec![7; 100]).unwrap();
            assert_eq!(codec.decode(stored.clone(), 100).unwrap(), [7; 100]);
            let mut wrong = stored.clone();
            let last = wrong.len() - 5;
            wrong[last] ^= 1;
            assert!(codec.decode(wrong, 100).is_err(), "{codec:?}");
        }
        assert!(Codec::Gzip(1).decode(Codec::Gzip(1).encode(vec![7; 100]).unwrap(), 99).is_err());
        assert!(Codec::Crc32c.decode(vec![1, 2], 9).is_err());
    }

    #[cfg(feature = "pcodec")]
    #[test]
    fn numbers_of_pcodec_are_decoded_up_to_their_elements() {
        let values: Vec<u8> = (0..4000i16).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let codec = Codec::Pcodec(Numbers::of(&ElementType::Int(2)).unwrap(), 8);
        let stored = codec.encode(values.clone()).unwrap();
        assert!(stored.len() < values.len() / 10);
        assert_eq!(codec.decode(stored.clone(), 8000).unwrap(), values);
        assert!(codec.decode(stored.clone(), 7999).is_err());
        assert!(
            codec.decode(stored[..40].to_vec(), 8000).is_err() && codec.decode(Vec::new(), 8000).is_err()
        );
        assert_eq!(Numbers::of(&ElementType::Int(1)), None);
    }

    #[cfg(feature = "blosc2")]
    #[test]
    fn chunks_of_blosc_are_decoded_up_to_their_elements() {
        use sciformats::cframe::{self, Codec as Compressor, Filter, Params};

        let values: Vec<u8> = (0..4000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for compressor in [Compressor::BloscLz, Compressor::Lz4, Compressor::Lz4Hc, Compressor::Zlib] {
            for filter in [Filter::NONE, Filter::SHUFFLE, Filter::BITSHUFFLE] {
                let params = Params::new(4).with_codec(compressor).with_filters(&[filter]).unwrap();
                let stored = cframe::compress(&values, &params.with_blosc1()).unwrap();
                assert!(stored.len() < values.len());
                assert_eq!(Codec::Blosc.decode(stored.clone(), 16_000).unwrap(), values);
                assert!(Codec::Blosc.decode(stored.clone(), 15_999).is_err());
                assert!(Codec::Blosc.decode(stored[..40].to_vec(), 16_000).is_err());
                assert!(Codec::Blosc.decode(Vec::new(), 16_000).is_err());
            }
        }
        assert!(Codec::Blosc.encode(values).is_err());
    }
}
