//! Reads and writes single bits, the most significant bit of a byte first.

use sciformats_core::{Fault, bound};

/// Reads bits one after another.
pub(crate) struct Bits<'a> {
    /// The bytes that were not taken yet.
    rest: &'a [u8],
    /// The next bits from the highest one down, of which `count` are counted. Those below are zeros, or belong to `rest`.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, held: 0, count: 0 }
    }

    /// Takes bytes until at least 56 bits are counted, or no byte is left.
    #[inline]
    fn fill(&mut self) {
        if let Some(eight) = self.rest.first_chunk::<8>() {
            self.held |= u64::from_be_bytes(*eight) >> self.count;
            let more = (63 - self.count) / 8;
            self.count += more * 8;
            self.rest = self.rest.get(bound::addressable(more.into())..).unwrap_or_default();
            return;
        }
        self.fill_slowly();
    }

    #[cold]
    fn fill_slowly(&mut self) {
        while let Some((&byte, rest)) = self.rest.split_first()
            && self.count < 56
        {
            self.held |= u64::from(byte) << (56 - self.count);
            self.count += 8;
            self.rest = rest;
        }
    }

    /// Returns the next `n` bits, at most 56.
    #[inline]
    pub(crate) fn take(&mut self, n: u32) -> Result<u64, Fault> {
        if self.count < n {
            self.fill();
            if self.count < n {
                return Err(super::truncated("packed bits"));
            }
        }
        // Two shifts, because 64 places are too many for one.
        let taken = self.held >> 1 >> (63 - n);
        self.held <<= n;
        self.count -= n;
        Ok(taken)
    }

    /// Returns the next `n` bits, at most 64.
    #[inline]
    pub(crate) fn take_wide(&mut self, n: u32) -> Result<u64, Fault> {
        if n <= 56 {
            return self.take(n);
        }
        let high = self.take(n - 32)?;
        Ok(high << 32 | self.take(32)?)
    }

    /// Returns the number of zeros before the next one bit, which is consumed too.
    #[inline]
    pub(crate) fn zeros(&mut self) -> Result<u32, Fault> {
        let zeros = self.held.leading_zeros();
        if zeros < self.count {
            self.held <<= zeros + 1;
            self.count -= zeros + 1;
            return Ok(zeros);
        }
        self.zeros_of_several()
    }

    #[cold]
    fn zeros_of_several(&mut self) -> Result<u32, Fault> {
        let mut before = 0u32;
        loop {
            let zeros = self.held.leading_zeros();
            if zeros < self.count {
                self.held <<= zeros + 1;
                self.count -= zeros + 1;
                return Ok(bound::sum(before, zeros));
            }
            before = bound::sum(before, self.count);
            // All of them were zeros.
            (self.held, self.count) = (0, 0);
            self.fill();
            if self.count == 0 {
                return Err(super::truncated("packed bits"));
            }
        }
    }
}

/// Writes bits one after another.
#[derive(Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not written yet, in the lowest `count` bits, which are fewer than 32.
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Returns a writer with room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Appends the lowest `n` bits of `value`, at most 32.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, n: u32) {
        self.held = self.held << n | value & ((1u64 << n) - 1);
        self.count += n;
        if self.count >= 32 {
            self.count -= 32;
            self.bytes.extend_from_slice(&low_word(self.held >> self.count).to_be_bytes());
        }
    }

    /// Appends the lowest `n` bits of `value`, at most 64.
    #[inline]
    pub(crate) fn put_wide(&mut self, value: u64, n: u32) {
        if n > 32 {
            self.put(value >> 32, n - 32);
        }
        self.put(value, n.min(32));
    }

    /// Appends `n` zeros and a one.
    #[inline]
    pub(crate) fn put_unary(&mut self, mut n: u32) {
        while n >= 32 {
            self.put(0, 32);
            n -= 32;
        }
        self.put(1, n + 1);
    }

    /// Writes the bytes of which all bits are there.
    fn whole(&mut self) {
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push(low_byte(self.held >> self.count));
        }
    }

    /// Returns the bytes. The last one is padded with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.whole();
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.whole();
        self.bytes
    }

    /// Returns the bytes, always with one more byte for the bits that do not fill one, even if there are none.
    pub(crate) fn finish_open(mut self) -> Vec<u8> {
        self.whole();
        self.put(0, 8 - self.count);
        self.whole();
        self.bytes
    }
}

/// Returns the lowest eight bits.
pub(crate) fn low_byte(value: u64) -> u8 {
    let [byte, ..] = value.to_le_bytes();
    byte
}

/// Returns the lowest 32 bits.
pub(crate) fn low_word(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BitWriter, Bits};

    proptest! {
        #[test]
        fn what_was_written_is_read(numbers in prop::collection::vec((any::<u64>(), 0u32..65, 0u32..100), 0..200)) {
            let mut writer = BitWriter::default();
            for &(value, n, zeros) in &numbers {
                writer.put_wide(value, n);
                writer.put_unary(zeros);
            }
            let bytes = writer.finish();
            let mut bits = Bits::new(&bytes);
            for &(value, n, zeros) in &numbers {
                let mask = 1u64.checked_shl(n).map_or(u64::MAX, |bit| bit - 1);
                prop_assert_eq!(bits.take_wide(n).unwrap(), value & mask);
                prop_assert_eq!(bits.zeros().unwrap(), zeros);
            }
            prop_assert!(bits.take(8).is_err());
        }
    }

    #[test]
    fn bits_and_zeros() {
        let mut bits = Bits::new(&[0b1010_0000, 0b0000_0001, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(bits.take(3).unwrap(), 0b101);
        assert_eq!(bits.zeros().unwrap(), 12);
        assert_eq!(bits.take_wide(64).unwrap(), u64::MAX);
        assert!(bits.take(1).is_err());
        assert!(Bits::new(&[0, 0]).zeros().is_err());
        // More bits than are held at once, and a place at which a word was taken before.
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(0x9d) | 1).collect();
        let mut bits = Bits::new(&bytes);
        for (i, &byte) in bytes.iter().enumerate() {
            assert_eq!(bits.take(3).unwrap() << 5 | bits.take(5).unwrap(), byte.into(), "{i}");
        }
        assert!(bits.take(1).is_err());
        let mut bits = Bits::new(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0b0100_0000]);
        assert_eq!((bits.zeros().unwrap(), bits.zeros().unwrap()), (95, 1));
    }
}
