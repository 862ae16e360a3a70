//! Changes of the metalayers of Blosc2 frames.

use sciformats::cframe::{SChunk, Value};
use sciformats::{Error, Result};
use serde_json::Value as Json;

use super::args::{Change, Edit};
use super::integers::integers;
use super::value::Kind;
use super::{Done, failed, json_text};
use crate::failure::{Failure, Outcome};
use crate::session::Session;

/// A metalayer: one of fixed length, or one of variable length.
#[derive(Clone, Copy)]
enum Layer<'a> {
    Fixed(&'a str),
    Variable(&'a str),
}

impl<'a> Layer<'a> {
    fn of(name: &'a str) -> Self {
        match (name.strip_prefix("meta:"), name.strip_prefix("vlmeta:")) {
            (Some(name), _) => Self::Fixed(name),
            (_, Some(name)) => Self::Variable(name),
            _ => Self::Variable(name),
        }
    }

    fn get(self, frame: &SChunk) -> Result<Vec<u8>> {
        match self {
            Self::Fixed(name) => {
                let bytes = frame.metalayer(name).ok_or_else(|| Error::not_found("metalayer", name))?;
                Ok(bytes.to_vec())
            }
            Self::Variable(name) => frame.vlmeta(name),
        }
    }

    /// Sets the metalayer. The layers that describe the array itself are refused.
    fn set(self, frame: &mut SChunk, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Fixed(name) => {
                own(name)?;
                frame.set_metalayer(name, bytes)
            }
            Self::Variable(name) => frame.set_vlmeta(name, bytes),
        }
    }

    fn remove(self, frame: &mut SChunk) -> Result<()> {
        match self {
            Self::Fixed(name) => {
                own(name)?;
                frame.remove_metalayer(name)
            }
            Self::Variable(name) => frame.remove_vlmeta(name),
        }
    }

    fn is_there(self, frame: &SChunk) -> bool {
        match self {
            Self::Fixed(name) => frame.metalayer(name).is_some(),
            Self::Variable(name) => frame.vlmeta_names().any(|known| known == name),
        }
    }
}

/// Refuses the layers that describe the array itself.
fn own(name: &str) -> Result<()> {
    match name {
        "b2nd" | "caterva" => {
            Err(Error::usage("metalayer", format!("{name} describes the array itself and cannot be edited")))
        }
        _ => Ok(()),
    }
}

/// Makes a change, and commits it unless the run is a dry run.
pub(super) fn change(args: &Edit, change: &Change, _session: &Session) -> Outcome<Done> {
    let fail = |error: Error| failed(&args.file, &error);
    let mut frame = SChunk::open(&args.file).map_err(fail)?;
    let done = match change {
        Change::Set { path, name, value, kind } => {
            at_root(args, path)?;
            let (bytes, shown) = encoded(value, *kind)
                .map_err(|problem| Failure::Usage(format!("{}: {name}: {problem}", args.file.display())))?;
            Layer::of(name).set(&mut frame, &bytes).map_err(fail)?;
            let facts = vec![("name", json_text(name)), ("value", shown.clone())];
            Done { path: path.clone(), facts, text: format!("{name} = {shown}") }
        }
        Change::Unset { path, name } => {
            at_root(args, path)?;
            Layer::of(name).remove(&mut frame).map_err(fail)?;
            Done {
                path: path.clone(),
                facts: vec![("name", json_text(name))],
                text: format!("{name} is removed"),
            }
        }
        Change::Rename { path, name, to } => {
            at_root(args, path)?;
            renamed(&mut frame, (Layer::of(name), Layer::of(to)), to).map_err(fail)?;
            let facts = vec![("name", json_text(name)), ("to", json_text(to))];
            Done { path: path.clone(), facts, text: format!("{name} is now {to}") }
        }
        Change::Move { .. } | Change::Delete { .. } | Change::Link { .. } => {
            let text = format!(
                "{}: a Blosc2 file is a single array and has no links (set, unset and rename change its metalayers)",
                args.file.display()
            );
            return Err(Failure::Usage(text));
        }
    };
    if !args.dry_run {
        frame.commit().map_err(fail)?;
    }
    Ok(done)
}

fn renamed(frame: &mut SChunk, (from, to): (Layer<'_>, Layer<'_>), name: &str) -> Result<()> {
    let bytes = from.get(frame)?;
    if to.is_there(frame) {
        return Err(Error::usage("metalayer", format!("{name} exists already")));
    }
    from.remove(frame)?;
    to.set(frame, &bytes)
}

fn at_root(args: &Edit, path: &str) -> Outcome<()> {
    match path {
        "/" => Ok(()),
        _ => Err(Failure::Usage(format!(
            "{}: {path}: a Blosc2 file is a single array, whose path is /",
            args.file.display()
        ))),
    }
}

/// Returns the bytes of a layer, which are `MessagePack` as Python programs write it, and the value as JSON.
fn encoded(text: &str, kind: Option<Kind>) -> Result<(Vec<u8>, String), String> {
    let json = match kind {
        None => match serde_json::from_str(text) {
            Ok(json) => match too_large(text) {
                Some(number) => return Err(format!("{number} does not fit an integer of 64 bits")),
                None => json,
            },
            Err(_) => Json::from(text),
        },
        Some(Kind::Text) => Json::from(text),
        Some(_) => {
            return Err("a metalayer takes its type from the value; only --type text is possible here".into());
        }
    };
    let bytes = value(&json)?.to_msgpack().map_err(|error| error.to_string())?;
    Ok((bytes, json.to_string()))
}

/// Returns the first integer in JSON that has more than 64 bits. The parser would round it.
fn too_large(json: &str) -> Option<&str> {
    integers(json).find(|word| word.parse::<i64>().is_err() && word.parse::<u64>().is_err())
}

fn value(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Value::Int(number.into()),
            (None, Some(number), _) => Value::Int(number.into()),
            (None, None, Some(number)) => Value::Float(number),
            _ => return Err(format!("{number} does not fit a 64-bit number")),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(list) => Value::List(list.iter().map(value).collect::<Result<_, _>>()?),
        Json::Object(map) => {
            let pairs = map.iter().map(|(key, of)| Ok((Value::Text(key.clone()), value(of)?)));
            Value::Map(pairs.collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_integer_is_rounded() {
        for (json, wrong) in [
            ("18446744073709551616", Some("18446744073709551616")),
            (r#"{"a": ["12345678901234567890123", -9223372036854775809]}"#, Some("-9223372036854775809")),
            (r#"["\"", 123456789012345678901, "]"]"#, Some("123456789012345678901")),
            (r#"["18446744073709551616\\", "\"99999999999999999999"]"#, None),
            ("[18446744073709551615, -9223372036854775808, 1e300, 0.12345678901234567890]", None),
        ] {
            assert!(serde_json::from_str::<Json>(json).is_ok(), "{json}");
            assert_eq!(too_large(json), wrong, "{json}");
            assert_eq!(encoded(json, None).is_err(), wrong.is_some());
        }
    }
}
