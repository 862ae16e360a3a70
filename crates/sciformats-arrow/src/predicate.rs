//! Conditions on single columns, which are checked before other columns are read.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{self, Int32Type};
use arrow_array::{Array, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use sciformats_conventions::sciformats::{Error, Result};

/// A condition on one column: `depth > 5`. A missing value satisfies no comparison; what is not a number (NaN) satisfies only
/// that it differs, as in NumPy. Beside numbers of 16 or 32 bits, a value means the nearest of these: `x = 0.1` holds for
/// what is 0.1 in a column of binary32.
///
/// Categories are equal if their texts are. Which is smaller, their own order says, as in pandas: if they have none, or if the
/// value is not one of them, the comparison is refused.
///
/// ```
/// use sciformats_arrow::{Comparison, Predicate, Scalar};
///
/// let deep = Predicate::new("depth", Comparison::Greater, Scalar::from(5));
/// assert_eq!(deep.to_string(), "depth > 5");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Predicate {
    /// The name of the column.
    pub column: String,
    /// How values are compared.
    pub comparison: Comparison,
    /// What values are compared with.
    pub value: Scalar,
}

/// How a value is compared with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Both are equal.
    Equal,
    /// They differ.
    NotEqual,
    /// The value is smaller.
    Less,
    /// The value is smaller, or both are equal.
    LessOrEqual,
    /// The value is larger.
    Greater,
    /// The value is larger, or both are equal.
    GreaterOrEqual,
}

/// A value that columns are compared with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A text; compared with dates, it is one: `2001-07-01T06:00:00`.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// A date: nanoseconds since the start of 1970.
    Moment(i128),
}

macro_rules! scalar {
    ($($from:ty => $make:expr),* $(,)?) => {$(
        impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                $make(value)
            }
        }
    )*};
}
scalar! {
    i32 => |value: i32| Self::Int(value.into()),
    i64 => |value: i64| Self::Int(value.into()),
    u64 => |value: u64| Self::Int(value.into()),
    f64 => Self::Float,
    bool => Self::Bool,
    &str => |value: &str| Self::Text(value.into()),
    String => Self::Text,
}

impl Comparison {
    /// Returns whether two values that are ordered like this satisfy the comparison.
    pub fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl std::fmt::Display for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.column, self.comparison.mark(), self.value)
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => write!(f, "'{value}'"),
            Self::Bool(value) => value.fmt(f),
            Self::Moment(value) => write!(f, "{value} ns"),
        }
    }
}

/// Returns the number of a type that is nearest to another one, as a column of numbers with few digits has it: 0.1 is
/// not among them. A number that is too large for the type stays.
pub(crate) fn nearest(kind: &DataType, value: f64) -> f64 {
    let near = match kind {
        DataType::Float32 => f64::from(value as f32),
        DataType::Float16 => half::f16::from_f64(value).to_f64(),
        _ => value,
    };
    if near.is_finite() { near } else { value }
}

/// Compares an integer with a number exactly.
pub(crate) fn order_of_mixed(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // No integer of 128 bits is beyond these, which are 2^127 and its opposite.
    const BEYOND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= BEYOND {
        return Some(Ordering::Less);
    }
    if float < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = float.floor() as i128;
    Some(integer.cmp(&whole).then(if float > whole as f64 { Ordering::Less } else { Ordering::Equal }))
}

impl Predicate {
    /// Creates a condition.
    pub fn new(column: impl Into<String>, comparison: Comparison, value: Scalar) -> Self {
        Self { column: column.into(), comparison, value }
    }

    /// Returns which values satisfy the condition; `ordered` says whether the list of categories is in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if values of this type cannot be compared with the value.
    pub(crate) fn mask(&self, array: &dyn Array, ordered: bool) -> Result<BooleanBuffer> {
        Ok(truths(&self.compare(array, ordered)?))
    }

    /// Returns whether the order of values decides.
    pub(crate) fn needs_order(&self) -> bool {
        !matches!(self.comparison, Comparison::Equal | Comparison::NotEqual)
    }

