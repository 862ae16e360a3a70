//! Writes object headers: all messages in one chunk, or the rest in a continuation if the space of the first chunk is
//! too small.

use sciformats_core::arith::{add, fit, mul, present, sub, sum};
use sciformats_core::{Error, Result, bound};

use crate::space::output::Output;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{Message, v1, v2};
use crate::spec::{Address, put_checksum, put_padding};

/// The size of the first chunk of a header whose address was needed before its messages were known.
pub(crate) const RESERVED: usize = 256;

/// The size of the body of a continuation message if addresses and lengths have 8 bytes.
pub(crate) const CONTINUATION: usize = 16;

impl Message {
    pub(crate) fn new(
        kind: MessageType,
        flags: u8,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<Self> {
        let mut body = Vec::new();
        encode(&mut body)?;
        Ok(Self { kind, flags, creation_index: 0, body })
    }

    /// Returns a NIL message, which is ignored, with a body of `len` bytes.
    pub(crate) fn nil(len: usize) -> Self {
        Self { kind: MessageType::Nil, flags: 0, creation_index: 0, body: vec![0; len] }
    }
}

/// A header that is going to be written.
#[derive(Clone, Debug)]
pub(crate) struct NewHeader {
    /// The version: 1 or 2.
    pub(crate) version: u8,
    /// The flags of a version 2 header that concern attributes and times.
    pub(crate) flags: u8,
    /// The times and phase change values in the prefix of a version 2 header, as the flags announce them.
    pub(crate) extra: Vec<u8>,
    /// The number of hard links.
    pub(crate) references: u32,
    pub(crate) messages: Vec<Message>,
}

impl NewHeader {
    /// Checks the limits of the format, and completes the header.
    pub(crate) fn complete(mut self) -> Result<Self> {
        let longest = if self.version == 1 { 65528 } else { 65535 };
        if let Some(message) = self.messages.iter().find(|message| message.body.len() > longest) {
            let problem = format!(
                "has {} bytes, but an object header holds at most {longest} per message",
                message.body.len()
            );
            return Err(Error::usage(message.kind.name(), problem));
        }
        if self.version == 2 && self.references != 1 {
            let references = self.references;
            self.messages.push(Message::new(MessageType::ReferenceCount, 0, |out| {
                small::encode_reference_count(out, references)
            })?);
        }
        self.leave_room();
        if self.version == 1 && self.messages.len() > 65533 {
            return Err(Error::usage(
                "object",
                "would have more messages than an object header of version 1 can count",
            ));
        }
        Ok(self)
    }

    /// Adds a NIL message if no other message could give way to a continuation. A program that adds a message to a full
    /// header moves an existing message and puts a continuation in its place; the C library does so too. If all
    /// messages are shorter than a continuation, the library writes a header that nobody can read.
    fn leave_room(&mut self) {
        if !self.messages.iter().any(|message| message.body.len() >= CONTINUATION) {
            self.messages.push(Message::nil(CONTINUATION));
        }
    }

    fn message_size(&self, len: usize) -> Result<usize> {
        if self.version == 1 { v1::message_size(len) } else { v2::message_size(len, self.flags) }
    }

    fn messages_size(&self) -> Result<usize> {
        let mut sizes = self.messages.iter().map(|message| self.message_size(message.body.len()));
        sizes.try_fold(0, |sum, size| add(sum, size?))
    }

    /// Returns the size of prefix and checksum of a first chunk of `chunk` bytes.
    fn overhead(&self, chunk: usize) -> usize {
        if self.version == 1 {
            return v1::PREFIX;
        }
        bound::sum(v2::prefix_size(chunk).1, bound::sum(v2::extra_size(self.flags), 4))
    }

    /// Returns the size of the whole header in one chunk.
    pub(crate) fn size(&self) -> Result<usize> {
        let chunk = self.messages_size()?;
        add(chunk, self.overhead(chunk))
    }

    fn encode_message(&self, out: &mut Vec<u8>, message: &Message) -> Result<()> {
        if self.version == 1 {
            v1::encode_message(out, message)
        } else {
            v2::encode_message(out, message, self.flags)
        }
    }

    /// Writes the header at `at`, where it has `room` bytes.
    pub(crate) fn write(&self, output: &mut Output, at: Address, room: usize) -> Result<()> {
        self.write_again(output, (at, room), None)
    }

