//! The type of elements, which is the value of `descr`, as `numpy.lib.format` writes it.
//!
//! | text | field |
//! |---|---|
//! | `'<f4'` | a type without parts, as described below |
//! | `[('a', '<f4'), ('b', '<i2', (3,))]` | fields one after another: name, type, shape of an array; padding has no name |
//! | `(('title', 'name'), '<f4')` | a field with a title besides its name |
//! | `('<f4', (3,))` | an array of a type, in a field |
//! | `'<f4,(2,3)i2'` | fields `f0`, `f1` and so on, with the shapes of arrays before their types |
//!
//! NumPy writes the first three, and reads the others too. A type without parts is one of the names that NumPy has for types, such
//! as `float64`, `d` or `?`, or:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 0 or 1 | byte order: `<` little-endian, `>` big-endian, `=` that of the machine, `\|` none |
//! | | 1 | kind: `b` `i` `u` `f` `c` `M` `m` `S` `a` `U` `V` `O` |
//! | | digits | size of an element in bytes; for `U`, the number of code points of 4 bytes; may be missing after `O` |
//! | | rest | unit of `M` and `m`: `[ns]` |
//!
//! Without an order, or with `=` or `|`, it is that of the machine. NumPy never writes this for types whose order matters, and the files
//! that have it were made on machines of today, so it is little-endian. `l` and `long` have 8 bytes, and `g` 16, as on most of them.

use std::collections::HashSet;
use std::fmt;

use nom::Parser;
use nom::bytes::complete::take_while;
use nom::character::complete::{anychar, digit1, one_of};
use nom::combinator::opt;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Parsed, fail, locate_all};
use sciformats_core::slab::elements;
use sciformats_core::{FaultKind, bound};
use sciformats_core::{Result, number::NumberType};

use sciformats_core::literal::{Encoding, Literal, Tuple, quoted};

/// The type of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DType {
    /// A type without parts.
    Scalar {
        /// The kind of the elements.
        kind: Kind,
        /// The size of an element in bytes.
        size: u64,
        /// The order of bytes in a number. It is little-endian if the order has no effect.
        order: ByteOrder,
    },
    /// Fields one after another.
    Record(Vec<Field>),
    /// Several elements of one type, in a field of more than one element.
    Array {
        /// The type of each element.
        item: Box<DType>,
        /// The dimensions, the slowest varying first.
        shape: Vec<u64>,
    },
}

/// The kind of a type without parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Truth values (`b`).
    Bool,
    /// Signed integers (`i`).
    Int,
    /// Unsigned integers (`u`).
    UInt,
    /// Floating-point numbers (`f`). If they have more than 8 bytes, their layout depends on the machine that wrote them.
    Float,
    /// Complex numbers (`c`).
    Complex,
    /// Points in time (`M`). They are integers that count a unit such as `ns`.
    DateTime(Box<str>),
    /// Durations (`m`). They are integers that count a unit.
    TimeDelta(Box<str>),
    /// Text in bytes, padded with NULs (`S`).
    Bytes,
    /// Text in code points of four bytes, padded with zeros (`U`).
    Text,
    /// Bytes without a meaning (`V`).
    Void,
    /// Python objects (`O`), which a file holds as a pickle.
    Object,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name, which is empty for padding.
    pub name: String,
    /// Another name for people to read.
    pub title: Option<String>,
    /// The type of the field.
    pub dtype: DType,
}

impl DType {
    /// Returns a little-endian type of `size` bytes without parts.
    pub fn scalar(kind: Kind, size: u64) -> Self {
        Self::Scalar { kind, size, order: ByteOrder::Little }
    }

    /// Parses a type as it is written in a header: `'<f4'` with its quotes, or a list of fields.
    ///
    /// ```
    /// use npy::{DType, Kind};
    ///
    /// assert_eq!(DType::parse("'<f4'")?, DType::scalar(Kind::Float, 4));
    /// let star = DType::parse("[('id', '<u4'), ('flux', '>f8', (2,))]")?;
    /// assert_eq!(star.size(), Some(4 + 2 * 8));
    /// assert_eq!(star.to_string(), "[('id', '<u4'), ('flux', '>f8', (2,))]");
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the text is not a type.
    pub fn parse(text: &str) -> Result<Self> {
        let dtype = |i| {
            let (rest, literal) = Literal::parse(Encoding::Utf8)(i)?;
            match Self::of(&literal) {
                Some(dtype) => Ok((rest, dtype)),
                None => fail(i, FaultKind::Rule("is not a type")),
            }
        };
        locate_all("descr", 0, text.as_bytes(), dtype)
    }

