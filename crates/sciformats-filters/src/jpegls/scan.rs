//! The coding of the samples of a scan, in both directions: prediction from the neighbours, contexts, and runs.

use std::hint::select_unpredictable;

use sciformats_core::Fault;

use super::bits::{Bits, Out};
use crate::filter::rule;

/// The lengths of runs, as powers of two.
const RUNS: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];

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

/// Where the coded bits come from or go to. What fails gives zeros, and is told by `check`, so that the loop over samples has nothing to
/// hand on.
pub(super) trait Coder {
    /// Whether bits are read. The values that are to be coded are ignored then.
    const READS: bool;

    /// Codes a number that is not negative with `k` low bits, or with `bits` bits after `most` zeros.
    fn golomb(&mut self, value: u32, k: u32, most: u32, bits: u32) -> u32;

    /// Codes the lowest `count` bits of a value, at most 16.
    fn bits(&mut self, value: u32, count: u32) -> u32;

    /// Keeps a fault, if there is none yet.
    fn fail(&mut self, fault: Fault);

    /// Returns the first fault.
    fn check(&mut self) -> Result<(), Fault>;
}

impl Coder for Bits<'_> {
    const READS: bool = true;

    #[inline(always)]
    fn golomb(&mut self, _value: u32, k: u32, most: u32, bits: u32) -> u32 {
        self.golomb(k, most, bits)
    }

    #[inline]
    fn bits(&mut self, _value: u32, count: u32) -> u32 {
        self.take(count)
    }

    fn fail(&mut self, fault: Fault) {
        self.fail(fault);
    }

    fn check(&mut self) -> Result<(), Fault> {
        self.check()
    }
}

impl Coder for Out {
    const READS: bool = false;

    #[inline(always)]
    fn golomb(&mut self, value: u32, k: u32, most: u32, bits: u32) -> u32 {
        let high = value >> k;
        if high < most && high + 1 + k <= 32 {
            self.put(1 << k | value & ((1 << k) - 1), high + 1 + k);
        } else {
            self.long(value, k, most, bits);
        }
        value
    }

    #[inline]
    fn bits(&mut self, value: u32, count: u32) -> u32 {
        self.put(value, count);
        value
    }

    fn fail(&mut self, _: Fault) {}

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// What is known about the errors of samples whose neighbours are alike. A context has 16 bytes, and what the next code needs is found when
/// the context changes, which is before the next sample needs it.
#[derive(Clone, Copy)]
struct Context {
    /// The sum of the sizes of errors. It cannot overflow: at most 65,535 errors of at most 65,536 are added.
    a: u32,
    /// The sum of errors.
    b: i32,
    /// The correction of the prediction.
    c: i16,
    /// The number of errors.
    n: u16,
    /// The number of low bits of a code.
    k: u8,
    /// 1 if the codes of positive and negative errors change places.
    turned: u8,
}

/// What is known about the errors of samples that end runs.
#[derive(Clone, Copy)]
struct Ending {
    a: u32,
    n: i32,
    /// The number of negative errors.
    negative: i32,
}

/// Returns the number of low bits of a code for `n` errors whose sum is `size`.
#[inline(always)]
fn low_bits(n: i32, size: u32) -> u32 {
    let n = n.cast_unsigned();
    // The smallest k for which n << k is at least the size has as many bits as the size, or one more.
    let k = (n | 1).leading_zeros().saturating_sub((size | 1).leading_zeros()).min(16); // a bound: no bits
    (k + u32::from(u64::from(n) << k < u64::from(size))).min(16)
}

/// The classes of the differences of neighbours, from the smallest difference that samples can have.
struct Classes {
    of: Vec<i8>,
    middle: i32,
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
        let far = first.max(second).max(third).max(near + 1).min(preset.largest);
        let mut of = vec![class(i32::MIN + 1); addressable(preset.largest - far)];
        of.extend((-far..=far).map(class));
        of.resize(addressable(2 * preset.largest + 1), class(i32::MAX));
        Self { of, middle: preset.largest }
    }

    #[inline(always)]
    fn class(&self, difference: i32) -> i32 {
        let at = addressable(difference + self.middle);
        self.of.get(at).copied().unwrap_or_default().into()
    }
}

/// Returns a number that is not negative as a place; another one becomes one that no table has.
#[inline(always)]
fn addressable(number: i32) -> usize {
    number.cast_unsigned() as usize
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
    /// A power of two, so that each masked place is one of them.
    contexts: [Context; 512],
    endings: [Ending; 2],
    pub(super) run: usize,
}

