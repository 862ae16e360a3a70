//! Element types of arrays, as NumPy writes them.
//!
//! | text | type |
//! |---|---|
//! | `<f4`, `>i2`, `\|u1`, `f8` | byte order, kind, size |
//! | `\|S7`, `<U3` | text of bytes, or of UCS-4 characters |
//! | `[('a', '<i4'), ('b', '<f8', (2, 3))]` | a record: names, types, shapes |
//! | `{'names': […], 'formats': […], 'offsets': […], 'itemsize': n}` | a record with gaps |
//! | `float32` | the name of a plain type |

use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::locate_all;
use sciformats_core::literal::{Encoding, Literal};
use sciformats_core::{Error, Result, bound};

use crate::spec::type_text::TypeText;

/// The largest nesting depth of records.
const MAX_DEPTH: usize = 32;

/// The meaning of an element's bytes.
///
/// ```
/// use cframe::{DType, Kind};
///
/// for (name, wanted) in [("<f4", Kind::Float), ("|u1", Kind::Unsigned), ("<c16", Kind::Complex)] {
///     assert!(matches!(DType::parse(name)?, DType::Scalar { kind, .. } if kind == wanted));
/// }
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A truth value, which is a byte with the value 0 or 1.
    Bool,
    /// A signed integer in two's complement.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// An IEEE 754 float.
    Float,
    /// Two floats of half the size, which are the real and the imaginary part.
    Complex,
    /// Text of single bytes, padded with zeros.
    Bytes,
    /// Text of 4-byte characters, padded with zeros.
    Text,
    /// Bytes without a meaning.
    Raw,
    /// A point in time, as a signed integer of units in `[…]`.
    DateTime,
    /// A duration, as a signed integer of units in `[…]`.
    TimeDelta,
}

/// The type of an array's elements.
///
/// ```
/// use cframe::{ByteOrder, DType, Kind};
///
/// let temperature = DType::parse(">f4")?;
/// assert_eq!(temperature, DType::Scalar { kind: Kind::Float, size: 4, order: ByteOrder::Big });
/// assert_eq!(DType::parse("('<f8', (3,))")?.size(), 24);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// A single value of `size` bytes.
    Scalar {
        /// The kind of the value.
        kind: Kind,
        /// The size in bytes.
        size: usize,
        /// The byte order.
        order: ByteOrder,
    },
    /// Named fields, with `size` bytes including the gaps.
    Record {
        /// The fields in the order in which they are stored.
        fields: Vec<Field>,
        /// The size of the record in bytes.
        size: usize,
    },
    /// An array inside an element, in C order.
    Array {
        /// The type of its elements.
        item: Box<DType>,
        /// Its dimensions.
        shape: Vec<usize>,
    },
}

/// A field of a record.
///
/// ```
/// use cframe::DType;
///
/// if let DType::Record { fields, size } = DType::parse("[('time', '<i8'), ('position', '<f4', (3,))]")? {
///     assert_eq!((fields[1].name.as_str(), fields[1].offset, fields[1].dtype.size()), ("position", 8, 12));
///     assert_eq!(size, 20);
/// }
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// The offset of the field in the record, in bytes.
    pub offset: usize,
    /// The type of the field.
    pub dtype: DType,
}

impl DType {
    /// Parses a type as NumPy writes it.
    ///
    /// ```
    /// use cframe::{ByteOrder, DType, Kind};
    ///
    /// assert_eq!(DType::parse("<i4")?, DType::Scalar { kind: Kind::Signed, size: 4, order: ByteOrder::Little });
    /// assert_eq!(DType::parse("[('x', '<f8'), ('y', '<f8')]")?.size(), 16);
    /// assert!(DType::parse("object").is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the text is not the name of a type of a fixed size.
    pub fn parse(text: &str) -> Result<Self> {
        let literal = match text.trim_start().chars().next() {
            Some('[' | '{' | '(') => {
                locate_all("dtype", 0, text.as_bytes(), Literal::parse(Encoding::Utf8)).ok()
            }
            _ => Some(Literal::Text(text.to_owned())),
        };
        literal
            .and_then(|literal| of(&literal, 0))
            .ok_or_else(|| Error::unsupported(format!("the element type {text:?}")))
    }

    /// Returns the number of bytes of an element.
    pub fn size(&self) -> usize {
        match self {
            Self::Scalar { size, .. } | Self::Record { size, .. } => *size,
            Self::Array { item, shape } => shape.iter().fold(item.size(), |size, &n| bound::product(size, n)),
        }
    }
}