    fn compare(&self, array: &dyn Array, ordered: bool) -> Result<BooleanArray> {
        macro_rules! number {
            ($kind:ty) => {
                self.integers(array.as_primitive::<$kind>(), |value| value.into())
            };
        }
        match array.data_type() {
            DataType::Int8 => number!(types::Int8Type),
            DataType::Int16 => number!(types::Int16Type),
            DataType::Int32 => number!(types::Int32Type),
            DataType::Int64 => number!(types::Int64Type),
            DataType::UInt8 => number!(types::UInt8Type),
            DataType::UInt16 => number!(types::UInt16Type),
            DataType::UInt32 => number!(types::UInt32Type),
            DataType::UInt64 => number!(types::UInt64Type),
            DataType::Float16 => self.floats(array.as_primitive::<types::Float16Type>(), half::f16::to_f64),
            DataType::Float32 => self.floats(array.as_primitive::<types::Float32Type>(), f64::from),
            DataType::Float64 => self.floats(array.as_primitive::<types::Float64Type>(), |value| value),
            DataType::Boolean => {
                let Scalar::Bool(wanted) = self.value else { return Err(self.wrong(array)) };
                let truths = array.as_boolean();
                Ok(self.each(array.len(), truths.nulls(), |at| Some(truths.value(at).cmp(&wanted))))
            }
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                self.texts(array, |at| texts.value(at))
            }
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                self.texts(array, |at| texts.value(at))
            }
            DataType::Utf8View => {
                let texts = array.as_string_view();
                self.texts(array, |at| texts.value(at))
            }
            DataType::Dictionary(key, _) if **key == DataType::Int32 => {
                let names = array.as_dictionary::<Int32Type>();
                let known = self.categories(names.values().as_ref(), ordered)?;
                let keys = names.keys();
                let values = BooleanBuffer::collect_bool(keys.len(), |at| {
                    let key = keys.value(at);
                    let key = usize::try_from(key).unwrap_or(usize::MAX);
                    keys.is_valid(at) && key < known.len() && known.is_valid(key) && known.value(key)
                });
                Ok(BooleanArray::new(values, None))
            }
            DataType::Timestamp(unit, _) => self.counts(array, *unit, self.moment(array)?),
            DataType::Date32 => {
                let (days, wanted) = (array.as_primitive::<types::Date32Type>(), self.moment(array)?);
                let order = |day: &i32| (i128::from(*day) * 86_400_000_000_000).cmp(&wanted);
                Ok(self.each(days.len(), days.nulls(), |at| days.values().get(at).map(order)))
            }
            DataType::Date64 => {
                let (counts, wanted) = (array.as_primitive::<types::Date64Type>(), self.moment(array)?);
                let order = |count: &i64| (i128::from(*count) * 1_000_000).cmp(&wanted);
                Ok(self.each(counts.len(), counts.nulls(), |at| counts.values().get(at).map(order)))
            }
            _ => Err(self.wrong(array)),
        }
    }

    /// Returns which categories of a list satisfy the condition.
    fn categories(&self, names: &dyn Array, ordered: bool) -> Result<BooleanArray> {
        let texts = matches!(names.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        // Numbers and dates have an order without a list.
        if !self.needs_order() || !(ordered || texts) {
            return self.compare(names, ordered);
        }
        let equal = Self { comparison: Comparison::Equal, ..self.clone() };
        let same = equal.mask(names, ordered)?;
        if !ordered {
            return Err(Error::usage(
                "predicate",
                format!("{self} needs an order of the categories of {}, and none is known", self.column),
            ));
        }
        let mut places = same.set_indices();
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(self.each(names.len(), None, |at| Some(at.cmp(&place)))),
            (None, _) => Err(Error::usage(
                "predicate",
                format!("{self} compares with a value that is not among the categories of {}", self.column),
            )),
            (Some(_), Some(_)) => Err(Error::usage(
                "predicate",
                format!("{self} compares with a value that the categories of {} list twice", self.column),
            )),
        }
    }

    /// Returns the date that values are compared with.
    fn moment(&self, array: &dyn Array) -> Result<i128> {
        match &self.value {
            Scalar::Moment(moment) => Ok(*moment),
            Scalar::Text(text) => crate::dates::moment(text).ok_or_else(|| self.wrong(array)),
            _ => Err(self.wrong(array)),
        }
    }

    fn wrong(&self, array: &dyn Array) -> Error {
        let kind = array.data_type();
        Error::usage("predicate", format!("{self} compares values of type {kind} with another type"))
    }

    /// Compares each value; a value without an order satisfies only that it differs.
    fn each(
        &self,
        count: usize,
        nulls: Option<&NullBuffer>,
        order: impl Fn(usize) -> Option<Ordering>,
    ) -> BooleanArray {
        let comparison = self.comparison;
        let values = BooleanBuffer::collect_bool(count, |at| {
            order(at).map_or(comparison == Comparison::NotEqual, |order| comparison.allows(order))
        });
        BooleanArray::new(values, nulls.cloned())
    }

    fn integers<T: arrow_array::ArrowPrimitiveType>(
        &self,
        array: &PrimitiveArray<T>,
        wide: impl Fn(T::Native) -> i128,
    ) -> Result<BooleanArray> {
        let values = array.values();
        Ok(match self.value {
            Scalar::Int(wanted) => self.each(values.len(), array.nulls(), |at| {
                values.get(at).map(|&value| wide(value).cmp(&wanted))
            }),
            Scalar::Float(wanted) => self.each(values.len(), array.nulls(), |at| {
                values.get(at).and_then(|&value| order_of_mixed(wide(value), wanted))
            }),
            _ => return Err(self.wrong(array)),
        })
    }

    fn floats<T: arrow_array::ArrowPrimitiveType>(
        &self,
        array: &PrimitiveArray<T>,
        wide: impl Fn(T::Native) -> f64,
    ) -> Result<BooleanArray> {
        let values = array.values();
        // A number that the caller writes means the one that the column has for it.
        let kind = array.data_type();
        let wanted = match self.value {
            Scalar::Float(wanted) => Scalar::Float(nearest(kind, wanted)),
            Scalar::Int(wanted) if *kind != DataType::Float64 => Scalar::Float(nearest(kind, wanted as f64)),
            _ => self.value.clone(),
        };
        Ok(match wanted {
            Scalar::Float(wanted) => self.each(values.len(), array.nulls(), |at| {
                values.get(at).and_then(|&value| wide(value).partial_cmp(&wanted))
            }),
            Scalar::Int(wanted) => self.each(values.len(), array.nulls(), |at| {
                values.get(at).and_then(|&value| order_of_mixed(wanted, wide(value)).map(Ordering::reverse))
            }),
            _ => return Err(self.wrong(array)),
        })
    }

    fn texts<'a>(&self, array: &'a dyn Array, text: impl Fn(usize) -> &'a str) -> Result<BooleanArray> {
        let Scalar::Text(wanted) = &self.value else { return Err(self.wrong(array)) };
        Ok(self.each(array.len(), array.nulls(), |at| Some(text(at).cmp(wanted.as_str()))))
    }

    fn counts(&self, array: &dyn Array, unit: TimeUnit, wanted: i128) -> Result<BooleanArray> {
        let length = crate::decode::length(unit);
        let of = |values: &[i64], nulls: Option<&NullBuffer>| {
            self.each(values.len(), nulls, |at| {
                let value = i128::from(*values.get(at)?);
                value.checked_mul(length).map(|value| value.cmp(&wanted))
            })
        };
        Ok(match unit {
            TimeUnit::Second => {
                let array = array.as_primitive::<types::TimestampSecondType>();
                of(array.values(), array.nulls())
            }
            TimeUnit::Millisecond => {
                let array = array.as_primitive::<types::TimestampMillisecondType>();
                of(array.values(), array.nulls())
            }
            TimeUnit::Microsecond => {
                let array = array.as_primitive::<types::TimestampMicrosecondType>();
                of(array.values(), array.nulls())
            }
            TimeUnit::Nanosecond => {
                let array = array.as_primitive::<types::TimestampNanosecondType>();
                of(array.values(), array.nulls())
            }
        })
    }
}

