//! Class 6, records. Class bits 0–15: number of members. Each member: name, byte offset, [dimensions, version 1], type.

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
/// let particle = Datatype::compound([("mass", Datatype::float64()), ("charge", Datatype::integer(true, 1))]);
/// if let Class::Compound(members) = particle.class {
///     assert_eq!((members[1].name.to_string().as_str(), members[1].offset), ("charge", 8));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Where it starts in an element.
    pub offset: u32,
    /// What it is.
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
    ranges.sort_unstable();
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
        // The first version has no array class: a member has dimensions itself.
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
