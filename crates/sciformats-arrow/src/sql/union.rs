//! UNION: the rows of two queries as one result.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema, TimeUnit};
use sciformats_conventions::sciformats::{Error, Result};

use super::exact::Digits;
use super::rows::Rows;
use super::vector::Vector;
use crate::csv::of_arrow;

/// Returns the rows of two queries, whose columns get types that hold the values of both.
pub(super) fn united(left: Rows, right: Rows) -> Result<Rows> {
    let fields = (left.schema.fields(), right.schema.fields());
    if fields.0.len() != fields.1.len() {
        let (one, other) = (fields.0.len(), fields.1.len());
        return Err(Error::usage("sql", format!("unites tables with {one} and {other} columns")));
    }
    let both = fields.0.iter().zip(fields.1.iter()).map(|(one, other)| {
        let kind = common(one.data_type(), other.data_type()).ok_or_else(|| {
            let (name, one, other) = (one.name(), one.data_type(), other.data_type());
            Error::usage(
                "sql",
                format!("combines {one} and {other} in the column {name} of a UNION; cast one of them"),
            )
        })?;
        // Two lists of categories have no common order.
        Ok(one.as_ref().clone().with_data_type(kind).with_nullable(true).with_dict_is_ordered(false))
    });
    let schema = Arc::new(Schema::new(both.collect::<Result<Vec<_>>>()?));
    let out = Arc::clone(&schema);
    let batches = left.from.chain(right.from).map(move |batch| {
        let batch = batch?;
        let columns = batch.columns().iter().zip(out.fields());
        let columns = columns.map(|(column, field)| converted(column, field.data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(Arc::clone(&out), columns, &options).map_err(of_arrow)
    });
    Ok(Rows { schema, from: Box::new(batches) })
}

/// Returns a type that has the values of two; `None` if there is none.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    let kind = |of: &DataType| Vector::of(&arrow_array::new_empty_array(of)).ok();
    Some(match (kind(one)?, kind(other)?) {
        (Vector::Null(_), _) => other.clone(),
        (_, Vector::Null(_)) => one.clone(),
        (Vector::Int(_), Vector::Int(_)) => DataType::Int64,
        (Vector::Int(_) | Vector::Float(_), Vector::Int(_) | Vector::Float(_)) => DataType::Float64,
        (one @ (Vector::Int(_) | Vector::Decimal(..)), other @ (Vector::Int(_) | Vector::Decimal(..))) => {
            let digits = super::exact::unified(&[one, other]).ok()??;
            let [Vector::Decimal(_, digits), ..] = *digits else { return None };
            DataType::Decimal128(digits.all, i8::try_from(digits.point).ok()?)
        }
        (Vector::Decimal(..), Vector::Float(_)) | (Vector::Float(_), Vector::Decimal(..)) => {
            DataType::Float64
        }
        (Vector::Time(_), Vector::Time(_)) => DataType::Time64(TimeUnit::Nanosecond),
        (Vector::Span(_), Vector::Span(_)) => DataType::Duration(TimeUnit::Nanosecond),
        (Vector::Text(_), Vector::Text(_)) => DataType::LargeUtf8,
        (Vector::Moment(_), Vector::Moment(_)) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => return None,
    })
}

/// Returns values in a type that [`common`] gave them.
fn converted(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(Arc::clone(column));
    }
    Ok(match (Vector::of(column)?, kind) {
        (Vector::Null(rows), kind) => arrow_array::new_null_array(kind, rows),
        (Vector::Int(values), DataType::Float64) => {
            Vector::Float(values.into_iter().map(|value| value.map(|value| value as f64)).collect())
                .into_array()?
        }
        (values @ Vector::Decimal(..), DataType::Float64) => {
            Vector::Float(values.floats("a UNION")?).into_array()?
        }
        (values, DataType::Decimal128(all, point)) => {
            let point = u8::try_from(*point).map_err(|_| super::exact::too_long())?;
            super::exact::decimals(values, Digits { all: *all, point }, false)?.into_array()?
        }
        (values, _) => values.into_array()?,
    })
}