    /// Returns the type for a value of `descr`, or `None` if it is not a type.
    pub(crate) fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Text(text) => words(text),
            Literal::List(parts) => {
                let fields = parts.iter().map(Field::of).collect::<Option<_>>().map(Self::Record);
                let fields = fields.filter(|record| record.repeated_name().is_none());
                fields.or_else(|| match parts.as_slice() {
                    [item, shape] => Some(Self::array(Self::of(item)?, dimensions(shape)?)),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// Returns the type of an array. If its elements are arrays themselves, it has their dimensions too.
    fn array(item: Self, mut shape: Vec<u64>) -> Self {
        match item {
            Self::Array { item, shape: inner } => {
                shape.extend(inner);
                Self::Array { item, shape }
            }
            item => Self::Array { item: Box::new(item), shape },
        }
    }

    /// Returns the size of an element in bytes, or `None` if it does not fit 64 bits.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Scalar { size, .. } => Some(*size),
            Self::Record(fields) => {
                fields.iter().try_fold(0u64, |sum, field| sum.checked_add(field.dtype.size()?))
            }
            Self::Array { item, shape } => item.size()?.checked_mul(elements(shape)?),
        }
    }

    /// Returns the number type and the byte order of the elements, if they are real numbers.
    pub(crate) fn number(&self) -> Option<(NumberType, ByteOrder)> {
        let Self::Scalar { kind, size, order } = self else { return None };
        let number = match kind {
            Kind::Int | Kind::DateTime(_) | Kind::TimeDelta(_) => NumberType::integer(true, *size),
            Kind::UInt | Kind::Bool => NumberType::integer(false, *size),
            Kind::Float => NumberType::float(*size),
            _ => None,
        };
        number.map(|number| (number, *order))
    }

    /// Returns a name that two fields of the same record have. Names without letters are those of gaps.
    pub(crate) fn repeated_name(&self) -> Option<&str> {
        match self {
            Self::Scalar { .. } => None,
            Self::Array { item, .. } => item.repeated_name(),
            Self::Record(fields) => {
                let mut seen = HashSet::new();
                let names = fields.iter().flat_map(|field| [Some(&field.name), field.title.as_ref()]);
                let again = names.flatten().find(|name| !name.is_empty() && !seen.insert(name.as_str()));
                again
                    .map(String::as_str)
                    .or_else(|| fields.iter().find_map(|field| field.dtype.repeated_name()))
            }
        }
    }

    /// Returns whether the elements or parts of them are Python objects.
    pub(crate) fn has_objects(&self) -> bool {
        match self {
            Self::Scalar { kind, .. } => *kind == Kind::Object,
            Self::Record(fields) => fields.iter().any(|field| field.dtype.has_objects()),
            Self::Array { item, .. } => item.has_objects(),
        }
    }
}

impl Field {
    /// Creates a field with this name.
    pub fn new(name: impl Into<String>, dtype: DType) -> Self {
        Self { name: name.into(), title: None, dtype }
    }

