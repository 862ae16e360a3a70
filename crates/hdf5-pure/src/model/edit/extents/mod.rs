//! Where the structures of an object are: what is given back with it.

mod chunks;
mod heaps;

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Result, bound};

use super::header::Header;
use super::space::Use;
use crate::model::context::{Budget, Context};
use crate::model::object::Object;
use crate::model::open::Opened;
use crate::spec::Address;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::MessageType;
use crate::spec::message::attribute_info::AttributeInfo;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::ExternalFiles;
use crate::spec::message::layout::Layout;
use crate::spec::message::link_info::LinkInfo;
use crate::spec::message::small::SymbolTable;

/// A part of the file that one structure has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: Address,
    pub(crate) len: u64,
    pub(crate) usage: Use,
}

/// Collects the extents of structures.
pub(crate) struct Extents<'a> {
    context: &'a Context,
    k: BtreeK,
    budget: Budget,
    found: Vec<Extent>,
}

impl<'a> Extents<'a> {
    pub(crate) fn new(context: &'a Context, k: BtreeK) -> Self {
        Self { context, k, budget: Budget::new(context), found: Vec::new() }
    }

    pub(crate) fn of(opened: &'a Opened) -> Self {
        Self::new(&opened.context, opened.btree_k)
    }

    /// What was found.
    pub(crate) fn into_found(self) -> Vec<Extent> {
        self.found
    }

    /// Takes note of a structure, which must lie in the file.
    fn add(&mut self, structure: &'static str, at: Address, len: u64, usage: Use) -> Result<()> {
        if len > self.context.available(at) {
            let kind =
                FaultKind::OutOfBounds { found: bound::sum(at.0, len), end: self.context.storage.len() };
            return Err(self.context.fault(structure, at, kind));
        }
        self.budget.visit(self.context, structure, at, len)?;
        if len > 0 {
            self.found.push(Extent { at, len, usage });
        }
        Ok(())
    }

    /// Fails if a node has more entries than the file's K values allow, which the C library refuses to read.
    fn full(&self, structure: &'static str, at: Address, entries: u16, most: u32) -> Result<()> {
        if u32::from(entries) <= most {
            return Ok(());
        }
        let kind = FaultKind::OutOfBounds { found: entries.into(), end: u64::from(most) + 1 };
        Err(self.context.fault(structure, at, Fault::new("entries used", kind)))
    }

    /// Everything that the object at `address` has to itself, its header included. Elements of variable length stay:
    /// the collections that hold them are shared by all objects.
    ///
    /// # Errors
    /// `Malformed` if one of its structures is.
    pub(crate) fn object(&mut self, address: Address) -> Result<()> {
        let header = Header::read(self.context, address)?;
        for (at, len) in header.places()? {
            self.add("object header", at, len, Use::Metadata)?;
        }
        let (context, sizes) = (self.context, self.context.sizes);
        let object = Object::read(context, address)?;
        if let Some(table) =
            object.parse(context, MessageType::SymbolTable, |i| SymbolTable::parse(i, sizes))?
        {
            self.symbol_table(table)?;
        }
        if let Some(info) = object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes))? {
            self.links(&info)?;
        }
        if let Some(info) =
            object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, sizes))?
        {
            self.attributes(&info)?;
        }
        if let Some(files) =
            object.parse(context, MessageType::ExternalFiles, |i| ExternalFiles::parse(i, sizes))?
        {
            self.local_heap(files.heap)?;
        }
        if let Some(layout) = object.parse(context, MessageType::Layout, |i| Layout::parse(i, sizes))? {
            let dataspace = object.parse(context, MessageType::Dataspace, |i| Dataspace::parse(i, sizes))?;
            let size =
                object.parse(context, MessageType::Datatype, Datatype::parse)?.map(|datatype| datatype.size);
            let filtered = object.find(MessageType::FilterPipeline).is_some();
            if let Some((dataspace, size)) = dataspace.zip(size) {
                self.layout(&layout, &dataspace, size.into(), filtered)?;
            }
        }
        Ok(())
    }

    /// Dense links.
    pub(crate) fn links(&mut self, info: &LinkInfo) -> Result<()> {
        info.heap.map_or(Ok(()), |heap| self.fractal_heap(heap))?;
        let trees = [(info.by_name, 5), (info.by_creation_order.flatten(), 6)];
        trees.into_iter().try_for_each(|(tree, kind)| tree.map_or(Ok(()), |at| self.btree_v2(at, &[kind])))
    }

    /// Dense attributes.
    pub(crate) fn attributes(&mut self, info: &AttributeInfo) -> Result<()> {
        info.heap.map_or(Ok(()), |heap| self.fractal_heap(heap))?;
        let trees = [(info.by_name, 8), (info.by_creation_order.flatten(), 9)];
        trees.into_iter().try_for_each(|(tree, kind)| tree.map_or(Ok(()), |at| self.btree_v2(at, &[kind])))
    }
}
