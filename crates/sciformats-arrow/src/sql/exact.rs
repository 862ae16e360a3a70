//! Decimals, times of day and spans in expressions: computed in integers, so that no digit is lost.
//!
//! A literal with a point is a floating-point number, except beside a decimal, where it is the decimal that is written.

use std::cmp::Ordering;
use std::sync::Arc;

use sciformats_conventions::sciformats::{Error, Result};

use super::expr::{Ex, Math, each};
use super::vector::{Value, Vector, order_of_floats};

/// Nanoseconds of a day.
pub(super) const DAY: i128 = 86_400_000_000_000;

/// How many digits decimals have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    /// The digits in all.
    pub(super) all: u8,
    /// Those after the point.
    pub(super) point: u8,
}

impl Digits {
    /// The most digits that 128 bits have.
    pub(super) const MOST: u8 = 38;

    /// Digits before and after the point, as far as there is room for those before it.
    fn of(before: u8, point: u8) -> Self {
        Self { all: before.saturating_add(point).clamp(1, Self::MOST), point } // a bound: the values are checked
    }

    /// The digits of integers of 64 bits.
    const INTEGER: Self = Self { all: 20, point: 0 };

    fn before(self) -> u8 {
        self.all.saturating_sub(self.point) // at least as many digits as there are after the point
    }

    /// Digits that have the values of both.
    pub(super) fn with(self, other: Self) -> Self {
        Self::of(self.before().max(other.before()), self.point.max(other.point))
    }

    /// Returns whether a value has no more digits.
    pub(super) fn fits(self, value: i128) -> bool {
        power(self.all).is_some_and(|end| value.unsigned_abs() < end.unsigned_abs())
    }
}

/// Returns a power of ten.
fn power(of: u8) -> Option<i128> {
    10i128.checked_pow(of.into())
}

/// The error for a decimal with more digits than there is room for.
pub(super) fn too_long() -> Error {
    Error::usage("sql", format!("computes a decimal with more than {} digits", Digits::MOST))
}

/// The error for a time or a span that is too large.
fn too_far() -> Error {
    Error::usage("sql", "computes a date or a span that is out of range")
}

/// Gives a decimal more digits after the point, or fewer: halves are rounded away from zero.
pub(super) fn rescaled(value: i128, from: u8, to: u8) -> Result<i128> {
    if to >= from {
        let factor = power(to.saturating_sub(from)).ok_or_else(too_long)?;
        return value.checked_mul(factor).ok_or_else(too_long);
    }
    match power(from.saturating_sub(to)) {
        Some(unit) => Ok(divided(value, unit)),
        None => Ok(0),
    }
}

/// Divides by a positive number; halves are rounded away from zero.
fn divided(value: i128, by: i128) -> i128 {
    let rest = value.checked_rem(by).unwrap_or_default();
    let whole = value.checked_div(by).unwrap_or_default();
    let up = rest.unsigned_abs() >= by.unsigned_abs().div_ceil(2);
    if up { whole.saturating_add(value.signum()) } else { whole } // smaller than the value
}

/// Compares two decimals.
pub(super) fn order((one, of): (i128, u8), (other, to): (i128, u8)) -> Ordering {
    if of > to {
        return order((other, to), (one, of)).reverse();
    }
    match power(to.saturating_sub(of)).and_then(|factor| one.checked_mul(factor)) {
        Some(one) => one.cmp(&other),
        // It is larger than all that the other one can be.
        None => one.cmp(&0),
    }
}

/// Returns the nearest floating-point number.
pub(super) fn float(value: i128, point: u8) -> f64 {
    // Both numbers and their quotient are rounded once at most.
    if value.unsigned_abs() < 1 << 53 && point <= 22 {
        return value as f64 / 10f64.powi(point.into());
    }
    shown(value, point).parse().unwrap_or(f64::NAN)
}

/// Returns a decimal with all its digits.
pub(super) fn shown(value: i128, point: u8) -> String {
    let digits = value.unsigned_abs().to_string();
    let sign = if value < 0 { "-" } else { "" };
    let point = usize::from(point);
    if point == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = point.saturating_add(1));
    let (whole, part) = digits.split_at_checked(digits.len().saturating_sub(point)).unwrap_or_default();
    format!("{sign}{whole}.{part}")
}

