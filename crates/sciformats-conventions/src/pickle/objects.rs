//! Objects of Python, NumPy and pandas that are shown by their arguments: numbers, dates and spans.

use std::sync::Arc;

use super::Item;
use super::names::float;
use crate::time::{Calendar, DateTime};

pub(super) fn whole(item: &Item) -> Option<i64> {
    match item {
        Item::Whole(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns bytes. Protocols without an opcode for them call `encode` with the same characters of Latin-1.
pub(super) fn bytes(item: &Item) -> Option<Vec<u8>> {
    match item {
        Item::Bytes(bytes) => Some(bytes.clone()),
        Item::Text(text) => text.chars().map(|of| u8::try_from(u32::from(of)).ok()).collect(),
        Item::Object(class, parts) if class == "encode" => match &**parts.first()? {
            Item::List(arguments) => match &**arguments.first()? {
                Item::Text(text) => text.chars().map(|of| u8::try_from(u32::from(of)).ok()).collect(),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Returns how many nanoseconds the units of pandas' moments and spans have, which are numbered as NumPy numbers them.
fn resolution(item: Option<&Arc<Item>>) -> Option<i128> {
    Some(match item.and_then(|item| whole(item)) {
        None | Some(10) => 1,
        Some(9) => 1_000,
        Some(8) => 1_000_000,
        Some(7) => 1_000_000_000,
        Some(_) => return None,
    })
}

/// Formats a moment of pandas: the time since 1970, its frequency, its zone and its unit.
pub(super) fn timestamp(arguments: &[Arc<Item>]) -> Option<String> {
    let count = i128::from(whole(arguments.first()?)?);
    let moment = count.checked_mul(resolution(arguments.get(3))?)?;
    let moment = DateTime::at(Calendar::ProlepticGregorian, moment)?;
    let zoned = arguments.get(2).is_some_and(|zone| **zone != Item::Nothing);
    Some(format!("{moment}{}", if zoned { "Z" } else { "" }))
}

/// Formats a span of pandas as its number of seconds.
pub(super) fn span(arguments: &[Arc<Item>]) -> Option<String> {
    let count = whole(arguments.first()?)?;
    let each = resolution(arguments.get(1))?;
    Some(format!("{:?}", count as f64 / (1_000_000_000 / each) as f64))
}

/// Formats a day or a moment of Python: two bytes for the year, one each for the month, the day, the hour, the minute and the
/// second, and three for the microseconds.
pub(super) fn date(bytes: &[u8], zone: Option<&Item>) -> Option<String> {
    let [high, low, month, day, rest @ ..] = bytes else { return None };
    let year = u16::from_be_bytes([*high, *low]);
    // The highest bit of the month marks the second of two equal times of day when clocks are set back.
    let date = format!("{year:04}-{:02}-{day:02}", month & 0x7f);
    match (rest, zone) {
        ([], _) => Some(date),
        ([hour, minute, second, a, b, c], None) => {
            let micros = u32::from_be_bytes([0, *a, *b, *c]);
            let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
            Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}"))
        }
        _ => None,
    }
}

/// Returns a number of NumPy, which has a type and bytes.
pub(super) fn scalar(arguments: &[Arc<Item>]) -> Option<String> {
    let [dtype, value] = arguments else { return None };
    let Item::Object(class, parts) = &**dtype else { return None };
    let Some(Item::List(of)) = parts.first().map(|parts| &**parts).filter(|_| class == "dtype") else {
        return None;
    };
    let Item::Text(code) = &**of.first()? else { return None };
    let big = matches!(parts.get(1).map(|state| &**state), Some(Item::List(state))
        if matches!(state.get(1).map(|order| &**order), Some(Item::Text(order)) if order == ">"));
    let mut bytes = bytes(value)?;
    if big {
        bytes.reverse();
    }
    let signed = || {
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut all = [if negative { 0xff } else { 0 }; 16];
        all.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some(i128::from_le_bytes(all))
    };
    Some(match code.as_str() {
        "b1" => if bytes.first() == Some(&0) { "False" } else { "True" }.to_owned(),
        "i1" | "i2" | "i4" | "i8" => signed()?.to_string(),
        "u1" | "u2" | "u4" | "u8" => {
            bytes.push(0);
            let mut all = [0; 16];
            all.get_mut(..bytes.len())?.copy_from_slice(&bytes);
            i128::from_le_bytes(all).to_string()
        }
        "f4" => format!("{:?}", f32::from_le_bytes(bytes.as_slice().try_into().ok()?)),
        "f8" => float(f64::from_le_bytes(bytes.as_slice().try_into().ok()?)),
        _ => return None,
    })
}
