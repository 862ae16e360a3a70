//! Reads the attributes of an object, in all forms in which they are stored.

use std::ops::ControlFlow;

use sciformats_core::fault::{Parsed, locate};
use sciformats_core::{Error, Result, bound};

use crate::btree::Tree;
use crate::heap::fractal::Heap;
use crate::object::header::Object;
use crate::object::shared;
use crate::space::context::Context;
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::message::MessageType;
use crate::spec::message::attribute::{Part, RawAttribute};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::{Address, Name, lookup3};

/// The parts of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) datatype: Datatype,
    /// The address of the datatype if it is a committed datatype.
    pub(crate) committed: Option<Address>,
    /// Whether the name is stored as UTF-8.
    pub(crate) utf8: bool,
    pub(crate) dataspace: Dataspace,
    /// The bytes of the elements as they are stored.
    pub(crate) data: Vec<u8>,
    /// The absolute offset of the elements.
    pub(crate) offset: u64,
}

/// An attribute that was found: its name, if it can be read, and its content.
pub(crate) struct Found {
    pub(crate) name: Option<Name>,
    pub(crate) creation_order: Option<u32>,
    pub(crate) content: Result<Content>,
}

impl Found {
    fn broken(error: Error) -> Self {
        Self { name: None, creation_order: None, content: Err(error) }
    }
}

const STRUCTURE: &str = "attribute message";

/// Returns all attributes of `object`.
pub(crate) fn all(context: &Context, object: &Object<'_>) -> Vec<Found> {
    let mut found = compact(context, object, None).collect();
    if let Err(error) = dense(context, object, None, &mut found) {
        found.push(Found::broken(error));
    }
    found
}

/// Returns the attribute `name`.
pub(crate) fn find(context: &Context, object: &Object<'_>, name: &[u8]) -> Result<Option<Found>> {
    let mut error = None;
    let mut wanted = |attribute: Found| match &attribute.name {
        Some(found) if found.as_bytes() == name => Some(attribute),
        Some(_) => None,
        None => {
            error = attribute.content.err();
            None
        }
    };
    if let Some(attribute) = compact(context, object, Some(name)).find_map(&mut wanted) {
        return Ok(Some(attribute));
    }
    let mut found = Vec::new();
    dense(context, object, Some(name), &mut found)?;
    if let Some(attribute) = found.into_iter().find_map(&mut wanted) {
        return Ok(Some(attribute));
    }
    // The attribute whose name cannot be read may be the one that is wanted, so its error is reported instead of "not
    // found".
    error.map_or(Ok(None), Err)
}

/// Collects the attributes in the header: all, or those that may have the name `name`.
fn compact<'a>(
    context: &'a Context,
    object: &'a Object<'_>,
    name: Option<&'a [u8]>,
) -> impl Iterator<Item = Found> + 'a {
    let messages = object.messages().iter().filter(|message| message.kind == MessageType::Attribute);
    messages.filter_map(move |message| {
        let order = message.creation_index.map(u32::from);
        let body = object.body(message);
        if !message.is_shared() {
            return parse(context, (message.offset, body), order, name);
        }
        match shared::resolve(context, message.kind, message.offset, body) {
            Ok((offset, body)) => parse(context, (offset, &body), order, name),
            Err(error) => Some(Found::broken(error)),
        }
    })
}

/// Adds the attributes in dense storage: all, or those whose names have the same hash as `name`.
fn dense(context: &Context, object: &Object<'_>, name: Option<&[u8]>, found: &mut Vec<Found>) -> Result<()> {
    visit_dense(context, object, name, &mut |attribute| {
        let attribute = attribute.map(|(offset, body, order)| parse(context, (offset, &body), order, name));
        found.extend(attribute.unwrap_or_else(|error| Some(Found::broken(error))));
        ControlFlow::Continue(())
    })
}

/// A message of an attribute in dense storage: its absolute offset, its bytes, and the order of creation.
type Dense = (u64, Vec<u8>, Option<u32>);

