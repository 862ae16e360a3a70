//! Version 1 B-trees (III.A.1): the members of old-style groups and the chunks of old datasets.
//!
//! | offset | size | field of a node |
//! |---|---|---|
//! | 0 | 4 | signature: `TREE` |
//! | 4 | 1 | node type: 0 group, 1 chunks |
//! | 5 | 1 | node level, 0 for a leaf |
//! | 6 | 2 | entries used |
//! | 8 | O | address of left sibling, or none |
//! | 8 + O | O | address of right sibling, or none |
//! | 8 + 2·O | | key 0, child 0 (O), key 1, child 1, … the last key; then unused space for up to 2·K children |
//!
//! | offset | size | key of a group |
//! |---|---|---|
//! | 0 | L | offset of a name in the local heap |
//!
//! | offset | size | key of a chunk, for a dataset of n dimensions |
//! |---|---|---|
//! | 0 | 4 | size of chunk in bytes, as stored |
//! | 4 | 4 | filter mask: bit i is set if filter i was skipped |
//! | 8 | 8·n | chunk offset in elements |
//! | 8 + 8·n | 8 | chunk offset within an element: 0 |
//!
//! | offset | size | field of the B-tree 'K' values message (IV.A.2.t) |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 2 | indexed storage internal node K, not 0 |
//! | 3 | 2 | group internal node K, not 0 |
//! | 5 | 2 | group leaf node K, not 0 |

use nom::number::complete::{le_u16, le_u32, le_u64, u8 as byte};
use nom::{Parser, multi::count};
use sciformats_core::arith::{add, mul, present};
use sciformats_core::fault::{FaultKind, Parsed, checked, constant, field};
use sciformats_core::{Error, Result};

use super::{
    Address, Sizes, address, defined, length, put_address, put_length, put_padding, short, signature,
};

/// The first fields of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Levels below this node.
    pub(crate) level: u8,
    /// The number of children.
    pub(crate) entries: u16,
    /// The neighbours in the same level.
    pub(crate) left: Option<Address>,
    pub(crate) right: Option<Address>,
}

impl Prefix {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(2, 0, 8)
    }

    fn parse(i: &[u8], sizes: Sizes, kind: u8) -> Parsed<'_, Self> {
        let (i, ()) = signature(b"TREE")(i)?;
        let (i, _) = constant("node type", byte, kind)(i)?;
        let (i, level) = field("node level", byte)(i)?;
        let (i, entries) = field("entries used", le_u16)(i)?;
        let (i, left) = field("address of left sibling", address(sizes))(i)?;
        let (i, right) = field("address of right sibling", address(sizes))(i)?;
        Ok((i, Self { level, entries, left, right }))
    }
}

/// A node of a group's tree. `keys[i] < names of children[i] <= keys[i + 1]`, as offsets in the local heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupNode {
    /// Levels below this node.
    pub(crate) level: u8,
    /// Offsets in the local heap; there is one more than there are children.
    pub(crate) keys: Vec<u64>,
    /// Nodes of the level below, or symbol table nodes.
    pub(crate) children: Vec<Address>,
}

impl GroupNode {
    pub(crate) fn prefix(i: &[u8], sizes: Sizes) -> Parsed<'_, Prefix> {
        Prefix::parse(i, sizes, 0)
    }

    /// Returns the size of a node with `entries` children in bytes.
    pub(crate) fn size(sizes: Sizes, entries: usize) -> Result<usize> {
        let pairs = mul(entries, sizes.bytes(1, 1, 0))?;
        add(sizes.bytes(2, 1, 8), pairs)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, Prefix { level, entries, .. }) = Self::prefix(i, sizes)?;
        let (i, first) = field("key", length(sizes))(i)?;
        let pair = (field("child", defined(sizes)), field("key", length(sizes)));
        let (i, pairs) = count(pair, usize::from(entries)).parse(i)?;
        let keys = std::iter::once(first).chain(pairs.iter().map(|&(_, key)| key)).collect();
        Ok((i, Self { level, keys, children: pairs.into_iter().map(|(child, _)| child).collect() }))
    }
}

