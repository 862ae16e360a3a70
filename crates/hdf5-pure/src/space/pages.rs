//! The space of files that are allocated in pages. Metadata and elements never share a page.

use std::ops::Range;

/// The pages that still have room.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    /// The number of bytes per page.
    size: u64,
    /// The rest of the page of metadata, and of the page of elements.
    left: [Range<u64>; 2],
    /// The pages before all elements that are kept for metadata.
    front: Range<u64>,
}

impl Pages {
    pub(crate) fn new(size: u64) -> Self {
        Self { size, left: [0..0, 0..0], front: 0..0 }
    }

    /// Keeps pages for `room` bytes of metadata in a file that ends at `end`. The rest of the page of metadata counts. Returns the
    /// new end, or `None` if it does not fit into 64 bits.
    pub(crate) fn keep_front(&mut self, end: u64, room: u64) -> Option<u64> {
        let [left, _] = &self.left;
        let more = room.saturating_sub(left.end.checked_sub(left.start)?); // a bound
        let after = end.checked_add(more.checked_next_multiple_of(self.size)?)?;
        self.front = end..after;
        Some(after)
    }

    /// Takes whole pages for `len` bytes of metadata from those that are kept for it.
    fn take_front(&mut self, len: u64) -> Option<Range<u64>> {
        let start = self.front.start;
        let behind = start.checked_add(len.checked_next_multiple_of(self.size)?)?;
        (behind <= self.front.end).then(|| {
            self.front.start = behind;
            start..behind
        })
    }

    /// Allocates `len` bytes at a multiple of `alignment` in a file that ends at `end`, a multiple of the page size.
    /// Returns their position and the new end, or `None` if the position does not fit into 64 bits.
    pub(crate) fn take(&mut self, end: u64, len: u64, alignment: u64, elements: bool) -> Option<(u64, u64)> {
        let size = self.size;
        if len >= size {
            // Data of at least a page gets pages of its own.
            if !elements && let Some(kept) = self.take_front(len) {
                return Some((kept.start, end));
            }
            return Some((end, end.checked_add(len)?.checked_next_multiple_of(size)?));
        }
        let left = self.left.get_mut(usize::from(elements))?;
        let start = left.start.checked_next_multiple_of(alignment)?;
        let behind = start.checked_add(len)?;
        if behind <= left.end {
            left.start = behind;
            return Some((start, end));
        }
        if !elements && let Some(kept) = self.take_front(size) {
            let [left, _] = &mut self.left;
            *left = kept.start.checked_add(len)?..kept.end;
            return Some((kept.start, end));
        }
        let left = self.left.get_mut(usize::from(elements))?;
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

    #[test]
    fn metadata_fills_the_pages_that_are_kept_for_it_first() {
        let mut pages = Pages::new(512);
        assert_eq!(pages.take(0, 48, 8, false), Some((0, 512)));
        // 464 bytes are left of the first page.
        assert_eq!(pages.keep_front(512, 464 + 1024), Some(1536));
        assert_eq!(pages.take(1536, 10, 8, true), Some((1536, 2048)));
        assert_eq!(pages.take(2048, 400, 8, false), Some((48, 2048)));
        assert_eq!(pages.take(2048, 400, 8, false), Some((512, 2048)));
        // Of two pages one is left, and a page is not divided between two structures that do not fit into it.
        assert_eq!(pages.take(2048, 600, 8, false), Some((2048, 3072)));
        assert_eq!(pages.take(3072, 512, 8, false), Some((1024, 3072)));
        assert_eq!(pages.take(3072, 500, 8, false), Some((3072, 3584)));
        assert_eq!(pages.keep_front(u64::MAX - 1, 5000), None);
    }
}
