//! "Elemental Type Specification": the code of the kind of element. The width has a field of its own.
//!
//! | code | kind |
//! |---|---|
//! | 0 | user-defined: a structure whose fields the format does not know |
//! | 1 | signed integer |
//! | 2 | unsigned integer |
//! | 3 | floating point, IEEE 754 |
//! | 4 | complex: two floats, the real part first |
//! | 5 | brain float; in files by Julia a truth value |

/// The kind of element, which is the header's `eltype`.
///
/// ```
/// use rawarray::{ElementKind, Header, RawArray};
///
/// let file = RawArray::from(vec![0.5f64; 3]).encode(&Default::default())?;
/// let header = Header::from_bytes(&file)?;
/// assert_eq!((header.eltype, header.eltype.code(), header.elbyte), (ElementKind::Float, 3, 8));
/// assert_eq!(ElementKind::from_code(99), ElementKind::Unknown(99));
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// A structure of the user, which are bytes that the format does not interpret.
    User,
    /// A signed integer in two's complement.
    Int,
    /// An unsigned integer.
    UInt,
    /// An IEEE 754 float.
    Float,
    /// A pair of IEEE 754 floats, the real part first.
    Complex,
    /// A brain float, or in files by Julia a truth value. The width tells them apart.
    Brain,
    /// A code that the format does not define. It is never one of the codes above.
    Unknown(u64),
}

impl ElementKind {
    /// Returns the kind with this code.
    ///
    /// ```
    /// use rawarray::ElementKind;
    ///
    /// assert_eq!(ElementKind::from_code(4), ElementKind::Complex);
    /// assert_eq!(ElementKind::from_code(6), ElementKind::Unknown(6));
    /// ```
    pub fn from_code(code: u64) -> Self {
        match code {
            0 => Self::User,
            1 => Self::Int,
            2 => Self::UInt,
            3 => Self::Float,
            4 => Self::Complex,
            5 => Self::Brain,
            code => Self::Unknown(code),
        }
    }

    /// Returns the code of the kind.
    pub fn code(self) -> u64 {
        match self {
            Self::User => 0,
            Self::Int => 1,
            Self::UInt => 2,
            Self::Float => 3,
            Self::Complex => 4,
            Self::Brain => 5,
            Self::Unknown(code) => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives() {
        for code in (0..20).chain([u64::MAX]) {
            assert_eq!(ElementKind::from_code(code).code(), code);
        }
        assert_eq!(ElementKind::from_code(6), ElementKind::Unknown(6));
    }
}
