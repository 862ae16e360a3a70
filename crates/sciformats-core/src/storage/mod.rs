//! Positioned storage without a cursor.
//!
//! | storage | reads | writes | copies on read |
//! |---|---|---|---|
//! | `[u8]`, `Vec<u8>` | yes | `Vec` | no |
//! | [`FileStorage`] | yes | yes | yes |
//! | [`Paged`] | yes | no | yes, short reads from pages that are kept |
//! | [`Mapped`] | yes | no | no |
//! | [`Window`] of another storage | yes | no | like the other storage |
//! | [`Overlay`] of another storage | yes | no | only for patched bytes |
//! | [`Planned`], over [`Ranges`] | yes | no | yes, in batches that are fetched and kept |
//! | [`Replacement`] of a file | no | yes | – |

mod access;
mod awaited;
mod bulk;
mod elsewhere;
mod file;
mod memory;
mod mmap;
mod overlay;
mod paged;
mod planned;
mod ranges;
mod recycled;
mod replacement;
mod seen;
mod temporary;
mod window;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub use access::Access;
pub use awaited::{AsyncRanges, Awaited, Fetching, Work, Workers};
pub use bulk::{copy, machine_threads, read_into_threads, zeroed};
pub use elsewhere::Elsewhere;
pub use file::FileStorage;
pub use mmap::Mapped;
pub use overlay::{Overlay, Patch};
pub use paged::Paged;
pub use planned::{Joining, PlanOptions, Planned, together};
pub use ranges::{Purpose, Ranges, Statistics, Stored, length};
pub use recycled::{Buffer, release_memory};
pub use replacement::{Durability, Replacement, Scratch, absent};
pub use seen::Seen;
pub use temporary::unfinished;
pub use window::Window;

use crate::error::Result;
use crate::fault::{Fault, FaultKind};

/// Bytes that can be read at any position, from any number of threads.
///
/// ```
/// use sciformats_core::ReadAt;
///
/// let bytes = b"any bytes in memory".to_vec();
/// assert_eq!(*bytes.read_at(4, 5)?, *b"bytes");
/// assert!(bytes.read_at(15, 5).is_err());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Returns exactly `len` bytes at `offset`; they are borrowed if the storage has them in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`](crate::Error::Malformed) if the range extends beyond the storage, which is
    /// checked before anything is allocated; `Io`.
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>>;

    /// Fills `out` with the bytes at `offset`.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    ///
    /// let mut out = [0; 5];
    /// b"any bytes in memory"[..].read_into(4, &mut out)?;
    /// assert_eq!(&out, b"bytes");
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at).
    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(&self.read_at(offset, out.len())?);
        Ok(())
    }

    /// Returns exactly `len` bytes at `offset` for a short time. They are borrowed if that costs nothing, and
    /// are otherwise in `buffer`, which can be used for one read after another.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    ///
    /// let mut buffer = Vec::new();
    /// let storage = b"one two".to_vec();
    /// for (offset, word) in [(0, b"one"), (4, b"two")] {
    ///     assert_eq!(storage.read_with(offset, 3, &mut buffer)?, word);
    /// }
    /// assert_eq!(buffer.capacity(), 0); // these bytes are in memory
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at).
    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match self.read_at(offset, len)? {
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(bytes) => {
                *buffer = bytes;
                Ok(buffer)
            }
        }
    }

    /// Returns all bytes at once, if they are in memory.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::Window;
    ///
    /// let window = Window::new(b"header, payload".to_vec(), 8, 7)?;
    /// assert_eq!(window.as_slice(), Some(&b"payload"[..]));
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }

    /// Returns how many bytes of elements one [`prefetch`](Self::prefetch) fetches at most. It is 0 if reads
    /// cost no round trip, so that there is no need to announce them.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{Planned, Stored};
    ///
    /// assert_eq!(b"in memory"[..].read_ahead(), 0);
    /// assert!(Planned::new(Stored(b"far away".to_vec())).read_ahead() > 0);
    /// ```
    fn read_ahead(&self) -> u64 {
        0
    }

    /// Announces which ranges will be read. If a read costs a round trip, missing ranges are fetched in one
    /// batch of simultaneous requests; otherwise nothing happens. Ranges outside of the storage are ignored,
    /// because the read itself reports them. At most [`read_ahead`](Self::read_ahead) bytes of elements are
    /// fetched, in the order of the ranges.
    ///
    /// See [`together`] for ranges that are unknown until others have been read.
    ///
    /// # Errors
    /// `Io`.
    fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        let _ = (ranges, purpose);
        Ok(())
    }
}

