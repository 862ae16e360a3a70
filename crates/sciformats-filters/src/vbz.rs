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
        let mut content = Vec::new();
        match coding.size {
            0 => content.extend(input),
            1 => codes::<1>(coding, input, &mut content)?,
            2 => codes::<2>(coding, input, &mut content)?,
            _ => codes::<4>(coding, input, &mut content)?,
        }
        if coding.level > 0 {
            content = zstd::encode(coding.level, &content)?;
        }
        out.append(&mut content);
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

/// Adds the difference to the integer before, if differences are coded.
#[inline(always)]
fn add(before: &mut u32, code: u32) -> u32 {
    let difference = (code >> 1) ^ (code & 1).wrapping_neg();
    *before = before.wrapping_add(difference);
    *before
}

/// Decodes integers of `N` bytes to `len` bytes.
fn integers<const N: usize>(coding: Coding, content: &[u8], len: usize) -> Result<Vec<u8>, Fault> {
    if !len.is_multiple_of(N) {
        return Err(rule("decoded size", "is not a whole number of integers"));
    }
    let count = len / N;
    let (control, data) =
        content.split_at_checked(count.div_ceil(4)).ok_or_else(|| truncated("control bytes"))?;
    let mut out = vec![0; len];
    if coding.halves {
        from_halves(coding, (control, data), &mut out)?;
    } else {
        from_bytes::<N>(coding, (control, data), &mut out)?;
    }
    Ok(out)
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

fn from_bytes<const N: usize>(
    coding: Coding,
    (control, mut data): (&[u8], &[u8]),
    out: &mut [u8],
) -> Result<(), Fault> {
    let mut before = 0;
    let mut put = |out: &mut [u8; N], code: u32| {
        let number = if coding.differences { add(&mut before, code) } else { code };
        out.iter_mut().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
    };
    let (integers, _) = out.as_chunks_mut::<N>();
    let (groups, last) = integers.as_chunks_mut::<4>();
    let (mut groups, mut controls) = (groups.iter_mut(), control.iter());
    // While four integers surely have all their bytes, they are read four bytes at a time.
    while let Some(words) = data.first_chunk::<16>() {
        let Some(group) = groups.next() else { break };
        let control = controls.next().copied().unwrap_or_default();
        let [a, b, c, d] = group;
        if control == 0 {
            let [first, second, third, fourth, ..] = *words;
            put(a, first.into());
            put(b, second.into());
            put(c, third.into());
            put(d, fourth.into());
            data = data.get(4..).unwrap_or_default();
            continue;
        }
        let [second, third, fourth, end] = PLACES[usize::from(control)];
        let integer = |at: u8, i: u32| {
            let bytes = words.get(usize::from(at)..).and_then(<[u8]>::first_chunk::<4>);
            bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes)) & MASKS[usize::from(control >> (2 * i) & 3)]
        };
        put(a, integer(0, 0));
        put(b, integer(second, 1));
        put(c, integer(third, 2));
        put(d, integer(fourth, 3));
        data = data.get(end.into()..).unwrap_or_default();
    }
    let controls = controls.as_slice();
    for (i, out) in groups.flatten().chain(last).enumerate() {
        let control = controls.get(i / 4).copied().unwrap_or_default();
        let size = usize::from(control >> (2 * (i % 4)) & 3) + 1;
        let (bytes, rest) = data.split_at_checked(size).ok_or_else(|| truncated("integers"))?;
        data = rest;
        put(out, bytes.iter().rev().fold(0, |code, &byte| code << 8 | u32::from(byte)));
    }
    left(data.len())
}

/// All bytes must be used.
fn left(bytes: usize) -> Result<(), Fault> {
    if bytes == 0 { Ok(()) } else { Err(Fault::new("integers", FaultKind::Leftover { bytes: bytes as u64 })) }
}

fn from_halves(coding: Coding, (control, data): (&[u8], &[u8]), out: &mut [u8]) -> Result<(), Fault> {
    let mut before = 0;
    let mut at = 0usize;
    for (group, &control) in out.chunks_mut(4).zip(control) {
        for (i, out) in group.iter_mut().enumerate() {
            let halves = match control >> (2 * i) & 3 {
                3 => 4,
                code => usize::from(code),
            };
            let mut code = 0;
            for i in 0..halves {
                let half = at + i;
                let byte = data.get(half / 2).ok_or_else(|| truncated("integers"))?;
                code |= u32::from(byte >> (half % 2 * 4) & 15) << (4 * i);
            }
            at += halves;
            *out = (if coding.differences { add(&mut before, code) } else { code }) as u8;
        }
    }
    left(data.len().abs_diff(at.div_ceil(2)))
}

