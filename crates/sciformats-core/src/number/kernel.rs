//! Loops that convert each stored type to each requested type.

use bytemuck::Pod;

use super::sealed::Sealed;
use super::{BFloat16, Conversion, Float16, Number, NumberType, Real, not_stored_as};
use crate::endian::ByteOrder;
use crate::{Error, Misfit, Result};

/// Converts a stored number to a requested type.
trait Cast<T: Copy>: Copy {
    /// Whether every value fits.
    const TOTAL: bool;

    /// Returns the value if it fits, and otherwise any value.
    fn cast(self) -> T;

    /// Returns whether the value fits; `cast` is the result of [`cast`](Self::cast).
    fn fits(self, cast: T) -> bool;

    /// Returns the value, or the result of [`Conversion::Lossy`].
    fn nearest(self) -> T;
}

macro_rules! integer_to_integer {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl Cast<$to> for $from {
            const TOTAL: bool = match (<$from>::MIN == 0, <$to>::MIN == 0) {
                (true, false) => <$to>::BITS > <$from>::BITS,
                (false, true) => false,
                _ => <$to>::BITS >= <$from>::BITS,
            };

            #[inline(always)]
            fn cast(self) -> $to {
                self as $to
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                // The conversion back does not show that a sign was lost or gained, so the signs are compared.
                cast as $from == self && (cast < <$to>::default()) == (self < <$from>::default())
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                let ends = if self < <$from>::default() { <$to>::MIN } else { <$to>::MAX };
                self.try_into().unwrap_or(ends)
            }
        }
    )*)*};
}

macro_rules! integer_to_float {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl Cast<$to> for $from {
            const TOTAL: bool = <$from>::BITS <= <$to>::MANTISSA_DIGITS;

            #[inline(always)]
            fn cast(self) -> $to {
                self as $to
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                // The largest integers are rounded up to a power of two, which cannot be converted back.
                cast < (<$from>::MAX / 2 + 1) as $to * 2.0 && cast as $from == self
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                self as $to
            }
        }
    )*)*};
}

macro_rules! float_to_integer {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl Cast<$to> for $from {
            const TOTAL: bool = false;

            #[inline(always)]
            fn cast(self) -> $to {
                self as $to
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                // The conversion back shows a fraction that was cut off. NaN equals nothing.
                self < (<$to>::MAX / 2 + 1) as $from * 2.0 && cast as $from == self
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                self as $to
            }
        }
    )*)*};
}

macro_rules! to_all_integers {
    ($macro:ident: $($from:ty)*) => {
        $macro! { $($from => i8 i16 i32 i64 i128 u8 u16 u32 u64 u128;)* }
    };
}
to_all_integers!(integer_to_integer: i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);
to_all_integers!(float_to_integer: f32 f64);
integer_to_float! {
    i8 => f32 f64; i16 => f32 f64; i32 => f32 f64; i64 => f32 f64; i128 => f32 f64;
    u8 => f32 f64; u16 => f32 f64; u32 => f32 f64; u64 => f32 f64; u128 => f32 f64;
}

macro_rules! always {
    ($($from:ty => $to:ty;)*) => {$(
        impl Cast<$to> for $from {
            const TOTAL: bool = true;

            #[inline(always)]
            fn cast(self) -> $to {
                self.into()
            }

            #[inline(always)]
            fn fits(self, _: $to) -> bool {
                true
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                self.into()
            }
        }
    )*};
}
always! {
    f32 => f32; f64 => f64; f32 => f64; Float16 => Float16; BFloat16 => BFloat16;
    Float16 => f32; Float16 => f64; BFloat16 => f32; BFloat16 => f64;
}

impl Cast<f32> for f64 {
    const TOTAL: bool = false;

