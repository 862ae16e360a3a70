//! The table of shared messages (III.H), which are header messages that several objects use and that are stored once.
//!
//! An index is a list, or a version 2 B-tree of type 7. The list has space for the largest number of records that it may contain,
//! and its checksum follows the records in use.
//!
//! | offset | size | field of the table |
//! |---|---|---|
//! | 0 | 4 | signature: `SMTB` |
//! | 4 | n·(14 + 2·O) | indexes |
//! | | 4 | checksum |
//!
//! | offset | size | field of an index |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 1 | index type: 0 list, 1 v2 B-tree |
//! | 2 | 2 | message type flags: bit `1 << type` |
//! | 4 | 4 | minimum message size |
//! | 8 | 2 | list cutoff: with more messages, a list becomes a tree |
//! | 10 | 2 | v2 B-tree cutoff: with fewer messages, a tree becomes a list |
//! | 12 | 2 | number of messages |
//! | 14 | O | index address, or none |
//! | 14 + O | O | fractal heap address, or none |
//!
//! | offset | size | field of a list |
//! |---|---|---|
//! | 0 | 4 | signature: `SMLI` |
//! | 4 | | records in use |
//! | | 4 | checksum, then unused space for more records |
//!
//! | offset | size | field of a record, whose size is the larger of 17 and 9 + O |
//! |---|---|---|
//! | 0 | 1 | message location: 0 in the heap, 1 in an object header |
//! | 1 | 4 | hash value |
//! | 5 | 4 | in the heap: reference count |
//! | 9 | 8 | in the heap: heap ID |
//! | 5 | 1 | in a header: reserved |
//! | 6 | 1 | in a header: message type |
//! | 7 | 2 | in a header: creation index |
//! | 9 | O | in a header: object header address |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::{map_res, rest};
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::arith::{add, fit, mul};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Result, bound};

use super::{Address, Sizes, address, put_address, put_checksum, put_padding, sealed, signature, version};

/// An index of shared messages.
///
/// ```no_run
/// let file = hdf5_pure::File::open("weather.h5")?;
/// for index in file.shared_indexes() {
///     println!("{} messages of {} bytes or more", index.messages, index.minimum_size);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedIndex {
    /// The kind of index: 0 a list, 1 a B-tree.
    pub kind: u8,
    /// The types of messages in the index, as bits `1 << message type`.
    pub message_types: u16,
    /// The size of the smallest message that is shared.
    pub minimum_size: u32,
    /// The largest number of messages in a list; more turn it into a B-tree.
    pub list_cutoff: u16,
    /// The smallest number of messages in a B-tree; fewer turn it into a list.
    pub btree_cutoff: u16,
    /// The number of messages.
    pub messages: u16,
    /// The address of the list or B-tree.
    pub index: Option<Address>,
    /// The address of the fractal heap that holds the messages.
    pub heap: Option<Address>,
}

impl SharedIndex {
    fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, kind) = checked("index type", byte, |&found| {
            (found > 1).then_some(FaultKind::Undefined { found: found.into() })
        })(i)?;
        let (i, message_types) = field("message type flags", le_u16)(i)?;
        let (i, minimum_size) = field("minimum message size", le_u32)(i)?;
        let (i, list_cutoff) = field("list cutoff", le_u16)(i)?;
        let (i, btree_cutoff) = field("v2 B-tree cutoff", le_u16)(i)?;
        let (i, messages) = field("number of messages", le_u16)(i)?;
        let (i, index) = field("index address", address(sizes))(i)?;
        let (i, heap) = field("fractal heap address", address(sizes))(i)?;
        let index =
            Self { kind, message_types, minimum_size, list_cutoff, btree_cutoff, messages, index, heap };
        Ok((i, index))
    }
}

