//! Where new structures go: allocation at the end of the file, and small writes that are collected into larger ones.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use sciformats_core::arith::{add, div, fit, increase, present, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::{Durability, Replacement, check_range};
use sciformats_core::{Error, ReadAt, Result, WriteAt, bound};

use crate::space::extents::Extent;
use crate::space::pages::Pages;
use crate::space::pending::{Space, Use};
use crate::spec::{Address, Sizes};

/// A storage that can be read and written.
///
/// ```
/// use hdf5_pure::{EditOptions, Editor, Result};
/// use hdf5_pure::storage::Storage;
///
/// fn retitle(storage: Box<dyn Storage>, title: &str) -> Result<()> {
///     let mut file = Editor::in_storage(storage, &EditOptions::default())?;
///     file.root().attribute("title", title)?;
///     file.commit()
/// }
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let bytes = made.into_bytes()?;
/// retitle(Box::new(bytes), "a week in June")?;
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Storage: ReadAt + WriteAt {}
impl<S: ReadAt + WriteAt> Storage for S {}

/// The target of writes.
pub(crate) enum Target {
    /// A file that appears at its path when it is complete.
    File(Replacement),
    /// Memory.
    Memory(Vec<u8>),
    /// A storage of the caller.
    Other(Box<dyn Storage>),
    /// An existing file that is being edited.
    Edited(Arc<Space>),
}

impl Target {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File(replacement) => replacement.storage()?.write_at(offset, bytes),
            Self::Memory(memory) => memory.write_at(offset, bytes),
            Self::Other(storage) => storage.write_at(offset, bytes),
            Self::Edited(space) => space.write_at(offset, bytes),
        }
    }

    fn storage(&self) -> Result<&dyn ReadAt> {
        Ok(match self {
            Self::File(replacement) => replacement.written()?,
            Self::Memory(memory) => memory,
            Self::Other(storage) => &**storage,
            Self::Edited(space) => &**space,
        })
    }

    fn read_some(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let storage = self.storage()?;
        let stored = bound::addressable(bound::left(storage.size(), offset)).min(len);
        let mut bytes = if stored == 0 { Vec::new() } else { storage.read_at(offset, stored)?.into_owned() };
        // Space that was allocated but not written yet reads as zeros.
        bytes.resize(len, 0);
        Ok(bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        match self {
            Self::File(replacement) => replacement.storage()?.set_size(size),
            Self::Memory(memory) => memory.set_size(size),
            Self::Other(storage) => storage.set_size(size),
            Self::Edited(_) => Ok(()),
        }
    }
}

/// Reads what was written so far.
impl ReadAt for Target {
    fn size(&self) -> u64 {
        self.storage().map_or(0, ReadAt::size)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.storage()?.read_at(offset, len)
    }
}

