//! One stream of a block.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | csize, little-endian and signed |
//! | 4 | csize | payload, if csize is positive; one token byte, if it is negative |
//!
//! | csize | content of the stream |
//! |---|---|
//! | 0 | zeros |
//! | −1 … −255, token with bit 0 | the byte −csize, repeated |
//! | the stream's length | the payload, uncompressed |
//! | other | the payload, decoded by the codec |

use nom::bytes::complete::take;
use nom::number::complete::{le_i32, u8};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

/// One stream of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream<'a> {
    /// One byte that is repeated.
    Repeat(u8),
    /// The bytes themselves.
    Raw(&'a [u8]),
    /// Bytes that a codec must decode.
    Coded(&'a [u8]),
}

impl<'a> Stream<'a> {
    /// Parses a stream that decodes to `length` bytes.
    pub(crate) fn parse(i: &'a [u8], length: usize) -> Parsed<'a, Self> {
        let (rest, csize) = field("csize", le_i32)(i)?;
        if csize == 0 {
            return Ok((rest, Self::Repeat(0)));
        }
        if csize < 0 {
            let Ok(value) = u8::try_from(csize.unsigned_abs()) else {
                let found = u64::from(csize.cast_unsigned());
                return field("csize", |i| fail(i, FaultKind::Undefined { found }))(i);
            };
            let (rest, _) = checked("token", u8, |&token| {
                (token & 1 == 0).then_some(FaultKind::Undefined { found: token.into() })
            })(rest)?;
            return Ok((rest, Self::Repeat(value)));
        }
        let (rest, payload) = field("payload", take(csize.unsigned_abs()))(rest)?;
        Ok((rest, if payload.len() == length { Self::Raw(payload) } else { Self::Coded(payload) }))
    }

    /// The number of bytes before a payload.
    pub(crate) const PREFIX: usize = 4;

    /// Writes the stream to the front of `out`, if it fits, and returns its size.
    pub(crate) fn encode(&self, out: &mut [u8]) -> Option<usize> {
        match *self {
            Self::Repeat(0) => Self::seal(0, out),
            Self::Repeat(value) => {
                let csize = i32::from(value).wrapping_neg().to_le_bytes();
                let [a, b, c, d] = csize;
                *out.first_chunk_mut()? = [a, b, c, d, 1];
                csize.len().checked_add(1)
            }
            Self::Raw(payload) | Self::Coded(payload) => {
                out.get_mut(Self::PREFIX..)?.get_mut(..payload.len())?.copy_from_slice(payload);
                Self::seal(payload.len(), out)
            }
        }
    }

    /// Writes the length of a payload before it, and returns the size of both. A payload is at most as large as a chunk, so it
    /// fits.
    pub(crate) fn seal(payload: usize, out: &mut [u8]) -> Option<usize> {
        *out.first_chunk_mut()? = i32::try_from(payload).ok()?.to_le_bytes();
        payload.checked_add(Self::PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn the_four_forms() {
        let bytes = [
            0, 0, 0, 0, // zeros
            0xf9, 0xff, 0xff, 0xff, 1, // the byte 7
            3, 0, 0, 0, 1, 2, 3, // raw
            2, 0, 0, 0, 8, 9, // coded
        ];
        let (i, a) = Stream::parse(&bytes, 3).unwrap();
        let (i, b) = Stream::parse(i, 3).unwrap();
        let (i, c) = Stream::parse(i, 3).unwrap();
        let (i, d) = Stream::parse(i, 3).unwrap();
        assert!(i.is_empty());
        let all = [a, b, c, d];
        let expected =
            [Stream::Repeat(0), Stream::Repeat(7), Stream::Raw(&[1, 2, 3]), Stream::Coded(&[8, 9])];
        assert_eq!(all, expected);
        let mut out = vec![0; bytes.len()];
        let made = all.iter().fold(0, |at, stream| at + stream.encode(&mut out[at..]).unwrap());
        assert_eq!((made, out.as_slice()), (bytes.len(), bytes.as_slice()));
        all.iter().for_each(|stream| assert_eq!(stream.encode(&mut [0; 3]), None));
    }

    #[test]
    fn faults() {
        let show =
            |bytes: &[u8]| locate("stream", 0, bytes, |i| Stream::parse(i, 3)).unwrap_err().to_string();
        assert_eq!(show(&[1, 0]), "malformed stream at offset 0x0: csize is truncated");
        assert_eq!(show(&[9, 0, 0, 0, 1]), "malformed stream at offset 0x4: payload is truncated");
        assert_eq!(
            show(&[0xff, 0xff, 0xff, 0xff, 2]),
            "malformed stream at offset 0x4: token is 2 (0x2), which is not defined"
        );
        assert!(show(&[0, 0xff, 0xff, 0xff]).contains("csize is 4294967040"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, length in 0usize..100) {
            if let Ok((rest, stream)) = Stream::parse(&bytes, length) {
                let mut out = vec![0; bytes.len()];
                let used = bytes.len() - rest.len();
                prop_assert_eq!(stream.encode(&mut out), Some(used));
                prop_assert_eq!(Stream::parse(&out[..used], length).unwrap().1, stream);
            }
        }
    }
}
