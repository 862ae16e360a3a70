//! Reads indexes of chunks to which no dataset leads any more, of the kinds that have a header with a checksum: version 2 B-trees, and
//! fixed and extensible arrays.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use sciformats_core::bound;

use super::Carver;
use crate::chunk::index::{Bounds, Index, StoredChunk};
use crate::space::extents::Extents;
use crate::spec::Address;
use crate::spec::btree_v2::Header;
use crate::spec::extensible_array::ExtensibleArray;
use crate::spec::fixed_array::FixedArray;
use crate::spec::message::layout::{Chunked, IndexKind};
use crate::spec::selection::MAX_RANK;

const HEADER: &str = "chunk index header";
/// The types of records of B-trees: chunks without filters, and chunks with filters.
const PLAIN: u8 = 10;
const FILTERED: u8 = 11;
/// The bytes of memory that an entry takes.
const ENTRY: u64 = 128;

/// An index of chunks of which nothing says how many dimensions its dataset has but the index itself.
///
/// ```
/// use hdf5_pure::Address;
/// use hdf5_pure::structure::{IndexKind, LooseIndex};
///
/// let index = LooseIndex {
///     kind: IndexKind::FixedArray,
///     rank: 1,
///     filtered: false,
///     chunks: Vec::new(),
///     named: 0,
///     structures: vec![(Address(680), 28)],
/// };
/// assert_eq!(index.rank, 1); // an array numbers its chunks
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseIndex {
    /// The kind: a version 2 B-tree, or a fixed or extensible array.
    pub kind: IndexKind,
    /// The number of dimensions of the positions of chunks. An array numbers its chunks, however many dimensions its dataset has.
    pub rank: usize,
    /// Whether chunks have filters. If they have none, the index does not say of how many bytes they are, and their sizes are 0.
    pub filtered: bool,
    /// The chunks, each with its position, counted in chunks.
    pub chunks: Vec<StoredChunk>,
    /// The number of chunks. A B-tree counts those in nodes that cannot be read as well.
    pub named: u64,
    /// The addresses and the lengths of its structures, as far as they can be read.
    pub structures: Vec<(Address, u64)>,
}

/// What the header of an index says.
struct Form {
    kind: IndexKind,
    rank: usize,
    filtered: bool,
    /// The bytes of an entry without the address of the chunk and its position.
    rest: usize,
    /// The number of entries, and the bytes of each.
    entries: u64,
    size: u64,
    /// The bytes of a node of a tree.
    node: u64,
}

impl Carver {
    /// Reads the index of chunks whose header is at `address`, except for parts that cannot be read, and at most `most` chunks. It
    /// returns `None` if there is no such index, if it has no chunks, or if many times the bytes of the file were read for this, which
    /// only happens if indexes overlap.
    pub fn loose_index(&self, address: Address, most: usize) -> Option<LooseIndex> {
        let form = self.form(address)?;
        let width = match (form.filtered, form.rest) {
            (false, 0) => 0,
            (true, rest) => rest.checked_sub(4).filter(|width| (2..=8).contains(width))?,
            _ => return None,
        };
        let arrays = form.kind != IndexKind::BtreeV2;
        // Of an array with gaps, only blocks that exist are read.
        let most_read =
            bound::product(form.entries, bound::sum(form.size, ENTRY)).min(self.context.storage.size());
        if !(1..=u64::from(MAX_RANK)).contains(&(form.rank as u64))
            || form.entries == 0
            || !self.spend(most_read)
        {
            return None;
        }
        // The width of sizes follows from the bytes of a chunk. These are as few as have the width that is there.
        let bits = u32::try_from(bound::product(8, bound::left(width, 2))).ok()?;
        let layout = Chunked {
            dimensions: vec![1; form.rank],
            element_size: 1u64.checked_shl(bits)?,
            unfiltered_edges: false,
            wide_sizes: false,
            index: form.kind,
            address: Some(address),
        };
        let shape = vec![if arrays { form.entries } else { u64::MAX }; form.rank];
        let maximum = vec![(form.kind == IndexKind::FixedArray).then_some(form.entries); form.rank];
        let index = Index {
            context: &self.context,
            layout: &layout,
            dimensions: &shape,
            maximum: &maximum,
            filtered: form.filtered,
        };
        let (chunks, lost) = all_of(&index, most);
        let named = if arrays { 0 } else { form.entries }.max(chunks.len() as u64);
        let mut extents = Extents::new(&self.context);
        // What cannot be read is no structure of the index.
        let _ = extents.chunk_index(&index);
        let structures: Vec<(Address, u64)> =
            extents.into_found().into_iter().map(|part| (part.at, part.len)).collect();
        self.count(&form, &structures, bound::sum(chunks.len() as u64, lost));
        let Form { kind, rank, filtered, .. } = form;
        (!chunks.is_empty()).then_some(LooseIndex { kind, rank, filtered, chunks, named, structures })
    }

