//! The codecs of the plug-ins of Blosc2, and Snappy, which Blosc 1 has: zfp with an accuracy (33), a precision (34) or a rate
//! (35).

use cframe::Registry;

/// Returns a registry of all codecs of this build.
///
/// ```
/// use cframe::OpenOptions;
///
/// let options = OpenOptions::default().with_registry(sciformats_filters::blosc2::registry());
/// # let _ = options;
/// ```
pub fn registry() -> Registry {
    let registry = Registry::default();
    #[cfg(feature = "snappy")]
    let registry = registry.with_codec(3, snappy::Snappy);
    #[cfg(feature = "zfp-decode")]
    let registry = [33, 34, 35].into_iter().fold(registry, |all, id| all.with_codec(id, zfp::Zfp { id }));
    registry
}

#[cfg(feature = "snappy")]
mod snappy {
    use cframe::UserCodec;

    pub(super) struct Snappy;

    impl UserCodec for Snappy {
        fn decode(&self, input: &[u8], _meta: u8, out: &mut [u8]) -> bool {
            crate::snappy::block(input, out).is_ok()
        }

        fn encode(&self, input: &[u8], _level: u8, _meta: u8, out: &mut Vec<u8>) -> bool {
            let encoded = snap::raw::Encoder::new().compress_vec(input);
            encoded.is_ok_and(|mut bytes| {
                out.append(&mut bytes);
                out.len() < input.len()
            })
        }
    }
}

#[cfg(feature = "zfp-decode")]
mod zfp {
    use cframe::{BlockOf, UserCodec};

    use crate::zfp::of_blosc2;

    /// zfp needs the shape of the block, so it only exists in arrays.
    pub(super) struct Zfp {
        pub(super) id: u8,
    }

    impl UserCodec for Zfp {
        fn decode(&self, _input: &[u8], _meta: u8, _out: &mut [u8]) -> bool {
            false
        }

        fn encode(&self, _input: &[u8], _level: u8, _meta: u8, _out: &mut Vec<u8>) -> bool {
            false
        }

        fn decode_block(&self, input: &[u8], block: &BlockOf<'_>, out: &mut [u8]) -> bool {
            let coding = of_blosc2(self.id, block.meta, block.typesize, block.shape);
            coding.is_ok_and(|coding| coding.decode(input, out).is_ok())
        }

        fn encode_block(&self, input: &[u8], _level: u8, block: &BlockOf<'_>, out: &mut Vec<u8>) -> bool {
            let encoded = of_blosc2(self.id, block.meta, block.typesize, block.shape);
            encoded.and_then(|coding| coding.encode(input)).is_ok_and(|mut bytes| {
                out.append(&mut bytes);
                out.len() < input.len()
            })
        }
    }
}

#[cfg(all(test, feature = "snappy", feature = "zfp"))]
mod tests {
    use cframe::{Codec, OpenOptions, Params};

    use super::*;

    #[test]
    fn snappy_in_chunks_of_blosc_1() {
        let options = OpenOptions::default().with_registry(registry());
        let params = Params::new(4).with_codec(Codec::Snappy).with_blosc1();
        let data: Vec<u8> = (0..20_000u32).flat_map(u32::to_le_bytes).collect();
        let chunk = cframe::compress_with(&data, &params, &options).unwrap();
        assert!(chunk.len() < data.len() / 2);
        assert_eq!(cframe::decompress_with(&chunk, &options).unwrap(), data);
        assert!(cframe::decompress(&chunk).is_err());
    }

    #[test]
    fn zfp_needs_a_shape() {
        let options = OpenOptions::default().with_registry(registry());
        let params = Params::new(4).with_codec(Codec::Other(34)).with_codec_meta(12);
        let chunk = cframe::compress_with(&[1; 4000], &params, &options).unwrap();
        // It is stored without the codec, because nothing is known about its shape.
        assert_eq!(cframe::decompress_with(&chunk, &options).unwrap(), [1; 4000]);
    }
}
