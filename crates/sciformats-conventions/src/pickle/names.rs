//! Names of columns: texts, numbers, dates, intervals and tuples of them.

use std::sync::Arc;

use super::Item;
use super::arrays::element;
use super::objects::{bytes, date, scalar, span, timestamp, whole};
use super::opcodes::parse;
use super::periods::period;

/// Returns the names in a pickled list of texts, numbers, dates or tuples of them, of which `None` is none of these; `None`
/// if it is not a list.
pub(crate) fn names(bytes: &[u8]) -> Option<Vec<Option<String>>> {
    match &*parse(bytes)? {
        Item::List(items) => Some(items.iter().map(|item| label(item)).collect()),
        _ => None,
    }
}

/// The deepest nesting of tuples in a name.
const NESTED: usize = 8;

/// Returns the name of a column, which may be missing too: `nan`.
pub(crate) fn label(item: &Item) -> Option<String> {
    if let Ok(None) = element(item) {
        let none = *item == Item::Nothing;
        return Some(if none { "None" } else { "nan" }.to_owned());
    }
    name(item)
}

/// Returns a text, a number, a date or a span as a name; the parts of a tuple are joined by dots.
pub(crate) fn name(item: &Item) -> Option<String> {
    named(item, NESTED)
}

fn named(item: &Item, depth: usize) -> Option<String> {
    match item {
        Item::Text(text) => Some(text.clone()),
        Item::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        Item::Truth(truth) => Some(if *truth { "True" } else { "False" }.to_owned()),
        Item::Number(number) => Some(float(*number)),
        Item::Whole(number) => Some(number.to_string()),
        Item::List(parts) if depth > 0 && !parts.is_empty() => {
            let parts = parts.iter().map(|part| match &**part {
                Item::Nothing => Some("None".to_owned()),
                part => named(part, depth - 1),
            });
            Some(parts.collect::<Option<Vec<_>>>()?.join("."))
        }
        Item::Object(class, parts) => {
            let Some(Item::List(arguments)) = parts.first().map(|parts| &**parts) else { return None };
            match class.as_str() {
                "Period" => {
                    let [_, length, ordinal] = arguments.as_slice() else { return None };
                    period(length)?.label(whole(ordinal)?)
                }
                "Interval" => interval(arguments),
                "_unpickle_timestamp" | "Timestamp" => timestamp(arguments),
                "_timedelta_unpickle" | "Timedelta" => span(arguments),
                "date" => date(bytes(arguments.first()?)?.as_slice(), None),
                "datetime" => {
                    date(bytes(arguments.first()?)?.as_slice(), arguments.get(1).map(|zone| &**zone))
                }
                "encode" => String::from_utf8(bytes(item)?).ok(),
                "scalar" => scalar(arguments),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Formats a number as Python shows it: with a point.
pub(super) fn float(number: f64) -> String {
    if number.is_nan() { "nan".to_owned() } else { format!("{number:?}") }
}

/// Formats an interval as pandas does: `(0, 1]`.
fn interval(parts: &[Arc<Item>]) -> Option<String> {
    let [left, right, closed] = parts else { return None };
    let Item::Text(closed) = &**closed else { return None };
    let end = |item: &Item| match item {
        // The ends are moments, spans or numbers, and no intervals, whose nesting would have no bound.
        Item::Object(class, _)
            if !matches!(
                class.as_str(),
                "_unpickle_timestamp" | "Timestamp" | "_timedelta_unpickle" | "Timedelta" | "scalar"
            ) =>
        {
            None
        }
        other => named(other, 0),
    };
    let (first, last) = match closed.as_str() {
        "right" => ('(', ']'),
        "left" => ('[', ')'),
        "both" => ('[', ']'),
        "neither" => ('(', ')'),
        _ => return None,
    };
    Some(format!("{first}{}, {}{last}", end(left)?, end(right)?))
}
