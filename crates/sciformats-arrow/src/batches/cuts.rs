//! At which rows batches begin and end.

use std::ops::Range;

/// The rows of each batch.
#[derive(Clone, Debug)]
pub(super) struct Cuts {
    pub(super) rows: Range<u64>,
    /// The ranges of rows that follow.
    pub(super) more: std::vec::IntoIter<Range<u64>>,
    pub(super) batch: u64,
    /// The number of rows that are stored together, if several of these groups are one batch.
    pub(super) chunk: Option<u64>,
}

impl Iterator for Cuts {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        while self.rows.is_empty() {
            self.rows = self.more.next()?;
        }
        let first = self.rows.start;
        let far = first.saturating_add(self.batch); // a bound
        // A batch ends where a chunk ends, so that no chunk is decoded twice.
        let end = match self.chunk {
            Some(chunk) if chunk <= self.batch => far - far.checked_rem(chunk).unwrap_or_default(),
            _ => far,
        };
        let end = if end > first { end } else { far };
        let end = end.min(self.rows.end);
        self.rows.start = end;
        Some(first..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_end_where_chunks_end() {
        let several = |rows: Vec<Range<u64>>, batch, chunk| {
            Cuts { rows: 0..0, more: rows.into_iter(), batch, chunk }.collect::<Vec<_>>()
        };
        let cuts = |rows, batch, chunk| several(vec![rows], batch, chunk);
        assert_eq!(several(vec![0..2, 5..5, 7..13], 4, Some(4)), [0..2, 7..8, 8..12, 12..13]);
        assert_eq!(cuts(0..10, 4, None), [0..4, 4..8, 8..10]);
        assert_eq!(cuts(1..10, 4, Some(3)), [1..3, 3..6, 6..9, 9..10]);
        assert_eq!(cuts(0..10, 4, Some(7)), [0..4, 4..8, 8..10]);
        assert_eq!(cuts(3..3, 4, Some(7)), [0..0; 0]);
    }
}
