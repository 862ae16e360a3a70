//! Makes structures that are laid over a damaged file, so that it can be read as if they were there.

use sciformats_core::arith::{add, fit, present};
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, Result};

use super::{Carver, FoundMessage};
use crate::chunk::index::StoredChunk;
use crate::spec::btree_v1::{ChunkKey, ChunkNode, Place};
use crate::spec::message::MessageType;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::layout::{Chunked, IndexKind, Layout};
use crate::spec::message::link::Link;
use crate::spec::message::small;
use crate::spec::object_header::{Message, v2};
use crate::spec::superblock::{Rest, Superblock};
use crate::spec::{Address, put_checksum};

/// The number of entries of a node that is made.
const ENTRIES: usize = 4096;

impl Carver {
    /// Returns a superblock at the base of the file, whose root group is at `root`.
    ///
    /// # Errors
    /// Returns `Unsupported` if the root lies where the superblock has to be.
    pub fn superblock(&self, root: Address, end_of_file: u64) -> Result<Patch> {
        let superblock = Superblock {
            version: 2,
            sizes: self.context.sizes,
            consistency_flags: 0,
            base: self.context.base,
            end_of_file,
            rest: Rest::New { extension: None, root },
        };
        let mut bytes = Vec::new();
        superblock.encode(&mut bytes)?;
        Ok(Patch { offset: self.context.base, bytes })
    }

    /// Returns a header at `address` that consists of the given messages. Its first part takes the place of the old header and leads
    /// to a second part at `end`.
    ///
    /// # Errors
    /// Returns `Internal` if a message is larger than the format permits.
    pub fn object(&self, address: Address, messages: &[FoundMessage], end: Address) -> Result<[Patch; 2]> {
        let mut part = b"OCHK".to_vec();
        for message in messages {
            let FoundMessage { kind, flags, body } = message.clone();
            v2::encode_message(&mut part, &Message { kind, flags, creation_index: 0, body }, 0)?;
        }
        put_checksum(&mut part, 0)?;
        let mut body = Vec::new();
        small::encode_continuation(&mut body, (end, part.len() as u64), self.context.sizes)?;
        let message = Message { kind: MessageType::Continuation, flags: 0, creation_index: 0, body };
        let mut first = Vec::new();
        v2::encode_prefix(&mut first, 0, &[], v2::message_size(message.body.len(), 0)?)?;
        v2::encode_message(&mut first, &message, 0)?;
        put_checksum(&mut first, 0)?;
        Ok([
            Patch { offset: self.offset(address), bytes: first },
            Patch { offset: self.offset(end), bytes: part },
        ])
    }

    /// Returns the messages of a group with these links.
    ///
    /// # Errors
    /// Returns `Internal` if a name is larger than the format permits.
    pub fn group_messages(&self, links: &[Link]) -> Result<Vec<FoundMessage>> {
        let sizes = self.context.sizes;
        let mut body = Vec::new();
        let info = LinkInfo { max_creation_index: None, heap: None, by_name: None, by_creation_order: None };
        info.encode(&mut body, sizes)?;
        let mut messages = vec![FoundMessage { kind: MessageType::LinkInfo, flags: 0, body }];
        for link in links {
            let mut body = Vec::new();
            link.encode(&mut body, sizes)?;
            messages.push(FoundMessage { kind: MessageType::Link, flags: 0, body });
        }
        Ok(messages)
    }

    /// Returns the message of a group whose links are in the B-tree and the heap at these addresses.
    ///
    /// # Errors
    /// Returns `Internal` if an address does not fit the file.
    pub fn symbol_table_message(&self, btree: Address, heap: Address) -> Result<FoundMessage> {
        let mut body = Vec::new();
        small::SymbolTable { btree, heap }.encode(&mut body, self.context.sizes)?;
        Ok(FoundMessage { kind: MessageType::SymbolTable, flags: 0, body })
    }

    /// Returns the symbol table, B-tree and heap, that a message names.
    pub fn symbol_table(&self, message: &FoundMessage) -> Option<(Address, Address)> {
        let parse = |i: &'_ [u8]| small::SymbolTable::parse(i, self.context.sizes).map(|(_, table)| table);
        let table = parse(&message.body).ok()?;
        Some((table.btree, table.heap))
    }

