//! Arithmetic.

use sciformats_conventions::sciformats::Result;

use super::overflow;
use crate::sql::exact;
use crate::sql::vector::Vector;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Math {
    pub(super) fn of(self, left: Vector, right: Vector) -> Result<Vector> {
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
        if let Some(computed) = exact::math(self, &left, &right)? {
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
