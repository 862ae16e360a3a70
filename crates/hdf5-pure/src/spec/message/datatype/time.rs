//! Class 2, times: bit precision (2). Class bits: 0 order.

use nom::Parser;
use nom::number::complete::le_u16;
use sciformats_core::fault::{Parsed, field};

use super::{Class, Head, order};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    field("bit precision", le_u16)
        .map(|precision| Class::Time { order: order(head.bits), precision })
        .parse(i)
}
