//! Changes the messages of an object header that the file already has.
//!
//! The address of a header never changes, nor does the size of its first chunk. Messages that do not fit into it move
//! to a single continuation in fresh space, and older continuations are freed. Messages of unknown types stay as they
//! are.

use sciformats_core::arith::{add, fit, increase, sub, sum};
use sciformats_core::{Error, Result, bound};

use crate::object::header::{CONTINUATION, Object};
use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{
    FAIL_ON_WRITE, MARK_IF_UNKNOWN, Message, SHAREABLE, SHARED, Version, WAS_UNKNOWN, v1, v2,
};
use crate::spec::{Address, Sizes, put_checksum, put_padding};

/// Returns the time at which objects change, in seconds since 1970.
pub(crate) type Now<'a> = &'a dyn Fn() -> Result<u32>;

/// The header of an object.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    address: Address,
    sizes: Sizes,
    /// The bytes of the prefix.
    prefix: Vec<u8>,
    version: Version,
    /// The number of bytes for messages in the first chunk.
    room: usize,
    /// The addresses and sizes of the continuations.
    continuations: Vec<(Address, u64)>,
    /// All messages, except those that only connect the chunks of the header.
    messages: Vec<Message>,
    references: u32,
    /// Whether the header differs from the one in the file.
    changed: bool,
}

impl Header {
    /// Reads the header at `address`.
    ///
    /// # Errors
    /// Returns `Malformed`, and `Unsupported` if the header has a message that forbids changes by programs that do not
    /// know it.
    pub(crate) fn read(context: &Context, address: Address) -> Result<Self> {
        let object = Object::read(context, address)?;
        let (mut messages, mut changed) = (Vec::new(), false);
        for message in object.messages() {
            let mut flags = message.flags;
            if let MessageType::Unknown(number) = message.kind {
                if flags & FAIL_ON_WRITE != 0 {
                    let what = format!(
                        "changing an object with the unknown header message {number:#x}, which forbids changes,"
                    );
                    return Err(Error::unsupported_at(what, message.offset));
                }
                if flags & MARK_IF_UNKNOWN != 0 {
                    changed |= flags & WAS_UNKNOWN == 0;
                    flags |= WAS_UNKNOWN;
                }
            }
            if matches!(message.kind, MessageType::Nil | MessageType::Continuation) {
                continue;
            }
            messages.push(Message {
                kind: message.kind,
                flags,
                // Headers that do not track the creation order have no such number.
                creation_index: message.creation_index.unwrap_or_default(),
                body: object.body(message).to_vec(),
            });
        }
        let references = match object.prefix.version {
            Version::V1 { references, .. } => references,
            Version::V2 { .. } => {
                let count = object.parse(context, MessageType::ReferenceCount, small::reference_count)?;
                messages.retain(|message| message.kind != MessageType::ReferenceCount);
                count.unwrap_or(1)
            }
        };
        let prefix = context.read("object header", address, object.prefix.len as u64)?.into_owned();
        let relative = |offset: u64| Ok(Address(sub(offset, context.base)?));
        Ok(Self {
            address,
            sizes: context.sizes,
            prefix,
            version: object.prefix.version,
            room: fit(object.prefix.chunk_size, "size of an object header")?,
            continuations: object
                .blocks()
                .skip(1)
                .map(|(at, len)| Ok((relative(at)?, len)))
                .collect::<Result<_>>()?,
            messages,
            references,
            changed,
        })
    }

    /// Returns the address of the object.
    pub(crate) fn address(&self) -> Address {
        self.address
    }

    /// Returns whether the header has version 1, which cannot have dense attributes.
    pub(crate) fn is_old(&self) -> bool {
        matches!(self.version, Version::V1 { .. })
    }

    /// Returns whether the creation order of attributes is tracked, and whether it is indexed.
    pub(crate) fn attribute_order(&self) -> (bool, bool) {
        match self.version {
            Version::V1 { .. } => (false, false),
            Version::V2 { flags, .. } => (flags & v2::TRACKED != 0, flags & v2::INDEXED != 0),
        }
    }

    /// Returns the largest number of compact attributes and the smallest number of dense attributes, if the header
    /// stores them.
    pub(crate) fn phase_change(&self) -> Option<(u16, u16)> {
        match self.version {
            Version::V1 { .. } => None,
            Version::V2 { phase_change, .. } => phase_change,
        }
    }

    /// Returns the number of hard links to the object, as the header counts them.
    pub(crate) fn references(&self) -> u32 {
        self.references
    }

    pub(crate) fn set_references(&mut self, references: u32) {
        self.changed |= self.references != references;
        self.references = references;
    }