/// Bytes that can be written at any position.
///
/// ```
/// use sciformats_core::WriteAt;
///
/// let mut bytes = Vec::new();
/// bytes.write_at(2, b"ab")?;
/// bytes.set_size(3)?;
/// assert_eq!(bytes, [0, 0, b'a']);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub trait WriteAt {
    /// Writes all of `bytes` at `offset`. Writing beyond the end extends the storage, and a gap reads as
    /// zeros.
    ///
    /// # Errors
    /// `Io`; part of the bytes may have been written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Truncates the storage to `size` bytes, or extends it with zeros.
    ///
    /// # Errors
    /// `Io`.
    fn set_size(&mut self, size: u64) -> Result<()>;

    /// Returns when everything that was written before will survive a loss of power.
    ///
    /// # Errors
    ///
    /// `Io`; it is then unknown whether the written bytes survive.
    fn sync(&mut self) -> Result<()>;

    /// Checks that nobody else has removed, replaced, truncated or extended the storage. A storage that only
    /// its owner can access is always unchanged.
    ///
    /// ```
    /// use sciformats_core::storage::FileStorage;
    /// use sciformats_core::{Error, WriteAt};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("run.bin");
    /// let mut file = FileStorage::create_new(&path)?;
    /// file.write_at(0, b"ours")?;
    /// file.check_unchanged()?;
    /// FileStorage::edit(&path)?.write_at(4, b"theirs")?;
    /// assert!(matches!(file.check_unchanged(), Err(Error::Conflict { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict); `Io`.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }
}

/// Checks that `offset .. offset + len` is inside `size` bytes, and returns its end.
///
/// ```
/// use sciformats_core::storage::check_range;
///
/// assert_eq!(check_range(100, 90, 10)?, 100);
/// assert!(check_range(100, 90, 11).is_err());
/// assert!(check_range(100, u64::MAX, 2).is_err());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Malformed`](crate::Error::Malformed) at `offset`.
pub fn check_range(size: u64, offset: u64, len: u64) -> Result<u64> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(end),
        Some(found) => {
            Err(Fault::new("the end of a range", FaultKind::OutOfBounds { found, end: size })
                .at("file", offset))
        }
        None => Err(Fault::new("the end of a range", FaultKind::Overflow).at("file", offset)),
    }
}

/// Reads a range into the front of `buffer`, which is extended if it is too small.
fn fill_buffer<'a>(
    storage: &impl ReadAt,
    offset: u64,
    len: usize,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    check_range(storage.size(), offset, len as u64)?;
    if buffer.len() < len {
        *buffer = zeroed(len)?;
    }
    let out = buffer.get_mut(..len).unwrap_or_default();
    storage.read_into(offset, out)?;
    Ok(out)
}

macro_rules! forward_read_at {
    ($($pointer:ty),*) => {$(
        impl<S: ReadAt + ?Sized> ReadAt for $pointer {
            fn size(&self) -> u64 {
                (**self).size()
            }
            fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
                (**self).read_at(offset, len)
            }
            fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
                (**self).read_into(offset, out)
            }
            fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
                (**self).read_with(offset, len, buffer)
            }
            fn as_slice(&self) -> Option<&[u8]> {
                (**self).as_slice()
            }
            fn read_ahead(&self) -> u64 {
                (**self).read_ahead()
            }
            fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
                (**self).prefetch(ranges, purpose)
            }
        }
    )*};
}
forward_read_at!(&S, Box<S>, Arc<S>);

