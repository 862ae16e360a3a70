//! The types that values in text can have without a change.

use std::sync::Arc;

use arrow_array::types::{TimestampMicrosecondType as Micro, TimestampNanosecondType as Nano};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, PrimitiveArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};

use crate::dates::zoned;

/// A value, or a missing one.
pub(super) type Cell = Option<String>;

/// The type of a column. The first one that has all values as they are is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Truth,
    Int,
    UInt,
    Float,
    /// A date, whose text tells its distance from UTC or does not.
    Moment {
        fine: bool,
        zoned: bool,
    },
    Text,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Truth,
        Self::Int,
        Self::UInt,
        Self::Float,
        Self::Moment { fine: false, zoned: false },
        Self::Moment { fine: true, zoned: false },
        Self::Moment { fine: false, zoned: true },
        Self::Moment { fine: true, zoned: true },
        Self::Text,
    ];

    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Truth => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::UInt => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::Moment { fine, zoned } => {
                let unit = if fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
                DataType::Timestamp(unit, zoned.then(|| UTC.into()))
            }
            Self::Text => DataType::LargeUtf8,
        }
    }

    /// Returns the values as an array. A text that is not of the type is missing.
    pub(super) fn array(self, cells: Vec<Cell>) -> ArrayRef {
        let texts = cells.iter().map(Option::as_deref);
        let zone = |zoned: bool| zoned.then_some(UTC);
        let count = |cell: Option<&str>, length| i64::try_from(moment(cell?)?.0.div_euclid(length)).ok();
        match self {
            Self::Truth => Arc::new(texts.map(|cell| truth(cell?)).collect::<BooleanArray>()),
            Self::Int => Arc::new(texts.map(|cell| cell?.parse().ok()).collect::<Int64Array>()),
            Self::UInt => Arc::new(texts.map(|cell| cell?.parse().ok()).collect::<UInt64Array>()),
            Self::Float => Arc::new(texts.map(|cell| cell?.parse().ok()).collect::<Float64Array>()),
            Self::Moment { fine: false, zoned } => {
                let moments: PrimitiveArray<Micro> = texts.map(|cell| count(cell, 1_000)).collect();
                Arc::new(moments.with_timezone_opt(zone(zoned)))
            }
            Self::Moment { fine: true, zoned } => {
                let moments: PrimitiveArray<Nano> = texts.map(|cell| count(cell, 1)).collect();
                Arc::new(moments.with_timezone_opt(zone(zoned)))
            }
            Self::Text => Arc::new(cells.into_iter().collect::<LargeStringArray>()),
        }
    }
}

/// The time zone of dates whose texts tell their distance from UTC.
const UTC: &str = "UTC";

/// Some of [`Kind::ALL`], one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub(super) const ANY: Self = Self((1 << Kind::ALL.len()) - 1);
    const TRUTH: u16 = 1;
    const INT: u16 = 1 << 1;
    const UINT: u16 = 1 << 2;
    const FLOAT: u16 = 1 << 3;
    /// The bit of coarse dates without a zone. Those of fine ones and of dates with a zone come after it.
    const MOMENT: u16 = 1 << 4;
    const TEXT: u16 = 1 << 8;

    /// Returns the types that have a value as it is.
    fn of(cell: &str) -> Self {
        Self(Self::TEXT | Self::of_number(cell).unwrap_or_else(|| Self::of_word(cell)))
    }

    fn of_number(cell: &str) -> Option<u16> {
        let float = |exact: bool| bit(exact, Self::FLOAT);
        if let Ok(value) = cell.parse::<i64>() {
            let unsigned = if value < 0 { 0 } else { Self::UINT };
            return Some(Self::INT | unsigned | float((value as f64) as i128 == i128::from(value)));
        }
        if let Ok(value) = cell.parse::<u64>() {
            return Some(Self::UINT | float((value as f64) as i128 == i128::from(value)));
        }
        let (value, digits) = (cell.parse::<f64>().ok()?, cell.trim_start_matches(['+', '-']));
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(float(format!("{:.0}", value.abs()) == digits.trim_start_matches('0')));
        }
        let is_named = digits.starts_with(|first: char| first.is_ascii_alphabetic());
        let significand = digits.split(['e', 'E']).next().unwrap_or_default();
        let is_zero = !significand.contains(|digit| matches!(digit, '1'..='9'));
        // A number that is too large or too small for a float would become another one.
        Some(float(is_named || (value.is_finite() && (value == 0.0) == is_zero)))
    }

    fn of_word(cell: &str) -> u16 {
        if truth(cell).is_some() {
            return Self::TRUTH;
        }
        let Some((nanoseconds, zoned)) = moment(cell) else { return 0 };
        let fits = |count: i128| i64::try_from(count).is_ok();
        let coarse = nanoseconds.rem_euclid(1_000) == 0 && fits(nanoseconds.div_euclid(1_000));
        let first = if zoned { Self::MOMENT << 2 } else { Self::MOMENT };
        bit(coarse, first) | bit(fits(nanoseconds), first << 1)
    }

    /// Leaves out the types that do not have a value as it is.
    pub(super) fn add(&mut self, cell: &str) {
        if self.0 != Self::TEXT {
            self.0 &= Self::of(cell).0;
        }
    }

    /// Returns the type to use: that of texts if no value was added.
    pub(super) fn best(self) -> Kind {
        let all = Kind::ALL.into_iter().enumerate();
        let mut fitting = all.filter(|(at, _)| self != Self::ANY && self.0 >> at & 1 == 1);
        fitting.next().map_or(Kind::Text, |(_, kind)| kind)
    }
}

