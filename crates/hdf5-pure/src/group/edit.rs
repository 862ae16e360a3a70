//! Changes the links of a group that the file already has. Small groups are read and written whole; dense links and
//! large symbol tables are changed link by link.
//!
//! A new-style group keeps its links in the header as long as there are few. It moves them to dense storage and back at
//! the numbers that the group stores. Of dense links, only new links and the names of removed links are in memory, and
//! only the nodes and blocks on the way to them are read and written. If most links change, all are written again. An
//! old-style group keeps the root of its B-tree and the header of its heap at their addresses, because parent groups
//! and the superblock may have copies of these addresses. Its members change one by one if there are many. A link that
//! a symbol table cannot hold turns it into a new-style group.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::btree::Tree;
use crate::file::session::Session;
use crate::group::dense::DenseLinks;
use crate::group::links;
use crate::group::members::{Destination, Group, Member, Seen};
use crate::group::storage::{self, Encoded, Order};
use crate::group::symbols::{self, EditedTable, Plan};
use crate::heap::fractal::Heap;
use crate::object::attributes::MAX_MESSAGE;
use crate::object::header::{Header, Object};
use crate::object::id::Resolve;
use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::LinkName;
use crate::spec::message::MessageType;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::object_header::Message;

/// An old-style group with at least about this many members is changed member by member.
const MANY: u64 = 32;

/// What the file has of a group.
#[derive(Clone, Debug)]
pub(crate) struct StoredGroup {
    address: Address,
    storage: Storage,
    /// The targets of its hard links when it was read. For dense links, these are only the targets of removed links.
    pub(crate) targets: Vec<Address>,
    /// Whether the links differ from those in the file.
    pub(crate) changed: bool,
    /// The names of removed links, if the others are not in memory.
    pub(crate) removed: Option<HashSet<Box<[u8]>>>,
    /// The approximate number of links in the file.
    len: u64,
}

impl StoredGroup {
    /// Returns whether the links have creation order numbers.
    fn is_tracked(&self) -> bool {
        matches!(
            self.storage,
            Storage::Links { info: Some(LinkInfo { max_creation_index: Some(_), .. }), .. }
        )
    }

    /// Returns whether the file may have a link of that name that is not in memory.
    pub(crate) fn may_hold(&self, name: &[u8]) -> bool {
        self.removed.as_ref().is_some_and(|removed| !removed.contains(name))
    }

