//! Builds Arrow arrays from canonical bytes.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, Int32Array, LargeListArray, LargeStringArray, PrimitiveArray, StructArray, types,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use sciformats_conventions::sciformats::{ElementType, Error, Result};
use sciformats_core::{Fault, FaultKind};

/// Collects elements of one type.
pub(crate) enum Builder {
    /// Numbers, which have the same bytes in the file's canonical form and in Arrow.
    Numbers { of: Number, bytes: Vec<u8> },
    /// Truth values.
    Truths(Vec<bool>),
    /// Texts, with the ends of all of them.
    Texts { bytes: Vec<u8>, ends: Vec<i64> },
    /// Bytes without a meaning; all elements have the same size.
    Opaque { size: i32, bytes: Vec<u8> },
    /// Values with names, as indices into the names.
    Names { base: Number, values: Vec<i128>, names: Arc<dyn Array>, codes: Vec<i32> },
    /// Records.
    Records { fields: Fields, of: Vec<Builder>, count: usize },
    /// Lists of one length.
    Equal { item: Arc<Field>, of: Box<Builder>, size: i32, count: usize },
    /// Lists of any length, with the ends of all of them. Elements without bytes could be any number.
    Lists { item: Arc<Field>, of: Box<Builder>, ends: Vec<i64>, empty: bool },
}

/// A type of numbers that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// Signed integers of so many bytes.
    Int(usize),
    /// Unsigned integers of so many bytes.
    UInt(usize),
    /// Floating-point numbers of so many bytes.
    Float(usize),
    /// The upper half of a 32-bit float, which becomes one.
    Brain,
}

impl Number {
    fn of(element: &ElementType) -> Option<Self> {
        let width = |bytes: u64| usize::try_from(bytes).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8));
        Some(match element {
            ElementType::Int(bytes) => Self::Int(width((*bytes).into())?),
            ElementType::UInt(bytes) => Self::UInt(width((*bytes).into())?),
            ElementType::Bits(bytes) => Self::UInt(width(*bytes)?),
            // The standard only says that they are times; programs store seconds.
            ElementType::Time(bytes) => Self::Int(width(*bytes)?),
            ElementType::F16 => Self::Float(2),
            ElementType::BF16 => Self::Brain,
            ElementType::F32 => Self::Float(4),
            ElementType::F64 | ElementType::FloatOther => Self::Float(8),
            _ => return None,
        })
    }

    fn width(self) -> usize {
        match self {
            Self::Int(width) | Self::UInt(width) | Self::Float(width) => width,
            Self::Brain => 2,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Int(1) => DataType::Int8,
            Self::Int(2) => DataType::Int16,
            Self::Int(4) => DataType::Int32,
            Self::Int(_) => DataType::Int64,
            Self::UInt(1) => DataType::UInt8,
            Self::UInt(2) => DataType::UInt16,
            Self::UInt(4) => DataType::UInt32,
            Self::UInt(_) => DataType::UInt64,
            Self::Float(2) => DataType::Float16,
            Self::Float(4) | Self::Brain => DataType::Float32,
            Self::Float(_) => DataType::Float64,
        }
    }

    fn array(self, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let kept = self != Self::Brain && cfg!(target_endian = "little");
        // What the allocator returns is aligned for numbers, but this is only its habit.
        if kept && bytes.as_ptr().addr().is_multiple_of(self.width()) {
            return self.lent(bytes, nulls);
        }
        self.copied(&bytes, nulls)
    }

    /// Returns an array that has the bytes themselves.
    fn lent(self, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        fn of<T: ArrowPrimitiveType>(
            bytes: Vec<u8>,
            nulls: Option<NullBuffer>,
        ) -> Result<ArrayRef, ArrowError> {
            Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(Buffer::from_vec(bytes)), nulls)?))
        }
        match self {
            Self::Int(1) => of::<types::Int8Type>(bytes, nulls),
            Self::Int(2) => of::<types::Int16Type>(bytes, nulls),
            Self::Int(4) => of::<types::Int32Type>(bytes, nulls),
            Self::Int(_) => of::<types::Int64Type>(bytes, nulls),
            Self::UInt(1) => of::<types::UInt8Type>(bytes, nulls),
            Self::UInt(2) => of::<types::UInt16Type>(bytes, nulls),
            Self::UInt(4) => of::<types::UInt32Type>(bytes, nulls),
            Self::UInt(_) => of::<types::UInt64Type>(bytes, nulls),
            Self::Float(2) => of::<types::Float16Type>(bytes, nulls),
            Self::Float(4) | Self::Brain => of::<types::Float32Type>(bytes, nulls),
            Self::Float(_) => of::<types::Float64Type>(bytes, nulls),
        }
    }

    fn copied(self, bytes: &[u8], nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Int(1) => primitive::<types::Int8Type, 1>(bytes, nulls, i8::from_le_bytes),
            Self::Int(2) => primitive::<types::Int16Type, 2>(bytes, nulls, i16::from_le_bytes),
            Self::Int(4) => primitive::<types::Int32Type, 4>(bytes, nulls, i32::from_le_bytes),
            Self::Int(_) => primitive::<types::Int64Type, 8>(bytes, nulls, i64::from_le_bytes),
            Self::UInt(1) => primitive::<types::UInt8Type, 1>(bytes, nulls, u8::from_le_bytes),
            Self::UInt(2) => primitive::<types::UInt16Type, 2>(bytes, nulls, u16::from_le_bytes),
            Self::UInt(4) => primitive::<types::UInt32Type, 4>(bytes, nulls, u32::from_le_bytes),
            Self::UInt(_) => primitive::<types::UInt64Type, 8>(bytes, nulls, u64::from_le_bytes),
            Self::Float(2) => primitive::<types::Float16Type, 2>(bytes, nulls, half::f16::from_le_bytes),
            Self::Float(4) => primitive::<types::Float32Type, 4>(bytes, nulls, f32::from_le_bytes),
            Self::Float(_) => primitive::<types::Float64Type, 8>(bytes, nulls, f64::from_le_bytes),
            Self::Brain => primitive::<types::Float32Type, 2>(bytes, nulls, |two| {
                half::bf16::from_le_bytes(two).to_f32()
            }),
        }
    }

    /// Returns an integer.
    fn integer(self, bytes: &[u8]) -> Option<i128> {
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let value = u64::from_le_bytes(wide);
        let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
        match self {
            Self::UInt(_) => Some(value.into()),
            Self::Int(_) => Some((value.checked_shl(unused)?.cast_signed() >> unused).into()),
            _ => None,
        }
    }
}

