//! Expressions, and their values for the rows of a batch.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use sciformats_conventions::sciformats::{Error, Result};

use super::cast::{To, cast, text_of};
use super::from::filtered;
use super::pattern::Pattern;
use super::vector::{Value, Vector, mixed, order_of_floats};
use crate::Comparison;
use crate::csv::of_arrow;

/// An expression over the columns of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ex {
    Column(usize),
    /// A field of records, by its place.
    Field(Box<Ex>, usize),
    Literal(Value),
    Compare(Comparison, Box<Ex>, Box<Ex>),
    /// Whether two values are the same, where missing ones are too; `true` negates it.
    Same(Box<Ex>, Box<Ex>, bool),
    Math(Math, Box<Ex>, Box<Ex>),
    Negative(Box<Ex>),
    Join(Box<Ex>, Box<Ex>),
    And(Box<Ex>, Box<Ex>),
    Or(Box<Ex>, Box<Ex>),
    Not(Box<Ex>),
    /// Whether a value is missing; `true` negates it.
    IsNull(Box<Ex>, bool),
    /// Whether a truth value is this one; a missing one is neither.
    IsTruth(Box<Ex>, bool, bool),
    In(Box<Ex>, Vec<Ex>, bool),
    Like {
        of: Box<Ex>,
        pattern: Box<Ex>,
        escape: Option<char>,
        negated: bool,
        fold: bool,
    },
    Case {
        when: Vec<(Ex, Ex)>,
        otherwise: Box<Ex>,
    },
    /// The first value that is not missing.
    Coalesce(Vec<Ex>),
    Cast(Box<Ex>, To, bool),
    Call(Function, Vec<Ex>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Ceil,
    Floor,
    Round,
    Sqrt,
    Exp,
    Ln,
    Log10,
    Sin,
    Cos,
    Tan,
    Atan2,
    Power,
    Sign,
    IsFinite,
    Lower,
    Upper,
    Length,
    Trim,
    Substring,
    Replace,
    StartsWith,
    Contains,
    NullIf,
    Greatest,
    Least,
    Part(Part),
    Truncate,
    Epoch,
}

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Function {
    /// Returns a function by its name in lower case.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "abs" => Self::Abs,
            "ceil" | "ceiling" => Self::Ceil,
            "floor" => Self::Floor,
            "round" => Self::Round,
            "sqrt" => Self::Sqrt,
            "exp" => Self::Exp,
            "ln" | "log" => Self::Ln,
            "log10" => Self::Log10,
            "sin" => Self::Sin,
            "cos" => Self::Cos,
            "tan" => Self::Tan,
            "atan2" => Self::Atan2,
            "pow" | "power" => Self::Power,
            "sign" => Self::Sign,
            "isfinite" => Self::IsFinite,
            "lower" => Self::Lower,
            "upper" => Self::Upper,
            "length" | "char_length" | "character_length" => Self::Length,
            "trim" => Self::Trim,
            "substr" | "substring" => Self::Substring,
            "replace" => Self::Replace,
            "starts_with" => Self::StartsWith,
            "contains" => Self::Contains,
            "nullif" => Self::NullIf,
            "greatest" => Self::Greatest,
            "least" => Self::Least,
            "year" => Self::Part(Part::Year),
            "month" => Self::Part(Part::Month),
            "day" => Self::Part(Part::Day),
            "hour" => Self::Part(Part::Hour),
            "minute" => Self::Part(Part::Minute),
            "second" => Self::Part(Part::Second),
            "date_trunc" => Self::Truncate,
            "epoch" => Self::Epoch,
            _ => return None,
        })
    }

    /// Returns the smallest and the largest number of arguments.
    pub(super) fn arguments(self) -> (usize, usize) {
        match self {
            Self::Greatest | Self::Least => (1, usize::MAX),
            Self::Round => (1, 2),
            Self::Substring => (2, 3),
            Self::Replace => (3, 3),
            Self::Atan2 | Self::Power | Self::StartsWith | Self::Contains | Self::NullIf | Self::Truncate => {
                (2, 2)
            }
            _ => (1, 1),
        }
    }
}

