//! The types of numbers and texts that netCDF has, and how elements are put into variables of them.

use sciformats::hdf5_pure::{ObjectId, Value};
use sciformats::{Datum, Decoder, ElementType, Error, Result, Slab};

use crate::write::{DimensionId, NetCdf};

/// A type of netCDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Text,
}

/// Missing dates, and the value that the netCDF library gives to missing integers of eight bytes.
pub(super) const NO_TIME: i64 = -9_223_372_036_854_775_806;

/// Calls an expression with the type of numbers of a kind; for texts, another one.
macro_rules! numbers {
    ($kind:expr, $type:ident => $numbers:expr, $texts:expr) => {
        match $kind {
            Kind::I8 => {
                type $type = i8;
                $numbers
            }
            Kind::U8 => {
                type $type = u8;
                $numbers
            }
            Kind::I16 => {
                type $type = i16;
                $numbers
            }
            Kind::U16 => {
                type $type = u16;
                $numbers
            }
            Kind::I32 => {
                type $type = i32;
                $numbers
            }
            Kind::U32 => {
                type $type = u32;
                $numbers
            }
            Kind::I64 => {
                type $type = i64;
                $numbers
            }
            Kind::U64 => {
                type $type = u64;
                $numbers
            }
            Kind::F32 => {
                type $type = f32;
                $numbers
            }
            Kind::F64 => {
                type $type = f64;
                $numbers
            }
            Kind::Text => $texts,
        }
    };
}

/// A number with a value that means that it is missing.
trait Missing {
    const FILL: Self;
}

macro_rules! missing {
    ($($type:ty: $fill:expr),*) => {
        $(impl Missing for $type {
            const FILL: Self = $fill;
        })*
    };
}

// Those of the netCDF library for integers, and NaN, which every program understands.
missing!(i8: -127, u8: 255, i16: -32_767, u16: 65_535, i32: -2_147_483_647, u32: 4_294_967_295);
missing!(i64: NO_TIME, u64: 18_446_744_073_709_551_614, f32: f32::NAN, f64: f64::NAN);

impl Kind {
    /// Returns the type for elements; `None` if netCDF has none.
    pub(super) fn of(element: &ElementType) -> Option<Self> {
        use ElementType as E;
        Some(match element {
            E::Int(1) | E::Bool => Self::I8,
            E::UInt(1) => Self::U8,
            E::Int(2) => Self::I16,
            E::UInt(2) => Self::U16,
            E::Int(4) => Self::I32,
            E::UInt(4) => Self::U32,
            E::Int(8) => Self::I64,
            E::UInt(8) => Self::U64,
            E::F16 | E::BF16 | E::F32 => Self::F32,
            E::F64 | E::FloatOther => Self::F64,
            E::Text => Self::Text,
            E::Enum { base, .. } => Self::of(base)?,
            _ => return None,
        })
    }

