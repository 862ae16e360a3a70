//! Version 1 object headers (IV.A.1.a).
//!
//! | offset | size | field of the prefix |
//! |---|---|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 1 | reserved |
//! | 2 | 2 | total number of header messages, in all chunks |
//! | 4 | 4 | object reference count |
//! | 8 | 4 | object header size: bytes of messages in the first chunk |
//! | 12 | 4 | padding |
//!
//! | offset | size | field of a message |
//! |---|---|---|
//! | 0 | 2 | header message type |
//! | 2 | 2 | size of header message data, n: a multiple of 8 |
//! | 4 | 1 | header message flags |
//! | 5 | 3 | reserved |
//! | 8 | n | header message data |

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::add;
use sciformats_core::fault::{Parsed, field};

use super::super::message::MessageType;
use super::super::{pad8, put_padding, short, version};
use super::{Each, Message, Prefix, RawMessage, Version};

pub(super) fn prefix(i: &[u8]) -> Parsed<'_, Prefix> {
    let (i, _) = version(1)(i)?;
    let (i, _) = byte(i)?;
    let (i, messages) = field("total number of header messages", le_u16)(i)?;
    let (i, references) = field("object reference count", le_u32)(i)?;
    let (i, chunk_size) = field("object header size", le_u32)(i)?;
    let (i, _) = field("padding", take(4usize)).parse(i)?;
    let version = Version::V1 { messages, references };
    Ok((i, Prefix { version, chunk_size: chunk_size.into(), len: 16 }))
}

/// Parses a chunk whose first `start` bytes are a prefix.
pub(crate) fn messages<'a>(i: &'a [u8], start: usize, each: &mut Each<'_, 'a>) -> Parsed<'a, ()> {
    super::messages(i.get(start..).unwrap_or_default(), start, each, |i| {
        // Old writers left a few bytes without a message at the end of a chunk.
        if i.len() < 8 {
            return Ok((&[], None));
        }
        let (i, kind) = field("header message type", le_u16)(i)?;
        let (i, size) = field("size of header message data", le_u16)(i)?;
        let (i, flags) = field("header message flags", byte)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, body) = field("header message data", take(size)).parse(i)?;
        let kind = MessageType::from(kind);
        Ok((i, Some(RawMessage { kind, flags, creation_index: None, at: 0, body })))
    })
}

/// The size of the prefix in bytes.
pub(crate) const PREFIX: usize = 16;

/// Returns the size in bytes of a message whose body has `len` bytes.
pub(crate) fn message_size(len: usize) -> Result<usize> {
    add(pad8(len)?, 8)
}

/// Appends a prefix. `messages` is their number in all chunks, and `chunk_size` is the size of those in the first chunk, in
/// bytes.
pub(crate) fn encode_prefix(
    out: &mut Vec<u8>,
    messages: u16,
    references: u32,
    chunk_size: u32,
) -> Result<()> {
    out.extend([1, 0]);
    out.extend(messages.to_le_bytes());
    out.extend(references.to_le_bytes());
    out.extend(chunk_size.to_le_bytes());
    out.extend([0; 4]);
    Ok(())
}

/// Appends a message.
pub(crate) fn encode_message(out: &mut Vec<u8>, message: &Message) -> Result<()> {
    out.extend(message.kind.number().to_le_bytes());
    out.extend(short(pad8(message.body.len())?, "size of a message")?.to_le_bytes());
    out.extend([message.flags, 0, 0, 0]);
    let start = out.len();
    out.extend(&message.body);
    put_padding(out, start, pad8(message.body.len())?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::near;
    use super::*;

    const HEADER: [u8; 40] = [
        1, // version
        0, // reserved
        1, 0, // total number of header messages
        1, 0, 0, 0, // object reference count
        0x18, 0, 0, 0, // object header size
        0, 0, 0, 0, // padding
        0x11, 0, // header message type: symbol table
        0x10, 0, // size of header message data
        0, // header message flags
        0, 0, 0, // reserved
        0x88, 0, 0, 0, 0, 0, 0, 0, // header message data: B-tree
        0xa8, 2, 0, 0, 0, 0, 0, 0, // local heap
    ];

    #[test]
    fn a_header_with_a_symbol_table() {
        let (_, prefix) = Prefix::parse(&HEADER).unwrap();
        assert_eq!((prefix.len, prefix.chunk_size), (16, 24));
        let mut found = Vec::new();
        let (rest, ()) = messages(&HEADER, prefix.len, &mut |message| found.push(message)).unwrap();
        assert!(rest.is_empty());
        let (kind, body) = (MessageType::SymbolTable, &HEADER[24..]);
        assert_eq!(found, [RawMessage { kind, flags: 0, creation_index: None, at: 24, body }]);
        let mut out = Vec::new();
        encode_prefix(&mut out, 1, 1, 24).unwrap();
        encode_message(&mut out, &Message { kind, flags: 0, creation_index: 0, body: body.to_vec() })
            .unwrap();
        assert_eq!(out, HEADER);
        assert_eq!(message_size(body.len()).unwrap(), 24);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in near(&HEADER), start in 0usize..60) {
            let _ = Prefix::parse(&bytes);
            let _ = messages(&bytes, start, &mut |_| {});
            let _ = messages(&bytes, PREFIX, &mut |_| {});
        }
    }
}
