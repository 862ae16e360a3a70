//! Bits of coded samples: after a byte FF, the next one has seven.

use sciformats_core::Fault;

use crate::filter::{rule, truncated};

/// Bits of coded samples.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    held: u64,
    count: u32,
    pub(super) after_ff: bool,
}

impl<'a> Bits<'a> {
    pub(super) const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, held: 0, count: 0, after_ff: false }
    }

    fn fill(&mut self, wanted: u32) -> Result<(), Fault> {
        while self.count < wanted {
            let byte = *self.bytes.get(self.at).ok_or_else(|| truncated("coded samples"))?;
            if self.after_ff && byte & 0x80 != 0 {
                // A marker ends the samples.
                return Err(truncated("coded samples"));
            }
            let width = if self.after_ff { 7 } else { 8 };
            self.held = self.held << width | u64::from(byte);
            self.count += width;
            self.after_ff = byte == 0xff;
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn take(&mut self, count: u32) -> Result<u32, Fault> {
        if count == 0 {
            return Ok(0);
        }
        self.fill(count)?;
        self.count -= count;
        Ok(u32::try_from(self.held >> self.count & ((1 << count) - 1)).unwrap_or_default())
    }

    /// Counts zeros up to a one, of which there may be `most`.
    pub(super) fn zeros(&mut self, most: u32) -> Result<u32, Fault> {
        let mut count = 0;
        while self.take(1)? == 0 {
            count += 1;
            if count > most {
                return Err(rule("coded samples", "have a code that is too long"));
            }
        }
        Ok(count)
    }
}

/// The bits that are written.
#[derive(Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Out {
    pub(super) fn bit(&mut self, bit: u32) {
        let width = if self.bytes.last() == Some(&0xff) { 7 } else { 8 };
        self.held = self.held << 1 | bit;
        self.count += 1;
        if self.count == width {
            self.bytes.push(u8::try_from(self.held).unwrap_or_default());
            (self.held, self.count) = (0, 0);
        }
    }

    pub(super) fn zeros(&mut self, count: u32) {
        (0..count).for_each(|_| self.bit(0));
    }

    pub(super) fn put(&mut self, value: u32, count: u32) {
        (0..count).rev().for_each(|place| self.bit(value >> place & 1));
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        while self.count > 0 {
            self.bit(0);
        }
        if self.bytes.last() == Some(&0xff) {
            self.bytes.push(0);
        }
        self.bytes
    }
}
