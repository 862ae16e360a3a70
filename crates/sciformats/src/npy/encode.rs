//! Headers, and text as NumPy has it.

use sciformats_core::Error;

use super::MAGIC;
use crate::Result;
use crate::model::{Datum, Decoder, ElementType};

/// The `descr` of a type whose canonical bytes are the bytes of NumPy. What NumPy has no type for stays as its bytes
/// (`V`).
///
/// ```
/// use sciformats::ElementType;
/// use sciformats::npy::descr;
///
/// let star = ElementType::Compound(vec![("id".into(), ElementType::UInt(4)), ("flux".into(), ElementType::F64)]);
/// assert_eq!(descr(&star)?, "[('id', '<u4'), ('flux', '<f8')]");
/// assert!(descr(&ElementType::Text).is_err());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] for a type whose elements differ in size: for text, see [`ucs4`].
pub fn descr(element: &ElementType) -> Result<String> {
    with_texts(element, &mut std::iter::empty())
}

/// As [`descr`]; `texts` are the types of the texts in an element, one after another.
pub(super) fn with_texts(element: &ElementType, texts: &mut dyn Iterator<Item = String>) -> Result<String> {
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
        ElementType::Enum { base, .. } => with_texts(base, texts)?,
        ElementType::Compound(fields) => {
            let mut parts = Vec::new();
            for (name, field) in fields {
                parts.push(format!("({}, {})", quoted(&name.shown()), part(field, texts)?));
            }
            format!("[{}]", parts.join(", "))
        }
        // A scalar type has no shape: what is no part of a compound, and no array of more dimensions, has a field.
        ElementType::Array { .. } => format!("[('f0', {})]", part(element, texts)?),
        // What NumPy has no type for stays as its bytes.
        other => {
            let text = || if is_text(other) { texts.next() } else { None };
            match other.size().map(|bytes| format!("'|V{bytes}'")).or_else(text) {
                Some(descr) => descr,
                None => {
                    let problem = format!("npy holds no elements of type {other}");
                    return Err(Error::usage("format", problem));
                }
            }
        }
    })
}

/// Whether elements are text of any length.
pub(super) fn is_text(element: &ElementType) -> bool {
    matches!(element, ElementType::Text | ElementType::Reference | ElementType::Region)
}

/// The rest of a field's tuple: its type, and its shape if it has one.
fn part(element: &ElementType, texts: &mut dyn Iterator<Item = String>) -> Result<String> {
    let (inner, shape) = flat(element, &[]);
    match shape.as_slice() {
        [] => with_texts(inner, texts),
        shape => Ok(format!("{}, {}", with_texts(inner, texts)?, tuple(shape))),
    }
}

/// The same elements without those that are arrays themselves: these are more dimensions of the array.
///
/// ```
/// use sciformats::{ElementType, npy};
///
/// let vector = ElementType::Array { element: Box::new(ElementType::F32), shape: vec![3] };
/// assert_eq!(npy::flat(&vector, &[10]), (&ElementType::F32, vec![10, 3]));
/// ```
pub fn flat<'a>(mut element: &'a ElementType, shape: &[u64]) -> (&'a ElementType, Vec<u64>) {
    let mut shape = shape.to_vec();
    while let ElementType::Array { element: inner, shape: further } = element {
        shape.extend(further);
        element = inner;
    }
    (element, shape)
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

/// All that stands before the elements, which follow in C order: of an array of `shape` whose type is `descr`.
///
/// ```
/// use sciformats::{File, OpenOptions, npy};
/// use std::sync::Arc;
///
/// let mut file = npy::header("'<u2'", &[3]);
/// file.extend([1u16, 2, 300].map(u16::to_le_bytes).concat());
/// let file = File::from_bytes(file)?;
/// assert_eq!(file.array("/")?.read::<u16>()?, [1, 2, 300]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {}, }}", tuple(shape));
    // The whole header ends on a multiple of 64, its line feed included.
    let padded = |before: usize| (before + dictionary.len() + 1).next_multiple_of(64) - before;
    let (version, before) = match (dictionary.is_ascii(), u16::try_from(padded(10))) {
        (true, Ok(_)) => (1, 10),
        (true, Err(_)) => (2, 12),
        (false, _) => (3, 12),
    };
    let length = padded(before);
    let mut out = MAGIC.to_vec();
    out.extend([version, 0]);
    let bytes = (length as u64).to_le_bytes();
    out.extend(bytes.iter().take(before - 8));
    out.extend(dictionary.as_bytes());
    out.resize(before + length - 1, b' ');
    out.push(b'\n');
    out
}

/// The number of characters of the longest of the texts in canonical bytes.
///
/// ```
/// use sciformats::memory::texts;
/// use sciformats::npy::longest;
///
/// assert_eq!(longest(&texts(&[2], &["Vega", "Altair"]).bytes)?, 6);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] for bytes that end inside a text; [`Error::Unsupported`] for a text that NumPy's code points cannot
/// hold: bytes that are not UTF-8, or a NUL at the end, which NumPy takes for padding.
pub fn longest(bytes: &[u8]) -> Result<usize> {
    let mut longest = 0;
    for datum in Decoder::new(&ElementType::Text, bytes) {
        longest = longest.max(characters(&datum?)?.chars().count());
    }
    Ok(longest)
}

/// Texts in canonical bytes as code points, `width` a text.
///
/// ```
/// use sciformats::memory::texts;
/// use sciformats::npy;
///
/// let names = texts(&[2], &["Vega", "Altair"]).bytes;
/// let width = npy::longest(&names)?;
/// let mut file = npy::header(&format!("'<U{width}'"), &[2]);
/// file.extend(npy::ucs4(&names, width)?);
/// assert_eq!(file.len(), 128 + 2 * 6 * 4);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// As [`longest`].
pub fn ucs4(bytes: &[u8], width: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for datum in Decoder::new(&ElementType::Text, bytes) {
        let datum = datum?;
        let text = characters(&datum)?;
        let codes = text.chars().map(u32::from).chain(std::iter::repeat(0));
        out.extend(codes.take(width).flat_map(u32::to_le_bytes));
    }
    Ok(out)
}

fn characters<'a>(datum: &'a Datum<'_>) -> Result<&'a str> {
    let Datum::Text(bytes) = datum else { return Err(Error::usage("element", "not a text")) };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.ends_with('\0') => Ok(text),
        Ok(_) => Err(Error::unsupported("a text that ends with NUL, in an array of NumPy")),
        Err(_) => Err(Error::unsupported("a text that is not UTF-8, in an array of NumPy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_not_come_back_is_refused() {
        let canonical = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
        assert_eq!(longest(&canonical("aµ".as_bytes())).unwrap(), 2);
        assert_eq!(ucs4(&canonical("µ".as_bytes()), 2).unwrap(), [0xb5, 0, 0, 0, 0, 0, 0, 0]);
        for text in [&b"\xff"[..], b"a\0"] {
            assert!(matches!(longest(&canonical(text)), Err(Error::Unsupported { .. })));
            assert!(matches!(ucs4(&canonical(text), 4), Err(Error::Unsupported { .. })));
        }
    }

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

    #[test]
    fn texts_of_one_width() {
        let bytes = crate::memory::texts(&[2], &["aµ", ""]).bytes;
        assert_eq!(longest(&bytes).unwrap(), 2);
        assert_eq!(ucs4(&bytes, 2).unwrap(), b"a\0\0\0\xb5\0\0\0\0\0\0\0\0\0\0\0");
    }
}
