//! Settings of datasets that are written.

use sciformats_core::{Conversion, Error, Result, Slab};

use crate::api::writer::filters::Filters;
use crate::api::writer::layout::ChunkIndex;
use crate::api::writer::value::{self, Value};
use crate::change::tree::Tree;
use crate::object::attributes::Attribute;
use crate::object::id::ObjectId;
use crate::spec::Name;
use crate::spec::message::datatype::Datatype;
use crate::spec::selection::Selection;
use crate::spec::virtual_mapping::Mapping;
use crate::value::store::{self, Encoder, Store};

/// A dataset that is about to be made.
///
/// A wrong setting is an error of the call that makes the dataset: [`write`](Self::write), [`create`](Self::create) and
/// their like.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").shape([2, 3]).max_shape([None, Some(3)]).chunks([64, 3]);
/// let temperature = temperature.shuffle().lzf().fill(f32::NAN).attribute("units", "K");
/// temperature.write(&[281.5f32, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("temperature")?.filters()?.filters.len(), 2);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[must_use = "nothing is written before `write`, `write_scalar`, `write_raw` or `create`"]
pub struct DatasetBuilder<'w> {
    pub(super) tree: &'w mut Tree,
    pub(super) parent: ObjectId,
    pub(super) path: String,
    pub(super) shape: Option<Vec<u64>>,
    pub(super) maximum: Option<Vec<Option<u64>>>,
    pub(super) place: Place,
    pub(super) index: Option<ChunkIndex>,
    pub(super) filters: Filters,
    pub(super) datatype: Option<Datatype>,
    pub(super) conversion: Conversion,
    pub(super) committed: Option<ObjectId>,
    /// One element, and its type if that is not the dataset's own.
    pub(super) fill: Option<(Option<Datatype>, Vec<u8>)>,
    pub(super) undefined: bool,
    pub(super) early: bool,
    /// When space is made for elements and when it is filled, as the fill value message says it.
    pub(super) times: Option<(u8, u8)>,
    pub(super) unfiltered_edges: bool,
    pub(super) attributes: Vec<Attribute>,
    pub(super) comment: Option<Name>,
    /// Whether the file's bound does not matter for the layout.
    pub(super) any_bound: bool,
    pub(super) failed: Option<Error>,
}

/// How elements are stored.
pub(super) enum Place {
    Chosen,
    Contiguous,
    Compact,
    Chunked(Option<Vec<u64>>),
    External(Vec<(String, u64, Option<u64>)>),
    Virtual(Vec<Mapping>),
}

impl std::fmt::Debug for DatasetBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetBuilder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'w> DatasetBuilder<'w> {
    pub(crate) fn new(tree: &'w mut Tree, parent: ObjectId, path: &str) -> Self {
        Self {
            tree,
            parent,
            path: path.to_owned(),
            shape: None,
            maximum: None,
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
            unfiltered_edges: false,
            attributes: Vec::new(),
            comment: None,
            any_bound: false,
            failed: None,
        }
    }

    /// The number of elements along each dimension, the last varying fastest. By default values have one dimension.
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

    /// How far each dimension may grow; `None` is without end. The dataset is stored in chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// // Rows without end, each of three elements.
    /// let position = file.dataset("position").shape([0, 3]).max_shape([None, Some(3)]);
    /// let mut position = position.create::<f32>()?;
    /// assert_eq!(position.append(&[0.0, 0.5, 1.0])?.shape()?, [1, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn max_shape(mut self, maximum: impl Into<Vec<Option<u64>>>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Stores the elements in chunks of this shape.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([10, 64, 64]).chunks([1, 64, 64]).write(&vec![0u8; 10 * 64 * 64])?;
    /// let frames = File::from_bytes(file.into_bytes()?)?.dataset("frames")?;
    /// assert_eq!(frames.chunks()?.len(), 10); // a frame each
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn chunks(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.place = Place::Chunked(Some(shape.into()));
        self
    }

