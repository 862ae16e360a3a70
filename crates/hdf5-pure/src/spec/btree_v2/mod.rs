//! Version 2 B-trees (III.A.2), which index the links and attributes of large groups and objects, huge objects of heaps, shared
//! messages, and chunks.
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `BTHD` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | type of the records: 1 to 11 |
//! | 6 | 4 | node size in bytes |
//! | 10 | 2 | record size in bytes |
//! | 12 | 2 | depth, 0 if the root is a leaf |
//! | 14 | 1 | split percent |
//! | 15 | 1 | merge percent |
//! | 16 | O | root node address, or none if the tree is empty |
//! | 16 + O | 2 | number of records in root node |
//! | 18 + O | L | total number of records in the tree |
//! | 18 + O + L | 4 | checksum |
//!
//! | offset | size | field of a node |
//! |---|---|---|
//! | 0 | 4 | signature: `BTLF` a leaf, `BTIN` an internal node |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | type of the records, as in the header |
//! | 6 | n × record size | records |
//! | | | n + 1 child node pointers, in an internal node |
//! | | 4 | checksum; then unused space up to the node size |
//!
//! | offset | size | field of a child node pointer |
//! |---|---|---|
//! | 0 | O | child node address |
//! | O | width of the largest number that is possible | number of records in child node |
//! | | width of the largest number that is possible | total number of records in child node; absent if it is a leaf |

pub(crate) mod record;

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, constant, field};
use sciformats_core::{Result, bound};

use super::{
    Address, Sizes, address, defined, length, put_address, put_checksum, put_length, put_padding, put_uint,
    sealed, signature, uint, version, width_for,
};

/// The size of the other fields of a node in bytes: signature, version, type and checksum.
const OVERHEAD: u64 = 10;

/// The header of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type of the records.
    pub(crate) kind: u8,
    /// The size of a node in bytes.
    pub(crate) node_size: u32,
    /// The size of a record in bytes.
    pub(crate) record_size: u16,
    /// The number of levels below the root.
    pub(crate) depth: u16,
    /// The root node, or `None` in an empty tree.
    pub(crate) root: Option<Address>,
    /// The number of records in the root node.
    pub(crate) root_records: u16,
    /// The number of records in the tree.
    pub(crate) total_records: u64,
}

/// When nodes are split and merged: how full they are, in percent of the records that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percents {
    /// A fuller node is split.
    pub(crate) split: u8,
    /// A node that is less full takes records from a neighbour, or is merged with it.
    pub(crate) merge: u8,
}

impl Percents {
    /// The values that the C library writes.
    pub(crate) const USUAL: Self = Self { split: 100, merge: 40 };
}

impl Header {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 1, 22)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        Self::parse_with_percents(i, sizes).map(|(i, (header, _))| (i, header))
    }

    /// Does the same as [`parse`](Self::parse), and also returns when nodes are split and merged.
    pub(crate) fn parse_with_percents(i: &[u8], sizes: Sizes) -> Parsed<'_, (Self, Percents)> {
        sealed(|i| {
            let (i, ()) = signature(b"BTHD")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, kind) = field("type", byte)(i)?;
            let (i, node_size) = field("node size", le_u32)(i)?;
            let (i, record_size) =
                checked("record size", le_u16, |&n| (n == 0).then_some(FaultKind::Undefined { found: 0 }))(
                    i,
                )?;
            let (i, depth) = field("depth", le_u16)(i)?;
            let (i, (split, merge)) =
                (field("split percent", byte), field("merge percent", byte)).parse(i)?;
            let (i, root) = field("root node address", address(sizes))(i)?;
            let (i, root_records) = field("number of records in root node", le_u16)(i)?;
            let (i, total_records) = field("total number of records in B-tree", length(sizes))(i)?;
            let header = Self { kind, node_size, record_size, depth, root, root_records, total_records };
            Ok((i, (header, Percents { split, merge })))
        })(i)
    }

    /// Returns the widths of the fields of child pointers at each level, from the leaves up. The numbers of records are only
    /// bounds of what a tree can hold: a number that needs more than 64 bits has the widest field.
    pub(crate) fn pointers(&self, sizes: Sizes) -> Vec<Pointer> {
        let leaf = self.leaf_records();
        let records = width_for(leaf);
        let mut below = leaf; // the largest number of records of a tree at the level below
        (1..=self.depth)
            .map(|depth| {
                let pointer = Pointer { records, total: if depth > 1 { width_for(below) } else { 0 } };
                let most = pointer.records(self, sizes);
                below = bound::sum(bound::product(bound::sum(most, 1), below), most);
                pointer
            })
            .collect()
    }
}

/// The widths of the fields of a child pointer: the records of the child, and all records below it (0: not stored).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    records: usize,
    total: usize,
}

/// A child of an internal node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// The address of the node.
    pub(crate) address: Address,
    /// The number of records in it.
    pub(crate) records: u16,
}

