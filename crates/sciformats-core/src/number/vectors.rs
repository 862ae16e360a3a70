//! Loops over numbers that are compiled once more for the vectors of newer processors.

/// A loop over numbers that the compiler can turn into instructions on vectors.
///
/// `run` and all that it calls in its loops must be `#[inline(always)]`: only what becomes a part of the caller is compiled for the
/// instructions that the caller may use.
pub trait Loop {
    /// What the loop returns.
    type Output;

    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs a loop, with the instructions of AVX2 if the processor has them. The result is the same: no multiplication is joined with an
/// addition.
///
/// ```
/// use sciformats_core::number::{Loop, vectorized};
///
/// struct Halves<'a>(&'a mut [f32]);
/// impl Loop for Halves<'_> {
///     type Output = ();
///     #[inline(always)]
///     fn run(self) {
///         self.0.iter_mut().for_each(|number| *number *= 0.5);
///     }
/// }
/// let mut numbers = [1.0, 3.0];
/// vectorized(Halves(&mut numbers));
/// assert_eq!(numbers, [0.5, 1.5]);
/// ```
pub fn vectorized<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: `with_avx2` consists of safe code, and requires of its caller only that the processor has the instructions of AVX2, as
        // has just been found.
        #[allow(unsafe_code)]
        return unsafe { with_avx2(work) };
    }
    work.run()
}

/// Runs a loop that is compiled for AVX2: 32 bytes at once instead of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scaled<'a> {
        from: &'a [i16],
        to: &'a mut [f32],
    }

    impl Loop for Scaled<'_> {
        type Output = usize;

        #[inline(always)]
        fn run(self) -> usize {
            for (place, from) in self.to.iter_mut().zip(self.from) {
                *place = f32::from(*from) * 0.1 + 273.15;
            }
            self.from.len()
        }
    }

    #[test]
    fn each_element_is_rounded_as_without_vectors() {
        let from: Vec<i16> = (0..=u16::MAX).map(|bits| bits as i16).collect();
        for length in [0, 1, 7, 8, 31, 33, from.len()] {
            let (mut wide, mut plain) = (vec![0.0; length], vec![0.0; length]);
            assert_eq!(vectorized(Scaled { from: &from[..length], to: &mut wide }), length);
            for (place, from) in plain.iter_mut().zip(&from) {
                let product = std::hint::black_box(f32::from(*from) * 0.1);
                *place = product + 273.15;
            }
            assert!(wide.iter().zip(&plain).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
