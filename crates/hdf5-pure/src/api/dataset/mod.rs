//! Datasets: their shape and datatype, and reading all or some of their elements.

mod chunk_values;
mod chunks;
mod elements;
mod fields;
mod pieces;
mod selection;
mod slice;
mod storage;

pub(crate) use chunk_values::part_of_chunk;

use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::{Conversion, Error, Result, Slab};

use crate::api::attribute::Attribute;
use crate::api::file::File;
use crate::api::named::AsName;
use crate::chunk::places::Places;
use crate::dataset::read::{self, Content};
use crate::dataset::virtual_layout::{self, Nesting};
use crate::object::header::Object;
use crate::spec::Address;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::layout::Layout;
use crate::value::element::{Element, Values};

/// A dataset of an open file.
///
/// ```
/// use hdf5_pure::{ElementType, Range, Slab};
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let temperature = file.dataset("surface/temperature")?;
/// assert_eq!(temperature.shape(), [2, 3]);
/// assert_eq!(temperature.datatype().element_type()?, ElementType::Float(8));
/// assert_eq!(temperature.attribute("units")?.read::<String>()?, ["K"]);
/// let column = Slab::new(&[2, 3], [Range::all(2), Range::new(1, 1)])?;
/// assert_eq!(temperature.read_slab::<f64>(&column)?, [282.0, 280.5]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    file: File,
    /// The path by which it was found, for errors.
    path: Option<Arc<str>>,
    content: Arc<Content>,
    conversion: Conversion,
}

impl Dataset {
    pub(crate) fn open(file: File, object: &Object<'_>) -> Result<Self> {
        let mut content = read::content(file.opened(), object)?;
        // If the sources cannot be asked for their shapes, the stored shape is kept. Reading the elements will report
        // the same error.
        if let Err(error) = virtual_layout::update(file.opened(), &mut content, &Nesting::default()) {
            content.unsized_because = Some(error.clone());
            content.storage = Err(error);
        }
        // If a read costs a round trip, the nodes of an index are kept, and those that are not wanted are not fetched.
        if file.opened().unchanging && file.opened().context.storage.read_ahead() == 0 {
            content.places = Some(Places::default());
        }
        Ok(Self { file, path: None, content: Arc::new(content), conversion: Conversion::Exact })
    }

    /// Remembers the path by which the dataset was found.
    pub(crate) fn named(self, path: &str) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Returns the path by which it was found, if it was found by one.
    pub(crate) fn found_by(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Adds the file and the path to an error.
    pub(crate) fn within<T>(&self, result: Result<T>) -> Result<T> {
        result.within(self.file.path(), self.found_by())
    }

    /// Returns the address of the object header.
    pub fn address(&self) -> Address {
        self.content.address
    }

    /// Returns the file that holds the dataset.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the dataspace: the shape, and the maximum shape.
    pub fn dataspace(&self) -> &Dataspace {
        &self.content.dataspace
    }

    /// Returns the length of each dimension, the slowest-varying first. The list is empty for a single element, and for
    /// a null dataspace, which [`is_null`](Self::is_null) tells apart.
    pub fn shape(&self) -> &[u64] {
        self.content.dataspace.shape()
    }

    /// Returns the shape that the file stores. It differs from [`shape`](Self::shape) in a virtual dataset whose sources have changed.
    ///
    /// ```
    /// use hdf5_pure::structure::{Mapping, Regular, Selection};
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("run").write(&[0.5, 0.25, 0.125])?;
    /// let all = Selection::Regular(vec![Regular { start: 0, stride: 1, count: Some(1), block: None }]);
    /// let mapping = Mapping { file: ".".into(), dataset: "run".into(), source: all.clone(), target: all };
    /// file.dataset("live").shape([0]).max_shape([None]).map_selection(mapping).create::<f64>()?;
    /// let live = File::from_bytes(file.into_bytes()?)?.dataset("live")?;
    /// assert_eq!((live.shape(), live.stored_shape()), (&[3][..], &[0][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn stored_shape(&self) -> &[u64] {
        self.content.stored_shape.as_deref().unwrap_or_else(|| self.shape())
    }

