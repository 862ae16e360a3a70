//! Free-space managers (III.G), which record the unused parts of the file or of a fractal heap.
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `FSHD` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | client ID: 0 fractal heap, 1 file |
//! | 6 | L | total space tracked |
//! | 6 + L | L | total number of sections |
//! | 6 + 2·L | L | number of serialized sections |
//! | 6 + 3·L | L | number of un-serialized sections |
//! | 6 + 4·L | 2 | number of section classes |
//! | 8 + 4·L | 2 | shrink percent |
//! | 10 + 4·L | 2 | expand percent |
//! | 12 + 4·L | 2 | size of address space: bits of an offset |
//! | 14 + 4·L | L | maximum section size |
//! | 14 + 5·L | O | address of serialized section list, or none |
//! | | L | size of serialized section list used |
//! | | L | allocated size of serialized section list |
//! | | 4 | checksum |
//!
//! | offset | size | field of the list |
//! |---|---|---|
//! | 0 | 4 | signature: `FSSE` |
//! | 4 | 1 | version: 0 |
//! | 5 | O | free-space manager header address |
//! | 5 + O | | groups of sections that have the same size, then unused bytes |
//! | size of the list − 4 | 4 | checksum of all bytes before it |
//!
//! | offset | size | field of a group |
//! |---|---|---|
//! | 0 | width of the number of serialized sections | number of sections of this size, n |
//! | | width of the maximum section size | size of sections |
//! | | n × | offset of section (as wide as the address space requires), type of section (1); for a row of blocks in a heap |
//! | | | also the offset of its indirect block, and row, column and number of blocks (2 each) |

use nom::bytes::complete::take;
use nom::number::complete::{le_u16, u8 as byte};
use sciformats_core::arith::present;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::{
    Address, Sizes, address, defined, length, put_address, put_checksum, put_length, put_uint, sealed,
    signature, uint, version, width_for,
};

/// The header of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    /// 0 for a fractal heap, 1 for the file.
    pub(crate) client: u8,
    /// The number of free bytes.
    pub(crate) total: u64,
    /// The number of sections.
    pub(crate) sections: u64,
    /// The number of sections in the list.
    pub(crate) serialized: u64,
    /// The number of bits of a section's offset.
    pub(crate) address_bits: u16,
    /// The size of the largest possible section in bytes.
    pub(crate) max_section: u64,
    /// The address of the list, or `None` if the list is empty.
    pub(crate) list: Option<Address>,
    /// The number of bytes of the list that are used.
    pub(crate) list_size: u64,
    /// The number of bytes that are allocated for the list.
    pub(crate) list_allocated: u64,
}

impl FreeSpace {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 7, 18)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        sealed(|i| {
            let (i, ()) = signature(b"FSHD")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, client) = field("client ID", byte)(i)?;
            let (i, total) = field("total space tracked", length(sizes))(i)?;
            let (i, sections) = field("total number of sections", length(sizes))(i)?;
            let (i, serialized) = field("number of serialized sections", length(sizes))(i)?;
            let (i, _) = field("number of un-serialized sections", length(sizes))(i)?;
            let (i, _) = field("number of section classes", le_u16)(i)?;
            let (i, _) = field("shrink percent", le_u16)(i)?;
            let (i, _) = field("expand percent", le_u16)(i)?;
            let (i, address_bits) = field("size of address space", le_u16)(i)?;
            let (i, max_section) = field("maximum section size", length(sizes))(i)?;
            let (i, list) = field("address of serialized section list", address(sizes))(i)?;
            let (i, list_size) = field("size of serialized section list used", length(sizes))(i)?;
            let (i, list_allocated) = field("allocated size of serialized section list", length(sizes))(i)?;
            Ok((
                i,
                Self {
                    client,
                    total,
                    sections,
                    serialized,
                    address_bits,
                    max_section,
                    list,
                    list_size,
                    list_allocated,
                },
            ))
        })(i)
    }
}

/// A free part of the file.
///
/// ```
/// use hdf5_pure::{CreateOptions, Editor, File, Writer};
/// use hdf5_pure::options::FileSpace;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// let mut file = Writer::create_with(&path, &CreateOptions::default().with_file_space(FileSpace::Tracked))?;
/// file.dataset("old").write(&[281.5; 1000])?;
/// file.dataset("temperature").write(&[281.5; 1000])?;
/// file.finish()?;
/// let mut file = Editor::open(&path)?;
/// file.unlink("old")?;
/// file.close()?;
/// assert!(File::open(&path)?.free_space()?.iter().any(|section| section.size >= 8000));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The offset at which it starts.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The class of the section: 0 simple, 1 small, 2 large.
    pub class: u8,
}

/// Parses the list of sections of the file; `header` is that of the manager.
pub(crate) fn sections<'a>(i: &'a [u8], header: &FreeSpace, sizes: Sizes) -> Parsed<'a, Vec<Section>> {
    list(i, header, sizes, |_| Some(0))
}

