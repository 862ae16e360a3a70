//! Version 2 object headers (IV.A.1.b).
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | signature: `OHDR` |
//! | 4 | 1 | version: 2 |
//! | 5 | 1 | flags; bits 0–1: width of size of chunk 0 (1, 2, 4 or 8), 2: attribute creation order is tracked, 3: it is indexed, 4: phase change values, 5: times |
//! | 6 | 16 | access, modification, change and birth time, 4 each (with bit 5) |
//! | | 4 | maximum number of compact attributes, minimum number of dense attributes, 2 each (with bit 4) |
//! | | 1 to 8 | size of chunk 0: bytes of messages |
//! | | | messages, then a gap that is shorter than the prefix of a message |
//! | | 4 | checksum |
//!
//! | offset | size | field of a continuation |
//! |---|---|---|
//! | 0 | 4 | signature: `OCHK` |
//! | 4 | | messages and gap |
//! | | 4 | checksum |
//!
//! | offset | size | field of a message |
//! |---|---|---|
//! | 0 | 1 | header message type |
//! | 1 | 2 | size of header message data, n |
//! | 3 | 1 | header message flags |
//! | 4 | 2 | creation order (with bit 2 of the header's flags) |
//! | 4 or 6 | n | header message data |

use nom::bytes::complete::take;
use nom::combinator::cond;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use nom::{Offset, Parser};
use sciformats_core::arith::{add, present};
use sciformats_core::fault::{FaultKind, Parsed, checked, field};
use sciformats_core::{Result, bound};

use super::super::message::MessageType;
use super::super::{bit, put_uint, sealed, short, signature, uint, version};
use super::{Each, Message, Prefix, RawMessage, Version};

pub(super) fn prefix(whole: &[u8]) -> Parsed<'_, Prefix> {
    let (i, ()) = signature(b"OHDR")(whole)?;
    let (i, _) = version(2)(i)?;
    let (i, flags) = checked("flags", byte, |&flags| {
        (flags & 0xc0 != 0).then_some(FaultKind::Undefined { found: flags.into() })
    })(i)?;
    let set = |n| bit(flags.into(), n);
    let (i, times) = cond(set(5), (le_u32, le_u32, le_u32, le_u32)).parse(i)?;
    let (i, phase_change) = cond(set(4), (le_u16, le_u16)).parse(i)?;
    let width = 1usize.unbounded_shl(u32::from(flags & 3));
    let (i, chunk_size) = field("size of chunk #0", uint(width))(i)?;
    let times = times.map(|(access, modification, change, birth)| [access, modification, change, birth]);
    let len = whole.offset(i);
    Ok((i, Prefix { version: Version::V2 { flags, times, phase_change }, chunk_size, len }))
}

/// Parses the first chunk, including its prefix. The checksum is checked before the messages are parsed.
pub(crate) fn first_chunk<'a>(
    i: &'a [u8],
    prefix: &Prefix,
    flags: u8,
    each: &mut Each<'_, 'a>,
) -> Parsed<'a, ()> {
    let (rest, body) = sealed(take(bound::left(i.len(), 4)))(i)?;
    let (body, _) = take(prefix.len)(body)?;
    let (_, ()) = messages(body, prefix.len, flags, each)?;
    Ok((rest, ()))
}

/// Parses a continuation.
pub(crate) fn continuation<'a>(i: &'a [u8], flags: u8, each: &mut Each<'_, 'a>) -> Parsed<'a, ()> {
    let (rest, body) = sealed(take(bound::left(i.len(), 4)))(i)?;
    let (part, ()) = signature(b"OCHK")(body)?;
    let (_, ()) = messages(part, 4, flags, each)?;
    Ok((rest, ()))
}

