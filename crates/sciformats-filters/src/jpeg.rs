//! JPEG (filter 32019): one picture of bytes per chunk, grey or of three colours, decoded by the crate `zune-jpeg`.
//!
//! The client data values: quality, columns, rows, and 0 for grey or 1 for red, green and blue.

use sciformats_core::{Fault, FaultKind, bound};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::Filter;
use crate::filter::{rule, truncated, value, within};

/// The filter.
pub(crate) struct Jpeg;

impl Filter for Jpeg {
    fn id(&self) -> u16 {
        32019
    }

    fn name(&self) -> &'static str {
        "jpeg"
    }

    fn writes(&self) -> bool {
        false
    }

    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        let (columns, rows) = (u64::from(value(values, 1)?), u64::from(value(values, 2)?));
        let (colours, parts) = match value(values, 3)? {
            0 => (ColorSpace::Luma, 1),
            1 => (ColorSpace::RGB, 3),
            found => return Err(Fault::new("colours", FaultKind::Undefined { found: found.into() })),
        };
        let len = within("rows and columns", bound::product(bound::product(columns, rows), parts), max)?;
        // The decoder accepts pictures whose last bytes are missing, and invents their samples.
        let end = input.iter().rposition(|&byte| byte != 0).and_then(|last| input.get(..=last));
        if !end.is_some_and(|bytes| bytes.ends_with(&[0xff, 0xd9])) {
            return Err(truncated("picture"));
        }
        let options = DecoderOptions::default()
            .set_strict_mode(true)
            .set_max_width(bound::addressable(columns))
            .set_max_height(bound::addressable(rows))
            .jpeg_set_out_colorspace(colours);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(input), options);
        // The sizes are compared before anything is allocated for the samples.
        decoder.decode_headers().map_err(|_| rule("picture", "cannot be decoded"))?;
        let found = decoder.info().map(|info| (u64::from(info.width), u64::from(info.height)));
        if found != Some((columns, rows)) {
            return Err(rule("picture", "does not have the rows and columns of the chunk"));
        }
        let out = decoder.decode().map_err(|_| rule("picture", "cannot be decoded"))?;
        match out.len() == len {
            true => Ok(out),
            false => Err(Fault::new(
                "picture",
                FaultKind::Mismatch { expected: len as u64, found: out.len() as u64 },
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A grey picture of 8 × 8 samples that all are 128: the coefficients are zero.
    fn grey() -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        bytes.extend([1; 64]);
        bytes.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
        // One code of one bit each: no difference, and the end of the block.
        for class in [0x00, 0x10] {
            bytes.extend([0xff, 0xc4, 0, 20, class, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0b0011_1111, 0xff, 0xd9]);
        bytes
    }

    #[test]
    fn a_grey_picture() {
        assert_eq!(Jpeg.decode(&[90, 8, 8, 0], &grey(), 64).unwrap(), [128; 64]);
        assert!(Jpeg.decode(&[90, 8, 8, 0], &grey(), 63).is_err());
        assert!(Jpeg.decode(&[90, 4, 16, 0], &grey(), 64).is_err());
        assert!(Jpeg.decode(&[90, 8, 8], &grey(), 64).is_err());
    }

    #[test]
    fn pictures_that_end_early() {
        let whole = grey();
        for end in 0..whole.len() {
            assert!(Jpeg.decode(&[90, 8, 8, 0], &whole[..end], 64).is_err(), "{end}");
        }
        assert!(Jpeg.decode(&[90, 8, 8, 0], &[&whole[..], &[0; 3]].concat(), 64).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(input: Vec<u8>, changes: Vec<(prop::sample::Index, u8)>) {
            let _ = Jpeg.decode(&[90, 8, 8, 0], &input, 64);
            let mut bytes = grey();
            for (at, byte) in changes.into_iter().take(8) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = Jpeg.decode(&[90, 8, 8, 0], &bytes, 64);
            let _ = Jpeg.decode(&[90, 8, 8, 1], &bytes, 192);
        }
    }
}
