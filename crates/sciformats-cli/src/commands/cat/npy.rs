//! NumPy's file format, as the `numpy.lib.format` documentation states it.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 6 | `\x93NUMPY` |
//! | 6 | 2 | version: 1.0, 2.0 if the header is longer than 65535 bytes, 3.0 if it is not Latin-1 |
//! | 8 | 2 or 4 | length of the header, little-endian; 4 bytes from version 2.0 on |
//! | 10, 12 | | header: a Python dictionary in ASCII or UTF-8, spaces, a line feed; ends at a multiple of 64 |
//! | then | | the elements in C order |

use std::io::Write;

use sciformats::{Datum, ElementType, Error};

use super::{Part, Printed};

pub(super) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    let element = part.array.element();
    let shape = part.selection.shape();
    if let ElementType::Text | ElementType::Reference | ElementType::Region = element {
        return texts(part, &shape, out);
    }
    out.write_all(&header(&descr(element)?, &shape))?;
    part.for_each_piece(|bytes| out.write_all(bytes))?;
    Ok(out.flush()?)
}

/// Strings become UCS-4 of one width, so they are read twice: for the longest one, and to be written.
fn texts(part: &Part<'_>, shape: &[u64], out: &mut impl Write) -> Printed {
    let mut longest = 0;
    part.for_each(|datum| {
        longest = longest.max(text(&datum).chars().count());
        Ok(())
    })?;
    out.write_all(&header(&format!("'<U{longest}'"), shape))?;
    part.for_each(|datum| {
        let text = text(&datum);
        let codes = text.chars().map(u32::from).chain(std::iter::repeat(0));
        codes.take(longest).try_for_each(|code| out.write_all(&code.to_le_bytes()))
    })?;
    Ok(out.flush()?)
}

fn text(datum: &Datum<'_>) -> String {
    match datum {
        Datum::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
    }
}

/// The `descr` of a type whose canonical bytes are the bytes of NumPy.
fn descr(element: &ElementType) -> Result<String, Error> {
    Ok(match element {
        ElementType::Int(1) => "'|i1'".into(),
        ElementType::UInt(1) => "'|u1'".into(),
        ElementType::Int(bytes @ (2 | 4 | 8)) => format!("'<i{bytes}'"),
        ElementType::UInt(bytes @ (2 | 4 | 8)) => format!("'<u{bytes}'"),
        ElementType::F16 => "'<f2'".into(),
        ElementType::F32 => "'<f4'".into(),
        ElementType::F64 | ElementType::FloatOther => "'<f8'".into(),
        ElementType::Complex(bytes @ (8 | 16)) => format!("'<c{bytes}'"),
        ElementType::Bool => "'|b1'".into(),
        ElementType::Bits(1) | ElementType::Time(1) => "'|u1'".into(),
        ElementType::Bits(bytes @ (2 | 4 | 8)) | ElementType::Time(bytes @ (2 | 4 | 8)) => {
            format!("'<u{bytes}'")
        }
        ElementType::Enum { base, .. } => descr(base)?,
        ElementType::Compound(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| Ok(format!("({}, {})", quoted(&name.shown()), parts(field)?)));
            format!("[{}]", fields.collect::<Result<Vec<_>, Error>>()?.join(", "))
        }
        // An array of arrays has a field of its own in NumPy, as a scalar type has no shape.
        ElementType::Array { .. } => format!("[('f0', {})]", parts(element)?),
        // What NumPy has no type for stays as its bytes.
        other => match other.size() {
            Some(bytes) => format!("'|V{bytes}'"),
            None => {
                return Err(Error::usage(
                    "format",
                    format!("npy holds no elements of type {other}; take --format json"),
                ));
            }
        },
    })
}

/// The rest of a field's tuple: its type, and its shape if it has one.
fn parts(element: &ElementType) -> Result<String, Error> {
    match element {
        ElementType::Array { element, shape } => Ok(format!("{}, {}", descr(element)?, tuple(shape))),
        other => descr(other),
    }
}

/// A Python string.
fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// A Python tuple.
fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        more => format!("({})", more.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {}, }}", tuple(shape));
    // The whole header ends on a multiple of 64, its line feed included.
    let padded = |before: usize| (before + dictionary.len() + 1).next_multiple_of(64) - before;
    let (version, before) = match (dictionary.is_ascii(), u16::try_from(padded(10))) {
        (true, Ok(_)) => (1, 10),
        (true, Err(_)) => (2, 12),
        (false, _) => (3, 12),
    };
    let length = padded(before);
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    let bytes = (length as u64).to_le_bytes();
    out.extend(bytes.iter().take(before - 8));
    out.extend(dictionary.as_bytes());
    out.resize(before + length - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_byte_by_byte() {
        let header = header("'<f4'", &[3, 4]);
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec(); // magic, version 1.0, 118 bytes
        expected.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header, expected);
    }

    #[test]
    fn long_and_foreign_headers_take_later_versions() {
        let long = header(&format!("[{}]", "('x', '<f4'), ".repeat(6000)), &[]);
        assert_eq!((long[6], long.len() % 64), (2, 0));
        assert_eq!(u32::from_le_bytes(long[8..12].try_into().unwrap()) as usize, long.len() - 12);
        let foreign = header("[('µ', '<f4')]", &[1]);
        assert_eq!((foreign[6], foreign.len() % 64, foreign.last()), (3, 0, Some(&b'\n')));
    }

    #[test]
    fn types_of_numpy() {
        let field = |name: &str, element: ElementType| (name.into(), element);
        let array = ElementType::Array { element: Box::new(ElementType::F32), shape: vec![3] };
        let compound =
            ElementType::Compound(vec![field("a'b", ElementType::Int(8)), field("v", array.clone())]);
        assert_eq!(descr(&compound).unwrap(), r"[('a\'b', '<i8'), ('v', '<f4', (3,))]");
        assert_eq!(descr(&array).unwrap(), "[('f0', '<f4', (3,))]");
        assert_eq!(descr(&ElementType::Int(16)).unwrap(), "'|V16'");
        assert_eq!(descr(&ElementType::BF16).unwrap(), "'|V2'");
        assert_eq!(descr(&ElementType::Bits(1)).unwrap(), "'|u1'");
        assert!(descr(&ElementType::Vlen(Box::new(ElementType::F32))).is_err());
    }
}
