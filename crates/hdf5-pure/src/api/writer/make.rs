//! Creates datasets from their settings.

use std::collections::BTreeMap;

use sciformats_core::arith::{fit, mul, present};
use sciformats_core::{Error, Result, Slab};

use crate::api::writer::dataset::{DatasetBuilder, Place};
use crate::api::writer::elements::DatasetWriter;
use crate::api::writer::filters::Filtered;
use crate::api::writer::layout::{self, ChunkIndex, Growth};
use crate::change::tree::{Kind, Tree};
use crate::chunk::shape;
use crate::chunk::write::Chunked;
use crate::dataset::write::{Data, Dataset};
use crate::heap::local;
use crate::object::attributes::Attribute;
use crate::object::bound::Bound;
use crate::object::id::{Id, ObjectId};
use crate::spec::Name;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::{ExternalFiles, Slot};
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::virtual_mapping::{self, Mapping};
use crate::value::store::{self, Store};

/// When space is allocated: 1 early, 2 late, 3 per chunk.
const EARLY: u8 = 1;
const LATE: u8 = 2;
const INCREMENTAL: u8 = 3;
/// When fill values are written: 0 on allocation, 2 if the user set a value.
const WITH_SPACE: u8 = 0;
const IF_SET: u8 = 2;
/// The largest compact data. It shares the 64 KiB of a header message with the other fields of the layout message.
const MAX_COMPACT: u64 = 65_520;

impl<'w> DatasetBuilder<'w> {
    /// Creates the dataset and writes all of its elements, in C order.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([2, 2]).write(&[281.5f32, 282.0, 280.0, 280.5])?;
    /// file.dataset("stations").write(&["north", "south"])?;
    /// file.dataset("visits").write(&[vec![3u32, 5], vec![], vec![8]])?; // rows of any length
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("visits")?.read::<Vec<u32>>()?, [vec![3, 5], vec![], vec![8]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the number of values does not match the shape or settings contradict each other, and
    /// `Io`.
    pub fn write<T: Store>(mut self, values: &[T]) -> Result<ObjectId> {
        let shape = self.shape.take().unwrap_or_else(|| vec![values.len() as u64]);
        let dataspace = layout::simple(&shape, &self.growth)?;
        let dataset = self.build(&T::datatype(), dataspace)?;
        dataset.or_nothing(|dataset| dataset.write_all(values).map(|_| ()))
    }

    /// Creates a scalar dataset, which has one element and no dimensions.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("height").attribute("units", "m").write_scalar(412.5)?;
    /// let height = File::from_bytes(file.into_bytes()?)?.dataset("height")?;
    /// assert_eq!((height.shape().len(), height.read::<f64>()?), (0, vec![412.5]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write).
    pub fn write_scalar<T: Store>(mut self, value: T) -> Result<ObjectId> {
        if self.shape.take().is_some() || self.growth != Growth::Fixed {
            return Err(Error::usage(
                "shape",
                "was given for a scalar, which has none: use `write` for an array",
            ));
        }
        let dataset = self.build(&T::datatype(), Dataspace::Scalar)?;
        dataset.or_nothing(|dataset| dataset.write_all(&[value]).map(|_| ()))
    }

    /// Creates a dataset with a null dataspace, which has a datatype but no elements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("crs").datatype(Datatype::signed(4)).attribute("name", "WGS 84").write_null()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.dataset("crs")?.is_null());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the [`datatype`](Self::datatype) is missing or settings contradict each other.
    pub fn write_null(self) -> Result<ObjectId> {
        if self.shape.is_some() {
            return Err(Error::usage("shape", "was given for a null dataspace, which has none"));
        }
        self.refuse_growth()?;
        let datatype = self.own_datatype()?;
        Ok(self.build(&datatype, Dataspace::Null)?.id())
    }

    /// Creates the dataset and writes all of its elements, given as bytes in its [`datatype`](Self::datatype).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([2]).datatype(Datatype::unsigned(2)).write_raw(&[1, 0, 3, 2])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u16>()?, [1, 515]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the shape or the datatype is missing, the elements refer to data elsewhere, or
    /// settings contradict each other, and `Io`.
    pub fn write_raw(mut self, bytes: &[u8]) -> Result<ObjectId> {
        let datatype = self.own_datatype()?;
        store::refuse_indirect(&datatype)?;
        let shape =
            self.shape.take().ok_or_else(|| Error::usage("shape", "is missing: set it with `shape`"))?;
        let dataspace = layout::simple(&shape, &self.growth)?;
        let dataset = self.build(&datatype, dataspace)?;
        let slab = Slab::all(&shape)?;
        dataset.or_nothing(|dataset| {
            let (state, output, registry) = dataset.tree.dataset_mut(dataset.id)?;
            state.write(output, registry, &slab, bytes)
        })
    }

    fn own_datatype(&self) -> Result<Datatype> {
        match (&self.datatype, self.committed) {
            (Some(datatype), _) => Ok(datatype.clone()),
            (None, Some(id)) => self.tree.committed(self.tree.owner.find(id)?).cloned(),
            (None, None) => Err(Error::usage("datatype", "is missing: set it with `datatype`")),
        }
    }

    /// Creates the dataset without writing elements. It needs a [`shape`](Self::shape), which may be 0 along dimensions
    /// that can grow.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Range, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut frames = file.dataset("frames").shape([10, 4, 4]).create::<u16>()?;
    /// for frame in 0..10u16 {
    ///     let place = Slab::new(&[10, 4, 4], [Range::new(frame.into(), 1), Range::all(4), Range::all(4)])?;
    ///     frames.write_slab(&place, &[frame; 16])?;
    /// }
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("frames")?.read_points::<u16>(&[vec![7, 3, 3]])?, [7]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if settings contradict each other.
    pub fn create<T: Store>(mut self) -> Result<DatasetWriter<'w>> {
        let shape =
            self.shape.take().ok_or_else(|| Error::usage("shape", "is missing: set it with `shape`"))?;
        let dataspace = layout::simple(&shape, &self.growth)?;
        self.build(&T::datatype(), dataspace)
    }

