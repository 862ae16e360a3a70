//! Which conditions of a query reach the files, and what they mean there.
//!
//! DataFusion compares floating-point numbers in a total order, in which NaN is larger than all numbers or, with a sign, smaller. In files NaN
//! is a missing value that satisfies nothing. So a bound on a column of floating-point numbers only reaches the files if the other end is
//! bounded too, because then no NaN satisfies both; and DataFusion checks it again, because it tells -0 from 0.

use std::collections::HashSet;

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, TableProviderFilterPushDown};
use sciformats_arrow::{Comparison, Predicate, Scalar};

/// Returns how far a filter is applied while the files are read.
pub(crate) fn support(filter: &Expr, schema: &Schema) -> TableProviderFilterPushDown {
    match predicates(filter, schema) {
        None => TableProviderFilterPushDown::Unsupported,
        Some(found) if found.iter().any(|one| is_float(&one.column, schema)) => {
            TableProviderFilterPushDown::Inexact
        }
        Some(_) => TableProviderFilterPushDown::Exact,
    }
}

/// Returns the conditions that the files check.
pub(crate) fn pushed(filters: &[Expr], schema: &Schema) -> Vec<Predicate> {
    let all: Vec<Predicate> =
        filters.iter().filter_map(|filter| predicates(filter, schema)).flatten().collect();
    let bounded = |of: fn(Comparison) -> bool| -> HashSet<&str> {
        all.iter().filter(|one| of(one.comparison)).map(|one| one.column.as_str()).collect()
    };
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let below = bounded(|of| matches!(of, Equal | Less | LessOrEqual));
    let above = bounded(|of| matches!(of, Equal | Greater | GreaterOrEqual));
    let kept = all.iter().filter(|one| {
        let name = one.column.as_str();
        !is_float(name, schema) || (below.contains(name) && above.contains(name))
    });
    kept.cloned().collect()
}

/// Returns whether a name satisfies a condition on texts.
pub(crate) fn holds(condition: &Predicate, name: &str) -> bool {
    match &condition.value {
        Scalar::Text(wanted) => condition.comparison.allows(name.cmp(wanted.as_str())),
        _ => false,
    }
}

fn is_float(column: &str, schema: &Schema) -> bool {
    schema.field_with_name(column).is_ok_and(|field| field.data_type().is_floating())
}

/// Returns the conditions that together mean a filter; `None` if it is of another kind.
fn predicates(filter: &Expr, schema: &Schema) -> Option<Vec<Predicate>> {
    match filter {
        Expr::BinaryExpr(of) if of.op == Operator::And => {
            let mut both = predicates(&of.left, schema)?;
            both.extend(predicates(&of.right, schema)?);
            Some(both)
        }
        Expr::BinaryExpr(of) => {
            let comparison = comparison(of.op)?;
            let one = match (&*of.left, &*of.right) {
                (Expr::Column(column), Expr::Literal(value, _)) => {
                    predicate(&column.name, comparison, value, schema)
                }
                (Expr::Literal(value, _), Expr::Column(column)) => {
                    predicate(&column.name, turned(comparison), value, schema)
                }
                _ => None,
            };
            Some(vec![one?])
        }
        Expr::Between(of) if !of.negated => match (&*of.expr, &*of.low, &*of.high) {
            (Expr::Column(column), Expr::Literal(low, _), Expr::Literal(high, _)) => Some(vec![
                predicate(&column.name, Comparison::GreaterOrEqual, low, schema)?,
                predicate(&column.name, Comparison::LessOrEqual, high, schema)?,
            ]),
            _ => None,
        },
        Expr::Column(column) => truth(&column.name, true, schema),
        Expr::Not(of) => match &**of {
            Expr::Column(column) => truth(&column.name, false, schema),
            _ => None,
        },
        _ => None,
    }
}

fn truth(column: &str, value: bool, schema: &Schema) -> Option<Vec<Predicate>> {
    Some(vec![predicate(column, Comparison::Equal, &ScalarValue::Boolean(Some(value)), schema)?])
}

