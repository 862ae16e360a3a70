//! Reading large ranges with several threads, into memory whose pages cost little to use for the first time.

use std::num::NonZero;
use std::sync::OnceLock;

use super::ReadAt;
use super::mmap::advise_large_pages;
use crate::error::{Error, Result};

/// Smaller ranges are read by one thread, because starting another costs more than it saves.
const PER_THREAD: usize = 8 << 20;

/// More bytes at once are copied past the caches, which takes longer where the memory is in use.
const PIECE: usize = 256 << 10;

/// Copies bytes piece by piece, which is faster for many megabytes in memory that is in use.
///
/// ```
/// let mut to = [0; 3];
/// sciformats_core::storage::copy(&[1, 2, 3], &mut to)?;
/// assert_eq!(to, [1, 2, 3]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Internal`] if the lengths differ.
pub fn copy(from: &[u8], to: &mut [u8]) -> Result<()> {
    if from.len() != to.len() {
        return Err(Error::internal("bytes are copied to a place of another length"));
    }
    from.chunks(PIECE).zip(to.chunks_mut(PIECE)).for_each(|(from, to)| to.copy_from_slice(from));
    Ok(())
}

/// Returns the number of threads that the machine can run at once, at least 1. The system is only asked once, because this costs
/// more than reading a small array.
///
/// ```
/// assert!(sciformats_core::storage::machine_threads() >= 1);
/// ```
pub fn machine_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Fills `out` with the bytes at `offset`. Up to `threads` threads each read a part.
///
/// ```
/// use sciformats_core::storage::read_into_threads;
///
/// let bytes: Vec<u8> = (0..100).collect();
/// let mut part = [0; 4];
/// read_into_threads(&bytes, 50, &mut part, 2)?;
/// assert_eq!(part, [50, 51, 52, 53]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`ReadAt::read_into`], from the first part that fails.
pub fn read_into_threads(
    storage: &(impl ReadAt + ?Sized),
    offset: u64,
    out: &mut [u8],
    threads: usize,
) -> Result<()> {
    let parts = if cfg!(target_family = "wasm") { 1 } else { threads.clamp(1, out.len() / PER_THREAD + 1) };
    if parts == 1 {
        return storage.read_into(offset, out);
    }
    super::check_range(storage.size(), offset, out.len() as u64)?;
    let size = out.len().div_ceil(parts);
    std::thread::scope(|scope| {
        let readers: Vec<_> = out
            .chunks_mut(size)
            .enumerate()
            .map(|(i, part)| scope.spawn(move || storage.read_into(offset + (i * size) as u64, part)))
            .collect();
        readers.into_iter().try_for_each(|reader| match reader.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Returns `len` zeroed elements. The system provides the pages when they are first used, and large pages if possible: for
/// results of a gigabyte, using fresh pages costs as much as reading into them.
///
/// The caller must have checked `len`: it follows from bytes that are stored, or has passed a limit.
///
/// ```
/// let zeros: Vec<f64> = sciformats_core::storage::zeroed(3)?;
/// assert_eq!(zeros, [0.0; 3]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// `Io` if the machine does not have this much memory.
pub fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let elements = bytemuck::try_zeroed_vec(len)
        .map_err(|()| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into()))?;
    advise_large_pages(&elements);
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_thread() {
        assert!(machine_threads() >= 1);
        assert_eq!(machine_threads(), machine_threads());
    }

    #[test]
    fn pieces_meet_without_gap_or_overlap() {
        let from: Vec<u8> = (0..2 * PIECE + 7).map(|i| (i / 5) as u8).collect();
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, from.len()] {
            let mut to = vec![1; len];
            copy(&from[..len], &mut to).unwrap();
            assert!(to == from[..len], "{len} bytes");
        }
        assert!(copy(&from, &mut [0; 3]).is_err());
    }

    #[test]
    fn parts_meet_without_gap_or_overlap() {
        let bytes: Vec<u8> = (0..3 * PER_THREAD + 11).map(|i| (i / 7) as u8).collect();
        for threads in [0, 1, 2, 3, 64] {
            let mut out = zeroed::<u8>(bytes.len() - 5).unwrap();
            read_into_threads(&bytes, 2, &mut out, threads).unwrap();
            assert!(out == bytes[2..bytes.len() - 3], "{threads} threads");
        }
        let mut out = zeroed::<u8>(bytes.len()).unwrap();
        assert!(read_into_threads(&bytes, 1, &mut out, 2).is_err());
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        // Half of the address space: only machines of 32 bits may have it.
        #[cfg(target_pointer_width = "64")]
        assert!(matches!(zeroed::<u64>(usize::MAX / 16), Err(Error::Io { .. })));
        assert!(matches!(zeroed::<u64>(usize::MAX), Err(Error::Io { .. })));
    }
}
