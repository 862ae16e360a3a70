//! Converts elements of ASDF arrays to canonical bytes.

use asdf_core::{Datatype, ScalarType};
use sciformats_core::bound;
use sciformats_core::slab::elements;
use sciformats_core::{Error, Fault, FaultKind};

use crate::model::{ElementType, TextForm};
use crate::{Name, Result};

/// The number of bytes before a text, which contain its length.
const LENGTH: u64 = 8;

/// Returns the element type for a datatype.
pub(super) fn element(of: &Datatype) -> ElementType {
    match of {
        Datatype::Scalar(scalar) => match scalar {
            ScalarType::Int8 => ElementType::Int(1),
            ScalarType::Int16 => ElementType::Int(2),
            ScalarType::Int32 => ElementType::Int(4),
            ScalarType::Int64 => ElementType::Int(8),
            ScalarType::UInt8 => ElementType::UInt(1),
            ScalarType::UInt16 => ElementType::UInt(2),
            ScalarType::UInt32 => ElementType::UInt(4),
            ScalarType::UInt64 => ElementType::UInt(8),
            ScalarType::Float16 => ElementType::F16,
            ScalarType::Float32 => ElementType::F32,
            ScalarType::Float64 => ElementType::F64,
            ScalarType::Complex64 => ElementType::Complex(8),
            ScalarType::Complex128 => ElementType::Complex(16),
            ScalarType::Bool8 => ElementType::Bool,
            ScalarType::Ascii(_) | ScalarType::Ucs4(_) => ElementType::Text,
        },
        Datatype::Struct(fields) => {
            let field = |field: &asdf_core::Field| {
                let one = element(&field.datatype);
                let all = match field.shape.as_slice() {
                    [] => one,
                    shape => ElementType::Array { element: Box::new(one), shape: shape.into() },
                };
                (Name::of_utf8(&field.name), all)
            };
            ElementType::Compound(fields.iter().map(field).collect())
        }
    }
}

/// Appends how the texts in elements are stored.
pub(super) fn texts(of: &Datatype, forms: &mut Vec<TextForm>) {
    match of {
        Datatype::Scalar(ScalarType::Ascii(size)) => forms.push(TextForm::Bytes(*size)),
        Datatype::Scalar(ScalarType::Ucs4(size)) => forms.push(TextForm::Characters(*size)),
        Datatype::Scalar(_) => {}
        Datatype::Struct(fields) => fields.iter().for_each(|field| texts(&field.datatype, forms)),
    }
}

/// Returns whether packed little-endian elements are canonical bytes already.
pub(super) fn is_packed(of: &Datatype) -> bool {
    match of {
        Datatype::Scalar(scalar) => {
            !matches!(scalar, ScalarType::Bool8 | ScalarType::Ascii(_) | ScalarType::Ucs4(_))
        }
        Datatype::Struct(fields) => fields.iter().all(|field| is_packed(&field.datatype)),
    }
}

/// Returns the largest number of canonical bytes that one element may have; `None` if it exceeds 64 bits.
pub(super) fn most(of: &Datatype) -> Option<u64> {
    match of {
        Datatype::Scalar(scalar @ (ScalarType::Ascii(_) | ScalarType::Ucs4(_))) => {
            scalar.size()?.checked_add(LENGTH)
        }
        Datatype::Scalar(scalar) => scalar.size(),
        Datatype::Struct(fields) => fields.iter().try_fold(0u64, |sum, field| {
            sum.checked_add(elements(&field.shape)?.checked_mul(most(&field.datatype)?)?)
        }),
    }
}

