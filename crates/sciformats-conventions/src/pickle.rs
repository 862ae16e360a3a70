//! Reads lists of names that Python programs store as pickles, without running them.
//!
//! Source: the module `pickletools` of Python, which documents the arguments of each opcode. Here, opcodes
//! for data build data. Opcodes that name a class or call it are only recorded; nothing is looked up and
//! nothing is called.

use std::sync::Arc;

use sciformats::{Error, Result};

use crate::time::Period;

/// The contents of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// `None`.
    Nothing,
    /// A text, or bytes that form one.
    Text(String),
    /// A floating-point number, or a truth value.
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
            0x88 => self.push(Item::Number(1.0)),
            0x89 => self.push(Item::Number(0.0)),
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
                let line = String::from_utf8_lossy(self.line()?).into_owned();
                self.push(Item::Text(line))
            }
            b'S' => {
                let line = String::from_utf8_lossy(self.line()?).into_owned();
                self.push(Item::Text(line.trim_matches(['\'', '"']).to_owned()))
            }
            b'X' | b'T' | b'B' => self.text(4),
            0x8c | b'U' | b'C' => self.text(1),
            0x8d | 0x8e => self.text(8),
            b'I' | b'L' => {
                let number = Self::whole_of(self.line()?)?;
                self.push(Item::Whole(number))
            }
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

/// Returns the names in a pickled list of texts or numbers; `None` if it is not such a list.
pub(crate) fn names(bytes: &[u8]) -> Option<Vec<String>> {
    match &*parse(bytes)? {
        Item::List(items) => items.iter().map(|item| name(item)).collect(),
        _ => None,
    }
}

