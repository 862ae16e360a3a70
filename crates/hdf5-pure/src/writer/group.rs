//! Groups that are written.

use sciformats_core::{Error, Result};

use super::dataset::DatasetBuilder;
use super::value::{self, Value};
use crate::model::write::group::Destination;
use crate::model::write::tree::{Kind, ObjectId, Tree};
use crate::spec::message::datatype::Datatype;

/// A group of a file that is written.
pub struct GroupWriter<'w> {
    tree: &'w mut Tree,
    id: ObjectId,
}

impl std::fmt::Debug for GroupWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> GroupWriter<'w> {
    pub(crate) fn new(tree: &'w mut Tree, id: ObjectId) -> Self {
        Self { tree, id }
    }

    pub(crate) fn into_group(self, path: &str) -> Result<Self> {
        let id = self.tree.group_at(self.id, path)?;
        Ok(Self { tree: self.tree, id })
    }

    /// The group, for hard links and references.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The group at `path` below this one; groups that are missing are made. A path that starts with `/` starts at the root.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if something else is there.
    pub fn group(&mut self, path: &str) -> Result<GroupWriter<'_>> {
        GroupWriter { tree: self.tree, id: self.id }.into_group(path)
    }

    /// A new dataset at `path` below this group.
    pub fn dataset(&mut self, path: &str) -> DatasetBuilder<'_> {
        DatasetBuilder::new(self.tree, self.id, path)
    }

    /// As [`dataset`](Self::dataset), giving up the group.
    pub fn into_dataset(self, path: &str) -> DatasetBuilder<'w> {
        DatasetBuilder::new(self.tree, self.id, path)
    }

    /// Gives the group an attribute; one of that name gets the new value.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the format has no place for it.
    pub fn attribute(&mut self, name: &str, value: impl Value) -> Result<&mut Self> {
        let attribute = value::attribute(self.tree, name, value)?;
        self.tree.attribute(self.id, attribute)?;
        Ok(self)
    }

    /// Gives the group a comment.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if it holds a NUL.
    pub fn comment(&mut self, text: &str) -> Result<&mut Self> {
        self.tree.comment(self.id, text)?;
        Ok(self)
    }

    /// Takes an attribute out.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub fn remove_attribute(&mut self, name: &str) -> Result<&mut Self> {
        self.tree.remove_attribute(self.id, name)?;
        Ok(self)
    }

    /// Gives an attribute another name.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), and [`Error::Usage`](crate::Error::Usage) if the new name is taken or none.
    pub fn rename_attribute(&mut self, name: &str, to: &str) -> Result<&mut Self> {
        self.tree.rename_attribute(self.id, name, to)?;
        Ok(self)
    }

    /// Takes the link at `path` out. An object that no other hard link leads to goes with it.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub fn unlink(&mut self, path: &str) -> Result<&mut Self> {
        self.tree.unlink(self.id, path)?;
        Ok(self)
    }

    /// Gives the link at `path` another name or group; what it leads to stays where it is.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), and [`Error::Usage`](crate::Error::Usage) if the new name is taken or none.
    pub fn move_link(&mut self, path: &str, to: &str) -> Result<&mut Self> {
        self.tree.move_link(self.id, path, to)?;
        Ok(self)
    }

    /// Gives an object of the file one more name.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the name is taken or none, or the object none of this file.
    pub fn hard_link(&mut self, path: &str, object: ObjectId) -> Result<&mut Self> {
        self.link(path, Destination::Object(object))
    }

    /// A link to a path of this file, which need not exist.
    ///
    /// # Errors
    /// As [`hard_link`](Self::hard_link).
    pub fn soft_link(&mut self, path: &str, target: &str) -> Result<&mut Self> {
        value::link_value("soft link", &[target])?;
        self.link(path, Destination::Soft(target.into()))
    }

    /// A link to a path of another file, which need not exist.
    ///
    /// # Errors
    /// As [`hard_link`](Self::hard_link).
    pub fn external_link(&mut self, path: &str, file: &str, target: &str) -> Result<&mut Self> {
        value::link_value("external link", &[file, target])?;
        self.link(path, Destination::External { file: file.into(), path: target.into() })
    }

    /// A link of a class of yours, 65 to 255, whose data only your program understands.
    ///
    /// # Errors
    /// As [`hard_link`](Self::hard_link); [`Error::Usage`](crate::Error::Usage) for another class or data of 64 KiB.
    pub fn user_link(&mut self, path: &str, class: u8, data: &[u8]) -> Result<&mut Self> {
        if class < 65 || data.len() > 65_000 {
            return Err(Error::usage("link", "has a class below 65, or data of 64 KiB"));
        }
        self.link(path, Destination::User { class, data: data.to_vec() })
    }

    fn link(&mut self, path: &str, to: Destination) -> Result<&mut Self> {
        let (group, name) = self.tree.parent(self.id, path)?;
        self.tree.link(group, &name, to)?;
        Ok(self)
    }

    /// Makes a datatype an object of its own.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the name is taken or none, or the file's bound has no such type.
    pub fn commit(&mut self, path: &str, datatype: &Datatype) -> Result<ObjectId> {
        let datatype = self.tree.datatype(datatype)?;
        self.tree.insert(self.id, path, Kind::Datatype(datatype))
    }
}
