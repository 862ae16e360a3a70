//! Symbol table nodes and their entries (III.B, III.C): the members of an old-style group.
//!
//! | offset | size | field of a node |
//! |---|---|---|
//! | 0 | 4 | signature: `SNOD` |
//! | 4 | 1 | version: 1 |
//! | 5 | 1 | reserved |
//! | 6 | 2 | number of symbols |
//! | 8 | | entries; then unused space for up to 2·K entries |
//!
//! | offset | size | field of an entry |
//! |---|---|---|
//! | 0 | L | link name offset: in the group's local heap |
//! | L | O | object header address, or none for a soft link |
//! | L + O | 4 | cache type: 0 nothing, 1 group, 2 soft link |
//! | L + O + 4 | 4 | reserved |
//! | L + O + 8 | 16 | scratch-pad; for a group: v1 B-tree (O) and local heap (O); for a soft link: offset to link value (4) |

use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use nom::{Parser, combinator::map};
use sciformats_core::Result;
use sciformats_core::arith::{add, mul};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::{
    Address, Sizes, address, length, put_address, put_length, put_padding, short, signature, version,
};

/// A member of an old-style group.
///
/// ```
/// use hdf5_pure::structure::{Cache, Rest};
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// let file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// if let Rest::Old { root, .. } = &file.superblock().rest {
///     assert_eq!(root.header, Some(file.root()?.address()));
///     assert!(matches!(root.cache, Cache::Group { .. }));
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The offset of the name in the local heap.
    pub name: u64,
    /// The address of the object header; `None` for a soft link.
    pub header: Option<Address>,
    /// The content of the scratch-pad.
    pub cache: Cache,
}

/// The scratch-pad of an [`Entry`].
///
/// ```
/// use hdf5_pure::structure::{Cache, Rest};
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// let file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// if let Rest::Old { root, .. } = &file.superblock().rest {
///     assert!(matches!(root.cache, Cache::Group { btree: Some(_), heap: Some(_) }));
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The scratch-pad is not used.
    None,
    /// A copy of the group's symbol table message.
    Group {
        /// The address of the B-tree.
        btree: Option<Address>,
        /// The address of the local heap.
        heap: Option<Address>,
    },
    /// The entry is a soft link.
    SoftLink {
        /// The offset of the path in the local heap.
        path: u32,
    },
}

impl Entry {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 1, 24)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, name) = field("link name offset", length(sizes))(i)?;
        let (i, header) = field("object header address", address(sizes))(i)?;
        let (at, cache_type) = field("cache type", le_u32)(i)?;
        let (at, _) = take(4usize)(at)?;
        let (rest, scratch) = field("scratch-pad space", take(16usize)).parse(at)?;
        let (_, cache) = match cache_type {
            0 => (at, Cache::None),
            1 => {
                // If addresses are wide, two of them do not fit the scratch-pad. Nothing is lost, because they are only a copy.
                let pair = (address(sizes), address(sizes)).parse(scratch);
                let (btree, heap) = pair.map(|(_, pair)| pair).unwrap_or_default();
                (at, Cache::Group { btree, heap })
            }
            2 => {
                map(field("offset to link value", le_u32), |path| Cache::SoftLink { path }).parse(scratch)?
            }
            found => {
                return field("cache type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i);
            }
        };
        Ok((rest, Self { name, header, cache }))
    }
}

/// A symbol table node, which is a leaf of an old-style group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The members, sorted by name.
    pub(crate) entries: Vec<Entry>,
}

impl Node {
    /// The size of the fields before the entries, in bytes.
    pub(crate) const PREFIX: usize = 8;

    pub(crate) fn count(i: &[u8]) -> Parsed<'_, u16> {
        let (i, ()) = signature(b"SNOD")(i)?;
        let (i, _) = version(1)(i)?;
        let (i, _) = byte(i)?;
        field("number of symbols", le_u16)(i)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, symbols) = Self::count(i)?;
        let (i, entries) = count(|i| Entry::parse(i, sizes), usize::from(symbols)).parse(i)?;
        Ok((i, Self { entries }))
    }
}

impl Entry {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        put_length(out, self.name, sizes)?;
        put_address(out, self.header, sizes)?;
        let mut scratch = Vec::new();
        let kind: u32 = match self.cache {
            Cache::None => 0,
            Cache::Group { btree, heap } => {
                put_address(&mut scratch, btree, sizes)?;
                put_address(&mut scratch, heap, sizes)?;
                // Wide addresses do not fit, and need not be stored because they are only a copy.
                u32::from(scratch.len() <= 16)
            }
            Cache::SoftLink { path } => {
                scratch.extend(path.to_le_bytes());
                2
            }
        };
        if kind == 0 {
            scratch.clear();
        }
        scratch.resize(16, 0);
        out.extend(kind.to_le_bytes());
        out.extend([0; 4]);
        out.extend(scratch);
        Ok(())
    }
}

impl Node {
    /// Returns the size of a node in bytes; `leaf_k` is the group leaf node K of the file.
    pub(crate) fn size(sizes: Sizes, leaf_k: u16) -> Result<usize> {
        add(mul(usize::from(leaf_k) * 2, Entry::size(sizes))?, Self::PREFIX)
    }

    /// Appends a whole node, including its unused entries.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, leaf_k: u16) -> Result<()> {
        let start = out.len();
        out.extend(b"SNOD\x01\0");
        out.extend(short(self.entries.len(), "number of symbols of a node")?.to_le_bytes());
        self.entries.iter().try_for_each(|entry| entry.encode(out, sizes))?;
        put_padding(out, start, Self::size(sizes, leaf_k)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const NODE: [u8; 88] = [
        b'S', b'N', b'O', b'D', // signature
        1,    // version
        0,    // reserved
        2, 0, // number of symbols
        8, 0, 0, 0, 0, 0, 0, 0, // entry 0: link name offset
        0x20, 3, 0, 0, 0, 0, 0, 0, // object header address
        1, 0, 0, 0, // cache type: group
        0, 0, 0, 0, // reserved
        0x48, 3, 0, 0, 0, 0, 0, 0, // scratch-pad: B-tree
        0x68, 5, 0, 0, 0, 0, 0, 0, // local heap
        0x10, 0, 0, 0, 0, 0, 0, 0, // entry 1: link name offset
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // object header address: none
        2, 0, 0, 0, // cache type: soft link
        0, 0, 0, 0, // reserved
        0x18, 0, 0, 0, // scratch-pad: offset to link value
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // rest
    ];

    #[test]
    fn a_node_with_a_group_and_a_soft_link() {
        let cache = Cache::Group { btree: Some(Address(0x348)), heap: Some(Address(0x568)) };
        let group = Entry { name: 8, header: Some(Address(0x320)), cache };
        let link = Entry { name: 16, header: None, cache: Cache::SoftLink { path: 24 } };
        let node = Node { entries: vec![group, link] };
        both_ways(&NODE, &node, |i| Node::parse(i, SIZES), |node, out| node.encode(out, SIZES, 1));
        assert_eq!(NODE.len(), Node::size(SIZES, 1).unwrap());
        assert_eq!(Node::count(&NODE).unwrap().1, 2);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in near(&NODE), sizes in any_sizes()) {
            let _ = Node::parse(&bytes, sizes);
            let _ = Entry::parse(&bytes, sizes);
        }
    }
}
