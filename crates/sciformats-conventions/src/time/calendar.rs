//! The calendars of the CF conventions (section 4.4.1), and the numbers of days in each.

/// How days are grouped into months and years.
///
/// ```
/// use sciformats_conventions::time::Calendar;
///
/// assert_eq!(Calendar::parse("365_day"), Some(Calendar::NoLeap));
/// let (year, month, day) = (1582, 10, 4);
/// let next = Calendar::Standard.days(year, month, day) + 1;
/// assert_eq!(Calendar::Standard.date(next), (1582, 10, 15)); // ten days were left out
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// Julian before 15 October 1582, and Gregorian from that day on.
    Standard,
    /// Always Gregorian.
    ProlepticGregorian,
    /// Always Julian.
    Julian,
    /// Every year has 365 days.
    NoLeap,
    /// Every year has 366 days.
    AllLeap,
    /// Every month has 30 days.
    Days360,
}

/// The first day of the Gregorian calendar, 15 October 1582, counted from 1 January 1970.
const REFORM: i64 = -141_427;

/// The number of days before each month of a year without a leap day.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

impl Calendar {
    /// Returns the calendar that an attribute `calendar` names, ignoring the case of letters.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::ProlepticGregorian,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    /// Returns the name that the CF conventions prefer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ProlepticGregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Days360 => "360_day",
        }
    }

    /// Returns whether the year before 1 is 0. In historical calendars it is -1.
    pub fn has_year_zero(self) -> bool {
        !matches!(self, Self::Standard | Self::Julian)
    }

    /// Returns whether a year has a leap day. Years before 1 are counted as in [`date`](Self::date).
    fn is_leap(self, astronomical: i64) -> bool {
        let every = |n: i64| astronomical.rem_euclid(n) == 0;
        match self {
            Self::ProlepticGregorian => every(4) && (!every(100) || every(400)),
            Self::Standard if astronomical > 1582 => every(4) && (!every(100) || every(400)),
            Self::Standard | Self::Julian => every(4),
            Self::AllLeap => true,
            Self::NoLeap | Self::Days360 => false,
        }
    }

    /// Returns the number of days in a month.
    ///
    /// ```
    /// use sciformats_conventions::time::Calendar;
    ///
    /// assert_eq!([2000, 2001].map(|year| Calendar::Standard.days_in_month(year, 2)), [29, 28]);
    /// assert_eq!(Calendar::Days360.days_in_month(2001, 2), 30);
    /// ```
    pub fn days_in_month(self, year: i64, month: u8) -> u8 {
        if self == Self::Days360 {
            return 30;
        }
        match month {
            4 | 6 | 9 | 11 => 30,
            2 if self.is_leap(self.astronomical(year)) => 29,
            2 => 28,
            _ => 31,
        }
    }

    /// Returns the year, counted with a year 0.
    fn astronomical(self, year: i64) -> i64 {
        if year < 0 && !self.has_year_zero() { year + 1 } else { year }
    }

    /// Returns whether the calendar has this day.
    ///
    /// ```
    /// use sciformats_conventions::time::Calendar;
    ///
    /// assert!(Calendar::AllLeap.has(2001, 2, 29) && !Calendar::Standard.has(2001, 2, 29));
    /// assert!(!Calendar::Standard.has(1582, 10, 10));
    /// ```
    pub fn has(self, year: i64, month: u8, day: u8) -> bool {
        let left_out = self == Self::Standard && (year, month) == (1582, 10) && (5..15).contains(&day);
        (year != 0 || self.has_year_zero())
            && year.unsigned_abs() < 1 << 40
            && (1..=12).contains(&month)
            && (1..=self.days_in_month(year, month)).contains(&day)
            && !left_out
    }

    /// Returns the number of a day. 1 January 1970 has the number 0 in the calendars of models too. The date
    /// must exist in the calendar.
    pub fn days(self, year: i64, month: u8, day: u8) -> i64 {
        let year = self.astronomical(year);
        let months = (usize::from(month).max(1) - 1).min(11);
        let day = i64::from(day) - 1;
        let before = BEFORE.get(months).copied().unwrap_or(0); // a bound: there are twelve
        let leap = i64::from(months > 1 && self.is_leap(year));
        match self {
            Self::Days360 => (year - 1970) * 360 + 30 * months as i64 + day,
            Self::NoLeap => (year - 1970) * 365 + before + day,
            Self::AllLeap => (year - 1970) * 366 + before + i64::from(months > 1) + day,
            Self::ProlepticGregorian => gregorian(year) + before + leap + day,
            Self::Julian => julian(year) + before + leap + day,
            // The days of October 1582 are counted as in the Julian calendar up to the 4th.
            Self::Standard if (year, month, day + 1) < (1582, 10, 15) => julian(year) + before + leap + day,
            Self::Standard => gregorian(year) + before + leap + day,
        }
    }

    /// Returns the date of a day: the year, the month, and the day of the month.
    pub fn date(self, days: i64) -> (i64, u8, u8) {
        let (year, in_year) = match self {
            Self::Days360 => {
                let (year, rest) = (days.div_euclid(360) + 1970, days.rem_euclid(360));
                return (year, narrow(rest / 30 + 1), narrow(rest % 30 + 1));
            }
            Self::NoLeap => (days.div_euclid(365) + 1970, days.rem_euclid(365)),
            Self::AllLeap => (days.div_euclid(366) + 1970, days.rem_euclid(366)),
            Self::ProlepticGregorian => searched(days, gregorian),
            Self::Julian => searched(days, julian),
            Self::Standard if days < REFORM => searched(days, julian),
            Self::Standard => searched(days, gregorian),
        };
        // In 1582, the year of the reform, the days since its first one are Gregorian from 15 October on. The
        // year has no leap day.
        let leap = self.is_leap(year);
        let mut month = 12u8;
        let mut first = 0;
        for (at, &before) in BEFORE.iter().enumerate().rev() {
            let start = before + i64::from(leap && at > 1);
            if in_year >= start {
                (month, first) = (narrow(at as i64 + 1), start);
                break;
            }
        }
        let shown = if year <= 0 && !self.has_year_zero() { year - 1 } else { year };
        (shown, month, narrow(in_year - first + 1))
    }
}