    /// Creates the dataset without writing elements, for [`DatasetWriter::write_encoded`]. It needs a
    /// [`datatype`](Self::datatype). Without a [`shape`](Self::shape) it is a scalar dataset.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut names = file.dataset("stations").datatype(Datatype::string()).shape([2]).create_encoded()?;
    /// names.write_encoded(&Slab::all(&[2])?, |to| {
    ///     to.sequence(5, b"north")?;
    ///     to.sequence(5, b"south")
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("stations")?.read::<String>()?, ["north", "south"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the datatype is missing or settings contradict each other.
    pub fn create_encoded(mut self) -> Result<DatasetWriter<'w>> {
        let datatype = self.own_datatype()?;
        let dataspace = match self.shape.take() {
            Some(shape) => layout::simple(&shape, &self.growth)?,
            None => {
                self.refuse_growth()?;
                Dataspace::Scalar
            }
        };
        self.build(&datatype, dataspace)
    }

    /// Fails if a dataset without dimensions should grow.
    fn refuse_growth(&self) -> Result<()> {
        match &self.growth {
            Growth::Fixed => Ok(()),
            Growth::UpTo(maximum) if maximum.is_empty() => Ok(()),
            _ => Err(Error::usage(
                "maximum shape",
                "was given for a dataset without dimensions, none of which can grow: set them with `shape`",
            )),
        }
    }

