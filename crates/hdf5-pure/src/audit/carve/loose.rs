//! Reads nodes of trees of chunks to which no dataset leads any more, and makes the messages of datasets that have the bytes of these
//! chunks.

use sciformats_core::Result;

use super::{Carver, FoundMessage, FoundNode};
use crate::spec::btree_v1::{ChunkKey, ChunkNode, Prefix};
use crate::spec::message::MessageType;
use crate::spec::message::attribute::NewAttribute;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::filter_pipeline::{FilterDescription, Pipeline};
use crate::spec::message::layout::{Chunked, IndexKind, Layout};
use crate::spec::selection::MAX_RANK;
use crate::spec::{self, Address};

const NODE: &str = "chunk B-tree node";
/// The number of the filter deflate.
const DEFLATE: u16 = 1;
/// The version of the messages that are made.
const DATASPACE: u8 = 2;
const PIPELINE: u8 = 2;
const ATTRIBUTE: u8 = 3;

/// A node of a version 1 B-tree of chunks of which nothing says how many dimensions its dataset has but the node itself.
///
/// ```
/// use hdf5_pure::structure::{FoundNode, LooseNode};
///
/// let node = FoundNode { level: 0, siblings: [None, None], children: Vec::new(), chunks: Vec::new() };
/// let loose = LooseNode { node, rank: 2, len: 104, chunk: Some(vec![20, 8]), element_size: Some(4) };
/// assert_eq!(loose.chunk.map(|sides| sides.len()), Some(loose.rank));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseNode {
    /// The node.
    pub node: FoundNode,
    /// The number of dimensions with which its keys are ones of chunks.
    pub rank: usize,
    /// The bytes of the node up to the end of its last key.
    pub len: u64,
    /// The shape of a chunk, if the node is a leaf whose last key is behind all chunks: this key is one chunk behind the last one in
    /// each dimension.
    pub chunk: Option<Vec<u64>>,
    /// The size of an element in bytes, if that key has it, as the C library writes it.
    pub element_size: Option<u64>,
}

/// Bytes in chunks, as the dataset that is made of them.
///
/// ```
/// use hdf5_pure::Address;
/// use hdf5_pure::structure::LooseBytes;
///
/// let bytes = LooseBytes { shape: &[3, 64], chunk: &[1, 64], deflated: true, tree: Address(4096) };
/// assert_eq!(bytes.shape.len(), bytes.chunk.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LooseBytes<'a> {
    /// The shape.
    pub shape: &'a [u64],
    /// The shape of a chunk.
    pub chunk: &'a [u64],
    /// Whether the chunks are streams of deflate.
    pub deflated: bool,
    /// The version 1 B-tree of the chunks.
    pub tree: Address,
}

impl Carver {
    /// Reads the node at `address` of a version 1 B-tree of chunks, and tells the number of dimensions by the keys. It returns `None`
    /// if no number makes all keys ones of chunks in their order, if several do, or if many times the bytes of the file were read for
    /// this, which only happens if nodes overlap.
    pub fn loose_node(&self, address: Address) -> Option<LooseNode> {
        let sizes = self.context.sizes;
        let prefix = Prefix::size(sizes);
        let ranks = 1..=usize::try_from(MAX_RANK).ok()?;
        let longest = ChunkNode::size(sizes, 1, *ranks.end()).ok()?;
        let start = self.context.read_some(NODE, address, longest).ok()?;
        let (_, found) = ChunkNode::prefix(&start, sizes).ok()?;
        let first = start.get(prefix..)?;
        // Most numbers of dimensions are refused by the first entry, without reading all of the node.
        let begins = |rank: &usize| {
            let (rest, key) = ChunkKey::parse(first, *rank).ok()?;
            let (_, child) = spec::address(sizes)(rest).ok()?;
            (key.size > 0 && key.byte == 0).then_some(child?.0).filter(|&child| child > 0)
        };
        let ranks = ranks.filter(|rank| begins(rank).is_some());
        let of_rank = |rank| self.of_rank(address, rank, found.entries.into());
        let mut fitting: Vec<LooseNode> = ranks.filter_map(of_rank).collect();
        // A last key that is behind the others in each dimension is no coincidence.
        if fitting.iter().any(|found| found.chunk.is_some()) {
            fitting.retain(|found| found.chunk.is_some());
        }
        let only = fitting.pop()?;
        fitting.is_empty().then_some(only)
    }

    fn of_rank(&self, address: Address, rank: usize, entries: usize) -> Option<LooseNode> {
        let sizes = self.context.sizes;
        let len = ChunkNode::size(sizes, entries, rank).ok()? as u64;
        if !self.spend(len) {
            return None;
        }
        let keys = self.context.parse(NODE, address, len, |i| ChunkNode::parse(i, sizes, rank)).ok()?.keys;
        let (end, keys) = keys.split_last()?;
        let last = keys.last()?;
        let is_first = |key: &ChunkKey| key.size > 0 && key.byte == 0;
        let before = keys.iter().zip(keys.iter().skip(1).chain([end]));
        let ascends = before.into_iter().all(|(a, b)| a.offsets < b.offsets);
        if !ascends || !keys.iter().all(is_first) || !(end.size == 0 || is_first(end)) {
            return None;
        }
        let node = self.chunk_node(address, rank).ok()?;
        let children = node.children.iter().chain(node.chunks.iter().map(|chunk| &chunk.address));
        if children.clone().count() != keys.len() || children.into_iter().any(|at| at.0 == 0) {
            return None;
        }
        let is_end = node.level == 0 && end.size == 0 && end.filter_mask == 0;
        let sides = last.offsets.iter().zip(&end.offsets).map(|(at, end)| end.checked_sub(*at));
        let sides = sides.collect::<Option<Vec<u64>>>().filter(|sides| is_end && !sides.contains(&0));
        let element_size = sides.as_ref().and((end.byte > 0).then_some(end.byte));
        Some(LooseNode { node, rank, len, chunk: sides, element_size })
    }

