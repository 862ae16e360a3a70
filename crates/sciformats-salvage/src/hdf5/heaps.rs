//! Texts and sequences in sectors of zeros: these may be lost, although the heap that has them can be read.

use sciformats_core::storage::Patch;
use sciformats_core::{ReadAt, bound};

use super::Work;
use crate::report::Confidence;

/// The bytes before the size of a collection, and before that of one of its objects.
const BEFORE_SIZE: u64 = 8;
/// The objects of collections that are looked at for each sixteen bytes of the file, and how many more. Collections that lie in each
/// other would otherwise take time that grows with the square of the size of the file.
const PER_OBJECT: u64 = 4;
const BUDGET: u64 = 1 << 20;

impl Work {
    /// Makes the objects of global heaps unreadable that are in sectors of zeros, so that elements and attributes that lead to them
    /// count as missing. Returns whether there are any.
    pub(super) fn hide_zeros_in_heaps(&mut self) -> bool {
        let collections: Vec<(u64, u64)> = self
            .carved
            .iter()
            .filter(|carved| carved.structure == "global heap collection")
            .map(|carved| (self.carver.offset(carved.address), carved.len))
            .filter(|&(start, len)| self.in_zeros(start, len))
            .collect();
        let mut budget = bound::sum(BUDGET, bound::product(PER_OBJECT, self.source.size() / 16));
        let mut patches = Vec::new();
        let mut hidden = 0u64;
        for (start, len) in collections {
            let Some(objects) = self.objects_in_zeros((start, len), &mut budget) else {
                // What cannot be looked at is not relied upon.
                patches.push(Patch { offset: start, bytes: vec![0; 4] });
                hidden = bound::sum(hidden, 1);
                continue;
            };
            if objects.is_empty() {
                continue;
            }
            hidden = bound::sum(hidden, objects.len() as u64);
            // Indexes of objects count from 1, so that few are near the largest one.
            let unused = (0..=u16::MAX).rev();
            patches.extend(
                objects
                    .into_iter()
                    .zip(unused)
                    .map(|(offset, index)| Patch { offset, bytes: index.to_le_bytes().to_vec() }),
            );
        }
        if patches.is_empty() {
            return false;
        }
        self.lay_within(patches);
        let reason = format!(
            "{hidden} texts or sequences are in sectors of zeros, and nothing tells whether they were written so"
        );
        self.act("leave out objects of global heaps", self.base, reason, Confidence::Medium);
        true
    }

    /// Returns whether a part of the file has a sector of zeros, or a part of one.
    pub(super) fn in_zeros(&self, offset: u64, len: u64) -> bool {
        let end = bound::sum(offset, len);
        let next = self.scan.zeros.partition_point(|(_, to)| *to <= offset);
        self.scan.zeros.get(next).is_some_and(|(from, _)| *from < end)
    }

    /// Returns the offsets of the objects of a collection whose bytes are in sectors of zeros; `None` if too many were looked at
    /// already.
    fn objects_in_zeros(&self, (start, len): (u64, u64), budget: &mut u64) -> Option<Vec<u64>> {
        let width = u64::from(self.sizes.lengths);
        let header = bound::sum(BEFORE_SIZE, width);
        let end = bound::sum(start, len);
        let mut found = Vec::new();
        let mut at = bound::sum(start, header);
        while bound::sum(at, header) <= end {
            *budget = budget.checked_sub(1)?;
            let Ok(bytes) = self.source.read_at(at, bound::addressable(header)) else { break };
            let (Some(index), Some(size)) =
                (bytes.first_chunk::<2>(), bytes.get(bound::addressable(BEFORE_SIZE)..))
            else {
                break;
            };
            let size = size.iter().rev().take(8).fold(0, |size, &byte| size << 8 | u64::from(byte));
            let data = bound::sum(at, header);
            // Sizes are multiples of eight bytes; the collection itself may begin anywhere.
            let next = bound::sum(data, size.checked_next_multiple_of(8).unwrap_or(u64::MAX)); // a bound: ends the walk
            // An object with the number 0 is the space that is left.
            if u16::from_le_bytes(*index) == 0 {
                break;
            }
            if self.in_zeros(data, size) {
                found.push(at);
            }
            at = next;
        }
        Some(found)
    }
}
