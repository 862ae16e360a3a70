//! Spans of time that are counted from 1970, as pandas stores them.

use super::{Calendar, DateTime};

/// The length of a span.
///
/// ```
/// use sciformats_conventions::time::Period;
///
/// assert_eq!(Period::Month.label(378).as_deref(), Some("2001-07"));
/// assert_eq!(Period::Quarter.label(-1).as_deref(), Some("1969Q4"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Period {
    /// A year from January.
    Year,
    /// A quarter of such a year.
    Quarter,
    /// A month.
    Month,
    /// A week that ends with a day, of which 0 is a Monday.
    Week(u8),
    /// A day from Monday to Friday; others are not counted.
    BusinessDay,
    /// A day.
    Day,
    /// An hour.
    Hour,
    /// A minute.
    Minute,
    /// A second.
    Second,
    /// A thousandth of a second.
    Millisecond,
    /// A millionth of a second.
    Microsecond,
    /// A billionth of a second.
    Nanosecond,
}

impl Period {
    /// Returns the span with a number as pandas formats it, where 0 is the one that begins with 1970; `None` for the smallest
    /// integer, which means a missing span, and for years that no date has.
    pub fn label(self, ordinal: i64) -> Option<String> {
        if ordinal == i64::MIN {
            return None;
        }
        let months = |each: i64| -> Option<(i64, i64)> {
            let month = ordinal.checked_mul(each)?;
            Some((month.div_euclid(12).checked_add(1970)?, month.rem_euclid(12)))
        };
        let long = 86_400_000_000_000i128;
        let date = |day: i64| -> Option<String> {
            let moment = DateTime::at(Calendar::ProlepticGregorian, i128::from(day) * long)?;
            Some(format!("{:04}-{:02}-{:02}", moment.year, moment.month, moment.day))
        };
        let nanoseconds = match self {
            Self::Year => return Some(format!("{:04}", ordinal.checked_add(1970)?)),
            Self::Quarter => {
                let (year, month) = months(3)?;
                return Some(format!("{year:04}Q{}", month / 3 + 1));
            }
            Self::Month => {
                let (year, month) = months(1)?;
                return Some(format!("{year:04}-{:02}", month + 1));
            }
            Self::Week(end) => {
                // Week 0 of those that end with a Sunday ended on 1969-12-28, and the others end on the days after it.
                let last = ordinal
                    .checked_mul(7)?
                    .checked_add(i64::from((u32::from(end) + 1) % 7))?
                    .checked_sub(4)?;
                return Some(format!("{}/{}", date(last.checked_sub(6)?)?, date(last)?));
            }
            Self::BusinessDay => {
                let since = ordinal.checked_add(3)?;
                return date(
                    since.div_euclid(5).checked_mul(7)?.checked_add(since.rem_euclid(5))?.checked_sub(3)?,
                );
            }
            Self::Day => long,
            Self::Hour => long / 24,
            Self::Minute => 60_000_000_000,
            Self::Second => 1_000_000_000,
            Self::Millisecond => 1_000_000,
            Self::Microsecond => 1000,
            Self::Nanosecond => 1,
        };
        let moment = DateTime::at(Calendar::ProlepticGregorian, i128::from(ordinal) * nanoseconds)?;
        let day = format!("{:04}-{:02}-{:02}", moment.year, moment.month, moment.day);
        let minute = format!("{day} {:02}:{:02}", moment.hour, moment.minute);
        let second = format!("{minute}:{:02}", moment.second);
        Some(match self {
            Self::Day => day,
            Self::Hour | Self::Minute => minute,
            Self::Millisecond => format!("{second}.{:03}", moment.nanosecond / 1_000_000),
            Self::Microsecond => format!("{second}.{:06}", moment.nanosecond / 1000),
            Self::Nanosecond => format!("{second}.{:09}", moment.nanosecond),
            _ => second,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_as_pandas_shows_them() {
        for (period, ordinal, text) in [
            (Period::Year, 31, "2001"),
            (Period::Quarter, 126, "2001Q3"),
            (Period::Month, -1, "1969-12"),
            (Period::Week(6), 1, "1969-12-29/1970-01-04"),
            (Period::Week(2), 0, "1969-12-25/1969-12-31"),
            (Period::Week(3), 0, "1969-12-26/1970-01-01"),
            (Period::Week(5), -3, "1969-12-07/1969-12-13"),
            (Period::BusinessDay, -1, "1969-12-31"),
            (Period::BusinessDay, 2, "1970-01-05"),
            (Period::Day, 11_504, "2001-07-01"),
            (Period::Hour, 276_101, "2001-07-01 05:00"),
            (Period::Minute, -1, "1969-12-31 23:59"),
            (Period::Second, 61, "1970-01-01 00:01:01"),
            (Period::Millisecond, 1, "1970-01-01 00:00:00.001"),
            (Period::Microsecond, 1, "1970-01-01 00:00:00.000001"),
            (Period::Nanosecond, -1, "1969-12-31 23:59:59.999999999"),
        ] {
            assert_eq!(period.label(ordinal).as_deref(), Some(text), "{period:?}");
            assert_eq!(period.label(i64::MIN), None);
            let _ = period.label(i64::MAX);
            let _ = period.label(i64::MIN + 1);
        }
    }
}
