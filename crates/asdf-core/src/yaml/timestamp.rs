//! Dates and times as YAML 1.1 writes them.

use std::fmt;

/// A date, or a date and a time. `Display` is ISO 8601.
///
/// ```
/// use asdf_core::Tree;
/// use asdf_core::yaml::Value;
///
/// let tree = Tree::parse("2024-05-17\n")?;
/// let Some(Value::Timestamp(day)) = tree.value(tree.root())? else { unreachable!() };
/// assert_eq!((day.year, day.month, day.day, day.time), (2024, 5, 17, None));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// The year, from 0 to 9999.
    pub year: u16,
    /// The month, from 1 to 12.
    pub month: u8,
    /// The day, from 1 to 31.
    pub day: u8,
    /// The time of day; `None` for a date without a time.
    pub time: Option<Time>,
}

/// A time of day.
///
/// ```
/// use asdf_core::Tree;
/// use asdf_core::yaml::Value;
///
/// let tree = Tree::parse("2024-05-17T20:15:00.5+02:00\n")?;
/// let Some(Value::Timestamp(moment)) = tree.value(tree.root())? else { unreachable!() };
/// let parts = moment.time.map(|time| (time.hour, time.minute, time.microsecond, time.offset));
/// assert_eq!(parts, Some((20, 15, 500_000, Some(120))));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// The hour, from 0 to 23.
    pub hour: u8,
    /// The minute, from 0 to 59.
    pub minute: u8,
    /// The second, from 0 to 59.
    pub second: u8,
    /// The microsecond. Further digits in the text are cut off.
    pub microsecond: u32,
    /// The offset in minutes east of UTC; `None` for a local time.
    pub offset: Option<i16>,
}

impl Timestamp {
    /// Parses `2001-12-14`, `2001-12-14T21:59:43.1Z`, `2001-12-14 21:59:43 +05:30` and similar forms; `None` if the text has none of
    /// them, or if the day or the time does not exist.
    ///
    /// ```
    /// use asdf_core::yaml::Timestamp;
    ///
    /// assert_eq!(Timestamp::parse("2001-12-14").map(|day| day.day), Some(14));
    /// assert!(Timestamp::parse("2001-02-30").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        match read(text) {
            Reading::Yes(stamp) => Some(stamp),
            Reading::Impossible | Reading::No => None,
        }
    }

    /// Returns the point in time that is this many seconds after the beginning of 1970, in UTC; `None` after the year 9999.
    ///
    /// ```
    /// use asdf_core::yaml::Timestamp;
    ///
    /// let moment = Timestamp::from_unix(951_868_799);
    /// assert_eq!(moment.map(|moment| moment.to_string()), Some("2000-02-29T23:59:59+00:00".into()));
    /// ```
    pub fn from_unix(seconds: u64) -> Option<Self> {
        const DAY: u64 = 86_400;
        // Days since 1 March of the year 0 are counted in periods of 400 years, 100 years, 4 years and 1 year. The leap day is
        // then the last day of its year.
        let days = (seconds / DAY).checked_add(719_468)?;
        let (period, day) = (days / 146_097, days % 146_097);
        let of_period =
            (day.checked_sub(day / 1460)?.checked_add(day / 36_524)?.checked_sub(day / 146_096)?) / 365;
        let before = of_period.checked_mul(365)?.checked_add(of_period / 4)?.checked_sub(of_period / 100)?;
        let day = day.checked_sub(before)?;
        let month = day.checked_mul(5)?.checked_add(2)? / 153;
        let first = month.checked_mul(153)?.checked_add(2)? / 5;
        let year = period.checked_mul(400)?.checked_add(of_period)?.checked_add(u64::from(month >= 10))?;
        let month = if month < 10 { month.checked_add(3)? } else { month.checked_sub(9)? };
        let small = |value: u64| u8::try_from(value).ok();
        Some(Self {
            year: u16::try_from(year).ok().filter(|&year| year <= 9999)?,
            month: small(month)?,
            day: small(day.checked_sub(first)?.checked_add(1)?)?,
            time: Some(Time {
                hour: small(seconds % DAY / 3600)?,
                minute: small(seconds % 3600 / 60)?,
                second: small(seconds % 60)?,
                microsecond: 0,
                offset: Some(0),
            }),
        })
    }
}

/// What a text means as a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The text does not have the form of a timestamp.
    No,
    /// The text has the form of a timestamp, but the day or the time does not exist.
    Impossible,
    Yes(Timestamp),
}

/// Parses `2001-12-14`, `2001-12-14T21:59:43.1Z`, `2001-12-14 21:59:43 +05:30` and similar forms.
pub(super) fn read(text: &str) -> Reading {
    match form(text) {
        None => Reading::No,
        Some(stamp) if is_possible(&stamp) => Reading::Yes(stamp),
        Some(_) => Reading::Impossible,
    }
}

struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    /// Parses a number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.0.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        let (head, rest) = self.0.split_at_checked(digits).filter(|_| digits >= least)?;
        self.0 = rest;
        std::str::from_utf8(head).ok()?.parse().ok()
    }

    fn take(&mut self, accepted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(b, _)| accepted.contains(b))?;
        self.0 = rest;
        Some(*first)
    }

    fn blanks(&mut self) -> usize {
        let count = self.0.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        self.0 = self.0.get(count..).unwrap_or_default();
        count
    }
}