fn bit(fits: bool, bit: u16) -> u16 {
    if fits { bit } else { 0 }
}

fn truth(cell: &str) -> Option<bool> {
    if cell.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    cell.eq_ignore_ascii_case("false").then_some(false)
}

/// Returns a date of four digits of a year as nanoseconds since the start of 1970, and whether it tells its distance from UTC.
fn moment(cell: &str) -> Option<(i128, bool)> {
    let is_year = |year: &str| year.bytes().all(|byte| byte.is_ascii_digit());
    zoned(cell).filter(|_| cell.get(..4).is_some_and(is_year) && cell.as_bytes().get(4) == Some(&b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(cells: &[&str]) -> Kind {
        let mut kinds = Kinds::ANY;
        cells.iter().for_each(|cell| kinds.add(cell));
        kinds.best()
    }

    fn dates(fine: bool, zoned: bool) -> Kind {
        Kind::Moment { fine, zoned }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let table: &[(&[&str], Kind)] = &[
            (&[], Kind::Text),
            (&["9223372036854775807", "-9223372036854775808", "+5", "007"], Kind::Int),
            (&["18446744073709551615", "5"], Kind::UInt),
            (&["18446744073709551615", "-5"], Kind::Text),
            (&["9007199254740992", "0.5"], Kind::Float),
            (&["9007199254740993", "0.5"], Kind::Text),
            (&["9007199254740993", "nan"], Kind::Text),
            (&["18446744073709551615", "1e3"], Kind::Text),
            (&["18446744073709551616", "-5"], Kind::Float), // 2^64
            (&["18446744073709551617"], Kind::Text),
            (&["-100000000000000000000", "0.5"], Kind::Float),
            (&["-100000000000000000001"], Kind::Text),
            (&["nan", "-inf", "Infinity", "1e308", "-0.0", "0e999", ".5", "5."], Kind::Float),
            (&["1e400"], Kind::Text),
            (&["-1e-400"], Kind::Text),
            (&["5", "NA"], Kind::Text),
            (&["1_000"], Kind::Text),
            (&["0x1F"], Kind::Text),
            (&[" 5"], Kind::Text),
            (&["5", ""], Kind::Text),
            (&["True", "FALSE"], Kind::Truth),
            (&["true", "1"], Kind::Text),
            (&["yes"], Kind::Text),
        ];
        for (cells, expected) in table {
            assert_eq!(kind(cells), *expected, "{cells:?}");
        }
    }

    #[test]
    fn dates_keep_all_that_they_say() {
        let table: &[(&[&str], Kind)] = &[
            (&["2001-07-01", "9999-12-31T23:59:59.999999", "2001-7-1 6:00"], dates(false, false)),
            (&["2001-07-01", "2001-07-01T06:00:00.123456789"], dates(true, false)),
            (&["2001-07-01T06:00:00.1234567891"], Kind::Text),
            (&["9999-12-31", "2001-07-01T06:00:00.123456789"], Kind::Text),
            (&["9999-12-31T23:59:59.999999999"], Kind::Text),
            (
                &["2001-07-01T06:00:00Z", "2001-07-01 06:00:00.5+05:30", "2001-07-01T06-0300"],
                dates(false, true),
            ),
            (&["2001-07-01T06:00:00.000000001 UTC"], dates(true, true)),
            (&["2001-07-01T06:00:00Z", "2001-07-01T06:00:00"], Kind::Text),
            (&["2001-07-01 to 2001-07-05"], Kind::Text),
            (&["2016-12-31T23:59:60"], Kind::Text),
            (&["2001-02-30"], Kind::Text),
            (&["12345-01-01"], Kind::Text),
        ];
        for (cells, expected) in table {
            assert_eq!(kind(cells), *expected, "{cells:?}");
        }
    }
}