/// The key of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkKey {
    /// The stored size in bytes.
    pub(crate) size: u32,
    /// The filters that were skipped, with one bit per filter.
    pub(crate) filter_mask: u32,
    /// The coordinates of the first element, without the last coordinate, which counts the bytes of an element.
    pub(crate) offsets: Vec<u64>,
    /// This last coordinate. It is 0, except in the key after the last chunk of a tree, where the C library adds 1 to every
    /// coordinate.
    pub(crate) byte: u64,
}

impl ChunkKey {
    pub(crate) fn parse(i: &[u8], rank: usize) -> Parsed<'_, Self> {
        let (i, size) = field("size of chunk", le_u32)(i)?;
        let (i, filter_mask) = field("filter mask", le_u32)(i)?;
        let (i, offsets) = field("chunk offset", count(le_u64, rank)).parse(i)?;
        let (i, byte) = field("chunk offset", le_u64)(i)?;
        Ok((i, Self { size, filter_mask, offsets, byte }))
    }
}

/// A node of a chunk tree. `keys[i]` is the first chunk below `children[i]`; the last key is the upper bound of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkNode {
    /// Levels below this node.
    pub(crate) level: u8,
    /// The keys; there is one more than there are children.
    pub(crate) keys: Vec<ChunkKey>,
    /// Nodes of the level below, or chunks.
    pub(crate) children: Vec<Option<Address>>,
}

impl ChunkNode {
    pub(crate) fn prefix(i: &[u8], sizes: Sizes) -> Parsed<'_, Prefix> {
        Prefix::parse(i, sizes, 1)
    }

    /// Returns the size in bytes of a node with `entries` children, for a dataset of `rank` dimensions.
    pub(crate) fn size(sizes: Sizes, entries: usize, rank: usize) -> Result<usize> {
        let key = add(mul(rank, 8)?, 16)?;
        let pairs = mul(entries, add(key, sizes.bytes(1, 0, 0))?)?;
        add(add(Prefix::size(sizes), key)?, pairs)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes, rank: usize) -> Parsed<'_, Self> {
        let (i, (node, _)) = Self::parse_placed(i, sizes, rank)?;
        Ok((i, node))
    }

    /// Parses the node together with its place.
    pub(crate) fn parse_placed(i: &[u8], sizes: Sizes, rank: usize) -> Parsed<'_, (Self, Place)> {
        let (i, Prefix { level, entries, left, right }) = Self::prefix(i, sizes)?;
        let (i, first) = ChunkKey::parse(i, rank)?;
        let pair = (field("child", address(sizes)), |i| ChunkKey::parse(i, rank));
        let (i, pairs) = count(pair, usize::from(entries)).parse(i)?;
        let mut keys = vec![first];
        let mut children = Vec::with_capacity(pairs.len());
        for (child, key) in pairs {
            children.push(child);
            keys.push(key);
        }
        Ok((i, (Self { level, keys, children }, Place { level, left, right })))
    }
}

/// The B-tree 'K' values message (IV.A.2.t).
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let k = file.btree_k();
/// assert_eq!((k.chunk, k.group_internal, k.group_leaf), (32, 16, 4));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtreeK {
    /// Half the number of children of a chunk B-tree node.
    pub chunk: u16,
    /// Half the number of children of a group's B-tree node.
    pub group_internal: u16,
    /// Half the number of entries of a symbol table node.
    pub group_leaf: u16,
}

impl Default for BtreeK {
    /// Returns the values that the C library uses by default.
    fn default() -> Self {
        Self { chunk: 32, group_internal: 16, group_leaf: 4 }
    }
}

