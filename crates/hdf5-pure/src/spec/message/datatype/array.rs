//! Class 10, arrays: rank (1), [3 reserved, version 2], dimensions (4 each), [permutation (4 each), version 2], base type.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::super::super::selection::MAX_RANK;
use super::{Class, Datatype, Head};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    let (i, rank) = checked("dimensionality", byte, |&rank| {
        (rank == 0 || u32::from(rank) > MAX_RANK).then_some(FaultKind::Undefined { found: rank.into() })
    })(i)?;
    let (i, _) = take(if head.version < 3 { 3usize } else { 0 })(i)?;
    let (i, dimensions) = field("dimension size", count(le_u32, rank.into())).parse(i)?;
    let permutation = if head.version < 3 { usize::from(rank) * 4 } else { 0 };
    let (i, _) = field("permutation index", take(permutation)).parse(i)?;
    let (i, base) = super::parse(i, head.depth)?;
    let size = Datatype::array_elements(&dimensions).and_then(|n| n.checked_mul(base.size));
    if size != Some(head.size) {
        let found = size.map_or(u64::MAX, u64::from);
        let kind = FaultKind::Mismatch { expected: head.size.into(), found };
        return field("size of all elements", |i| fail(i, kind))(at);
    }
    Ok((i, Class::Array { dimensions, base: Box::new(base) }))
}

pub(super) fn encode(out: &mut Vec<u8>, version: u8, dimensions: &[u32], base: &Datatype) -> Result<()> {
    out.push(fit(dimensions.len(), "dimensionality of an array type")?);
    if version < 3 {
        out.extend([0; 3]);
    }
    dimensions.iter().for_each(|size| out.extend(size.to_le_bytes()));
    if version < 3 {
        // The permutation, which has never been anything else.
        (0u32..).take(dimensions.len()).for_each(|index| out.extend(index.to_le_bytes()));
    }
    base.encode(out)?;
    Ok(())
}
