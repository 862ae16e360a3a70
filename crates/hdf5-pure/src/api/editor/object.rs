//! Objects of a file that is being edited, of any kind.

use sciformats_core::{Error, Result};

use crate::api::editor::Editor;
use crate::api::named::AsName;
use crate::api::writer::object_methods;
use crate::change::tree::Tree;
use crate::object::id::Id;

impl Editor {
    /// Returns whether there is a link at `path`, with all pending changes. Its target need not exist.
    ///
    /// ```
    /// use hdf5_pure::Editor;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.root().soft_link("main", "/not/yet/there")?;
    /// assert!(file.has_link("main")? && file.has_link("surface/temperature")?);
    /// assert!(!file.has_link("surface/pressure")? && !file.has_link("soil/temperature")?);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the path leads through an object that is not a group, or to another file, and any
    /// error of reading groups.
    pub fn has_link(&mut self, path: &(impl AsName + ?Sized)) -> Result<bool> {
        let (group, name) = match self.tree.holder(Id::ROOT, path.name_bytes()) {
            Err(Error::NotFound { .. }) => return Ok(false),
            found => found?,
        };
        Ok(self.tree.member(group, name)?.is_some())
    }
}

/// An object of a file that is being edited: a group, a dataset or a committed datatype.
///
/// ```
/// use hdf5_pure::{Editor, File};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// let mut file = Editor::open(&path)?;
/// let mut temperature = file.object("surface/temperature")?;
/// temperature.attribute("height", 2.0)?.remove_attribute("units")?.comment("air, two metres above the ground")?;
/// file.commit()?;
/// let temperature = File::open(&path)?.dataset("surface/temperature")?;
/// assert_eq!(temperature.attribute("height")?.read::<f64>()?, [2.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct ObjectWriter<'w> {
    tree: &'w mut Tree,
    id: Id,
}

impl std::fmt::Debug for ObjectWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> ObjectWriter<'w> {
    pub(super) fn new(tree: &'w mut Tree, id: Id) -> Self {
        Self { tree, id }
    }

    object_methods!("object", r#"object("surface/temperature")"#, r#"dataset("surface/temperature")"#);
}
