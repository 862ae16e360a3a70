//! Reads lists of names that Python programs store as pickles, without running them.
//!
//! Source: the module `pickletools` of Python, which documents the arguments of each opcode. Here, opcodes
//! for data build data. Opcodes that name a class or call it are only recorded; nothing is looked up and
//! nothing is called.

use std::sync::Arc;

use sciformats::{Error, Result};

use crate::time::{Calendar, DateTime, Period};

/// The contents of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// `None`.
    Nothing,
    /// A text.
    Text(String),
    /// Bytes, which may form a text.
    Bytes(Vec<u8>),
    /// A truth value.
    Truth(bool),
    /// A floating-point number.
    Number(f64),
    /// An integer.
    Whole(i128),
    /// A list, a tuple, or the alternating keys and values of a dictionary.
    List(Vec<Arc<Item>>),
    /// An object of the class with this name: the arguments of its call, and its state.
    Object(String, Vec<Arc<Item>>),
    /// The start of a list.
    Mark,
}

impl Drop for Item {
    /// Drops what is nested in it one after another: items that are nested deeply would use up the stack otherwise.
    fn drop(&mut self) {
        let mut rest = Vec::new();
        if let Self::List(items) | Self::Object(_, items) = self {
            rest.append(items);
        }
        while let Some(item) = rest.pop() {
            if let Some(Self::List(items) | Self::Object(_, items)) = Arc::into_inner(item).as_mut() {
                rest.append(items);
            }
        }
    }
}

/// The largest number of items in one pickle.
const ITEMS: usize = 1 << 24;

