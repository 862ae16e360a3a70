//! Groups: links by name, and what they lead to.

use sciformats_core::Result;

use crate::attribute::Attribute;
use crate::dataset::Dataset;
use crate::file::{File, Node};
use crate::model::links::{self, BrokenLink};
use crate::model::object::Object;
use crate::spec::Address;
use crate::spec::message::link::Link;

/// A group of an open file.
#[derive(Clone, Debug)]
pub struct Group {
    file: File,
    address: Address,
}

impl Group {
    pub(crate) fn new(file: File, address: Address) -> Self {
        Self { file, address }
    }

    /// Where its header is.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The file that it is in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// All links in byte order of their names; those that cannot be read come last, as errors.
    ///
    /// # Errors
    /// `Malformed` if the group itself cannot be read.
    pub fn links(&self) -> Result<Vec<Result<Link, BrokenLink>>> {
        let context = &self.file.opened().context;
        Ok(links::sorted(links::all(context, &Object::read(context, self.address)?)?))
    }

    /// The link `name`, found without listing the group; `None` if there is none.
    ///
    /// # Errors
    /// `Malformed` if what is on the way to it cannot be read.
    pub fn link(&self, name: &str) -> Result<Option<Link>> {
        let context = &self.file.opened().context;
        links::find(context, &Object::read(context, self.address)?, name.as_bytes())
    }

    /// The object at `path` from here, as [`File::object`] finds it.
    ///
    /// # Errors
    /// As [`File::object`].
    pub fn object(&self, path: &str) -> Result<Node> {
        self.file.follow(self.address, path.as_bytes(), 0)
    }

    /// The group at `path` from here.
    ///
    /// # Errors
    /// As [`File::group`].
    pub fn group(&self, path: &str) -> Result<Self> {
        self.object(path)?.into_group()
    }

    /// The dataset at `path` from here.
    ///
    /// # Errors
    /// As [`File::dataset`].
    pub fn dataset(&self, path: &str) -> Result<Dataset> {
        self.object(path)?.into_dataset()
    }

    /// Its attributes, as [`File::attributes_at`] has them.
    ///
    /// # Errors
    /// As [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address)
    }

    /// The attribute `name`.
    ///
    /// # Errors
    /// As [`File::attribute_at`].
    pub fn attribute(&self, name: &str) -> Result<Attribute> {
        self.file.attribute_at(self.address, name)
    }
}
