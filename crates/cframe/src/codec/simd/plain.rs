//! The steps without special instructions, which all other implementations must equal.

use super::Lines;

/// Interleaves the halves of N × 16 bytes, `rounds` times.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
pub(super) fn rotate<const N: usize>(mut bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
    for _ in 0..rounds {
        bytes = std::array::from_fn(|i| {
            let (low, high) = (bytes[i / 2], bytes[i / 2 + N / 2]);
            let from = 8 * (i % 2);
            std::array::from_fn(|k| if k % 2 == 0 { low[from + k / 2] } else { high[from + k / 2] })
        });
    }
    bytes
}

/// Exchanges bit k of each byte of line j with bit j of the byte at the same position of line k.
pub(super) fn exchange_bits(lines: &mut Lines) {
    let byte = |mask: u8| u64::from_ne_bytes([mask; 8]);
    for (distance, mask) in [(4, byte(0x0f)), (2, byte(0x33)), (1, byte(0x55))] {
        for k in (0..8).filter(|k| k & distance == 0) {
            for word in 0..lines[k].len() {
                let (a, b) = (lines[k][word], lines[k + distance][word]);
                let other = (a >> distance ^ b) & mask;
                lines[k][word] = a ^ other << distance;
                lines[k + distance][word] = b ^ other;
            }
        }
    }
}
