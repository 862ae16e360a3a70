//! VBZ (filter 32020), which the sequencers of Oxford Nanopore use: differences, a byte or half a byte at a time
//! (`StreamVByte`), and Zstandard.
//!
//! The client data values: version (0 or 1), bytes per integer (0: no integers), whether differences are coded (0 or 1), level of
//! Zstandard (0: none; 1 if it is missing). If a caller gives no values at all, they are chosen by the type of the elements.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | decoded size |
//! | 4 | | one frame of Zstandard, or its content |
//!
//! The content, if there are integers:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | ⌈n / 4⌉ | control: two bits for each of n integers, the lowest first |
//! | ⌈n / 4⌉ | | data: 1 to 4 bytes for each integer; in version 1 with integers of one byte, 0, 1, 2 or 4 halves of bytes |

mod vectors;

use nom::number::complete::le_u32;
use sciformats_core::fault::{ParseError, field};
use sciformats_core::{Fault, FaultKind};

use crate::filter::{rule, truncated, value, within};
use crate::{Chunk, Element, Filter, Kind, zstd};

/// The filter.
pub(crate) struct Vbz;

/// The client data values.
#[derive(Clone, Copy, Debug)]
struct Coding {
    /// The bytes of an integer, or 0 if nothing is known about the elements.
    size: usize,
    /// Whether the data consists of halves of bytes.
    halves: bool,
    /// Whether differences are coded.
    differences: bool,
    /// The level of Zstandard, or 0 if it is not used.
    level: u32,
}

impl Coding {
    fn of(values: &[u32]) -> Result<Self, Fault> {
        let undefined =
            |name, found: u32| Err(Fault::new(name, FaultKind::Undefined { found: found.into() }));
        let (version, size) = (value(values, 0)?, value(values, 1)?);
        if version > 1 {
            return undefined("version", version);
        }
        if !matches!(size, 0 | 1 | 2 | 4) {
            return undefined("integer size", size);
        }
        let differences = match value(values, 2)? {
            0 => false,
            1 => true,
            found => return undefined("use of differences", found),
        };
        let level = values.get(3).copied().unwrap_or(1);
        Ok(Self { size: size as usize, halves: version == 1 && size == 1, differences, level })
    }
}

impl Filter for Vbz {
    fn id(&self) -> u16 {
        32020
    }

    fn name(&self) -> &'static str {
        "vbz"
    }

    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        let coding = Coding::of(values)?;
        let (content, len) =
            field("decoded size", le_u32::<_, ParseError>)(input).map_err(|_| truncated("decoded size"))?;
        let len = within("decoded size", len.into(), max)?;
        let unpacked;
        let content = if coding.level > 0 {
            // Each integer of one byte takes two more bits, and at most two bytes if halves are used.
            let longest =
                len.checked_mul(5).ok_or_else(|| Fault::new("decoded size", FaultKind::Overflow))?;
            unpacked = zstd::decode(content, longest)?;
            &unpacked
        } else {
            content
        };
        match coding.size {
            0 if content.len() == len => Ok(content.to_vec()),
            0 => {
                let kind = FaultKind::Mismatch { expected: len as u64, found: content.len() as u64 };
                Err(Fault::new("decoded size", kind))
            }
            1 => integers::<1>(coding, content, len),
            2 => integers::<2>(coding, content, len),
            _ => integers::<4>(coding, content, len),
        }
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let coding = Coding::of(values)?;
        let len = u32::try_from(input.len()).map_err(|_| rule("chunk", "must be smaller than 4 GiB"))?;
        let mut out = len.to_le_bytes().to_vec();
        let header = out.len();
        match coding.size {
            0 => out.extend(input),
            1 => codes::<1>(coding, input, &mut out)?,
            2 => codes::<2>(coding, input, &mut out)?,
            _ => codes::<4>(coding, input, &mut out)?,
        }
        if coding.level > 0 {
            let frame = zstd::encode(coding.level, out.get(header..).unwrap_or_default())?;
            out.truncate(header);
            out.extend(frame);
        }
        Ok(Some(out))
    }

    fn configure(&self, asked: &[u32], chunk: &Chunk<'_>) -> Result<Vec<u32>, Fault> {
        let Element { kind, size: of, big_endian } = chunk.element;
        if asked.is_empty() {
            let integers = matches!(kind, Kind::Signed | Kind::Unsigned) && matches!(of, 1 | 2 | 4);
            return match integers && (!big_endian || of == 1) {
                true => Ok(vec![1, of, 1, 1]),
                false => Err(rule("elements", "must be little-endian integers of 1, 2 or 4 bytes")),
            };
        }
        let size = Coding::of(asked)?.size;
        if size == 0 {
            // The original plug-in reads such chunks, but the process ends if it has to write one.
            return Err(rule("integer size", "must not be 0"));
        }
        if size > 1 && (size != of as usize || big_endian) {
            return Err(rule("elements", "must be little-endian integers of the size that is chosen"));
        }
        Ok(asked.to_vec())
    }
}

