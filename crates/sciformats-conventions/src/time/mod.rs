//! Dates in the calendars of the CF conventions (section 4.4).
//!
//! | type | what it is |
//! |---|---|
//! | [`Calendar`] | how days are grouped into months and years |
//! | [`TimeUnits`] | a parsed text such as `days since 2000-01-01` |
//! | [`DateTime`] | a date and a time of day, to the nanosecond |

mod calendar;
mod period;
mod units;

use std::fmt;

pub use calendar::Calendar;
pub use period::Period;
pub use units::TimeUnits;

use units::DAY;

/// A date and a time of day in some calendar.
///
/// It is displayed in ISO 8601, with six digits of a fraction if there is one.
///
/// ```
/// use sciformats_conventions::time::{Calendar, DateTime};
///
/// let noon = DateTime::new(Calendar::Standard, (2001, 7, 1), (12, 0, 0)).expect("a day of that calendar");
/// assert_eq!(noon.to_string(), "2001-07-01T12:00:00");
/// assert_eq!(DateTime::new(Calendar::NoLeap, (2000, 2, 29), (0, 0, 0)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// The year; [the calendar](Calendar::has_year_zero) decides whether there is a year 0.
    pub year: i64,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
    /// The hour, from 0 to 23.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
    /// The nanoseconds of the second.
    pub nanosecond: u32,
}

impl DateTime {
    /// Creates a date; `None` if the calendar has no such day, or if a day has no such time.
    pub fn new(calendar: Calendar, date: (i64, u8, u8), time: (u8, u8, u8)) -> Option<Self> {
        let ((year, month, day), (hour, minute, second)) = (date, time);
        let real = calendar.has(year, month, day) && hour < 24 && minute < 60 && second < 60;
        real.then_some(Self { year, month, day, hour, minute, second, nanosecond: 0 })
    }

    /// Returns the date that is this many nanoseconds after the start of 1970; `None` if it is more than 2^40
    /// days away.
    pub fn at(calendar: Calendar, nanoseconds: i128) -> Option<Self> {
        let days =
            i64::try_from(nanoseconds.div_euclid(DAY)).ok().filter(|days| days.unsigned_abs() < 1 << 40)?;
        let rest = u64::try_from(nanoseconds.rem_euclid(DAY)).ok()?;
        let (year, month, day) = calendar.date(days);
        let seconds = rest / 1_000_000_000;
        let part = |number: u64| u8::try_from(number).ok();
        Some(Self {
            year,
            month,
            day,
            hour: part(seconds / 3600)?,
            minute: part(seconds / 60 % 60)?,
            second: part(seconds % 60)?,
            nanosecond: u32::try_from(rest % 1_000_000_000).ok()?,
        })
    }

    /// Returns the nanoseconds since the start of 1970 in a calendar that has the day.
    pub fn nanoseconds(&self, calendar: Calendar) -> i128 {
        let days = i128::from(calendar.days(self.year, self.month, self.day));
        let seconds = u32::from(self.hour) * 3600 + u32::from(self.minute) * 60 + u32::from(self.second);
        days * DAY + i128::from(seconds) * 1_000_000_000 + i128::from(self.nanosecond)
    }

    /// Parses a date in ISO 8601, with or without a time of day; `None` if the calendar does not have the
    /// day.
    ///
    /// ```
    /// use sciformats_conventions::time::{Calendar, DateTime};
    ///
    /// let day = DateTime::parse("2001-07-01", Calendar::Standard).expect("a date");
    /// assert_eq!((day.month, day.hour), (7, 0));
    /// ```
    pub fn parse(text: &str, calendar: Calendar) -> Option<Self> {
        let units = TimeUnits::parse(&format!("seconds since {text}"), calendar)?;
        units.moment_of_integer(0)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanosecond } = self;
        let sign = if *year < 0 { "-" } else { "" };
        let year = year.unsigned_abs();
        write!(f, "{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match nanosecond {
            0 => Ok(()),
            fine if fine % 1000 != 0 => write!(f, ".{fine:09}"),
            rest => write!(f, ".{:06}", rest / 1000),
        }
    }
}
