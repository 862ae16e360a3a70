//! Units of time that count from a date: `days since 2000-01-01 06:00 +1:00`.

use super::{Calendar, DateTime};

/// The length of time that values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A number of nanoseconds.
    Nanoseconds(i128),
    /// Months, which only have a fixed length in the calendar `360_day`.
    Month,
    /// Years of 365 days, which only exist in the calendar `noleap`.
    CommonYear,
}

/// The number of nanoseconds in a day.
pub(super) const DAY: i128 = 86_400_000_000_000;

/// What values of time count: from which date, in which steps, in which calendar.
///
/// ```
/// use sciformats_conventions::time::{Calendar, TimeUnits};
///
/// let units = TimeUnits::parse("hours since 1900-01-01", Calendar::Standard).expect("units of time");
/// assert_eq!(units.moment(1_000_000.5).expect("in range").to_string(), "2014-01-29T16:30:00");
/// assert!(TimeUnits::parse("metres", Calendar::Standard).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeUnits {
    calendar: Calendar,
    /// The number of nanoseconds in one step.
    step: i128,
    /// The date of zero, in nanoseconds since the first day of 1970.
    origin: i128,
    /// Whether fractions of a microsecond have a meaning.
    fine: bool,
    /// Whether dates are known to be in UTC, because they belong to a time zone.
    zoned: bool,
}

fn step(word: &str) -> Option<Step> {
    Some(match word.to_ascii_lowercase().as_str() {
        "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "ns" => Step::Nanoseconds(1),
        "microsecond" | "microseconds" | "microsec" | "microsecs" => Step::Nanoseconds(1_000),
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => {
            Step::Nanoseconds(1_000_000)
        }
        "second" | "seconds" | "sec" | "secs" | "s" => Step::Nanoseconds(1_000_000_000),
        "minute" | "minutes" | "min" | "mins" => Step::Nanoseconds(60_000_000_000),
        "hour" | "hours" | "hr" | "hrs" | "h" => Step::Nanoseconds(3_600_000_000_000),
        "day" | "days" | "d" => Step::Nanoseconds(DAY),
        "month" | "months" => Step::Month,
        "common_year" | "common_years" => Step::CommonYear,
        _ => return None,
    })
}

impl TimeUnits {
    /// Parses units in a calendar; `None` if the text is not valid.
    pub fn parse(text: &str, calendar: Calendar) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let at = lower.find(" since ")?;
        let step = step(text.get(..at)?.trim())?;
        let origin = moment(text.get(at + 7..)?.trim(), calendar)?;
        let (fine, step) = match step {
            Step::Nanoseconds(length) => (length == 1, length),
            Step::Month if calendar == Calendar::Days360 => (false, 30 * DAY),
            Step::CommonYear if calendar == Calendar::NoLeap => (false, 365 * DAY),
            _ => return None,
        };
        Some(Self { calendar, step, origin, fine, zoned: false })
    }

    /// Returns whether a text looks like units of time that count from a date, even if they are unknown.
    pub fn looks_like(text: &str) -> bool {
        text.to_ascii_lowercase().contains(" since ")
    }

    /// Marks the dates as moments in UTC, which stand for moments in a time zone. They are shown with a `Z`.
    #[must_use]
    pub fn in_utc(self) -> Self {
        Self { zoned: true, ..self }
    }

    /// Returns whether the dates are marked as moments in UTC.
    pub fn is_in_utc(&self) -> bool {
        self.zoned
    }

    /// Returns the calendar.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Returns the length of a step, and the date of zero as the time since the start of 1970, in nanoseconds.
    pub fn line(&self) -> (i128, i128) {
        (self.step, self.origin)
    }

    /// Returns the date after an integer number of steps; `None` if it is out of range.
    pub fn moment_of_integer(&self, value: i128) -> Option<DateTime> {
        let since = value.checked_mul(self.step)?.checked_add(self.origin)?;
        DateTime::at(self.calendar, since)
    }

    /// Returns the date after a number of steps, rounded to the nearest microsecond; `None` if the number is
    /// not finite or the date is out of range.
    pub fn moment(&self, value: f64) -> Option<DateTime> {
        let unit = if self.fine { 1 } else { 1_000 };
        let passed = multiplied(value, self.step / unit)?.checked_mul(unit)?;
        DateTime::at(self.calendar, passed.checked_add(self.origin)?)
    }

    /// Returns the number of steps that lead to a date, the inverse of [`moment`](Self::moment).
    pub fn value(&self, moment: &DateTime) -> f64 {
        let passed = moment.nanoseconds(self.calendar) - self.origin;
        (passed / self.step) as f64 + (passed % self.step) as f64 / self.step as f64
    }
}

/// Multiplies a number by an integer. Only the final rounding, to even, is inexact.
fn multiplied(value: f64, by: i128) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7FF).ok()?;
    let fraction = i128::from(bits & ((1 << 52) - 1));
    let (mantissa, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let product = mantissa.checked_mul(by)?;
    let size = match exponent {
        0.. => {
            let shift = u32::try_from(exponent).ok()?;
            let shifted = product.checked_shl(shift).filter(|_| shift < 127)?;
            (shifted >> shift == product).then_some(shifted)?
        }
        -126..=-1 => {
            let shift = exponent.unsigned_abs();
            let (whole, rest, half) = (product >> shift, product & ((1 << shift) - 1), 1i128 << (shift - 1));
            whole + i128::from(rest > half || (rest == half && whole & 1 == 1))
        }
        _ => 0,
    };
    Some(if value.is_sign_negative() { -size } else { size })
}

