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
    let mut out = vec![0; len];
    if planes > 1 {
        let elements = (len / planes).max(1);
        let mut at = 0;
        coder.decode(stream, len / sample, line, |samples| {
            for (number, &value) in (at..).zip(samples) {
                if let Some(slot) = out.get_mut(number % elements * planes + number / elements) {
                    *slot = low_byte(value.into());
                }
            }
            at += samples.len();
        })?;
        return Ok(out);
    }
    let mut rest = out.as_mut_slice();
    coder.decode(stream, len / sample, line, |samples| {
        let bytes = samples.len() * sample;
        let (line, after) = std::mem::take(&mut rest).split_at_mut_checked(bytes).unwrap_or_default();
        rest = after;
        match (sample, big) {
            (1, _) => line.iter_mut().zip(samples).for_each(|(to, &value)| *to = low_byte(value.into())),
            (2, false) => put(line, samples, |value| low_half(value).to_le_bytes()),
            (2, true) => put(line, samples, |value| low_half(value).to_be_bytes()),
            (_, false) => put(line, samples, u32::to_le_bytes),
            (_, true) => put(line, samples, u32::to_be_bytes),
        }
    })?;
    Ok(out)
}

/// Puts samples into their places.
fn put<const SIZE: usize>(line: &mut [u8], samples: &[u32], bytes: impl Fn(u32) -> [u8; SIZE]) {
    let (places, _) = line.as_chunks_mut::<SIZE>();
    places.iter_mut().zip(samples).for_each(|(to, &value)| *to = bytes(value));
}

fn low_half(value: u32) -> u16 {
    let [low, high, ..] = value.to_le_bytes();
    u16::from_le_bytes([low, high])
}

impl Coder {
    /// Decodes `wanted` samples, and hands them over line by line. In the stream, scan lines of `line` samples are padded to whole
    /// blocks.
    fn decode(
        &self,
        stream: &[u8],
        wanted: usize,
        line: usize,
        mut hand_over: impl FnMut(&[u32]),
    ) -> Result<(), Fault> {
        let mut bits = Bits::new(stream);
        let padded = self.interval * self.block;
        let mut interval = Vec::with_capacity(padded);
        let mut done = 0;
        while done < wanted {
            interval.clear();
            // Without padding the last interval may end early. With padding every line is whole.
            let whole = if line == padded { padded.min(wanted - done) } else { padded };
            self.interval(&mut bits, whole.div_ceil(self.block), &mut interval)?;
            if self.predict {
                self.unmap(&mut interval);
            }
            // An interval has at least as many values as were asked for.
            let keep = line.min(wanted - done);
            hand_over(interval.get(..keep).unwrap_or_default());
            done += keep;
        }
        Ok(())
    }

    /// Decodes the coded values of an interval of `blocks` blocks.
    fn interval(&self, bits: &mut Bits<'_>, blocks: usize, out: &mut Vec<u32>) -> Result<(), Fault> {
        let id_len = self.id_len();
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
        out.resize(end, 0);
        let values = out.get_mut(start..).unwrap_or_default();
        for value in values.iter_mut() {
            *value = bits.zeros()?.checked_shl(k).unwrap_or(0); // a bound: bits beyond the word are dropped
        }
        if k == 0 {
            return Ok(());
        }
        // The low bits of several values at once, as many as can be taken.
        match k {
            1..=14 => low_bits::<4>(bits, k, values),
            _ => low_bits::<1>(bits, k, values),
        }
    }

    /// Turns mapped differences into samples. The first value is the reference.
    fn unmap(&self, values: &mut [u32]) {
        let max = low_word((1u64 << self.bits) - 1);
        let mut values = values.iter_mut();
        let Some(first) = values.next() else { return };
        let mut x = (*first).min(max);
        for value in values {
            let d = *value;
            let room = x.min(max - x);
            x = if d <= 2 * room {
                // Even numbers are steps up, and odd ones are steps down.
                x.wrapping_add(d >> 1 ^ (d & 1).wrapping_neg())
            } else if room == x {
                d.min(max)
            } else {
                max.saturating_sub(d) // a bound: no sample is below 0
            };
            *value = x;
        }
    }
}

/// Adds `k` low bits to values. `AT_ONCE` times `k` is at most 56.
fn low_bits<const AT_ONCE: usize>(bits: &mut Bits<'_>, k: u32, values: &mut [u32]) -> Result<(), Fault> {
    let mask = (1u64 << k) - 1;
    let (groups, rest) = values.as_chunks_mut::<AT_ONCE>();
    for group in groups {
        let mut taken = bits.take(k * AT_ONCE as u32)?;
        for value in group.iter_mut().rev() {
            *value |= low_word(taken & mask);
            taken >>= k;
        }
    }
    for value in rest {
        *value |= low_word(bits.take(k)?);
    }
    Ok(())
}

