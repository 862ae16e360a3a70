//! Packed numbers: `unpacked = stored * scale_factor + add_offset`, and stored values that mean a missing
//! value.
//!
//! Sources: CF conventions, sections 2.5.1 and 8.1; the netCDF users' guide on `_Unsigned`. The type of the
//! result is the one that xarray uses, so that both give the same digits.

use half::f16;
use sciformats::{ElementType, Error, Result};
use sciformats_core::bound;
use sciformats_core::number::{Loop, vectorized};

/// How stored numbers become values.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_conventions::decoding::Numbers;
///
/// let mut packed = Numbers::new(ElementType::Int(2));
/// packed.scale = Some(0.01);
/// packed.fill = vec![-32767.0];
/// packed.to = Some(ElementType::F64);
/// let stored: Vec<u8> = [-32767i16, 250].iter().flat_map(|n| n.to_le_bytes()).collect();
/// let decoded = packed.decode(&stored)?;
/// assert_eq!(f64::from_le_bytes(decoded[8..].try_into().unwrap()), 2.5);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// The type of the stored elements, with the sign that `_Unsigned` selects.
    pub from: ElementType,
    /// The type of the values: a float if some are missing or scaled, or `None` if the values are the stored
    /// ones.
    pub to: Option<ElementType>,
    /// The factor of stored values.
    pub scale: Option<f64>,
    /// Whether integers of 64 bits are divided by the reciprocal of the factor, which is an integer, instead of being
    /// multiplied by the factor, which is rounded: 60000000000 nanoseconds are exactly 60 seconds then.
    pub divides: bool,
    /// The number that is added afterwards.
    pub offset: Option<f64>,
    /// Stored values that mean a missing value.
    pub fill: Vec<f64>,
    /// The smallest and the largest valid stored value.
    pub valid: (Option<Bound>, Option<Bound>),
}

/// The smallest or the largest valid number. Integers are exact, also beyond 2^53.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// An integer.
    Whole(i128),
    /// Any other number.
    Point(f64),
}

impl Bound {
    /// Returns the nearest binary64 number.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Point(number) => number,
        }
    }

    /// Returns the smallest integer that is not below, or the largest that is not above the bound; `None` for NaN.
    pub(crate) fn integer(self, is_least: bool) -> Option<i128> {
        match self {
            Self::Whole(number) => Some(number),
            Self::Point(number) if number.is_nan() => None,
            // A number beyond all integers of the type becomes one that is also beyond them.
            Self::Point(number) if is_least => Some(number.ceil() as i128),
            Self::Point(number) => Some(number.floor() as i128),
        }
    }
}

/// A number as it is stored.
trait Stored: Copy + PartialOrd {
    const SIZE: usize;
    fn each(bytes: &[u8]) -> impl Iterator<Item = Self>;
    fn f32(self) -> f32;
    fn f64(self) -> f64;
    /// Returns the stored number that equals `value`, if there is one.
    fn equal(value: f64) -> Option<Self>;
    /// Returns the smallest number that is not below the lower bound, and the largest that is not above the
    /// upper one.
    fn bounds(least: Option<Bound>, most: Option<Bound>) -> (Self, Self);
}

macro_rules! integer {
    ($($int:ty),*) => {$(
        impl Stored for $int {
            const SIZE: usize = size_of::<$int>();
            #[inline(always)]
            fn each(bytes: &[u8]) -> impl Iterator<Item = Self> {
                bytes.as_chunks().0.iter().map(|word| <$int>::from_le_bytes(*word))
            }
            #[inline(always)]
            fn f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            fn equal(value: f64) -> Option<Self> {
                // A float is converted to the nearest integer of the type, which differs from it if it is not
                // an integer of the type.
                Some(value as $int).filter(|&int| int as f64 == value)
            }
            fn bounds(least: Option<Bound>, most: Option<Bound>) -> (Self, Self) {
                let (low, high) = (i128::from(<$int>::MIN), i128::from(<$int>::MAX));
                let least = least.and_then(|bound| bound.integer(true)).unwrap_or(low); // a bound
                let most = most.and_then(|bound| bound.integer(false)).unwrap_or(high); // a bound
                if least > high || most < low {
                    // No number of the type is inside.
                    return (<$int>::MAX, <$int>::MIN);
                }
                // Both are numbers of the type.
                (least.max(low) as $int, most.min(high) as $int)
            }
        }
    )*};
}
integer!(i8, u8, i16, u16, i32, u32, i64, u64);

