//! The attributes of an object that is there: read whole, changed in memory, written anew.

use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use super::header::Header;
use super::session::{Session, release};
use super::shared::Part;
use crate::model::btree_v2::Tree;
use crate::model::context::Context;
use crate::model::fractal_heap::Heap;
use crate::model::object::Object;
use crate::model::shared::from_table;
use crate::model::write::attribute_list::AttributeList;
use crate::model::write::attributes::{self, Attribute, Order};
use crate::model::write::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::message::MessageType;
use crate::spec::message::attribute::RawAttribute;
use crate::spec::message::attribute_info::AttributeInfo;
use crate::spec::message::shared::Shared;
use crate::spec::object_header::{SHARED, Version, v2};

/// The attributes of the object at `address`, and the number that the next one gets.
///
/// # Errors
/// `Malformed` if one of them cannot be read: it would be lost when the attributes are written.
pub(crate) fn load(context: &Context, address: Address) -> Result<(Vec<Attribute>, u32)> {
    let object = Object::read(context, address)?;
    let tracked = matches!(object.prefix.version, Version::V2 { flags, .. } if flags & v2::TRACKED != 0);
    let mut found = Vec::new();
    for message in object.messages().iter().filter(|message| message.kind == MessageType::Attribute) {
        let order = message.creation_index.map(u32::from).filter(|_| tracked);
        let body = object.body(message);
        found.push(match message.is_shared() {
            false => parse(message.offset, body, order)?,
            true => {
                match locate("shared message", message.offset, body, |i| Shared::parse(i, context.sizes))? {
                    Shared::Heap(id) => shared(context, message.offset, id, order)?,
                    Shared::Committed(_) => {
                        let kind = FaultKind::Rule("is that of a committed datatype");
                        return Err(Fault::new("location", kind).at("shared message", message.offset));
                    }
                }
            }
        });
    }
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    if let Some((heap, by_name)) = info.and_then(|info| info.heap.zip(info.by_name)) {
        dense(context, heap, by_name, tracked, &mut found)?;
    }
    // In the order in which they were made, where it is kept.
    found.sort_by_key(|attribute| attribute.creation_order);
    let next = info.and_then(|info| info.max_creation_index).map_or(0, u32::from);
    let after =
        found.iter().filter_map(|attribute| attribute.creation_order).max().map_or(0, |n| bound::sum(n, 1)); // more than the next one may have
    Ok((found, next.max(after)))
}

/// The attribute with heap ID `id` among the shared messages.
fn shared(context: &Context, offset: u64, id: [u8; 8], creation_order: Option<u32>) -> Result<Attribute> {
    let (offset, body) = from_table(context, MessageType::Attribute, offset, &id)?;
    Ok(Attribute { shared: Some(id), ..parse(offset, &body, creation_order)? })
}

fn parse(offset: u64, body: &[u8], creation_order: Option<u32>) -> Result<Attribute> {
    let name = locate("attribute message", offset, body, |i| {
        RawAttribute::parse(i).map(|(rest, raw)| (rest, raw.name.into()))
    })?;
    Ok(Attribute { name, message: body.to_vec(), creation_order, committed: None, shared: None })
}

fn dense(
    context: &Context,
    heap: Address,
    by_name: Address,
    tracked: bool,
    found: &mut Vec<Attribute>,
) -> Result<()> {
    let mut heap = Heap::open(context, heap)?;
    Tree::open(context, by_name, &[8])?.visit(&mut |record| {
        let (id, flags, order) = locate("attribute name record", context.offset(by_name), record?, |i| {
            AttributeRecord::parse(i, 8).map(|(rest, r)| (rest, (r.id.to_vec(), r.flags, r.creation_order)))
        })?;
        let order = Some(order).filter(|_| tracked);
        found.push(match <[u8; 8]>::try_from(&id[..]) {
            Ok(id) if flags & SHARED != 0 => shared(context, context.offset(by_name), id, order)?,
            _ => {
                let (offset, body) = heap.get(&id)?;
                parse(offset, &body, order)?
            }
        });
        Ok(ControlFlow::Continue(()))
    })
}

/// What attributes use. A shared one counts as a whole: its parts are used once, whoever shares it.
///
/// # Errors
/// `Malformed` if an attribute is.
pub(crate) fn parts(context: &Context, attributes: &[Attribute]) -> Result<Vec<Part>> {
    let mut found = Vec::new();
    for attribute in attributes {
        match attribute.shared {
            Some(id) => found.push(Part::attribute(id)),
            None => found.extend(Part::of_attribute(context, 0, &attribute.message)?),
        }
    }
    Ok(found)
}

/// The committed datatypes that attributes are of.
///
/// # Errors
/// `Malformed` if an attribute is.
pub(crate) fn datatypes(context: &Context, attributes: &[Attribute]) -> Result<Vec<Address>> {
    let mut found = Vec::new();
    for attribute in attributes {
        found.extend(Part::of_attribute(context, 0, &attribute.message)?.into_iter().filter_map(|part| {
            match part {
                Part::Committed(at) => Some(at),
                Part::Shared(_) => None,
            }
        }));
    }
    Ok(found)
}

/// Writes the attributes of an object, and changes the messages about them. `next` is the number that the next one gets.
///
/// # Errors
/// [`Error::Usage`] if there are more than can be numbered; `Malformed` if what is given back cannot be read; those of the
/// output.
pub(crate) fn store(
    session: &Session,
    output: &mut Output,
    header: &mut Header,
    attributes: &AttributeList,
    next: u32,
) -> Result<()> {
    let sizes = session.context().sizes;
    let parse =
        |body: &[u8]| locate(MessageType::AttributeInfo.name(), 0, body, |i| AttributeInfo::parse(i, sizes));
    let info = header.find(MessageType::AttributeInfo).map(|message| parse(&message.body)).transpose()?;
    let too_long = !attributes::fit(attributes);
    if too_long {
        // Old headers have no other place for attributes than a message.
        header.renew()?;
    }
    let (tracked, indexed) = header.attribute_order();
    let next = match tracked {
        true => {
            let many =
                |_| Error::usage("attribute", "cannot be numbered: the object has had 65,535 attributes");
            Some(u16::try_from(next).map_err(many)?)
        }
        false => None,
    };
    let order = Order { next, indexed };
    let (most, fewest) = header.phase_change().unwrap_or((8, 6));
    let was_dense = info.is_some_and(|info| info.heap.is_some());
    let n = attributes.len();
    let many = if was_dense { n >= usize::from(fewest).max(1) } else { n > usize::from(most) };
    let dense = !header.is_old() && (many || too_long);
    let old = info.map_or(Ok(Vec::new()), |info| session.extents(|extents| extents.attributes(&info)))?;
    header.take(MessageType::Attribute);
    let new = match dense {
        true => Some(attributes::build(output, attributes, order)?),
        false => {
            // The C library counts the attributes of a version 2 header as none where the message about them is missing,
            // and takes the message away with the last attribute.
            (!header.is_old() && attributes.len() > 0).then(|| order.info())
        }
    };
    match new {
        Some(new) => {
            let flags = attributes::info_message(&new, sizes)?.flags;
            header.set(MessageType::AttributeInfo, flags, |out| new.encode(out, sizes))?;
        }
        None => {
            header.take(MessageType::AttributeInfo);
        }
    }
    if !dense {
        header.extend(attributes::compact(attributes).collect::<Result<Vec<_>>>()?);
    }
    release(output, &old)
}