fn messages<'a>(i: &'a [u8], start: usize, flags: u8, each: &mut Each<'_, 'a>) -> Parsed<'a, ()> {
    let tracked = bit(flags.into(), 2);
    let prefix = if tracked { 6 } else { 4 };
    super::messages(i, start, each, |i| {
        // A rest that is shorter than a message prefix is a gap.
        if i.len() < prefix {
            return Ok((&[], None));
        }
        let (i, kind) = field("header message type", byte)(i)?;
        let (i, size) = field("size of header message data", le_u16)(i)?;
        let (i, flags) = field("header message flags", byte)(i)?;
        let (i, creation_index) = cond(tracked, field("creation order", le_u16)).parse(i)?;
        let (i, body) = field("header message data", take(size)).parse(i)?;
        let kind = MessageType::from(u16::from(kind));
        Ok((i, Some(RawMessage { kind, flags, creation_index, at: 0, body })))
    })
}

/// Flag: attribute creation order is tracked.
pub(crate) const TRACKED: u8 = 0x04;
/// Flag: attribute creation order is indexed.
pub(crate) const INDEXED: u8 = 0x08;
/// Flag: the prefix has phase change values.
pub(crate) const PHASE_CHANGE: u8 = 0x10;
/// Flag: the prefix has times.
pub(crate) const TIMES: u8 = 0x20;

/// Returns the size in bytes of a message whose body has `len` bytes.
pub(crate) fn message_size(len: usize, flags: u8) -> Result<usize> {
    add(len, if flags & TRACKED != 0 { 6 } else { 4 })
}

/// Returns the code for the width of the chunk size, and the size of the prefix in bytes, for a first chunk of `chunk_size`
/// bytes.
pub(crate) fn prefix_size(chunk_size: usize) -> (u8, usize) {
    match chunk_size {
        0..=0xff => (0, 7),
        0x100..=0xffff => (1, 8),
        _ => (2, 10),
    }
}

/// Returns the size in bytes of the times and phase change values in the prefix of a header with `flags`.
pub(crate) fn extra_size(flags: u8) -> usize {
    match (flags & TIMES != 0, flags & PHASE_CHANGE != 0) {
        (true, true) => 20,
        (true, false) => 16,
        (false, true) => 4,
        (false, false) => 0,
    }
}

/// Appends a prefix. `flags` are those for attributes and times, and `extra` are the bytes of these fields.
pub(crate) fn encode_prefix(out: &mut Vec<u8>, flags: u8, extra: &[u8], chunk_size: usize) -> Result<()> {
    let (width, _) = prefix_size(chunk_size);
    out.extend(b"OHDR\x02");
    out.push(flags & 0x3c | width);
    out.extend(extra);
    put_uint(out, chunk_size as u64, 1usize.unbounded_shl(width.into()))?;
    Ok(())
}

/// Sets the times of access and of change in the bytes of a prefix that has times.
pub(crate) fn put_change(prefix: &mut [u8], time: u32) -> Result<()> {
    let times = prefix.get_mut(6..).and_then(<[u8]>::first_chunk_mut::<16>);
    let times = present(times, "place of the times in an object header")?.as_chunks_mut::<4>().0;
    for (place, old) in times.iter_mut().enumerate() {
        // The access, the modification, the change, and the birth.
        if matches!(place, 0 | 2) {
            *old = time.to_le_bytes();
        }
    }
    Ok(())
}

