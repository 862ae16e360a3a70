//! The space of files that are allocated in pages. Metadata and elements never share a page.

use std::ops::Range;

/// The pages that still have room.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    /// The number of bytes per page.
    size: u64,
    /// The rest of the page of metadata, and of the page of elements.
    left: [Range<u64>; 2],
}

impl Pages {
    pub(crate) fn new(size: u64) -> Self {
        Self { size, left: [0..0, 0..0] }
    }

    /// Allocates `len` bytes at a multiple of `alignment` in a file that ends at `end`, a multiple of the page size.
    /// Returns their position and the new end, or `None` if the position does not fit into 64 bits.
    pub(crate) fn take(&mut self, end: u64, len: u64, alignment: u64, elements: bool) -> Option<(u64, u64)> {
        let size = self.size;
        if len >= size {
            // Data of at least a page gets pages of its own.
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
        // Data of at least a page starts a page, and nothing else shares its pages.
        assert_eq!(pages.take(1536, 600, 8, false), Some((1536, 2560)));
        assert_eq!(pages.take(2560, 400, 8, false), Some((80, 2560)));
        assert_eq!(pages.take(u64::MAX / 512 * 512, 600, 8, false), None);
    }
}
