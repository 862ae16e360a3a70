//! The attributes of an object that is there: read whole, changed in memory, written anew.

use std::ops::ControlFlow;

use sciformats_core::fault::locate;
use sciformats_core::{Error, Result};

use super::header::Header;
use super::session::{Session, release};
use crate::model::btree_v2::Tree;
use crate::model::context::Context;
use crate::model::fractal_heap::Heap;
use crate::model::object::Object;
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
        if message.is_shared() {
            return Err(shared());
        }
        let order = message.creation_index.map(u32::from).filter(|_| tracked);
        found.push(parse(message.offset, object.body(message), order)?);
    }
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    if let Some((heap, by_name)) = info.and_then(|info| info.heap.zip(info.by_name)) {
        dense(context, heap, by_name, tracked, &mut found)?;
    }
    // In the order in which they were made, where it is kept.
    found.sort_by_key(|attribute| attribute.creation_order);
    let next = info.and_then(|info| info.max_creation_index).map_or(0, u32::from);
    let after = found
        .iter()
        .filter_map(|attribute| attribute.creation_order)
        .max()
        .map_or(0, |n| n.saturating_add(1));
    Ok((found, next.max(after)))
}

fn shared() -> Error {
    Error::unsupported("changing attributes that are shared messages")
}

fn parse(offset: u64, body: &[u8], creation_order: Option<u32>) -> Result<Attribute> {
    let name = locate("attribute message", offset, body, |i| {
        RawAttribute::parse(i).map(|(rest, raw)| (rest, raw.name.into()))
    })?;
    Ok(Attribute { name, message: body.to_vec(), creation_order, committed: None })
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
        if flags & SHARED != 0 {
            return Err(shared());
        }
        let (offset, body) = heap.get(&id)?;
        found.push(parse(offset, &body, Some(order).filter(|_| tracked))?);
        Ok(ControlFlow::Continue(()))
    })
}

/// The committed datatypes that attributes are of: each counts them as links.
///
/// # Errors
/// `Malformed` if an attribute is.
pub(crate) fn datatypes(context: &Context, attributes: &[Attribute]) -> Result<Vec<Address>> {
    let mut found = Vec::new();
    for attribute in attributes {
        let part = locate("attribute message", 0, &attribute.message, |i| {
            RawAttribute::parse(i)
                .map(|(rest, raw)| (rest, raw.datatype.shared.then(|| raw.datatype.bytes.to_vec())))
        })?;
        let Some(bytes) = part else { continue };
        if let Shared::Committed(at) =
            locate("shared message", 0, &bytes, |i| Shared::parse(i, context.sizes))?
        {
            found.push(at);
        }
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
        header.renew();
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
            header.extend(attributes::compact(attributes));
            (tracked || info.is_some()).then(|| order.info())
        }
    };
    if let Some(new) = new {
        let flags = attributes::info_message(&new, sizes).flags;
        header.set(MessageType::AttributeInfo, flags, |out| new.encode(out, sizes));
    }
    release(output, &old)
}