/// The records of a node, each of the size that the header says, and its children. A leaf has no children; an internal node has
/// one more than it has records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    /// The records, one after another.
    pub(crate) records: &'a [u8],
    /// The children to the left of each record, and the one to the right of the last record.
    pub(crate) children: Vec<Child>,
}

impl<'a> Node<'a> {
    /// Parses a leaf with `records` records.
    pub(crate) fn leaf(i: &'a [u8], header: &Header, records: u16) -> Parsed<'a, Self> {
        sealed(|i| {
            let (i, records) = prefix(i, b"BTLF", header, records)?;
            Ok((i, Self { records, children: Vec::new() }))
        })(i)
    }

    /// Parses an internal node with `records` records. `pointer` says how wide the fields of its child pointers are.
    pub(crate) fn internal(
        i: &'a [u8],
        header: &Header,
        sizes: Sizes,
        pointer: Pointer,
        records: u16,
    ) -> Parsed<'a, Self> {
        let (i, (records, children)) = Self::counted(i, header, sizes, pointer, records)?;
        Ok((i, Self { records, children: children.into_iter().map(|(child, _)| child).collect() }))
    }

    /// Does the same as [`internal`](Self::internal), and also returns the number of records below each child.
    pub(crate) fn counted(
        i: &'a [u8],
        header: &Header,
        sizes: Sizes,
        pointer: Pointer,
        records: u16,
    ) -> Parsed<'a, (&'a [u8], Vec<Counted>)> {
        sealed(|i| {
            let (i, stored) = prefix(i, b"BTIN", header, records)?;
            let (i, children) = count(|i| child(i, sizes, pointer), usize::from(records) + 1).parse(i)?;
            Ok((i, (stored, children)))
        })(i)
    }
}

fn prefix<'a>(i: &'a [u8], mark: &'static [u8; 4], header: &Header, records: u16) -> Parsed<'a, &'a [u8]> {
    let (i, ()) = signature(mark)(i)?;
    let (i, _) = version(0)(i)?;
    let (i, _) = constant("type", byte, header.kind)(i)?;
    field("records", take(bound::product(usize::from(records), header.record_size.into()))).parse(i)
}

fn child(i: &[u8], sizes: Sizes, pointer: Pointer) -> Parsed<'_, Counted> {
    let (i, address) = field("child node pointer", defined(sizes))(i)?;
    let (rest, records) = field("number of records in child node", uint(pointer.records))(i)?;
    let Ok(records) = u16::try_from(records) else {
        return field("number of records in child node", |i| {
            sciformats_core::fault::fail(i, FaultKind::Overflow)
        })(i);
    };
    let (rest, total) = field("total number of records in child node", uint(pointer.total))(rest)?;
    // There are no records below a leaf except its own.
    let total = if pointer.total == 0 { records.into() } else { total };
    Ok((rest, (Child { address, records }, total)))
}

impl Header {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        self.encode_with(out, sizes, Percents::USUAL)
    }

    /// Does the same as [`encode`](Self::encode), for a tree whose nodes are split and merged at other percentages.
    pub(crate) fn encode_with(&self, out: &mut Vec<u8>, sizes: Sizes, percents: Percents) -> Result<()> {
        let start = out.len();
        out.extend(b"BTHD\0");
        out.push(self.kind);
        out.extend(self.node_size.to_le_bytes());
        out.extend(self.record_size.to_le_bytes());
        out.extend(self.depth.to_le_bytes());
        out.extend([percents.split, percents.merge]);
        put_address(out, self.root, sizes)?;
        out.extend(self.root_records.to_le_bytes());
        put_length(out, self.total_records, sizes)?;
        put_checksum(out, start)?;
        Ok(())
    }

    /// Returns how many bytes a node has for records and pointers.
    fn room(&self) -> u64 {
        bound::left(self.node_size.into(), OVERHEAD)
    }

    /// Returns the largest number of records of a leaf. A record is never empty.
    pub(crate) fn leaf_records(&self) -> u64 {
        self.room().checked_div(self.record_size.into()).unwrap_or_default()
    }
}

impl Pointer {
    /// Returns the largest number of records of an internal node with pointers of these widths; 0 if not even a pointer fits.
    pub(crate) fn records(self, header: &Header, sizes: Sizes) -> u64 {
        let width = bound::sum(bound::sum(self.records, self.total), sizes.bytes(1, 0, 0)) as u64;
        let each = bound::sum(width, header.record_size.into());
        bound::left(header.room(), width).checked_div(each).unwrap_or_default()
    }
}

/// A child pointer and the number of records in the child and below it.
pub(crate) type Counted = (Child, u64);

