//! An entry of the index block, which describes one chunk of one frame in 32 bytes.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 8 | `frame` |
//! | 8 | 8 | `N`: rows |
//! | 16 | 8 | `location`: byte offset of the data, signed; 0 marks an unused entry |
//! | 24 | 4 | `M`: columns; the column varies fastest |
//! | 28 | 2 | `id`: position of the name in the name list |
//! | 30 | 1 | `type` |
//! | 31 | 1 | `flags`: 0 |

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_i64, le_u8, le_u16, le_u32, le_u64};
use sciformats_core::fault::{Parsed, constant, field};

use super::ElementType;

/// The position, type and shape of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) frame: u64,
    pub(crate) n: u64,
    pub(crate) location: i64,
    pub(crate) m: u32,
    pub(crate) id: u16,
    pub(crate) element: ElementType,
}

impl IndexEntry {
    pub(crate) const SIZE: usize = 32;
    pub(crate) const FRAME_OFFSET: u64 = 0;
    pub(crate) const LOCATION_OFFSET: u64 = 16;
    pub(crate) const ID_OFFSET: u64 = 28;
    pub(crate) const TYPE_OFFSET: u64 = 30;

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, frame) = field("frame", le_u64)(i)?;
        let (i, n) = field("N", le_u64)(i)?;
        let (i, location) = field("location", le_i64)(i)?;
        let (i, m) = field("M", le_u32)(i)?;
        let (i, id) = field("id", le_u16)(i)?;
        let (i, element) = field("type", le_u8.map(ElementType::from_code))(i)?;
        let (i, _) = constant("flags", le_u8, 0)(i)?;
        Ok((i, Self { frame, n, location, m, id, element }))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.frame.to_le_bytes());
        out.extend(self.n.to_le_bytes());
        out.extend(self.location.to_le_bytes());
        out.extend(self.m.to_le_bytes());
        out.extend(self.id.to_le_bytes());
        out.extend([self.element.code(), 0]);
    }

    /// Parses only `location`, which says whether the entry is in use.
    pub(crate) fn parse_location(i: &[u8]) -> Parsed<'_, i64> {
        let (i, _) = field("frame", le_u64)(i)?;
        let (i, _) = field("N", le_u64)(i)?;
        field("location", le_i64)(i)
    }

    /// Parses only `frame` and `id`, by which the index is sorted.
    pub(crate) fn parse_key(i: &[u8]) -> Parsed<'_, (u64, u16)> {
        let (i, frame) = field("frame", le_u64)(i)?;
        let (i, _) = field("N, location and M", take(20usize))(i)?;
        let (i, id) = field("id", le_u16)(i)?;
        Ok((i, (frame, id)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    const BYTES: [u8; 32] = [
        5, 0, 0, 0, 0, 0, 0, 0, // frame
        7, 0, 0, 0, 0, 0, 0, 0, // N
        0, 0x15, 0, 0, 0, 0, 0, 0, // location
        3, 0, 0, 0, // M
        2, 0, // id
        9, // type: f32
        0, // flags
    ];

    #[test]
    fn fields_in_their_places() {
        let entry = locate_all("index entry", 0, &BYTES, IndexEntry::parse).unwrap();
        let expected =
            IndexEntry { frame: 5, n: 7, location: 0x1500, m: 3, id: 2, element: ElementType::F32 };
        assert_eq!(entry, expected);
        assert_eq!(IndexEntry::parse_location(&BYTES).unwrap().1, 0x1500);
        assert_eq!(IndexEntry::parse_key(&BYTES).unwrap().1, (5, 2));
        let mut out = Vec::new();
        entry.encode(&mut out);
        assert_eq!(out, BYTES);
    }

    #[test]
    fn faults_name_the_field() {
        let fault = |bytes: &[u8]| {
            locate_all("index entry", 0x100, bytes, IndexEntry::parse).unwrap_err().to_string()
        };
        assert_eq!(fault(&BYTES[..25]), "malformed index entry at offset 0x118: M is truncated");
        let mut bytes = BYTES;
        bytes[31] = 1;
        assert_eq!(fault(&bytes), "malformed index entry at offset 0x11f: flags is 1, expected 0");
    }

    proptest! {
        #[test]
        fn parse_inverts_encode(mut bytes in any::<[u8; 32]>()) {
            bytes[31] = 0;
            let entry = locate_all("index entry", 0, &bytes, IndexEntry::parse).unwrap();
            let mut out = Vec::new();
            entry.encode(&mut out);
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = IndexEntry::parse(&bytes);
            let _ = IndexEntry::parse_location(&bytes);
            let _ = IndexEntry::parse_key(&bytes);
        }
    }
}