impl BtreeK {
    pub(crate) fn encode(self, out: &mut Vec<u8>) -> Result<()> {
        out.push(0);
        [self.chunk, self.group_internal, self.group_leaf].iter().for_each(|k| out.extend(k.to_le_bytes()));
        Ok(())
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let positive =
            |name| checked(name, le_u16, |&k| (k == 0).then_some(FaultKind::Undefined { found: 0 }));
        let (i, _) = super::version(0)(i)?;
        let (i, chunk) = positive("indexed storage internal node K")(i)?;
        let (i, group_internal) = positive("group internal node K")(i)?;
        let (i, group_leaf) = positive("group leaf node K")(i)?;
        Ok((i, Self { chunk, group_internal, group_leaf }))
    }
}

/// What a node is, and where it is in the tree: its type, its level, and its neighbours in this level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) level: u8,
    pub(crate) left: Option<Address>,
    pub(crate) right: Option<Address>,
}

impl Place {
    /// Parses the place of a node, in a tree of a group or in a tree of chunks.
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, ()) = signature(b"TREE")(i)?;
        let (i, _) = field("node type", byte)(i)?;
        let (i, level) = field("node level", byte)(i)?;
        let (i, _) = field("entries used", le_u16)(i)?;
        let (i, left) = field("address of left sibling", address(sizes))(i)?;
        let (i, right) = field("address of right sibling", address(sizes))(i)?;
        Ok((i, Self { level, left, right }))
    }

    fn encode(self, out: &mut Vec<u8>, sizes: Sizes, kind: u8, entries: usize) -> Result<()> {
        out.extend(b"TREE");
        out.extend([kind, self.level]);
        out.extend(short(entries, "entries used of a node")?.to_le_bytes());
        put_address(out, self.left, sizes)?;
        put_address(out, self.right, sizes)?;
        Ok(())
    }
}

/// Returns the first key, and the others, of which there must be one per child.
fn one_more_key<K>(keys: &[K], children: usize) -> Result<(&K, &[K])> {
    let (first, keys) = present(keys.split_first(), "first key of a node")?;
    if keys.len() != children {
        return Err(Error::internal("a B-tree node does not have one more key than children"));
    }
    Ok((first, keys))
}

impl GroupNode {
    /// Appends a whole node; `k` is the group internal node K of the file.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, k: u16, place: Place) -> Result<()> {
        let start = out.len();
        place.encode(out, sizes, 0, self.children.len())?;
        let (&first, keys) = one_more_key(&self.keys, self.children.len())?;
        put_length(out, first, sizes)?;
        for (&child, &key) in self.children.iter().zip(keys) {
            put_address(out, Some(child), sizes)?;
            put_length(out, key, sizes)?;
        }
        put_padding(out, start, Self::size(sizes, usize::from(k) * 2)?)?;
        Ok(())
    }
}

impl ChunkKey {
    fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend(self.size.to_le_bytes());
        out.extend(self.filter_mask.to_le_bytes());
        self.offsets.iter().for_each(|offset| out.extend(offset.to_le_bytes()));
        out.extend(self.byte.to_le_bytes());
        Ok(())
    }
}

