//! Szip (filter 4): extended Rice coding of blocks of samples (CCSDS 121.0).
//!
//! The client data values are: options mask, samples per block, bits per sample, samples per scan line.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | decoded length, little-endian |
//! | 4 | | bit stream, the highest bit of a byte first |

use nom::number::complete::le_u32;
use sciformats_core::fault::{Parsed, field};
use sciformats_core::{Fault, FaultKind, bound};

use super::bits::{BitWriter, Bits, low_byte, low_word};

const BIG_ENDIAN: u32 = 16;
const PREDICT: u32 = 32;

/// The parameters of the coding.
struct Coder {
    /// The number of bits per sample.
    bits: u32,
    /// The number of samples per block.
    block: usize,
    /// The number of blocks per reference interval, which is a scan line.
    interval: usize,
    predict: bool,
}

/// The meaning of the client data values.
struct Parameters {
    coder: Coder,
    /// The number of samples per scan line.
    line: usize,
    /// The number of bytes per sample.
    sample: usize,
    /// The number of byte planes as which wide samples are coded.
    planes: usize,
    big: bool,
}

impl Parameters {
    fn new(values: &[u32]) -> Result<Self, Fault> {
        let &[mask, block, bits, line] =
            values.first_chunk::<4>().ok_or_else(|| super::truncated("client data"))?;
        let wrong = |found: u32| Fault::new("client data", FaultKind::Undefined { found: found.into() });
        if !(2..=32).contains(&block) || block % 2 == 1 {
            return Err(wrong(block));
        }
        if line == 0 || line > 4096 {
            return Err(wrong(line));
        }
        let (sample, planes) = match bits {
            1..=8 => (1, 1),
            9..=16 => (2, 1),
            17..=24 => (4, 1),
            32 => (1, 4),
            64 => (1, 8),
            found => return Err(wrong(found)),
        };
        let (block, line) = (size(block), size(line));
        let coder = Coder {
            bits: if planes > 1 { 8 } else { bits },
            block,
            interval: line.div_ceil(block),
            predict: mask & PREDICT != 0,
        };
        Ok(Self { coder, line, sample, planes, big: mask & BIG_ENDIAN != 0 })
    }
}

fn size(n: u32) -> usize {
    bound::addressable(n.into())
}

fn decoded_length(i: &[u8]) -> Parsed<'_, u32> {
    field("decoded length", le_u32)(i)
}

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let Parameters { coder, line, sample, planes, big } = Parameters::new(values)?;
    let (stream, len) = super::front(input, decoded_length)?;
    let len = size(len);
    if len > max {
        return Err(super::too_long(max));
    }
    let samples = coder.decode(stream, len / sample, line)?;
    Ok(arrange(&samples, sample, planes, big, len))
}

/// Returns the bytes of the samples.
fn arrange(samples: &[u32], sample: usize, planes: usize, big: bool, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    if planes > 1 {
        let n = (len / planes).max(1);
        for (plane, part) in samples.chunks(n).enumerate() {
            for (element, &value) in part.iter().enumerate() {
                if let Some(slot) = out.get_mut(element * planes + plane) {
                    *slot = low_byte(value.into());
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
    /// Decodes `wanted` samples. In the stream, scan lines of `line` samples are padded to whole blocks.
    fn decode(&self, stream: &[u8], wanted: usize, line: usize) -> Result<Vec<u32>, Fault> {
        let mut bits = Bits::new(stream);
        let mut out = Vec::with_capacity(wanted);
        let padded = self.interval * self.block;
        let mut interval = Vec::with_capacity(padded);
        while out.len() < wanted {
            interval.clear();
            // Without padding the last interval may end early. With padding every line is whole.
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

    /// Decodes the coded values of an interval of `blocks` blocks.
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
                id => self.split(bits, low_word(id - 1), reference, out)?,
            }
            number += 1;
        }
        Ok(())
    }

    fn sample(&self, bits: &mut Bits<'_>) -> Result<u32, Fault> {
        bits.take(self.bits).map(low_word)
    }

    /// Returns the number of zero blocks for which the value `f` stands at block `number` of the interval.
    fn zero_run(&self, f: u32, number: usize) -> usize {
        let f = bound::addressable(f.into());
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
            let g = (0..13).rev().find(|g| g * (g + 1) / 2 <= m).unwrap_or(0); // a bound: 0 always satisfies this
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
            out.push(bits.zeros()?.checked_shl(k).unwrap_or(0)); // a bound: bits beyond the word are dropped
        }
        if k > 0 {
            for value in out.iter_mut().skip(start) {
                *value |= low_word(bits.take(k)?);
            }
        }
        Ok(())
    }

    /// Turns mapped differences into samples. The first value is the reference.
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
            *value = low_word(x.cast_unsigned());
        }
    }
}

/// Encodes a chunk. Returns `None` if that gains nothing.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let Parameters { coder, line, sample, planes, big } = Parameters::new(values)?;
    let samples = samples(input, sample, planes, big);
    let mut writer = BitWriter::default();
    samples.chunks(line).for_each(|samples| coder.encode_line(samples, line, &mut writer));
    let stream = writer.finish();
    if stream.len() + 4 >= input.len() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(stream.len() + 4);
    out.extend(super::length("chunk", input.len())?.to_le_bytes());
    out.extend(stream);
    Ok(Some(out))
}