    fn build(mut self, own: &Datatype, dataspace: Dataspace) -> Result<DatasetWriter<'w>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let committed = self.committed.map(|id| self.tree.owner.find(id)).transpose()?;
        let datatype = match (committed, self.datatype.take()) {
            (Some(id), _) => {
                let committed = self.tree.committed(id)?.clone();
                committed.check()?;
                committed
            }
            (None, asked) => self.tree.checked(asked.as_ref().unwrap_or(own))?,
        };
        let value = self.fill_value(&datatype)?;
        let filled = value != Fill::Default;
        let data = self.data(&dataspace, &datatype)?;
        let chunk = match &data {
            Data::Chunked(chunked) => &chunked.dimensions[..],
            _ => &[],
        };
        let pipeline = self.filters.pipeline(Filtered {
            datatype: &datatype,
            fill: &value,
            chunk,
            registry: self.tree.registry(),
        })?;
        let implicit = self.index == Some(ChunkIndex::Implicit);
        let allocation_time = match &data {
            _ if self.early || implicit => EARLY,
            Data::Compact(_) => EARLY,
            Data::Chunked(_) | Data::Virtual(_) => INCREMENTAL,
            Data::Contiguous(_) | Data::External(_) => LATE,
        };
        // An element of variable length refers to a heap. If its bytes were whatever lay there before, readers would
        // follow a wrong reference, so the fill value is always written. The C library requires this too.
        let write_time = if datatype.is_variable() { WITH_SPACE } else { IF_SET };
        let (allocation_time, write_time) = self.times.unwrap_or((allocation_time, write_time));
        let write_time = self.fill_time.unwrap_or(write_time);
        let fill = FillValue { allocation_time, write_time, value };
        let mut dataset =
            Dataset { datatype, committed, dataspace, fill, pipeline, data, edited: None, tail: Vec::new() };
        if filled {
            dataset.fill_compact();
        }
        self.tree.check_messages(&dataset)?;
        let id = self.tree.insert(self.parent, self.path.as_bytes(), Kind::Dataset(Box::new(dataset)))?;
        if let Err(error) = complete(self.tree, id, implicit, self.attributes, self.comment) {
            self.tree.withdraw(id);
            return Err(error);
        }
        Ok(DatasetWriter::new(self.tree, id)?.with_conversion(self.conversion).named(self.path.to_text()))
    }

    fn fill_value(&mut self, datatype: &Datatype) -> Result<Fill> {
        match (self.fill.take(), self.undefined) {
            (Some((Some(own), bytes)), _) => {
                let own = self.tree.datatype(&own)?;
                Ok(Fill::Value(crate::value::convert::elements(&own, datatype, bytes, self.conversion)?))
            }
            (Some((None, bytes)), _) if bytes.len() as u64 == u64::from(datatype.size) => {
                Ok(Fill::Value(bytes))
            }
            (Some((None, bytes)), _) => {
                let problem = format!("has {} bytes, but each element has {}", bytes.len(), datatype.size);
                Err(Error::usage("fill value", problem))
            }
            (None, true) => Ok(Fill::Undefined),
            (None, false) => Ok(Fill::Default),
        }
    }

    fn data(&mut self, dataspace: &Dataspace, datatype: &Datatype) -> Result<Data> {
        let filtered = !self.filters.is_empty();
        let Dataspace::Simple { dimensions, maximum } = dataspace else {
            if filtered || matches!(self.place, Place::Chunked(_)) {
                return Err(Error::usage(
                    "chunks",
                    "or filters were given for a dataset without dimensions, which cannot have them",
                ));
            }
            self.refuse_index()?;
            let elements = present(dataspace.elements(), "number of elements")?;
            return self.flat(mul(elements, datatype.size.into())?);
        };
        let grows = maximum.iter().zip(dimensions).any(|(max, &n)| *max != Some(n));
        let elements = present(dataspace.elements(), "number of elements")?;
        let bytes = elements
            .checked_mul(datatype.size.into())
            .ok_or_else(|| Error::usage("shape", "needs more bytes than a file can hold"))?;
        if !matches!(self.place, Place::Chosen | Place::Chunked(_)) {
            self.refuse_index()?;
        }
        let chunks = match std::mem::replace(&mut self.place, Place::Chosen) {
            Place::External(files) if !filtered => return self.external_files(files),
            Place::Virtual(mappings) if !filtered => return self.mapped(&mappings),
            Place::Chunked(chunks) => chunks,
            Place::Chosen if filtered || grows || self.index.is_some() => None,
            other => {
                self.place = other;
                if filtered || grows {
                    return Err(Error::usage(
                        "dataset",
                        "can grow or be filtered only if its elements are stored in chunks",
                    ));
                }
                return self.flat(bytes);
            }
        };
        let chunks = chunks.unwrap_or_else(|| shape::automatic(dimensions, maximum, datatype.size.into()));
        self.chunked(dimensions, maximum, chunks, (datatype, filtered))
    }

    /// Fails if an index of chunks was asked for where there are none.
    fn refuse_index(&self) -> Result<()> {
        self.index.map_or(Ok(()), |index| {
            let problem = format!("{index:?} was asked for, but the elements are not stored in chunks");
            Err(Error::usage("index", problem))
        })
    }

    fn external_files(&mut self, files: Vec<(Name, u64, Option<u64>)>) -> Result<Data> {
        let mut heap = vec![0; 8]; // the empty name
        let wrong = |problem: &'static str| Err(Error::usage("external files", problem));
        if files.is_empty() || files.len() > usize::from(u16::MAX) {
            return wrong("must be at least one and at most 65,535");
        }
        if files.iter().any(|(name, ..)| name.as_bytes().is_empty() || name.as_bytes().contains(&0)) {
            return wrong("include a name that is empty or contains a NUL character");
        }
        // Nothing would be in those behind a file without an end, and the C library opens no such dataset.
        if files.split_last().is_some_and(|(_, before)| before.iter().any(|(.., size)| size.is_none())) {
            return wrong("include one without a size that is not the last");
        }
        let slots = files
            .into_iter()
            .map(|(name, offset, size)| {
                Ok(Slot { name: local::push_name(&mut heap, name.as_bytes())?, offset, size })
            })
            .collect::<Result<_>>()?;
        let heap = local::build(&mut self.tree.output, &heap)?;
        Ok(Data::External(ExternalFiles { heap, slots }))
    }

    fn mapped(&mut self, mappings: &[Mapping]) -> Result<Data> {
        if !self.any_bound {
            self.tree.settings.bound.needs(Bound::V110, "virtual datasets")?;
        }
        let mut bytes = Vec::new();
        virtual_mapping::encode(&mut bytes, mappings, self.tree.output.sizes)?;
        Ok(Data::Virtual(self.tree.heap.put(&mut self.tree.output, &bytes)?))
    }

    /// Returns storage for elements that are not chunked.
    fn flat(&self, bytes: u64) -> Result<Data> {
        match self.place {
            Place::Compact if bytes > MAX_COMPACT => Err(Error::usage(
                "compact dataset",
                format!("has {bytes} bytes, but an object header holds at most {MAX_COMPACT}"),
            )),
            Place::Compact => Ok(Data::Compact(vec![0; fit(bytes, "size of compact data")?])),
            _ => Ok(Data::Contiguous(None)),
        }
    }

    fn chunked(
        &self,
        shape: &[u64],
        maximum: &[Option<u64>],
        chunks: Vec<u64>,
        (datatype, filtered): (&Datatype, bool),
    ) -> Result<Data> {
        let wrong = |problem: &'static str| Err(Error::usage("chunks", problem));
        if chunks.len() != shape.len() || chunks.contains(&0) || chunks.is_empty() {
            return wrong("must have as many dimensions as the dataset, each at least 1");
        }
        if chunks.iter().zip(maximum).any(|(&n, max)| max.is_some_and(|max| n > max.max(1))) {
            return wrong("are larger than the maximum shape of the dataset");
        }
        let bytes = chunks.iter().try_fold(u64::from(datatype.size), |product, &n| product.checked_mul(n));
        let bound = self.tree.settings.bound;
        let wide = match bytes {
            Some(bytes) if u32::try_from(bytes).is_ok() => false,
            Some(_) if bound >= Bound::V200 => true,
            _ => return wrong("have 4 GiB or more, which only the bound V200 allows"),
        };
        if self.unfiltered_edges && !self.any_bound {
            bound.needs(Bound::V110, "edges without filters")?;
        }
        if let Some(index) = self.index {
            index.check(shape, maximum, &chunks, filtered)?;
        }
        Ok(Data::Chunked(Chunked {
            dimensions: chunks,
            index: self.index.map(ChunkIndex::kind),
            wide,
            unfiltered_edges: self.unfiltered_edges,
            stored: BTreeMap::new(),
            open: BTreeMap::new(),
            implicit: None,
            overwrites: false,
            k: self.tree.chunk_k(),
            left: Vec::new(),
            before: None,
        }))
    }
}

/// Allocates the chunks of a new dataset, if its index needs all of them, and gives it its attributes and its comment.
fn complete(
    tree: &mut Tree,
    id: Id,
    implicit: bool,
    attributes: Vec<Attribute>,
    comment: Option<Name>,
) -> Result<()> {
    if implicit {
        let (dataset, output, _) = tree.dataset_mut(id)?;
        dataset.allocate_chunks(output)?;
    }
    for attribute in attributes {
        tree.attribute(id, attribute)?;
    }
    tree.object_mut(id)?.comment = comment;
    Ok(())
}
