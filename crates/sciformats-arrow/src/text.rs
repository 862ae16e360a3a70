//! Values of Arrow arrays as text: for people and CSV, and as JSON.

use std::fmt::{Display, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    self, ArrowDictionaryKeyType, ArrowPrimitiveType, ArrowTemporalType, DecimalType, RunEndIndexType,
};
use arrow_array::{Array, RunArray};
use arrow_schema::{DataType, Fields, IntervalUnit, TimeUnit};
use sciformats_conventions::sciformats::model::write_text;
use sciformats_conventions::time::{Calendar, DateTime};

/// How values become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For people and CSV: texts as they are, and nothing for missing values and NaN.
    Plain,
    /// JSON, in which missing values and NaN are `null`, and infinities are the texts `"Infinity"` and `"-Infinity"`.
    Json,
}

/// Appends the value at a row; returns whether there is one.
///
/// ```
/// use sciformats_arrow::arrow_array::Int32Array;
/// use sciformats_arrow::{Style, write_cell};
///
/// let mut out = String::new();
/// let column = Int32Array::from(vec![Some(7), None]);
/// assert!(write_cell(&mut out, Style::Json, &column, 0) && !write_cell(&mut out, Style::Json, &column, 1));
/// assert_eq!(out, "7null");
/// ```
pub fn write_cell(out: &mut String, style: Style, array: &dyn Array, row: usize) -> bool {
    if row >= array.len() || array.is_null(row) {
        return missing(out, style);
    }
    let cell = Cell { array, row };
    match array.data_type() {
        // An array of nothing but missing values has no marks of them.
        DataType::Null => missing(out, style),
        DataType::Int8 => shown(out, cell.of::<types::Int8Type>()),
        DataType::Int16 => shown(out, cell.of::<types::Int16Type>()),
        DataType::Int32 => shown(out, cell.of::<types::Int32Type>()),
        DataType::Int64 => shown(out, cell.of::<types::Int64Type>()),
        DataType::UInt8 => shown(out, cell.of::<types::UInt8Type>()),
        DataType::UInt16 => shown(out, cell.of::<types::UInt16Type>()),
        DataType::UInt32 => shown(out, cell.of::<types::UInt32Type>()),
        DataType::UInt64 => shown(out, cell.of::<types::UInt64Type>()),
        DataType::Float16 => float(out, style, cell.of::<types::Float16Type>().to_f32()),
        DataType::Float32 => float(out, style, cell.of::<types::Float32Type>()),
        DataType::Float64 => float(out, style, cell.of::<types::Float64Type>()),
        DataType::Boolean => shown(out, array.as_boolean().value(row)),
        DataType::Utf8 => text(out, style, array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => text(out, style, array.as_string::<i64>().value(row)),
        DataType::Utf8View => text(out, style, array.as_string_view().value(row)),
        DataType::Binary => bytes(out, style, array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(out, style, array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(out, style, array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(out, style, array.as_fixed_size_binary().value(row)),
        DataType::Timestamp(unit, zone) => moment(out, style, cell.timestamp(*unit), zone.is_some()),
        DataType::Date32 => moment(out, style, cell.days(), false),
        DataType::Date64 => moment(out, style, cell.milliseconds(), false),
        DataType::Duration(unit) => seconds(out, cell.duration(*unit)),
        DataType::Dictionary(key, _) => category(out, style, cell, key),
        DataType::FixedSizeList(..) => list(out, array.as_fixed_size_list().value(row).as_ref()),
        DataType::List(_) => list(out, array.as_list::<i32>().value(row).as_ref()),
        DataType::LargeList(_) => list(out, array.as_list::<i64>().value(row).as_ref()),
        DataType::Struct(fields) => record(out, cell, fields),
        DataType::Decimal32(..) => decimal::<types::Decimal32Type>(out, cell),
        DataType::Decimal64(..) => decimal::<types::Decimal64Type>(out, cell),
        DataType::Decimal128(..) => decimal::<types::Decimal128Type>(out, cell),
        DataType::Decimal256(..) => decimal::<types::Decimal256Type>(out, cell),
        DataType::Time32(TimeUnit::Second) => time::<types::Time32SecondType>(out, style, cell),
        DataType::Time32(_) => time::<types::Time32MillisecondType>(out, style, cell),
        DataType::Time64(TimeUnit::Microsecond) => time::<types::Time64MicrosecondType>(out, style, cell),
        DataType::Time64(_) => time::<types::Time64NanosecondType>(out, style, cell),
        DataType::Interval(unit) => interval(out, style, cell, *unit),
        // A list of records with a key and a value.
        DataType::Map(..) => list(out, &array.as_map().value(row)),
        DataType::ListView(_) => list(out, array.as_list_view::<i32>().value(row).as_ref()),
        DataType::LargeListView(_) => list(out, array.as_list_view::<i64>().value(row).as_ref()),
        DataType::Union(..) => write_cell(out, style, array.as_union().value(row).as_ref(), 0),
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run::<types::Int16Type>(out, style, cell),
            DataType::Int32 => run::<types::Int32Type>(out, style, cell),
            _ => run::<types::Int64Type>(out, style, cell),
        },
    }
}

/// A row of an array.
#[derive(Clone, Copy)]
struct Cell<'a> {
    array: &'a dyn Array,
    row: usize,
}

impl Cell<'_> {
    /// Returns the number that is stored.
    #[inline]
    fn of<K: ArrowPrimitiveType>(self) -> K::Native {
        self.array.as_primitive::<K>().value(self.row)
    }

    /// Returns the nanoseconds of a date and time since 1970.
    #[inline]
    fn timestamp(self, unit: TimeUnit) -> i128 {
        let count = match unit {
            TimeUnit::Second => self.of::<types::TimestampSecondType>(),
            TimeUnit::Millisecond => self.of::<types::TimestampMillisecondType>(),
            TimeUnit::Microsecond => self.of::<types::TimestampMicrosecondType>(),
            TimeUnit::Nanosecond => self.of::<types::TimestampNanosecondType>(),
        };
        i128::from(count) * crate::decode::length(unit)
    }

    /// Returns the nanoseconds of a date that is a number of days.
    #[inline]
    fn days(self) -> i128 {
        i128::from(self.of::<types::Date32Type>()) * 86_400_000_000_000
    }

    /// Returns the nanoseconds of a date that is a number of milliseconds.
    #[inline]
    fn milliseconds(self) -> i128 {
        i128::from(self.of::<types::Date64Type>()) * 1_000_000
    }

    /// Returns the nanoseconds of a span.
    #[inline]
    fn duration(self, unit: TimeUnit) -> i128 {
        let count = match unit {
            TimeUnit::Second => self.of::<types::DurationSecondType>(),
            TimeUnit::Millisecond => self.of::<types::DurationMillisecondType>(),
            TimeUnit::Microsecond => self.of::<types::DurationMicrosecondType>(),
            TimeUnit::Nanosecond => self.of::<types::DurationNanosecondType>(),
        };
        i128::from(count) * crate::decode::length(unit)
    }
}

/// An integer or a truth value, which every style shows the same way.
#[inline]
fn shown(out: &mut String, value: impl Display) -> bool {
    let _ = write!(out, "{value}");
    true
}

/// A value that is stored once for several rows.
fn run<K: RunEndIndexType>(out: &mut String, style: Style, Cell { array, row }: Cell<'_>) -> bool {
    match array.as_any().downcast_ref::<RunArray<K>>() {
        Some(runs) => write_cell(out, style, runs.values().as_ref(), runs.get_physical_index(row)),
        None => missing(out, style),
    }
}

/// A span as a number of seconds, with all its digits.
fn seconds(out: &mut String, nanoseconds: i128) -> bool {
    let (sign, size) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.unsigned_abs());
    let digits = format!("{:09}", size % 1_000_000_000);
    let fraction = digits.trim_end_matches('0');
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    let _ = write!(out, "{sign}{}.{fraction}", size / 1_000_000_000);
    true
}

