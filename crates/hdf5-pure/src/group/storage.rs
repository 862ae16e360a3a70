//! New-style groups: links in the header, or in a fractal heap with B-trees as indexes.

use std::collections::{BTreeMap, BTreeSet};

use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::{Result, bound};

use crate::btree::{self, Records};
use crate::group::members::{Group, Seen};
use crate::heap::fractal::{self, Kind, NODE_SIZE};
use crate::space::output::Output;
use crate::spec::btree_v2::record::{LinkName, encode_link_order};
use crate::spec::message::MessageType;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::Link;
use crate::spec::object_header::{CONSTANT, Message};
use crate::spec::{Name, Sizes, lookup3};

/// The number of bytes of the heap ID of a link.
const ID: usize = 7;

/// The number of a link whose creation order is not tracked.
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

/// Writes the links of a dense group one after another. `encode` returns the message of each link. Only a few bytes of each
/// link are kept in memory.
pub(crate) fn build(
    output: &mut Output,
    group: &Group,
    order: Order,
    encode: &mut dyn FnMut(&Seen<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<LinkInfo> {
    let len = group.len();
    let mut heap = fractal::Builder::new(output, Kind::Links)?;
    let mut ids = Vec::with_capacity(bound::product(len, ID));
    let mut by_hash: Vec<(u32, u32)> = Vec::with_capacity(len);
    let mut message = Vec::new();
    for link in group.members() {
        message.clear();
        encode(&link, &mut message)?;
        heap.add(output, &message, &mut ids)?;
        by_hash.push((lookup3::hash(link.name, 0), fit(by_hash.len(), "number of links")?));
    }
    let heap = heap.finish(output)?;
    let id = |place: usize| {
        let start = mul(place, ID)?;
        present(ids.get(start..add(start, ID)?), "heap ID of a link")
    };
    sort(&mut by_hash, group);
    let mut sorted = by_hash.iter();
    let total = len as u64;
    let by_name =
        btree::build_of(output, Records { kind: 5, node_size: NODE_SIZE, size: 11, total }, &mut |out| {
            let &(hash, place) = present(sorted.next(), "record of a link")?;
            LinkName { hash, id: id(place as usize)? }.encode(out)
        })?;
    let by_order = match order.indexed {
        false => None,
        true => {
            let mut links = group.members().zip(0usize..);
            Some(btree::build_of(
                output,
                Records { kind: 6, node_size: NODE_SIZE, size: 15, total },
                &mut |out| {
                    let (link, place) = present(links.next(), "record of a link")?;
                    let number = order.next.map_or(UNORDERED, |_| link.number);
                    encode_link_order(out, number.cast_unsigned(), id(place)?)
                },
            )?)
        }
    };
    Ok(LinkInfo {
        max_creation_index: order.next,
        heap: Some(heap),
        by_name: Some(by_name),
        by_creation_order: order.indexed.then_some(by_order),
    })
}

/// Sorts pairs of a hash of a name and the place of its link. Pairs with equal hashes are sorted by the names.
fn sort(by_hash: &mut [(u32, u32)], group: &Group) {
    by_hash.sort_unstable();
    let equal = |a: &(u32, u32), b: &(u32, u32)| a.0 == b.0;
    let places = by_hash.chunk_by(equal).filter(|links| links.len() > 1).flatten().map(|&(_, place)| place);
    let places: BTreeSet<u32> = places.collect();
    if places.is_empty() {
        return;
    }
    let links = (0u32..).zip(group.members()).filter(|(place, _)| places.contains(place));
    let names: BTreeMap<u32, &[u8]> = links.map(|(place, link)| (place, link.name)).collect();
    for links in by_hash.chunk_by_mut(equal) {
        links.sort_unstable_by_key(|(_, place)| names.get(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::members::Destination;
    use crate::object::id::Id;

    #[test]
    fn equal_hashes_are_in_the_order_of_names() {
        let mut group = Group::default();
        for name in ["d", "a", "c", "b"] {
            group.push(name.into(), Destination::Object(Id::ROOT)).unwrap();
        }
        let mut hashes = [(7, 0), (9, 1), (7, 2), (7, 3)];
        sort(&mut hashes, &group);
        assert_eq!(hashes, [(7, 3), (7, 2), (7, 0), (9, 1)]);
    }
}
