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
pub(super) trait Coder {
    /// Whether bits are read. The values that are to be coded are ignored then.
    const READS: bool;

    /// Codes a number that is not negative with `k` low bits, or with `bits` bits after `most` zeros.
    fn golomb(&mut self, value: u32, k: u32, most: u32, bits: u32) -> Result<u32, Fault>;

    /// Codes the lowest `count` bits of a value, at most 16.
    fn bits(&mut self, value: u32, count: u32) -> Result<u32, Fault>;
}

impl Coder for Bits<'_> {
    const READS: bool = true;

    #[inline]
    fn golomb(&mut self, _value: u32, k: u32, most: u32, bits: u32) -> Result<u32, Fault> {
        match self.zeros(most)? {
            zeros if zeros < most => Ok(zeros << k | self.take(k)?),
            _ => Ok(self.take(bits)? + 1),
        }
    }

    #[inline]
    fn bits(&mut self, _value: u32, count: u32) -> Result<u32, Fault> {
        self.take(count)
    }
}

impl Coder for Out {
    const READS: bool = false;

    #[inline]
    fn golomb(&mut self, value: u32, k: u32, most: u32, bits: u32) -> Result<u32, Fault> {
        let high = value >> k;
        if high >= most {
            self.zeros(most);
            self.put(1, 1);
            self.put(value.wrapping_sub(1), bits);
        } else if high + 1 + k <= 32 {
            self.put(1 << k | value & ((1 << k) - 1), high + 1 + k);
        } else {
            self.zeros(high);
            self.put(1, 1);
            self.put(value, k);
        }
        Ok(value)
    }

    #[inline]
    fn bits(&mut self, value: u32, count: u32) -> Result<u32, Fault> {
        self.put(value, count);
        Ok(value)
    }
}

#[derive(Clone, Copy)]
struct Context {
    a: i32,
    b: i32,
    c: i32,
    n: i32,
}

impl Context {
    /// Returns the number of low bits of a code for errors whose sum is `size`.
    #[inline]
    fn low_bits(&self, size: i32) -> u32 {
        let (n, size) = (self.n.cast_unsigned(), size.cast_unsigned());
        // The smallest k for which n << k is at least the size has as many bits as the size, or one more.
        let k = n.leading_zeros().saturating_sub(size.leading_zeros()).min(16); // a bound: no bits
        (k + u32::from(u64::from(n) << k < u64::from(size))).min(16)
    }
}

/// The classes of the differences of neighbours.
struct Classes {
    /// The classes of the differences from `-far` to `far`; beyond, they are those of the ends.
    of: Vec<i8>,
    far: i32,
}

impl Classes {
    fn new(preset: &Preset, near: i32) -> Self {
        let [first, second, third] = preset.thresholds;
        let class = |difference: i32| {
            let size = match difference.abs() {
                size if size <= near => 0,
                size if size < first => 1,
                size if size < second => 2,
                size if size < third => 3,
                _ => 4,
            };
            if difference < 0 { -size } else { size }
        };
        // The thresholds of a stream may be in any order.
        let far = first.max(second).max(third).max(near + 1);
        Self { of: (-far..=far).map(class).collect(), far }
    }

    #[inline]
    fn class(&self, difference: i32) -> i32 {
        let at = usize::try_from(difference.clamp(-self.far, self.far) + self.far).unwrap_or_default();
        self.of.get(at).copied().unwrap_or_default().into()
    }
}

/// The state of the coding of one scan.
pub(super) struct Scan<C> {
    pub(super) coder: C,
    preset: Preset,
    near: i32,
    range: i32,
    bits: u32,
    limit: u32,
    classes: Classes,
    contexts: [Context; REGULAR + 2],
    /// The negative errors at the ends of runs.
    negative: [i32; 2],
    pub(super) run: usize,
}