    fn of(literal: &Literal) -> Option<Self> {
        let Literal::List(parts) = literal else { return None };
        let (name, descr, shape) = match parts.as_slice() {
            [name, descr] => (name, descr, None),
            [name, descr, shape] => (name, descr, Some(dimensions(shape)?)),
            _ => return None,
        };
        let (title, name) = match name {
            Literal::Text(name) => (None, name.clone()),
            Literal::List(both) => match both.as_slice() {
                [Literal::Text(title), Literal::Text(name)] => (Some(title.clone()), name.clone()),
                _ => return None,
            },
            _ => return None,
        };
        let one = DType::of(descr)?;
        let dtype = match shape {
            Some(shape) => DType::array(one, shape),
            None => one,
        };
        Some(Self { name, title, dtype })
    }
}

/// Returns the dimensions, which are a tuple of numbers, or a single number.
pub(crate) fn dimensions(literal: &Literal) -> Option<Vec<u64>> {
    let number = |item: &Literal| match item {
        Literal::Number(number) => Some(*number),
        _ => None,
    };
    match literal {
        Literal::List(items) => items.iter().map(number).collect(),
        one => number(one).map(|one| vec![one]),
    }
}

/// Returns the type that a text stands for: one type, or fields with commas between them.
fn words(text: &str) -> Option<DType> {
    let one = |text: &str| {
        let (shape, rest) = repeated(text.trim())?;
        let dtype = locate_all("type", 0, rest.as_bytes(), scalar).ok()?;
        Some(shape.map_or(dtype.clone(), |shape| DType::array(dtype, shape)))
    };
    // A comma in parentheses or brackets belongs to a shape or a unit.
    let mut depth = 0u32;
    let apart = |letter: char| {
        depth = match letter {
            '(' | '[' => bound::sum(depth, 1),
            ')' | ']' => bound::left(depth, 1),
            _ => depth,
        };
        letter == ',' && depth == 0
    };
    let mut parts: Vec<&str> = text.split(apart).collect();
    if let [single] = parts.as_slice() {
        return one(single);
    }
    // A comma may follow the last field.
    parts.pop_if(|last| last.trim().is_empty());
    let fields =
        parts.iter().enumerate().map(|(number, part)| Some(Field::new(format!("f{number}"), one(part)?)));
    fields.collect::<Option<_>>().map(DType::Record)
}

/// Returns the shape before a type, and the type: `3f4`, `(2,3)f4`. One element that is not in parentheses is no array.
fn repeated(text: &str) -> Option<(Option<Vec<u64>>, &str)> {
    if let Some(inner) = text.strip_prefix('(') {
        let (shape, rest) = inner.split_once(')')?;
        let shape = shape.trim();
        let numbers = shape.strip_suffix(',').unwrap_or(shape).split(',');
        let numbers = numbers.map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
        return Some((Some(numbers), rest.trim_start()));
    }
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match text.strip_suffix(rest).unwrap_or_default() {
        "" | "1" => Some((None, rest)),
        count => Some((Some(vec![count.parse().ok()?]), rest)),
    }
}

/// The names that NumPy has for types besides letters with a size, and what they stand for on machines with 64 bits.
const NAMES: [(&str, &str); 71] = [
    ("?", "b1"),
    ("bool", "b1"),
    ("bool_", "b1"),
    ("b", "i1"),
    ("byte", "i1"),
    ("int8", "i1"),
    ("h", "i2"),
    ("short", "i2"),
    ("int16", "i2"),
    ("i", "i4"),
    ("intc", "i4"),
    ("int32", "i4"),
    ("l", "i8"),
    ("long", "i8"),
    ("q", "i8"),
    ("longlong", "i8"),
    ("p", "i8"),
    ("n", "i8"),
    ("int", "i8"),
    ("int_", "i8"),
    ("intp", "i8"),
    ("int64", "i8"),
    ("B", "u1"),
    ("ubyte", "u1"),
    ("uint8", "u1"),
    ("H", "u2"),
    ("ushort", "u2"),
    ("uint16", "u2"),
    ("I", "u4"),
    ("uintc", "u4"),
    ("uint32", "u4"),
    ("L", "u8"),
    ("ulong", "u8"),
    ("Q", "u8"),
    ("ulonglong", "u8"),
    ("P", "u8"),
    ("N", "u8"),
    ("uint", "u8"),
    ("uintp", "u8"),
    ("uint64", "u8"),
    ("e", "f2"),
    ("half", "f2"),
    ("float16", "f2"),
    ("f", "f4"),
    ("single", "f4"),
    ("float32", "f4"),
    ("d", "f8"),
    ("double", "f8"),
    ("float", "f8"),
    ("float64", "f8"),
    ("g", "f16"),
    ("longdouble", "f16"),
    ("float128", "f16"),
    ("F", "c8"),
    ("csingle", "c8"),
    ("complex64", "c8"),
    ("D", "c16"),
    ("cdouble", "c16"),
    ("complex", "c16"),
    ("complex128", "c16"),
    ("G", "c32"),
    ("clongdouble", "c32"),
    ("complex256", "c32"),
    ("S", "S0"),
    ("bytes", "S0"),
    ("c", "S1"),
    ("U", "U0"),
    ("str", "U0"),
    ("V", "V0"),
    ("void", "V0"),
    ("object", "O"),
];

/// Returns the letter and the size for a name of a type; the name itself if it is none. A letter may follow an order, a word may not.
fn unnamed(name: &str, is_ordered: bool) -> &str {
    let known = NAMES.iter().find(|(known, _)| *known == name && (!is_ordered || known.len() == 1));
    known.map_or(name, |(_, meant)| meant)
}

/// Parses a type such as `<f4`, `>M8[ns]` or `float64`.
fn scalar(i: &[u8]) -> Parsed<'_, DType> {
    let (i, order) = opt(one_of("<>|=")).parse(i)?;
    let Ok(text) = std::str::from_utf8(i) else { return fail(i, FaultKind::Encoding) };
    let text = match text.get(..text.find('[').unwrap_or(text.len())) {
        Some("datetime64" | "M") => text.replacen("datetime64", "M", 1).replacen('M', "M8", 1),
        Some("timedelta64" | "m") => text.replacen("timedelta64", "m", 1).replacen('m', "m8", 1),
        _ => unnamed(text, order.is_some()).to_owned(),
    };
    match part(text.as_bytes(), order) {
        Ok((_, dtype)) => Ok((&[], dtype)),
        Err(_) => fail(i, FaultKind::Rule("is not a type")),
    }
}

