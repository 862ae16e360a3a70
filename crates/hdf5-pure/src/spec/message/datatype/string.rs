//! Class 3, strings of fixed length: no properties. Class bits: 0–3 padding, 4–7 character set.

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::bits;
use super::{Class, Head};

/// How strings that are shorter than their element are filled up.
///
/// ```
/// use hdf5_pure::structure::Padding;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let class = Datatype::fixed_string(8).class;
/// assert!(matches!(class, Class::String { padding: Padding::NullPadded, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The string ends at the first NUL.
    NullTerminated,
    /// NULs at the end are not part of the string.
    NullPadded,
    /// Spaces at the end are not part of the string.
    SpacePadded,
}

/// The encoding that a string says to have. Writers often say ASCII and mean UTF-8.
///
/// ```
/// use hdf5_pure::structure::CharacterSet;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let class = Datatype::fixed_string(8).class;
/// assert!(matches!(class, Class::String { charset: CharacterSet::Utf8, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharacterSet {
    /// ASCII.
    Ascii,
    /// UTF-8.
    Utf8,
}

pub(super) fn padding(i: &[u8], value: u8) -> Parsed<'_, Padding> {
    match value {
        0 => Ok((i, Padding::NullTerminated)),
        1 => Ok((i, Padding::NullPadded)),
        2 => Ok((i, Padding::SpacePadded)),
        found => field("padding type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    }
}

pub(super) fn charset(i: &[u8], value: u8) -> Parsed<'_, CharacterSet> {
    match value {
        0 => Ok((i, CharacterSet::Ascii)),
        1 => Ok((i, CharacterSet::Utf8)),
        found => field("character set", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    }
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let (i, padding) = padding(i, bits(head.bits, 0, 4))?;
    let (i, charset) = charset(i, bits(head.bits, 4, 4))?;
    Ok((i, Class::String { padding, charset }))
}

impl Padding {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::NullTerminated => 0,
            Self::NullPadded => 1,
            Self::SpacePadded => 2,
        }
    }
}

impl CharacterSet {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Ascii => 0,
            Self::Utf8 => 1,
        }
    }
}
