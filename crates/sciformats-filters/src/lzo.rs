//! LZO (filter 305), with which old versions of `PyTables` compressed: LZO1X, written from the description of its format.
//!
//! The client data values: a level without effect, the version of the node times ten, the kind of the node (0: a table).
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | | the stream |
//! | end − 8 | 4 | Adler-32 of the decoded chunk, little-endian |
//! | end − 4 | 4 | decoded size, little-endian |
//!
//! Tables of versions before 2.0 have no fields after the stream. A stream consists of instructions, and of the bytes that they copy:
//!
//! | first byte | instruction |
//! |---|---|
//! | `0000 LLLL`, after no new bytes | 3 + L new bytes; L = 0 continues in the next bytes |
//! | `0000 DDSS`, after 1 to 3 new bytes | 2 bytes from up to 1 KiB before |
//! | `0000 DDSS`, after more new bytes | 3 bytes from 2 to 3 KiB before |
//! | `0001 HLLL` | 2 + L bytes from 16 to 48 KiB before; a distance of 16 KiB ends the stream |
//! | `001L LLLL` | 2 + L bytes from up to 16 KiB before |
//! | `01LD DDSS` | 3 + L bytes from up to 2 KiB before |
//! | `1LLD DDSS` | 5 + L bytes from up to 2 KiB before |
//!
//! S new bytes follow each copy. The first byte of a stream, if it is larger than 17, stands for that many new bytes less 17.

use sciformats_core::lz::{self, Output};
use sciformats_core::{Fault, FaultKind, bound};

use crate::Filter;
use crate::filter::{rule, truncated, within};

/// The filter.
pub(crate) struct Lzo;

/// The bytes after the stream.
const TAIL: usize = 8;
/// The version from which on tables have these bytes.
const CHECKED: u32 = 20;
/// The kind of a table.
const TABLE: u32 = 0;

/// Returns whether the two fields follow the stream; `None` if the values do not say so.
fn has_tail(values: &[u32]) -> Option<bool> {
    match values {
        [_, version, kind, ..] => Some(*kind != TABLE || *version >= CHECKED),
        _ => None,
    }
}

impl Filter for Lzo {
    fn id(&self) -> u16 {
        305
    }

    fn name(&self) -> &'static str {
        "lzo"
    }

    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        let ended = || -> Result<Vec<u8>, Fault> {
            let at = input.len().checked_sub(TAIL).ok_or_else(|| truncated("decoded size"))?;
            let (stream, tail) = input.split_at(at);
            let word = |from: usize| {
                tail.get(from..)
                    .and_then(|part| part.first_chunk())
                    .map_or(0, |word| u32::from_le_bytes(*word))
            };
            let len = within("decoded size", word(4).into(), max)?;
            let out = stream_of(stream, len)?;
            let (stored, computed) = (u64::from(word(0)), u64::from(adler32(&out)));
            if out.len() != len {
                let kind = FaultKind::Mismatch { expected: len as u64, found: out.len() as u64 };
                return Err(Fault::new("decoded size", kind));
            }
            match stored == computed {
                true => Ok(out),
                false => Err(Fault::new("checksum", FaultKind::Checksum { stored, computed })),
            }
        };
        match has_tail(values) {
            Some(true) => ended(),
            Some(false) => stream_of(input, max),
            // Without values, the fields are there if they are right.
            None => ended().or_else(|_| stream_of(input, max)),
        }
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let mut out = encoded(input);
        if has_tail(values) != Some(false) {
            let len = u32::try_from(input.len()).map_err(|_| rule("chunk", "must be smaller than 4 GiB"))?;
            out.extend(adler32(input).to_le_bytes());
            out.extend(len.to_le_bytes());
        }
        // The filter is not optional, so that a chunk that does not shrink is stored as a longer stream.
        Ok(Some(out))
    }

    fn configure(&self, asked: &[u32], _chunk: &crate::Chunk<'_>) -> Result<Vec<u32>, Fault> {
        // The values of a node that is no table, which PyTables reads with the checksum.
        Ok(if asked.len() < 3 { vec![asked.first().copied().unwrap_or(1), 20, 1] } else { asked.to_vec() })
    }
}

