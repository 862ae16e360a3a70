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
//! Samples of up to eight bits become bytes, and others words of two bytes, the lowest first.

use nom::number::complete::{be_u8, be_u16};
use sciformats_core::fault::{ParseError, Parsed, field};
use sciformats_core::{Fault, FaultKind, bound};

use crate::filter::{rule, truncated, value, within};
use crate::{Chunk, Filter, Kind};

/// The filter, by its number.
pub(crate) struct JpegLs {
    pub(crate) id: u16,
}

/// The lengths of runs, as powers of two.
const RUNS: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The contexts of regular samples, and two for the end of runs.
const REGULAR: usize = 365;

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

/// The parameters of the coding.
#[derive(Clone, Copy, Debug)]
struct Preset {
    largest: i32,
    thresholds: [i32; 3],
    reset: i32,
}

impl Preset {
    /// Returns the parameters for samples up to `largest`, and those of the stream where it has any.
    fn of(largest: i32, near: i32, stored: [i32; 4]) -> Self {
        let clamp = |value: i32, low: i32| if value > largest || value < low { low } else { value };
        let defaults = if largest >= 128 {
            let factor = (largest.min(4095) + 128) / 256;
            [factor + 2 + 3 * near, factor * 4 + 3 + 5 * near, factor * 17 + 4 + 7 * near]
        } else {
            let factor = 256 / (largest + 1);
            [(3 / factor + 3 * near).max(2), (7 / factor + 5 * near).max(3), (21 / factor + 7 * near).max(4)]
        };
        let [first, second, third, reset] = stored;
        let [a, b, c] = defaults;
        let first = if first > 0 { first } else { clamp(a, near + 1) };
        let second = if second > 0 { second } else { clamp(b, first) };
        let third = if third > 0 { third } else { clamp(c, second) };
        Self { largest, thresholds: [first, second, third], reset: if reset > 0 { reset } else { 64 } }
    }
}

/// Bits of coded samples.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
    after_ff: bool,
}

