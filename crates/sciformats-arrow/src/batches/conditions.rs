//! The conditions that rows must satisfy, and the search in columns that are in order.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Column, Table};

use super::{Options, column, error_of, same_rows};
use crate::decode;
use crate::predicate::{Comparison, Predicate, Scalar};

/// A condition with its column.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) predicate: Predicate,
    pub(super) column: Column,
    pub(super) kind: DataType,
    /// Whether its categories have an order.
    pub(super) ordered: bool,
    /// The place among the columns that are read, if it is one of them.
    pub(super) place: Option<usize>,
}

/// Returns the conditions with their columns, and checks that they can be compared.
pub(super) fn tests(table: &Table, options: &Options, chosen: &[&Column]) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for predicate in &options.filter {
        let of = column(table, &predicate.column)?;
        same_rows(table, of)?;
        let none = Table::read_undecoded(&[of], (0, 0))?.pop();
        let none = none.ok_or_else(|| Error::internal("an empty column was not read"))?;
        let kind = decode::data_type(of, &none).map_err(|error| error_of(of, error))?;
        let ordered = decode::is_ordered(&none);
        predicate.mask(decode::array(of, (&kind, 0), none)?.as_ref(), ordered)?;
        let place = chosen.iter().position(|chosen| std::ptr::eq(*chosen, of));
        tests.push(Test { predicate: predicate.clone(), column: of.clone(), kind, ordered, place });
    }
    Ok(tests)
}

/// Returns the rows of a column in ascending order that satisfy the conditions on it.
pub(super) fn search(tests: &[Test], sorted: &str, rows: Range<u64>) -> Result<Range<u64>> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let mut rows = rows;
    for test in tests.iter().filter(|test| test.predicate.column == sorted) {
        // A text that is none of the categories has no place among them.
        if matches!(test.kind, DataType::Dictionary(..)) && !test.predicate.needs_order() {
            continue;
        }
        let first_not = |comparison: Comparison, negated: bool| -> Result<Option<u64>> {
            let predicate = Predicate { comparison, ..test.predicate.clone() };
            let mut left = Left::new(&rows, &test.predicate.value);
            // The values at both ends tell where the others are likely to be.
            for end in left.ends() {
                left.values.push((end, number(value_at(test, end)?.as_ref())));
            }
            while left.low < left.high {
                let at = left.next();
                let value = value_at(test, at)?;
                // A missing value has no place in an order.
                if value.is_null(0) || is_nan(value.as_ref()) {
                    return Ok(None);
                }
                let before = predicate.mask(value.as_ref(), test.ordered)?.value(0) != negated;
                left.narrow(at, before, number(value.as_ref()));
            }
            Ok(Some(left.low))
        };
        let (start, end) = match test.predicate.comparison {
            NotEqual => continue,
            Equal => (first_not(Less, false)?, first_not(LessOrEqual, false)?),
            Less => (Some(rows.start), first_not(Less, false)?),
            LessOrEqual => (Some(rows.start), first_not(LessOrEqual, false)?),
            Greater => (first_not(Greater, true)?, Some(rows.end)),
            GreaterOrEqual => (first_not(GreaterOrEqual, true)?, Some(rows.end)),
        };
        if let (Some(start), Some(end)) = (start, end) {
            rows = start..end.max(start);
        }
    }
    Ok(rows)
}

/// Reads one value of the column of a condition.
fn value_at(test: &Test, row: u64) -> Result<ArrayRef> {
    let read = Table::read_undecoded(&[&test.column], (row, 1))?.pop();
    let read = read.ok_or_else(|| Error::internal("a column was not read"))?;
    decode::array(&test.column, (&test.kind, 1), read)
}

/// The rows among which a search has to find one.
struct Left {
    low: u64,
    high: u64,
    /// The number that is looked for, if it is one.
    wanted: Option<f64>,
    /// Rows and their numbers, of which the last one on each side counts.
    values: Vec<(u64, Option<f64>)>,
    /// Whether the last row was a guess.
    guessed: bool,
    /// Whether the next row is in the middle. It is after a guess that was of little use, so that values that are spread in
    /// any way take at most twice as many reads.
    halve: bool,
}

/// In fewer rows, a search by halves is as fast.
const GUESSED: u64 = 1 << 6;

impl Left {
    fn new(rows: &Range<u64>, wanted: &Scalar) -> Self {
        let wanted = match wanted {
            Scalar::Int(value) => Some(*value as f64),
            Scalar::Float(value) => Some(*value),
            _ => None,
        };
        Self { low: rows.start, high: rows.end, wanted, values: Vec::new(), guessed: false, halve: false }
    }

    /// Returns the rows whose values help to guess.
    fn ends(&self) -> Vec<u64> {
        let last = self.high.saturating_sub(1); // a bound: a range that is not empty has a last row
        if self.wanted.is_none() || last.saturating_sub(self.low) < GUESSED {
            Vec::new()
        } else {
            vec![self.low, last]
        }
    }