/// Reads the bytes of a pickle in order.
struct Reader<'a> {
    bytes: &'a [u8],
    stack: Vec<Arc<Item>>,
    memo: Vec<Option<Arc<Item>>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn unsigned(&mut self, size: usize) -> Option<usize> {
        let bytes = self.take(size)?;
        bytes.iter().rev().try_fold(0usize, |value, byte| Some(value.checked_mul(256)? | usize::from(*byte)))
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let line = self.take(end)?;
        self.take(1)?;
        Some(line)
    }

    fn text(&mut self, size: usize) -> Option<()> {
        let length = self.unsigned(size)?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.push(Item::Text(text))
    }

    fn raw(&mut self, size: usize) -> Option<()> {
        let length = self.unsigned(size)?;
        let bytes = self.take(length)?.to_vec();
        self.push(Item::Bytes(bytes))
    }

    fn push(&mut self, item: Item) -> Option<()> {
        self.stack.push(Arc::new(item));
        (self.stack.len() < ITEMS).then_some(())
    }

    /// Takes everything since the last mark.
    fn marked(&mut self) -> Option<Vec<Arc<Item>>> {
        let at = self.stack.iter().rposition(|item| **item == Item::Mark)?;
        let items = self.stack.split_off(at.checked_add(1)?);
        self.stack.pop();
        Some(items)
    }

    fn last(&mut self, count: usize) -> Option<Vec<Arc<Item>>> {
        let at = self.stack.len().checked_sub(count)?;
        Some(self.stack.split_off(at))
    }

    /// Appends to the list on top of the stack.
    fn extend(&mut self, items: Vec<Arc<Item>>) -> Option<()> {
        let mut top = self.stack.pop()?;
        match Arc::make_mut(&mut top) {
            Item::List(list) | Item::Object(_, list) => list.extend(items),
            _ => return None,
        }
        self.stack.push(top);
        Some(())
    }

    fn remember(&mut self, at: usize) -> Option<()> {
        let top = self.stack.last()?.clone();
        if at >= self.memo.len() {
            self.memo.resize(at.checked_add(1).filter(|&size| size < ITEMS)?, None);
        }
        *self.memo.get_mut(at)? = Some(top);
        Some(())
    }

    fn recall(&mut self, at: usize) -> Option<()> {
        let item = self.memo.get(at)?.clone()?;
        self.stack.push(item);
        Some(())
    }

    fn number_of(line: &[u8]) -> Option<f64> {
        std::str::from_utf8(line).ok()?.trim_end_matches('L').parse().ok()
    }

    fn whole_of(line: &[u8]) -> Option<i128> {
        std::str::from_utf8(line).ok()?.trim_end_matches('L').parse().ok()
    }

    /// Takes a little-endian integer of some bytes in the two's complement.
    fn signed(&mut self, size: usize) -> Option<i128> {
        let bytes = self.take(size).filter(|_| size <= 16)?;
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut all = [if negative { 0xff } else { 0 }; 16];
        all.get_mut(..size)?.copy_from_slice(bytes);
        Some(i128::from_le_bytes(all))
    }

    fn step(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x80 => self.take(1).map(drop),
            0x95 => self.take(8).map(drop),
            b'(' => self.push(Item::Mark),
            b'N' => self.push(Item::Nothing),
            0x88 => self.push(Item::Truth(true)),
            0x89 => self.push(Item::Truth(false)),
            b']' | b')' | b'}' | 0x8f => self.push(Item::List(Vec::new())),
            b'l' | b't' | b'd' => {
                let items = self.marked()?;
                self.push(Item::List(items))
            }
            0x85..=0x87 => {
                let items = self.last(usize::from(opcode - 0x84))?;
                self.push(Item::List(items))
            }
            b'a' => {
                let items = self.last(1)?;
                self.extend(items)
            }
            b's' => {
                let items = self.last(2)?;
                self.extend(items)
            }
            b'e' | b'u' => {
                let items = self.marked()?;
                self.extend(items)
            }
            b'0' => self.stack.pop().map(drop),
            _ => self.step_text(opcode),
        }
    }

    fn step_text(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            b'V' => {
                let line = unicode_escaped(self.line()?);
                self.push(Item::Text(line))
            }
            b'S' => {
                let text = quoted(self.line()?)?;
                self.push(Item::Text(text))
            }
            b'X' | b'T' => self.text(4),
            0x8c | b'U' => self.text(1),
            0x8d => self.text(8),
            b'B' => self.raw(4),
            b'C' => self.raw(1),
            0x8e => self.raw(8),
            b'I' | b'L' => match self.line()? {
                // The truth values of protocol 0 are integers that no integer is written like.
                b"00" => self.push(Item::Truth(false)),
                b"01" => self.push(Item::Truth(true)),
                line => {
                    let number = Self::whole_of(line)?;
                    self.push(Item::Whole(number))
                }
            },
            b'F' => {
                let number = Self::number_of(self.line()?)?;
                self.push(Item::Number(number))
            }
            b'K' => {
                let number = self.unsigned(1)?;
                self.push(Item::Whole(number as i128))
            }
            b'M' => {
                let number = self.unsigned(2)?;
                self.push(Item::Whole(number as i128))
            }
            b'J' => {
                let number = self.signed(4)?;
                self.push(Item::Whole(number))
            }
            0x8a => {
                let length = self.unsigned(1)?;
                let number = self.signed(length)?;
                self.push(Item::Whole(number))
            }
            b'G' => {
                let number = f64::from_be_bytes(self.take(8)?.try_into().ok()?);
                self.push(Item::Number(number))
            }
            _ => self.step_reference(opcode),
        }
    }

    fn step_reference(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            b'p' => {
                let at = Self::number_of(self.line()?)? as usize;
                self.remember(at)
            }
            b'q' => {
                let at = self.unsigned(1)?;
                self.remember(at)
            }
            b'r' => {
                let at = self.unsigned(4)?;
                self.remember(at)
            }
            0x94 => self.remember(self.memo.len()),
            b'g' => {
                let at = Self::number_of(self.line()?)? as usize;
                self.recall(at)
            }
            b'h' => {
                let at = self.unsigned(1)?;
                self.recall(at)
            }
            b'j' => {
                let at = self.unsigned(4)?;
                self.recall(at)
            }
            // This names a class by its module and name, which is not looked up.
            b'c' => {
                self.line()?;
                let class = String::from_utf8_lossy(self.line()?).into_owned();
                self.push(Item::Object(class, Vec::new()))
            }
            0x93 => {
                let names = self.last(2)?;
                let class = match names.last().map(|name| &**name) {
                    Some(Item::Text(class)) => class.clone(),
                    _ => return None,
                };
                self.push(Item::Object(class, Vec::new()))
            }
            // A call and a state are only recorded.
            b'R' | 0x81 | b'b' => {
                let argument = self.last(1)?;
                self.extend(argument)
            }
            _ => None,
        }
    }
}

