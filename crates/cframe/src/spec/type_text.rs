//! The text of a scalar element type as NumPy writes it, which is the dtype of the metalayer `b2nd`, or that of a field.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 0 or 1 | byte order: `<` little-endian, `>` big-endian, `=` that of the machine, `\|` none |
//! | | 1 | kind: `?` `b` `i` `u` `f` `c` `M` `m` `S` `a` `U` `V` |
//! | | digits | size of an element in bytes; for `U`, number of characters of 4 bytes; none after `?` |
//! | | rest | unit of `M` and `m` in brackets, which may be missing: `[ns]` |

use nom::Parser;
use nom::bytes::complete::{is_not, tag};
use nom::character::complete::{anychar, digit1, one_of};
use nom::combinator::{map_opt, opt};
use nom::sequence::delimited;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Parsed, field};

/// The parts of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeText<'a> {
    /// The byte order, if it is named.
    pub(crate) order: Option<ByteOrder>,
    pub(crate) kind: char,
    /// The number after the kind.
    pub(crate) number: Option<usize>,
    /// The text in the brackets.
    pub(crate) unit: Option<&'a [u8]>,
}

impl<'a> TypeText<'a> {
    pub(crate) fn parse(i: &'a [u8]) -> Parsed<'a, Self> {
        let (i, order) = opt(one_of("<>|=")).parse(i)?;
        let order = match order {
            Some('<') => Some(ByteOrder::Little),
            Some('>') => Some(ByteOrder::Big),
            _ => None,
        };
        let (i, kind) = field("kind", anychar)(i)?;
        // A number that does not fit its type is not consumed, so the rest of the text is an error.
        let (i, number) = opt(map_opt(digit1, decimal)).parse(i)?;
        let (i, unit) = opt(delimited(tag("["), opt(is_not("[]")), tag("]"))).parse(i)?;
        Ok((i, Self { order, kind, number, unit: unit.map(Option::unwrap_or_default) }))
    }
}

fn decimal(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    #[test]
    fn byte_by_byte() {
        let text = [
            &b">"[..], // byte order: big-endian
            b"M",      // kind: points in time
            b"8",      // bytes
            b"[25ns]", // unit
        ]
        .concat();
        let expected =
            TypeText { order: Some(ByteOrder::Big), kind: 'M', number: Some(8), unit: Some(b"25ns") };
        assert_eq!(locate_all("type", 0, &text, TypeText::parse).unwrap(), expected);
        let bool = TypeText { order: None, kind: '?', number: None, unit: None };
        assert_eq!(locate_all("type", 0, b"?", TypeText::parse).unwrap(), bool);
        for bad in ["", "<", "f8x", "M8[ns", "M8[n[s]]", "i99999999999999999999"] {
            assert!(locate_all("type", 0, bad.as_bytes(), TypeText::parse).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, text in r"[<>|=]?[a-zA-Z?][0-9]{0,30}(\[[a-z0-9]{0,9}\])?") {
            let _ = TypeText::parse(&bytes);
            let _ = TypeText::parse(text.as_bytes());
        }
    }
}
