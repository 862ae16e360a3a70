//! Any value of `MessagePack`, as Python programs store it in metalayers. It is big-endian.
//!
//! | first byte | what follows |
//! |---|---|
//! | `00`–`7f`, `e0`–`ff` | nothing: a small integer |
//! | `80`–`8f`, `de` u16, `df` u32 | this many pairs of key and value |
//! | `90`–`9f`, `dc` u16, `dd` u32 | this many values |
//! | `a0`–`bf`, `d9` u8, `da` u16, `db` u32 | this many bytes of text |
//! | `c0`, `c2`, `c3` | nothing: nil, false, true |
//! | `c4` u8, `c5` u16, `c6` u32 | this many bytes |
//! | `ca`, `cb` | a float of 4, 8 bytes |
//! | `cc`–`cf`, `d0`–`d3` | an unsigned or signed integer of 1, 2, 4, 8 bytes |
//! | `d4`–`d8` | kind, then 1, 2, 4, 8, 16 bytes |
//! | `c7` u8, `c8` u16, `c9` u32 | kind, then this many bytes |

use crate::spec::marker::Marker;
use nom::bytes::complete::take;
use nom::number::complete::{
    be_f32, be_f64, be_i8, be_i16, be_i32, be_i64, be_u16, be_u32, be_u64, u8 as byte,
};
use sciformats_core::fault::{FaultKind, Parsed, fail, field, locate_all};
use sciformats_core::{Error, Result, bound};

use super::msgpack::put_marker;

/// The largest nesting depth of lists and maps.
const MAX_DEPTH: usize = 64;

/// A value of `MessagePack`, as Python programs store it in metalayers.
///
/// ```
/// use cframe::{Params, SChunk, Value};
///
/// let mut schunk = SChunk::new(Params::new(1));
/// let steps = Value::from(vec![Value::from(1), Value::from("two"), Value::from(3.5)]);
/// schunk.set_vlmeta_value("steps", &steps)?;
/// let read = schunk.vlmeta_value("steps")?;
/// assert_eq!(read.as_list().and_then(|list| list[1].as_str()), Some("two"));
/// assert_eq!(read.to_string(), r#"[1,"two",3.5]"#);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// The value nil.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer of 64 bits, signed or not.
    Int(i128),
    /// A number of 4 or 8 bytes. It is written with 8 bytes.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes, or text that is not UTF-8.
    Bytes(Vec<u8>),
    /// Values in order.
    List(Vec<Value>),
    /// Keys and their values, in the order in which they are stored.
    Map(Vec<(Value, Value)>),
    /// Bytes of a kind that only its creator defines.
    Extension(i8, Vec<u8>),
}

impl Value {
    /// Parses a value. `bytes` must not contain anything else.
    ///
    /// ```
    /// use cframe::Value;
    ///
    /// assert_eq!(Value::from_msgpack(b"\xa1K")?, Value::Text("K".to_owned()));
    /// assert_eq!(Value::from_msgpack(b"\x93\x01\x02\x03")?.to_string(), "[1,2,3]");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed`, with the offset in `bytes`.
    pub fn from_msgpack(bytes: &[u8]) -> Result<Self> {
        locate_all("MessagePack value", 0, bytes, |i| parse(i, 0))
    }

    /// Returns the bytes of the value. Each number and length has the shortest form.
    ///
    /// ```
    /// use cframe::Value;
    ///
    /// assert_eq!(Value::from("K").to_msgpack()?, b"\xa1K");
    /// assert_eq!(Value::from(vec![Value::from(1), Value::Nil]).to_msgpack()?, b"\x92\x01\xc0");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if an integer needs more than 64 bits, if a length needs more than 32 bits, or if more than 64 lists and maps are in
    /// one another, which could not be read.
    pub fn to_msgpack(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.put(&mut out, MAX_DEPTH) {
            Some(()) => Ok(out),
            None => Err(Error::usage("value", "does not fit MessagePack")),
        }
    }

