//! Groups of files that are being written.

use sciformats_core::{Error, Result};

use crate::api::named::{AsName, shown};
use crate::api::writer::dataset::DatasetBuilder;
use crate::api::writer::object::object_methods;
use crate::api::writer::value;
use crate::change::tree::{Kind, Tree};
use crate::group::members::Destination;
use crate::object::id::{Id, ObjectId};
use crate::spec::message::datatype::{CharacterSet, Datatype};

/// A group of a file that is being written.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let mut run = file.group("run")?;
/// run.attribute("number", 7)?.comment("the one that went well")?;
/// let position = run.dataset("position").shape([2, 3]).write(&[0.5f32; 6])?;
/// run.hard_link("latest", position)?.soft_link("first", "/run/position")?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.group("run")?.links()?.len(), 3);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct GroupWriter<'w> {
    tree: &'w mut Tree,
    id: Id,
}

impl std::fmt::Debug for GroupWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> GroupWriter<'w> {
    pub(crate) fn new(tree: &'w mut Tree, id: Id) -> Self {
        Self { tree, id }
    }

    pub(crate) fn into_group(self, path: &(impl AsName + ?Sized)) -> Result<Self> {
        let id = self.tree.group_at(self.id, path.name_bytes())?;
        Ok(Self { tree: self.tree, id })
    }

    object_methods!("group", r#"group("surface")"#, r#"group("surface")"#);

    /// Returns the group at `path`, relative to this group. Missing groups are created. A path that starts with `/`
    /// starts at the root.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut weather = file.group("weather")?;
    /// weather.group("surface")?.attribute("height", 2.0)?;
    /// weather.group("/other/place")?; // from the root
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.group("weather/surface").is_ok() && file.group("other/place").is_ok());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the path names something else.
    pub fn group(&mut self, path: &(impl AsName + ?Sized)) -> Result<GroupWriter<'_>> {
        GroupWriter { tree: self.tree, id: self.id }.into_group(path)
    }

    /// Starts a new dataset at `path`, relative to this group.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut surface = file.group("surface")?;
    /// surface.dataset("temperature").write(&[281.5, 282.0])?;
    /// surface.dataset("pressure").write(&[1013.0, 1012.5])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("surface/pressure")?.read::<f64>()?, [1013.0, 1012.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn dataset(&mut self, path: &(impl AsName + ?Sized)) -> DatasetBuilder<'_> {
        DatasetBuilder::new(self.tree, self.id, path)
    }

    /// Works like [`dataset`](Self::dataset), but consumes the group.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, DatasetBuilder, File, Result, Writer};
    ///
    /// fn prepare<'w>(file: &'w mut Writer, name: &str) -> Result<DatasetBuilder<'w>> {
    ///     Ok(file.group("surface")?.into_dataset(name).attribute("station", "north"))
    /// }
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// prepare(&mut file, "temperature")?.write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("surface/temperature")?.shape(), [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn into_dataset(self, path: &(impl AsName + ?Sized)) -> DatasetBuilder<'w> {
        DatasetBuilder::new(self.tree, self.id, path)
    }

    /// Removes the link at `path`. If this was the last hard link to an object, the object is removed too.
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
    /// file.group("surface")?.unlink("temperature")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.group("surface")?.links()?.len(), 0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound).
    pub fn unlink(&mut self, path: &(impl AsName + ?Sized)) -> Result<&mut Self> {
        self.tree.unlink(self.id, path.name_bytes())?;
        Ok(self)
    }

    /// Moves or renames the link at `path`. The object itself stays where it is.
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
    /// file.group("surface")?.move_link("temperature", "air temperature")?;
    /// file.commit()?;
    /// assert!(File::open(&path)?.dataset("surface/air temperature").is_ok());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound), and [`Error::Usage`](crate::Error::Usage) if the new name
    /// exists already or is not a valid name.
    pub fn move_link(
        &mut self,
        path: &(impl AsName + ?Sized),
        to: &(impl AsName + ?Sized),
    ) -> Result<&mut Self> {
        self.tree.move_link(self.id, path.name_bytes(), to.name_bytes())?;
        Ok(self)
    }

    /// Adds a hard link to an object, which gives it one more name.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("runs/7/temperature").write(&[281.5, 282.0])?;
    /// file.root().hard_link("latest", temperature)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("latest")?.address(), file.dataset("runs/7/temperature")?.address());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the name exists already or is not a valid name, or the object
    /// does not belong to this file.
    pub fn hard_link(&mut self, path: &(impl AsName + ?Sized), object: ObjectId) -> Result<&mut Self> {
        self.link(path, Destination::Object(self.tree.owner.find(object)?))
    }

    /// Adds a link to a path of this file, which need not exist.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().soft_link("latest", "/runs/7")?;
    /// file.dataset("runs/7/temperature").write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("latest/temperature")?.read::<f64>()?, [281.5, 282.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`hard_link`](Self::hard_link).
    pub fn soft_link(
        &mut self,
        path: &(impl AsName + ?Sized),
        target: &(impl AsName + ?Sized),
    ) -> Result<&mut Self> {
        let target = target.name_bytes();
        value::link_value("soft link", &[target])?;
        self.link(path, Destination::Soft(target.into()))
    }

    /// Adds a link to a path of another file, which need not exist.
    ///
    /// ```
    /// use hdf5_pure::structure::Target;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().external_link("monday", "monday.h5", "/surface/temperature")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let target = file.root()?.link("monday")?.map(|link| link.target);
    /// assert_eq!(target, Some(Target::External { file: "monday.h5".into(), path: "/surface/temperature".into() }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`hard_link`](Self::hard_link).
    pub fn external_link(
        &mut self,
        path: &(impl AsName + ?Sized),
        file: &(impl AsName + ?Sized),
        target: &(impl AsName + ?Sized),
    ) -> Result<&mut Self> {
        let (file, target) = (file.name_bytes(), target.name_bytes());
        value::link_value("external link", &[file, target])?;
        self.link(path, Destination::External { file: file.into(), path: target.into() })
    }

    /// Adds a user-defined link. Its class is a number from 65 to 255, and only your program understands its data.
    ///
    /// ```
    /// use hdf5_pure::structure::Target;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().user_link("archive", 200, b"shelf 7")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let target = file.root()?.link("archive")?.map(|link| link.target);
    /// assert_eq!(target, Some(Target::User { class: 200, data: b"shelf 7".to_vec() }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`hard_link`](Self::hard_link), and [`Error::Usage`](crate::Error::Usage) for another
    /// class or for data of 64 KiB or more.
    pub fn user_link(&mut self, path: &(impl AsName + ?Sized), class: u8, data: &[u8]) -> Result<&mut Self> {
        if class < 65 || data.len() > 65_000 {
            return Err(Error::usage(
                "link",
                "cannot be stored: a user-defined link has a class of at least 65 and less than 64 KiB of data",
            ));
        }
        self.link(path, Destination::User { class, data: data.to_vec() })
    }

    fn link(&mut self, path: &(impl AsName + ?Sized), to: Destination) -> Result<&mut Self> {
        let (group, name) = self.tree.parent(self.id, path.name_bytes())?;
        self.tree.link(group, name, to)?;
        Ok(self)
    }

    /// Sets the character set that is stored for the name of a link. By default it follows from the characters of the
    /// name. Groups with symbol tables do not store it.
    ///
    /// ```
    /// use hdf5_pure::structure::CharacterSet;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.root().link_character_set("temperature", CharacterSet::Utf8)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.root()?.link("temperature")?.map(|link| link.utf8), Some(true));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if there is no such link, and
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a link that an edited file already has.
    pub fn link_character_set(
        &mut self,
        name: &(impl AsName + ?Sized),
        characters: CharacterSet,
    ) -> Result<&mut Self> {
        let bytes = name.name_bytes();
        if self.tree.member(self.id, bytes)?.is_none() {
            return Err(crate::Error::usage(
                "name",
                format!("{:?} does not exist in the group", shown(name)),
            ));
        }
        if let Some(member) = self.tree.group_mut(self.id)?.get_mut(bytes)
            && member.message.is_none()
        {
            member.utf8 = Some(characters == CharacterSet::Utf8);
            return Ok(self);
        }
        Err(crate::Error::unsupported("changing the character set of a link that the file already has"))
    }

    /// Creates a committed datatype, which is an object of its own.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let particle = Datatype::compound([("mass", Datatype::float64()), ("charge", Datatype::signed(1))]);
    /// let particle = file.root().commit("particle", &particle)?;
    /// file.dataset("particles").committed(particle).shape([100]).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("particles")?.datatype().size, 9);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the name exists already or is not a valid name, or the bound of
    /// the file does not allow the datatype.
    pub fn commit(&mut self, path: &(impl AsName + ?Sized), datatype: &Datatype) -> Result<ObjectId> {
        let datatype = self.tree.checked(datatype)?;
        let id = self.tree.insert(self.id, path.name_bytes(), Kind::Datatype(datatype))?;
        Ok(self.tree.owner.name(id))
    }
}
