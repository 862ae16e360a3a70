//! JPEG-LS (ISO/IEC 14495-1) as the filters FCIDECOMP (32018), with which EUMETSAT distributes the images of MTG, and 32012.
//!
//! A chunk is one stream:
//!
//! | bytes | field |
//! |---|---|
//! | `FF D8` | start |
//! | `FF F7`, length | precision, lines, columns, components |
//! | `FF F8`, length | parameters that differ from the defaults, if there are any |
//! | `FF DA`, length | components of the scan, largest error, interleaving |
//! | | coded samples; after a byte FF, the next one has seven bits |
//! | `FF D9` | end |
//!
//! Samples of up to eight bits become bytes, and others words of two bytes, the lowest first. Components that have scans of their own follow
//! one another, as the plug-in returns them, and those that take turns line by line in one scan are put together sample by sample.

mod bits;
mod scan;

use nom::number::complete::{be_u8, be_u16};
use sciformats_core::fault::{ParseError, Parsed, field};
use sciformats_core::{Fault, FaultKind, bound};

use self::bits::{Bits, Out};
use self::scan::{Preset, Scan};
use crate::filter::{rule, truncated, value, within};
use crate::{Chunk, Filter, Kind};

/// The filter, by its number.
pub(crate) struct JpegLs {
    pub(crate) id: u16,
}

/// What a frame consists of.
#[derive(Clone, Copy, Debug)]
struct Frame {
    precision: u8,
    lines: u16,
    columns: u16,
    components: u8,
}

fn frame(i: &[u8]) -> Parsed<'_, Frame> {
    let (i, precision) = field("precision", be_u8)(i)?;
    let (i, lines) = field("lines", be_u16)(i)?;
    let (i, columns) = field("columns", be_u16)(i)?;
    let (i, components) = field("components", be_u8)(i)?;
    Ok((i, Frame { precision, lines, columns, components }))
}

/// Returns the marker segment at a place: its marker, its content, and the place after it.
fn segment(input: &[u8], at: usize) -> Result<(u8, &[u8], usize), Fault> {
    let rest = input.get(at..).unwrap_or_default();
    let (rest, first) = field("marker", be_u8::<_, ParseError>)(rest).map_err(|_| truncated("marker"))?;
    let (rest, marker) = field("marker", be_u8::<_, ParseError>)(rest).map_err(|_| truncated("marker"))?;
    if first != 0xff {
        return Err(rule("marker", "does not begin with FF"));
    }
    if matches!(marker, 0xd8 | 0xd9) {
        return Ok((marker, &[], at + 2));
    }
    let (_, len) = field("length", be_u16::<_, ParseError>)(rest).map_err(|_| truncated("length"))?;
    let content = rest.get(2..len.into()).ok_or_else(|| truncated("segment"))?;
    Ok((marker, content, at + 2 + usize::from(len)))
}