fn of(literal: &Literal, depth: usize) -> Option<DType> {
    if depth > MAX_DEPTH {
        return None;
    }
    let deeper = bound::sum(depth, 1);
    match literal {
        Literal::Text(text) => scalar(text),
        Literal::List(items) => match items.as_slice() {
            // A type with a shape: `('<f4', (2,))`.
            [base @ Literal::Text(_), shape @ (Literal::List(_) | Literal::Number(_))] => {
                shaped(of(base, deeper)?, shape)
            }
            fields => {
                let mut offset = 0usize;
                let fields: Option<Vec<Field>> = fields
                    .iter()
                    .map(|field| {
                        let (name, dtype) = named(field, deeper)?;
                        let at = offset;
                        offset = offset.checked_add(dtype.size())?;
                        Some(Field { name, offset: at, dtype })
                    })
                    .collect();
                Some(DType::Record {
                    fields: fields?.into_iter().filter(|f| !f.name.is_empty()).collect(),
                    size: offset,
                })
            }
        },
        Literal::Dictionary(entries) => spaced(entries, deeper),
        Literal::Number(_) | Literal::Bool(_) | Literal::None => None,
    }
}

/// Parses `('name', type)` or `('name', type, shape)`. The name may be a pair of title and name.
fn named(field: &Literal, depth: usize) -> Option<(String, DType)> {
    let Literal::List(parts) = field else { return None };
    let (name, rest) = parts.split_first()?;
    let name = match name {
        Literal::Text(name) => name.clone(),
        Literal::List(pair) => match pair.as_slice() {
            [_, Literal::Text(name)] => name.clone(),
            _ => return None,
        },
        _ => return None,
    };
    match rest {
        [dtype] => Some((name, of(dtype, depth)?)),
        [dtype, shape] => Some((name, shaped(of(dtype, depth)?, shape)?)),
        _ => None,
    }
}

/// Returns a number that counts bytes or elements in memory.
fn number(literal: &Literal) -> Option<usize> {
    if let Literal::Number(number) = literal { usize::try_from(*number).ok() } else { None }
}

fn shaped(item: DType, shape: &Literal) -> Option<DType> {
    let shape = match shape {
        Literal::List(sizes) => sizes.iter().map(number).collect::<Option<Vec<_>>>()?,
        single => vec![number(single)?],
    };
    // Something whose size does not fit is not an element type.
    shape.iter().try_fold(item.size(), |size, &n| size.checked_mul(n))?;
    Some(DType::Array { item: Box::new(item), shape })
}

fn spaced(entries: &[(Literal, Literal)], depth: usize) -> Option<DType> {
    let value = |key: &str| {
        entries.iter().find(|(k, _)| matches!(k, Literal::Text(k) if k == key)).map(|(_, value)| value)
    };
    let list = |key: &str| if let Literal::List(items) = value(key)? { Some(items.as_slice()) } else { None };
    let (names, formats) = (list("names")?, list("formats")?);
    let offsets = list("offsets").unwrap_or_default();
    let mut end = 0usize;
    let mut fields = Vec::new();
    for (index, (name, format)) in names.iter().zip(formats).enumerate() {
        let Literal::Text(name) = name else { return None };
        let dtype = match format {
            // Here a pair is a type and a shape.
            Literal::List(pair)
                if pair.len() == 2
                    && !matches!(pair.first(), Some(Literal::List(p)) if p.len() < 4 && matches!(p.first(), Some(Literal::Text(_)))) =>
            {
                shaped(of(pair.first()?, depth)?, pair.get(1)?)?
            }
            other => of(other, depth)?,
        };
        let offset = match offsets.get(index) {
            Some(offset @ Literal::Number(_)) => number(offset)?,
            _ => end,
        };
        end = end.max(offset.checked_add(dtype.size())?);
        fields.push(Field { name: name.clone(), offset, dtype });
    }
    let size = match value("itemsize") {
        Some(size @ Literal::Number(_)) => number(size)?,
        _ => end,
    };
    (size >= end).then_some(DType::Record { fields, size })
}

/// The byte order of types that do not name one. It is that of the machine that wrote them, which is nearly always this one. It
/// must not depend on the machine that reads, because the meaning of a file would change.
const UNNAMED: ByteOrder = ByteOrder::Little;

