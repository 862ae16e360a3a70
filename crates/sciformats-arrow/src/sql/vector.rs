//! Values of expressions: one per row, of one type. What is not a number is a missing value, as it is in files.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{self, ArrowDictionaryKeyType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DurationNanosecondArray, Float64Array, Int64Array,
    LargeStringArray, NullArray, Time64NanosecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use sciformats_conventions::sciformats::{Error, Result};

use super::exact::Digits;
use crate::decode::length;

/// Values of one type; `None` is a missing one.
#[derive(Clone, Debug)]
pub(super) enum Vector {
    /// Nothing but missing values.
    Null(usize),
    Bool(Vec<Option<bool>>),
    /// Integers of 64 bits, with or without a sign, and what is computed of them.
    Int(Vec<Option<i128>>),
    Float(Vec<Option<f64>>),
    Text(Vec<Option<Arc<str>>>),
    /// Nanoseconds since the start of 1970.
    Moment(Vec<Option<i128>>),
    /// Decimals as integers, without their point.
    Decimal(Vec<Option<i128>>, Digits),
    /// Nanoseconds since midnight.
    Time(Vec<Option<i128>>),
    /// Nanoseconds.
    Span(Vec<Option<i128>>),
    /// Values that expressions only pass on.
    Other(ArrayRef),
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    Moment(i128),
    Decimal(i128, Digits),
    Time(i128),
    Span(i128),
}

macro_rules! numbers {
    ($array:expr, $kind:ty, $variant:ident, $wide:expr) => {{
        let array = $array.as_primitive::<$kind>();
        let values = array.values().iter().enumerate();
        Self::$variant(values.map(|(at, &value)| array.is_valid(at).then(|| $wide(value))).collect())
    }};
}

impl Vector {
    /// Returns the values of an array.
    ///
    /// # Errors
    ///
    /// An error if the values of a dictionary cannot be used.
    pub(super) fn of(array: &ArrayRef) -> Result<Self> {
        let moments = |unit: TimeUnit, values: &[i64]| -> Self {
            let length = length(unit);
            let values = values.iter().enumerate();
            Self::Moment(
                values.map(|(at, &value)| array.is_valid(at).then(|| i128::from(value) * length)).collect(),
            )
        };
        Ok(match array.data_type() {
            DataType::Null => Self::Null(array.len()),
            DataType::Boolean => Self::Bool(array.as_boolean().iter().collect()),
            DataType::Int8 => numbers!(array, types::Int8Type, Int, i128::from),
            DataType::Int16 => numbers!(array, types::Int16Type, Int, i128::from),
            DataType::Int32 => numbers!(array, types::Int32Type, Int, i128::from),
            DataType::Int64 => numbers!(array, types::Int64Type, Int, i128::from),
            DataType::UInt8 => numbers!(array, types::UInt8Type, Int, i128::from),
            DataType::UInt16 => numbers!(array, types::UInt16Type, Int, i128::from),
            DataType::UInt32 => numbers!(array, types::UInt32Type, Int, i128::from),
            DataType::UInt64 => numbers!(array, types::UInt64Type, Int, i128::from),
            DataType::Float16 => Self::numbers(numbers!(array, types::Float16Type, Float, half::f16::to_f64)),
            DataType::Float32 => Self::numbers(numbers!(array, types::Float32Type, Float, f64::from)),
            DataType::Float64 => Self::numbers(numbers!(array, types::Float64Type, Float, |value| value)),
            DataType::Utf8 => {
                Self::Text(array.as_string::<i32>().iter().map(|text| text.map(Arc::from)).collect())
            }
            DataType::LargeUtf8 => {
                Self::Text(array.as_string::<i64>().iter().map(|text| text.map(Arc::from)).collect())
            }
            DataType::Utf8View => {
                Self::Text(array.as_string_view().iter().map(|text| text.map(Arc::from)).collect())
            }
            DataType::Timestamp(TimeUnit::Second, _) => {
                moments(TimeUnit::Second, array.as_primitive::<types::TimestampSecondType>().values())
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => moments(
                TimeUnit::Millisecond,
                array.as_primitive::<types::TimestampMillisecondType>().values(),
            ),
            DataType::Timestamp(TimeUnit::Microsecond, _) => moments(
                TimeUnit::Microsecond,
                array.as_primitive::<types::TimestampMicrosecondType>().values(),
            ),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                moments(TimeUnit::Nanosecond, array.as_primitive::<types::TimestampNanosecondType>().values())
            }
            DataType::Date32 => {
                numbers!(array, types::Date32Type, Moment, |days| i128::from(days) * 86_400_000_000_000)
            }
            DataType::Date64 => {
                numbers!(array, types::Date64Type, Moment, |count| i128::from(count) * 1_000_000)
            }
            DataType::Dictionary(key, _) => match **key {
                DataType::Int8 => Self::names::<types::Int8Type>(array)?,
                DataType::Int16 => Self::names::<types::Int16Type>(array)?,
                DataType::Int32 => Self::names::<types::Int32Type>(array)?,
                DataType::Int64 => Self::names::<types::Int64Type>(array)?,
                DataType::UInt8 => Self::names::<types::UInt8Type>(array)?,
                DataType::UInt16 => Self::names::<types::UInt16Type>(array)?,
                DataType::UInt32 => Self::names::<types::UInt32Type>(array)?,
                _ => Self::names::<types::UInt64Type>(array)?,
            },
            _ => Self::exact(array)?,
        })
    }

