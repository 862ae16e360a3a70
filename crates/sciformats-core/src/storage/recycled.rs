//! Memory that is kept when a file is closed, for the files that are opened next.

use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// The size in bytes of a piece that is kept. Smaller pieces are returned to the allocator.
pub(super) const PIECE: usize = 256 << 10;

/// The number of pieces that are kept for later files, which are 64 MiB.
const KEPT: usize = 256;

static PIECES: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Bytes of a file, in memory that is used again when they are no longer needed.
///
/// The first use of each page of fresh memory causes a page fault, and the system fills the page with zeros. This takes longer
/// than copying a page of a file into it. Programs that open one file after another therefore keep some of the memory.
#[derive(Debug)]
pub(super) struct Recycled {
    memory: Vec<u8>,
    /// The number of bytes in use.
    len: usize,
}

impl Recycled {
    /// Returns space for `len` bytes, whose contents are undefined.
    pub(super) fn new(len: usize) -> Result<Self> {
        let kept = if len > PIECE / 2 && len <= PIECE { pieces().pop() } else { None };
        let memory = match kept {
            Some(memory) => memory,
            None => super::zeroed(if len > PIECE / 2 { len.max(PIECE) } else { len })?,
        };
        Ok(Self { memory, len })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(..self.len).unwrap_or_default()
    }
}

impl Drop for Recycled {
    fn drop(&mut self) {
        if self.memory.len() == PIECE {
            let mut pieces = pieces();
            if pieces.len() < KEPT {
                pieces.push(mem::take(&mut self.memory));
            }
        }
    }
}

fn pieces() -> std::sync::MutexGuard<'static, Vec<Vec<u8>>> {
    PIECES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the memory to the system that is kept for the files that are opened next, which is at most 64 MiB.
///
/// A program that continues for a long time after its last file may need it for something else.
///
/// ```
/// sciformats_core::storage::release_memory();
/// ```
pub fn release_memory() {
    let released = mem::take(&mut *pieces());
    drop(released);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_left_to_the_next_file_and_can_be_released() {
        // Other tests in this process use the same memory, so only what is certain is asserted.
        let mut first = Recycled::new(PIECE).unwrap();
        first.bytes_mut().fill(7);
        drop(first);
        assert!(pieces().len() <= KEPT);
        let second = Recycled::new(PIECE - 1).unwrap();
        assert_eq!(second.bytes().len(), PIECE - 1);
        let short = Recycled::new(100).unwrap();
        assert_eq!((short.memory.len(), short.bytes()), (100, &[0; 100][..]));
        let many: Vec<_> = (0..2 * KEPT).map(|_| Recycled::new(PIECE).unwrap()).collect();
        drop(many);
        assert!(pieces().len() <= KEPT);
        release_memory();
    }
}
