//! Attributes: small named arrays of an object.

use sciformats_core::{Error, Result};

use crate::canonical::Canonical;
use crate::element::{Element, Values};
use crate::file::File;
use crate::model::attributes::{Content, Found};
use crate::model::read::again;
use crate::spec::Name;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;

/// An attribute of an object. It may be broken: then its name is all that is known, or not even that.
#[derive(Debug)]
pub struct Attribute {
    file: File,
    name: Option<Name>,
    creation_order: Option<u32>,
    content: Result<Content>,
}

impl Attribute {
    pub(crate) fn new(file: File, found: Found) -> Self {
        Self { file, name: found.name, creation_order: found.creation_order, content: found.content }
    }

    /// Its name, unless that cannot be read.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// When it was created among the object's attributes, where that is tracked.
    pub fn creation_order(&self) -> Option<u32> {
        self.creation_order
    }

    /// What is wrong with it, if anything.
    pub fn error(&self) -> Option<&Error> {
        self.content.as_ref().err()
    }

    fn content(&self) -> Result<&Content> {
        self.content.as_ref().map_err(again)
    }

    /// What its elements are.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn datatype(&self) -> Result<&Datatype> {
        self.content().map(|content| &content.datatype)
    }

    /// Its shape.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn dataspace(&self) -> Result<&Dataspace> {
        self.content().map(|content| &content.dataspace)
    }

    /// Its elements as they are stored.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn raw(&self) -> Result<&[u8]> {
        self.content().map(|content| &content.data[..])
    }

    /// Its elements by meaning only, see [`canonical`](crate::canonical).
    ///
    /// # Errors
    /// What is wrong with it, or with what its elements lead to.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        let content = self.content()?;
        Canonical::new(&self.file, &content.datatype)?.convert(content.data.clone(), content.offset)
    }

    /// Its elements in C order.
    ///
    /// # Errors
    /// [`Error::Usage`] if the elements do not convert to `T`, and what is wrong with it.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        let content = self.content()?;
        T::read(&Values::new(&self.file, &content.datatype, &content.data, content.offset))
    }
}
