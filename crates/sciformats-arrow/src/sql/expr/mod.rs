//! Expressions, and their values for the rows of a batch.

mod choice;
mod math;
mod rewrite;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use sciformats_conventions::sciformats::{Error, Result};

use super::cast::{To, cast, text_of};
use super::pattern::Pattern;
use super::vector::{Value, Vector, mixed, order_of_floats};
use crate::Comparison;
use crate::csv::of_arrow;

pub(super) use self::choice::chosen_of;
use self::choice::{case, coalesced};
pub(super) use self::math::Math;

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
            "ln" => Self::Ln,
            "log" | "log10" => Self::Log10,
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
                (Self::Literal(value @ Value::Decimal(..)), To::Decimal(_) | To::Int(_) | To::Text) => {
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
