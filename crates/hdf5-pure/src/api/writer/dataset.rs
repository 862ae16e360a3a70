//! Settings of a new dataset.

use sciformats_core::{Conversion, Error, Result, Slab};

use crate::api::named::AsName;
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

/// A builder that collects the settings of a new dataset.
///
/// A wrong setting is reported by the call that creates the dataset, such as [`write`](Self::write) or
/// [`create`](Self::create).
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
    pub(super) path: Name,
    pub(super) shape: Option<Vec<u64>>,
    pub(super) maximum: Option<Vec<Option<u64>>>,
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

/// How the elements are stored.
pub(super) enum Place {
    Chosen,
    Contiguous,
    Compact,
    Chunked(Option<Vec<u64>>),
    External(Vec<(Name, u64, Option<u64>)>),
    Virtual(Vec<Mapping>),
}

impl std::fmt::Debug for DatasetBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetBuilder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'w> DatasetBuilder<'w> {
    pub(crate) fn new(tree: &'w mut Tree, parent: ObjectId, path: &(impl AsName + ?Sized)) -> Self {
        Self {
            tree,
            parent,
            path: path.name_bytes().into(),
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
    /// // Rows without end, each of three elements.
    /// let position = file.dataset("position").shape([0, 3]).max_shape([None, Some(3)]);
    /// let mut position = position.create::<f32>()?;
    /// assert_eq!(position.append(&[0.0, 0.5, 1.0])?.shape(), [1, 3]);
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

    /// Stores the elements in chunks whose shape is chosen automatically. A chunk has at most a 256th of the dataset's
    /// bytes, but the limit is never below 64 KiB and never above 1 MiB. The sides of a chunk are of similar length and
    /// divide the dataset evenly. A dimension without a maximum counts as at least 1024 elements.
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

    /// Stores the elements contiguously, one after another.
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

    /// Stores the elements in the object header. They must have less than 64 KiB.
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

    /// Stores the elements in external files. Each item has the name of a file, the offset of the first element in it,
    /// and the number of bytes that it holds; `None` means all remaining bytes and is allowed for the last file.
    /// [`create`](Self::create) creates the dataset. The external files themselves are not touched.
    ///
    /// ```
    /// use hdf5_pure::{File, OpenOptions, Writer};
    /// use hdf5_pure::options::External;
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
    pub fn external<'f, N: AsName + ?Sized + 'f>(
        mut self,
        files: impl IntoIterator<Item = (&'f N, u64, Option<u64>)>,
    ) -> Self {
        let files = files.into_iter().map(|(name, offset, size)| (name.name_bytes().into(), offset, size));
        self.place = Place::External(files.collect());
        self
    }

    /// Maps the elements in `target` to those in `source` of another dataset, which makes this a virtual dataset. The
    /// source is in the file named `file`, or in this file if the name is `.`. Several calls add several mappings.
    /// [`create`](Self::create) creates the dataset. Virtual datasets need [`Bound::V110`](crate::options::Bound::V110).
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
    pub fn map(
        mut self,
        file: &(impl AsName + ?Sized),
        dataset: &(impl AsName + ?Sized),
        source: &Slab,
        target: &Slab,
    ) -> Self {
        let (file, dataset) = (file.name_bytes(), dataset.name_bytes());
        if source.len() != target.len() || file.is_empty() || dataset.is_empty() {
            self.fail(Error::usage(
                "mapping",
                "needs a file name, a dataset name, and a source and a target with the same number of elements",
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

    /// Makes this a virtual dataset even if nothing is [mapped](Self::map), and whatever the bound of the file. Only
    /// version 1.10 or later of the C library can read it.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
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

    /// Works like [`map`](Self::map), with selections of any kind.
    ///
    /// # Errors
    /// The call that creates the dataset fails if a name is empty.
    pub fn map_selection(mut self, mapping: Mapping) -> Self {
        if mapping.file.as_bytes().is_empty() || mapping.dataset.as_bytes().is_empty() {
            self.fail(Error::usage("mapping", "needs a file name and a dataset name"));
        }
        match &mut self.place {
            Place::Virtual(mappings) => mappings.push(mapping),
            place => *place = Place::Virtual(vec![mapping]),
        }
        self
    }

    /// Sets the kind of chunk index. With a bound before [`Bound::V110`](crate::options::Bound::V110) the index is a version 1
    /// B-tree in any case.
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

    /// Sets the filters of the chunks, in the order in which they are applied.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
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

    /// Stores chunks at the edges of the dataset without filters if they are only partly inside. This needs
    /// [`Bound::V110`](crate::options::Bound::V110).
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

    /// Works like [`unfiltered_edges`](Self::unfiltered_edges), whatever the bound of the file. Only version 1.10 or later of the
    /// C library can read this dataset; the others in the file stay readable.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::structure::{IndexKind, Layout};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
    /// file.dataset("new").chunks([100]).lzf().unfiltered_edges_at_any_bound().write(&[7u8; 150])?;
    /// file.dataset("old").chunks([100]).lzf().write(&[7u8; 150])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("new")?.read::<u8>()?, [7; 150]);
    /// assert!(matches!(file.dataset("new")?.layout()?, Layout::Chunked(chunked) if chunked.unfiltered_edges));
    /// assert!(matches!(file.dataset("old")?.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::BtreeV1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn unfiltered_edges_at_any_bound(mut self) -> Self {
        self.any_bound = true;
        self.unfiltered_edges()
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

    /// Stores the elements in this datatype. Numbers are converted, and strings fill a fixed length. A value that the
    /// datatype cannot hold is an [`Error::Misfit`] with its index, unless [`with_conversion`](Self::with_conversion)
    /// asks for something else.
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

    /// Sets what happens to values that the stored datatype cannot hold. By default they are an [`Error::Misfit`].
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

    /// Sets the value of elements that are never written.
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

    /// Sets the value of elements that are never written, as the bytes of one element in the dataset's datatype.
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

    /// Sets the value of elements that are never written, as one element that `encode` appends. Use it for datatypes of
    /// variable length.
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
    /// The call that creates the dataset returns the error of `encode`.
    pub fn fill_encoded(mut self, encode: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> Self {
        match store::encoded(self.tree.elsewhere(), encode) {
            Ok(((), bytes)) => self.fill = Some((None, bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Sets when space is allocated (1 early, 2 late, 3 per chunk) and when the fill value is written (0 on allocation,
    /// 1 never, 2 if the value was set). These are the codes of [`FillValue`](crate::structure::FillValue), so they can
    /// be copied from another dataset.
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

    /// Sets when the fill value is written, with the codes of [`storage_times`](Self::storage_times). Space is allocated as the
    /// layout requires.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).chunks([4]).fill_time(1).create::<u8>()?;
    /// let fill = File::from_bytes(file.into_bytes()?)?.dataset("frames")?.fill_value()?.clone();
    /// assert_eq!((fill.allocation_time, fill.write_time), (3, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_time(mut self, write: u8) -> Self {
        self.fill_time = Some(write);
        self
    }

    /// Declares that elements that are never written have no defined value.
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

    /// Allocates the space of all elements at once and fills it. For chunked storage this is only noted in the file:
    /// chunks are stored when they are written.
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
        match value::comment(text.name_bytes()) {
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
