//! How much neighbouring floating-point numbers tell about each other, bit by bit.
//!
//! Two numbers that stand beside each other in a field of physics have the sign, the exponent and the first bits of the significand
//! mostly in common. Towards the last bits this ends, and what is left is noise, which no compression can shorten. The measure is the
//! mutual information of each bit and the same bit of the neighbour (Klöwer and others, 2021, <https://doi.org/10.1038/s43588-021-00156-2>).

use crate::bound;

/// What a float consists of.
struct Float {
    /// The bytes.
    size: usize,
    /// The explicit bits of the significand.
    explicit: u32,
    /// The exponent of NaN and infinities.
    special: u64,
}

const SINGLE: Float = Float { size: 4, explicit: 23, special: 0xff };
const DOUBLE: Float = Float { size: 8, explicit: 52, special: 0x7ff };

impl Float {
    /// Returns the bits with the exponent as a sign and a number, as it changes fewer bits between neighbours then; `None` for zeros,
    /// infinities and NaN.
    fn bits(&self, stored: u64) -> Option<u64> {
        let exponent = stored >> self.explicit & self.special;
        let rest = stored & ((1 << self.explicit) - 1);
        if exponent == self.special || exponent == 0 && rest == 0 {
            return None;
        }
        let bias = self.special >> 1;
        let sign = if exponent < bias { bias + 1 } else { 0 };
        let field = sign | exponent.abs_diff(bias) & bias;
        Some(stored & !(self.special << self.explicit) | field << self.explicit)
    }
}

/// The number of set bits at each of 64 places, in up to 65,535 words: each place has a number of 16 bits, one bit in each plane.
#[derive(Clone, Default)]
struct Planes([u64; 16]);

