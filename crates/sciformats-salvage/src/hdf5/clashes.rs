//! Bytes that belong to two things at once. One of the two was led to by a changed address, or has overwritten the other.

use std::collections::BTreeSet;

use hdf5_pure::Address;
use sciformats_core::bound;

use super::Work;

/// The ranges of bytes that have two owners, of which at least one are elements.
#[derive(Debug, Default)]
pub(super) struct Clashes {
    /// The starts and ends, in order and apart from each other.
    ranges: Vec<(u64, u64)>,
    /// Where two begin at the same place, so that a checksum of the elements does not tell whose they are.
    same: BTreeSet<u64>,
}

impl Clashes {
    /// Finds them among parts of the file: the offset, the length, and whether they are elements.
    fn among(mut parts: Vec<(u64, u64, bool)>) -> Self {
        parts.retain(|&(_, len, _)| len > 0);
        parts.sort_unstable();
        // Several objects may share a structure, but never elements.
        parts.dedup_by(|a, b| a == b && !a.2);
        let mut found = Self::default();
        // The part that reaches furthest, and among those that are elements.
        let (mut all, mut elements) = (Reach::default(), Reach::default());
        for (start, len, is_elements) in parts {
            let end = bound::sum(start, len);
            let before = if is_elements { all } else { elements };
            if start < before.end {
                let end = end.min(before.end);
                match found.ranges.last_mut().filter(|(_, last)| start <= *last) {
                    Some((_, last)) => *last = end.max(*last),
                    None => found.ranges.push((start, end)),
                }
                if start == before.start {
                    found.same.insert(start);
                }
            }
            for reach in [Some(&mut all), is_elements.then_some(&mut elements)].into_iter().flatten() {
                if end > reach.end {
                    *reach = Reach { start, end };
                }
            }
        }
        found
    }

    fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Calls `each` with the ranges of a part that belong to something else as well, counted from its first byte.
    pub(super) fn each(&self, (offset, len): (u64, u64), each: &mut dyn FnMut(u64, u64)) {
        let end = bound::sum(offset, len);
        let first = self.ranges.partition_point(|(_, end)| *end <= offset);
        for &(start, stop) in self.ranges.iter().skip(first).take_while(|(start, _)| *start < end) {
            each(bound::left(start.max(offset), offset), bound::left(stop.min(end), offset));
        }
    }

    /// Returns whether a chunk cannot be relied upon. If its bytes have a checksum that is right, nothing has overwritten them, and
    /// only another part at the very same place casts doubt on it.
    pub(super) fn hits(&self, part: (u64, u64), bare: bool) -> bool {
        let mut hit = self.same.contains(&part.0);
        if bare {
            self.each(part, &mut |_, _| hit = true);
        }
        hit
    }
}

#[derive(Clone, Copy, Default)]
struct Reach {
    start: u64,
    end: u64,
}

impl Work {
    /// Looks for bytes with two owners among everything that the objects consist of.
    pub(super) fn find_clashes(&mut self) {
        let mut parts = Vec::new();
        for (&at, node) in &self.tree.nodes {
            let (found, _) = self.carver.extents_of(Address(at));
            parts.extend(found);
            parts.extend(node.header.blocks.iter().map(|&(start, len)| (start, len, false)));
        }
        // An address that was overwritten with zeros leads to the superblock.
        parts.push((self.base, 48, false));
        self.clashes = Clashes::among(parts);
        self.damaged |= !self.clashes.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_clash_with_everything_and_structures_with_elements_alone() {
        let parts =
            vec![(0, 100, false), (50, 100, false), (200, 10, true), (205, 10, false), (300, 8, true)];
        let found = Clashes::among(parts);
        assert_eq!(found.ranges, [(205, 210)]);
        assert!(found.hits((200, 10), true) && !found.hits((200, 10), false) && !found.hits((300, 8), true));
    }

    #[test]
    fn two_chunks_at_one_place_are_doubtful_in_spite_of_checksums() {
        let found = Clashes::among(vec![(64, 10, true), (64, 12, true), (100, 4, true)]);
        assert!(found.hits((64, 10), false) && found.hits((64, 12), false) && !found.hits((100, 4), false));
        let mut ranges = Vec::new();
        found.each((60, 10), &mut |from, to| ranges.push((from, to)));
        assert_eq!(ranges, [(4, 10)]);
    }
}