/// Encodes a chunk. Returns `None` if that gains nothing, or if the chunk ends within a sample or an element of several planes, as
/// after a filter that changed its length: the C library cannot read such chunks, not even its own.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let Parameters { coder, line, sample, planes, big } = Parameters::new(values)?;
    if !input.len().is_multiple_of(planes) || !input.len().is_multiple_of(sample) {
        return Ok(None);
    }
    let mut writer = BitWriter::with_capacity(input.len());
    let mut lines = Lines::default();
    if planes > 1 {
        let bytes: Vec<u8> =
            (0..planes).flat_map(|plane| input.iter().skip(plane).step_by(planes)).copied().collect();
        bytes.chunks(line).for_each(|part| {
            lines.samples.clear();
            lines.samples.extend(part.iter().map(|&byte| u32::from(byte)));
            coder.encode_line(&mut lines, line, &mut writer);
        });
    } else {
        let most = low_word((1u64 << coder.bits) - 1);
        for part in input.chunks(line * sample) {
            lines.samples.clear();
            samples(part, sample, big, &mut lines.samples);
            // A sample with bits above those that are coded would become another one.
            if lines.samples.iter().any(|&sample| sample > most) {
                return Ok(None);
            }
            coder.encode_line(&mut lines, line, &mut writer);
        }
    }
    let stream = writer.finish();
    if stream.len() + 4 >= input.len() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(stream.len() + 4);
    out.extend(super::length("chunk", input.len())?.to_le_bytes());
    out.extend(stream);
    Ok(Some(out))
}

/// The samples of a scan line and their codes, whose memory is used for one line after another.
#[derive(Default)]
struct Lines {
    samples: Vec<u32>,
    codes: Vec<u32>,
}

/// Appends the samples of bytes.
fn samples(bytes: &[u8], sample: usize, big: bool, out: &mut Vec<u32>) {
    match (sample, big) {
        (1, _) => out.extend(bytes.iter().map(|&byte| u32::from(byte))),
        (2, false) => out.extend(bytes.as_chunks().0.iter().map(|two| u32::from(u16::from_le_bytes(*two)))),
        (2, true) => out.extend(bytes.as_chunks().0.iter().map(|two| u32::from(u16::from_be_bytes(*two)))),
        (_, false) => out.extend(bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four))),
        (_, true) => out.extend(bytes.as_chunks().0.iter().map(|four| u32::from_be_bytes(*four))),
    }
    // Bytes that are no whole sample are the lowest ones of another.
    let rest = bytes.len() % sample;
    if let Some(rest) = bytes.get(bytes.len() - rest..).filter(|rest| !rest.is_empty()) {
        let byte = |word: u32, &byte: &u8| word << 8 | u32::from(byte);
        out.push(if big { rest.iter().fold(0, byte) } else { rest.iter().rev().fold(0, byte) });
    }
}