impl<C: Coder> Scan<C> {
    pub(super) fn new(coder: C, preset: Preset, near: i32) -> Self {
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
            classes: Classes::new(&preset, near),
            contexts: [start; REGULAR + 2],
            negative: [0; 2],
            run: 0,
        }
    }

    /// Codes a number that is not negative with `k` low bits.
    #[inline]
    fn golomb(&mut self, value: u32, k: u32, limit: u32) -> Result<u32, Fault> {
        let most = limit.saturating_sub(self.bits + 1); // a bound: the shortest code
        self.coder.golomb(value, k, most, self.bits)
    }

    /// Returns the quantized error of a sample, within the range.
    #[inline]
    fn error(&self, difference: i32) -> i32 {
        let step = 2 * self.near + 1;
        let quantized = match difference {
            difference if self.near == 0 => difference,
            difference if difference > 0 => (difference + self.near) / step,
            difference => -((self.near - difference) / step),
        };
        let low = if quantized < 0 { quantized + self.range } else { quantized };
        if low >= (self.range + 1) / 2 { low - self.range } else { low }
    }

    /// Returns the sample that an error leads to.
    #[inline]
    fn sample(&self, predicted: i32, error: i32) -> i32 {
        if self.near == 0 {
            // Nearly all samples need no arithmetic but this.
            let found = predicted + error;
            if found.cast_unsigned() <= self.preset.largest.cast_unsigned() {
                return found;
            }
        }
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

    /// Codes a sample whose neighbours differ.
    #[inline]
    fn regular(&mut self, wanted: i32, [a, b, c, d]: [i32; 4]) -> Result<i32, Fault> {
        let [first, second, third] = [d - b, b - c, c - a].map(|difference| self.classes.class(difference));
        let number = 81 * first + 9 * second + third;
        // All ones if the sign changes: inverting the bits and adding one does that.
        let sign = number >> 31;
        let turn = |value: i32| (value ^ sign) - sign;
        let at = usize::try_from(turn(number)).unwrap_or_default();
        let mut context = self.contexts.get(at).copied().ok_or_else(no_context)?;
        // The median of three: what follows an edge, or a plane.
        let predicted = (a + b - c).clamp(a.min(b), a.max(b));
        let predicted = (predicted + turn(context.c)).clamp(0, self.preset.largest);
        let k = context.low_bits(context.a);
        let special = self.near == 0 && k == 0 && 2 * context.b <= -context.n;
        let turned = i32::from(special);
        let error = if C::READS {
            let coded = self.golomb(0, k, self.limit)?;
            let coded = i32::try_from(coded).map_err(|_| too_large())? ^ turned;
            let error = (coded >> 1) ^ -(coded & 1);
            if error.abs() > self.range {
                return Err(too_large());
            }
            error
        } else {
            let error = self.error(turn(wanted - predicted));
            let mapped = ((error << 1) ^ (error >> 31)) ^ turned;
            self.golomb(mapped.cast_unsigned(), k, self.limit)?;
            error
        };
        context.b += if self.near == 0 { error } else { error * (2 * self.near + 1) };
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
        if let Some(kept) = self.contexts.get_mut(at) {
            *kept = context;
        }
        Ok(self.sample(predicted, turn(error)))
    }

    /// Codes the sample that ends a run.
    fn ending(&mut self, wanted: i32, a: i32, b: i32) -> Result<i32, Fault> {
        let alike = (a - b).abs() <= self.near;
        let kind = i32::from(alike);
        let which = usize::from(alike);
        let mut context = self.contexts.get(REGULAR + which).copied().ok_or_else(no_context)?;
        let negative = self.negative.get(which).copied().unwrap_or(0);
        let (predicted, sign) = if alike { (a, 1) } else { (b, if a > b { -1 } else { 1 }) };
        let size = if alike { context.a + (context.n >> 1) } else { context.a };
        let k = context.low_bits(size);
        let mut error = self.error(sign * (wanted - predicted));
        let map = if k == 0 && error > 0 {
            2 * negative < context.n
        } else {
            error < 0 && (2 * negative >= context.n || k != 0)
        };
        let mapped = 2 * error.abs() - kind - i32::from(map);
        let run = RUNS.get(self.run).copied().unwrap_or(15);
        let coded = self.golomb(u32::try_from(mapped).unwrap_or_default(), k, self.limit - run - 1)?;
        let coded = i32::try_from(coded).map_err(|_| too_large())?;
        if C::READS {
            let sum = coded + kind;
            let map = sum & 1;
            let size = (sum + map) / 2;
            let is_negative = (k != 0 || 2 * negative >= context.n) == (map == 1);
            error = if is_negative { -size } else { size };
            if size > self.range {
                return Err(too_large());
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
        if let Some(kept) = self.contexts.get_mut(REGULAR + which) {
            *kept = context;
        }
        Ok(self.sample(predicted, sign * error))
    }

    /// Codes the length of a run, of which `left` samples are possible. While reading, `len` is ignored.
    fn run_length(&mut self, len: usize, left: usize) -> Result<usize, Fault> {
        let mut done = 0;
        loop {
            let run = RUNS.get(self.run).copied().unwrap_or(15);
            let step = 1usize << run;
            let goes_on = if C::READS {
                self.coder.bits(0, 1)? == 1
            } else {
                // A run that reaches the end of the line needs no length.
                let goes_on = len - done >= step || len == left && len > done;
                if goes_on || len < left {
                    self.coder.bits(u32::from(goes_on), 1)?;
                }
                goes_on
            };
            if !goes_on {
                if C::READS {
                    done += self.coder.bits(0, run)? as usize;
                } else {
                    let rest = u32::try_from(len - done).unwrap_or_default();
                    if len < left {
                        self.coder.bits(rest, run)?;
                    }
                    done = len;
                }
                return match done < left || !C::READS {
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
        let end = sample(before, width);
        if let Some(last) = before.get_mut(width + 1) {
            *last = end;
        }
        let mut a = sample(before, 1);
        if let Some(first) = line.first_mut() {
            *first = a;
        }
        let (mut c, mut b) = (sample(before, 0), a);
        let mut at = 1;
        while at <= width {
            let d = sample(before, at + 1);
            let flat = if self.near == 0 {
                a == c && b == c && b == d
            } else {
                [d - b, b - c, c - a].iter().all(|difference| difference.abs() <= self.near)
            };
            if !flat {
                a = self.regular(sample(line, at), [a, b, c, d])?;
                if let Some(place) = line.get_mut(at) {
                    *place = a;
                }
                (c, b) = (b, d);
                at += 1;
                continue;
            }
            let left = width + 1 - at;
            let wanted = if C::READS {
                0
            } else {
                let rest = line.get(at..=width).unwrap_or_default();
                rest.iter().take_while(|&&sample| (sample - a).abs() <= self.near).count()
            };
            let len = self.run_length(wanted, left)?;
            line.get_mut(at..at + len).unwrap_or_default().fill(a);
            at += len;
            if len < left {
                a = self.ending(sample(line, at), a, sample(before, at))?;
                if let Some(place) = line.get_mut(at) {
                    *place = a;
                }
                self.run = self.run.saturating_sub(1); // a bound: the shortest runs
                at += 1;
            }
            (c, b) = (sample(before, at - 1), sample(before, at));
        }
        Ok(())
    }
}

fn too_large() -> Fault {
    rule("coded samples", "have an error that is too large")
}

/// The fault of classes that no difference has.
fn no_context() -> Fault {
    rule("coded samples", "have no context")
}
