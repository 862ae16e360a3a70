//! The coding of the samples of a scan, in both directions: prediction from the neighbours, contexts, and runs.

use sciformats_core::Fault;

use super::bits::{Bits, Out};
use crate::filter::rule;

/// The lengths of runs, as powers of two.
const RUNS: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The contexts of regular samples, and two for the end of runs.
const REGULAR: usize = 365;

/// The parameters of the coding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preset {
    largest: i32,
    thresholds: [i32; 3],
    reset: i32,
}

impl Preset {
    /// Returns the parameters for samples up to `largest`, and those of the stream where it has any.
    pub(super) fn of(largest: i32, near: i32, stored: [i32; 4]) -> Self {
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

/// Where the coded bits come from or go to.
pub(super) enum Coder<'a> {
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
pub(super) struct Scan<'a> {
    pub(super) coder: Coder<'a>,
    preset: Preset,
    near: i32,
    range: i32,
    bits: u32,
    limit: u32,
    contexts: Vec<Context>,
    /// The negative errors at the ends of runs.
    negative: [i32; 2],
    pub(super) run: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(coder: Coder<'a>, preset: Preset, near: i32) -> Self {
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
    pub(super) fn line(&mut self, line: &mut [i32], before: &mut [i32]) -> Result<(), Fault> {
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