impl Ex {
    /// Returns the values for the rows of a batch as an array. A column is passed on as it is.
    pub(super) fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        match self {
            Self::Column(at) => match batch.columns().get(*at) {
                Some(column) => Ok(Arc::clone(column)),
                None => Err(Error::internal("an expression names a column that is not there")),
            },
            Self::Field(of, at) => {
                let records = of.array(batch)?;
                let records = records.as_struct_opt();
                let field = records.and_then(|records| Some((records.nulls(), records.columns().get(*at)?)));
                let Some((nulls, field)) = field else {
                    return Err(Error::internal("an expression names a field that is not there"));
                };
                let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
                    return Ok(Arc::clone(field));
                };
                // A record that is missing has no fields.
                let rows: UInt64Array =
                    (0..field.len()).map(|row| nulls.is_valid(row).then_some(row as u64)).collect();
                arrow_select::take::take(field.as_ref(), &rows, None).map_err(of_arrow)
            }
            other => other.eval(batch)?.into_array(),
        }
    }

    /// Returns which rows satisfy a condition.
    pub(super) fn mask(&self, batch: &RecordBatch) -> Result<Vec<bool>> {
        let truths = self.eval(batch)?.truths("a condition")?;
        Ok(truths.into_iter().map(|truth| truth == Some(true)).collect())
    }

    /// Returns the values for the rows of a batch.
    pub(super) fn eval(&self, batch: &RecordBatch) -> Result<Vector> {
        self.computed(batch).map(Vector::numbers)
    }

    fn computed(&self, batch: &RecordBatch) -> Result<Vector> {
        let rows = batch.num_rows();
        Ok(match self {
            Self::Column(_) | Self::Field(..) => Vector::of(&self.array(batch)?)?,
            // Beside decimals it is one.
            Self::Literal(Value::Decimal(value, digits)) => {
                Vector::Float(vec![Some(super::exact::float(*value, digits.point)); rows])
            }
            Self::Literal(value) => Vector::constant(value, rows),
            Self::Compare(comparison, left, right) => {
                let (left, right) = sides(left, right, batch)?;
                let (left, right) = alike(left, right)?;
                Vector::Bool(compared(&left, &right, |order| comparison.allows(order))?)
            }
            Self::Same(left, right, negated) => {
                let (left, right) = sides(left, right, batch)?;
                let (left, right) = alike(left, right)?;
                let orders = compared(&left, &right, Ordering::is_eq)?;
                let same = orders.into_iter().enumerate().map(|(at, equal)| {
                    let same = equal.unwrap_or_else(|| left.is_null(at) && right.is_null(at));
                    Some(same != *negated)
                });
                Vector::Bool(same.collect())
            }
            Self::Math(math, left, right) => {
                let (left, right) = sides(left, right, batch)?;
                math.of(left, right)?
            }
            Self::Negative(of) => match of.eval(batch)? {
                Vector::Float(values) => Vector::Float(each(values, |value| Ok(-value))?),
                Vector::Int(values) => {
                    Vector::Int(each(values, |value| value.checked_neg().ok_or_else(overflow))?)
                }
                Vector::Null(rows) => Vector::Null(rows),
                other => super::exact::negative(other)?,
            },
            Self::Join(left, right) => {
                let left = text_of(left.eval(batch)?)?;
                let right = text_of(right.eval(batch)?)?;
                let joined = left.into_iter().zip(right).map(|pair| match pair {
                    (Some(left), Some(right)) => Some(Arc::from(format!("{left}{right}"))),
                    _ => None,
                });
                Vector::Text(joined.collect())
            }
            Self::And(left, right) => {
                let (left, right) = (left.eval(batch)?.truths("AND")?, right.eval(batch)?.truths("AND")?);
                let both = left.into_iter().zip(right).map(|pair| match pair {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                });
                Vector::Bool(both.collect())
            }
            Self::Or(left, right) => {
                let (left, right) = (left.eval(batch)?.truths("OR")?, right.eval(batch)?.truths("OR")?);
                let any = left.into_iter().zip(right).map(|pair| match pair {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                });
                Vector::Bool(any.collect())
            }
            Self::Not(of) => Vector::Bool(each(of.eval(batch)?.truths("NOT")?, |truth| Ok(!truth))?),
            Self::IsNull(of, negated) => {
                let values = of.eval(batch)?;
                Vector::Bool((0..rows).map(|row| Some(values.is_null(row) != *negated)).collect())
            }
            Self::IsTruth(of, wanted, negated) => {
                let truths = of.eval(batch)?.truths("IS")?;
                let is = truths.into_iter().map(|truth| Some((truth == Some(*wanted)) != *negated));
                Vector::Bool(is.collect())
            }
            Self::In(of, list, negated) => among(of.eval(batch)?, list, *negated, batch)?,
            Self::Like { of, pattern, escape, negated, fold } => {
                let texts = of.eval(batch)?.texts("LIKE")?;
                let patterns = pattern.eval(batch)?.texts("LIKE")?;
                let mut known: Option<(Arc<str>, Pattern)> = None;
                let mut found = Vec::with_capacity(rows);
                for (text, pattern) in texts.into_iter().zip(patterns) {
                    let (Some(text), Some(pattern)) = (text, pattern) else {
                        found.push(None);
                        continue;
                    };
                    if known.as_ref().is_none_or(|(known, _)| *known != pattern) {
                        known = Some((Arc::clone(&pattern), Pattern::like(&pattern, *escape, *fold)));
                    }
                    found.push(known.as_ref().map(|(_, pattern)| pattern.matches(&text) != *negated));
                }
                Vector::Bool(found)
            }
            Self::Case { when, otherwise } => case(when, otherwise, batch)?,
            Self::Coalesce(all) => coalesced(all, batch)?,
            Self::Cast(of, to, lenient) => match (&**of, to) {
                (Self::Literal(value @ Value::Decimal(..)), To::Decimal(_) | To::Int | To::Text) => {
                    cast(Vector::constant(value, rows), *to, *lenient)?
                }
                (of, to) => cast(of.eval(batch)?, *to, *lenient)?,
            },
            Self::Call(function, arguments) => {
                let mut values = arguments.iter().map(|of| of.eval(batch)).collect::<Result<Vec<_>>>()?;
                super::exact::beside_decimals(arguments, &mut values);
                super::functions::call(*function, values, rows)?
            }
        })
    }
}

