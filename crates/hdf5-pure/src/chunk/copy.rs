//! Copies rectangles between arrays of elements.

/// A rectangle of an array is given by the array's shape, and by the first index, the count and the step along each
/// dimension.
#[derive(Clone, Debug)]
pub(crate) struct Rectangle {
    pub(crate) shape: Vec<u64>,
    pub(crate) start: Vec<u64>,
    pub(crate) step: Vec<u64>,
}

/// Copies `counts` elements of `size` bytes from one rectangle to another. Returns `None` if either exceeds its array.
pub(crate) fn copy(
    from: (&[u8], &Rectangle),
    to: (&mut [u8], &Rectangle),
    counts: &[u64],
    size: usize,
) -> Option<()> {
    if counts.contains(&0) {
        return Some(());
    }
    let (source, source_at) = from;
    let (target, target_at) = to;
    let plan = Plan::new(source_at, target_at, counts, u64::try_from(size).ok()?)?;
    plan.run(source, target)
}

/// The dimensions over which the copy loops, and the number of bytes that are adjacent in both arrays.
struct Plan {
    /// The count and the byte strides in source and target, the slowest dimension first.
    dimensions: Vec<(usize, usize, usize)>,
    source: usize,
    target: usize,
    run: usize,
}

impl Plan {
    fn new(from: &Rectangle, to: &Rectangle, counts: &[u64], size: u64) -> Option<Self> {
        let strides = |shape: &[u64]| -> Option<Vec<u64>> {
            let mut stride = size;
            let mut strides = Vec::with_capacity(shape.len());
            for &n in shape.iter().rev() {
                strides.push(stride);
                stride = stride.checked_mul(n.max(1))?;
            }
            strides.reverse();
            Some(strides)
        };
        let (source_strides, target_strides) = (strides(&from.shape)?, strides(&to.shape)?);
        let first = |at: &Rectangle, strides: &[u64]| -> Option<usize> {
            let sum = at
                .start
                .iter()
                .zip(strides)
                .try_fold(0u64, |sum, (s, d)| sum.checked_add(s.checked_mul(*d)?))?;
            usize::try_from(sum).ok()
        };
        let (source, target) = (first(from, &source_strides)?, first(to, &target_strides)?);
        let steps = |at: &Rectangle, strides: Vec<u64>| -> Option<Vec<u64>> {
            at.step.iter().zip(strides).map(|(step, stride)| step.checked_mul(stride)).collect()
        };
        let (source_steps, target_steps) = (steps(from, source_strides)?, steps(to, target_strides)?);
        let mut run = size;
        let mut dimensions = Vec::new();
        for ((&count, source), target) in counts.iter().zip(source_steps).zip(target_steps).rev() {
            // Dimensions whose elements are adjacent in both arrays become part of the run.
            if dimensions.is_empty() && (count == 1 || (source == run && target == run)) {
                run = run.checked_mul(count)?;
            } else if count != 1 {
                let wide = |n: u64| usize::try_from(n).ok();
                dimensions.push((wide(count)?, wide(source)?, wide(target)?));
            }
        }
        dimensions.reverse();
        Some(Self { dimensions, source, target, run: usize::try_from(run).ok()? })
    }

    fn run(&self, source: &[u8], target: &mut [u8]) -> Option<()> {
        walk(&self.dimensions, (self.source, self.target), source, target, self.run)
    }
}

/// The common part of two arrays along one dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlap {
    /// The first index in the source.
    pub(crate) start: u64,
    /// The step from one index in the source to the next.
    pub(crate) step: u64,
    /// The first index in the target, where the indices are adjacent.
    pub(crate) to: u64,
    pub(crate) count: u64,
}

/// The byte strides of two arrays between which many rectangles are copied.
#[derive(Debug)]
pub(crate) struct Distances {
    /// The byte strides in source and target, the slowest dimension first.
    strides: Vec<(u64, u64)>,
    size: u64,
}

/// A rectangle that [`Distances::place`] has located.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    dimensions: Vec<(usize, usize, usize)>,
    source: usize,
    target: usize,
    run: usize,
}

impl Distances {
    /// Creates the strides for arrays of elements of `size` bytes.
    pub(crate) fn new(source: &[u64], target: &[u64], size: usize) -> Option<Self> {
        let size = u64::try_from(size).ok()?;
        let mut strides = Vec::with_capacity(source.len());
        let (mut from, mut to) = (size, size);
        for (&source, &target) in source.iter().zip(target).rev() {
            strides.push((from, to));
            from = from.checked_mul(source.max(1))?;
            to = to.checked_mul(target.max(1))?;
        }
        strides.reverse();
        Some(Self { strides, size })
    }

    /// Locates the elements of the `overlaps`, one per dimension. No count may be 0.
    pub(crate) fn place(&self, overlaps: &[Overlap], placed: &mut Placed) -> Option<()> {
        placed.dimensions.clear();
        let (mut source, mut target, mut run) = (0u64, 0u64, self.size);
        for (overlap, &(from, to)) in overlaps.iter().zip(&self.strides).rev() {
            source = source.checked_add(overlap.start.checked_mul(from)?)?;
            target = target.checked_add(overlap.to.checked_mul(to)?)?;
            let step = overlap.step.checked_mul(from)?;
            let count = overlap.count;
            // Dimensions whose elements are adjacent in both arrays become part of the run.
            if placed.dimensions.is_empty() && (count == 1 || (step == run && to == run)) {
                run = run.checked_mul(count)?;
            } else if count != 1 {
                placed.dimensions.push((
                    usize::try_from(count).ok()?,
                    usize::try_from(step).ok()?,
                    usize::try_from(to).ok()?,
                ));
            }
        }
        placed.dimensions.reverse();
        placed.source = usize::try_from(source).ok()?;
        placed.target = usize::try_from(target).ok()?;
        placed.run = usize::try_from(run).ok()?;
        Some(())
    }
}