    /// Returns decimals, times of day and spans.
    fn exact(array: &ArrayRef) -> Result<Self> {
        macro_rules! counts {
            ($kind:ty) => {
                array.as_primitive::<$kind>().iter().map(|value| value.map(i128::from)).collect::<Vec<_>>()
            };
        }
        let units = |values: Vec<Option<i128>>, unit: TimeUnit| -> Vec<Option<i128>> {
            let length = length(unit);
            values.into_iter().map(|value| value.map(|value| value * length)).collect()
        };
        let (values, digits, places) = match array.data_type() {
            DataType::Decimal32(digits, places) => (counts!(types::Decimal32Type), *digits, *places),
            DataType::Decimal64(digits, places) => (counts!(types::Decimal64Type), *digits, *places),
            DataType::Decimal128(digits, places) => (counts!(types::Decimal128Type), *digits, *places),
            DataType::Time32(unit @ TimeUnit::Second) => {
                return Ok(Self::Time(units(counts!(types::Time32SecondType), *unit)));
            }
            DataType::Time32(unit) => {
                return Ok(Self::Time(units(counts!(types::Time32MillisecondType), *unit)));
            }
            DataType::Time64(unit @ TimeUnit::Microsecond) => {
                return Ok(Self::Time(units(counts!(types::Time64MicrosecondType), *unit)));
            }
            DataType::Time64(unit) => {
                return Ok(Self::Time(units(counts!(types::Time64NanosecondType), *unit)));
            }
            DataType::Duration(unit) => {
                let values = match unit {
                    TimeUnit::Second => counts!(types::DurationSecondType),
                    TimeUnit::Millisecond => counts!(types::DurationMillisecondType),
                    TimeUnit::Microsecond => counts!(types::DurationMicrosecondType),
                    TimeUnit::Nanosecond => counts!(types::DurationNanosecondType),
                };
                return Ok(Self::Span(units(values, *unit)));
            }
            _ => return Ok(Self::Other(Arc::clone(array))),
        };
        match u8::try_from(places) {
            Ok(point) => Ok(Self::Decimal(values, Digits { all: digits.max(point), point })),
            // Their last digits are before the point.
            Err(_) => {
                let more = places.unsigned_abs();
                let values = super::expr::each(values, |value| super::exact::rescaled(value, 0, more))?;
                let all = digits.saturating_add(more).min(Digits::MOST); // a bound: the values are checked
                Ok(Self::Decimal(values, Digits { all, point: 0 }))
            }
        }
    }

    /// Returns the values without those that are not numbers.
    pub(super) fn numbers(self) -> Self {
        match self {
            Self::Float(values) => {
                Self::Float(values.into_iter().map(|value| value.filter(|value| !value.is_nan())).collect())
            }
            other => other,
        }
    }

    fn names<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Result<Self>
    where
        K::Native: TryInto<usize>,
    {
        let names = array.as_dictionary::<K>();
        let known = Self::of(names.values())?;
        if let Self::Other(_) = known {
            return Ok(Self::Other(Arc::clone(array)));
        }
        let keys = names.keys();
        let rows = (0..keys.len())
            .map(|at| keys.is_valid(at).then(|| keys.value(at)).and_then(|key| key.try_into().ok()))
            .collect::<Vec<Option<usize>>>();
        Ok(known.taken(&rows))
    }

    /// Returns the values at some places; a place that is `None` has a missing one.
    pub(super) fn taken(&self, rows: &[Option<usize>]) -> Self {
        fn of<T: Clone>(values: &[Option<T>], rows: &[Option<usize>]) -> Vec<Option<T>> {
            rows.iter().map(|row| values.get((*row)?)?.clone()).collect()
        }
        match self {
            Self::Null(_) | Self::Other(_) => Self::Null(rows.len()),
            Self::Bool(values) => Self::Bool(of(values, rows)),
            Self::Int(values) => Self::Int(of(values, rows)),
            Self::Float(values) => Self::Float(of(values, rows)),
            Self::Text(values) => Self::Text(of(values, rows)),
            Self::Moment(values) => Self::Moment(of(values, rows)),
            Self::Decimal(values, digits) => Self::Decimal(of(values, rows), *digits),
            Self::Time(values) => Self::Time(of(values, rows)),
            Self::Span(values) => Self::Span(of(values, rows)),
        }
    }

