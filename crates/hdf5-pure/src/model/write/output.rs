//! Where new structures go: space at the end of the file, and writes that are gathered.

use std::borrow::Cow;

use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, ReadAt, Result, WriteAt};

use crate::spec::{Address, Sizes};

/// Storage that is read and written.
pub trait Storage: ReadAt + WriteAt {}
impl<S: ReadAt + WriteAt> Storage for S {}

/// What bytes are written to.
pub(crate) enum Target {
    /// A file that takes its place when it is complete.
    File(Replacement),
    /// Memory.
    Memory(Vec<u8>),
    /// Storage of the caller's.
    Other(Box<dyn Storage>),
}

impl Target {
    fn writer(&mut self) -> Result<&mut dyn WriteAt> {
        Ok(match self {
            Self::File(replacement) => replacement.storage()?,
            Self::Memory(bytes) => bytes,
            Self::Other(storage) => &mut **storage,
        })
    }

    fn reader(&mut self) -> Result<&dyn ReadAt> {
        Ok(match self {
            Self::File(replacement) => replacement.storage()?,
            Self::Memory(bytes) => bytes,
            Self::Other(storage) => &**storage,
        })
    }
}

/// The widths of addresses and lengths in new files.
pub(crate) const SIZES: Sizes = Sizes { offsets: 8, lengths: 8 };

/// Gathered bytes are written when there are this many; longer writes go out at once.
const GATHERED: usize = 1 << 20;
/// Structures start at multiples of this.
const ALIGNMENT: u64 = 8;

/// The file that is written: addresses count from its base.
pub(crate) struct Output {
    target: Target,
    base: u64,
    end: u64,
    /// Bytes that are not written yet, and where they go.
    pending: Vec<u8>,
    pending_at: u64,
    /// Whether these end in the middle of a structure.
    pending_part: bool,
    /// Threads that filter chunks, 0 for as many as the machine has.
    pub(crate) threads: usize,
}

impl Output {
    /// A file whose superblock stands at `base`, behind a user block of that length.
    pub(crate) fn new(target: Target, base: u64) -> Self {
        Self { target, base, end: 0, pending: Vec::new(), pending_at: 0, pending_part: false, threads: 0 }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The end of what was allocated, counted from the base.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Takes `len` bytes at the end.
    pub(crate) fn allocate(&mut self, len: u64) -> Result<Address> {
        let place = || {
            let start = self.end.checked_next_multiple_of(ALIGNMENT)?;
            let end = start.checked_add(len)?;
            end.checked_add(self.base).filter(|&end| end < i64::MAX.cast_unsigned()).map(|_| (start, end))
        };
        let (start, end) = place().ok_or_else(|| Error::usage("file", "would be longer than 2^63 bytes"))?;
        self.end = end;
        Ok(Address(start))
    }

    /// Writes `bytes` to fresh space.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Address> {
        let at = self.allocate(bytes.len() as u64)?;
        self.write(at, bytes)?;
        Ok(at)
    }

    /// Writes the whole of what was allocated at `at`.
    pub(crate) fn write(&mut self, at: Address, bytes: &[u8]) -> Result<()> {
        // What lies between the ends of two structures belongs to none.
        let room = if self.pending_part { 0 } else { ALIGNMENT.saturating_sub(1) };
        self.gather(at, bytes, room)?;
        self.pending_part = false;
        Ok(())
    }

    /// Writes a part of what was allocated.
    pub(crate) fn write_part(&mut self, at: Address, bytes: &[u8]) -> Result<()> {
        self.gather(at, bytes, 0)?;
        self.pending_part = true;
        Ok(())
    }

    /// Gathers writes that follow each other with gaps of at most `room` bytes.
    fn gather(&mut self, at: Address, bytes: &[u8], room: u64) -> Result<()> {
        let offset = self.base.saturating_add(at.0);
        let gap = offset.checked_sub(self.pending_at.saturating_add(self.pending.len() as u64));
        match gap {
            Some(gap) if gap <= room && !self.pending.is_empty() => {
                let gap = usize::try_from(gap).unwrap_or(0);
                self.pending.resize(self.pending.len().saturating_add(gap), 0);
            }
            _ => {
                self.flush()?;
                self.pending_at = offset;
            }
        }
        if bytes.len() >= GATHERED {
            self.flush()?;
            self.target.writer()?.write_at(offset, bytes)?;
            self.pending_at = offset.saturating_add(bytes.len() as u64);
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= GATHERED { self.flush() } else { Ok(()) }
    }

    /// Reads back what was written.
    pub(crate) fn read(&mut self, at: Address, len: usize) -> Result<Vec<u8>> {
        self.flush()?;
        let offset = self.base.saturating_add(at.0);
        self.target.reader()?.read_at(offset, len).map(Cow::into_owned)
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.target.writer()?.write_at(self.pending_at, &self.pending)?;
        self.pending_at = self.pending_at.saturating_add(self.pending.len() as u64);
        self.pending.clear();
        Ok(())
    }

    /// Writes the bytes before the superblock.
    pub(crate) fn user_block(&mut self, bytes: &[u8]) -> Result<()> {
        self.target.writer()?.write_at(0, bytes)
    }

    /// Completes the file: everything is written, it is exactly as long as was allocated, and a file takes its place.
    pub(crate) fn finish(mut self, durability: Durability) -> Result<Target> {
        self.flush()?;
        let size = self.base.saturating_add(self.end);
        let writer = self.target.writer()?;
        writer.set_size(size)?;
        match self.target {
            Target::File(replacement) => {
                replacement.finish(durability)?;
                Ok(Target::Memory(Vec::new()))
            }
            Target::Memory(bytes) => Ok(Target::Memory(bytes)),
            Target::Other(mut storage) => {
                if durability == Durability::Power {
                    storage.sync()?;
                }
                Ok(Target::Other(storage))
            }
        }
    }
}