macro_rules! forward_write_at {
    ($($pointer:ty),*) => {$(
        impl<W: WriteAt + ?Sized> WriteAt for $pointer {
            fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
                (**self).write_at(offset, bytes)
            }
            fn set_size(&mut self, size: u64) -> Result<()> {
                (**self).set_size(size)
            }
            fn sync(&mut self) -> Result<()> {
                (**self).sync()
            }
            fn check_unchanged(&self) -> Result<()> {
                (**self).check_unchanged()
            }
        }
    )*};
}
forward_write_at!(&mut W, Box<W>);

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a storage, all of which must give the same results.
    fn behaves(storage: &dyn ReadAt, expected: &[u8]) {
        assert_eq!(storage.size(), expected.len() as u64);
        for offset in 0..=expected.len() {
            for end in offset..=expected.len() {
                assert_eq!(*storage.read_at(offset as u64, end - offset).unwrap(), expected[offset..end]);
                let mut out = vec![0xEE; end - offset];
                storage.read_into(offset as u64, &mut out).unwrap();
                assert_eq!(out, expected[offset..end]);
                for mut buffer in [Vec::new(), vec![0xEE; 100]] {
                    let found = storage.read_with(offset as u64, end - offset, &mut buffer).unwrap();
                    assert_eq!(found, &expected[offset..end]);
                }
            }
        }
        for (offset, len) in
            [(0, expected.len() + 1), (expected.len() as u64, 1), (u64::MAX, 1), (1 << 40, usize::MAX)]
        {
            assert!(storage.read_at(offset, len).is_err(), "{offset} {len}");
            assert!(storage.read_with(offset, len, &mut Vec::new()).is_err(), "{offset} {len}");
        }
        assert!(storage.read_into(expected.len() as u64, &mut [0]).is_err());
        if let Some(bytes) = storage.as_slice() {
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn all_storages_read_alike() {
        let bytes: Vec<u8> = (0..23).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bytes");
        std::fs::write(&path, &bytes).unwrap();

        behaves(&bytes, &bytes);
        behaves(&&bytes[..], &bytes);
        behaves(&FileStorage::open(&path).unwrap(), &bytes);
        #[cfg(feature = "mmap")]
        let mapped = || {
            let file = std::fs::File::open(&path).unwrap();
            Mapped::up_to(file, std::fs::metadata(&path).unwrap().len(), u64::MAX).unwrap()
        };
        #[cfg(feature = "mmap")]
        behaves(&mapped(), &bytes);
        behaves(&Paged::open(&path).unwrap(), &bytes);
        let unmapped = Mapped::up_to(std::fs::File::open(&path).unwrap(), 23, 22).unwrap();
        assert!(unmapped.as_slice().is_none());
        behaves(&unmapped, &bytes);
        behaves(&Planned::new(Stored(bytes.clone())), &bytes);
        behaves(&Window::new(&bytes, 3, 9).unwrap(), &bytes[3..12]);
        #[cfg(feature = "mmap")]
        behaves(&Window::new(mapped(), 23, 0).unwrap(), &[]);
        assert!(Window::new(&bytes, 3, 21).is_err());

        let patches =
            vec![Patch { offset: 2, bytes: vec![91, 92, 93] }, Patch { offset: 20, bytes: vec![94; 6] }];
        let mut patched = bytes.clone();
        patched.resize(26, 0);
        patched[2..5].copy_from_slice(&[91, 92, 93]);
        patched[20..26].fill(94);
        behaves(&Overlay::new(&bytes, 26, patches.clone()), &patched);
        behaves(&Overlay::new(&bytes, 21, patches), &patched[..21]);
        behaves(&Overlay::new(&bytes, 7, Vec::new()), &bytes[..7]);

        std::fs::write(&path, b"").unwrap();
        #[cfg(feature = "mmap")]
        behaves(&mapped(), &[]);
        behaves(&FileStorage::open(&path).unwrap(), &[]);
        behaves(&Paged::open(&path).unwrap(), &[]);
    }

    #[test]
    fn all_storages_write_alike() {
        fn run(storage: &mut dyn WriteAt) {
            storage.write_at(4, b"abc").unwrap();
            storage.write_at(0, b"01").unwrap();
            storage.set_size(6).unwrap();
            storage.set_size(9).unwrap();
            storage.sync().unwrap();
        }
        let expected = b"01\0\0ab\0\0\0";
        let mut memory = Vec::new();
        run(&mut memory);
        assert_eq!(memory, expected);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = FileStorage::create_new(&path).unwrap();
        file.reserve(1000).unwrap();
        assert!(file.reserve(1 << 60).is_err() || !cfg!(all(target_os = "linux", feature = "linux")));
        run(&mut file);
        assert_eq!(std::fs::read(&path).unwrap(), expected);

        let path = dir.path().join("replaced");
        let mut replacement = Replacement::create(&path).unwrap();
        run(&mut replacement);
        assert!(!path.exists());
        replacement.finish(Durability::Process).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