    /// Returns the first message of a type.
    pub(crate) fn find(&self, kind: MessageType) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// Replaces the body of the first message of a type, or adds a message with these flags. The message is not shared
    /// afterwards; if it was, its use must be [given back](crate::object::shared::Shares).
    ///
    /// # Errors
    /// Returns the errors of `encode`. The header is unchanged then.
    pub(crate) fn set(
        &mut self,
        kind: MessageType,
        flags: u8,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let message = Message::new(kind, flags, encode)?;
        match self.messages.iter_mut().find(|message| message.kind == kind) {
            Some(old) if old.body == message.body && old.flags & (SHARED | SHAREABLE) == 0 => return Ok(()),
            Some(old) => {
                old.flags &= !(SHARED | SHAREABLE);
                old.body = message.body;
            }
            None => self.messages.push(message),
        }
        self.changed = true;
        Ok(())
    }

    /// Renews the times that the header stores, as the C library does when the object changes: those of access and of change in the
    /// prefix, or the only one in a message. `now` is asked only if there is one.
    ///
    /// # Errors
    /// Returns the errors of `now`.
    pub(crate) fn renew_times(&mut self, now: Now<'_>) -> Result<()> {
        if self.flags() & v2::TIMES != 0 {
            self.changed = true;
            return v2::put_change(&mut self.prefix, now()?);
        }
        let is_time = |kind| matches!(kind, MessageType::ModificationTime | MessageType::ModificationTimeOld);
        match self.messages.iter().map(|message| message.kind).find(|&kind| is_time(kind)) {
            Some(MessageType::ModificationTime) => {
                let now = now()?;
                self.set(MessageType::ModificationTime, 0, |out| small::encode_modification_time(out, now))
            }
            Some(kind) => {
                let now = now()?;
                self.set(kind, 0, |out| small::encode_modification_time_old(out, now))
            }
            None => Ok(()),
        }
    }

    /// Makes sure that the header is written even if nothing in it changes, so that it takes the space it needs.
    pub(crate) fn touch(&mut self) {
        self.changed = true;
    }

