//! What the fuzz targets share.

pub mod chunks;

pub use sciformats_fuzz_memory::{FLOOR, PER_BYTE, bounded, peak_of};

use sciformats_core::Range;

/// Returns a range within a dimension of this length, from arbitrary numbers for its start, count and step.
pub fn range(length: u64, (start, count, step): (u8, u8, u8)) -> Range {
    let step = u64::from(step % 4) + 1;
    let start = u64::from(start).min(length);
    Range::new(start, u64::from(count).min((length - start).div_ceil(step))).by(step)
}
