//! Messages of one or two fields.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Name, Sizes, defined, length, put_address, put_length, trimmed, version};

/// Symbol table message (IV.A.2.r): the B-tree and local heap of an old-style group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SymbolTable {
    /// The B-tree of symbol table nodes.
    pub(crate) btree: Address,
    /// The heap with the names.
    pub(crate) heap: Address,
}

impl SymbolTable {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, btree) = field("v1 B-tree address", defined(sizes))(i)?;
        let (i, heap) = field("local heap address", defined(sizes))(i)?;
        Ok((i, Self { btree, heap }))
    }
}

/// Continuation message (IV.A.2.q): where more messages are, and how many bytes.
pub(crate) fn continuation(i: &[u8], sizes: Sizes) -> Parsed<'_, (Address, u64)> {
    let (i, address) = field("offset", defined(sizes))(i)?;
    let (i, len) = field("length", length(sizes))(i)?;
    Ok((i, (address, len)))
}

/// Shared message table message (IV.A.2.p): the table's address and its number of indexes.
pub(crate) fn shared_table(i: &[u8], sizes: Sizes) -> Parsed<'_, (Address, u8)> {
    let (i, _) = version(0)(i)?;
    let (i, table) = field("shared object header message table address", defined(sizes))(i)?;
    let (i, indexes) = field("number of indices", byte)(i)?;
    Ok((i, (table, indexes)))
}

/// Object comment message (IV.A.2.n).
pub(crate) fn comment(i: &[u8]) -> Parsed<'_, Name> {
    Ok((&[], trimmed(i).into()))
}

/// Object modification time message (IV.A.2.s): version 1, 3 reserved, seconds since 1970 (4).
pub(crate) fn modification_time(i: &[u8]) -> Parsed<'_, u32> {
    let (i, _) = version(1)(i)?;
    let (i, _) = take(3usize)(i)?;
    field("seconds after UNIX epoch", le_u32)(i)
}

/// Old modification time message (IV.A.2.o): 14 digits, year to second, of universal time. Returns seconds since 1970.
pub(crate) fn modification_time_old(i: &[u8]) -> Parsed<'_, u32> {
    let (rest, digits) = field("modification time", take(14usize)).parse(i)?;
    let number = |from: usize, len: usize| -> Option<i64> {
        let part = digits.get(from..from.checked_add(len)?)?;
        std::str::from_utf8(part).ok()?.parse().ok()
    };
    let seconds = || -> Option<u32> {
        let days = days_from_civil(number(0, 4)?, number(4, 2)?, number(6, 2)?)?;
        let (hour, minute, second) = (number(8, 2)?, number(10, 2)?, number(12, 2)?);
        let of_day = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
        u32::try_from(days.checked_mul(86_400)?.checked_add(of_day)?).ok()
    };
    match seconds() {
        Some(seconds) => Ok((rest, seconds)),
        None => field("modification time", |i| fail(i, FaultKind::Encoding))(i),
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years start in March, so that the leap day is the last of one.
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let month = if month <= 2 { month.checked_add(9)? } else { month.checked_sub(3)? };
    let leaps = (year / 4).checked_sub(year / 100)?.checked_add(year / 400)?;
    let before = month.checked_mul(153)?.checked_add(2)? / 5;
    year.checked_mul(365)?.checked_add(leaps)?.checked_add(before)?.checked_add(day)?.checked_sub(719_469)
}

/// Object reference count message (IV.A.2.w).
pub(crate) fn reference_count(i: &[u8]) -> Parsed<'_, u32> {
    let (i, _) = version(0)(i)?;
    field("reference count", le_u32)(i)
}

impl SymbolTable {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        put_address(out, Some(self.btree), sizes)?;
        put_address(out, Some(self.heap), sizes)?;
        Ok(())
    }
}

/// Appends a continuation message.
pub(crate) fn encode_continuation(
    out: &mut Vec<u8>,
    (address, len): (Address, u64),
    sizes: Sizes,
) -> Result<()> {
    put_address(out, Some(address), sizes)?;
    put_length(out, len, sizes)?;
    Ok(())
}

/// Appends a comment.
pub(crate) fn encode_comment(out: &mut Vec<u8>, comment: &Name) -> Result<()> {
    out.extend(comment.as_bytes());
    out.push(0);
    Ok(())
}

/// Appends a modification time, in seconds since 1970.
pub(crate) fn encode_modification_time(out: &mut Vec<u8>, seconds: u32) -> Result<()> {
    out.extend([1, 0, 0, 0]);
    out.extend(seconds.to_le_bytes());
    Ok(())
}

/// Appends a reference count.
pub(crate) fn encode_reference_count(out: &mut Vec<u8>, count: u32) -> Result<()> {
    out.push(0);
    out.extend(count.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_kinds() {
        assert_eq!(modification_time_old(b"19700101000001\0\0").unwrap().1, 1);
        assert_eq!(modification_time_old(b"20000301120000\0\0").unwrap().1, 951_912_000);
        assert!(modification_time_old(b"2000x301120000\0\0").is_err());
        assert_eq!(modification_time(&[1, 0, 0, 0, 1, 1, 0, 0]).unwrap().1, 257);
    }
}
