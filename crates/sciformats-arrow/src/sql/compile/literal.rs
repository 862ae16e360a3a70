//! Literals and the types of casts.

use std::sync::Arc;

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{self, DataType};

use super::unsupported;
use crate::sql::cast::To;
use crate::sql::vector::Value;

pub(super) fn literal(value: &ast::Value) -> Result<Value> {
    Ok(match value {
        ast::Value::Number(digits, _) => match digits.parse::<i128>() {
            Ok(value) => Value::Int(value),
            // A floating-point number would be a neighbour of it.
            Err(_) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                return Err(Error::usage(
                    "sql",
                    format!("has the number {digits}, which is beyond 2^127 - 1"),
                ));
            }
            Err(_) => Value::Float(
                digits
                    .parse()
                    .map_err(|_| Error::usage("sql", format!("has {digits}, which is not a number")))?,
            ),
        },
        ast::Value::SingleQuotedString(text) => Value::Text(Arc::from(text.as_str())),
        ast::Value::Boolean(truth) => Value::Bool(*truth),
        ast::Value::Null => Value::Null,
        other => return Err(unsupported(format!("the literal {other}"))),
    })
}

pub(super) fn to(kind: &DataType) -> Result<To> {
    Ok(match kind {
        DataType::Bool | DataType::Boolean => To::Bool,
        DataType::Int(_)
        | DataType::Integer(_)
        | DataType::BigInt(_)
        | DataType::SmallInt(_)
        | DataType::TinyInt(_)
        | DataType::Int64 => To::Int,
        DataType::Float(_)
        | DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Real
        | DataType::Float64 => To::Float,
        DataType::Text | DataType::Varchar(_) | DataType::String(_) | DataType::Char(_) => To::Text,
        DataType::Timestamp(..) | DataType::Datetime(_) => To::Moment,
        DataType::Date => To::Day,
        other => return Err(unsupported(format!("the type {other}"))),
    })
}
