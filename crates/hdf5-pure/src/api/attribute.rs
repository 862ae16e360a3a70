//! Attributes: small named arrays of an object.

use sciformats_core::{Conversion, Error, Result};

use crate::api::file::File;
use crate::dataset::read::again;
use crate::object::attributes::{Content, Found};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{CharacterSet, Datatype};
use crate::spec::{Address, Name};
use crate::value::canonical::Canonical;
use crate::value::element::{Element, Values};

/// An attribute of an object. It may be broken: then its name is all that is known, or not even that.
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
#[derive(Debug)]
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

    /// Its name, unless that cannot be read.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// The address of its datatype, if that is a committed one.
    ///
    /// ```
    /// use hdf5_pure::{Committed, CreateOptions, Datatype, File, Writer};
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
    /// As [`datatype`](Self::datatype).
    pub fn committed(&self) -> Result<Option<Address>> {
        self.content().map(|content| content.committed)
    }

    /// The character set of its name.
    ///
    /// # Errors
    /// As [`datatype`](Self::datatype).
    pub fn character_set(&self) -> Result<CharacterSet> {
        let utf8 = self.content()?.utf8;
        Ok(if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii })
    }

    /// When it was created among the object's attributes, where that is tracked.
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

    /// What is wrong with it, if anything.
    pub fn error(&self) -> Option<&Error> {
        self.content.as_ref().err()
    }

    fn content(&self) -> Result<&Content> {
        self.content.as_ref().map_err(again)
    }

    /// What its elements are.
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
    /// What is wrong with it.
    pub fn datatype(&self) -> Result<&Datatype> {
        self.content().map(|content| &content.datatype)
    }

    /// Its shape.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("units")?.dataspace()?.shape(), Some(&[][..])); // one element, no dimension
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn dataspace(&self) -> Result<&Dataspace> {
        self.content().map(|content| &content.dataspace)
    }

    /// Its elements as they are stored.
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
    /// What is wrong with it.
    pub fn raw(&self) -> Result<&[u8]> {
        self.content().map(|content| &content.data[..])
    }

    /// Its elements by meaning only, see [`canonical`](crate::value::canonical).
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
    /// What is wrong with it, or with what its elements lead to.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        let content = self.content()?;
        Canonical::new(self.file.opened(), &content.datatype)?.convert(content.data.clone(), content.offset)
    }

    /// The same attribute, whose elements are converted otherwise when they are read as types.
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

    /// Its elements in C order, converted where no value changes; see [`Element`].
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
    /// [`Error::Misfit`] with the first element that `T` cannot hold; [`Error::Usage`] if `T` reads nothing of the kind; and
    /// what is wrong with it.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        T::read(&self.values()?)
    }

    pub(crate) fn values(&self) -> Result<Values<'_>> {
        let content = self.content()?;
        let values = Values::new(self.file.opened(), &content.datatype, &content.data, content.offset);
        Ok(values.with_conversion(self.conversion))
    }
}
