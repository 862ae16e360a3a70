//! Class 5, opaque bytes: an ASCII tag of as many bytes as class bits 0–7 say.

use nom::Parser;
use nom::bytes::complete::take;
use sciformats_core::fault::{Parsed, field};

use super::super::super::{bits, trimmed};
use super::{Class, Head};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let (i, tag) = field("ASCII tag", take(bits(head.bits, 0, 8))).parse(i)?;
    Ok((i, Class::Opaque { tag: trimmed(tag).into() }))
}
