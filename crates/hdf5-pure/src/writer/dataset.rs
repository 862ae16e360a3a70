//! Datasets that are written.

use std::collections::BTreeMap;

use sciformats_core::{Error, Result, Slab};

use super::elements::DatasetWriter;
use super::filters::{Filtered, Filters};
use super::layout::{self, ChunkIndex};
use super::value::{self, Store, Value};
use crate::model::write::attributes::Attribute;
use crate::model::write::bound::Bound;
use crate::model::write::chunk_index::CHUNK_K;
use crate::model::write::chunk_shape;
use crate::model::write::chunks::Chunked;
use crate::model::write::dataset::{Data, Dataset};
use crate::model::write::output::SIZES;
use crate::model::write::symbols;
use crate::model::write::tree::{Kind, ObjectId, Tree};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::{ExternalFiles, Slot};
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::selection::Selection;
use crate::spec::virtual_mapping::{self, Mapping};

/// When space is taken: 1 at once, 2 with the first elements, 3 chunk by chunk.
const EARLY: u8 = 1;
const LATE: u8 = 2;
const INCREMENTAL: u8 = 3;
/// Fill values are written where the user set one.
const IF_SET: u8 = 2;
/// Elements in the header share a message's 64 KiB with its other fields.
const MAX_COMPACT: u64 = 65_520;

/// A dataset that is about to be made.
///
/// A wrong setting is an error of the call that makes the dataset: [`write`](Self::write), [`create`](Self::create) and
/// their like.
#[must_use = "nothing is written before `write`, `write_scalar`, `write_raw` or `create`"]
pub struct DatasetBuilder<'w> {
    tree: &'w mut Tree,
    parent: ObjectId,
    path: String,
    shape: Option<Vec<u64>>,
    maximum: Option<Vec<Option<u64>>>,
    place: Place,
    index: Option<ChunkIndex>,
    filters: Filters,
    datatype: Option<Datatype>,
    committed: Option<ObjectId>,
    fill: Option<(Datatype, Vec<u8>)>,
    undefined: bool,
    early: bool,
    unfiltered_edges: bool,
    attributes: Vec<Attribute>,
    comment: Option<String>,
    failed: Option<Error>,
}