/// The bytes that are read.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    #[inline(always)]
    fn byte(&mut self) -> Result<usize, Fault> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| truncated("lzo stream"))?;
        self.at += 1;
        Ok(byte.into())
    }

    #[inline(always)]
    fn word(&mut self) -> Result<usize, Fault> {
        let word = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<2>);
        let word = word.ok_or_else(|| truncated("lzo stream"))?;
        self.at += 2;
        Ok(u16::from_le_bytes(*word).into())
    }

    /// Reads the rest of a length that does not fit its bits: 255 for each zero, and then the next byte.
    #[inline(always)]
    fn length(&mut self, bits: usize, most: usize) -> Result<usize, Fault> {
        if bits > 0 {
            return Ok(bits);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        self.at += zeros;
        Ok(bound::sum(bound::sum(most, bound::product(zeros, 255)), self.byte()?))
    }
}

/// A copy whose instruction has two or three bytes.
struct Short {
    len: usize,
    distance: usize,
    /// The new bytes after it.
    next: usize,
    /// The bytes of the instruction.
    size: usize,
}

impl Short {
    #[inline(always)]
    fn of(head: &[u8; 8]) -> Option<Self> {
        let code = usize::from(head[0]);
        if code >= 64 {
            let len = if code < 128 { 3 + (code >> 5 & 1) } else { 5 + (code >> 5 & 3) };
            let distance = (usize::from(head[1]) << 3) + (code >> 2 & 7) + 1;
            return Some(Self { len, distance, next: code & 3, size: 2 });
        }
        let low = usize::from(u16::from_le_bytes([head[1], head[2]]));
        if code > 32 {
            return Some(Self { len: (code & 31) + 2, distance: (low >> 2) + 1, next: low & 3, size: 3 });
        }
        let distance = 16384 + ((code & 8) << 11) + (low >> 2);
        let is_copy = code & 0x10 != 0 && code & 7 != 0 && distance != 16384;
        is_copy.then_some(Self { len: (code & 7) + 2, distance, next: low & 3, size: 3 })
    }
}

/// Decodes a stream of at most `max` bytes.
fn stream_of(bytes: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let mut input = Input { bytes, at: 0 };
    // Most streams unfold to less than four times their size.
    let mut out = Output::new(bound::product(bytes.len(), 4), max);
    let over = || {
        Fault::new("lzo stream", FaultKind::OutOfBounds { found: bound::sum(max as u64, 1), end: max as u64 })
    };
    let new = |out: &mut Output, input: &mut Input<'_>, len: usize| -> Result<(), Fault> {
        if !out.reserve(len) {
            return Err(over());
        }
        out.literals(bytes, input.at, len).ok_or_else(|| truncated("lzo stream"))?;
        input.at += len;
        Ok(())
    };
    // The new bytes before an instruction, of which more than three count as four.
    let mut state = 0;
    if bytes.first().is_some_and(|&first| first > 17) {
        state = input.byte()? - 17;
        new(&mut out, &mut input, state)?;
        state = state.min(4);
    }
    loop {
        // Most instructions are copies of few bytes, and are far from the end of the stream.
        while let Some(head) = bytes.get(input.at..).and_then(<[u8]>::first_chunk::<8>)
            && let Some(Short { len, distance, next, size }) = Short::of(head)
        {
            if !out.reserve(len + next) {
                return Err(over());
            }
            out.repeat(distance, len).ok_or_else(|| rule("distance", "leads before the start"))?;
            let few = [head[size], head[size + 1], head[size + 2], head[size + 3]];
            out.few(few, next).ok_or_else(over)?;
            input.at += size + next;
            state = next;
        }
        let code = input.byte()?;
        let (len, distance, next) = match code {
            64.. => {
                let len = if code < 128 { 3 + (code >> 5 & 1) } else { 5 + (code >> 5 & 3) };
                (len, (input.byte()? << 3) + (code >> 2 & 7) + 1, code & 3)
            }
            32.. => {
                let len = bound::sum(input.length(code & 31, 31)?, 2);
                let low = input.word()?;
                (len, (low >> 2) + 1, low & 3)
            }
            16.. => {
                let len = bound::sum(input.length(code & 7, 7)?, 2);
                let low = input.word()?;
                let distance = 16384 + ((code & 8) << 11) + (low >> 2);
                if distance == 16384 {
                    return match input.at == bytes.len() {
                        true => Ok(out.into_bytes()),
                        false => Err(rule("lzo stream", "is followed by other bytes")),
                    };
                }
                (len, distance, low & 3)
            }
            _ if state == 0 => {
                let len = bound::sum(input.length(code, 15)?, 3);
                new(&mut out, &mut input, len)?;
                state = 4;
                continue;
            }
            _ => {
                let near = (input.byte()? << 2) + (code >> 2);
                let (len, distance) = if state == 4 { (3, near + 2049) } else { (2, near + 1) };
                (len, distance, code & 3)
            }
        };
        if !out.reserve(bound::sum(len, next)) {
            return Err(over());
        }
        out.repeat(distance, len).ok_or_else(|| rule("distance", "leads before the start"))?;
        out.literals(bytes, input.at, next).ok_or_else(|| truncated("lzo stream"))?;
        input.at += next;
        state = next;
    }
}

