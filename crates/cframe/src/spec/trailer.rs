//! The trailer of a frame, which contains metalayers of variable length and a fingerprint. It is `MessagePack`, big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | `94` | array of 4 |
//! | `01` | version |
//! | | metalayers of variable length; each value is a chunk |
//! | `ce` u32 | length of the trailer |
//! | `d8` | extension of 16 bytes |
//! | i8 | kind of fingerprint: 0 none |
//! | 16 bytes | fingerprint |

use crate::spec::marker::Marker;
use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::number::complete::u8;
use sciformats_core::arith::{add, fit};
use sciformats_core::fault::{FaultKind, Parsed, checked, field};
use sciformats_core::{Error, Result};

use super::metalayers::{self, Layer, Place};
use super::msgpack::{marker, put_marker, put_uint32, uint32};

/// The trailer of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Trailer {
    pub(crate) layers: Vec<Layer>,
    pub(crate) fingerprint: Fingerprint,
}

/// A fingerprint as it is stored. No writer computes one yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Fingerprint {
    pub(crate) kind: u8,
    pub(crate) bytes: [u8; 16],
}

impl Trailer {
    /// The number of bytes from the length to the end, which are always the last bytes of a frame.
    pub(crate) const TAIL: usize = 23;
    /// The number of bytes of a trailer without metalayers.
    pub(crate) const MIN: u32 = 35;

    /// Parses a whole trailer.
    pub(crate) fn parse(whole: &[u8]) -> Parsed<'_, Self> {
        let (i, ()) = marker("trailer", Marker::FixArray(4))(whole)?;
        let (_, _version) =
            checked("trailer version", u8, |&v| (v > 1).then_some(FaultKind::Undefined { found: v.into() }))(
                i,
            )?;
        let (i, layers) = metalayers::parse(whole, 2)?;
        let (i, (_, fingerprint)) = Self::parse_tail(i)?;
        Ok((i, Self { layers, fingerprint }))
    }

    /// Returns the names of the metalayers, in the order in which they are stored.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Returns a metalayer.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn layer(&self, name: &str) -> Result<&Layer> {
        let found = self.layers.iter().find(|layer| layer.name == name);
        found.ok_or_else(|| Error::not_found("vlmetalayer", name))
    }

    /// Returns whether these bytes may begin a trailer. There may be fewer than it has.
    pub(crate) fn begins(bytes: &[u8]) -> bool {
        bytes.iter().zip([Marker::FixArray(4).to_u8(), 1]).all(|(&found, expected)| found == expected)
    }

    /// Parses the tail: the length of the trailer, and the fingerprint.
    pub(crate) fn parse_tail(i: &[u8]) -> Parsed<'_, (u32, Fingerprint)> {
        let (i, len) = uint32("trailer length")(i)?;
        let (i, ()) = marker("fingerprint", Marker::FixExt16)(i)?;
        let (i, kind) = field("kind of fingerprint", u8)(i)?;
        let (i, bytes) = field("fingerprint", map_res(take(16usize), TryFrom::try_from))(i)?;
        Ok((i, (len, Fingerprint { kind, bytes })))
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        put_marker(&mut out, Marker::FixArray(4));
        put_marker(&mut out, Marker::FixPos(1));
        metalayers::encode(&self.layers, Place::Trailer, &mut out)?;
        let len = add(out.len(), Self::TAIL)?;
        put_uint32(&mut out, fit(len, "length of the trailer")?);
        put_marker(&mut out, Marker::FixExt16);
        out.push(self.fingerprint.kind);
        out.extend(self.fingerprint.bytes);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_trailer() {
        let bytes = [
            &[0x94, 1][..],                              // array of 4, version
            &[0x93, 0xcd, 0, 6, 0xde, 0, 0, 0xdc, 0, 0], // no metalayers
            &[0xce, 0, 0, 0, 35],                        // length
            &[0xd8, 0],                                  // fingerprint: none
            &[0; 16],
        ]
        .concat();
        let (rest, trailer) = Trailer::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(trailer, Trailer::default());
        assert_eq!(trailer.encode().unwrap(), bytes);
        assert_eq!(bytes.len(), Trailer::MIN as usize);
        assert_eq!(Trailer::parse_tail(&bytes[12..]).unwrap().1.0, 35);
    }

    #[test]
    fn layers_and_fingerprint_survive() {
        let trailer = Trailer {
            layers: vec![Layer { name: "a".into(), content: vec![1; 300] }],
            fingerprint: Fingerprint { kind: 3, bytes: [7; 16] },
        };
        assert_eq!(Trailer::parse(&trailer.encode().unwrap()).unwrap().1, trailer);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, position in 0usize..40, value: u8) {
            let layers = vec![Layer { name: "a".into(), content: vec![1; 9] }];
            let mut near = Trailer { layers, ..Trailer::default() }.encode().unwrap();
            near[position] = value;
            for bytes in [&bytes, &near] {
                let _ = Trailer::parse(bytes);
                let _ = Trailer::parse_tail(bytes);
            }
        }
    }
}
