//! Elements as numbers.

use sciformats::{Array, Datum, Decoder, ElementType, Error, Result, Selection};
use serde_json::json;

use crate::cells::bytes_of;
use crate::describe::sort;
use crate::session::{Opened, Reply, Request};
use crate::thing::{Thing, bounded, selection};

/// Selects one number of an element: a field of a compound, or a part of a complex number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aspect<'a> {
    field: Option<&'a str>,
    part: &'a str,
}

impl<'a> Aspect<'a> {
    /// Returns the `field` and the `part` of a request. The part is `abs`, `re`, `im` or `phase`.
    pub(crate) fn of(request: &Request<'a>) -> Self {
        Self { field: request.maybe_text("field"), part: request.maybe_text("part").unwrap_or("abs") }
    }

    fn number(&self, datum: &Datum<'_>) -> Option<f64> {
        match datum {
            Datum::Complex(re, im, _) => Some(match self.part {
                "re" => *re,
                "im" => *im,
                "phase" => im.atan2(*re),
                _ => re.hypot(*im),
            }),
            Datum::Record(fields) => {
                let wanted = self.field?;
                let field = fields.iter().find(|(name, _)| name.shown() == wanted)?;
                self.number(&field.1)
            }
            other => other.to_f64(),
        }
    }

    /// Returns the elements in `bytes` as numbers; what is no number is NaN.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if no element can be a number.
    pub(crate) fn numbers(&self, element: &ElementType, bytes: &[u8]) -> Result<Vec<f64>> {
        macro_rules! plain {
            ($type:ty) => {
                Ok(bytes.as_chunks().0.iter().map(|&bytes| <$type>::from_le_bytes(bytes) as f64).collect())
            };
        }
        match element {
            ElementType::F64 => plain!(f64),
            ElementType::F32 => plain!(f32),
            ElementType::Int(1) => plain!(i8),
            ElementType::Int(2) => plain!(i16),
            ElementType::Int(4) => plain!(i32),
            ElementType::Int(8) => plain!(i64),
            ElementType::UInt(1) => plain!(u8),
            ElementType::UInt(2) => plain!(u16),
            ElementType::UInt(4) => plain!(u32),
            ElementType::UInt(8) => plain!(u64),
            ElementType::Text | ElementType::Reference | ElementType::Region | ElementType::Opaque(_) => {
                Err(Error::usage("array", "has elements that are no numbers"))
            }
            ElementType::Compound(_) if self.field.is_none() => {
                Err(Error::usage("array", "has fields; choose one of them"))
            }
            other => Decoder::new(other, bytes)
                .map(|datum| datum.map(|datum| self.number(&datum).unwrap_or(f64::NAN)))
                .collect(),
        }
    }

    /// Returns the selected elements of an array as numbers.
    pub(crate) fn read(&self, array: &Array<'_>, selection: &Selection) -> Result<Vec<f64>> {
        bounded(selection, array.element())?;
        self.numbers(array.element(), &bytes_of(array, selection)?)
    }
}

/// The range of some numbers, and the numbers that are not in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    /// The lowest and the highest finite number, if there is one.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) missing: u64,
    pub(crate) infinite: u64,
}

impl Range {
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let mut range = Self { low: None, high: None, missing: 0, infinite: 0 };
        for &number in numbers {
            if number.is_finite() {
                range.low = Some(range.low.map_or(number, |low| low.min(number)));
                range.high = Some(range.high.map_or(number, |high| high.max(number)));
            } else if number.is_nan() {
                range.missing += 1;
            } else {
                range.infinite += 1;
            }
        }
        range
    }
}

/// Returns the mean of some finite numbers with a known sum, also if the sum is too large to be a number.
pub(crate) fn mean(numbers: impl Iterator<Item = f64>, sum: f64, count: usize) -> f64 {
    let count = count as f64;
    if sum.is_finite() { sum / count } else { numbers.map(|number| number / count).sum() }
}

/// Returns the little-endian bytes of numbers.
pub(crate) fn bytes(numbers: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// Returns the name of the type in which the canonical bytes of an element can be handed over as they are.
fn native(element: &ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::F64 | ElementType::FloatOther => "float64",
        ElementType::F32 => "float32",
        ElementType::Int(1) => "int8",
        ElementType::Int(2) => "int16",
        ElementType::Int(4) => "int32",
        ElementType::Int(8) => "int64",
        ElementType::UInt(1) | ElementType::Bool | ElementType::Bits(1) => "uint8",
        ElementType::UInt(2) | ElementType::Bits(2) => "uint16",
        ElementType::UInt(4) | ElementType::Bits(4) | ElementType::Time(4) => "uint32",
        ElementType::UInt(8) | ElementType::Bits(8) | ElementType::Time(8) => "uint64",
        ElementType::Complex(8) => "complex64",
        ElementType::Complex(16) => "complex128",
        ElementType::Enum { base, .. } => return native(base),
        _ => return None,
    })
}

/// Answers the selected elements as a typed array: as they are stored, or as binary64 if `as` is `float64`.
pub(crate) fn read(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    bounded(&selection, array.element())?;
    let mut json =
        json!({ "shape": selection.shape(), "sort": sort(array.element()), "decoded": thing.is_meant() });
    let as_is = native(array.element()).filter(|_| request.maybe_text("as") != Some("float64"));
    let (data, name) = match as_is {
        Some(name) => (bytes_of(&array, &selection)?, name),
        None => (bytes(&Aspect::of(request).read(&array, &selection)?), "float64"),
    };
    if let Some(object) = json.as_object_mut() {
        object.insert("dtype".into(), name.into());
    }
    Ok(Reply::with(&json, data))
}

/// Answers the number of finite elements, their range, sum, mean and squares, the number of infinite ones, and the counts of a
/// histogram. The caller merges those of several parts. A sum beyond the largest number is null.
pub(crate) fn statistics(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    let numbers = Aspect::of(request).read(&array, &selection)?;
    let Range { low, high, infinite, .. } = Range::of(&numbers);
    let finite = || numbers.iter().filter(|number| number.is_finite());
    let (sum, count) = (finite().fold(0.0, |sum, number| sum + number), finite().count());
    let mean = mean(finite().copied(), sum, count);
    let squares: f64 = finite().map(|number| (number - mean) * (number - mean)).sum();
    let bins = usize::try_from(request.maybe_number("bins").unwrap_or(0)).unwrap_or(0).min(1 << 16);
    let (from, to) = (
        request.maybe_float("low").or(low).unwrap_or(f64::INFINITY),
        request.maybe_float("high").or(high).unwrap_or(f64::NEG_INFINITY),
    );
    let mut counts = vec![0u32; bins];
    if bins > 0 && to >= from {
        // Two numbers may be further apart than the largest number is from zero.
        let part = if (to - from).is_finite() { 1.0 } else { 0.5 };
        let span = to * part - from * part;
        for &number in finite().filter(|number| (from..=to).contains(*number)) {
            // If all are the same, the quotient is no number, and becomes 0.
            let bin = (((number * part - from * part) / span * bins as f64) as usize).min(bins - 1);
            if let Some(count) = counts.get_mut(bin) {
                *count += 1;
            }
        }
    }
    let known = |number: f64| number.is_finite().then_some(number);
    let json = json!({
        "count": count,
        "infinite": infinite,
        "all": numbers.len(),
        "low": low,
        "high": high,
        "sum": known(sum),
        "mean": known(mean),
        "squares": known(squares),
        "from": known(from),
        "to": known(to),
    });
    Ok(Reply::with(&json, counts.into_iter().flat_map(u32::to_le_bytes).collect()))
}