/// The farthest distance of a copy of the usual kind.
const FAR: usize = 0xbfff;
/// The number of places that are remembered.
const TABLE_SIZE: usize = 1 << 14;

/// Encodes a stream. Copies of at least four bytes are looked for.
fn encoded(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    let mut seen = vec![usize::MAX; TABLE_SIZE];
    let hash = |four: &[u8; 4]| (u32::from_le_bytes(*four).wrapping_mul(0x9E37_79B1) >> 18) as usize;
    let (mut at, mut from, mut misses) = (0usize, 0usize, 0usize);
    // Where the byte is whose lowest bits say how many new bytes follow.
    let mut last: Option<usize> = None;
    while let Some(four) = input.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let slot = hash(four) % TABLE_SIZE;
        let candidate = seen.get(slot).copied().unwrap_or(usize::MAX);
        if let Some(place) = seen.get_mut(slot) {
            *place = at;
        }
        let distance = at.wrapping_sub(candidate);
        let fits = candidate < at
            && distance <= FAR
            && distance != 16384
            && input.get(candidate..candidate + 4) == Some(&four[..]);
        if !fits {
            misses += 1;
            at += 1 + (misses >> 6);
            continue;
        }
        misses = 0;
        let len = lz::common(input, candidate, at, input.len());
        new_bytes(&mut out, input.get(from..at).unwrap_or_default(), &mut last);
        copy(&mut out, len, distance, &mut last);
        at += len;
        from = at;
    }
    new_bytes(&mut out, input.get(from..).unwrap_or_default(), &mut last);
    out.extend([0x11, 0, 0]);
    out
}

/// Appends new bytes.
fn new_bytes(out: &mut Vec<u8>, bytes: &[u8], last: &mut Option<usize>) {
    let len = bytes.len();
    let few = u8::try_from(len).unwrap_or(u8::MAX);
    if len == 0 {
        return;
    }
    if out.is_empty() && len <= 238 {
        out.push(17 + few);
    } else if let Some(byte) = last.and_then(|last| out.get_mut(last)).filter(|_| len <= 3) {
        *byte |= few;
    } else if len <= 18 {
        out.push(few - 3);
    } else {
        out.push(0);
        length(out, len - 18);
    }
    out.extend_from_slice(bytes);
    *last = None;
}

/// Appends what does not fit the bits of a length.
fn length(out: &mut Vec<u8>, mut rest: usize) {
    while rest > 255 {
        out.push(0);
        rest -= 255;
    }
    out.push(u8::try_from(rest).unwrap_or(u8::MAX));
}

/// Appends a copy, and notes where the number of new bytes after it is kept.
fn copy(out: &mut Vec<u8>, len: usize, distance: usize, last: &mut Option<usize>) {
    let low = |value: usize| u8::try_from(value & 0xff).unwrap_or_default();
    if len <= 8 && distance <= 2048 {
        let near = distance - 1;
        let kind = if len <= 4 { 0x40 | (len - 3) << 5 } else { 0x80 | (len - 5) << 5 };
        out.push(low(kind | (near & 7) << 2));
        *last = Some(out.len() - 1);
        out.push(low(near >> 3));
        return;
    }
    let (kind, most, way) = match distance {
        0..=16384 => (0x20, 31, distance - 1),
        _ => (0x10 | (distance - 16384) >> 11 & 8, 7, (distance - 16384) & 0x3fff),
    };
    if len - 2 <= most {
        out.push(low(kind | (len - 2)));
    } else {
        out.push(low(kind));
        length(out, len - 2 - most);
    }
    out.push(low(way << 2));
    *last = Some(out.len() - 1);
    out.push(low(way >> 6));
}