/// Parses the list of sections of a fractal heap, and returns the sections inside of direct blocks. Sections that stand for
/// blocks that do not exist yet are left out: they have additional fields, which are the offset of their indirect block, a row,
/// a column and a number.
pub(crate) fn heap_sections<'a>(i: &'a [u8], header: &FreeSpace, sizes: Sizes) -> Parsed<'a, Vec<Section>> {
    const SINGLE: u8 = 0;
    const FIRST_ROW: u8 = 1;
    let place = usize::from(header.address_bits).div_ceil(8);
    let (rest, mut found) = list(i, header, sizes, |class| match class {
        SINGLE => Some(0),
        FIRST_ROW => Some(bound::sum(place, 6)),
        _ => None,
    })?;
    found.retain(|section| section.class == SINGLE);
    Ok((rest, found))
}

/// Parses a list, which is the whole of `i`. `more` returns how many additional bytes follow the type of a section of this
/// class.
fn list<'a>(
    i: &'a [u8],
    header: &FreeSpace,
    sizes: Sizes,
    more: impl Fn(u8) -> Option<usize>,
) -> Parsed<'a, Vec<Section>> {
    let before_checksum = bound::left(i.len(), 4);
    sealed(|i| {
        let whole = i;
        let (i, ()) = signature(b"FSSE")(i)?;
        let (i, _) = version(0)(i)?;
        let (mut i, _) = field("free-space manager header address", defined(sizes))(i)?;
        let offset_width = usize::from(header.address_bits).div_ceil(8);
        let mut left = header.serialized;
        let mut sections = Vec::new();
        while left > 0 {
            let (rest, count) = field("number of sections of a size", uint(width_for(header.serialized)))(i)?;
            if count == 0 || count > left {
                let kind = FaultKind::OutOfBounds { found: count, end: bound::sum(left, 1) };
                return field("number of sections of a size", |i| fail(i, kind))(i);
            }
            let (mut rest, size) = field("size of sections", uint(width_for(header.max_section)))(rest)?;
            for _ in 0..count {
                let (after, offset) = field("offset of section", uint(offset_width))(rest)?;
                let (at, class) = field("type of section", byte)(after)?;
                let Some(more) = more(class) else {
                    let kind = FaultKind::Undefined { found: class.into() };
                    return field("type of section", |i| fail(i, kind))(after);
                };
                let (after, _) = field("section", take(more))(at)?;
                sections.push(Section { offset, size, class });
                rest = after;
            }
            left = bound::left(left, count);
            i = rest;
        }
        // Lists of the C library sometimes have more room than their sections need.
        let used = bound::left(whole.len(), i.len());
        let (i, _) = field("sections", take(bound::left(before_checksum, used)))(i)?;
        Ok((i, sections))
    })(i)
}

impl FreeSpace {
    /// The client ID of the manager of a fractal heap.
    pub(crate) const HEAP: u8 = 0;

    /// Appends the header of a manager.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        // The classes of a file are simple, small and large sections. The classes of a heap are sections of a single block, of
        // the first row of an indirect section, of other rows, and indirect sections.
        let classes: u16 = if self.client == Self::HEAP { 4 } else { 3 };
        const SHRINK_AND_EXPAND: [u16; 2] = [80, 120];
        let start = out.len();
        out.extend(b"FSHD\0");
        out.push(self.client);
        for value in [self.total, self.sections, self.serialized, 0] {
            put_length(out, value, sizes)?;
        }
        out.extend(classes.to_le_bytes());
        out.extend(SHRINK_AND_EXPAND.into_iter().flat_map(u16::to_le_bytes));
        out.extend(self.address_bits.to_le_bytes());
        put_length(out, self.max_section, sizes)?;
        put_address(out, self.list, sizes)?;
        put_length(out, self.list_size, sizes)?;
        put_length(out, self.list_allocated, sizes)?;
        put_checksum(out, start)?;
        Ok(())
    }
}

