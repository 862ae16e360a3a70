//! Reads the value of an attribute as a type that the caller chooses, in one call.

use sciformats_core::error::Within;
use sciformats_core::{Error, Result};

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::file::{CommittedDatatype, File};
use crate::api::group::Group;
use crate::spec::Address;
use crate::value::element::Element;

/// A type as which the value of an attribute can be read. Any [`Element`] reads one value; `Vec<T>` reads all elements
/// in C order; `Vec<Vec<T>>` and `[[T; N]; M]` read two dimensions; `ndarray::Array<T, D>` reads any number of
/// dimensions and needs the feature `ndarray`.
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
    /// Reads the value of an attribute.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the attribute has another shape or type, [`Error::Misfit`] if `Self` cannot hold one
    /// of its elements, and any error of reading it.
    fn from_attribute(attribute: &Attribute) -> Result<Self>;
}

impl<T: Element> FromAttribute for T {
    fn from_attribute(attribute: &Attribute) -> Result<Self> {
        let shape = attribute.dataspace()?.extent();
        match shape {
            None if !T::LIST => Err(Error::usage(
                "value",
                "does not exist: the attribute has a null dataspace, which holds no elements",
            )),
            shape => T::of_shape(&attribute.values()?, shape.unwrap_or(&[0])),
        }
    }
}

#[cfg(feature = "ndarray")]
impl<T: Element, D: ndarray::Dimension> FromAttribute for ndarray::Array<T, D> {
    fn from_attribute(attribute: &Attribute) -> Result<Self> {
        let shape = attribute.dataspace()?.extent().unwrap_or(&[0]);
        sciformats_core::nd::array(attribute.read()?, shape)
    }
}

impl Attribute {
    /// Returns the value: one element, all elements, or an array, depending on the type that the caller chooses.
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
    /// Returns [`Error::Usage`] if the attribute has another shape or type, and the errors of [`read`](Self::read).
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
    /// Returns the value of the attribute `name` of the object at `address`, or `None` if the object has no such
    /// attribute.
    fn attr_at<T: FromAttribute>(&self, address: Address, name: &str) -> Result<Option<T>> {
        self.find_attribute(address, name.as_bytes())?.map(|attribute| attribute.value()).transpose()
    }
}

/// An object that can have attributes, given by its file and its address.
trait Holder {
    fn place(&self) -> (&File, Address);

    /// Returns the path by which the object was found, if it was found by one.
    fn found(&self) -> Option<&str> {
        None
    }
}

impl Holder for File {
    fn place(&self) -> (&File, Address) {
        (self, self.opened().root)
    }

    fn found(&self) -> Option<&str> {
        Some("/")
    }
}

impl Holder for Group {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }

    fn found(&self) -> Option<&str> {
        self.found_by()
    }
}

impl Holder for Dataset {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }

    fn found(&self) -> Option<&str> {
        self.found_by()
    }
}

impl Holder for CommittedDatatype {
    fn place(&self) -> (&File, Address) {
        (self.file(), self.address())
    }
}

/// Implements the same methods for every type that has attributes.
macro_rules! attributes {
    ($($holder:ty: $what:literal, $make:literal, $get:literal;)*) => {$(
        impl $holder {
            #[doc = concat!("Returns the value of the attribute `name` of ", $what, ", or `None` if there is none: one value,")]
            /// all elements, or an array, as [`FromAttribute`] explains.
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
            /// Returns [`Error::Usage`] if the attribute has another shape or type, [`Error::Misfit`] if the type cannot
            /// hold an element, and any error of reading it.
            pub fn attr<T: FromAttribute>(&self, name: &str) -> Result<Option<T>> {
                let (file, address) = self.place();
                file.attr_at(address, name).within(file.path(), self.found())
            }

            /// Works like [`attr`](Self::attr), but returns `default` if there is no attribute of this name.
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
            /// Returns the errors of [`attr`](Self::attr).
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
