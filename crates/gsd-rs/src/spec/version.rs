//! A version number (the fields `schema_version` and `gsd_version` of the header): `0xaaaabbbb` is `aaaa.bbbb`.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 2 | minor part |
//! | 2 | 2 | major part |

use std::fmt;

use nom::number::complete::le_u16;
use sciformats_core::fault::Parsed;

/// A version of the file layer or of a schema.
///
/// ```
/// let version = gsd_rs::Version::new(2, 1);
/// assert_eq!((version.major(), version.minor()), (2, 1));
/// assert_eq!(version.to_string(), "2.1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(u32);

impl Version {
    /// Creates a version from its parts.
    ///
    /// ```
    /// use gsd_rs::Version;
    ///
    /// assert!(Version::new(1, 10) > Version::new(1, 4));
    /// ```
    pub const fn new(major: u16, minor: u16) -> Self {
        Self((major as u32) << 16 | minor as u32)
    }

    /// Returns the part before the point.
    pub const fn major(self) -> u16 {
        let [_, _, low, high] = self.0.to_le_bytes();
        u16::from_le_bytes([low, high]) // these are bytes of a number and not of a file, so nom is not used
    }

    /// Returns the part after the point.
    pub const fn minor(self) -> u16 {
        let [low, high, _, _] = self.0.to_le_bytes();
        u16::from_le_bytes([low, high]) // these are bytes of a number, so nom is not used
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, minor) = le_u16(i)?;
        let (i, major) = le_u16(i)?;
        Ok((i, Self::new(major, minor)))
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_major_part_is_in_the_high_half() {
        let bytes = [
            0x03, 0x00, // minor
            0x02, 0x00, // major
        ];
        let (rest, version) = Version::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(version, Version::new(2, 3));
        assert!(Version::new(1, 9) < version && version < Version::new(2, 4));
        let mut out = Vec::new();
        version.encode(&mut out);
        assert_eq!(out, bytes);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            if let Ok((rest, version)) = Version::parse(&bytes) {
                let mut out = Vec::new();
                version.encode(&mut out);
                prop_assert_eq!([&out, rest].concat(), bytes);
            }
        }
    }
}