    /// Returns the same value for each of some rows.
    pub(super) fn constant(value: &Value, rows: usize) -> Self {
        match value {
            Value::Null => Self::Null(rows),
            Value::Bool(value) => Self::Bool(vec![Some(*value); rows]),
            Value::Int(value) => Self::Int(vec![Some(*value); rows]),
            Value::Float(value) => Self::Float(vec![Some(*value); rows]),
            Value::Text(value) => Self::Text(vec![Some(Arc::clone(value)); rows]),
            Value::Moment(value) => Self::Moment(vec![Some(*value); rows]),
            Value::Decimal(value, digits) => Self::Decimal(vec![Some(*value); rows], *digits),
            Value::Time(value) => Self::Time(vec![Some(*value); rows]),
            Value::Span(value) => Self::Span(vec![Some(*value); rows]),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Null(rows) => *rows,
            Self::Bool(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Moment(values) | Self::Decimal(values, _) | Self::Time(values) | Self::Span(values) => {
                values.len()
            }
            Self::Other(values) => values.len(),
        }
    }

    pub(super) fn value(&self, row: usize) -> Value {
        fn of<T: Clone>(values: &[Option<T>], row: usize, make: impl Fn(T) -> Value) -> Value {
            values.get(row).cloned().flatten().map_or(Value::Null, make)
        }
        match self {
            Self::Null(_) | Self::Other(_) => Value::Null,
            Self::Bool(values) => of(values, row, Value::Bool),
            Self::Int(values) => of(values, row, Value::Int),
            Self::Float(values) => of(values, row, Value::Float),
            Self::Text(values) => of(values, row, Value::Text),
            Self::Moment(values) => of(values, row, Value::Moment),
            Self::Decimal(values, digits) => of(values, row, |value| Value::Decimal(value, *digits)),
            Self::Time(values) => of(values, row, Value::Time),
            Self::Span(values) => of(values, row, Value::Span),
        }
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        fn of<T>(values: &[Option<T>], row: usize) -> bool {
            values.get(row).is_none_or(Option::is_none)
        }
        match self {
            Self::Null(_) => true,
            Self::Bool(values) => of(values, row),
            Self::Int(values) => of(values, row),
            Self::Float(values) => of(values, row),
            Self::Text(values) => of(values, row),
            Self::Moment(values) | Self::Decimal(values, _) | Self::Time(values) | Self::Span(values) => {
                of(values, row)
            }
            Self::Other(values) => values.is_null(row),
        }
    }

    /// The type in messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Null(_) => "null".into(),
            Self::Bool(_) => "truth value".into(),
            Self::Int(_) => "integer".into(),
            Self::Float(_) => "floating-point number".into(),
            Self::Text(_) => "text".into(),
            Self::Moment(_) => "date".into(),
            Self::Decimal(..) => "decimal".into(),
            Self::Time(_) => "time of day".into(),
            Self::Span(_) => "span".into(),
            Self::Other(array) => array.data_type().to_string(),
        }
    }

    /// Returns the values as an array. Integers beyond 2^63 - 1, and dates that nanoseconds of 64 bits cannot hold, are an
    /// error.
    pub(super) fn into_array(self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null(rows) => Arc::new(NullArray::new(rows)),
            Self::Bool(values) => Arc::new(BooleanArray::from(values)),
            Self::Int(values) => {
                let narrow = |value: Option<i128>| value.map(i64::try_from).transpose();
                let values = values.into_iter().map(narrow).collect::<Result<Vec<_>, _>>();
                Arc::new(Int64Array::from(values.map_err(|_| super::expr::overflow())?))
            }
            Self::Float(values) => Arc::new(Float64Array::from(values)),
            Self::Text(values) => Arc::new(values.into_iter().collect::<LargeStringArray>()),
            Self::Moment(values) => {
                let count = |value: Option<i128>| value.map(i64::try_from).transpose();
                let counts = values.into_iter().map(count).collect::<Result<Vec<_>, _>>();
                let counts = counts
                    .map_err(|_| Error::unsupported("a date outside of 1677 to 2262 in expressions"))?;
                Arc::new(TimestampNanosecondArray::from(counts))
            }
            Self::Decimal(values, digits) => {
                if values.iter().flatten().any(|value| !digits.fits(*value)) {
                    return Err(super::exact::too_long());
                }
                let places = i8::try_from(digits.point).map_err(|_| super::exact::too_long())?;
                let array = Decimal128Array::from(values).with_precision_and_scale(digits.all, places);
                Arc::new(array.map_err(crate::csv::of_arrow)?)
            }
            Self::Time(values) => Arc::new(Time64NanosecondArray::from(counts(values, "a time of day")?)),
            Self::Span(values) => {
                Arc::new(DurationNanosecondArray::from(counts(values, "a span of more than 292 years")?))
            }
            Self::Other(array) => array,
        })
    }

    /// Returns the values as numbers; an error names what they are used for.
    pub(super) fn floats(self, what: &str) -> Result<Vec<Option<f64>>> {
        Ok(match self {
            Self::Null(rows) => vec![None; rows],
            Self::Int(values) => values.into_iter().map(|value| value.map(|value| value as f64)).collect(),
            Self::Float(values) => values,
            Self::Decimal(values, digits) => {
                let of = |value| super::exact::float(value, digits.point);
                values.into_iter().map(|value| value.map(of)).collect()
            }
            // A span is a number of seconds.
            Self::Span(values) => values.into_iter().map(|span| span.map(|span| span as f64 / 1e9)).collect(),
            other => return Err(wrong(what, &other)),
        })
    }

    pub(super) fn truths(self, what: &str) -> Result<Vec<Option<bool>>> {
        match self {
            Self::Null(rows) => Ok(vec![None; rows]),
            Self::Bool(values) => Ok(values),
            other => Err(wrong(what, &other)),
        }
    }

    pub(super) fn texts(self, what: &str) -> Result<Vec<Option<Arc<str>>>> {
        match self {
            Self::Null(rows) => Ok(vec![None; rows]),
            Self::Text(values) => Ok(values),
            other => Err(wrong(what, &other)),
        }
    }

    /// Appends the bytes of the value at a row, which are equal for equal values.
    pub(super) fn key(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.value(row) {
            Value::Null => {
                if let Self::Other(_) = self {
                    return Err(wrong("grouping and joining", self));
                }
                out.push(0);
            }
            Value::Bool(value) => out.extend([1, u8::from(value)]),
            Value::Int(value) => {
                out.push(2);
                out.extend(value.to_le_bytes());
            }
            Value::Float(value) => {
                // Both zeros are equal, and so are all values that are not numbers.
                let value = if value == 0.0 { 0.0 } else { value };
                let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
                out.push(3);
                out.extend(bits.to_le_bytes());
            }
            Value::Text(value) => {
                out.push(4);
                out.extend((value.len() as u64).to_le_bytes());
                out.extend(value.as_bytes());
            }
            Value::Moment(value) => {
                out.push(5);
                out.extend(value.to_le_bytes());
            }
            Value::Decimal(mut value, digits) => {
                // Equal decimals are equal whatever zeros end them, and so are equal integers.
                let mut point = digits.point;
                while point > 0 && value % 10 == 0 {
                    value /= 10;
                    point = point.saturating_sub(1);
                }
                out.push(2);
                out.extend(value.to_le_bytes());
                if point > 0 {
                    out.extend([6, point]);
                }
            }
            Value::Time(value) => {
                out.push(7);
                out.extend(value.to_le_bytes());
            }
            Value::Span(value) => {
                out.push(8);
                out.extend(value.to_le_bytes());
            }
        }
        Ok(())
    }
}

