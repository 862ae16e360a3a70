//! Ticks for axes of dates: years, months, days and times of day in a calendar.

use sciformats_conventions::time::{Calendar, DateTime};

use super::ticks::Tick;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The distance between two ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Seconds(i64),
    Months(i64),
}

/// The possible distances between ticks, in ascending order; longer ones are years in powers of ten.
const STEPS: [Step; 23] = [
    Step::Seconds(1),
    Step::Seconds(5),
    Step::Seconds(10),
    Step::Seconds(30),
    Step::Seconds(MINUTE),
    Step::Seconds(5 * MINUTE),
    Step::Seconds(10 * MINUTE),
    Step::Seconds(30 * MINUTE),
    Step::Seconds(HOUR),
    Step::Seconds(3 * HOUR),
    Step::Seconds(6 * HOUR),
    Step::Seconds(12 * HOUR),
    Step::Seconds(DAY),
    Step::Seconds(2 * DAY),
    Step::Seconds(5 * DAY),
    Step::Seconds(10 * DAY),
    Step::Months(1),
    Step::Months(2),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(24),
    Step::Months(60),
];

impl Step {
    /// Returns the approximate length in seconds.
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds as f64,
            Self::Months(months) => months as f64 * 30.4 * DAY as f64,
        }
    }
}

/// Returns the moment that a number of seconds since 1970 stands for.
fn moment(calendar: Calendar, seconds: f64) -> Option<DateTime> {
    // Every date of a calendar fits 64 bits of seconds; other numbers are not dates.
    DateTime::at(calendar, i128::from(seconds as i64) * 1_000_000_000)
}

fn seconds(calendar: Calendar, moment: &DateTime) -> f64 {
    (moment.nanoseconds(calendar) / 1_000_000_000) as f64
}

/// Returns at most `most` ticks between two moments in seconds since 1970.
pub(super) fn ticks(calendar: Calendar, (low, high): (f64, f64), most: usize) -> Vec<Tick> {
    let years = (0..7).flat_map(|power| [1, 2, 5].map(|digit| Step::Months(12 * digit * 10i64.pow(power))));
    let steps = STEPS.into_iter().chain(years.skip(3));
    for step in steps.filter(|step| (high - low) / step.seconds() <= most as f64 * 1.1) {
        let found = match step {
            Step::Seconds(length) => even(calendar, (low, high), length),
            Step::Months(months) => monthly(calendar, (low, high), months),
        };
        if found.len() <= most {
            return found;
        }
    }
    Vec::new()
}

fn even(calendar: Calendar, (low, high): (f64, f64), length: i64) -> Vec<Tick> {
    let step = length as f64;
    let first = (low / step).ceil();
    let count = ((high / step + 1e-9).floor() - first + 1.0).max(0.0) as usize;
    let values = (0..count).map(|i| (first + i as f64) * step);
    let text = |moment: &DateTime| {
        let midnight = (moment.hour, moment.minute, moment.second) == (0, 0, 0);
        match (midnight, length < MINUTE) {
            (true, _) => day(moment),
            (false, false) => format!("{:02}:{:02}", moment.hour, moment.minute),
            (false, true) => format!("{:02}:{:02}:{:02}", moment.hour, moment.minute, moment.second),
        }
    };
    values.filter_map(|value| Some(Tick { value, text: text(&moment(calendar, value)?) })).collect()
}

fn monthly(calendar: Calendar, (low, high): (f64, f64), months: i64) -> Vec<Tick> {
    let (Some(first), Some(last)) = (moment(calendar, low), moment(calendar, high)) else {
        return Vec::new();
    };
    let counted =
        |moment: &DateTime| moment.year.checked_mul(12).map(|all| all + i64::from(moment.month) - 1);
    let (Some(first), Some(last)) = (counted(&first), counted(&last)) else { return Vec::new() };
    let start = first.div_euclid(months).checked_mul(months).unwrap_or(first); // a bound of what is gone through
    let mut found = Vec::new();
    for at in (0..=64).filter_map(|i| months.checked_mul(i)?.checked_add(start)) {
        let Ok(month) = u8::try_from(at.rem_euclid(12) + 1) else { continue };
        let Some(moment) = DateTime::new(calendar, (at.div_euclid(12), month, 1), (0, 0, 0)) else {
            continue;
        };
        let value = seconds(calendar, &moment);
        if at <= last && value >= low && value <= high {
            let text = if months % 12 == 0 {
                moment.year.to_string()
            } else {
                format!("{}-{month:02}", moment.year)
            };
            found.push(Tick { value, text });
        }
    }
    found
}

fn day(moment: &DateTime) -> String {
    moment.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// Formats a moment of an axis.
pub(crate) fn shown(calendar: Calendar, seconds: f64) -> Option<String> {
    if !seconds.is_finite() {
        return None;
    }
    moment(calendar, seconds).map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(from: &str, to: &str, most: usize) -> String {
        let calendar = Calendar::Standard;
        let at = |text: &str| seconds(calendar, &DateTime::parse(text, calendar).unwrap());
        let ticks = ticks(calendar, (at(from), at(to)), most);
        assert!(ticks.len() <= most, "{ticks:?}");
        ticks.into_iter().map(|tick| tick.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn round_dates() {
        assert_eq!(texts("2001-01-01", "2003-12-31", 5), "2001 2002 2003");
        assert_eq!(texts("2001-01-15", "2001-12-15", 6), "2001-03 2001-05 2001-07 2001-09 2001-11");
        assert_eq!(texts("2001-01-01", "2001-01-03", 3), "2001-01-01 2001-01-02 2001-01-03");
        assert_eq!(texts("2001-01-01", "2001-01-01T12:00", 5), "2001-01-01 03:00 06:00 09:00 12:00");
        assert_eq!(
            texts("2001-01-01T00:00:01", "2001-01-01T00:00:20", 4),
            "00:00:05 00:00:10 00:00:15 00:00:20"
        );
        assert_eq!(texts("0850-01-01", "1850-01-01", 6), "1000 1200 1400 1600 1800");
        assert_eq!(texts("2001-01-01", "2001-01-01", 6), "2001-01-01");
        assert_eq!(shown(Calendar::Days360, 86_400.0).as_deref(), Some("1970-01-02T00:00:00"));
    }
}