/// Returns a text or a number as a name.
pub(crate) fn name(item: &Item) -> Option<String> {
    match item {
        Item::Text(text) => Some(text.clone()),
        Item::Number(number) => Some(number.to_string()),
        Item::Whole(number) => Some(number.to_string()),
        Item::Object(class, parts) => match (class.as_str(), parts.first().map(|parts| &**parts)) {
            ("Period", Some(Item::List(parts))) => {
                let [_, length, ordinal] = parts.as_slice() else { return None };
                let Item::Whole(ordinal) = **ordinal else { return None };
                period(length)?.label(i64::try_from(ordinal).ok()?)
            }
            ("Interval", Some(Item::List(parts))) => interval(parts),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the length of the periods that an object of pandas describes, such as `MonthEnd`.
pub(crate) fn period(item: &Item) -> Option<Period> {
    let Item::Object(class, parts) = item else { return None };
    let arguments = match parts.first().map(|arguments| &**arguments) {
        Some(Item::List(arguments)) => arguments.as_slice(),
        _ => &[],
    };
    // Years and quarters may end in any month, and are labelled differently then.
    let december = match arguments.get(2).map(|month| &**month) {
        None => true,
        Some(Item::Whole(month)) => *month == 12,
        Some(_) => false,
    };
    Some(match class.as_str() {
        "YearEnd" if december => Period::Year,
        "QuarterEnd" if december => Period::Quarter,
        "MonthEnd" => Period::Month,
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

/// Formats an interval as pandas does: `(0, 1]`.
fn interval(parts: &[Arc<Item>]) -> Option<String> {
    let [left, right, closed] = parts else { return None };
    let Item::Text(closed) = &**closed else { return None };
    let end = |item: &Item| match item {
        // As Python shows it: with a point.
        Item::Number(number) => Some(format!("{number:?}")),
        // Intervals do not consist of other objects.
        Item::Object(..) => None,
        other => name(other),
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
    let Some(item) = parse(bytes) else { return Ok(None) };
    // The state is the last part of the object: version, shape, type, order, elements.
    let state = match &*item {
        Item::Object(_, parts) => match parts.last().map(|state| &**state) {
            Some(Item::List(state)) => state.last().and_then(|elements| longest(elements, DEPTH)),
            _ => None,
        },
        other => longest(other, DEPTH),
    };
    state.map(|state| state.iter().map(|item| element(item)).collect()).transpose()
}

/// Returns an element of an array of objects; `None` if it is missing.
fn element(item: &Item) -> Result<Option<String>> {
    match item {
        Item::Nothing => Ok(None),
        Item::Number(number) if number.is_nan() => Ok(None),
        // The missing values of pandas, and the missing date.
        Item::Object(class, _) if matches!(class.as_str(), "NA" | "NaT" | "NAType" | "_nat_unpickle") => {
            Ok(None)
        }
        other => name(other).map(Some).ok_or_else(|| {
            let what = match other {
                Item::Object(class, _) => format!("of the class {class}"),
                _ => "that is a list".to_owned(),
            };
            Error::unsupported(format!("an element {what} in a pickle, which is never run,"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_columns() {
        assert_eq!(names(b"(lp0\nVvalues_block_0\np1\naVa\np2\na.").unwrap(), ["values_block_0", "a"]);
        assert_eq!(
            names(b"\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94(\x8c\x01a\x94\x8c\x02bc\x94e.").unwrap(),
            ["a", "bc"]
        );
        assert_eq!(names(b"(lp0\nI3\naVx\na.").unwrap(), ["3", "x"]);
        assert_eq!(names(b"N."), None);
        assert_eq!(names(b"cos\nsystem\n(S'true'\ntR."), None);
    }

    #[test]
    fn periods_and_intervals() {
        let month = b"cpandas._libs.tslibs.offsets\nMonthEnd\np0\n(I1\nI00\ntp1\nRp2\n.";
        assert_eq!(period(&parse(month).unwrap()), Some(Period::Month));
        // A quarter that ends in another month than those of the calendar.
        let quarter = b"cpandas._libs.tslibs.offsets\nQuarterEnd\n(I1\nI00\nI11\ntR.";
        assert_eq!(period(&parse(quarter).unwrap()), None);
        let july = b"cpandas\nPeriod\n(NcX\nMonthEnd\n(I1\ntRI378\ntR.";
        assert_eq!(name(&parse(july).unwrap()).as_deref(), Some("2001-07"));
        let interval = b"cpandas\nInterval\n(F0.5\nI2\nVright\ntR.";
        assert_eq!(name(&parse(interval).unwrap()).as_deref(), Some("(0.5, 2]"));
        assert_eq!(name(&parse(b"cpandas\nInterval\n(I1\ntR.").unwrap()), None);
        assert_eq!(*parse(b"\x8a\x02\x00\xff.").unwrap(), Item::Whole(-256));
    }

    #[test]
    fn calls_are_noted_and_not_made() {
        let call = parse(b"cos\nsystem\n(S'true'\ntR.").unwrap();
        let text = Arc::new(Item::Text("true".into()));
        assert_eq!(*call, Item::Object("system".into(), vec![Arc::new(Item::List(vec![text]))]));
    }

    #[test]
    fn elements_of_arrays_are_texts_numbers_or_missing() {
        // An array of NumPy: its class, the call that makes it, and its state, whose last part is the list of elements.
        let array = |elements: &str| format!("cnumpy\n_reconstruct\n(tR(I1\n(I2\ntNI00\n({elements}ltb.");
        let of = |text: &str| elements(array(text).as_bytes());
        assert_eq!(of("Va\nN").unwrap().unwrap(), [Some("a".to_owned()), None]);
        assert_eq!(of("Fnan\nI3\n").unwrap().unwrap(), [None, Some("3".to_owned())]);
        assert_eq!(of("cpandas._libs.missing\nNA\nVb\n").unwrap().unwrap(), [None, Some("b".to_owned())]);
        let harm = of("cos\nsystem\n(S'true'\ntRVb\n").unwrap_err().to_string();
        assert!(harm.contains("system") && harm.contains("never run"), "{harm}");
        assert!(of("(lVb\n").is_err());
        assert_eq!(elements(b"no pickle").unwrap(), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
            let _ignored = elements(&bytes);
        }
    }
}
