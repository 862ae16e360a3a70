//! Types as JSON, as the content manifest contains them.

use super::value::write_text;
use super::{ElementType, Name};

impl ElementType {
    /// Returns the type as the manifest spells it: `"f4"`, `{"opaque":5}`, `{"compound":[["x","f8"]]}`.
    ///
    /// ```
    /// use sciformats::ElementType;
    ///
    /// assert_eq!(ElementType::F32.to_json(), r#""f4""#);
    /// assert_eq!(ElementType::Opaque(5).to_json(), r#"{"opaque":5}"#);
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Appends the type as [`to_json`](Self::to_json) spells it.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Opaque(bytes) => out.push_str(&format!(r#"{{"opaque":{bytes}}}"#)),
            Self::Bits(bytes) => out.push_str(&format!(r#"{{"bits":{bytes}}}"#)),
            Self::Time(bytes) => out.push_str(&format!(r#"{{"time":{bytes}}}"#)),
            Self::Enum { base, members } => {
                out.push_str(r#"{"enum":"#);
                base.write_json(out);
                out.push_str(r#","members":"#);
                pairs(out, members, |out, value| integer(out, *value));
                out.push('}');
            }
            Self::Compound(fields) => {
                out.push_str(r#"{"compound":"#);
                pairs(out, fields, |out, field| field.write_json(out));
                out.push('}');
            }
            Self::Array { element, shape } => {
                out.push_str(r#"{"array":"#);
                element.write_json(out);
                out.push_str(r#","shape":"#);
                list(out, shape, |out, length| out.push_str(&length.to_string()));
                out.push('}');
            }
            Self::Vlen(element) => {
                out.push_str(r#"{"vlen":"#);
                element.write_json(out);
                out.push('}');
            }
            plain => match plain.word() {
                Some(word) => write_text(out, &word),
                None => out.push_str("null"),
            },
        }
    }
}

/// Not every JSON parser supports integers of more than 64 bits, so these are written as text.
fn integer(out: &mut String, value: i128) {
    let digits = value.to_string();
    match i64::try_from(value).is_ok() || u64::try_from(value).is_ok() {
        true => out.push_str(&digits),
        false => write_text(out, &digits),
    }
}

fn list<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

fn pairs<T>(out: &mut String, items: &[(Name, T)], mut write: impl FnMut(&mut String, &T)) {
    list(out, items, |out, (name, item)| {
        out.push('[');
        write_text(out, &name.shown());
        out.push(',');
        write(out, item);
        out.push(']');
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_words_for_people() {
        let point =
            ElementType::Compound(vec![("x".into(), ElementType::F64), ("n".into(), ElementType::Int(4))]);
        assert_eq!(point.size(), Some(12));
        assert_eq!(
            (point.to_string(), point.short()),
            ("{x: float64, n: int32}".into(), "{x: f8, n: i4}".into())
        );
        let array = ElementType::Array { element: Box::new(point), shape: vec![2, 3] };
        assert_eq!(array.size(), Some(72));
        assert_eq!(array.to_string(), "{x: float64, n: int32}[2,3]");
        assert_eq!(array.short(), "{x: f8, n: i4}[2,3]");
        assert_eq!(ElementType::Vlen(Box::new(ElementType::Text)).size(), None);
        let huge = ElementType::Array { element: Box::new(ElementType::F64), shape: vec![1 << 62] };
        assert_eq!(huge.size(), None);
    }
}