pub(super) fn overflow() -> Error {
    Error::usage("sql", "computes an integer beyond 64 bits")
}

/// Computes each value that is not missing.
pub(super) fn each<T, U>(values: Vec<Option<T>>, of: impl Fn(T) -> Result<U>) -> Result<Vec<Option<U>>> {
    values.into_iter().map(|value| value.map(&of).transpose()).collect()
}

/// Returns the values of two sides, of which one may be a literal beside decimals.
fn sides(left: &Ex, right: &Ex, batch: &RecordBatch) -> Result<(Vector, Vector)> {
    let mut values = [left.eval(batch)?, right.eval(batch)?];
    super::exact::beside_decimals([left, right], &mut values);
    let [left, right] = values;
    Ok((left, right))
}

/// Makes the types of two sides equal where one stands for the other: texts beside dates are dates.
pub(super) fn alike(left: Vector, right: Vector) -> Result<(Vector, Vector)> {
    Ok(match (&left, &right) {
        (Vector::Moment(_), Vector::Text(_)) => (left, cast(right, To::Moment, false)?),
        (Vector::Text(_), Vector::Moment(_)) => (cast(left, To::Moment, false)?, right),
        _ => super::exact::alike(left, right)?,
    })
}

/// Compares each pair; a missing value makes the result a missing one.
pub(super) fn compared(
    left: &Vector,
    right: &Vector,
    of: impl Fn(Ordering) -> bool,
) -> Result<Vec<Option<bool>>> {
    fn pairs<T, U>(
        left: &[Option<T>],
        right: &[Option<U>],
        of: impl Fn(&T, &U) -> bool,
    ) -> Vec<Option<bool>> {
        let pairs = left.iter().zip(right);
        pairs.map(|(left, right)| Some(of(left.as_ref()?, right.as_ref()?))).collect()
    }
    Ok(match (left, right) {
        (Vector::Null(rows), _) | (_, Vector::Null(rows)) => vec![None; *rows],
        (Vector::Int(left), Vector::Int(right)) => pairs(left, right, |left, right| of(left.cmp(right))),
        (Vector::Float(left), Vector::Float(right)) => {
            pairs(left, right, |left, right| of(order_of_floats(*left, *right)))
        }
        (Vector::Int(left), Vector::Float(right)) => {
            pairs(left, right, |left, right| of(mixed(*left, *right)))
        }
        (Vector::Float(left), Vector::Int(right)) => {
            pairs(left, right, |left, right| of(mixed(*right, *left).reverse()))
        }
        (Vector::Text(left), Vector::Text(right)) => pairs(left, right, |left, right| of(left.cmp(right))),
        (Vector::Bool(left), Vector::Bool(right)) => pairs(left, right, |left, right| of(left.cmp(right))),
        (Vector::Moment(left), Vector::Moment(right))
        | (Vector::Time(left), Vector::Time(right))
        | (Vector::Span(left), Vector::Span(right)) => pairs(left, right, |left, right| of(left.cmp(right))),
        (Vector::Decimal(left, one), Vector::Decimal(right, other)) => pairs(left, right, |left, right| {
            of(super::exact::order((*left, one.point), (*right, other.point)))
        }),
        (left, right) => {
            return Err(Error::usage("sql", format!("compares a {} with a {}", left.kind(), right.kind())));
        }
    })
}