/// Parses a letter, a size and a unit.
fn part(i: &[u8], order: Option<char>) -> Parsed<'_, DType> {
    let (i, letter) = anychar(i)?;
    let (rest, digits) = opt(digit1).parse(i)?;
    let (rest, unit) = take_while(|_| true).parse(rest)?;
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
    let unit = match unit {
        [] => Some(""),
        [b'[', unit @ .., b']'] if !unit.is_empty() => std::str::from_utf8(unit).ok(),
        _ => None,
    };
    // Only times have a unit.
    let unit = unit.filter(|unit| unit.is_empty() || matches!(letter, 'M' | 'm'));
    let Some(unit) = unit.map(Box::from) else { return fail(i, FaultKind::Rule("is not a type")) };
    let known = match (letter, number, unit) {
        ('b', Some(1), _) => Some((Kind::Bool, 1)),
        ('i', Some(size @ (1 | 2 | 4 | 8)), _) => Some((Kind::Int, size)),
        ('u', Some(size @ (1 | 2 | 4 | 8)), _) => Some((Kind::UInt, size)),
        ('f', Some(size), _) => Some((Kind::Float, size)),
        ('c', Some(size), _) => Some((Kind::Complex, size)),
        ('M', Some(8), unit) => Some((Kind::DateTime(unit), 8)),
        ('m', Some(8), unit) => Some((Kind::TimeDelta(unit), 8)),
        ('S' | 'a', Some(size), _) => Some((Kind::Bytes, size)),
        ('U', Some(count), _) => count.checked_mul(4).map(|size| (Kind::Text, size)),
        ('V', Some(size), _) => Some((Kind::Void, size)),
        // A pointer is as wide as the pointers of the machine; the width may be written or not.
        ('O', size, _) => Some((Kind::Object, size.unwrap_or(8))),
        _ => None,
    };
    let Some((kind, size)) = known else { return fail(i, FaultKind::Rule("is not a type")) };
    let order = if order == Some('>') { ByteOrder::Big } else { ByteOrder::Little };
    Ok((rest, DType::Scalar { kind, size, order }))
}

