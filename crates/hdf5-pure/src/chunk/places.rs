//! Where the chunks of a dataset are stored, in a table that is made after some reads of parts.
//!
//! Each read of a part looks up its chunks in the index, which means to read and to parse a few nodes. If a program reads many small
//! parts of one dataset, that takes most of the time. Once the nodes that were parsed are about as many as the index may have, the
//! whole index is read once, and further reads use the table. An index with a damaged part has no table, so that reads of the
//! other parts still succeed.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunk::index::{Bounds, Index, StoredChunk};
use crate::spec::Address;

/// The largest number of chunks of a dataset that has a table. Its table has 8 MiB.
const MOST: u64 = 1 << 18;

/// How many chunks the table may have for each read so far. To read their entries takes about as long as one lookup.
const PER_READ: u64 = 64;

/// The number of reads that use the index itself.
const LEAST: u64 = 4;

/// The places of the chunks of one dataset. Threads share them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    reads: AtomicU64,
    /// `None` if the index cannot be read as a whole.
    table: OnceLock<Option<Table>>,
}

#[derive(Debug)]
struct Table {
    /// The number of chunks along each dimension.
    counts: Vec<u64>,
    /// The stored chunks in the order of their numbers, without two of the same number.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    /// The position of the chunk among all chunks of the dataset, of which the last dimension varies fastest.
    number: u64,
    address: Address,
    size: u64,
    filter_mask: u32,
}

impl Places {
    /// Adds the stored chunks within `bounds` in the order of their positions. Returns whether this was possible; if not, the
    /// index has to be visited.
    pub(crate) fn find(&self, index: &Index<'_>, bounds: &Bounds, found: &mut Vec<StoredChunk>) -> bool {
        let table = match self.table.get() {
            Some(table) => table,
            None => {
                let reads = self.reads.fetch_add(1, Ordering::Relaxed);
                let counts = counts(index);
                let all = counts.iter().try_fold(1u64, |product, n| product.checked_mul(*n));
                let few = |all: &u64| *all <= MOST && all.div_ceil(PER_READ) <= reads;
                if reads < LEAST || all.filter(few).is_none() {
                    return false;
                }
                self.table.get_or_init(|| Table::of(index, counts))
            }
        };
        table.as_ref().is_some_and(|table| table.within(bounds, found).is_some())
    }
}

/// Returns the number of chunks along each dimension.
fn counts(index: &Index<'_>) -> Vec<u64> {
    let sides = index.dimensions.iter().zip(&index.layout.dimensions);
    sides.map(|(size, chunk)| size.div_ceil((*chunk).max(1)).max(1)).collect()
}

impl Table {
    /// Reads a whole index.
    fn of(index: &Index<'_>, counts: Vec<u64>) -> Option<Self> {
        let last = counts.iter().map(|n| n.checked_sub(1)).collect::<Option<_>>()?;
        let all = Bounds { first: vec![0; counts.len()], last };
        let most = usize::try_from(MOST).ok()?;
        let (mut places, mut sound) = (Vec::new(), true);
        index.visit(&all, &mut |chunk| {
            let place = chunk.ok().filter(|_| places.len() < most).and_then(|chunk| {
                let StoredChunk { scaled, address, size, filter_mask } = chunk;
                Some(Place { number: number(&counts, &scaled)?, address, size, filter_mask })
            });
            sound = place.is_some();
            places.extend(place);
            if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        // As in a visit, the first of several chunks with the same position counts.
        sciformats_core::order::sort_by_key(&mut places, |place| place.number);
        places.dedup_by_key(|place| place.number);
        sound.then_some(Self { counts, places })
    }

    fn within(&self, bounds: &Bounds, found: &mut Vec<StoredChunk>) -> Option<()> {
        let (before, from) = (found.len(), bounds.first.last()?);
        let mut at = bounds.first.clone();
        loop {
            let start = number(&self.counts, &at)?;
            let end = start.checked_add(bounds.last.last()?.checked_sub(*from)?)?;
            let first = self.places.partition_point(|place| place.number < start);
            let row = self.places.get(first..)?.iter().take_while(|place| place.number <= end);
            for place in row {
                let mut scaled = at.clone();
                *scaled.last_mut()? = from.checked_add(place.number.checked_sub(start)?)?;
                let Place { address, size, filter_mask, .. } = *place;
                found.push(StoredChunk { scaled, address, size, filter_mask });
            }
            // The next row: the slower dimensions count up, the last of them first.
            let slower = at.iter_mut().zip(bounds.first.iter().zip(&bounds.last)).rev().skip(1);
            let mut more = false;
            for (position, (first, last)) in slower {
                if *position < *last {
                    *position = position.checked_add(1)?;
                    more = true;
                    break;
                }
                *position = *first;
            }
            if !more {
                debug_assert!(
                    found.get(before..).is_some_and(|new| new.is_sorted_by(|a, b| a.scaled < b.scaled))
                );
                return Some(());
            }
        }
    }
}

/// Returns the number of a chunk, or `None` if it is not one of the dataset.
fn number(counts: &[u64], scaled: &[u64]) -> Option<u64> {
    let mut number = 0u64;
    for (n, at) in counts.iter().zip(scaled) {
        number = number.checked_mul(*n)?.checked_add(Some(*at).filter(|at| at < n)?)?;
    }
    (counts.len() == scaled.len()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let place = |number: u64| Place { number, address: Address(1000 + number), size: 8, filter_mask: 0 };
        Table { counts: vec![2, 3, 4], places: [0, 1, 5, 6, 7, 12, 23].map(place).into() }
    }

    #[test]
    fn boxes_of_chunks() {
        let of = |first: [u64; 3], last: [u64; 3]| {
            let mut found = Vec::new();
            table().within(&Bounds { first: first.into(), last: last.into() }, &mut found).unwrap();
            found.iter().map(|chunk| (chunk.scaled.clone(), chunk.address.0)).collect::<Vec<_>>()
        };
        assert_eq!(of([0, 0, 0], [1, 2, 3]).len(), 7);
        assert_eq!(
            of([0, 0, 1], [0, 1, 2]),
            [(vec![0, 0, 1], 1001), (vec![0, 1, 1], 1005), (vec![0, 1, 2], 1006)]
        );
        assert_eq!(of([1, 0, 0], [1, 2, 0]), [(vec![1, 0, 0], 1012)]);
        assert_eq!(of([1, 2, 3], [1, 2, 3]), [(vec![1, 2, 3], 1023)]);
        assert!(of([1, 1, 0], [1, 1, 3]).is_empty());
    }

    #[test]
    fn a_position_beyond_the_dataset_is_no_chunk() {
        let mut found = Vec::new();
        assert!(table().within(&Bounds { first: vec![0, 3, 0], last: vec![0, 3, 1] }, &mut found).is_none());
        assert_eq!(number(&[2, 3], &[1, 2]), Some(5));
        assert_eq!(number(&[2, 3], &[1]), None);
    }
}