fn primitive<T: ArrowPrimitiveType, const N: usize>(
    bytes: &[u8],
    nulls: Option<NullBuffer>,
    number: impl Fn([u8; N]) -> T::Native,
) -> Result<ArrayRef, ArrowError> {
    let numbers: Vec<T::Native> = bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect();
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(numbers), nulls)?))
}

/// The error for an element type without a counterpart.
fn unsupported(element: &ElementType) -> Error {
    Error::unsupported(format!("an element of type {element} in Arrow"))
}

/// The error for elements that are shorter than they declare.
fn short(found: u64, left: usize) -> Error {
    Fault { field: Some("length"), kind: FaultKind::OutOfBounds { found, end: left as u64 } }
        .at("element of a table", 0)
}

/// The error for lists that have more elements than there can be.
fn endless(found: u64) -> Error {
    Fault { field: Some("number of elements"), kind: FaultKind::OutOfBounds { found, end: EMPTY } }
        .at("list of a table", 0)
}

/// The largest number of elements without bytes in one list.
const EMPTY: u64 = 1 << 16;

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(|| short(count as u64, bytes.len()))?;
    *bytes = rest;
    Ok(taken)
}

fn count(bytes: &mut &[u8]) -> Result<u64> {
    let left = bytes.len();
    let eight = take(bytes, 8)?.try_into().map_err(|_| short(8, left))?;
    Ok(u64::from_le_bytes(eight))
}

fn length(bytes: &mut &[u8]) -> Result<usize> {
    let found = count(bytes)?;
    usize::try_from(found).map_err(|_| short(found, bytes.len()))
}