    /// Returns a layout message for chunks in a version 1 B-tree at `tree`, in place of the layout that `message` describes.
    ///
    /// # Errors
    /// Returns `Malformed` if the message describes no chunks.
    pub fn chunked_message(&self, message: &FoundMessage, tree: Option<Address>) -> Result<FoundMessage> {
        let old = locate("data layout message", 0, &message.body, |i| Layout::parse(i, self.context.sizes))?;
        let Layout::Chunked(old) = old else {
            return Err(self.context.fault(
                "data layout message",
                Address(0),
                FaultKind::Rule("describes no chunks"),
            ));
        };
        let new = Chunked {
            index: IndexKind::BtreeV1,
            address: tree,
            unfiltered_edges: false,
            wide_sizes: false,
            ..old
        };
        let mut body = Vec::new();
        Layout::Chunked(new).encode(&mut body, self.context.sizes, 0)?;
        Ok(FoundMessage { kind: MessageType::Layout, flags: 0, body })
    }

    /// Returns a version 1 B-tree of chunks, beginning at `start`, and the address of its root. The chunks have the indices of
    /// their first elements, and chunks with the shape `shape`.
    ///
    /// # Errors
    /// Returns `Usage` without a chunk; `Unsupported` if a chunk is too large for such a tree; `Internal` if the tree does not fit
    /// the file.
    pub fn chunk_tree(
        &self,
        chunks: &[StoredChunk],
        shape: &[u64],
        start: Address,
    ) -> Result<(Vec<u8>, Address)> {
        if chunks.is_empty() {
            return Err(Error::usage("chunks", "are none, and a tree of chunks has at least one"));
        }
        let mut chunks: Vec<&StoredChunk> = chunks.iter().collect();
        chunks.sort_by(|a, b| a.scaled.cmp(&b.scaled));
        let mut entries = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let size = u32::try_from(chunk.size)
                .map_err(|_| Error::unsupported("an index of chunks of more than 4 GiB"))?;
            let (filter_mask, offsets) = (chunk.filter_mask, chunk.scaled.clone());
            entries.push((ChunkKey { size, filter_mask, offsets, byte: 0 }, chunk.address));
        }
        let mut out = Vec::new();
        let mut level = 0u8;
        loop {
            entries = self.level(&entries, shape, (level, start), &mut out)?;
            if let [(_, root)] = entries.as_slice() {
                return Ok((out, *root));
            }
            level = add(level, 1)?;
        }
    }

    /// Appends the nodes of one level, and returns the entries of the next.
    fn level(
        &self,
        entries: &[(ChunkKey, Address)],
        shape: &[u64],
        (level, start): (u8, Address),
        out: &mut Vec<u8>,
    ) -> Result<Vec<(ChunkKey, Address)>> {
        let mut above = Vec::new();
        let mut rest = entries;
        while !rest.is_empty() {
            let (node, after) = rest.split_at(rest.len().min(ENTRIES));
            let (first, last) = (present(node.first(), "first entry")?, present(node.last(), "last entry")?);
            let end = match after.first() {
                Some((next, _)) => next.clone(),
                None => {
                    let mut offsets = last.0.offsets.clone();
                    for (offset, &length) in offsets.iter_mut().zip(shape) {
                        *offset = add(*offset, length)?;
                    }
                    ChunkKey { size: 0, filter_mask: 0, offsets, byte: 0 }
                }
            };
            let at = Address(add(start.0, out.len() as u64)?);
            let encoded = ChunkNode {
                level,
                keys: node.iter().map(|(key, _)| key.clone()).chain([end]).collect(),
                children: node.iter().map(|&(_, child)| Some(child)).collect(),
            };
            let k = fit(node.len().div_ceil(2), "entries of a node")?;
            let place = Place { level, left: None, right: None };
            encoded.encode(out, self.context.sizes, k, shape.len(), place)?;
            above.push((first.0.clone(), at));
            rest = after;
        }
        Ok(above)
    }
}
