//! The conditions that rows must satisfy, and the search in columns that are in order.

use std::ops::Range;

use arrow_array::Array;
use arrow_schema::DataType;
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Column, Table};

use super::{Options, column, error_of, same_rows};
use crate::decode;
use crate::predicate::{Comparison, Predicate};

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
            let (mut low, mut high) = (rows.start, rows.end);
            while low < high {
                let middle = low + (high - low) / 2;
                let read = Table::read_undecoded(&[&test.column], (middle, 1))?.pop();
                let read = read.ok_or_else(|| Error::internal("a column was not read"))?;
                let value = decode::array(&test.column, (&test.kind, 1), read)?;
                // A missing value has no place in an order.
                if value.is_null(0) || is_nan(value.as_ref()) {
                    return Ok(None);
                }
                let before = predicate.mask(value.as_ref(), test.ordered)?.value(0) != negated;
                if before { low = middle + 1 } else { high = middle }
            }
            Ok(Some(low))
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