/// Appends a message of a header with `flags`.
pub(crate) fn encode_message(out: &mut Vec<u8>, message: &Message, flags: u8) -> Result<()> {
    let [kind, _] = message.kind.number().to_le_bytes();
    out.push(kind);
    out.extend(short(message.body.len(), "size of a message")?.to_le_bytes());
    out.push(message.flags);
    if flags & TRACKED != 0 {
        out.extend(message.creation_index.to_le_bytes());
    }
    out.extend(&message.body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{near_sealed, seal};
    use super::*;

    /// The header of an empty group without its checksum.
    const GROUP: [u8; 35] = [
        b'O', b'H', b'D', b'R', // signature
        2,    // version
        0,    // flags
        0x1c, // size of chunk 0
        2,    // header message type: link info
        0x12, 0, // size of header message data
        0, // header message flags
        0, 0, // header message data: version and flags
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // fractal heap address: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of v2 B-tree for name index: none
        0x0a, // header message type: group info
        2, 0, // size of header message data
        0, // header message flags
        0, 0, // header message data: version and flags
    ];

    /// A continuation without its checksum.
    const CONTINUATION: [u8; 18] = [
        b'O', b'C', b'H', b'K', // signature
        0x16, // header message type: object reference count
        5, 0, // size of header message data
        0, // header message flags
        7, 0, // creation order
        0, 2, 0, 0, 0, // header message data
        0, 0, 0, // gap
    ];

    /// The times and phase change values of a prefix.
    const EXTRA: [u8; 20] = [
        1, 0, 0, 0, // access time
        2, 0, 0, 0, // modification time
        3, 0, 0, 0, // change time
        4, 0, 0, 0, // birth time
        8, 0, // maximum number of compact attributes
        6, 0, // minimum number of dense attributes
    ];

    #[test]
    fn an_empty_group() {
        let bytes = seal(GROUP.to_vec());
        let (_, prefix) = Prefix::parse(&bytes).unwrap();
        assert_eq!((prefix.len, prefix.chunk_size), (7, 28));
        let mut found = Vec::new();
        first_chunk(&bytes, &prefix, 0, &mut |message| found.push(message)).unwrap();
        let kinds: Vec<_> = found.iter().map(|message| message.kind).collect();
        assert_eq!(kinds, [MessageType::LinkInfo, MessageType::GroupInfo]);
        assert_eq!(&bytes[found[1].at..found[1].at + 2], [0, 0]);
        let mut out = Vec::new();
        encode_prefix(&mut out, 0, &[], 28).unwrap();
        for RawMessage { kind, flags, body, .. } in &found {
            let message = Message { kind: *kind, flags: *flags, creation_index: 0, body: body.to_vec() };
            assert_eq!(message_size(body.len(), 0).unwrap(), body.len() + 4);
            encode_message(&mut out, &message, 0).unwrap();
        }
        assert_eq!(out, GROUP);
        let mut broken = bytes;
        broken[20] ^= 1;
        assert!(first_chunk(&broken, &prefix, 0, &mut |_| {}).is_err());
    }

    #[test]
    fn a_continuation() {
        let bytes = seal(CONTINUATION.to_vec());
        let mut found = Vec::new();
        continuation(&bytes, TRACKED, &mut |message| found.push(message)).unwrap();
        let (kind, creation_index) = (MessageType::ReferenceCount, 7);
        let body = &CONTINUATION[10..15];
        assert_eq!(
            found,
            [RawMessage { kind, flags: 0, creation_index: Some(creation_index), at: 10, body }]
        );
        let mut out = Vec::new();
        encode_message(&mut out, &Message { kind, flags: 0, creation_index, body: body.to_vec() }, TRACKED)
            .unwrap();
        assert_eq!(out, CONTINUATION[4..15]);
    }

    #[test]
    fn times_and_phase_change_values() {
        let flags = TIMES | PHASE_CHANGE;
        let mut bytes = Vec::new();
        encode_prefix(&mut bytes, flags, &EXTRA, 300).unwrap();
        assert_eq!(bytes, [&b"OHDR"[..], &[2, flags | 1], &EXTRA, &[0x2c, 1]].concat());
        assert_eq!(extra_size(flags), EXTRA.len());
        let version = Version::V2 { flags: flags | 1, times: Some([1, 2, 3, 4]), phase_change: Some((8, 6)) };
        assert_eq!(Prefix::parse(&bytes), Ok((&[][..], Prefix { version, chunk_size: 300, len: 28 })));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(first in near_sealed(&GROUP), more in near_sealed(&CONTINUATION), flags: u8) {
            if let Ok((_, prefix)) = Prefix::parse(&first) {
                let _ = first_chunk(&first, &prefix, flags, &mut |_| {});
            }
            let _ = continuation(&more, flags, &mut |_| {});
        }
    }
}
