//! Class 11, complex numbers: the floating-point type of both parts. Class bits: 0 both parts are alike, 1–2 form (0 rectangular).

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