impl ChunkNode {
    /// Appends a whole node for a dataset of `rank` dimensions; `k` is the indexed storage internal node K of the file.
    pub(crate) fn encode(
        &self,
        out: &mut Vec<u8>,
        sizes: Sizes,
        k: u16,
        rank: usize,
        place: Place,
    ) -> Result<()> {
        let start = out.len();
        place.encode(out, sizes, 1, self.children.len())?;
        let (first, keys) = one_more_key(&self.keys, self.children.len())?;
        first.encode(out)?;
        for (&child, key) in self.children.iter().zip(keys) {
            put_address(out, child, sizes)?;
            key.encode(out)?;
        }
        put_padding(out, start, Self::size(sizes, usize::from(k) * 2, rank)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const ROOT: Place = Place { level: 0, left: None, right: None };

    /// A node of a chunk tree with space for two children.
    const CHUNKS: [u8; 112] = [
        b'T', b'R', b'E', b'E', // signature
        1,    // node type: chunks
        0,    // node level
        1, 0, // entries used
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of left sibling: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of right sibling: none
        0x50, 0, 0, 0, // key 0: size of chunk
        0, 0, 0, 0, // filter mask
        0, 0, 0, 0, 0, 0, 0, 0, // chunk offset in elements
        0, 0, 0, 0, 0, 0, 0, 0, // in bytes of an element
        0, 0x10, 0, 0, 0, 0, 0, 0, // child 0
        0, 0, 0, 0, // key 1: size of chunk
        0, 0, 0, 0, // filter mask
        0x14, 0, 0, 0, 0, 0, 0, 0, // chunk offset in elements
        4, 0, 0, 0, 0, 0, 0, 0, // in bytes of an element
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, // room
    ];

    /// A node of a group with space for two children.
    const GROUP: [u8; 64] = [
        b'T', b'R', b'E', b'E', // signature
        0,    // node type: group
        0,    // node level
        1, 0, // entries used
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of left sibling: none
        0, 7, 0, 0, 0, 0, 0, 0, // address of right sibling
        0, 0, 0, 0, 0, 0, 0, 0, // key 0
        0x30, 5, 0, 0, 0, 0, 0, 0, // child 0
        8, 0, 0, 0, 0, 0, 0, 0, // key 1
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // room
    ];

    const K_VALUES: [u8; 7] = [
        0, // version
        0x20, 0, // indexed storage internal node K
        0x10, 0, // group internal node K
        4, 0, // group leaf node K
    ];

    #[test]
    fn a_leaf_with_one_chunk() {
        assert_eq!(CHUNKS.len(), ChunkNode::size(SIZES, 2, 1).unwrap());
        let (rest, (node, place)) = ChunkNode::parse_placed(&CHUNKS, SIZES, 1).unwrap();
        assert_eq!(rest, [0; 32]);
        let key = |size, offset, byte| ChunkKey { size, filter_mask: 0, offsets: vec![offset], byte };
        let keys = vec![key(80, 0, 0), key(0, 20, 4)];
        assert_eq!(node, ChunkNode { level: 0, keys, children: vec![Some(Address(0x1000))] });
        assert_eq!((place.left, place.right), (None, None));
        assert!(GroupNode::parse(&CHUNKS, SIZES).is_err());
        let mut out = Vec::new();
        node.encode(&mut out, SIZES, 1, 1, ROOT).unwrap();
        assert_eq!(out, CHUNKS);
    }

    #[test]
    fn a_group_leaf() {
        assert_eq!(GROUP.len(), GroupNode::size(SIZES, 2).unwrap());
        let (rest, node) = GroupNode::parse(&GROUP, SIZES).unwrap();
        assert_eq!(rest, [0; 16]);
        assert_eq!(node, GroupNode { level: 0, keys: vec![0, 8], children: vec![Address(0x530)] });
        let prefix = Prefix { level: 0, entries: 1, left: None, right: Some(Address(0x700)) };
        assert_eq!(GroupNode::prefix(&GROUP, SIZES).unwrap().1, prefix);
        let place = Place::parse(&GROUP, SIZES).unwrap().1;
        let mut out = Vec::new();
        node.encode(&mut out, SIZES, 1, place).unwrap();
        assert_eq!(out, GROUP);
    }

    #[test]
    fn k_values() {
        both_ways(&K_VALUES, &BtreeK::default(), BtreeK::parse, |k, out| k.encode(out));
        assert!(BtreeK::parse(&[0; 7]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            chunks in near(&CHUNKS),
            group in near(&GROUP),
            k in near(&K_VALUES),
            sizes in any_sizes(),
            rank in 0usize..33,
        ) {
            let _ = ChunkNode::parse(&chunks, sizes, rank);
            let _ = GroupNode::parse(&group, sizes);
            let _ = Place::parse(&group, sizes);
            let _ = BtreeK::parse(&k);
        }
    }
}
