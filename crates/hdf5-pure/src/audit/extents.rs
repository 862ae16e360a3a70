//! The extents of everything that belongs to an object alone, so that its space can be freed.

use crate::object::header::{Header, Object};
use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::dense::{AttributeInfo, LinkInfo};
use crate::spec::message::external_files::ExternalFiles;
use crate::spec::message::layout::Layout;
use crate::spec::message::small::SymbolTable;
use sciformats_core::Result;

impl Extents<'_> {
    /// Adds everything that belongs to the object at `address` alone, including its header. Elements of variable length
    /// are left out, because all objects share the collections that hold them.
    ///
    /// # Errors
    /// Returns `Malformed` if one of its structures is damaged.
    pub(crate) fn object(&mut self, address: Address) -> Result<()> {
        let header = Header::read(self.context, address)?;
        for (at, len) in header.chunk_extents()? {
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
}