/// Appends the list of sections; `at` is the address of the manager's header.
pub(crate) fn encode_sections(
    out: &mut Vec<u8>,
    header: &FreeSpace,
    at: Address,
    sections: &[Section],
    sizes: Sizes,
) -> Result<()> {
    let start = out.len();
    out.extend(b"FSSE\0");
    put_address(out, Some(at), sizes)?;
    let mut sorted = sections.to_vec();
    sorted.sort_unstable_by_key(|section| (section.size, section.offset));
    for group in sorted.chunk_by(|a, b| a.size == b.size) {
        put_uint(out, group.len() as u64, width_for(header.serialized))?;
        let size = present(group.first(), "section of a group")?.size;
        put_uint(out, size, width_for(header.max_section))?;
        for section in group {
            put_uint(out, section.offset, usize::from(header.address_bits).div_ceil(8))?;
            out.push(section.class);
        }
    }
    put_checksum(out, start)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near_sealed, seal};
    use super::*;

    /// A header without its checksum. The constants below have no checksum either.
    const HEADER: [u8; 78] = [
        b'F', b'S', b'H', b'D', // signature
        0,    // version
        1,    // client ID: the file
        0x3c, 1, 0, 0, 0, 0, 0, 0, // total space tracked
        3, 0, 0, 0, 0, 0, 0, 0, // total number of sections
        3, 0, 0, 0, 0, 0, 0, 0, // number of serialized sections
        0, 0, 0, 0, 0, 0, 0, 0, // number of un-serialized sections
        3, 0, // number of section classes
        0x50, 0, // shrink percent
        0x78, 0, // expand percent
        0x3f, 0, // size of address space
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, // maximum section size
        0xd0, 7, 0, 0, 0, 0, 0, 0, // address of serialized section list
        0x3e, 0, 0, 0, 0, 0, 0, 0, // size of serialized section list used
        0x3e, 0, 0, 0, 0, 0, 0, 0, // allocated size of serialized section list
    ];

    const LIST: [u8; 58] = [
        b'F', b'S', b'S', b'E', // signature
        0,    // version
        0x6c, 7, 0, 0, 0, 0, 0, 0, // free-space manager header address
        2, // number of sections of a size
        8, 0, 0, 0, 0, 0, 0, 0, // size of sections
        0x60, 0, 0, 0, 0, 0, 0, 0, // offset of section
        0, // type of section: simple
        0xc8, 0, 0, 0, 0, 0, 0, 0, // offset of section
        0, // type of section: simple
        1, // number of sections of a size
        0x2c, 1, 0, 0, 0, 0, 0, 0, // size of sections
        0xe8, 3, 0, 0, 0, 0, 0, 0, // offset of section
        0, // type of section: simple
    ];

    const HEAP_LIST: [u8; 46] = [
        b'F', b'S', b'S', b'E', // signature
        0,    // version
        0x64, 0, 0, 0, 0, 0, 0, 0, // free-space manager header address
        2, // number of sections of a size
        0x20, 0, 0, // size of sections
        0x15, 0, 0, 0, // offset of section
        0, // type of section: in a direct block
        0x10, 3, 0, 0, // offset of section
        0, // type of section: in a direct block
        1, // number of sections of a size
        0, 2, 0, // size of sections
        0, 4, 0, 0, // offset of section
        1, // type of section: the first row of blocks that do not exist yet
        0, 0, 0, 0, // offset of the indirect block
        2, 0, // row
        0, 0, // column
        4, 0, // number of blocks
    ];

    const FILE: FreeSpace = FreeSpace {
        client: 1,
        total: 316,
        sections: 3,
        serialized: 3,
        address_bits: 63,
        max_section: i64::MAX as u64,
        list: Some(Address(2000)),
        list_size: 62,
        list_allocated: 62,
    };

    const IN_HEAP: FreeSpace =
        FreeSpace { client: FreeSpace::HEAP, total: 576, address_bits: 32, max_section: 65_536, ..FILE };

    const fn section(offset: u64, size: u64) -> Section {
        Section { offset, size, class: 0 }
    }

    #[test]
    fn the_sections_of_a_heap() {
        // Two sections within direct blocks of 32 bytes, and a row of blocks that do not exist yet.
        let list = seal(HEAP_LIST.to_vec());
        let expected = vec![section(0x15, 32), section(0x310, 32)];
        assert_eq!(heap_sections(&list, &IN_HEAP, SIZES), Ok((&[][..], expected)));
    }

    #[test]
    fn a_manager_and_its_list() {
        let bytes = seal(HEADER.to_vec());
        assert_eq!(bytes.len(), FreeSpace::size(SIZES));
        both_ways(&bytes, &FILE, |i| FreeSpace::parse(i, SIZES), |header, out| header.encode(out, SIZES));
        let list = seal(LIST.to_vec());
        let expected = vec![section(96, 8), section(200, 8), section(1000, 300)];
        both_ways(
            &list,
            &expected,
            |i| sections(i, &FILE, SIZES),
            |sections, out| encode_sections(out, &FILE, Address(1900), sections, SIZES),
        );
        assert_eq!(list.len(), 62);
    }

    #[test]
    fn a_list_with_unused_bytes() {
        // The checksum is at the end of the list, not behind the last section.
        let list = seal([&LIST[..], &[0; 9]].concat());
        let expected = vec![section(96, 8), section(200, 8), section(1000, 300)];
        assert_eq!(sections(&list, &FILE, SIZES), Ok((&[][..], expected)));
        let mut damaged = list.clone();
        damaged[60] = 1;
        assert!(sections(&damaged, &FILE, SIZES).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            head in near_sealed(&HEADER),
            list in near_sealed(&LIST),
            heap_list in near_sealed(&HEAP_LIST),
            sizes in any_sizes(),
        ) {
            let found = FreeSpace::parse(&head, sizes).map_or(FILE, |(_, header)| header);
            for header in [found, FILE, IN_HEAP] {
                for list in [&list, &heap_list] {
                    let _ = sections(list, &header, sizes);
                    let _ = heap_sections(list, &header, sizes);
                }
            }
        }
    }
}