impl Math {
    fn of(self, left: Vector, right: Vector) -> Result<Vector> {
        fn zipped<T: Copy, U: Copy, V>(
            left: &[Option<T>],
            right: &[Option<U>],
            of: impl Fn(T, U) -> Result<Option<V>>,
        ) -> Result<Vec<Option<V>>> {
            let pairs = left.iter().zip(right).map(|pair| match pair {
                (Some(left), Some(right)) => of(*left, *right),
                _ => Ok(None),
            });
            pairs.collect()
        }
        if let Some(computed) = super::exact::math(self, &left, &right)? {
            return Ok(computed);
        }
        Ok(match (left, right) {
            (Vector::Null(rows), _) | (_, Vector::Null(rows)) => Vector::Null(rows),
            (Vector::Int(left), Vector::Int(right)) => {
                let fits = |value: &i128| (i64::MIN.into()..=u64::MAX.into()).contains(value);
                let exact = |value: Option<i128>| value.filter(fits).map(Some).ok_or_else(overflow);
                match self {
                    Self::Add => Vector::Int(zipped(&left, &right, |l, r| exact(l.checked_add(r)))?),
                    Self::Subtract => Vector::Int(zipped(&left, &right, |l, r| exact(l.checked_sub(r)))?),
                    Self::Multiply => Vector::Int(zipped(&left, &right, |l, r| exact(l.checked_mul(r)))?),
                    // Measurements are divided into fractions; nothing is divided by zero.
                    Self::Divide => Vector::Float(zipped(&left, &right, |l: i128, r: i128| {
                        Ok((r != 0).then(|| l as f64 / r as f64))
                    })?),
                    Self::Remainder => Vector::Int(zipped(&left, &right, |l: i128, r: i128| {
                        if r == 0 { Ok(None) } else { Ok(Some(l.checked_rem(r).unwrap_or_default())) }
                    })?),
                }
            }
            (Vector::Moment(left), right) if matches!(self, Self::Add | Self::Subtract) => {
                // What is added to a date is a number of seconds.
                let seconds = right.floats("a number of seconds beside a date")?;
                let sign = if self == Self::Add { 1.0 } else { -1.0 };
                Vector::Moment(zipped(&left, &seconds, |moment, seconds: f64| {
                    Ok(seconds.is_finite().then(|| moment.saturating_add((sign * seconds * 1e9) as i128)))
                })?)
            }
            (left, right) => {
                let left = left.floats("arithmetic")?;
                let right = right.floats("arithmetic")?;
                let of = |l: f64, r: f64| match self {
                    Self::Add => l + r,
                    Self::Subtract => l - r,
                    Self::Multiply => l * r,
                    Self::Divide => l / r,
                    Self::Remainder => l % r,
                };
                Vector::Float(zipped(&left, &right, |l, r| Ok(Some(of(l, r))))?)
            }
        })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
fn among(of: Vector, list: &[Ex], negated: bool, batch: &RecordBatch) -> Result<Vector> {
    let literals: Option<Vec<&Value>> = list
        .iter()
        .map(|item| match item {
            Ex::Literal(value) => Some(value),
            _ => None,
        })
        .collect();
    // Equal values of one type have equal keys.
    let same = |value: &Value| match (&of, value) {
        (Vector::Int(_), Value::Int(_)) | (Vector::Text(_), Value::Text(_)) => true,
        (_, Value::Null) => false,
        _ => false,
    };
    if let Some(literals) = literals.filter(|all| all.iter().all(|value| same(value))) {
        let mut keys = HashSet::new();
        for value in literals {
            let mut key = Vec::new();
            Vector::constant(value, 1).key(0, &mut key)?;
            keys.insert(key);
        }
        let mut found = Vec::with_capacity(of.len());
        let mut key = Vec::new();
        for row in 0..of.len() {
            key.clear();
            of.key(row, &mut key)?;
            found.push((!of.is_null(row)).then(|| keys.contains(&key) != negated));
        }
        return Ok(Vector::Bool(found));
    }
    let mut any: Vec<Option<bool>> = vec![Some(false); of.len()];
    for item in list {
        let mut values = [of.clone(), item.eval(batch)?];
        // The values are no literal in this place, whatever they were.
        super::exact::beside_decimals([&Ex::Literal(Value::Null), item], &mut values);
        let [left, right] = values;
        let (left, right) = alike(left, right)?;
        for (any, equal) in any.iter_mut().zip(compared(&left, &right, Ordering::is_eq)?) {
            *any = match (*any, equal) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
    }
    Ok(Vector::Bool(each(any, |any| Ok(any != negated))?))
}

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
fn case(when: &[(Ex, Ex)], otherwise: &Ex, batch: &RecordBatch) -> Result<Vector> {
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
    super::exact::beside_decimals(when.iter().map(|(_, result)| result).chain([otherwise]), &mut results);
    let rest = vec![true; choice.places.len()];
    choice.choose(when.len(), &rest, true)?;
    chosen_of(&results, &choice.chosen)
}

/// Chooses the first value that is not missing.
fn coalesced(all: &[Ex], batch: &RecordBatch) -> Result<Vector> {
    let mut choice = Choice::new(batch);
    let mut results = Vec::new();
    for (at, of) in all.iter().enumerate() {
        let values = of.eval(&choice.left)?;
        let mask: Vec<bool> = (0..values.len()).map(|row| !values.is_null(row)).collect();
        choice.choose(at, &mask, false)?;
        results.push(values);
    }
    super::exact::beside_decimals(all, &mut results);
    chosen_of(&results, &choice.chosen)
}

/// Returns one value of several for each row: which of them, and the row in it.
pub(super) fn chosen_of(results: &[Vector], chosen: &[(usize, usize)]) -> Result<Vector> {
    if let Some(unified) = super::exact::unified(results)? {
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
        return Ok(super::aggregate::collected(kind, values));
    }
    Err(error())
}

impl Ex {
    /// Replaces every part that is one of some outputs by the column with its place; returns whether nothing but outputs and
    /// literals is left.
    pub(super) fn replace(&mut self, outputs: &[Self]) -> bool {
        if let Some(at) = outputs.iter().position(|output| output == self) {
            *self = Self::Column(at);
            return true;
        }
        match self {
            Self::Column(_) => false,
            Self::Literal(_) => true,
            Self::Compare(_, left, right)
            | Self::Same(left, right, _)
            | Self::Math(_, left, right)
            | Self::Join(left, right)
            | Self::And(left, right)
            | Self::Or(left, right) => left.replace(outputs) && right.replace(outputs),
            Self::Negative(of)
            | Self::Field(of, _)
            | Self::Not(of)
            | Self::IsNull(of, _)
            | Self::IsTruth(of, ..)
            | Self::Cast(of, ..) => of.replace(outputs),
            Self::In(of, list, _) => of.replace(outputs) && list.iter_mut().all(|item| item.replace(outputs)),
            Self::Like { of, pattern, .. } => of.replace(outputs) && pattern.replace(outputs),
            Self::Case { when, otherwise } => {
                let mut arms = when.iter_mut();
                arms.all(|(condition, result)| condition.replace(outputs) && result.replace(outputs))
                    && otherwise.replace(outputs)
            }
            Self::Call(_, of) | Self::Coalesce(of) => of.iter_mut().all(|of| of.replace(outputs)),
        }
    }

    /// Calls `visit` with the place of each column.
    pub(super) fn columns(&mut self, visit: &mut dyn FnMut(&mut usize)) {
        match self {
            Self::Column(at) => visit(at),
            Self::Literal(_) => {}
            Self::Compare(_, left, right)
            | Self::Same(left, right, _)
            | Self::Math(_, left, right)
            | Self::Join(left, right)
            | Self::And(left, right)
            | Self::Or(left, right) => {
                left.columns(visit);
                right.columns(visit);
            }
            Self::Negative(of)
            | Self::Field(of, _)
            | Self::Not(of)
            | Self::IsNull(of, _)
            | Self::IsTruth(of, ..)
            | Self::Cast(of, ..) => of.columns(visit),
            Self::In(of, list, _) => {
                of.columns(visit);
                list.iter_mut().for_each(|item| item.columns(visit));
            }
            Self::Like { of, pattern, .. } => {
                of.columns(visit);
                pattern.columns(visit);
            }
            Self::Case { when, otherwise } => {
                for (condition, result) in when {
                    condition.columns(visit);
                    result.columns(visit);
                }
                otherwise.columns(visit);
            }
            Self::Call(_, of) | Self::Coalesce(of) => of.iter_mut().for_each(|of| of.columns(visit)),
        }
    }

    /// Returns the conditions that all have to be true.
    pub(super) fn conditions(self) -> Vec<Self> {
        match self {
            Self::And(left, right) => {
                let mut all = left.conditions();
                all.extend(right.conditions());
                all
            }
            other => vec![other],
        }
    }
}
