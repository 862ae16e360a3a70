//! Every stored type is read as every other type, and compared with a judgement that is based on decimal digits.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::Misfit;
use crate::endian::ByteOrder::{Big, Little};

/// The decimal digits of a number before and after the point. No conversion of the library is used to compute them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Decimal {
    Number { negative: bool, digits: String, fraction: String },
    Other(String),
}

/// Returns the digits of `text`, which is a number as the language formats it, with all of its digits.
fn decimal(text: &str) -> Decimal {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return Decimal::Other(text.trim_start_matches('-').to_owned() + if negative { "-" } else { "" });
    }
    let (digits, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let digits = digits.trim_start_matches('0').to_owned();
    let fraction = fraction.trim_end_matches('0').to_owned();
    let zero = digits.is_empty() && fraction.is_empty();
    Decimal::Number { negative: negative && !zero, digits, fraction }
}

impl Decimal {
    fn cmp_integer(&self, other: &str) -> Option<Ordering> {
        let (Self::Number { negative: a, digits: x, .. }, Self::Number { negative: b, digits: y, .. }) =
            (self, &decimal(other))
        else {
            return None;
        };
        let magnitude = (x.len(), x).cmp(&(y.len(), y));
        Some(match (a, b) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

/// A type of elements in the tests: the decimal digits of a value, and which values the type has.
trait Judged: Number {
    fn digits(self) -> String;

    /// Returns whether the type has a value with these digits.
    fn has(value: &Decimal) -> bool;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Judged for $type {
            fn digits(self) -> String {
                self.to_string()
            }

            fn has(value: &Decimal) -> bool {
                let whole = matches!(value, Decimal::Number { fraction, .. } if fraction.is_empty());
                whole
                    && value.cmp_integer(&<$type>::MIN.to_string()) != Some(Ordering::Less)
                    && value.cmp_integer(&<$type>::MAX.to_string()) != Some(Ordering::Greater)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);

macro_rules! floats {
    ($($type:ident $digits:literal)*) => {$(
        impl Judged for $type {
            fn digits(self) -> String {
                format!("{:.1$}", self, $digits)
            }

            /// Returns whether the number nearest to these digits has the same digits.
            fn has(value: &Decimal) -> bool {
                let Decimal::Number { negative, digits, fraction } = value else { return true };
                let text = format!("{}0{digits}.{fraction}0", if *negative { "-" } else { "" });
                decimal(&text.parse::<$type>().unwrap().digits()) == *value
            }
        }
    )*};
}
floats!(f32 150 f64 1080);

macro_rules! halves {
    ($($type:ident)*) => {$(
        impl Judged for $type {
            fn digits(self) -> String {
                f32::from(self).digits()
            }

            /// Returns whether one of all 65536 numbers has these digits.
            fn has(value: &Decimal) -> bool {
                static ALL: LazyLock<HashSet<Decimal>> =
                    LazyLock::new(|| (0..=u16::MAX).map(|bits| decimal(&$type(bits).digits())).collect());
                ALL.contains(value)
            }
        }
    )*};
}
halves!(Float16 BFloat16);

impl Judged for bool {
    fn digits(self) -> String {
        u8::from(self).to_string()
    }

    fn has(value: &Decimal) -> bool {
        [decimal("0"), decimal("1")].contains(value)
    }
}

/// Reads the element in both ways, and compares the result with the judgement of its digits.
fn judge<T: Judged>(stored: NumberType, order: ByteOrder, bytes: &[u8], digits: &str, real: Real) {
    let value = decimal(digits);
    let fits = T::has(&value);
    let name = T::NAME;
    let mut out = [T::default()];
    let read = T::read(stored, order, bytes, Conversion::Exact, &mut out);
    assert_eq!(read.is_ok(), fits, "{digits} of {stored} as {name}: {read:?}");
    assert_eq!(T::exact(real).is_some(), fits, "{digits} of {stored} as {name}, one at a time");
    match read {
        Ok(()) => {
            assert_eq!(decimal(&out[0].digits()), value, "{stored} as {name}");
            assert_eq!(T::exact(real).map(T::digits), Some(out[0].digits()), "{stored} as {name}");
        }
        Err(Error::Misfit(misfit)) => assert_eq!((misfit.index, misfit.wanted), (0, T::NAME)),
        Err(error) => panic!("{error}"),
    }
    let none = T::read(stored, order, bytes, Conversion::None, &mut out);
    assert_eq!(none.is_ok(), T::STORED == Some(stored), "{stored} as {name}");
    T::read(stored, order, bytes, Conversion::Lossy, &mut out).unwrap();
    assert_eq!(
        decimal(&out[0].digits()),
        decimal(&T::nearest(real).digits()),
        "{digits} of {stored} as {name}"
    );
    if fits {
        assert_eq!(decimal(&out[0].digits()), value);
    }
}

fn judge_all(stored: NumberType, order: ByteOrder, bytes: &[u8], digits: &str, real: Real) {
    macro_rules! all {
        ($($type:ty)*) => { $(judge::<$type>(stored, order, bytes, digits, real);)* };
    }
    all!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bool Float16 BFloat16);
}

macro_rules! stored {
    ($bits:expr, $big:expr; $($kind:ident $type:ty, $of:expr, $real:expr;)*) => {$({
        const SIZE: usize = size_of::<$type>();
        let bytes: [u8; SIZE] = $bits.to_le_bytes()[..SIZE].try_into().unwrap();
        let value: $type = $of(bytes);
        let order = if $big { Big } else { Little };
        let mut bytes = bytes.to_vec();
        Little.convert(order, &mut bytes, SIZE);
        judge_all(NumberType::$kind, order, &bytes, &value.digits(), $real(value));
    })*};
}

fn judge_bits(bits: u128, big: bool) {
    stored! { bits, big;
        I8 i8, i8::from_le_bytes, |v| Real::from(i128::from(v)); I16 i16, i16::from_le_bytes, |v| Real::from(i128::from(v));
        I32 i32, i32::from_le_bytes, |v| Real::from(i128::from(v)); I64 i64, i64::from_le_bytes, |v| Real::from(i128::from(v));
        I128 i128, i128::from_le_bytes, Real::from; U8 u8, u8::from_le_bytes, |v| Real::from(u128::from(v));
        U16 u16, u16::from_le_bytes, |v| Real::from(u128::from(v)); U32 u32, u32::from_le_bytes, |v| Real::from(u128::from(v));
        U64 u64, u64::from_le_bytes, |v| Real::from(u128::from(v)); U128 u128, u128::from_le_bytes, Real::from;
        F16 Float16, |b| Float16(u16::from_le_bytes(b)), |v| Real::from(f64::from(v)); BFloat16 BFloat16, |b| BFloat16(u16::from_le_bytes(b)), |v| Real::from(f64::from(v));
        F32 f32, f32::from_le_bytes, |v| Real::from(f64::from(v)); F64 f64, f64::from_le_bytes, Real::from;
    }
}

/// Returns bits of numbers near the ends of types, and of other numbers.
fn bits() -> impl Strategy<Value = u128> {
    let near = (0u32..128, -2i128..=2, any::<bool>()).prop_map(|(power, off, negative)| {
        let value = 1i128.unbounded_shl(power).wrapping_add(off);
        (if negative { value.wrapping_neg() } else { value }).cast_unsigned()
    });
    let float = (-1100i32..1030, -2i32..=2, any::<bool>()).prop_map(|(power, off, negative)| {
        let value = 2f64.powi(power) + f64::from(off);
        let value = if negative { -value } else { value };
        u128::from(value.to_bits())
    });
    let single = (-150i32..129, -2i8..=2, any::<bool>()).prop_map(|(power, off, negative)| {
        let value = 2f32.powi(power) + f32::from(off);
        u128::from((if negative { -value } else { value }).to_bits())
    });
    prop_oneof![near, float, single, any::<u128>(), (0u128..300)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_number_is_read_if_and_only_if_the_type_has_its_value(bits in bits(), big in any::<bool>()) {
        judge_bits(bits, big);
    }
}

#[test]
fn the_ends_of_every_type() {
    for value in [0.0, -0.0, 1.0, 0.5, -1.0, 65504.0, 65520.0, 2f64.powi(-24), 2f64.powi(-25), 5e-324] {
        judge_bits(value.to_bits().into(), false);
        judge_bits((value as f32).to_bits().into(), true);
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 0.1, 300.0] {
        judge_bits(value.to_bits().into(), true);
        judge_bits((value as f32).to_bits().into(), false);
    }
    for power in [7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 127] {
        let value = 2f64.powi(power);
        for value in [value, -value, value - 1.0, value + 1.0, -value - 1.0] {
            judge_bits(value.to_bits().into(), false);
        }
    }
    [u128::MAX, u128::MAX - 1, 1 << 127, (1 << 127) - 1].into_iter().for_each(|bits| judge_bits(bits, false));
}

#[test]
fn sixteen_bits_round_to_the_nearest() {
    for bits in 0..=u16::MAX {
        let (a, b) = (Float16(bits), BFloat16(bits));
        let (x, y) = (f64::from(a), f64::from(b));
        if x.is_nan() {
            assert!(f64::from(Float16::nearest(x)).is_nan());
        } else {
            assert_eq!(Float16::nearest(x), a);
        }
        if y.is_nan() {
            assert!(f64::from(BFloat16::nearest(y)).is_nan());
        } else {
            assert_eq!(BFloat16::nearest(y), b);
        }
    }
    // Halfway between 1 and the next number, and a little above and below.
    let step = 2f64.powi(-10);
    assert_eq!(Float16::nearest(1.0 + step / 2.0), Float16(0x3c00));
    assert_eq!(Float16::nearest(1.0 + step * 0.51), Float16(0x3c01));
    assert_eq!(Float16::nearest(1.0 + step * 1.5), Float16(0x3c02));
    assert_eq!(Float16::nearest(-65519.9), Float16(0xfbff));
    assert_eq!(Float16::nearest(65520.0), Float16(0x7c00));
    assert_eq!(Float16::nearest(2f64.powi(-25)), Float16(0));
    assert_eq!(Float16::nearest(2f64.powi(-25) * 1.01), Float16(1));
    assert_eq!(BFloat16::nearest(f64::from(f32::MAX)), BFloat16(0x7f80));
}

#[test]
fn numbers_are_rounded_once() {
    // A little less than halfway between the largest binary32 and the number after it, which would be infinity.
    let below = 340_282_356_779_733_661_637_539_395_458_142_568_446u128;
    assert_eq!(f32::nearest(Real::from(below)), f32::MAX);
    judge_bits(below, false);
    // A little more than halfway between 2^62 and the next number with so few bits; the nearest binary64 is exactly halfway.
    let above = (1i64 << 62) + (1 << 54) + 1;
    let next = BFloat16::nearest(2f64.powi(62) + 2f64.powi(55));
    let mut out = [BFloat16(0)];
    BFloat16::read(NumberType::I64, Little, &above.to_le_bytes(), Conversion::Lossy, &mut out).unwrap();
    assert_eq!((out, Number::nearest(Real::from(i128::from(above)))), ([next], next));
}

#[test]
fn lossy_is_what_the_c_library_does() {
    fn lossy<T: Judged, const N: usize>(values: [f64; N]) -> [T; N] {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = [T::default(); N];
        T::read(NumberType::F64, Little, &bytes, Conversion::Lossy, &mut out).unwrap();
        out
    }
    assert_eq!(lossy::<u8, 5>([300.0, -1.5, 2.9, f64::NAN, f64::INFINITY]), [255, 0, 2, 0, 255]);
    assert_eq!(lossy::<i64, 3>([1e30, -1e30, -2.9]), [i64::MAX, i64::MIN, -2]);
    assert_eq!(lossy::<f32, 2>([0.1, 1e300]), [0.1, f32::INFINITY]);
    assert_eq!(lossy::<bool, 2>([0.5, 0.0]), [true, false]);
}

#[test]
fn the_first_of_many_that_does_not_fit_is_named() {
    let mut values: Vec<i64> = (0..1000).map(|i| i % 200).collect();
    (values[700], values[900]) = (256, -1);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    let mut out = vec![0u8; 1000];
    let error = u8::read(NumberType::I64, Big, &bytes, Conversion::Exact, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "element 700 is 256, which u8 cannot hold");
    let mut wide = vec![0f64; 1000];
    f64::read(NumberType::I64, Big, &bytes, Conversion::Exact, &mut wide).unwrap();
    assert!(wide.iter().zip(&values).all(|(&wide, &value)| wide == value as f64));
    let short = u8::read(NumberType::I64, Big, &bytes[8..], Conversion::Exact, &mut out).unwrap_err();
    assert!(matches!(short, Error::Usage { argument: "out", .. }));
}

#[test]
fn numbers_of_more_digits_than_a_binary64() {
    let wide = Real::Finite { negative: false, mantissa: (1 << 63) + 1, exponent: 0 };
    assert_eq!((u64::exact(wide), f64::exact(wide)), (Some((1 << 63) + 1), None));
    let fraction = Real::Finite { negative: true, mantissa: 3, exponent: -1 };
    assert_eq!((i8::exact(fraction), f64::exact(fraction), i8::nearest(fraction)), (None, Some(-1.5), -1));
    let huge = Real::Finite { negative: true, mantissa: 1, exponent: 20000 };
    assert_eq!((f64::exact(huge), i8::nearest(huge), f32::nearest(huge)), (None, i8::MIN, f32::NEG_INFINITY));
    let tiny = Real::Finite { negative: false, mantissa: 1, exponent: -20000 };
    assert_eq!((f64::exact(tiny), f64::nearest(tiny), u8::nearest(tiny)), (None, 0.0, 0));
    assert_eq!([wide.to_string(), fraction.to_string()], ["9223372036854775809", "-1.5"]);
    assert_eq!(Misfit::new(0, &tiny, "u8").value, "about 0".into());
}
