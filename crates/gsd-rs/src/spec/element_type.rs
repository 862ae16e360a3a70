//! The type of the elements of a chunk, which is one byte.
//!
//! | code | type | bytes |
//! |--:|---|--:|
//! | 1, 2, 3, 4 | unsigned integer | 1, 2, 4, 8 |
//! | 5, 6, 7, 8 | signed integer | 1, 2, 4, 8 |
//! | 9, 10 | IEEE 754 binary32, binary64 | 4, 8 |
//! | 11 | character: UTF-8 text (since 2.1) | 1 |

use std::fmt;

/// The type of the elements of a chunk.
///
/// ```
/// use gsd_rs::ElementType;
///
/// assert_eq!((ElementType::F32.size(), ElementType::F32.to_string()), (Some(4), "f32".into()));
/// assert_eq!(ElementType::ALL.len(), 11);
/// assert_eq!(ElementType::Unknown(99).size(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 16 bits.
    I16,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
    /// An IEEE 754 binary32.
    F32,
    /// An IEEE 754 binary64.
    F64,
    /// A byte of UTF-8 text, in layer 2.1 and later.
    Character,
    /// A code that this library does not know. The chunk can be listed, but not read.
    Unknown(u8),
}

impl ElementType {
    /// All types that are known, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::Character,
    ];

    /// Returns the type with this code.
    ///
    /// ```
    /// use gsd_rs::ElementType;
    ///
    /// assert_eq!(ElementType::from_code(9), ElementType::F32);
    /// assert_eq!(ElementType::from_code(99), ElementType::Unknown(99));
    /// ```
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::U8,
            2 => Self::U16,
            3 => Self::U32,
            4 => Self::U64,
            5 => Self::I8,
            6 => Self::I16,
            7 => Self::I32,
            8 => Self::I64,
            9 => Self::F32,
            10 => Self::F64,
            11 => Self::Character,
            _ => Self::Unknown(code),
        }
    }

    /// Returns the code in the file.
    pub const fn code(self) -> u8 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 3,
            Self::U64 => 4,
            Self::I8 => 5,
            Self::I16 => 6,
            Self::I32 => 7,
            Self::I64 => 8,
            Self::F32 => 9,
            Self::F64 => 10,
            Self::Character => 11,
            Self::Unknown(code) => code,
        }
    }

    /// Returns the size of an element in bytes, or `None` if the type is unknown.
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Character => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Character => "character",
            Self::Unknown(code) => return write!(f, "type {code}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_there_and_back() {
        for code in 0..=255 {
            assert_eq!(ElementType::from_code(code).code(), code);
        }
        let codes: Vec<u8> = ElementType::ALL.iter().map(|t| t.code()).collect();
        assert_eq!(codes, (1..=11).collect::<Vec<_>>());
        assert!(ElementType::ALL.iter().all(|t| t.size().is_some()));
        assert_eq!(ElementType::from_code(12).size(), None);
    }
}
