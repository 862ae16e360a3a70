//! Which elements of an array each chunk has.

use sciformats_core::bound;

use crate::boxes::chunk as chunk_box;

/// Which elements each chunk has.
pub(super) enum Extents {
    /// Those of a part of an array, of which this is the shape and that of the chunks.
    Grid(Vec<u64>, Vec<u64>),
    /// Those that follow those of the chunks before it: its first and its last byte, and the size of an element.
    Line(Vec<(u64, u64)>, u64),
}

impl Extents {
    /// Describes chunks with these numbers of bytes. Without the shapes of the array and of its chunks they are one line.
    pub(super) fn new<'a>(
        shape: Option<(Vec<u64>, Vec<u64>)>,
        typesize: u64,
        sizes: impl IntoIterator<Item = &'a u32>,
    ) -> Self {
        if let Some((shape, chunk)) = shape {
            return Self::Grid(shape, chunk);
        }
        let parts = sizes.into_iter().scan(0, |end, &size| {
            let start = *end;
            *end = bound::sum(start, u64::from(size));
            Some((start, *end))
        });
        Self::Line(parts.collect(), typesize.max(1))
    }

    /// Returns the box of the elements of a chunk; `None` if it has none.
    pub(super) fn of(&self, index: u64) -> Option<(Vec<u64>, Vec<u64>)> {
        match self {
            Self::Grid(shape, chunk) => Some(chunk_box(shape, chunk, &scaled(shape, chunk, index))),
            Self::Line(parts, typesize) => {
                let (start, end) = parts.get(bound::addressable(index))?;
                let (first, last) = (start / typesize, end.div_ceil(*typesize));
                let count = last.checked_sub(first).filter(|&count| count > 0)?;
                Some((vec![first], vec![count]))
            }
        }
    }
}

/// Returns the index of a chunk in the grid of an array.
fn scaled(shape: &[u64], chunk: &[u64], mut index: u64) -> Vec<u64> {
    let mut found: Vec<u64> = shape
        .iter()
        .zip(chunk)
        .rev()
        .map(|(size, n)| {
            let count = size.div_ceil((*n).max(1)).max(1);
            let at = index % count;
            index /= count;
            at
        })
        .collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_has_its_elements() {
        let line = Extents::new(None, 4, &[8, 0, 6, 12]);
        let found: Vec<_> = (0..5).map(|index| line.of(index)).collect();
        let part = |first, count| Some((vec![first], vec![count]));
        // A chunk that ends within an element has the whole of it.
        assert_eq!(found, [part(0, 2), None, part(2, 2), part(3, 4), None]);
        let grid = Extents::new(Some((vec![3, 5], vec![2, 4])), 4, &[]);
        assert_eq!(grid.of(3), Some((vec![2, 4], vec![1, 1])));
    }

    #[test]
    fn many_lost_chunks_take_no_longer_each() {
        // With the sum of the sizes for each of them, this would take hours.
        let line = Extents::new(None, 1, &vec![1; 3_000_000]);
        assert!((0..3_000_000).all(|index| line.of(index) == Some((vec![index], vec![1]))));
    }
}
