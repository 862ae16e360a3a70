//! Reads and writes single bits, the most significant bit of a byte first.

use sciformats_core::{Fault, bound};

/// Reads bits one after another.
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    /// The number of the next byte.
    next: usize,
    /// Bits that were taken from `bytes` and not read yet, in the lowest `count` bits.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, held: 0, count: 0 }
    }

    /// Returns the next `n` bits, at most 56.
    pub(crate) fn take(&mut self, n: u32) -> Result<u64, Fault> {
        while self.count < n {
            let byte = *self.bytes.get(self.next).ok_or_else(|| super::truncated("packed bits"))?;
            self.next += 1;
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
        self.count -= n;
        Ok(self.held >> self.count & ((1u64 << n) - 1))
    }

    /// Returns the next `n` bits, at most 64.
    pub(crate) fn take_wide(&mut self, n: u32) -> Result<u64, Fault> {
        if n <= 32 {
            return self.take(n);
        }
        let high = self.take(n - 32)?;
        Ok(high << 32 | self.take(32)?)
    }

    /// Returns the number of zeros before the next one bit, which is consumed too.
    pub(crate) fn zeros(&mut self) -> Result<u32, Fault> {
        let mut zeros = 0u32;
        loop {
            let held = self.held & ((1u64 << self.count) - 1);
            if held != 0 {
                let width = 64 - held.leading_zeros();
                zeros += self.count - width;
                self.count = width - 1;
                return Ok(zeros);
            }
            zeros = bound::sum(zeros, self.count);
            self.count = 0;
            let byte = *self.bytes.get(self.next).ok_or_else(|| super::truncated("packed bits"))?;
            self.next += 1;
            self.held = u64::from(byte);
            self.count = 8;
        }
    }
}

/// Writes bits one after another.
#[derive(Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not written yet, in the lowest `count` bits.
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `n` bits of `value`, at most 32.
    pub(crate) fn put(&mut self, value: u64, n: u32) {
        self.held = self.held << n | value & ((1u64 << n) - 1);
        self.count += n;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push(low_byte(self.held >> self.count));
        }
    }

    /// Appends the lowest `n` bits of `value`, at most 64.
    pub(crate) fn put_wide(&mut self, value: u64, n: u32) {
        if n > 32 {
            self.put(value >> 32, n - 32);
        }
        self.put(value, n.min(32));
    }

    /// Appends `n` zeros and a one.
    pub(crate) fn put_unary(&mut self, mut n: u32) {
        while n >= 32 {
            self.put(0, 32);
            n -= 32;
        }
        self.put(0, n);
        self.put(1, 1);
    }

    /// Returns the bytes. The last one is padded with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.bytes
    }

    /// Returns the bytes, always with one more byte for the bits that do not fill one, even if there are none.
    pub(crate) fn finish_open(mut self) -> Vec<u8> {
        self.put(0, 8 - self.count);
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
    use super::Bits;

    #[test]
    fn bits_and_zeros() {
        let mut bits = Bits::new(&[0b1010_0000, 0b0000_0001, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(bits.take(3).unwrap(), 0b101);
        assert_eq!(bits.zeros().unwrap(), 12);
        assert_eq!(bits.take_wide(64).unwrap(), u64::MAX);
        assert!(bits.take(1).is_err());
        assert!(Bits::new(&[0, 0]).zeros().is_err());
    }
}
