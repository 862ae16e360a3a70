//! The values of Arrow arrays as elements of HDF5.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, TimeUnit};
use sciformats_conventions::sciformats::hdf5_pure::Datatype;
use sciformats_conventions::sciformats::hdf5_pure::structure::Class;
use sciformats_conventions::sciformats::hdf5_pure::values::Encoder;
use sciformats_conventions::sciformats::{Error, Result};

use crate::csv::of_arrow;
use crate::marks;

/// How the values of a column are stored.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) datatype: Datatype,
    pub(super) kind: Kind,
    name: String,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Numbers of so many bytes, which Arrow has in the same form; the bytes of a missing one, if there is one.
    Plain {
        width: usize,
        missing: Option<Vec<u8>>,
    },
    /// Bytes without a meaning, of one size.
    Bytes(usize),
    Truth,
    /// Texts of any length.
    Text,
    /// Bytes of any length.
    Blob,
    /// Texts in places of this size.
    Padded(usize),
    /// Lists of one length.
    Equal(Box<Cell>, usize),
    /// Lists of any length.
    List(Box<Cell>),
    /// Records.
    Record(Vec<Cell>),
}

/// What differs between the forms in which tables are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taste {
    Plain,
    PyTables,
}

fn unsupported(name: &str, what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("the column {name} of {what} in this form of a table"))
}

/// The units of dates and spans, which are stored as integers.
pub(super) fn units(kind: &DataType) -> Option<String> {
    let name = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    };
    match kind {
        DataType::Timestamp(unit, _) => Some(format!("{} since 1970-01-01", name(unit))),
        DataType::Duration(unit) => Some(name(unit).to_owned()),
        DataType::Date32 => Some("days since 1970-01-01".into()),
        DataType::Date64 => Some("milliseconds since 1970-01-01".into()),
        DataType::Time32(unit) | DataType::Time64(unit) => Some(name(unit).to_owned()),
        _ => None,
    }
}

/// Returns the attributes that say what the values of a column stand for: their names and texts. `path` has the names
/// that lead to the column, each with a dot after it.
pub(super) fn notes(path: &str, field: &Field) -> Vec<(String, String)> {
    fn add(path: &str, kind: &DataType, into: &mut Vec<(String, String)>) {
        match kind {
            DataType::Struct(fields) => {
                for field in fields {
                    add(&format!("{path}{}.", field.name()), field.data_type(), into);
                }
            }
            DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
                add(path, item.data_type(), into);
            }
            DataType::Dictionary(_, values) => add(path, values, into),
            kind => {
                into.extend(units(kind).map(|units| (format!("{path}units"), units)));
                into.extend(marks::of(kind).map(|mark| (format!("{path}{}", marks::NAME), mark)));
            }
        }
    }
    let mut notes = Vec::new();
    add(path, field.data_type(), &mut notes);
    let own = format!("{path}units");
    if let (Some(units), false) = (field.metadata().get("units"), notes.iter().any(|(name, _)| *name == own))
    {
        notes.push((own, units.clone()));
    }
    notes
}

/// Checks that the fields of records have names that differ, also where names of records in records are joined by dots,
/// and that `PyTables` can open a table with these names.
pub(super) fn named<'f>(fields: impl IntoIterator<Item = &'f Arc<Field>>, taste: Taste) -> Result<()> {
    fn add<'f>(
        path: &str,
        fields: impl IntoIterator<Item = &'f Arc<Field>>,
        (taste, known): (Taste, &mut HashSet<String>),
    ) -> Result<()> {
        for field in fields {
            let name = field.name();
            if name.is_empty() || name.contains('\0') {
                return Err(Error::unsupported(format!("the name {name:?} of a column in records")));
            }
            if taste == Taste::PyTables && !is_name_of_pytables(name) {
                return Err(Error::unsupported(format!(
                    "the name {name:?} of a column in a table of PyTables"
                )));
            }
            let path = format!("{path}{name}");
            let mut kind = field.data_type();
            while let DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) =
                kind
            {
                kind = item.data_type();
            }
            if let DataType::Struct(fields) = kind {
                add(&format!("{path}."), fields, (taste, known))?;
            }
            if !known.insert(path.clone()) {
                return Err(Error::unsupported(format!(
                    "writing two columns with the name {path} in records"
                )));
            }
        }
        Ok(())
    }
    add("", fields, (taste, &mut HashSet::new()))
}

/// Returns whether `PyTables` can open an object or a field of this name. Those that begin with `_v_` and the like are
/// the names of its own methods.
pub(super) fn is_name_of_pytables(name: &str) -> bool {
    let own = ["_c_", "_f_", "_g_", "_v_"].iter().any(|start| name.starts_with(start));
    !(name.is_empty() || name == "." || name.contains('/') || name == "__members__" || own)
}

