//! Groups of rows, and what is computed of each.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use arrow_array::RecordBatch;
use sciformats_conventions::sciformats::{Limits, Result};

use super::exact::{Digits, float, mean, of_kind};
use super::expr::{Ex, overflow};
use super::vector::{Value, Vector, wrong};

/// What is computed of the rows of a group.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) kind: Kind,
    /// The values; `None` counts rows.
    pub(super) of: Option<Ex>,
    /// Whether each value counts once.
    pub(super) distinct: bool,
    /// Which rows count.
    pub(super) filter: Option<Ex>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
    /// The variance of a sample or of everything, or its square root.
    Variance {
        sample: bool,
        root: bool,
    },
    Median,
    /// The value of the first row, or of the first one that has a value.
    First {
        present: bool,
    },
}

impl Kind {
    /// Returns an aggregate by its name in lower case.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "avg" | "mean" => Self::Mean,
            "min" => Self::Least,
            "max" => Self::Greatest,
            "var" | "variance" | "var_samp" => Self::Variance { sample: true, root: false },
            "var_pop" => Self::Variance { sample: false, root: false },
            "stddev" | "stddev_samp" => Self::Variance { sample: true, root: true },
            "stddev_pop" => Self::Variance { sample: false, root: true },
            "median" => Self::Median,
            "first" => Self::First { present: false },
            "any_value" => Self::First { present: true },
            _ => return None,
        })
    }
}

/// What is known of one group.
#[derive(Clone, Debug)]
enum State {
    Count(i128),
    /// A sum of integers, and their number.
    Int(i128, u64),
    /// A sum, what was lost in it, and the number of values.
    Float(f64, f64, u64),
    Best(Value),
    /// The number of values, their mean, and the sum of squared differences from it.
    Moments(u64, f64, f64),
    All(Vec<f64>),
    /// Decimals, times or spans.
    Exact(Vec<i128>),
    /// The first value, after a row was seen.
    First(Option<Value>),
}

/// The groups of a query.
pub(super) struct Grouping {
    keys: Vec<Ex>,
    aggregates: Vec<Aggregate>,
    places: HashMap<Vec<u8>, usize>,
    /// The values of the keys of each group.
    values: Vec<Vec<Value>>,
    states: Vec<Vec<State>>,
    seen: Vec<HashSet<(usize, Vec<u8>)>>,
    /// Types of the keys and of the values of aggregates, by a batch without rows.
    kinds: (Vec<Vector>, Vec<Option<Vector>>),
    limits: Limits,
    held: u64,
}

impl Grouping {
    /// Starts without rows; `empty` is a batch without rows.
    pub(super) fn new(
        keys: Vec<Ex>,
        aggregates: Vec<Aggregate>,
        (empty, limits): (&RecordBatch, Limits),
    ) -> Result<Self> {
        let key_kinds = keys.iter().map(|key| key.eval(empty)).collect::<Result<Vec<_>>>()?;
        let of = |aggregate: &Aggregate| aggregate.of.as_ref().map(|of| of.eval(empty)).transpose();
        let value_kinds = aggregates.iter().map(of).collect::<Result<Vec<_>>>()?;
        for (aggregate, kind) in aggregates.iter().zip(&value_kinds) {
            let numbers = matches!(kind, None | Some(Vector::Null(_) | Vector::Int(_) | Vector::Float(_)));
            let exact = matches!(kind, Some(Vector::Decimal(..) | Vector::Span(_)));
            let time = matches!(kind, Some(Vector::Time(_)));
            let known = !matches!(kind, Some(Vector::Other(_)));
            let fits = match aggregate.kind {
                Kind::Count => !aggregate.distinct || known,
                Kind::Least | Kind::Greatest | Kind::First { .. } => known,
                Kind::Sum | Kind::Variance { .. } => numbers || exact,
                Kind::Mean | Kind::Median => numbers || exact || time,
            };
            if let (false, Some(kind)) = (fits, kind) {
                return Err(wrong("an aggregate", kind));
            }
        }
        let seen = aggregates.iter().map(|_| HashSet::new()).collect();
        let mut grouping = Self {
            keys,
            aggregates,
            places: HashMap::new(),
            values: Vec::new(),
            states: Vec::new(),
            seen,
            kinds: (key_kinds, value_kinds),
            limits,
            held: 0,
        };
        if grouping.keys.is_empty() {
            // Without keys there is one group, even without rows.
            grouping.group(Vec::new(), Vec::new())?;
        }
        Ok(grouping)
    }