    /// Removes a link that is not in memory.
    pub(crate) fn remove(&mut self, name: &[u8], to: &Destination) {
        let Some(removed) = &mut self.removed else { return };
        if removed.insert(name.into())
            && let Destination::Stored(target) = to
        {
            self.targets.push(*target);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Storage {
    Table(SymbolTable),
    /// A new-style group, with the largest number of compact links and the smallest number of dense links.
    Links {
        info: Option<LinkInfo>,
        most: usize,
        fewest: usize,
    },
}

/// Returns the destination of a link of the file.
pub(crate) fn destination(target: Target) -> Destination {
    match target {
        Target::Hard(address) => Destination::Stored(address),
        Target::Soft(path) => Destination::Soft(path),
        Target::External { file, path } => Destination::External { file, path },
        Target::User { class, data } => Destination::User { class, data },
    }
}

/// Returns whether the object is a group.
pub(crate) fn is_group(object: &Object<'_>) -> bool {
    let has = |kind| object.find(kind).is_some();
    has(MessageType::SymbolTable)
        || has(MessageType::LinkInfo)
        || has(MessageType::Link)
        || has(MessageType::GroupInfo)
}

/// Returns where the links of the group `object` are stored.
fn storage_of(context: &Context, object: &Object<'_>) -> Result<Storage> {
    let sizes = context.sizes;
    if let Some(table) = object.parse(context, MessageType::SymbolTable, |i| SymbolTable::parse(i, sizes))? {
        return Ok(Storage::Table(table));
    }
    let info = object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes))?;
    if let Some(LinkInfo { heap: Some(_), by_name: None, .. }) = info {
        // If the group were treated as one without dense links, these links would be lost when it is written.
        return Err(object.fault(
            MessageType::LinkInfo,
            "name index address",
            "is undefined although the group has a fractal heap",
        ));
    }
    let group = object.parse(context, MessageType::GroupInfo, GroupInfo::parse)?;
    let (most, fewest) = group.and_then(|group| group.phase_change).unwrap_or((8, 6));
    Ok(Storage::Links { info, most: most.into(), fewest: fewest.into() })
}

/// Opens the dense links of the group `object`, if they can be changed one by one.
fn dense_links<'c>(context: &'c Context, object: &Object<'_>) -> Result<Option<DenseLinks<'c>>> {
    match storage_of(context, object)? {
        Storage::Links { info: Some(info), .. } => DenseLinks::open(context, &info),
        _ => Ok(None),
    }
}

/// Returns the link `name` of the group `object`, which is about to change. Of a large heap block only the link is
/// read; the checksum of the whole block is not verified.
///
/// # Errors
/// Returns `Malformed` if the link, or a structure on the way to it, cannot be read.
pub(crate) fn find(context: &Context, object: &Object<'_>, name: &[u8]) -> Result<Option<Link>> {
    match dense_links(context, object)? {
        Some(mut dense) => dense.find(name),
        None => links::find(context, object, name),
    }
}

/// Reads what is needed to change the group at `address`: all links, or no links if they can be changed one by one.
///
/// # Errors
/// Returns the errors of [`load`].
pub(crate) fn load_to_change(context: &Context, address: Address) -> Result<Group> {
    let object = Object::read(context, address)?;
    let len = match is_group(&object) {
        false => None,
        true => match storage_of(context, &object)? {
            Storage::Table(table) => Some(symbols::estimate(context, table)?).filter(|&len| len >= MANY),
            Storage::Links { .. } => dense_links(context, &object)?.map(|dense| dense.len()),
        },
    };
    let Some(len) = len else { return load(context, address) };
    let storage = storage_of(context, &object)?;
    let mut group = Group::default();
    if let Storage::Links { info: Some(LinkInfo { max_creation_index: Some(next), .. }), .. } = storage {
        group.start_at(next.min(i64::MAX.cast_unsigned()).cast_signed());
    }
    let (targets, removed) = (Vec::new(), Some(HashSet::new()));
    group.stored = Some(Box::new(StoredGroup { address, storage, targets, changed: false, removed, len }));
    Ok(group)
}

/// Reads the group at `address`.
///
/// # Errors
/// Returns [`Error::Usage`] if it is not a group, and `Malformed` if one of its links cannot be read, because it would
/// be lost when the group is written.
pub(crate) fn load(context: &Context, address: Address) -> Result<Group> {
    let object = Object::read(context, address)?;
    if !is_group(&object) {
        return Err(Error::usage("object", "is not a group"));
    }
    let storage = storage_of(context, &object)?;
    let links = match storage {
        Storage::Table(table) => of_table(context, table)?,
        Storage::Links { info, .. } => match info.and_then(|info| info.heap.zip(info.by_name)) {
            Some((heap, by_name)) => dense(context, heap, by_name)?,
            None => compact(context, &object)?,
        },
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
            return Err(twice(context, address));
        }
    }
    if let Storage::Links { info: Some(LinkInfo { max_creation_index: Some(next), .. }), .. } = storage {
        group.start_at(next.min(i64::MAX.cast_unsigned()).cast_signed());
    }
    let len = group.len() as u64;
    group.stored =
        Some(Box::new(StoredGroup { address, storage, targets, changed: false, removed: None, len }));
    Ok(group)
}

fn twice(context: &Context, address: Address) -> Error {
    let rule = FaultKind::Rule("or its creation order belongs to two links");
    context.fault("object header", address, Fault::new("name of a link", rule))
}

