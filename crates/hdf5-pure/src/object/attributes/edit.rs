//! Changes the attributes of an object that the file already has. Few attributes are read and written whole; dense
//! attributes are changed one by one.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::btree::Tree;
use crate::heap::fractal::Heap;
use crate::object::attributes::dense::DenseAttributes;
use crate::object::attributes::{self, Attribute, AttributeList, Order};
use crate::object::header::{Header, Object};
use crate::object::shared::{Part, from_table};
use crate::space::context::Context;
use crate::space::extents::found;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::message::MessageType;
use crate::spec::message::attribute::RawAttribute;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::message::shared::Shared;
use crate::spec::object_header::{SHARED, Version, v2};

/// Returns the attributes of the object at `address`, and the creation order of the next one.
///
/// # Errors
/// Returns `Malformed` if one of them cannot be read, because it would be lost when the attributes are written.
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
                        let kind = FaultKind::Rule(
                            "refers to a committed datatype, but the message is an attribute",
                        );
                        return Err(Fault::new("location", kind).at("shared message", message.offset));
                    }
                }
            }
        });
    }
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    match info.map(|info| (info.heap, info.by_name)) {
        Some((Some(heap), Some(by_name))) => dense(context, heap, by_name, tracked, &mut found)?,
        // If the object were treated as one without dense attributes, they would be lost when it is written.
        Some((Some(_), None)) => {
            let rule = "is undefined although the object has a fractal heap";
            return Err(object.fault(MessageType::AttributeInfo, "name index address", rule));
        }
        _ => {}
    }
    // Attributes are kept in their creation order, if it is tracked.
    found.sort_by_key(|attribute| attribute.creation_order);
    let next = info.and_then(|info| info.max_creation_index).map_or(0, u32::from);
    // This saturates, but every valid creation order is smaller.
    let after =
        found.iter().filter_map(|attribute| attribute.creation_order).max().map_or(0, |n| bound::sum(n, 1));
    Ok((found, next.max(after)))
}

/// The names of attributes that are removed from the file, if the other attributes are not in memory.
pub(crate) type Removed = HashSet<Box<[u8]>>;

/// The number that the C library stores as creation order if the order is not tracked.
const UNNUMBERED: u32 = 65_535;

/// Opens the attributes of `object` if they can be changed one by one, with the creation order of the next one. Returns
/// `None` if all of them have to be read.
fn dense_to_change<'c>(
    context: &'c Context,
    object: &Object<'_>,
) -> Result<Option<(DenseAttributes<'c>, u32)>> {
    let Version::V2 { flags, .. } = object.prefix.version else { return Ok(None) };
    if object.find(MessageType::Attribute).is_some() {
        return Ok(None);
    }
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    let tracked = flags & v2::TRACKED != 0;
    let Some(info) = info.filter(|info| info.max_creation_index.is_some() == tracked) else {
        return Ok(None);
    };
    let next = info.max_creation_index.map_or(0, u32::from);
    Ok(DenseAttributes::open(context, &info, tracked)?.map(|dense| (dense, next)))
}

/// Returns the creation order of the next attribute of the object at `address`, and the number of its attributes, if
/// they can be changed one by one.
///
/// # Errors
/// Returns `Malformed` if a structure that leads to them is damaged.
pub(crate) fn next_if_dense(context: &Context, address: Address) -> Result<Option<(u32, u64)>> {
    let object = Object::read(context, address)?;
    Ok(dense_to_change(context, &object)?.map(|(dense, next)| (next, dense.len())))
}

/// Returns the attribute of a name of the object at `address`, whose attributes can be changed one by one.
///
/// # Errors
/// Returns `Malformed` if the attribute, or a structure that leads to it, cannot be read.
pub(crate) fn find_to_change(context: &Context, address: Address, name: &[u8]) -> Result<Option<Attribute>> {
    let object = Object::read(context, address)?;
    dense_to_change(context, &object)?.map_or(Ok(None), |(mut dense, _)| dense.find(name))
}

/// Returns the attribute with the heap ID `id` in the shared message heap.
pub(super) fn shared(
    context: &Context,
    offset: u64,
    id: [u8; 8],
    creation_order: Option<u32>,
) -> Result<Attribute> {
    let (offset, body) = from_table(context, MessageType::Attribute, offset, &id)?;
    Ok(Attribute { shared: Some(id), ..parse(offset, &body, creation_order)? })
}

pub(super) fn parse(offset: u64, body: &[u8], creation_order: Option<u32>) -> Result<Attribute> {
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

/// Returns the parts that attributes use. A shared attribute message counts as one part, because its own parts are used
/// once, however many objects share it.
///
/// # Errors
/// Returns `Malformed` if an attribute is damaged.
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

/// Returns the committed datatypes that attributes use.
///
/// # Errors
/// Returns `Malformed` if an attribute is damaged.
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

/// The attributes that an object is going to have. These are all of them; or, if some attributes of the file are
/// `removed` and the others stay, only the new ones.
#[derive(Clone, Copy)]
pub(crate) struct Changed<'a> {
    pub(crate) attributes: &'a AttributeList,
    pub(crate) removed: Option<&'a Removed>,
    /// The creation order of the next attribute.
    pub(crate) next: u32,
}