/// Decodes one stream of at most `max` bytes of samples.
fn decoded(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let (marker, _, mut at) = segment(input, 0)?;
    if marker != 0xd8 {
        return Err(rule("stream", "is not one of JPEG-LS"));
    }
    let mut size: Option<Frame> = None;
    let mut preset = [0i32; 5];
    let (mut out, mut done) = (Vec::new(), 0);
    loop {
        let (marker, content, next) = segment(input, at)?;
        at = next;
        let word = |from: usize| {
            content.get(from..).and_then(|part| part.first_chunk()).map(|two| u16::from_be_bytes(*two))
        };
        match (marker, size) {
            (0xf7, None) => {
                let (_, found) = frame(content).map_err(|_| truncated("frame header"))?;
                if !(2..=16).contains(&found.precision)
                    || found.columns == 0
                    || found.lines == 0
                    || !(1..=4).contains(&found.components)
                {
                    return Err(rule("frame header", "has values that the format does not allow"));
                }
                let bytes = if found.precision > 8 { 2 } else { 1 };
                let samples = u64::from(found.lines) * u64::from(found.columns) * u64::from(found.components);
                out.reserve_exact(within("samples", samples * bytes, max)?);
                size = Some(found);
            }
            (0xf8, _) => match content.first() {
                Some(1) => {
                    for (i, place) in preset.iter_mut().enumerate() {
                        *place = word(1 + 2 * i).ok_or_else(|| truncated("parameters"))?.into();
                    }
                }
                _ => return Err(rule("parameters", "are of a kind that is not supported")),
            },
            (0xda, Some(frame)) => {
                let count = usize::from(content.first().copied().unwrap_or(0));
                let tail = content.get(1 + 2 * count..).unwrap_or_default();
                let &[near, interleaving, transform, ..] = tail else { return Err(truncated("scan header")) };
                let tables = content.get(1..1 + 2 * count).unwrap_or_default();
                if count == 0 || tables.chunks(2).any(|pair| pair.get(1) != Some(&0)) || transform != 0 {
                    return Err(rule(
                        "scan header",
                        "asks for a mapping table or a shift, which are not supported",
                    ));
                }
                if interleaving == 2
                    || interleaving == 0 && count > 1
                    || done + count > frame.components.into()
                    || count > 1 && count != usize::from(frame.components)
                {
                    return Err(rule("scan header", "has components in an order that is not supported"));
                }
                at += scan(input.get(at..).unwrap_or_default(), frame, (count, near), preset, &mut out)?;
                done += count;
            }
            (0xd9, Some(frame)) if done == usize::from(frame.components) => return Ok(out),
            // Application data and comments.
            (0xe0..=0xef | 0xfe, _) => {}
            _ => return Err(rule("marker", "is not one of those that are expected here")),
        }
    }
}

/// Decodes a scan of `count` components, and appends their samples, sample by sample. Returns the place after the coded bytes.
fn scan(
    bytes: &[u8],
    frame: Frame,
    (count, near): (usize, u8),
    [largest, first, second, third, reset]: [i32; 5],
    out: &mut Vec<u8>,
) -> Result<usize, Fault> {
    let width = usize::from(frame.columns);
    let largest = if largest > 0 { largest } else { (1 << frame.precision) - 1 };
    let near = i32::from(near);
    if near > largest / 2 || largest >= 1 << frame.precision {
        return Err(rule("scan header", "allows a larger error than samples can have"));
    }
    let preset = Preset::of(largest, near, [first, second, third, reset]);
    let mut scan = Scan::new(Bits::of(bytes), preset, near);
    let mut lines = vec![(vec![0; width + 2], vec![0; width + 2], 0usize); count];
    for _ in 0..frame.lines {
        for (line, before, run) in &mut lines {
            // Each component has its own length of runs.
            std::mem::swap(&mut scan.run, run);
            scan.line(line, before)?;
            std::mem::swap(&mut scan.run, run);
            std::mem::swap(line, before);
        }
        let read: Vec<&[i32]> =
            lines.iter().map(|(_, line, _)| line.get(1..=width).unwrap_or_default()).collect();
        join(&read, frame.precision > 8, out);
    }
    Ok(scan.coder.end())
}

/// Appends lines of the components of one scan, sample by sample.
fn join(lines: &[&[i32]], wide: bool, out: &mut Vec<u8>) {
    let (start, len) = (out.len(), lines.first().map_or(0, |line| line.len()));
    let size = if wide { 2 } else { 1 };
    out.resize(bound::sum(start, bound::product(bound::product(len, lines.len()), size)), 0);
    let place = out.get_mut(start..).unwrap_or_default();
    if let [line] = lines {
        if wide {
            let words = place.as_chunks_mut::<2>().0;
            words.iter_mut().zip(*line).for_each(|(word, sample)| *word = low(*sample));
        } else {
            place.iter_mut().zip(*line).for_each(|(byte, sample)| [*byte, _] = low(*sample));
        }
        return;
    }
    for (component, line) in lines.iter().enumerate() {
        let places = place.chunks_exact_mut(size).skip(component).step_by(lines.len());
        for (to, sample) in places.zip(*line) {
            to.iter_mut().zip(low(*sample)).for_each(|(to, from)| *to = from);
        }
    }
}

