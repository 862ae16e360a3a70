//! Class 6, compound types.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–15 | number of members, not 0 |
//!
//! | offset | size | property: for each member |
//! |---|---|---|
//! | 0 | | name and NUL; before version 3 also zeros up to a multiple of 8 |
//! | | 4 | byte offset of member; from version 3 on, as wide as the size of an element requires |
//! | | 1 | dimensionality, at most 4 (version 1) |
//! | | 3 | reserved (version 1) |
//! | | 4 | dimension permutation (version 1) |
//! | | 4 | reserved (version 1) |
//! | | 16 | four dimension sizes (version 1) |
//! | | | type of the member: a datatype message |

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Result, bound};

use super::super::super::{Name, padded_name, put_uint, uint, until_nul, width_for};
use super::enumeration::put_name;
use super::{Class, Datatype, Head};

/// A member of a compound type.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let particle = Datatype::compound([("mass", Datatype::float64()), ("charge", Datatype::signed(1))]);
/// if let Class::Compound(members) = particle.class {
///     assert_eq!((members[1].name.to_string().as_str(), members[1].offset), ("charge", 8));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the member.
    pub name: Name,
    /// The offset of the member in an element, in bytes.
    pub offset: u32,
    /// The type of the member.
    pub datatype: Datatype,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let members = bound::addressable((head.bits & 0xffff).into());
    if members == 0 {
        return field("number of members", |i| fail(i, FaultKind::Undefined { found: 0 }))(i);
    }
    let at = i;
    let mut i = i;
    let mut found = Vec::new();
    for _ in 0..members {
        let (rest, member) = member(i, head)?;
        let end = bound::sum(u64::from(member.offset), member.datatype.size.into());
        if end > head.size.into() {
            let kind = FaultKind::OutOfBounds { found: end, end: u64::from(head.size) + 1 };
            return field("byte offset of member", |i| fail(i, kind))(i);
        }
        found.push(member);
        i = rest;
    }
    let mut ranges: Vec<(u32, u32)> =
        found.iter().map(|member| (member.offset, member.datatype.size)).collect();
    sciformats_core::order::sort(&mut ranges);
    let overlap = ranges.iter().zip(ranges.iter().skip(1)).any(|(a, b)| bound::sum(a.0, a.1) > b.0);
    if overlap {
        return field("byte offset of member", |i| fail(i, FaultKind::Rule("lies inside another member")))(
            at,
        );
    }
    Ok((i, Class::Compound(found)))
}

fn member(i: &[u8], head: Head) -> Parsed<'_, Member> {
    let (i, name) =
        field("name of member", |i| if head.version < 3 { padded_name(i) } else { until_nul(i) })(i)?;
    let width = if head.version < 3 { 4 } else { width_for(head.size.into()) };
    let (i, offset) = field("byte offset of member", uint(width))(i)?;
    let Ok(offset) = u32::try_from(offset) else {
        return field("byte offset of member", |i| fail(i, FaultKind::Overflow))(i);
    };
    let (i, dimensions) = if head.version == 1 { old_dimensions(i)? } else { (i, Vec::new()) };
    let at = i;
    let (i, base) = super::parse(i, head.depth)?;
    let datatype = match dimensions.is_empty() {
        true => base,
        // The first version has no array class, so the member itself has the dimensions.
        false => {
            let elements = Datatype::array_elements(&dimensions);
            match elements.and_then(|n| n.checked_mul(base.size)) {
                Some(size) if size > 0 => {
                    Datatype { version: 2, size, class: Class::Array { dimensions, base: Box::new(base) } }
                }
                _ => return field("dimension size", |i| fail(i, FaultKind::Overflow))(at),
            }
        }
    };
    Ok((i, Member { name: name.into(), offset, datatype }))
}

fn old_dimensions(i: &[u8]) -> Parsed<'_, Vec<u32>> {
    let (i, rank) = checked("dimensionality", byte, |&rank| {
        (rank > 4).then_some(FaultKind::OutOfBounds { found: rank.into(), end: 5 })
    })(i)?;
    let (i, _) = field("dimension permutation", take(11usize)).parse(i)?;
    let (i, mut dimensions) = field("dimension size", count(le_u32, 4usize)).parse(i)?;
    dimensions.truncate(rank.into());
    Ok((i, dimensions))
}

impl Member {
    pub(super) fn encode(&self, out: &mut Vec<u8>, version: u8, size: u32) -> Result<()> {
        put_name(out, version, &self.name)?;
        let width = if version < 3 { 4 } else { width_for(size.into()) };
        put_uint(out, self.offset.into(), width)?;
        if version == 1 {
            out.extend([0; 28]); // no dimensions
        }
        self.datatype.encode(out)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::tests::both_ways;
    use super::*;

    const VERSION_3: [u8; 38] = [
        0x36, // version 3, class 6
        2, 0, 0, // class bit field: number of members
        3, 0, 0, 0, // size
        b'a', 0,    // name of member 0
        0,    // byte offset of member
        0x10, // its type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
        b'b', 0,    // name of member 1
        1,    // byte offset of member
        0x10, // its type: version 1, class 0
        8, 0, 0, // class bit field: signed
        2, 0, 0, 0, // size
        0, 0, // bit offset
        0x10, 0, // bit precision
    ];

    const VERSION_1: [u8; 60] = [
        0x16, // version 1, class 6
        1, 0, 0, // class bit field: number of members
        4, 0, 0, 0, // size
        b'm', b'e', b'm', b'b', b'e', b'r', 0, // name of member 0
        0, // padding
        2, 0, 0, 0, // byte offset of member
        0, // dimensionality
        0, 0, 0, // reserved
        0, 0, 0, 0, // dimension permutation
        0, 0, 0, 0, // reserved
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    // dimension sizes
        0x10, // its type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
    ];

    fn member(name: &str, offset: u32, datatype: Datatype) -> Member {
        Member { name: name.into(), offset, datatype }
    }

    #[test]
    fn members_of_both_forms() {
        let members = vec![member("a", 0, Datatype::unsigned(1)), member("b", 1, Datatype::signed(2))];
        both_ways(&VERSION_3, 3, 3, Class::Compound(members));
        both_ways(&VERSION_1, 1, 4, Class::Compound(vec![member("member", 2, Datatype::unsigned(1))]));
        // In the first version, a member itself has dimensions.
        let mut array = VERSION_1;
        array[20] = 1;
        array[32] = 2;
        let (dimensions, base) = (vec![2], Box::new(Datatype::unsigned(1)));
        let datatype = Datatype { version: 2, size: 2, class: Class::Array { dimensions, base } };
        let expected = Class::Compound(vec![member("member", 2, datatype)]);
        assert_eq!(Datatype::parse(&array).unwrap().1.class, expected);
        let mut wrong = VERSION_3;
        wrong[25] = 2; // beyond the element
        assert!(Datatype::parse(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(version_3_bytes in near(&VERSION_3), version_1_bytes in near(&VERSION_1)) {
            let _ = Datatype::parse(&version_3_bytes);
            let _ = Datatype::parse(&version_1_bytes);
        }
    }
}
