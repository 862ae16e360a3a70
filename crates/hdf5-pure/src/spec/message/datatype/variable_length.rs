//! Class 9, sequences of any length, and strings.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–3 | type: 0 sequence, 1 string |
//! | 4–7 | padding type of a string, as for [strings of fixed length](super::string) |
//! | 8–11 | character set of a string |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | | base type: a datatype message; for a string, that of unsigned bytes |
//!
//! | offset | size | field of an element |
//! |---|---|---|
//! | 0 | 4 | length in elements of the base type |
//! | 4 | O + 4 | [ID](super::super::super::global_heap) in the global heap |

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::super::bits;
use super::string::{CharacterSet, Padding, charset, padding};
use super::{Class, Datatype, Head};

/// A type of variable length.
///
/// ```
/// use hdf5_pure::structure::VariableLength;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let visits = Datatype::sequence(&Datatype::float32());
/// assert_eq!(visits.class, Class::VariableLength(VariableLength::Sequence(Box::new(Datatype::float32()))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableLength {
    /// Sequences of a type.
    Sequence(Box<Datatype>),
    /// Strings.
    String {
        /// The padding, which has no effect.
        padding: Padding,
        /// The encoding.
        charset: CharacterSet,
    },
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let (rest, base) = super::parse(i, head.depth)?;
    let class = match bits(head.bits, 0, 4) {
        0 => VariableLength::Sequence(Box::new(base)),
        1 => {
            let (_, padding) = padding(i, bits(head.bits, 4, 4))?;
            let (_, charset) = charset(i, bits(head.bits, 8, 4))?;
            VariableLength::String { padding, charset }
        }
        found => return field("type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    };
    Ok((rest, Class::VariableLength(class)))
}

/// The base type with which strings of variable length are stored: unsigned bytes.
pub(super) const BYTE: [u8; 12] = [0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::tests::both_ways;
    use super::*;

    const SEQUENCE: [u8; 20] = [
        0x19, // version 1, class 9
        0, 0, 0, // class bit field: sequence
        0x10, 0, 0, 0,    // size
        0x10, // base type: version 1, class 0
        8, 0, 0, // class bit field: signed
        2, 0, 0, 0, // size
        0, 0, // bit offset
        0x10, 0, // bit precision
    ];

    const TEXT: [u8; 20] = [
        0x19, // version 1, class 9
        1, 1, 0, // class bit field: string, null-terminated, UTF-8
        0x10, 0, 0, 0,    // size
        0x10, // base type: version 1, class 0
        0, 0, 0, // class bit field
        1, 0, 0, 0, // size
        0, 0, // bit offset
        8, 0, // bit precision
    ];

    #[test]
    fn sequences_and_strings() {
        let sequence = VariableLength::Sequence(Box::new(Datatype::signed(2)));
        both_ways(&SEQUENCE, 1, 16, Class::VariableLength(sequence));
        let text = VariableLength::String { padding: Padding::NullTerminated, charset: CharacterSet::Utf8 };
        both_ways(&TEXT, 1, 16, Class::VariableLength(text));
        let mut wrong = TEXT;
        wrong[1] = 2;
        assert!(Datatype::parse(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(sequence_bytes in near(&SEQUENCE), text_bytes in near(&TEXT)) {
            let _ = Datatype::parse(&sequence_bytes);
            let _ = Datatype::parse(&text_bytes);
        }
    }
}