impl Stored for f32 {
    const SIZE: usize = 4;
    #[inline(always)]
    fn each(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().map(|word| Self::from_le_bytes(*word))
    }
    #[inline(always)]
    fn f32(self) -> f32 {
        self
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self.into()
    }
    fn equal(value: f64) -> Option<Self> {
        Some(value as f32).filter(|&float| f64::from(float) == value)
    }
    fn bounds(least: Option<Bound>, most: Option<Bound>) -> (Self, Self) {
        // A bound between two floats is rounded, which decides whether the nearer one is valid. Bounds in
        // files have the stored type.
        (
            least.map_or(Self::NEG_INFINITY, |bound| bound.to_f64() as f32),
            most.map_or(Self::INFINITY, |bound| bound.to_f64() as f32),
        )
    }
}

impl Stored for f64 {
    const SIZE: usize = 8;
    #[inline(always)]
    fn each(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().map(|word| Self::from_le_bytes(*word))
    }
    #[inline(always)]
    fn f32(self) -> f32 {
        self as f32
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
    fn equal(value: f64) -> Option<Self> {
        Some(value)
    }
    fn bounds(least: Option<Bound>, most: Option<Bound>) -> (Self, Self) {
        (least.map_or(Self::NEG_INFINITY, Bound::to_f64), most.map_or(Self::INFINITY, Bound::to_f64))
    }
}

impl Stored for f16 {
    const SIZE: usize = 2;
    #[inline(always)]
    fn each(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().map(|word| Self::from_le_bytes(*word))
    }
    #[inline(always)]
    fn f32(self) -> f32 {
        self.into()
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self.into()
    }
    fn equal(value: f64) -> Option<Self> {
        Some(Self::from_f64(value)).filter(|&half| f64::from(half) == value)
    }
    fn bounds(least: Option<Bound>, most: Option<Bound>) -> (Self, Self) {
        {
            let half = |bound: Bound| Self::from_f64(bound.to_f64());
            (least.map_or(Self::NEG_INFINITY, half), most.map_or(Self::INFINITY, half))
        }
    }
}

/// Finds missing values and converts the others.
struct Kernel<'a> {
    numbers: &'a Numbers,
    bytes: &'a [u8],
    out: &'a mut [u8],
}

impl Loop for Kernel<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(mut self) -> Result<()> {
        match &self.numbers.from {
            ElementType::Int(1) => self.of::<i8>(),
            ElementType::Int(2) => self.of::<i16>(),
            ElementType::Int(4) => self.of::<i32>(),
            ElementType::Int(8) => self.of::<i64>(),
            ElementType::UInt(1) => self.of::<u8>(),
            ElementType::UInt(2) => self.of::<u16>(),
            ElementType::UInt(4) => self.of::<u32>(),
            ElementType::UInt(8) => self.of::<u64>(),
            ElementType::F16 => self.of::<f16>(),
            ElementType::F32 => self.of::<f32>(),
            ElementType::F64 => self.of::<f64>(),
            other => Err(Error::unsupported(format!("a packed element of type {other}"))),
        }
    }
}