/// Returns counts of nanoseconds as they are stored; an error names what has them.
fn counts(values: Vec<Option<i128>>, what: &str) -> Result<Vec<Option<i64>>> {
    let narrow = |value: Option<i128>| value.map(i64::try_from).transpose();
    let values = values.into_iter().map(narrow).collect::<Result<Vec<_>, _>>();
    values.map_err(|_| Error::unsupported(format!("{what} in expressions")))
}

/// The error for values of a type that cannot be used for something.
pub(super) fn wrong(what: &str, vector: &Vector) -> Error {
    Error::usage("sql", format!("uses values of type {} for {what}", vector.kind()))
}

impl Value {
    /// Compares two values; `None` if one is missing.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(other)),
            (Self::Float(one), Self::Float(other)) => Some(order_of_floats(*one, *other)),
            (Self::Int(one), Self::Float(other)) => Some(mixed(*one, *other)),
            (Self::Float(one), Self::Int(other)) => Some(mixed(*other, *one).reverse()),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Moment(one), Self::Moment(other)) => Some(one.cmp(other)),
            _ => super::exact::order_of_values(self, other),
        }
    }
}

/// Orders floating-point numbers; what is not a number is the largest, and equal to itself.
pub(super) fn order_of_floats(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

pub(super) fn mixed(integer: i128, float: f64) -> Ordering {
    crate::predicate::order_of_mixed(integer, float).unwrap_or(Ordering::Less)
}
