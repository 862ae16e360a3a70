//! The index block: entries in the order of their frames, which are found by bisection and read in place.
//!
//! ```text
//! ├─ entry 0 ─┤ … ├─ entry used-1 ─┤─ location 0 ─┤ … ├┄┄ allocated
//! ```
//!
//! The first entry whose `location` is 0 ends the index; a full block has no such entry. Since layer 2.0, the entries of a frame
//! are sorted by id. In older layers they are in the order in which they were written.

use std::borrow::Cow;
use std::ops::Range;

use sciformats_core::arith::{add, fit, mul, present, sub};
use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, bound};

use crate::spec::{Header, IndexEntry};

const SIZE: u64 = IndexEntry::SIZE as u64;

/// The sort key of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Frame,
    FrameAndId,
}

/// Where the entries in use are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) location: u64,
    pub(crate) used: u64,
    pub(crate) order: Order,
}

impl Index {
    /// Finds the end of the index to which the header refers, by bisection. The block must be inside the storage.
    pub(crate) fn new(storage: &dyn ReadAt, header: &Header) -> Result<Self> {
        let fault = |kind| Fault::new("index block", kind).at("header", Header::INDEX_OFFSET);
        let block = header.index;
        let end = block.allocated.checked_mul(SIZE).and_then(|size| size.checked_add(block.location));
        match end {
            None => return Err(fault(FaultKind::Overflow)),
            Some(end) if end > storage.size() => {
                return Err(fault(FaultKind::OutOfBounds { found: end, end: storage.size() }));
            }
            Some(_) => {}
        }
        let mut index = Self { location: block.location, used: block.allocated, order: header.order() };
        index.used = bisect(0..block.allocated, |position| {
            let at = index.offset(position)?;
            let bytes = storage.read_at(at, IndexEntry::SIZE)?;
            Ok(locate("index entry", at, &bytes, IndexEntry::parse_location)? != 0)
        })?;
        Ok(index)
    }

    /// Returns the byte offset of an entry of the block.
    ///
    /// # Errors
    /// `Internal` if the position is outside of the block, which is inside the storage.
    pub(crate) fn offset(&self, position: u64) -> Result<u64> {
        add(self.location, mul(position, SIZE)?)
    }

    /// Returns the entry at `position`, which must be less than `used`.
    pub(crate) fn entry(&self, storage: &dyn ReadAt, position: u64) -> Result<IndexEntry> {
        let at = self.offset(position)?;
        locate("index entry", at, &storage.read_at(at, IndexEntry::SIZE)?, IndexEntry::parse)
    }

    /// Returns the number of frames, which is one more than the frame of the last entry.
    pub(crate) fn frames(&self, storage: &dyn ReadAt) -> Result<u64> {
        let Some(last) = self.used.checked_sub(1) else { return Ok(0) };
        let at = add(self.offset(last)?, IndexEntry::FRAME_OFFSET)?;
        let overflow = || Fault::new("frame", FaultKind::Overflow).at("index entry", at);
        self.entry(storage, last)?.frame.checked_add(1).ok_or_else(overflow)
    }

    /// Returns the position of the first entry that is not before `frame` and, if ids are sorted, not before `id`. The search
    /// begins at `near`, and is short if that is a good guess.
    fn lower_bound(&self, storage: &dyn ReadAt, frame: u64, id: u16, near: u64) -> Result<u64> {
        let target = self.key(frame, id);
        let block = self.block(storage);
        let (mut low, mut high) = (None, None);
        search(self.used, near, |position| {
            let at = self.offset(position)?;
            let within: usize = fit(mul(position, SIZE)?, "place in the index block")?;
            let bytes = match block.and_then(|block| block.get(within..)) {
                Some(bytes) => Cow::Borrowed(bytes),
                None => storage.read_at(at, IndexEntry::SIZE)?,
            };
            let (frame, id) = locate("index entry", at, &bytes, IndexEntry::parse_key)?;
            let key = self.key(frame, id);
            if let Some(low) = low.filter(|&low| key < low) {
                return Err(self.disorder(position, low, key));
            }
            if let Some(high) = high.filter(|&high| key > high) {
                return Err(self.disorder(position, high, key));
            }
            let before = key < target;
            *(if before { &mut low } else { &mut high }) = Some(key);
            Ok(before)
        })
    }

