//! One Zstandard frame. With the feature `zstd` the C library is used; otherwise frames can be read in pure Rust (`ruzstd`).

use super::Outcome;

/// Whether this build can read the codec.
pub(crate) const READS: bool = cfg!(any(feature = "zstd", feature = "ruzstd"));
/// Whether this build can write the codec.
pub(crate) const WRITES: bool = cfg!(feature = "zstd");

#[cfg(feature = "zstd")]
pub(crate) use with_c::{Decoder, Encoder, train};
#[cfg(not(feature = "zstd"))]
pub(crate) use without_c::{Decoder, Encoder, train};

#[cfg(feature = "zstd")]
mod with_c {
    use zstd::bulk::{Compressor, Decompressor};

    use super::super::{CORRUPT, exact};
    use super::Outcome;

    /// A decoder that is used for one stream after another. It is made anew when the dictionary is another one.
    #[derive(Default)]
    pub(crate) struct Decoder {
        state: Option<Decompressor<'static>>,
        dictionary: Option<Box<[u8]>>,
    }

    impl Decoder {
        /// Decodes into all of `out`.
        pub(crate) fn decode(&mut self, input: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Outcome {
            if self.dictionary.as_deref() != dictionary {
                *self = Self { state: None, dictionary: dictionary.map(Into::into) };
            }
            let fresh = || match dictionary {
                None => Decompressor::new(),
                Some(dictionary) => Decompressor::with_dictionary(dictionary),
            };
            let state = match &mut self.state {
                Some(state) => state,
                empty => empty.insert(fresh().map_err(|_| CORRUPT)?),
            };
            let expected = out.len();
            exact(state.decompress_to_buffer(input, out).map_err(|_| CORRUPT)?, expected)
        }
    }

    impl Decoder {
        /// Drops everything that streams with another dictionary, or without one, cannot use.
        pub(crate) fn forget_dictionary(&mut self) {
            if self.dictionary.is_some() {
                *self = Self::default();
            }
        }
    }

    /// An encoder that is used for one stream after another. It is made anew when the dictionary is another one.
    #[derive(Default)]
    pub(crate) struct Encoder {
        state: Option<(u8, Compressor<'static>)>,
        dictionary: Option<Box<[u8]>>,
    }

    impl Encoder {
        /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes.
        pub(crate) fn encode(
            &mut self,
            input: &[u8],
            (level, dictionary): (u8, Option<&[u8]>),
            out: &mut [u8],
        ) -> Option<usize> {
            if self.dictionary.as_deref() != dictionary {
                *self = Self { state: None, dictionary: dictionary.map(Into::into) };
            }
            let (of, state) = match &mut self.state {
                Some(state) => state,
                empty => {
                    let fresh = match dictionary {
                        None => Compressor::new(effort(level)),
                        Some(dictionary) => Compressor::with_dictionary(effort(level), dictionary),
                    };
                    empty.insert((level, fresh.ok()?))
                }
            };
            if *of != level {
                state.set_compression_level(effort(level)).ok()?;
                *of = level;
            }
            state.compress_to_buffer(input, out).ok()
        }

        /// Drops everything that streams with another dictionary, or without one, cannot use, and tables that are large.
        pub(crate) fn shrink(&mut self) {
            let large = |(_, state): &mut (u8, Compressor<'_>)| state.context_mut().sizeof() > LARGEST;
            if self.dictionary.is_some() || self.state.as_mut().is_some_and(large) {
                *self = Self::default();
            }
        }
    }

    /// The largest size of tables in bytes that are kept for other streams.
    const LARGEST: usize = 4 << 20;

    /// Returns the library's level for a level of Blosc.
    fn effort(level: u8) -> i32 {
        match level {
            0 | 1 => 1,
            2..=8 => i32::from(level) * 2 - 1,
            _ => 22,
        }
    }

    /// Returns a dictionary of at most `size` bytes, made from samples that are one after another and have these `lengths`.
    pub(crate) fn train(samples: &[u8], lengths: &[usize], size: usize) -> Option<Vec<u8>> {
        zstd::dict::from_continuous(samples, lengths, size).ok()
    }
}

#[cfg(not(feature = "zstd"))]
mod without_c {
    use super::super::CORRUPT;
    use super::Outcome;