/// A decimal number with all its digits.
fn decimal<K: DecimalType>(out: &mut String, Cell { array, row }: Cell<'_>) -> bool {
    out.push_str(&array.as_primitive::<K>().value_as_string(row));
    true
}

/// A time of day, such as `12:30:00.5`.
fn time<K: ArrowTemporalType>(out: &mut String, style: Style, Cell { array, row }: Cell<'_>) -> bool
where
    i64: From<K::Native>,
{
    let times = array.as_primitive::<K>();
    match times.value_as_time(row) {
        Some(time) => text(out, style, &time.to_string()),
        // No day has it, so only the number can be shown.
        None => text(out, style, &i64::from(times.value(row)).to_string()),
    }
}

/// A span whose months and days have no fixed length.
fn interval(out: &mut String, style: Style, cell: Cell<'_>, unit: IntervalUnit) -> bool {
    let told = match unit {
        IntervalUnit::YearMonth => format!("{} months", cell.of::<types::IntervalYearMonthType>()),
        IntervalUnit::DayTime => {
            let span = cell.of::<types::IntervalDayTimeType>();
            format!("{} days {} ms", span.days, span.milliseconds)
        }
        IntervalUnit::MonthDayNano => {
            let span = cell.of::<types::IntervalMonthDayNanoType>();
            format!("{} months {} days {} ns", span.months, span.days, span.nanoseconds)
        }
    };
    text(out, style, &told)
}

fn missing(out: &mut String, style: Style) -> bool {
    if style == Style::Json {
        out.push_str("null");
    }
    false
}

fn float(out: &mut String, style: Style, value: impl Into<f64> + std::fmt::Debug + Copy) -> bool {
    let wide: f64 = value.into();
    if wide.is_nan() {
        return missing(out, style);
    }
    // JSON has no numbers for them.
    if wide.is_infinite() && style == Style::Json {
        out.push_str(if wide > 0.0 { r#""Infinity""# } else { r#""-Infinity""# });
        return true;
    }
    let _ = write!(out, "{value:?}");
    true
}

fn text(out: &mut String, style: Style, text: &str) -> bool {
    match style {
        Style::Plain => out.push_str(text),
        Style::Json => write_text(out, text),
    }
    true
}

/// Bytes in hexadecimal digits.
fn bytes(out: &mut String, style: Style, bytes: &[u8]) -> bool {
    let quote = if style == Style::Json { "\"" } else { "" };
    out.push_str(quote);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push_str(quote);
    true
}

fn moment(out: &mut String, style: Style, nanoseconds: i128, zoned: bool) -> bool {
    let Some(moment) = DateTime::at(Calendar::ProlepticGregorian, nanoseconds) else {
        return text(out, style, &format!("{nanoseconds} nanoseconds since 1970-01-01"));
    };
    let quote = if style == Style::Json { "\"" } else { "" };
    let _ = write!(out, "{quote}{moment}{}{quote}", if zoned { "Z" } else { "" });
    true
}

/// A value that is stored once for all rows with its key.
fn category(out: &mut String, style: Style, cell: Cell<'_>, key: &DataType) -> bool {
    match key {
        DataType::Int8 => name::<types::Int8Type>(out, style, cell),
        DataType::Int16 => name::<types::Int16Type>(out, style, cell),
        DataType::Int32 => name::<types::Int32Type>(out, style, cell),
        DataType::Int64 => name::<types::Int64Type>(out, style, cell),
        DataType::UInt8 => name::<types::UInt8Type>(out, style, cell),
        DataType::UInt16 => name::<types::UInt16Type>(out, style, cell),
        DataType::UInt32 => name::<types::UInt32Type>(out, style, cell),
        _ => name::<types::UInt64Type>(out, style, cell),
    }
}

fn name<K: ArrowDictionaryKeyType>(out: &mut String, style: Style, Cell { array, row }: Cell<'_>) -> bool
where
    <K as ArrowPrimitiveType>::Native: TryInto<usize>,
{
    let names = array.as_dictionary::<K>();
    match names.keys().value(row).try_into() {
        Ok(key) => write_cell(out, style, names.values().as_ref(), key),
        Err(_) => missing(out, style),
    }
}

/// A record as an object of JSON, in every style.
fn record(out: &mut String, Cell { array, row }: Cell<'_>, fields: &Fields) -> bool {
    out.push('{');
    for (at, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write_text(out, field.name());
        out.push(':');
        write_cell(out, Style::Json, column.as_ref(), row);
    }
    out.push('}');
    true
}

/// A list as one of JSON, in every style.
fn list(out: &mut String, values: &dyn Array) -> bool {
    out.push('[');
    for at in 0..values.len() {
        out.push_str(if at > 0 { "," } else { "" });
        write_cell(out, Style::Json, values, at);
    }
    out.push(']');
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, DurationNanosecondArray, DurationSecondArray, Int32Array, LargeStringArray, RecordBatch,
        RecordBatchIterator, Time32SecondArray, TimestampSecondArray,
    };

    use super::*;

    fn cells(array: &dyn Array, style: Style) -> Vec<String> {
        let cell = |row| {
            let mut out = String::new();
            write_cell(&mut out, style, array, row);
            out
        };
        (0..array.len()).map(cell).collect()
    }

    #[test]
    fn spans_have_all_their_digits() {
        let spans =
            DurationNanosecondArray::from(vec![i64::MIN, -1, 0, 1_500_000_000, 9_007_199_254_740_993]);
        let expected = ["-9223372036.854775808", "-0.000000001", "0.0", "1.5", "9007199.254740993"];
        assert_eq!(cells(&spans, Style::Plain), expected);
        assert_eq!(cells(&DurationSecondArray::from(vec![i64::MAX]), Style::Json), ["9223372036854775807.0"]);
    }

    #[test]
    fn values_beyond_days_and_years_are_shown() {
        let far = TimestampSecondArray::from(vec![i64::MAX]);
        assert_eq!(cells(&far, Style::Plain), ["9223372036854775807000000000 nanoseconds since 1970-01-01"]);
        assert_eq!(
            cells(&Time32SecondArray::from(vec![43_200, 90_000]), Style::Json),
            ["\"12:00:00\"", "\"90000\""]
        );
    }

    #[test]
    fn values_of_runs_are_those_of_their_rows() {
        let texts = LargeStringArray::from(vec![Some("a,b"), None]);
        let runs = RunArray::<types::Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &texts).unwrap();
        assert_eq!(cells(&runs, Style::Json), ["\"a,b\"", "\"a,b\"", "null"]);
        assert_eq!(cells(&runs.slice(1, 2), Style::Json), ["\"a,b\"", "null"]);
        let batch = RecordBatch::try_from_iter([("x", Arc::new(runs) as ArrayRef)]).unwrap();
        let mut out = Vec::new();
        let schema = batch.schema();
        crate::write_csv(RecordBatchIterator::new([Ok(batch)], schema), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "x\r\n\"a,b\"\r\n\"a,b\"\r\n\"\"\r\n");
    }
}