    /// Takes what was read of an index from the budget. Of a tree whose nodes cannot all be found, each entry and each node that is lost
    /// may be in a node of its own.
    fn count(&self, form: &Form, structures: &[(Address, u64)], parts: u64) {
        let found = structures.iter().fold(0, |all, (_, len)| bound::sum(all, *len));
        let nodes = if structures.len() > 1 { 0 } else { bound::product(parts, form.node) };
        if !self.spend(bound::sum(found, nodes)) {
            self.budget.store(0, Ordering::Relaxed);
        }
    }

    /// Reads the header of an index.
    fn form(&self, address: Address) -> Option<Form> {
        let (context, sizes) = (&self.context, self.context.sizes);
        let of_address = usize::from(sizes.offsets);
        let array = |kind, client, size: u8, entries| {
            let rest = usize::from(size).checked_sub(of_address)?;
            Some(Form { kind, rank: 1, filtered: client == 1, rest, entries, size: size.into(), node: 0 })
        };
        match &*context.read_some(HEADER, address, 4).ok()? {
            b"BTHD" => {
                let len = Header::size(sizes) as u64;
                let tree = context.parse(HEADER, address, len, |i| Header::parse(i, sizes)).ok()?;
                let after = usize::from(tree.record_size).checked_sub(of_address)?;
                // The width of a size and the mask of filters are before the position, and the width is at most 8.
                let rank = match tree.kind {
                    PLAIN => after / 8,
                    FILTERED => after.checked_sub(5)? / 8,
                    _ => return None,
                };
                Some(Form {
                    kind: IndexKind::BtreeV2,
                    rank,
                    filtered: tree.kind == FILTERED,
                    rest: bound::left(after, bound::product(rank, 8)),
                    entries: tree.total_records,
                    size: tree.record_size.into(),
                    node: tree.node_size.into(),
                })
            }
            b"FAHD" => {
                let len = FixedArray::size(sizes) as u64;
                let found = context.parse(HEADER, address, len, |i| FixedArray::parse(i, sizes)).ok()?;
                array(IndexKind::FixedArray, found.client, found.element_size, found.elements)
            }
            b"EAHD" => {
                let len = ExtensibleArray::size(sizes) as u64;
                let found = context.parse(HEADER, address, len, |i| ExtensibleArray::parse(i, sizes)).ok()?;
                array(IndexKind::ExtensibleArray, found.client, found.element_size, found.max_index_set)
            }
            _ => None,
        }
    }
}