impl Cell {
    /// Returns how values of a type are stored; `widths` has the sizes of the longest texts, if texts have one size.
    pub(super) fn new(name: &str, kind: &DataType, taste: Taste, width: usize) -> Result<Self> {
        let number = |datatype: Datatype, missing: Option<Vec<u8>>| {
            let width = usize::try_from(datatype.size).unwrap_or_default();
            (datatype, Kind::Plain { width, missing })
        };
        let (signed, unsigned) =
            (|size| number(Datatype::signed(size), None), |size| number(Datatype::unsigned(size), None));
        // NumPy's missing date.
        let moment = || number(Datatype::signed(8), Some(i64::MIN.to_le_bytes().to_vec()));
        let day = || number(Datatype::signed(4), Some(i32::MIN.to_le_bytes().to_vec()));
        let (datatype, kind) = match kind {
            DataType::Int8 => signed(1),
            DataType::Int16 => signed(2),
            DataType::Int32 => signed(4),
            DataType::Int64 => signed(8),
            DataType::UInt8 => unsigned(1),
            DataType::UInt16 => unsigned(2),
            DataType::UInt32 => unsigned(4),
            DataType::UInt64 => unsigned(8),
            DataType::Float16 => number(Datatype::float16(), Some(half::f16::NAN.to_le_bytes().to_vec())),
            DataType::Float32 => number(Datatype::float32(), Some(f32::NAN.to_le_bytes().to_vec())),
            DataType::Float64 => number(Datatype::float64(), Some(f64::NAN.to_le_bytes().to_vec())),
            DataType::Timestamp(..) | DataType::Duration(_) | DataType::Date64 | DataType::Time64(_) => {
                moment()
            }
            DataType::Date32 | DataType::Time32(_) => day(),
            DataType::Boolean => match taste {
                Taste::PyTables => (Datatype::bits(1), Kind::Truth),
                Taste::Plain => {
                    let truths = [("FALSE", 0), ("TRUE", 1)];
                    (Datatype::enumeration(&Datatype::signed(1), truths)?, Kind::Truth)
                }
            },
            // Categories are stored as the values that they stand for.
            DataType::Dictionary(_, values) => return Self::new(name, values, taste, width),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match taste {
                Taste::PyTables => {
                    let size =
                        u32::try_from(width.max(1)).map_err(|_| unsupported(name, "texts this long"))?;
                    (Datatype::fixed_string(size), Kind::Padded(width.max(1)))
                }
                Taste::Plain => (Datatype::string(), Kind::Text),
            },
            DataType::FixedSizeBinary(size) => {
                let bytes = usize::try_from(*size).unwrap_or_default();
                let size = u32::try_from(*size).unwrap_or_default();
                if bytes == 0 {
                    return Err(unsupported(name, "values without bytes"));
                }
                let datatype = match taste {
                    // PyTables has no bytes without a meaning.
                    Taste::PyTables => Datatype::array(&[size], &Datatype::unsigned(1)),
                    // The tag is empty, because h5py and NumPy cannot read values with another one.
                    Taste::Plain => Datatype::opaque(size, ""),
                };
                (datatype, Kind::Bytes(bytes))
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView if taste == Taste::Plain => {
                (Datatype::sequence(&Datatype::unsigned(1)), Kind::Blob)
            }
            DataType::FixedSizeList(item, size) => {
                let of = Self::new(name, item.data_type(), taste, width)?;
                let count = usize::try_from(*size).unwrap_or_default();
                let first = u32::try_from(*size).unwrap_or_default();
                if count == 0 {
                    return Err(unsupported(name, "lists without values"));
                }
                if taste == Taste::PyTables && matches!(of.kind, Kind::Record(_)) {
                    return Err(unsupported(name, "lists of records"));
                }
                // Lists in lists are one array with several dimensions; PyTables does not know arrays of arrays.
                let datatype = match &of.datatype.class {
                    Class::Array { dimensions, base } => {
                        let shape: Vec<u32> =
                            std::iter::once(first).chain(dimensions.iter().copied()).collect();
                        Datatype::array(&shape, base)
                    }
                    _ => Datatype::array(&[first], &of.datatype),
                };
                (datatype, Kind::Equal(Box::new(of), count))
            }
            DataType::List(item) | DataType::LargeList(item) if taste == Taste::Plain => {
                let of = Self::new(name, item.data_type(), taste, width)?;
                if !of.is_flat() {
                    return Err(unsupported(name, "lists of texts, lists or records"));
                }
                (Datatype::sequence(&of.datatype), Kind::List(Box::new(of)))
            }
            DataType::Struct(fields) => {
                let of = fields.iter().map(|field| Self::new(field.name(), field.data_type(), taste, width));
                let of = of.collect::<Result<Vec<_>>>()?;
                let members = of.iter().map(|cell| (cell.name.as_str(), cell.datatype.clone()));
                (Datatype::compound(members), Kind::Record(of))
            }
            other => return Err(unsupported(name, format!("values of type {other}"))),
        };
        Ok(Self { datatype, kind, name: name.to_owned() })
    }

    /// Returns whether the values are bytes of one size, side by side.
    fn is_flat(&self) -> bool {
        matches!(self.kind, Kind::Plain { .. } | Kind::Bytes(_) | Kind::Truth)
    }

    fn missing(&self) -> Error {
        let name = &self.name;
        Error::unsupported(format!(
            "a missing value in the column {name} in this form of a table (`anndata` can hold it)"
        ))
    }

    /// The error for a value that this form has as another one.
    fn changed(&self, what: &str) -> Error {
        Error::unsupported(format!(
            "writing {what} of the column {} in this form of a table without a change",
            self.name
        ))
    }

    /// Checks that no text has the byte that ends texts in files.
    fn without_zeros(&self, texts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        match texts.iter().any(|text| text.contains(&0)) {
            true => Err(self.changed("a text with a zero byte")),
            false => Ok(texts),
        }
    }

    /// Prepares the values of an array to be appended row by row.
    pub(super) fn values(&self, array: &ArrayRef) -> Result<Values> {
        let array = &plain(array)?;
        if array.null_count() > 0 && !matches!(self.kind, Kind::Plain { missing: Some(_), .. }) {
            return Err(self.missing());
        }
        Ok(match &self.kind {
            Kind::Plain { width, missing } => {
                let mut bytes =
                    plain_bytes(array, *width).ok_or_else(|| unsupported(&self.name, "other values"))?;
                // For floats, the mark is NaN, which is missing in any case. A date whose bytes equal the mark would be lost.
                let counts = !array.data_type().is_floating();
                if let Some(missing) = missing.as_ref().filter(|_| counts || array.null_count() > 0) {
                    for (at, place) in bytes.chunks_exact_mut((*width).max(1)).enumerate() {
                        if array.is_null(at) {
                            place.copy_from_slice(missing);
                        } else if counts && place == missing.as_slice() {
                            return Err(
                                self.changed("the smallest integer as a date, which means a missing one,")
                            );
                        }
                    }
                }
                Values::Fixed(*width, bytes)
            }
            Kind::Bytes(size) => {
                let of = array.as_fixed_size_binary();
                Values::Fixed(*size, (0..of.len()).flat_map(|row| of.value(row).to_vec()).collect())
            }
            Kind::Truth => Values::Fixed(1, array.as_boolean().values().iter().map(u8::from).collect()),
            Kind::Text => Values::Text(self.without_zeros(texts(array)?)?),
            Kind::Blob => Values::Text(texts(array)?),
            Kind::Padded(size) => {
                let mut bytes = Vec::with_capacity(array.len().saturating_mul(*size)); // a hint
                for text in self.without_zeros(texts(array)?)? {
                    // All texts were measured before, but the file may have changed since.
                    if text.len() > *size {
                        return Err(self.changed(&format!("a text of more than {size} bytes")));
                    }
                    let before = bytes.len();
                    bytes.extend_from_slice(&text);
                    bytes.resize(before.saturating_add(*size), 0); // a bound
                }
                Values::Fixed(*size, bytes)
            }
            Kind::Equal(of, count) => {
                let lists = array.as_fixed_size_list();
                Values::Equal(Box::new(of.values(lists.values())?), *count, lists.offset())
            }
            Kind::List(of) => {
                let (values, ends): (&ArrayRef, Vec<usize>) = match array.data_type() {
                    DataType::List(_) => {
                        let lists = array.as_list::<i32>();
                        (lists.values(), lists.offsets().iter().map(|end| end.as_usize()).collect())
                    }
                    _ => {
                        let lists = array.as_list::<i64>();
                        (lists.values(), lists.offsets().iter().map(|end| end.as_usize()).collect())
                    }
                };
                Values::List(Box::new(of.values(values)?), ends)
            }
            Kind::Record(of) => {
                let columns = array.as_struct().columns().iter();
                Values::Record(
                    of.iter().zip(columns).map(|(of, column)| of.values(column)).collect::<Result<_>>()?,
                )
            }
        })
    }
}

/// Values that are ready to be appended.
pub(super) enum Values {
    Fixed(usize, Vec<u8>),
    Text(Vec<Vec<u8>>),
    Equal(Box<Values>, usize, usize),
    List(Box<Values>, Vec<usize>),
    Record(Vec<Values>),
}

impl Values {
    /// Appends the value at a row.
    pub(super) fn append(&self, row: usize, to: &mut Encoder<'_>) -> Result<()> {
        let lost = || Error::internal("a column that is shorter than its table");
        match self {
            Self::Fixed(width, bytes) => {
                let start = row.checked_mul(*width).ok_or_else(lost)?;
                to.bytes(bytes.get(start..).and_then(|rest| rest.get(..*width)).ok_or_else(lost)?);
                Ok(())
            }
            Self::Text(texts) => to.text(texts.get(row).ok_or_else(lost)?),
            Self::Equal(of, count, first) => {
                let start =
                    row.checked_add(*first).and_then(|row| row.checked_mul(*count)).ok_or_else(lost)?;
                (start..start.saturating_add(*count)).try_for_each(|at| of.append(at, to)) // a bound
            }
            Self::List(of, ends) => {
                let (start, end) = (ends.get(row), ends.get(row.saturating_add(1))); // a bound
                let (Some(&start), Some(&end)) = (start, end) else { return Err(lost()) };
                let Self::Fixed(width, bytes) = &**of else { return Err(lost()) };
                let part = start.checked_mul(*width).zip(end.checked_mul(*width));
                let part = part.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(lost)?;
                to.sequence(end.saturating_sub(start), part) // a bound: offsets are in order
            }
            Self::Record(of) => of.iter().try_for_each(|of| of.append(row, to)),
        }
    }
}

/// Returns an array of categories as one of the values that they stand for.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(categories) = array.as_any_dictionary_opt() else { return Ok(Arc::clone(array)) };
    arrow_select::take::take(categories.values().as_ref(), categories.keys(), None).map_err(of_arrow)
}