fn form(text: &str) -> Option<Timestamp> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut scan = Scan(text.as_bytes());
    let year = u16::try_from(scan.number(4, 4)?).ok()?;
    scan.take(b"-")?;
    let before = scan.0.len();
    let month = u8::try_from(scan.number(1, 2)?).ok()?;
    scan.take(b"-")?;
    let day = u8::try_from(scan.number(1, 2)?).ok()?;
    if scan.0.is_empty() {
        // A date without a time has two digits for the month and the day.
        return (before == 5).then_some(Timestamp { year, month, day, time: None });
    }
    if scan.take(b"Tt").is_none() && scan.blanks() == 0 {
        return None;
    }
    let hour = u8::try_from(scan.number(1, 2)?).ok()?;
    scan.take(b":")?;
    let minute = u8::try_from(scan.number(2, 2)?).ok()?;
    scan.take(b":")?;
    let second = u8::try_from(scan.number(2, 2)?).ok()?;
    let mut microsecond = 0;
    if scan.take(b".").is_some() {
        let digits = scan.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (fraction, rest) = scan.0.split_at_checked(digits)?;
        let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        let digit = |sum: u32, b: u8| sum.checked_mul(10)?.checked_add(char::from(b).to_digit(10)?);
        microsecond = padded.into_iter().try_fold(0u32, digit)?;
        scan.0 = rest;
    }
    let offset = zone(&mut scan)?;
    scan.0.is_empty().then_some(Timestamp {
        year,
        month,
        day,
        time: Some(Time { hour, minute, second, microsecond, offset }),
    })
}

/// Parses the offset at the end, if there is one; `None` if the text is not an offset.
fn zone(scan: &mut Scan<'_>) -> Option<Option<i16>> {
    if scan.0.is_empty() {
        return Some(None);
    }
    scan.blanks();
    let sign = match scan.take(b"Z+-")? {
        b'Z' => return Some(Some(0)),
        b'-' => -1i16,
        _ => 1,
    };
    let hours = i16::try_from(scan.number(1, 2)?).ok()?;
    let minutes = match scan.take(b":") {
        Some(_) => i16::try_from(scan.number(2, 2)?).ok()?,
        None => 0,
    };
    hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(sign).map(Some)
}

fn is_possible(stamp: &Timestamp) -> bool {
    let leap =
        stamp.year.is_multiple_of(4) && (!stamp.year.is_multiple_of(100) || stamp.year.is_multiple_of(400));
    let days = match stamp.month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    let time = stamp.time.is_none_or(|time| {
        let zone = time.offset.is_none_or(|offset| offset.unsigned_abs() < 24 * 60);
        time.hour < 24 && time.minute < 60 && time.second < 60 && zone
    });
    stamp.year > 0 && (1..=days).contains(&stamp.day) && time
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        let Some(Time { hour, minute, second, microsecond, offset }) = self.time else { return Ok(()) };
        write!(f, "T{hour:02}:{minute:02}:{second:02}")?;
        if microsecond > 0 {
            write!(f, ".{microsecond:06}")?;
        }
        let Some(offset) = offset else { return Ok(()) };
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.unsigned_abs() / 60, offset.unsigned_abs() % 60);
        write!(f, "{sign}{hours:02}:{minutes:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_since_1970() {
        let shown = |seconds| Timestamp::from_unix(seconds).map(|stamp| stamp.to_string());
        assert_eq!(shown(0), Some("1970-01-01T00:00:00+00:00".into()));
        assert_eq!(shown(951_782_399), Some("2000-02-28T23:59:59+00:00".into()));
        assert_eq!(shown(951_868_799), Some("2000-02-29T23:59:59+00:00".into()));
        assert_eq!(shown(4_107_542_400), Some("2100-03-01T00:00:00+00:00".into()));
        assert_eq!(shown(253_402_300_800), None);
    }

    #[test]
    fn forms() {
        let shown = |text| match read(text) {
            Reading::Yes(stamp) => stamp.to_string(),
            other => format!("{other:?}"),
        };
        for (text, expected) in [
            ("2001-12-14", "2001-12-14"),
            ("2001-1-4", "No"),
            ("2001-1-4 1:02:03", "2001-01-04T01:02:03"),
            ("2001-12-14t21:59:43.10-05:00", "2001-12-14T21:59:43.100000-05:00"),
            ("2001-12-14  21:59:43.1 +5", "2001-12-14T21:59:43.100000+05:00"),
            ("2001-12-14T21:59:43.123456789Z", "2001-12-14T21:59:43.123456+00:00"),
            ("2001-12-14T21:59:60Z", "Impossible"),
            ("2001-02-30", "Impossible"),
            ("2000-02-29", "2000-02-29"),
            ("1900-02-29", "Impossible"),
            ("2001-12-14T21:59", "No"),
            ("2001-12-14T21:59:43 ", "No"),
            ("", "No"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
