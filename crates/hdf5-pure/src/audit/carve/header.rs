//! Reads object headers of which a part is missing.

use std::collections::HashSet;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::layout::Layout;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{Prefix, RawMessage, Version, v1, v2};

const STRUCTURE: &str = "object header";

/// An object header, as far as it can be read.
///
/// ```
/// use hdf5_pure::structure::{FoundHeader, MessageType};
///
/// let header = FoundHeader { version: 2, messages: Vec::new(), blocks: vec![(48, 120)], lost: Vec::new() };
/// assert!(!header.has(MessageType::Layout));
/// ```
#[derive(Debug)]
pub struct FoundHeader {
    /// The version of the header: 1 or 2.
    pub version: u8,
    /// The messages, without continuations and unused space.
    pub messages: Vec<FoundMessage>,
    /// The absolute offsets and lengths of the parts.
    pub blocks: Vec<(u64, u64)>,
    /// Why the other parts cannot be read.
    pub lost: Vec<Error>,
}

impl FoundHeader {
    /// Returns whether there is a message of this type.
    pub fn has(&self, kind: MessageType) -> bool {
        self.messages.iter().any(|message| message.kind == kind)
    }

    /// Returns the layout of a dataset, if the header has one that can be read.
    pub fn layout(&self, sizes: crate::spec::Sizes) -> Option<Layout> {
        let message = self.messages.iter().find(|message| message.kind == MessageType::Layout)?;
        locate("data layout message", 0, &message.body, |i| Layout::parse(i, sizes)).ok()
    }
}

/// A message of a header, as it is stored.
///
/// ```
/// use hdf5_pure::structure::{FoundMessage, MessageType};
///
/// let message = FoundMessage { kind: MessageType::Comment, flags: 0, body: b"at noon\0".to_vec() };
/// assert_eq!(message.body.len(), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMessage {
    /// The type.
    pub kind: MessageType,
    /// The flags.
    pub flags: u8,
    /// The body.
    pub body: Vec<u8>,
}

/// Reads the header at `address`, and the parts to which its continuations lead.
pub(super) fn read(context: &Context, address: Address) -> Result<FoundHeader> {
    let start = context.read_some(STRUCTURE, address, 64)?;
    let prefix = locate(STRUCTURE, context.offset(address), &start, Prefix::parse)?;
    let (number, tail) = match prefix.version {
        Version::V1 { .. } => (1, 0),
        Version::V2 { .. } => (2, 4),
    };
    let len = bound::sum(bound::sum(prefix.chunk_size, prefix.len as u64), tail);
    let bytes = context.read(STRUCTURE, address, len)?;
    let mut found = Vec::new();
    let mut each = |raw: RawMessage<'_>| found.push(owned(&raw));
    locate(STRUCTURE, context.offset(address), &bytes, |i| match prefix.version {
        Version::V1 { .. } => v1::messages(i, prefix.len, &mut each),
        Version::V2 { flags, .. } => v2::first_chunk(i, &prefix, flags, &mut each),
    })?;
    let mut header = FoundHeader {
        version: number,
        messages: Vec::new(),
        blocks: vec![(context.offset(address), len)],
        lost: Vec::new(),
    };
    let mut seen = HashSet::from([address]);
    let mut next = 0;
    while let Some(message) = found.get(next).cloned() {
        next = bound::sum(next, 1);
        match message.kind {
            MessageType::Continuation => match continuation(context, &prefix, &message, &mut seen) {
                Ok((messages, block)) => {
                    found.extend(messages);
                    header.blocks.push(block);
                }
                Err(error) => header.lost.push(error),
            },
            MessageType::Nil => {}
            _ => header.messages.push(message),
        }
    }
    if let Version::V1 { messages, .. } = prefix.version
        && header.lost.is_empty()
        && found.len() != usize::from(messages)
    {
        // A header of version 1 has no checksum. Messages that were overwritten with zeros look like unused space.
        let kind = FaultKind::Mismatch { expected: messages.into(), found: found.len() as u64 };
        let fault = Fault::new("total number of header messages", kind);
        header.lost.push(context.fault(STRUCTURE, address, fault));
    }
    Ok(header)
}

fn owned(raw: &RawMessage<'_>) -> FoundMessage {
    FoundMessage { kind: raw.kind, flags: raw.flags, body: raw.body.to_vec() }
}

fn continuation(
    context: &Context,
    prefix: &Prefix,
    message: &FoundMessage,
    seen: &mut HashSet<Address>,
) -> Result<(Vec<FoundMessage>, (u64, u64))> {
    const PART: &str = "object header continuation";
    let (at, len) = locate(message.kind.name(), 0, &message.body, |i| small::continuation(i, context.sizes))?;
    if !seen.insert(at) {
        return Err(context.fault(PART, at, FaultKind::Loop));
    }
    let bytes = context.read(PART, at, len)?;
    let mut found = Vec::new();
    let mut each = |raw: RawMessage<'_>| found.push(owned(&raw));
    locate(PART, context.offset(at), &bytes, |i| match prefix.version {
        Version::V1 { .. } => v1::messages(i, 0, &mut each),
        Version::V2 { flags, .. } => v2::continuation(i, flags, &mut each),
    })?;
    Ok((found, (context.offset(at), len)))
}
