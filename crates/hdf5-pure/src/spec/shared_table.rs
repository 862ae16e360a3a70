//! The table of shared messages (III.H): header messages that several objects use are stored once.
//!
//! `SMTB`, then one entry per index, checksum. An index is a list, `SMLI`, or a version 2 B-tree of type 7.

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::rest;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::{Address, Sizes, address, sealed, signature, version};

/// One index of shared messages.
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
    /// 0 a list, 1 a B-tree.
    pub kind: u8,
    /// Kinds of messages that it holds: bit `1 << message type`.
    pub message_types: u16,
    /// Smaller messages are not shared.
    pub minimum_size: u32,
    /// More messages than this turn a list into a tree.
    pub list_cutoff: u16,
    /// Fewer messages than this turn a tree into a list.
    pub btree_cutoff: u16,
    /// Messages in it.
    pub messages: u16,
    /// The list or tree.
    pub index: Option<Address>,
    /// The fractal heap that holds the messages.
    pub heap: Option<Address>,
}

impl SharedIndex {
    fn size(sizes: Sizes) -> usize {
        usize::from(sizes.offsets).saturating_mul(2).saturating_add(16)
    }

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

/// Bytes of a table of `indexes` indexes.
pub(crate) fn size(sizes: Sizes, indexes: u8) -> usize {
    SharedIndex::size(sizes).saturating_mul(indexes.into()).saturating_add(8)
}

/// Parses the table.
pub(crate) fn table(i: &[u8], sizes: Sizes, indexes: u8) -> Parsed<'_, Vec<SharedIndex>> {
    sealed(|i| {
        let (i, ()) = signature(b"SMTB")(i)?;
        count(|i| SharedIndex::parse(i, sizes), usize::from(indexes)).parse(i)
    })(i)
}

/// Where a shared message is.
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
    /// In the index's heap.
    Heap {
        /// Hash of the message.
        hash: u32,
        /// Messages that refer to it.
        references: u32,
        /// Heap ID.
        id: [u8; 8],
    },
    /// In the header of the only object that has it.
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
        usize::from(sizes.offsets).saturating_add(4).max(12).saturating_add(5)
    }

    /// Parses a record of exactly its size.
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, location) = field("message location", byte)(i)?;
        let (at, hash) = field("hash value", le_u32)(at)?;
        let record = match location {
            0 => {
                let (at, references) = field("reference count", le_u32)(at)?;
                let (_, id) = field("heap ID", take(8usize)).parse(at)?;
                Self::Heap { hash, references, id: id.try_into().unwrap_or_default() }
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
