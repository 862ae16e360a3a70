//! Converts elements of Blosc2 arrays to canonical bytes.

use cframe::{ByteOrder, DType, Kind};
use sciformats_core::bound;
use sciformats_core::{Error, Fault, FaultKind, endian};

use crate::model::{ElementType, TextForm};
use crate::{Name, Result};

/// The number of bytes before a text, which contain its length.
const LENGTH: u64 = 8;

/// Returns the element type for a data type. Times are the integers that they are stored as.
pub(super) fn element(of: &DType) -> ElementType {
    match of {
        DType::Scalar { kind, size, .. } => {
            let wide = *size as u64;
            let small = u16::try_from(*size).unwrap_or(u16::MAX); // a bound: numbers are narrower
            match (kind, size) {
                (Kind::Bool, 1) => ElementType::Bool,
                (Kind::Signed | Kind::DateTime | Kind::TimeDelta, _) => ElementType::Int(small),
                (Kind::Unsigned, _) => ElementType::UInt(small),
                (Kind::Float, 2) => ElementType::F16,
                (Kind::Float, 4) => ElementType::F32,
                (Kind::Float, 8) => ElementType::F64,
                (Kind::Complex, 8) => ElementType::Complex(8),
                (Kind::Complex, 16) => ElementType::Complex(16),
                (Kind::Bytes | Kind::Text, _) => ElementType::Text,
                _ => ElementType::Opaque(wide),
            }
        }
        DType::Record { fields, .. } => ElementType::Compound(
            fields.iter().map(|field| (Name::of_utf8(&field.name), element(&field.dtype))).collect(),
        ),
        DType::Array { item, shape } => ElementType::Array {
            element: Box::new(element(item)),
            shape: shape.iter().map(|&n| n as u64).collect(),
        },
    }
}

/// Appends how the texts in elements are stored.
pub(super) fn texts(of: &DType, forms: &mut Vec<TextForm>) {
    match of {
        DType::Scalar { kind: Kind::Bytes, size, .. } => forms.push(TextForm::Bytes(*size as u64)),
        DType::Scalar { kind: Kind::Text, size, .. } => forms.push(TextForm::Characters(*size as u64 / 4)),
        DType::Scalar { .. } => {}
        DType::Record { fields, .. } => fields.iter().for_each(|field| texts(&field.dtype, forms)),
        DType::Array { item, .. } => texts(item, forms),
    }
}

/// Returns the width of the numbers whose bytes are in the wrong order, or 1 if none are; `None` for types
/// that are not a single number.
fn word(kind: Kind, size: usize, order: ByteOrder) -> Option<usize> {
    let size = match kind {
        Kind::Bool | Kind::Bytes | Kind::Text => return None,
        Kind::Raw => 1,
        Kind::Complex => size / 2,
        _ => size,
    };
    Some(if order == ByteOrder::Big { size } else { 1 })
}

/// Returns whether stored elements are canonical bytes already.
pub(super) fn is_packed(of: &DType) -> bool {
    match of {
        DType::Scalar { kind, size, order } => word(*kind, *size, *order) == Some(1),
        DType::Array { item, .. } => is_packed(item),
        DType::Record { fields, size } => {
            let mut end = 0;
            let packed = fields.iter().all(|field| {
                let follows = field.offset == end;
                end = bound::sum(end, field.dtype.size());
                follows && is_packed(&field.dtype)
            });
            packed && end == *size
        }
    }
}

/// Returns the largest number of canonical bytes that one element may have; `None` if it exceeds 64 bits.
pub(super) fn most(of: &DType) -> Option<u64> {
    match of {
        DType::Scalar { kind: Kind::Bytes | Kind::Text, size, .. } => (*size as u64).checked_add(LENGTH),
        DType::Scalar { size, .. } => Some(*size as u64),
        DType::Array { item, shape } => {
            shape.iter().try_fold(most(item)?, |size, &n| size.checked_mul(n as u64))
        }
        DType::Record { fields, .. } => {
            fields.iter().try_fold(0u64, |sum, field| sum.checked_add(most(&field.dtype)?))
        }
    }
}

