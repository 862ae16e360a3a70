//! The links of a group that is there: read whole, changed in memory, written anew.
//!
//! A group of links keeps them in its header while there are few, and moves them to dense storage and back at the numbers
//! that the group says. An old-style group keeps the root of its tree and the header of its heap where they are, as parents
//! and the superblock may have copies of their addresses; the first link that has no place in it makes it one of links.

use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use super::header::Header;
use super::session::{Session, release};
use crate::model::btree_v2::Tree;
use crate::model::context::Context;
use crate::model::fractal_heap::Heap;
use crate::model::object::Object;
use crate::model::write::attributes::MAX_MESSAGE;
use crate::model::write::emit::Resolve;
use crate::model::write::group::{Destination, Group, Member};
use crate::model::write::links::{self, Encoded, Order};
use crate::model::write::output::Output;
use crate::model::write::symbols;
use crate::spec::Address;
use crate::spec::btree_v2::record::LinkName;
use crate::spec::message::MessageType;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::link_info::LinkInfo;
use crate::spec::message::small::SymbolTable;

/// What the file has of a group.
#[derive(Clone, Debug)]
pub(crate) struct StoredGroup {
    address: Address,
    storage: Storage,
    /// What its hard links led to when it was read.
    pub(crate) targets: Vec<Address>,
    /// Whether its links are others than in the file.
    pub(crate) changed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Storage {
    Table(SymbolTable),
    /// Links, and the most compact and fewest dense ones.
    Links {
        info: Option<LinkInfo>,
        most: usize,
        fewest: usize,
    },
}

/// Where a link of the file leads to.
pub(crate) fn destination(target: Target) -> Destination {
    match target {
        Target::Hard(address) => Destination::Stored(address),
        Target::Soft(path) => Destination::Soft(path),
        Target::External { file, path } => Destination::External { file, path },
        Target::User { class, data } => Destination::User { class, data },
    }
}

/// Whether the object is a group.
pub(crate) fn is_group(object: &Object<'_>) -> bool {
    let has = |kind| object.find(kind).is_some();
    has(MessageType::SymbolTable)
        || has(MessageType::LinkInfo)
        || has(MessageType::Link)
        || has(MessageType::GroupInfo)
}

/// Reads the group at `address`.
///
/// # Errors
/// [`Error::Usage`] if it is none; `Malformed` if one of its links cannot be read: it would be lost when the group is
/// written.
pub(crate) fn load(context: &Context, address: Address) -> Result<Group> {
    let object = Object::read(context, address)?;
    if !is_group(&object) {
        return Err(Error::usage("object", "is not a group"));
    }
    let sizes = context.sizes;
    let (storage, links) =
        match object.parse(context, MessageType::SymbolTable, |i| SymbolTable::parse(i, sizes))? {
            Some(table) => (Storage::Table(table), of_table(context, table)?),
            None => {
                let info = object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes))?;
                let group = object.parse(context, MessageType::GroupInfo, GroupInfo::parse)?;
                let (most, fewest) = group.and_then(|group| group.phase_change).unwrap_or((8, 6));
                let links = match info.and_then(|info| info.heap.zip(info.by_name)) {
                    Some((heap, by_name)) => dense(context, heap, by_name)?,
                    None => compact(context, &object)?,
                };
                (Storage::Links { info, most: most.into(), fewest: fewest.into() }, links)
            }
        };
    let mut group = Group::default();
    let mut targets = Vec::new();
    let tracked =
        matches!(storage, Storage::Links { info: Some(LinkInfo { max_creation_index: Some(_), .. }), .. });
    for (link, message) in links {
        if let Target::Hard(target) = link.target {
            targets.push(target);
        }
        let number = link.creation_order.filter(|_| tracked).unwrap_or(group.next());
        if group.holds(link.name.as_bytes()) || !group.insert_new(number, link, message) {
            let rule = FaultKind::Rule("is that of two links, or its number is");
            return Err(context.fault("object header", address, Fault::new("name of a link", rule)));
        }
    }
    if let Storage::Links { info: Some(LinkInfo { max_creation_index: Some(next), .. }), .. } = storage {
        group.start_at(next.min(i64::MAX.cast_unsigned()).cast_signed());
    }
    group.stored = Some(StoredGroup { address, storage, targets, changed: false });
    Ok(group)
}

/// A link, and its message as it is stored.
type Stored = (Link, Option<Vec<u8>>);

