//! Datasets: their shape and datatype, and reading all or some of their elements.

mod chunk_values;
mod chunks;
mod fields;
mod pieces;
mod selection;
mod slice;

pub(crate) use chunk_values::part_of_chunk;

use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::storage::zeroed;
use sciformats_core::{Conversion, Error, Result, Slab, bound};

use crate::api::attribute::Attribute;
use crate::api::file::File;
use crate::api::named::AsName;
use crate::chunk::places::Places;
use crate::dataset::external;
use crate::dataset::read::{self, Content, Reader};
use crate::dataset::virtual_layout::{self, Nesting};
use crate::object::header::Object;
use crate::object::shared;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::Layout;
use crate::spec::virtual_mapping::Mapping;
use crate::spec::{Address, Name};
use crate::value::canonical::Canonical;
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

    /// Returns where and how the elements are stored.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert!(matches!(temperature.layout()?, Layout::Contiguous { address: Some(_) }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn layout(&self) -> Result<&Layout> {
        self.within(self.content.storage().map(|storage| &storage.layout))
    }

    /// Returns the filters of the chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).shuffle().lzf().write(&[7u16; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let numbers: Vec<u16> = file.dataset("counts")?.filters()?.filters.iter().map(|filter| filter.id).collect();
    /// assert_eq!(numbers, [2, 32000]); // shuffle, LZF
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn filters(&self) -> Result<&Pipeline> {
        self.within(self.content.storage().map(|storage| &storage.pipeline))
    }

    /// Returns the value of elements that were never written.
    ///
    /// ```
    /// use hdf5_pure::structure::Fill;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([4]).fill(-1i16).create::<i16>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.fill_value()?.value, Fill::Value(vec![255, 255]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn fill_value(&self) -> Result<&FillValue> {
        self.within(self.content.storage().map(|storage| &storage.fill))
    }

    /// Returns the address of the dataset's datatype if that is a committed datatype.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.dataset("temperature").committed(kelvin).shape([2]).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.dataset("temperature")?.committed()?.is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the object header cannot be read.
    pub fn committed(&self) -> Result<Option<Address>> {
        let context = &self.file.opened().context;
        let object = Object::read(context, self.address())?;
        let message = object.find(MessageType::Datatype).filter(|message| message.is_shared());
        message.map_or(Ok(None), |message| shared::committed(context, message.offset, object.body(message)))
    }

    /// Returns the external files that hold the elements one after another. Each item has the name of the file, the
    /// offset of the first byte in it, and the number of bytes it holds; `None` means all remaining bytes. The list is
    /// empty if the dataset stores its elements in this file.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).external([("frames.raw", 0, Some(8))]).create::<u8>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("frames")?.external_files()?, [("frames.raw".into(), 0, Some(8))]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the list of external files is damaged.
    pub fn external_files(&self) -> Result<Vec<(Name, u64, Option<u64>)>> {
        match &self.content.storage()?.external {
            Some(files) => external::list(&self.file.opened().context, files),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the value of elements that were never written, in the form that [`canonical`](crate::value::canonical)
    /// describes, or `None` if the file does not store one.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let counts = file.dataset("counts").datatype(Datatype::integer(false, 2).big_endian()).shape([4]);
    /// counts.fill(7u16).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.fill_canonical()?, Some(vec![7, 0]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the fill value, or the data it refers to, cannot be read.
    pub fn fill_canonical(&self) -> Result<Option<Vec<u8>>> {
        match &self.fill_value()?.value {
            Fill::Value(raw) => {
                let convert = Canonical::new(self.file.opened(), &self.content.datatype)?;
                convert.convert(raw.clone(), self.data_offset()).map(Some)
            }
            Fill::Default | Fill::Undefined => Ok(None),
        }
    }

    /// Returns the mappings of a virtual dataset, which tell where its elements come from. The list is empty for other
    /// datasets.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let all = Slab::all(&[24])?;
    /// file.dataset("week").shape([24]).map("monday.h5", "/temperature", &all, &all).create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("week")?.mappings()?[0].file.to_text(), "monday.h5");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the mappings are damaged.
    pub fn mappings(&self) -> Result<Vec<Mapping>> {
        match *self.layout()? {
            Layout::Virtual(id) => virtual_layout::mappings(self.file.opened(), id),
            _ => Ok(Vec::new()),
        }
    }

    /// Checks that the other files and datasets that hold the elements of this dataset exist and may be opened. No elements are
    /// read.
    ///
    /// ```
    /// use hdf5_pure::options::MissingSources;
    /// use hdf5_pure::{CreateOptions, File, OpenOptions, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("monday").write(&[1.0f32; 24])?;
    /// let all = Slab::all(&[24])?;
    /// file.dataset("week").shape([24]).map(".", "/monday", &all, &all).create::<f32>()?;
    /// file.dataset("year").shape([24]).map(".", "/tuesday", &all, &all).create::<f32>()?;
    /// let options = OpenOptions::default().with_missing(MissingSources::Refused);
    /// let file = File::from_storage(file.into_bytes()?, &options)?;
    /// assert!(file.dataset("week")?.check_elsewhere().is_ok());
    /// assert!(file.dataset("year")?.check_elsewhere().is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Missing`] if one of them does not exist and
    /// [`MissingSources::Refused`](crate::options::MissingSources::Refused) is set, and [`Error::Forbidden`] if one may not be
    /// opened.
    pub fn check_elsewhere(&self) -> Result<()> {
        external::reach(self.file.opened(), &self.content)?;
        virtual_layout::reach(self.file.opened(), &self.content, &Nesting::default())
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

    /// Returns the number of bytes that the elements of `slab` take in their stored form.
    fn raw_size(&self, slab: &Slab) -> Result<usize> {
        if Some(slab.of()) != self.dataspace().extent() {
            return Err(Error::usage("slab", "was made for an array of another shape than the dataset's"));
        }
        let bytes = bound::product(slab.len(), self.element_size());
        self.within(self.file.opened().context.limits.memory("bytes of the selection", bytes))
    }

    /// Reads the selected elements in C order and returns their bytes as they are stored.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::integer(false, 2).big_endian()).write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.read_raw(&counts.all()?)?, [0, 1, 2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed`, `Unsupported` (for a filter), `LimitExceeded` or `Io`, and [`Error::Usage`] if the slab was
    /// made for another shape.
    pub fn read_raw(&self, slab: &Slab) -> Result<Vec<u8>> {
        let mut out = zeroed(self.raw_size(slab)?)?;
        self.read_raw_into(slab, &mut out)?;
        Ok(out)
    }

    /// Works like [`read_raw`](Self::read_raw), but fills a buffer, which must have exactly as many bytes as the
    /// selection.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// let mut bytes = [0; 48];
    /// temperature.read_raw_into(&temperature.all()?, &mut bytes)?;
    /// assert_eq!(bytes[..8], 281.5f64.to_le_bytes());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw).
    pub fn read_raw_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if self.raw_size(slab)? != out.len() {
            return Err(Error::usage("out", "must have as many bytes as the selection"));
        }
        let opened = self.file.opened();
        let reader = Reader::new(opened, &self.content, opened.threads());
        self.within(opened.attempts(|| reader.read(slab, out)))
    }

    /// Reads the selected elements in a byte form that depends only on their values; see
    /// [`canonical`](crate::value::canonical).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::integer(false, 2).big_endian()).write(&[1u16, 515])?;
    /// file.dataset("names").write(&["K"])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let canonical = |name| file.dataset(name).and_then(|dataset| dataset.read_canonical(&dataset.all()?));
    /// assert_eq!(canonical("counts")?, [1, 0, 3, 2]); // little-endian
    /// assert_eq!(canonical("names")?, [1, 0, 0, 0, 0, 0, 0, 0, b'K']); // length and text
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), and an error if the data that the elements refer to cannot
    /// be read.
    pub fn read_canonical(&self, slab: &Slab) -> Result<Vec<u8>> {
        let raw = self.read_raw(slab)?;
        let canonical = Canonical::new(self.file.opened(), &self.content.datatype);
        self.within(canonical.and_then(|canonical| canonical.convert(raw, self.data_offset())))
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

    /// Reads all elements in C order. They are converted only where no value changes; see [`Element`].
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("weather.h5")?;
    /// let temperatures: Vec<f32> = file.dataset("/t")?.read()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), [`Error::Misfit`] with the first element that `T` cannot
    /// hold, and [`Error::Usage`] if `T` cannot represent elements of this datatype.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        match self.dataspace().extent() {
            None => Ok(Vec::new()),
            Some(shape) => self.read_slab(&Slab::all(shape)?),
        }
    }

    /// Reads the selected elements in C order.
    ///
    /// ```
    /// use hdf5_pure::{Range, Slab};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// let shape = temperature.shape();
    /// let second_row = Slab::new(shape, [Range::new(1, 1), Range::all(3)])?;
    /// assert_eq!(temperature.read_slab::<f32>(&second_row)?, [280.0, 280.5, 281.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let len = self.raw_size(slab)? / size_of::<T>().max(1);
        if let Some(read) = T::read_direct(self.datatype(), len, &mut |out| self.read_raw_into(slab, out)) {
            return self.within(read);
        }
        self.convert(slab)
    }

    /// Works like [`read_slab`](Self::read_slab), but fills a buffer, which must have as many elements as the
    /// selection.
    ///
    /// ```no_run
    /// use hdf5_pure::{File, Range, Slab};
    ///
    /// let frames = File::open("movie.h5")?.dataset("/frames")?;
    /// let mut frame = vec![0.0f32; 512 * 512];
    /// for i in 0..100 {
    ///     let range = [Range::new(i, 1), Range::all(512), Range::all(512)];
    ///     frames.read_slab_into(&Slab::new(&[100, 512, 512], range)?, &mut frame)?;
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::Usage`] if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        if usize::try_from(slab.len()) != Ok(out.len()) {
            return Err(Error::usage("out", "must have as many elements as the selection"));
        }
        match T::bytes_of(self.datatype(), out) {
            Some(bytes) => self.read_raw_into(slab, bytes),
            None => self.convert_into(slab, out),
        }
    }

    /// Returns the bytes of all elements if they are contiguous and the file is in memory.
    fn bytes(&self) -> Option<&[u8]> {
        let storage = self.content.storage().ok()?;
        let Layout::Contiguous { address: Some(at) } = storage.layout else { return None };
        if storage.external.is_some() {
            return None;
        }
        let context = &self.file.opened().context;
        let start = usize::try_from(context.offset(at)).ok()?;
        let bytes = self.content.dataspace.elements()?.checked_mul(self.element_size())?;
        context.storage.as_slice()?.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// Reads single elements in the given order. Each point has one coordinate per dimension.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.read_points::<f64>(&[vec![1, 2], vec![0, 0]])?, [281.0, 281.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_points<T: Element>(&self, points: &[Vec<u64>]) -> Result<Vec<T>> {
        let shape = self.shape();
        let size = bound::addressable(self.element_size());
        let mut raw = zeroed(bound::product(points.len(), size))?;
        for (point, out) in points.iter().zip(raw.chunks_exact_mut(size.max(1))) {
            let ranges: Vec<_> = point.iter().map(|&at| sciformats_core::Range::new(at, 1)).collect();
            self.read_raw_into(&Slab::new(shape, ranges)?, out)?;
        }
        self.typed(self.datatype(), &raw)
    }

    /// Returns all elements without copying them. This works only if they are contiguous, in memory, aligned, and
    /// stored in the form that this machine uses; otherwise the result is `None`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("image").write(&[10u8, 20, 30])?;
    /// let image = File::from_bytes(file.into_bytes()?)?.dataset("image")?;
    /// assert_eq!(image.as_slice::<u8>(), Some(&[10, 20, 30][..]));
    /// assert_eq!(image.as_slice::<i32>(), None); // these would be converted
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn as_slice<T: Element + bytemuck::AnyBitPattern>(&self) -> Option<&[T]> {
        let bytes = self.bytes().filter(|_| T::is_stored_as(&self.content.datatype))?;
        bytemuck::try_cast_slice(bytes).ok()
    }
}
