//! Settings of a new dataset.

mod fill;
mod filters;
mod place;

use sciformats_core::{Conversion, Error};

pub(super) use self::place::Place;
use crate::api::named::AsName;
use crate::api::writer::filters::Filters;
use crate::api::writer::layout::{ChunkIndex, Growth};
use crate::api::writer::value::{self, Value};
use crate::change::edit;
use crate::change::tree::Tree;
use crate::object::attributes::Attribute;
use crate::object::id::{Id, ObjectId};
use crate::spec::Name;
use crate::spec::message::datatype::Datatype;

/// A builder that collects the settings of a new dataset.
///
/// A wrong setting is reported by the call that creates the dataset, such as [`write`](Self::write) or
/// [`create`](Self::create).
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").shape([2, 3]).unlimited().chunks([64, 3]);
/// let temperature = temperature.shuffle().lzf().fill(f32::NAN).attribute("units", "K");
/// temperature.write(&[281.5f32, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("temperature")?.filters()?.filters.len(), 2);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[must_use = "nothing is written before `write`, `write_scalar`, `write_raw` or `create`"]
pub struct DatasetBuilder<'w> {
    pub(super) tree: &'w mut Tree,
    pub(super) parent: Id,
    pub(super) path: Name,
    pub(super) shape: Option<Vec<u64>>,
    pub(super) growth: Growth,
    pub(super) place: Place,
    pub(super) index: Option<ChunkIndex>,
    pub(super) filters: Filters,
    pub(super) datatype: Option<Datatype>,
    pub(super) conversion: Conversion,
    pub(super) committed: Option<ObjectId>,
    /// One element, and its datatype if that is not the dataset's own.
    pub(super) fill: Option<(Option<Datatype>, Vec<u8>)>,
    pub(super) undefined: bool,
    pub(super) early: bool,
    /// When space is allocated and when the fill value is written, in the codes of the fill value message.
    pub(super) times: Option<(u8, u8)>,
    /// When the fill value is written, if only this is given.
    pub(super) fill_time: Option<u8>,
    pub(super) unfiltered_edges: bool,
    pub(super) attributes: Vec<Attribute>,
    pub(super) comment: Option<Name>,
    /// Whether the layout is allowed whatever the bound of the file.
    pub(super) any_bound: bool,
    pub(super) failed: Option<Error>,
}

impl std::fmt::Debug for DatasetBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetBuilder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'w> DatasetBuilder<'w> {
    pub(crate) fn new(tree: &'w mut Tree, parent: Id, path: &(impl AsName + ?Sized)) -> Self {
        Self {
            tree,
            parent,
            path: path.name_bytes().into(),
            shape: None,
            growth: Growth::Fixed,
            place: Place::Chosen,
            index: None,
            filters: Filters::new(),
            datatype: None,
            conversion: Conversion::Exact,
            committed: None,
            fill: None,
            undefined: false,
            early: false,
            times: None,
            fill_time: None,
            unfiltered_edges: false,
            attributes: Vec::new(),
            comment: None,
            any_bound: false,
            failed: None,
        }
    }

