//! Objects of a file that is edited, whatever they are.

use sciformats_core::Result;

use crate::model::write::tree::{ObjectId, Tree};
use crate::writer::value::{self, Value};

/// An object of a file that is edited: a group, a dataset or a committed datatype.
pub struct ObjectWriter<'w> {
    tree: &'w mut Tree,
    id: ObjectId,
}

impl std::fmt::Debug for ObjectWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> ObjectWriter<'w> {
    pub(super) fn new(tree: &'w mut Tree, id: ObjectId) -> Self {
        Self { tree, id }
    }

    /// The object, for hard links and references.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Gives the object an attribute; one of that name gets the new value.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the format has no place for it; `Malformed` if the object has attributes that
    /// cannot be read, which would be lost.
    pub fn attribute(&mut self, name: &str, value: impl Value) -> Result<&mut Self> {
        let attribute = value::attribute(self.tree, name, value)?;
        self.tree.attribute(self.id, attribute)?;
        Ok(self)
    }

    /// Takes an attribute out.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), and as [`attribute`](Self::attribute).
    pub fn remove_attribute(&mut self, name: &str) -> Result<&mut Self> {
        self.tree.remove_attribute(self.id, name)?;
        Ok(self)
    }

    /// Gives an attribute another name.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), [`Error::Usage`](crate::Error::Usage) if the new name is taken or none, and
    /// as [`attribute`](Self::attribute).
    pub fn rename_attribute(&mut self, name: &str, to: &str) -> Result<&mut Self> {
        self.tree.rename_attribute(self.id, name, to)?;
        Ok(self)
    }

    /// Gives the object a comment.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if it holds a NUL.
    pub fn comment(&mut self, text: &str) -> Result<&mut Self> {
        self.tree.comment(self.id, text)?;
        Ok(self)
    }
}
