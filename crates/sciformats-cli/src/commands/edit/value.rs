//! Values of attributes as they are written on a command line: JSON or text, with an optional type.

use clap::ValueEnum;
use sciformats::hdf5_pure::structure::{
    ByteOrder, CharacterSet, Class, FixedPoint, FloatOrder, Padding, VariableLength,
};
use sciformats::hdf5_pure::values::{Empty, Encoder};
use sciformats::hdf5_pure::{Datatype, ElementType, ObjectId, Store, Value};
use sciformats::{Error, Result};
use serde_json::Value as Json;

use super::integers::exact;

/// The deepest nesting of lists that is read.
const MAX_DEPTH: usize = 32;

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Integers of 1 byte
    Int8,
    /// Integers of 2 bytes
    Int16,
    /// Integers of 4 bytes
    Int32,
    /// Integers of 8 bytes
    Int64,
    /// Unsigned integers of 1 byte
    Uint8,
    /// Unsigned integers of 2 bytes
    Uint16,
    /// Unsigned integers of 4 bytes
    Uint32,
    /// Unsigned integers of 8 bytes
    Uint64,
    /// Floating-point numbers of 4 bytes
    Float32,
    /// Floating-point numbers of 8 bytes
    Float64,
    /// Truth values
    Bool,
    /// Text of any length
    Text,
    /// Text with a fixed number of bytes
    Fixed,
}

impl Kind {
    fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the number of bytes of an integer, and whether it is signed.
    fn integer(self) -> Option<(u32, bool)> {
        match self {
            Self::Int8 => Some((1, true)),
            Self::Int16 => Some((2, true)),
            Self::Int32 => Some((4, true)),
            Self::Int64 => Some((8, true)),
            Self::Uint8 => Some((1, false)),
            Self::Uint16 => Some((2, false)),
            Self::Uint32 => Some((4, false)),
            Self::Uint64 => Some((8, false)),
            _ => None,
        }
    }
}

/// The type of an existing attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Existing {
    /// A type that values can be given in.
    Known(Kind, Kept),
    /// Any other type, by its name.
    Other(String),
}

/// The type of an existing attribute as it is stored, and the object if it is a committed datatype.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    datatype: Datatype,
    committed: Option<ObjectId>,
    /// Whether a text takes all of its bytes, without a NUL at its end. The library of netCDF writes all texts like that.
    fills: bool,
}

impl Kept {
    /// Returns whether its numbers are big-endian.
    fn is_big(&self) -> bool {
        match &self.datatype.class {
            Class::FixedPoint(fixed) => fixed.order == ByteOrder::Big,
            Class::FloatingPoint(float) => float.order == FloatOrder::Big,
            _ => false,
        }
    }

    /// Returns why a text cannot be stored without a change, if that is so.
    fn misfit(&self, text: &str) -> Option<String> {
        let (charset, room) = match &self.datatype.class {
            Class::String { padding, charset } => (charset, Some((*padding, self.datatype.size))),
            Class::VariableLength(VariableLength::String { charset, .. }) => (charset, None),
            _ => return None,
        };
        if *charset == CharacterSet::Ascii && !text.is_ascii() {
            return Some("is not ASCII".into());
        }
        let (padding, size) = room?;
        // The NUL that ends a text takes one byte of the room.
        let ends = padding == Padding::NullTerminated && size > 0 && !self.fills;
        let most = u64::from(size) - u64::from(ends);
        match text.len() as u64 {
            len if len > most => Some(format!("has {len} bytes, but there is room for {most}")),
            _ if padding == Padding::SpacePadded && text.ends_with(' ') => {
                Some("ends with a space, which would be taken for padding".into())
            }
            _ => None,
        }
    }
}