/// Appends the stored elements in `bytes`.
pub(super) fn append(of: &DType, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let size = of.size();
    if size == 0 {
        return Ok(());
    }
    match of {
        DType::Scalar { kind, size, order } => {
            if let Some(width) = word(*kind, *size, *order) {
                let before = out.len();
                out.extend_from_slice(bytes);
                endian::swap(out.get_mut(before..).unwrap_or_default(), width);
                return Ok(());
            }
            match kind {
                Kind::Bytes => bytes.chunks_exact(*size).for_each(|text| put_text(trimmed(text), out)),
                Kind::Text => {
                    for text in bytes.chunks_exact(*size) {
                        put_text(decoded(text, *order)?.as_bytes(), out);
                    }
                }
                _ => out.extend(bytes.iter().map(|&byte| u8::from(byte != 0))),
            }
        }
        DType::Array { item, .. } => append(item, bytes, out)?,
        DType::Record { fields, .. } => {
            for record in bytes.chunks_exact(size) {
                for field in fields {
                    let end = field.offset.checked_add(field.dtype.size());
                    let part = end.and_then(|end| record.get(field.offset..end));
                    append(&field.dtype, part.ok_or_else(short)?, out)?;
                }
            }
        }
    }
    Ok(())
}

fn short() -> Error {
    Error::usage("element", "has a field that extends beyond its end")
}

fn put_text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| bound::sum(last, 1));
    bytes.get(..end).unwrap_or_default()
}

/// Returns the text of UCS-4 code points without the zeros at its end.
fn decoded(bytes: &[u8], order: ByteOrder) -> Result<String> {
    let codes = bytes.as_chunks::<4>().0;
    let end = codes.iter().rposition(|code| *code != [0; 4]).map_or(0, |last| bound::sum(last, 1));
    let code = |code: &[u8; 4]| match order {
        ByteOrder::Little => u32::from_le_bytes(*code),
        ByteOrder::Big => u32::from_be_bytes(*code),
    };
    let text: Option<String> = codes.iter().take(end).map(|c| char::from_u32(code(c))).collect();
    text.ok_or_else(|| Fault::new("character", FaultKind::Encoding).at("text of an element", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_elements_as_canonical_bytes() {
        let table: [(&str, &[u8], &str, &[u8]); 10] = [
            ("<i2", b"\x01\0\x02\0", "int16", b"\x01\0\x02\0"),
            (">i2", b"\0\x01\0\x02", "int16", b"\x01\0\x02\0"),
            (">c8", b"abcdefgh", "complex64", b"dcbahgfe"),
            ("|b1", b"\0\x07", "bool", b"\0\x01"),
            ("|V3", b"abc", "opaque(3)", b"abc"),
            (">M8[ns]", b"\0\0\0\0\0\0\0\x05", "int64", b"\x05\0\0\0\0\0\0\0"),
            ("|S3", b"a\0ba\0\0", "string", b"\x03\0\0\0\0\0\0\0a\0b\x01\0\0\0\0\0\0\0a"),
            (">U1", b"\0\x01\xF6\0", "string", b"\x04\0\0\0\0\0\0\0\xF0\x9F\x98\x80"),
            // Gaps of records are no part of their meaning.
            (
                "{'names': ['a', 'b'], 'formats': ['|u1', '>i2'], 'offsets': [0, 2], 'itemsize': 5}",
                b"\x01\xEE\0\x02\xEE",
                "{a: uint8, b: int16}",
                b"\x01\x02\0",
            ),
            ("[('y', '>u2', (2,))]", b"\0\x01\0\x02", "{y: uint16[2]}", b"\x01\0\x02\0"),
        ];
        for (text, stored, name, expected) in table {
            let dtype = DType::parse(text).unwrap();
            assert_eq!(element(&dtype).to_string(), name);
            let mut out = Vec::new();
            append(&dtype, stored, &mut out).unwrap();
            assert_eq!(out, expected, "{text}");
            assert!(out.len() as u64 <= most(&dtype).unwrap() * (stored.len() / dtype.size()) as u64);
            if is_packed(&dtype) {
                assert_eq!(out, stored, "{text}");
            }
        }
        assert!(is_packed(&DType::parse("[('a', '<i4'), ('b', '|V2', (3,))]").unwrap()));
        let mut out = Vec::new();
        assert!(append(&DType::parse("<U1").unwrap(), b"\0\xD8\0\0", &mut out).is_err());
    }
}
