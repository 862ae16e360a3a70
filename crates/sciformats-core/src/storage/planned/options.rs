//! How much is fetched, and how much is kept.

use super::cache::PAGE;
use super::plan::Joining;

/// How a [`Planned`](super::Planned) fetches and keeps bytes.
///
/// ```
/// use sciformats_core::storage::PlanOptions;
///
/// let options = PlanOptions::default().with_window(4 << 20).with_memory(128 << 20);
/// assert_eq!((options.window, options.memory), (4 << 20, 128 << 20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The number of bytes that are fetched around a single short read that was not announced, and twice as many around one of
    /// less than 1 KiB. The default is 2 MiB, which is about a third of what a connection of 100 MB/s transfers in a round trip of
    /// 60 ms.
    pub window: u64,
    /// The number of bytes of structures that are kept. The default is 256 MiB, which is enough for the nodes of an index of
    /// several hundred thousand chunks, each in a page of its own.
    pub memory: u64,
    /// The number of bytes of elements that one batch fetches. The default is 64 MiB.
    pub ahead: u64,
    /// How requests for structures are joined. The default is over gaps of up to 512 KiB.
    pub structures: Joining,
    /// How requests for elements are joined. The default is over gaps of up to 1 MiB, beginning with the shortest, as long as
    /// they cost at most one byte in 16, or are not longer than 4 KiB.
    pub elements: Joining,
}

impl Default for PlanOptions {
    fn default() -> Self {
        let longest = 8 << 20;
        Self {
            window: 2 << 20,
            memory: 256 << 20,
            ahead: 64 << 20,
            structures: Joining { gap: 512 << 10, share: 0, always: 0, longest },
            elements: Joining { gap: 1 << 20, share: 16, always: 4 << 10, longest },
        }
    }
}

impl PlanOptions {
    /// Returns the same options with this many bytes around a read that was not announced, but at least a page of 64 KiB.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        Self { window: window.max(PAGE), ..self }
    }

    /// Returns the same options with space for this many bytes of structures, but at least 16 pages of 64 KiB.
    #[must_use]
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory: memory.max(16 * PAGE), ..self }
    }

    /// Returns the same options with this many bytes of elements in a batch, but at least 1 MiB.
    #[must_use]
    pub fn with_ahead(self, ahead: u64) -> Self {
        Self { ahead: ahead.max(1 << 20), ..self }
    }
}
