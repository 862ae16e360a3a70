//! Formats elements as text for people, and as JSON.

use std::fmt;

use sciformats_core::number::{BFloat16, Float16};

use super::{Datum, FloatKind};
use crate::model::{Name, write_float, write_text};

impl FloatKind {
    /// Formats `value` with the fewest digits that read back as the same value in this precision: `0.1` in
    /// every width. Values that are not finite are `nan`, `inf` and `-inf`. There is an exponent below 1e-4
    /// and from 1e16 on.
    ///
    /// ```
    /// use sciformats::FloatKind;
    ///
    /// assert_eq!(FloatKind::F32.digits(0.1f32.into()), "0.1");
    /// assert_eq!(FloatKind::F64.digits(0.1f32.into()), "0.10000000149011612");
    /// assert_eq!(FloatKind::F64.digits(1e300), "1e300");
    /// ```
    pub fn digits(self, value: f64) -> String {
        if !value.is_finite() {
            let sign = if value.is_sign_negative() { "-" } else { "" };
            return if value.is_nan() { "nan".into() } else { format!("{sign}inf") };
        }
        let scientific = value != 0.0 && !(1e-4..1e16).contains(&value.abs());
        match self {
            Self::F64 if scientific => format!("{value:e}"),
            Self::F64 => format!("{value:?}"),
            // This conversion is exact, because the value was read from this width.
            #[allow(clippy::cast_possible_truncation)]
            Self::F32 if scientific => format!("{:e}", value as f32),
            #[allow(clippy::cast_possible_truncation)]
            Self::F32 => format!("{:?}", value as f32),
            Self::F16 => {
                shortest(value, scientific, |text| text.parse().ok().map(|f| Float16::nearest(f).into()))
            }
            Self::BF16 => {
                shortest(value, scientific, |text| text.parse().ok().map(|f| BFloat16::nearest(f).into()))
            }
        }
    }
}

/// Tries an increasing number of digits until they read back as `value`; five are enough for 16-bit formats.
fn shortest(value: f64, scientific: bool, back: impl Fn(&str) -> Option<f64>) -> String {
    let text = (0..6usize)
        .map(|digits| format!("{value:.digits$e}"))
        .find(|text| back(text) == Some(value))
        .unwrap_or_else(|| format!("{value:e}"));
    let plain = text.parse::<f64>().unwrap_or(value);
    if scientific { format!("{plain:e}") } else { format!("{plain:?}") }
}

/// Formats an element for people, on one line. Text and bytes are quoted inside of other values.
impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value, kind) => f.pad(&kind.digits(*value)),
            Self::Complex(real, imaginary, kind) => {
                let imaginary = kind.digits(*imaginary);
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                f.pad(&format!("{}{sign}{imaginary}j", kind.digits(*real)))
            }
            Self::Bool(value) => f.pad(if *value { "true" } else { "false" }),
            Self::Text(bytes) => f.pad(&Name::from(*bytes).shown()),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Member(value, None) => value.fmt(f),
            Self::Member(_, Some(name)) => name.fmt(f),
            Self::List(elements) => {
                f.write_str("[")?;
                for (i, element) in elements.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    element.nested(f)?;
                }
                f.write_str("]")
            }
            Self::Record(fields) => {
                f.write_str("{")?;
                for (i, (name, field)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: ", if i > 0 { ", " } else { "" })?;
                    field.nested(f)?;
                }
                f.write_str("}")
            }
        }
    }
}

impl Datum<'_> {
    fn nested(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(bytes) => fmt::Debug::fmt(&Name::from(*bytes), f),
            other => fmt::Display::fmt(other, f),
        }
    }

    /// Appends the element as JSON: numbers, text, `true`, `false`. Complex numbers become `[real,
    /// imaginary]`, bytes become hexadecimal text, enumeration values appear by name, compounds become
    /// objects, and special numbers become `"NaN"`, `"Infinity"` and `"-Infinity"`.
    ///
    /// ```
    /// use sciformats::{Datum, FloatKind, Name};
    ///
    /// let (x, name) = (Name::from("x"), Name::from("name"));
    /// let record = Datum::Record(vec![(&x, Datum::Float(0.5, FloatKind::F64)), (&name, Datum::Text(b"Vega"))]);
    /// let mut json = String::new();
    /// record.write_json(&mut json);
    /// assert_eq!(json, r#"{"x":0.5,"name":"Vega"}"#);
    /// ```
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Int(value) => out.push_str(&value.to_string()),
            Self::UInt(value) => out.push_str(&value.to_string()),
            Self::Float(value, kind) => write_number(out, *value, *kind),
            Self::Complex(real, imaginary, kind) => {
                out.push('[');
                write_number(out, *real, *kind);
                out.push(',');
                write_number(out, *imaginary, *kind);
                out.push(']');
            }
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Text(bytes) => write_text(out, &Name::from(*bytes).shown()),
            Self::Bytes(_) => write_text(out, &self.to_string()),
            Self::Member(value, None) => out.push_str(&value.to_string()),
            Self::Member(_, Some(name)) => write_text(out, &name.shown()),
            Self::List(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    element.write_json(out);
                }
                out.push(']');
            }
            Self::Record(fields) => {
                out.push('{');
                for (i, (name, field)) in fields.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    write_text(out, &name.shown());
                    out.push(':');
                    field.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_number(out: &mut String, value: f64, kind: FloatKind) {
    if value.is_finite() { out.push_str(&kind.digits(value)) } else { write_float(out, value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_read_back(value in any::<f32>(), bits in any::<u16>()) {
            prop_assume!(value.is_finite());
            prop_assert_eq!(FloatKind::F32.digits(value.into()).parse::<f32>().unwrap(), value);
            let half = Float16(bits);
            prop_assume!(f64::from(half).is_finite());
            let read: f64 = FloatKind::F16.digits(half.into()).parse().unwrap();
            prop_assert_eq!(Float16::nearest(read), half);
        }
    }
}
