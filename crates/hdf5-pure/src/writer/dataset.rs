//! Settings of datasets that are written.

use sciformats_core::{Error, Slab};

use super::filters::Filters;
use super::layout::ChunkIndex;
use super::store::{self, Store};
use super::value::{self, Value};
use crate::model::write::attributes::Attribute;
use crate::model::write::tree::{ObjectId, Tree};
use crate::spec::Name;
use crate::spec::message::datatype::Datatype;
use crate::spec::selection::Selection;
use crate::spec::virtual_mapping::Mapping;

/// A dataset that is about to be made.
///
/// A wrong setting is an error of the call that makes the dataset: [`write`](Self::write), [`create`](Self::create) and
/// their like.
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
    pub(super) committed: Option<ObjectId>,
    /// One element, and its type if that is not the dataset's own.
    pub(super) fill: Option<(Option<Datatype>, Vec<u8>)>,
    pub(super) undefined: bool,
    pub(super) early: bool,
    pub(super) unfiltered_edges: bool,
    pub(super) attributes: Vec<Attribute>,
    pub(super) comment: Option<Name>,
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
    /// `.`; several calls add up. [`create`](Self::create) makes the dataset. It needs [`Bound::V110`](crate::Bound::V110).
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

    /// Finds chunks by this index. Bounds before [`Bound::V110`](crate::Bound::V110) have only version 1 B-trees, whatever is asked for.
    pub fn index(mut self, index: ChunkIndex) -> Self {
        self.index = Some(index);
        self
    }

    /// Filters the chunks, in this order.
    pub fn filters(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// Does not filter chunks that reach out of the dataset. It needs [`Bound::V110`](crate::Bound::V110).
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
        match store::encoded(self.tree, |to| T::encode(&[value], to)) {
            Ok(((), bytes)) => self.fill = Some((Some(T::datatype()), bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// What elements that are never written read as: one element as the dataset stores it.
    pub fn fill_raw(mut self, element: &[u8]) -> Self {
        self.fill = Some((None, element.to_vec()));
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