impl Placed {
    /// Copies the elements. Returns `None` if they exceed either array.
    pub(crate) fn copy(&self, source: &[u8], target: &mut [u8]) -> Option<()> {
        walk(&self.dimensions, (self.source, self.target), source, target, self.run)
    }

    /// Returns the offset of the first byte of the elements in the source, and the number of bytes up to the last one.
    pub(crate) fn span(&self) -> Option<(usize, usize)> {
        let steps = self.dimensions.iter().try_fold(0usize, |sum, &(count, step, _)| {
            sum.checked_add(count.checked_sub(1)?.checked_mul(step)?)
        });
        Some((self.source, steps?.checked_add(self.run)?))
    }

    /// Copies the elements from a part of the source that begins with the first of them.
    pub(crate) fn copy_span(&self, span: &[u8], target: &mut [u8]) -> Option<()> {
        walk(&self.dimensions, (0, self.target), span, target, self.run)
    }

    /// Returns the place of the elements in the target if they are exactly the first `len` bytes of the source, in
    /// order.
    pub(crate) fn whole<'t>(&self, target: &'t mut [u8], len: usize) -> Option<&'t mut [u8]> {
        let all = self.dimensions.is_empty() && self.source == 0 && self.run == len;
        if all { target.get_mut(self.target..self.target.checked_add(len)?) } else { None }
    }
}

/// Copies runs of `run` bytes. `dimensions` has the count and the byte strides, the slowest dimension first.
fn walk(
    dimensions: &[(usize, usize, usize)],
    (mut from, mut to): (usize, usize),
    source: &[u8],
    target: &mut [u8],
    run: usize,
) -> Option<()> {
    let Some((&(count, source_step, target_step), deeper)) = dimensions.split_first() else {
        return copy_run(source, from, target, to, run);
    };
    for _ in 0..count {
        match deeper {
            [] => copy_run(source, from, target, to, run)?,
            _ => walk(deeper, (from, to), source, target, run)?,
        }
        from = from.checked_add(source_step)?;
        to = to.checked_add(target_step)?;
    }
    Some(())
}

fn copy_run(source: &[u8], from: usize, target: &mut [u8], to: usize, len: usize) -> Option<()> {
    let source = source.get(from..from.checked_add(len)?)?;
    let target = target.get_mut(to..to.checked_add(len)?)?;
    // With a size that is known at compile time, each copy becomes a single move instruction.
    match len {
        4 => target.first_chunk_mut::<4>()?.copy_from_slice(source.first_chunk::<4>()?),
        8 => target.first_chunk_mut::<8>()?.copy_from_slice(source.first_chunk::<8>()?),
        _ => target.copy_from_slice(source),
    }
    Some(())
}

/// Fills `out` with copies of `value`, or with zeros if there is none.
pub(crate) fn fill(out: &mut [u8], value: Option<&[u8]>) {
    match value {
        Some(value) if !value.is_empty() && value.iter().any(|&byte| byte != 0) => {
            out.chunks_mut(value.len()).for_each(|element| {
                element.iter_mut().zip(value).for_each(|(to, &from)| *to = from);
            });
        }
        _ => out.fill(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_on_both_sides() {
        let source: Vec<u8> = (0..24).collect(); // 4 x 6
        let mut target = vec![0; 12]; // 3 x 4
        let from = Rectangle { shape: vec![4, 6], start: vec![1, 0], step: vec![2, 3] };
        let to = Rectangle { shape: vec![3, 4], start: vec![0, 1], step: vec![1, 2] };
        copy((&source, &from), (&mut target, &to), &[2, 2], 1).unwrap();
        assert_eq!(target, [0, 6, 0, 9, 0, 18, 0, 21, 0, 0, 0, 0]);
        assert_eq!(copy((&source[..9], &from), (&mut target, &to), &[2, 2], 1), None);
    }

    #[test]
    fn placed_rectangles() {
        let source: Vec<u8> = (0..24).collect(); // 4 x 6
        let mut target = vec![0; 12]; // 3 x 4
        let distances = Distances::new(&[4, 6], &[3, 4], 1).unwrap();
        let mut placed = Placed::default();
        let overlaps =
            [Overlap { start: 1, step: 2, to: 0, count: 2 }, Overlap { start: 0, step: 3, to: 1, count: 2 }];
        distances.place(&overlaps, &mut placed).unwrap();
        placed.copy(&source, &mut target).unwrap();
        assert_eq!(target, [0, 6, 9, 0, 0, 18, 21, 0, 0, 0, 0, 0]);
        assert!(placed.copy(&source[..9], &mut target).is_none());
        assert!(placed.whole(&mut target, 24).is_none());
        // Two whole rows of the source are two rows of the target if both arrays have the same width.
        let distances = Distances::new(&[2, 4], &[3, 4], 1).unwrap();
        let rows = [2, 4].map(|count| Overlap { start: 0, step: 1, to: 0, count });
        distances.place(&rows, &mut placed).unwrap();
        assert_eq!(placed.whole(&mut target, 8).map(|part| part.len()), Some(8));
    }

    #[test]
    fn whole_rows_are_one_run() {
        let whole = Rectangle { shape: vec![2, 3], start: vec![0, 0], step: vec![1, 1] };
        let plan = Plan::new(&whole, &whole, &[2, 3], 4).unwrap();
        assert_eq!((plan.run, plan.dimensions.len()), (24, 0));
    }
}