fn comparison(of: Operator) -> Option<Comparison> {
    Some(match of {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn turned(of: Comparison) -> Comparison {
    match of {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Returns a comparison of a column with a value of its type.
fn predicate(
    column: &str,
    comparison: Comparison,
    value: &ScalarValue,
    schema: &Schema,
) -> Option<Predicate> {
    let kind = match schema.field_with_name(column).ok()?.data_type() {
        // DataFusion orders categories as texts, and files by their list.
        DataType::Dictionary(..) if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) => {
            return None;
        }
        DataType::Dictionary(key, values) if **key == DataType::Int32 => values,
        other => other,
    };
    let value = scalar(value)?;
    let fits = match &value {
        Scalar::Int(_) => kind.is_integer(),
        Scalar::Float(_) => kind.is_floating(),
        Scalar::Text(_) => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
        Scalar::Bool(_) => *kind == DataType::Boolean,
        Scalar::Moment(_) => matches!(kind, DataType::Timestamp(..)),
        _ => false,
    };
    if !fits {
        return None;
    }
    let comparison = match (&value, comparison) {
        (Scalar::Float(value), _) if value.is_nan() => return None,
        // What is not a number differs from every number.
        (Scalar::Float(_), Comparison::NotEqual) => return None,
        // In the total order, -0 is smaller than 0.
        (Scalar::Float(0.0), Comparison::Less) => Comparison::LessOrEqual,
        (Scalar::Float(0.0), Comparison::Greater) => Comparison::GreaterOrEqual,
        (_, comparison) => comparison,
    };
    Some(Predicate::new(column, comparison, value))
}

/// Returns a value as files compare it.
fn scalar(value: &ScalarValue) -> Option<Scalar> {
    let moment = |count: i64, unit: TimeUnit| {
        let length: i128 = match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        };
        // Less than 2^63 × 2^30.
        Scalar::Moment(i128::from(count) * length)
    };
    Some(match value {
        ScalarValue::Boolean(Some(value)) => Scalar::Bool(*value),
        ScalarValue::Int8(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::Int16(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::Int32(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::Int64(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::UInt8(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::UInt16(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::UInt32(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::UInt64(Some(value)) => Scalar::Int((*value).into()),
        ScalarValue::Float16(Some(value)) => Scalar::Float(value.to_f64()),
        ScalarValue::Float32(Some(value)) => Scalar::Float((*value).into()),
        ScalarValue::Float64(Some(value)) => Scalar::Float(*value),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Scalar::Text(text.clone()),
        ScalarValue::TimestampSecond(Some(count), _) => moment(*count, TimeUnit::Second),
        ScalarValue::TimestampMillisecond(Some(count), _) => moment(*count, TimeUnit::Millisecond),
        ScalarValue::TimestampMicrosecond(Some(count), _) => moment(*count, TimeUnit::Microsecond),
        ScalarValue::TimestampNanosecond(Some(count), _) => moment(*count, TimeUnit::Nanosecond),
        ScalarValue::Dictionary(_, value) => return scalar(value),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Field;
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn schema() -> Schema {
        let codes = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        Schema::new(vec![
            Field::new("i", DataType::Int32, true),
            Field::new("x", DataType::Float64, true),
            Field::new("t", DataType::LargeUtf8, true),
            Field::new("k", codes, true),
            Field::new("b", DataType::Boolean, true),
            Field::new("d", DataType::Timestamp(TimeUnit::Millisecond, None), true),
        ])
    }

    fn shown(filters: &[Expr]) -> Vec<String> {
        pushed(filters, &schema()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn comparisons_reach_the_files() {
        let date = lit(ScalarValue::TimestampMillisecond(Some(7), None));
        let code = ScalarValue::Dictionary(Box::new(DataType::Int32), Box::new(ScalarValue::from("a")));
        let filters = [
            col("i").gt(lit(3_i32)),
            lit(9_i64).gt(col("i")),
            col("t").not_eq(lit("u")),
            col("k").eq(lit(code)),
            col("b"),
            Expr::Not(Box::new(col("b"))),
            col("d").lt_eq(date),
            col("i").between(lit(1_i32), lit(2_i32)),
        ];
        let wanted = [
            "i > 3",
            "i < 9",
            "t <> 'u'",
            "k = 'a'",
            "b = true",
            "b = false",
            "d <= 7000000 ns",
            "i >= 1",
            "i <= 2",
        ];
        assert_eq!(shown(&filters), wanted);
        for filter in &filters {
            assert_eq!(support(filter, &schema()), TableProviderFilterPushDown::Exact, "{filter}");
        }
    }

    #[test]
    fn other_filters_stay_with_the_engine() {
        let filters = [
            col("i").eq(col("i")),
            col("i").eq(lit("text")),
            col("i").eq(lit(ScalarValue::Int32(None))),
            col("i").gt(lit(1_i32)).or(col("i").lt(lit(0_i32))),
            (col("i") + lit(1_i32)).gt(lit(1_i32)),
            col("x").not_eq(lit(1.0)),
            col("x").gt(lit(f64::NAN)),
            col("t").like(lit("a%")),
            col("k").lt(lit("b")),
            col("i").not_between(lit(1_i32), lit(2_i32)),
            Expr::Not(Box::new(col("i").eq(lit(1_i32)))),
            col("unknown").eq(lit(1_i32)),
        ];
        for filter in &filters {
            assert_eq!(support(filter, &schema()), TableProviderFilterPushDown::Unsupported, "{filter}");
        }
        assert!(shown(&filters).is_empty());
    }

    #[test]
    fn nan_is_left_to_the_engine() {
        // One end alone: a NaN satisfies it.
        assert!(shown(&[col("x").gt(lit(1.0))]).is_empty());
        assert!(shown(&[col("x").lt(lit(1.0)), col("i").eq(lit(1_i32))]) == ["i = 1"]);
        assert_eq!(shown(&[col("x").gt(lit(1.0)), col("x").lt(lit(2.0))]), ["x > 1", "x < 2"]);
        assert_eq!(shown(&[col("x").eq(lit(1.0))]), ["x = 1"]);
        // Both zeros are read.
        assert_eq!(shown(&[col("x").gt(lit(-0.0)), col("x").lt(lit(2.0))]), ["x >= -0", "x < 2"]);
        assert_eq!(support(&col("x").gt(lit(1.0)), &schema()), TableProviderFilterPushDown::Inexact);
    }
}