impl<C: Coder> Scan<C> {
    pub(super) fn new(coder: C, preset: Preset, near: i32) -> Self {
        let range = (preset.largest + 2 * near) / (2 * near + 1) + 1;
        let width = |count: i32| 32 - (count - 1).max(0).leading_zeros();
        let depth = width(preset.largest + 1).max(2);
        let a = ((range + 32) / 64).max(2).cast_unsigned();
        let start = Context { a, b: 0, c: 0, n: 1, k: low_bits(1, a) as u8, turned: 0 };
        Self {
            coder,
            preset,
            near,
            range,
            bits: width(range),
            limit: 2 * (depth + depth.max(8)),
            classes: Classes::new(&preset, near),
            contexts: [start; 512],
            endings: [Ending { a, n: 1, negative: 0 }; 2],
            run: 0,
        }
    }

    /// Codes a number that is not negative with `k` low bits.
    #[inline(always)]
    fn golomb(&mut self, value: u32, k: u32, limit: u32) -> u32 {
        let most = limit.saturating_sub(self.bits + 1); // a bound: the shortest code
        self.coder.golomb(value, k, most, self.bits)
    }

    /// Returns the quantized error of a sample, within the range.
    #[inline(always)]
    fn error(&self, difference: i32) -> i32 {
        let step = 2 * self.near + 1;
        let quantized = match difference {
            difference if self.near == 0 => difference,
            difference if difference > 0 => (difference + self.near) / step,
            difference => -((self.near - difference) / step),
        };
        // Nearly all errors are within the range, and a branch that is not taken costs less than a choice.
        if (quantized + self.range / 2).cast_unsigned() < self.range.cast_unsigned() {
            quantized
        } else {
            self.far_error(quantized)
        }
    }

    #[cold]
    #[inline(never)]
    fn far_error(&self, quantized: i32) -> i32 {
        if quantized < 0 { quantized + self.range } else { quantized - self.range }
    }

    /// Returns the prediction with the correction of its context.
    #[inline(always)]
    fn predicted(&self, predicted: i32, correction: i32) -> i32 {
        let found = predicted + correction;
        let is_sample = found.cast_unsigned() <= self.preset.largest.cast_unsigned();
        if is_sample { found } else { self.end_of_range(found) }
    }

    #[cold]
    #[inline(never)]
    fn end_of_range(&self, found: i32) -> i32 {
        found.clamp(0, self.preset.largest)
    }

    /// Returns the sample that an error leads to.
    #[inline(always)]
    fn sample(&self, predicted: i32, error: i32) -> i32 {
        if self.near == 0 {
            // Nearly all samples need no arithmetic but this.
            let found = predicted + error;
            if found.cast_unsigned() <= self.preset.largest.cast_unsigned() {
                return found;
            }
        }
        self.far_sample(predicted, error)
    }

