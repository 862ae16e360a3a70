//! Class 7, references: no properties. Class bits 0–3: kind; from version 4 on bits 4–7 the encoding's version.

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::bits;
use super::{Class, Head};

/// What references lead to.
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
    /// Objects, by address.
    Object,
    /// Elements of a dataset, through the global heap.
    Region,
    /// Objects, elements or attributes: each element says which.
    Standard,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let kind = match (bits(head.bits, 0, 4), head.version) {
        (0, _) => ReferenceKind::Object,
        (1, _) => ReferenceKind::Region,
        // Libraries on the way to 1.12 wrote these with the versions of older types.
        (2..=4, _) => ReferenceKind::Standard,
        (found, _) => {
            return field("reference type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i);
        }
    };
    Ok((i, Class::Reference(kind)))
}