fn scalar(text: &str) -> Option<DType> {
    let plain = |kind, size| Some(DType::Scalar { kind, size, order: UNNAMED });
    match text {
        "bool" => return plain(Kind::Bool, 1),
        "int8" => return plain(Kind::Signed, 1),
        "int16" => return plain(Kind::Signed, 2),
        "int32" => return plain(Kind::Signed, 4),
        "int64" => return plain(Kind::Signed, 8),
        "uint8" => return plain(Kind::Unsigned, 1),
        "uint16" => return plain(Kind::Unsigned, 2),
        "uint32" => return plain(Kind::Unsigned, 4),
        "uint64" => return plain(Kind::Unsigned, 8),
        "float16" => return plain(Kind::Float, 2),
        "float32" => return plain(Kind::Float, 4),
        "float64" => return plain(Kind::Float, 8),
        "complex64" => return plain(Kind::Complex, 8),
        "complex128" => return plain(Kind::Complex, 16),
        _ => {}
    }
    let TypeText { order, kind, number, unit } =
        locate_all("type", 0, text.as_bytes(), TypeText::parse).ok()?;
    let order = order.unwrap_or(UNNAMED);
    let (kind, size) = match (kind, number, unit) {
        ('M', Some(8), _) => (Kind::DateTime, 8),
        ('m', Some(8), _) => (Kind::TimeDelta, 8),
        ('?', None, None) | ('b', Some(1), None) => (Kind::Bool, 1),
        ('i', Some(size @ (1 | 2 | 4 | 8)), None) => (Kind::Signed, size),
        ('u', Some(size @ (1 | 2 | 4 | 8)), None) => (Kind::Unsigned, size),
        ('f', Some(size @ (2 | 4 | 8)), None) => (Kind::Float, size),
        ('c', Some(size @ (8 | 16)), None) => (Kind::Complex, size),
        ('S' | 'a', Some(size), None) => (Kind::Bytes, size),
        ('U', Some(characters), None) => (Kind::Text, characters.checked_mul(4)?),
        ('V', Some(size), None) => (Kind::Raw, size),
        _ => return None,
    };
    Some(DType::Scalar { kind, size, order })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(kind: Kind, size: usize) -> DType {
        DType::Scalar { kind, size, order: ByteOrder::Little }
    }

    #[test]
    fn plain_types() {
        assert_eq!(DType::parse("<f4").unwrap(), number(Kind::Float, 4));
        assert_eq!(
            DType::parse(">i2").unwrap(),
            DType::Scalar { kind: Kind::Signed, size: 2, order: ByteOrder::Big }
        );
        assert_eq!(DType::parse("<U3").unwrap(), number(Kind::Text, 12));
        assert_eq!(DType::parse("<M8[ns]").unwrap(), number(Kind::DateTime, 8));
        for unnamed in ["float32", "=f4", "f4"] {
            assert_eq!(DType::parse(unnamed).unwrap(), number(Kind::Float, 4), "{unnamed}");
        }
        assert_eq!(DType::parse("uint8").unwrap().size(), 1);
        for bad in ["", "<", "<f3", "<q", "|O8", "O", "é4", "[", "[('a',)]", "[('a', '<f4'"] {
            assert!(DType::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn records() {
        let dtype = DType::parse("[('a', '<i4'), ('z','<i2',(3,)), ('n', [('x', '|u1')])]").unwrap();
        let DType::Record { fields, size } = &dtype else { panic!("{dtype:?}") };
        assert_eq!(*size, 11);
        assert_eq!(
            fields.iter().map(|f| (f.name.as_str(), f.offset)).collect::<Vec<_>>(),
            [("a", 0), ("z", 4), ("n", 10)]
        );
        let text = "{'names': ['a', 'b'], 'formats': ['|u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}";
        let DType::Record { fields, size } = DType::parse(text).unwrap() else { panic!() };
        assert_eq!((fields[1].offset, size), (8, 16));
        assert!(DType::parse(&"[('a', ".repeat(100)).is_err());
        // Types whose size does not fit a number are refused.
        for shape in ["(4294967296, 4294967296)", "(18446744073709551615,)"] {
            assert!(DType::parse(&format!("[('a', '<f4', {shape})]")).is_err(), "{shape}");
            assert!(DType::parse(&format!("('<f4', {shape})")).is_err(), "{shape}");
        }
    }

    #[test]
    fn names_as_python_writes_them() {
        let text = r#"[('a\\b', '<i4'), ("it's", '<i4'), ('\'"', '<i4'), ('\n\x7f\u200b\U000e0001', '<i4'), ('µ', '<i4')]"#;
        let DType::Record { fields, .. } = DType::parse(text).unwrap() else { panic!() };
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["a\\b", "it's", "'\"", "\n\u{7f}\u{200b}\u{e0001}", "µ"]);
        // Python keeps the backslash of an escape that it does not know.
        let DType::Record { fields, .. } = DType::parse(r"[('\q', '<i4')]").unwrap() else { panic!() };
        assert_eq!(fields[0].name, "\\q");
        for bad in [r"[('a\', '<i4')]", r"[('\x4', '<i4')]", r"[('\ud800', '<i4')]"] {
            assert!(DType::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, tail in r"[\[\](){}',:a-f0-9<>| \\]{0,60}") {
            let _ = DType::parse(&text);
            let _ = DType::parse(&format!("[{tail}"));
        }
    }
}