fn of_table(context: &Context, table: SymbolTable) -> Result<Vec<Stored>> {
    let mut links = Vec::new();
    let mut failed = None;
    crate::model::symbols::visit(context, table, &mut |link| match link {
        Ok(link) => {
            links.push((link, None));
            ControlFlow::Continue(())
        }
        Err(broken) => {
            failed = Some(broken.error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(links), Err)
}

fn parse(context: &Context, offset: u64, bytes: &[u8]) -> Result<Stored> {
    let link = locate(MessageType::Link.name(), offset, bytes, |i| Link::parse(i, context.sizes))?;
    Ok((link, Some(bytes.to_vec())))
}

fn compact(context: &Context, object: &Object<'_>) -> Result<Vec<Stored>> {
    let messages = object.messages().iter().filter(|message| message.kind == MessageType::Link);
    messages.map(|message| parse(context, message.offset, object.body(message))).collect()
}

fn dense(context: &Context, heap: Address, by_name: Address) -> Result<Vec<Stored>> {
    let mut heap = Heap::open(context, heap)?;
    let mut links = Vec::new();
    Tree::open(context, by_name, &[5])?.visit(&mut |record| {
        let record = locate("link name record", context.offset(by_name), record?, |i| {
            LinkName::parse(i).map(|(rest, record)| (rest, record.id.to_vec()))
        })?;
        let (offset, bytes) = heap.get(&record)?;
        links.push(parse(context, offset, &bytes)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(links)
}

impl Group {
    /// Adds a link of the file; `false` if its number is taken.
    fn insert_new(&mut self, number: i64, link: Link, message: Option<Vec<u8>>) -> bool {
        if self.is_taken(number) {
            return false;
        }
        self.insert(
            number,
            Member { name: link.name, to: destination(link.target), utf8: Some(link.utf8), message },
        );
        true
    }
}

/// Writes the links of `group`, which is there, and changes the messages about them.
///
/// # Errors
/// `Malformed` if what is given back cannot be read; those of the output.
pub(crate) fn store(
    session: &mut Session,
    output: &mut Output,
    header: &mut Header,
    group: &Group,
    resolve: Resolve<'_>,
) -> Result<()> {
    let Some(stored) = group.stored.as_ref().filter(|stored| stored.changed) else { return Ok(()) };
    match stored.storage {
        Storage::Table(table) if !group.needs_messages() => {
            let k = session.opened.btree_k;
            let mut old = session.extents(|extents| extents.symbol_table(table))?;
            old.retain(|extent| extent.at != table.btree && extent.at != table.heap);
            let links = group.resolved(resolve, false)?;
            symbols::build(output, &links, (k.group_leaf, k.group_internal), Some(table))?;
            release(output, &old)
        }
        Storage::Table(table) => {
            let old = session.extents(|extents| extents.symbol_table(table))?;
            header.take(MessageType::SymbolTable);
            let message = links::group_info(GroupInfo { phase_change: None, estimates: None })?;
            header.set(MessageType::GroupInfo, message.flags, |out| {
                out.extend(message.body);
                Ok(())
            })?;
            store_links(output, header, group, (None, 8, 6), resolve)?;
            session.forget_table(stored.address);
            release(output, &old)
        }
        Storage::Links { info, most, fewest } => {
            let old = info.map_or(Ok(Vec::new()), |info| session.extents(|extents| extents.links(&info)))?;
            store_links(output, header, group, (info, most, fewest), resolve)?;
            release(output, &old)
        }
    }
}

fn store_links(
    output: &mut Output,
    header: &mut Header,
    group: &Group,
    (info, most, fewest): (Option<LinkInfo>, usize, usize),
    resolve: Resolve<'_>,
) -> Result<()> {
    let order = Order {
        next: info.and_then(|info| info.max_creation_index).map(|_| group.next().cast_unsigned()),
        indexed: info.is_some_and(|info| info.by_creation_order.is_some()),
    };
    let links = group.resolved(resolve, order.next.is_some())?;
    let encoded: Vec<Encoded> = links
        .iter()
        .zip(group.members())
        .map(|(link, member)| match &member.message {
            Some(message) => Ok(Encoded::stored(link, message.clone())),
            None => Encoded::new(link, output.sizes),
        })
        .collect::<Result<_>>()?;
    let was_dense = info.is_some_and(|info| info.heap.is_some());
    let many = if was_dense { encoded.len() >= fewest.max(1) } else { encoded.len() > most };
    header.take(MessageType::Link);
    let info = match many || encoded.iter().any(|link| link.message.len() > MAX_MESSAGE) {
        true => links::build(output, &encoded, order)?,
        false => {
            header.extend(encoded.into_iter().map(Encoded::into_message));
            order.info()
        }
    };
    header.set(MessageType::LinkInfo, 0, |out| info.encode(out, output.sizes))
}