/// Returns the chunks of an index, as far as it can be read, and at most `most` of them; and how many parts cannot be read.
fn all_of(index: &Index<'_>, most: usize) -> (Vec<StoredChunk>, u64) {
    let last: Vec<u64> = match index.layout.index {
        IndexKind::BtreeV2 => index.dimensions.to_vec(),
        _ => index.dimensions.iter().map(|n| bound::left(*n, 1)).collect(),
    };
    let bounds = Bounds { first: vec![0; last.len()], last };
    let (mut chunks, mut lost) = (Vec::new(), 0);
    index.visit(&bounds, &mut |chunk| {
        match chunk {
            Ok(chunk) => {
                let size = if index.filtered { chunk.size } else { 0 };
                chunks.push(StoredChunk { size, ..chunk });
            }
            Err(_) => lost = bound::sum(lost, 1),
        }
        match chunks.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    (chunks, lost)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

    use std::sync::Arc;

    use super::*;
    use crate::filters::Filters;
    use crate::options::Bound;
    use crate::spec::Sizes;
    use crate::spec::btree_v1::BtreeK;
    use crate::spec::message::layout::Layout;
    use crate::{CreateOptions, File, Writer};

    /// Compares what the index of a dataset says without its dataset with what it says with it.
    fn compare(kind: IndexKind, shape: &[u64], maximum: &[Option<u64>], filtered: bool) {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
        let data: Vec<u32> = (0..).take(count).collect();
        let mut made =
            file.dataset("a").shape(shape.to_vec()).max_shape(maximum.to_vec()).chunks(vec![1; shape.len()]);
        if filtered {
            made = made.filters(Filters::new().shuffle());
        }
        made.write(&data).unwrap();
        let bytes = file.into_bytes().unwrap();
        let sound = File::from_bytes(bytes.clone()).unwrap();
        let dataset = sound.dataset("a").unwrap();
        let mut wanted: Vec<StoredChunk> = dataset.chunks().unwrap().into_iter().flatten().collect();
        let Layout::Chunked(chunked) = dataset.layout().unwrap() else { panic!("it has chunks") };
        assert_eq!(chunked.index, kind);
        if !filtered {
            wanted.iter_mut().for_each(|chunk| chunk.size = 0);
        }
        let carver = Carver::new(Arc::new(bytes), 0, Sizes { offsets: 8, lengths: 8 }, BtreeK::default());
        let found = carver.loose_index(chunked.address.unwrap(), 1 << 20).unwrap();
        assert_eq!((found.kind, found.filtered, found.named), (kind, filtered, wanted.len() as u64));
        assert!(found.structures.len() > 1);
        if kind == IndexKind::BtreeV2 {
            assert_eq!(found.chunks, wanted);
        } else {
            let numbers: Vec<u64> = found.chunks.iter().map(|chunk| chunk.scaled[0]).collect();
            assert_eq!(numbers, (0..wanted.len() as u64).collect::<Vec<_>>());
            let mut places: Vec<_> = found.chunks.iter().map(|chunk| (chunk.address, chunk.size)).collect();
            let mut known: Vec<_> = wanted.iter().map(|chunk| (chunk.address, chunk.size)).collect();
            places.sort_unstable();
            known.sort_unstable();
            assert_eq!(places, known);
        }
        assert_eq!(carver.loose_index(chunked.address.unwrap(), 5).unwrap().chunks.len(), 5);
        assert!(carver.loose_index(Address(0), 5).is_none());
    }

    #[test]
    fn indexes_are_read_without_their_datasets() {
        for filtered in [false, true] {
            compare(IndexKind::FixedArray, &[30], &[Some(30)], filtered);
            compare(IndexKind::FixedArray, &[50, 60], &[Some(50), Some(60)], filtered);
            compare(IndexKind::ExtensibleArray, &[3000], &[None], filtered);
            compare(IndexKind::ExtensibleArray, &[20, 10], &[Some(20), None], filtered);
            for rank in 2..5 {
                let shape: Vec<u64> = (0..rank).map(|axis| 3 + axis).collect();
                compare(IndexKind::BtreeV2, &shape, &vec![None; shape.len()], filtered);
            }
            compare(IndexKind::BtreeV2, &[60, 50], &[None, None], filtered);
        }
    }
}