/// Visits the attributes in dense storage: all, or those whose names have the same hash as `name`.
fn visit_dense(
    context: &Context,
    object: &Object<'_>,
    name: Option<&[u8]>,
    each: &mut dyn FnMut(Result<Dense>) -> ControlFlow<()>,
) -> Result<()> {
    let info =
        object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, context.sizes))?;
    let (heap, by_name) = match info.map(|info| (info.heap, info.by_name)) {
        Some((Some(heap), Some(by_name))) => (heap, by_name),
        Some((Some(_), None)) => {
            let rule = "is undefined although the object has a fractal heap";
            return Err(object.fault(MessageType::AttributeInfo, "name index address", rule));
        }
        _ => return Ok(()),
    };
    let mut heap = Heap::open(context, heap)?;
    let tree = Tree::open(context, by_name, &[8])?;
    let hash = name.map(|name| lookup3::hash(name, 0));
    let record = |bytes: &[u8]| {
        locate("attribute name record", context.offset(by_name), bytes, |i| {
            AttributeRecord::parse(i, 8)
                .map(|(rest, r)| (rest, (r.id.to_vec(), r.flags, r.creation_order, r.hash)))
        })
    };
    let mut visit = |bytes: Result<&[u8]>| {
        Ok(each(bytes.and_then(record).and_then(|(id, flags, order, _)| {
            let (offset, body) = get(context, &mut heap, by_name, &id, flags)?;
            Ok((offset, body, Some(order)))
        })))
    };
    match hash {
        None => tree.visit(&mut visit),
        Some(hash) => tree.visit_range(&mut |bytes| Ok(record(bytes)?.3.cmp(&Some(hash))), &mut visit),
    }
}

/// Returns the names of all attributes, without their values; `None` if there are more than `most`.
pub(crate) fn names(context: &Context, object: &Object<'_>, most: usize) -> Result<Option<Vec<Name>>> {
    let mut names = Vec::new();
    for message in object.messages().iter().filter(|message| message.kind == MessageType::Attribute) {
        if names.len() >= most {
            return Ok(None);
        }
        names.push(object.parse_message(context, message, name_of)?);
    }
    let mut error = None;
    let mut is_whole = true;
    visit_dense(context, object, None, &mut |attribute| {
        let name = attribute.and_then(|(offset, body, _)| locate(STRUCTURE, offset, &body, name_of));
        is_whole = names.len() < most;
        match name {
            Ok(name) if is_whole => names.push(name),
            Ok(_) => return ControlFlow::Break(()),
            Err(found) => {
                error = Some(found);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    match error {
        Some(error) => Err(error),
        None => Ok(is_whole.then_some(names)),
    }
}

/// Parses the name of an attribute.
fn name_of(message: &[u8]) -> Parsed<'_, Name> {
    RawAttribute::parse(message).map(|(rest, raw)| (rest, raw.name.into()))
}

fn get(context: &Context, heap: &mut Heap<'_>, at: Address, id: &[u8], flags: u8) -> Result<(u64, Vec<u8>)> {
    if flags & crate::spec::object_header::SHARED != 0 {
        return shared::from_table(context, MessageType::Attribute, context.offset(at), id);
    }
    let (offset, body) = heap.get(id)?;
    Ok((offset, body.into_owned()))
}

/// Parses an attribute. Returns `None` if it has another name than `wanted`.
fn parse(
    context: &Context,
    (offset, body): (u64, &[u8]),
    creation_order: Option<u32>,
    wanted: Option<&[u8]>,
) -> Option<Found> {
    Some(match locate(STRUCTURE, offset, body, RawAttribute::parse) {
        Ok(raw) if wanted.is_some_and(|name| raw.name != name) => return None,
        Ok(raw) => {
            Found { name: Some(raw.name.into()), creation_order, content: content(context, offset, &raw) }
        }
        Err(error) => Found::broken(error),
    })
}

fn content(context: &Context, offset: u64, raw: &RawAttribute<'_>) -> Result<Content> {
    let datatype = part(context, MessageType::Datatype, offset, &raw.datatype, Datatype::parse)?;
    let committed = match raw.datatype.shared {
        true => shared::committed(context, bound::sum(offset, raw.datatype.at as u64), raw.datatype.bytes)?,
        false => None,
    };
    let dataspace = part(context, MessageType::Dataspace, offset, &raw.dataspace, |i| {
        Dataspace::parse(i, context.sizes)
    })?;
    let at = bound::sum(offset, raw.data.at as u64);
    let len = dataspace.elements().and_then(|n| n.checked_mul(datatype.size.into()));
    let data = len.and_then(|len| usize::try_from(len).ok()).and_then(|len| raw.data.bytes.get(..len));
    match data {
        Some(data) => {
            Ok(Content { datatype, committed, utf8: raw.utf8, dataspace, data: data.to_vec(), offset: at })
        }
        None => {
            let kind = sciformats_core::FaultKind::Truncated;
            Err(sciformats_core::Fault::new("data", kind).at(STRUCTURE, at))
        }
    }
}

fn part<T>(
    context: &Context,
    kind: MessageType,
    offset: u64,
    part: &Part<'_>,
    parser: impl for<'b> FnMut(&'b [u8]) -> Parsed<'b, T>,
) -> Result<T> {
    let at = bound::sum(offset, part.at as u64);
    if !part.shared {
        return locate(kind.name(), at, part.bytes, parser);
    }
    let (at, bytes) = shared::resolve(context, kind, at, part.bytes)?;
    locate(kind.name(), at, &bytes, parser)
}