    /// Fails if the shape of a virtual dataset follows from sources that cannot be asked. [`shape`](Self::shape) is then what the
    /// file stores, or what follows from the other sources if missing ones are accepted.
    ///
    /// ```
    /// use hdf5_pure::structure::{Mapping, Regular, Selection};
    /// use hdf5_pure::{CreateOptions, Error, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let all = Selection::Regular(vec![Regular { start: 0, stride: 1, count: Some(1), block: None }]);
    /// let mapping = Mapping { file: ".".into(), dataset: "gone".into(), source: all.clone(), target: all };
    /// file.dataset("live").rows([]).map_selection(mapping).create::<f64>()?;
    /// let live = File::from_bytes(file.into_bytes()?)?.dataset("live")?;
    /// assert_eq!(live.shape(), [0]);
    /// assert!(matches!(live.check_shape(), Err(Error::Missing { .. })));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Missing`](crate::Error::Missing) if a source does not exist, whatever
    /// [`MissingSources`](crate::options::MissingSources) is set, [`Error::Forbidden`](crate::Error::Forbidden) if it may not be
    /// opened, and the errors of reading it.
    pub fn check_shape(&self) -> Result<()> {
        self.within(self.content.unsized_because.clone().map_or(Ok(()), Err))
    }

    /// Returns whether the dataset has a null dataspace: it has a datatype, but neither a shape nor elements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("none").datatype(Datatype::float64()).write_null()?;
    /// file.dataset("empty").write::<f64>(&[])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.dataset("none")?.is_null() && !file.dataset("empty")?.is_null());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn is_null(&self) -> bool {
        self.content.dataspace.is_null()
    }

    /// Returns the datatype of the elements.
    pub fn datatype(&self) -> &Datatype {
        &self.content.datatype
    }

    /// Returns all attributes, as [`File::attributes_at`] does.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// for attribute in temperature.attributes()? {
    ///     let Some(name) = attribute.name() else { continue };
    ///     assert_eq!((name.to_text().as_ref(), attribute.read::<String>()?), ("units", vec!["K".to_owned()]));
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address())
    }

    /// Returns the attribute `name`.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.attribute("units")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`File::attribute_at`].
    pub fn attribute(&self, name: &(impl AsName + ?Sized)) -> Result<Attribute> {
        self.within(self.file.attribute_at(self.address(), name))
    }

    /// Returns the slab that selects all elements.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// for piece in temperature.all()?.pieces(3) {
    ///     assert_eq!(temperature.read_slab::<f32>(&piece)?.len(), 3); // a row
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] for a null dataspace, which has no elements.
    pub fn all(&self) -> Result<Slab> {
        Slab::all(
            self.dataspace()
                .extent()
                .ok_or_else(|| Error::usage("dataset", "has a null dataspace, which holds no elements"))?,
        )
    }

    fn element_size(&self) -> u64 {
        self.content.datatype.size.into()
    }

    /// Returns the offset at which faults in elements are reported.
    fn data_offset(&self) -> u64 {
        let context = &self.file.opened().context;
        match self.layout() {
            Ok(Layout::Contiguous { address: Some(at) }) => context.offset(*at),
            _ => context.offset(self.content.address),
        }
    }

    /// Returns the same dataset with another rule for converting elements. It applies to all methods that take an
    /// [`Element`] type.
    ///
    /// ```
    /// use hdf5_pure::{Conversion, CreateOptions, Error, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").write(&[20.0, 300.5])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert!(matches!(counts.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// let lossy = counts.clone().with_conversion(Conversion::Lossy); // as the C library converts
    /// assert_eq!(lossy.read::<u8>()?, [20, 255]);
    /// let stored = counts.with_conversion(Conversion::None);
    /// assert!(stored.read::<f64>().is_ok() && stored.read::<f32>().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    pub(crate) fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// Converts elements of the type `datatype` to `T`.
    fn typed<T: Element>(&self, datatype: &Datatype, raw: &[u8]) -> Result<Vec<T>> {
        self.within(T::read(&self.values(datatype, raw)))
    }

    /// Returns elements of the type `datatype` in their stored form, with what is needed to convert them.
    fn values<'a>(&'a self, datatype: &'a Datatype, raw: &'a [u8]) -> Values<'a> {
        Values::new(self.file.opened(), datatype, raw, self.data_offset()).with_conversion(self.conversion)
    }
}
