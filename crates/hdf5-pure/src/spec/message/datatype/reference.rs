//! Class 7, references. There are no properties.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–3 | reference type: 0 object, 1 region; in the revised form: 2 object, 3 region, 4 attribute |
//! | 4–7 | version of the encoding, from datatype version 4 on |

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::bits;
use super::{Class, Head};

/// The kind of target that references have.
///
/// ```
/// use hdf5_pure::structure::ReferenceKind;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::references::{Reference, RegionReference};
/// use hdf5_pure::structure::Class;
///
/// assert_eq!(Datatype::of::<Reference>().class, Class::Reference(ReferenceKind::Object));
/// assert_eq!(Datatype::of::<RegionReference>().class, Class::Reference(ReferenceKind::Region));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Objects, identified by their addresses.
    Object,
    /// Elements of a dataset. The selection is in the global heap.
    Region,
    /// Objects, elements or attributes. Each element of the type says which.
    Standard,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let kind = match (bits(head.bits, 0, 4), head.version) {
        (0, _) => ReferenceKind::Object,
        (1, _) => ReferenceKind::Region,
        // Development versions of HDF5 1.12 stored these types with the version numbers of older types.
        (2..=4, _) => ReferenceKind::Standard,
        (found, _) => {
            return field("reference type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i);
        }
    };
    Ok((i, Class::Reference(kind)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const OBJECT: [u8; 8] = [
        0x17, // version 1, class 7
        0, 0, 0, // class bit field: object
        8, 0, 0, 0, // size
    ];

    const STANDARD: [u8; 8] = [
        0x47, // version 4, class 7
        0x12, 0, 0, // class bit field: object of the revised form, encoding version 1
        0x12, 0, 0, 0, // size
    ];

    #[test]
    fn all_types() {
        both_ways(&OBJECT, 1, 8, Class::Reference(ReferenceKind::Object));
        let mut region = OBJECT;
        (region[1], region[4]) = (1, 12);
        both_ways(&region, 1, 12, Class::Reference(ReferenceKind::Region));
        both_ways(&STANDARD, 4, 18, Class::Reference(ReferenceKind::Standard));
        region[1] = 5;
        assert!(Datatype::parse(&region).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(object_bytes in near(&OBJECT), standard_bytes in near(&STANDARD)) {
            let _ = Datatype::parse(&object_bytes);
            let _ = Datatype::parse(&standard_bytes);
        }
    }
}
