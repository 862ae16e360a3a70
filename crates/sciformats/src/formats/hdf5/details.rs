//! HDF5: attributes by name, orders of creation, widths of texts, references as objects, committed datatypes.

use hdf5_pure::structure::{Class, CreationOrder, Link};
use hdf5_pure::{Address, Datatype, Node};
use sciformats_core::Error;

use super::{Adapter, attribute, name};
use crate::Result;
use crate::details::Details;
use crate::model::{Attribute, Name, ObjectId};

/// Returns the number of bytes of texts with a fixed width.
fn width(datatype: &Datatype) -> Option<u64> {
    matches!(datatype.class, Class::String { .. }).then(|| datatype.size.into())
}

impl Adapter {
    /// Returns an attribute by its name, as the file stores it.
    fn stored_attribute(&self, id: ObjectId, name: &Name) -> Result<Option<hdf5_pure::Attribute>> {
        let (file, address) = self.place(id)?;
        let Ok(text) = std::str::from_utf8(name.as_bytes()) else {
            let same = |found: &hdf5_pure::Attribute| found.name().map(self::name).as_ref() == Some(name);
            return Ok(file.attributes_at(address)?.into_iter().find(same));
        };
        match file.attribute_at(address, text) {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Details for Adapter {
    fn attribute(&self, id: ObjectId, name: &Name) -> Result<Option<Attribute>> {
        self.stored_attribute(id, name)?.map(|found| attribute(&found)).transpose()
    }

    fn attribute_names(&self, id: ObjectId) -> Result<Vec<Name>> {
        let (file, address) = self.place(id)?;
        let mut attributes = file.attributes_at(address)?;
        sciformats_core::order::sort_by_key(&mut attributes, hdf5_pure::Attribute::creation_order);
        Ok(attributes.iter().filter_map(|attribute| attribute.name().map(name)).collect())
    }

    fn few_attribute_names(&self, id: ObjectId, most: usize) -> Result<Option<Vec<Name>>> {
        let (file, address) = self.place(id)?;
        let names = file.attribute_names_at(address, most)?;
        Ok(names.map(|names| names.iter().map(name).collect()))
    }

    fn created(&self, group: ObjectId) -> Result<Option<Vec<Name>>> {
        let group = self.group(group)?;
        // Most groups record no order, and their header says so without a list of their links.
        let properties = group.file().creation_properties(group.address())?;
        if properties.links.is_none_or(|links| links.order == CreationOrder::Unknown) {
            return Ok(None);
        }
        let links = group.links()?;
        let mut links: Vec<Link> = links.into_iter().flatten().collect();
        if links.iter().any(|link| link.creation_order.is_none()) {
            return Ok(None);
        }
        sciformats_core::order::sort_by_key(&mut links, |link| link.creation_order);
        Ok(Some(links.iter().map(|link| name(&link.name)).collect()))
    }

    fn text_width(&self, id: ObjectId, attribute: Option<&Name>) -> Result<Option<u64>> {
        match attribute {
            None => Ok(width(self.dataset(id)?.datatype())),
            Some(name) => match self.stored_attribute(id, name)? {
                Some(found) => found.datatype().map(width),
                None => Ok(None),
            },
        }
    }

    fn references(&self, id: ObjectId, attribute: &Name) -> Result<Vec<Vec<ObjectId>>> {
        let Some(found) = self.stored_attribute(id, attribute)? else { return Ok(Vec::new()) };
        let inside = |addresses: Vec<Option<Address>>| {
            let ids = addresses.into_iter().flatten().map(|address| self.elsewhere.beside(id, address));
            ids.collect::<Vec<_>>()
        };
        match found.datatype()?.class {
            Class::VariableLength(_) => {
                Ok(found.read::<Vec<Option<Address>>>()?.into_iter().map(inside).collect())
            }
            _ => {
                let each = found.read::<Option<Address>>()?.into_iter();
                Ok(each.map(|address| inside(vec![address])).collect())
            }
        }
    }

    fn committed(&self, id: ObjectId) -> Result<Option<ObjectId>> {
        let (file, address) = self.place(id)?;
        let Node::Dataset(dataset) = file.object_at(address)? else { return Ok(None) };
        Ok(dataset.committed()?.map(|address| self.elsewhere.beside(id, address)))
    }
}