impl Existing {
    /// Returns the type of an attribute with these stored bytes.
    pub(super) fn of(datatype: &Datatype, committed: Option<ObjectId>, raw: &[u8]) -> Self {
        let size = usize::try_from(datatype.size).unwrap_or(usize::MAX); // a bound: no attribute is as large
        let fills = raw.chunks_exact(size.max(1)).any(|text| text.last() != Some(&0));
        let element = datatype.element_type();
        let is = |float: Datatype| [float.class.clone(), float.big_endian().class].contains(&datatype.class);
        let kind = match (&element, &datatype.class) {
            (Ok(ElementType::Integer { signed, size }), _) => [
                Kind::Int8,
                Kind::Int16,
                Kind::Int32,
                Kind::Int64,
                Kind::Uint8,
                Kind::Uint16,
                Kind::Uint32,
                Kind::Uint64,
            ]
            .into_iter()
            .find(|kind| {
                kind.integer().is_some_and(|of| (u64::from(of.0), of.1) == (u64::from(*size), *signed))
            }),
            (Ok(ElementType::Float(4)), _) if is(Datatype::float32()) => Some(Kind::Float32),
            (Ok(ElementType::Float(8)), _) if is(Datatype::float64()) => Some(Kind::Float64),
            (Ok(ElementType::String), Class::String { .. }) => Some(Kind::Fixed),
            (Ok(ElementType::String), _) => Some(Kind::Text),
            _ if *datatype == bool::datatype() => Some(Kind::Bool),
            _ => None,
        };
        match (kind, element) {
            (Some(kind), _) => Self::Known(kind, Kept { datatype: datatype.clone(), committed, fills }),
            (None, Ok(other)) => Self::Other(format!("{other:?}")),
            (None, Err(error)) => Self::Other(error.to_string()),
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    kind: Kind,
    /// The type that stays, if it is that of an existing attribute.
    kept: Option<Kept>,
    /// The shape; `None` if there are no elements but only a type.
    shape: Option<Vec<u64>>,
    elements: Elements,
    shown: String,
}

#[derive(Clone, Debug)]
enum Elements {
    /// The bytes as they are stored.
    Numbers(Vec<u8>),
    Truths(Vec<bool>),
    Texts(Vec<String>),
}

impl Typed {
    /// Parses `text` into a value. Its type is the given one, or otherwise that of the existing attribute, or
    /// otherwise the type that fits.
    pub(super) fn parse(
        text: &str,
        named: Option<Kind>,
        existing: Option<&Existing>,
    ) -> Result<Self, String> {
        let kept = match (named, existing) {
            (Some(kind), _) => Some((kind, None)),
            (None, Some(Existing::Known(kind, kept))) => Some((*kind, Some(kept.clone()))),
            (None, Some(Existing::Other(other))) => {
                return Err(format!(
                    "it has the type {other}, in which values cannot be given; choose another one with --type"
                ));
            }
            (None, None) => None,
        };
        // If the value is to be text, it is only parsed as JSON to find a list.
        let textual = matches!(kept, Some((Kind::Text | Kind::Fixed, _)));
        let json = match serde_json::from_str::<Json>(text) {
            Ok(json) if !textual || json.is_array() || json.is_string() || json.is_null() => json,
            _ => Json::from(text),
        };
        let (mut leaves, mut shape) = (Vec::new(), Vec::new());
        flatten(&json, 0, &mut shape, &mut leaves)?;
        let (kind, kept) = match kept {
            Some(kept) => kept,
            None => (fitting(&leaves)?, None),
        };
        let shape = if json.is_null() { None } else { Some(shape) };
        let leaves = if shape.is_none() { &[] } else { &leaves[..] };
        if let Kind::Float32 | Kind::Float64 = kind {
            exact(text, kind == Kind::Float32).map_err(|problem| format!("{} {problem}", kind.word()))?;
        }
        let elements = elements(kind, leaves, kept.as_ref())?;
        Ok(Self { kind, kept, shape, elements, shown: json.to_string() })
    }

    /// Returns the name of the type.
    pub(super) fn word(&self) -> String {
        let order = if self.kept.as_ref().is_some_and(Kept::is_big) { ", big-endian" } else { "" };
        format!("{}{order}", self.kind.word())
    }

    /// The value as JSON.
    pub(super) fn shown(&self) -> String {
        self.shown.clone()
    }
}

/// Returns the elements of nested lists, row by row, and their shape.
fn flatten<'j>(
    json: &'j Json,
    depth: usize,
    shape: &mut Vec<u64>,
    leaves: &mut Vec<&'j Json>,
) -> Result<(), String> {
    let Json::Array(list) = json else {
        if shape.len() != depth {
            return Err("its nested lists have different shapes".into());
        }
        leaves.push(json);
        return Ok(());
    };
    if depth >= MAX_DEPTH {
        return Err(format!("it has more than {MAX_DEPTH} dimensions"));
    }
    let len = list.len() as u64;
    match shape.get(depth) {
        Some(&known) if known != len => return Err("its nested lists have different lengths".into()),
        Some(_) => {}
        None if !leaves.is_empty() => return Err("its nested lists have different shapes".into()),
        None => shape.push(len),
    }
    list.iter().try_for_each(|part| flatten(part, depth + 1, shape, leaves))
}

/// Returns the type that fits all elements.
fn fitting(leaves: &[&Json]) -> Result<Kind, String> {
    const TYPE: &str = "choose one with --type";
    let all = |fits: fn(&Json) -> bool| leaves.iter().all(|leaf| fits(leaf));
    match () {
        () if leaves.is_empty() => Err(format!("it has no elements that would determine a type; {TYPE}")),
        () if all(Json::is_boolean) => Ok(Kind::Bool),
        () if all(Json::is_string) => Ok(Kind::Text),
        () if all(Json::is_i64) => Ok(Kind::Int64),
        () if all(Json::is_u64) => Ok(Kind::Uint64),
        () if all(Json::is_number) => {
            let lossy = leaves.iter().find(|leaf| {
                leaf.as_f64()
                    .is_some_and(|number| number.abs() > 9_007_199_254_740_992.0 && number.fract() == 0.0)
            });
            match lossy {
                Some(number) => Err(format!("float64 may not hold {number} exactly; {TYPE}")),
                None => Ok(Kind::Float64),
            }
        }
        () if all(Json::is_null) => Err(format!("null does not determine a type; {TYPE}")),
        () => {
            Err(format!("its elements are neither all numbers, nor all text, nor all true or false; {TYPE}"))
        }
    }
}

/// Converts the elements to a type, which is that of the existing attribute if there is a `kept` one.
fn elements(kind: Kind, leaves: &[&Json], kept: Option<&Kept>) -> Result<Elements, String> {
    let wrong = |leaf: &Json| {
        let hint = match kept {
            Some(_) => ", which is the type of the existing attribute (--type gives it another)",
            None => "",
        };
        format!("{leaf} is not a value of type {}{hint}", kind.word())
    };
    if let Kind::Text | Kind::Fixed = kind {
        let text = |leaf: &&Json| {
            let text = leaf.as_str().ok_or_else(|| wrong(leaf))?;
            match kept.and_then(|kept| kept.misfit(text)) {
                Some(problem) => Err(format!(
                    "{leaf} {problem} in the type of the existing attribute (--type gives it another)"
                )),
                None => Ok(text.to_owned()),
            }
        };
        return leaves.iter().map(text).collect::<Result<_, _>>().map(Elements::Texts);
    }
    if kind == Kind::Bool {
        let truths = leaves.iter().map(|leaf| leaf.as_bool().ok_or_else(|| wrong(leaf)));
        return truths.collect::<Result<_, _>>().map(Elements::Truths);
    }
    let mut bytes = Vec::new();
    let mut put = |mut little: Vec<u8>| {
        if kept.is_some_and(Kept::is_big) {
            little.reverse();
        }
        bytes.extend(little);
    };
    for leaf in leaves {
        match kind.integer() {
            Some((size, signed)) => {
                let bits = Bits::of(size, kept.map(|kept| &kept.datatype.class));
                let number = whole(leaf).ok_or_else(|| wrong(leaf))?;
                if !fits(number, bits.precision, signed) {
                    let short = bits.precision < size * 8 && fits(number, size * 8, signed);
                    let of = if short {
                        format!(", of which {} bits count", bits.precision)
                    } else {
                        String::new()
                    };
                    return Err(format!("{}{of}", wrong(leaf)));
                }
                put(bits.placed(number).to_le_bytes().into_iter().take(size as usize).collect());
            }
            None => {
                let number = real(leaf).ok_or_else(|| wrong(leaf))?;
                if kind == Kind::Float64 {
                    put(number.to_le_bytes().to_vec());
                    continue;
                }
                #[allow(clippy::cast_possible_truncation, reason = "a number is rounded, as its text is")]
                let short = number as f32;
                if short.is_infinite() && number.is_finite() {
                    return Err(wrong(leaf));
                }
                put(short.to_le_bytes().to_vec());
            }
        }
    }
    Ok(Elements::Numbers(bytes))
}

/// Returns the integer that a number means, however it is written.
fn whole(leaf: &Json) -> Option<i128> {
    let exact = leaf.as_i64().map(i128::from).or_else(|| leaf.as_u64().map(i128::from));
    let written =
        || leaf.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0);
    #[allow(clippy::cast_possible_truncation, reason = "it has no fraction, and fits")]
    exact.or_else(|| written().map(|number| number as i128))
}