/// Returns integers of any type as those of 64 bits.
///
/// # Errors
///
/// [`Error::Unsupported`] if the elements are not integers, or too large.
pub(crate) fn integers(element: &ElementType, bytes: &[u8]) -> Result<Vec<i64>> {
    fn all<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> i64) -> Vec<i64> {
        bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
    }
    Ok(match Number::of(element) {
        Some(Number::Int(1)) => all(bytes, |n| i8::from_le_bytes(n).into()),
        Some(Number::Int(2)) => all(bytes, |n| i16::from_le_bytes(n).into()),
        Some(Number::Int(4)) => all(bytes, |n| i32::from_le_bytes(n).into()),
        Some(Number::Int(_)) => all(bytes, i64::from_le_bytes),
        Some(Number::UInt(1)) => all(bytes, |n| u8::from_le_bytes(n).into()),
        Some(Number::UInt(2)) => all(bytes, |n| u16::from_le_bytes(n).into()),
        Some(Number::UInt(4)) => all(bytes, |n| u32::from_le_bytes(n).into()),
        _ => return Err(unsupported(element)),
    })
}

/// Returns texts as an array; those that equal `missing` are null.
///
/// # Errors
///
/// [`Error::Unsupported`] if a text is not UTF-8.
pub(crate) fn texts<'a>(
    texts: impl Iterator<Item = &'a [u8]>,
    missing: Option<&[u8]>,
    size: usize,
) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(size);
    let mut ends = Vec::with_capacity(texts.size_hint().0.saturating_add(1)); // a hint
    let mut present = Vec::new();
    ends.push(0);
    for text in texts {
        if missing.is_some() {
            present.push(missing != Some(text));
        }
        if missing != Some(text) {
            bytes.extend_from_slice(text);
        }
        ends.push(i64::try_from(bytes.len()).map_err(|_| short(0, 0))?);
    }
    let nulls = missing.is_some().then(|| NullBuffer::from(present)).filter(|nulls| nulls.null_count() > 0);
    text_array(bytes, ends, nulls)
}

/// Returns texts as an array; each begins with the number of its bytes.
///
/// # Errors
///
/// As [`texts`].
pub(crate) fn counted_texts(mut all: &[u8], missing: Option<&[u8]>) -> Result<ArrayRef> {
    let mut found = Vec::new();
    let size = all.len();
    while !all.is_empty() {
        let length = length(&mut all)?;
        found.push(take(&mut all, length)?);
    }
    texts(found.into_iter(), missing, size)
}

/// Returns an array of texts, which must be UTF-8 and end between characters.
fn text_array(bytes: Vec<u8>, ends: Vec<i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    let array = LargeStringArray::try_new(ends, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(array.map_err(|_| Error::unsupported("a text that is not UTF-8 in Arrow"))?))
}

fn item(of: &Builder) -> Arc<Field> {
    Arc::new(Field::new("item", of.data_type(), true))
}

impl Builder {
    /// Starts without elements.
    pub(crate) fn new(element: &ElementType) -> Result<Self> {
        if let Some(of) = Number::of(element) {
            return Ok(Self::Numbers { of, bytes: Vec::new() });
        }
        // Any number of elements without bytes fits into a small file.
        if element.size() == Some(0) {
            return Err(unsupported(element));
        }
        Ok(match element {
            ElementType::Bool => Self::Truths(Vec::new()),
            // References are paths.
            ElementType::Text | ElementType::Reference | ElementType::Region => {
                Self::Texts { bytes: Vec::new(), ends: vec![0] }
            }
            ElementType::Opaque(size) | ElementType::Bits(size) | ElementType::Time(size) => {
                let size = i32::try_from(*size).map_err(|_| unsupported(element))?;
                Self::Opaque { size, bytes: Vec::new() }
            }
            ElementType::Complex(size @ (8 | 16)) => {
                let half = Self::Numbers { of: Number::Float(usize::from(*size) / 2), bytes: Vec::new() };
                Self::equal(half, 2)
            }
            ElementType::Enum { base, members } if is_truth(base, members) => Self::Truths(Vec::new()),
            ElementType::Enum { base, members } => {
                let base = Number::of(base).ok_or_else(|| unsupported(element))?;
                let names = members.iter().map(|(name, _)| Some(name.shown().into_owned()));
                let names: LargeStringArray = names.collect();
                let values = members.iter().map(|(_, value)| *value).collect();
                Self::Names { base, values, names: Arc::new(names), codes: Vec::new() }
            }
            ElementType::Compound(fields) => {
                let of = fields.iter().map(|(_, field)| Self::new(field)).collect::<Result<Vec<_>>>()?;
                let named = fields.iter().zip(&of);
                let fields =
                    named.map(|((name, _), of)| Field::new(name.shown(), of.data_type(), true)).collect();
                Self::Records { fields, of, count: 0 }
            }
            ElementType::Array { element: of, shape } => {
                let mut builder = Self::new(of)?;
                for side in shape.iter().rev() {
                    let side = i32::try_from(*side).map_err(|_| unsupported(element))?;
                    builder = Self::equal(builder, side);
                }
                builder
            }
            ElementType::Vlen(of) => {
                if of.size() == Some(0) {
                    return Err(unsupported(element));
                }
                let empty = of.can_be_empty();
                let of = Box::new(Self::new(of)?);
                Self::Lists { item: item(&of), of, ends: vec![0], empty }
            }
            _ => return Err(unsupported(element)),
        })
    }

