//! Reads that do not depend on each other are fetched in one batch.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::storage::Purpose;

/// A store in which something was missing.
pub(super) trait Fetch: Send + Sync {
    /// Fetches ranges of structures, some of which may be of a chain, and ranges of elements, in one batch.
    fn fetch(&self, structures: &[Range<u64>], chain: bool, elements: &[Range<u64>]) -> Result<()>;
}

/// What was missing in a read.
pub(super) struct Note {
    pub(super) store: Arc<dyn Fetch>,
    pub(super) range: Range<u64>,
    pub(super) purpose: Purpose,
}

thread_local! {
    /// What was missing since [`together`] began its round in this thread; `None` outside of a round.
    static NOTES: RefCell<Option<Vec<Note>>> = const { RefCell::new(None) };
}

/// Returns whether this thread records what is missing, instead of waiting for it.
pub(super) fn is_noting() -> bool {
    NOTES.with_borrow(Option::is_some)
}

/// Records what is missing, if this thread does so.
pub(super) fn note(note: Note) {
    NOTES.with_borrow_mut(|notes| {
        if let Some(notes) = notes {
            notes.push(note);
        }
    });
}

/// Ends the recording, also if the work panics.
struct Round;

impl Round {
    fn begin() -> Self {
        NOTES.set(Some(Vec::new()));
        Self
    }

    fn end(self) -> Vec<Note> {
        NOTES.take().unwrap_or_default()
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        NOTES.set(None);
    }
}

/// If work needs more dependent reads than this, it continues with one read after another.
const ROUNDS: usize = 64;

/// Fetches everything that `work` reads, simultaneously for all its parts, before the work is really done.
///
/// `work` is called several times. If it reads something that is missing, the read fails at once and is recorded, and everything
/// that was recorded is fetched in one batch after the call has returned. In the last call nothing is missing. Work that reads a
/// hundred independent chains of structures therefore needs as many batches as the longest chain has links, and not a hundred
/// times as many. For this purpose, it must continue after an error with what does not depend on it, and must not keep results
/// of failed reads.
///
/// Bytes can only be missing in a [`Planned`](super::Planned). For other storages, this call is not necessary:
/// [`read_ahead`](crate::ReadAt::read_ahead) is 0 there.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::{Planned, Stored, together};
///
/// // Each list has the place of the next element in its first bytes.
/// let mut bytes = vec![0; 10 << 20];
/// for list in [1usize, 4, 7] {
///     bytes[list << 20..(list << 20) + 4].copy_from_slice(&((list as u32 + 1) << 20).to_le_bytes());
/// }
/// let file = Planned::new(Stored(bytes));
/// let next = |at: u64| -> sciformats_core::Result<u64> {
///     let place = file.read_at(at, 4)?;
///     Ok(place.iter().rev().fold(0, |place, &byte| (place << 8) | u64::from(byte)))
/// };
/// together(|| {
///     for list in [1, 4, 7] {
///         let _ = next(list << 20).and_then(next);
///     }
/// })?;
/// assert_eq!(file.statistics().batches, 2); // instead of 6
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// `Io` if a batch cannot be fetched. Errors of `work` itself are not reported here.
pub fn together(mut work: impl FnMut()) -> Result<()> {
    if is_noting() {
        // The caller records what is missing.
        work();
        return Ok(());
    }
    let mut asked: HashSet<(*const (), u64, u64)> = HashSet::new();
    for _ in 0..ROUNDS {
        let round = Round::begin();
        work();
        let notes = round.end();
        let place = |note: &Note| Arc::as_ptr(&note.store).cast::<()>();
        // If something was fetched before and is missing again, it does not fit the memory, and is left to the reads themselves.
        let mut new = false;
        for note in &notes {
            new |= asked.insert((place(note), note.range.start, note.range.end));
        }
        if !new {
            return Ok(());
        }
        let mut stores: Vec<&Arc<dyn Fetch>> = Vec::new();
        for note in &notes {
            if !stores.iter().any(|store| Arc::ptr_eq(store, &note.store)) {
                stores.push(&note.store);
            }
        }
        for store in stores {
            let own = || notes.iter().filter(|note| Arc::ptr_eq(&note.store, store));
            let of = |elements: bool| -> Vec<Range<u64>> {
                let kind = own().filter(|note| (note.purpose == Purpose::Elements) == elements);
                kind.map(|note| note.range.clone()).collect()
            };
            let chain = own().any(|note| note.purpose == Purpose::Chain);
            store.fetch(&of(false), chain, &of(true))?;
        }
    }
    Ok(())
}