    #[cold]
    #[inline(never)]
    fn far_sample(&self, predicted: i32, error: i32) -> i32 {
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

    /// Codes a sample with the number of its neighbours' classes, which is not zero.
    #[inline(always)]
    fn regular(&mut self, wanted: i32, number: i32, [a, b, c]: [i32; 3]) -> i32 {
        // All ones if the sign changes: inverting the bits and adding one does that.
        let sign = number >> 31;
        let turn = |value: i32| (value ^ sign) - sign;
        let at = addressable(turn(number)) & 511;
        let context = self.contexts[at];
        // The median of three: what follows an edge, or a plane.
        let predicted = (a + b - c).clamp(a.min(b), a.max(b));
        let predicted = self.predicted(predicted, turn(context.c.into()));
        let (k, turned) = (context.k.into(), i32::from(context.turned));
        let error = if C::READS {
            let coded = self.golomb(0, k, self.limit).cast_signed() ^ turned;
            (coded >> 1) ^ -(coded & 1)
        } else {
            let error = self.error(turn(wanted - predicted));
            let mapped = ((error << 1) ^ (error >> 31)) ^ turned;
            self.golomb(mapped.cast_unsigned(), k, self.limit);
            error
        };
        if C::READS && error.abs() > self.range {
            self.coder.fail(too_large());
            return 0;
        }
        self.contexts[at] = self.changed(context, error);
        if !C::READS && self.near == 0 {
            // This is the same number, on which the next sample need not wait.
            return wanted;
        }
        self.sample(predicted, turn(error))
    }

    /// Returns a context after one more error.
    #[inline(always)]
    fn changed(&self, context: Context, error: i32) -> Context {
        let step = if self.near == 0 { error } else { error * (2 * self.near + 1) };
        let before = i32::from(context.n);
        let halves = u32::from(before == self.preset.reset);
        let a = (context.a + error.unsigned_abs()) >> halves;
        let b = (context.b + step) >> halves;
        let n = (before >> halves) + 1;
        // Whether an error is too low or too high is as good as random, so that a branch would often be taken in vain.
        let (is_low, is_high) = (b + n <= 0, b > 0);
        let kept = select_unpredictable(is_high, (b - n).min(0), b);
        let b = select_unpredictable(is_low, (b + n).max(1 - n), kept);
        let c = (i32::from(context.c) + i32::from(is_high) - i32::from(is_low)).clamp(-128, 127);
        let k = low_bits(n, a);
        let turned = self.near == 0 && k == 0 && 2 * b <= -n;
        Context { a, b, c: c as i16, n: n as u16, k: k as u8, turned: turned.into() }
    }

    /// Codes the sample that ends a run.
    fn ending(&mut self, wanted: i32, a: i32, b: i32) -> i32 {
        let alike = (a - b).abs() <= self.near;
        let kind = i32::from(alike);
        let [other, same] = self.endings;
        let Ending { a: sum, n, negative } = if alike { same } else { other };
        let (predicted, sign) = if alike { (a, 1) } else { (b, if a > b { -1 } else { 1 }) };
        let k = low_bits(n, if alike { sum + (n.cast_unsigned() >> 1) } else { sum });
        let mut error = self.error(sign * (wanted - predicted));
        let map =
            if k == 0 && error > 0 { 2 * negative < n } else { error < 0 && (2 * negative >= n || k != 0) };
        let mapped = 2 * error.abs() - kind - i32::from(map);
        let run = RUNS.get(self.run).copied().unwrap_or(15);
        let coded = self.golomb(u32::try_from(mapped).unwrap_or_default(), k, self.limit - run - 1);
        let coded = coded.cast_signed();
        if C::READS {
            let sum = coded + kind;
            let map = sum & 1;
            let size = (sum + map) / 2;
            let is_negative = (k != 0 || 2 * negative >= n) == (map == 1);
            error = if is_negative { -size } else { size };
            if size > self.range {
                self.coder.fail(too_large());
                return 0;
            }
        }
        let halves = u32::from(n == self.preset.reset);
        let changed = Ending {
            a: (sum + ((coded + 1 - kind).cast_unsigned() >> 1)) >> halves,
            n: (n >> halves) + 1,
            negative: (negative + i32::from(error < 0)) >> halves,
        };
        self.endings = if alike { [other, changed] } else { [changed, same] };
        self.sample(predicted, sign * error)
    }

    /// Codes the length of a run, of which `left` samples are possible. While reading, `len` is ignored.
    fn run_length(&mut self, len: usize, left: usize) -> Result<usize, Fault> {
        let mut done = 0;
        loop {
            let run = RUNS.get(self.run).copied().unwrap_or(15);
            let step = 1usize << run;
            let goes_on = if C::READS {
                self.coder.bits(0, 1) == 1
            } else {
                // A run that reaches the end of the line needs no length.
                let goes_on = len - done >= step || len == left && len > done;
                if goes_on || len < left {
                    self.coder.bits(u32::from(goes_on), 1);
                }
                goes_on
            };
            if !goes_on {
                if C::READS {
                    done += self.coder.bits(0, run) as usize;
                } else {
                    let rest = u32::try_from(len - done).unwrap_or_default();
                    if len < left {
                        self.coder.bits(rest, run);
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
        let mut second = 9 * self.classes.class(b - c);
        let mut at = 1;
        while at <= width {
            let d = sample(before, at + 1);
            let first = 9 * self.classes.class(d - b);
            let number = 9 * first + second + self.classes.class(c - a);
            if number != 0 {
                a = self.regular(sample(line, at), number, [a, b, c]);
                if let Some(place) = line.get_mut(at) {
                    *place = a;
                }
                // The next sample has the same difference one place further to the left.
                (c, b, second) = (b, d, first);
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
                a = self.ending(sample(line, at), a, sample(before, at));
                if let Some(place) = line.get_mut(at) {
                    *place = a;
                }
                self.run = self.run.saturating_sub(1); // a bound: the shortest runs
                at += 1;
            }
            (c, b) = (sample(before, at - 1), sample(before, at));
            second = 9 * self.classes.class(b - c);
        }
        self.coder.check()
    }
}

fn too_large() -> Fault {
    rule("coded samples", "have an error that is too large")
}