/// The codes of a chunk that are still to be decoded.
struct Source<'a> {
    controls: &'a [u8],
    data: &'a [u8],
    /// How many integers are left.
    count: usize,
    differences: bool,
    /// The last integer, of which the lowest bits count.
    before: u32,
}

impl Source<'_> {
    /// Returns the integer of a code.
    #[inline(always)]
    fn number(&mut self, code: u32) -> u32 {
        if !self.differences {
            return code;
        }
        let difference = (code >> 1) ^ (code & 1).wrapping_neg();
        self.before = self.before.wrapping_add(difference);
        self.before
    }

    /// Leaves out control bytes and integers.
    fn skip(&mut self, controls: usize, integers: usize) {
        self.controls = self.controls.get(controls..).unwrap_or_default();
        self.count = self.count.saturating_sub(integers); // a bound: none are left
    }

    /// Decodes the integers of up to `groups` control bytes, and appends them.
    fn decode<const N: usize>(&mut self, groups: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        let controls = self.controls.get(..groups).unwrap_or(self.controls);
        if controls.is_empty() {
            return Err(truncated("control bytes"));
        }
        for &control in controls {
            let mut group = [[0; N]; 4];
            let integers = self.count.min(4);
            let mut places = group.iter_mut().take(integers);
            let mut put = |number: u32| {
                let bytes = number.to_le_bytes();
                places.next().into_iter().flatten().zip(bytes).for_each(|(to, from)| *to = from);
            };
            if let (Some(words), 4) = (self.data.first_chunk::<16>(), integers) {
                // All four surely have their bytes, so that they are read four bytes at a time.
                let [second, third, fourth, end] = PLACES[usize::from(control)];
                for (i, at) in [0, second, third, fourth].into_iter().enumerate() {
                    let bytes = words.get(usize::from(at)..).and_then(<[u8]>::first_chunk::<4>);
                    let word = bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes));
                    put(self.number(word & MASKS[usize::from(control >> (2 * i) & 3)]));
                }
                self.data = self.data.get(end.into()..).unwrap_or_default();
            } else {
                for i in 0..integers {
                    let size = usize::from(control >> (2 * i) & 3) + 1;
                    let (bytes, rest) =
                        self.data.split_at_checked(size).ok_or_else(|| truncated("integers"))?;
                    self.data = rest;
                    put(self.number(bytes.iter().rev().fold(0, |code, &byte| code << 8 | u32::from(byte))));
                }
            }
            out.extend_from_slice(group.get(..integers).unwrap_or_default().as_flattened());
            self.skip(1, integers);
        }
        Ok(())
    }

    /// Does the same with all integers of one byte that consist of halves of bytes.
    fn decode_halves(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let halves_of = |code: u8| if code == 3 { 4 } else { u32::from(code) };
        let mut at = 0usize;
        for &control in self.controls {
            let here = self.data.get(at / 2..).unwrap_or_default();
            // Four integers have at most 16 halves, after one that may belong to the integer before.
            let window = here.first_chunk::<16>().copied().unwrap_or_else(|| {
                let mut window = [0; 16];
                window.iter_mut().zip(here).for_each(|(to, from)| *to = *from);
                window
            });
            let mut window = u128::from_le_bytes(window) >> (at % 2 * 4);
            let integers = self.count.min(4);
            let mut group = [0; 4];
            for (i, place) in group.iter_mut().enumerate().take(integers) {
                let halves = halves_of(control >> (2 * i) & 3);
                let code = window as u32 & ((1 << (4 * halves)) - 1);
                window >>= 4 * halves;
                at += halves as usize;
                *place = self.number(code) as u8;
            }
            if at.div_ceil(2) > self.data.len() {
                return Err(truncated("integers"));
            }
            out.extend_from_slice(group.get(..integers).unwrap_or_default());
            self.count -= integers;
        }
        self.data = self.data.get(at.div_ceil(2)..).unwrap_or_default();
        Ok(())
    }
}

