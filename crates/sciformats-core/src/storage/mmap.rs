//! Files that are mapped into memory. Opening costs the same for files of every size, and stored bytes are borrowed.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use super::file::positioned;
use super::{ReadAt, check_range, memory};
use crate::error::{Error, Result};

/// A read-only memory map of a whole file.
///
/// The map shows the present state of the file. If anybody overwrites bytes, they change behind references to them, which Rust
/// does not allow. If the file is truncated, reading beyond its new end ends the process with `SIGBUS`. Creating a map is
/// therefore `unsafe`: the caller must know that nobody does this. [`Paged`](super::Paged) and
/// [`FileStorage`](super::FileStorage) are for all other files.
///
/// It needs the cargo feature `mmap`.
///
/// A file that does not fit the address space, as files of gigabytes in a 32-bit program, is read instead of mapped.
/// [`as_slice`](ReadAt::as_slice) then returns nothing.
///
/// Long reads that copy bytes use system calls and not the map, because pages of the map that were used count as memory of the
/// process, and making them accessible costs as much as a copy.
///
/// ```no_run
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::Mapped;
///
/// // SAFETY: the survey is over, and its files are on a volume that nobody can write to.
/// let file = unsafe { Mapped::open("survey.ra")? };
/// let magic = file.read_at(0, 8)?; // borrowed from the map
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Mapped {
    /// The map, or `None` if the file does not fit the address space.
    map: Option<Map>,
    len: u64,
    file: File,
}

/// Copies of at least this size do not use the map. For smaller ones, a call costs more than the pages.
const COPIED: usize = 32 << 10;

/// Large pages are requested for allocations of at least this size.
#[cfg(all(target_os = "linux", feature = "linux"))]
const LARGE: usize = 4 << 20;

impl Mapped {
    /// Maps the file at `path`.
    ///
    /// # Safety
    /// As long as the map exists, nobody, in this process or another, may change or truncate the file.
    ///
    /// # Errors
    /// `Io`; `Unsupported` without the feature `mmap`.
    #[allow(unsafe_code)]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            let file = File::open(path).map_err(|e| Error::io("open", e))?;
            Self::whole(file)
        };
        open().map_err(|e: Error| e.in_file(path, None))
    }

    /// Maps an open file, which may be closed afterwards.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{FileStorage, Mapped};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("result.dat");
    /// std::fs::write(&path, b"all of it").unwrap();
    /// # #[cfg(feature = "mmap")] {
    /// // SAFETY: the file is that of this test, which does not change it.
    /// let mapped = unsafe { Mapped::of(FileStorage::open(&path)?.file())? };
    /// assert_eq!(mapped.as_slice(), Some(&b"all of it"[..]));
    /// # }
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Safety
    /// The same as for [`open`](Self::open).
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    #[allow(unsafe_code)]
    pub unsafe fn of(file: &File) -> Result<Self> {
        Self::whole(file.try_clone().map_err(|e| Error::io("open", e))?)
    }

    fn whole(file: File) -> Result<Self> {
        let len = file.metadata().map_err(|e| Error::io("open", e))?.len();
        Self::up_to(file, len, isize::MAX.unsigned_abs() as u64)
    }

    /// Maps a file, unless it is longer than `room`.
    pub(super) fn up_to(file: File, len: u64, room: u64) -> Result<Self> {
        let map = match (len <= room).then(|| map(&file)) {
            None => None,
            // Other maps occupy the address space.
            Some(Err(Error::Io { .. })) if len > room / 8 => None,
            Some(made) => Some(made?),
        };
        let len = map.as_ref().map_or(len, |map| map.len() as u64);
        Ok(Self { map, len, file })
    }

    /// Returns the mapped bytes of a range, if the file is mapped.
    fn range(&self, offset: u64, len: usize) -> Option<Result<&[u8]>> {
        self.map.as_deref().map(|map| memory::slice(map, offset, len))
    }
}

#[cfg(feature = "mmap")]
type Map = memmap2::Mmap;

/// Without the feature there is no map, so none has bytes.
#[cfg(not(feature = "mmap"))]
type Map = Vec<u8>;

#[cfg(not(feature = "mmap"))]
fn map(_: &File) -> Result<Map> {
    Err(Error::missing_feature("a memory map", "mmap"))
}

#[cfg(feature = "mmap")]
#[allow(unsafe_code)]
fn map(file: &File) -> Result<Map> {
    // SAFETY: the map is read-only and owned by the returned value, so no Rust reference outlives it. The type system
    // cannot exclude that another process changes the file; the documentation of `Mapped` says what happens then. Reading changed
    // bytes is a race on plain `u8`s with a writer outside of the program, which every user of mapped files accepts. All parsers
    // that use them check bounds on the slice, and cannot read outside of it.
    unsafe { memmap2::Mmap::map(file) }.map_err(|e| Error::io("map", e))
}

impl ReadAt for Mapped {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        match self.range(offset, len) {
            Some(bytes) => bytes.map(Cow::Borrowed),
            None => {
                let mut buffer = Vec::new();
                super::fill_buffer(self, offset, len, &mut buffer)?;
                Ok(Cow::Owned(buffer))
            }
        }
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        if out.len() < COPIED
            && let Some(bytes) = self.range(offset, out.len())
        {
            out.copy_from_slice(bytes?);
            return Ok(());
        }
        check_range(self.len, offset, out.len() as u64)?;
        positioned::read_exact(&self.file, out, offset).map_err(|e| Error::io("read", e))
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if len < COPIED
            && let Some(bytes) = self.range(offset, len)
        {
            return bytes;
        }
        super::fill_buffer(self, offset, len, buffer)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.map.as_deref()
    }
}

/// Requests large pages from the system for a large allocation.
#[cfg(all(target_os = "linux", feature = "linux"))]
#[allow(unsafe_code)]
pub(super) fn advise_large_pages<T>(elements: &[T]) {
    const PAGE: usize = 4096;
    let size = size_of_val(elements);
    if size < LARGE {
        return;
    }
    let start = elements.as_ptr().cast_mut().cast::<u8>();
    let skip = start.align_offset(PAGE);
    let Some(rest) = size.checked_sub(skip) else { return };
    let len = rest & !(PAGE - 1);
    // SAFETY: `skip + len <= size`, so the range is inside the allocation of `elements`, which exists, and it starts at a page
    // boundary. The advice changes which pages the kernel uses, and never their contents, so it cannot affect any reference. A
    // kernel that does not know the advice returns an error, which is ignored because nothing depends on it.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(all(target_os = "linux", feature = "linux")))]
pub(super) fn advise_large_pages<T>(_: &[T]) {}

#[cfg(test)]
#[cfg(all(target_os = "linux", feature = "linux"))]
mod tests {
    use super::LARGE;
    use crate::storage::zeroed;

    #[test]
    fn advice_never_changes_the_elements() {
        // The safe equivalent is the same allocation without the advice.
        for len in [0, 1, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 513] {
            assert!(zeroed::<u64>(len).unwrap() == vec![0; len]);
        }
    }
}