/// Returns the lowest two bytes.
const fn low(sample: i32) -> [u8; 2] {
    let [low, high, ..] = sample.to_le_bytes();
    [low, high]
}

/// Encodes samples of one component without loss. `fill` is called with each line and the place of its first sample.
fn encoded(
    precision: u8,
    (lines, columns): (u16, u16),
    mut fill: impl FnMut(&mut [i32], usize),
) -> Result<Vec<u8>, Fault> {
    let mut out = vec![0xff, 0xd8, 0xff, 0xf7, 0, 11, precision];
    out.extend(lines.to_be_bytes());
    out.extend(columns.to_be_bytes());
    out.extend([1, 1, 0x11, 0]);
    out.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0]);
    let preset = Preset::of((1 << precision) - 1, 0, [0; 4]);
    let mut scan = Scan::new(Out::after(out), preset, 0);
    let width = usize::from(columns);
    let (mut line, mut before) = (vec![0; width + 2], vec![0; width + 2]);
    for row in 0..usize::from(lines) {
        fill(line.get_mut(1..=width).unwrap_or_default(), row * width);
        scan.line(&mut line, &mut before)?;
        std::mem::swap(&mut line, &mut before);
    }
    let mut out = scan.coder.finish();
    out.extend([0xff, 0xd9]);
    Ok(out)
}

impl Filter for JpegLs {
    fn id(&self) -> u16 {
        self.id
    }

    fn name(&self) -> &'static str {
        if self.id == 32018 { "fcidecomp" } else { "jpeg-ls" }
    }

    fn decode(&self, _values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        decoded(input, max)
    }

    fn writes(&self) -> bool {
        self.id == 32018
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        if !self.writes() {
            return Err(Fault::from(FaultKind::Rule("can only decode, so it cannot write chunks")));
        }
        let dimension = |at: usize| {
            u16::try_from(value(values, at)?)
                .map_err(|_| rule("chunk", "must have fewer than 65536 lines and columns"))
        };
        let (lines, columns) = (dimension(LINES)?, dimension(COLUMNS)?);
        let bits = value(values, BITS)?;
        let bytes = match bits {
            8 => 1,
            16 => 2,
            _ => return Err(rule("bits of a sample", "must be 8 or 16")),
        };
        let samples = usize::from(lines) * usize::from(columns);
        if input.len() / bytes != samples || samples == 0 {
            return Err(rule("chunk", "does not have as many samples as lines and columns"));
        }
        let precision = u8::try_from(bits).unwrap_or(16);
        encoded(precision, (lines, columns), |line, at| {
            let row = input.get(at * bytes..).unwrap_or_default();
            if bytes == 1 {
                line.iter_mut().zip(row).for_each(|(to, byte)| *to = (*byte).into());
            } else {
                let words = row.as_chunks::<2>().0;
                line.iter_mut().zip(words).for_each(|(to, word)| *to = u16::from_le_bytes(*word).into());
            }
        })
        .map(Some)
    }

    fn configure(&self, _asked: &[u32], chunk: &Chunk<'_>) -> Result<Vec<u32>, Fault> {
        let element = chunk.element;
        let integers = matches!(element.kind, Kind::Signed | Kind::Unsigned) && matches!(element.size, 1 | 2);
        if !integers || element.big_endian && element.size == 2 {
            return Err(rule("elements", "must be little-endian integers of 1 or 2 bytes"));
        }
        let long: Vec<u64> = chunk.long().collect();
        let (lines, columns) = match long.as_slice() {
            [lines, columns] => (*lines, *columns),
            [columns] => (1, *columns),
            [] => (1, 1),
            _ => return Err(rule("chunk", "must have two dimensions")),
        };
        let narrow = |n: u64| {
            u16::try_from(n).map_err(|_| rule("chunk", "must have fewer than 65536 lines and columns"))
        };
        let mut values = vec![0; VALUES];
        for (at, found) in [
            (0, element.size),
            (1, 1),
            (LINES, narrow(lines)?.into()),
            (COLUMNS, narrow(columns)?.into()),
            (BITS, element.size * 8),
            (5, 1),
        ] {
            if let Some(place) = values.get_mut(at) {
                *place = found;
            }
        }
        Ok(values)
    }
}

