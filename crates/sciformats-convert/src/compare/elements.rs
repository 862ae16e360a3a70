//! Compares elements of two arrays side by side.

use sciformats_core::Slab;
use sciformats_core::arith::increase;

use super::Options;
use sciformats::Result;
use sciformats::model::{Datum, Decoder, ElementType};

/// How the elements of two arrays differ.
///
/// ```
/// use sciformats_convert::compare::{Options, What, compare};
/// use std::ops::ControlFlow;
///
/// # use sciformats::memory::{Memory, array};
/// # use sciformats::{File, Format};
/// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
/// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
/// compare(&a, &b, &Options::exact(), &mut |difference| {
///     if let What::Elements(elements) = difference.what {
///         assert_eq!((elements.compared, elements.different), (3, 1));
///         assert_eq!((elements.max_abs, elements.max_rel), (Some(0.5), Some(0.2)));
///     }
///     ControlFlow::Continue(())
/// });
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elements {
    /// The number of elements that were compared.
    pub compared: u64,
    /// The number of elements that differ.
    pub different: u64,
    /// The first elements that differ.
    pub first: Vec<Mismatch>,
    /// The largest |a − b| of numbers that differ; `None` if none do.
    pub max_abs: Option<f64>,
    /// The largest |a − b| / |b| of numbers that differ and whose b is not 0.
    pub max_rel: Option<f64>,
}

/// Two elements that differ, as text.
///
/// ```
/// use sciformats_convert::compare::{Mismatch, Options, What, compare};
/// use std::ops::ControlFlow;
///
/// # use sciformats::memory::{Memory, array};
/// # use sciformats::{File, Format};
/// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
/// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
/// compare(&a, &b, &Options::exact(), &mut |difference| {
///     if let What::Elements(elements) = difference.what {
///         assert_eq!(elements.first, [Mismatch { index: vec![1], a: "2.0".into(), b: "2.5".into() }]);
///     }
///     ControlFlow::Continue(())
/// });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The index of the elements in their arrays.
    pub index: Vec<u64>,
    /// The element of the first file.
    pub a: String,
    /// The element of the second file.
    pub b: String,
}

/// Returns whether elements of these two types can be compared by value.
pub(super) fn comparable(a: &ElementType, b: &ElementType) -> bool {
    use ElementType::{Array, Bits, Complex, Compound, Opaque, Time, Vlen};
    match (a, b) {
        _ if a == b => true,
        (Complex(_), Complex(_)) | (Opaque(_), Opaque(_)) => true,
        (Bits(_) | Time(_), Bits(_) | Time(_)) => true,
        (Vlen(a), Vlen(b)) => comparable(a, b),
        (Array { element: a, shape: s }, Array { element: b, shape: t }) => s == t && comparable(a, b),
        (Compound(a), Compound(b)) => {
            let fields = || a.iter().zip(b);
            a.len() == b.len() && fields().all(|((m, a), (n, b))| m == n && comparable(a, b))
        }
        _ => a.is_real() && b.is_real(),
    }
}

/// Compares two arrays piece by piece.
pub(super) struct Comparison<'a> {
    pub(super) types: (&'a ElementType, &'a ElementType),
    pub(super) options: &'a Options,
    pub(super) found: Elements,
}

impl Comparison<'_> {
    /// Compares the elements of `slab`, which is a piece of the whole array in both files.
    pub(super) fn piece(&mut self, slab: &Slab, (a, b): (&[u8], &[u8])) -> Result<()> {
        increase(&mut self.found.compared, slab.len())?;
        let same = self.types.0 == self.types.1;
        if same && a == b {
            return Ok(());
        }
        let size = self.types.0.size().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
        if let (true, Some(size)) = (same, size) {
            // Most elements have equal bytes; only the others are decoded.
            let pairs = a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate();
            for (i, (a, b)) in pairs.filter(|(_, (a, b))| a != b) {
                let one = (Decoder::new(self.types.0, a).next(), Decoder::new(self.types.1, b).next());
                if let (Some(a), Some(b)) = one {
                    self.pair(slab, i as u64, (&a?, &b?));
                }
            }
            return Ok(());
        }
        let pairs = Decoder::new(self.types.0, a).zip(Decoder::new(self.types.1, b));
        for (i, (a, b)) in pairs.enumerate() {
            self.pair(slab, i as u64, (&a?, &b?));
        }
        Ok(())
    }

    fn pair(&mut self, slab: &Slab, position: u64, (a, b): (&Datum<'_>, &Datum<'_>)) {
        let mut gap = Gap::default();
        if gap.same(a, b, self.options) {
            return;
        }
        let found = &mut self.found;
        found.different += 1;
        found.max_abs = larger(found.max_abs, gap.abs);
        found.max_rel = larger(found.max_rel, gap.rel);
        if found.first.len() < self.options.show {
            found.first.push(Mismatch { index: index(slab, position), a: a.to_string(), b: b.to_string() });
        }
    }
}

/// Returns the index in the array of an element of `slab`, whose steps are 1.
fn index(slab: &Slab, position: u64) -> Vec<u64> {
    let mut rest = position;
    let mut index: Vec<u64> = Vec::new();
    for range in slab.ranges().iter().rev() {
        let count = range.count.max(1);
        index.push(range.start + rest % count);
        rest /= count;
    }
    index.reverse();
    index
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, other) => one.or(other),
    }
}

