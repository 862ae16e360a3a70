//! Shared messages (IV.A.2, "Shared Message"): a reference in place of a message.
//!
//! Version 1: version, type, 6 reserved, L bytes, address. Version 2: version, type, address.
//! Version 3: version, type 1 and a heap ID of the shared messages, or type 2 and an address.

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::number::complete::u8 as byte;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Sizes, defined, put_address};

/// Where a shared message really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// In the fractal heap of the shared messages: a heap ID.
    Heap([u8; 8]),
    /// In the header of a committed datatype.
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
    /// Appends a reference of `version` 2 or 3; the heap of shared messages has only version 3.
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