    fn group(&mut self, key: Vec<u8>, values: Vec<Value>) -> Result<usize> {
        let at = self.values.len();
        let size = key.len() + 64 * (self.keys.len() + self.aggregates.len()) + 128;
        self.hold(size)?;
        let states =
            self.aggregates.iter().zip(&self.kinds.1).map(|(aggregate, kind)| match aggregate.kind {
                Kind::Count => State::Count(0),
                Kind::Sum if whole(kind.as_ref()) => State::Int(0, 0),
                Kind::Mean if matches!(kind, Some(Vector::Time(_) | Vector::Span(_))) => State::Int(0, 0),
                Kind::Median if exact(kind.as_ref()) => State::Exact(Vec::new()),
                Kind::Sum | Kind::Mean => State::Float(0.0, 0.0, 0),
                Kind::Least | Kind::Greatest => State::Best(Value::Null),
                Kind::Variance { .. } => State::Moments(0, 0.0, 0.0),
                Kind::Median => State::All(Vec::new()),
                Kind::First { .. } => State::First(None),
            });
        self.states.push(states.collect());
        self.values.push(values);
        self.places.insert(key, at);
        Ok(at)
    }

    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.held = self.held.saturating_add(bytes as u64); // a bound
        self.limits.memory("bytes of the groups of a query", self.held).map(drop)
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.keys.iter().map(|key| key.eval(batch)).collect::<Result<Vec<_>>>()?;
        let mut places = vec![0; rows];
        if !keys.is_empty() {
            let mut key = Vec::new();
            for (row, place) in places.iter_mut().enumerate() {
                key.clear();
                for of in &keys {
                    of.key(row, &mut key)?;
                }
                *place = match self.places.get(&key) {
                    Some(place) => *place,
                    None => {
                        let values = keys.iter().map(|of| of.value(row)).collect();
                        self.group(key.clone(), values)?
                    }
                };
            }
        }
        for at in 0..self.aggregates.len() {
            self.aggregate(at, &places, batch)?;
        }
        Ok(())
    }

    fn aggregate(&mut self, at: usize, places: &[usize], batch: &RecordBatch) -> Result<()> {
        let Some(aggregate) = self.aggregates.get(at).cloned() else { return Ok(()) };
        let rows = match &aggregate.filter {
            Some(filter) => filter.mask(batch)?,
            None => vec![true; places.len()],
        };
        let values = aggregate.of.as_ref().map(|of| of.eval(batch)).transpose()?;
        let missing_counts = aggregate.kind == Kind::First { present: false };
        let mut added = 0;
        for (row, (&place, _)) in places.iter().zip(&rows).enumerate().filter(|(_, (_, counts))| **counts) {
            if !missing_counts && values.as_ref().is_some_and(|values| values.is_null(row)) {
                continue;
            }
            if aggregate.distinct
                && let (Some(values), Some(seen)) = (&values, self.seen.get_mut(at))
            {
                let mut key = Vec::new();
                values.key(row, &mut key)?;
                let size = key.len() + 64;
                if !seen.insert((place, key)) {
                    continue;
                }
                added += size;
            }
            let state = self.states.get_mut(place).and_then(|states| states.get_mut(at));
            let Some(state) = state else { continue };
            added += state.add(aggregate.kind, values.as_ref(), row)?;
        }
        self.hold(added)
    }

    /// Returns the keys of all groups and the values of the aggregates, column by column.
    pub(super) fn finish(self) -> Result<Vec<Vector>> {
        let groups = self.values.len();
        let mut columns = Vec::new();
        for (at, kind) in self.kinds.0.iter().enumerate() {
            let values = self.values.iter().map(|values| values.get(at).cloned().unwrap_or(Value::Null));
            columns.push(collected(kind, values));
        }
        let mut states: Vec<std::vec::IntoIter<State>> =
            self.states.into_iter().map(Vec::into_iter).collect();
        for (aggregate, kind) in self.aggregates.iter().zip(&self.kinds.1) {
            let mut values = Vec::with_capacity(groups);
            for states in &mut states {
                let value = states.next().map_or(Value::Null, |state| state.value(aggregate.kind));
                values.push(match aggregate.kind {
                    Kind::Count => value,
                    _ => of_kind(kind.as_ref(), value),
                });
            }
            let kind = match aggregate.kind {
                Kind::Count => Vector::Int(Vec::new()),
                Kind::Sum if matches!(kind, Some(Vector::Int(_) | Vector::Null(_))) => {
                    Vector::Int(Vec::new())
                }
                Kind::Sum | Kind::Median if matches!(kind, Some(Vector::Decimal(..))) => {
                    of_sums(kind.as_ref(), aggregate.kind)
                }
                Kind::Sum | Kind::Mean | Kind::Median
                    if matches!(kind, Some(Vector::Time(_) | Vector::Span(_))) =>
                {
                    kind.clone().unwrap_or(Vector::Null(0))
                }
                Kind::Least | Kind::Greatest | Kind::First { .. } => kind.clone().unwrap_or(Vector::Null(0)),
                _ => Vector::Float(Vec::new()),
            };
            columns.push(collected(&kind, values.into_iter()));
        }
        Ok(columns)
    }
}

