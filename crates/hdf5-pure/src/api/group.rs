//! Groups, which hold links to objects by name.

use std::sync::Arc;

use sciformats_core::Result;
use sciformats_core::error::Within;

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::file::{File, Node};
use crate::api::named::{AsName, shown};
use crate::group::links::{self, BrokenLink};
use crate::object::header::Object;
use crate::spec::Address;
use crate::spec::message::link::Link;

/// A group of an open file.
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let surface = file.group("surface")?;
/// for link in surface.links()?.into_iter().flatten() {
///     assert_eq!(link.name.to_text(), "temperature");
/// }
/// assert_eq!(surface.dataset("temperature")?.read::<f64>()?.len(), 6);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group {
    file: File,
    address: Address,
    /// The path by which it was found, for errors.
    path: Option<Arc<str>>,
}

impl Group {
    pub(crate) fn new(file: File, address: Address) -> Self {
        Self { file, address, path: None }
    }

    /// Remembers the path by which the group was found.
    pub(crate) fn named(self, path: &str) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Returns the path by which it was found, if it was found by one.
    pub(crate) fn found_by(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn within<T>(&self, result: Result<T>) -> Result<T> {
        result.within(self.file.path(), self.found_by())
    }

    /// Returns the address of the object header.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Returns the file that holds the group.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns all links in byte order of their names. Links that cannot be read come last, as errors.
    ///
    /// ```
    /// use hdf5_pure::structure::Target;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// for link in file.group("surface")?.links()? {
    ///     match link {
    ///         Ok(link) => assert!(matches!(link.target, Target::Hard(_))),
    ///         Err(broken) => println!("{:?}: {}", broken.name, broken.error),
    ///     }
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the group itself cannot be read.
    pub fn links(&self) -> Result<Vec<Result<Link, BrokenLink>>> {
        let context = &self.file.opened().context;
        let read = || links::all(context, &Object::read(context, self.address)?);
        let all = self.file.opened().attempts(read);
        Ok(links::sorted(self.within(all)?))
    }

    /// Returns the link `name`, or `None` if there is no such link. It is found without listing the group.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let surface = file.group("surface")?;
    /// assert!(surface.link("temperature")?.is_some());
    /// assert_eq!(surface.link("wind")?, None);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if a structure on the way to the link cannot be read.
    pub fn link(&self, name: &(impl AsName + ?Sized)) -> Result<Option<Link>> {
        let context = &self.file.opened().context;
        let find = || links::find(context, &Object::read(context, self.address)?, name.name_bytes());
        self.within(self.file.opened().attempts(find))
    }

    /// Returns the object at `path`, relative to this group. It is found as in [`File::object`].
    ///
    /// ```
    /// use hdf5_pure::Node;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let surface = file.group("surface")?;
    /// assert!(matches!(surface.object("temperature")?, Node::Dataset(_)));
    /// assert!(matches!(surface.object("/")?, Node::Group(_))); // from the root
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::object`].
    pub fn object(&self, path: &(impl AsName + ?Sized)) -> Result<Node> {
        let found = self.within(self.file.follow(self.address, path.name_bytes(), 0))?;
        Ok(found.named(&self.file, self.found_by(), &shown(path)))
    }

    /// Returns the group at `path`, relative to this group.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let surface = file.root()?.group("surface")?;
    /// assert_eq!(surface.address(), file.group("/surface")?.address());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::group`].
    pub fn group(&self, path: &(impl AsName + ?Sized)) -> Result<Self> {
        self.object(path)?.into_group(&shown(path))
    }

    /// Returns the dataset at `path`, relative to this group.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let temperature = file.group("surface")?.dataset("temperature")?;
    /// assert_eq!(temperature.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::dataset`].
    pub fn dataset(&self, path: &(impl AsName + ?Sized)) -> Result<Dataset> {
        self.object(path)?.into_dataset(&shown(path))
    }

    /// Returns all attributes, as [`File::attributes_at`] does.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// for attribute in file.root()?.attributes()? {
    ///     let Some(name) = attribute.name() else { continue };
    ///     assert_eq!(name.to_text(), "title");
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address)
    }

    /// Returns the attribute `name`.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert_eq!(file.root()?.attribute("title")?.read::<String>()?, ["a week in May"]);
    /// assert!(file.root()?.attribute("author").is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::attribute_at`].
    pub fn attribute(&self, name: &(impl AsName + ?Sized)) -> Result<Attribute> {
        self.within(self.file.attribute_at(self.address, name))
    }
}
