//! Object headers (IV.A.1): the messages that make a group, a dataset or a committed datatype.
//!
//! A header starts with a prefix and a first chunk of messages; continuation messages lead to further chunks.
//!
//! | first byte | field |
//! |---|---|
//! | 1 | the version of a header of [version 1](v1) |
//! | `O` | the signature `OHDR` of a header of [version 2](v2) |

pub(crate) mod v1;
pub(crate) mod v2;

use nom::Offset;
use sciformats_core::bound;
use sciformats_core::fault::{FaultKind, Parsed, fail};

use super::message::MessageType;

/// What an object header begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// What the version says of the rest.
    pub(crate) version: Version,
    /// Bytes of messages in the first chunk.
    pub(crate) chunk_size: u64,
    /// Bytes of the prefix itself.
    pub(crate) len: usize,
}

/// The version of a header, and what only it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Version 1.
    V1 {
        /// Messages in all chunks.
        messages: u16,
        /// Hard links to the object.
        references: u32,
    },
    /// Version 2.
    V2 {
        /// Bit 2: attribute creation order is tracked; bit 3: indexed; bit 4: phase change values; bit 5: times.
        flags: u8,
        /// Access, modification, change and birth, in seconds of the Unix epoch.
        times: Option<[u32; 4]>,
        /// Most compact and fewest dense attributes.
        phase_change: Option<(u16, u16)>,
    },
}

impl Prefix {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        match i.first() {
            Some(b'O') => v2::prefix(i),
            Some(1) => v1::prefix(i),
            Some(&found) => fail(i, FaultKind::Undefined { found: found.into() }),
            None => fail(i, FaultKind::Truncated),
        }
    }
}

/// A message as it stands in a chunk: its body is not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawMessage<'a> {
    /// What it is.
    pub(crate) kind: MessageType,
    /// Message flags.
    pub(crate) flags: u8,
    /// Creation index, where the header tracks it.
    pub(crate) creation_index: Option<u16>,
    /// Where the body starts in the chunk.
    pub(crate) at: usize,
    /// The body.
    pub(crate) body: &'a [u8],
}

/// The body is a reference to a shared message.
pub(crate) const SHARED: u8 = 0x02;
/// The message stands here, and the index of shared messages knows it.
pub(crate) const SHAREABLE: u8 = 0x40;
/// Fail if the message is unknown and the file is to be changed.
pub(crate) const FAIL_ON_WRITE: u8 = 0x08;
/// Set [`WAS_UNKNOWN`] if the message is unknown and the object is changed.
pub(crate) const MARK_IF_UNKNOWN: u8 = 0x10;
/// Fail if the message is unknown, whatever is done with the file.
pub(crate) const FAIL_ALWAYS: u8 = 0x80;
/// The file was changed by something that did not understand the message.
pub(crate) const WAS_UNKNOWN: u8 = 0x20;

/// What the messages of a chunk are given to, one after another.
pub(crate) type Each<'e, 'a> = dyn FnMut(RawMessage<'a>) + 'e;

/// Messages of a chunk, one after another, until `next` finds none. The first stands at `start` in the chunk.
fn messages<'a>(
    i: &'a [u8],
    start: usize,
    each: &mut Each<'_, 'a>,
    next: impl Fn(&'a [u8]) -> Parsed<'a, Option<RawMessage<'a>>>,
) -> Parsed<'a, ()> {
    let mut left = i;
    loop {
        match next(left)? {
            (rest, Some(message)) => {
                each(RawMessage { at: bound::sum(start, i.offset(message.body)), ..message });
                left = rest;
            }
            (rest, None) => return Ok((rest, ())),
        }
    }
}

/// A message that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: MessageType,
    pub(crate) flags: u8,
    /// Creation index, which is stored only where the header tracks it.
    pub(crate) creation_index: u16,
    pub(crate) body: Vec<u8>,
}

/// The body never changes.
pub(crate) const CONSTANT: u8 = 0x01;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::near;
    use super::*;

    const V1: [u8; 16] = [
        1, // version
        0, // reserved
        3, 0, // total number of header messages
        2, 0, 0, 0, // object reference count
        0x18, 0, 0, 0, // object header size
        0, 0, 0, 0, // padding
    ];

    const V2: [u8; 12] = [
        b'O', b'H', b'D', b'R', // signature
        2,    // version
        0x11, // flags: phase change values, size of two bytes
        8, 0, // maximum number of compact attributes
        6, 0, // minimum number of dense attributes
        0x2c, 1, // size of chunk 0
    ];

    #[test]
    fn prefixes_of_both_versions() {
        let version = Version::V1 { messages: 3, references: 2 };
        assert_eq!(Prefix::parse(&V1), Ok((&[][..], Prefix { version, chunk_size: 24, len: 16 })));
        let version = Version::V2 { flags: 0x11, times: None, phase_change: Some((8, 6)) };
        assert_eq!(Prefix::parse(&V2), Ok((&[][..], Prefix { version, chunk_size: 300, len: 12 })));
        assert!(Prefix::parse(&[3; 16]).is_err() && Prefix::parse(&[]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(v1 in near(&V1), v2 in near(&V2)) {
            let _ = Prefix::parse(&v1);
            let _ = Prefix::parse(&v2);
        }
    }
}