/// Appends control bytes and data of integers of `N` bytes.
fn codes<const N: usize>(coding: Coding, input: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let (integers, rest) = input.as_chunks::<N>();
    if !rest.is_empty() {
        return Err(rule("chunk", "is not a whole number of integers"));
    }
    let mut before = 0u32;
    let mut code = |bytes: &[u8; N]| {
        let mut word = [0; 4];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let number = u32::from_le_bytes(word);
        if !coding.differences {
            return number;
        }
        // The number with its sign.
        let unused = 8 * (4 - N as u32);
        let number = (number << unused).cast_signed() >> unused;
        let difference = number.wrapping_sub(before.cast_signed());
        // The original plug-in computes with 16 bits if integers have two bytes, and with more if they have one.
        let difference = if N == 2 { difference << 16 >> 16 } else { difference };
        before = number.cast_unsigned();
        (difference << 1 ^ difference >> 31).cast_unsigned()
    };
    let start = out.len() + integers.len().div_ceil(4);
    if coding.halves {
        out.resize(start, 0);
        let (mut data, mut halves) = (Vec::with_capacity(input.len()), Halves::default());
        for (i, bytes) in integers.iter().enumerate() {
            let kind = halves.push(code(bytes), &mut data);
            if let Some(control) = out.get_mut(i / 4) {
                *control |= kind << (2 * (i % 4));
            }
        }
        data.extend(halves.last);
        out.append(&mut data);
        return Ok(());
    }
    // A code has at most one byte more than its integer, and four bytes are written each time.
    out.resize(start + integers.len() * (N + 1).min(4) + 4, 0);
    let (controls, data) = out.split_at_mut(start);
    let mut at = 0;
    let mut put = |word: u32, len: usize| {
        if let Some(place) = data.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
            *place = word.to_le_bytes();
        }
        at += len;
    };
    let (groups, rest) = integers.as_chunks::<4>();
    let mut controls = controls.iter_mut();
    for (four, control) in groups.iter().zip(&mut controls) {
        let codes = four.each_ref().map(&mut code);
        let [a, b, c, d] = codes;
        if a | b | c | d <= 0xff {
            put(a | b << 8 | c << 16 | d << 24, 4);
            continue;
        }
        for (i, code) in codes.into_iter().enumerate() {
            let more = bytes_beyond_one(code);
            *control |= more << (2 * i);
            put(code, usize::from(more) + 1);
        }
    }
    if let Some(control) = controls.next() {
        for (i, bytes) in rest.iter().enumerate() {
            let code = code(bytes);
            let more = bytes_beyond_one(code);
            *control |= more << (2 * i);
            put(code, usize::from(more) + 1);
        }
    }
    out.truncate(start + at);
    Ok(())
}

/// Returns how many bytes a code needs beyond the first.
#[inline(always)]
fn bytes_beyond_one(code: u32) -> u8 {
    u8::from(code > 0xff) + u8::from(code > 0xffff) + u8::from(code > 0xff_ffff)
}

/// Halves of bytes; the first one of a byte waits for the second.
#[derive(Default)]
struct Halves {
    last: Option<u8>,
}

impl Halves {
    /// Appends a code, and returns its kind.
    fn push(&mut self, code: u32, data: &mut Vec<u8>) -> u8 {
        let (kind, halves) = match code {
            0 => (0, 0),
            1..=15 => (1, 1),
            16..=255 => (2, 2),
            _ => (3, 4),
        };
        for i in 0..halves {
            let half = (code >> (4 * i) & 15) as u8;
            match self.last.take() {
                Some(low) => data.push(low | half << 4),
                None => self.last = Some(half),
            }
        }
        kind
    }
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

        #[test]
        fn no_bytes_panic(values in prop::collection::vec(0u32..5, 4), len in 0u8..40, mut input: Vec<u8>) {
            input.splice(0..0, [len, 0, 0, 0]);
            let _ = Vbz.decode(&values, &input, 100);
        }
    }
}
