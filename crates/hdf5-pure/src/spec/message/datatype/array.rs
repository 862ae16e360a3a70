//! Class 10, arrays. The class bit field is not used.
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | 1 | dimensionality, n: 1 to 32 |
//! | 9 | 3 | reserved (version 2) |
//! | | 4·n | dimension sizes |
//! | | 4·n | permutation indices (version 2), in order |
//! | | | base type: a datatype message |

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
        // The permutation is always the identity.
        (0u32..).take(dimensions.len()).for_each(|index| out.extend(index.to_le_bytes()));
    }
    base.encode(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::tests::both_ways;
    use super::*;

    const VERSION_2: [u8; 40] = [
        0x2a, // version 2, class 10
        0, 0, 0, // class bit field
        6, 0, 0, 0, // size
        2, // dimensionality
        0, 0, 0, // reserved
        3, 0, 0, 0, // dimension 0
        2, 0, 0, 0, // dimension 1
        0, 0, 0, 0, // permutation index 0
        1, 0, 0, 0,    // permutation index 1
        0x10, // base type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
    ];

    const VERSION_3: [u8; 25] = [
        0x3a, // version 3, class 10
        0, 0, 0, // class bit field
        6, 0, 0, 0, // size
        1, // dimensionality
        6, 0, 0, 0,    // dimension 0
        0x10, // base type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
    ];

    #[test]
    fn both_versions() {
        let class = |dimensions: &[u32]| {
            let base = Box::new(Datatype::unsigned(1));
            Class::Array { dimensions: dimensions.to_vec(), base }
        };
        both_ways(&VERSION_2, 2, 6, class(&[3, 2]));
        both_ways(&VERSION_3, 3, 6, class(&[6]));
        let mut wrong = VERSION_3;
        wrong[9] = 7; // not the size of all elements
        assert!(Datatype::parse(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(version_2_bytes in near(&VERSION_2), version_3_bytes in near(&VERSION_3)) {
            let _ = Datatype::parse(&version_2_bytes);
            let _ = Datatype::parse(&version_3_bytes);
        }
    }
}