/// Returns the decimal in a text, such as `-1.250`, with as many digits after the point as are written.
pub(super) fn decimal(text: &str) -> Option<(i128, u8)> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let all = digits.bytes().chain(part.bytes()).all(|digit| digit.is_ascii_digit());
    if !all || digits.len().saturating_add(part.len()) == 0 {
        return None;
    }
    let value = format!("{whole}{part}").parse::<i128>().ok()?;
    let point = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
    match u8::try_from(point) {
        Ok(point) => Some((value, point)).filter(|_| point <= Digits::MOST),
        Err(_) => {
            let factor = power(u8::try_from(point.checked_neg()?).ok()?)?;
            Some((value.checked_mul(factor)?, 0))
        }
    }
}

/// Returns the literal that is written with these digits: a decimal if 128 bits have all of them.
pub(super) fn literal(digits: &str) -> Option<Value> {
    let written = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let (value, point) = decimal(digits).filter(|_| written)?;
    let count = u8::try_from(value.unsigned_abs().to_string().len()).ok()?;
    let digits = Digits { all: count.max(point).max(1), point };
    (digits.all <= Digits::MOST).then_some(Value::Decimal(value, digits))
}

/// Returns values that are texts as decimals; the place after `None` is of a text that is none.
pub(super) fn decimals(values: Vector, to: Digits, lenient: bool) -> Result<Vector> {
    let fit = |value: Result<i128>, shown: &dyn Fn() -> String| match value {
        Ok(value) if to.fits(value) => Ok(Some(value)),
        _ if lenient => Ok(None),
        _ => {
            let (value, Digits { all, point }) = (shown(), to);
            Err(Error::usage("sql", format!("takes {value} for a DECIMAL({all}, {point})")))
        }
    };
    macro_rules! all {
        ($values:expr, $of:expr, $shown:expr) => {
            $values
                .into_iter()
                .map(|value| match value {
                    Some(value) => fit($of(&value), &|| $shown(&value)),
                    None => Ok(None),
                })
                .collect::<Result<Vec<_>>>()?
        };
    }
    let plain = |value: &i128| value.to_string();
    let values = match values {
        Vector::Null(rows) => vec![None; rows],
        Vector::Bool(values) => {
            all!(values, |truth: &bool| rescaled(i128::from(*truth), 0, to.point), bool::to_string)
        }
        Vector::Int(values) => all!(values, |value: &i128| rescaled(*value, 0, to.point), plain),
        Vector::Decimal(values, from) => {
            all!(values, |value: &i128| rescaled(*value, from.point, to.point), |value: &i128| shown(
                *value, from.point
            ))
        }
        Vector::Float(values) => all!(
            values,
            |value: &f64| {
                let scaled = (value * 10f64.powi(to.point.into())).round();
                // 2^126 has 38 digits, too.
                let fits = scaled.abs() < 2f64.powi(126);
                if fits { Ok(scaled as i128) } else { Err(too_long()) }
            },
            f64::to_string
        ),
        Vector::Text(values) => all!(
            values,
            |text: &Arc<str>| {
                let (value, point) = decimal(text.trim()).ok_or_else(too_long)?;
                rescaled(value, point, to.point)
            },
            |text: &Arc<str>| format!("{text:?}")
        ),
        other => return Err(super::vector::wrong("a conversion to a decimal", &other)),
    };
    Ok(Vector::Decimal(values, to))
}

/// Returns decimals and integers as decimals of some digits.
fn as_decimals(values: &Vector) -> Option<(Vec<Option<i128>>, Digits)> {
    match values {
        Vector::Decimal(values, digits) => Some((values.clone(), *digits)),
        Vector::Int(values) => Some((values.clone(), Digits::INTEGER)),
        _ => None,
    }
}

/// Makes literals beside decimals the decimals that are written.
pub(super) fn beside_decimals<'e>(all: impl IntoIterator<Item = &'e Ex>, values: &mut [Vector]) {
    if !values.iter().any(|values| matches!(values, Vector::Decimal(..))) {
        return;
    }
    for (of, values) in all.into_iter().zip(values) {
        if let Ex::Literal(Value::Decimal(value, digits)) = of {
            *values = Vector::Decimal(vec![Some(*value); values.len()], *digits);
        }
    }
}