impl SharedIndex {
    fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        out.extend([0, self.kind]);
        out.extend(self.message_types.to_le_bytes());
        out.extend(self.minimum_size.to_le_bytes());
        for number in [self.list_cutoff, self.btree_cutoff, self.messages] {
            out.extend(number.to_le_bytes());
        }
        put_address(out, self.index, sizes)?;
        put_address(out, self.heap, sizes)?;
        Ok(())
    }

    /// Returns the size of the index's list in bytes, including its unused space.
    pub(crate) fn list_size(&self, sizes: Sizes) -> Result<u64> {
        let records = u64::from(self.list_cutoff.max(self.messages));
        add(mul(SharedRecord::size(sizes) as u64, records)?, 8)
    }
}

/// Returns the size in bytes of a table of `indexes` indexes.
pub(crate) fn size(sizes: Sizes, indexes: u8) -> usize {
    let indexes = u16::from(indexes);
    sizes.bytes(bound::product(indexes, 2), 0, bound::sum(bound::product(indexes, 14), 8))
}

/// Parses the table.
pub(crate) fn table(i: &[u8], sizes: Sizes, indexes: u8) -> Parsed<'_, Vec<SharedIndex>> {
    sealed(|i| {
        let (i, ()) = signature(b"SMTB")(i)?;
        count(|i| SharedIndex::parse(i, sizes), usize::from(indexes)).parse(i)
    })(i)
}

/// Appends the table.
pub(crate) fn encode_table(out: &mut Vec<u8>, sizes: Sizes, indexes: &[SharedIndex]) -> Result<()> {
    let start = out.len();
    out.extend(b"SMTB");
    indexes.iter().try_for_each(|index| index.encode(out, sizes))?;
    put_checksum(out, start)?;
    Ok(())
}

/// The place of a shared message.
///
/// ```no_run
/// use hdf5_pure::structure::SharedRecord;
///
/// let file = hdf5_pure::File::open("weather.h5")?;
/// for index in file.shared_indexes() {
///     for record in file.shared_records(index)? {
///         if let SharedRecord::Heap { references, .. } = record {
///             println!("a message that {references} objects share");
///         }
///     }
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedRecord {
    /// The message is in the heap of the index.
    Heap {
        /// The hash of the message.
        hash: u32,
        /// The number of messages that refer to it.
        references: u32,
        /// The heap ID.
        id: [u8; 8],
    },
    /// The message is in the header of the only object that uses it.
    Header {
        /// The hash of the message.
        hash: u32,
        /// The type of the message.
        kind: u8,
        /// The creation index of the message.
        index: u16,
        /// The address of the object's header.
        header: Option<Address>,
    },
}

impl SharedRecord {
    /// Returns the size of a record in bytes.
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 0, 9).max(17)
    }

    /// Parses a record of exactly its size.
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, location) = field("message location", byte)(i)?;
        let (at, hash) = field("hash value", le_u32)(at)?;
        let record = match location {
            0 => {
                let (at, references) = field("reference count", le_u32)(at)?;
                let (_, id) = field("heap ID", map_res(take(8usize), TryFrom::try_from)).parse(at)?;
                Self::Heap { hash, references, id }
            }
            1 => {
                let (at, _) = byte(at)?;
                let (at, kind) = field("message type", byte)(at)?;
                let (at, index) = field("creation index", le_u16)(at)?;
                let (_, header) = field("object header address", address(sizes))(at)?;
                Self::Header { hash, kind, index, header }
            }
            found => {
                return field("message location", |i| fail(i, FaultKind::Undefined { found: found.into() }))(
                    i,
                );
            }
        };
        rest.map(|_: &[u8]| record.clone()).parse(i)
    }
}

impl SharedRecord {
    /// Appends the record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let start = out.len();
        match self {
            Self::Heap { hash, references, id } => {
                out.push(0);
                out.extend(hash.to_le_bytes());
                out.extend(references.to_le_bytes());
                out.extend(id);
            }
            Self::Header { hash, kind, index, header } => {
                out.push(1);
                out.extend(hash.to_le_bytes());
                out.extend([0, *kind]);
                out.extend(index.to_le_bytes());
                put_address(out, *header, sizes)?;
            }
        }
        put_padding(out, start, Self::size(sizes))
    }
}

