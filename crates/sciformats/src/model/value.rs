//! Scalars of a tree, and the JSON form of numbers and text.

use std::fmt;

use super::Name;
use super::datum::{Datum, FloatKind};

/// A scalar that is in the tree itself and not in an array, such as an ASDF scalar, a fact about a file, or an
/// element of any type.
///
/// ```
/// use sciformats::Value;
///
/// let sizes = Value::List(vec![640.into(), 480.into()]);
/// assert_eq!((sizes.to_string(), sizes.to_json()), ("640, 480".into(), "[640,480]".into()));
/// assert_eq!(Value::from("M31").to_string(), "M31");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any size, as decimal digits after an optional minus sign. `Value::from(7)` creates one.
    Integer(Box<str>),
    /// A floating-point number, which need not be finite.
    Float(f64),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// A complex number: the real and the imaginary part.
    Complex(f64, f64),
    /// Bytes without a known meaning.
    Bytes(Vec<u8>),
    /// Named values in stored order.
    Record(Vec<(Name, Value)>),
}

impl Value {
    /// Appends the value as JSON, with `"NaN"`, `"Infinity"` and `"-Infinity"` for numbers that JSON lacks.
    ///
    /// ```
    /// use sciformats::Value;
    ///
    /// let mut out = String::from(r#"{"exposure":"#);
    /// Value::from(30.0).write_json(&mut out);
    /// assert_eq!(out, r#"{"exposure":30.0"#);
    /// ```
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Integer(digits) => out.push_str(digits),
            Self::Float(value) => write_float(out, *value),
            Self::Text(text) => write_text(out, text),
            Self::List(values) => {
                out.push('[');
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    value.write_json(out);
                }
                out.push(']');
            }
            Self::Complex(real, imaginary) => {
                out.push('[');
                write_float(out, *real);
                out.push(',');
                write_float(out, *imaginary);
                out.push(']');
            }
            Self::Bytes(bytes) => Datum::Bytes(bytes).write_json(out),
            Self::Record(fields) => {
                out.push('{');
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(out, &name.shown());
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns the value as JSON text.
    ///
    /// ```
    /// use sciformats::Value;
    ///
    /// assert_eq!(Value::from("M31").to_json(), r#""M31""#);
    /// assert_eq!(Value::Float(f64::INFINITY).to_json(), r#""Infinity""#); // JSON has no number for it
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

/// Formats a value for people: text without quotes, lists with commas.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::List(values) => {
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    value.fmt(f)?;
                }
                Ok(())
            }
            Self::Complex(real, imaginary) => Datum::Complex(*real, *imaginary, FloatKind::F64).fmt(f),
            Self::Bytes(bytes) => Datum::Bytes(bytes).fmt(f),
            Self::Record(fields) => {
                f.write_str("{")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: ", if i > 0 { ", " } else { "" })?;
                    match value {
                        Self::List(_) => write!(f, "[{value}]")?,
                        value => value.fmt(f)?,
                    }
                }
                f.write_str("}")
            }
            other => f.pad(&other.to_json()),
        }
    }
}

macro_rules! from_integer {
    ($($int:ty),*) => {$(
        impl From<$int> for Value {
            fn from(value: $int) -> Self {
                Self::Integer(value.to_string().into())
            }
        }
    )*};
}
from_integer!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128);

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Appends a JSON number with the fewest digits that read back as `value`, or a string if JSON has no such
/// number.
///
/// ```
/// let mut out = String::new();
/// sciformats::model::write_float(&mut out, 0.1);
/// assert_eq!(out, "0.1");
/// ```
pub fn write_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        let word = match value {
            _ if value.is_nan() => r#""NaN""#,
            _ if value > 0.0 => r#""Infinity""#,
            _ => r#""-Infinity""#,
        };
        return out.push_str(word);
    }
    // Very large and very small numbers have an exponent with a sign, as many writers of JSON do.
    let size = value.abs();
    if size >= 1e16 {
        out.push_str(&nearest(value, true).replace('e', "e+"));
    } else if size > 0.0 && size < 1e-5 {
        out.push_str(&nearest(value, true));
    } else {
        let plain = nearest(value, false);
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    }
}

/// Returns the fewest digits that read back as `value`. If there are several of that length, they are the
/// nearest, or otherwise even ones.
fn nearest(value: f64, exponent: bool) -> String {
    let shortest = if exponent { format!("{value:e}") } else { value.to_string() };
    let digits = shortest.split('e').next().and_then(|digits| digits.split_once('.'));
    let decimals = digits.map_or(0, |(_, decimals)| decimals.len());
    let rounded = if exponent { format!("{value:.decimals$e}") } else { format!("{value:.decimals$}") };
    if rounded.parse() == Ok(value) { rounded } else { shortest }
}

/// Appends `text` as a JSON string, quoted and escaped.
///
/// ```
/// let mut out = String::new();
/// sciformats::model::write_text(&mut out, "a \"b\"");
/// assert_eq!(out, r#""a \"b\"""#);
/// ```
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_spelling() {
        let table = [
            (Value::Null, "null"),
            (true.into(), "true"),
            (Value::from(-1i128 << 100), "-1267650600228229401496703205376"),
            (2.7.into(), "2.7"),
            (1.0.into(), "1.0"),
            ((-0.0).into(), "-0.0"),
            (f64::NAN.into(), r#""NaN""#),
            (f64::INFINITY.into(), r#""Infinity""#),
            (f64::NEG_INFINITY.into(), r#""-Infinity""#),
            ("a\"\n\u{7f}é".into(), "\"a\\\"\\n\u{7f}é\""),
            (Value::List(vec![1u8.into(), "x".into()]), r#"[1,"x"]"#),
            (Value::Complex(0.5, -1.0), "[0.5,-1.0]"),
            (
                Value::Record(vec![("x".into(), 1.into()), ("y".into(), Value::List(vec![]))]),
                r#"{"x":1,"y":[]}"#,
            ),
        ];
        for (value, json) in table {
            assert_eq!(value.to_json(), json);
        }
    }

    proptest! {
        #[test]
        fn numbers_and_texts_as_other_writers_spell_them(bits: u64, exponent in -12..20i32, text: String) {
            let near = (bits >> 12) as f64 / (1u64 << 51) as f64 * 10f64.powi(exponent);
            for value in [f64::from_bits(bits), near, near.round()].into_iter().filter(|value| value.is_finite()) {
                let mut spelled = String::new();
                write_float(&mut spelled, value);
                prop_assert_eq!(&spelled, &serde_json::Value::from(value).to_string());
            }
            let mut spelled = String::new();
            write_text(&mut spelled, &text);
            prop_assert_eq!(&spelled, &serde_json::Value::from(text).to_string());
        }
    }
}
