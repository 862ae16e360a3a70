//! Decodes the elements of a column into Arrow arrays.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, DurationMicrosecondArray, DurationMillisecondArray,
    DurationNanosecondArray, DurationSecondArray, FixedSizeListArray, Int32Array, LargeStringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use sciformats_conventions::decoding::{Decoding, Numbers};
use sciformats_conventions::sciformats::{ElementType, Error, Result};
use sciformats_conventions::time::{Calendar, DateTime, TimeUnits};
use sciformats_conventions::{Column, Undecoded, Values};
use sciformats_core::{Fault, FaultKind};

use crate::build::{Builder, integers, names};
use crate::marks;

/// The zone of moments that are known to be in UTC.
const UTC: &str = "UTC";

/// Returns the type of a column, of which no rows were read.
pub(crate) fn data_type(column: &Column, none: &Undecoded) -> Result<DataType> {
    let mut kind = match none {
        Undecoded::Stored { element, decoding, .. } => stored_type(element, decoding)?,
        Undecoded::Padded { .. } => DataType::LargeUtf8,
        Undecoded::Decoded(Values::Plain { element, .. }) => Builder::new(element)?.data_type(),
        // Objects of MATLAB, whose dates are as fine as microseconds, and reach further than nanoseconds.
        Undecoded::Decoded(Values::Times(_) | Values::Text(_))
            if column.is_object() && is_real(column.calendar()) =>
        {
            DataType::Timestamp(TimeUnit::Microsecond, column.is_in_utc().then(|| UTC.into()))
        }
        Undecoded::Decoded(Values::Times(_)) if is_real(column.calendar()) => {
            DataType::Timestamp(TimeUnit::Nanosecond, None)
        }
        Undecoded::Decoded(Values::Categories { .. }) => names(),
        Undecoded::Decoded(_) => DataType::LargeUtf8,
        Undecoded::Spread { of, .. } => return data_type(column, of),
        _ => return Err(Error::internal("a column in a form that Arrow does not know")),
    };
    kind = marks::marked(column, kind)?;
    for side in column.row_shape().iter().rev() {
        let side = i32::try_from(*side).map_err(|_| too_wide(column))?;
        kind = DataType::FixedSizeList(Arc::new(Field::new("item", kind, true)), side);
    }
    Ok(kind)
}

/// Returns whether the values of a column, of which no rows were read, are categories whose order means something.
pub(crate) fn is_ordered(none: &Undecoded) -> bool {
    match none {
        Undecoded::Stored { decoding: Decoding::Categories { ordered, .. }, .. }
        | Undecoded::Decoded(Values::Categories { ordered, .. }) => *ordered,
        Undecoded::Spread { of, .. } => is_ordered(of),
        _ => false,
    }
}

fn stored_type(element: &ElementType, decoding: &Decoding) -> Result<DataType> {
    Ok(match decoding {
        Decoding::Stored => Builder::new(element)?.data_type(),
        Decoding::Numbers(numbers) => match span(numbers) {
            Some(unit) => DataType::Duration(unit),
            None => Builder::new(numbers.element())?.data_type(),
        },
        Decoding::Time { numbers, units } if is_real(Some(units.calendar())) => {
            let zone = units.is_in_utc().then(|| UTC.into());
            DataType::Timestamp(unit(units, numbers), zone)
        }
        Decoding::SecondsAndMicroseconds => DataType::Timestamp(TimeUnit::Microsecond, None),
        Decoding::Categories { .. } => names(),
        Decoding::Truth => DataType::Boolean,
        Decoding::As(element) => Builder::new(element)?.data_type(),
        _ => DataType::LargeUtf8,
    })
}

fn too_wide(column: &Column) -> Error {
    Error::unsupported(format!("the column {}, whose rows have more than 2^31 values, in Arrow", column.name))
}

/// Returns whether Arrow's timestamps have the days of a calendar. The standard calendar only differs from them
/// before 1582, where nanoseconds of 64 bits do not reach.
fn is_real(calendar: Option<Calendar>) -> bool {
    matches!(calendar, Some(Calendar::Standard | Calendar::ProlepticGregorian))
}