    /// A decoder that is used for one stream after another. It is made anew when the dictionary is another one.
    #[derive(Default)]
    pub(crate) struct Decoder {
        #[cfg(feature = "ruzstd")]
        state: Option<ruzstd::decoding::FrameDecoder>,
        #[cfg(feature = "ruzstd")]
        dictionary: Option<Box<[u8]>>,
    }

    impl Decoder {
        /// Drops everything that streams with another dictionary, or without one, cannot use.
        pub(crate) fn forget_dictionary(&mut self) {
            *self = Self::default();
        }
    }

    impl Decoder {
        /// Decodes into all of `out`.
        #[cfg(feature = "ruzstd")]
        pub(crate) fn decode(&mut self, input: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Outcome {
            use ruzstd::decoding::{Dictionary, FrameDecoder};
            if self.dictionary.as_deref() != dictionary {
                *self = Self { state: None, dictionary: dictionary.map(Into::into) };
            }
            let state = match &mut self.state {
                Some(state) => state,
                empty => {
                    let mut fresh = FrameDecoder::new();
                    if let Some(dictionary) = dictionary {
                        let dictionary = Dictionary::decode_dict(dictionary).map_err(|_| CORRUPT)?;
                        fresh.add_dict(dictionary).map_err(|_| CORRUPT)?;
                    }
                    empty.insert(fresh)
                }
            };
            let expected = out.len();
            super::super::exact(state.decode_all(input, out).map_err(|_| CORRUPT)?, expected)
        }

        #[cfg(not(feature = "ruzstd"))]
        pub(crate) fn decode(&mut self, _: &[u8], _: Option<&[u8]>, _: &mut [u8]) -> Outcome {
            Err(CORRUPT)
        }
    }

    /// There is no encoder in this build. Callers that would use it have been refused before.
    #[derive(Default)]
    pub(crate) struct Encoder;

    impl Encoder {
        pub(crate) fn encode(&mut self, _: &[u8], _: (u8, Option<&[u8]>), _: &mut [u8]) -> Option<usize> {
            None
        }

        pub(crate) fn shrink(&mut self) {}
    }

    pub(crate) fn train(_: &[u8], _: &[usize], _: usize) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn streams_one_after_another() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for step in [1, 3, 7u32] {
            let input: Vec<u8> = (0..5000u32).map(|i| (i / 9 * step) as u8).collect();
            let mut bytes = vec![0; input.len()];
            let len = encoder.encode(&input, (5, None), &mut bytes).unwrap();
            bytes.truncate(len);
            let mut out = vec![0; input.len()];
            decoder.decode(&bytes, None, &mut out).unwrap();
            assert_eq!(out, input);
            assert!(decoder.decode(&bytes, None, &mut vec![0; 4999]).is_err());
            assert!(decoder.decode(&bytes, None, &mut vec![0; 5001]).is_err());
            assert!(decoder.decode(&bytes[..20], None, &mut out).is_err());
            assert_eq!(encoder.encode(&input, (5, None), &mut bytes[1..]), None);
        }
    }

    #[test]
    fn each_stream_is_decoded_with_its_own_dictionary() {
        let input: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let dictionaries = [None, Some(&input[..900]), Some(&input[2000..3500]), None];
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for dictionary in dictionaries {
            let mut bytes = vec![0; 2 * input.len()];
            let len = encoder.encode(&input, (5, dictionary), &mut bytes).unwrap();
            let mut out = vec![0; input.len()];
            decoder.decode(&bytes[..len], dictionary, &mut out).unwrap();
            assert_eq!(out, input);
        }
    }

    #[test]
    fn what_is_kept_changes_nothing() {
        let input: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let encoded = |encoder: &mut Encoder, level| {
            let mut out = vec![0; 300_000];
            let len = encoder.encode(&input, (level, None), &mut out).unwrap();
            encoder.shrink();
            out.truncate(len);
            out
        };
        let mut encoder = Encoder::default();
        for level in [1, 6, 9, 3, 3] {
            assert!(encoded(&mut encoder, level) == encoded(&mut Encoder::default(), level), "{level}");
        }
        let dictionary = Some(&input[..5000]);
        assert!(encoder.encode(&input, (3, dictionary), &mut vec![0; 300_000]).is_some());
        encoder.shrink();
        assert!(encoded(&mut encoder, 3) == encoded(&mut Encoder::default(), 3));
    }
}