/// A link, and its message as it is stored.
type Stored = (Link, Option<Vec<u8>>);

fn of_table(context: &Context, table: SymbolTable) -> Result<Vec<Stored>> {
    let mut links = Vec::new();
    let mut failed = None;
    crate::group::symbols::visit(context, table, &mut |link| match link {
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
    /// Adds a link of the file. Returns `false` if its creation order exists already.
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

/// Writes the links of `group`, which the file already has, and changes the messages that describe them.
///
/// # Errors
/// Returns `Malformed` if the structures that are freed cannot be read, and the errors of the output.
pub(crate) fn store(
    session: &mut Session,
    output: &mut Output,
    header: &mut Header,
    group: &Group,
    resolve: Resolve<'_>,
) -> Result<()> {
    let Some(stored) = group.stored.as_ref().filter(|stored| stored.changed) else { return Ok(()) };
    if stored.removed.is_some() && store_changes(session, output, header, group, resolve)? {
        return Ok(());
    }
    let whole = whole(session.context(), group, stored)?;
    let group = whole.as_ref().unwrap_or(group);
    match stored.storage {
        Storage::Table(table) if !group.needs_messages() => {
            let k = session.opened.context.btree_k;
            let mut old = session.extents(|extents| extents.symbol_table(table))?;
            old.retain(|extent| extent.at != table.btree && extent.at != table.heap);
            let plan = Plan { k: (k.group_leaf, k.group_internal), places: Some(table), resolve };
            symbols::build(output, group, plan)?;
            output.release(&old)
        }
        Storage::Table(table) => {
            let old = session.extents(|extents| extents.symbol_table(table))?;
            header.take(MessageType::SymbolTable);
            let message = storage::group_info(GroupInfo { phase_change: None, estimates: None })?;
            header.set(MessageType::GroupInfo, message.flags, |out| {
                out.extend(message.body);
                Ok(())
            })?;
            store_links(output, header, group, (None, 8, 6), resolve)?;
            session.forget_table(stored.address);
            output.release(&old)
        }
        Storage::Links { info, most, fewest } => {
            let old = info.map_or(Ok(Vec::new()), |info| session.extents(|extents| extents.links(&info)))?;
            store_links(output, header, group, (info, most, fewest), resolve)?;
            output.release(&old)
        }
    }
}

/// Changes links one by one. Returns `false` and does nothing if all links must or should be written again.
fn store_changes(
    session: &Session,
    output: &mut Output,
    header: &mut Header,
    group: &Group,
    resolve: Resolve<'_>,
) -> Result<bool> {
    match group.stored.as_ref().map(|stored| stored.storage) {
        Some(Storage::Table(table)) if !group.needs_messages() => {
            store_members(session, output, group, table, resolve)
        }
        Some(Storage::Links { info: Some(info), fewest, .. }) => {
            let changes = (group, &group.resolved(resolve, info.max_creation_index.is_some())?[..]);
            store_some(session, output, header, changes, (info, fewest))
        }
        _ => Ok(false),
    }
}

/// Returns all links of a group of which only the changes are in memory, if there are so many changes that links are
/// found faster in memory.
///
/// # Errors
/// Returns the errors of [`load`].
pub(crate) fn gathered(context: &Context, group: &Group) -> Result<Option<Group>> {
    /// All links are read if they are fewer than this many times the changes.
    const TIMES: u64 = 16;
    let Some(stored) = &group.stored else { return Ok(None) };
    let Some(removed) = &stored.removed else { return Ok(None) };
    let changes = bound::sum(removed.len(), group.len()) as u64;
    if bound::product(changes, TIMES) <= stored.len { Ok(None) } else { whole(context, group, stored) }
}

/// Returns all links of a group of which only the changes are in memory, or `None` if all are in memory already.
fn whole(context: &Context, group: &Group, stored: &StoredGroup) -> Result<Option<Group>> {
    let Some(removed) = &stored.removed else { return Ok(None) };
    let mut whole = load(context, stored.address)?;
    for name in removed {
        whole.remove(name);
    }
    let tracked = stored.is_tracked();
    for (number, member) in group.numbered() {
        let number = if tracked { number } else { whole.next() };
        if whole.holds(member.name.as_bytes()) || whole.is_taken(number) {
            return Err(twice(context, stored.address));
        }
        whole.insert(number, member);
    }
    whole.start_at(if tracked { group.next() } else { 0 });
    Ok(Some(whole))
}

/// Changes the members of a symbol table one by one. Returns `false` and does nothing if all members must or should be
/// written again.
fn store_members(
    session: &Session,
    output: &mut Output,
    group: &Group,
    table: SymbolTable,
    resolve: Resolve<'_>,
) -> Result<bool> {
    let context = session.context();
    let Some(removed) = group.stored.as_ref().and_then(|stored| stored.removed.as_ref()) else {
        return Ok(false);
    };
    let changes = bound::sum(removed.len(), group.len()) as u64;
    if changes > symbols::estimate(context, table)? {
        return Ok(false);
    }
    let links = group.resolved(resolve, false)?;
    let mut members = EditedTable::open(context, output, table)?;
    removed.iter().try_for_each(|name| members.remove(name))?;
    links.iter().try_for_each(|link| members.insert(link))?;
    Ok(true)
}

/// Changes dense links one by one. Returns `false` and does nothing if all links must or should be written again.
fn store_some(
    session: &Session,
    output: &mut Output,
    header: &mut Header,
    (group, links): (&Group, &[Link]),
    (info, fewest): (LinkInfo, usize),
) -> Result<bool> {
    let context = session.context();
    let (Some(stored), Some(mut dense)) = (&group.stored, DenseLinks::open(context, &info)?) else {
        return Ok(false);
    };
    let removed = stored.removed.iter().flatten();
    let (gone, new) = (removed.clone().count() as u64, links.len() as u64);
    let left = bound::left(bound::sum(dense.len(), new), gone);
    // If most links are new or removed, writing all of them is faster and leaves no gaps in the heap.
    let few = bound::sum(gone, new) <= dense.len();
    if !few || left < fewest.max(1) as u64 || (gone > 0 && dense.is_sparse()) {
        return Ok(false);
    }
    for name in removed {
        dense.remove(output, name)?;
    }
    for link in links {
        dense.insert(output, &Encoded::new(link, output.sizes)?)?;
    }
    dense.write(output)?;
    if info.max_creation_index.is_some() {
        let info = LinkInfo { max_creation_index: Some(group.next().cast_unsigned()), ..info };
        header.set(MessageType::LinkInfo, 0, |out| info.encode(out, output.sizes))?;
    }
    Ok(true)
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
    let (tracked, sizes) = (order.next.is_some(), output.sizes);
    let mut encode = |link: &Seen<'_>, out: &mut Vec<u8>| match link.message {
        Some(message) => {
            out.extend_from_slice(message);
            Ok(())
        }
        None => link.link(resolve, tracked)?.encode(out, sizes),
    };
    let was_dense = info.is_some_and(|info| info.heap.is_some());
    let mut many = if was_dense { group.len() >= fewest.max(1) } else { group.len() > most };
    header.take(MessageType::Link);
    let mut encoded = Vec::new();
    for link in group.members().take(if many { 0 } else { usize::MAX }) {
        let mut message = Vec::new();
        encode(&link, &mut message)?;
        many |= message.len() > MAX_MESSAGE;
        encoded.push(Message { kind: MessageType::Link, flags: 0, creation_index: 0, body: message });
    }
    let info = match many {
        true => storage::build(output, group, order, &mut encode)?,
        false => {
            header.extend(encoded);
            order.info()
        }
    };
    header.set(MessageType::LinkInfo, 0, |out| info.encode(out, output.sizes))
}
