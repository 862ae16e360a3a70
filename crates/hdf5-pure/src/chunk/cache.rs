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
    chunks: HashMap<Address, (u64, Arc<[u8]>)>,
    /// The chunks by the time of their last use.
    order: BTreeMap<u64, Address>,
    clock: u64,
    bytes: usize,
}

/// The approximate memory that a chunk takes beside its bytes.
const OVERHEAD: usize = 160;

impl ChunkCache {
    /// Creates a cache for at most `budget` bytes.
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, held: Mutex::default() }
    }

    /// Returns the chunk that is stored at `address`.
    pub(crate) fn get(&self, address: Address) -> Option<Arc<[u8]>> {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *guard;
        let (used, bytes) = held.chunks.get_mut(&address)?;
        held.order.remove(used);
        held.clock = bound::sum(held.clock, 1);
        *used = held.clock;
        held.order.insert(held.clock, address);
        Some(bytes.clone())
    }

    /// Returns whether `len` bytes are cached at all. A single chunk must not displace all others.
    pub(crate) fn takes(&self, len: usize) -> bool {
        bound::sum(len, OVERHEAD) <= self.budget / 2
    }

    /// Adds a chunk.
    pub(crate) fn put(&self, address: Address, bytes: Arc<[u8]>) {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *guard;
        held.clock = bound::sum(held.clock, 1);
        held.bytes = bound::sum(held.bytes, bound::sum(bytes.len(), OVERHEAD));
        held.order.insert(held.clock, address);
        if let Some((used, before)) = held.chunks.insert(address, (held.clock, bytes)) {
            held.order.remove(&used);
            held.bytes = bound::left(held.bytes, bound::sum(before.len(), OVERHEAD));
        }
        while held.bytes > self.budget
            && let Some((_, oldest)) = held.order.pop_first()
        {
            if let Some((_, gone)) = held.chunks.remove(&oldest) {
                held.bytes = bound::left(held.bytes, bound::sum(gone.len(), OVERHEAD));
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
            cache.put(Address(at.into()), Arc::from([at; 100]));
        }
        assert_eq!(cache.get(Address(1)).map(|bytes| bytes[0]), Some(1));
        cache.put(Address(4), Arc::from([4; 100]));
        assert!(cache.get(Address(2)).is_none());
        assert!([1, 3, 4].iter().all(|&at| cache.get(Address(at)).is_some()));
        // Adding the same chunk again takes no more room.
        (0..9).for_each(|_| cache.put(Address(4), Arc::from([4; 100])));
        assert!([1, 3, 4].iter().all(|&at| cache.get(Address(at)).is_some()));
        assert!(!cache.takes(400));
    }
}