/// Returns the digits at the start of a text as a number, and the rest.
fn digits(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

fn small(number: i64) -> Option<u8> {
    u8::try_from(number).ok()
}

/// Parses a date with an optional time of day and time zone, and returns nanoseconds since the first day of
/// 1970.
fn moment(text: &str, calendar: Calendar) -> Option<i128> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (year, rest) = digits(rest)?;
    let (month, rest) = digits(rest.strip_prefix('-')?)?;
    let (day, rest) = digits(rest.strip_prefix('-')?)?;
    let (year, month, day) = (sign * year, small(month)?, small(day)?);
    if !calendar.has(year, month, day) {
        return None;
    }
    let rest = rest.strip_prefix(['T', 't']).unwrap_or(rest).trim_start();
    let (time, rest) = time_of_day(rest)?;
    let zone = zone(rest.trim())?;
    i128::from(calendar.days(year, month, day)).checked_mul(DAY)?.checked_add(time - zone)
}

/// Parses an optional `hh[:mm[:ss[.f]]]`, and returns nanoseconds and the rest.
fn time_of_day(text: &str) -> Option<(i128, &str)> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((0, text));
    }
    let (hour, mut rest) = digits(text)?;
    let (mut minute, mut second, mut fraction) = (0, 0, 0i128);
    if let Some(more) = rest.strip_prefix(':') {
        (minute, rest) = digits(more)?;
        if let Some(more) = rest.strip_prefix(':') {
            (second, rest) = digits(more)?;
            if let Some(more) = rest.strip_prefix('.') {
                let end = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
                let (shown, after) = more.split_at_checked(end)?;
                let nine: String = shown.chars().chain("000000000".chars()).take(9).collect();
                (fraction, rest) = (nine.parse().ok()?, after);
            }
        }
    }
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = i128::from(hour * 3600 + minute * 60 + second);
    Some((seconds * 1_000_000_000 + fraction, rest))
}

/// Returns the offset of a time zone in nanoseconds.
fn zone(text: &str) -> Option<i128> {
    let (sign, rest) = match text.as_bytes().first() {
        Some(b'+') => (1, text.get(1..)?),
        Some(b'-') => (-1, text.get(1..)?),
        // These are `Z`, `UTC`, and words without a meaning.
        _ => return Some(0),
    };
    let compact = rest.len() == 4 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = if compact {
        (rest.get(..2)?.parse().ok()?, rest.get(2..)?.parse().ok()?)
    } else {
        let (hours, rest) = digits(rest)?;
        (hours, rest.strip_prefix(':').and_then(digits).map_or(0, |(minutes, _)| minutes))
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    Some(i128::from(sign * (hours * 60 + minutes)) * 60_000_000_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(units: &str, calendar: Calendar, value: f64) -> Option<String> {
        Some(TimeUnits::parse(units, calendar)?.moment(value)?.to_string())
    }

    #[test]
    fn moments_of_every_spelling() {
        let table = [
            ("days since 1-1-1", Calendar::Standard, 1.0, "0001-01-02T00:00:00"),
            (
                "days since 2000-1-1 00:00:00.123 +05:30",
                Calendar::Standard,
                1.0,
                "2000-01-01T18:30:00.123000",
            ),
            ("days since 2000-01-01T12:00Z", Calendar::Standard, 1.0, "2000-01-02T12:00:00"),
            ("days since 2000-1-1 6:0:0 -3", Calendar::Standard, 0.0, "2000-01-01T09:00:00"),
            ("Hours since 2000-01-01 00:00:00 UTC", Calendar::NoLeap, 24.0 * 59.0, "2000-03-01T00:00:00"),
            ("months since 2000-01-01", Calendar::Days360, 1.5, "2000-02-16T00:00:00"),
            ("common_years since 2000-01-01", Calendar::NoLeap, -1.0, "1999-01-01T00:00:00"),
            ("days since -5-1-1", Calendar::Standard, 366.0, "-0004-01-01T00:00:00"),
            ("seconds since 1970-01-01", Calendar::Standard, 0.1, "1970-01-01T00:00:00.100000"),
            ("days since 1850-01-01", Calendar::Standard, -0.25, "1849-12-31T18:00:00"),
            ("days since 2000-01-01T12:00:00.5+0530", Calendar::Standard, 0.0, "2000-01-01T06:30:00.500000"),
        ];
        for (units, calendar, value, expected) in table {
            assert_eq!(shown(units, calendar, value).as_deref(), Some(expected), "{units}");
        }
        for units in [
            "days",
            "metres since 2000-1-1",
            "days since 2000",
            "days since 1582-10-10",
            "years since 2000-1-1",
            "days since 0-1-1",
        ] {
            assert_eq!(shown(units, Calendar::Standard, 0.0), None, "{units}");
        }
    }

    #[test]
    fn products_are_exact() {
        assert_eq!(multiplied(0.1, 10), Some(1));
        assert_eq!(multiplied(0.5, 1), Some(0)); // to even
        assert_eq!(multiplied(1.5, 1), Some(2));
        assert_eq!(multiplied(-2.5, 1), Some(-2));
        assert_eq!(multiplied(f64::MIN_POSITIVE, 1 << 70), Some(0));
        assert_eq!(multiplied(1e300, 10), None);
        assert_eq!(multiplied(2f64.powi(80), 3), Some(3 << 80));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}", tail in "[-+0-9:. TZ]{0,30}") {
            let _ = TimeUnits::parse(&text, Calendar::Standard);
            let _ = shown(&format!("days since {tail}"), Calendar::Julian, 1e9);
        }

        #[test]
        fn values_come_back(value in -1_000_000i64..1_000_000, part in 0u32..86_400) {
            let units = TimeUnits::parse("days since 1950-01-01", Calendar::Standard).unwrap();
            let value = value as f64 + f64::from(part) / 86_400.0;
            prop_assert!((units.value(&units.moment(value).unwrap()) - value).abs() < 1e-9);
        }
    }
}
