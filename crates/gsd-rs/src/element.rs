//! The Rust types of elements.

use sciformats_core::number::{Number, NumberType};

use crate::ElementType;

mod sealed {
    pub trait Sealed {}
}

/// A type as which elements of a chunk can be written: the integers up to 64 bits, `f32` and `f64`. They can be read as any
/// [`Number`](crate::Number) that holds their values.
///
/// ```
/// use gsd_rs::{Element, Error, Number, Reader, Result};
///
/// fn last_row<T: Number>(reader: &Reader, frame: u64, name: &str) -> Result<Vec<T>> {
///     let chunk = reader.find(frame, name)?.ok_or(Error::not_found("chunk", name))?;
///     Ok(reader.read_rows(&chunk, chunk.n.saturating_sub(1)..chunk.n)?.into_owned())
/// }
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
/// # writer.write("position", 3, &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?;
/// # writer.end_frame()?;
/// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
/// assert_eq!(last_row::<f32>(&reader, 0, "position")?, [3.0, 4.0, 5.0]);
/// assert_eq!(f32::TYPE, gsd_rs::ElementType::F32);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
pub trait Element: bytemuck::Pod + Number + sealed::Sealed {
    /// The element type as which this type is written.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty: $element:ident),*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const TYPE: ElementType = ElementType::$element;
        }
    )*};
}
elements!(u8: U8, u16: U16, u32: U32, u64: U64, i8: I8, i16: I16, i32: I32, i64: I64, f32: F32, f64: F64);

/// Returns the number type of elements, if the element type is known. Characters are signed or unsigned bytes, like `wanted`.
pub(crate) fn number(element: ElementType, wanted: Option<NumberType>) -> Option<NumberType> {
    Some(match element {
        ElementType::U8 => NumberType::U8,
        ElementType::U16 => NumberType::U16,
        ElementType::U32 => NumberType::U32,
        ElementType::U64 => NumberType::U64,
        ElementType::I8 => NumberType::I8,
        ElementType::I16 => NumberType::I16,
        ElementType::I32 => NumberType::I32,
        ElementType::I64 => NumberType::I64,
        ElementType::F32 => NumberType::F32,
        ElementType::F64 => NumberType::F64,
        ElementType::Character if wanted == Some(NumberType::I8) => NumberType::I8,
        ElementType::Character => NumberType::U8,
        ElementType::Unknown(_) => return None,
    })
}
