//! Types as JSON: the `T` of the content manifest.

use serde_json::{Value as Json, json};

use super::{ElementType, Name};

impl ElementType {
    /// The type as the manifest spells it: `"f4"`, `{"opaque":5}`, `{"compound":[["x","f8"]]}`.
    ///
    /// ```
    /// use sciformats::ElementType;
    ///
    /// assert_eq!(ElementType::F32.to_json().to_string(), r#""f4""#);
    /// assert_eq!(ElementType::Opaque(5).to_json().to_string(), r#"{"opaque":5}"#);
    /// ```
    pub fn to_json(&self) -> Json {
        match self {
            Self::Opaque(bytes) => json!({ "opaque": bytes }),
            Self::Bits(bytes) => json!({ "bits": bytes }),
            Self::Time(bytes) => json!({ "time": bytes }),
            Self::Enum { base, members } => {
                let members: Vec<Json> =
                    members.iter().map(|(name, value)| json!([name.shown(), integer(*value)])).collect();
                json!({ "enum": base.to_json(), "members": members })
            }
            Self::Compound(fields) => {
                let fields: Vec<Json> =
                    fields.iter().map(|(name, field)| json!([name.shown(), field.to_json()])).collect();
                json!({ "compound": fields })
            }
            Self::Array { element, shape } => json!({ "array": element.to_json(), "shape": shape }),
            Self::Vlen(element) => json!({ "vlen": element.to_json() }),
            plain => json!(plain.word()),
        }
    }

    /// The type that the manifest spells `json`; `None` if it spells no type.
    ///
    /// ```
    /// use sciformats::ElementType;
    ///
    /// let vlen = ElementType::Vlen(Box::new(ElementType::Int(4)));
    /// assert_eq!(ElementType::from_json(&vlen.to_json()), Some(vlen));
    /// assert_eq!(ElementType::from_json(&"f3".into()), None);
    /// ```
    pub fn from_json(json: &Json) -> Option<Self> {
        if let Some(word) = json.as_str() {
            return Self::from_word(word);
        }
        let object = json.as_object()?;
        let (key, value) = object.iter().next()?;
        Some(match (key.as_str(), object.len()) {
            ("opaque", 1) => Self::Opaque(value.as_u64()?),
            ("bits", 1) => Self::Bits(value.as_u64()?),
            ("time", 1) => Self::Time(value.as_u64()?),
            ("vlen", 1) => Self::Vlen(Box::new(Self::from_json(value)?)),
            ("compound", 1) => Self::Compound(pairs(value, Self::from_json)?),
            ("enum", 2) => Self::Enum {
                base: Box::new(Self::from_json(value)?),
                members: pairs(object.get("members")?, as_integer)?,
            },
            ("array", 2) => Self::Array {
                element: Box::new(Self::from_json(value)?),
                shape: object.get("shape")?.as_array()?.iter().map(Json::as_u64).collect::<Option<_>>()?,
            },
            _ => return None,
        })
    }

    fn from_word(word: &str) -> Option<Self> {
        let bytes = |prefix: &str| word.strip_prefix(prefix)?.parse::<u16>().ok();
        Some(match word {
            "f2" => Self::F16,
            "f4" => Self::F32,
            "f8" => Self::F64,
            "bf2" => Self::BF16,
            "f8*" => Self::FloatOther,
            "c4" => Self::Complex(4),
            "c8" => Self::Complex(8),
            "c16" => Self::Complex(16),
            "bool" => Self::Bool,
            "str" => Self::Text,
            "ref" => Self::Reference,
            "regref" => Self::Region,
            _ => bytes("i").map(Self::Int).or_else(|| bytes("u").map(Self::UInt))?,
        })
    }
}

/// Values beyond 64 bits have no JSON number in every parser; they are spelled as text.
fn integer(value: i128) -> Json {
    if let Ok(value) = i64::try_from(value) {
        return json!(value);
    }
    u64::try_from(value).map_or_else(|_| json!(value.to_string()), |value| json!(value))
}

fn as_integer(json: &Json) -> Option<i128> {
    let small = json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from));
    small.or_else(|| json.as_str()?.parse().ok())
}

fn pairs<T>(json: &Json, second: impl Fn(&Json) -> Option<T>) -> Option<Vec<(Name, T)>> {
    let pair = |json: &Json| match json.as_array()?.as_slice() {
        [name, value] => Some((Name::from_shown(name.as_str()?), second(value)?)),
        _ => None,
    };
    json.as_array()?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_manifest_and_back() {
        let table = [
            r#""i1""#,
            r#""i16""#,
            r#""u8""#,
            r#""f2""#,
            r#""f4""#,
            r#""f8""#,
            r#""bf2""#,
            r#""f8*""#,
            r#""c4""#,
            r#""c8""#,
            r#""c16""#,
            r#""bool""#,
            r#""str""#,
            r#""ref""#,
            r#""regref""#,
            r#"{"opaque":7}"#,
            r#"{"bits":2}"#,
            r#"{"time":4}"#,
            r#"{"enum":"i4","members":[["RED",0],["b\"lue",-2]]}"#,
            r#"{"enum":"u8","members":[["MAX",18446744073709551615]]}"#,
            r#"{"compound":[["a","i4"],["b",{"compound":[]}]]}"#,
            r#"{"array":{"vlen":"str"},"shape":[3,4]}"#,
            r#"{"vlen":{"vlen":"u4"}}"#,
        ];
        for text in table {
            let json: Json = serde_json::from_str(text).unwrap();
            let element = ElementType::from_json(&json).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(element.to_json().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for text in [
            r#""i""#,
            r#""f3""#,
            "3",
            "{}",
            r#"{"opaque":-1}"#,
            r#"{"vlen":"f4","x":1}"#,
            r#"{"compound":[["a"]]}"#,
        ] {
            let json: Json = serde_json::from_str(text).unwrap();
            assert_eq!(ElementType::from_json(&json), None, "{text}");
        }
    }

    #[test]
    fn sizes_and_words_for_people() {
        let point =
            ElementType::Compound(vec![("x".into(), ElementType::F64), ("n".into(), ElementType::Int(4))]);
        assert_eq!(point.size(), Some(12));
        assert_eq!(point.to_string(), "{x: f8, n: i4}");
        let array = ElementType::Array { element: Box::new(point), shape: vec![2, 3] };
        assert_eq!(array.size(), Some(72));
        assert_eq!(array.to_string(), "{x: f8, n: i4}[2,3]");
        assert_eq!(ElementType::Vlen(Box::new(ElementType::Text)).size(), None);
        let huge = ElementType::Array { element: Box::new(ElementType::F64), shape: vec![1 << 62] };
        assert_eq!(huge.size(), None);
    }
}