/// Converts a number that is known to be small.
fn narrow(number: i64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX) // a bound
}

/// Returns the first day of a Gregorian year.
fn gregorian(year: i64) -> i64 {
    let past = year - 1;
    365 * past + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400) - 719_162
}

/// Returns the first day of a Julian year.
fn julian(year: i64) -> i64 {
    let past = year - 1;
    365 * past + past.div_euclid(4) - 719_164
}

/// Returns the year of a day, and the number of the day in that year.
fn searched(days: i64, first: fn(i64) -> i64) -> (i64, i64) {
    let mut year = (days + 719_163).div_euclid(366) + 1;
    // The estimate is too early by at most one year in 1,500.
    let step = |year: i64| (days - first(year)).div_euclid(366);
    while step(year) > 0 {
        year += step(year);
    }
    while first(year + 1) <= days {
        year += 1;
    }
    while first(year) > days {
        year -= 1;
    }
    (year, days - first(year))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Calendar; 6] = [
        Calendar::Standard,
        Calendar::ProlepticGregorian,
        Calendar::Julian,
        Calendar::NoLeap,
        Calendar::AllLeap,
        Calendar::Days360,
    ];

    #[test]
    fn known_days() {
        for calendar in [Calendar::Standard, Calendar::ProlepticGregorian] {
            assert_eq!(calendar.days(1970, 1, 1), 0);
            assert_eq!(calendar.days(2000, 3, 1), 11_017);
            assert_eq!(calendar.days(1582, 10, 15), REFORM);
        }
        // 1 January 1970 is 19 December 1969 in the Julian calendar.
        assert_eq!(Calendar::Julian.days(1969, 12, 19), 0);
        assert_eq!(Calendar::Standard.days(1582, 10, 4), REFORM - 1);
        assert_eq!(Calendar::Standard.days(1, 1, 1), -719_164);
        assert_eq!(Calendar::Standard.date(-719_165), (-1, 12, 31));
        assert_eq!(Calendar::ProlepticGregorian.date(-719_163), (0, 12, 31));
        assert_eq!(Calendar::ProlepticGregorian.days(1582, 10, 10), REFORM - 5);
    }

    proptest! {
        #[test]
        fn days_and_dates_agree(days in -3_000_000_000i64..3_000_000_000, which in 0usize..6) {
            let calendar = ALL[which];
            let (year, month, day) = calendar.date(days);
            prop_assert!(calendar.has(year, month, day), "{calendar:?} {days}: {year}-{month}-{day}");
            prop_assert_eq!(calendar.days(year, month, day), days);
        }
    }
}
