//! Objects of a file that is being edited, of any kind.

use sciformats_core::Result;

use crate::api::writer::value::{self, Value};
use crate::change::tree::Tree;
use crate::object::id::ObjectId;

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

    /// Returns the identifier of the object, for hard links and references.
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
    /// let temperature = file.object("surface/temperature")?.id();
    /// file.root().hard_link("main", temperature)?;
    /// file.commit()?;
    /// assert!(File::open(&path)?.dataset("main").is_ok());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Sets an attribute. An existing attribute of this name gets the new value.
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
    /// file.object("surface/temperature")?.attribute("units", "kelvin")?.attribute("height", 2.0)?;
    /// file.commit()?;
    /// let temperature = File::open(&path)?.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("units")?.read::<String>()?, ["kelvin"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the format cannot store the attribute, and `Malformed` if the
    /// object has attributes that cannot be read, because they would be lost.
    pub fn attribute(&mut self, name: &str, value: impl Value) -> Result<&mut Self> {
        let attribute = value::attribute(self.tree, name, value)?;
        self.tree.attribute(self.id, attribute)?;
        Ok(self)
    }

    /// Removes an attribute.
    ///
    /// ```
    /// use hdf5_pure::{Editor, Error, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.object("surface/temperature")?.remove_attribute("units")?;
    /// file.commit()?;
    /// let units = File::open(&path)?.dataset("surface/temperature")?.attribute("units");
    /// assert!(matches!(units, Err(Error::NotFound { .. })));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound), and the errors of [`attribute`](Self::attribute).
    pub fn remove_attribute(&mut self, name: &str) -> Result<&mut Self> {
        self.tree.remove_attribute(self.id, name)?;
        Ok(self)
    }

    /// Renames an attribute.
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
    /// file.object("surface/temperature")?.rename_attribute("units", "unit")?;
    /// file.commit()?;
    /// let temperature = File::open(&path)?.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("unit")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound), [`Error::Usage`](crate::Error::Usage) if the new name
    /// exists already or is not a valid name, and the errors of [`attribute`](Self::attribute).
    pub fn rename_attribute(&mut self, name: &str, to: &str) -> Result<&mut Self> {
        self.tree.rename_attribute(self.id, name, to)?;
        Ok(self)
    }

    /// Sets the comment of the object.
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
    /// file.object("surface/temperature")?.comment("two metres above the ground")?;
    /// file.commit()?;
    /// let file = File::open(&path)?;
    /// let info = file.object_info(file.dataset("surface/temperature")?.address())?;
    /// assert_eq!(info.comment, Some("two metres above the ground".into()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the text contains a NUL character.
    pub fn comment(&mut self, text: &str) -> Result<&mut Self> {
        self.tree.comment(self.id, text)?;
        Ok(self)
    }
}
