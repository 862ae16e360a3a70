//! Literals and the types of casts.

use std::sync::Arc;

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{self, DataType, Expr, UnaryOperator};

use super::unsupported;
use crate::sql::cast::{To, Whole};
use crate::sql::exact::{self, Digits};
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
            Err(_) if exact::literal(digits).is_some() => exact::literal(digits).unwrap_or(Value::Null),
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

/// Returns the moment or the time of day of a text with a type, such as `DATE '2024-05-01'`.
pub(super) fn typed(of: &ast::TypedString) -> Result<Value> {
    let Value::Text(text) = literal(&of.value.value)? else { return Err(unsupported(of)) };
    if let DataType::Time(..) = of.data_type {
        let time = exact::time(text.trim()).map(Value::Time);
        return time.ok_or_else(|| Error::usage("sql", format!("has {of}, which is not a time of day")));
    }
    let is_date = matches!(of.data_type, DataType::Date | DataType::Timestamp(..) | DataType::Datetime(_));
    let moment = crate::dates::moment(&text).filter(|_| is_date).map(Value::Moment);
    moment.ok_or_else(|| Error::usage("sql", format!("has {of}, which is not a date")))
}

pub(super) fn to(kind: &DataType) -> Result<To> {
    Ok(match kind {
        DataType::Bool | DataType::Boolean => To::Bool,
        DataType::TinyInt(_) => To::Int(Whole::TINY),
        DataType::SmallInt(_) => To::Int(Whole::SMALL),
        DataType::Int(_) | DataType::Integer(_) => To::Int(Whole::MIDDLE),
        DataType::BigInt(_) | DataType::Int64 => To::Int(Whole::BIG),
        DataType::Float(_)
        | DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Real
        | DataType::Float64 => To::Float,
        DataType::Text | DataType::Varchar(_) | DataType::String(_) | DataType::Char(_) => To::Text,
        DataType::Timestamp(..) | DataType::Datetime(_) => To::Moment,
        DataType::Date => To::Day,
        DataType::Time(_, ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone) => To::Time,
        DataType::Interval { .. } => To::Span,
        DataType::Decimal(digits) | DataType::Numeric(digits) | DataType::Dec(digits) => {
            To::Decimal(decimal_digits(*digits, kind)?)
        }
        other => return Err(unsupported(format!("the type {other}"))),
    })
}

/// Returns the digits that the name of a type tells; without any there are 18, of which three follow the point.
fn decimal_digits(told: ast::ExactNumberInfo, kind: &DataType) -> Result<Digits> {
    let (all, point) = match told {
        ast::ExactNumberInfo::None => (18, 3),
        ast::ExactNumberInfo::Precision(all) => (all, 0),
        ast::ExactNumberInfo::PrecisionAndScale(all, point) => (all, point),
    };
    match (u8::try_from(all), u8::try_from(point)) {
        (Ok(all @ 1..=Digits::MOST), Ok(point)) if point <= all => Ok(Digits { all, point }),
        _ => Err(Error::usage("sql", format!("names the type {kind}, whose digits are not 1 to 38"))),
    }
}

/// Returns the span of an INTERVAL, such as `INTERVAL '1 hour'` or `INTERVAL 90 SECOND`.
pub(super) fn span(of: &ast::Interval) -> Result<i128> {
    let refused = || unsupported(format!("the span {of} (a span is a number of weeks, days, hours or less)"));
    if of.last_field.is_some() {
        return Err(refused());
    }
    let (text, sign) = match &*of.value {
        Expr::Value(value) => (&value.value, 1),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => (&value.value, -1),
            _ => return Err(refused()),
        },
        _ => return Err(refused()),
    };
    let text = match text {
        ast::Value::Number(digits, _) => digits,
        ast::Value::SingleQuotedString(text) => text,
        _ => return Err(refused()),
    };
    let found = match &of.leading_field {
        Some(field) => {
            let unit = exact::unit(&field.to_string());
            unit.and_then(|unit| exact::times(text.trim(), unit))
        }
        None => exact::span(text),
    };
    found.map(|span| sign * span).ok_or_else(refused)
}
