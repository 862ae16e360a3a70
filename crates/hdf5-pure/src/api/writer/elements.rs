//! Writes the elements of datasets.

use std::borrow::Cow;

use sciformats_core::storage::zeroed;
use sciformats_core::{Conversion, Error, IntoSelection, Range, Result, Slab};

use crate::api::dataset::part_of_chunk;
use crate::api::named::AsName;
use crate::api::writer::value::{self, Value};
use crate::change::tree::Tree;
use crate::chunk::too_large;
use crate::dataset::write::Data;
use crate::object::id::{Id, ObjectId};
use crate::spec::Address;
use crate::spec::message::filter_pipeline::Pipeline;
use crate::value::store::{self, Encoder, Store};

/// A dataset of a file that is being written, whose elements can be written.
///
/// A chunk is filtered and stored as soon as it is complete. Incomplete chunks are kept in memory. If they take more
/// than 32 MiB, they are stored as they are, and read back when more of their elements are written.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let position = file.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]);
/// let mut position = position.create::<f32>()?;
/// for step in 0..100u8 {
///     position.append(&[f32::from(step), 0.5, 1.0])?;
/// }
/// position.attribute("units", "nm")?;
/// assert_eq!(position.shape(), [100, 3]);
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("position")?.read_points::<f32>(&[vec![99, 0]])?, [99.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct DatasetWriter<'w> {
    pub(super) tree: &'w mut Tree,
    pub(super) id: Id,
    shape: Vec<u64>,
    conversion: Conversion,
    /// The path by which it was found or created, for errors.
    path: Option<Box<str>>,
}

