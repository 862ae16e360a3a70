//! The file that C-Blosc2 locks beside a frame (`FILE.b2lock`) or in its folder (`.b2lock`), from 3.2 on.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | zeros |
//! | 8 | 8 | how many changes there have been, little-endian |
//!
//! An empty file stands for none.

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockFile {
    pub(crate) changes: u64,
}

impl LockFile {
    pub(crate) const SIZE: usize = 16;

    /// Of a file with these bytes. One that is shorter says nothing yet.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let changes = bytes.get(8..Self::SIZE).and_then(|bytes| bytes.try_into().ok());
        Self { changes: changes.map_or(0, u64::from_le_bytes) }
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.extend([0; 8]);
        out.extend(self.changes.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_second_word() {
        let mut bytes = Vec::new();
        LockFile { changes: 0x0102 }.encode(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LockFile::of(&bytes), LockFile { changes: 0x0102 });
        assert_eq!(LockFile::of(&bytes[..15]).changes, 0);
        assert_eq!(LockFile::of(&[]).changes, 0);
    }
}