    /// Returns the truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the integer, if it is one that fits.
    ///
    /// ```
    /// use cframe::Value;
    ///
    /// assert_eq!((Value::Int(24).as_i64(), Value::Int(1 << 63).as_i64()), (Some(24), None));
    /// assert_eq!(Value::Float(24.0).as_i64(), None);
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(value) = self { i64::try_from(*value).ok() } else { None }
    }

    /// Returns the number, if it fits 8 bytes. Large integers are rounded.
    ///
    /// ```
    /// use cframe::Value;
    ///
    /// assert_eq!((Value::Float(281.5).as_f64(), Value::Int(24).as_f64()), (Some(281.5), Some(24.0)));
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// Returns the text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the bytes, if the value consists of bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns the values of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(values) = self { Some(values) } else { None }
    }

    /// Returns the value under a key of a map.
    ///
    /// ```
    /// use cframe::Value;
    ///
    /// let station = Value::Map(vec![("name".into(), "north".into()), ("height".into(), 412.5.into())]);
    /// assert_eq!(station.get("name").and_then(Value::as_str), Some("north"));
    /// assert_eq!(station.get("depth"), None);
    /// ```
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else { return None };
        pairs.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// Appends the bytes of the value, in which at most `depth` lists and maps may be in one another.
    fn put(&self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        match self {
            Self::Nil => put_marker(out, Marker::Null),
            Self::Bool(value) => put_marker(out, if *value { Marker::True } else { Marker::False }),
            Self::Int(value) => put_int(out, *value)?,
            Self::Float(value) => {
                put_marker(out, Marker::F64);
                out.extend(value.to_be_bytes());
            }
            Self::Text(text) => {
                match u8::try_from(text.len()) {
                    Ok(len) if len < 32 => put_marker(out, Marker::FixStr(len)),
                    _ => put_len(
                        out,
                        text.len(),
                        [Some(Marker::Str8), Some(Marker::Str16), Some(Marker::Str32)],
                    )?,
                }
                out.extend(text.bytes());
            }
            Self::Bytes(bytes) => {
                put_len(out, bytes.len(), [Some(Marker::Bin8), Some(Marker::Bin16), Some(Marker::Bin32)])?;
                out.extend(bytes);
            }
            Self::List(values) => {
                let depth = depth.checked_sub(1)?;
                match u8::try_from(values.len()) {
                    Ok(len) if len < 16 => put_marker(out, Marker::FixArray(len)),
                    _ => put_len(out, values.len(), [None, Some(Marker::Array16), Some(Marker::Array32)])?,
                }
                values.iter().try_for_each(|value| value.put(out, depth))?;
            }
            Self::Map(pairs) => {
                let depth = depth.checked_sub(1)?;
                match u8::try_from(pairs.len()) {
                    Ok(len) if len < 16 => put_marker(out, Marker::FixMap(len)),
                    _ => put_len(out, pairs.len(), [None, Some(Marker::Map16), Some(Marker::Map32)])?,
                }
                pairs
                    .iter()
                    .try_for_each(|(key, value)| key.put(out, depth).and_then(|()| value.put(out, depth)))?;
            }
            Self::Extension(kind, bytes) => {
                match bytes.len() {
                    1 => put_marker(out, Marker::FixExt1),
                    2 => put_marker(out, Marker::FixExt2),
                    4 => put_marker(out, Marker::FixExt4),
                    8 => put_marker(out, Marker::FixExt8),
                    16 => put_marker(out, Marker::FixExt16),
                    len => put_len(out, len, [Some(Marker::Ext8), Some(Marker::Ext16), Some(Marker::Ext32)])?,
                }
                out.extend(kind.to_be_bytes());
                out.extend(bytes);
            }
        }
        Some(())
    }
}

fn put_int(out: &mut Vec<u8>, value: i128) -> Option<()> {
    macro_rules! first_that_fits {
        ($($type:ident $marker:ident),*) => {$(
            if let Ok(value) = $type::try_from(value) {
                put_marker(out, Marker::$marker);
                out.extend(value.to_be_bytes());
                return Some(());
            }
        )*};
    }
    match value {
        0..=0x7f => put_marker(out, Marker::FixPos(u8::try_from(value).ok()?)),
        -32..=-1 => put_marker(out, Marker::FixNeg(i8::try_from(value).ok()?)),
        _ => {
            first_that_fits!(u8 U8, i8 I8, u16 U16, i16 I16, u32 U32, i32 I32, u64 U64, i64 I64);
            return None;
        }
    }
    Some(())
}

/// Appends a length of 1, 2 or 4 bytes after its marker. Not every kind of value has the shortest form.
fn put_len(out: &mut Vec<u8>, len: usize, [short, middle, long]: [Option<Marker>; 3]) -> Option<()> {
    if let (Ok(len), Some(marker)) = (u8::try_from(len), short) {
        put_marker(out, marker);
        out.push(len);
    } else if let (Ok(len), Some(marker)) = (u16::try_from(len), middle) {
        put_marker(out, marker);
        out.extend(len.to_be_bytes());
    } else {
        put_marker(out, long?);
        out.extend(u32::try_from(len).ok()?.to_be_bytes());
    }
    Some(())
}