    /// Returns the messages of a dataset of bytes.
    ///
    /// # Errors
    /// Returns `Internal` or `Unsupported` if a number does not fit the file.
    pub fn bytes_messages(&self, bytes: &LooseBytes<'_>) -> Result<Vec<FoundMessage>> {
        let sizes = self.context.sizes;
        let mut messages = Vec::new();
        let mut add = |kind, body| messages.push(FoundMessage { kind, flags: 0, body });
        let mut body = Vec::new();
        simple(bytes.shape).encode(&mut body, sizes, DATASPACE)?;
        add(MessageType::Dataspace, body);
        let mut body = Vec::new();
        Datatype::unsigned(1).encode(&mut body)?;
        add(MessageType::Datatype, body);
        let layout = Chunked {
            dimensions: bytes.chunk.to_vec(),
            element_size: 1,
            unfiltered_edges: false,
            wide_sizes: false,
            index: IndexKind::BtreeV1,
            address: Some(bytes.tree),
        };
        let mut body = Vec::new();
        Layout::Chunked(layout).encode(&mut body, sizes, 0)?;
        add(MessageType::Layout, body);
        if bytes.deflated {
            let deflate = FilterDescription { id: DEFLATE, name: None, optional: true, values: vec![6] };
            let mut body = Vec::new();
            Pipeline { filters: vec![deflate] }.encode(&mut body, PIPELINE)?;
            add(MessageType::FilterPipeline, body);
        }
        Ok(messages)
    }

    /// Returns the message of an attribute with these numbers.
    ///
    /// # Errors
    /// Returns `Internal` or `Unsupported` if they are too many.
    pub fn numbers_message(&self, name: &str, numbers: &[u64]) -> Result<FoundMessage> {
        let (mut datatype, mut dataspace, mut body) = (Vec::new(), Vec::new(), Vec::new());
        Datatype::unsigned(8).encode(&mut datatype)?;
        simple(&[numbers.len() as u64]).encode(&mut dataspace, self.context.sizes, DATASPACE)?;
        let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let attribute = NewAttribute {
            name: name.as_bytes(),
            utf8: false,
            datatype: &datatype,
            shared_datatype: false,
            dataspace: &dataspace,
            shared_dataspace: false,
            data: &data,
        };
        attribute.encode(&mut body, ATTRIBUTE)?;
        Ok(FoundMessage { kind: MessageType::Attribute, flags: 0, body })
    }
}

/// Returns the dataspace of an array that cannot grow.
fn simple(shape: &[u64]) -> Dataspace {
    Dataspace::Simple {
        dimensions: shape.to_vec(),
        maximum: shape.iter().map(|&length| Some(length)).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

    use std::sync::Arc;

    use super::*;
    use crate::spec::Sizes;
    use crate::spec::btree_v1::{BtreeK, Place};

    const SIZES: Sizes = Sizes { offsets: 8, lengths: 8 };

    fn key(size: u32, offsets: &[u64], byte: u64) -> ChunkKey {
        ChunkKey { size, filter_mask: 0, offsets: offsets.to_vec(), byte }
    }

    /// Reads a leaf with these keys from a file of 4096 bytes.
    fn read(keys: Vec<ChunkKey>) -> Option<LooseNode> {
        let rank = keys[0].offsets.len();
        let children = (1..keys.len() as u64).map(|i| Some(Address(i * 512))).collect();
        let mut bytes = Vec::new();
        let place = Place { level: 0, left: None, right: None };
        ChunkNode { level: 0, keys, children }.encode(&mut bytes, SIZES, 32, rank, place).unwrap();
        bytes.resize(1 << 16, 0);
        Carver::new(Arc::new(bytes), 0, SIZES, BtreeK::default()).loose_node(Address(0))
    }

    #[test]
    fn keys_tell_the_rank_the_chunk_and_the_size_of_an_element() {
        for rank in 1..=8 {
            let sides: Vec<u64> = (0..rank).map(|axis| 100 + 10 * axis).collect();
            let end: Vec<u64> = sides.clone();
            // One chunk, as in a small dataset.
            let found = read(vec![key(64, &vec![0; sides.len()], 0), key(0, &end, 8)]).unwrap();
            assert_eq!((found.rank as u64, &found.chunk), (rank, &Some(sides.clone())));
            assert_eq!(found.element_size, Some(8));
            let next: Vec<u64> = sides.iter().map(|side| 2 * side).collect();
            let keys = vec![key(64, &vec![0; sides.len()], 0), key(64, &sides, 0), key(0, &next, 0)];
            let found = read(keys).unwrap();
            assert_eq!((found.rank as u64, found.chunk), (rank, Some(sides)));
            assert_eq!((found.element_size, found.node.chunks.len()), (None, 2));
        }
        // A leaf before another one ends in the first key of that.
        let found = read(vec![key(64, &[0, 0], 0), key(64, &[0, 5], 0), key(64, &[7, 0], 0)]).unwrap();
        assert_eq!((found.rank, found.chunk), (2, None));
    }

    #[test]
    fn keys_of_nothing_are_refused() {
        assert!(read(vec![key(0, &[0], 0), key(0, &[10], 8)]).is_none());
        assert!(read(vec![key(64, &[0], 3), key(0, &[10], 8)]).is_none());
        assert!(read(vec![key(64, &[20], 0), key(64, &[10], 0), key(0, &[30], 8)]).is_none());
    }
}
