//! External data files message (IV.A.2.h): the files that contain the elements of a dataset, one part after another.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 3 | reserved |
//! | 4 | 2 | allocated slots |
//! | 6 | 2 | used slots, n |
//! | 8 | O | heap address: the local heap that contains the names |
//! | 8 + O | n·3·L | slots |
//!
//! | offset | size | field of a slot |
//! |---|---|---|
//! | 0 | L | name offset in local heap |
//! | L | L | offset in external data file |
//! | 2·L | L | data size in external file; all bits are set if it has no end |

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::le_u16;
use sciformats_core::Result;
use sciformats_core::fault::{Parsed, field};

use super::super::{Address, Sizes, defined, length, put_address, put_length, put_limit, short, version};

/// The files that contain the elements of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalFiles {
    /// The address of the local heap that contains their names.
    pub(crate) heap: Address,
    /// The parts of these files.
    pub(crate) slots: Vec<Slot>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The offset of the file's name in the heap.
    pub(crate) name: u64,
    /// The offset of the first byte in the file.
    pub(crate) offset: u64,
    /// The size in bytes, or `None` if the part has no end.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const BYTES: [u8; 64] = [
        1, // version
        0, 0, 0, // reserved
        2, 0, // allocated slots
        2, 0, // used slots
        0, 4, 0, 0, 0, 0, 0, 0, // heap address
        8, 0, 0, 0, 0, 0, 0, 0, // slot 0: name offset in local heap
        0, 0, 0, 0, 0, 0, 0, 0, // offset in external data file
        0xe8, 3, 0, 0, 0, 0, 0, 0, // data size in external file
        0x10, 0, 0, 0, 0, 0, 0, 0, // slot 1: name offset in local heap
        0x40, 0, 0, 0, 0, 0, 0, 0, // offset in external data file
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // data size in external file: without end
    ];

    #[test]
    fn two_files() {
        let slot = |name, offset, size| Slot { name, offset, size };
        let slots = vec![slot(8, 0, Some(1000)), slot(16, 64, None)];
        let files = ExternalFiles { heap: Address(0x400), slots };
        both_ways(&BYTES, &files, |i| ExternalFiles::parse(i, SIZES), |files, out| files.encode(out, SIZES));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in near(&BYTES), sizes in any_sizes()) {
            let _ = ExternalFiles::parse(&bytes, sizes);
        }
    }
}
