//! Attributes: messages of the header, or in a fractal heap with trees.

use sciformats_core::Result;

use super::btree_v2;
use super::fractal_heap::{self, Kind, NODE_SIZE};
use super::links::MAX_COMPACT;
use super::output::{Output, SIZES};
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::lookup3;
use crate::spec::message::MessageType;
use crate::spec::message::attribute_info::AttributeInfo;
use crate::spec::object_header::Message;

/// An attribute as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Box<[u8]>,
    /// The attribute message.
    pub(crate) message: Vec<u8>,
}

/// Attributes longer than this do not fit a message of a header.
pub(crate) const MAX_MESSAGE: usize = 65_528;

/// Whether the attributes stay in the header.
pub(crate) fn are_compact(attributes: &[Attribute]) -> bool {
    attributes.len() <= MAX_COMPACT
        && attributes.iter().all(|attribute| attribute.message.len() <= MAX_MESSAGE)
}

/// The messages of compact attributes.
pub(crate) fn compact(attributes: &[Attribute], tracked: bool) -> Vec<Message> {
    let mut messages = Vec::new();
    if tracked {
        let info = AttributeInfo {
            max_creation_index: Some(u16::try_from(attributes.len()).unwrap_or(u16::MAX)),
            heap: None,
            by_name: None,
            by_creation_order: Some(None),
        };
        messages.push(info_message(&info));
    }
    messages.extend((0u16..).zip(attributes).map(|(creation_index, attribute)| Message {
        kind: MessageType::Attribute,
        flags: 0,
        creation_index,
        body: attribute.message.clone(),
    }));
    messages
}

/// The message of dense attributes.
pub(crate) fn info_message(info: &AttributeInfo) -> Message {
    /// The message must not be shared.
    const UNSHARED: u8 = 0x04;
    Message::new(MessageType::AttributeInfo, UNSHARED, |out| info.encode(out, SIZES))
}

/// Writes dense attributes.
pub(crate) fn build(output: &mut Output, attributes: &[Attribute], tracked: bool) -> Result<AttributeInfo> {
    let bodies = attributes.iter().map(|attribute| &attribute.message[..]);
    let (heap, ids) = fractal_heap::build(output, Kind::Attributes, bodies)?;
    let record = |order: u32, id| AttributeRecord { id, flags: 0, creation_order: order, hash: None };
    let mut by_hash: Vec<(u32, &[u8], AttributeRecord<'_>)> = (0u32..)
        .zip(attributes.iter().zip(&ids))
        .map(|(order, (attribute, id))| {
            (lookup3::hash(&attribute.name, 0), &attribute.name[..], record(order, id))
        })
        .collect();
    by_hash.sort_by_key(|&(hash, name, _)| (hash, name));
    let mut records = Vec::new();
    for (hash, _, record) in by_hash {
        AttributeRecord { hash: Some(hash), ..record }.encode(&mut records);
    }
    let by_name = btree_v2::build(output, 8, NODE_SIZE, 17, &records)?;
    let by_order = match tracked {
        false => None,
        true => {
            records.clear();
            (0u32..).zip(&ids).for_each(|(order, id)| record(order, id).encode(&mut records));
            Some(btree_v2::build(output, 9, NODE_SIZE, 13, &records)?)
        }
    };
    Ok(AttributeInfo {
        max_creation_index: tracked.then(|| u16::try_from(attributes.len()).unwrap_or(u16::MAX)),
        heap: Some(heap),
        by_name: Some(by_name),
        by_creation_order: tracked.then_some(by_order),
    })
}