    /// Returns the row to look at, which is one of those that are left.
    fn next(&mut self) -> u64 {
        let middle = self.low + (self.high - self.low) / 2;
        let guess = if self.halve { None } else { self.guess() };
        self.guessed = guess.is_some();
        guess.unwrap_or(middle)
    }

    /// Returns the row that has the number, if numbers grow evenly from one known row to the other.
    fn guess(&self) -> Option<u64> {
        let known = |row: &&(u64, Option<f64>)| row.1.is_some();
        let below = self.values.iter().rev().filter(known).find(|(row, _)| *row <= self.low)?;
        let above =
            self.values.iter().rev().filter(known).find(|(row, _)| *row >= self.high.saturating_sub(1))?; // a bound
        let (from, to) = (below.1?, above.1?);
        let part = (self.wanted? - from) / (to - from);
        if !part.is_finite() {
            return None;
        }
        let steps = (above.0.checked_sub(below.0)? as f64 * part.clamp(0.0, 1.0)) as u64;
        Some(below.0.checked_add(steps)?.clamp(self.low, self.high.checked_sub(1)?))
    }

    /// Leaves out the rows on one side of a row that was looked at.
    fn narrow(&mut self, at: u64, before: bool, value: Option<f64>) {
        let all = self.high - self.low;
        if before {
            self.low = at + 1;
        } else {
            self.high = at;
        }
        self.halve = self.guessed && self.high - self.low > all / 4;
        self.values.push((at, value));
    }
}

/// Returns the only value, if it is a number.
fn number(value: &dyn Array) -> Option<f64> {
    use arrow_array::cast::AsArray;
    use arrow_array::types;
    if value.is_null(0) {
        return None;
    }
    let number = match value.data_type() {
        DataType::Int8 => value.as_primitive::<types::Int8Type>().value(0).into(),
        DataType::Int16 => value.as_primitive::<types::Int16Type>().value(0).into(),
        DataType::Int32 => value.as_primitive::<types::Int32Type>().value(0).into(),
        DataType::Int64 => value.as_primitive::<types::Int64Type>().value(0) as f64,
        DataType::UInt8 => value.as_primitive::<types::UInt8Type>().value(0).into(),
        DataType::UInt16 => value.as_primitive::<types::UInt16Type>().value(0).into(),
        DataType::UInt32 => value.as_primitive::<types::UInt32Type>().value(0).into(),
        DataType::UInt64 => value.as_primitive::<types::UInt64Type>().value(0) as f64,
        DataType::Float32 => value.as_primitive::<types::Float32Type>().value(0).into(),
        DataType::Float64 => value.as_primitive::<types::Float64Type>().value(0),
        _ => return None,
    };
    Some(number).filter(|number| number.is_finite())
}

/// Returns whether the only value is not a number.
fn is_nan(value: &dyn Array) -> bool {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float16Type, Float32Type, Float64Type};
    match value.data_type() {
        DataType::Float16 => value.as_primitive::<Float16Type>().value(0).is_nan(),
        DataType::Float32 => value.as_primitive::<Float32Type>().value(0).is_nan(),
        DataType::Float64 => value.as_primitive::<Float64Type>().value(0).is_nan(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches the first value that is not smaller than the wanted one, and returns its row and the number of reads.
    fn found(values: &[f64], wanted: f64) -> (u64, usize) {
        let mut left = Left::new(&(0..values.len() as u64), &Scalar::Float(wanted));
        let value = |row: u64| values[usize::try_from(row).unwrap()];
        let mut reads = 0;
        for end in left.ends() {
            left.values.push((end, Some(value(end))));
            reads += 1;
        }
        while left.low < left.high {
            let at = left.next();
            assert!((left.low..left.high).contains(&at));
            left.narrow(at, value(at) < wanted, Some(value(at)));
            reads += 1;
        }
        (left.low, reads)
    }

    #[test]
    fn values_in_order_are_found_however_they_are_spread() {
        let even: Vec<f64> = (0..100_000).map(|at| f64::from(at) * 0.5 - 7.0).collect();
        let steep: Vec<f64> = (0..100_000).map(|at| (f64::from(at) / 500.0).exp()).collect();
        let steps: Vec<f64> = (0..100_000).map(|at| f64::from(at / 30_000)).collect();
        for (values, most) in [(&even, 8), (&steep, 40), (&steps, 40), (&vec![3.0; 100_000], 40)] {
            for place in [0, 1, 30_000, 65_432, 99_998, 99_999] {
                for off in [-0.1, 0.0, 0.1] {
                    let wanted = values[place] + off;
                    let first = values.partition_point(|value| *value < wanted) as u64;
                    let (row, reads) = found(values, wanted);
                    assert_eq!(row, first, "{wanted}");
                    assert!(reads <= most, "{reads} reads for {wanted}");
                }
            }
        }
        assert_eq!(found(&[], 1.0).0, 0);
        assert_eq!(found(&[f64::NEG_INFINITY, 1.0, f64::INFINITY], 1.0).0, 1);
    }
}
