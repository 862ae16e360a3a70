//! The driver information block (II.B) and message (IV.A.2.u): what a file that is spread over several ones says of itself.
//!
//! Block: version (0), 3 reserved, size of the information (4), identification (8), information.
//! Message: version (0), identification (8), size of the information (2), information.

use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::number::complete::{le_u16, le_u32, le_u64};
use nom::{Offset, Parser};
use sciformats_core::bound;
use sciformats_core::fault::{Parsed, field};

use super::{Name, until_nul, version};

/// Which driver wrote the file, and what it must know to read it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriverInfo {
    /// Eight characters, such as `NCSAfami`.
    pub(crate) identification: [u8; 8],
    /// The driver's own data.
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

/// The information of the family driver: the size of every member but the last.
pub(crate) fn family_member_size(i: &[u8]) -> Parsed<'_, u64> {
    field("size of member files", le_u64)(i)
}

/// The information of the multi driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MultiInfo {
    /// For each kind of content (superblock, B-tree, raw data, global heap, local heap, object header) its member, 1 to 6.
    pub(crate) map: [u8; 6],
    /// The distinct members in the order of the map.
    pub(crate) members: Vec<MultiMember>,
}

/// A member of a file that the multi driver wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MultiMember {
    /// First address that the member holds.
    pub(crate) start: u64,
    /// End of its allocated space.
    pub(crate) end: u64,
    /// File name, `%s` standing for the base name.
    pub(crate) name: Name,
}

impl MultiInfo {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, map): (_, [u8; 6]) =
            field("member mapping", map_res(take(6usize), TryFrom::try_from)).parse(i)?;
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
    use super::super::test::hex;
    use super::*;

    #[test]
    fn a_split_file() {
        let mut bytes = hex(
            "01 01 02 01 01 01 0000  0000000000000000 0008000000000000 ffffffffffffff3f ffffffffffffff3f",
        );
        bytes.extend(b"%s-m.h5\0%s-r.h5\0");
        let (rest, info) = MultiInfo::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(info.members.len(), 2);
        assert_eq!(info.members[1].name, Name::from("%s-r.h5"));
    }

    #[test]
    fn a_family() {
        let bytes = hex("00 4e43534166616d69 0800 0001000000000000");
        let (_, info) = DriverInfo::parse_message(&bytes).unwrap();
        assert_eq!(&info.identification, b"NCSAfami");
        assert_eq!(family_member_size(&info.information).unwrap().1, 256);
    }
}
