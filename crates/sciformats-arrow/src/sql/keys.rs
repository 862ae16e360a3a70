//! The keys of a join: values of two types that can be equal.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sciformats_conventions::sciformats::{Error, Result};

use super::expr::Ex;
use super::vector::Vector;

/// The type in which the values of two keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Common {
    /// As what they are.
    Own,
    /// As integers, as exactly as elsewhere: a number that is none has no partner.
    Whole,
    /// As floating-point numbers.
    Float,
}

/// Returns the values of a key as what they are compared.
pub(super) fn as_common(of: Vector, common: Common) -> Vector {
    match (of, common) {
        (Vector::Float(values), Common::Whole) => {
            // 2^126: beyond all integers of a column.
            let whole = |value: &f64| value.trunc() == *value && value.abs() < 2f64.powi(126);
            Vector::Int(
                values.into_iter().map(|value| value.filter(whole).map(|value| value as i128)).collect(),
            )
        }
        (Vector::Decimal(values, digits), Common::Float) => {
            let of = |value| super::exact::float(value, digits.point);
            Vector::Float(values.into_iter().map(|value| value.map(of)).collect())
        }
        (other, _) => other,
    }
}

/// Returns as what the values of keys are compared. Types that are not numbers must be equal.
pub(super) fn compatible(keys: &mut [(Ex, Ex)], left: &SchemaRef, right: &SchemaRef) -> Result<Vec<Common>> {
    let (left, right) = (RecordBatch::new_empty(Arc::clone(left)), RecordBatch::new_empty(Arc::clone(right)));
    let common = keys.iter().map(|(of_left, of_right)| {
        let (one, other) = (of_left.eval(&left)?, of_right.eval(&right)?);
        match (&one, &other) {
            (Vector::Int(_), Vector::Float(_)) | (Vector::Float(_), Vector::Int(_)) => Ok(Common::Whole),
            (Vector::Decimal(..), Vector::Float(_)) | (Vector::Float(_), Vector::Decimal(..)) => {
                Ok(Common::Float)
            }
            (Vector::Int(_), Vector::Decimal(..)) | (Vector::Decimal(..), Vector::Int(_)) => Ok(Common::Own),
            (Vector::Null(_), _) | (_, Vector::Null(_)) => Ok(Common::Own),
            _ if std::mem::discriminant(&one) == std::mem::discriminant(&other) => Ok(Common::Own),
            _ => {
                Err(Error::usage("sql", format!("joins {} with {}; cast one side", one.kind(), other.kind())))
            }
        }
    });
    common.collect()
}