impl Kernel<'_> {
    /// Converts elements of one type.
    #[inline(always)]
    fn of<T: Stored>(&mut self) -> Result<()> {
        let fills: Vec<T> = self.numbers.fill.iter().filter_map(|&fill| T::equal(fill)).collect();
        let (least, most) = self.numbers.valid;
        let (low, high) = T::bounds(least, most);
        let bounded = least.is_some() || most.is_some();
        // Most arrays have one or two fill values or none. If the compiler knows the comparison, and if it has no branches, several
        // elements are compared at once. In WebAssembly, which is compiled for size, one comparison serves all of them.
        let each = !cfg!(target_family = "wasm");
        match (fills.as_slice(), bounded) {
            // Integers of eight bytes are compared as in xarray, by the nearest binary64 number.
            _ if T::SIZE == 8 && !self.numbers.fill.is_empty() => {
                let fills = &self.numbers.fill;
                self.all(|value: T| {
                    fills.contains(&value.f64()) || (bounded && (value < low || value > high))
                })
            }
            ([], false) if each => self.all(|_: T| false),
            ([fill], false) if each => self.all(|value: T| value == *fill),
            ([one, two], false) if each => self.all(|value: T| (value == *one) | (value == *two)),
            ([], true) if each => self.all(|value: T| (value < low) | (value > high)),
            ([fill], true) if each => self.all(|value: T| (value == *fill) | (value < low) | (value > high)),
            (fills, _) => {
                self.all(|value: T| fills.contains(&value) || (bounded && (value < low || value > high)))
            }
        }
    }

    /// Converts elements, with a test for missing ones.
    #[inline(always)]
    fn all<T: Stored>(&mut self, missing: impl Fn(T) -> bool) -> Result<()> {
        // A factor of 1 and an offset of -0 do not change a value, so they stand for missing ones.
        let (scale, offset) = (self.numbers.scale, self.numbers.offset);
        match &self.numbers.to {
            Some(ElementType::F32) => {
                let scale = scale.map_or(1.0, |number| number as f32);
                let offset = offset.map_or(-0.0, |number| number as f32);
                for (place, stored) in self.out.as_chunks_mut().0.iter_mut().zip(T::each(self.bytes)) {
                    let value = stored.f32() * scale + offset;
                    *place = if missing(stored) { f32::NAN } else { value }.to_le_bytes();
                }
            }
            Some(ElementType::F64) => {
                let (scale, offset) = (scale.unwrap_or(1.0), offset.unwrap_or(-0.0));
                for (place, stored) in self.out.as_chunks_mut().0.iter_mut().zip(T::each(self.bytes)) {
                    let value = stored.f64() * scale + offset;
                    *place = if missing(stored) { f64::NAN } else { value }.to_le_bytes();
                }
            }
            Some(other) => return Err(Error::unsupported(format!("a decoded value of type {other}"))),
            None => return Err(Error::internal("numbers without a decoded type are decoded")),
        }
        Ok(())
    }
}

impl Numbers {
    /// Creates numbers that are not packed.
    pub fn new(from: ElementType) -> Self {
        Self {
            from,
            to: None,
            scale: None,
            divides: false,
            offset: None,
            fill: Vec::new(),
            valid: (None, None),
        }
    }

    /// Returns the type of the values.
    pub fn element(&self) -> &ElementType {
        self.to.as_ref().unwrap_or(&self.from)
    }

