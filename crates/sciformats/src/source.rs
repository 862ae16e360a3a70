//! What a format must tell about a file.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

use crate::model::{Attribute, Name, Object, ObjectId, Target, Value};
use crate::{Format, Result};

/// A member of a group.
#[derive(Debug)]
pub struct Member {
    /// Its name, unique in the group.
    pub name: Name,
    /// What it leads to.
    pub target: Target,
}

/// The members of a group, in byte order of their names. After an error nothing more comes.
pub type Members<'a> = Box<dyn Iterator<Item = Result<Member>> + 'a>;

/// The attributes of an object, in byte order of their names. After an error nothing more comes.
pub type Attributes<'a> = Box<dyn Iterator<Item = Result<Attribute>> + 'a>;

/// A fact about a file as a whole: what it is, and its value.
pub type Fact = (&'static str, Value);

/// One structure in a file, for people who debug formats.
#[derive(Debug)]
pub struct Structure {
    /// The standard's name of it.
    pub name: Cow<'static, str>,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// How deep it is nested in the structures before it.
    pub depth: usize,
    /// Its fields in the standard's order.
    pub fields: Vec<(Cow<'static, str>, Value)>,
}

/// Something wrong that a check of a file's structures found.
#[derive(Debug)]
pub struct Finding {
    /// The path of the object it concerns, where there is one.
    pub path: Option<String>,
    /// What is wrong, with its offset where it has one.
    pub error: Error,
}

/// A file of some format as one tree of objects. There is one adapter a format.
///
/// Nothing here is read before it is asked for: a file may hold millions of objects, and finding one of them lists
/// none of the others.
pub trait Source: Send + Sync {
    /// The format.
    fn format(&self) -> Format;

    /// What is known of the file as a whole, in the order to show it: version, writer, unusual features.
    fn facts(&self) -> Vec<Fact>;

    /// The few of these facts that tell one file from another at a glance: `2.1, hoomd 1.4, 3 frames`. May be empty.
    fn headline(&self) -> String {
        let version = self.facts().into_iter().find(|(key, _)| *key == "version");
        version.map(|(_, version)| version.to_string()).unwrap_or_default()
    }

    /// Further facts, for which the whole index of the file is looked at.
    ///
    /// # Errors
    /// If it cannot be read.
    fn measures(&self) -> Result<Vec<Fact>> {
        Ok(Vec::new())
    }

    /// The object at `/`.
    fn root(&self) -> ObjectId;

    /// An object. What cannot be read is [`Object::Damaged`] as far as its kind is known.
    ///
    /// # Errors
    /// If nothing can be said of the object.
    fn object(&self, id: ObjectId) -> Result<Object>;

    /// The members of a group in byte order of their names.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn members(&self, group: ObjectId) -> Result<Members<'_>>;

    /// What one member of a group leads to; `None` if there is no such member.
    ///
    /// # Errors
    /// If the group cannot be searched.
    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>>;

    /// The attributes of an object in byte order of their names.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn attributes(&self, _id: ObjectId) -> Result<Attributes<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    /// Appends the canonical bytes of the selected elements of an array to `out`, in C order;
    /// see [`ElementType`](crate::ElementType).
    ///
    /// # Errors
    /// If the elements cannot be read; `out` may then have grown.
    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()>;

    /// Whether more than one hard link may lead to the object. Such objects are remembered during a walk, so a format
    /// without hard links says `false`.
    fn may_be_shared(&self, _id: ObjectId) -> bool {
        true
    }

    /// Whether names may hold a `/` of their own.
    fn slashes_in_names(&self) -> bool {
        false
    }

    /// Checks what reading all elements and attributes does not: structures that nothing leads to, checksums of
    /// indices, bytes after the end.
    fn check(&self, _visit: &mut dyn FnMut(Finding)) {}

    /// Goes through the structures in the file in order of their offsets, as far as the order is known.
    ///
    /// # Errors
    /// The first structure that cannot be read ends the walk.
    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()>;
}