/// Appends a whole node: a leaf without pointers, or an internal node. `pointer` says how wide the fields of its pointers are.
pub(crate) fn encode_node(
    out: &mut Vec<u8>,
    header: &Header,
    sizes: Sizes,
    records: &[u8],
    children: Option<(Pointer, &[Counted])>,
) -> Result<()> {
    let start = out.len();
    out.extend(if children.is_some() { b"BTIN\0" } else { b"BTLF\0" });
    out.push(header.kind);
    out.extend(records);
    for (pointer, (child, total)) in children
        .into_iter()
        .flat_map(|(pointer, children)| children.iter().map(move |child| (pointer, child)))
    {
        put_address(out, Some(child.address), sizes)?;
        put_uint(out, child.records.into(), pointer.records)?;
        if pointer.total > 0 {
            put_uint(out, *total, pointer.total)?;
        }
    }
    put_checksum(out, start)?;
    put_padding(out, start, fit(header.node_size, "size of a node")?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near_sealed, seal};
    use super::*;

    fn header(kind: u8, node_size: u32, record_size: u16, depth: u16) -> Header {
        Header { kind, node_size, record_size, depth, root: None, root_records: 0, total_records: 0 }
    }

    /// A header without its checksum. The constants below have no checksum either.
    const HEADER: [u8; 34] = [
        b'B', b'T', b'H', b'D', // signature
        0,    // version
        5,    // type: links by their names
        0x40, 0, 0, 0, // node size
        0x0b, 0, // record size
        1, 0,    // depth
        0x64, // split percent
        0x28, // merge percent
        0, 0x10, 0, 0, 0, 0, 0, 0, // root node address
        1, 0, // number of records in root node
        3, 0, 0, 0, 0, 0, 0, 0, // total number of records
    ];

    const LEAF: [u8; 17] = [
        b'B', b'T', b'L', b'F', // signature
        0,    // version
        5,    // type
        1, 2, 3, 4, // record: hash of name
        0, 0x15, 0, 0, 0, 3, 0, // heap ID
    ];

    const INTERNAL: [u8; 35] = [
        b'B', b'T', b'I', b'N', // signature
        0,    // version
        5,    // type
        1, 2, 3, 4, // record: hash of name
        0, 0x15, 0, 0, 0, 3, 0, // heap ID
        0, 0x20, 0, 0, 0, 0, 0, 0, // child node 0: address
        1, // number of records
        0, 0x30, 0, 0, 0, 0, 0, 0, // child node 1: address
        1, // number of records
    ];

    #[test]
    fn widths_of_pointers() {
        let links = header(5, 512, 11, 3).pointers(SIZES);
        let widths: Vec<_> = links.iter().map(|p| (p.records, p.total)).collect();
        assert_eq!(widths, [(1, 0), (1, 2), (1, 2)]);
        let chunks = header(10, 2048, 24, 2).pointers(SIZES);
        assert_eq!((chunks[1].records, chunks[1].total), (1, 2));
    }

    #[test]
    fn a_header_a_leaf_and_an_internal_node() {
        let bytes = seal(HEADER.to_vec());
        assert_eq!(bytes.len(), Header::size(SIZES));
        let links =
            Header { root: Some(Address(0x1000)), root_records: 1, total_records: 3, ..header(5, 64, 11, 1) };
        both_ways(&bytes, &links, |i| Header::parse(i, SIZES), |header, out| header.encode(out, SIZES));

        let padded = |bytes: &[u8]| {
            let mut node = seal(bytes.to_vec());
            node.resize(64, 0);
            node
        };
        let leaf = padded(&LEAF);
        let expected = Node { records: &LEAF[6..], children: Vec::new() };
        assert_eq!(Node::leaf(&leaf, &links, 1).unwrap().1, expected);
        assert!(Node::leaf(&leaf, &links, 2).is_err());
        let mut out = Vec::new();
        encode_node(&mut out, &links, SIZES, expected.records, None).unwrap();
        assert_eq!(out, leaf);

        let internal = padded(&INTERNAL);
        let pointer = links.pointers(SIZES)[0];
        let (_, (records, children)) = Node::counted(&internal, &links, SIZES, pointer, 1).unwrap();
        let child = |address| (Child { address: Address(address), records: 1 }, 1);
        assert_eq!((records, &children[..]), (&LEAF[6..], &[child(0x2000), child(0x3000)][..]));
        let mut out = Vec::new();
        encode_node(&mut out, &links, SIZES, records, Some((pointer, &children))).unwrap();
        assert_eq!(out, internal);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            head in near_sealed(&HEADER),
            leaf in near_sealed(&LEAF),
            internal in near_sealed(&INTERNAL),
            sizes in any_sizes(),
            records in 0u16..4,
        ) {
            let links = header(5, 64, 11, 1);
            let _ = Node::leaf(&leaf, &links, records);
            for pointer in links.pointers(sizes) {
                let _ = Node::internal(&internal, &links, sizes, pointer, records);
            }
            if let Ok((_, found)) = Header::parse(&head, sizes) {
                let _ = Node::leaf(&leaf, &found, records);
                let _ = found.leaf_records();
                let _ = found.pointers(sizes).iter().map(|pointer| pointer.records(&found, sizes)).max();
            }
        }
    }
}
