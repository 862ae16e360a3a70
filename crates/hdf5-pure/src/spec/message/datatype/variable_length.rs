//! Class 9, sequences of any length: the base type. Class bits: 0–3 kind (0 sequence, 1 string), 4–7 padding, 8–11 character set.
//!
//! An element is a length (4) and the place in a global heap: collection (O) and index (4).

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
        /// How they would be filled up.
        padding: Padding,
        /// Encoding.
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

/// The base type that strings of variable length are stored with: unsigned bytes.
pub(super) const BYTE: [u8; 12] = [0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0];