/// The places of the client data values of FCIDECOMP, and their number.
const LINES: usize = 2;
const COLUMNS: usize = 3;
const BITS: usize = 4;
const VALUES: usize = 13;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(samples: &[i32], precision: u8, size: (u16, u16)) -> Vec<u8> {
        encoded(precision, size, |line, at| line.copy_from_slice(&samples[at..][..line.len()])).unwrap()
    }

    /// The example of the standard (annex H.3): four lines of four samples.
    #[test]
    fn the_example_of_the_standard() {
        let samples = [0, 0, 90, 74, 68, 50, 43, 205, 64, 145, 145, 145, 100, 145, 145, 145];
        let coded = [
            0xC0, 0x00, 0x00, 0x6C, 0x80, 0x20, 0x8E, 0x01, 0xC0, 0x00, 0x00, 0x57, 0x40, 0x00, 0x00, 0x6E,
            0xE6, 0x00, 0x00, 0x01, 0xBC, 0x18, 0x00, 0x00, 0x05, 0xD8, 0x00, 0x00, 0x91, 0x60,
        ];
        let bytes = whole(&samples, 8, (4, 4));
        assert_eq!(bytes[25..bytes.len() - 2], coded);
        let wanted: Vec<u8> = samples.iter().map(|&sample| sample as u8).collect();
        assert_eq!(decoded(&bytes, 16).unwrap(), wanted);
        assert!(decoded(&bytes, 15).is_err());
        for end in 0..bytes.len() {
            assert!(decoded(&bytes[..end], 16).is_err(), "{end}");
        }
    }

    /// A stream of several components, each with a scan of its own, as the plug-in FCIDECOMP writes chunks of several planes.
    #[test]
    fn components_with_scans_of_their_own_follow_one_another() {
        for (bits, bytes) in [(8, 1), (16, 2)] {
            let planes: Vec<Vec<i32>> = (1..4).map(|seed| image(seed, 9, bits, 20)).collect();
            let mut stream = Vec::new();
            for (i, plane) in planes.iter().enumerate() {
                let one = whole(plane, bits as u8, (4, 5));
                if i == 0 {
                    stream.extend(&one[..12]);
                    stream[5] = 8 + 3 * 3;
                    stream[11] = 3;
                    stream.extend((1..4).flat_map(|component| [component, 0x11, 0]));
                }
                let scan = stream.len();
                stream.extend(&one[15..one.len() - 2]);
                stream[scan + 5] = i as u8 + 1;
            }
            stream.extend([0xff, 0xd9]);
            let wanted: Vec<u8> =
                planes.concat().iter().flat_map(|sample| sample.to_le_bytes()[..bytes].to_vec()).collect();
            assert_eq!(decoded(&stream, wanted.len()).unwrap(), wanted);
        }
    }

    fn image(seed: u64, rough: u64, bits: u32, len: usize) -> Vec<i32> {
        let mut state = seed | 1;
        let mut at = 1i64 << (bits - 1);
        (0..len)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                at = (at + (state % (2 * rough + 1)) as i64 - rough as i64).clamp(0, (1 << bits) - 1);
                at as i32
            })
            .collect()
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(seed: u64, rough in 0u64..4000, wide: bool, lines in 1u16..20, columns in 1u16..70) {
            let bits = if wide { 16 } else { 8 };
            let samples = image(seed, if wide { rough } else { rough / 100 }, bits, usize::from(lines) * usize::from(columns));
            let bytes = whole(&samples, bits as u8, (lines, columns));
            let mut wanted = Vec::new();
            join(&[&samples], wide, &mut wanted);
            prop_assert_eq!(decoded(&bytes, wanted.len()).unwrap(), wanted);
        }

        #[test]
        fn no_bytes_panic(input: Vec<u8>, seed: u64, at: prop::sample::Index, byte: u8) {
            let _ = decoded(&input, 1000);
            let mut bytes = whole(&image(seed, 5, 8, 400), 8, (20, 20));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decoded(&bytes, 4000);
        }
    }
}
