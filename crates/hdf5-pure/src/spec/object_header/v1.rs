//! Version 1 object headers (IV.A.1.a).
//!
//! | size | field |
//! |---|---|
//! | 1, 1 | version 1, reserved |
//! | 2 | messages in all chunks |
//! | 4 | reference count |
//! | 4 | bytes of messages in the first chunk |
//! | 4 | padding |
//!
//! Each message: type (2), size (2), flags (1), reserved (3), body. Sizes are multiples of 8.

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

/// Parses a chunk, of which the first `start` bytes are a prefix.
pub(crate) fn messages<'a>(i: &'a [u8], start: usize, each: &mut Each<'_, 'a>) -> Parsed<'a, ()> {
    super::messages(i.get(start..).unwrap_or_default(), start, each, |i| {
        // Old writers leave a few bytes that hold no message.
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

/// Bytes of the prefix.
pub(crate) const PREFIX: usize = 16;

/// Bytes of a message whose body has `len` bytes.
pub(crate) fn message_size(len: usize) -> Result<usize> {
    add(pad8(len)?, 8)
}

/// Appends a prefix. `messages`: those of all chunks; `chunk_size`: bytes of the first chunk's.
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
    use super::super::super::test::hex;
    use super::*;

    #[test]
    fn a_header_with_a_symbol_table() {
        let bytes = hex("01 00 0100 01000000 18000000 00000000 \
             1100 1000 00 000000 8800000000000000 a802000000000000");
        let (_, prefix) = Prefix::parse(&bytes).unwrap();
        assert_eq!((prefix.len, prefix.chunk_size), (16, 24));
        let mut found = Vec::new();
        let (rest, ()) = messages(&bytes, prefix.len, &mut |message| found.push(message)).unwrap();
        assert!(rest.is_empty());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, found[0].at, found[0].body.len()), (MessageType::SymbolTable, 24, 16));
    }
}
