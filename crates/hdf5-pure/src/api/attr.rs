//! Attributes as values of the caller's types, in one call.

use sciformats_core::{Error, Result};

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::file::{CommittedDatatype, File};
use crate::api::group::Group;
use crate::spec::Address;
use crate::value::element::Element;

/// What an attribute can be had as: any [`Element`] for one value, `Vec<T>` for all elements in a row, `Vec<Vec<T>>` and
/// `[[T; N]; M]` for those of two dimensions, and `ndarray::Array<T, D>` with the feature `ndarray`.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let mut root = file.root();
/// root.attribute("title", "a week in May")?.attribute("stations", ["north", "south"])?;
/// root.attribute("rotation", [[0, -1], [1, 0]])?;
/// let root = File::from_bytes(file.into_bytes()?)?.root()?;
/// assert_eq!(root.attr::<String>("title")?.as_deref(), Some("a week in May"));
/// assert_eq!(root.attr::<Vec<String>>("stations")?, Some(vec!["north".into(), "south".into()]));
/// assert_eq!(root.attr::<[[i32; 2]; 2]>("rotation")?, Some([[0, -1], [1, 0]]));
/// assert_eq!(root.attr::<Vec<f64>>("rotation")?, Some(vec![0.0, -1.0, 1.0, 0.0]));
/// assert_eq!(root.attr::<f64>("height")?, None);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait FromAttribute: Sized {
    /// The value of an attribute.
    ///
    /// # Errors
    /// [`Error::Usage`] if its shape or type is another one, [`Error::Misfit`] if the type cannot hold an element, and what
    /// reading meets.
    fn from_attribute(attribute: &Attribute) -> Result<Self>;
}

impl<T: Element> FromAttribute for T {
    fn from_attribute(attribute: &Attribute) -> Result<Self> {
        let shape = attribute.dataspace()?.shape();
        match shape {
            None if !T::LIST => Err(Error::usage("value", "is none: the attribute has only a type")),
            shape => T::of_shape(&attribute.values()?, shape.unwrap_or(&[0])),
        }
    }
}

#[cfg(feature = "ndarray")]
impl<T: Element, D: ndarray::Dimension> FromAttribute for ndarray::Array<T, D> {
    fn from_attribute(attribute: &Attribute) -> Result<Self> {
        let shape = attribute.dataspace()?.shape().unwrap_or(&[0]);
        crate::value::element_features::array(attribute.read()?, shape)
    }
}

impl Attribute {
    /// Its value: one element, all of them, or an array of its shape, as the type says.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().attribute("valid range", [250.0, 320.0])?;
    /// let range = File::from_bytes(file.into_bytes()?)?.root()?.attribute("valid range")?;
    /// assert_eq!(range.value::<[f32; 2]>()?, [250.0, 320.0]);
    /// assert!(range.value::<f32>().is_err()); // two
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if its shape or type is another one, and as [`read`](Self::read).
    pub fn value<T: FromAttribute>(&self) -> Result<T> {
        T::from_attribute(self).map_err(|error| match error {
            Error::Usage { argument, problem } => {
                let name = self.name().map_or_else(String::new, |name| format!("{:?}: ", name.to_text()));
                Error::usage("attribute", format!("{name}{argument} {problem}"))
            }
            other => other,
        })
    }
}

impl File {
    /// The value of an attribute of the object at `address`, if it has one of this name.
    fn attr_at<T: FromAttribute>(&self, address: Address, name: &str) -> Result<Option<T>> {
        self.find_attribute(address, name)?.map(|attribute| attribute.value()).transpose()
    }
}

/// What has attributes: the object at an address of a file.
trait Holder {
    fn place(&self) -> (&File, Address);
}

impl Holder for File {
    fn place(&self) -> (&File, Address) {
        (self, self.opened().root)
    }
}

impl Holder for Group {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }
}

impl Holder for Dataset {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }
}

impl Holder for CommittedDatatype {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }
}

/// The same methods for everything that has attributes.
macro_rules! attributes {
    ($($holder:ty: $what:literal, $make:literal, $get:literal;)*) => {$(
        impl $holder {
            #[doc = concat!("The value of an attribute of ", $what, ", if there is one of this name: one value, a `Vec` of")]
            /// all elements, or an array, as [`FromAttribute`] tells.
            ///
            /// ```
            /// use hdf5_pure::{CreateOptions, File, Writer};
            ///
            /// let mut file = Writer::in_memory(&CreateOptions::default())?;
            #[doc = $make]
            /// let file = File::from_bytes(file.into_bytes()?)?;
            #[doc = $get]
            /// assert_eq!(object.attr::<String>("units")?.as_deref(), Some("K"));
            /// assert_eq!(object.attr::<f64>("offset")?, None);
            /// # Ok::<(), hdf5_pure::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`Error::Usage`] if the attribute has another shape or type, [`Error::Misfit`] if the type cannot hold an
            /// element, and what reading meets.
            pub fn attr<T: FromAttribute>(&self, name: &str) -> Result<Option<T>> {
                let (file, address) = self.place();
                file.attr_at(address, name)
            }

            /// As [`attr`](Self::attr), with a value for where there is no attribute of this name.
            ///
            /// ```
            /// use hdf5_pure::{CreateOptions, File, Writer};
            ///
            /// let mut file = Writer::in_memory(&CreateOptions::default())?;
            #[doc = $make]
            /// let file = File::from_bytes(file.into_bytes()?)?;
            #[doc = $get]
            /// assert_eq!(object.attr_or("offset", 0.0)?, 0.0);
            /// # Ok::<(), hdf5_pure::Error>(())
            /// ```
            ///
            /// # Errors
            /// As [`attr`](Self::attr).
            pub fn attr_or<T: FromAttribute>(&self, name: &str, default: T) -> Result<T> {
                Ok(self.attr(name)?.unwrap_or(default))
            }
        }
    )*};
}
attributes! {
    File: "the root group", "file.root().attribute(\"units\", \"K\")?;", "let object = file;";
    Group: "the group",
        "file.group(\"surface\")?.attribute(\"units\", \"K\")?;",
        "let object = file.group(\"surface\")?;";
    Dataset: "the dataset",
        "file.dataset(\"t\").attribute(\"units\", \"K\").write(&[281.5])?;",
        "let object = file.dataset(\"t\")?;";
    CommittedDatatype: "the datatype",
        "let t = file.root().commit(\"t\", &hdf5_pure::Datatype::float32())?; file.attribute(t, \"units\", \"K\")?;",
        "let hdf5_pure::Node::Datatype(object) = file.object(\"t\")? else { return Ok(()) };";
}