    /// Does the same as [`write`](Self::write) for a header that may have been written before. Messages that do not fit go to
    /// the continuation `spare` if it is large enough, and otherwise to a new continuation, which gets twice the needed size if
    /// there was one before.
    pub(crate) fn write_again(
        &self,
        output: &mut Output,
        (at, room): (Address, usize),
        spare: Option<(Address, usize)>,
    ) -> Result<()> {
        let size = self.size()?;
        if size == room || sum([size, self.message_size(0)?, 4])? <= room {
            return output.write(at, &self.first_chunk(&self.messages, room, 0)?);
        }
        let (needed, messages) = self.continuation(0)?;
        let fits =
            |room: usize| Ok(room == needed.len() || add(needed.len(), self.message_size(0)?)? <= room);
        let ((block, messages), place) = match spare {
            None => ((needed, messages), None),
            Some((place, room)) if fits(room)? => (self.continuation(room)?, Some(place)),
            Some(_) => (self.continuation(mul(needed.len(), 2)?)?, None),
        };
        let place = match place {
            Some(place) => output.write(place, &block).map(|()| place)?,
            None => output.put(&block)?,
        };
        let place = (place, block.len() as u64);
        let message = Message::new(MessageType::Continuation, 0, |out| {
            small::encode_continuation(out, place, output.sizes)
        })?;
        output.write(at, &self.first_chunk(&[message], room, messages)?)
    }

    /// Returns a continuation with all messages, and the number of its messages. Empty messages fill it up to `room` bytes, if it
    /// is shorter.
    fn continuation(&self, room: usize) -> Result<(Vec<u8>, usize)> {
        let mut out = Vec::new();
        if self.version == 2 {
            out.extend(b"OCHK");
        }
        self.messages.iter().try_for_each(|message| self.encode_message(&mut out, message))?;
        let tail = if self.version == 2 { 4 } else { 0 };
        let nils = self.nils(bound::left(room, add(out.len(), tail)?))?;
        nils.iter().try_for_each(|&len| self.encode_message(&mut out, &Message::nil(len)))?;
        if self.version == 2 {
            put_checksum(&mut out, 0)?;
        }
        Ok((out, add(self.messages.len(), nils.len())?))
    }

    /// Returns the lengths of the empty messages that fill `left` bytes. A few bytes may remain that are too few for a message.
    fn nils(&self, mut left: usize) -> Result<Vec<usize>> {
        const LONGEST: usize = 65_528;
        let (prefix, mut nils) = (self.message_size(0)?, Vec::new());
        while let Some(len) = left.checked_sub(prefix) {
            // Half of the longest length leaves enough bytes for another empty message.
            let len = if len > LONGEST { LONGEST / 2 } else { len };
            nils.push(len);
            left = sub(left, add(len, prefix)?)?;
        }
        Ok(nils)
    }

    /// Returns a first chunk of exactly `room` bytes, prefix included. Empty messages fill what `messages` leave free. `others`
    /// is the number of messages in a continuation.
    fn first_chunk(&self, messages: &[Message], room: usize, others: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        // The width of the size field depends on the size that it holds, so the width is found by trying.
        let overheads = [0, 0x100, 0x10000].map(|chunk| self.overhead(chunk));
        let chunk = overheads
            .iter()
            .filter_map(|&overhead| Some((overhead, room.checked_sub(overhead)?)))
            .find(|&(overhead, chunk)| self.overhead(chunk) == overhead);
        let (_, chunk) = present(chunk, "room for the prefix of an object header")?;
        let used = messages.iter().map(|message| self.message_size(message.body.len()));
        let used = used.collect::<Result<Vec<_>>>().and_then(sum)?;
        let nils = self.nils(sub(chunk, used)?)?;
        if self.version == 1 {
            let total = fit(sum([messages.len(), nils.len(), others])?, "number of header messages")?;
            v1::encode_prefix(&mut out, total, self.references, fit(chunk, "size of an object header")?)?;
        } else {
            v2::encode_prefix(&mut out, self.flags, &self.extra, chunk)?;
        }
        let end = add(out.len(), chunk)?;
        messages.iter().try_for_each(|message| self.encode_message(&mut out, message))?;
        nils.iter().try_for_each(|&len| self.encode_message(&mut out, &Message::nil(len)))?;
        put_padding(&mut out, 0, end)?;
        if self.version == 2 {
            put_checksum(&mut out, 0)?;
        }
        Ok(out)
    }
}
