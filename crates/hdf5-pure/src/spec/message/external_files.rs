//! External data files message (IV.A.2.h): files that hold a dataset's elements, one part after another.
//!
//! Version 1, 3 reserved, allocated and used slots (2 each), local heap (O), then per slot the offset of the name in the
//! heap, the offset in the file and the number of bytes (L each; all bits set: without end).

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::le_u16;
use sciformats_core::Result;
use sciformats_core::fault::{Parsed, field};

use super::super::{Address, Sizes, defined, length, put_address, put_length, put_limit, short, version};

/// The files that hold a dataset's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalFiles {
    /// The heap with their names.
    pub(crate) heap: Address,
    /// The parts.
    pub(crate) slots: Vec<Slot>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Offset of the file's name in the heap.
    pub(crate) name: u64,
    /// First byte in the file.
    pub(crate) offset: u64,
    /// Bytes; none if without end.
    pub(crate) size: Option<u64>,
}

impl ExternalFiles {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, _) = version(1)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, _) = field("allocated slots", le_u16)(i)?;
        let (i, used) = field("used slots", le_u16)(i)?;
        let (i, heap) = field("heap address", defined(sizes))(i)?;
        let unlimited = match sizes.lengths {
            2 => u64::from(u16::MAX),
            4 => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        let slot = (
            field("name offset in local heap", length(sizes)),
            field("offset in external data file", length(sizes)),
            field("data size in external file", length(sizes)),
        );
        let slot =
            slot.map(|(name, offset, size)| Slot { name, offset, size: (size != unlimited).then_some(size) });
        let (i, slots) = count(slot, usize::from(used)).parse(i)?;
        Ok((i, Self { heap, slots }))
    }
}

impl ExternalFiles {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        out.extend([1, 0, 0, 0]);
        out.extend(short(self.slots.len(), "slots of external files")?.to_le_bytes());
        out.extend(short(self.slots.len(), "slots of external files")?.to_le_bytes());
        put_address(out, Some(self.heap), sizes)?;
        for slot in &self.slots {
            put_length(out, slot.name, sizes)?;
            put_length(out, slot.offset, sizes)?;
            put_limit(out, slot.size, sizes)?;
        }
        Ok(())
    }
}