    /// Adds messages at the end.
    pub(crate) fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.changed = true;
        self.messages.extend(messages);
    }

    /// Removes all messages of a type.
    pub(crate) fn take(&mut self, kind: MessageType) -> Vec<Message> {
        let (taken, left): (Vec<_>, _) =
            std::mem::take(&mut self.messages).into_iter().partition(|m| m.kind == kind);
        self.messages = left;
        self.changed |= !taken.is_empty();
        taken
    }

    /// Turns a header of version 1 into one of version 2 at the same address.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if !self.is_old() {
            return Ok(());
        }
        let whole = add(self.room, v1::PREFIX)?;
        // Prefix and checksum take the same number of bytes for all sizes that one width of the size field can hold, so
        // the first width that fits is right.
        let room = [0usize, 0x100, 0x10000].into_iter().find_map(|size| {
            let overhead = bound::sum(v2::prefix_size(size).1, 4);
            let room = whole.checked_sub(overhead)?;
            (v2::prefix_size(room) == v2::prefix_size(size)).then_some(room)
        });
        let Some(room) = room else { return Ok(()) };
        self.room = room;
        self.changed = true;
        self.version = Version::V2 { flags: 0, times: None, phase_change: None };
        self.prefix.clear();
        // Message bodies can stay as they are. The old form of shared messages is valid in new headers too, and padding
        // does no harm.
        v2::encode_prefix(&mut self.prefix, 0, &[], room)
    }

    fn flags(&self) -> u8 {
        match self.version {
            Version::V1 { .. } => 0,
            Version::V2 { flags, .. } => flags,
        }
    }

    fn size_of(&self, len: usize) -> Result<usize> {
        if self.is_old() { v1::message_size(len) } else { v2::message_size(len, self.flags()) }
    }

    fn encode(&self, out: &mut Vec<u8>, message: &Message) -> Result<()> {
        if self.is_old() {
            v1::encode_message(out, message)
        } else {
            v2::encode_message(out, message, self.flags())
        }
    }

    /// Returns the addresses and sizes of all chunks of the header.
    pub(crate) fn chunk_extents(&self) -> Result<Vec<(Address, u64)>> {
        let tail = if self.is_old() { 0 } else { 4 };
        let first = sum([self.prefix.len(), self.room, tail])? as u64;
        Ok(std::iter::once((self.address, first)).chain(self.continuations.iter().copied()).collect())
    }

    /// Writes the header if it has changed.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a message is too long for a header, `Unsupported` if the first chunk has no room for
    /// a continuation, and the errors of the output. Nothing of the header is written then.
    pub(crate) fn write(mut self, output: &mut Output) -> Result<()> {
        if !self.changed {
            return output.flush();
        }
        let longest = if self.is_old() { 65_528 } else { 65_535 };
        if let Some(message) = self.messages.iter().find(|message| message.body.len() > longest) {
            let problem = format!(
                "has {} bytes, but an object header holds at most {longest} per message",
                message.body.len()
            );
            return Err(Error::usage(message.kind.name(), problem));
        }
        if !self.is_old() && self.references != 1 {
            let references = self.references;
            self.messages.push(Message::new(MessageType::ReferenceCount, 0, |out| {
                small::encode_reference_count(out, references)
            })?);
        }
        let mut sizes = self.messages.iter().map(|message| self.size_of(message.body.len()));
        let total = sizes.try_fold(0, |sum, size| add(sum, size?))?;
        let movable = self.messages.iter().any(|message| message.body.len() >= CONTINUATION);
        // Unused space at the end of the first chunk becomes a NIL message. If it is large enough, it can give way to a
        // continuation later, like any other message of that size.
        let spare = bound::left(self.room, total) >= self.size_of(CONTINUATION)?;
        let (first, mut rest) = match total <= self.room && (movable || spare) {
            true => (std::mem::take(&mut self.messages), Vec::new()),
            false => self.split()?,
        };
        if !movable && !rest.is_empty() {
            rest.push(Message::nil(CONTINUATION));
        }
        if self.is_old() && bound::sum(first.len(), rest.len()) > 65_000 {
            return Err(Error::usage(
                "object",
                "would have more messages than an object header of version 1 can count",
            ));
        }
        let more = self.continue_with(output, &rest)?;
        let chunk = self.first_chunk(&first, more, rest.len())?;
        output.write(self.address, &chunk)?;
        output.flush()
    }

    /// Divides the messages into those that stay in the first chunk and those that do not.
    fn split(&mut self) -> Result<(Vec<Message>, Vec<Message>)> {
        let own = self.size_of(self.sizes.bytes(1, 1, 0))?;
        let mut left = self.room.checked_sub(own).ok_or_else(|| {
            Error::unsupported(
                "changing an object header whose first chunk has no room for a continuation message",
            )
        })?;
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for message in std::mem::take(&mut self.messages) {
            match left.checked_sub(self.size_of(message.body.len())?) {
                Some(after) => {
                    left = after;
                    first.push(message);
                }
                None => rest.push(message),
            }
        }
        Ok((first, rest))
    }

    /// Writes `messages` to a continuation, if there are any, and frees the old continuations.
    fn continue_with(&mut self, output: &mut Output, messages: &[Message]) -> Result<Option<(Address, u64)>> {
        let mut out = Vec::new();
        if !self.is_old() {
            out.extend(b"OCHK");
        }
        messages.iter().try_for_each(|message| self.encode(&mut out, message))?;
        if !self.is_old() {
            put_checksum(&mut out, 0)?;
        }
        let len = out.len() as u64;
        let before = std::mem::take(&mut self.continuations);
        if let [(at, old)] = before[..]
            && old == len
            && !messages.is_empty()
            && output.is_fresh(at, len)
        {
            output.write(at, &out)?;
            return Ok(Some((at, len)));
        }
        for (at, len) in before {
            output.free(at, len, Use::Metadata)?;
        }
        if messages.is_empty() { Ok(None) } else { Ok(Some((output.put(&out)?, len))) }
    }

    /// Returns the first chunk with its prefix. The continuation `more` holds `elsewhere` messages.
    fn first_chunk(
        &self,
        messages: &[Message],
        more: Option<(Address, u64)>,
        elsewhere: usize,
    ) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        messages.iter().try_for_each(|message| self.encode(&mut body, message))?;
        let mut count = add(messages.len(), elsewhere)?;
        if let Some(place) = more {
            let message = Message::new(MessageType::Continuation, 0, |out| {
                small::encode_continuation(out, place, self.sizes)
            })?;
            self.encode(&mut body, &message)?;
            increase(&mut count, 1)?;
        }
        // Unused space becomes one NIL message, or several, because a message body is limited in length.
        while let Some(len) = sub(self.room, body.len())?.checked_sub(self.size_of(0)?) {
            // Message bodies in headers of version 1 are padded to 8 bytes.
            let len = if self.is_old() { len & !7 } else { len };
            self.encode(&mut body, &Message::nil(len.min(65_528)))?;
            increase(&mut count, 1)?;
        }
        put_padding(&mut body, 0, self.room)?;
        let mut out = Vec::new();
        match self.version {
            Version::V1 { .. } => {
                let count = fit(count, "number of header messages")?;
                let room = fit(self.room, "size of an object header")?;
                v1::encode_prefix(&mut out, count, self.references, room)?;
            }
            Version::V2 { .. } => out.extend(&self.prefix),
        }
        out.extend(body);
        if !self.is_old() {
            put_checksum(&mut out, 0)?;
        }
        Ok(out)
    }
}