    /// Stores the elements in chunks whose shape is chosen: at most a 256th of the dataset, though always 64 KiB and never
    /// more than 1 MiB, with sides that are alike and divide the dataset's evenly. A dimension without a maximum counts as
    /// 1024 elements at least.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([1000, 1000]).automatic_chunks().write(&vec![281.5f32; 1_000_000])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// assert!(temperature.chunks()?.into_iter().flatten().all(|chunk| chunk.size <= 64 << 10));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn automatic_chunks(mut self) -> Self {
        self.place = Place::Chunked(None);
        self
    }

    /// Stores the elements one after another.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").contiguous().write(&[281.5f32, 282.0])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// assert!(matches!(temperature.layout()?, Layout::Contiguous { .. }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn contiguous(mut self) -> Self {
        self.place = Place::Contiguous;
        self
    }

    /// Stores the elements, less than 64 KiB, in the object's header.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("offsets").compact().write(&[1u8, 2, 3])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(*file.dataset("offsets")?.layout()?, Layout::Compact(vec![1, 2, 3]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn compact(mut self) -> Self {
        self.place = Place::Compact;
        self
    }

    /// Says that the elements are in other files: their names, where the elements start in each, and how many bytes of them
    /// it holds (`None`: all others, in the last file). [`create`](Self::create) makes the dataset; the files are not touched.
    ///
    /// ```
    /// use hdf5_pure::{File, OpenOptions, External, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # std::fs::write(folder.path().join("camera.raw"), [10, 20, 30, 40]).unwrap();
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("image").shape([2, 2]).external([("camera.raw", 0, None)]).create::<u8>()?;
    /// file.finish()?;
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// assert_eq!(File::open_with(&path, &options)?.dataset("image")?.read::<u8>()?, [10, 20, 30, 40]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn external<'f>(mut self, files: impl IntoIterator<Item = (&'f str, u64, Option<u64>)>) -> Self {
        let files = files.into_iter().map(|(name, offset, size)| (name.to_owned(), offset, size));
        self.place = Place::External(files.collect());
        self
    }

    /// Says that the elements of `target` are those of `source` of a dataset in another file, or in this one if `file` is
    /// `.`; several calls add up. [`create`](Self::create) makes the dataset. It needs [`Bound::V110`](crate::Bound::V110).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Range, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("monday").write(&[281.5f32, 282.0])?;
    /// file.dataset("tuesday").write(&[280.0f32, 280.5])?;
    /// let (day, first) = (Slab::all(&[2])?, Slab::new(&[2, 2], [Range::new(0, 1), Range::all(2)])?);
    /// let second = Slab::new(&[2, 2], [Range::new(1, 1), Range::all(2)])?;
    /// let week = file.dataset("week").shape([2, 2]);
    /// week.map(".", "/monday", &day, &first).map(".", "/tuesday", &day, &second).create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("week")?.read::<f32>()?, [281.5, 282.0, 280.0, 280.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn map(mut self, file: &str, dataset: &str, source: &Slab, target: &Slab) -> Self {
        if source.len() != target.len() || file.is_empty() || dataset.is_empty() {
            self.fail(Error::usage(
                "mapping",
                "has names that are empty, or parts that differ in their number of elements",
            ));
        }
        let mapping = Mapping {
            file: file.into(),
            dataset: dataset.into(),
            source: Selection::of(source),
            target: Selection::of(target),
        };
        match &mut self.place {
            Place::Virtual(mappings) => mappings.push(mapping),
            place => *place = Place::Virtual(vec![mapping]),
        }
        self
    }

    /// Has no elements but those that are [mapped](Self::map), even if none is, and whatever the bound: what can read the file must
    /// be of version 1.10 or later then.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{Bound, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
    /// file.dataset("later").shape([24]).virtual_layout().create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(matches!(file.dataset("later")?.layout()?, Layout::Virtual(_)));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn virtual_layout(mut self) -> Self {
        self.any_bound = true;
        if !matches!(self.place, Place::Virtual(_)) {
            self.place = Place::Virtual(Vec::new());
        }
        self
    }

    /// As [`map`](Self::map), with selections of any kind.
    ///
    /// # Errors
    /// The call that makes the dataset fails if a name is empty.
    pub fn map_selection(mut self, mapping: Mapping) -> Self {
        if mapping.file.as_bytes().is_empty() || mapping.dataset.as_bytes().is_empty() {
            self.fail(Error::usage("mapping", "has names that are empty"));
        }
        match &mut self.place {
            Place::Virtual(mappings) => mappings.push(mapping),
            place => *place = Place::Virtual(vec![mapping]),
        }
        self
    }

    /// Finds chunks by this index. Bounds before [`Bound::V110`](crate::Bound::V110) have only version 1 B-trees, whatever is asked for.
    ///
    /// ```
    /// use hdf5_pure::structure::{IndexKind, Layout};
    /// use hdf5_pure::{ChunkIndex, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).index(ChunkIndex::Implicit).write(&[7u8; 1000])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert!(matches!(counts.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::Implicit));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn index(mut self, index: ChunkIndex) -> Self {
        self.index = Some(index);
        self
    }

    /// Filters the chunks, in this order.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
    ///
    /// let packed = Filters::new().shuffle().lzf(); // for several datasets
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([100]).filters(packed.clone()).write(&[281.5; 1000])?;
    /// file.dataset("pressure").chunks([100]).filters(packed).write(&[1013.0; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("pressure")?.read::<f64>()?, [1013.0; 1000]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn filters(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// Does not filter chunks that reach out of the dataset. It needs [`Bound::V110`](crate::Bound::V110).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).lzf().unfiltered_edges().write(&[7u8; 150])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let sizes: Vec<u64> = counts.chunks()?.into_iter().flatten().map(|chunk| chunk.size).collect();
    /// assert!(sizes[0] < 100 && sizes[1] == 100);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn unfiltered_edges(mut self) -> Self {
        self.unfiltered_edges = true;
        self
    }

    /// Adds [`Filters::shuffle`].
    pub fn shuffle(mut self) -> Self {
        self.filters = self.filters.shuffle();
        self
    }

    /// Adds [`Filters::deflate`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// # #[cfg(feature = "deflate")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([1000]).shuffle().deflate(6).write(&[281.5f32; 10_000])?;
    /// let bytes = file.into_bytes()?;
    /// assert!(bytes.len() < 4000);
    /// assert_eq!(File::from_bytes(bytes)?.dataset("temperature")?.read::<f32>()?, [281.5; 10_000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn deflate(mut self, level: u32) -> Self {
        self.filters = self.filters.deflate(level);
        self
    }

    /// Adds [`Filters::fletcher32`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([2]).fletcher32().write(&[281.5f64, 282.0])?;
    /// let mut bytes = file.into_bytes()?;
    /// let at = bytes.windows(8).position(|part| part == 282f64.to_le_bytes()).unwrap();
    /// bytes[at] ^= 1; // one bit
    /// assert!(File::from_bytes(bytes)?.dataset("temperature")?.read::<f64>().is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fletcher32(mut self) -> Self {
        self.filters = self.filters.fletcher32();
        self
    }

    /// Adds [`Filters::lzf`].
    pub fn lzf(mut self) -> Self {
        self.filters = self.filters.lzf();
        self
    }

    /// Adds [`Filters::zstd`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// # #[cfg(feature = "zstd")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([1000]).shuffle().zstd(3).write(&[281.5f32; 10_000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.read::<f32>()?, [281.5; 10_000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn zstd(mut self, level: i32) -> Self {
        self.filters = self.filters.zstd(level);
        self
    }

    /// Stores the elements in this type: numbers are converted, strings fill a fixed length. A value that the type cannot
    /// hold is an [`Error::Misfit`] with its index, unless [`with_conversion`](Self::with_conversion) says what else is wanted.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::integer(false, 2).big_endian()).write(&[1u64, 515])?;
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

    /// What is done with values that the stored type cannot hold: by default they are an [`Error::Misfit`].
    ///
    /// ```
    /// use hdf5_pure::{Conversion, CreateOptions, Datatype, Error, File, Writer};
    ///
    /// let byte = Datatype::integer(false, 1);
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

    /// What elements that are never written read as.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([3]).fill(-1).create::<i32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<i32>()?, [-1, -1, -1]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill<T: Store>(mut self, value: T) -> Self {
        match store::encoded(self.tree.elsewhere(), |to| T::encode(&[value], to)) {
            Ok(((), bytes)) => self.fill = Some((Some(T::datatype()), bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// What elements that are never written read as: one element as the dataset stores it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("marks").datatype(Datatype::opaque(2, "marks")).shape([2]).fill_raw(b"??").create_encoded()?;
    /// let marks = File::from_bytes(file.into_bytes()?)?.dataset("marks")?;
    /// assert_eq!(marks.read_raw(&marks.all()?)?, b"????");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_raw(mut self, element: &[u8]) -> Self {
        self.fill = Some((None, element.to_vec()));
        self
    }

    /// What elements that are never written read as: one element that `encode` appends, for types of variable length.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let names = file.dataset("stations").datatype(Datatype::string()).shape([2]).chunks([2]);
    /// names.fill_encoded(|to| to.sequence(7, b"unknown")).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("stations")?.read::<String>()?, ["unknown", "unknown"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// The call that makes the dataset fails with the error of `encode`.
    pub fn fill_encoded(mut self, encode: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> Self {
        match store::encoded(self.tree.elsewhere(), encode) {
            Ok(((), bytes)) => self.fill = Some((None, bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// When space is made for elements (1 early, 2 late, 3 chunk by chunk) and when it is filled (0 with the allocation,
    /// 1 never, 2 if the value was set): what [`FillValue`](crate::structure::FillValue) says of another dataset.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).chunks([4]).storage_times(1, 1).create::<u8>()?;
    /// let fill = File::from_bytes(file.into_bytes()?)?.dataset("frames")?.fill_value()?.clone();
    /// assert_eq!((fill.allocation_time, fill.write_time), (1, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn storage_times(mut self, allocation: u8, write: u8) -> Self {
        self.times = Some((allocation, write));
        self
    }

    /// Says that elements that are never written have no value.
    ///
    /// ```
    /// use hdf5_pure::structure::Fill;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("energy").shape([1000]).max_shape([None]).fill_undefined().create::<f64>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("energy")?.fill_value()?.value, Fill::Undefined);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_undefined(mut self) -> Self {
        self.undefined = true;
        self
    }

    /// Takes the space of all elements at once, and fills it. Of elements in chunks the file only says so: chunks are stored
    /// as they are written.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([10, 64]).allocate_early().create::<u8>()?;
    /// let frames = File::from_bytes(file.into_bytes()?)?.dataset("frames")?;
    /// // Nothing was written, and there is a place for it.
    /// assert!(matches!(frames.layout()?, Layout::Contiguous { address: Some(_) }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn allocate_early(mut self) -> Self {
        self.early = true;
        self
    }

    /// Gives the dataset an attribute.
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
    pub fn attribute(mut self, name: &str, value: impl Value) -> Self {
        match value::attribute(self.tree, name, value) {
            Ok(attribute) => self.attributes.push(attribute),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Gives the dataset a comment.
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
    pub fn comment(mut self, text: &str) -> Self {
        match value::comment(text) {
            Ok(comment) => self.comment = Some(comment),
            Err(error) => self.fail(error),
        }
        self
    }

    /// The first error is the one that is told.
    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}
