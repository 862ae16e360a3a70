//! Reads object headers: all messages of an object, including those in continuations.

use std::borrow::Cow;
use std::collections::HashSet;

use sciformats_core::fault::{Fault, FaultKind, Parsed, locate};
use sciformats_core::{Error, Result, bound};

use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{self, Each, Prefix, RawMessage, Version, v1, v2};

/// The header of an object.
pub(crate) struct Object<'a> {
    pub(crate) address: Address,
    pub(crate) prefix: Prefix,
    /// The first chunk. Most headers have no other, and need no allocation for this list.
    first: Chunk<'a>,
    continuations: Vec<Chunk<'a>>,
    messages: Vec<Message>,
}

/// A part of a header.
struct Chunk<'a> {
    bytes: Cow<'a, [u8]>,
    /// The absolute offset.
    offset: u64,
}

impl Chunk<'_> {
    /// Appends the messages of the chunk with this number; 0 is the first chunk.
    fn collect(
        &self,
        number: usize,
        messages: &mut Vec<Message>,
        mut parser: impl for<'b> FnMut(&'b [u8], &mut Each<'_, 'b>) -> Parsed<'b, ()>,
    ) -> Result<()> {
        let mut each = |raw: RawMessage<'_>| {
            messages.push(Message {
                kind: raw.kind,
                flags: raw.flags,
                creation_index: raw.creation_index,
                offset: bound::sum(self.offset, raw.at as u64),
                chunk: number,
                at: raw.at,
                len: raw.body.len(),
            });
        };
        locate(STRUCTURE, self.offset, &self.bytes, |i| parser(i, &mut each))
    }
}

/// The number of messages that most headers have at most.
const USUAL_COUNT: usize = 8;

/// A message of an [`Object`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) kind: MessageType,
    pub(crate) flags: u8,
    pub(crate) creation_index: Option<u16>,
    /// The absolute offset of the body.
    pub(crate) offset: u64,
    /// The number of its chunk; 0 is the first.
    chunk: usize,
    at: usize,
    len: usize,
}

impl Message {
    /// Returns the length of the body in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len as u64
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.flags & object_header::SHARED != 0
    }
}

const STRUCTURE: &str = "object header";

/// The number of bytes that are read first. Most headers are not longer.
const USUAL_SIZE: usize = 512;

/// Returns the first `len` bytes.
fn front(bytes: Cow<'_, [u8]>, len: usize) -> Cow<'_, [u8]> {
    match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..len).unwrap_or(bytes)),
        Cow::Owned(mut bytes) => {
            bytes.truncate(len);
            Cow::Owned(bytes)
        }
    }
}

impl<'a> Object<'a> {
    /// Reads the header at `address`.
    pub(crate) fn read(context: &'a Context, address: Address) -> Result<Self> {
        let start = context.read_some(STRUCTURE, address, USUAL_SIZE)?;
        let prefix = locate(STRUCTURE, context.offset(address), &start, Prefix::parse)?;
        let tail = match prefix.version {
            Version::V1 { .. } => 0,
            Version::V2 { .. } => 4,
        };
        let len = bound::sum(bound::sum(prefix.chunk_size, prefix.len as u64), tail);
        let bytes = match usize::try_from(len) {
            Ok(len) if len <= start.len() => front(start, len),
            _ => context.read(STRUCTURE, address, len)?,
        };
        let first = Chunk { bytes, offset: context.offset(address) };
        let mut messages = Vec::with_capacity(USUAL_COUNT);
        first.collect(0, &mut messages, |i, each| match prefix.version {
            Version::V1 { .. } => v1::messages(i, prefix.len, each),
            Version::V2 { flags, .. } => v2::first_chunk(i, &prefix, flags, each),
        })?;
        let mut object = Self { address, prefix, first, continuations: Vec::new(), messages };
        object.follow(context)?;
        object.refuse_unknown()?;
        Ok(object)
    }