/// How elements are stored.
enum Place {
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
            committed: None,
            fill: None,
            undefined: false,
            early: false,
            unfiltered_edges: false,
            attributes: Vec::new(),
            comment: None,
            failed: None,
        }
    }

    /// The number of elements along each dimension, the last varying fastest. By default values have one dimension.
    pub fn shape(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    /// How far each dimension may grow; `None` is without end. The dataset is stored in chunks.
    pub fn max_shape(mut self, maximum: impl Into<Vec<Option<u64>>>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Stores the elements in chunks of this shape.
    pub fn chunks(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.place = Place::Chunked(Some(shape.into()));
        self
    }

    /// Stores the elements in chunks whose shape is chosen: at most a 256th of the dataset, though always 64 KiB and never
    /// more than 1 MiB, with sides that are alike and divide the dataset's evenly. A dimension without a maximum counts as
    /// 1024 elements at least.
    pub fn automatic_chunks(mut self) -> Self {
        self.place = Place::Chunked(None);
        self
    }

    /// Stores the elements one after another.
    pub fn contiguous(mut self) -> Self {
        self.place = Place::Contiguous;
        self
    }

    /// Stores the elements, less than 64 KiB, in the object's header.
    pub fn compact(mut self) -> Self {
        self.place = Place::Compact;
        self
    }

    /// Says that the elements are in other files: their names, where the elements start in each, and how many bytes of them
    /// it holds (`None`: all others, in the last file). [`create`](Self::create) makes the dataset; the files are not touched.
    pub fn external<'f>(mut self, files: impl IntoIterator<Item = (&'f str, u64, Option<u64>)>) -> Self {
        let files = files.into_iter().map(|(name, offset, size)| (name.to_owned(), offset, size));
        self.place = Place::External(files.collect());
        self
    }

    /// Says that the elements of `target` are those of `source` of a dataset in another file, or in this one if `file` is
    /// `.`; several calls add up. [`create`](Self::create) makes the dataset. It needs [`Bound::V110`].
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

    /// Finds chunks by this index. Bounds before [`Bound::V110`] have only version 1 B-trees, whatever is asked for.
    pub fn index(mut self, index: ChunkIndex) -> Self {
        self.index = Some(index);
        self
    }

    /// Filters the chunks, in this order.
    pub fn filters(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// Does not filter chunks that reach out of the dataset. It needs [`Bound::V110`].
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
    pub fn deflate(mut self, level: u32) -> Self {
        self.filters = self.filters.deflate(level);
        self
    }

    /// Adds [`Filters::fletcher32`].
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
    pub fn zstd(mut self, level: i32) -> Self {
        self.filters = self.filters.zstd(level);
        self
    }

    /// Stores the elements in this type: numbers are converted, strings fill a fixed length.
    pub fn datatype(mut self, datatype: Datatype) -> Self {
        self.datatype = Some(datatype);
        self
    }

    /// Stores the elements in a committed datatype of the file.
    pub fn committed(mut self, datatype: ObjectId) -> Self {
        self.committed = Some(datatype);
        self
    }

    /// What elements that are never written read as.
    pub fn fill<T: Store>(mut self, value: T) -> Self {
        match value::encoded(self.tree, |to| T::encode(&[value], to)) {
            Ok(((), bytes)) => self.fill = Some((T::datatype(), bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Says that elements that are never written have no value.
    pub fn fill_undefined(mut self) -> Self {
        self.undefined = true;
        self
    }

    /// Takes the space of all elements at once, and fills it.
    pub fn allocate_early(mut self) -> Self {
        self.early = true;
        self
    }

    /// Gives the dataset an attribute.
    pub fn attribute(mut self, name: &str, value: impl Value) -> Self {
        match value::attribute(self.tree, name, value) {
            Ok(attribute) => self.attributes.push(attribute),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Gives the dataset a comment.
    pub fn comment(mut self, text: &str) -> Self {
        self.comment = Some(text.to_owned());
        self
    }

    /// The first error is the one that is told.
    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    /// Makes the dataset and writes all of its elements, row by row.
    ///
    /// # Errors
    /// [`Error::Usage`] if the number of values is not that of the shape, or settings do not go together; `Io`.
    pub fn write<T: Store>(mut self, values: &[T]) -> Result<ObjectId> {
        let shape = self.shape.take().unwrap_or_else(|| vec![values.len() as u64]);
        let dataspace = layout::simple(&shape, self.maximum.take())?;
        let dataset = self.build(&T::datatype(), dataspace)?;
        dataset.or_nothing(|dataset| dataset.write_all(values).map(|_| ()))
    }

    /// Makes a dataset without dimensions, which has one element.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_scalar<T: Store>(mut self, value: T) -> Result<ObjectId> {
        if self.shape.take().is_some() || self.maximum.take().is_some() {
            return Err(Error::usage("shape", "is none that a scalar has"));
        }
        let dataset = self.build(&T::datatype(), Dataspace::Scalar)?;
        dataset.or_nothing(|dataset| dataset.write_all(&[value]).map(|_| ()))
    }

    /// Makes a dataset without elements, only with a type.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no [`datatype`](Self::datatype), or settings do not go together.
    pub fn write_null(self) -> Result<ObjectId> {
        let datatype = self.own_datatype()?;
        Ok(self.build(&datatype, Dataspace::Null)?.id)
    }

    /// Makes the dataset and writes all of its elements, given as bytes of its [`datatype`](Self::datatype).
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no shape or datatype, elements of the type are not bytes alone, or settings do not go
    /// together; `Io`.
    pub fn write_raw(mut self, bytes: &[u8]) -> Result<ObjectId> {
        let datatype = self.own_datatype()?;
        value::refuse_indirect(&datatype)?;
        let shape = self.shape.take().ok_or_else(|| Error::usage("shape", "is not given"))?;
        let dataspace = layout::simple(&shape, self.maximum.take())?;
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
            (None, Some(id)) => self.tree.committed(id).cloned(),
            (None, None) => Err(Error::usage("datatype", "is not given")),
        }
    }

    /// Makes the dataset without writing elements. It needs a [`shape`](Self::shape), which may be 0 where it can grow.
    ///
    /// # Errors
    /// [`Error::Usage`] if settings do not go together.
    pub fn create<T: Store>(mut self) -> Result<DatasetWriter<'w>> {
        let shape = self.shape.take().ok_or_else(|| Error::usage("shape", "is not given"))?;
        let dataspace = layout::simple(&shape, self.maximum.take())?;
        self.build(&T::datatype(), dataspace)
    }

    /// Makes the dataset without writing elements, for [`DatasetWriter::write_encoded`]. It needs a
    /// [`datatype`](Self::datatype); without a [`shape`](Self::shape) it has one element and no dimensions.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no datatype, or settings do not go together.
    pub fn create_encoded(mut self) -> Result<DatasetWriter<'w>> {
        let datatype = self.own_datatype()?;
        let dataspace = match self.shape.take() {
            Some(shape) => layout::simple(&shape, self.maximum.take())?,
            None => Dataspace::Scalar,
        };
        self.build(&datatype, dataspace)
    }

    fn build(mut self, own: &Datatype, dataspace: Dataspace) -> Result<DatasetWriter<'w>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let datatype = match (self.committed, self.datatype.take()) {
            (Some(id), _) => self.tree.committed(id)?.clone(),
            (None, asked) => self.tree.settings.bound.datatype(asked.as_ref().unwrap_or(own))?,
        };
        datatype.check()?;
        let value = self.fill_value(&datatype)?;
        let filled = value != Fill::Default;
        let data = self.data(&dataspace, &datatype)?;
        let chunk = match &data {
            Data::Chunked(chunked) => &chunked.dimensions[..],
            _ => &[],
        };
        let pipeline = self.filters.pipeline(Filtered { datatype: &datatype, fill: &value, chunk })?;
        let implicit = self.index == Some(ChunkIndex::Implicit);
        let allocation_time = match &data {
            _ if self.early || implicit => EARLY,
            Data::Compact(_) => EARLY,
            Data::Chunked(_) => INCREMENTAL,
            _ => LATE,
        };
        let fill = FillValue { allocation_time, write_time: IF_SET, value };
        let committed = self.committed;
        let mut dataset = Dataset { datatype, committed, dataspace, fill, pipeline, data, edited: None };
        if filled {
            dataset.fill_compact();
        }
        if implicit {
            dataset.allocate_chunks(&mut self.tree.output)?;
        }
        let id = self.tree.insert(self.parent, &self.path, Kind::Dataset(Box::new(dataset)))?;
        for attribute in self.attributes {
            self.tree.attribute(id, attribute)?;
        }
        self.tree.object_mut(id)?.comment = self.comment.map(|text| text.as_str().into());
        Ok(DatasetWriter::new(self.tree, id))
    }

    fn fill_value(&mut self, datatype: &Datatype) -> Result<Fill> {
        match (self.fill.take(), self.undefined) {
            (Some((own, bytes)), _) => {
                let own = self.tree.settings.bound.datatype(&own)?;
                Ok(Fill::Value(crate::convert::elements(&own, datatype, bytes)?))
            }
            (None, true) => Ok(Fill::Undefined),
            (None, false) => Ok(Fill::Default),
        }
    }

    fn data(&mut self, dataspace: &Dataspace, datatype: &Datatype) -> Result<Data> {
        let filtered = !self.filters.is_empty();
        let Dataspace::Simple { dimensions, maximum } = dataspace else {
            if filtered || matches!(self.place, Place::Chunked(_)) {
                return Err(Error::usage("chunks", "are nothing that a dataset without dimensions has"));
            }
            let bytes = dataspace.elements().unwrap_or(0).saturating_mul(datatype.size.into());
            return self.flat(bytes);
        };
        let grows = maximum.iter().zip(dimensions).any(|(max, &n)| *max != Some(n));
        let elements = dataspace.elements().unwrap_or(u64::MAX);
        let bytes = elements
            .checked_mul(datatype.size.into())
            .ok_or_else(|| Error::usage("shape", "has more bytes than a file holds"))?;
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
                        "that grows or is filtered has its elements in chunks",
                    ));
                }
                return self.flat(bytes);
            }
        };
        let chunks =
            chunks.unwrap_or_else(|| chunk_shape::automatic(dimensions, maximum, datatype.size.into()));
        self.chunked(dimensions, maximum, chunks, (datatype, filtered))
    }

    fn external_files(&mut self, files: Vec<(String, u64, Option<u64>)>) -> Result<Data> {
        let mut heap = vec![0; 8]; // the empty name
        let wrong = files.is_empty() || files.len() > usize::from(u16::MAX);
        if wrong || files.iter().any(|(name, ..)| name.is_empty() || name.contains('\0')) {
            return Err(Error::usage("external files", "are none, too many, or have names that are none"));
        }
        let slots = files
            .into_iter()
            .map(|(name, offset, size)| Slot {
                name: symbols::name(&mut heap, name.as_bytes()),
                offset,
                size,
            })
            .collect();
        let heap = symbols::local_heap(&mut self.tree.output, &heap)?;
        Ok(Data::External(ExternalFiles { heap, slots }))
    }

    fn mapped(&mut self, mappings: &[Mapping]) -> Result<Data> {
        self.tree.settings.bound.needs(Bound::V110, "virtual datasets")?;
        let mut bytes = Vec::new();
        virtual_mapping::encode(&mut bytes, mappings, SIZES);
        Ok(Data::Virtual(self.tree.heap.put(&mut self.tree.output, &bytes)?))
    }

    /// Elements that are not in chunks.
    fn flat(&self, bytes: u64) -> Result<Data> {
        match self.place {
            Place::Compact if bytes > MAX_COMPACT => {
                Err(Error::usage("compact dataset", format!("has {bytes} bytes, more than {MAX_COMPACT}")))
            }
            Place::Compact => Ok(Data::Compact(vec![0; usize::try_from(bytes).unwrap_or(0)])),
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
            return wrong("have another number of dimensions than the dataset, or a side of 0");
        }
        if chunks.iter().zip(maximum).any(|(&n, max)| max.is_some_and(|max| n > max.max(1))) {
            return wrong("are larger than the dataset can be");
        }
        let bytes = chunks.iter().try_fold(u64::from(datatype.size), |product, &n| product.checked_mul(n));
        let bound = self.tree.settings.bound;
        let wide = match bytes {
            Some(bytes) if u32::try_from(bytes).is_ok() => false,
            Some(_) if bound >= Bound::V200 => true,
            _ => return wrong("have 4 GiB or more, which only the newest bound allows"),
        };
        if self.unfiltered_edges {
            bound.needs(Bound::V110, "edges without filters")?;
        }
        if let Some(index) = self.index {
            index.check(shape, maximum, &chunks, filtered)?;
        }
        Ok(Data::Chunked(Chunked {
            dimensions: chunks,
            index: self.index.map(ChunkIndex::kind),
            wide,
            unfiltered_edges: self.unfiltered_edges && filtered,
            stored: BTreeMap::new(),
            open: BTreeMap::new(),
            implicit: None,
            overwrites: false,
            k: CHUNK_K,
            left: Vec::new(),
        }))
    }
}
