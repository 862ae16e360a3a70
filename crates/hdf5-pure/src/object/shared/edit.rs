//! Keeps the table of shared messages up to date: what a commit no longer uses is removed from it.
//!
//! Messages that are written here are never shared, because the standard leaves that to the writer. Messages that are
//! already shared stay so until they change or their object is removed. Ending a use affects its record as follows:
//!
//! | record | effect |
//! |---|---|
//! | in a heap, with other uses | its reference count decreases by one |
//! | in a heap, last use | it is removed, and the parts that the message uses lose a use |
//! | in the header of its only object | it is removed |
//!
//! A changed index is written again to fresh space, as a list or a B-tree depending on its number of records, and the
//! commit changes its address in the table. A message without a record stays in its heap as unused bytes, because heap
//! IDs of other messages depend on the heap. The heap of an index without records is freed.

use std::collections::{BTreeMap, HashMap};

use sciformats_core::arith::fit;
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::btree;
use crate::heap::fractal::{Heap, NODE_SIZE};
use crate::object::header::{Message, Object};
use crate::object::shared::{index_of, records};
use crate::space::context::Context;
use crate::space::extents::found;
use crate::space::output::Output;
use crate::spec::message::MessageType;
use crate::spec::message::attribute::RawAttribute;
use crate::spec::message::shared::Shared;
use crate::spec::object_header::SHAREABLE;
use crate::spec::shared_table::{self, SharedIndex, SharedRecord};
use crate::spec::{Address, lookup3};

const RECORDS: &str = "shared message index";

/// A message in a heap of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedId {
    kind: MessageType,
    id: [u8; 8],
}

/// A part that an attribute uses, which loses a use when the attribute is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A committed datatype, which counts the use as a link.
    Committed(Address),
    /// A shared message.
    Shared(SharedId),
}

impl Part {
    /// Returns the part for the attribute with the heap ID `id` among the shared messages.
    pub(crate) fn attribute(id: [u8; 8]) -> Self {
        Self::Shared(SharedId { kind: MessageType::Attribute, id })
    }

    /// Returns what the reference `stub`, which replaces a message of type `kind` at `offset`, leads to.
    ///
    /// # Errors
    /// Returns `Malformed` if it is not a valid reference.
    pub(crate) fn of(context: &Context, kind: MessageType, offset: u64, stub: &[u8]) -> Result<Self> {
        Ok(match locate("shared message", offset, stub, |i| Shared::parse(i, context.sizes))? {
            Shared::Committed(at) => Self::Committed(at),
            Shared::Heap(id) => Self::Shared(SharedId { kind, id }),
        })
    }

    /// Returns the parts that an attribute message at `offset` uses.
    ///
    /// # Errors
    /// Returns `Malformed` if it is not a valid attribute message.
    pub(crate) fn of_attribute(context: &Context, offset: u64, message: &[u8]) -> Result<Vec<Self>> {
        let stubs = locate("attribute message", offset, message, |i| {
            let (rest, raw) = RawAttribute::parse(i)?;
            let parts = [(MessageType::Datatype, raw.datatype), (MessageType::Dataspace, raw.dataspace)];
            let shared = parts.into_iter().filter(|(_, part)| part.shared);
            Ok((rest, shared.map(|(kind, part)| (kind, part.at, part.bytes.to_vec())).collect::<Vec<_>>()))
        })?;
        let part = |(kind, at, stub): (_, usize, Vec<u8>)| {
            Self::of(context, kind, bound::sum(offset, at as u64), &stub)
        };
        stubs.into_iter().map(part).collect()
    }
}

/// The indexes of the table in the state after the commit. Only those that lose or gain uses are here.
#[derive(Default)]
pub(crate) struct Shares(BTreeMap<usize, Index>);

/// The records of an index. A removed record leaves an empty slot.
struct Index {
    before: Vec<SharedRecord>,
    records: Vec<Option<SharedRecord>>,
    /// The slots of records in the heap by heap ID, of records in headers by header, and of all records by hash.
    by_id: HashMap<[u8; 8], usize>,
    by_header: HashMap<(Address, u8), usize>,
    by_hash: HashMap<u32, Vec<usize>>,
}