/// The distance between two elements.
#[derive(Debug, Default)]
pub(super) struct Gap {
    pub(super) abs: Option<f64>,
    pub(super) rel: Option<f64>,
}

impl Gap {
    /// Returns whether two elements are equal within the tolerance.
    pub(super) fn same(&mut self, a: &Datum<'_>, b: &Datum<'_>, options: &Options) -> bool {
        match (a, b) {
            (Datum::Complex(r, i, _), Datum::Complex(s, j, _)) => {
                // Both parts are always measured, so `&&` is not used here.
                self.numbers(*r, *s, options) & self.numbers(*i, *j, options)
            }
            (Datum::Text(a), Datum::Text(b)) | (Datum::Bytes(a), Datum::Bytes(b)) => a == b,
            (Datum::List(a), Datum::List(b)) => a.len() == b.len() && self.all(a.iter().zip(b), options),
            (Datum::Record(a), Datum::Record(b)) => {
                let fields = a.iter().zip(b).map(|((_, a), (_, b))| (a, b));
                a.len() == b.len() && self.all(fields, options)
            }
            // The distance of integers is exact before it is rounded, so large integers that differ by 1 have
            // the distance 1.
            (Datum::UInt(a), Datum::UInt(b)) => {
                a == b || self.measure(a.abs_diff(*b) as f64, *b as f64, options)
            }
            _ => match (a.to_i128(), b.to_i128()) {
                (Some(a), Some(b)) => a == b || self.measure(a.abs_diff(b) as f64, b as f64, options),
                _ => match (a.to_f64(), b.to_f64()) {
                    (Some(x), Some(y)) => self.numbers(x, y, options),
                    _ => false,
                },
            },
        }
    }

    fn all<'d>(
        &mut self,
        pairs: impl Iterator<Item = (&'d Datum<'d>, &'d Datum<'d>)>,
        options: &Options,
    ) -> bool {
        pairs.fold(true, |same, (a, b)| self.same(a, b, options) && same)
    }

    fn numbers(&mut self, a: f64, b: f64, options: &Options) -> bool {
        if a == b || (a.is_nan() && b.is_nan()) {
            return true;
        }
        self.measure((a - b).abs(), b, options)
    }

    fn measure(&mut self, distance: f64, b: f64, options: &Options) -> bool {
        if !distance.is_finite() {
            // One side is infinite or NaN; no tolerance is large enough.
            return false;
        }
        self.abs = larger(self.abs, Some(distance));
        if b != 0.0 {
            self.rel = larger(self.rel, Some(distance / b.abs()));
        }
        distance <= options.atol + options.rtol * b.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::model::FloatKind::F64;

    fn same(a: &Datum<'_>, b: &Datum<'_>, rtol: f64, atol: f64) -> bool {
        Gap::default().same(a, b, &Options { rtol, atol, ..Options::exact() })
    }

    #[test]
    fn tolerance_is_that_of_numpy() {
        let (one, more) = (Datum::Float(1.0, F64), Datum::Float(1.01, F64));
        assert!(!same(&one, &more, 0.0, 0.0));
        assert!(same(&one, &more, 0.01, 0.0) && !same(&one, &more, 0.009, 0.0));
        assert!(same(&one, &more, 0.0, 0.011) && !same(&one, &more, 0.0, 0.009));
    }

    #[test]
    fn special_numbers() {
        let float = |value| Datum::Float(value, F64);
        assert!(same(&float(f64::NAN), &float(f64::NAN), 0.0, 0.0));
        assert!(!same(&float(f64::NAN), &float(0.0), 1e9, 1e9));
        assert!(same(&float(f64::INFINITY), &float(f64::INFINITY), 0.0, 0.0));
        assert!(!same(&float(f64::INFINITY), &float(f64::NEG_INFINITY), 1e9, 1e9));
        assert!(!same(&float(1.0), &float(f64::INFINITY), 1.0, 0.0));
        assert!(same(&float(0.0), &float(-0.0), 0.0, 0.0));
    }

    #[test]
    fn large_integers_are_exact() {
        let (a, b) = (Datum::Int((1 << 62) + 1), Datum::Int(1 << 62));
        assert!(!same(&a, &b, 0.0, 0.5) && same(&a, &b, 0.0, 1.0));
        assert!(!same(&Datum::UInt(u128::MAX), &Datum::UInt(u128::MAX - 1), 0.0, 0.0));
        assert!(same(&Datum::Int(7), &Datum::Float(7.0, F64), 0.0, 0.0));
    }

    #[test]
    fn what_can_be_compared() {
        use ElementType::{Bool, Complex, F32, F64, Int, Text, UInt};
        let array = |element| ElementType::Array { element: Box::new(element), shape: vec![2] };
        assert!(
            comparable(&Int(4), &F64) && comparable(&Bool, &UInt(1)) && comparable(&Complex(8), &Complex(16))
        );
        assert!(comparable(&array(F32), &array(F64)) && !comparable(&array(F32), &F32));
        assert!(!comparable(&Text, &F32) && !comparable(&Complex(8), &F32));
        let compound = |name: &str, element| ElementType::Compound(vec![(name.into(), element)]);
        assert!(comparable(&compound("x", F32), &compound("x", F64)));
        assert!(!comparable(&compound("x", F32), &compound("y", F32)));
    }
}
