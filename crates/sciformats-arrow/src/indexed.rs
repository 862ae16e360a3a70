//! Conditions that indexes of `PyTables` answer.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_schema::DataType;
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::sciformats::{ElementType, Result};
use sciformats_conventions::{Column, StoredValue, TableIndex, Undecoded};

use crate::dates::moment;
use crate::predicate::{Comparison, Predicate, Scalar, nearest, order_of_mixed};

/// What the stored values of a column stand for, where their order is that of the values.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Numbers,
    Texts,
    /// Nanoseconds since 1970: the length of a step, and the moment of zero.
    Moments(i128, i128),
}

impl Meaning {
    /// Returns the meaning of a column, of which no rows were read.
    fn of(none: &Undecoded) -> Option<Self> {
        match none {
            Undecoded::Padded { decoding: Decoding::Stored | Decoding::Text { .. }, .. } => Some(Self::Texts),
            Undecoded::Stored { element, decoding, .. } => match (element, decoding) {
                (
                    ElementType::Int(1..=8)
                    | ElementType::UInt(1..=8)
                    | ElementType::F16
                    | ElementType::F32
                    | ElementType::F64,
                    Decoding::Stored,
                ) => Some(Self::Numbers),
                (_, Decoding::Time { numbers, units }) => {
                    let whole = matches!(numbers.from, ElementType::Int(_) | ElementType::UInt(1..=4));
                    let plain = numbers.scale.is_none() && numbers.offset.is_none();
                    let (step, origin) = units.line();
                    (whole && plain && step > 0).then_some(Self::Moments(step, origin))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the order of a stored value and another one; `None` if they cannot be compared.
    fn order(self, stored: &StoredValue, value: &Scalar) -> Option<Ordering> {
        match (self, stored, value) {
            (Self::Numbers, StoredValue::Int(stored), Scalar::Int(value)) => Some(stored.cmp(value)),
            (Self::Numbers, StoredValue::Int(stored), Scalar::Float(value)) => {
                order_of_mixed(*stored, *value)
            }
            // What is no number is larger than all others.
            (Self::Numbers, StoredValue::Float(stored), _) if stored.is_nan() => Some(Ordering::Greater),
            (Self::Numbers, StoredValue::Float(stored), Scalar::Int(value)) => {
                order_of_mixed(*value, *stored).map(Ordering::reverse)
            }
            (Self::Numbers, StoredValue::Float(stored), Scalar::Float(value)) => stored.partial_cmp(value),
            (Self::Texts, StoredValue::Text(stored), Scalar::Text(value)) => {
                Some(stored.as_slice().cmp(value.as_bytes()))
            }
            (Self::Moments(step, origin), StoredValue::Int(stored), Scalar::Moment(value)) => {
                Some(stored.checked_mul(step)?.checked_add(origin)?.cmp(value))
            }
            _ => None,
        }
    }
}

/// Returns the rows of which an index of a column says that they can satisfy all of its conditions; `None` if it says
/// nothing, or nothing that helps.
pub(crate) fn rows(column: &Column, conditions: &[&Predicate], rows: u64) -> Option<Vec<Range<u64>>> {
    let none = sciformats_conventions::Table::read_undecoded(&[column], (0, 0)).ok()?.pop()?;
    let meaning = Meaning::of(&none)?;
    let narrow = match &none {
        Undecoded::Stored { element: ElementType::F16, .. } => Some(DataType::Float16),
        Undecoded::Stored { element: ElementType::F32, .. } => Some(DataType::Float32),
        _ => None,
    };
    let mut bounds = Vec::new();
    for of in conditions {
        let value = match (&of.value, meaning) {
            (Scalar::Text(text), Meaning::Moments(..)) => Scalar::Moment(moment(text)?),
            (Scalar::Float(value), _) if value.is_nan() => return None,
            // As where values are compared one by one.
            (Scalar::Float(value), _) => {
                Scalar::Float(narrow.as_ref().map_or(*value, |kind| nearest(kind, *value)))
            }
            (Scalar::Int(value), _) if narrow.is_some() => {
                Scalar::Float(narrow.as_ref().map_or(*value as f64, |kind| nearest(kind, *value as f64)))
            }
            (value, _) => value.clone(),
        };
        if of.comparison != Comparison::NotEqual {
            bounds.push((of.comparison, value));
        }
    }
    if bounds.is_empty() {
        return None;
    }
    let strange = std::cell::Cell::new(false);
    let place = |stored: &StoredValue| {
        let mut after = false;
        for (comparison, value) in &bounds {
            let Some(order) = meaning.order(stored, value) else {
                strange.set(true);
                return Ordering::Equal;
            };
            if comparison.allows(order) && !is_nan(stored) {
                continue;
            }
            let is_before = match comparison {
                Comparison::Greater | Comparison::GreaterOrEqual => order.is_le(),
                Comparison::Equal => order.is_lt(),
                _ => false,
            };
            if is_before {
                return Ordering::Less;
            }
            after = true;
        }
        if after { Ordering::Greater } else { Ordering::Equal }
    };
    // An index that cannot be read is of no use, but the table does not need it.
    let search = || -> Result<Option<Vec<Range<u64>>>> {
        let Some(index) = TableIndex::of(column, rows)? else { return Ok(None) };
        index.rows(&place)
    };
    let found = search().ok().flatten()?;
    (!strange.get()).then_some(found)
}

fn is_nan(stored: &StoredValue) -> bool {
    matches!(stored, StoredValue::Float(value) if value.is_nan())
}

/// Returns the rows that are in both of two lists of ranges in ascending order.
pub(crate) fn both(one: &[Range<u64>], other: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let (start, end) = (one.start.max(other.start), one.end.min(other.end));
        if start < end {
            found.push(start..end);
        }
        if one.end <= other.end {
            left.next()
        } else {
            right.next()
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    #[test]
    fn ranges_have_common_rows() {
        assert_eq!(both(&[0..4, 6..9], &[2..7, 8..20]), [2..4, 6..7, 8..9]);
        let (front, back) = (0..4, 4..7);
        assert!(both(from_ref(&front), from_ref(&back)).is_empty());
        assert!(both(&[], from_ref(&front)).is_empty());
    }

    #[test]
    fn stored_values_have_the_order_of_their_meaning() {
        let order = |meaning: Meaning, stored, value| meaning.order(&stored, &value);
        assert_eq!(order(Meaning::Numbers, StoredValue::Int(2), Scalar::Float(2.5)), Some(Ordering::Less));
        assert_eq!(order(Meaning::Numbers, StoredValue::Float(2.5), Scalar::Int(2)), Some(Ordering::Greater));
        assert_eq!(
            order(Meaning::Numbers, StoredValue::Float(f64::NAN), Scalar::Int(2)),
            Some(Ordering::Greater)
        );
        assert_eq!(
            order(Meaning::Texts, StoredValue::Text(b"ab".to_vec()), "b".into()),
            Some(Ordering::Less)
        );
        assert_eq!(order(Meaning::Texts, StoredValue::Int(1), "b".into()), None);
        let seconds = Meaning::Moments(1_000_000_000, 0);
        assert_eq!(order(seconds, StoredValue::Int(2), Scalar::Moment(2_000_000_000)), Some(Ordering::Equal));
    }
}