fn parse(i: &[u8], depth: usize) -> Parsed<'_, Value> {
    let (rest, marker) = field("marker", byte)(i)?;
    let int = |(i, value): (_, i128)| (i, Value::Int(value));
    macro_rules! wide {
        ($parser:ident) => {
            field("integer", $parser)(rest).map(|(i, value)| int((i, value.into())))
        };
    }
    match Marker::from_u8(marker) {
        Marker::Null => Ok((rest, Value::Nil)),
        Marker::True => Ok((rest, Value::Bool(true))),
        Marker::False => Ok((rest, Value::Bool(false))),
        Marker::FixPos(value) => Ok((rest, Value::Int(value.into()))),
        Marker::FixNeg(value) => Ok((rest, Value::Int(value.into()))),
        Marker::U8 => wide!(byte),
        Marker::U16 => wide!(be_u16),
        Marker::U32 => wide!(be_u32),
        Marker::U64 => wide!(be_u64),
        Marker::I8 => wide!(be_i8),
        Marker::I16 => wide!(be_i16),
        Marker::I32 => wide!(be_i32),
        Marker::I64 => wide!(be_i64),
        Marker::F32 => field("float", be_f32)(rest).map(|(i, value)| (i, Value::Float(value.into()))),
        Marker::F64 => field("float", be_f64)(rest).map(|(i, value)| (i, Value::Float(value))),
        Marker::FixStr(len) => text(rest, len.into()),
        Marker::Str8 => length8(rest).and_then(|(i, len)| text(i, len)),
        Marker::Str16 => length16(rest).and_then(|(i, len)| text(i, len)),
        Marker::Str32 => length32(rest).and_then(|(i, len)| text(i, len)),
        Marker::Bin8 => length8(rest).and_then(|(i, len)| bytes(i, len)),
        Marker::Bin16 => length16(rest).and_then(|(i, len)| bytes(i, len)),
        Marker::Bin32 => length32(rest).and_then(|(i, len)| bytes(i, len)),
        Marker::FixExt1 => extension(rest, 1),
        Marker::FixExt2 => extension(rest, 2),
        Marker::FixExt4 => extension(rest, 4),
        Marker::FixExt8 => extension(rest, 8),
        Marker::FixExt16 => extension(rest, 16),
        Marker::Ext8 => length8(rest).and_then(|(i, len)| extension(i, len)),
        Marker::Ext16 => length16(rest).and_then(|(i, len)| extension(i, len)),
        Marker::Ext32 => length32(rest).and_then(|(i, len)| extension(i, len)),
        Marker::Reserved => field("marker", |i| fail(i, FaultKind::Undefined { found: marker.into() }))(i),
        _ if depth >= MAX_DEPTH => field("nesting", |i| fail(i, FaultKind::Rule("is too deep")))(i),
        Marker::FixArray(len) => list(rest, len.into(), depth),
        Marker::Array16 => length16(rest).and_then(|(i, len)| list(i, len, depth)),
        Marker::Array32 => length32(rest).and_then(|(i, len)| list(i, len, depth)),
        Marker::FixMap(len) => map(rest, len.into(), depth),
        Marker::Map16 => length16(rest).and_then(|(i, len)| map(i, len, depth)),
        Marker::Map32 => length32(rest).and_then(|(i, len)| map(i, len, depth)),
    }
}

fn length8(i: &[u8]) -> Parsed<'_, u32> {
    field("length", byte)(i).map(|(i, len)| (i, len.into()))
}

fn length16(i: &[u8]) -> Parsed<'_, u32> {
    field("length", be_u16)(i).map(|(i, len)| (i, len.into()))
}

fn length32(i: &[u8]) -> Parsed<'_, u32> {
    field("length", be_u32)(i)
}

fn text(i: &[u8], len: u32) -> Parsed<'_, Value> {
    let (i, bytes) = field("text", take(len))(i)?;
    let value = match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Bytes(bytes.to_vec()),
    };
    Ok((i, value))
}

fn bytes(i: &[u8], len: u32) -> Parsed<'_, Value> {
    field("bytes", take(len))(i).map(|(i, bytes)| (i, Value::Bytes(bytes.to_vec())))
}

