//! Objects of a file: groups, datasets and committed datatypes.

use sciformats_core::{Error, Result};

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::file::File;
use crate::api::group::Group;
use crate::object::header::Object;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::datatype::Datatype;

/// An object of a file.
///
/// ```
/// use hdf5_pure::Node;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// match file.object("surface/temperature")? {
///     Node::Group(group) => println!("a group of {} members", group.links()?.len()),
///     Node::Dataset(dataset) => assert_eq!(dataset.shape(), [2, 3]),
///     Node::Datatype(datatype) => println!("{:?}", datatype.datatype()?.element_type()?),
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Node {
    /// A group.
    Group(Group),
    /// A dataset.
    Dataset(Dataset),
    /// A committed datatype.
    Datatype(CommittedDatatype),
}

impl Node {
    /// Remembers the path by which the object was found, from the group with the path `base`. In another file, it has another.
    pub(crate) fn named(self, from: &File, base: Option<&str>, path: &str) -> Self {
        if !self.file().is_same(from) {
            return self;
        }
        let whole = match base {
            _ if path.starts_with('/') => path.to_owned(),
            Some(base) => format!("{}/{path}", base.trim_end_matches('/')),
            None => return self,
        };
        match self {
            Self::Group(group) => Self::Group(group.named(&whole)),
            Self::Dataset(dataset) => Self::Dataset(dataset.named(&whole)),
            Self::Datatype(datatype) => Self::Datatype(datatype),
        }
    }

    pub(crate) fn into_group(self, path: &str) -> Result<Group> {
        match self {
            Self::Group(group) => Ok(group),
            other => Err(other.is_not("a group", path)),
        }
    }

    fn is_not(&self, wanted: &'static str, path: &str) -> Error {
        let found = match self {
            Self::Group(_) => "a group",
            Self::Dataset(_) => "a dataset",
            Self::Datatype(_) => "a committed datatype",
        };
        Error::wrong_type(path, wanted, found)
    }

    pub(crate) fn into_dataset(self, path: &str) -> Result<Dataset> {
        match self {
            Self::Dataset(dataset) => Ok(dataset),
            other => Err(other.is_not("a dataset", path)),
        }
    }
}

/// A datatype that is an object of its own.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Node, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().commit("kelvin", &Datatype::float32())?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// if let Node::Datatype(kelvin) = file.object("kelvin")? {
///     assert_eq!(kelvin.datatype()?, Datatype::float32());
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommittedDatatype {
    file: File,
    address: Address,
}

impl CommittedDatatype {
    pub(super) fn new(file: File, address: Address) -> Self {
        Self { file, address }
    }

    /// Returns the address of the object header.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Returns the file that holds the datatype.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the datatype.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Node, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().commit("counts", &Datatype::unsigned(2))?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// if let Node::Datatype(counts) = file.object("counts")? {
    ///     assert_eq!(counts.datatype()?.size, 2);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub fn datatype(&self) -> Result<Datatype> {
        let context = &self.file.opened().context;
        let object = Object::read(context, self.address)?;
        let datatype = object.parse(context, MessageType::Datatype, Datatype::parse)?;
        datatype.ok_or_else(|| {
            object.missing(context, "lacks the datatype message that a committed datatype needs")
        })
    }

    /// Returns all attributes, as [`File::attributes_at`] does.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Node, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.attribute(kelvin, "symbol", "K")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// if let Node::Datatype(kelvin) = file.object("kelvin")? {
    ///     assert_eq!(kelvin.attributes()?[0].read::<String>()?, ["K"]);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address)
    }
}