/// Writes the type as it is in a header.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar { kind, size, order } => {
                let (letter, number, unit) = match kind {
                    Kind::Bool => ('b', *size, None),
                    Kind::Int => ('i', *size, None),
                    Kind::UInt => ('u', *size, None),
                    Kind::Float => ('f', *size, None),
                    Kind::Complex => ('c', *size, None),
                    Kind::DateTime(unit) => ('M', *size, Some(unit)),
                    Kind::TimeDelta(unit) => ('m', *size, Some(unit)),
                    Kind::Bytes => ('S', *size, None),
                    Kind::Text => ('U', *size / 4, None),
                    Kind::Void => ('V', *size, None),
                    Kind::Object => ('O', *size, None),
                };
                let bytes = matches!(kind, Kind::Bool | Kind::Bytes | Kind::Void | Kind::Object);
                let order = match order {
                    _ if bytes || *size == 1 => '|',
                    ByteOrder::Little => '<',
                    ByteOrder::Big => '>',
                };
                let unit = unit.filter(|unit| !unit.is_empty()).map(|unit| format!("[{unit}]"));
                write!(f, "'{order}{letter}{number}{}'", unit.unwrap_or_default())
            }
            Self::Record(fields) => {
                let fields: Vec<String> = fields.iter().map(Field::to_string).collect();
                write!(f, "[{}]", fields.join(", "))
            }
            // A type of an array has no notation of its own, so it is written as a record with one field.
            Self::Array { .. } => write!(f, "[{}]", Field::new("f0", self.clone())),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.title {
            Some(title) => format!("({}, {})", quoted(title), quoted(&self.name)),
            None => quoted(&self.name),
        };
        match &self.dtype {
            DType::Array { item, shape } => write!(f, "({name}, {item}, {})", Tuple(shape)),
            plain => write!(f, "({name}, {plain})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_byte_by_byte() {
        let text = [
            &b"["[..],
            b"('id', ", // name of the first field
            b"'",       // its type
            b">",       // byte order: big-endian
            b"u",       // kind: unsigned
            b"4",       // bytes
            b"'), ",
            b"(('when', 't'), ", // title and name of the second field
            b"'",                // its type
            b"<",                // byte order: little-endian
            b"M",                // kind: moments
            b"8",                // bytes
            b"[ms]",             // unit
            b"', ",
            b"(2, 3)", // shape: an array
            b")]",
        ]
        .concat();
        let text = std::str::from_utf8(&text).unwrap();
        let id = DType::Scalar { kind: Kind::UInt, size: 4, order: ByteOrder::Big };
        let moments =
            DType::Array { item: Box::new(DType::scalar(Kind::DateTime("ms".into()), 8)), shape: vec![2, 3] };
        let when = Field { title: Some("when".into()), ..Field::new("t", moments) };
        let expected = DType::Record(vec![Field::new("id", id), when]);
        assert_eq!(DType::parse(text).unwrap(), expected);
        assert_eq!(expected.to_string(), text);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in r#"[\[\](),'<>|=a-zA-Z0-9 ]{0,40}"#, any: String) {
            for text in [&text, &any, &format!("'{text}'"), &format!("[('a', '{text}')]")] {
                let _ = DType::parse(text);
            }
        }
    }

    #[test]
    fn texts_come_back() {
        for text in [
            "'<f4'",
            "'>c16'",
            "'|b1'",
            "'|u1'",
            "'<U7'",
            "'|S0'",
            "'|V3'",
            "'<M8[ns]'",
            "'>m8[25s]'",
            "'|O8'",
            "[('a', '|u1'), ('', '|V3'), (('title', 'b'), '>f4', (2, 3))]",
            r"[('a\'b', [('c', '<i8')], (1,))]",
            "[]",
        ] {
            assert_eq!(DType::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(DType::parse("'=i2'").unwrap().to_string(), "'<i2'");
        assert_eq!(DType::parse("[('v', 'f4', 3)]").unwrap().to_string(), "[('v', '<f4', (3,))]");
        for (text, meant) in [
            ("'float64'", "'<f8'"),
            ("'int32'", "'<i4'"),
            ("'?'", "'|b1'"),
            ("'b'", "'|i1'"),
            ("'d'", "'<f8'"),
            ("'>d'", "'>f8'"),
            ("'<l'", "'<i8'"),
            ("'|i4'", "'<i4'"),
            ("'U5'", "'<U5'"),
            ("'S'", "'|S0'"),
            ("'datetime64[25s]'", "'<M8[25s]'"),
            ("'<m8'", "'<m8'"),
            ("'m[D]'", "'<m8[D]'"),
            ("'1f4'", "'<f4'"),
            ("'f4, >i2,'", "[('f0', '<f4'), ('f1', '>i2')]"),
            ("'(2,3)u1,4S2'", "[('f0', '|u1', (2, 3)), ('f1', '|S2', (4,))]"),
            ("[('a', ('<f4', (2,)), (3,))]", "[('a', '<f4', (3, 2))]"),
            ("[('a', ([('b', 'i2')], 2))]", "[('a', [('b', '<i2')], (2,))]"),
        ] {
            assert_eq!(DType::parse(text).unwrap().to_string(), meant, "{text}");
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for text in [
            "'<x4'",
            "'i3'",
            "'b2'",
            "''",
            "3",
            "[('a',)]",
            "[(1, 'f4')]",
            "'U9999999999999999999'",
            "'<float64'",
            "'<f4xyz'",
            "'<f4[ns]'",
            "'M8[ns'",
            "'M4[ns]'",
            "'f4,,i4'",
        ] {
            assert!(DType::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(DType::parse("'<U7'").unwrap().size(), Some(28));
        let huge = DType::parse("[('a', '<f8', (4611686018427387904,))]").unwrap();
        assert_eq!(huge.size(), None);
        assert!(DType::parse("[('a', 'O')]").unwrap().has_objects());
    }
}