/// Returns whether sums of values are integers.
fn whole(kind: Option<&Vector>) -> bool {
    exact(kind) || matches!(kind, Some(Vector::Int(_) | Vector::Null(_)))
}

/// Returns whether values are decimals, times or spans, which integers stand for.
fn exact(kind: Option<&Vector>) -> bool {
    matches!(kind, Some(Vector::Decimal(..) | Vector::Time(_) | Vector::Span(_)))
}

/// Returns the type of sums of decimals, which have all digits there are, or of their medians.
fn of_sums(kind: Option<&Vector>, of: Kind) -> Vector {
    match kind {
        Some(Vector::Decimal(_, digits)) if of == Kind::Sum => {
            Vector::Decimal(Vec::new(), Digits { all: Digits::MOST, ..*digits })
        }
        other => other.cloned().unwrap_or(Vector::Null(0)),
    }
}

/// Returns values as those of a type.
pub(super) fn collected(kind: &Vector, values: impl Iterator<Item = Value>) -> Vector {
    macro_rules! of {
        ($variant:ident) => {
            Vector::$variant(
                values
                    .map(|value| if let Value::$variant(value) = value { Some(value) } else { None })
                    .collect(),
            )
        };
    }
    match kind {
        Vector::Bool(_) => of!(Bool),
        Vector::Int(_) => of!(Int),
        Vector::Float(_) => of!(Float),
        Vector::Text(_) => of!(Text),
        Vector::Moment(_) => of!(Moment),
        Vector::Time(_) => of!(Time),
        Vector::Span(_) => of!(Span),
        Vector::Decimal(_, digits) => {
            let of = |value| if let Value::Decimal(value, _) = value { Some(value) } else { None };
            Vector::Decimal(values.map(of).collect(), *digits)
        }
        Vector::Null(_) | Vector::Other(_) => Vector::Null(values.count()),
    }
}