/// Decodes integers of `N` bytes to `len` bytes.
fn integers<const N: usize>(coding: Coding, content: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    if !len.is_multiple_of(N) {
        return Err(rule("decoded size", "is not a whole number of integers"));
    }
    let count = len / N;
    let (controls, data) =
        content.split_at_checked(count.div_ceil(4)).ok_or_else(|| truncated("control bytes"))?;
    let mut source = Source { controls, data, count, differences: coding.differences, before: 0 };
    let mut out = Vec::with_capacity(len);
    if coding.halves {
        source.decode_halves(&mut out)?;
    }
    while source.count > 0 {
        // Where vectors stop, they go on after two groups.
        let groups = if vectors::decode::<N>(&mut source, &mut out) { 2 } else { usize::MAX };
        if source.count > 0 {
            source.decode::<N>(groups, &mut out)?;
        }
    }
    match source.data.len() {
        0 => Ok(out),
        bytes => Err(Fault::new("integers", FaultKind::Leftover { bytes: bytes as u64 })),
    }
}

/// The bits of an integer of 1 to 4 bytes.
const MASKS: [u32; 4] = [0xff, 0xffff, 0xff_ffff, u32::MAX];

/// For each control byte, where the second to the fourth integer and the next group begin.
const PLACES: [[u8; 4]; 256] = {
    let mut places = [[0; 4]; 256];
    let mut control = 0;
    while control < 256 {
        let (mut i, mut at) = (0, 0);
        while i < 4 {
            at += (control >> (2 * i) & 3) as u8 + 1;
            places[control][i] = at;
            i += 1;
        }
        control += 1;
    }
    places
};

/// Where control bytes and data go.
struct Sink<'a> {
    out: &'a mut Vec<u8>,
    /// The place of the next control byte.
    control: usize,
    differences: bool,
    /// The last integer, with its sign.
    before: u32,
}

impl Sink<'_> {
    /// Returns the code of an integer.
    #[inline(always)]
    fn code<const N: usize>(&mut self, bytes: &[u8; N]) -> u32 {
        let mut word = [0; 4];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let number = u32::from_le_bytes(word);
        if !self.differences {
            return number;
        }
        // The number with its sign.
        let unused = 8 * (4 - N as u32);
        let number = (number << unused).cast_signed() >> unused;
        let difference = number.wrapping_sub(self.before.cast_signed());
        // The original plug-in computes with 16 bits if integers have two bytes, and with more if they have one.
        let difference = if N == 2 { difference << 16 >> 16 } else { difference };
        self.before = number.cast_unsigned();
        (difference << 1 ^ difference >> 31).cast_unsigned()
    }

    /// Adds control bytes and data.
    #[inline(always)]
    fn push(&mut self, controls: &[u8], data: &[u8]) {
        if let Some(places) = self.out.get_mut(self.control..self.control + controls.len()) {
            places.copy_from_slice(controls);
        }
        self.control += controls.len();
        self.out.extend_from_slice(data);
    }

    /// Encodes integers.
    fn encode<const N: usize>(&mut self, integers: &[[u8; N]]) {
        for group in integers.chunks(4) {
            let (mut control, mut data, mut at) = (0, [0; 16], 0);
            for (i, bytes) in group.iter().enumerate() {
                let code = self.code(bytes);
                let more = bytes_beyond_one(code);
                control |= more << (2 * i);
                let places = data.get_mut(at..).unwrap_or_default();
                places.iter_mut().zip(code.to_le_bytes()).for_each(|(to, from)| *to = from);
                at += usize::from(more) + 1;
            }
            self.push(&[control], data.get(..at).unwrap_or_default());
        }
    }

    /// Encodes integers of one byte as halves of bytes.
    fn encode_halves(&mut self, integers: &[[u8; 1]]) {
        // The halves that do not fill a byte yet.
        let (mut held, mut count) = (0u128, 0);
        for group in integers.chunks(4) {
            let mut control = 0;
            for (i, bytes) in group.iter().enumerate() {
                let code = self.code(bytes);
                let (kind, halves) = match code {
                    0 => (0, 0),
                    1..=15 => (1, 1),
                    16..=255 => (2, 2),
                    _ => (3, 4),
                };
                control |= kind << (2 * i);
                held |= u128::from(code) << count;
                count += 4 * halves;
            }
            let whole = count / 8;
            self.push(&[control], held.to_le_bytes().get(..whole).unwrap_or_default());
            held >>= 8 * whole;
            count %= 8;
        }
        if count > 0 {
            self.push(&[], &[held as u8]);
        }
    }
}

