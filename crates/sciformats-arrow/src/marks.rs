//! The types of columns that HDF5 has no elements for: they are stored as integers or bytes, and an attribute says what
//! these stand for.
//!
//! The attribute is `arrow_type`. An array has it itself; records have one for each such field, after the names that lead
//! to it: `when.arrow_type`, `place.since.arrow_type`. Lists have the mark of what they contain. The words are those of
//! pyarrow:
//!
//! | `arrow_type` | stored as |
//! |---|---|
//! | `timestamp[UNIT]`, `timestamp[UNIT, tz=ZONE]`, `duration[UNIT]`, `date64[ms]`, `time64[UNIT]` | integers of 64 bits |
//! | `date32[day]`, `time32[UNIT]` | integers of 32 bits |
//! | `large_binary` | sequences of bytes |
//! | `fixed_size_binary[SIZE]` | arrays of bytes, where the form of a table has no bytes without a meaning |
//!
//! The smallest integer stands for a missing value, as it does in NumPy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{self, ArrowPrimitiveType, UInt8Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, FixedSizeListArray, LargeBinaryArray, LargeListArray,
    PrimitiveArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use sciformats_conventions::Column;
use sciformats_conventions::sciformats::Result;

/// The name of the attribute, after the names that lead to a field of records.
pub(crate) const NAME: &str = "arrow_type";

fn word(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Returns what an attribute says of values of a type; `None` if they are stored as they are.
#[cfg(feature = "hdf5")]
pub(crate) fn of(kind: &DataType) -> Option<String> {
    Some(match kind {
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", word(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, tz={zone}]", word(*unit)),
        DataType::Duration(unit) => format!("duration[{}]", word(*unit)),
        DataType::Date32 => "date32[day]".into(),
        DataType::Date64 => "date64[ms]".into(),
        DataType::Time32(unit) => format!("time32[{}]", word(*unit)),
        DataType::Time64(unit) => format!("time64[{}]", word(*unit)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "large_binary".into(),
        DataType::FixedSizeBinary(size) => format!("fixed_size_binary[{size}]"),
        _ => return None,
    })
}

/// Returns the type that an attribute gives to values that are stored in another one; `None` if it has none for them.
fn named(text: &str, stored: &DataType) -> Option<DataType> {
    let (name, inside) = match text.split_once('[') {
        Some((name, rest)) => (name, rest.strip_suffix(']')?),
        None => (text, ""),
    };
    let (unit, zone) = match inside.split_once(", tz=") {
        Some((unit, zone)) => (unit, Some(Arc::from(zone))),
        None => (inside, None),
    };
    let unit = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]
        .into_iter()
        .find(|known| word(*known) == unit);
    Some(match (name, stored) {
        ("timestamp", DataType::Int64) => DataType::Timestamp(unit?, zone),
        ("duration", DataType::Int64) if zone.is_none() => DataType::Duration(unit?),
        ("date64", DataType::Int64) if inside == "ms" => DataType::Date64,
        ("date32", DataType::Int32) if inside == "day" => DataType::Date32,
        ("time64", DataType::Int64) => DataType::Time64(
            unit.filter(|unit| matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond))?,
        ),
        ("time32", DataType::Int32) => {
            DataType::Time32(unit.filter(|unit| matches!(unit, TimeUnit::Second | TimeUnit::Millisecond))?)
        }
        ("large_binary", DataType::LargeList(item)) if *item.data_type() == DataType::UInt8 => {
            DataType::LargeBinary
        }
        ("fixed_size_binary", DataType::FixedSizeList(item, size))
            if *item.data_type() == DataType::UInt8 && inside == size.to_string() =>
        {
            DataType::FixedSizeBinary(*size)
        }
        _ => return None,
    })
}

/// Returns the type of a column whose values are stored in a type, after what its attributes say.
///
/// # Errors
///
/// An error if an attribute cannot be read.
pub(crate) fn marked(column: &Column, stored: DataType) -> Result<DataType> {
    inside(column, "", stored)
}

fn inside(column: &Column, path: &str, stored: DataType) -> Result<DataType> {
    let is_bytes = |item: &Field| *item.data_type() == DataType::UInt8;
    let may_be_marked = match &stored {
        DataType::Int32 | DataType::Int64 => true,
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => is_bytes(item),
        _ => false,
    };
    if may_be_marked {
        let mark = column.attribute(&format!("{path}{NAME}"))?;
        if let Some(kind) = mark.and_then(|mark| named(&mark, &stored)) {
            return Ok(kind);
        }
    }
    let item = |of: Arc<Field>| -> Result<Arc<Field>> {
        let kind = inside(column, path, of.data_type().clone())?;
        Ok(Arc::new(of.as_ref().clone().with_data_type(kind)))
    };
    Ok(match stored {
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of)?, size),
        DataType::LargeList(of) => DataType::LargeList(item(of)?),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                let path = format!("{path}{}.", field.name());
                let kind = inside(column, &path, field.data_type().clone())?;
                Ok(Arc::new(field.as_ref().clone().with_data_type(kind)))
            });
            DataType::Struct(fields.collect::<Result<_>>()?)
        }
        other => other,
    })
}

