//! New-style groups: links in the header, or in a fractal heap with trees.

use sciformats_core::Result;

use super::btree_v2;
use super::fractal_heap::{self, Kind, NODE_SIZE};
use super::output::{Output, SIZES};
use crate::spec::btree_v2::record::{LinkName, encode_link_order};
use crate::spec::lookup3;
use crate::spec::message::MessageType;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::Link;
use crate::spec::message::link_info::LinkInfo;
use crate::spec::object_header::{CONSTANT, Message};

/// More links than this leave the header, and more attributes.
pub(crate) const MAX_COMPACT: usize = 8;

/// Whether so many links, of so many bytes together, stay in the header.
pub(crate) fn is_compact(links: &[Link]) -> bool {
    // A link that is longer than a message has no other place than a heap.
    links.len() <= MAX_COMPACT && links.iter().all(|link| link.name.as_bytes().len() < 32_000)
}

/// The messages of a compact group.
pub(crate) fn compact(links: &[Link], tracked: bool) -> Vec<Message> {
    let info = LinkInfo {
        max_creation_index: tracked.then_some(links.len() as u64),
        heap: None,
        by_name: None,
        by_creation_order: tracked.then_some(None),
    };
    let mut messages = vec![info_message(&info), group_info()];
    messages
        .extend(links.iter().map(|link| Message::new(MessageType::Link, 0, |out| link.encode(out, SIZES))));
    messages
}

/// The messages of a dense group whose storage is described by `info`.
pub(crate) fn dense(info: &LinkInfo) -> Vec<Message> {
    vec![info_message(info), group_info()]
}

fn info_message(info: &LinkInfo) -> Message {
    Message::new(MessageType::LinkInfo, 0, |out| info.encode(out, SIZES))
}

fn group_info() -> Message {
    let info = GroupInfo { phase_change: None, estimates: None };
    Message::new(MessageType::GroupInfo, CONSTANT, |out| info.encode(out))
}

/// Writes the links of a dense group.
pub(crate) fn build(output: &mut Output, links: &[Link], tracked: bool) -> Result<LinkInfo> {
    let encoded: Vec<Vec<u8>> = links
        .iter()
        .map(|link| {
            let mut bytes = Vec::new();
            link.encode(&mut bytes, SIZES);
            bytes
        })
        .collect();
    let (heap, ids) = fractal_heap::build(output, Kind::Links, encoded.iter().map(|bytes| &bytes[..]))?;
    let mut by_hash: Vec<(u32, &[u8], &[u8])> = links
        .iter()
        .zip(&ids)
        .map(|(link, id)| (lookup3::hash(link.name.as_bytes(), 0), link.name.as_bytes(), &id[..]))
        .collect();
    by_hash.sort_unstable();
    let mut records = Vec::new();
    for (hash, _, id) in by_hash {
        LinkName { hash, id }.encode(&mut records);
    }
    let by_name = btree_v2::build(output, 5, NODE_SIZE, 11, &records)?;
    let by_order = match tracked {
        false => None,
        true => {
            records.clear();
            (0u64..).zip(&ids).for_each(|(order, id)| encode_link_order(&mut records, order, id));
            Some(btree_v2::build(output, 6, NODE_SIZE, 15, &records)?)
        }
    };
    Ok(LinkInfo {
        max_creation_index: tracked.then_some(links.len() as u64),
        heap: Some(heap),
        by_name: Some(by_name),
        by_creation_order: tracked.then_some(by_order),
    })
}
