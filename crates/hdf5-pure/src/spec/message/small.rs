//! Messages of one or two fields.
//!
//! | offset | size | field of the symbol table message (IV.A.2.r) |
//! |---|---|---|
//! | 0 | O | v1 B-tree address |
//! | O | O | local heap address |
//!
//! | offset | size | field of the object header continuation message (IV.A.2.q) |
//! |---|---|---|
//! | 0 | O | offset: address of the next chunk |
//! | O | L | length in bytes |
//!
//! | offset | size | field of the shared message table message (IV.A.2.p) |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | O | shared object header message table address |
//! | 1 + O | 1 | number of indices |
//!
//! | offset | size | field of the object comment message (IV.A.2.n) |
//! |---|---|---|
//! | 0 | | comment and NUL |
//!
//! | offset | size | field of the object modification time message (IV.A.2.s) |
//! |---|---|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 3 | reserved |
//! | 4 | 4 | seconds since the UNIX epoch |
//!
//! | offset | size | field of the object modification time (old) message (IV.A.2.o), in universal time and decimal digits |
//! |---|---|---|
//! | 0 | 4 | year |
//! | 4 | 2 | month |
//! | 6 | 2 | day of the month |
//! | 8 | 2 | hour |
//! | 10 | 2 | minute |
//! | 12 | 2 | second |
//! | 14 | 2 | reserved |
//!
//! | offset | size | field of the object reference count message (IV.A.2.w) |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 4 | reference count |

use nom::Parser;
use nom::bytes::complete::take;
use nom::character::complete::digit1;
use nom::combinator::all_consuming;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::present;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Name, Sizes, defined, length, put_address, put_length, trimmed, version};

/// Symbol table message (IV.A.2.r): where the B-tree and the local heap of an old-style group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SymbolTable {
    /// The address of the B-tree of symbol table nodes.
    pub(crate) btree: Address,
    /// The address of the local heap that contains the names.
    pub(crate) heap: Address,
}

impl SymbolTable {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, btree) = field("v1 B-tree address", defined(sizes))(i)?;
        let (i, heap) = field("local heap address", defined(sizes))(i)?;
        Ok((i, Self { btree, heap }))
    }
}

/// Parses a continuation message (IV.A.2.q). Returns the address of further messages, and their size in bytes.
pub(crate) fn continuation(i: &[u8], sizes: Sizes) -> Parsed<'_, (Address, u64)> {
    let (i, address) = field("offset", defined(sizes))(i)?;
    let (i, len) = field("length", length(sizes))(i)?;
    Ok((i, (address, len)))
}

/// Parses a shared message table message (IV.A.2.p). Returns the address of the table, and the number of its indexes.
pub(crate) fn shared_table(i: &[u8], sizes: Sizes) -> Parsed<'_, (Address, u8)> {
    let (i, _) = version(0)(i)?;
    let (i, table) = field("shared object header message table address", defined(sizes))(i)?;
    let (i, indexes) = field("number of indices", byte)(i)?;
    Ok((i, (table, indexes)))
}

/// Parses an object comment message (IV.A.2.n).
pub(crate) fn comment(i: &[u8]) -> Parsed<'_, Name> {
    Ok((&[], trimmed(i).into()))
}

/// Parses an object modification time message (IV.A.2.s). Returns seconds since 1970.
pub(crate) fn modification_time(i: &[u8]) -> Parsed<'_, u32> {
    let (i, _) = version(1)(i)?;
    let (i, _) = take(3usize)(i)?;
    field("seconds after UNIX epoch", le_u32)(i)
}

/// Parses an old modification time message (IV.A.2.o). Returns seconds since 1970.
pub(crate) fn modification_time_old(i: &[u8]) -> Parsed<'_, u32> {
    let parts = (digits(4), digits(2), digits(2), digits(2), digits(2), digits(2));
    let (rest, (year, month, day, hour, minute, second)) = field("modification time", parts)(i)?;
    let seconds = || -> Option<u32> {
        let days = days_from_civil(year, month, day)?;
        let of_day = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
        u32::try_from(days.checked_mul(86_400)?.checked_add(of_day)?).ok()
    };
    match seconds() {
        Some(seconds) => Ok((rest, seconds)),
        None => field("modification time", |i| fail(i, FaultKind::Encoding))(i),
    }
}

/// Parses a number of `count` decimal digits.
fn digits<'a>(count: usize) -> impl FnMut(&'a [u8]) -> Parsed<'a, i64> {
    move |i| {
        let (rest, text) = take(count)(i)?;
        let digits: Parsed<'_, &[u8]> = all_consuming(digit1).parse(text);
        match digits.ok().and_then(|(_, digits)| std::str::from_utf8(digits).ok()?.parse().ok()) {
            Some(number) => Ok((rest, number)),
            None => fail(i, FaultKind::Encoding),
        }
    }
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last day of a year.
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let month = if month <= 2 { month.checked_add(9)? } else { month.checked_sub(3)? };
    let leaps = (year / 4).checked_sub(year / 100)?.checked_add(year / 400)?;
    let before = month.checked_mul(153)?.checked_add(2)? / 5;
    year.checked_mul(365)?.checked_add(leaps)?.checked_add(before)?.checked_add(day)?.checked_sub(719_469)
}

