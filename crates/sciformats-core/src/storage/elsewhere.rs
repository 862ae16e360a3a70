//! Reading without blocking. The caller, which may be a browser or an async runtime, fetches missing bytes.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::{PlanOptions, Planned, Purpose, Ranges, length};
use crate::error::{Error, Result};

/// A store that fetches nothing, but records what is requested.
///
/// Work that reads it fails if bytes are missing. [`Planned::<Elsewhere>::drive`] fetches them, and runs the work again until
/// nothing is missing.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::{Elsewhere, PlanOptions};
/// use std::future::ready;
///
/// let bytes: Vec<u8> = (0..=255).collect();
/// let file = Elsewhere::open(bytes.len() as u64, PlanOptions::default());
/// let fetch = |ranges: Vec<std::ops::Range<u64>>| {
///     ready(Ok(ranges.iter().map(|range| bytes[range.start as usize..range.end as usize].to_vec()).collect()))
/// };
/// let reading = file.drive(fetch, || Ok(file.read_at(100, 2)?.into_owned()));
/// # use std::task::{Context, Poll, Waker};
/// # let Poll::Ready(read) = std::pin::pin!(reading).poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
/// assert_eq!(read?, [100, 101]); // after `.await`
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Elsewhere {
    size: u64,
    missing: Mutex<Vec<Range<u64>>>,
}

impl Elsewhere {
    /// Returns an object of `size` bytes, all of which are still missing.
    pub fn open(size: u64, options: PlanOptions) -> Planned<Self> {
        let planned = Planned::with_options(Self { size, missing: Mutex::default() }, options);
        planned.keep_all();
        planned
    }

    fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut *self.missing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ranges for Elsewhere {
    fn size(&self) -> u64 {
        self.size
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(ranges);
        let offset = ranges.first().map_or(0, |range| range.start);
        let source =
            std::io::Error::new(std::io::ErrorKind::WouldBlock, "these bytes have not been fetched yet");
        Err(Error::Io { action: "read", path: None, offset: Some(offset), source })
    }
}

impl Planned<Elsewhere> {
    /// Runs `work` with the bytes that are available. As long as bytes are missing, it fetches them and runs the work again.
    ///
    /// `fetch` is given sorted ranges, and returns the bytes of each. `work` must be a read without side effects. Its result only
    /// counts if nothing was missing, because it may have taken a missing part for a damaged one. Everything that was fetched is
    /// kept, so that each run gets further than the one before.
    ///
    /// # Errors
    /// Those of `fetch` and `work`; `Io` if `fetch` returns other lengths than requested.
    pub async fn drive<T, F>(
        &self,
        mut fetch: impl FnMut(Vec<Range<u64>>) -> F,
        mut work: impl FnMut() -> Result<T>,
    ) -> Result<T>
    where
        F: Future<Output = Result<Vec<Vec<u8>>>>,
    {
        loop {
            let outcome = work();
            let mut missing = self.ranges().take();
            if missing.is_empty() {
                return outcome;
            }
            missing.sort_unstable_by_key(|range| (range.start, range.end));
            missing.dedup();
            let pieces = fetch(missing.clone()).await?;
            let right = |(range, piece): (&Range<u64>, &Vec<u8>)| length(range) == piece.len() as u64;
            if pieces.len() != missing.len() || !missing.iter().zip(&pieces).all(right) {
                let source = std::io::Error::other("the store returned other lengths than requested");
                return Err(Error::io("read", source));
            }
            for (range, piece) in missing.iter().zip(&pieces) {
                self.count(0, piece.len() as u64);
                // They are added as elements, which can be anywhere, because pages must be complete.
                self.supply(range.start, piece, Purpose::Elements);
            }
        }
    }
}
