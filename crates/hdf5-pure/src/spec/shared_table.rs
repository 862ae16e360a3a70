//! The table of shared messages (III.H): header messages that several objects use are stored once.
//!
//! `SMTB`, then one entry per index, checksum. An index is a list, or a version 2 B-tree of type 7. The list has room for as many
//! records as it can get, and its checksum stands behind those in use: `SMLI`, records, checksum, nothing.

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

    /// Bytes of the index's list, with the room that is not used.
    pub(crate) fn list_size(&self, sizes: Sizes) -> Result<u64> {
        let records = u64::from(self.list_cutoff.max(self.messages));
        add(mul(SharedRecord::size(sizes) as u64, records)?, 8)
    }
}

/// Bytes of a table of `indexes` indexes.
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
    /// In the heap of the index.
    Heap {
        /// Hash of the message.
        hash: u32,
        /// Messages that refer to it.
        references: u32,
        /// Heap ID.
        id: [u8; 8],
    },
    /// In the header of the only object that uses it.
    Header {
        /// Hash of the message.
        hash: u32,
        /// Message type.
        kind: u8,
        /// Creation index of the message.
        index: u16,
        /// The object.
        header: Option<Address>,
    },
}

impl SharedRecord {
    /// Bytes of a record.
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

/// Appends a list with room for as many records as `index` says.
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
    use super::super::test::hex;
    use super::*;

    const SIZES: Sizes = Sizes { offsets: 8, lengths: 8 };

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
        let fields = "534d5442 00 00 0210 28000000 0300 0200 0200 0001000000000000 ffffffffffffffff";
        assert_eq!(bytes[..bytes.len() - 4], hex(fields));
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
        let used =
            hex("534d4c49 00 07000000 03000000 0016616263646566 01 09000000 00 03 0100 2003000000000000");
        assert_eq!(bytes[..used.len()], used);
        assert_eq!(bytes.len() as u64, index().list_size(SIZES).unwrap());
        assert!(bytes[used.len() + 4..].iter().all(|&byte| byte == 0), "room for a third");
        assert_eq!(list(&bytes, SIZES, 2).unwrap().1, records);
    }
}
