//! Stores that return ranges of bytes, for objects that must be fetched from far away.

use std::ops::Range;

use super::ReadAt;
use crate::error::Result;
use crate::limits::within;

/// An object in a store that is read by ranges, such as a file behind an HTTP server, or an object of S3.
///
/// A range costs a round trip, so all ranges that are known to be needed are requested at once, and the store fetches them
/// simultaneously. [`Planned`](super::Planned) makes a [`ReadAt`] of it, which format crates can read.
///
/// ```
/// use sciformats_core::storage::{Planned, Ranges};
/// use sciformats_core::{ReadAt, Result};
/// use std::ops::Range;
///
/// /// A store that makes its bytes up.
/// struct Squares;
///
/// impl Ranges for Squares {
///     fn size(&self) -> u64 {
///         1000
///     }
///     fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
///         Ok(ranges.iter().map(|range| range.clone().map(|i| (i * i) as u8).collect()).collect())
///     }
/// }
/// assert_eq!(*Planned::new(Squares).read_at(10, 3)?, [100, 121, 144]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub trait Ranges: Send + Sync {
    /// Returns the number of bytes of the object, which never changes. If the object was replaced, [`get`](Self::get) must return
    /// an error.
    fn size(&self) -> u64;

    /// Fetches ranges simultaneously, and returns the bytes of each in the order of the ranges. The ranges are inside the object,
    /// and none is empty.
    ///
    /// # Errors
    /// `Io`; [`Error::Conflict`](crate::Error::Conflict) if the object was replaced since it was opened.
    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>>;
}

/// Returns the number of bytes of a range. It is 0 if the range ends before it starts, because such ranges are empty in Rust.
///
/// ```
/// use sciformats_core::storage::length;
///
/// assert_eq!(length(&(96..100)), 4);
/// ```
pub fn length(range: &Range<u64>) -> u64 {
    if range.is_empty() { 0 } else { range.end - range.start }
}

/// Any storage as a store of ranges, so that tests with a file in memory run the same code.
///
/// ```
/// use sciformats_core::storage::{Ranges, Stored};
///
/// assert_eq!(Stored(b"one two".to_vec()).get(&[4..7, 0..3])?, [b"two", b"one"]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stored<S>(pub S);

impl<S: ReadAt> Ranges for Stored<S> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let read = |range: &Range<u64>| {
            let len = within("bytes of a range", length(range), u64::MAX)?;
            self.0.read_at(range.start, len).map(std::borrow::Cow::into_owned)
        };
        ranges.iter().map(read).collect()
    }
}

impl<R: Ranges + ?Sized> Ranges for std::sync::Arc<R> {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        (**self).get(ranges)
    }
}

impl<R: Ranges + ?Sized> Ranges for Box<R> {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        (**self).get(ranges)
    }
}

/// The kind of bytes that are read, which determines how they are fetched and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Structures, which are short and are read in many steps, near to others that will be needed soon. They are fetched in whole
    /// pages, which are kept.
    Structure,
    /// Structures on the way to an object, each of which leads to the next one and may be anywhere in the file. They are fetched and
    /// kept like other structures; of a short file, so much comes with them that two requests bring all of it.
    Chain,
    /// Elements, which are fetched as requested, and kept until they are read.
    Elements,
}

/// The cost of the reads of a file so far.
///
/// ```
/// use sciformats_core::storage::{Planned, Stored};
/// use sciformats_core::ReadAt;
///
/// let file = Planned::new(Stored(vec![7; 100_000]));
/// file.read_at(0, 8)?;
/// file.read_at(50_000, 8)?; // was brought along
/// let statistics = file.statistics();
/// assert_eq!((statistics.requests, statistics.batches, statistics.bytes), (1, 1, 100_000));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of ranges that were requested from the store.
    pub requests: u64,
    /// The number of bytes in its responses.
    pub bytes: u64,
    /// The number of batches of ranges that were fetched one after another. Each waits for the one before.
    pub batches: u64,
    /// The number of requests that were saved by joining ranges with their neighbours.
    pub joined: u64,
    /// The number of fetched bytes that were not read, counted in units of 1 KiB if they were fetched in pages.
    pub unread: u64,
}
