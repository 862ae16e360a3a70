//! The Rust types of elements.

use crate::ElementType;

mod sealed {
    pub trait Sealed {}
}

/// A type that the elements of a chunk have in memory: the integers up to 64 bits, `f32` and `f64`.
pub trait Element: bytemuck::Pod + Send + Sync + PartialEq + sealed::Sealed {
    /// The type that this is written as.
    const TYPE: ElementType;

    /// Whether a chunk of `element` can be read as this: the same type, or text as bytes of either sign.
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