/// Returns the unit of timestamps: that in which a file counts, if Arrow has it. In the standard calendar, a range
/// beyond that of nanoseconds could contain days that Arrow counts otherwise.
fn unit(units: &TimeUnits, numbers: &Numbers) -> TimeUnit {
    let (step, origin) = units.line();
    let is_whole = matches!(numbers.from, ElementType::Int(_) | ElementType::UInt(_))
        && numbers.scale.is_none()
        && numbers.offset.is_none();
    let of = match step {
        _ if units.calendar() == Calendar::Standard => TimeUnit::Nanosecond,
        // Parquet has no seconds.
        1_000_000 | 1_000_000_000 if is_whole => TimeUnit::Millisecond,
        // Dates of fractions are as fine as that.
        1_000 | 1_000_000 | 1_000_000_000 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    if origin.checked_rem(length(of)) == Some(0) { of } else { TimeUnit::Nanosecond }
}

/// Returns the length of a unit in nanoseconds.
pub(crate) fn length(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Returns the unit of numbers that are spans of time as pandas stores them, which are otherwise decoded into
/// seconds.
fn span(numbers: &Numbers) -> Option<TimeUnit> {
    let is_span = numbers.from == ElementType::Int(8)
        && numbers.fill.as_slice() == [i64::MIN as f64]
        && numbers.offset.is_none()
        && numbers.to == Some(ElementType::F64);
    let units = [
        (1.0, TimeUnit::Second),
        (1e-3, TimeUnit::Millisecond),
        (1e-6, TimeUnit::Microsecond),
        (1e-9, TimeUnit::Nanosecond),
    ];
    let found = units.into_iter().find(|(scale, _)| numbers.scale == Some(*scale));
    found.filter(|_| is_span).map(|(_, unit)| unit)
}

/// Returns the array of some rows.
pub(crate) fn array(
    column: &Column,
    (kind, height): (&DataType, usize),
    from: Undecoded,
) -> Result<ArrayRef> {
    let mut leaf = kind;
    let mut sides = column.row_shape().len();
    while let (DataType::FixedSizeList(item, _), 1..) = (leaf, sides) {
        leaf = item.data_type();
        sides -= 1;
    }
    let flat = marks::as_type(flat(column, leaf, from)?, leaf).map_err(|error| internal(&error))?;
    nested(kind, flat, height).map_err(|error| internal(&error))
}

pub(crate) fn internal(error: &ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Returns values as lists, if the type says so.
fn nested(kind: &DataType, flat: ArrayRef, height: usize) -> Result<ArrayRef, ArrowError> {
    let DataType::FixedSizeList(item, size) = kind else { return Ok(flat) };
    if flat.data_type() == kind {
        return Ok(flat);
    }
    let size_of = usize::try_from(*size).unwrap_or_default();
    let inner = nested(item.data_type(), flat, height.saturating_mul(size_of))?; // a bound
    Ok(Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, inner, None, height)?))
}

/// Returns which values are not missing.
fn valid(column: &Column, missing: &[bool], count: usize) -> Result<NullBuffer> {
    if missing.len() != count {
        let (name, marks) = (&column.name, missing.len());
        return Err(Error::usage(
            "column",
            format!("{name} has {count} values, but {marks} marks of missing ones"),
        ));
    }
    Ok(NullBuffer::new(BooleanBuffer::collect_bool(count, |at| missing.get(at) == Some(&false))))
}

/// Returns all values as one array.
fn flat(column: &Column, kind: &DataType, from: Undecoded) -> Result<ArrayRef> {
    match from {
        Undecoded::Stored { element, bytes, decoding, missing } => {
            stored(column, kind, (element, bytes), &decoding, missing)
        }
        Undecoded::Padded { size, padding, bytes, decoding } => {
            let missing = match &decoding {
                Decoding::Text { missing } => Some(missing.as_bytes()),
                _ => None,
            };
            let texts = bytes.chunks_exact(size.max(1)).map(|text| padding.without(text));
            crate::build::texts(texts, missing, bytes.len())
        }
        Undecoded::Decoded(values) => decoded(column, kind, values),
        Undecoded::Spread { of, places } => {
            let places = places.into_iter().map(|place| place as u64).collect::<UInt64Array>();
            let values = flat(column, kind, *of)?;
            arrow_select::take::take(&values, &places, None).map_err(|error| internal(&error))
        }
        _ => Err(Error::internal("a column in a form that Arrow does not know")),
    }
}

/// Returns plain elements as an array, without those that are marked as missing.
#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
fn plain(
    column: &Column,
    element: &ElementType,
    bytes: Vec<u8>,
    missing: Option<Vec<bool>>,
) -> Result<ArrayRef> {
    let mut builder = Builder::new(element)?;
    let texts = matches!(element, ElementType::Text | ElementType::Reference | ElementType::Region);
    let nulls = match &missing {
        Some(missing) if !texts => {
            let size = element.size().and_then(|size| usize::try_from(size).ok());
            let count = size.filter(|&size| size > 0).map_or(missing.len(), |size| bytes.len() / size);
            Some(valid(column, missing, count)?)
        }
        _ => None,
    };
    builder.extend_owned(bytes)?;
    if let (Some(missing), true) = (&missing, texts) {
        let nulls = valid(column, missing, builder.len())?;
        return builder.finish(Some(nulls)).map_err(|error| internal(&error));
    }
    builder.finish(nulls).map_err(|error| internal(&error))
}

fn stored(
    column: &Column,
    kind: &DataType,
    (element, bytes): (ElementType, Vec<u8>),
    decoding: &Decoding,
    missing: Option<Vec<bool>>,
) -> Result<ArrayRef> {
    match decoding {
        Decoding::Stored => plain(column, &element, bytes, missing),
        Decoding::As(element) => plain(column, element, bytes, missing),
        Decoding::Numbers(numbers) if span(numbers).is_some() => {
            let counts = integers(&numbers.from, &bytes)?;
            let missing = missing.unwrap_or_default();
            let marked = |at: usize| missing.get(at) == Some(&true);
            let present = counts.iter().enumerate().map(|(at, &count)| count != i64::MIN && !marked(at));
            duration(kind, &counts, present.collect())
        }
        Decoding::Time { numbers, units } => match whole(kind, numbers, units, &bytes)? {
            Some((moments, mut present)) => {
                for (present, missing) in present.iter_mut().zip(missing.iter().flatten()) {
                    *present &= !missing;
                }
                moments_array(kind, moments, present)
            }
            None => fallback(column, kind, (element, bytes), decoding, missing),
        },
        Decoding::Truth => match element {
            ElementType::Bits(1) | ElementType::UInt(1) | ElementType::Int(1) | ElementType::Bool => {
                truths(column, &bytes, missing)
            }
            ElementType::Enum { ref base, .. } if base.size() == Some(1) => truths(column, &bytes, missing),
            _ => fallback(column, kind, (element, bytes), decoding, missing),
        },
        Decoding::Categories { names: known, .. } => match integers(&element, &bytes) {
            Ok(codes) => {
                let marked = |at: usize| missing.as_ref().and_then(|all| all.get(at)) == Some(&true);
                let codes = codes.into_iter().enumerate().map(|(at, code)| match usize::try_from(code) {
                    _ if code == -1 || marked(at) => Ok(None),
                    Ok(inside) if inside < known.len() => Ok(i32::try_from(code).ok()),
                    _ => Err(beyond(column, code, known.len())),
                });
                categories(codes.collect::<Result<_>>()?, known)
            }
            Err(_) => fallback(column, kind, (element, bytes), decoding, missing),
        },
        Decoding::Text { missing: word } if element == ElementType::Text && missing.is_none() => {
            crate::build::counted_texts(&bytes, Some(word.as_bytes()))
        }
        _ => fallback(column, kind, (element, bytes), decoding, missing),
    }
}

/// The error for a code that stands for no category; what is missing has the code -1.
fn beyond(column: &Column, code: i64, known: usize) -> Error {
    let kind = FaultKind::OutOfBounds { found: code.cast_unsigned(), end: known as u64 };
    let fault = Fault { field: Some("code of a category"), kind };
    fault.at("column of a table", 0).within(None, Some(&column.name))
}

/// Decodes in the general way.
fn fallback(
    column: &Column,
    kind: &DataType,
    (element, bytes): (ElementType, Vec<u8>),
    decoding: &Decoding,
    missing: Option<Vec<bool>>,
) -> Result<ArrayRef> {
    let values = match (decoding.decode(&element, bytes)?, missing) {
        (Values::Plain { element, bytes, .. }, Some(missing)) => {
            return plain(column, &element, bytes, Some(missing));
        }
        (Values::Text(texts), Some(missing)) => Values::Text(without(texts, &missing)),
        (Values::Times(times), Some(missing)) => Values::Times(without(times, &missing)),
        (Values::Categories { codes, names, ordered }, Some(missing)) => {
            Values::Categories { codes: without(codes, &missing), names, ordered }
        }
        (values, _) => values,
    };
    decoded(column, kind, values)
}

fn without<T>(values: Vec<Option<T>>, missing: &[bool]) -> Vec<Option<T>> {
    let marked = missing.iter().copied().chain(std::iter::repeat(false));
    values.into_iter().zip(marked).map(|(value, missing)| value.filter(|_| !missing)).collect()
}

fn truths(column: &Column, bytes: &[u8], missing: Option<Vec<bool>>) -> Result<ArrayRef> {
    let nulls = missing.map(|missing| valid(column, &missing, bytes.len())).transpose()?;
    let truths = BooleanBuffer::collect_bool(bytes.len(), |at| bytes.get(at).is_some_and(|&byte| byte != 0));
    Ok(Arc::new(BooleanArray::new(truths, nulls)))
}

fn categories(codes: Int32Array, known: &[String]) -> Result<ArrayRef> {
    let names = known.iter().map(|name| Some(name.as_str())).collect::<LargeStringArray>();
    let array: DictionaryArray<Int32Type> =
        DictionaryArray::try_new(codes, Arc::new(names) as Arc<dyn Array>)
            .map_err(|error| internal(&error))?;
    Ok(Arc::new(array))
}

/// Decodes integers that count time without a detour through dates; `None` if they are scaled or no integers.
fn whole(
    kind: &DataType,
    numbers: &Numbers,
    units: &TimeUnits,
    bytes: &[u8],
) -> Result<Option<(Vec<i64>, Vec<bool>)>> {
    let DataType::Timestamp(unit, _) = kind else { return Ok(None) };
    let plain = numbers.scale.is_none() && numbers.offset.is_none() && numbers.valid == (None, None);
    if !plain || !matches!(numbers.from, ElementType::Int(_) | ElementType::UInt(1..=4)) {
        return Ok(None);
    }
    let Ok(mut counts) = integers(&numbers.from, bytes) else { return Ok(None) };
    let present: Vec<bool> = if numbers.fill.is_empty() {
        vec![true; counts.len()]
    } else {
        counts.iter().map(|count| !numbers.fill.contains(&(*count as f64))).collect()
    };
    let (step, origin) = units.line();
    let unit = length(*unit);
    if step == unit && origin == 0 {
        return Ok(Some((counts, present)));
    }
    for (count, present) in counts.iter_mut().zip(&present) {
        if !present {
            *count = 0;
            continue;
        }
        let moment = i128::from(*count).checked_mul(step).and_then(|since| since.checked_add(origin));
        let counted = moment.and_then(|moment| i64::try_from(moment.div_euclid(unit)).ok());
        *count = counted.ok_or_else(|| {
            let shown = units.moment_of_integer((*count).into()).map(|moment| moment.to_string());
            far(&shown.unwrap_or_else(|| format!("{count} steps after the first one")))
        })?;
    }
    Ok(Some((counts, present)))
}

fn far(moment: &str) -> Error {
    Error::unsupported(format!("the date {moment} in nanoseconds of 64 bits"))
}

fn moments_array(kind: &DataType, moments: Vec<i64>, present: Vec<bool>) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, zone) = kind else {
        return Err(Error::internal("a column of dates does not have the type of dates"));
    };
    let nulls = NullBuffer::from(present);
    let nulls = (nulls.null_count() > 0).then_some(nulls);
    let moments = ScalarBuffer::from(moments);
    let zone = zone.clone();
    Ok(match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::new(moments, nulls).with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(TimestampMillisecondArray::new(moments, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(TimestampMicrosecondArray::new(moments, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(TimestampNanosecondArray::new(moments, nulls).with_timezone_opt(zone))
        }
    })
}

fn duration(kind: &DataType, counts: &[i64], present: Vec<bool>) -> Result<ArrayRef> {
    let DataType::Duration(unit) = kind else {
        return Err(Error::internal("a column of durations does not have the type of durations"));
    };
    let nulls = NullBuffer::from(present);
    let nulls = (nulls.null_count() > 0).then_some(nulls);
    let counts = ScalarBuffer::from(counts.to_vec());
    Ok(match unit {
        TimeUnit::Second => Arc::new(DurationSecondArray::new(counts, nulls)),
        TimeUnit::Millisecond => Arc::new(DurationMillisecondArray::new(counts, nulls)),
        TimeUnit::Microsecond => Arc::new(DurationMicrosecondArray::new(counts, nulls)),
        TimeUnit::Nanosecond => Arc::new(DurationNanosecondArray::new(counts, nulls)),
    })
}

/// Returns values that were decoded already.
fn decoded(column: &Column, kind: &DataType, values: Values) -> Result<ArrayRef> {
    Ok(match values {
        Values::Plain { element, bytes, missing } => plain(column, &element, bytes, missing)?,
        Values::Times(times) => match kind {
            DataType::Timestamp(unit, _) => {
                let unit = length(*unit);
                let counted = |time: &DateTime| {
                    let count = time.nanoseconds(Calendar::ProlepticGregorian).div_euclid(unit);
                    i64::try_from(count).map_err(|_| far(&time.to_string()))
                };
                let present = times.iter().map(Option::is_some).collect();
                let moments = times.iter().map(|time| time.as_ref().map_or(Ok(0), counted));
                moments_array(kind, moments.collect::<Result<_>>()?, present)?
            }
            _ => Arc::new(Values::Times(times).cells()?.into_iter().collect::<LargeStringArray>()),
        },
        // Moments in UTC of numbers that are not integers have become texts.
        Values::Text(texts) => match kind {
            DataType::Timestamp(unit, _) => {
                let unit = length(*unit);
                let calendar = column.calendar().unwrap_or(Calendar::ProlepticGregorian);
                let mut moments = Vec::with_capacity(texts.len());
                let mut present = Vec::with_capacity(texts.len());
                for text in texts {
                    present.push(text.is_some());
                    let Some(text) = text else {
                        moments.push(0);
                        continue;
                    };
                    // The date of zero of such units is the date in the text.
                    let line = TimeUnits::parse(&format!("nanoseconds since {text}"), calendar);
                    let counted = line.and_then(|units| i64::try_from(units.line().1.div_euclid(unit)).ok());
                    moments.push(counted.ok_or_else(|| far(&text))?);
                }
                moments_array(kind, moments, present)?
            }
            _ => Arc::new(texts.into_iter().collect::<LargeStringArray>()),
        },
        Values::Categories { codes, names, .. } => {
            let codes = codes.into_iter().map(|code| code.map(i32::try_from).transpose());
            let codes = codes.collect::<Result<Int32Array, _>>();
            categories(
                codes.map_err(|_| Error::unsupported("a column with more than 2^31 categories in Arrow"))?,
                &names,
            )?
        }
    })
}