    /// Reads the chunks that continuation messages lead to.
    fn follow(&mut self, context: &'a Context) -> Result<()> {
        // Most headers have no continuation, and an empty set needs no allocation.
        let mut seen = HashSet::new();
        let mut next = 0;
        while let Some(&message) = self.messages.get(next) {
            next = bound::sum(next, 1);
            if message.kind != MessageType::Continuation {
                continue;
            }
            let (at, len) = locate(message.kind.name(), message.offset, self.body(&message), |i| {
                small::continuation(i, context.sizes)
            })?;
            if at == self.address || !seen.insert(at) {
                return Err(Fault::new("offset", FaultKind::Loop).at(message.kind.name(), message.offset));
            }
            let bytes = context.read("object header continuation", at, len)?;
            let version = self.prefix.version;
            let chunk = Chunk { bytes, offset: context.offset(at) };
            let number = bound::sum(self.continuations.len(), 1);
            chunk.collect(number, &mut self.messages, |i, each| match version {
                Version::V1 { .. } => v1::messages(i, 0, each),
                Version::V2 { flags, .. } => v2::continuation(i, flags, each),
            })?;
            self.continuations.push(chunk);
        }
        Ok(())
    }

    fn refuse_unknown(&self) -> Result<()> {
        let refused = |message: &&Message| {
            matches!(message.kind, MessageType::Unknown(_)) && message.flags & object_header::FAIL_ALWAYS != 0
        };
        match self.messages.iter().find(refused) {
            None => Ok(()),
            Some(message) => {
                let number = message.kind.number();
                let what = format!("header message {number:#x}, which readers must understand,");
                Err(Error::unsupported_at(what, message.offset))
            }
        }
    }

    /// Returns the absolute offsets and the lengths of the chunks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        let chunks = std::iter::once(&self.first).chain(&self.continuations);
        chunks.map(|chunk| (chunk.offset, chunk.bytes.len() as u64))
    }

    /// Returns all messages in the order of the chunks.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the first message of a type.
    pub(crate) fn find(&self, kind: MessageType) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// Returns the bytes of a message as they stand in the header.
    pub(crate) fn body(&self, message: &Message) -> &[u8] {
        let end = bound::sum(message.at, message.len);
        let chunk = match message.chunk.checked_sub(1) {
            None => Some(&self.first),
            Some(continuation) => self.continuations.get(continuation),
        };
        chunk.and_then(|chunk| chunk.bytes.get(message.at..end)).unwrap_or_default()
    }

    /// Parses the first message of a type, whether it is shared or not.
    pub(crate) fn parse<T>(
        &self,
        context: &Context,
        kind: MessageType,
        parser: impl for<'b> FnMut(&'b [u8]) -> Parsed<'b, T>,
    ) -> Result<Option<T>> {
        self.find(kind).map(|message| self.parse_message(context, message, parser)).transpose()
    }

    /// Parses a message, whether it is shared or not.
    pub(crate) fn parse_message<T>(
        &self,
        context: &Context,
        message: &Message,
        parser: impl for<'b> FnMut(&'b [u8]) -> Parsed<'b, T>,
    ) -> Result<T> {
        let body = self.body(message);
        if !message.is_shared() {
            return locate(message.kind.name(), message.offset, body, parser);
        }
        let (offset, bytes) = crate::object::shared::resolve(context, message.kind, message.offset, body)?;
        locate(message.kind.name(), offset, &bytes, parser)
    }

    /// Returns the error of a wrong field in a message of the object.
    pub(crate) fn fault(&self, kind: MessageType, field: &'static str, rule: &'static str) -> Error {
        let offset = self.find(kind).map_or(0, |message| message.offset);
        Fault::new(field, FaultKind::Rule(rule)).at(kind.name(), offset)
    }

    /// Returns the error of an object that lacks a message.
    pub(crate) fn missing(&self, context: &Context, rule: &'static str) -> Error {
        context.fault(STRUCTURE, self.address, FaultKind::Rule(rule))
    }
}
