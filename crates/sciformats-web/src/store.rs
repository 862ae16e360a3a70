//! The bytes of a file that somebody else fetches.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sciformats_core::storage::{Ranges, length};
use sciformats_core::{Error, Result};

/// A store that fetches nothing. It lends what was supplied, and records what was not.
///
/// One request may run several times, each time with more bytes. What was supplied is kept until the request
/// is answered, and then dropped; what is worth keeping is in the cache above this store.
#[derive(Debug)]
pub struct Supplied {
    size: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Supplied pieces by their offsets; they may overlap.
    pieces: BTreeMap<u64, Vec<u8>>,
    missing: Vec<Range<u64>>,
}

impl Supplied {
    /// Creates a store of `size` bytes, none of which is there.
    pub fn new(size: u64) -> Self {
        Self { size, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the bytes at `offset`.
    pub fn supply(&self, offset: u64, bytes: Vec<u8>) {
        let mut state = self.lock();
        let longer = state.pieces.get(&offset).is_none_or(|piece| piece.len() < bytes.len());
        if longer {
            state.pieces.insert(offset, bytes);
        }
    }

    /// Returns what was asked for and is missing, sorted and without duplicates.
    pub fn take_missing(&self) -> Vec<Range<u64>> {
        let mut missing = std::mem::take(&mut self.lock().missing);
        sciformats_core::order::sort_by_key(&mut missing, |range| (range.start, range.end));
        missing.dedup();
        missing
    }

    /// Drops the pieces, because a request was answered.
    pub fn forget(&self) {
        self.lock().pieces.clear();
    }
}

impl State {
    /// Copies a range from the pieces; `None` if a part of it is missing.
    fn copy(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(usize::try_from(length(range)).ok()?);
        let mut at = range.start;
        while at < range.end {
            // Of the pieces that begin before this place, the last one mostly reaches furthest.
            let (start, piece) = self
                .pieces
                .range(..=at)
                .rev()
                .take(64)
                .find(|(start, piece)| **start + piece.len() as u64 > at)?;
            let from = usize::try_from(at - start).ok()?;
            let wanted = usize::try_from(range.end - at).ok()?;
            let part = piece.get(from..).unwrap_or_default();
            let part = part.get(..wanted).unwrap_or(part);
            out.extend_from_slice(part);
            at += part.len() as u64;
        }
        Some(out)
    }
}

impl Ranges for Supplied {
    fn size(&self) -> u64 {
        self.size
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let mut state = self.lock();
        let found: Vec<Option<Vec<u8>>> = ranges.iter().map(|range| state.copy(range)).collect();
        let missing = ranges.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: Vec<Range<u64>> = missing.map(|(range, _)| range.clone()).collect();
        let Some(first) = missing.first() else { return Ok(found.into_iter().flatten().collect()) };
        let offset = Some(first.start);
        state.missing.extend(missing);
        let source =
            std::io::Error::new(std::io::ErrorKind::WouldBlock, "these bytes have not been fetched yet");
        Err(Error::Io { action: "read", path: None, offset, source: source.into() })
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges is meant")]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_put_together_from_pieces() {
        let store = Supplied::new(100);
        assert!(store.get(&[10..20, 40..44]).is_err());
        assert_eq!(store.take_missing(), [10..20, 40..44]);
        store.supply(10, (10..16).collect());
        store.supply(14, (14..30).collect());
        assert_eq!(store.get(std::slice::from_ref(&(12..22))).unwrap(), [(12..22).collect::<Vec<u8>>()]);
        assert!(store.get(&[12..22, 40..44]).is_err());
        assert_eq!(store.take_missing(), [40..44]);
        store.forget();
        assert!(store.get(std::slice::from_ref(&(12..13))).is_err());
    }
}
