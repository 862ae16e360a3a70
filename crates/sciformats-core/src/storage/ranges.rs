//! Stores that answer with ranges of bytes: what has to be fetched from far away.

use std::ops::Range;

use super::ReadAt;
use crate::error::Result;
use crate::limits::within;

/// An object in a store that is read by ranges: a file behind an HTTP server, an object of S3.
///
/// A range costs a round trip, so all ranges that are known to be needed are asked for at once, and the store fetches
/// them side by side. [`Planned`](super::Planned) makes a [`ReadAt`] of it, which format crates read.
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
    /// The number of bytes of the object, which never changes: a store whose object was replaced answers
    /// [`get`](Self::get) with an error.
    fn size(&self) -> u64;

    /// The bytes of each range, in the order of the ranges and exactly as long, fetched side by side. The ranges lie
    /// inside the object, and none is empty.
    ///
    /// # Errors
    /// `Io`; [`Error::Conflict`](crate::Error::Conflict) if the object was replaced since it was opened.
    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>>;
}

/// The number of bytes of a range: 0 of one that ends before it starts, as the ranges of the language are empty then.
///
/// ```
/// use sciformats_core::storage::length;
///
/// assert_eq!(length(&(96..100)), 4);
/// ```
pub fn length(range: &Range<u64>) -> u64 {
    if range.is_empty() { 0 } else { range.end - range.start }
}

/// Any storage as a store of ranges: what is tested with a file in memory is the same code.
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

/// What kind of bytes are wanted, which decides how they are fetched and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Structures: short, read in many steps, and beside others that are wanted soon. They come in whole pages, which
    /// are kept.
    Structure,
    /// Elements: they come as they are asked for, and are kept until they are read.
    Elements,
}

/// What the reads of a file have cost so far.
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
    /// Ranges that the store was asked for.
    pub requests: u64,
    /// Bytes that it answered with.
    pub bytes: u64,
    /// Batches of ranges that were fetched one after another: each waits for the one before.
    pub batches: u64,
    /// Requests that were saved, since a range was asked for together with a neighbour.
    pub joined: u64,
    /// Bytes that came and that nothing has read, counted in units of 1 KiB where they came in pages.
    pub unread: u64,
}
