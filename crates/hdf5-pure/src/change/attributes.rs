//! Attributes of objects of the file that is edited.

use sciformats_core::arith::increase;
use sciformats_core::fault::locate;
use sciformats_core::{Error, Result};

use crate::change::tree::{StoredAttributes, Tree};
use crate::object::attributes::{self, Attribute, AttributeList, Removed};
use crate::object::id::ObjectId;
use crate::spec::message::attribute::RawAttribute;

impl Tree {
    /// Reads what changing the attributes of an object of the file needs; gives the number of the next one.
    pub(crate) fn load_attributes(&mut self, id: ObjectId) -> Result<Option<u32>> {
        self.recall(id)?;
        let object = self.object(id)?;
        let Some(origin) = &object.origin else { return Ok(None) };
        let context = self.session()?.context();
        if let Some(stored) = &origin.attributes {
            let next = stored.next;
            if !stored.has_many(object.attributes.len()) {
                return Ok(Some(next));
            }
            // So many change that the others are found quicker in memory, too.
            let (in_file, _) = attributes::load(context, origin.address)?;
            let parts = attributes::parts(context, &in_file)?;
            let mut kept: AttributeList =
                in_file.into_iter().filter(|attribute| stored.may_hold(&attribute.name)).collect();
            object.attributes.iter().for_each(|attribute| kept.push(attribute.clone()));
            let object = self.object_mut(id)?;
            object.attributes = kept;
            if let Some(stored) = object.origin.as_mut().and_then(|origin| origin.attributes.as_mut()) {
                (stored.parts, stored.removed) = (parts, None);
            }
            return Ok(Some(next));
        }
        if let Some((next, len)) = attributes::next_if_dense(context, origin.address)? {
            let removed = Some(Removed::new());
            let stored = StoredAttributes { next, parts: Vec::new(), changed: false, removed, len };
            if let Some(origin) = &mut self.object_mut(id)?.origin {
                origin.attributes = Some(stored);
            }
            return Ok(Some(next));
        }
        let (found, next) = attributes::load(context, origin.address)?;
        let parts = attributes::parts(context, &found)?;
        let object = self.object_mut(id)?;
        object.attributes = found.into_iter().collect();
        if let Some(origin) = &mut object.origin {
            origin.attributes = Some(StoredAttributes { next, parts, changed: false, removed: None, len: 0 });
        }
        Ok(Some(next))
    }

    /// Says that the attributes have changed, so many being new.
    pub(crate) fn attributes_changed(&mut self, id: ObjectId, new: u32) -> Result<()> {
        let origin = self.object_mut(id)?.origin.as_mut();
        if let Some(stored) = origin.and_then(|origin| origin.attributes.as_mut()) {
            increase(&mut stored.next, new)?;
            stored.changed = true;
        }
        Ok(())
    }

    /// The attribute of a name that is in the file and not in memory.
    fn stored_attribute(&self, id: ObjectId, name: &[u8]) -> Result<Option<Attribute>> {
        let Some(origin) = &self.object(id)?.origin else { return Ok(None) };
        match origin.attributes.as_ref().is_some_and(|stored| stored.may_hold(name)) {
            true => attributes::find_to_change(self.session()?.context(), origin.address, name),
            false => Ok(None),
        }
    }

    /// Takes out an attribute that is in the file and not in memory, and gives it.
    pub(crate) fn take_attribute(&mut self, id: ObjectId, name: &[u8]) -> Result<Option<Attribute>> {
        let Some(found) = self.stored_attribute(id, name)? else { return Ok(None) };
        let parts = attributes::parts(self.session()?.context(), std::slice::from_ref(&found))?;
        let origin = self.object_mut(id)?.origin.as_mut();
        if let Some(stored) = origin.and_then(|origin| origin.attributes.as_mut()) {
            stored.parts.extend(parts);
            stored.removed.as_mut().map(|removed| removed.insert(name.into()));
        }
        Ok(Some(found))
    }

    /// Takes an attribute out.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub(crate) fn remove_attribute(&mut self, id: ObjectId, name: &str) -> Result<()> {
        self.load_attributes(id)?;
        let removed = match self.object_mut(id)?.attributes.remove(name.as_bytes()) {
            None => self.take_attribute(id, name.as_bytes())?,
            removed => removed,
        };
        removed.ok_or_else(|| Error::not_found("attribute", name))?;
        self.attributes_changed(id, 0)
    }

    /// Gives an attribute another name.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Usage`] if the new name is taken or none.
    pub(crate) fn rename_attribute(&mut self, id: ObjectId, name: &str, to: &str) -> Result<()> {
        self.load_attributes(id)?;
        let taken = self.object(id)?.attributes.holds(to.as_bytes());
        if taken || self.stored_attribute(id, to.as_bytes())?.is_some() {
            return Err(Error::usage("attribute", format!("{to:?} is there already")));
        }
        if to.is_empty() || to.contains('\0') || to.len() >= usize::from(u16::MAX) {
            return Err(Error::usage("attribute", "has a name that is empty, too long or holds a NUL"));
        }
        if !self.object(id)?.attributes.holds(name.as_bytes())
            && let Some(stored) = self.take_attribute(id, name.as_bytes())?
        {
            self.object_mut(id)?.attributes.push(stored);
        }
        let attributes = &mut self.object_mut(id)?.attributes;
        let attribute =
            attributes.get_mut(name.as_bytes()).ok_or_else(|| Error::not_found("attribute", name))?;
        let raw = locate("attribute message", 0, &attribute.message, RawAttribute::parse)?;
        let message = raw.renamed(&attribute.message, to.as_bytes())?;
        attributes.rename(name.as_bytes(), to.as_bytes(), message);
        self.attributes_changed(id, 0)
    }
}
