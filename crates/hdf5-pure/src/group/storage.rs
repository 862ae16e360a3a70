//! New-style groups: links in the header, or in a fractal heap with B-trees as indexes.

use sciformats_core::Result;

use crate::btree;
use crate::heap::fractal::{self, Kind, NODE_SIZE};
use crate::space::output::Output;
use crate::spec::btree_v2::record::{LinkName, encode_link_order};
use crate::spec::message::MessageType;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::Link;
use crate::spec::message::link_info::LinkInfo;
use crate::spec::object_header::{CONSTANT, Message};
use crate::spec::{Name, Sizes, lookup3};

/// The number that is used for a link whose creation order is not tracked.
const UNORDERED: i64 = 0;

/// The largest number of links, or of attributes, that stay in the header by default.
pub(crate) const MAX_COMPACT: usize = 8;

/// How a group stores the creation order of its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The creation order of the next link, if it is tracked.
    pub(crate) next: Option<u64>,
    /// Whether the creation order is indexed.
    pub(crate) indexed: bool,
}

impl Order {
    /// Returns the link info message of a group whose links are in its header.
    pub(crate) fn info(self) -> LinkInfo {
        LinkInfo {
            max_creation_index: self.next,
            heap: None,
            by_name: None,
            by_creation_order: self.indexed.then_some(None),
        }
    }
}

/// A link in the form in which it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) name: Name,
    pub(crate) creation_order: i64,
    /// The link message.
    pub(crate) message: Vec<u8>,
}

impl Encoded {
    pub(crate) fn new(link: &Link, sizes: Sizes) -> Result<Self> {
        let mut message = Vec::new();
        link.encode(&mut message, sizes)?;
        Ok(Self::stored(link, message))
    }

    /// Wraps a link whose message is known.
    pub(crate) fn stored(link: &Link, message: Vec<u8>) -> Self {
        // If the order is not tracked, there is no index by it either, and the number is not used.
        let creation_order = link.creation_order.unwrap_or(UNORDERED);
        Self { name: link.name.clone(), creation_order, message }
    }

    pub(crate) fn into_message(self) -> Message {
        Message { kind: MessageType::Link, flags: 0, creation_index: 0, body: self.message }
    }
}

/// Returns whether the links stay in the header, which holds at most this many.
pub(crate) fn is_compact(links: &[Link], most: usize) -> bool {
    // A link that is longer than a header message can only be stored in a heap.
    links.len() <= most && links.iter().all(|link| link.name.as_bytes().len() < 32_000)
}

/// Returns the messages of a compact group.
pub(crate) fn compact(links: &[Link], order: Order, group: GroupInfo, sizes: Sizes) -> Result<Vec<Message>> {
    let mut messages = vec![info_message(&order.info(), sizes)?, group_info(group)?];
    for link in links {
        messages.push(Message::new(MessageType::Link, 0, |out| link.encode(out, sizes))?);
    }
    Ok(messages)
}

/// Returns the messages of a dense group whose storage `info` describes.
pub(crate) fn dense(info: &LinkInfo, group: GroupInfo, sizes: Sizes) -> Result<Vec<Message>> {
    Ok(vec![info_message(info, sizes)?, group_info(group)?])
}

pub(crate) fn info_message(info: &LinkInfo, sizes: Sizes) -> Result<Message> {
    Message::new(MessageType::LinkInfo, 0, |out| info.encode(out, sizes))
}

pub(crate) fn group_info(info: GroupInfo) -> Result<Message> {
    Message::new(MessageType::GroupInfo, CONSTANT, |out| info.encode(out))
}

/// Writes the links of a dense group.
pub(crate) fn build(output: &mut Output, links: &[Encoded], order: Order) -> Result<LinkInfo> {
    let messages = links.iter().map(|link| &link.message[..]);
    let (heap, ids) = fractal::build(output, Kind::Links, messages)?;
    let mut by_hash: Vec<(u32, &[u8], &[u8])> = links
        .iter()
        .zip(&ids)
        .map(|(link, id)| (lookup3::hash(link.name.as_bytes(), 0), link.name.as_bytes(), &id[..]))
        .collect();
    by_hash.sort_unstable();
    let mut records = Vec::new();
    for (hash, _, id) in by_hash {
        LinkName { hash, id }.encode(&mut records)?;
    }
    let by_name = btree::build(output, 5, NODE_SIZE, 11, &records)?;
    let by_order = match order.indexed {
        false => None,
        true => {
            records.clear();
            let mut by_order: Vec<(i64, &[u8])> =
                links.iter().zip(&ids).map(|(link, id)| (link.creation_order, &id[..])).collect();
            by_order.sort_unstable();
            for (order, id) in by_order {
                encode_link_order(&mut records, order.cast_unsigned(), id)?;
            }
            Some(btree::build(output, 6, NODE_SIZE, 15, &records)?)
        }
    };
    Ok(LinkInfo {
        max_creation_index: order.next,
        heap: Some(heap),
        by_name: Some(by_name),
        by_creation_order: order.indexed.then_some(by_order),
    })
}
