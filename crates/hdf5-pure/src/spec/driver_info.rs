//! The driver information block (II.B) and message (IV.A.2.u), which describe how an HDF5 file is spread over several files.
//!
//! | offset | size | field of the block |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 3 | reserved |
//! | 4 | 4 | driver information size, n |
//! | 8 | 8 | driver identification: `NCSAfami`, `NCSAmult`, `Subfilin` |
//! | 16 | n | driver information |
//!
//! | offset | size | field of the message |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 8 | driver identification |
//! | 9 | 2 | driver information size, n |
//! | 11 | n | driver information |
//!
//! | offset | size | field of the information of the family driver |
//! |---|---|---|
//! | 0 | 8 | size of member files, in bytes |
//!
//! | offset | size | field of the information of the multi driver, for m distinct members |
//! |---|---|---|
//! | 0 | 6 | member mapping: for superblock, B-trees, raw data, global heaps, local heaps and object headers 1 to 6; 0 stands for its own |
//! | 6 | 2 | reserved |
//! | 8 | 16·m | member addresses: first address (8) and end of the allocated space (8) |
//! | 8 + 16·m | | member names, each with a NUL and then zeros up to a multiple of 8 |

use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::number::complete::{le_u16, le_u32, le_u64};
use nom::{Offset, Parser};
use sciformats_core::bound;
use sciformats_core::fault::{Parsed, field};

use super::{Name, until_nul, version};

/// The driver that wrote the file, and the information that is needed to read the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriverInfo {
    /// Eight characters, such as `NCSAfami`.
    pub(crate) identification: [u8; 8],
    /// The driver's own data, which [`family_member_size`] and [`MultiInfo`] parse.
    pub(crate) information: Vec<u8>,
}

impl DriverInfo {
    pub(crate) fn parse_block(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, size) = field("driver information size", le_u32)(i)?;
        let (i, identification) = identification(i)?;
        let (i, information) = field("driver information", take(size)).parse(i)?;
        Ok((i, Self { identification, information: information.to_vec() }))
    }

    pub(crate) fn parse_message(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, identification) = identification(i)?;
        let (i, size) = field("driver information size", le_u16)(i)?;
        let (i, information) = field("driver information", take(size)).parse(i)?;
        Ok((i, Self { identification, information: information.to_vec() }))
    }
}

fn identification(i: &[u8]) -> Parsed<'_, [u8; 8]> {
    field("driver identification", map_res(take(8usize), TryFrom::try_from)).parse(i)
}

/// Parses the information of the family driver: the size of every member except the last one.
pub(crate) fn family_member_size(i: &[u8]) -> Parsed<'_, u64> {
    field("size of member files", le_u64)(i)
}

/// The information of the multi driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MultiInfo {
    /// The member (1 to 6) that contains each kind of content: superblock, B-trees, raw data, global heaps, local heaps, object
    /// headers.
    pub(crate) map: [u8; 6],
    /// The distinct members, in the order in which the map names them.
    pub(crate) members: Vec<MultiMember>,
}

/// A member of a file that the multi driver wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MultiMember {
    /// The first address that the member contains.
    pub(crate) start: u64,
    /// The end of the allocated space of the member.
    pub(crate) end: u64,
    /// The name of the file, in which `%s` stands for the base name.
    pub(crate) name: Name,
}

impl MultiInfo {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, map): (_, [u8; 6]) =
            field("member mapping", map_res(take(6usize), TryFrom::try_from)).parse(i)?;
        // A kind that is mapped to 0 has a member of its own.
        let mut map = map;
        for (own, member) in (1u8..).zip(&mut map) {
            *member = if *member == 0 { own } else { *member };
        }
        let (i, _) = take(2usize)(i)?;
        let distinct = (1..=6u8).filter(|kind| map.contains(kind)).count();
        let (i, ranges) =
            field("member addresses", nom::multi::count((le_u64, le_u64), distinct)).parse(i)?;
        let (i, names) = field("member names", nom::multi::count(padded, distinct)).parse(i)?;
        let members = ranges
            .into_iter()
            .zip(names)
            .map(|((start, end), name)| MultiMember { start, end, name: name.into() })
            .collect();
        Ok((i, Self { map, members }))
    }
}

fn padded(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, name) = until_nul(i)?;
    let used = i.offset(rest);
    let padded = used.checked_next_multiple_of(8).unwrap_or(used);
    let padding = bound::left(padded, used).min(rest.len());
    let (rest, _) = take(padding)(rest)?;
    Ok((rest, name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::near;
    use super::*;

    const BLOCK: [u8; 24] = [
        0, // version
        0, 0, 0, // reserved
        8, 0, 0, 0, // driver information size
        b'N', b'C', b'S', b'A', b'f', b'a', b'm', b'i', // driver identification
        0, 1, 0, 0, 0, 0, 0, 0, // size of member files
    ];

    const MESSAGE: [u8; 19] = [
        0, // version
        b'N', b'C', b'S', b'A', b'f', b'a', b'm', b'i', // driver identification
        8, 0, // driver information size
        0, 1, 0, 0, 0, 0, 0, 0, // size of member files
    ];

    const MULTI: [u8; 56] = [
        1, 1, 2, 1, 1, 1, // member mapping
        0, 0, // reserved
        0, 0, 0, 0, 0, 0, 0, 0, // member 1: first address
        0, 8, 0, 0, 0, 0, 0, 0, // end
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, // member 2: first address
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, // end
        b'%', b's', b'-', b'm', b'.', b'h', b'5', 0, // name of member 1
        b'%', b's', b'-', b'r', b'.', b'h', b'5', 0, // name of member 2
    ];

    #[test]
    fn a_split_file() {
        let (rest, info) = MultiInfo::parse(&MULTI).unwrap();
        assert!(rest.is_empty());
        let member = |start, end, name| MultiMember { start, end, name: Name::from(name) };
        let far = 0x3fff_ffff_ffff_ffff;
        let members = vec![member(0, 0x800, "%s-m.h5"), member(far, far, "%s-r.h5")];
        assert_eq!(info, MultiInfo { map: [1, 1, 2, 1, 1, 1], members });
    }

    #[test]
    fn a_file_with_all_members() {
        let mut bytes = vec![0; 8]; // member mapping: each kind has its own member; reserved
        for member in 0u64..6 {
            bytes.extend((member << 60).to_le_bytes()); // first address
            bytes.extend(((member << 60) + 48).to_le_bytes()); // end
        }
        "sbrglo".chars().for_each(|letter| bytes.extend(format!("%s-{letter}.h5\0").bytes())); // names
        let (rest, info) = MultiInfo::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!((info.map, info.members.len()), ([1, 2, 3, 4, 5, 6], 6));
        assert_eq!(
            info.members.last().map(|last| (last.start, last.name.clone())),
            Some((5 << 60, Name::from("%s-o.h5")))
        );
    }

    #[test]
    fn a_family() {
        let expected = DriverInfo { identification: *b"NCSAfami", information: BLOCK[16..].to_vec() };
        assert_eq!(DriverInfo::parse_block(&BLOCK), Ok((&[][..], expected.clone())));
        assert_eq!(DriverInfo::parse_message(&MESSAGE), Ok((&[][..], expected.clone())));
        assert_eq!(family_member_size(&expected.information).unwrap().1, 256);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(block in near(&BLOCK), message in near(&MESSAGE), multi in near(&MULTI)) {
            let _ = DriverInfo::parse_block(&block);
            let _ = DriverInfo::parse_message(&message);
            let _ = MultiInfo::parse(&multi);
            let _ = family_member_size(&multi);
        }
    }
}
