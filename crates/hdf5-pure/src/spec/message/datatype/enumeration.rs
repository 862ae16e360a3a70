//! Class 8, enumerations: the integer type, all names, all values. Class bits 0–15: number of members.

use nom::Parser;
use nom::bytes::complete::take;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::{Name, padded_name, until_nul};
use super::{Class, Head};

/// A named value of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumMember {
    /// Its name.
    pub name: Name,
    /// The value, as an element of the base type.
    pub value: Vec<u8>,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    let (mut i, base) = super::parse(i, head.depth)?;
    if !matches!(base.class, Class::FixedPoint(_)) || base.size != head.size {
        return field("base type", |i| fail(i, FaultKind::Rule("is not an integer of the same size")))(at);
    }
    let mut names = Vec::new();
    for _ in 0..head.bits & 0xffff {
        let (rest, name) =
            field("name", |i| if head.version < 3 { padded_name(i) } else { until_nul(i) })(i)?;
        names.push(Name::from(name));
        i = rest;
    }
    let mut members = Vec::new();
    for name in names {
        let (rest, value) = field("value", take(base.size)).parse(i)?;
        members.push(EnumMember { name, value: value.to_vec() });
        i = rest;
    }
    Ok((i, Class::Enumeration { base: Box::new(base), members }))
}