impl Coder {
    /// Encodes a scan line, which is a reference interval.
    fn encode_line(&self, Lines { samples, codes }: &mut Lines, line: usize, bits: &mut BitWriter) {
        let padded = self.interval * self.block;
        let len = match line == padded {
            // Without padding only the last block is filled up.
            true => samples.len().next_multiple_of(self.block),
            false => padded,
        };
        let last = if self.predict || line == padded { samples.last().copied() } else { None };
        samples.resize(len, last.unwrap_or_default());
        let reference = samples.first().copied().unwrap_or_default();
        let codes = if self.predict {
            self.map(samples, codes);
            codes
        } else {
            samples
        };
        let (mut number, count, mut k) = (0, codes.len() / self.block, 0);
        let block = |number: usize| codes.get(number * self.block..).and_then(|rest| rest.get(..self.block));
        while let Some(values) = block(number) {
            let reference = (self.predict && number == 0).then_some(reference);
            let end = (self.interval.min(number + 64 - number % 64)).min(count);
            let is_zero = |number: &usize| block(*number).is_some_and(|block| block.iter().all(|&v| v == 0));
            let run = (number..end).take_while(is_zero).count();
            if run == 0 {
                k = self.encode_block(values, reference, k, bits);
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

    /// Encodes a block with the shortest of its options. Returns the number of low bits, from which the search in the next block
    /// starts; here it starts from `k`.
    fn encode_block(&self, block: &[u32], reference: Option<u32>, mut k: u32, bits: &mut BitWriter) -> u32 {
        let coded = block.get(usize::from(reference.is_some())..).unwrap_or_default();
        let count = low_word(coded.len() as u64);
        // A block has at most 32 samples of 24 bits.
        let cost = |k: u32| coded.iter().map(|&value| value >> k).sum::<u32>() + count * (k + 1);
        let raw = (1u64 << self.id_len()) - 1;
        let last = low_word(raw - 2).min(self.bits);
        // The cost has a single minimum, because a bit more spares less the more there are. The smallest one of several is taken.
        k = k.min(last);
        let mut least = cost(k);
        let mut falls = false;
        while k < last
            && let next = cost(k + 1)
            && next < least
        {
            (k, least, falls) = (k + 1, next, true);
        }
        while !falls
            && k > 0
            && let next = cost(k - 1)
            && next <= least
        {
            (k, least) = (k - 1, next);
        }
        if least >= count * self.bits {
            bits.put(raw, self.id_len());
            self.put_reference(reference, bits);
            coded.iter().for_each(|&value| bits.put(value.into(), self.bits));
            return k;
        }
        bits.put(u64::from(k) + 1, self.id_len());
        self.put_reference(reference, bits);
        coded.iter().for_each(|&value| bits.put_unary(value >> k));
        match k {
            0 => {}
            1..=8 => put_low_bits::<4>(bits, k, coded),
            _ => put_low_bits::<1>(bits, k, coded),
        }
        k
    }

    /// Turns samples into mapped differences, the first one into 0. This is the inverse of [`unmap`](Self::unmap).
    fn map(&self, samples: &[u32], codes: &mut Vec<u32>) {
        let max = low_word((1u64 << self.bits) - 1);
        codes.clear();
        codes.push(0);
        let pairs = samples.iter().zip(samples.iter().skip(1));
        codes.extend(pairs.map(|(&x, &next)| {
            let (size, room) = (next.abs_diff(x), x.min(max.wrapping_sub(x)));
            if size <= room { 2 * size - u32::from(next < x) } else { room + size }
        }));
    }
}

/// Appends the `k` low bits of values. `AT_ONCE` times `k` is at most 32.
fn put_low_bits<const AT_ONCE: usize>(bits: &mut BitWriter, k: u32, values: &[u32]) {
    let mask = (1u64 << k) - 1;
    let (groups, rest) = values.as_chunks::<AT_ONCE>();
    for group in groups {
        let all = group.iter().fold(0, |all, &value| all << k | u64::from(value) & mask);
        bits.put(all, k * AT_ONCE as u32);
    }
    rest.iter().for_each(|&value| bits.put(value.into(), k));
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

    #[test]
    fn samples_that_do_not_fit_are_not_encoded() {
        let mut input = [0; 64];
        assert!(encode(&[0, 8, 12, 8], &input).unwrap().is_some());
        // Bit 12 of the fourth sample.
        input[7] = 0x10;
        assert_eq!(encode(&[0, 8, 12, 8], &input).unwrap(), None);
    }

    #[test]
    fn elements_are_whole() {
        for (bits, part) in [(16, 1), (32, 3), (64, 4)] {
            assert!(encode(&[PREDICT, 8, bits, 64], &[7; 512]).unwrap().is_some());
            assert_eq!(encode(&[PREDICT, 8, bits, 64], &vec![7; 512 + part]).unwrap(), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            mask in prop::sample::select(vec![0, 16, 32, 48]), block in 1u32..17, bits in 0usize..7, line in 1u32..200,
            start: u32, steps in prop::collection::vec(-9i32..10, 0..900), rough in 0u32..24,
        ) {
            let bits = [1, 8, 11, 16, 20, 24, 32][bits];
            let size = [1, 1, 2, 2, 4, 4, 4][[1, 8, 11, 16, 20, 24, 32].iter().position(|&b| b == bits).unwrap()];
            let (mut at, top) = (start, u32::MAX >> (32 - bits));
            let input: Vec<u8> = steps.iter().flat_map(|&step| {
                at = at.wrapping_add_signed(step << rough) & top;
                let bytes = at.to_le_bytes();
                let mut bytes = bytes[..size].to_vec();
                if mask & BIG_ENDIAN != 0 {
                    bytes.reverse();
                }
                bytes
            }).collect();
            let values = [mask, 2 * block, bits, line];
            if let Some(stored) = encode(&values, &input).unwrap() {
                prop_assert!(stored.len() < input.len());
                prop_assert_eq!(decode(&values, &stored, input.len()).unwrap(), input);
            }
        }

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
