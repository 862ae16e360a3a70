//! The opcodes of pickles, of which only those for plain data are known.

use std::sync::Arc;

use super::Item;

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
