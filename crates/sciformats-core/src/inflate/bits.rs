//! The bits of a stream, and entries of tables that they select.

use super::{LONGER, SPECIAL};
use crate::bound::addressable;

/// Returns the `count` lowest bits.
#[inline(always)]
pub(super) fn low(bits: u64, count: u32) -> u64 {
    bits & ((1 << count) - 1)
}

/// Returns the entry that the lowest bits select.
#[inline(always)]
pub(super) fn look<const N: usize>(table: &[u32; N], bits: u64) -> u32 {
    table.get(addressable(bits & (N as u64 - 1))).copied().unwrap_or(SPECIAL)
}

/// Returns the entry itself, or that of a longer code, whose next bits are `rest`.
#[inline(always)]
pub(super) fn code(entry: u32, longer: &[u32], rest: u64) -> Option<u32> {
    if entry & (SPECIAL | LONGER) != SPECIAL | LONGER {
        return Some(entry);
    }
    let place = u64::from(entry >> 8 & 0xffff) + low(rest, entry & 31);
    longer.get(addressable(place)).copied()
}

/// The bits that were not taken yet: those in `buffer`, and then the bytes from `at` on.
pub(super) struct Bits<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
    pub(super) buffer: u64,
    pub(super) count: u32,
}

impl Bits<'_> {
    /// Adds bytes until there are 49 bits or more, or no more bytes. Above these bits there may be some of the next ones.
    pub(super) fn refill(&mut self) {
        if let Some(next) = self.data.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            self.buffer |= u64::from_le_bytes(*next) << self.count;
            self.at += addressable(u64::from((63 - self.count) >> 3));
            self.count |= 56;
            return;
        }
        while self.count <= 48 {
            let Some(&byte) = self.data.get(self.at) else { return };
            self.buffer |= u64::from(byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        self.count = self.count.checked_sub(count)?;
        let bits = low(self.buffer, count);
        self.buffer >>= count;
        Some(bits)
    }

    /// Returns where the first byte is of which no bit was taken.
    pub(super) fn position(&self) -> usize {
        self.at - addressable(u64::from(self.count / 8))
    }
}