/// Parses a list of `messages` records.
pub(crate) fn list(i: &[u8], sizes: Sizes, messages: u16) -> Parsed<'_, Vec<SharedRecord>> {
    sealed(|i| {
        let (i, ()) = signature(b"SMLI")(i)?;
        let record = |i| {
            sciformats_core::fault::sized(SharedRecord::size(sizes), |i| SharedRecord::parse(i, sizes))(i)
        };
        count(record, usize::from(messages)).parse(i)
    })(i)
}

/// Appends a list with space for as many records as `index` permits.
pub(crate) fn encode_list(
    out: &mut Vec<u8>,
    sizes: Sizes,
    index: &SharedIndex,
    records: &[SharedRecord],
) -> Result<()> {
    let start = out.len();
    out.extend(b"SMLI");
    records.iter().try_for_each(|record| record.encode(out, sizes))?;
    put_checksum(out, start)?;
    put_padding(out, start, fit(index.list_size(sizes)?, "size of a list")?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, near_sealed, seal};
    use super::*;

    /// A table without its checksum. The list has no checksum either.
    const TABLE: [u8; 34] = [
        b'S', b'M', b'T', b'B', // signature
        0,    // version
        0,    // index type: list
        2, 0x10, // message type flags: dataspaces, attributes
        0x28, 0, 0, 0, // minimum message size
        3, 0, // list cutoff
        2, 0, // v2 B-tree cutoff
        2, 0, // number of messages
        0, 1, 0, 0, 0, 0, 0, 0, // index address
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // fractal heap address: none
    ];

    const LIST: [u8; 38] = [
        b'S', b'M', b'L', b'I', // signature
        0,    // message location: in the heap
        7, 0, 0, 0, // hash value
        3, 0, 0, 0, // reference count
        0, 22, b'a', b'b', b'c', b'd', b'e', b'f', // heap ID
        1,    // message location: in a header
        9, 0, 0, 0, // hash value
        0, // reserved
        3, // message type
        1, 0, // creation index
        0x20, 3, 0, 0, 0, 0, 0, 0, // object header address
    ];

    fn index() -> SharedIndex {
        SharedIndex {
            kind: 0,
            message_types: 0x1002,
            minimum_size: 40,
            list_cutoff: 3,
            btree_cutoff: 2,
            messages: 2,
            index: Some(Address(0x100)),
            heap: None,
        }
    }

    #[test]
    fn a_table() {
        let mut bytes = Vec::new();
        encode_table(&mut bytes, SIZES, &[index()]).unwrap();
        assert_eq!(bytes, seal(TABLE.to_vec()));
        assert_eq!(bytes.len(), size(SIZES, 1));
        assert_eq!(table(&bytes, SIZES, 1).unwrap().1, [index()]);
    }

    #[test]
    fn a_list_of_a_message_in_the_heap_and_one_in_a_header() {
        let records = [
            SharedRecord::Heap { hash: 7, references: 3, id: *b"\0\x16abcdef" },
            SharedRecord::Header { hash: 9, kind: 3, index: 1, header: Some(Address(0x320)) },
        ];
        let mut bytes = Vec::new();
        encode_list(&mut bytes, SIZES, &index(), &records).unwrap();
        let used = seal(LIST.to_vec());
        assert_eq!(bytes[..used.len()], used);
        assert_eq!(bytes.len() as u64, index().list_size(SIZES).unwrap());
        assert!(bytes[used.len()..].iter().all(|&byte| byte == 0), "room for a third");
        assert_eq!(list(&bytes, SIZES, 2).unwrap().1, records);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            indexes in near_sealed(&TABLE),
            records in near_sealed(&LIST),
            sizes in any_sizes(),
            (n, messages) in (0u8..4, 0u16..5),
        ) {
            if let Ok((_, indexes)) = table(&indexes, sizes, n) {
                let _ = indexes.iter().map(|index| index.list_size(sizes).unwrap_or(0)).max();
            }
            let _ = list(&records, sizes, messages);
        }
    }
}
