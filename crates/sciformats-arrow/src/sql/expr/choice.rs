//! Chooses one of several values for each row.

use arrow_array::RecordBatch;
use sciformats_conventions::sciformats::{Error, Result};

use super::Ex;
use crate::sql::aggregate::collected;
use crate::sql::exact;
use crate::sql::from::filtered;
use crate::sql::vector::{Value, Vector};

/// Rows for which one of several values is chosen. What is not needed for a row is not computed for it, because it may
/// fail.
struct Choice {
    /// The value of each row: which of the results, and the row in it.
    chosen: Vec<(usize, usize)>,
    /// The rows that have no value yet, and their places.
    left: RecordBatch,
    places: Vec<usize>,
}

impl Choice {
    fn new(batch: &RecordBatch) -> Self {
        let rows = batch.num_rows();
        Self { chosen: vec![(usize::MAX, 0); rows], left: batch.clone(), places: (0..rows).collect() }
    }

    /// Chooses a result for the rows of those that are left for which `mask` is true; their numbers in it ascend by one
    /// if `dense`, and otherwise they are those of the rows.
    fn choose(&mut self, at: usize, mask: &[bool], dense: bool) -> Result<()> {
        let mut number = 0;
        let mut places = Vec::new();
        for (row, (&place, truth)) in self.places.iter().zip(mask).enumerate() {
            match (truth, self.chosen.get_mut(place)) {
                (true, Some(chosen)) => *chosen = (at, if dense { number } else { row }),
                _ => places.push(place),
            }
            number += usize::from(*truth);
        }
        if places.len() < self.places.len() {
            let others: Vec<bool> = mask.iter().map(|truth| !truth).collect();
            self.left = filtered(&self.left, &others)?;
            self.places = places;
        }
        Ok(())
    }
}

/// Chooses the result of the first condition that is true.
pub(super) fn case(when: &[(Ex, Ex)], otherwise: &Ex, batch: &RecordBatch) -> Result<Vector> {
    let mut choice = Choice::new(batch);
    let mut results = Vec::new();
    for (at, (condition, result)) in when.iter().enumerate() {
        let mask = condition.mask(&choice.left)?;
        results.push(if mask.contains(&false) {
            result.eval(&filtered(&choice.left, &mask)?)?
        } else {
            result.eval(&choice.left)?
        });
        choice.choose(at, &mask, true)?;
    }
    results.push(otherwise.eval(&choice.left)?);
    exact::beside_decimals(when.iter().map(|(_, result)| result).chain([otherwise]), &mut results);
    let rest = vec![true; choice.places.len()];
    choice.choose(when.len(), &rest, true)?;
    chosen_of(&results, &choice.chosen)
}

/// Chooses the first value that is not missing.
pub(super) fn coalesced(all: &[Ex], batch: &RecordBatch) -> Result<Vector> {
    let mut choice = Choice::new(batch);
    let mut results = Vec::new();
    for (at, of) in all.iter().enumerate() {
        let values = of.eval(&choice.left)?;
        let mask: Vec<bool> = (0..values.len()).map(|row| !values.is_null(row)).collect();
        choice.choose(at, &mask, false)?;
        results.push(values);
    }
    exact::beside_decimals(all, &mut results);
    chosen_of(&results, &choice.chosen)
}

/// Returns one value of several for each row: which of them, and the row in it.
pub(in crate::sql) fn chosen_of(results: &[Vector], chosen: &[(usize, usize)]) -> Result<Vector> {
    if let Some(unified) = exact::unified(results)? {
        return chosen_of(&unified, chosen);
    }
    let value = |&(at, row): &(usize, usize)| results.get(at).map_or(Value::Null, |result| result.value(row));
    let values = chosen.iter().map(value);
    if results.iter().any(|result| matches!(result, Vector::Other(_))) {
        return Err(Error::unsupported("CASE or COALESCE of nested values"));
    }
    let has = |of: fn(&Vector) -> bool| results.iter().any(of);
    let only = |of: fn(&Vector) -> bool| results.iter().all(|r| of(r) || matches!(r, Vector::Null(_)));
    let error = || Error::usage("sql", "chooses between values of several types");
    if only(|r| matches!(r, Vector::Null(_))) {
        return Ok(Vector::Null(chosen.len()));
    }
    if only(|r| matches!(r, Vector::Int(_) | Vector::Float(_))) && has(|r| matches!(r, Vector::Float(_))) {
        let floats = values.map(|value| match value {
            Value::Int(value) => Some(value as f64),
            Value::Float(value) => Some(value),
            _ => None,
        });
        return Ok(Vector::Float(floats.collect()));
    }
    macro_rules! of {
        ($variant:ident) => {
            if only(|r| matches!(r, Vector::$variant(_))) {
                let of = |value| if let Value::$variant(value) = value { Some(value) } else { None };
                return Ok(Vector::$variant(values.map(of).collect()));
            }
        };
    }
    of!(Int);
    of!(Bool);
    of!(Text);
    of!(Moment);
    of!(Time);
    of!(Span);
    if let Some(kind) = results.iter().find(|result| matches!(result, Vector::Decimal(..)))
        && only(|r| matches!(r, Vector::Decimal(..)))
    {
        return Ok(collected(kind, values));
    }
    Err(error())
}