/// Gives decimals that stand for the same thing as other numbers one type: that of floating-point numbers if there are
/// some, and otherwise decimals with the digits of all. `None` if there are no decimals, or other values.
pub(super) fn unified(all: &[Vector]) -> Result<Option<Vec<Vector>>> {
    let decimal = |of: &Vector| matches!(of, Vector::Decimal(..));
    let number =
        |of: &Vector| decimal(of) || matches!(of, Vector::Int(_) | Vector::Float(_) | Vector::Null(_));
    if !all.iter().any(decimal) || !all.iter().all(number) {
        return Ok(None);
    }
    if all.iter().any(|of| matches!(of, Vector::Float(_))) {
        let floats = all.iter().map(|of| match of {
            Vector::Decimal(..) => of.clone().floats("a choice").map(Vector::Float),
            other => Ok(other.clone()),
        });
        return floats.collect::<Result<_>>().map(Some);
    }
    let digits = all.iter().filter_map(|of| as_decimals(of).map(|(_, digits)| digits));
    let digits = digits.reduce(Digits::with).unwrap_or(Digits::INTEGER);
    let same = |of: &Vector| matches!(of, Vector::Decimal(_, own) if *own == digits);
    if all.iter().all(|of| same(of) || matches!(of, Vector::Null(_))) {
        return Ok(None);
    }
    let decimals = all.iter().map(|of| match of {
        Vector::Null(rows) => Ok(Vector::Null(*rows)),
        other => decimals(other.clone(), digits, false),
    });
    decimals.collect::<Result<_>>().map(Some)
}

/// Makes the types of two sides of a comparison equal.
pub(super) fn alike(left: Vector, right: Vector) -> Result<(Vector, Vector)> {
    use super::cast::{To, cast};
    let seconds = |values: Vector| match values {
        Vector::Int(values) => spans_of(values).map(Vector::Span),
        other => Ok(other),
    };
    Ok(match (&left, &right) {
        (Vector::Time(_), Vector::Text(_)) => (left, cast(right, To::Time, false)?),
        (Vector::Text(_), Vector::Time(_)) => (cast(left, To::Time, false)?, right),
        (Vector::Span(_), Vector::Text(_)) => (left, cast(right, To::Span, false)?),
        (Vector::Text(_), Vector::Span(_)) => (cast(left, To::Span, false)?, right),
        (Vector::Decimal(_, digits), Vector::Int(_)) => {
            let digits = *digits;
            (left, decimals(right, digits.with(Digits::INTEGER), false)?)
        }
        (Vector::Int(_), Vector::Decimal(_, digits)) => {
            let digits = *digits;
            (decimals(left, digits.with(Digits::INTEGER), false)?, right)
        }
        (Vector::Decimal(..), Vector::Float(_))
        | (Vector::Span(_), Vector::Float(_) | Vector::Decimal(..)) => {
            (Vector::Float(left.floats("a comparison")?), Vector::Float(right.floats("a comparison")?))
        }
        (Vector::Float(_), Vector::Decimal(..))
        | (Vector::Float(_) | Vector::Decimal(..), Vector::Span(_)) => {
            (Vector::Float(left.floats("a comparison")?), Vector::Float(right.floats("a comparison")?))
        }
        (Vector::Span(_), Vector::Int(_)) => (left, seconds(right)?),
        (Vector::Int(_), Vector::Span(_)) => (seconds(left)?, right),
        _ => (left, right),
    })
}

/// Returns numbers of seconds as spans.
fn spans_of(values: Vec<Option<i128>>) -> Result<Vec<Option<i128>>> {
    each(values, |seconds| seconds.checked_mul(1_000_000_000).ok_or_else(too_far))
}

/// Returns a number of nanoseconds that was computed as a floating-point number.
fn nanoseconds(value: f64) -> Result<i128> {
    // 2^126: beyond all that an array can have.
    if value.abs() < 2f64.powi(126) { Ok(value.round() as i128) } else { Err(too_far()) }
}

/// Computes each pair of values.
fn zipped<T: Copy, U: Copy>(
    left: &[Option<T>],
    right: &[Option<U>],
    of: impl Fn(T, U) -> Result<Option<i128>>,
) -> Result<Vec<Option<i128>>> {
    let pairs = left.iter().zip(right);
    let computed = pairs.map(|pair| match pair {
        (Some(left), Some(right)) => of(*left, *right),
        _ => Ok(None),
    });
    computed.collect()
}

