//! Class 8, enumerations.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–15 | number of members, n |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | | base type: a datatype message for an integer type of the same size |
//! | | | n names, each with a NUL; before version 3 also zeros up to a multiple of 8 |
//! | | n × size | values |

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
/// let weather = Datatype::enumeration(&Datatype::unsigned(2), [("sun", 0), ("rain", 1)])?;
/// if let Class::Enumeration { members, .. } = weather.class {
///     assert_eq!((members[1].name.to_string(), members[1].value.clone()), ("rain".to_owned(), vec![1, 0]));
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumMember {
    /// The name of the value.
    pub name: Name,
    /// The value, encoded as an element of the base type.
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

/// Appends a name and its NUL, with the padding that the version requires.
pub(super) fn put_name(out: &mut Vec<u8>, version: u8, name: &Name) -> Result<()> {
    if version < 3 {
        put_padded_name(out, name.as_bytes())?;
    } else {
        out.extend(name.as_bytes());
        out.push(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::tests::both_ways;
    use super::*;

    const VERSION_3: [u8; 31] = [
        0x38, // version 3, class 8
        2, 0, 0, // class bit field: number of members
        1, 0, 0, 0,    // size
        0x10, // base type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
        b's', b'u', b'n', 0, // name 0
        b'r', b'a', b'i', b'n', 0, // name 1
        0, // value 0
        7, // value 1
    ];

    const VERSION_1: [u8; 29] = [
        0x18, // version 1, class 8
        1, 0, 0, // class bit field: number of members
        1, 0, 0, 0,    // size
        0x10, // base type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
        b's', b'u', b'n', 0, // name 0
        0, 0, 0, 0, // padding
        0, // value 0
    ];

    #[test]
    fn names_of_both_forms() {
        let class = |members: &[(&str, u8)]| {
            let member = |&(name, value): &(&str, u8)| EnumMember { name: name.into(), value: vec![value] };
            let base = Box::new(Datatype::unsigned(1));
            Class::Enumeration { base, members: members.iter().map(member).collect() }
        };
        both_ways(&VERSION_3, 3, 1, class(&[("sun", 0), ("rain", 7)]));
        both_ways(&VERSION_1, 1, 1, class(&[("sun", 0)]));
        let mut wrong = VERSION_3;
        wrong[4] = 2; // not the size of the base type
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
