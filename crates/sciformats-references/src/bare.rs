//! JSON with `NaN`, `Infinity` and `-Infinity` as bare words, as Python writes and reads it, and with it kerchunk and zarr-python.
//!
//! A [`Value`] cannot be one of these numbers. In its place is an object that nothing else makes, and that text has the word for.

use serde_json::{Map, Value};

/// The only member of the objects that stand for numbers.
const MEMBER: &str = "\0";

/// The same as JSON writes it.
const WRITTEN: &str = "\"\\u0000\":";

const WORDS: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// Returns a number as a value. All its digits are written, so that readers get the same binary64 number.
pub(crate) fn value(number: f64) -> Value {
    if number.is_finite() { Value::from(number) } else { marker(word(number)) }
}

fn word(number: f64) -> &'static str {
    match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

fn marker(word: &str) -> Value {
    Value::Object(Map::from_iter([(MEMBER.to_owned(), word.into())]))
}

/// Returns the fill value of an array, which is strict JSON, as a number.
pub(crate) fn of_fill(fill: &Value) -> Value {
    match fill.as_str().filter(|text| WORDS.iter().any(|(word, _)| word == text)) {
        Some(word) => marker(word),
        None => fill.clone(),
    }
}

/// Returns the word that a value stands for.
pub(crate) fn bare(value: &Value) -> Option<&str> {
    value.as_object().filter(|members| members.len() == 1)?.get(MEMBER)?.as_str()
}

/// Returns an attribute's value as a number, including `NaN` and the infinities, which JSON lacks and which are written as
/// bare words.
///
/// ```
/// use sciformats_references::number;
/// use serde_json::json;
///
/// assert_eq!((number(&json!(0.5)), number(&json!("NaN"))), (Some(0.5), None));
/// ```
pub fn number(value: &Value) -> Option<f64> {
    match bare(value) {
        Some(found) => WORDS.iter().find(|(word, _)| *word == found).map(|(_, number)| *number),
        None => value.as_f64(),
    }
}

/// Returns the value with texts in place of numbers that JSON lacks, for readers of strict JSON.
pub(crate) fn strict(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(strict).collect(),
        Value::Object(members) => match bare(value) {
            Some(word) => word.into(),
            None => members.iter().map(|(name, value)| (name.clone(), strict(value))).collect(),
        },
        other => other.clone(),
    }
}

/// Puts bare words in place of the objects that stand for them, in a text that `serde_json` wrote.
pub(crate) fn text(json: &str) -> String {
    let mut out = String::new();
    let mut rest = json;
    // A quotation mark within a text has a backslash before it, so this is a member of an object.
    while let Some((before, after)) = rest.split_once(WRITTEN) {
        let found = WORDS.iter().find_map(|(word, _)| {
            let end = after.trim_start().strip_prefix('"')?.strip_prefix(word)?.strip_prefix('"')?;
            Some((before.trim_end().strip_suffix('{')?, word, end.trim_start().strip_prefix('}')?))
        });
        rest = match found {
            Some((before, word, end)) => {
                out.push_str(before);
                out.push_str(word);
                end
            }
            None => {
                out.push_str(before);
                out.push_str(WRITTEN);
                after
            }
        };
    }
    out + rest
}

/// Reads JSON, with bare words for numbers that JSON lacks.
///
/// # Errors
/// That of JSON without them, if the text is wrong with them, too.
pub(crate) fn parse(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(json).or_else(|error| match marked(json) {
        Some(json) => serde_json::from_slice(&json).map_err(|_| error),
        None => Err(error),
    })
}

/// Puts objects in place of bare words; `None` if there are none.
fn marked(json: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut rest, mut any) = (json, false);
    while let Some((first, after)) = rest.split_first() {
        if *first == b'"' {
            // A text ends at the next quotation mark without a backslash before it.
            let mut escaped = false;
            let end = after.iter().position(|byte| {
                let ends = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            });
            let (text, after) = rest.split_at(end.map_or(rest.len(), |end| end.saturating_add(2))); // a bound
            out.extend(text);
            rest = after;
            continue;
        }
        let found = WORDS.iter().find_map(|(word, _)| Some((word, rest.strip_prefix(word.as_bytes())?)));
        rest = match found {
            Some((word, after)) => {
                out.extend(marker(word).to_string().as_bytes());
                any = true;
                after
            }
            None => {
                out.push(*first);
                after
            }
        };
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_bare_words() {
        let all = json!({"a": [value(f64::NAN), value(f64::NEG_INFINITY), value(0.1f32.into())], "b": "NaN"});
        let written = r#"{"a":[NaN,-Infinity,0.10000000149011612],"b":"NaN"}"#;
        assert_eq!(text(&all.to_string()), written);
        assert_eq!(parse(text(&serde_json::to_string_pretty(&all).unwrap()).as_bytes()).unwrap(), all);
        let read = parse(written.as_bytes()).unwrap();
        assert!(number(&read["a"][0]).is_some_and(f64::is_nan), "{read}");
        assert_eq!((number(&read["a"][1]), number(&read["b"])), (Some(f64::NEG_INFINITY), None));
        assert_eq!(strict(&read)["a"][1], "-Infinity");
        assert!(parse(b"{NaN").is_err() && parse(b"\"NaN").is_err());
    }

    #[test]
    fn texts_stay_as_they_are() {
        for odd in ["NaN", "\0", "{\"\0\":\"NaN\"}", "a\"\0\":\"NaN", "\\", "\\\" NaN"] {
            let all = json!({odd: odd, "n": value(f64::NAN)});
            let written = text(&all.to_string());
            assert_eq!(written.matches(":NaN}").count(), 1, "{written}");
            assert_eq!(parse(written.as_bytes()).unwrap(), all);
        }
    }
}