/// Computes with decimals, times and spans; `None` if floating-point numbers, or none of them, are to be computed.
pub(super) fn math(math: Math, left: &Vector, right: &Vector) -> Result<Option<Vector>> {
    let sum = |l: i128, r: i128| l.checked_add(r).map(Some).ok_or_else(too_far);
    let difference = |l: i128, r: i128| l.checked_sub(r).map(Some).ok_or_else(too_far);
    let number = |of: &Vector| matches!(of, Vector::Int(_) | Vector::Float(_) | Vector::Decimal(..));
    Ok(Some(match (math, left, right) {
        (_, Vector::Decimal(..), Vector::Decimal(..) | Vector::Int(_))
        | (_, Vector::Int(_), Vector::Decimal(..)) => {
            return of_decimals(math, left, right);
        }
        (Math::Subtract, Vector::Moment(l), Vector::Moment(r)) => Vector::Span(zipped(l, r, difference)?),
        (Math::Add, Vector::Moment(l), Vector::Span(r) | Vector::Time(r))
        | (Math::Add, Vector::Span(r) | Vector::Time(r), Vector::Moment(l)) => {
            Vector::Moment(zipped(l, r, sum)?)
        }
        (Math::Subtract, Vector::Moment(l), Vector::Span(r)) => Vector::Moment(zipped(l, r, difference)?),
        (Math::Add, Vector::Time(l), Vector::Span(r)) | (Math::Add, Vector::Span(r), Vector::Time(l)) => {
            Vector::Time(each(zipped(l, r, sum)?, |time| Ok(time.rem_euclid(DAY)))?)
        }
        (Math::Subtract, Vector::Time(l), Vector::Span(r)) => {
            Vector::Time(each(zipped(l, r, difference)?, |time| Ok(time.rem_euclid(DAY)))?)
        }
        (Math::Add, Vector::Span(l), Vector::Span(r)) => Vector::Span(zipped(l, r, sum)?),
        (Math::Subtract, Vector::Span(l), Vector::Span(r)) => Vector::Span(zipped(l, r, difference)?),
        (Math::Add | Math::Subtract, Vector::Span(_), of) if number(of) => {
            return self::math(math, left, &seconds(of.clone())?);
        }
        (Math::Add | Math::Subtract, of, Vector::Span(_)) if number(of) => {
            return self::math(math, &seconds(of.clone())?, right);
        }
        (Math::Multiply, Vector::Span(l), Vector::Int(r))
        | (Math::Multiply, Vector::Int(r), Vector::Span(l)) => {
            Vector::Span(zipped(l, r, |l, r| l.checked_mul(r).map(Some).ok_or_else(too_far))?)
        }
        (Math::Multiply, Vector::Span(l), of) | (Math::Multiply, of, Vector::Span(l)) if number(of) => {
            let factors = of.clone().floats("a factor")?;
            Vector::Span(zipped(l, &factors, |l, r: f64| nanoseconds(l as f64 * r).map(Some))?)
        }
        (Math::Divide, Vector::Span(l), of) if number(of) => {
            let parts = of.clone().floats("a divisor")?;
            let of = |l: i128, r: f64| if r == 0.0 { Ok(None) } else { nanoseconds(l as f64 / r).map(Some) };
            Vector::Span(zipped(l, &parts, of)?)
        }
        _ => return Ok(None),
    }))
}

/// Returns numbers of seconds beside spans as spans.
fn seconds(values: Vector) -> Result<Vector> {
    match values {
        Vector::Int(values) => spans_of(values).map(Vector::Span),
        other => {
            let values = other.floats("a number of seconds beside a span")?;
            each(values, |seconds| nanoseconds(seconds * 1e9)).map(Vector::Span)
        }
    }
}

