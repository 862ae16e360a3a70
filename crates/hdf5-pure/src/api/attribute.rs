//! Attributes, which are small named arrays that belong to an object.

use sciformats_core::error::Within;
use sciformats_core::{Conversion, Error, Result};

use crate::api::file::File;
use crate::object::attributes::{Content, Found};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{CharacterSet, Datatype};
use crate::spec::{Address, Name};
use crate::value::canonical::Canonical;
use crate::value::element::{Element, Values};

/// An attribute of an object. If the attribute is damaged, only its name may be known, or not even that;
/// [`error`](Self::error) then tells why.
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// # let temperature = file.dataset("surface/temperature")?;
/// for attribute in temperature.attributes()? {
///     match attribute.error() {
///         None => assert_eq!(attribute.read::<String>()?, ["K"]),
///         Some(error) => println!("{:?}: {error}", attribute.name()),
///     }
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Attribute {
    file: File,
    name: Option<Name>,
    creation_order: Option<u32>,
    content: Result<Content>,
    conversion: Conversion,
}

impl Attribute {
    pub(crate) fn new(file: File, found: Found) -> Self {
        Self {
            file,
            name: found.name,
            creation_order: found.creation_order,
            content: found.content,
            conversion: Conversion::Exact,
        }
    }

    /// Returns the name, or `None` if the name itself cannot be read.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// Returns the address of the attribute's datatype if that is a committed datatype.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    /// use hdf5_pure::values::Committed;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.root().attribute("mean", Committed { datatype: kelvin, value: 281.5 })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.root()?.attribute("mean")?.committed()?.is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`datatype`](Self::datatype).
    pub fn committed(&self) -> Result<Option<Address>> {
        self.content().map(|content| content.committed)
    }

    /// Returns the character set of the name.
    ///
    /// # Errors
    /// Returns the errors of [`datatype`](Self::datatype).
    pub fn character_set(&self) -> Result<CharacterSet> {
        let utf8 = self.content()?.utf8;
        Ok(if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii })
    }

    /// Returns the position of this attribute in the order in which the object's attributes were created, if the file
    /// tracks it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_track_order(true))?;
    /// file.root().attribute("title", "a week in May")?.attribute("author", "north station")?;
    /// let mut attributes = File::from_bytes(file.into_bytes()?)?.root()?.attributes()?;
    /// attributes.sort_by_key(|attribute| attribute.creation_order());
    /// assert_eq!(attributes[0].read::<String>()?, ["a week in May"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn creation_order(&self) -> Option<u32> {
        self.creation_order
    }

    /// Returns the reason why the attribute cannot be read, or `None` if it can.
    pub fn error(&self) -> Option<&Error> {
        self.content.as_ref().err()
    }

    fn content(&self) -> Result<&Content> {
        self.content.as_ref().map_err(Clone::clone).within(self.file.path(), None)
    }

    /// Returns the datatype of the elements.
    ///
    /// ```
    /// use hdf5_pure::ElementType;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("units")?.datatype()?.element_type()?, ElementType::String);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of an attribute that cannot be read.
    pub fn datatype(&self) -> Result<&Datatype> {
        self.content().map(|content| &content.datatype)
    }

    /// Returns the dataspace, which holds the shape.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert!(temperature.attribute("units")?.dataspace()?.shape().is_empty()); // one element, no dimension
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of an attribute that cannot be read.
    pub fn dataspace(&self) -> Result<&Dataspace> {
        self.content().map(|content| &content.dataspace)
    }

    /// Returns the bytes of the elements as they are stored.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().attribute("year", 2026i32)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.root()?.attribute("year")?.raw()?, 2026i32.to_le_bytes());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of an attribute that cannot be read.
    pub fn raw(&self) -> Result<&[u8]> {
        self.content().map(|content| &content.data[..])
    }

    /// Returns the elements in a byte form that depends only on their values; see
    /// [`canonical`](crate::value::canonical).
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("units")?.canonical()?, [1, 0, 0, 0, 0, 0, 0, 0, b'K']); // length and text
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the attribute, or the data that its elements refer to, cannot be read.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        let content = self.content()?;
        Canonical::new(self.file.opened(), &content.datatype)?.convert(content.data.clone(), content.offset)
    }

    /// Returns the same attribute with another rule for converting its elements.
    ///
    /// ```
    /// use hdf5_pure::{Conversion, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().attribute("mean", 281.55)?;
    /// let mean = File::from_bytes(file.into_bytes()?)?.root()?.attribute("mean")?;
    /// assert_eq!(mean.read::<f32>().unwrap_err().to_string(), "element 0 is 281.55, which f32 cannot hold");
    /// assert_eq!(mean.with_conversion(Conversion::Lossy).read::<f32>()?, [281.55]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Reads all elements in C order. They are converted only where no value changes; see [`Element`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().attribute("valid range", [250.0, 320.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.root()?.attribute("valid range")?.read::<f32>()?, [250.0, 320.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Misfit`] with the first element that `T` cannot hold, [`Error::Usage`] if `T` cannot represent
    /// elements of this datatype, and the error of an attribute that cannot be read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        T::read(&self.values()?).within(self.file.path(), None)
    }

    pub(crate) fn values(&self) -> Result<Values<'_>> {
        let content = self.content()?;
        let values = Values::new(self.file.opened(), &content.datatype, &content.data, content.offset);
        Ok(values.with_conversion(self.conversion))
    }
}
