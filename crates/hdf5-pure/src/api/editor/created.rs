//! What new objects of an edited file say about themselves, for copies of objects of other files.

use sciformats_core::Result;

use crate::api::editor::Editor;
use crate::api::named::AsName;
use crate::change::tree::Kind;
use crate::object::creation::CreationProperties;
use crate::object::id::ObjectId;
use crate::spec::message::datatype::Datatype;

impl Editor {
    /// Creates a committed datatype to which no link leads yet. Without a link, it stays in the file as long as a
    /// dataset or an attribute uses it.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, Editor, File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// Writer::create(&path)?.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let kelvin = file.commit_unlinked(&Datatype::float32())?;
    /// file.dataset("temperature").committed(kelvin).shape([2]).create_encoded()?;
    /// file.commit()?;
    /// assert!(File::open(&path)?.dataset("temperature")?.committed()?.is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the bound of the file does not allow the datatype.
    pub fn commit_unlinked(&mut self, datatype: &Datatype) -> Result<ObjectId> {
        let datatype = self.tree.checked(datatype)?;
        let id = self.tree.add(Kind::Datatype(datatype), None)?;
        Ok(self.tree.owner.name(id))
    }

    /// Sets the creation properties of an object that was created since the last [`commit`](Self::commit).
    ///
    /// ```
    /// use hdf5_pure::structure::CreationOrder;
    /// use hdf5_pure::{CreateOptions, Editor, File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let ordered = Writer::in_memory(&CreateOptions::default().with_track_order(true))?;
    /// let ordered = File::from_bytes(ordered.into_bytes()?)?;
    /// let properties = ordered.creation_properties(ordered.root()?.address())?;
    ///
    /// Writer::create(&path)?.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let days = file.group("days")?.id();
    /// file.creation_properties(days, &properties)?;
    /// file.commit()?;
    /// let file = File::open(&path)?;
    /// let found = file.creation_properties(file.group("days")?.address())?;
    /// assert_eq!(found.attribute_order, CreationOrder::Indexed);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the object is not new, or if the properties contradict each other.
    pub fn creation_properties(&mut self, object: ObjectId, properties: &CreationProperties) -> Result<()> {
        self.tree.set_properties(self.tree.owner.find(object)?, properties)
    }

    /// Sets the comment of an object. An empty text removes it.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut made = Writer::create(&path)?;
    /// made.dataset("temperature").write(&[281.5, 282.0])?;
    /// made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let temperature = file.id("temperature")?;
    /// file.comment(temperature, "two metres above the ground")?;
    /// file.commit()?;
    /// let file = File::open(&path)?;
    /// let info = file.object_info(file.dataset("temperature")?.address())?;
    /// assert_eq!(info.comment, Some("two metres above the ground".into()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the object does not belong to this file, or the comment contains a NUL
    /// character or is too long for an object header.
    pub fn comment(&mut self, object: ObjectId, text: &(impl AsName + ?Sized)) -> Result<()> {
        self.tree.comment(self.tree.owner.find(object)?, text.name_bytes())
    }
}
