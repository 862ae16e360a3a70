//! Writes attributes: as messages of the header, or in a fractal heap with B-trees.

use std::borrow::Cow;

use sciformats_core::arith::present;
use sciformats_core::{Error, Result};

use crate::btree;
use crate::heap::fractal::{self, Kind, NODE_SIZE};
use crate::object::attributes::AttributeList;
use crate::object::creation::CreationOrder;
use crate::object::id::Id;
use crate::space::output::Output;
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::message::MessageType;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::message::shared::Shared;
use crate::spec::object_header::{Message, SHARED};
use crate::spec::{Sizes, lookup3};

/// An attribute in the form in which it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Box<[u8]>,
    /// The attribute message.
    pub(crate) message: Vec<u8>,
    /// The creation order among the attributes of an object in a file that is being edited.
    pub(crate) creation_order: Option<u32>,
    /// The committed datatype of an attribute of a new object.
    pub(crate) committed: Option<Id>,
    /// The heap ID of the message in the shared message heap, if it is stored there.
    pub(crate) shared: Option<[u8; 8]>,
}

impl Attribute {
    /// Returns the flags and the body of the header message for the attribute.
    fn stored(&self) -> Result<(u8, Cow<'_, [u8]>)> {
        Ok(match self.shared {
            None => (0, Cow::Borrowed(&self.message)),
            Some(id) => {
                let mut stub = Vec::new();
                Shared::encode_heap(&mut stub, id)?;
                (SHARED, Cow::Owned(stub))
            }
        })
    }
}

/// How an object stores the creation order of its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The creation order of the next attribute, if it is tracked.
    pub(crate) next: Option<u16>,
    /// Whether the creation order is indexed.
    pub(crate) indexed: bool,
}

impl Order {
    /// Returns how a new object stores the creation order of its attributes.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if there are more attributes than creation order numbers.
    pub(crate) fn of(attributes: &AttributeList, order: CreationOrder) -> Result<Self> {
        let next = order.is_tracked().then(|| number(attributes.len())).transpose()?;
        Ok(Self { next, indexed: order.is_indexed() })
    }

    /// Returns the attribute info message of an object whose attributes are in its header.
    pub(crate) fn info(self) -> AttributeInfo {
        AttributeInfo {
            max_creation_index: self.next,
            heap: None,
            by_name: None,
            by_creation_order: self.indexed.then_some(None),
        }
    }
}

/// Returns a creation order number, or a number of attributes, as the 16 bits that the format has for it.
pub(crate) fn number(n: impl TryInto<u16>) -> Result<u16> {
    n.try_into().map_err(|_| {
        Error::usage(
            "object",
            "has had more attributes than creation order numbers, of which there are 65,535",
        )
    })
}

/// Returns the attributes with their creation order.
fn numbered(attributes: &AttributeList) -> impl Iterator<Item = (u32, &Attribute)> {
    (0u32..)
        .zip(attributes.iter())
        .map(|(place, attribute)| (attribute.creation_order.unwrap_or(place), attribute))
}

/// The longest attribute that fits into a header message.
pub(crate) const MAX_MESSAGE: usize = 65_528;

/// Returns whether every attribute fits into a header message.
pub(crate) fn fit(attributes: &AttributeList) -> bool {
    attributes.iter().all(|attribute| attribute.shared.is_some() || attribute.message.len() <= MAX_MESSAGE)
}

/// Returns whether the attributes stay in the header, which holds at most this many.
pub(crate) fn are_compact(attributes: &AttributeList, most: usize) -> bool {
    attributes.len() <= most && fit(attributes)
}

/// Returns the messages of compact attributes, without the attribute info message. Only a header that tracks the creation order stores
/// their numbers.
pub(crate) fn compact(attributes: &AttributeList, tracked: bool) -> impl Iterator<Item = Result<Message>> {
    numbered(attributes).map(move |(place, attribute)| {
        let (flags, body) = attribute.stored()?;
        let creation_index = if tracked { number(place)? } else { 0 };
        Ok(Message { kind: MessageType::Attribute, flags, creation_index, body: body.into_owned() })
    })
}

/// Returns the attribute info message of dense attributes.
pub(crate) fn info_message(info: &AttributeInfo, sizes: Sizes) -> Result<Message> {
    /// The flag of a message that must not be shared.
    const UNSHARED: u8 = 0x04;
    Message::new(MessageType::AttributeInfo, UNSHARED, |out| info.encode(out, sizes))
}

/// Writes dense attributes.
pub(crate) fn build(output: &mut Output, attributes: &AttributeList, order: Order) -> Result<AttributeInfo> {
    let own = attributes.iter().filter(|attribute| attribute.shared.is_none());
    let (heap, ids) = fractal::build(output, Kind::Attributes, own.map(|attribute| &attribute.message[..]))?;
    let mut own = ids.iter();
    let ids: Vec<(u8, &[u8])> = attributes
        .iter()
        .map(|attribute| match &attribute.shared {
            Some(id) => Ok((SHARED, &id[..])),
            None => Ok((0, &present(own.next(), "heap ID of an attribute")?[..])),
        })
        .collect::<Result<_>>()?;
    let record = |order: u32, &(flags, id)| AttributeRecord { id, flags, creation_order: order, hash: None };
    let mut by_hash: Vec<(u32, &[u8], AttributeRecord<'_>)> = numbered(attributes)
        .zip(&ids)
        .map(|((order, attribute), id)| {
            (lookup3::hash(&attribute.name, 0), &attribute.name[..], record(order, id))
        })
        .collect();
    by_hash.sort_by_key(|&(hash, name, _)| (hash, name));
    let mut records = Vec::new();
    for (hash, _, record) in by_hash {
        AttributeRecord { hash: Some(hash), ..record }.encode(&mut records)?;
    }
    let by_name = btree::build(output, 8, NODE_SIZE, 17, &records)?;
    let by_order = match order.indexed {
        false => None,
        true => {
            let mut by_order: Vec<AttributeRecord<'_>> =
                numbered(attributes).zip(&ids).map(|((order, _), id)| record(order, id)).collect();
            by_order.sort_by_key(|record| record.creation_order);
            records.clear();
            by_order.iter().try_for_each(|record| record.encode(&mut records))?;
            Some(btree::build(output, 9, NODE_SIZE, 13, &records)?)
        }
    };
    Ok(AttributeInfo {
        max_creation_index: order.next,
        heap: Some(heap),
        by_name: Some(by_name),
        by_creation_order: order.indexed.then_some(by_order),
    })
}