fn extension(i: &[u8], len: u32) -> Parsed<'_, Value> {
    let (i, kind) = field("kind of extension", be_i8)(i)?;
    field("extension", take(len))(i).map(|(i, bytes)| (i, Value::Extension(kind, bytes.to_vec())))
}

fn list(mut i: &[u8], len: u32, depth: usize) -> Parsed<'_, Value> {
    // Every value has at least one byte, so the list does not become longer than the input.
    let mut values = Vec::new();
    for _ in 0..len {
        let (rest, value) = parse(i, bound::sum(depth, 1))?;
        values.push(value);
        i = rest;
    }
    Ok((i, Value::List(values)))
}

fn map(mut i: &[u8], len: u32, depth: usize) -> Parsed<'_, Value> {
    let mut pairs = Vec::new();
    for _ in 0..len {
        let (rest, key) = parse(i, bound::sum(depth, 1))?;
        let (rest, value) = parse(rest, bound::sum(depth, 1))?;
        pairs.push((key, value));
        i = rest;
    }
    Ok((i, Value::Map(pairs)))
}

/// Shows the value as JSON: bytes as a text of hexadecimal digits, extensions as an object with one key, keys as texts, and
/// numbers that JSON lacks as texts.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nil => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Float(value) if value.is_nan() => f.write_str("\"NaN\""),
            Self::Float(value) => write!(f, "\"{}Infinity\"", if *value < 0.0 { "-" } else { "" }),
            Self::Text(text) => quoted(f, text),
            Self::Bytes(bytes) => {
                f.write_str("\"")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("\"")
            }
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    match key {
                        Self::Text(text) => quoted(f, text)?,
                        other => quoted(f, &other.to_string())?,
                    }
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
            Self::Extension(kind, bytes) => {
                write!(f, "{{\"extension {kind}\":{}}}", Self::Bytes(bytes.clone()))
            }
        }
    }
}