    /// Sets the number of elements along each dimension, the last dimension varying fastest. Without a shape, the
    /// dataset has one dimension with all values.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([2, 3]).write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// assert_eq!(temperature.read_points::<f64>(&[vec![1, 0]])?, [280.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn shape(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    /// Sets how far each dimension can grow; `None` means without limit. A dataset that can grow is stored in chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// // At most 100 rows, whose length has no limit.
    /// let spectra = file.dataset("spectra").shape([0, 2]).max_shape([Some(100), None]);
    /// let mut spectra = spectra.create::<f32>()?;
    /// assert_eq!(spectra.append(&[0.0, 0.5])?.resize(&[1, 3])?.shape(), [1, 3]);
    /// assert!(spectra.resize(&[101, 3]).is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn max_shape(mut self, maximum: impl Into<Vec<Option<u64>>>) -> Self {
        self.growth = Growth::UpTo(maximum.into());
        self
    }

    /// Lets the first dimension grow without limit, so that rows can be [appended](crate::DatasetWriter::append). The others
    /// keep their lengths; [`max_shape`](Self::max_shape) says more. The dataset is stored in chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut position = file.dataset("position").shape([0, 3]).unlimited().create::<f32>()?;
    /// assert_eq!(position.append(&[0.0, 0.5, 1.0])?.shape(), [1, 3]); // a row of three elements
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// The call that creates the dataset fails if it has no dimensions.
    pub fn unlimited(mut self) -> Self {
        self.growth = Growth::Rows;
        self
    }

    /// Starts without rows, to which any number can be [appended](crate::DatasetWriter::append); `row` is the shape of one. This
    /// is the same as a [`shape`](Self::shape) of 0 rows that is [unlimited](Self::unlimited).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut position = file.dataset("position").rows([3]).create::<f32>()?;
    /// assert_eq!(position.append(&[0.0, 0.5, 1.0])?.shape(), [1, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn rows(self, row: impl Into<Vec<u64>>) -> Self {
        let mut shape = row.into();
        shape.insert(0, 0);
        self.shape(shape).unlimited()
    }

    /// Stores the elements in this datatype. Numbers are converted, and strings fill a fixed length. A value that the
    /// datatype cannot hold is an [`Error::Misfit`] with its index, unless [`with_conversion`](Self::with_conversion)
    /// asks for something else.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::unsigned(2).big_endian()).write(&[1u64, 515])?;
    /// file.dataset("stations").datatype(Datatype::fixed_string(8)).write(&["north", "south"])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!((file.dataset("counts")?.datatype().size, file.dataset("stations")?.datatype().size), (2, 8));
    /// assert_eq!(file.dataset("stations")?.read::<String>()?, ["north", "south"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn datatype(mut self, datatype: Datatype) -> Self {
        self.datatype = Some(datatype);
        self
    }

    /// Sets what happens to values that the stored datatype cannot hold. By default they are an [`Error::Misfit`].
    ///
    /// ```
    /// use hdf5_pure::{Conversion, CreateOptions, Datatype, Error, File, Writer};
    ///
    /// let byte = Datatype::unsigned(1);
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let refused = file.dataset("counts").datatype(byte.clone()).write(&[7, 300]);
    /// assert_eq!(refused.unwrap_err().to_string(), "element 1 is 300, which u8 cannot hold");
    ///
    /// // As the C library does it.
    /// file.dataset("counts").datatype(byte).with_conversion(Conversion::Lossy).write(&[7, 300])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u8>()?, [7, 255]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_conversion(mut self, conversion: Conversion) -> Self {
        self.conversion = conversion;
        self
    }

    /// Stores the elements in a committed datatype of the file.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.dataset("temperature").committed(kelvin).write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(*file.dataset("temperature")?.datatype(), Datatype::float32());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn committed(mut self, datatype: ObjectId) -> Self {
        self.committed = Some(datatype);
        self
    }

    /// Sets an attribute of the dataset.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").attribute("units", "K").attribute("valid range", [250.0, 320.0]).write(&[281.5])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.attribute("valid range")?.read::<f64>()?, [250.0, 320.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn attribute(mut self, name: &(impl AsName + ?Sized), value: impl Value) -> Self {
        match value::attribute(self.tree, name.name_bytes(), value) {
            Ok(attribute) => self.attributes.push(attribute),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Sets the comment of the dataset.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").comment("two metres above the ground").write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let info = file.object_info(file.dataset("temperature")?.address())?;
    /// assert_eq!(info.comment, Some("two metres above the ground".into()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn comment(mut self, text: &(impl AsName + ?Sized)) -> Self {
        match edit::comment(text.name_bytes()) {
            Ok(comment) => self.comment = Some(comment),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Keeps the first error, which the creating call will return.
    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}
