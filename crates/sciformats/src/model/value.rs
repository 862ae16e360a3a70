//! Scalars of a tree, and the JSON spelling of numbers and text.

use std::fmt;

/// A scalar that stands in the tree itself, not in an array: an ASDF scalar, or a fact about a file.
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
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any size: decimal digits after an optional minus sign. Made by `Value::from(7)`.
    Integer(Box<str>),
    /// A floating-point number, possibly not finite.
    Float(f64),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
}

impl Value {
    /// Appends the value as JSON: `"NaN"`, `"Infinity"` and `"-Infinity"` for what JSON lacks.
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
        }
    }

    /// The value as JSON text.
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

/// For people: text without quotes, lists with commas.
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

/// Appends a JSON number with the fewest digits that read back as `value`; a string where JSON has no number.
///
/// ```
/// let mut out = String::new();
/// sciformats::model::write_float(&mut out, 0.1);
/// assert_eq!(out, "0.1");
/// ```
pub fn write_float(out: &mut String, value: f64) {
    match serde_json::Number::from_f64(value) {
        Some(number) => out.push_str(&number.to_string()),
        None if value.is_nan() => out.push_str(r#""NaN""#),
        None if value > 0.0 => out.push_str(r#""Infinity""#),
        None => out.push_str(r#""-Infinity""#),
    }
}

/// Appends `text` as a JSON string, quoted and escaped.
///
/// ```
/// let mut out = String::new();
/// sciformats::model::write_text(&mut out, "a \"b\"");
/// assert_eq!(out, r#""a \"b\"""#);
/// ```
pub fn write_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
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
        ];
        for (value, json) in table {
            assert_eq!(value.to_json(), json);
        }
    }
}
