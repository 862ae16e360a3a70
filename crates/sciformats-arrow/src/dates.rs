//! Dates in texts.

use sciformats_conventions::time::{Calendar, TimeUnits};

/// Returns the date in a text as nanoseconds since the start of 1970; `None` if it is not a date.
pub(crate) fn moment(text: &str) -> Option<i128> {
    zoned(text).map(|(nanoseconds, _)| nanoseconds)
}

/// Returns the date in a text as nanoseconds since the start of 1970, and whether it tells its distance from UTC. A text with more
/// than can be taken into account is no date, such as a leap second, eleven digits of a second, or the name of a time zone.
pub(crate) fn zoned(text: &str) -> Option<(i128, bool)> {
    let (date, rest) = text.split_at_checked(text.find(['T', 't', ' ']).unwrap_or(text.len()))?; // a position
    let mut sides = date.strip_prefix('-').unwrap_or(date).split('-');
    let is_date = is_number(sides.next()?)
        && within(sides.next()?, 12)
        && within(sides.next()?, 31)
        && sides.next().is_none();
    let zoned = if rest.is_empty() { false } else { is_zoned(rest.get(1..)?)? };
    let units = TimeUnits::parse(&format!("nanoseconds since {text}"), Calendar::ProlepticGregorian)?;
    is_date.then(|| (units.line().1, zoned))
}

/// Returns whether a time of day has a distance from UTC after it; `None` if it is not a time of day.
fn is_zoned(time: &str) -> Option<bool> {
    let end = time.find(|letter: char| !matches!(letter, '0'..='9' | ':' | '.')).unwrap_or(time.len()); // a position
    let (clock, zone) = time.split_at_checked(end)?;
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next(), parts.next());
    // Zeros at the end say nothing.
    let is_fraction = |digits: &str| is_number(digits) && digits.trim_end_matches('0').len() <= 9;
    let is_time = within(hour, 23)
        && minute.is_none_or(|minute| within(minute, 59))
        && second.is_none_or(|second| within(second, 59))
        && fraction.is_none_or(|digits| second.is_some() && is_fraction(digits));
    if !is_time || zone.is_empty() {
        return is_time.then_some(false);
    }
    let zone = zone.trim_start();
    let is_zone = match zone.strip_prefix(['+', '-']) {
        None => ["z", "utc", "gmt"].iter().any(|word| zone.eq_ignore_ascii_case(word)),
        Some(distance) => {
            let (hours, minutes) = match distance.split_once(':') {
                None if distance.len() == 4 => distance.split_at_checked(2)?,
                None => (distance, "00"),
                Some(both) => both,
            };
            within(hours, 23) && minutes.len() == 2 && within(minutes, 59)
        }
    };
    is_zone.then_some(true)
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether these are one or two digits of a number up to `most`.
fn within(digits: &str, most: u8) -> bool {
    digits.len() <= 2 && is_number(digits) && digits.parse::<u8>().is_ok_and(|number| number <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_dates() {
        assert_eq!(moment("1970-01-02"), Some(86_400_000_000_000));
        assert_eq!(moment("1970-01-01T00:00:00.5"), Some(500_000_000));
        assert_eq!(moment("tomorrow"), None);
        assert_eq!(moment("17"), None);
    }

    #[test]
    fn all_of_a_text_counts() {
        let hour = 3_600_000_000_000;
        let table = [
            ("1970-1-1 6:00", Some((6 * hour, false))),
            ("1970-01-01T06", Some((6 * hour, false))),
            ("1970-01-01T00:00:00.1234560000", Some((123_456_000, false))),
            ("1970-01-01T06:00:00Z", Some((6 * hour, true))),
            ("1970-01-01 06:00 utc", Some((6 * hour, true))),
            ("1970-01-01T06:00:00+02:00", Some((4 * hour, true))),
            ("1970-01-01T06:00:00 -0200", Some((8 * hour, true))),
            ("1970-01-01T06-02", Some((8 * hour, true))),
            ("-0001-01-01", Some((-62_198_755_200_000_000_000, false))),
        ];
        for (text, expected) in table {
            assert_eq!(zoned(text), expected, "{text}");
        }
        for text in [
            "1970-01-01T06:00:00 Europe/Paris",
            "1970-01-01 to 1970-01-05",
            "1970-01-01 1pm",
            "1970-01-01-12",
            "1970-01-01 ",
            "1970-01-01T",
            "1970-01-01T06.5",
            "1970-01-01T06:00:00.",
            "1970-01-01T06:00:00.1234567891",
            "1970-01-01T06:00:00+05:30:15",
            "1970-01-01T06:00:00+5:3",
            "2016-12-31T23:59:60",
            "2016-12-31T24:30:00",
            "2001-02-30",
            "2001-07",
            "-",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
