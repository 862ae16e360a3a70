//! A fast hash function with a seed that differs in each process, so that no file can be made to cause collisions.
//!
//! Numbers and groups of eight bytes are folded one after the other: both halves of a product with the seed become one. For some seeds,
//! one such step leaves numbers that follow each other in few places of a table, so that the end is another step.

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
        self.state = folded(self.state ^ value, self.factor);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        folded(self.state, GOLDEN)
    }
}

/// The golden ratio as a fraction of 2^64, whose bits have no pattern.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns both halves of a product as one number.
fn folded(a: u64, b: u64) -> u64 {
    let high = u128::from(a).wrapping_mul(u128::from(b)) >> 64;
    // The high half of a product fits.
    a.wrapping_mul(b) ^ u64::try_from(high).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn hashes_of_addresses_and_names_are_spread_with_any_seed() {
        for _ in 0..100 {
            let random = RandomState::new();
            let seed = Seed { start: random.hash_one(0), factor: random.hash_one(1) | 1 };
            // Addresses are multiples of 8, and names differ in their last byte.
            let addresses: Vec<u64> = (0..10_000u64).map(|i| seed.hash_one(i * 8)).collect();
            let names: Vec<u64> =
                (0..10_000).map(|i| seed.hash_one(format!("dataset {i}").as_bytes())).collect();
            for hashes in [addresses, names] {
                assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 10_000);
                for shift in [0, 57] {
                    // Tables use the lowest bits, and the highest seven.
                    let mut counts = [0; 128];
                    hashes.iter().for_each(|hash| counts[(hash >> shift & 127) as usize] += 1);
                    assert!(counts.iter().all(|&count| count > 20 && count < 200), "{seed:?}: {counts:?}");
                }
            }
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        assert_eq!(Seed::default().hash_one(b"a name"), Seed::default().hash_one(b"a name"));
        assert_ne!(Seed::default().hash_one(b"a"), Seed::default().hash_one(b"a\0"));
    }
}