    /// Decodes stored elements. Both the input and the result are canonical bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the stored elements are not numbers of 1, 2, 4 or 8 bytes.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_over(bytes, &mut out)?;
        Ok(out)
    }

    /// As [`decode`](Self::decode), but replaces the contents of a buffer. A buffer that is used again is not cleared in between.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn decode_over(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.resize(self.decoded_size(bytes.len()), 0);
        self.decode_to(bytes, out)
    }

    /// Returns the number of bytes of the values that a number of stored bytes has.
    pub fn decoded_size(&self, stored: usize) -> usize {
        let size = |element: &ElementType| element.size().map_or(1, bound::addressable).max(1);
        bound::product(stored / size(&self.from), size(self.element()))
    }

    /// As [`decode`](Self::decode), into a place that has exactly the [size](Self::decoded_size) of the values.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode); [`Error::Usage`] if the place has another size.
    pub fn decode_to(&self, bytes: &[u8], out: &mut [u8]) -> Result<()> {
        if out.len() != self.decoded_size(bytes.len()) {
            return Err(Error::usage("out", "has another size than the values"));
        }
        if self.to.is_none() {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        if let (true, Some(scale), ElementType::Int(8), Some(ElementType::F64)) =
            (self.divides, self.scale, &self.from, &self.to)
        {
            let by = (1.0 / scale).round();
            for (count, out) in i64::each(bytes).zip(out.as_chunks_mut::<8>().0) {
                let count = count as f64;
                let value = if self.fill.contains(&count) { f64::NAN } else { count / by };
                *out = value.to_le_bytes();
            }
            return Ok(());
        }
        vectorized(Kernel { numbers: self, bytes, out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
    }

    #[test]
    fn fills_and_bounds_are_missing() {
        let mut numbers = Numbers::new(ElementType::Int(2));
        numbers.to = Some(ElementType::F32);
        numbers.fill = vec![-99.0, 7.5, 1e9]; // the last two are no stored values
        numbers.valid = (Some(Bound::Point(-50.5)), Some(Bound::Whole(100)));
        let stored: Vec<u8> = [-99i16, 7, -51, -50, 100, 101].iter().flat_map(|n| n.to_le_bytes()).collect();
        let found = floats(&numbers.decode(&stored).unwrap());
        assert_eq!([found[1], found[3], found[4]], [7.0, -50.0, 100.0]);
        assert!(found[0].is_nan() && found[2].is_nan() && found[5].is_nan());
    }

    #[test]
    fn bounds_beyond_the_type_do_not_become_its_ends() {
        let valid = |valid: (Option<f64>, Option<f64>)| {
            let mut numbers = Numbers::new(ElementType::UInt(1));
            numbers.valid = (valid.0.map(Bound::Point), valid.1.map(Bound::Point));
            numbers.to = Some(ElementType::F32);
            let found = floats(&numbers.decode(&[0, 1, 254, 255]).unwrap());
            found.iter().filter(|number| !number.is_nan()).count()
        };
        assert_eq!([valid((Some(256.0), None)), valid((None, Some(-1.0)))], [0, 0]);
        assert_eq!([valid((Some(-1.0), Some(256.0))), valid((Some(255.0), None))], [4, 1]);
        assert_eq!(valid((Some(f64::NAN), Some(f64::NAN))), 4);
    }

    #[test]
    fn bounds_are_exact_integers() {
        macro_rules! check {
            ($($int:ty),*) => {$(
                let ends = [<$int>::MIN, <$int>::MIN + 1, <$int>::MAX / 2, <$int>::MAX / 2 + 1, <$int>::MAX - 1, <$int>::MAX];
                for bound in ends {
                    let whole = Some(Bound::Whole(bound.into()));
                    assert_eq!(<$int>::bounds(whole, None), (bound, <$int>::MAX));
                    assert_eq!(<$int>::bounds(None, whole), (<$int>::MIN, bound));
                }
                let (below, above) = (i128::from(<$int>::MIN) - 1, i128::from(<$int>::MAX) + 1);
                for (below, above) in [
                    (Bound::Whole(below), Bound::Whole(above)),
                    (Bound::Point(-1e300), Bound::Point(1e300)),
                    (Bound::Point(f64::NAN), Bound::Point(f64::NAN)),
                ] {
                    assert_eq!(<$int>::bounds(Some(below), Some(above)), (<$int>::MIN, <$int>::MAX));
                }
                let none = (<$int>::MAX, <$int>::MIN);
                assert_eq!(<$int>::bounds(Some(Bound::Whole(above)), None), none);
                assert_eq!(<$int>::bounds(None, Some(Bound::Whole(below))), none);
            )*};
        }
        check!(i8, u8, i16, u16, i32, u32, i64, u64);
        let mut numbers = Numbers::new(ElementType::UInt(8));
        numbers.to = Some(ElementType::F64);
        numbers.valid = (None, Some(Bound::Whole(i64::MAX.into())));
        let stored: Vec<u8> = [(1u64 << 63) - 1, 1 << 63].iter().flat_map(|n| n.to_le_bytes()).collect();
        let found: Vec<f64> = f64::each(&numbers.decode(&stored).unwrap()).collect();
        assert!(found[0] == 2f64.powi(63) && found[1].is_nan());
    }

    #[test]
    fn every_comparison_finds_the_same() {
        let stored: Vec<i16> = (-40..40).collect();
        let bytes: Vec<u8> = stored.iter().flat_map(|n| n.to_le_bytes()).collect();
        for fill in [&[][..], &[-7.0], &[-7.0, 12.0], &[-7.0, 12.0, 13.0]] {
            for valid in [(None, None), (Some(-30.0), None), (Some(-30.0), Some(20.0))] {
                for to in [ElementType::F32, ElementType::F64] {
                    let mut numbers = Numbers::new(ElementType::Int(2));
                    (numbers.scale, numbers.fill) = (Some(0.5), fill.to_vec());
                    numbers.valid = (valid.0.map(Bound::Point), valid.1.map(Bound::Point));
                    numbers.to = Some(to.clone());
                    // What the buffer contained before makes no difference.
                    let mut out = vec![7; 1000];
                    numbers.decode_over(&bytes, &mut out).unwrap();
                    assert_eq!(out, numbers.decode(&bytes).unwrap());
                    let found: Vec<f64> = match to {
                        ElementType::F32 => floats(&out).into_iter().map(f64::from).collect(),
                        _ => f64::each(&out).collect(),
                    };
                    for (value, found) in stored.iter().map(|&n| f64::from(n)).zip(found) {
                        let outside = valid.0.is_some_and(|low| value < low)
                            || valid.1.is_some_and(|high| value > high);
                        let missing = fill.contains(&value) || outside;
                        assert!(
                            if missing { found.is_nan() } else { found == value / 2.0 },
                            "{value} {found}"
                        );
                    }
                }
            }
        }
        assert!(Numbers::new(ElementType::Int(2)).decode_to(&bytes, &mut [0; 3]).is_err());
    }

    #[test]
    fn a_product_and_a_sum_are_rounded_one_after_the_other() {
        let mut numbers = Numbers::new(ElementType::Int(4));
        numbers.to = Some(ElementType::F32);
        (numbers.scale, numbers.offset) = (Some(f64::from(0.1f32)), Some(f64::from(273.15f32)));
        let found = floats(&numbers.decode(&12_345i32.to_le_bytes()).unwrap());
        assert_eq!(found, [12_345f32 * 0.1f32 + 273.15f32]);
    }

    #[test]
    fn spans_are_divided_and_rounded_once() {
        let mut numbers = Numbers::new(ElementType::Int(8));
        (numbers.scale, numbers.divides, numbers.fill) = (Some(1e-9), true, vec![i64::MIN as f64]);
        numbers.to = Some(ElementType::F64);
        let stored: Vec<u8> =
            [60_000_000_000i64, 240_000_000_000, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect();
        let found: Vec<f64> = f64::each(&numbers.decode(&stored).unwrap()).collect();
        assert!(found[..2] == [60.0, 240.0] && found[2].is_nan());
    }

    #[test]
    fn zeros_keep_their_sign() {
        let mut numbers = Numbers::new(ElementType::F64);
        numbers.to = Some(ElementType::F64);
        assert_eq!(numbers.decode(&(-0.0f64).to_le_bytes()).unwrap(), (-0.0f64).to_le_bytes());
    }
}