    /// Returns the name of the type.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Text => "text",
        }
    }

    /// Returns integers of this type that can mean a missing element if no element has them, the usual one first; nothing for
    /// other types, of which none is needed.
    pub(super) fn fills(self) -> Vec<i128> {
        macro_rules! of {
            ($type:ty) => {{
                let least = i128::from(<$type>::MIN);
                std::iter::once(<$type>::FILL.into()).chain(least..=least + 255).collect()
            }};
        }
        match self {
            Self::I8 => of!(i8),
            Self::U8 => of!(u8),
            Self::I16 => of!(i16),
            Self::U16 => of!(u16),
            Self::I32 => of!(i32),
            Self::U32 => of!(u32),
            Self::I64 => of!(i64),
            Self::U64 => of!(u64),
            Self::F32 | Self::F64 | Self::Text => Vec::new(),
        }
    }

    /// Adds a variable of this type. If elements can be missing, those that are not put in are; an integer that means this
    /// may be another one than the usual.
    pub(super) fn define(
        self,
        file: &mut NetCdf,
        (name, dimensions): (&str, &[DimensionId]),
        (missing, fill): (bool, Option<i128>),
    ) -> Result<ObjectId> {
        numbers!(self, T => {
            let fill = fill.map_or(T::FILL, |fill| fill as T);
            file.define::<T>(name, dimensions, missing.then_some(fill))
        }, {
            file.define_texts(name, dimensions)
        })
    }

    /// Puts elements into a part of a variable of this type.
    pub(super) fn put(
        self,
        file: &mut NetCdf,
        (variable, part): (ObjectId, &Slab),
        (element, bytes): (&ElementType, &[u8]),
    ) -> Result<()> {
        if Self::of(element) != Some(self) {
            return Err(Error::usage(
                "elements",
                format!("are of type {element}, not of that of the variable"),
            ));
        }
        let base = match element {
            ElementType::Enum { base, .. } => base,
            other => other,
        };
        if matches!(base, ElementType::F16 | ElementType::BF16) {
            let mut values = Vec::new();
            for datum in Decoder::new(base, bytes) {
                // Every such number is exact in four bytes.
                values.push(datum?.to_f64().unwrap_or(f64::NAN) as f32);
            }
            return file.put(variable, part, &values);
        }
        numbers!(self, T => {
            let words = bytes.as_chunks().0.iter();
            file.put(variable, part, &words.map(|word| T::from_le_bytes(*word)).collect::<Vec<T>>())
        }, {
            let mut texts = Vec::new();
            for datum in Decoder::new(base, bytes) {
                texts.push(text(&datum?));
            }
            file.put(variable, part, &texts.iter().map(String::as_str).collect::<Vec<&str>>())
        })
    }

    /// Adds an attribute of this type, which contains integers; `false` if it is not a type of integers, or if one does not fit.
    pub(super) fn attribute(
        self,
        file: &mut NetCdf,
        to: (Option<ObjectId>, &str),
        values: &[i128],
    ) -> Result<bool> {
        macro_rules! typed {
            ($type:ty) => {{
                let values: Option<Vec<$type>> =
                    values.iter().map(|&value| <$type>::try_from(value).ok()).collect();
                match values {
                    Some(values) => add(file, to, values).map(|()| true),
                    None => Ok(false),
                }
            }};
        }
        match self {
            Self::I8 => typed!(i8),
            Self::U8 => typed!(u8),
            Self::I16 => typed!(i16),
            Self::U16 => typed!(u16),
            Self::I32 => typed!(i32),
            Self::U32 => typed!(u32),
            Self::I64 => typed!(i64),
            Self::U64 => typed!(u64),
            Self::F32 | Self::F64 | Self::Text => Ok(false),
        }
    }
}

/// Adds an attribute to a variable, or to the file.
pub(super) fn add(
    file: &mut NetCdf,
    (variable, name): (Option<ObjectId>, &str),
    value: impl Value,
) -> Result<()> {
    match variable {
        Some(variable) => file.attribute(variable, name, value),
        None => file.global(name, value),
    }
}

/// Returns a text as it is, and anything else, also text that is not UTF-8, as people read it.
pub(super) fn text(datum: &Datum<'_>) -> String {
    match datum {
        Datum::Text(bytes) => std::str::from_utf8(bytes).map_or_else(|_| datum.to_string(), str::to_owned),
        other => other.to_string(),
    }
}

/// Returns the real or the imaginary parts of complex numbers; `None` for other elements.
pub(super) fn half(element: &ElementType, bytes: &[u8], imaginary: bool) -> Option<(ElementType, Vec<u8>)> {
    let ElementType::Complex(size) = element else { return None };
    let width = usize::from(*size / 2);
    let part = match width {
        2 => ElementType::F16,
        4 => ElementType::F32,
        8 => ElementType::F64,
        _ => return None,
    };
    let skip = if imaginary { width } else { 0 };
    let numbers = bytes.chunks_exact(width * 2).filter_map(|pair| pair.get(skip..skip + width));
    Some((part, numbers.flatten().copied().collect()))
}