impl Index {
    fn read(context: &Context, index: &SharedIndex) -> Result<Self> {
        let before = records(context, index)?;
        if before.len() != usize::from(index.messages) {
            let at = index.index.unwrap_or(Address(0)); // a position in a message
            let kind = FaultKind::Mismatch { expected: index.messages.into(), found: before.len() as u64 };
            return Err(context.fault(RECORDS, at, Fault::new("number of messages", kind)));
        }
        let (mut by_id, mut by_header, mut by_hash) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (place, record) in before.iter().enumerate() {
            let hash = match record {
                SharedRecord::Heap { hash, id, .. } => {
                    by_id.insert(*id, place);
                    *hash
                }
                SharedRecord::Header { hash, kind, header, .. } => {
                    header.map(|header| by_header.insert((header, *kind), place));
                    *hash
                }
            };
            by_hash.entry(hash).or_insert_with(Vec::new).push(place);
        }
        let records = before.iter().cloned().map(Some).collect();
        Ok(Self { before, records, by_id, by_header, by_hash })
    }

    /// Returns the slot of the record of a message that stands in a header. The record may also be in the heap, because
    /// the first of several uses stays in its header.
    fn find(
        &self,
        heap: Option<&mut Heap<'_>>,
        header: Address,
        kind: MessageType,
        body: &[u8],
    ) -> Result<Option<usize>> {
        let number: u8 = fit(kind.number(), "type of a shared message")?;
        let there = |place: &usize| self.records.get(*place).is_some_and(Option::is_some);
        if let Some(place) = self.by_header.get(&(header, number)).copied().filter(there) {
            return Ok(Some(place));
        }
        let Some(heap) = heap else { return Ok(None) };
        // Message bodies in headers of version 1 are padded, so the length of the record is not known exactly.
        for padding in 0..8usize {
            let Some((message, rest)) =
                body.len().checked_sub(padding).and_then(|len| body.split_at_checked(len))
            else {
                break;
            };
            if rest.iter().any(|&byte| byte != 0) {
                break;
            }
            let places = self.by_hash.get(&lookup3::hash(message, number.into()));
            for &place in places.into_iter().flatten().filter(|place| there(place)) {
                if let Some(Some(SharedRecord::Heap { id, .. })) = self.records.get(place)
                    && *heap.get(id)?.1 == *message
                {
                    return Ok(Some(place));
                }
            }
        }
        Ok(None)
    }

    /// Gives back one use of the record at `place`. Returns whether it was the last use.
    fn drop_use(&mut self, place: usize) -> bool {
        let Some(record) = self.records.get_mut(place) else { return false };
        if let Some(SharedRecord::Heap { references, .. }) = record
            && *references > 1
        {
            *references = bound::left(*references, 1);
            return false;
        }
        record.take().is_some()
    }

    fn left(&self) -> Vec<SharedRecord> {
        self.records.iter().flatten().cloned().collect()
    }
}