fn of_decimals(math: Math, left: &Vector, right: &Vector) -> Result<Option<Vector>> {
    let (Some((left, of)), Some((right, to))) = (as_decimals(left), as_decimals(right)) else {
        return Ok(None);
    };
    let point = of.point.max(to.point);
    let both =
        |l: i128, r: i128| Ok::<_, Error>((rescaled(l, of.point, point)?, rescaled(r, to.point, point)?));
    let sum = Digits::of(of.before().max(to.before()).saturating_add(1), point); // at most 39
    let exact = |value: Option<i128>| value.map(Some).ok_or_else(too_long);
    let (values, digits) = match math {
        Math::Add => {
            (zipped(&left, &right, |l, r| both(l, r).and_then(|(l, r)| exact(l.checked_add(r))))?, sum)
        }
        Math::Subtract => {
            (zipped(&left, &right, |l, r| both(l, r).and_then(|(l, r)| exact(l.checked_sub(r))))?, sum)
        }
        Math::Remainder => {
            let of = |l: i128, r: i128| {
                let (l, r) = both(l, r)?;
                Ok(l.checked_rem(r))
            };
            (zipped(&left, &right, of)?, sum)
        }
        Math::Multiply => {
            let point = of.point.checked_add(to.point).filter(|point| *point <= Digits::MOST);
            let point = point.ok_or_else(too_long)?;
            let digits = Digits::of(of.before().saturating_add(to.before()), point); // at most 76
            (zipped(&left, &right, |l, r| exact(l.checked_mul(r)))?, digits)
        }
        // As of integers, the quotient is a floating-point number.
        Math::Divide => return Ok(None),
    };
    Ok(Some(Vector::Decimal(values, digits)))
}

/// Negates decimals and spans.
pub(super) fn negative(values: Vector) -> Result<Vector> {
    Ok(match values {
        Vector::Decimal(values, digits) => {
            Vector::Decimal(each(values, |value| value.checked_neg().ok_or_else(too_long))?, digits)
        }
        Vector::Span(values) => Vector::Span(each(values, |span| span.checked_neg().ok_or_else(too_far))?),
        other => return Err(super::vector::wrong("a negation", &other)),
    })
}

/// Rounds decimals to a number of digits after the point, which they all keep, since each row may have another number.
pub(super) fn rounded(
    values: Vec<Option<i128>>,
    digits: Digits,
    wanted: &[Option<i128>],
    of: fn(i128, i128) -> i128,
) -> Result<Vector> {
    let round = |(value, wanted): (Option<i128>, &Option<i128>)| {
        let (Some(value), Some(wanted)) = (value, wanted) else { return Ok(None) };
        let left = i128::from(digits.point).saturating_sub(*wanted); // a bound
        let Ok(left) = u8::try_from(left.clamp(0, 39)) else { return Ok(Some(0)) };
        match power(left) {
            Some(unit) => of(value, unit).checked_mul(unit).map(Some).ok_or_else(too_long),
            None => Ok(Some(0)),
        }
    };
    let rounded = values.into_iter().zip(wanted).map(round).collect::<Result<Vec<_>>>()?;
    // A carry may need one more digit.
    let digits = Digits { all: digits.all.saturating_add(1).min(Digits::MOST), ..digits };
    Ok(Vector::Decimal(rounded, digits))
}

/// Divides by a unit, to the nearest number.
pub(super) fn nearest(value: i128, unit: i128) -> i128 {
    if unit == 1 { value } else { divided(value, unit) }
}

/// Divides by a unit, to the next smaller number.
pub(super) fn down(value: i128, unit: i128) -> i128 {
    value.div_euclid(unit)
}

/// Divides by a unit, to the next larger number.
pub(super) fn up(value: i128, unit: i128) -> i128 {
    value.saturating_neg().div_euclid(unit).saturating_neg() // decimals have 38 digits
}

/// Returns times and spans as `HH:MM:SS` with the digits of a fraction that are not zero.
pub(super) fn clock(nanoseconds: i128) -> String {
    let (sign, of) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.unsigned_abs());
    let (seconds, part) = (of / 1_000_000_000, of % 1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
    if part > 0 {
        text.push('.');
        text.push_str(format!("{part:09}").trim_end_matches('0'));
    }
    text
}

/// Returns the nanoseconds of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fff`.
fn hours(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let number = |text: &str| {
        if text.bytes().all(|digit| digit.is_ascii_digit()) { text.parse::<i64>().ok() } else { None }
    };
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = match parts.next() {
        None => 0,
        Some(text) => {
            let (value, point) =
                decimal(text).filter(|_| text.starts_with(|first: char| first.is_ascii_digit()))?;
            if value >= rescaled(60, 0, point).ok()? {
                return None;
            }
            rescaled(value, point, 9).ok()?
        }
    };
    let clock = i128::from(hours) * 3600 + i128::from(minutes) * 60;
    (parts.next().is_none() && minutes < 60).then_some(clock * 1_000_000_000 + seconds)
}