/// Parses a pickle; `None` if it is damaged or has opcodes that are not for plain data.
pub(crate) fn parse(bytes: &[u8]) -> Option<Arc<Item>> {
    let mut reader = Reader { bytes, stack: Vec::new(), memo: Vec::new() };
    loop {
        match reader.take(1)? {
            [b'.'] => return reader.stack.pop(),
            [opcode] => reader.step(*opcode)?,
            _ => return None,
        }
    }
}

/// Decodes `raw-unicode-escape`, in which Python writes texts: characters of Latin-1, and `\uXXXX` or `\UXXXXXXXX` for
/// the others and for the backslash.
fn unicode_escaped(line: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((&first, after)) = rest.split_first() {
        let digits = match (first, after.first()) {
            (b'\\', Some(b'u')) => after.get(1..5),
            (b'\\', Some(b'U')) => after.get(1..9),
            _ => None,
        };
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        let length = digits.map_or(0, str::len);
        match code.and_then(|code| Some((code, after.get(length.checked_add(1)?..)?))) {
            Some((code, after)) => {
                text.push(code);
                rest = after;
            }
            None => {
                text.push(char::from(first));
                rest = after;
            }
        }
    }
    text
}

/// Decodes a text of Python 2 as `repr` shows it: between quotes, and with escapes for bytes.
fn quoted(line: &[u8]) -> Option<String> {
    let (&quote, rest) = line.split_first().filter(|(quote, _)| matches!(quote, b'\'' | b'"'))?;
    let (&last, mut rest) = rest.split_last()?;
    if last != quote {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let (&escaped, after) = rest.split_first()?;
        rest = after;
        bytes.push(match escaped {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

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
fn float(number: f64) -> String {
    if number.is_nan() { "nan".to_owned() } else { format!("{number:?}") }
}

fn whole(item: &Item) -> Option<i64> {
    match item {
        Item::Whole(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns bytes. Protocols without an opcode for them call `encode` with the same characters of Latin-1.
fn bytes(item: &Item) -> Option<Vec<u8>> {
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
fn timestamp(arguments: &[Arc<Item>]) -> Option<String> {
    let count = i128::from(whole(arguments.first()?)?);
    let moment = count.checked_mul(resolution(arguments.get(3))?)?;
    let moment = DateTime::at(Calendar::ProlepticGregorian, moment)?;
    let zoned = arguments.get(2).is_some_and(|zone| **zone != Item::Nothing);
    Some(format!("{moment}{}", if zoned { "Z" } else { "" }))
}

/// Formats a span of pandas as its number of seconds.
fn span(arguments: &[Arc<Item>]) -> Option<String> {
    let count = whole(arguments.first()?)?;
    let each = resolution(arguments.get(1))?;
    Some(format!("{:?}", count as f64 / (1_000_000_000 / each) as f64))
}

/// Formats a day or a moment of Python: two bytes for the year, one each for the month, the day, the hour, the minute and the
/// second, and three for the microseconds.
fn date(bytes: &[u8], zone: Option<&Item>) -> Option<String> {
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
fn scalar(arguments: &[Arc<Item>]) -> Option<String> {
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

/// Returns the sides of an array that are stored as a pickled tuple.
pub(crate) fn sides(bytes: &[u8]) -> Option<Vec<u64>> {
    match &*parse(bytes)? {
        Item::List(sides) => sides.iter().map(|side| u64::try_from(whole(side)?).ok()).collect(),
        _ => None,
    }
}

/// Returns the length of the periods that an object of pandas describes, such as `MonthEnd`. Years and quarters that end in
/// another month have the numbers and labels of those that do not.
pub(crate) fn period(item: &Item) -> Option<Period> {
    let Item::Object(class, parts) = item else { return None };
    let arguments = match parts.first().map(|arguments| &**arguments) {
        Some(Item::List(arguments)) => arguments.as_slice(),
        _ => &[],
    };
    Some(match class.as_str() {
        "YearEnd" => Period::Year,
        "QuarterEnd" => Period::Quarter,
        "MonthEnd" => Period::Month,
        // The last day of the week, where 0 is a Monday.
        "Week" => Period::Week(u8::try_from(whole(arguments.get(2)?)?).ok().filter(|day| *day < 7)?),
        "BusinessDay" => Period::BusinessDay,
        "Day" => Period::Day,
        "Hour" => Period::Hour,
        "Minute" => Period::Minute,
        "Second" => Period::Second,
        "Milli" => Period::Millisecond,
        "Micro" => Period::Microsecond,
        "Nano" => Period::Nanosecond,
        _ => return None,
    })
}

/// Returns the length of the periods in the type of a column: `period[M]`, `period[W-SUN]`. Periods of several months count
/// months too.
pub(crate) fn period_of_type(kind: &str) -> Option<Period> {
    let freq = kind.strip_prefix("period[")?.strip_suffix(']')?;
    let freq = freq.trim_start_matches(|of: char| of.is_ascii_digit());
    let (base, end) = freq.split_once('-').unwrap_or((freq, ""));
    Some(match base {
        "Y" | "A" | "YE" => Period::Year,
        "Q" | "QE" => Period::Quarter,
        "M" | "ME" => Period::Month,
        "W" => {
            let days = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
            let end = if end.is_empty() { "SUN" } else { end };
            Period::Week(u8::try_from(days.iter().position(|day| *day == end)?).ok()?)
        }
        "B" => Period::BusinessDay,
        "D" => Period::Day,
        "h" | "H" => Period::Hour,
        "min" | "T" => Period::Minute,
        "s" | "S" => Period::Second,
        "ms" | "L" => Period::Millisecond,
        "us" | "U" => Period::Microsecond,
        "ns" | "N" => Period::Nanosecond,
        _ => return None,
    })
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

/// Returns the elements of a pickled array of objects: texts, numbers, and what pandas calls missing. They are the longest list in
/// the state of the array. `None` if the pickle is not such an array.
///
/// # Errors
///
/// [`Error::Unsupported`] if an element is any other object, because only running the pickle could tell what it is.
pub(crate) fn elements(bytes: &[u8]) -> Result<Option<Vec<Option<String>>>> {
    each_element(bytes).map(|elements| elements.into_iter().collect()).transpose()
}

/// As [`elements`], with an error for each element that is any other object.
pub(crate) fn each_element(bytes: &[u8]) -> Option<Vec<Result<Option<String>>>> {
    /// The deepest nesting of lists that is searched.
    const DEPTH: usize = 4;
    fn longest(item: &Item, depth: usize) -> Option<&Vec<Arc<Item>>> {
        let (Item::List(list) | Item::Object(_, list)) = item else { return None };
        let inner = if depth == 0 {
            None
        } else {
            list.iter().filter_map(|item| longest(item, depth - 1)).max_by_key(|list| list.len())
        };
        match item {
            Item::List(_) => inner.filter(|inner| inner.len() >= list.len()).or(Some(list)),
            _ => inner,
        }
    }
    let item = parse(bytes)?;
    // The state is the last part of the object: version, shape, type, order, elements.
    let state = match &*item {
        Item::Object(_, parts) => match parts.last().map(|state| &**state) {
            Some(Item::List(state)) => state.last().and_then(|elements| longest(elements, DEPTH)),
            _ => None,
        },
        other => longest(other, DEPTH),
    };
    state.map(|state| state.iter().map(|item| element(item)).collect())
}

/// Returns an element of an array of objects; `None` if it is missing.
fn element(item: &Item) -> Result<Option<String>> {
    match item {
        Item::Nothing => Ok(None),
        Item::Number(number) if number.is_nan() => Ok(None),
        // The missing values of pandas, and the missing date.
        Item::Object(class, _)
            if matches!(class.as_str(), "NA" | "NaT" | "NAType" | "_nat_unpickle" | "__nat_unpickle") =>
        {
            Ok(None)
        }
        // What a list contains is no name of it.
        Item::List(_) => {
            Err(Error::unsupported("an element that is a list in a pickle, which is never run,"))
        }
        other => name(other).map(Some).ok_or_else(|| {
            let what = match other {
                Item::Object(class, _) => format!("of the class {class}"),
                _ => "of bytes that are no text".to_owned(),
            };
            Error::unsupported(format!("an element {what} in a pickle, which is never run,"))
        }),
    }
}

#[cfg(test)]
mod tests;
