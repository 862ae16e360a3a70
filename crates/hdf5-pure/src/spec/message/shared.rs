//! Shared messages (IV.A.2, "Shared Message"): a reference to a message takes the place of the message.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 to 3 |
//! | 1 | 1 | type; in version 3: 1 or 3 in the heap of shared messages, 2 committed |
//! | 2 | 6 + L | reserved (version 1) |
//! | | O | address of the committed object's header (versions 1 and 2, and type 2) |
//! | | 8 | location: heap ID (version 3, types 1 and 3) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::number::complete::u8 as byte;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Sizes, defined, put_address};

/// Where a shared message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// In the fractal heap of the shared messages, with this heap ID.
    Heap([u8; 8]),
    /// In the header of the committed datatype at this address.
    Committed(Address),
}

impl Shared {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        let (at, kind) = field("type", byte)(at)?;
        match (version, kind) {
            (1, _) => {
                let skipped = sizes.bytes(0, 1, 6);
                let (at, _) = field("reserved", take(skipped)).parse(at)?;
                field("address", defined(sizes)).map(Self::Committed).parse(at)
            }
            (2, _) | (3, 2) => field("address", defined(sizes)).map(Self::Committed).parse(at),
            (3, 1 | 3) => {
                field("location", map_res(take(8usize), TryFrom::try_from)).map(Self::Heap).parse(at)
            }
            (3, found) => field("type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
            (found, _) => field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        }
    }
}

impl Shared {
    /// Appends a reference of `version` 2 or 3. Only version 3 can refer to the heap of shared messages.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, version: u8) -> Result<()> {
        match self {
            Self::Heap(id) => Self::encode_heap(out, *id)?,
            Self::Committed(address) => {
                out.extend([version, 2]);
                put_address(out, Some(*address), sizes)?;
            }
        }
        Ok(())
    }

    /// Appends a reference to a message in the heap of shared messages.
    pub(crate) fn encode_heap(out: &mut Vec<u8>, id: [u8; 8]) -> Result<()> {
        out.extend([3, 1]);
        out.extend(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const VERSION_1: [u8; 24] = [
        1, // version
        0, // type
        0, 0, 0, 0, 0, 0, // reserved
        0, 0, 0, 0, 0, 0, 0, 0, // reserved, of the size of a length
        0x20, 3, 0, 0, 0, 0, 0, 0, // address
    ];

    const COMMITTED: [u8; 10] = [
        3, // version
        2, // type: committed
        0x20, 3, 0, 0, 0, 0, 0, 0, // address
    ];

    const IN_HEAP: [u8; 10] = [
        3, // version
        1, // type: in the heap
        0, 0x15, 0, 0, 0, 30, 0, 0, // location
    ];

    #[test]
    fn all_versions() {
        let committed = Shared::Committed(Address(0x320));
        let heap = Shared::Heap([0, 0x15, 0, 0, 0, 30, 0, 0]);
        for (bytes, shared) in [(COMMITTED, committed), (IN_HEAP, heap)] {
            both_ways(
                &bytes,
                &shared,
                |i| Shared::parse(i, SIZES),
                |shared, out| shared.encode(out, SIZES, 3),
            );
        }
        let mut version_2 = COMMITTED;
        version_2[0] = 2;
        both_ways(
            &version_2,
            &committed,
            |i| Shared::parse(i, SIZES),
            |shared, out| shared.encode(out, SIZES, 2),
        );
        assert_eq!(Shared::parse(&VERSION_1, SIZES), Ok((&[][..], committed)));
        assert!(Shared::parse(&[3, 4], SIZES).is_err() && Shared::parse(&[4, 2], SIZES).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near(&VERSION_1), new in near(&COMMITTED), sizes in any_sizes()) {
            let _ = Shared::parse(&old, sizes);
            let _ = Shared::parse(&new, sizes);
        }
    }
}
