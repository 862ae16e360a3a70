//! Attributes of objects in a file that is being edited.

use sciformats_core::arith::{fit, increase};
use sciformats_core::fault::locate;
use sciformats_core::{Error, Result, bound};

use crate::change::tree::{StoredAttributes, Tree};
use crate::object::attributes::{self, Attribute, AttributeList, Removed};
use crate::object::creation::CreationProperties;
use crate::object::header::Object;
use crate::object::id::Id;
use crate::spec::message::attribute::RawAttribute;
use crate::spec::object_header::{Version, v2};

/// The most attributes of an object whose header is of version 1. It counts its messages in two bytes, and has others beside them.
const MOST_OLD: usize = 64_900;

/// Fails if a header cannot count so many attributes, of which `next` have had a number.
fn check_count(form: (bool, bool), fit: bool, count: usize, next: u32) -> Result<()> {
    match form {
        (_, true) => attributes::number(next).map(drop),
        (true, false) if fit && count > MOST_OLD => {
            let problem =
                format!("would have {count} attributes, but its header of version 1 holds {MOST_OLD}");
            Err(Error::usage("object", problem))
        }
        _ => Ok(()),
    }
}

impl Tree {
    /// Fails if the header of an object cannot count this attribute too. `next` is the number that it gets if the object is in the file.
    ///
    /// # Errors
    /// [`Error::Usage`] then, and any error of reading the header.
    pub(crate) fn check_one_more(&self, id: Id, attribute: &Attribute, next: Option<u32>) -> Result<()> {
        let object = self.object(id)?;
        let count = bound::sum(object.attributes.len(), 1);
        let next = bound::sum(next.unwrap_or(fit(object.attributes.len(), "number of attributes")?), 1);
        if count.max(bound::addressable(next.into())) <= MOST_OLD {
            return Ok(());
        }
        let form = match &object.origin {
            None => object.properties.form(),
            Some(origin) => match Object::read(self.session()?.context(), origin.address)?.prefix.version {
                Version::V1 { .. } => (true, false),
                Version::V2 { flags, .. } => (false, flags & v2::TRACKED != 0),
            },
        };
        let fits = attribute.message.len() <= attributes::MAX_MESSAGE && attributes::fit(&object.attributes);
        check_count(form, fits, count, next)
    }

    /// Sets the properties of a new object.
    ///
    /// # Errors
    /// [`Error::Usage`] if the object is not new, if the properties contradict each other, or if a header with them could not count the
    /// attributes that the object has.
    pub(crate) fn set_properties(&mut self, id: Id, properties: &CreationProperties) -> Result<()> {
        properties.check()?;
        let object = self.object_mut(id)?;
        if object.origin.is_some() {
            return Err(Error::usage("object", "is in the file already, so that its properties are fixed"));
        }
        let (all, count) = (&object.attributes, object.attributes.len());
        check_count(properties.form(), attributes::fit(all), count, fit(count, "number of attributes")?)?;
        object.properties = properties.clone();
        Ok(())
    }

    /// Reads what is needed to change the attributes of an object of the file. Returns the creation order number of the
    /// next attribute.
    pub(crate) fn load_attributes(&mut self, id: Id) -> Result<Option<u32>> {
        self.recall(id)?;
        let object = self.object(id)?;
        let Some(origin) = &object.origin else { return Ok(None) };
        let context = self.session()?.context();
        if let Some(stored) = &origin.attributes {
            let next = stored.next;
            if !stored.has_many(object.attributes.len()) {
                return Ok(Some(next));
            }
            // When many attributes change, it is faster to hold all of them in memory than to look them up one by one.
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

    /// Notes that the attributes have changed, and that `new` of them are new.
    pub(crate) fn attributes_changed(&mut self, id: Id, new: u32) -> Result<()> {
        let origin = self.object_mut(id)?.origin.as_mut();
        if let Some(stored) = origin.and_then(|origin| origin.attributes.as_mut()) {
            increase(&mut stored.next, new)?;
            stored.changed = true;
        }
        Ok(())
    }

    /// Returns the attribute of a name if it is in the file but not in memory.
    fn stored_attribute(&self, id: Id, name: &[u8]) -> Result<Option<Attribute>> {
        let Some(origin) = &self.object(id)?.origin else { return Ok(None) };
        match origin.attributes.as_ref().is_some_and(|stored| stored.may_hold(name)) {
            true => attributes::find_to_change(self.session()?.context(), origin.address, name),
            false => Ok(None),
        }
    }

    /// Removes an attribute that is in the file but not in memory, and returns it.
    pub(crate) fn take_attribute(&mut self, id: Id, name: &[u8]) -> Result<Option<Attribute>> {
        let Some(found) = self.stored_attribute(id, name)? else { return Ok(None) };
        let parts = attributes::parts(self.session()?.context(), std::slice::from_ref(&found))?;
        let origin = self.object_mut(id)?.origin.as_mut();
        if let Some(stored) = origin.and_then(|origin| origin.attributes.as_mut()) {
            stored.parts.extend(parts);
            stored.removed.as_mut().map(|removed| removed.insert(name.into()));
        }
        Ok(Some(found))
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`].
    pub(crate) fn remove_attribute(&mut self, id: Id, name: &[u8]) -> Result<()> {
        self.load_attributes(id)?;
        let removed = match self.object_mut(id)?.attributes.remove(name) {
            None => self.take_attribute(id, name)?,
            removed => removed,
        };
        removed.ok_or_else(|| no_attribute(name))?;
        self.attributes_changed(id, 0)
    }

    /// Renames an attribute.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and [`Error::Usage`] if the new name exists already or is not a valid name.
    pub(crate) fn rename_attribute(&mut self, id: Id, name: &[u8], to: &[u8]) -> Result<()> {
        self.load_attributes(id)?;
        let taken = self.object(id)?.attributes.holds(to);
        if taken || self.stored_attribute(id, to)?.is_some() {
            let to = String::from_utf8_lossy(to);
            return Err(Error::usage("attribute", format!("{to:?} exists already")));
        }
        if to.is_empty() || to.contains(&0) || to.len() >= usize::from(u16::MAX) {
            return Err(Error::usage(
                "attribute",
                "needs a name that is not empty, not too long and without NUL characters",
            ));
        }
        if !self.object(id)?.attributes.holds(name)
            && let Some(stored) = self.take_attribute(id, name)?
        {
            self.object_mut(id)?.attributes.push(stored);
        }
        let attributes = &mut self.object_mut(id)?.attributes;
        let attribute = attributes.get_mut(name).ok_or_else(|| no_attribute(name))?;
        let raw = locate("attribute message", 0, &attribute.message, RawAttribute::parse)?;
        let message = raw.renamed(&attribute.message, to)?;
        attributes.rename(name, to, message);
        self.attributes_changed(id, 0)
    }
}

fn no_attribute(name: &[u8]) -> Error {
    Error::not_found("attribute", String::from_utf8_lossy(name))
}
