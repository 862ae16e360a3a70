//! The file that C-Blosc2 locks since version 3.2, which is beside a frame (`FILE.b2lock`) or in its folder (`.b2lock`).
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | zeros |
//! | 8 | 8 | number of changes, little-endian |
//!
//! An empty file means that there were no changes.

use nom::bytes::complete::take;
use nom::number::complete::le_u64;
use sciformats_core::fault::{Parsed, field};

/// The contents of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockFile {
    pub(crate) changes: u64,
}

impl LockFile {
    pub(crate) const SIZE: usize = 16;

    /// Parses these bytes. If there are fewer, the file is not initialized yet.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::parse(bytes).map_or(Self { changes: 0 }, |(_, file)| file)
    }

    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = field("zeros", take(8usize))(i)?;
        let (i, changes) = field("changes", le_u64)(i)?;
        Ok((i, Self { changes }))
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.extend([0; 8]);
        out.extend(self.changes.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_count_is_the_second_word() {
        let bytes = [
            0, 0, 0, 0, 0, 0, 0, 0, // zeros
            2, 1, 0, 0, 0, 0, 0, 0, // changes
        ];
        let mut out = Vec::new();
        LockFile { changes: 0x0102 }.encode(&mut out);
        assert_eq!(out, bytes);
        assert_eq!(LockFile::of(&bytes), LockFile { changes: 0x0102 });
        assert_eq!(LockFile::of(&bytes[..15]).changes, 0);
        assert_eq!(LockFile::of(&[]).changes, 0);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let known = LockFile::of(&bytes);
            prop_assert!(bytes.len() >= LockFile::SIZE || known.changes == 0);
        }
    }
}
