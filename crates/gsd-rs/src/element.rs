//! The Rust types of elements.

use crate::ElementType;

mod sealed {
    pub trait Sealed {}
}

/// A type that the elements of a chunk have in memory: the integers up to 64 bits, `f32` and `f64`.
///
/// ```
/// use gsd_rs::{Element, Error, Reader, Result};
///
/// fn last_row<T: Element>(reader: &Reader, frame: u64, name: &str) -> Result<Vec<T>> {
///     let chunk = reader.find(frame, name)?.ok_or(Error::not_found("chunk", name))?;
///     Ok(reader.read_rows(&chunk, chunk.n.saturating_sub(1)..chunk.n)?.into_owned())
/// }
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
/// # writer.write("position", 3, &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?;
/// # writer.end_frame()?;
/// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
/// assert_eq!(last_row::<f32>(&reader, 0, "position")?, [3.0, 4.0, 5.0]);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
pub trait Element: bytemuck::Pod + Send + Sync + PartialEq + sealed::Sealed {
    /// The type that this is written as.
    const TYPE: ElementType;

    /// Whether a chunk of `element` can be read as this: the same type, or text as bytes of either sign.
    ///
    /// ```
    /// use gsd_rs::{Element, ElementType};
    ///
    /// assert!(f32::reads(ElementType::F32) && !f64::reads(ElementType::F32));
    /// assert!(u8::reads(ElementType::Character) && i8::reads(ElementType::Character));
    /// ```
    fn reads(element: ElementType) -> bool {
        element == Self::TYPE || element == ElementType::Character && size_of::<Self>() == 1
    }
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