impl Planes {
    fn add(&mut self, mut carry: u64) {
        for plane in &mut self.0 {
            if carry == 0 {
                return;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// Adds the counts to totals, and starts again.
    fn empty(&mut self, totals: &mut [u64; 64]) {
        for (weight, plane) in std::mem::take(self).0.into_iter().enumerate() {
            for (place, total) in totals.iter_mut().enumerate() {
                *total += (plane >> place & 1) << weight;
            }
        }
    }
}

/// The pairs of neighbours along one axis.
#[derive(Clone)]
struct Axis {
    pairs: u64,
    /// Pairs that are in the planes and not in the totals.
    fresh: u32,
    planes: [Planes; 3],
    /// For each place: how often the first number of a pair has the bit, the second one, and both.
    totals: [[u64; 64]; 3],
}

impl Axis {
    fn add(&mut self, a: u64, b: u64) {
        for (planes, word) in self.planes.iter_mut().zip([a, b, a & b]) {
            planes.add(word);
        }
        self.fresh += 1;
        if self.fresh == u32::from(u16::MAX) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        for (planes, totals) in self.planes.iter_mut().zip(&mut self.totals) {
            planes.empty(totals);
        }
        self.pairs += u64::from(self.fresh);
        self.fresh = 0;
    }

    /// The information at each place.
    fn information(&self) -> impl Iterator<Item = f64> {
        let mut whole = self.clone();
        whole.settle();
        let Self { pairs, totals: [first, second, both], .. } = whole;
        first.into_iter().zip(second).zip(both).map(move |((a, b), both)| mutual(pairs, (a, b, both)))
    }
}

/// Returns the mutual information of two bits, in bits, from the number of pairs, and how often the first one is set, the second one,
/// and both.
fn mutual(pairs: u64, (first, second, both): (u64, u64, u64)) -> f64 {
    let n = pairs.max(1) as f64;
    let (a, b, both) = (first as f64 / n, second as f64 / n, both as f64 / n);
    let joint = [both, a - both, b - both, 1.0 - a - b + both];
    let apart = [a * b, a * (1.0 - b), (1.0 - a) * b, (1.0 - a) * (1.0 - b)];
    let term = |(joint, apart): (f64, f64)| match joint > 0.0 && apart > 0.0 {
        true => joint * (joint / apart).log2(),
        false => 0.0,
    };
    joint.into_iter().zip(apart).map(term).sum::<f64>().max(0.0) // a bound: rounding errors
}

/// Measures how much neighbouring floating-point numbers tell about each other, and how many bits of the significand hold that.
///
/// ```
/// use sciformats_core::number::Information;
///
/// // A wave with noise of a thousandth.
/// let mut state = 1u64;
/// let mut noise = || {
///     state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
///     (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
/// };
/// let field: Vec<u8> =
///     (0..90_000u32).flat_map(|i| (2.0 + (f64::from(i) * 1e-2).sin() + 1e-3 * noise()).to_le_bytes()).collect();
/// let mut information = Information::of_floats(8, 1).unwrap();
/// information.add(&field, &[90_000], &|_| false);
/// assert_eq!(information.bits_to_keep(0.99), Some(6));
/// assert!(information.of_bits(0).unwrap().iter().all(|bit| (0.0..=1.0).contains(bit)));
/// ```
#[derive(Clone)]
pub struct Information {
    float: &'static Float,
    axes: Vec<Axis>,
    bits: Vec<Option<u64>>,
}

impl std::fmt::Debug for Information {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Information").field("size", &self.float.size).field("pairs", &self.pairs()).finish()
    }
}

impl Information {
    /// Starts to measure floats of `size` bytes in arrays with so many axes; `None` if the size is neither 4 nor 8.
    #[must_use]
    pub fn of_floats(size: usize, axes: usize) -> Option<Self> {
        let float = [&SINGLE, &DOUBLE].into_iter().find(|float| float.size == size)?;
        let axis = Axis { pairs: 0, fresh: 0, planes: Default::default(), totals: [[0; 64]; 3] };
        Some(Self { float, axes: vec![axis; axes], bits: Vec::new() })
    }

    /// Adds the pairs of neighbours along each axis of a box of elements in C order, which are little-endian. Zeros, infinities, NaN, and
    /// numbers whose bits `missing` knows belong to no pair. A shape with other axes, or that does not fit the elements, adds nothing.
    pub fn add(&mut self, elements: &[u8], shape: &[usize], missing: &dyn Fn(u64) -> bool) {
        let size = self.float.size;
        let count = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if shape.len() != self.axes.len() || count != Some(elements.len() / size) {
            return;
        }
        self.bits.clear();
        self.bits.extend(elements.chunks_exact(size).map(|element| {
            let stored = element.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            self.float.bits(stored).filter(|_| !missing(stored))
        }));
        let mut step = 1usize;
        for (axis, n) in self.axes.iter_mut().zip(shape).rev() {
            let width = bound::product(step, *n);
            for line in self.bits.chunks(width.max(1)) {
                for (a, b) in line.iter().zip(line.iter().skip(step)) {
                    if let (Some(a), Some(b)) = (a, b) {
                        axis.add(*a, *b);
                    }
                }
            }
            step = width;
        }
    }

    /// Returns the largest number of pairs along an axis.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.axes.iter().map(|axis| axis.pairs + u64::from(axis.fresh)).fold(0, u64::max)
    }

    /// Returns the mutual information, in bits, of each bit of a number and the same bit of the next number along an axis: first the
    /// sign, then those of the exponent as a sign and a number, then those of the significand. `None` if there is no such axis.
    #[must_use]
    pub fn of_bits(&self, axis: usize) -> Option<Vec<f64>> {
        let mut information: Vec<f64> =
            self.axes.get(axis)?.information().take(self.float.size * 8).collect();
        information.reverse();
        Some(information)
    }

    /// Returns how many bits of the significand have to be kept so that the share `kept` of the information stays along each axis, at
    /// least 1. Information that chance explains does not count: one of a hundred arrays of noise seems to have more. `None` if
    /// neighbours tell nothing about each other along any axis, so that nothing can be said.
    #[must_use]
    pub fn bits_to_keep(&self, kept: f64) -> Option<u32> {
        (0..self.axes.len()).filter_map(|axis| self.along(axis, kept)).max()
    }

    fn along(&self, axis: usize, kept: f64) -> Option<u32> {
        /// The square of 3.78 standard deviations, which chance exceeds for one of 64 independent bits in one of a hundred arrays.
        const CHANCE: f64 = 14.3;
        let mut axis = self.axes.get(axis)?.clone();
        axis.settle();
        // Of independent bits, twice the number of pairs times the information in natural units has this distribution.
        let least = CHANCE / (2.0 * axis.pairs.max(1) as f64 * std::f64::consts::LN_2);
        let mut information: Vec<f64> = axis
            .information()
            .take(self.float.size * 8)
            .map(|bit| if bit < least { 0.0 } else { bit })
            .collect();
        information.reverse();
        let all: f64 = information.iter().sum();
        if all <= 0.0 {
            return None;
        }
        let before = self.float.size * 8 - self.float.explicit as usize;
        let mut sum = 0.0;
        let last = information.iter().position(|bit| {
            sum += bit;
            sum >= kept * all
        });
        let bits = last.map_or(before + self.float.explicit as usize, |last| last + 1);
        let keep = u32::try_from(bound::left(bits, before)).ok()?;
        Some(keep.clamp(1, self.float.explicit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The information of a bit, counted one pair after another.
    fn slow(pairs: &[(u64, u64)], place: usize) -> f64 {
        let n = pairs.len() as f64;
        let share = |test: &dyn Fn(u64, u64) -> bool| {
            pairs.iter().filter(|(a, b)| test(a >> place & 1, b >> place & 1)).count() as f64 / n
        };
        let mut sum = 0.0;
        for x in 0..2 {
            for y in 0..2 {
                let (joint, a, b) =
                    (share(&|a, b| a == x && b == y), share(&|a, _| a == x), share(&|_, b| b == y));
                if joint > 0.0 {
                    sum += joint * (joint / (a * b)).log2();
                }
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn counts_are_those_of_single_pairs(
            (rows, columns) in (1usize..9, 1usize..9), seed in any::<[f32; 81]>(), mark in 0usize..81,
        ) {
            let numbers: Vec<f32> = seed.into_iter().take(rows * columns).collect();
            let marked = seed[mark].to_bits();
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let mut information = Information::of_floats(4, 2).unwrap();
            information.add(&bytes, &[rows, columns], &|bits| bits == u64::from(marked));
            let bits = |at: usize| {
                let stored = numbers[at].to_bits();
                SINGLE.bits(stored.into()).filter(|_| stored != marked)
            };
            for axis in 0..2 {
                let mut pairs = Vec::new();
                for row in 0..rows - usize::from(axis == 0) {
                    for column in 0..columns - usize::from(axis == 1) {
                        let at = row * columns + column;
                        let next = at + if axis == 0 { columns } else { 1 };
                        pairs.extend(bits(at).zip(bits(next)));
                    }
                }
                let found = information.of_bits(axis).unwrap();
                for (place, found) in found.iter().rev().enumerate() {
                    let expected = if pairs.is_empty() { 0.0 } else { slow(&pairs, place) };
                    prop_assert!((found - expected).abs() < 1e-9, "place {}: {} and {}", place, found, expected);
                }
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, shape in prop::collection::vec(0usize..5, 0..4), size in 0usize..10) {
            if let Some(mut information) = Information::of_floats(size, shape.len()) {
                information.add(&bytes, &shape, &|_| false);
                let _ = information.bits_to_keep(0.99);
            }
        }
    }

    #[test]
    fn exponents_are_a_sign_and_a_number() {
        let exponent = |number: f32| SINGLE.bits(number.to_bits().into()).map(|bits| bits >> 23);
        assert_eq!(exponent(0.031_25), Some(0b1000_0101));
        assert_eq!(exponent(-8.5), Some(0b1_0000_0011));
        assert_eq!((exponent(1.5), exponent(0.0), exponent(f32::NAN)), (Some(0), None, None));
        assert_eq!(DOUBLE.bits(0.031_25f64.to_bits()).map(|bits| bits >> 52), Some(0b100_0000_0101));
    }

    #[test]
    fn planes_hold_many_pairs() {
        let mut information = Information::of_floats(8, 1).unwrap();
        let row: Vec<u8> = (0..70_000u32).flat_map(|i| (1.0 + f64::from(i / 2 % 2)).to_le_bytes()).collect();
        for _ in 0..2 {
            information.add(&row, &[70_000], &|_| false);
        }
        assert_eq!(information.pairs(), 139_998);
        // The numbers 1 and 2 differ in one bit of the exponent, which tells nothing about the next number.
        assert_eq!(information.bits_to_keep(0.99), None);
    }

    #[test]
    fn nothing_is_said_of_noise_or_of_other_shapes() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (1.0 + (state >> 12) as f64 / (1u64 << 52) as f64).to_le_bytes()
        };
        let noise: Vec<u8> = (0..20_000).flat_map(|_| random()).collect();
        let mut information = Information::of_floats(8, 1).unwrap();
        information.add(&noise, &[19_999], &|_| false);
        information.add(&noise, &[2, 10_000], &|_| false);
        assert_eq!((information.pairs(), information.bits_to_keep(0.99)), (0, None));
        information.add(&noise, &[20_000], &|_| false);
        assert!(information.bits_to_keep(0.5).is_none_or(|bits| bits < 53));
        assert!(Information::of_floats(2, 1).is_none() && information.of_bits(1).is_none());
    }
}