impl Bits<'_> {
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

    fn take(&mut self, count: u32) -> Result<u32, Fault> {
        if count == 0 {
            return Ok(0);
        }
        self.fill(count)?;
        self.count -= count;
        Ok(u32::try_from(self.held >> self.count & ((1 << count) - 1)).unwrap_or_default())
    }

    /// Counts zeros up to a one, of which there may be `most`.
    fn zeros(&mut self, most: u32) -> Result<u32, Fault> {
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
struct Out {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Out {
    fn bit(&mut self, bit: u32) {
        let width = if self.bytes.last() == Some(&0xff) { 7 } else { 8 };
        self.held = self.held << 1 | bit;
        self.count += 1;
        if self.count == width {
            self.bytes.push(u8::try_from(self.held).unwrap_or_default());
            (self.held, self.count) = (0, 0);
        }
    }

    fn zeros(&mut self, count: u32) {
        (0..count).for_each(|_| self.bit(0));
    }

    fn put(&mut self, value: u32, count: u32) {
        (0..count).rev().for_each(|place| self.bit(value >> place & 1));
    }

    fn finish(mut self) -> Vec<u8> {
        while self.count > 0 {
            self.bit(0);
        }
        if self.bytes.last() == Some(&0xff) {
            self.bytes.push(0);
        }
        self.bytes
    }
}

/// Where the coded bits come from or go to.
enum Coder<'a> {
    Reading(Bits<'a>),
    Writing(Out),
}

#[derive(Clone, Copy)]
struct Context {
    a: i32,
    b: i32,
    c: i32,
    n: i32,
}

/// The state of the coding of one scan.
struct Scan<'a> {
    coder: Coder<'a>,
    preset: Preset,
    near: i32,
    range: i32,
    bits: u32,
    limit: u32,
    contexts: Vec<Context>,
    /// The negative errors at the ends of runs.
    negative: [i32; 2],
    run: usize,
}

impl<'a> Scan<'a> {
    fn new(coder: Coder<'a>, preset: Preset, near: i32) -> Self {
        let range = (preset.largest + 2 * near) / (2 * near + 1) + 1;
        let width = |count: i32| 32 - (count - 1).max(0).leading_zeros();
        let depth = width(preset.largest + 1).max(2);
        let start = Context { a: ((range + 32) / 64).max(2), b: 0, c: 0, n: 1 };
        Self {
            coder,
            preset,
            near,
            range,
            bits: width(range),
            limit: 2 * (depth + depth.max(8)),
            contexts: vec![start; REGULAR + 2],
            negative: [0; 2],
            run: 0,
        }
    }

    fn context(&mut self, at: usize) -> Context {
        self.contexts.get(at).copied().unwrap_or(Context { a: 2, b: 0, c: 0, n: 1 })
    }

    fn keep(&mut self, at: usize, context: Context) {
        if let Some(kept) = self.contexts.get_mut(at) {
            *kept = context;
        }
    }

    /// Codes a number that is not negative with `k` low bits. While reading, `value` is ignored.
    fn golomb(&mut self, value: u32, k: u32, limit: u32) -> Result<u32, Fault> {
        let most = limit.saturating_sub(self.bits + 1); // a bound: the shortest code
        match &mut self.coder {
            Coder::Reading(bits) => match bits.zeros(most)? {
                zeros if zeros < most => Ok(zeros << k | bits.take(k)?),
                _ => Ok(bits.take(self.bits)? + 1),
            },
            Coder::Writing(out) => {
                let high = value >> k;
                if high < most {
                    out.zeros(high);
                    out.bit(1);
                    out.put(value, k);
                } else {
                    out.zeros(most);
                    out.bit(1);
                    out.put(value.wrapping_sub(1), self.bits);
                }
                Ok(value)
            }
        }
    }

    fn quantize(&self, difference: i32) -> i32 {
        let [first, second, third] = self.preset.thresholds;
        let size = match difference.abs() {
            size if size <= self.near => 0,
            size if size < first => 1,
            size if size < second => 2,
            size if size < third => 3,
            _ => 4,
        };
        size * difference.signum()
    }

    /// Returns the quantized error of a sample, within the range.
    fn error(&self, difference: i32) -> i32 {
        let step = 2 * self.near + 1;
        let quantized = match difference {
            difference if difference > 0 => (difference + self.near) / step,
            difference => -((self.near - difference) / step),
        };
        let low = if quantized < 0 { quantized + self.range } else { quantized };
        if low >= (self.range + 1) / 2 { low - self.range } else { low }
    }

    /// Returns the sample that an error leads to.
    fn sample(&self, predicted: i32, error: i32) -> i32 {
        let step = 2 * self.near + 1;
        let found = predicted.saturating_add(error.saturating_mul(step)); // a bound: clamped below
        let found = if found < -self.near {
            found + self.range * step
        } else if found > self.preset.largest + self.near {
            found - self.range * step
        } else {
            found
        };
        found.clamp(0, self.preset.largest)
    }

    /// Codes a sample whose neighbours differ. While reading, `wanted` is ignored.
    fn regular(&mut self, wanted: i32, [a, b, c, d]: [i32; 4]) -> Result<i32, Fault> {
        let gradients = [d - b, b - c, c - a].map(|difference| self.quantize(difference));
        let [first, second, third] = gradients;
        let number = 81 * first + 9 * second + third;
        let sign = if number < 0 { -1 } else { 1 };
        let at = usize::try_from(number.abs()).unwrap_or_default();
        let mut context = self.context(at);
        let predicted = match c {
            c if c >= a.max(b) => a.min(b),
            c if c <= a.min(b) => a.max(b),
            c => a + b - c,
        };
        let predicted = (predicted + sign * context.c).clamp(0, self.preset.largest);
        let k = (0..16).find(|k| context.n << k >= context.a).unwrap_or(16);
        let special = self.near == 0 && k == 0 && 2 * context.b <= -context.n;
        let mut error = self.error(sign * (wanted - predicted));
        let mapped = match (special, error >= 0) {
            (true, true) => 2 * error + 1,
            (true, false) => -2 * (error + 1),
            (false, true) => 2 * error,
            (false, false) => -2 * error - 1,
        };
        let coded = self.golomb(u32::try_from(mapped).unwrap_or_default(), k, self.limit)?;
        if matches!(self.coder, Coder::Reading(_)) {
            let coded =
                i32::try_from(coded).map_err(|_| rule("coded samples", "have an error that is too large"))?;
            error = match (special, coded & 1 == 1) {
                (true, true) => (coded - 1) / 2,
                (true, false) => -(coded / 2) - 1,
                (false, true) => -((coded + 1) / 2),
                (false, false) => coded / 2,
            };
            if error.abs() > self.range {
                return Err(rule("coded samples", "have an error that is too large"));
            }
        }
        context.b += error * (2 * self.near + 1);
        context.a += error.abs();
        if context.n == self.preset.reset {
            context.a >>= 1;
            context.b = if context.b >= 0 { context.b >> 1 } else { -((1 - context.b) >> 1) };
            context.n >>= 1;
        }
        context.n += 1;
        if context.b <= -context.n {
            context.b = (context.b + context.n).max(1 - context.n);
            context.c = (context.c - 1).max(-128);
        } else if context.b > 0 {
            context.b = (context.b - context.n).min(0);
            context.c = (context.c + 1).min(127);
        }
        self.keep(at, context);
        Ok(self.sample(predicted, sign * error))
    }

    /// Codes the sample that ends a run.
    fn ending(&mut self, wanted: i32, a: i32, b: i32) -> Result<i32, Fault> {
        let alike = (a - b).abs() <= self.near;
        let kind = i32::from(alike);
        let which = usize::from(alike);
        let mut context = self.context(REGULAR + which);
        let negative = self.negative.get(which).copied().unwrap_or(0);
        let (predicted, sign) = if alike { (a, 1) } else { (b, if a > b { -1 } else { 1 }) };
        let size = if alike { context.a + (context.n >> 1) } else { context.a };
        let k = (0..16).find(|k| context.n << k >= size).unwrap_or(16);
        let mut error = self.error(sign * (wanted - predicted));
        let map = if k == 0 && error > 0 {
            2 * negative < context.n
        } else {
            error < 0 && (2 * negative >= context.n || k != 0)
        };
        let mapped = 2 * error.abs() - kind - i32::from(map);
        let run = RUNS.get(self.run).copied().unwrap_or(15);
        let coded = self.golomb(u32::try_from(mapped).unwrap_or_default(), k, self.limit - run - 1)?;
        let coded =
            i32::try_from(coded).map_err(|_| rule("coded samples", "have an error that is too large"))?;
        if matches!(self.coder, Coder::Reading(_)) {
            let sum = coded + kind;
            let map = sum & 1;
            let size = (sum + map) / 2;
            let is_negative = (k != 0 || 2 * negative >= context.n) == (map == 1);
            error = if is_negative { -size } else { size };
            if size > self.range {
                return Err(rule("coded samples", "have an error that is too large"));
            }
        }
        if error < 0
            && let Some(count) = self.negative.get_mut(which)
        {
            *count += 1;
        }
        context.a += (coded + 1 - kind) >> 1;
        if context.n == self.preset.reset {
            context.a >>= 1;
            context.n >>= 1;
            if let Some(count) = self.negative.get_mut(which) {
                *count >>= 1;
            }
        }
        context.n += 1;
        self.keep(REGULAR + which, context);
        Ok(self.sample(predicted, sign * error))
    }

    /// Codes the length of a run, of which `left` samples are possible. While reading, `len` is ignored.
    fn run_length(&mut self, len: usize, left: usize) -> Result<usize, Fault> {
        let mut done = 0;
        loop {
            let run = RUNS.get(self.run).copied().unwrap_or(15);
            let step = 1usize << run;
            let goes_on = match &mut self.coder {
                Coder::Reading(bits) => bits.take(1)? == 1,
                Coder::Writing(out) => {
                    // A run that reaches the end of the line needs no length.
                    let goes_on = len - done >= step || len == left && len > done;
                    if goes_on || len < left {
                        out.bit(u32::from(goes_on));
                    }
                    goes_on
                }
            };
            if !goes_on {
                let rest = match &mut self.coder {
                    Coder::Reading(bits) => bits.take(run)?,
                    Coder::Writing(out) => {
                        let rest = u32::try_from(len - done).unwrap_or_default();
                        if len < left {
                            out.put(rest, run);
                        }
                        rest
                    }
                };
                done += rest as usize;
                return match done < left || matches!(self.coder, Coder::Writing(_)) {
                    true => Ok(done),
                    false => Err(rule("coded samples", "have a run that is longer than its line")),
                };
            }
            if left - done >= step {
                done += step;
                self.run = (self.run + 1).min(RUNS.len() - 1);
            } else {
                done = left;
            }
            if done == left {
                return Ok(left);
            }
        }
    }

    /// Codes one line. `line` and `before` have a sample before the first and after the last one. While writing, `line` is replaced by
    /// the samples that a reader gets.
    fn line(&mut self, line: &mut [i32], before: &mut [i32]) -> Result<(), Fault> {
        let width = line.len() - 2;
        let sample = |line: &[i32], at: usize| line.get(at).copied().unwrap_or_default();
        // The sample before the first one is that above the first one, and the one after the last one is the last one.
        if let Some(last) = before.get_mut(width + 1) {
            *last = 0;
        }
        let end = sample(before, width);
        if let Some(last) = before.get_mut(width + 1) {
            *last = end;
        }
        if let Some(first) = line.first_mut() {
            *first = sample(before, 1);
        }
        let mut at = 1;
        while at <= width {
            let [a, b, c, d] =
                [sample(line, at - 1), sample(before, at), sample(before, at - 1), sample(before, at + 1)];
            let flat = [d - b, b - c, c - a].iter().all(|difference| difference.abs() <= self.near);
            if !flat {
                let found = self.regular(sample(line, at), [a, b, c, d])?;
                if let Some(place) = line.get_mut(at) {
                    *place = found;
                }
                at += 1;
                continue;
            }
            let left = width + 1 - at;
            let wanted = match self.coder {
                Coder::Reading(_) => 0,
                Coder::Writing(_) => {
                    let rest = line.get(at..=width).unwrap_or_default();
                    rest.iter().take_while(|&&sample| (sample - a).abs() <= self.near).count()
                }
            };
            let len = self.run_length(wanted, left)?;
            line.get_mut(at..at + len).unwrap_or_default().fill(a);
            at += len;
            if len < left {
                let found = self.ending(sample(line, at), a, sample(before, at))?;
                if let Some(place) = line.get_mut(at) {
                    *place = found;
                }
                self.run = self.run.saturating_sub(1); // a bound: the shortest runs
                at += 1;
            }
        }
        Ok(())
    }
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
    let mut planes: Vec<Vec<i32>> = Vec::new();
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
                within("samples", samples * bytes, max)?;
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
                    || planes.len() + count > frame.components.into()
                {
                    return Err(rule(
                        "scan header",
                        "has samples of several components in turn, which is not supported",
                    ));
                }
                let (read, end) = scan(input.get(at..).unwrap_or_default(), frame, (count, near), preset)?;
                planes.extend(read);
                at += end;
            }
            (0xd9, Some(frame)) if planes.len() == usize::from(frame.components) => {
                return Ok(joined(&planes, frame.precision > 8));
            }
            // Application data and comments.
            (0xe0..=0xef | 0xfe, _) => {}
            _ => return Err(rule("marker", "is not one of those that are expected here")),
        }
    }
}