/// Appends control bytes and data of integers of `N` bytes.
fn codes<const N: usize>(coding: Coding, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    if !input.len().is_multiple_of(N) {
        return Err(rule("chunk", "is not a whole number of integers"));
    }
    let control = out.len();
    out.reserve(input.len() / 8 * 9);
    out.resize(control + (input.len() / N).div_ceil(4), 0);
    let mut sink = Sink { out, control, differences: coding.differences, before: 0 };
    if coding.halves {
        sink.encode_halves(input.as_chunks().0);
    } else {
        vectors::encode::<N>(&mut input, &mut sink);
        sink.encode::<N>(input.as_chunks().0);
    }
    Ok(())
}

/// Returns how many bytes a code needs beyond the first.
#[inline(always)]
fn bytes_beyond_one(code: u32) -> u8 {
    u8::from(code > 0xff) + u8::from(code > 0xffff) + u8::from(code > 0xff_ffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: [u8; 11] = [
        10,
        0,
        0,
        0, // decoded size: five integers of two bytes
        0b0001_0000,
        0b0000_0000, // control: the third has two bytes
        2,           // 1
        1,           // 0
        0x2c,
        0x01, // 150
        0,    // 150
    ];

    #[test]
    fn a_chunk() {
        let mut bytes = BYTES.to_vec();
        bytes.push(3); // 148
        let expected: Vec<u8> = [1i16, 0, 150, 150, 148].into_iter().flat_map(i16::to_le_bytes).collect();
        let values = [0, 2, 1, 0];
        assert_eq!(Vbz.decode(&values, &bytes, 10).unwrap(), expected);
        assert_eq!(Vbz.encode(&values, &expected).unwrap().unwrap(), bytes);
        assert!(Vbz.decode(&values, &BYTES, 10).is_err());
        assert!(Vbz.decode(&values, &bytes, 9).is_err());
        bytes.push(0);
        assert!(Vbz.decode(&values, &bytes, 10).is_err());
    }

    #[test]
    fn differences_that_overflow() {
        // What the plug-in 1.0.1 writes.
        let numbers = [0, 5, i16::MAX, 3, i16::MIN, i16::MAX, i16::MIN, 7];
        let stored = [
            16, 0, 0, 0, // decoded size
            0x50, 0x41, // control
            0x00, 0x0a, 0xf4, 0xff, 0xf7, 0xff, 0xfa, 0xff, 0x01, 0x02, 0xf1, 0xff,
        ];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        for version in [0, 1] {
            let values = [version, 2, 1, 0];
            assert_eq!(Vbz.encode(&values, &bytes).unwrap().unwrap(), stored);
            assert_eq!(Vbz.decode(&values, &stored, bytes.len()).unwrap(), bytes);
        }
        let bytes = [0, 5, 127, 3, 128, 127, 128, 7];
        let stored =
            [8, 0, 0, 0, 0x00, 0x55, 0x00, 0x0a, 0xf4, 0xf7, 0x05, 0x01, 0xfe, 0x01, 0xfd, 0x01, 0x0e, 0x01];
        assert_eq!(Vbz.encode(&[0, 1, 1, 0], &bytes).unwrap().unwrap(), stored);
    }

    #[test]
    fn values_that_fit_the_elements() {
        let values = |element| Vbz.configure(&[], &Chunk { element, shape: &[9] });
        assert_eq!(values(Element::signed(2)).unwrap(), [1, 2, 1, 1]);
        assert_eq!(values(Element::unsigned(1)).unwrap(), [1, 1, 1, 1]);
        let big = Element { big_endian: true, ..Element::signed(2) };
        for element in [big, Element::signed(8), Element::float(4)] {
            assert!(values(element).is_err(), "{element:?}");
        }
        assert!(Vbz.configure(&[1, 0, 0, 1], &Chunk { element: Element::signed(2), shape: &[9] }).is_err());
    }

    #[test]
    fn wrong_values() {
        for values in [&[][..], &[2, 2, 1, 0], &[0, 3, 1, 0], &[0, 2, 2, 0], &[0, 2]] {
            assert!(Vbz.decode(values, &BYTES, 100).is_err());
        }
        assert!(Vbz.decode(&[0, 0, 0, 0], &BYTES, 100).is_err());
        let wide = Chunk { element: Element::signed(4), shape: &[5] };
        assert!(Vbz.configure(&[0, 2, 1, 0], &wide).is_err());
    }

    fn twins<const N: usize>(coding: Coding, bytes: &[u8], flips: &[(prop::sample::Index, u8)]) {
        let mut plain = vec![0; (bytes.len() / N).div_ceil(4)];
        let differences = coding.differences;
        let mut sink = Sink { out: &mut plain, control: 0, differences, before: 0 };
        sink.encode::<N>(bytes.as_chunks().0);
        let mut found = Vec::new();
        codes::<N>(coding, bytes, &mut found).unwrap();
        assert_eq!(found, plain);
        for (at, flip) in flips.iter().filter(|_| !bytes.is_empty()) {
            found[at.index(plain.len())] ^= flip;
        }
        let (controls, data) = found.split_at((bytes.len() / N).div_ceil(4));
        let count = bytes.len() / N;
        let mut source = Source { controls, data, count, differences, before: 0 };
        let mut out = Vec::new();
        let plain = match source.controls.is_empty() {
            true => Ok(()),
            false => source.decode::<N>(usize::MAX, &mut out),
        };
        match (plain, integers::<N>(coding, &found, bytes.len())) {
            (Ok(()), Ok(decoded)) => assert!(decoded == out && source.data.is_empty()),
            (Ok(()), Err(_)) => assert!(!source.data.is_empty()),
            (Err(plain), decoded) => assert_eq!(format!("{:?}", decoded.unwrap_err()), format!("{plain:?}")),
        }
        if flips.is_empty() {
            assert_eq!(out, bytes);
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            version in 0u32..2, size in 0usize..4, differences in 0u32..2, mut input: Vec<u8>, small: bool,
        ) {
            let size = [0, 1, 2, 4][size];
            input.truncate(input.len() / size.max(1) * size.max(1));
            if small {
                input.iter_mut().for_each(|byte| *byte &= 3);
            }
            let level = u32::from(cfg!(feature = "zstd"));
            for level in [0, level] {
                let values = [version, size as u32, differences, level];
                let bytes = Vbz.encode(&values, &input).unwrap().unwrap();
                prop_assert_eq!(&Vbz.decode(&values, &bytes, input.len()).unwrap(), &input);
            }
        }

        /// Groups of all kinds, long enough for vectors, as the plain loops decode and encode them, and damaged.
        #[test]
        fn vectors_give_what_the_plain_loops_give(
            size in 0usize..3, differences: bool, seed: u32, count in 0usize..5000, wide in 0u32..32,
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut state = seed | 1;
            let mut bytes = Vec::new();
            for _ in 0..count {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                // Mostly short differences, and some long ones.
                let number = if state >> 28 == 0 { state } else { state >> wide };
                bytes.extend_from_slice(&number.to_le_bytes()[..1 << size]);
            }
            let coding = Coding { size: 1 << size, halves: false, differences, level: 0 };
            match size {
                0 => twins::<1>(coding, &bytes, &flips),
                1 => twins::<2>(coding, &bytes, &flips),
                _ => twins::<4>(coding, &bytes, &flips),
            }
        }

        #[test]
        fn no_bytes_panic(values in prop::collection::vec(0u32..5, 4), len in 0u8..40, mut input: Vec<u8>) {
            input.splice(0..0, [len, 0, 0, 0]);
            let _ = Vbz.decode(&values, &input, 100);
        }
    }
}