/// Returns the Adler-32 of bytes.
fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65521;
    // So many bytes can be summed up before the second sum would exceed 32 bits.
    let (a, b) = bytes.chunks(5552).fold((1u32, 0u32), |(a, b), part| {
        let (a, b) = part.iter().fold((a, b), |(a, b), &byte| (a + u32::from(byte), b + a + u32::from(byte)));
        (a % PRIME, b % PRIME)
    });
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_instruction() {
        let bytes = [
            17 + 5,
            b'a',
            b'b',
            b'c',
            b'd',
            b'e', // five new bytes
            0x40 | 1 << 5 | 4 << 2 | 1,
            0,
            b'x', // four bytes from five before, and a new one
            0b0000_0110,
            0,
            b'y',
            b'z', // after one new byte: two bytes from two before, and two new ones
            0x20 | 3,
            3 << 2,
            0, // five bytes from four before
            0,
            2, // more than fifteen new bytes: 3 + 15 + 2
            b'0',
            b'1',
            b'2',
            b'3',
            b'4',
            b'5',
            b'6',
            b'7',
            b'8',
            b'9',
            b'0',
            b'1',
            b'2',
            b'3',
            b'4',
            b'5',
            b'6',
            b'7',
            b'8',
            b'9',
            0x11,
            0,
            0, // the end
        ];
        let out = stream_of(&bytes, 100).unwrap();
        assert_eq!(out, b"abcdeabcdxdxyzdxyzd01234567890123456789");
        for end in 0..bytes.len() {
            assert!(stream_of(&bytes[..end], 100).is_err(), "{end}");
        }
        assert!(stream_of(&bytes, out.len() - 1).is_err());
    }

    #[test]
    fn a_stream_of_another_library() {
        #[rustfmt::skip]
        let bytes = [
            0x21, 0x73, 0x74, 0x61, 0x74, 0x69, 0x6f, 0x6e, 0x20, 0x30, 0x20, 0x6f, 0x66, 0x20, 0x30, 0x3b,
            0x20, 0xfd, 0x01, 0x31, 0x7d, 0x01, 0x31, 0x28, 0x3d, 0x00, 0x32, 0x7d, 0x01, 0x34, 0x28, 0x3d,
            0x00, 0x33, 0x7d, 0x01, 0x39, 0x28, 0x3d, 0x00, 0x34, 0x7d, 0x01, 0x33, 0x28, 0x3d, 0x00, 0x35,
            0x9d, 0x07, 0x32, 0x28, 0x41, 0x00, 0x36, 0x80, 0x02, 0x29, 0x84, 0x01, 0x84, 0x0e, 0x2a, 0x40,
            0x00, 0xa8, 0x0e, 0x29, 0xc8, 0x00, 0x8c, 0x0e, 0x29, 0x4c, 0x01, 0x33, 0xcc, 0x01, 0x4c, 0x12,
            0x11, 0x00, 0x00,
        ];
        let text: String = (0..12).map(|i| format!("station {} of {}; ", i % 7, i * i % 13)).collect();
        assert_eq!(stream_of(&bytes, 196).unwrap(), text.as_bytes());
    }

    #[test]
    fn known_checksums() {
        assert_eq!((adler32(b""), adler32(b"Wikipedia")), (1, 0x11E6_0398));
    }

    #[test]
    fn old_tables_have_no_tail() {
        let data = vec![7; 4000];
        for values in [&[1u32, 10, 0][..], &[1, 20, 0], &[1, 10, 1], &[]] {
            let bytes = Lzo.encode(values, &data).unwrap().unwrap();
            assert_eq!(Lzo.decode(values, &bytes, 4000).unwrap(), data, "{values:?}");
            assert!(Lzo.decode(values, &bytes, 3999).is_err());
        }
        let mut bytes = Lzo.encode(&[], &data).unwrap().unwrap();
        let at = bytes.len() - 8;
        bytes[at] ^= 1;
        assert!(Lzo.decode(&[1, 20, 0], &bytes, 4000).is_err());
    }

    #[test]
    fn chunks_that_do_not_shrink_are_stored() {
        for data in [&b"x"[..], b"", b"no byte of this occurs twic."] {
            let bytes = Lzo.encode(&[], data).unwrap().unwrap();
            assert!(bytes.len() > data.len());
            assert_eq!(Lzo.decode(&[], &bytes, data.len()).unwrap(), data);
        }
    }

    #[test]
    fn far_copies() {
        let mut data: Vec<u8> = (0..50_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for far in [1000, 16_383, 16_384, 16_385, 32_767, 32_768, 32_769, 49_151, 49_152] {
            let at = data.len() - far;
            data.extend_from_within(at..at + 600);
        }
        assert_eq!(stream_of(&encoded(&data), data.len()).unwrap(), data);
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(seed in prop::collection::vec(0u8..4, 0..3000), bytes: Vec<u8>) {
            for data in [&seed, &bytes] {
                prop_assert_eq!(&stream_of(&encoded(data), data.len()).unwrap(), data);
            }
        }

        #[test]
        fn no_bytes_panic(input: Vec<u8>) {
            let _ = Lzo.decode(&[], &input, 1000);
            let _ = Lzo.decode(&[1, 10, 0], &input, 1000);
        }
    }
}
