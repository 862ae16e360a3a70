//! Space of files that are managed in pages: structures and elements never share one.

use std::ops::Range;

/// The pages that are begun.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    /// Bytes of a page.
    size: u64,
    /// What is left of the page of structures, and of that of elements.
    left: [Range<u64>; 2],
}

impl Pages {
    pub(crate) fn new(size: u64) -> Self {
        Self { size, left: [0..0, 0..0] }
    }

    /// Takes `len` bytes at a multiple of `alignment` in a file that ends at `end`, a multiple of the page size. Returns
    /// where they are, and the new end; nothing if there is no such number.
    pub(crate) fn take(&mut self, end: u64, len: u64, alignment: u64, elements: bool) -> Option<(u64, u64)> {
        let size = self.size;
        if len >= size {
            // Whole pages of their own.
            return Some((end, end.checked_add(len)?.checked_next_multiple_of(size)?));
        }
        let left = self.left.get_mut(usize::from(elements))?;
        let start = left.start.checked_next_multiple_of(alignment)?;
        let behind = start.checked_add(len)?;
        if behind <= left.end {
            left.start = behind;
            return Some((start, end));
        }
        *left = end.checked_add(len)?..end.checked_add(size)?;
        Some((end, left.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_do_not_share_pages() {
        let mut pages = Pages::new(512);
        assert_eq!(pages.take(0, 48, 8, false), Some((0, 512)));
        assert_eq!(pages.take(512, 10, 8, true), Some((512, 1024)));
        assert_eq!(pages.take(1024, 10, 8, false), Some((48, 1024)));
        assert_eq!(pages.take(1024, 10, 8, false), Some((64, 1024)));
        assert_eq!(pages.take(1024, 500, 8, true), Some((1024, 1536)));
        // Of a page or more: at the start of one, and nothing else there.
        assert_eq!(pages.take(1536, 600, 8, false), Some((1536, 2560)));
        assert_eq!(pages.take(2560, 400, 8, false), Some((80, 2560)));
        assert_eq!(pages.take(u64::MAX / 512 * 512, 600, 8, false), None);
    }
}
