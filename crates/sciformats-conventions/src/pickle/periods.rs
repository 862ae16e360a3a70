//! Lengths of the periods of pandas.

use super::Item;
use super::objects::whole;
use crate::time::Period;

/// Returns the length of the periods that an object of pandas describes, such as `MonthEnd`. Years and quarters that end in
/// another month have the numbers and labels of those that do not.
pub(crate) fn period(item: &Item) -> Option<Period> {
    let Item::Object(class, parts) = item else { return None };
    let arguments = match parts.first().map(|arguments| &**arguments) {
        Some(Item::List(arguments)) => arguments.as_slice(),
        _ => &[],
    };
    Some(match class.as_str() {
        "YearEnd" => Period::Year,
        "QuarterEnd" => Period::Quarter,
        "MonthEnd" => Period::Month,
        // The last day of the week, where 0 is a Monday.
        "Week" => Period::Week(u8::try_from(whole(arguments.get(2)?)?).ok().filter(|day| *day < 7)?),
        "BusinessDay" => Period::BusinessDay,
        "Day" => Period::Day,
        "Hour" => Period::Hour,
        "Minute" => Period::Minute,
        "Second" => Period::Second,
        "Milli" => Period::Millisecond,
        "Micro" => Period::Microsecond,
        "Nano" => Period::Nanosecond,
        _ => return None,
    })
}

/// Returns the length of the periods in the type of a column: `period[M]`, `period[W-SUN]`. Periods of several months count
/// months too.
pub(crate) fn period_of_type(kind: &str) -> Option<Period> {
    let freq = kind.strip_prefix("period[")?.strip_suffix(']')?;
    let freq = freq.trim_start_matches(|of: char| of.is_ascii_digit());
    let (base, end) = freq.split_once('-').unwrap_or((freq, ""));
    Some(match base {
        "Y" | "A" | "YE" => Period::Year,
        "Q" | "QE" => Period::Quarter,
        "M" | "ME" => Period::Month,
        "W" => {
            let days = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
            let end = if end.is_empty() { "SUN" } else { end };
            Period::Week(u8::try_from(days.iter().position(|day| *day == end)?).ok()?)
        }
        "B" => Period::BusinessDay,
        "D" => Period::Day,
        "h" | "H" => Period::Hour,
        "min" | "T" => Period::Minute,
        "s" | "S" => Period::Second,
        "ms" | "L" => Period::Millisecond,
        "us" | "U" => Period::Microsecond,
        "ns" | "N" => Period::Nanosecond,
        _ => return None,
    })
}
