//! A cache of decoded chunks of a file, limited to a number of bytes. The least recently used chunk is dropped first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use sciformats_core::bound;

use crate::spec::Address;

/// The cached chunks, by the address where they are stored. Threads share the cache.
#[derive(Debug, Default)]
pub(crate) struct ChunkCache {
    budget: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    chunks: HashMap<Address, Kept>,
    /// The chunks by the time of their last use.
    order: BTreeMap<u64, Address>,
    clock: u64,
    bytes: usize,
}

/// A chunk.
#[derive(Debug)]
struct Kept {
    used: u64,
    /// The bytes in the file that were decoded, or nothing if they cannot change.
    stored: Box<[u8]>,
    bytes: Arc<[u8]>,
}

impl Kept {
    /// Returns the memory that it takes.
    fn size(&self) -> usize {
        bound::sum(bound::sum(self.bytes.len(), self.stored.len()), OVERHEAD)
    }
}

/// The approximate memory that a chunk takes beside its bytes.
const OVERHEAD: usize = 160;

impl ChunkCache {
    /// Creates a cache for at most `budget` bytes.
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, held: Mutex::default() }
    }

    /// Returns the chunk that is stored at `address`, if it was decoded from the bytes `stored`. They are empty if nobody
    /// changes the file while it is open.
    pub(crate) fn get(&self, address: Address, stored: &[u8]) -> Option<Arc<[u8]>> {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *guard;
        let kept = held.chunks.get_mut(&address).filter(|kept| *kept.stored == *stored)?;
        held.order.remove(&kept.used);
        held.clock = bound::sum(held.clock, 1);
        kept.used = held.clock;
        held.order.insert(held.clock, address);
        Some(kept.bytes.clone())
    }

    /// Returns whether `len` bytes are cached at all. A single chunk must not displace all others.
    pub(crate) fn takes(&self, len: usize) -> bool {
        bound::sum(len, OVERHEAD) <= self.budget / 2
    }

    /// Adds a chunk, which was decoded from the bytes `stored`. They are empty if nobody changes the file while it is open.
    pub(crate) fn put(&self, address: Address, stored: &[u8], bytes: &[u8]) {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *guard;
        held.clock = bound::sum(held.clock, 1);
        let kept = Kept { used: held.clock, stored: stored.into(), bytes: bytes.into() };
        held.bytes = bound::sum(held.bytes, kept.size());
        held.order.insert(held.clock, address);
        if let Some(before) = held.chunks.insert(address, kept) {
            held.order.remove(&before.used);
            held.bytes = bound::left(held.bytes, before.size());
        }
        while held.bytes > self.budget
            && let Some((_, oldest)) = held.order.pop_first()
        {
            if let Some(gone) = held.chunks.remove(&oldest) {
                held.bytes = bound::left(held.bytes, gone.size());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let cache = ChunkCache::new(3 * (100 + OVERHEAD));
        for at in [1u8, 2, 3] {
            cache.put(Address(at.into()), &[], &[at; 100]);
        }
        assert_eq!(cache.get(Address(1), &[]).map(|bytes| bytes[0]), Some(1));
        cache.put(Address(4), &[], &[4; 100]);
        assert!(cache.get(Address(2), &[]).is_none());
        assert!([1, 3, 4].iter().all(|&at| cache.get(Address(at), &[]).is_some()));
        // Adding the same chunk again takes no more room.
        (0..9).for_each(|_| cache.put(Address(4), &[], &[4; 100]));
        assert!([1, 3, 4].iter().all(|&at| cache.get(Address(at), &[]).is_some()));
        assert!(!cache.takes(400));
    }

    #[test]
    fn what_was_decoded_from_other_bytes_is_not_returned() {
        let cache = ChunkCache::new(1000);
        cache.put(Address(1), &[1, 2], &[7; 100]);
        assert!(cache.get(Address(1), &[1, 3]).is_none());
        assert!(cache.get(Address(1), &[1, 2]).is_some());
        cache.put(Address(1), &[1, 3], &[8; 100]);
        assert!(cache.get(Address(1), &[1, 2]).is_none());
        assert_eq!(cache.get(Address(1), &[1, 3]).map(|bytes| bytes[0]), Some(8));
    }
}