/// Returns the samples of a chunk, which is the inverse of [`arrange`].
fn samples(input: &[u8], sample: usize, planes: usize, big: bool) -> Vec<u32> {
    if planes > 1 {
        return (0..planes)
            .flat_map(|plane| input.iter().skip(plane).step_by(planes))
            .map(|&b| b.into())
            .collect();
    }
    let byte = |word: u32, &byte: &u8| word << 8 | u32::from(byte);
    let number = |part: &[u8]| {
        if big { part.iter().fold(0, byte) } else { part.iter().rev().fold(0, byte) }
    };
    input.chunks(sample).map(number).collect()
}

impl Coder {
    /// Encodes a scan line, which is a reference interval.
    fn encode_line(&self, samples: &[u32], line: usize, bits: &mut BitWriter) {
        let padded = self.interval * self.block;
        let len = match line == padded {
            // Without padding only the last block is filled up.
            true => samples.len().next_multiple_of(self.block),
            false => padded,
        };
        let last = if self.predict || line == padded { samples.last().copied() } else { None };
        let mut values = samples.to_vec();
        values.resize(len, last.unwrap_or_default());
        let reference = values.first().copied().unwrap_or_default();
        if self.predict {
            self.map(&mut values);
        }
        let blocks: Vec<&[u32]> = values.chunks(self.block).collect();
        let mut number = 0;
        while let Some(block) = blocks.get(number) {
            let reference = (self.predict && number == 0).then_some(reference);
            let end = (self.interval.min(number + 64 - number % 64)).min(blocks.len());
            let zeros = blocks.get(number..end).unwrap_or_default();
            let run = zeros.iter().take_while(|block| block.iter().all(|&value| value == 0)).count();
            if run == 0 {
                self.encode_block(block, reference, bits);
                number += 1;
                continue;
            }
            bits.put(0, self.id_len() + 1);
            self.put_reference(reference, bits);
            let rest = (self.interval - number).min(64 - number % 64);
            bits.put_unary(match run {
                1..=4 => low_word(run as u64 - 1),
                run if run == rest => 4,
                run => low_word(run as u64),
            });
            number += run;
        }
    }

    fn id_len(&self) -> u32 {
        match self.bits {
            0..=8 => 3,
            9..=16 => 4,
            _ => 5,
        }
    }

    fn put_reference(&self, reference: Option<u32>, bits: &mut BitWriter) {
        if let Some(reference) = reference {
            bits.put(reference.into(), self.bits);
        }
    }

    /// Encodes a block with the shortest of its options.
    fn encode_block(&self, block: &[u32], reference: Option<u32>, bits: &mut BitWriter) {
        let coded = block.get(usize::from(reference.is_some())..).unwrap_or_default();
        let cost = |k: u32| coded.iter().map(|&value| u64::from(value >> k) + 1 + u64::from(k)).sum::<u64>();
        let raw = (1u64 << self.id_len()) - 1;
        let last = low_word(raw - 2).min(self.bits);
        let best = (0..=last).min_by_key(|&k| cost(k)).unwrap_or_default();
        if cost(best) >= coded.len() as u64 * u64::from(self.bits) {
            bits.put(raw, self.id_len());
            self.put_reference(reference, bits);
            coded.iter().for_each(|&value| bits.put(value.into(), self.bits));
            return;
        }
        bits.put(u64::from(best) + 1, self.id_len());
        self.put_reference(reference, bits);
        coded.iter().for_each(|&value| bits.put_unary(value >> best));
        if best > 0 {
            coded.iter().for_each(|&value| bits.put(value.into(), best));
        }
    }

    /// Turns samples into mapped differences, the first one into 0. This is the inverse of [`unmap`](Self::unmap).
    fn map(&self, values: &mut [u32]) {
        let max = (1i64 << self.bits) - 1;
        let mut values = values.iter_mut();
        let Some(first) = values.next() else { return };
        let mut x = i64::from(std::mem::take(first));
        for value in values {
            let next = i64::from(*value);
            let (difference, room) = (next - x, x.min(max - x));
            let mapped = match difference {
                d if d >= 0 && d <= room => 2 * d,
                d if d < 0 && -d <= room => -2 * d - 1,
                d => room + d.abs(),
            };
            *value = low_word(mapped.cast_unsigned());
            x = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Client data values for samples of eight bits without prediction, with blocks of two samples and one block per scan line.
    const VALUES: [u32; 4] = [0, 2, 8, 2];

    #[test]
    fn a_block_without_a_code() {
        let bytes = [
            2,
            0,
            0,
            0,           // decoded length
            0b1111_0100, // 111: samples as they are; 10100101, of which five bits are here
            0b1010_0111, // three bits; 00111100, of which five are here
            0b1000_0000, // three bits, then padding
        ];
        assert_eq!(decode(&VALUES, &bytes, 2).unwrap(), [0b1010_0101, 0b0011_1100]);
        assert_eq!(decode(&VALUES, &bytes[..3], 2).unwrap_err().to_string(), "decoded length is truncated");
        assert!(decode(&VALUES, &bytes[..6], 2).is_err());
        assert!(decode(&VALUES, &bytes, 1).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, len: u8, mask in 0u32..64, sizes in any::<[u8; 3]>()) {
            let [block, bits, line] = sizes.map(u32::from);
            let framed = [&[len, 0, 0, 0], &bytes[..]].concat();
            for values in [[mask, 2 + block % 16 * 2, [8, 16, 24, 32, 64][bits as usize % 5], line + 1], [mask, block, bits, line]] {
                let _ = decode(&values, &bytes, 300);
                let _ = decode(&values, &framed, 300);
            }
        }
    }
}
