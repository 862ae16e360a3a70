//! Class 3, strings of fixed length. There are no properties.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–3 | padding type: 0 null-terminated, 1 null-padded, 2 space-padded |
//! | 4–7 | character set: 0 ASCII, 1 UTF-8 |

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::bits;
use super::{Class, Head};

/// How strings that are shorter than their element are padded.
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

/// The encoding that a string declares. Many writers declare ASCII and store UTF-8.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 8] = [
        0x13, // version 1, class 3
        0x12, 0, 0, // class bit field: space-padded, UTF-8
        7, 0, 0, 0, // size
    ];

    #[test]
    fn all_paddings_and_character_sets() {
        let class = |padding, charset| Class::String { padding, charset };
        both_ways(&BYTES, 1, 7, class(Padding::SpacePadded, CharacterSet::Utf8));
        let of = |bits| {
            let mut bytes = BYTES;
            bytes[1] = bits;
            bytes
        };
        both_ways(&of(0), 1, 7, class(Padding::NullTerminated, CharacterSet::Ascii));
        both_ways(&of(0x11), 1, 7, class(Padding::NullPadded, CharacterSet::Utf8));
        assert!(Datatype::parse(&of(3)).is_err() && Datatype::parse(&of(0x20)).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