/// Returns which truth values are true and not missing.
fn truths(array: &BooleanArray) -> BooleanBuffer {
    match array.nulls() {
        Some(nulls) => array.values() & nulls.inner(),
        None => array.values().clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        let large = (1i128 << 53) + 1;
        assert_eq!(order_of_mixed(large, (1u64 << 53) as f64), Some(Ordering::Greater));
        assert_eq!(order_of_mixed(2, 2.5), Some(Ordering::Less));
        assert_eq!(order_of_mixed(-3, -2.5), Some(Ordering::Less));
        assert_eq!(order_of_mixed(-2, -2.5), Some(Ordering::Greater));
        assert_eq!(order_of_mixed(i128::from(u64::MAX), f64::INFINITY), Some(Ordering::Less));
        assert_eq!(order_of_mixed(0, f64::NAN), None);
    }

    #[test]
    fn categories_have_the_order_of_their_list_or_none() {
        use arrow_array::{DictionaryArray, Int32Array, LargeStringArray};
        let of = |names: Vec<&str>| {
            let codes = Int32Array::from(vec![Some(0), Some(2), None, Some(1)]);
            let names = std::sync::Arc::new(LargeStringArray::from(names));
            DictionaryArray::<Int32Type>::try_new(codes, names).unwrap()
        };
        let levels = of(vec!["low", "mid", "high"]);
        let mask = |comparison, value: &str, ordered| {
            let mask = Predicate::new("level", comparison, Scalar::from(value)).mask(&levels, ordered);
            mask.map(|mask| mask.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(mask(Comparison::Less, "mid", true).unwrap(), [true, false, false, false]);
        assert_eq!(mask(Comparison::GreaterOrEqual, "mid", true).unwrap(), [false, true, false, true]);
        for ordered in [true, false] {
            assert_eq!(mask(Comparison::Equal, "high", ordered).unwrap(), [false, true, false, false]);
            assert_eq!(mask(Comparison::NotEqual, "none", ordered).unwrap(), [true, true, false, true]);
        }
        let refused = mask(Comparison::Less, "mid", false).unwrap_err();
        assert_eq!(
            refused,
            "predicate level < 'mid' needs an order of the categories of level, and none is known"
        );
        assert!(mask(Comparison::Less, "none", true).unwrap_err().contains("is not among the categories"));
        let twice = Predicate::new("level", Comparison::Less, Scalar::from("low"));
        assert!(twice.mask(&of(vec!["low", "low", "high"]), true).is_err());
    }
}