    /// Starts lists of one length.
    pub(crate) fn equal(of: Self, size: i32) -> Self {
        Self::Equal { item: item(&of), of: Box::new(of), size, count: 0 }
    }

    /// Returns the type of the array.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Numbers { of, .. } => of.data_type(),
            Self::Truths(_) => DataType::Boolean,
            Self::Texts { .. } => DataType::LargeUtf8,
            Self::Opaque { size, .. } => DataType::FixedSizeBinary(*size),
            Self::Names { .. } => names(),
            Self::Records { fields, .. } => DataType::Struct(fields.clone()),
            Self::Equal { item, size, .. } => DataType::FixedSizeList(Arc::clone(item), *size),
            Self::Lists { item, .. } => DataType::LargeList(Arc::clone(item)),
        }
    }

    /// Returns the number of bytes of each element, if all have the same.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Numbers { of, .. } => Some(of.width()),
            Self::Equal { of, size, .. } => of.width()?.checked_mul(usize::try_from(*size).ok()?),
            _ => None,
        }
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers { of, bytes } => bytes.len() / of.width().max(1),
            Self::Truths(truths) => truths.len(),
            Self::Texts { ends, .. } | Self::Lists { ends, .. } => ends.len().saturating_sub(1), // a bound
            Self::Opaque { size, bytes } => {
                bytes.len().checked_div(usize::try_from(*size).unwrap_or_default()).unwrap_or_default()
            }
            Self::Names { codes, .. } => codes.len(),
            Self::Records { count, .. } | Self::Equal { count, .. } => *count,
        }
    }

    /// Appends all elements, whose bytes are kept if nothing has been appended yet.
    pub(crate) fn extend_owned(&mut self, all: Vec<u8>) -> Result<()> {
        match self {
            Self::Numbers { of, bytes } if bytes.is_empty() && all.len().is_multiple_of(of.width()) => {
                *bytes = all;
                Ok(())
            }
            Self::Opaque { size, bytes } if bytes.is_empty() => {
                let size = usize::try_from(*size).unwrap_or_default();
                if size == 0 || !all.len().is_multiple_of(size) {
                    return Err(short(size as u64, all.len()));
                }
                *bytes = all;
                Ok(())
            }
            Self::Equal { .. } if self.width().is_some() => {
                let width = self.width().unwrap_or_default();
                let Self::Equal { of, count, .. } = self else { return Ok(()) };
                if width == 0 || !all.len().is_multiple_of(width) {
                    return Err(short(width as u64, all.len()));
                }
                *count += all.len() / width;
                of.extend_owned(all)
            }
            _ => self.extend(&all),
        }
    }

    /// Appends all elements.
    pub(crate) fn extend(&mut self, mut all: &[u8]) -> Result<()> {
        if let Self::Numbers { of, bytes } = self {
            if !all.len().is_multiple_of(of.width()) {
                return Err(short(of.width() as u64, all.len()));
            }
            bytes.extend_from_slice(all);
            return Ok(());
        }
        while !all.is_empty() {
            self.push(&mut all)?;
        }
        Ok(())
    }

    /// Appends one element.
    fn push(&mut self, from: &mut &[u8]) -> Result<()> {
        match self {
            Self::Numbers { of, bytes } => bytes.extend_from_slice(take(from, of.width())?),
            Self::Truths(truths) => truths.push(take(from, 1)? != [0]),
            Self::Texts { bytes, ends } => {
                let length = length(from)?;
                let text = take(from, length)?;
                if std::str::from_utf8(text).is_err() {
                    return Err(Error::unsupported("a text that is not UTF-8 in Arrow"));
                }
                bytes.extend_from_slice(text);
                ends.push(i64::try_from(bytes.len()).map_err(|_| short(length as u64, 0))?);
            }
            Self::Opaque { size, bytes } => {
                bytes.extend_from_slice(take(from, usize::try_from(*size).unwrap_or_default())?);
            }
            Self::Names { base, values, codes, .. } => {
                let value = base.integer(take(from, base.width())?);
                let code = values.iter().position(|known| Some(*known) == value);
                let code = code.and_then(|code| i32::try_from(code).ok()).ok_or_else(|| {
                    let value = value.unwrap_or_default();
                    Error::unsupported(format!("the value {value} of an enumeration that has no name for it"))
                })?;
                codes.push(code);
            }
            Self::Records { of, count, .. } => {
                of.iter_mut().try_for_each(|field| field.push(from))?;
                *count += 1;
            }
            Self::Equal { of, size, count, .. } => {
                (0..*size).try_for_each(|_| of.push(from))?;
                *count += 1;
            }
            Self::Lists { of, ends, empty, .. } => {
                let length = count(from)?;
                if *empty && length > EMPTY.max(from.len() as u64) {
                    return Err(endless(length));
                }
                (0..length).try_for_each(|_| of.push(from))?;
                let before = ends.last().copied().unwrap_or_default();
                let end = i64::try_from(length).ok().and_then(|length| before.checked_add(length));
                ends.push(end.ok_or_else(|| endless(length))?);
            }
        }
        Ok(())
    }

    /// Returns the array. `nulls` says which of its elements are missing.
    pub(crate) fn finish(self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Numbers { of, bytes } => of.array(bytes, nulls)?,
            Self::Truths(truths) => Arc::new(BooleanArray::new(BooleanBuffer::from(truths), nulls)),
            Self::Texts { bytes, ends } => {
                let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(LargeStringArray::try_new(ends, Buffer::from_vec(bytes), nulls)?)
            }
            Self::Opaque { size, bytes } => {
                Arc::new(FixedSizeBinaryArray::try_new(size, Buffer::from_vec(bytes), nulls)?)
            }
            Self::Names { names, codes, .. } => {
                let codes = Int32Array::try_new(ScalarBuffer::from(codes), nulls)?;
                Arc::new(DictionaryArray::<Int32Type>::try_new(codes, names)?)
            }
            Self::Records { fields, of, count } => {
                let arrays = of.into_iter().map(|field| field.finish(None)).collect::<Result<_, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, count)?)
            }
            Self::Equal { item, of, size, count } => {
                let of = of.finish(None)?;
                Arc::new(FixedSizeListArray::try_new_with_length(item, size, of, nulls, count)?)
            }
            Self::Lists { item, of, ends, .. } => {
                let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(LargeListArray::try_new(item, ends, of.finish(None)?, nulls)?)
            }
        })
    }
}

/// Returns whether an enumeration stands for truth values, as h5py writes them.
fn is_truth(base: &ElementType, members: &[(sciformats_conventions::sciformats::Name, i128)]) -> bool {
    let has = |name: &[u8], value| members.iter().any(|(of, is)| of.as_bytes() == name && *is == value);
    base.size() == Some(1) && members.len() == 2 && has(b"FALSE", 0) && has(b"TRUE", 1)
}

/// The type of values with names.
pub(crate) fn names() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_to_blame_for_lists_without_end() {
        let nothing = ElementType::Array { element: Box::new(ElementType::Text), shape: vec![0] };
        for (of, claimed) in
            [(nothing, u64::MAX), (ElementType::UInt(1), u64::MAX), (ElementType::UInt(1), 3)]
        {
            let mut lists = Builder::new(&ElementType::Vlen(Box::new(of))).unwrap();
            let error = lists.extend(&claimed.to_le_bytes()).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{error}");
        }
    }
}
