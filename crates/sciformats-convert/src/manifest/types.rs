//! Reads types as they are spelled in manifests.

use serde_json::Value as Json;

use sciformats::{ElementType, Name};

/// Returns the type that a manifest spells as `json`, the inverse of [`ElementType::to_json`]; `None` if it
/// spells no type.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_convert::manifest::element_type;
///
/// let vlen = ElementType::Vlen(Box::new(ElementType::Int(4)));
/// let json = serde_json::from_str(&vlen.to_json()).unwrap();
/// assert_eq!(element_type(&json), Some(vlen));
/// assert_eq!(element_type(&"f3".into()), None);
/// ```
pub fn element_type(json: &Json) -> Option<ElementType> {
    if let Some(word) = json.as_str() {
        return from_word(word);
    }
    let object = json.as_object()?;
    let (key, value) = object.iter().next()?;
    Some(match (key.as_str(), object.len()) {
        ("opaque", 1) => ElementType::Opaque(value.as_u64()?),
        ("bits", 1) => ElementType::Bits(value.as_u64()?),
        ("time", 1) => ElementType::Time(value.as_u64()?),
        ("vlen", 1) => ElementType::Vlen(Box::new(element_type(value)?)),
        ("compound", 1) => ElementType::Compound(pairs(value, element_type)?),
        ("enum", 2) => ElementType::Enum {
            base: Box::new(element_type(value)?),
            members: pairs(object.get("members")?, as_integer)?,
        },
        ("array", 2) => ElementType::Array {
            element: Box::new(element_type(value)?),
            shape: object.get("shape")?.as_array()?.iter().map(Json::as_u64).collect::<Option<_>>()?,
        },
        _ => return None,
    })
}

fn from_word(word: &str) -> Option<ElementType> {
    let bytes = |prefix: &str| word.strip_prefix(prefix)?.parse::<u16>().ok();
    Some(match word {
        "f2" => ElementType::F16,
        "f4" => ElementType::F32,
        "f8" => ElementType::F64,
        "bf2" => ElementType::BF16,
        "f8*" => ElementType::FloatOther,
        "c4" => ElementType::Complex(4),
        "c8" => ElementType::Complex(8),
        "c16" => ElementType::Complex(16),
        "bool" => ElementType::Bool,
        "str" => ElementType::Text,
        "ref" => ElementType::Reference,
        "regref" => ElementType::Region,
        _ => bytes("i").map(ElementType::Int).or_else(|| bytes("u").map(ElementType::UInt))?,
    })
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
            let element = element_type(&json).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(element.to_json(), text);
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
            assert_eq!(element_type(&json), None, "{text}");
        }
    }
}
