//! Pseudo-random numbers, elements and selections.

use hdf5_pure::{Range, Slab};

pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `n`, or 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }

    pub(crate) fn values(&mut self, n: u64) -> Vec<i32> {
        (0..n).map(|_| self.below(1000) as i32).collect()
    }

    /// A part of a shape, with steps; no dimension of the shape is 0.
    pub(crate) fn slab(&mut self, shape: &[u64]) -> Slab {
        let ranges: Vec<Range> = shape
            .iter()
            .map(|&n| {
                let start = self.below(n);
                let step = 1 + self.below(4);
                let all = (n - start).div_ceil(step);
                let count = if self.below(3) == 0 { all } else { 1 + self.below(all.min(8)) };
                Range::new(start, count).by(step)
            })
            .collect();
        Slab::new(shape, ranges).unwrap()
    }

    /// `n` positions in a shape.
    pub(crate) fn points(&mut self, shape: &[u64], n: usize) -> Vec<Vec<u64>> {
        (0..n).map(|_| shape.iter().map(|&n| self.below(n)).collect()).collect()
    }
}