/// Writes a text as JSON does.
fn quoted(f: &mut std::fmt::Formatter<'_>, text: &str) -> std::fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

macro_rules! from {
    ($($type:ty => |$value:ident| $make:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $make
            }
        }
    )*};
}
from! {
    bool => |value| Self::Bool(value);
    i32 => |value| Self::Int(value.into());
    i64 => |value| Self::Int(value.into());
    u32 => |value| Self::Int(value.into());
    u64 => |value| Self::Int(value.into());
    f64 => |value| Self::Float(value);
    &str => |value| Self::Text(value.to_owned());
    String => |value| Self::Text(value);
    &[u8] => |value| Self::Bytes(value.to_vec());
    Vec<u8> => |value| Self::Bytes(value);
    Vec<Value> => |value| Self::List(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_map_byte_by_byte() {
        let bytes = [
            &[0x82][..],                           // map of two pairs
            &[0xa3, b'k', b'e', b'y'],             // text of three bytes
            &[0x93, 7, 0xff, 0xcd, 1, 0],          // list of three: 7, -1, 256 in two bytes
            &[0xd9, 33],                           // text of 33 bytes
            &[b'x'; 33],                           // the text
            &[0xcb, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0], // float of eight bytes: 0.5
        ]
        .concat();
        let list = vec![Value::from(7), Value::from(-1), Value::from(256)];
        let long: &str = &"x".repeat(33);
        let map = Value::Map(vec![("key".into(), list.into()), (long.into(), 0.5.into())]);
        assert_eq!(Value::from_msgpack(&bytes).unwrap(), map);
        assert_eq!(map.to_msgpack().unwrap(), bytes);
    }

    #[test]
    fn values_byte_by_byte() {
        let table: [(&[u8], Value, &str); 14] = [
            (b"\xc0", Value::Nil, "null"),
            (b"\x2a", 42.into(), "42"),
            (b"\xe0", (-32).into(), "-32"),
            (b"\xd0\x80", (-128).into(), "-128"),
            (b"\xcc\x80", 128.into(), "128"),
            (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", u64::MAX.into(), "18446744073709551615"),
            (b"\xcb\x3f\xf8\0\0\0\0\0\0", 1.5.into(), "1.5"),
            (b"\xa2\"\n", "\"\n".into(), r#""\"\n""#),
            (b"\xc4\x02\0\xff", vec![0u8, 255].into(), "\"00ff\""),
            (b"\x92\xc3\xc2", vec![Value::Bool(true), Value::Bool(false)].into(), "[true,false]"),
            (b"\x81\xa1k\x01", Value::Map(vec![("k".into(), 1.into())]), r#"{"k":1}"#),
            (b"\x81\x07\xc0", Value::Map(vec![(7.into(), Value::Nil)]), r#"{"7":null}"#),
            (b"\xd5\x2a\x01\x02", Value::Extension(42, vec![1, 2]), r#"{"extension 42":"0102"}"#),
            (b"\xc7\x03\x01abc", Value::Extension(1, b"abc".to_vec()), r#"{"extension 1":"616263"}"#),
        ];
        for (bytes, value, shown) in table {
            assert_eq!(Value::from_msgpack(bytes).unwrap(), value);
            assert_eq!(value.to_msgpack().unwrap(), bytes, "{shown}");
            assert_eq!(value.to_string(), shown);
        }
        // Longer forms of short values, and floats of 4 bytes, can be read too.
        assert_eq!(Value::from_msgpack(b"\xd2\0\0\0\x01").unwrap(), 1.into());
        assert_eq!(Value::from_msgpack(b"\xca\x3f\xc0\0\0").unwrap(), 1.5.into());
        assert_eq!(Value::from_msgpack(b"\xdd\0\0\0\x01\xda\0\x01x").unwrap(), vec![Value::from("x")].into());
        assert_eq!(Value::from_msgpack(b"\xa1\xff").unwrap(), vec![255u8].into());
        assert!(Value::Int(1 << 64).to_msgpack().is_err());
    }

    #[test]
    fn faults() {
        let show = |bytes: &[u8]| Value::from_msgpack(bytes).unwrap_err().to_string();
        let at = "malformed MessagePack value at offset";
        assert_eq!(show(b"\xc1"), format!("{at} 0x0: marker is 193 (0xc1), which is not defined"));
        assert_eq!(show(b"\x91\xa5ab"), format!("{at} 0x2: text is truncated"));
        assert_eq!(show(b"\xdd\xff\xff\xff\xff\xc0"), format!("{at} 0x6: marker is truncated"));
        assert_eq!(show(&[0x91; 100]), format!("{at} 0x40: nesting is too deep"));
        assert!(Value::from_msgpack(b"\xc0\xc0").is_err());
    }

    #[test]
    fn what_could_not_be_read_for_its_depth_is_not_written() {
        let list = |value| Value::List(vec![value]);
        let map = |value| Value::Map(vec![(1.into(), value)]);
        let deepest = (0..31).fold(list(map(Value::Nil)), |value, _| list(map(value)));
        let bytes = deepest.to_msgpack().unwrap();
        assert_eq!(Value::from_msgpack(&bytes).unwrap(), deepest);
        for deeper in [list(deepest.clone()), map(deepest.clone()), Value::Map(vec![(deepest, Value::Nil)])] {
            assert!(deeper.to_msgpack().is_err());
        }
    }

    #[test]
    fn parts_of_values() {
        let map =
            Value::Map(vec![("n".into(), 3.into()), ("f".into(), 0.5.into()), ("t".into(), true.into())]);
        assert_eq!(map.get("n").and_then(Value::as_i64), Some(3));
        assert_eq!(map.get("n").and_then(Value::as_f64), Some(3.0));
        assert_eq!(map.get("f").and_then(Value::as_f64), Some(0.5));
        assert_eq!(map.get("t").and_then(Value::as_bool), Some(true));
        assert_eq!((map.get("x"), Value::Nil.get("n")), (None, None));
        assert_eq!(Value::from(b"ab".as_slice()).as_bytes(), Some(&b"ab"[..]));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-300i64..300).prop_map(Value::from),
            (-1e9f64..1e9).prop_map(Value::from),
            "\\PC{0,40}".prop_map(Value::from),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Value::from),
            (any::<i8>(), prop::collection::vec(any::<u8>(), 0..20))
                .prop_map(|(k, b)| Value::Extension(k, b)),
        ];
        leaf.prop_recursive(4, 40, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::List),
                prop::collection::vec((inner.clone(), inner), 0..20).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn round_trip(value in any_value()) {
            prop_assert_eq!(Value::from_msgpack(&value.to_msgpack().unwrap()).unwrap(), value);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            if let Ok(value) = Value::from_msgpack(&bytes) {
                let again = value.to_msgpack().unwrap();
                prop_assert_eq!(Value::from_msgpack(&again).unwrap().to_string(), value.to_string());
            }
        }
    }
}