/// Decodes a scan of `count` components. Returns their samples, and the place after the coded bytes.
fn scan(
    bytes: &[u8],
    frame: Frame,
    (count, near): (usize, u8),
    [largest, first, second, third, reset]: [i32; 5],
) -> Result<(Vec<Vec<i32>>, usize), Fault> {
    let width = usize::from(frame.columns);
    let largest = if largest > 0 { largest } else { (1 << frame.precision) - 1 };
    let near = i32::from(near);
    if near > largest / 2 || largest >= 1 << frame.precision {
        return Err(rule("scan header", "allows a larger error than samples can have"));
    }
    let preset = Preset::of(largest, near, [first, second, third, reset]);
    let bits = Bits { bytes, at: 0, held: 0, count: 0, after_ff: false };
    let mut scan = Scan::new(Coder::Reading(bits), preset, near);
    let mut planes = vec![Vec::new(); count];
    let mut lines = vec![(vec![0; width + 2], vec![0; width + 2], 0usize); count];
    for _ in 0..frame.lines {
        for (plane, (line, before, run)) in planes.iter_mut().zip(&mut lines) {
            // Each component has its own length of runs.
            std::mem::swap(&mut scan.run, run);
            scan.line(line, before)?;
            std::mem::swap(&mut scan.run, run);
            plane.extend_from_slice(line.get(1..=width).unwrap_or_default());
            std::mem::swap(line, before);
        }
    }
    let Coder::Reading(bits) = scan.coder else { return Ok((planes, 0)) };
    // No byte was taken of which no bit was needed. If the last one is FF, another one of seven bits follows.
    let mut end = bits.at;
    if bits.after_ff && bytes.get(end).is_some_and(|byte| byte & 0x80 == 0) {
        end += 1;
    }
    Ok((planes, end))
}

