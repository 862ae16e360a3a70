//! Bits of coded samples: after a byte FF, the next one has seven.

use sciformats_core::Fault;

use crate::filter::{rule, truncated};

/// Bits of coded samples. What fails gives zeros.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// The next byte.
    at: usize,
    /// The next bits from the highest one down, of which `count` are counted. Those below are zeros, or belong to bytes from `at` on.
    held: u64,
    count: u32,
    after_ff: bool,
    fault: Option<Fault>,
}

/// Returns whether one of several bytes is FF.
const fn has_ff(word: u64) -> bool {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    (!word).wrapping_sub(LOWEST) & word & LOWEST << 7 != 0
}

impl<'a> Bits<'a> {
    pub(super) const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, held: 0, count: 0, after_ff: false, fault: None }
    }

    /// Takes bytes until at least 56 bits are counted, or no byte is left before the end or a marker.
    #[inline(always)]
    fn fill(&mut self) {
        let next = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>);
        if let Some(word) = next.map(|eight| u64::from_be_bytes(*eight))
            && !self.after_ff
            && !has_ff(word)
        {
            self.held |= word >> self.count;
            let more = (63 - self.count) / 8;
            self.count += more * 8;
            self.at += more as usize;
            return;
        }
        self.fill_slowly();
    }

    #[cold]
    #[inline(never)]
    fn fill_slowly(&mut self) {
        while self.count < 56 {
            let Some(&byte) = self.bytes.get(self.at) else { return };
            // A marker ends the samples.
            if self.after_ff && byte & 0x80 != 0 {
                return;
            }
            let width = if self.after_ff { 7 } else { 8 };
            self.held |= u64::from(byte) << (64 - width - self.count);
            self.count += width;
            self.after_ff = byte == 0xff;
            self.at += 1;
        }
    }

    /// Returns the next `count` bits, at most 32.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if self.count < count {
            self.fill();
            if self.count < count {
                self.fail(truncated("coded samples"));
                return 0;
            }
        }
        // Two shifts, because 64 places are too many for one.
        let taken = self.held >> 32 >> (32 - count);
        self.held <<= count;
        self.count -= count;
        u32::try_from(taken).unwrap_or_default()
    }

    /// Returns a number of `k` low bits, at most 16, after zeros and a one. After `most` zeros, fewer than 56, it has `bits` bits.
    #[inline(always)]
    pub(super) fn golomb(&mut self, k: u32, most: u32, bits: u32) -> u32 {
        // This is done each time, because when it is necessary cannot be predicted.
        self.fill();
        let zeros = (self.held | 1).leading_zeros();
        if zeros < most && zeros + k < self.count {
            // The one is the highest bit, and stays above the low bits.
            let rest = self.held << zeros;
            self.held = rest << 1 << k;
            self.count -= zeros + k + 1;
            return ((rest >> (63 - k)) as u32).wrapping_add(zeros.wrapping_sub(1) << k);
        }
        self.golomb_slowly(k, most, bits)
    }

    #[cold]
    #[inline(never)]
    fn golomb_slowly(&mut self, k: u32, most: u32, bits: u32) -> u32 {
        match self.zeros(most) {
            zeros if zeros < most => zeros << k | self.take(k),
            _ => self.take(bits) + 1,
        }
    }

    /// Counts zeros up to a one, of which there may be `most`, which is less than 56.
    fn zeros(&mut self, most: u32) -> u32 {
        let zeros = self.held.leading_zeros();
        if zeros > most {
            self.fail(match self.count > most {
                true => rule("coded samples", "have a code that is too long"),
                false => truncated("coded samples"),
            });
            return 0;
        }
        if zeros >= self.count {
            self.fail(truncated("coded samples"));
            return 0;
        }
        self.held <<= zeros + 1;
        self.count -= zeros + 1;
        zeros
    }

    /// Keeps a fault, if there is none yet.
    #[cold]
    pub(super) fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Returns the first fault.
    pub(super) fn check(&mut self) -> Result<(), Fault> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Returns the place after the last byte of which a bit was needed. If that one is FF, another one of seven bits follows.
    pub(super) fn end(&self) -> usize {
        let is_ff = |at: Option<usize>| at.and_then(|at| self.bytes.get(at)) == Some(&0xff);
        let (mut end, mut unused) = (self.at, self.count);
        loop {
            let width = if is_ff(end.checked_sub(2)) { 7 } else { 8 };
            match end.checked_sub(1) {
                Some(before) if unused >= width => (end, unused) = (before, unused - width),
                _ => break,
            }
        }
        if is_ff(end.checked_sub(1)) && self.bytes.get(end).is_some_and(|byte| byte & 0x80 == 0) {
            end += 1;
        }
        end
    }
}

/// The bits that are written.
pub(super) struct Out {
    bytes: Vec<u8>,
    /// The bits that are not among the bytes yet, which are the lowest `count`.
    held: u64,
    count: u32,
}

impl Out {
    /// Returns the writer of bits that follow whole bytes, of which the last one is not FF.
    pub(super) const fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, held: 0, count: 0 }
    }

    /// Appends a long code: of `k` low bits after zeros and a one, or of `bits` bits after `most` zeros.
    #[cold]
    pub(super) fn long(&mut self, value: u32, k: u32, most: u32, bits: u32) {
        let high = value >> k;
        self.zeros(high.min(most));
        self.put(1, 1);
        if high >= most {
            self.put(value.wrapping_sub(1), bits);
        } else {
            self.put(value, k);
        }
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 32 {
            self.put(0, 32);
            count -= 32;
        }
        self.put(0, count);
    }

    /// Appends the lowest `count` bits, at most 32.
    #[inline]
    pub(super) fn put(&mut self, value: u32, count: u32) {
        self.held = self.held << count | u64::from(value) & ((1 << count) - 1);
        self.count += count;
        if self.count >= 32 {
            self.flush();
        }
    }

    /// Appends bytes until fewer than 32 bits are left.
    #[inline]
    fn flush(&mut self) {
        let [.., a, b, c, d] = (self.held >> (self.count - 32)).to_be_bytes();
        let word = [a, b, c, d];
        if self.bytes.last() != Some(&0xff) && !has_ff(u32::from_be_bytes(word).into()) {
            self.bytes.extend_from_slice(&word);
            self.count -= 32;
            return;
        }
        while self.count >= 32 {
            self.byte();
        }
    }

    /// Appends one byte.
    fn byte(&mut self) {
        let width = if self.bytes.last() == Some(&0xff) { 7 } else { 8 };
        self.count -= width;
        let [.., byte] = (self.held >> self.count & ((1 << width) - 1)).to_be_bytes();
        self.bytes.push(byte);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        while self.count >= 8 {
            self.byte();
        }
        while self.count > 0 {
            let width: u32 = if self.bytes.last() == Some(&0xff) { 7 } else { 8 };
            let more = width.saturating_sub(self.count); // a bound: as many are there
            self.held <<= more;
            self.count += more;
            self.byte();
        }
        if self.bytes.last() == Some(&0xff) {
            self.bytes.push(0);
        }
        self.bytes
    }
}