/// Returns the texts of an array, or its bytes.
pub(super) fn texts(array: &ArrayRef) -> Result<Vec<Vec<u8>>> {
    let rows = 0..array.len();
    Ok(match array.data_type() {
        DataType::Utf8 => rows.map(|row| array.as_string::<i32>().value(row).into()).collect(),
        DataType::LargeUtf8 => rows.map(|row| array.as_string::<i64>().value(row).into()).collect(),
        DataType::Utf8View => rows.map(|row| array.as_string_view().value(row).into()).collect(),
        DataType::Binary => rows.map(|row| array.as_binary::<i32>().value(row).to_vec()).collect(),
        DataType::LargeBinary => rows.map(|row| array.as_binary::<i64>().value(row).to_vec()).collect(),
        DataType::BinaryView => rows.map(|row| array.as_binary_view().value(row).to_vec()).collect(),
        _ => {
            let mut texts = Vec::with_capacity(array.len());
            for row in rows {
                let mut text = String::new();
                crate::write_cell(&mut text, crate::Style::Plain, array.as_ref(), row);
                texts.push(text.into_bytes());
            }
            texts
        }
    })
}

/// Returns the little-endian bytes of numbers.
pub(super) fn plain_bytes(array: &ArrayRef, width: usize) -> Option<Vec<u8>> {
    macro_rules! of {
        ($kind:ty) => {
            array.as_primitive::<$kind>().values().iter().flat_map(|value| value.to_le_bytes()).collect()
        };
    }
    let bytes: Vec<u8> = match array.data_type() {
        DataType::Int8 => of!(types::Int8Type),
        DataType::Int16 => of!(types::Int16Type),
        DataType::Int32 => of!(types::Int32Type),
        DataType::Int64 => of!(types::Int64Type),
        DataType::UInt8 => of!(types::UInt8Type),
        DataType::UInt16 => of!(types::UInt16Type),
        DataType::UInt32 => of!(types::UInt32Type),
        DataType::UInt64 => of!(types::UInt64Type),
        DataType::Float16 => of!(types::Float16Type),
        DataType::Float32 => of!(types::Float32Type),
        DataType::Float64 => of!(types::Float64Type),
        DataType::Date32 => of!(types::Date32Type),
        DataType::Date64 => of!(types::Date64Type),
        DataType::Timestamp(TimeUnit::Second, _) => of!(types::TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of!(types::TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of!(types::TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of!(types::TimestampNanosecondType),
        DataType::Time32(TimeUnit::Second) => of!(types::Time32SecondType),
        DataType::Time32(_) => of!(types::Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => of!(types::Time64MicrosecondType),
        DataType::Time64(_) => of!(types::Time64NanosecondType),
        DataType::Duration(TimeUnit::Second) => of!(types::DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => of!(types::DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => of!(types::DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => of!(types::DurationNanosecondType),
        _ => return None,
    };
    (bytes.len() == array.len().checked_mul(width)?).then_some(bytes)
}
