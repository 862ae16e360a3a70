//! A fast hash function with a seed that differs in each process, so that no file can be made to cause collisions.
//!
//! Numbers and groups of eight bytes are folded one after the other: both halves of a product with the seed become one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The numbers that a process hashes with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    start: u64,
    factor: u64,
}

impl Default for Seed {
    fn default() -> Self {
        static SEED: OnceLock<Seed> = OnceLock::new();
        *SEED.get_or_init(|| {
            // The standard library asks the system for random numbers.
            let random = RandomState::new();
            Self { start: random.hash_one(0), factor: random.hash_one(1) | 1 }
        })
    }
}

impl BuildHasher for Seed {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding { state: self.start, factor: self.factor }
    }
}

/// The hash of what was written so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folding {
    state: u64,
    factor: u64,
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        for group in bytes.chunks(8) {
            self.write_u64(group.iter().fold(0, |folded, &byte| folded << 8 | u64::from(byte)));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = self.state ^ value;
        let high = u128::from(mixed).wrapping_mul(u128::from(self.factor)) >> 64;
        // The high half of a product fits.
        self.state = mixed.wrapping_mul(self.factor) ^ u64::try_from(high).unwrap_or_default();
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn hashes_of_addresses_and_names_are_spread() {
        let seed = Seed::default();
        // Addresses are multiples of 8, and names differ in their last byte.
        let addresses: Vec<u64> = (0..10_000u64).map(|i| seed.hash_one(i * 8)).collect();
        let names: Vec<u64> = (0..10_000).map(|i| seed.hash_one(format!("dataset {i}").as_bytes())).collect();
        for hashes in [addresses, names] {
            assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 10_000);
            for shift in [0, 57] {
                // Tables use the lowest bits, and the highest seven.
                let mut counts = [0; 128];
                hashes.iter().for_each(|hash| counts[(hash >> shift & 127) as usize] += 1);
                assert!(counts.iter().all(|&count| count > 20 && count < 200), "{counts:?}");
            }
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        assert_eq!(Seed::default().hash_one(b"a name"), Seed::default().hash_one(b"a name"));
        assert_ne!(Seed::default().hash_one(b"a"), Seed::default().hash_one(b"a\0"));
    }
}
