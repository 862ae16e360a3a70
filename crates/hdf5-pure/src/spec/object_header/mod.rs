//! Object headers (IV.A.1): the messages that describe a group, a dataset or a committed datatype.
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

/// The prefix of an object header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// The version, and the fields that depend on it.
    pub(crate) version: Version,
    /// The size of the messages in the first chunk, in bytes.
    pub(crate) chunk_size: u64,
    /// The size of the prefix itself, in bytes.
    pub(crate) len: usize,
}

/// The version of a header, and the fields that only this version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Version 1.
    V1 {
        /// The number of messages in all chunks.
        messages: u16,
        /// The number of hard links to the object.
        references: u32,
    },
    /// Version 2.
    V2 {
        /// Bit 2: attribute creation order is tracked; bit 3: it is indexed; bit 4: there are phase change values; bit 5: there
        /// are times.
        flags: u8,
        /// The times of access, modification, change and birth, in seconds since the UNIX epoch.
        times: Option<[u32; 4]>,
        /// The largest number of compact attributes, and the smallest number of dense attributes.
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

/// A message of a chunk, whose body is not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawMessage<'a> {
    /// The type of the message.
    pub(crate) kind: MessageType,
    /// The message flags.
    pub(crate) flags: u8,
    /// The creation index, if the header tracks it.
    pub(crate) creation_index: Option<u16>,
    /// The offset of the body in the chunk.
    pub(crate) at: usize,
    /// The body.
    pub(crate) body: &'a [u8],
}

/// Flag: the body is a reference to a shared message.
pub(crate) const SHARED: u8 = 0x02;
/// Flag: the message is in this header, and is also an entry of the index of shared messages.
pub(crate) const SHAREABLE: u8 = 0x40;
/// Flag: a program that does not know the message must not change the file.
pub(crate) const FAIL_ON_WRITE: u8 = 0x08;
/// Flag: a program that does not know the message must set [`WAS_UNKNOWN`] if it changes the object.
pub(crate) const MARK_IF_UNKNOWN: u8 = 0x10;
/// Flag: a program that does not know the message must not open the object.
pub(crate) const FAIL_ALWAYS: u8 = 0x80;
/// Flag: a program that did not know the message changed the object.
pub(crate) const WAS_UNKNOWN: u8 = 0x20;

/// The function to which the messages of a chunk are passed, one after another.
pub(crate) type Each<'e, 'a> = dyn FnMut(RawMessage<'a>) + 'e;

/// Parses the messages of a chunk until `next` finds none. The first one is at offset `start` of the chunk.
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

/// A message to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: MessageType,
    pub(crate) flags: u8,
    /// The creation index, which is only stored if the header tracks it.
    pub(crate) creation_index: u16,
    pub(crate) body: Vec<u8>,
}

/// Flag: the body never changes.
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