/// Returns stored values as those of the type that [`marked`] gave them. The smallest integer is a missing value.
pub(crate) fn as_type(array: ArrayRef, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    macro_rules! counts {
        ($stored:ty, $kind:ty) => {{
            let stored = array.as_primitive::<$stored>();
            let nulls =
                present(stored.values(), stored.nulls(), &<$stored as ArrowPrimitiveType>::Native::MIN);
            Arc::new(
                PrimitiveArray::<$kind>::new(stored.values().clone(), nulls).with_data_type(kind.clone()),
            )
        }};
    }
    Ok(match (array.data_type(), kind) {
        (stored, kind) if stored == kind => array,
        (DataType::Int64, DataType::Timestamp(unit, _)) => match unit {
            TimeUnit::Second => counts!(types::Int64Type, types::TimestampSecondType),
            TimeUnit::Millisecond => counts!(types::Int64Type, types::TimestampMillisecondType),
            TimeUnit::Microsecond => counts!(types::Int64Type, types::TimestampMicrosecondType),
            TimeUnit::Nanosecond => counts!(types::Int64Type, types::TimestampNanosecondType),
        },
        (DataType::Int64, DataType::Duration(unit)) => match unit {
            TimeUnit::Second => counts!(types::Int64Type, types::DurationSecondType),
            TimeUnit::Millisecond => counts!(types::Int64Type, types::DurationMillisecondType),
            TimeUnit::Microsecond => counts!(types::Int64Type, types::DurationMicrosecondType),
            TimeUnit::Nanosecond => counts!(types::Int64Type, types::DurationNanosecondType),
        },
        (DataType::Int64, DataType::Date64) => counts!(types::Int64Type, types::Date64Type),
        (DataType::Int64, DataType::Time64(TimeUnit::Microsecond)) => {
            counts!(types::Int64Type, types::Time64MicrosecondType)
        }
        (DataType::Int64, DataType::Time64(_)) => counts!(types::Int64Type, types::Time64NanosecondType),
        (DataType::Int32, DataType::Date32) => counts!(types::Int32Type, types::Date32Type),
        (DataType::Int32, DataType::Time32(TimeUnit::Second)) => {
            counts!(types::Int32Type, types::Time32SecondType)
        }
        (DataType::Int32, DataType::Time32(_)) => counts!(types::Int32Type, types::Time32MillisecondType),
        (DataType::LargeList(_), DataType::LargeBinary) => {
            let lists = array.as_list::<i64>();
            let bytes = lists.values().as_primitive::<UInt8Type>().values().inner().clone();
            Arc::new(LargeBinaryArray::try_new(lists.offsets().clone(), bytes, lists.nulls().cloned())?)
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeBinary(size)) => {
            let lists = array.as_fixed_size_list();
            let bytes = lists.values().as_primitive::<UInt8Type>().values().inner().clone();
            Arc::new(FixedSizeBinaryArray::try_new(*size, bytes, lists.nulls().cloned())?)
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, size)) => {
            let lists = array.as_fixed_size_list();
            let values = as_type(Arc::clone(lists.values()), item.data_type())?;
            let (nulls, rows) = (lists.nulls().cloned(), lists.len());
            Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, values, nulls, rows)?)
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let lists = array.as_list::<i64>();
            let values = as_type(Arc::clone(lists.values()), item.data_type())?;
            let (ends, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(LargeListArray::try_new(Arc::clone(item), ends, values, nulls)?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let records = array.as_struct();
            let columns = records.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| as_type(Arc::clone(column), field.data_type()));
            let (nulls, rows) = (records.nulls().cloned(), records.len());
            Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns.collect::<Result<_, _>>()?,
                nulls,
                rows,
            )?)
        }
        _ => array,
    })
}

/// Returns which values are neither missing already nor the one that stands for a missing value.
fn present<T: PartialEq>(values: &[T], nulls: Option<&NullBuffer>, missing: &T) -> Option<NullBuffer> {
    let is = BooleanBuffer::collect_bool(values.len(), |at| values.get(at) != Some(missing));
    let own = NullBuffer::new(is);
    NullBuffer::union(Some(&own), nulls).filter(|all| all.null_count() > 0)
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use super::*;

    #[test]
    fn words_and_types() {
        let zone = Some("Europe/Berlin".into());
        for (kind, stored) in [
            (DataType::Timestamp(TimeUnit::Microsecond, None), DataType::Int64),
            (DataType::Timestamp(TimeUnit::Nanosecond, zone), DataType::Int64),
            (DataType::Duration(TimeUnit::Second), DataType::Int64),
            (DataType::Date64, DataType::Int64),
            (DataType::Date32, DataType::Int32),
            (DataType::Time32(TimeUnit::Millisecond), DataType::Int32),
            (DataType::Time64(TimeUnit::Nanosecond), DataType::Int64),
        ] {
            let word = of(&kind).unwrap();
            assert_eq!(named(&word, &stored), Some(kind), "{word}");
            assert_eq!(named(&word, &DataType::Float64), None);
        }
        for text in ["", "timestamp", "timestamp[h]", "timestamp[us", "time64[s]", "date32[ms]", "int64"] {
            assert_eq!(named(text, &DataType::Int64), None, "{text}");
        }
    }
}
