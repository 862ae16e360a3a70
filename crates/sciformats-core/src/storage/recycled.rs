//! Memory that is kept when a file is closed or a read ends, for the files and the reads that come next.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use crate::bound;
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

/// Buffers that are smaller than this are returned to the allocator, which gives their memory to others without a page fault.
const LEAST: usize = 64 << 10;

/// Larger buffers are returned to the system.
const LARGEST: usize = 8 << 20;

/// The bytes of buffers that are kept for later reads.
const KEPT_BYTES: usize = 32 << 20;

static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers { free: Vec::new(), bytes: 0 });

/// Buffers that nobody uses.
struct Buffers {
    free: Vec<Vec<u8>>,
    /// The sum of their capacities.
    bytes: usize,
}

/// A buffer whose memory is used again by later ones. It begins empty.
///
/// If the buffers through which compressed chunks pass are fresh, their page faults may take as long as decoding. Programs that read a
/// few chunks at a time therefore keep some of the memory.
///
/// ```
/// use sciformats_core::storage::Buffer;
///
/// let mut buffer = Buffer::default();
/// buffer.extend_from_slice(b"elements");
/// assert_eq!(buffer.len(), 8);
/// ```
#[derive(Debug)]
pub struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Self {
        let mut buffers = buffers();
        let found = buffers.free.pop().unwrap_or_default();
        buffers.bytes = bound::left(buffers.bytes, found.capacity());
        Self(found)
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let capacity = self.0.capacity();
        if !(LEAST..=LARGEST).contains(&capacity) {
            return;
        }
        let mut buffers = buffers();
        let bytes = bound::sum(buffers.bytes, capacity);
        if bytes <= KEPT_BYTES {
            self.0.clear();
            buffers.free.push(mem::take(&mut self.0));
            buffers.bytes = bytes;
        }
    }
}

fn buffers() -> std::sync::MutexGuard<'static, Buffers> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the memory to the system that is kept for the next files and reads, which is at most 96 MiB.
///
/// A program that continues for a long time after its last file may need it for something else.
///
/// ```
/// sciformats_core::storage::release_memory();
/// ```
pub fn release_memory() {
    let released = mem::take(&mut *pieces());
    let mut buffers = buffers();
    let free = mem::take(&mut buffers.free);
    buffers.bytes = 0;
    drop(buffers);
    drop((released, free));
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
    #[test]
    fn buffers_are_empty_and_few_are_kept() {
        let many: Vec<Buffer> = (0..10).map(|_| Buffer::default()).collect();
        for (number, mut buffer) in many.into_iter().enumerate() {
            assert!(buffer.is_empty());
            buffer.resize(number << 20, 7);
        }
        let kept = buffers();
        assert!(kept.bytes <= KEPT_BYTES);
        assert!(kept.free.iter().all(|buffer| (LEAST..=LARGEST).contains(&buffer.capacity())));
        assert_eq!(kept.free.iter().map(Vec::capacity).sum::<usize>(), kept.bytes);
        drop(kept);
        assert!(Buffer::default().is_empty());
    }
}
