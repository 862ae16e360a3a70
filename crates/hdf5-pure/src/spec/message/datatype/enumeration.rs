//! Class 8, enumerations: the integer type, all names, all values. Class bits 0–15: number of members.

use nom::Parser;
use nom::bytes::complete::take;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::{Name, padded_name, put_padded_name, until_nul};
use super::{Class, Datatype, Head};

/// A named value of an enumeration.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let weather = Datatype::enumeration(&Datatype::integer(false, 2), [("sun", 0), ("rain", 1)])?;
/// if let Class::Enumeration { members, .. } = weather.class {
///     assert_eq!((members[1].name.to_string(), members[1].value.clone()), ("rain".to_owned(), vec![1, 0]));
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
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

pub(super) fn encode(out: &mut Vec<u8>, version: u8, base: &Datatype, members: &[EnumMember]) -> Result<()> {
    base.encode(out)?;
    members.iter().try_for_each(|member| put_name(out, version, &member.name))?;
    members.iter().for_each(|member| out.extend(&member.value));
    Ok(())
}

/// Appends a name and its NUL, padded as the version says.
pub(super) fn put_name(out: &mut Vec<u8>, version: u8, name: &Name) -> Result<()> {
    if version < 3 {
        put_padded_name(out, name.as_bytes())?;
    } else {
        out.extend(name.as_bytes());
        out.push(0);
    }
    Ok(())
}