/// Appends `count` elements, which are packed and little-endian at the start of `bytes`, and advances `bytes`
/// past them. `at` is the offset of the array's node, for errors.
pub(super) fn append(of: &Datatype, count: u64, bytes: &mut &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::usage("elements", "end inside an element");
    let mut take = |size: Option<u64>| {
        let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(short)?;
        let (taken, rest) = bytes.split_at_checked(size).ok_or_else(short)?;
        *bytes = rest;
        Ok::<_, Error>(taken)
    };
    match of {
        Datatype::Scalar(ScalarType::Bool8) => {
            out.extend(take(Some(count))?.iter().map(|&byte| u8::from(byte != 0)));
        }
        Datatype::Scalar(scalar @ ScalarType::Ascii(_)) => {
            for _ in 0..count {
                text(trimmed(take(scalar.size())?), out);
            }
        }
        Datatype::Scalar(scalar @ ScalarType::Ucs4(_)) => {
            for _ in 0..count {
                let decoded = decoded(take(scalar.size())?);
                let fault = || Fault::new("element", FaultKind::Encoding).at("ndarray", at);
                text(decoded.ok_or_else(fault)?.as_bytes(), out);
            }
        }
        Datatype::Scalar(scalar) => {
            let size = scalar.size().and_then(|size| size.checked_mul(count));
            out.extend_from_slice(take(size)?);
        }
        Datatype::Struct(fields) => {
            for _ in 0..count {
                for field in fields {
                    let count = elements(&field.shape).ok_or_else(short)?;
                    append(&field.datatype, count, bytes, at, out)?;
                }
            }
        }
    }
    Ok(())
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| bound::sum(last, 1));
    bytes.get(..end).unwrap_or_default()
}

/// Returns the text of UCS-4 code points without the zeros at its end; `None` if one of them is not a
/// character.
fn decoded(bytes: &[u8]) -> Option<String> {
    let codes = bytes.as_chunks::<4>().0;
    let end = codes.iter().rposition(|code| *code != [0; 4]).map_or(0, |last| bound::sum(last, 1));
    codes.iter().take(end).map(|code| char::from_u32(u32::from_le_bytes(*code))).collect()
}

#[cfg(test)]
mod tests {
    use asdf_core::{ByteOrder, Field};

    use super::*;

    fn canonical(of: &Datatype, count: u64, mut bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        append(of, count, &mut bytes, 7, &mut out)?;
        assert!(bytes.is_empty());
        assert!(out.len() as u64 <= most(of).unwrap() * count);
        Ok(out)
    }

    #[test]
    fn texts_and_truth_values() {
        let table: [(ScalarType, u64, &[u8], &[u8]); 6] = [
            (ScalarType::Int16, 2, b"\x01\0\x02\0", b"\x01\0\x02\0"),
            (ScalarType::Bool8, 3, b"\0\x01\xFF", b"\0\x01\x01"),
            // A zero inside a text is one of its characters.
            (ScalarType::Ascii(3), 2, b"a\0ba\0\0", b"\x03\0\0\0\0\0\0\0a\0b\x01\0\0\0\0\0\0\0a"),
            (ScalarType::Ascii(0), 2, b"", &[0; 16]),
            (ScalarType::Ucs4(1), 1, b"\0\xF6\x01\0", b"\x04\0\0\0\0\0\0\0\xF0\x9F\x98\x80"),
            (ScalarType::Ucs4(2), 1, b"\xE9\0\0\0\0\0\0\0", b"\x02\0\0\0\0\0\0\0\xC3\xA9"),
        ];
        for (scalar, count, stored, expected) in table {
            let stored = if scalar == ScalarType::Ucs4(1) { b"\0\xF6\x01\0" } else { stored };
            assert_eq!(canonical(&scalar.into(), count, stored).unwrap(), expected, "{scalar:?}");
        }
        let error = canonical(&ScalarType::Ucs4(1).into(), 1, b"\0\xD8\0\0").unwrap_err();
        assert_eq!(error.offset(), Some(7));
        assert!(canonical(&ScalarType::Int32.into(), 1, b"\0").is_err());
    }

    #[test]
    fn fields_with_shapes() {
        let inner = Datatype::Struct(vec![Field::new("t", ScalarType::Ascii(1), ByteOrder::Big)]);
        let outer = Datatype::Struct(vec![
            Field { shape: vec![2], ..Field::new("b", ScalarType::Bool8, ByteOrder::Big) },
            Field { shape: vec![1, 2], ..Field::new("s", inner, ByteOrder::Big) },
        ]);
        assert_eq!(element(&outer).to_string(), "{b: bool[2], s: {t: string}[1,2]}");
        assert!(!is_packed(&outer));
        let expected = b"\x01\0\x01\0\0\0\0\0\0\0x\0\0\0\0\0\0\0\0";
        assert_eq!(canonical(&outer, 1, b"\x09\0x\0").unwrap(), expected);
    }
}