impl Target {
    /// Reserves the space of a long write at the end of a file. The system allocates it faster at once than page by
    /// page.
    fn reserve(&mut self, offset: u64, len: u64) -> Result<()> {
        match self {
            Self::File(replacement) if len >= RESERVED => {
                let storage = replacement.storage()?;
                // If the write does not start at the end of the file, reserving would also allocate the gap before it.
                if offset <= storage.size() { storage.reserve(add(offset, len)?) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

/// The sizes of addresses and lengths in new files. Files that are edited keep their own.
pub(crate) const SIZES: Sizes = Sizes { offsets: 8, lengths: 8 };

/// Collected bytes are written when there are this many. Longer writes are not collected.
const GATHERED: usize = 1 << 20;
/// Writes of at least this many bytes allocate their space with one system call.
const RESERVED: u64 = 4 << 20;
/// The approximate size of the pieces in which fill values are written.
const PIECE: usize = 64 << 10;
/// Structures start at multiples of this.
const ALIGNMENT: u64 = 8;

/// The file that is being written. Addresses count from its base.
pub(crate) struct Output {
    target: Target,
    pub(crate) sizes: Sizes,
    base: u64,
    end: u64,
    /// The bytes that are not written yet, and their offset.
    pending: Vec<u8>,
    pending_at: u64,
    /// Whether they end in the middle of a structure.
    pending_part: bool,
    /// The number of threads that filter chunks; 0 means as many as the machine has.
    pub(crate) threads: usize,
    /// The pages of a file that is allocated in pages.
    pub(crate) pages: Option<Pages>,
    /// What is left of the space that a new file keeps for structures before all elements.
    front: Range<u64>,
}

impl Output {
    /// Creates an output for a file whose superblock stands at `base`, after a user block of that length.
    pub(crate) fn new(target: Target, base: u64) -> Self {
        let pending = Vec::new();
        Self {
            target,
            sizes: SIZES,
            base,
            end: 0,
            pending,
            pending_at: 0,
            pending_part: false,
            threads: 0,
            pages: None,
            front: 0..0,
        }
    }

    /// Creates an output for an existing file that ends at `end`, counted from `base`.
    pub(crate) fn behind(target: Target, base: u64, end: u64) -> Self {
        Self { end, ..Self::new(target, base) }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the end of the allocated space, counted from the base.
    pub(crate) fn end(&self) -> u64 {
        match &self.target {
            Target::Edited(space) => bound::left(space.size(), self.base),
            _ => self.end,
        }
    }

    /// Allocates `len` bytes for a structure.
    pub(crate) fn allocate(&mut self, len: u64) -> Result<Address> {
        match &self.target {
            Target::Edited(space) => space.allocate(len, Use::Metadata),
            _ => self.append(len, false),
        }
    }

    /// Allocates `len` bytes for elements.
    pub(crate) fn allocate_data(&mut self, len: u64) -> Result<Address> {
        match &self.target {
            Target::Edited(space) => space.allocate(len, Use::Data),
            _ => self.append(len, true),
        }
    }

    /// Allocates `len` bytes for elements. Bytes that are not written read as zeros.
    pub(crate) fn allocate_zeroed(&mut self, len: u64) -> Result<Address> {
        match &self.target {
            Target::Edited(space) => space.allocate_zeroed(len, Use::Data),
            _ => self.append(len, true),
        }
    }

    /// Allocates space for all elements, and fills it if there is a fill value.
    pub(crate) fn allocate_filled(&mut self, total: u64, fill_value: Option<&[u8]>) -> Result<Address> {
        let Some(value) = fill_value.filter(|value| !value.is_empty()) else {
            return self.allocate_zeroed(total);
        };
        let address = self.allocate_data(total)?;
        let piece = value.repeat(div(PIECE, value.len())?.max(1));
        let mut at = 0;
        while at < total {
            let len = bound::addressable(sub(total, at)?).min(piece.len());
            self.write_part(Address(add(address.0, at)?), present(piece.get(..len), "fill values")?)?;
            increase(&mut at, len as u64)?;
        }
        Ok(address)
    }

    /// Frees `len` bytes of a file that is being edited. In a new file they stay unused.
    pub(crate) fn free(&mut self, at: Address, len: u64, usage: Use) -> Result<()> {
        // The collected bytes must be written first. Otherwise they could overwrite what is stored in this space next.
        self.flush()?;
        match &self.target {
            Target::Edited(space) => space.free(at, len, usage),
            _ => Ok(()),
        }
    }

    /// Frees all of `extents`.
    ///
    /// # Errors
    /// Returns the errors of [`free`](Self::free).
    pub(crate) fn release(&mut self, extents: &[Extent]) -> Result<()> {
        extents.iter().try_for_each(|extent| self.free(extent.at, extent.len, extent.usage))
    }

    /// Returns whether the file is being edited. If so, overwritten bytes become effective with a commit, all at once.
    pub(crate) fn is_edited(&self) -> bool {
        matches!(self.target, Target::Edited(_))
    }

    /// Returns whether nothing in the file leads to the `len` bytes at `at` yet.
    pub(crate) fn is_fresh(&self, at: Address, len: u64) -> bool {
        match &self.target {
            Target::Edited(space) => space.is_fresh(at, len),
            _ => true,
        }
    }

    /// Keeps `room` bytes at the end of a new file, which has only its superblock, for structures.
    pub(crate) fn keep_front(&mut self, room: u64) -> Result<()> {
        if room == 0 {
            return Ok(());
        }
        let end = self.end;
        let kept = match &mut self.pages {
            Some(pages) => pages.keep_front(end, room),
            None => end.checked_add(room).inspect(|after| self.front = end..*after),
        };
        let after = kept
            .filter(|after| after.checked_add(self.base).is_some_and(|end| end < i64::MAX.cast_unsigned()));
        self.end = after.ok_or_else(|| Error::usage("file", "would become longer than 2^63 bytes"))?;
        Ok(())
    }

    /// Allocates `len` bytes of the space that is kept for structures, if it has room.
    fn take_front(&mut self, len: u64) -> Option<Address> {
        let start = self.front.start.checked_next_multiple_of(ALIGNMENT)?;
        let behind = start.checked_add(len)?;
        (behind <= self.front.end).then(|| {
            self.front.start = behind;
            Address(start)
        })
    }

    /// Allocates `len` bytes at the end of the file, or in a page that has room.
    fn append(&mut self, len: u64, elements: bool) -> Result<Address> {
        // Elements must not use up the space that is kept for structures.
        if !elements
            && !self.front.is_empty()
            && let Some(address) = self.take_front(len)
        {
            return Ok(address);
        }
        let (end, pages) = (self.end, &mut self.pages);
        let mut place = || {
            let (start, end) = match pages {
                Some(pages) => pages.take(end, len, ALIGNMENT, elements)?,
                None => {
                    let start = end.checked_next_multiple_of(ALIGNMENT)?;
                    (start, start.checked_add(len)?)
                }
            };
            end.checked_add(self.base).filter(|&end| end < i64::MAX.cast_unsigned()).map(|_| (start, end))
        };
        let (start, end) =
            place().ok_or_else(|| Error::usage("file", "would become longer than 2^63 bytes"))?;
        self.end = end;
        Ok(Address(start))
    }

    /// Writes a structure to fresh space.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Address> {
        let at = self.allocate(bytes.len() as u64)?;
        self.write(at, bytes)?;
        Ok(at)
    }

    /// Writes elements to fresh space.
    pub(crate) fn put_data(&mut self, bytes: &[u8]) -> Result<Address> {
        let at = self.allocate_data(bytes.len() as u64)?;
        self.write(at, bytes)?;
        Ok(at)
    }

    /// Writes the whole of what was allocated at `at`.
    pub(crate) fn write(&mut self, at: Address, bytes: &[u8]) -> Result<()> {
        // The gap between two structures belongs to none and can be overwritten, unless the file existed before.
        let edited = matches!(self.target, Target::Edited(_));
        let room = if self.pending_part || edited { 0 } else { ALIGNMENT - 1 };
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

    /// Collects writes that follow each other with gaps of at most `room` bytes.
    fn gather(&mut self, at: Address, bytes: &[u8], room: u64) -> Result<()> {
        let offset = add(self.base, at.0)?;
        let end = add(offset, bytes.len() as u64)?;
        let gap = offset.checked_sub(add(self.pending_at, self.pending.len() as u64)?);
        match gap {
            Some(gap) if gap <= room && !self.pending.is_empty() => {
                self.pending.resize(add(self.pending.len(), fit(gap, "gap between structures")?)?, 0);
            }
            _ => {
                self.flush()?;
                self.pending_at = offset;
            }
        }
        self.target.reserve(offset, bytes.len() as u64)?;
        if bytes.len() >= GATHERED {
            self.flush()?;
            self.target.write_at(offset, bytes)?;
            self.pending_at = end;
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= GATHERED { self.flush() } else { Ok(()) }
    }

    /// Reads a structure, or elements, at a place that comes from the file. The place must lie in the file.
    ///
    /// # Errors
    /// Returns `Malformed` if it does not, before any memory is allocated, and `Io`.
    pub(crate) fn read_stored(&mut self, structure: &'static str, at: Address, len: u64) -> Result<Vec<u8>> {
        let (end, of_file) = (at.0.checked_add(len), self.end());
        match (end.filter(|&end| end <= of_file), usize::try_from(len)) {
            (Some(_), Ok(len)) => self.read(at, len),
            _ => {
                let found = end.unwrap_or(u64::MAX); // a bound, in a message
                let kind = FaultKind::OutOfBounds { found, end: of_file };
                Err(Fault::new("the end of the structure", kind).at(structure, bound::sum(self.base, at.0)))
            }
        }
    }

    /// Reads back what was written.
    pub(crate) fn read(&mut self, at: Address, len: usize) -> Result<Vec<u8>> {
        self.flush()?;
        let offset = add(self.base, at.0)?;
        if !self.is_edited() {
            check_range(add(self.base, self.end)?, offset, len as u64)?;
        }
        self.target.read_some(offset, len)
    }

    /// Calls `read` with what was written so far as a file. `read` must not keep the file.
    pub(crate) fn read_back<T>(&mut self, read: impl FnOnce(Arc<dyn ReadAt>) -> Result<T>) -> Result<T> {
        self.flush()?;
        let target = Arc::new(std::mem::replace(&mut self.target, Target::Memory(Vec::new())));
        let result = read(target.clone());
        let kept = |_| Error::internal("the callback of a reading still holds the file");
        self.target = Arc::try_unwrap(target).map_err(kept)?;
        result
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.target.write_at(self.pending_at, &self.pending)?;
        increase(&mut self.pending_at, self.pending.len() as u64)?;
        self.pending.clear();
        Ok(())
    }

    /// Writes what is collected, and gives the file exactly the length that was allocated.
    pub(crate) fn extend(&mut self) -> Result<()> {
        self.flush()?;
        self.target.set_size(add(self.base, self.end)?)
    }

    /// Writes the bytes before the superblock.
    pub(crate) fn user_block(&mut self, bytes: &[u8]) -> Result<()> {
        self.target.write_at(0, bytes)
    }

    /// Makes sure that everything reaches the device before what is written from now on. For a file that appears at its
    /// path when it is complete, nothing has to be done.
    pub(crate) fn settle(&mut self, durability: Durability) -> Result<()> {
        self.extend()?;
        match &mut self.target {
            Target::Other(storage) if durability == Durability::Power => storage.sync(),
            _ => Ok(()),
        }
    }

    /// Completes a file that has [settled](Self::settle), and moves it to its path.
    pub(crate) fn finish(mut self, durability: Durability) -> Result<Target> {
        self.flush()?;
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
            edited @ Target::Edited(_) => Ok(edited),
        }
    }
}
