//! Szip (filter 4): extended Rice coding of blocks of samples (CCSDS 121.0).
//!
//! Client values: options mask, samples per block, bits per sample, samples per scan line. A chunk is its decoded length
//! (4, little-endian) and the bit stream.

use sciformats_core::{Fault, FaultKind};

use super::bits::Bits;

const BIG_ENDIAN: u32 = 16;
const PREDICT: u32 = 32;

/// What the client values say.
struct Coder {
    /// Bits of a sample.
    bits: u32,
    /// Samples of a block.
    block: usize,
    /// Blocks of a reference interval, which is a scan line.
    interval: usize,
    predict: bool,
}

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let &[mask, block, bits, line] =
        values.first_chunk::<4>().ok_or_else(|| super::truncated("client data"))?;
    let wrong = |found: u32| Fault::new("client data", FaultKind::Undefined { found: found.into() });
    let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    if !(2..=32).contains(&block) || block % 2 == 1 {
        return Err(wrong(block));
    }
    if line == 0 || line > 4096 {
        return Err(wrong(line));
    }
    let (len, stream) = input.split_first_chunk::<4>().ok_or_else(|| super::truncated("decoded length"))?;
    let len = size(u32::from_le_bytes(*len));
    if len > max {
        return Err(super::too_long(max));
    }
    // Wide samples are coded as planes of bytes.
    let (sample, planes) = match bits {
        1..=8 => (1, 1),
        9..=16 => (2, 1),
        17..=24 => (4, 1),
        32 => (1, 4),
        64 => (1, 8),
        found => return Err(wrong(found)),
    };
    let coder = Coder {
        bits: if planes > 1 { 8 } else { bits },
        block: size(block),
        interval: size(line).div_ceil(size(block)),
        predict: mask & PREDICT != 0,
    };
    let samples = coder.decode(stream, len / sample, size(line))?;
    Ok(arrange(&samples, sample, planes, mask & BIG_ENDIAN != 0, len))
}

/// The bytes of the samples.
fn arrange(samples: &[u32], sample: usize, planes: usize, big: bool, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    if planes > 1 {
        let n = (len / planes).max(1);
        for (plane, part) in samples.chunks(n).enumerate() {
            for (element, &value) in part.iter().enumerate() {
                if let Some(slot) = out.get_mut(element * planes + plane) {
                    *slot = u8::try_from(value & 0xff).unwrap_or(0);
                }
            }
        }
        return out;
    }
    for (bytes, value) in out.chunks_exact_mut(sample).zip(samples) {
        let little = value.to_le_bytes();
        bytes.iter_mut().zip(little).for_each(|(to, from)| *to = from);
        if big {
            bytes.reverse();
        }
    }
    out
}

impl Coder {
    /// Decodes `wanted` samples; scan lines of `line` samples are padded to whole blocks in the stream.
    fn decode(&self, stream: &[u8], wanted: usize, line: usize) -> Result<Vec<u32>, Fault> {
        let mut bits = Bits::new(stream);
        let mut out = Vec::with_capacity(wanted);
        let padded = self.interval * self.block;
        let mut interval = Vec::with_capacity(padded);
        while out.len() < wanted {
            interval.clear();
            // Without padding the last interval may end early; with it every line is whole.
            let whole = if line == padded { padded.min(wanted - out.len()) } else { padded };
            self.interval(&mut bits, whole.div_ceil(self.block), &mut interval)?;
            if self.predict {
                self.unmap(&mut interval);
            }
            let keep = line.min(wanted - out.len());
            out.extend(interval.iter().take(keep));
        }
        Ok(out)
    }

    /// The coded values of an interval of `blocks` blocks.
    fn interval(&self, bits: &mut Bits<'_>, blocks: usize, out: &mut Vec<u32>) -> Result<(), Fault> {
        let id_len = match self.bits {
            0..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        let raw = (1u64 << id_len) - 1;
        let mut number = 0;
        while number < blocks {
            let reference = self.predict && number == 0;
            let id = bits.take(id_len)?;
            let start = out.len();
            match id {
                0 if bits.take(1)? == 0 => {
                    if reference {
                        out.push(self.sample(bits)?);
                    }
                    let run = self.zero_run(bits.zeros()?, number).min(blocks - number);
                    out.resize(start + run * self.block, 0);
                    number += run;
                    continue;
                }
                0 => self.second_extension(bits, reference, out)?,
                id if id == raw => {
                    for _ in 0..self.block {
                        out.push(self.sample(bits)?);
                    }
                }
                id => self.split(bits, u32::try_from(id - 1).unwrap_or(0), reference, out)?,
            }
            number += 1;
        }
        Ok(())
    }

    fn sample(&self, bits: &mut Bits<'_>) -> Result<u32, Fault> {
        bits.take(self.bits).map(|value| u32::try_from(value).unwrap_or(0))
    }

    /// Blocks of zeros that the value `f` at block `number` of the interval stands for.
    fn zero_run(&self, f: u32, number: usize) -> usize {
        let f = usize::try_from(f).unwrap_or(usize::MAX);
        match f {
            0..=3 => f + 1,
            4 => (self.interval - number.min(self.interval)).min(64 - number % 64).max(1),
            more => more,
        }
    }

    fn second_extension(
        &self,
        bits: &mut Bits<'_>,
        reference: bool,
        out: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        let end = out.len() + self.block;
        if reference {
            out.push(self.sample(bits)?);
        }
        let mut first_pair = reference;
        while out.len() < end {
            let m = bits.zeros()?;
            if m > 90 {
                return Err(Fault::new(
                    "second extension",
                    FaultKind::OutOfBounds { found: m.into(), end: 91 },
                ));
            }
            // m = g (g + 1) / 2 + b with g = a + b.
            let g = (0..13).rev().find(|g| g * (g + 1) / 2 <= m).unwrap_or(0);
            let b = m - g * (g + 1) / 2;
            if !first_pair {
                out.push(g - b.min(g));
            }
            first_pair = false;
            out.push(b);
        }
        Ok(())
    }

    fn split(&self, bits: &mut Bits<'_>, k: u32, reference: bool, out: &mut Vec<u32>) -> Result<(), Fault> {
        let end = out.len() + self.block;
        if reference {
            out.push(self.sample(bits)?);
        }
        let start = out.len();
        while out.len() < end {
            out.push(bits.zeros()?.checked_shl(k).unwrap_or(0));
        }
        if k > 0 {
            for value in out.iter_mut().skip(start) {
                *value |= u32::try_from(bits.take(k)?).unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Turns mapped differences into samples; the first one is the reference.
    fn unmap(&self, values: &mut [u32]) {
        let max = (1i64 << self.bits) - 1;
        let mut values = values.iter_mut();
        let Some(first) = values.next() else { return };
        let mut x = i64::from(*first);
        for value in values {
            let d = i64::from(*value);
            let room = x.min(max - x);
            x = match d {
                _ if d > 2 * room && room == x => d,
                _ if d > 2 * room => max - d,
                _ if d % 2 == 0 => x + d / 2,
                _ => x - (d + 1) / 2,
            };
            x = x.clamp(0, max);
            *value = u32::try_from(x).unwrap_or(0);
        }
    }
}
