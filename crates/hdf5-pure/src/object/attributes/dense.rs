//! Dense attributes that change one by one: in the fractal heap, in the name index, and in the creation order index.

use std::cmp::Ordering;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::btree::EditedTree;
use crate::heap::fractal::EditedHeap;
use crate::object::attributes::Attribute;
use crate::object::attributes::edit::{parse, shared};
use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::btree_v2::record::AttributeRecord;
use crate::spec::lookup3;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::object_header::SHARED;

const RECORD: &str = "attribute name record";

/// The dense attributes of an object that is being edited.
pub(crate) struct DenseAttributes<'c> {
    context: &'c Context,
    heap: EditedHeap<'c>,
    by_name: EditedTree,
    by_order: Option<EditedTree>,
    /// Whether the creation order of attributes is tracked.
    tracked: bool,
}

impl<'c> DenseAttributes<'c> {
    /// Opens the attributes that `info` describes. Returns `None` if they are not dense, or have a form that can only
    /// be written as a whole.
    ///
    /// # Errors
    /// Returns `Malformed` if the heap or an index is damaged.
    pub(crate) fn open(context: &'c Context, info: &AttributeInfo, tracked: bool) -> Result<Option<Self>> {
        let Some((heap, by_name)) = info.heap.zip(info.by_name) else { return Ok(None) };
        let Some(heap) = EditedHeap::open(context, heap)? else { return Ok(None) };
        let by_name = EditedTree::open(&mut { context }, by_name, &[8])?;
        let open = |at| EditedTree::open(&mut { context }, at, &[9]);
        let by_order = info.by_creation_order.flatten().map(open).transpose()?;
        // If the message says that the creation order is indexed, the index must exist as soon as there are dense
        // attributes.
        let whole = info.by_creation_order.is_some() == by_order.is_some();
        let sizes = [Some(by_name.record_size()), by_order.as_ref().map(EditedTree::record_size)];
        let usual = sizes == [Some(17), by_order.as_ref().map(|_| 13)];
        Ok((whole && usual).then_some(Self { context, heap, by_name, by_order, tracked }))
    }

    /// Returns the number of attributes.
    pub(crate) fn len(&self) -> u64 {
        self.by_name.len()
    }

    /// Returns whether most of the heap has become empty, so that all attributes should be written again.
    pub(crate) fn is_sparse(&self) -> bool {
        self.heap.is_sparse()
    }

    /// Returns the attribute of a name.
    ///
    /// # Errors
    /// Returns `Malformed` if an attribute that may have the name cannot be read.
    pub(crate) fn find(&mut self, name: &[u8]) -> Result<Option<Attribute>> {
        let (context, heap) = (self.context, &mut self.heap);
        let found = self.by_name.find(&mut { context }, &mut by_name(context, heap, name))?;
        let found = found.map(|record| attribute(context, heap, &record)).transpose()?;
        let tracked = self.tracked;
        Ok(found.map(|found| Attribute { creation_order: found.creation_order.filter(|_| tracked), ..found }))
    }

    /// Adds an attribute with its creation order. Its name must not exist yet.
    ///
    /// # Errors
    /// Returns `Malformed` if the name or the creation order exists already, and the errors of heaps and indexes. After
    /// an error nothing must be written.
    pub(crate) fn insert(&mut self, output: &mut Output, attribute: &Attribute, number: u32) -> Result<()> {
        let context = self.context;
        let (flags, id) = match attribute.shared {
            Some(id) => (SHARED, id.to_vec()),
            None => (0, self.heap.insert(output, &attribute.message)?),
        };
        let hash = Some(lookup3::hash(&attribute.name, 0));
        let new = AttributeRecord { id: &id, flags, creation_order: number, hash };
        let mut record = Vec::new();
        new.encode(&mut record)?;
        let order = &mut by_name(context, &mut self.heap, &attribute.name);
        let mut taken = self.by_name.insert(&mut { context }, &record, order)?.is_some();
        if let Some(tree) = &mut self.by_order {
            record.clear();
            AttributeRecord { hash: None, ..new }.encode(&mut record)?;
            taken |= tree.insert(&mut { context }, &record, &mut by_number(number))?.is_some();
        }
        match taken {
            true => Err(broken(context, &self.by_name, "or its creation order belongs to two attributes")),
            false => Ok(()),
        }
    }

    /// Removes the attribute of a name, and returns its creation order.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert), and `Malformed` if there is no such attribute or an index does
    /// not have it.
    pub(crate) fn remove(&mut self, output: &mut Output, name: &[u8]) -> Result<u32> {
        let (context, heap) = (self.context, &mut self.heap);
        let removed = self.by_name.remove(&mut { context }, &mut by_name(context, heap, name))?;
        let record = removed.ok_or_else(|| {
            broken(context, &self.by_name, "is not in the name index although the object has the attribute")
        })?;
        let record = locate(RECORD, 0, &record, |i| AttributeRecord::parse(i, 8))?;
        if let Some(tree) = &mut self.by_order {
            tree.remove(&mut { context }, &mut by_number(record.creation_order))?
                .ok_or_else(|| broken(context, tree, "is missing from the creation order index"))?;
        }
        if record.flags & SHARED == 0 {
            self.heap.remove(output, record.id)?;
        }
        Ok(record.creation_order)
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
    let fault = Fault::new("name of an attribute", FaultKind::Rule(rule));
    context.fault("dense attributes", tree.address(), fault)
}

fn attribute(context: &Context, heap: &mut EditedHeap<'_>, record: &[u8]) -> Result<Attribute> {
    let record = locate(RECORD, 0, record, |i| AttributeRecord::parse(i, 8))?;
    let number = Some(record.creation_order);
    match <[u8; 8]>::try_from(record.id) {
        Ok(id) if record.flags & SHARED != 0 => shared(context, 0, id, number),
        _ => {
            let (offset, bytes) = heap.get(record.id)?;
            parse(offset, &bytes, number)
        }
    }
}

/// Finds the record of a name. The records are ordered by the hash of the name, and by the name if hashes are equal.
fn by_name(
    context: &Context,
    heap: &mut EditedHeap<'_>,
    name: &[u8],
) -> impl FnMut(&[u8]) -> Result<Ordering> {
    let hash = Some(lookup3::hash(name, 0));
    move |bytes| {
        let record = locate(RECORD, 0, bytes, |i| AttributeRecord::parse(i, 8))?;
        Ok(match record.hash.cmp(&hash) {
            Ordering::Equal => (*attribute(context, heap, bytes)?.name).cmp(name),
            other => other,
        })
    }
}

fn by_number(number: u32) -> impl FnMut(&[u8]) -> Result<Ordering> {
    move |record| {
        let record = locate("attribute order record", 0, record, |i| AttributeRecord::parse(i, 9))?;
        Ok(record.creation_order.cmp(&number))
    }
}
