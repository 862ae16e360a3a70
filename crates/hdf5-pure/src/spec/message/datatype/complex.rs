//! Class 11, complex numbers (version 5).
//!
//! | bits | class bit field |
//! |---|---|
//! | 0 | 1: both parts have the same type |
//! | 1–2 | form: 0 rectangular |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | | base type: a datatype message for a floating-point type of half the size |

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::{Class, Head};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    if head.bits != 1 {
        return field("class bit field", |i| fail(i, FaultKind::Undefined { found: head.bits.into() }))(i);
    }
    let (i, base) = super::parse(i, head.depth)?;
    if !matches!(base.class, Class::FloatingPoint(_)) || base.size.checked_mul(2) != Some(head.size) {
        return field("base type", |i| {
            fail(i, FaultKind::Rule("is not a floating-point type of half the size"))
        })(at);
    }
    Ok((i, Class::Complex { base: Box::new(base) }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 28] = [
        0x5b, // version 5, class 11
        1, 0, 0, // class bit field: both parts are alike, rectangular
        4, 0, 0, 0,    // size
        0x11, // base type: version 1, class 1
        0x20, 0x0f, 0, // class bit field: little-endian, implied bit, sign in bit 15
        2, 0, 0, 0, // size
        0, 0, // bit offset
        0x10, 0,    // bit precision
        0x0a, // exponent location
        5,    // exponent size
        0,    // mantissa location
        0x0a, // mantissa size
        0x0f, 0, 0, 0, // exponent bias
    ];

    #[test]
    fn of_half_precision() {
        both_ways(&BYTES, 5, 4, Class::Complex { base: Box::new(Datatype::float16()) });
        let mut polar = BYTES;
        polar[1] = 3;
        assert!(Datatype::parse(&polar).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