    #[inline(always)]
    fn cast(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn fits(self, cast: f32) -> bool {
        Self::from(cast) == self || self.is_nan()
    }

    #[inline(always)]
    fn nearest(self) -> f32 {
        self as f32
    }
}

/// Converts through another type. What the first step loses is lost.
macro_rules! by_way_of {
    ($($from:ty => $way:ty => $($to:ty)*;)*) => {$($(
        impl Cast<$to> for $from {
            const TOTAL: bool = false;

            #[inline(always)]
            fn cast(self) -> $to {
                Cast::<$to>::cast(Cast::<$way>::cast(self))
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                let way: $way = self.cast();
                self.fits(way) && way.fits(cast)
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                Cast::<$to>::nearest(Cast::<$way>::nearest(self))
            }
        }
    )*)*};
}
by_way_of! {
    Float16 => f32 => i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 bool BFloat16;
    BFloat16 => f32 => i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 bool Float16;
    f32 => f64 => Float16 BFloat16;
    i8 => f64 => Float16 BFloat16; i16 => f64 => Float16 BFloat16; i32 => f64 => Float16 BFloat16;
    u8 => f64 => Float16 BFloat16; u16 => f64 => Float16 BFloat16; u32 => f64 => Float16 BFloat16;
}

/// Converts integers that a binary64 may not hold exactly. Rounding them twice could give another result than rounding them once.
macro_rules! wide_to_half {
    ($($from:ty as $wide:ty => $($to:ty)*;)*) => {$($(
        impl Cast<$to> for $from {
            const TOTAL: bool = false;

            #[inline(always)]
            fn cast(self) -> $to {
                <$to as Number>::nearest(Real::from(<$wide>::from(self)))
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                let way: f64 = self.cast();
                self.fits(way) && way.fits(cast)
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                Cast::<$to>::cast(self)
            }
        }
    )*)*};
}
wide_to_half! {
    i64 as i128 => Float16 BFloat16; i128 as i128 => Float16 BFloat16;
    u64 as u128 => Float16 BFloat16; u128 as u128 => Float16 BFloat16;
}

macro_rules! to_half {
    ($($to:ty)*) => {$(
        impl Cast<$to> for f64 {
            const TOTAL: bool = false;

            #[inline(always)]
            fn cast(self) -> $to {
                <$to>::nearest(self)
            }

            #[inline(always)]
            fn fits(self, cast: $to) -> bool {
                Self::from(cast) == self || self.is_nan()
            }

            #[inline(always)]
            fn nearest(self) -> $to {
                <$to>::nearest(self)
            }
        }
    )*};
}
to_half!(Float16 BFloat16);

macro_rules! to_bool {
    ($($from:ty)*) => {$(
        impl Cast<bool> for $from {
            const TOTAL: bool = false;

            #[inline(always)]
            fn cast(self) -> bool {
                self != <$from>::default()
            }

            #[inline(always)]
            fn fits(self, cast: bool) -> bool {
                self == u8::from(cast) as $from
            }

            #[inline(always)]
            fn nearest(self) -> bool {
                self != <$from>::default()
            }
        }
    )*};
}
to_bool!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64);

/// The number of elements that are converted at a time, so that they stay in the nearest cache.
const BLOCK: usize = 256;

/// A stored type, and the form of its bytes in memory.
trait Source: Copy {
    type Bits: Pod;

    fn of(bits: Self::Bits) -> Self;