impl std::fmt::Debug for DatasetWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> DatasetWriter<'w> {
    pub(crate) fn new(tree: &'w mut Tree, id: Id) -> Result<Self> {
        let shape = tree.dataset(id)?.shape().to_vec();
        Ok(Self { tree, id, shape, conversion: Conversion::Exact, path: None })
    }

    /// Remembers the path by which it was found or created.
    pub(crate) fn named(self, path: impl Into<Box<str>>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    fn within<T>(&self, result: Result<T>) -> Result<T> {
        self.tree.within(self.path.as_deref(), result)
    }

    /// Sets what happens to values that the stored datatype cannot hold. By default they are an [`Error::Misfit`] with
    /// their index, and nothing is written.
    ///
    /// ```
    /// use hdf5_pure::{Conversion, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut energy = file.dataset("energy").shape([0]).max_shape([None]).create::<f32>()?;
    /// assert!(energy.append(&[0.1]).is_err()); // a f64 that no f32 is
    /// energy.with_conversion(Conversion::Lossy).append(&[0.1])?; // the nearest f32
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("energy")?.read::<f32>()?, [0.1]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Returns the dataset, or removes it again if its elements cannot be written.
    pub(super) fn or_nothing(mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<ObjectId> {
        match write(&mut self) {
            Ok(()) => Ok(self.id()),
            Err(error) => {
                self.tree.withdraw(self.id);
                Err(error)
            }
        }
    }

    /// Returns the identifier of the dataset, for [`Writer::open_id`](crate::Writer::open_id), hard links and
    /// references.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let energy = file.dataset("energy").shape([0]).max_shape([None]).create::<f64>()?.id();
    /// file.root().attribute("steps", 1)?; // the dataset no longer holds the file
    /// assert_eq!(file.open_id(energy)?.append(&[0.5])?.shape(), [1]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn id(&self) -> ObjectId {
        self.tree.owner.name(self.id)
    }

    /// Returns the length of each dimension, the slowest-varying first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the filters of the chunks.
    ///
    /// # Errors
    /// Returns no error at present.
    pub fn filters(&self) -> Result<&Pipeline> {
        Ok(&self.tree.dataset(self.id)?.pipeline)
    }

    /// Returns the shape of the chunks, or `None` if the elements are not stored in chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let counts = file.dataset("counts").shape([100]).chunks([30]).create::<u8>()?;
    /// assert_eq!(counts.chunk_shape()?, Some(&[30][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns no error at present.
    pub fn chunk_shape(&self) -> Result<Option<&[u64]>> {
        Ok(self.tree.dataset(self.id)?.chunk_shape())
    }

    /// Changes the shape of the dataset. Elements outside the new shape are lost, and new elements have the fill value.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let counts = file.dataset("counts").shape([2, 2]).max_shape([None, None]).chunks([2, 2]).fill(9u8);
    /// counts.create::<u8>()?.write_all(&[1u8, 2, 3, 4])?.resize(&[3, 1])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u8>()?, [1, 3, 9]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `shape` exceeds the maximum shape or the dataset is not chunked, and `Io`.
    pub fn resize(&mut self, shape: &[u64]) -> Result<&mut Self> {
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        let resized = dataset.resize(output, registry, shape);
        self.shape = dataset.shape().to_vec();
        self.within(resized).map(|()| self)
    }

    /// Writes the elements of a part of the dataset in C order. `encode` appends them in the datatype of the dataset;
    /// sequences and strings are appended whole.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, Slab, Writer};
    ///
    /// # fn main() -> hdf5_pure::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| hdf5_pure::Error::io("create", e))?;
    /// # let path = dir.path().join("ragged.h5");
    /// let mut writer = Writer::create(&path)?;
    /// let row = Datatype::compound([("name", Datatype::string()), ("x", Datatype::float64())]);
    /// let mut rows = writer.dataset("rows").datatype(row).shape([2]).create_encoded()?;
    /// rows.write_encoded(&Slab::all(&[2])?, |to| {
    ///     for (name, x) in [("one", 1.0f64), ("two", 2.0)] {
    ///         to.sequence(name.len(), name.as_bytes())?;
    ///         to.bytes(&x.to_le_bytes());
    ///     }
    ///     Ok(())
    /// })?;
    /// writer.finish()?;
    /// let rows = hdf5_pure::File::open(&path)?.dataset("rows")?;
    /// assert_eq!(rows.read_field::<f64>("x")?, [1.0, 2.0]);
    /// assert_eq!(rows.read_field::<String>("name")?, ["one", "two"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `slab` was made for another shape or the appended bytes are not its elements, the
    /// errors of `encode`, and `Io`.
    pub fn write_encoded(
        &mut self,
        slab: &Slab,
        encode: impl FnOnce(&mut Encoder<'_>) -> Result<()>,
    ) -> Result<&mut Self> {
        let ((), bytes) = store::encoded(self.tree.elsewhere(), encode)?;
        self.write_stored(slab, &bytes)
    }

    /// Writes the elements of a part of the dataset, in C order.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Range, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut image = file.dataset("image").shape([2, 3]).create::<u8>()?;
    /// image.write_slab(&Slab::new(&[2, 3], [Range::all(2), Range::new(1, 1)])?, &[10u8, 20])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("image")?.read::<u8>()?, [0, 10, 0, 0, 20, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `slab` was made for another shape or does not have as many elements as `values`, and
    /// `Io`.
    pub fn write_slab<T: Store>(&mut self, slab: &Slab, values: &[T]) -> Result<&mut Self> {
        let bytes = self.stored(values)?;
        self.write_stored(slab, &bytes)
    }

    fn write_stored(&mut self, slab: &Slab, bytes: &[u8]) -> Result<&mut Self> {
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        let written = dataset.write(output, registry, slab, bytes);
        self.within(written).map(|()| self)
    }

    /// Converts values to the datatype of the dataset.
    fn stored<'v, T: Store>(&mut self, values: &'v [T]) -> Result<Cow<'v, [u8]>> {
        let datatype = &self.tree.dataset(self.id)?.datatype;
        match T::as_bytes(values).filter(|_| crate::value::convert::same(&T::datatype(), datatype)) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => {
                let datatype = datatype.clone();
                let stored = store::convert(self.tree.elsewhere(), values, (&datatype, self.conversion));
                self.within(stored).map(Cow::Owned)
            }
        }
    }

    /// Reads the selected elements, with everything that was written so far, and returns their bytes as they are stored,
    /// in C order. Nothing is filtered or written for this, so that small writes and reads can alternate. Many elements are
    /// read faster from [`Editor::file`](crate::Editor::file).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut counts = file.dataset("counts").shape([4]).chunks([4]).deflate(6).create::<u8>()?;
    /// let part = Slab::new(&[4], [(1..3).into()])?;
    /// for round in 1..9u8 {
    ///     counts.write_slab(&part, &[round, round + 1])?;
    ///     assert_eq!(counts.read_raw(&part)?, [round, round + 1]);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `slab` was made for another shape, `Unsupported` if the elements are in other files or
    /// datasets, or a filter is missing, `Malformed` and `Io`.
    pub fn read_raw(&mut self, slab: &Slab) -> Result<Vec<u8>> {
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        let bytes = slab.len().checked_mul(dataset.element_size());
        let mut out = zeroed(bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_large)?)?;
        let read = dataset.read_pending(output, registry, slab, &mut out);
        self.within(read).map(|()| out)
    }

    /// Stores a chunk without filtering it. `bytes` are the chunk after its filters, except for the
    /// filters whose bit is set in `filter_mask`, which were skipped. `scaled` is the position of the chunk, counted in
    /// chunks along each dimension.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut writer = Writer::in_memory(&CreateOptions::default())?;
    /// let mut u = writer.dataset("u").shape([4]).chunks([2]).shuffle().create::<u16>()?;
    /// u.write_chunk(&[1], 0, &[1, 2, 0, 0])?; // the low bytes of 1 and 2, then the high ones
    /// let file = File::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(file.dataset("u")?.read::<u16>()?, [0, 0, 1, 2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset has no such chunk, does not filter the chunks at its edges, or has no
    /// filters and `bytes` are not the elements of a chunk, and `Io`. The call does not check that the filters can be undone.
    pub fn write_chunk(&mut self, scaled: &[u64], filter_mask: u32, bytes: &[u8]) -> Result<&mut Self> {
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        let written = dataset.write_chunk(output, registry, scaled, (filter_mask, bytes));
        self.within(written).map(|()| self)
    }

    /// Allocates the space of a chunk that has `len` bytes after its filters, and returns its address, which counts from the
    /// superblock. Nothing is written: the bytes are zeros until something else writes them, such as several programs that
    /// each fill some of the chunks, or a plan that only needs the places. `scaled` and `filter_mask` are those of
    /// [`write_chunk`](Self::write_chunk).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut writer = Writer::in_memory(&CreateOptions::default())?;
    /// let mut u = writer.dataset("u").shape([4]).chunks([2]).shuffle().create::<u16>()?;
    /// let place = u.reserve_chunk(&[1], 0, 4)?;
    /// let mut bytes = writer.into_bytes()?;
    /// bytes[place.0 as usize..][..4].copy_from_slice(&[1, 2, 0, 0]);
    /// assert_eq!(File::from_bytes(bytes)?.dataset("u")?.read::<u16>()?, [0, 0, 1, 2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write_chunk`](Self::write_chunk).
    pub fn reserve_chunk(&mut self, scaled: &[u64], filter_mask: u32, len: u64) -> Result<Address> {
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        dataset.reserve_chunk(output, registry, scaled, (filter_mask, len))
    }

    /// Allocates the space of the elements of a contiguous dataset without writing anything: they are zeros until something else
    /// writes them.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut writer = Writer::in_memory(&CreateOptions::default())?;
    /// writer.dataset("u").shape([1000]).create::<u16>()?.reserve()?;
    /// let bytes = writer.into_bytes()?;
    /// assert!(bytes.len() > 2000);
    /// assert_eq!(File::from_bytes(bytes)?.dataset("u")?.read::<u16>()?, [0; 1000]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the elements are stored in another way.
    pub fn reserve(&mut self) -> Result<&mut Self> {
        let (dataset, output, _) = self.tree.dataset_mut(self.id)?;
        dataset.reserve(output)?;
        Ok(self)
    }

    /// Writes the elements of one chunk, in C order and without those that lie beyond the edges of the dataset.
    /// `scaled` is the position of the chunk, counted in chunks along each dimension. The elements pass through the
    /// filters.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut counts = file.dataset("counts").shape([2, 3]).chunks([2, 2]).lzf().create::<u16>()?;
    /// counts.write_chunk_values(&[0, 0], &[1u16, 2, 4, 5])?.write_chunk_values(&[0, 1], &[3u16, 6])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.read::<u16>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset has no such chunk, and the errors of [`write_slab`](Self::write_slab).
    pub fn write_chunk_values<T: Store>(&mut self, scaled: &[u64], values: &[T]) -> Result<&mut Self> {
        let dataset = self.tree.dataset(self.id)?;
        let Data::Chunked(chunked) = &dataset.data else {
            return Err(Error::usage("dataset", "does not store its elements in chunks"));
        };
        let slab = part_of_chunk(&chunked.dimensions, scaled, dataset.shape())?;
        self.write_slab(&slab, values)
    }

    /// Writes a slice, which has one range or index per dimension. Negative numbers count from the end, and dimensions
    /// that are not named are taken whole.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::selection::by;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut counts = file.dataset("counts").shape([2, 4]).create::<u16>()?;
    /// counts.write_slice((0, ..), &[1u16, 2, 3, 4])?.write_slice((-1, by(.., 2)), &[7u16, 9])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.read::<u16>()?, [1, 2, 3, 4, 7, 0, 9, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the slice is not inside the dataset or has a negative step, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn write_slice<T: Store>(&mut self, part: impl IntoSelection, values: &[T]) -> Result<&mut Self> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab(selection.ascending()?, values)
    }

    /// Writes all elements.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.open_dataset("surface/temperature")?.write_all(&[8.5, 9.0, 9.5, 7.0, 7.5, 8.0])?.attribute("units", "C")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.read::<f64>()?[0], 8.5);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write_slab`](Self::write_slab).
    pub fn write_all<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        let slab = Slab::all(self.shape())?;
        self.write_slab(&slab, values)
    }

    /// Writes single elements. Each point has one coordinate per dimension.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut mask = file.dataset("mask").shape([2, 3]).create::<u8>()?;
    /// mask.write_points(&[vec![0, 2], vec![1, 0]], &[1u8, 2])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("mask")?.read::<u8>()?, [0, 0, 1, 2, 0, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write_slab`](Self::write_slab). If a point is outside the shape, or there are not as
    /// many values as points, nothing is written.
    pub fn write_points<T: Store>(&mut self, points: &[Vec<u64>], values: &[T]) -> Result<&mut Self> {
        if points.len() != values.len() {
            return Err(Error::usage("values", "must be as many as the points"));
        }
        let shape = self.shape().to_vec();
        let of = |point: &Vec<u64>| {
            Slab::new(&shape, point.iter().map(|&at| Range::new(at, 1)).collect::<Vec<_>>())
        };
        let slabs = points.iter().map(of).collect::<Result<Vec<_>>>()?;
        for (slab, value) in slabs.iter().zip(values) {
            self.write_slab(slab, std::slice::from_ref(value))?;
        }
        Ok(self)
    }

    /// Extends the dataset along its first dimension by the rows in `values`, and writes them there.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut position = file.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).create::<f32>()?;
    /// position.append(&[0.0f32, 0.5, 1.0])?;
    /// position.append(&[0.1f32, 0.6, 1.1, 0.2, 0.7, 1.2])?; // two rows
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("position")?.shape(), [3, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`append_along`](Self::append_along).
    pub fn append<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        if self.tree.dataset(self.id)?.edited.is_some() {
            return self.append_along(0, values);
        }
        let row = sciformats_core::slab::elements(self.shape().get(1..).unwrap_or_default());
        let row = row.ok_or_else(|| Error::usage("shape", "has more than 2^64 elements per row"))?;
        let rows = match (values.len() as u64).checked_rem(row) {
            Some(0) => values.len() as u64 / row.max(1),
            _ => return Err(Error::usage("values", "must make up whole rows of the dataset")),
        };
        let bytes = self.stored(values)?;
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        let appended = dataset.append(output, registry, rows, &bytes);
        self.shape.clear();
        self.shape.extend_from_slice(dataset.shape());
        self.within(appended).map(|()| self)
    }

    /// Extends the dataset along one dimension by the elements in `values`, and writes them there.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let channels = file.dataset("channels").shape([2, 0]).max_shape([Some(2), None]).chunks([2, 64]);
    /// let mut channels = channels.create::<i16>()?;
    /// channels.append_along(1, &[1i16, 2, 3, 4])?; // two samples of each channel
    /// channels.append_along(1, &[5i16, 6])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("channels")?.read::<i16>()?, [1, 2, 5, 3, 4, 6]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write_slab`](Self::write_slab), and [`Error::Usage`] if the values do not fill the other
    /// dimensions or the maximum shape does not allow the growth. After an error the dataset of
    /// a new file has the shape that it had before.
    pub fn append_along<T: Store>(&mut self, axis: usize, values: &[T]) -> Result<&mut Self> {
        let (shape, slab) = appended(self.shape(), axis, values.len() as u64)?;
        let bytes = self.stored(values)?;
        let before = self.shape.clone();
        self.resize(&shape)?;
        if let Err(error) = self.write_stored(&slab, &bytes) {
            let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
            // A dataset that is edited cannot be committed any more.
            if dataset.edited.is_none() {
                dataset.take_back(output, registry, &before);
                self.shape = before;
            }
            return Err(error);
        }
        Ok(self)
    }

    /// Sets an attribute of the dataset. An existing attribute of this name gets the new value, and keeps its place in the creation order.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut energy = file.dataset("energy").shape([0]).max_shape([None]).create::<f64>()?;
    /// energy.append(&[0.5, 0.25])?.attribute("units", "eV")?.attribute("least", 0.25)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("energy")?.attribute("least")?.read::<f64>()?, [0.25]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the format cannot store the attribute.
    pub fn attribute(&mut self, name: &(impl AsName + ?Sized), value: impl Value) -> Result<&mut Self> {
        let attribute = value::attribute(self.tree, name.name_bytes(), value)?;
        self.tree.attribute(self.id, attribute)?;
        Ok(self)
    }
}

/// Returns the shape after adding `count` elements along `axis`, and the part of it that is new.
pub(crate) fn appended(shape: &[u64], axis: usize, count: u64) -> Result<(Vec<u64>, Slab)> {
    let mut others = shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &n)| n);
    let row = others.try_fold(1u64, u64::checked_mul);
    let row = row.ok_or_else(|| Error::usage("shape", "has more than 2^64 elements per row"))?;
    let mut grown = shape.to_vec();
    let (Some(length), Some(0)) = (grown.get_mut(axis), count.checked_rem(row)) else {
        return Err(Error::usage("values", "must make up whole rows of the dataset"));
    };
    let rows = count / row.max(1);
    let start = *length;
    *length =
        start.checked_add(rows).ok_or_else(|| Error::usage("shape", "would have more than 2^64 rows"))?;
    let mut ranges: Vec<Range> = grown.iter().map(|&n| Range::all(n)).collect();
    if let Some(range) = ranges.get_mut(axis) {
        *range = Range::new(start, rows);
    }
    let slab = Slab::new(&grown, ranges)?;
    Ok((grown, slab))
}