/// Returns the year, the month and the day of the month, given the number of days after 1970-01-01. No time of 32 bits is later
/// than in 2106.
fn civil_from_days(days: i64) -> Option<(i64, i64, i64)> {
    let begin = |year, month| days_from_civil(year, month, 1).filter(|&first| first <= days);
    let year = (1970..=2106).rev().find(|&year| begin(year, 1).is_some())?;
    let month = (1..=12).rev().find(|&month| begin(year, month).is_some())?;
    let day = days.checked_sub(begin(year, month)?)?.checked_add(1)?;
    Some((year, month, day))
}

/// Parses an object reference count message (IV.A.2.w).
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

/// Appends an old modification time, given in seconds since 1970.
pub(crate) fn encode_modification_time_old(out: &mut Vec<u8>, seconds: u32) -> Result<()> {
    let (year, month, day) = present(civil_from_days(i64::from(seconds / 86_400)), "date of a time")?;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    out.extend(format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}").bytes());
    out.extend([0, 0]);
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
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const SYMBOL_TABLE: [u8; 16] = [
        0x88, 0, 0, 0, 0, 0, 0, 0, // v1 B-tree address
        0xa8, 2, 0, 0, 0, 0, 0, 0, // local heap address
    ];

    const CONTINUATION: [u8; 16] = [
        0, 8, 0, 0, 0, 0, 0, 0, // offset
        0x40, 0, 0, 0, 0, 0, 0, 0, // length
    ];

    const SHARED_TABLE: [u8; 10] = [
        0, // version
        0, 8, 0, 0, 0, 0, 0, 0, // shared object header message table address
        2, // number of indices
    ];

    const TIME: [u8; 8] = [
        1, // version
        0, 0, 0, // reserved
        1, 1, 0, 0, // seconds after UNIX epoch
    ];

    const OLD_TIME: [u8; 16] = [
        b'2', b'0', b'0', b'0', // year
        b'0', b'3', // month
        b'0', b'1', // day
        b'1', b'2', // hour
        b'0', b'0', // minute
        b'0', b'0', // second
        0, 0, // reserved
    ];

    const COUNT: [u8; 5] = [
        0, // version
        3, 0, 0, 0, // reference count
    ];

    #[test]
    fn addresses_and_counts() {
        let table = SymbolTable { btree: Address(0x88), heap: Address(0x2a8) };
        both_ways(
            &SYMBOL_TABLE,
            &table,
            |i| SymbolTable::parse(i, SIZES),
            |table, out| table.encode(out, SIZES),
        );
        both_ways(
            &CONTINUATION,
            &(Address(0x800), 64),
            |i| continuation(i, SIZES),
            |&chunk, out| encode_continuation(out, chunk, SIZES),
        );
        assert_eq!(shared_table(&SHARED_TABLE, SIZES), Ok((&[][..], (Address(0x800), 2))));
        both_ways(&COUNT, &3, reference_count, |&count, out| encode_reference_count(out, count));
        both_ways(b"why\0", &Name::from("why"), comment, |comment, out| encode_comment(out, comment));
    }

    #[test]
    fn times_of_both_kinds() {
        both_ways(&TIME, &257, modification_time, |&seconds, out| encode_modification_time(out, seconds));
        assert_eq!(modification_time_old(&OLD_TIME).unwrap().1, 951_912_000);
        let mut old = Vec::new();
        encode_modification_time_old(&mut old, 951_912_000).unwrap();
        assert_eq!(old, OLD_TIME);
        assert_eq!(modification_time_old(b"19700101000001\0\0").unwrap().1, 1);
        for bad in
            [b"2000x301120000\0\0", b"20001301120000\0\0", b"19690101000000\0\0", b"2000+301120000\0\0"]
        {
            assert!(modification_time_old(bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn old_times_both_ways(seconds: u32) {
            let mut out = Vec::new();
            encode_modification_time_old(&mut out, seconds).unwrap();
            prop_assert_eq!(modification_time_old(&out).unwrap().1, seconds);
        }

        #[test]
        fn no_bytes_panic(
            addresses in near(&SYMBOL_TABLE),
            shared in near(&SHARED_TABLE),
            (time, old_time) in (near(&TIME), near(&OLD_TIME)),
            count in near(&COUNT),
            sizes in any_sizes(),
        ) {
            let _ = SymbolTable::parse(&addresses, sizes);
            let _ = continuation(&addresses, sizes);
            let _ = shared_table(&shared, sizes);
            let _ = modification_time(&time);
            let _ = modification_time_old(&old_time);
            let _ = reference_count(&count);
            let _ = comment(&old_time);
        }
    }
}