/// The bits of an integer that hold its value, and what is in the others.
struct Bits {
    offset: u32,
    precision: u32,
    /// Whether the bits below and above the value are ones.
    ones: (bool, bool),
}

impl Bits {
    /// Returns those of an integer of `size` bytes, which may be stored in an existing type.
    fn of(size: u32, class: Option<&Class>) -> Self {
        match class {
            Some(Class::FixedPoint(FixedPoint {
                bit_offset, precision, low_padding, high_padding, ..
            })) => {
                let (offset, precision) = ((*bit_offset).into(), (*precision).into());
                Self { offset, precision, ones: (*low_padding, *high_padding) }
            }
            _ => Self { offset: 0, precision: size * 8, ones: (false, false) },
        }
    }

    /// Returns the bits of a number that fits. At most 64 bits are used, so that all shifts are possible.
    fn placed(&self, number: i128) -> i128 {
        let low = (1 << self.offset) - 1;
        let value = ((1 << self.precision) - 1) << self.offset;
        let padding = match self.ones {
            (false, false) => 0,
            (true, false) => low,
            (false, true) => !(value | low),
            (true, true) => !value,
        };
        (number << self.offset) & value | padding
    }
}

fn fits(number: i128, bits: u32, signed: bool) -> bool {
    if bits == 0 {
        return number == 0;
    }
    let (low, high) = if signed { (-(1 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1 << bits) };
    (low..high).contains(&number)
}

/// Returns a number, or one of the special values that JSON has no numbers for.
fn real(leaf: &Json) -> Option<f64> {
    match leaf.as_str() {
        Some("NaN" | "nan") => Some(f64::NAN),
        Some("Infinity" | "inf") => Some(f64::INFINITY),
        Some("-Infinity" | "-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => leaf.as_f64(),
    }
}

impl Value for Typed {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        let longest = match &self.elements {
            Elements::Texts(texts) => texts.iter().map(String::len).max().unwrap_or(0).max(1), // a bound of lengths
            _ => 1,
        };
        let fixed = u32::try_from(longest)
            .map_err(|_| Error::usage("text", "has 2^32 bytes or more, which is too long"))?;
        let datatype = match (self.kind, self.kind.integer()) {
            (_, Some((size, true))) => Datatype::signed(size),
            (_, Some((size, false))) => Datatype::unsigned(size),
            (Kind::Float32, _) => Datatype::float32(),
            (Kind::Bool, _) => bool::datatype(),
            (Kind::Text, _) => Datatype::string(),
            (Kind::Fixed, _) => Datatype::fixed_string(fixed),
            _ => Datatype::float64(),
        };
        let datatype = self.kept.as_ref().map_or(datatype, |kept| kept.datatype.clone());
        if self.shape.is_none() {
            return Empty(datatype).store(to);
        }
        match self.elements {
            Elements::Truths(truths) => bool::encode(&truths, to)?,
            Elements::Texts(texts) if self.kind == Kind::Text => String::encode(&texts, to)?,
            Elements::Texts(texts) => {
                let size = usize::try_from(datatype.size).unwrap_or(longest);
                let spaces = matches!(datatype.class, Class::String { padding: Padding::SpacePadded, .. });
                for text in texts {
                    if text.contains('\0') {
                        return Err(Error::usage("text", "contains a NUL"));
                    }
                    let mut bytes = text.into_bytes();
                    bytes.resize(size, if spaces { b' ' } else { 0 });
                    to.bytes(&bytes);
                }
            }
            Elements::Numbers(bytes) => to.bytes(&bytes),
        }
        Ok((datatype, self.shape))
    }

    fn committed(&self) -> Option<ObjectId> {
        self.kept.as_ref()?.committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(
        text: &str,
        named: Option<Kind>,
        existing: Option<&Existing>,
    ) -> Result<(Kind, Option<Vec<u64>>), String> {
        Typed::parse(text, named, existing).map(|typed| (typed.kind, typed.shape))
    }

    #[test]
    fn a_value_says_its_type() {
        for (text, kind, shape) in [
            ("7", Kind::Int64, &[][..]),
            ("-7", Kind::Int64, &[]),
            ("18446744073709551615", Kind::Uint64, &[]),
            ("1.5", Kind::Float64, &[]),
            ("[1, 2.5]", Kind::Float64, &[2]),
            ("[[1, 2, 3], [4, 5, 6]]", Kind::Int64, &[2, 3]),
            ("true", Kind::Bool, &[]),
            ("\"7\"", Kind::Text, &[]),
            ("a week in May", Kind::Text, &[]),
            ("2024-05-01", Kind::Text, &[]),
            ("[\"a\", \"b\"]", Kind::Text, &[2]),
        ] {
            assert_eq!(parsed(text, None, None), Ok((kind, Some(shape.to_vec()))), "{text}");
        }
        for text in [
            "[1, \"a\"]",
            "[]",
            "null",
            "[[1], 2]",
            "[1, [2]]",
            "[[1, 2], [3]]",
            "18446744073709551616",
            "{}",
        ] {
            assert!(parsed(text, None, None).is_err(), "{text}");
        }
        assert_eq!(parsed("null", Some(Kind::Float32), None), Ok((Kind::Float32, None)));
        assert_eq!(parsed("[]", Some(Kind::Int8), None), Ok((Kind::Int8, Some(vec![0]))));
        assert_eq!(parsed("7", Some(Kind::Text), None), Ok((Kind::Text, Some(vec![]))));
    }

    #[test]
    fn numbers_fit_or_are_refused() {
        for (text, kind) in
            [("127", Kind::Int8), ("-128", Kind::Int8), ("255", Kind::Uint8), ("3.0", Kind::Int16)]
        {
            assert!(parsed(text, Some(kind), None).is_ok(), "{text}");
        }
        for (text, kind) in [
            ("128", Kind::Int8),
            ("-1", Kind::Uint64),
            ("1.5", Kind::Int32),
            ("1e300", Kind::Float32),
            ("x", Kind::Float64),
            ("true", Kind::Int8),
            ("1", Kind::Bool),
            ("9223372036854775808", Kind::Int64),
            ("9007199254740993", Kind::Float64),
            ("36893488147419103233", Kind::Float64),
            ("[1, 16777217]", Kind::Float32),
        ] {
            assert!(parsed(text, Some(kind), None).is_err(), "{text}");
        }
        assert!(parsed("[\"NaN\", 1, \"-Infinity\"]", Some(Kind::Float32), None).is_ok());
        assert!(parsed("[1.5, 9007199254740993]", None, None).unwrap_err().contains("9007199254740992"));
        assert!(parsed("9007199254740993.0", Some(Kind::Float64), None).is_ok());
        assert!(parsed("36893488147419103232", Some(Kind::Float64), None).is_ok());
    }

    #[test]
    fn an_attribute_keeps_its_type() {
        let of = |datatype: &Datatype| Existing::of(datatype, None, &[]);
        let short = of(&Datatype::signed(2).big_endian());
        assert_eq!(parsed("7", None, Some(&short)), Ok((Kind::Int16, Some(vec![]))));
        assert!(parsed("70000", None, Some(&short)).unwrap_err().contains("--type"));
        assert!(
            parsed("7", None, Some(&Existing::Other("Reference".into()))).unwrap_err().contains("--type")
        );
        let fixed = of(&Datatype::fixed_string(4));
        assert_eq!(parsed("2024", None, Some(&fixed)), Ok((Kind::Fixed, Some(vec![]))));
        assert!(parsed("20240", None, Some(&fixed)).unwrap_err().contains("there is room for 4"));
        let mut ended = Datatype::fixed_string(1);
        ended.class = Class::String { padding: Padding::NullTerminated, charset: CharacterSet::Ascii };
        for (raw, room) in [(b"K", true), (b"\0", false)] {
            let existing = Existing::of(&ended, None, raw);
            assert_eq!(
                parsed("C", None, Some(&existing)).is_ok(),
                room,
                "a NUL takes room where there was one"
            );
        }
        assert!(matches!(of(&bool::datatype()), Existing::Known(Kind::Bool, _)));
        assert!(matches!(of(&Datatype::string()), Existing::Known(Kind::Text, _)));
        assert!(matches!(of(&Datatype::float32().big_endian()), Existing::Known(Kind::Float32, _)));
        assert!(matches!(of(&Datatype::opaque(3, "")), Existing::Other(_)));
    }

    #[test]
    fn only_the_bits_of_a_number_change() {
        // Class 0 of version 1, signed and big-endian, 4 bytes, of which 12 bits from bit 5 on count; ones fill the bits above.
        let datatype = Datatype::from_bytes(&[0x10, 0x0d, 0, 0, 4, 0, 0, 0, 5, 0, 12, 0]).unwrap();
        let existing = Existing::of(&datatype, None, &[]);
        let stored = |text: &str| match Typed::parse(text, None, Some(&existing)).map(|typed| typed.elements)
        {
            Ok(Elements::Numbers(bytes)) => Ok(bytes),
            Ok(_) => panic!("it is a number"),
            Err(problem) => Err(problem),
        };
        assert_eq!(stored("1"), Ok(vec![0xff, 0xfe, 0, 0x20]));
        assert_eq!(stored("-1"), Ok(vec![0xff, 0xff, 0xff, 0xe0]));
        assert!(stored("2048").unwrap_err().contains("of which 12 bits count"));
        assert!(stored("-2048").is_ok());
    }

    #[test]
    fn text_that_would_change_is_refused() {
        let kept = |padding, charset| Kept {
            datatype: Datatype { class: Class::String { padding, charset }, ..Datatype::fixed_string(3) },
            committed: None,
            fills: false,
        };
        for (padding, charset, text, fits) in [
            (Padding::NullPadded, CharacterSet::Ascii, "abc", true),
            (Padding::NullTerminated, CharacterSet::Ascii, "abc", false),
            (Padding::SpacePadded, CharacterSet::Ascii, "ab", true),
            (Padding::SpacePadded, CharacterSet::Ascii, "b ", false),
            (Padding::NullPadded, CharacterSet::Ascii, "é", false),
            (Padding::NullPadded, CharacterSet::Utf8, "é", true),
            (Padding::NullPadded, CharacterSet::Utf8, "éé", false),
        ] {
            assert_eq!(kept(padding, charset).misfit(text).is_none(), fits, "{text}");
        }
    }
}
