//! Changing the shape in an existing header: only the digits of one dimension and the number of spaces at the end change.
//!
//! Everything else in the dictionary stays as it is, whatever its order and form, because other programs may read more of it than
//! this crate does.

use crate::spec::header::{Header, Preamble};
use sciformats_core::bound;

/// The result of changing the shape in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    /// The new text of the header, which is as long as the old one.
    Text(Vec<u8>),
    /// The new shape does not fit.
    NoRoom,
    /// The shape was not found in the text.
    NoShape,
}

/// Returns the text of a header in which the dimension `axis` has its value in `new`, and everything else is unchanged.
pub(crate) fn grown(text: &[u8], preamble: Preamble, axis: usize, new: &Header) -> Grown {
    let Some(length) = new.shape.get(axis) else { return Grown::NoShape };
    let dictionary = text.trim_ascii_end();
    let mut outcome = Grown::NoShape;
    for key in [&b"'shape'"[..], b"\"shape\""] {
        for at in
            (0..dictionary.len()).filter(|&at| dictionary.get(at..).is_some_and(|rest| rest.starts_with(key)))
        {
            let Some((start, end)) = number(dictionary, bound::sum(at, key.len()), axis) else { continue };
            let (Some(before), Some(after)) = (dictionary.get(..start), dictionary.get(end..)) else {
                continue;
            };
            let mut grown = [before, length.to_string().as_bytes(), after].concat();
            // The name of a field can look the same as the key, so the result is parsed and compared with what is intended.
            if Header::read(&grown, preamble.version, preamble.start.into()).ok().as_ref() != Some(new) {
                continue;
            }
            // The last byte, which is a line feed, is kept.
            let end = text.last().filter(|end| end.is_ascii_whitespace());
            let room = bound::left(text.len(), usize::from(end.is_some()));
            if grown.len() > room {
                outcome = Grown::NoRoom;
                continue;
            }
            grown.resize(room, b' ');
            grown.extend(end);
            return Grown::Text(grown);
        }
    }
    outcome
}

/// Returns the position of the digits of number `axis` of the tuple after `from`.
fn number(text: &[u8], from: usize, axis: usize) -> Option<(usize, usize)> {
    let mut at = from;
    let byte = |at: usize| text.get(at).copied();
    let skip = |mut at: usize| {
        while byte(at).is_some_and(|byte| byte.is_ascii_whitespace()) {
            at = bound::sum(at, 1);
        }
        at
    };
    for punctuation in [b':', b'('] {
        at = skip(at);
        if byte(at)? != punctuation {
            return None;
        }
        at = bound::sum(at, 1);
    }
    for number in 0.. {
        at = skip(at);
        let start = at;
        while byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at = bound::sum(at, 1);
        }
        if at == start {
            return None;
        }
        if number == axis {
            return Some((start, at));
        }
        // Python 2 writes an L after long numbers.
        at = skip(bound::sum(at, usize::from(byte(at) == Some(b'L'))));
        if byte(at)? != b',' {
            return None;
        }
        at = bound::sum(at, 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{DType, Field, Kind};

    fn change(dictionary: &str, room: usize, axis: usize, shape: &[u64]) -> Grown {
        let mut text = dictionary.as_bytes().to_vec();
        text.resize(text.len() + room, b' ');
        text.push(b'\n');
        let preamble = Preamble { version: (1, 0), length: text.len() as u32, start: 10 };
        let old = Header::read(&text, (1, 0), 10).unwrap();
        let grown = grown(&text, preamble, axis, &Header { shape: shape.into(), ..old });
        if let Grown::Text(grown) = &grown {
            assert_eq!(grown.len(), text.len());
            assert_eq!(grown.last(), Some(&b'\n'));
        }
        grown
    }

    fn text(grown: Grown) -> String {
        let Grown::Text(text) = grown else { panic!("{grown:?}") };
        String::from_utf8(text).unwrap().trim_end().to_owned()
    }

    #[test]
    fn digits_change_and_nothing_else() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99, 4), }";
        assert_eq!(
            text(change(header, 1, 0, &[100, 4])),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 4), }"
        );
        let last = "{'descr': '<f4', 'fortran_order': True, 'shape': (99, 4), }";
        assert_eq!(text(change(last, 3, 1, &[99, 1000])), last.replace(" 4", " 1000"));
        // Other forms with the same meaning.
        let odd = "{\"shape\" :( 9L ,4 ),'fortran_order':False,'descr':'<f4'}";
        assert_eq!(text(change(odd, 3, 0, &[10, 4])), odd.replace("9L", "10L"));
        assert_eq!(
            text(change("{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}", 1, 0, &[10])),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (10,)}"
        );
    }

    #[test]
    fn a_field_with_the_name_of_the_shape_is_none() {
        let odd =
            "{'descr': [('shape', '<f4', (3,)), ('x', '|S1')], 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(text(change(odd, 3, 0, &[10])), odd.replace("'shape': (3,)", "'shape': (10,)"));
        let dtype = DType::Record(vec![Field::new("'shape': (3,", DType::scalar(Kind::Float, 4))]);
        let header = Header::new(dtype, [3]);
        let bytes = header.to_bytes().unwrap();
        let preamble = Preamble::read(&bytes).unwrap();
        let new = Header { shape: vec![4], ..header };
        let Grown::Text(grown) = grown(&bytes[10..], preamble, 0, &new) else { panic!() };
        assert_eq!(Header::read(&grown, (1, 0), 10).unwrap(), new);
    }

    #[test]
    fn what_has_no_room_is_told() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99,), }";
        assert_eq!(change(header, 0, 0, &[100]), Grown::NoRoom);
        assert_eq!(
            change("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 9, 0, &[]),
            Grown::NoShape
        );
    }
}