    /// Returns the error for a value that does not fit.
    fn misfit(self, index: usize, wanted: &'static str) -> Error;
}

macro_rules! sources {
    ($($from:ty, $bits:ty, $shown:ty, $of:expr;)*) => {$(
        impl Source for $from {
            type Bits = $bits;

            #[inline(always)]
            fn of(bits: $bits) -> Self {
                $of(bits)
            }

            fn misfit(self, index: usize, wanted: &'static str) -> Error {
                Error::Misfit(Misfit::new(index as u64, &<$shown>::from(self), wanted))
            }
        }
    )*};
}
sources! {
    i8, i8, i8, |v| v; i16, i16, i16, |v| v; i32, i32, i32, |v| v; i64, i64, i64, |v| v; i128, i128, i128, |v| v;
    u8, u8, u8, |v| v; u16, u16, u16, |v| v; u32, u32, u32, |v| v; u64, u64, u64, |v| v; u128, u128, u128, |v| v;
    f32, f32, f32, |v| v; f64, f64, f64, |v| v; Float16, u16, f32, Float16; BFloat16, u16, f32, BFloat16;
}

/// Does the same as [`Number::read`]; fails with the index and the value of the element that does not fit.
fn run<S: Source + Cast<T>, T: Copy>(
    order: ByteOrder,
    bytes: &[u8],
    conversion: Conversion,
    out: &mut [T],
) -> Result<(), (usize, S)> {
    let mut block = [<S::Bits as bytemuck::Zeroable>::zeroed(); BLOCK];
    let parts = bytes.chunks(size_of::<[S::Bits; BLOCK]>()).zip(out.chunks_mut(BLOCK));
    for (part, (bytes, out)) in parts.enumerate() {
        let (stored, _) = block.split_at_mut(out.len().min(BLOCK));
        let raw: &mut [u8] = bytemuck::cast_slice_mut(stored);
        raw.copy_from_slice(bytes);
        order.convert(ByteOrder::NATIVE, raw, size_of::<S::Bits>());
        if conversion == Conversion::Lossy {
            out.iter_mut().zip(stored).for_each(|(out, stored)| *out = S::of(*stored).nearest());
            continue;
        }
        // All elements of a block are checked, which needs no branch per element.
        let mut fits = true;
        for (out, stored) in out.iter_mut().zip(&*stored) {
            let stored = S::of(*stored);
            let cast = stored.cast();
            fits &= S::TOTAL || stored.fits(cast);
            *out = cast;
        }
        if !fits {
            let found = stored.iter().map(|&bits| S::of(bits)).enumerate();
            if let Some((at, value)) = found.into_iter().find(|(_, value)| !value.fits(value.cast())) {
                return Err((part * BLOCK + at, value));
            }
        }
    }
    Ok(())
}

macro_rules! read {
    ($name:expr, $stored:expr) => {
        const NAME: &'static str = $name;
        const STORED: Option<NumberType> = $stored;

        fn read(
            stored: NumberType,
            order: ByteOrder,
            bytes: &[u8],
            conversion: Conversion,
            out: &mut [Self],
        ) -> Result<()> {
            if conversion == Conversion::None && Self::STORED != Some(stored) {
                return Err(not_stored_as(Self::NAME, stored));
            }
            if out.len().checked_mul(stored.size()) != Some(bytes.len()) {
                return Err(Error::usage("out", "does not have the length of the elements"));
            }
            macro_rules! from {
                ($from:ty) => {
                    run::<$from, Self>(order, bytes, conversion, out)
                        .map_err(|(index, value)| value.misfit(index, Self::NAME))
                };
            }
            match stored {
                NumberType::I8 => from!(i8),
                NumberType::I16 => from!(i16),
                NumberType::I32 => from!(i32),
                NumberType::I64 => from!(i64),
                NumberType::I128 => from!(i128),
                NumberType::U8 => from!(u8),
                NumberType::U16 => from!(u16),
                NumberType::U32 => from!(u32),
                NumberType::U64 => from!(u64),
                NumberType::U128 => from!(u128),
                NumberType::F16 => from!(Float16),
                NumberType::BFloat16 => from!(BFloat16),
                NumberType::F32 => from!(f32),
                NumberType::F64 => from!(f64),
            }
        }
    };
}

/// Implements this for types for which all bytes are valid values.
macro_rules! plain {
    () => {
        fn zeroed(len: usize) -> Result<Vec<Self>> {
            crate::storage::zeroed(len)
        }

        fn bytes_mut(out: &mut [Self]) -> Option<&mut [u8]> {
            Some(bytemuck::cast_slice_mut(out))
        }

        fn view(bytes: &[u8]) -> Option<&[Self]> {
            bytemuck::try_cast_slice(bytes).ok()
        }
    };
}

macro_rules! integers {
    ($($name:ident $stored:ident;)*) => {$(
        impl Sealed for $name {}
        impl Number for $name {
            read!(stringify!($name), Some(NumberType::$stored));
            plain!();

            fn exact(real: Real) -> Option<Self> {
                let (negative, magnitude) = real.integer()?;
                match negative {
                    false => magnitude.try_into().ok(),
                    true => 0i128.checked_sub_unsigned(magnitude)?.try_into().ok(),
                }
            }

            fn nearest(real: Real) -> Self {
                // If no number of the type is near, the result is the nearest end of the type. This is a lossy conversion.
                let (negative, magnitude) = real.truncated();
                let exact: Option<Self> = match negative {
                    false => magnitude.try_into().ok(),
                    true => 0i128.checked_sub_unsigned(magnitude).and_then(|value| value.try_into().ok()),
                };
                exact.unwrap_or(if negative { Self::MIN } else { Self::MAX })
            }
        }
    )*};
}
integers! {
    i8 I8; i16 I16; i32 I32; i64 I64; i128 I128; u8 U8; u16 U16; u32 U32; u64 U64; u128 U128;
}

macro_rules! floats {
    ($($type:ty, $name:literal, $stored:ident, $nearest:expr $(, $plain:ident!())?;)*) => {$(
        impl Sealed for $type {}
        impl Number for $type {
            read!($name, Some(NumberType::$stored));
            $($plain!();)?

            fn exact(real: Real) -> Option<Self> {
                let value = real.exact_f64()?;
                let cast: Self = value.cast();
                value.fits(cast).then_some(cast)
            }

            fn nearest(real: Real) -> Self {
                $nearest(real)
            }
        }
    )*};
}
floats! {
    f32, "f32", F32, |real: Real| real.to_narrow().nearest(), plain!();
    f64, "f64", F64, Real::to_f64, plain!();
    Float16, "f16", F16, |real: Real| Self::nearest(real.to_narrow());
    BFloat16, "bf16", BFloat16, |real: Real| Self::nearest(real.to_narrow());
}

impl Sealed for bool {}
impl Number for bool {
    read!("bool", None);

    fn exact(real: Real) -> Option<Self> {
        match u8::exact(real)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn nearest(real: Real) -> Self {
        !matches!(real, Real::Finite { mantissa: 0, .. })
    }
}
