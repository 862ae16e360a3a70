//! Dense links that change one by one: in the fractal heap, in the name index, and in the creation order index.

use std::cmp::Ordering;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::btree::EditedTree;
use crate::group::storage::Encoded;
use crate::heap::fractal::EditedHeap;
use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::btree_v2::record::{LinkName, encode_link_order, link_order};
use crate::spec::lookup3;
use crate::spec::message::MessageType;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::link::Link;

const RECORD: &str = "link name record";

/// The dense links of a group that is being edited.
pub(crate) struct DenseLinks<'c> {
    context: &'c Context,
    heap: EditedHeap<'c>,
    by_name: EditedTree,
    by_order: Option<EditedTree>,
}

impl<'c> DenseLinks<'c> {
    /// Opens the links that `info` describes. Returns `None` if they are not dense, or have a form that can only be
    /// written as a whole.
    ///
    /// # Errors
    /// Returns `Malformed` if the heap or an index is damaged.
    pub(crate) fn open(context: &'c Context, info: &LinkInfo) -> Result<Option<Self>> {
        let Some((heap, by_name)) = info.heap.zip(info.by_name) else { return Ok(None) };
        let Some(heap) = EditedHeap::open(context, heap)? else { return Ok(None) };
        let by_name = EditedTree::open(&mut { context }, by_name, &[5])?;
        let open = |at| EditedTree::open(&mut { context }, at, &[6]);
        let by_order = info.by_creation_order.flatten().map(open).transpose()?;
        // If the message says that the creation order is indexed, the index must exist as soon as there are links.
        let whole = info.by_creation_order.is_some() == by_order.is_some();
        let sizes = [Some(by_name.record_size()), by_order.as_ref().map(EditedTree::record_size)];
        let usual = sizes == [Some(11), by_order.as_ref().map(|_| 15)];
        Ok((whole && usual).then_some(Self { context, heap, by_name, by_order }))
    }

    /// Returns the number of links.
    pub(crate) fn len(&self) -> u64 {
        self.by_name.len()
    }

    /// Returns whether most of the heap has become empty, so that all links should be written again.
    pub(crate) fn is_sparse(&self) -> bool {
        self.heap.is_sparse()
    }

    /// Returns the link of a name.
    ///
    /// # Errors
    /// Returns `Malformed` if a link that may have the name cannot be read.
    pub(crate) fn find(&mut self, name: &[u8]) -> Result<Option<Link>> {
        let (context, heap) = (self.context, &mut self.heap);
        let found = self.by_name.find(&mut { context }, &mut by_name(context, heap, name))?;
        found.map(|record| link(context, heap, &record)).transpose()
    }

    /// Adds a link, whose name must not exist yet.
    ///
    /// # Errors
    /// Returns `Malformed` if the name or the creation order exists already, and the errors of heaps and indexes. After
    /// an error nothing must be written.
    pub(crate) fn insert(&mut self, output: &mut Output, link: &Encoded) -> Result<()> {
        let (context, name) = (self.context, link.name.as_bytes());
        let id = self.heap.insert(output, &link.message)?;
        let mut record = Vec::new();
        LinkName { hash: lookup3::hash(name, 0), id: &id }.encode(&mut record)?;
        let order = &mut by_name(context, &mut self.heap, name);
        let mut taken = self.by_name.insert(&mut { context }, &record, order)?.is_some();
        if let Some(tree) = &mut self.by_order {
            record.clear();
            encode_link_order(&mut record, link.creation_order.cast_unsigned(), &id)?;
            let number = link.creation_order;
            taken |= tree.insert(&mut { context }, &record, &mut by_number(number))?.is_some();
        }
        match taken {
            true => Err(broken(context, &self.by_name, "or its creation order belongs to two links")),
            false => Ok(()),
        }
    }

    /// Removes the link of a name.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert), and `Malformed` if there is no such link or an index does not
    /// have it.
    pub(crate) fn remove(&mut self, output: &mut Output, name: &[u8]) -> Result<()> {
        let (context, heap) = (self.context, &mut self.heap);
        let removed = self.by_name.remove(&mut { context }, &mut by_name(context, heap, name))?;
        let record = removed.ok_or_else(|| {
            broken(context, &self.by_name, "is not in the name index although the group has the link")
        })?;
        let link = link(context, &mut self.heap, &record)?;
        if let Some(tree) = &mut self.by_order {
            let number = link.creation_order.ok_or_else(|| {
                broken(context, tree, "has no creation order although the group has an index of it")
            })?;
            tree.remove(&mut { context }, &mut by_number(number))?
                .ok_or_else(|| broken(context, tree, "is missing from the creation order index"))?;
        }
        let id = locate(RECORD, 0, &record, LinkName::parse)?.id.to_vec();
        self.heap.remove(output, &id)
    }

    /// Writes what has changed.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub(crate) fn write(&mut self, output: &mut Output) -> Result<()> {
        self.heap.write(output)?;
        self.by_name.write(output)?;
        self.by_order.as_mut().map_or(Ok(()), |tree| tree.write(output))
    }
}

fn broken(context: &Context, tree: &EditedTree, rule: &'static str) -> Error {
    context.fault("dense links", tree.address(), Fault::new("name of a link", FaultKind::Rule(rule)))
}

fn link(context: &Context, heap: &mut EditedHeap<'_>, record: &[u8]) -> Result<Link> {
    let record = locate(RECORD, 0, record, LinkName::parse)?;
    let (offset, bytes) = heap.get(record.id)?;
    locate(MessageType::Link.name(), offset, &bytes, |i| Link::parse(i, context.sizes))
}

/// Finds the record of a name. The records are ordered by the hash of the name, and by the name if hashes are equal.
fn by_name(
    context: &Context,
    heap: &mut EditedHeap<'_>,
    name: &[u8],
) -> impl FnMut(&[u8]) -> Result<Ordering> {
    let hash = lookup3::hash(name, 0);
    move |bytes| {
        let record = locate(RECORD, 0, bytes, LinkName::parse)?;
        Ok(match record.hash.cmp(&hash) {
            Ordering::Equal => link(context, heap, bytes)?.name.as_bytes().cmp(name),
            other => other,
        })
    }
}

fn by_number(number: i64) -> impl FnMut(&[u8]) -> Result<Ordering> {
    move |record| Ok(locate("link order record", 0, record, link_order)?.cmp(&number))
}