impl State {
    /// Adds the value at a row, which is not missing unless that counts, too; returns the bytes that are held for it.
    fn add(&mut self, kind: Kind, values: Option<&Vector>, row: usize) -> Result<usize> {
        let number = || match values.map(|values| values.value(row)) {
            Some(Value::Int(value)) => value as f64,
            Some(Value::Float(value)) => value,
            Some(Value::Decimal(value, digits)) => float(value, digits.point),
            Some(Value::Span(span)) => span as f64 / 1e9,
            _ => f64::NAN,
        };
        let count = || match values.map(|values| values.value(row)) {
            Some(Value::Int(value) | Value::Decimal(value, _) | Value::Time(value) | Value::Span(value)) => {
                Some(value)
            }
            _ => None,
        };
        match self {
            Self::Count(count) => *count = count.checked_add(1).ok_or_else(overflow)?,
            Self::Int(sum, number) => {
                if let Some(value) = count() {
                    *sum = sum.checked_add(value).ok_or_else(overflow)?;
                    *number = number.saturating_add(1); // a bound: there are fewer rows
                }
            }
            Self::Float(sum, lost, count) => {
                // What the sum cannot hold is added at the end (Neumaier).
                let value = number();
                let next = *sum + value;
                if next.is_finite() {
                    *lost +=
                        if sum.abs() >= value.abs() { (*sum - next) + value } else { (value - next) + *sum };
                }
                *sum = next;
                *count = count.saturating_add(1); // a bound: there are fewer rows
            }
            Self::Best(best) => {
                let value = values.map_or(Value::Null, |values| values.value(row));
                let wanted = if kind == Kind::Least { Ordering::Less } else { Ordering::Greater };
                if *best == Value::Null || value.order(best) == Some(wanted) {
                    *best = value;
                }
            }
            Self::Moments(count, mean, squares) => {
                let value = number();
                *count = count.saturating_add(1); // a bound
                let off = value - *mean;
                *mean += off / *count as f64;
                *squares += off * (value - *mean);
            }
            Self::All(all) => {
                all.push(number());
                return Ok(8);
            }
            Self::Exact(all) => {
                all.extend(count());
                return Ok(16);
            }
            Self::First(first) => {
                if first.is_none() {
                    *first = values.map(|values| values.value(row));
                }
            }
        }
        Ok(0)
    }

    fn value(self, kind: Kind) -> Value {
        match self {
            Self::Count(count) => Value::Int(count),
            Self::Int(_, 0) => Value::Null,
            Self::Int(sum, count) if kind == Kind::Mean => Value::Int(mean(sum, count)),
            Self::Int(sum, _) => Value::Int(sum),
            Self::Exact(mut all) => {
                all.sort_unstable();
                let middle = all.len() / 2;
                let Some(&high) = all.get(middle) else { return Value::Null };
                let low = all.get(middle.saturating_sub(1)).copied().unwrap_or(high);
                // Half of what is between them, as far as there are digits for it.
                let between = low.saturating_add(high.saturating_sub(low) / 2);
                Value::Int(if all.len() % 2 == 1 { high } else { between })
            }
            Self::Float(_, _, 0) => Value::Null,
            Self::Float(sum, lost, count) => {
                let sum = sum + lost;
                Value::Float(if kind == Kind::Mean { sum / count as f64 } else { sum })
            }
            Self::Best(value) => value,
            Self::First(value) => value.unwrap_or(Value::Null),
            Self::Moments(count, _, squares) => {
                let Kind::Variance { sample, root } = kind else { return Value::Null };
                let of = if sample { count.saturating_sub(1) } else { count };
                if of == 0 {
                    return Value::Null;
                }
                let variance = squares / of as f64;
                Value::Float(if root { variance.sqrt() } else { variance })
            }
            Self::All(mut all) => {
                if all.is_empty() {
                    return Value::Null;
                }
                all.sort_by(|one, other| super::vector::order_of_floats(*one, *other));
                let middle = all.len() / 2;
                let high = all.get(middle).copied().unwrap_or(f64::NAN);
                let low = all.get(middle.saturating_sub(1)).copied().unwrap_or(high);
                Value::Float(if all.len() % 2 == 1 { high } else { low / 2.0 + high / 2.0 })
            }
        }
    }
}