/// Puts the samples of the components together, sample by sample.
fn joined(planes: &[Vec<i32>], wide: bool) -> Vec<u8> {
    let len = planes.first().map_or(0, Vec::len);
    let mut out = Vec::with_capacity(bound::product(len, planes.len() * if wide { 2 } else { 1 }));
    for at in 0..len {
        for plane in planes {
            let [low, high, ..] = plane.get(at).copied().unwrap_or_default().to_le_bytes();
            out.push(low);
            if wide {
                out.push(high);
            }
        }
    }
    out
}

/// Encodes samples of one component without loss.
fn encoded(samples: &[i32], precision: u8, (lines, columns): (u16, u16)) -> Result<Vec<u8>, Fault> {
    let preset = Preset::of((1 << precision) - 1, 0, [0; 4]);
    let mut scan = Scan::new(Coder::Writing(Out::default()), preset, 0);
    let width = usize::from(columns);
    let (mut line, mut before) = (vec![0; width + 2], vec![0; width + 2]);
    for row in samples.chunks(width.max(1)) {
        line.get_mut(1..=width).unwrap_or_default().copy_from_slice(row);
        scan.line(&mut line, &mut before)?;
        std::mem::swap(&mut line, &mut before);
    }
    let mut out = vec![0xff, 0xd8, 0xff, 0xf7, 0, 11, precision];
    out.extend(lines.to_be_bytes());
    out.extend(columns.to_be_bytes());
    out.extend([1, 1, 0x11, 0]);
    out.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0]);
    if let Coder::Writing(bits) = scan.coder {
        out.extend(bits.finish());
    }
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
        let samples: Vec<i32> = match bits {
            8 => input.iter().map(|&byte| byte.into()).collect(),
            16 => input
                .chunks_exact(2)
                .filter_map(|two| two.first_chunk())
                .map(|two| u16::from_le_bytes(*two).into())
                .collect(),
            _ => return Err(rule("bits of a sample", "must be 8 or 16")),
        };
        if samples.len() != usize::from(lines) * usize::from(columns) || samples.is_empty() {
            return Err(rule("chunk", "does not have as many samples as lines and columns"));
        }
        encoded(&samples, u8::try_from(bits).unwrap_or(16), (lines, columns)).map(Some)
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

    /// The example of the standard (annex H.3): four lines of four samples.
    #[test]
    fn the_example_of_the_standard() {
        let samples = [0, 0, 90, 74, 68, 50, 43, 205, 64, 145, 145, 145, 100, 145, 145, 145];
        let coded = [
            0xC0, 0x00, 0x00, 0x6C, 0x80, 0x20, 0x8E, 0x01, 0xC0, 0x00, 0x00, 0x57, 0x40, 0x00, 0x00, 0x6E,
            0xE6, 0x00, 0x00, 0x01, 0xBC, 0x18, 0x00, 0x00, 0x05, 0xD8, 0x00, 0x00, 0x91, 0x60,
        ];
        let bytes = encoded(&samples, 8, (4, 4)).unwrap();
        assert_eq!(bytes[25..bytes.len() - 2], coded);
        let wanted: Vec<u8> = samples.iter().map(|&sample| sample as u8).collect();
        assert_eq!(decoded(&bytes, 16).unwrap(), wanted);
        assert!(decoded(&bytes, 15).is_err());
        for end in 0..bytes.len() {
            assert!(decoded(&bytes[..end], 16).is_err(), "{end}");
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
            let bytes = encoded(&samples, bits as u8, (lines, columns)).unwrap();
            let wanted = joined(&[samples], wide);
            prop_assert_eq!(decoded(&bytes, wanted.len()).unwrap(), wanted);
        }

        #[test]
        fn no_bytes_panic(input: Vec<u8>, seed: u64, at: prop::sample::Index, byte: u8) {
            let _ = decoded(&input, 1000);
            let mut bytes = encoded(&image(seed, 5, 8, 400), 8, (20, 20)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decoded(&bytes, 4000);
        }
    }
}