/// Returns the time of day in a text, which may follow a date.
pub(super) fn time(text: &str) -> Option<i128> {
    let of = match text.split_once([' ', 'T']) {
        Some((date, of)) => {
            crate::dates::moment(date)?;
            of
        }
        None => text,
    };
    hours(of).filter(|time| *time < DAY)
}

/// Returns the nanoseconds of a unit, if each has the same.
pub(super) fn unit(name: &str) -> Option<i128> {
    let name = name.to_ascii_lowercase();
    Some(match name.strip_suffix('s').unwrap_or(&name) {
        "nanosecond" => 1,
        "microsecond" | "u" => 1000,
        "millisecond" | "m" if name != "m" => 1_000_000,
        "second" | "sec" | "" => 1_000_000_000,
        "minute" | "min" | "m" => 60_000_000_000,
        "hour" | "h" => 3_600_000_000_000,
        "day" | "d" => DAY,
        "week" | "w" => 7 * DAY,
        _ => return None,
    })
}

/// Returns a number of units, written as a decimal.
pub(super) fn times(number: &str, unit: i128) -> Option<i128> {
    let (value, point) = decimal(number)?;
    rescaled(value.checked_mul(unit)?, point, 0).ok()
}

/// Returns the span in a text, such as `01:30:00`, `90 seconds` or `1 day 02:00`.
pub(super) fn span(text: &str) -> Option<i128> {
    let mut words = text.split_whitespace();
    let mut span: Option<i128> = None;
    while let Some(word) = words.next() {
        let (sign, plain) = match word.strip_prefix('-') {
            Some(plain) => (-1, plain),
            None => (1, word),
        };
        let part = match hours(plain) {
            Some(part) => sign * part,
            None => times(word, unit(words.next()?)?)?,
        };
        span = Some(span.unwrap_or_default().checked_add(part)?);
    }
    span
}

/// Returns the texts of decimals, times and spans; `None` for other values.
pub(super) fn texts(values: &Vector) -> Option<Vec<Option<Arc<str>>>> {
    let of = |values: &[Option<i128>], shown: &dyn Fn(i128) -> String| {
        values.iter().map(|value| value.map(|value| Arc::from(shown(value)))).collect()
    };
    Some(match values {
        Vector::Decimal(values, digits) => of(values, &|value| shown(value, digits.point)),
        Vector::Time(values) | Vector::Span(values) => of(values, &clock),
        _ => return None,
    })
}

/// Returns what integers stand for that were computed of values of a type.
pub(super) fn of_kind(kind: Option<&Vector>, value: Value) -> Value {
    match (kind, value) {
        (Some(Vector::Decimal(_, digits)), Value::Int(value)) => {
            Value::Decimal(value, Digits { all: Digits::MOST, ..*digits })
        }
        (Some(Vector::Time(_)), Value::Int(value)) => Value::Time(value),
        (Some(Vector::Span(_)), Value::Int(value)) => Value::Span(value),
        (_, value) => value,
    }
}

/// Returns the mean of a sum of integers.
pub(super) fn mean(sum: i128, count: u64) -> i128 {
    divided(sum, count.max(1).into())
}

/// Compares a decimal with another number.
pub(super) fn order_of_values(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Decimal(one, of), Value::Decimal(other, to)) => {
            Some(order((*one, of.point), (*other, to.point)))
        }
        (Value::Decimal(one, of), Value::Int(other)) => Some(order((*one, of.point), (*other, 0))),
        (Value::Int(one), Value::Decimal(other, to)) => Some(order((*one, 0), (*other, to.point))),
        (Value::Decimal(one, of), Value::Float(other)) => {
            Some(order_of_floats(float(*one, of.point), *other))
        }
        (Value::Float(one), Value::Decimal(other, to)) => {
            Some(order_of_floats(*one, float(*other, to.point)))
        }
        (Value::Time(one), Value::Time(other)) | (Value::Span(one), Value::Span(other)) => {
            Some(one.cmp(other))
        }
        _ => None,
    }
}