impl Shares {
    fn index(&mut self, context: &Context, kind: MessageType) -> Result<Option<(SharedIndex, &mut Index)>> {
        let Some(number) = index_of(context, kind) else { return Ok(None) };
        let Some(&index) = context.shared.get(number) else { return Ok(None) };
        let loaded = match self.0.entry(number) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(Index::read(context, &index)?),
        };
        Ok(Some((index, loaded)))
    }

    /// Returns the index of a message in its heap, and its slot there.
    fn of(&mut self, context: &Context, shared: SharedId) -> Result<(SharedIndex, &mut Index, usize)> {
        let at = index_of(context, shared.kind).and_then(|number| context.shared.get(number)?.index);
        let lost = || {
            let rule = FaultKind::Rule("belongs to no record although a message refers to it");
            context.fault(
                RECORDS,
                at.unwrap_or(Address(0)), // a position in a message
                Fault::new("heap ID", rule),
            )
        };
        let (index, loaded) = self.index(context, shared.kind)?.ok_or_else(lost)?;
        let place = loaded.by_id.get(&shared.id).copied();
        let there = |place: &usize| loaded.records.get(*place).is_some_and(Option::is_some);
        let place = place.filter(there).ok_or_else(lost)?;
        Ok((index, loaded, place))
    }

    /// Counts one use more.
    ///
    /// # Errors
    /// Returns `Malformed` if the message has no record.
    pub(crate) fn take(&mut self, context: &Context, shared: SharedId) -> Result<()> {
        let (_, index, place) = self.of(context, shared)?;
        if let Some(Some(SharedRecord::Heap { references, .. })) = index.records.get_mut(place) {
            *references = references.checked_add(1).ok_or_else(|| {
                Error::usage("shared message", "is used as often as its reference count can express")
            })?;
        }
        Ok(())
    }

    /// Counts one use less. Returns the parts that lose a use thereby.
    ///
    /// # Errors
    /// Returns `Malformed` if the message has no record.
    pub(crate) fn give_back(&mut self, context: &Context, shared: SharedId) -> Result<Vec<Part>> {
        let (index, loaded, place) = self.of(context, shared)?;
        if !loaded.drop_use(place) || shared.kind != MessageType::Attribute {
            return Ok(Vec::new());
        }
        let Some(heap) = index.heap else { return Ok(Vec::new()) };
        let mut heap = Heap::open(context, heap)?;
        let (offset, message) = heap.get(&shared.id)?;
        Part::of_attribute(context, offset, &message)
    }

    /// Counts one use less of a message other than an attribute, if the message is shared.
    ///
    /// # Errors
    /// Returns `Malformed` if the message has no record.
    pub(crate) fn give_back_message(
        &mut self,
        context: &Context,
        object: &Object<'_>,
        message: &Message,
    ) -> Result<()> {
        let body = object.body(message);
        if message.is_shared() {
            return match Part::of(context, message.kind, message.offset, body)? {
                Part::Shared(shared) => self.give_back(context, shared).map(drop),
                Part::Committed(_) => Ok(()),
            };
        }
        if message.flags & SHAREABLE == 0 {
            return Ok(());
        }
        let Some((index, loaded)) = self.index(context, message.kind)? else { return Ok(()) };
        let mut heap = index.heap.map(|heap| Heap::open(context, heap)).transpose()?;
        if let Some(place) = loaded.find(heap.as_mut(), object.address, message.kind, body)? {
            loaded.drop_use(place);
        }
        Ok(())
    }

    /// Writes the indexes that have changed, and the table that leads to them. Returns the new indexes.
    ///
    /// # Errors
    /// Returns `Malformed` if the structures that are freed cannot be read, and the errors of the output.
    pub(crate) fn store(
        &self,
        context: &Context,
        table: Address,
        output: &mut Output,
    ) -> Result<Vec<SharedIndex>> {
        let mut indexes = context.shared.clone();
        for (number, loaded) in &self.0 {
            let left = loaded.left();
            if let Some(index) = indexes.get_mut(*number).filter(|_| left != loaded.before) {
                *index = store(context, output, *index, &left)?;
            }
        }
        if indexes != context.shared {
            let mut bytes = Vec::new();
            shared_table::encode_table(&mut bytes, output.sizes, &indexes)?;
            output.write(table, &bytes)?;
        }
        Ok(indexes)
    }
}

/// Writes the records of an index, and frees the old ones. Returns the new index.
fn store(
    context: &Context,
    output: &mut Output,
    index: SharedIndex,
    left: &[SharedRecord],
) -> Result<SharedIndex> {
    let heap = index.heap.filter(|_| left.is_empty());
    let old = found(context, |extents| {
        extents.shared_index(&index)?;
        heap.map_or(Ok(()), |heap| extents.fractal_heap(heap))
    })?;
    let mut new = SharedIndex { messages: fit(left.len(), "number of shared messages")?, ..index };
    if new.messages < index.btree_cutoff && new.messages <= index.list_cutoff {
        new.kind = 0;
    }
    let sizes = output.sizes;
    let mut bytes = Vec::new();
    if left.is_empty() {
        (new.index, new.heap) = (None, None);
    } else if new.kind == 0 {
        shared_table::encode_list(&mut bytes, sizes, &new, left)?;
        new.index = Some(output.put(&bytes)?);
    } else {
        left.iter().try_for_each(|record| record.encode(&mut bytes, sizes))?;
        let size = fit(SharedRecord::size(sizes), "size of a record")?;
        new.index = Some(btree::build(output, 7, NODE_SIZE, size, &bytes)?);
    }
    output.release(&old)?;
    Ok(new)
}
