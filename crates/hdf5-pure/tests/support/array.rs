//! A model of a dataset: a plain array.

use hdf5_pure::{Range, Slab};

/// The shape, the elements row by row, and the value of new elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<u64>,
    pub(crate) values: Vec<i32>,
    pub(crate) fill: i32,
}

impl Array {
    fn indices(slab: &Slab) -> Vec<usize> {
        slab.runs().flat_map(|run| (0..run.len).map(move |i| (run.from + i * run.step) as usize)).collect()
    }

    pub(crate) fn write(&mut self, slab: &Slab, values: &[i32]) {
        Self::indices(slab).into_iter().zip(values).for_each(|(at, &value)| self.values[at] = value);
    }

    #[allow(dead_code, reason = "only some tests write points")]
    pub(crate) fn write_points(&mut self, points: &[Vec<u64>], values: &[i32]) {
        for (point, &value) in points.iter().zip(values) {
            let ranges: Vec<Range> = point.iter().map(|&at| Range::new(at, 1)).collect();
            self.write(&Slab::new(&self.shape, ranges).unwrap(), &[value]);
        }
    }

    pub(crate) fn resize(&mut self, shape: &[u64]) {
        let kept: Vec<Range> =
            shape.iter().zip(&self.shape).map(|(&a, &b)| Range::new(0, a.min(b))).collect();
        let mut new = vec![self.fill; shape.iter().product::<u64>() as usize];
        let from = Self::indices(&Slab::new(&self.shape, kept.clone()).unwrap());
        let to = Self::indices(&Slab::new(shape, kept).unwrap());
        from.into_iter().zip(to).for_each(|(from, to)| new[to] = self.values[from]);
        (self.shape, self.values) = (shape.to_vec(), new);
    }
}