    /// Returns the entries in use, if they are in memory.
    fn block<'a>(&self, storage: &'a dyn ReadAt) -> Option<&'a [u8]> {
        let start = usize::try_from(self.location).ok()?;
        let end = usize::try_from(self.offset(self.used).ok()?).ok()?;
        storage.as_slice()?.get(start..end)
    }

    /// Finds the entries of `frame` that have one of `ids`, and returns the first one in the order of the index.
    pub(crate) fn find(
        &self,
        storage: &dyn ReadAt,
        frame: u64,
        ids: &[u16],
        near: u64,
    ) -> Result<Option<(u64, IndexEntry)>> {
        if self.order == Order::FrameAndId {
            for &id in ids {
                let position = self.lower_bound(storage, frame, id, near)?;
                if position < self.used {
                    let entry = self.entry(storage, position)?;
                    if (entry.frame, entry.id) == (frame, id) {
                        return Ok(Some((position, entry)));
                    }
                }
            }
            return Ok(None);
        }
        self.of_frame(storage, frame, near)?
            .find(|item| !item.as_ref().is_ok_and(|(_, entry)| !ids.contains(&entry.id)))
            .transpose()
    }

    /// Returns the entries of a frame, in the order of the index.
    pub(crate) fn of_frame<'a>(
        &self,
        storage: &'a dyn ReadAt,
        frame: u64,
        near: u64,
    ) -> Result<impl Iterator<Item = Result<(u64, IndexEntry)>> + use<'a>> {
        let start = self.lower_bound(storage, frame, 0, near)?;
        Ok(self
            .entries(storage, start..self.used)
            .take_while(move |item| !item.as_ref().is_ok_and(|(_, entry)| entry.frame != frame)))
    }

    /// Returns the entries at these positions. It is an error if one of them is out of order.
    pub(crate) fn entries<'a>(&self, storage: &'a dyn ReadAt, positions: Range<u64>) -> Entries<'a> {
        Entries { index: *self, storage, positions, block: Cow::Borrowed(&[]), previous: None }
    }

    /// Returns the sort key of an entry.
    fn key(&self, frame: u64, id: u16) -> (u64, u16) {
        match self.order {
            Order::Frame => (frame, 0),
            Order::FrameAndId => (frame, id),
        }
    }

    /// Returns the error for an entry at `position` that is on the wrong side of another entry.
    fn disorder(&self, position: u64, other: (u64, u16), key: (u64, u16)) -> Error {
        let (field, offset) = match other.0 == key.0 {
            true => ("id", IndexEntry::ID_OFFSET),
            false => ("frame", IndexEntry::FRAME_OFFSET),
        };
        let entry = bound::sum(self.location, bound::product(position, SIZE)); // a position in a message
        Fault::new(field, FaultKind::Order).at("index entry", bound::sum(entry, offset))
    }
}

/// Does the same as [`bisect`] for all positions below `end`. It begins at `near` and first finds bounds with growing steps.
fn search(end: u64, near: u64, mut before: impl FnMut(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high, mut step) = (0, end, 16u64);
    let start = near.min(bound::left(end, 1));
    if start < end && before(start)? {
        low = add(start, 1)?;
        loop {
            let next = bound::sum(low, step);
            if next >= high {
                break;
            }
            if !before(next)? {
                high = next;
                break;
            }
            (low, step) = (add(next, 1)?, bound::product(step, 8));
        }
    } else {
        high = start;
        while let Some(next) = high.checked_sub(step) {
            if before(next)? {
                low = add(next, 1)?;
                break;
            }
            (high, step) = (next, bound::product(step, 8));
        }
    }
    bisect(low..high, before)
}

/// Returns the first of the positions for which `before` is false. It must be true for all earlier positions, and false for all
/// later ones.
fn bisect(positions: Range<u64>, mut before: impl FnMut(u64) -> Result<bool>) -> Result<u64> {
    let Range { start: mut low, end: mut high } = positions;
    while low < high {
        let middle = low.midpoint(high);
        if before(middle)? {
            low = add(middle, 1)?;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The iterator of [`Index::entries`], which reads a page of entries at a time and ends after an error.
pub(crate) struct Entries<'a> {
    index: Index,
    storage: &'a dyn ReadAt,
    positions: Range<u64>,
    /// The rest of the present page.
    block: Cow<'a, [u8]>,
    previous: Option<(u64, u16)>,
}

/// The number of entries that are read at once.
const PAGE: u64 = 128;

impl Entries<'_> {
    fn at(&mut self, position: u64) -> Result<IndexEntry> {
        let at = self.index.offset(position)?;
        let within = position % PAGE;
        if self.block.is_empty() || within == 0 {
            let page_start = sub(position, within)?;
            let count = sub(self.index.used, page_start)?.min(PAGE);
            let size = fit(mul(count, SIZE)?, "bytes of a page of entries")?;
            self.block = self.storage.read_at(self.index.offset(page_start)?, size)?;
        }
        let within: usize = fit(mul(within, SIZE)?, "place in a page of entries")?;
        let bytes = present(self.block.get(within..), "entry of a page")?;
        let entry = locate("index entry", at, bytes, IndexEntry::parse)?;
        let key = self.index.key(entry.frame, entry.id);
        if let Some(previous) = self.previous.replace(key).filter(|&previous| key < previous) {
            return Err(self.index.disorder(position, previous, key));
        }
        Ok(entry)
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(u64, IndexEntry)>;

    fn next(&mut self) -> Option<Self::Item> {
        let position = self.positions.next()?;
        let entry = self.at(position);
        if entry.is_err() {
            self.positions.start = self.positions.end;
        }
        Some(entry.map(|entry| (position, entry)))
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_at_the_same_place_wherever_it_begins() {
        for (end, stride) in [(0, 1), (1, 1), (2, 1), (17, 1), (1000, 21)] {
            for place in (0..=end).step_by(stride) {
                for near in (0..end + 2).step_by(stride).chain([u64::MAX]) {
                    let found = search(end, near, |position| {
                        assert!(position < end);
                        Ok(position < place)
                    });
                    assert_eq!(found.unwrap(), place, "{end} {near}");
                }
            }
        }
    }

    #[test]
    fn a_good_guess_makes_a_search_short() {
        let probes = |near| {
            let mut count = 0;
            let found = search(1 << 20, near, |position| {
                count += 1;
                Ok(position < 500_003)
            });
            assert_eq!(found.unwrap(), 500_003);
            count
        };
        assert!(probes(500_000) < 8, "{}", probes(500_000));
        assert!(probes(0) < 32 && probes(u64::MAX) < 32);
    }
}