/// Writes the attributes of an object, and changes the messages that describe them.
///
/// # Errors
/// Returns [`Error::Usage`] if there are more attributes than creation order numbers, `Malformed` if the structures
/// that are freed cannot be read, and the errors of the output.
pub(crate) fn store(
    context: &Context,
    output: &mut Output,
    header: &mut Header,
    changed: Changed<'_>,
) -> Result<()> {
    let Some(removed) = changed.removed else {
        return store_all(context, output, header, changed.attributes, changed.next);
    };
    if store_some(context, output, header, changed)? {
        return Ok(());
    }
    let (all, next) = load(context, header.address())?;
    let mut whole: AttributeList = all.into_iter().collect();
    for name in removed {
        whole.remove(name);
    }
    let (tracked, _) = header.attribute_order();
    for attribute in changed.attributes.iter().cloned() {
        whole.push(Attribute { creation_order: attribute.creation_order.filter(|_| tracked), ..attribute });
    }
    let next = if tracked { changed.next.max(next) } else { next };
    store_all(context, output, header, &whole, next)
}

/// Changes dense attributes one by one. Returns `false` and does nothing if all attributes must or should be written
/// again.
fn store_some(
    context: &Context,
    output: &mut Output,
    header: &mut Header,
    changed: Changed<'_>,
) -> Result<bool> {
    let object = Object::read(context, header.address())?;
    let Some((mut dense, _)) = dense_to_change(context, &object)? else { return Ok(false) };
    let (_, fewest) = header.phase_change().unwrap_or((8, 6));
    let removed = changed.removed.into_iter().flatten();
    let (gone, new) = (removed.clone().count() as u64, changed.attributes.len() as u64);
    let left = bound::left(bound::sum(dense.len(), new), gone);
    // If most attributes are new or removed, writing all of them is faster and leaves no gaps in the heap.
    let few = bound::sum(gone, new) <= dense.len();
    if !few || left < u64::from(fewest).max(1) || (gone > 0 && dense.is_sparse()) {
        return Ok(false);
    }
    let next = header.attribute_order().0.then(|| attributes::number(changed.next)).transpose()?;
    for name in removed {
        dense.remove(output, name)?;
    }
    for attribute in changed.attributes.iter() {
        let number = attribute.creation_order.filter(|_| next.is_some());
        dense.insert(output, attribute, number.unwrap_or(UNNUMBERED))?;
    }
    dense.write(output)?;
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    if let Some(info) = info.filter(|_| next.is_some()) {
        let new = AttributeInfo { max_creation_index: next, ..info };
        let flags = attributes::info_message(&new, context.sizes)?.flags;
        header.set(MessageType::AttributeInfo, flags, |out| new.encode(out, context.sizes))?;
    }
    Ok(true)
}

/// Writes all attributes of an object again.
fn store_all(
    context: &Context,
    output: &mut Output,
    header: &mut Header,
    attributes: &AttributeList,
    next: u32,
) -> Result<()> {
    let sizes = context.sizes;
    let parse =
        |body: &[u8]| locate(MessageType::AttributeInfo.name(), 0, body, |i| AttributeInfo::parse(i, sizes));
    let info = header.find(MessageType::AttributeInfo).map(|message| parse(&message.body)).transpose()?;
    let too_long = !attributes::fit(attributes);
    if too_long {
        // A header of version 1 can store attributes only as its own messages, so it becomes version 2.
        header.renew()?;
    }
    let (tracked, indexed) = header.attribute_order();
    let next = tracked.then(|| attributes::number(next)).transpose()?;
    let order = Order { next, indexed };
    let (most, fewest) = header.phase_change().unwrap_or((8, 6));
    let was_dense = info.is_some_and(|info| info.heap.is_some());
    let n = attributes.len();
    let many = if was_dense { n >= usize::from(fewest).max(1) } else { n > usize::from(most) };
    let dense = !header.is_old() && (many || too_long);
    let old = info.map_or(Ok(Vec::new()), |info| found(context, |extents| extents.attributes(&info)))?;
    header.take(MessageType::Attribute);
    let new = match dense {
        true => Some(attributes::build(output, attributes, order)?),
        false => {
            // Without this message the C library reports that an object with a version 2 header has no attributes. The
            // library also removes the message together with the last attribute.
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
        header.extend(attributes::compact(attributes, tracked).collect::<Result<Vec<_>>>()?);
    }
    output.release(&old)
}
