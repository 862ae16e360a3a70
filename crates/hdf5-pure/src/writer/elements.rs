//! Datasets of a file that is written, to write elements to.

use std::borrow::Cow;

use sciformats_core::{Error, Range, Result, Slab};

use super::value::{self, Encoder, Store, Value};
use crate::model::write::tree::{ObjectId, Tree};

/// A dataset of a file that is written, to write elements to.
///
/// Chunks are filtered and stored as soon as they are complete. Those that are not are kept until 32 MiB of them are in
/// memory; then they are stored as they are, and read back when more of their elements come.
pub struct DatasetWriter<'w> {
    pub(super) tree: &'w mut Tree,
    pub(super) id: ObjectId,
}

impl std::fmt::Debug for DatasetWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'w> DatasetWriter<'w> {
    pub(super) fn new(tree: &'w mut Tree, id: ObjectId) -> Self {
        Self { tree, id }
    }

    /// The dataset, or nothing in its place if it cannot be written.
    pub(super) fn or_nothing(mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<ObjectId> {
        match write(&mut self) {
            Ok(()) => Ok(self.id),
            Err(error) => {
                self.tree.withdraw(self.id);
                Err(error)
            }
        }
    }

    /// The dataset, for [`Writer::open`](crate::Writer::open), hard links and references.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The number of elements along each dimension.
    ///
    /// # Errors
    /// None at present.
    pub fn shape(&self) -> Result<&[u64]> {
        Ok(self.tree.dataset(self.id)?.shape())
    }

    /// Lets the dataset grow to `shape`.
    ///
    /// # Errors
    /// [`Error::Usage`] if it passes the maximum; `Unsupported` if a dimension shrinks.
    pub fn resize(&mut self, shape: &[u64]) -> Result<&mut Self> {
        self.tree.dataset_mut(self.id)?.0.resize(shape)?;
        Ok(self)
    }

    /// Writes the elements of a part of the dataset, row by row of the part, as `encode` appends them: in the dataset's
    /// own datatype, sequences and strings as such.
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
    /// [`Error::Usage`] if `slab` is one of another shape or what is appended are not its elements; those of `encode`;
    /// `Io`.
    pub fn write_encoded(
        &mut self,
        slab: &Slab,
        encode: impl FnOnce(&mut Encoder<'_>) -> Result<()>,
    ) -> Result<&mut Self> {
        let ((), bytes) = value::encoded(self.tree, encode)?;
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        dataset.write(output, registry, slab, &bytes)?;
        Ok(self)
    }

    /// Writes the elements of a part of the dataset, row by row of the part.
    ///
    /// # Errors
    /// [`Error::Usage`] if `slab` is one of another shape or the number of values is not its own; `Io`.
    pub fn write_slab<T: Store>(&mut self, slab: &Slab, values: &[T]) -> Result<&mut Self> {
        let datatype = &self.tree.dataset(self.id)?.datatype;
        let own = T::datatype();
        let bytes = match T::as_bytes(values).filter(|_| crate::convert::same(&own, datatype)) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let datatype = datatype.clone();
                Cow::Owned(value::converted(self.tree, values, &datatype)?)
            }
        };
        let (dataset, output, registry) = self.tree.dataset_mut(self.id)?;
        dataset.write(output, registry, slab, &bytes)?;
        Ok(self)
    }

    /// Writes all elements.
    ///
    /// # Errors
    /// As [`write_slab`](Self::write_slab).
    pub fn write_all<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        let slab = Slab::all(self.shape()?)?;
        self.write_slab(&slab, values)
    }

    /// Lets the dataset grow along its first dimension by the rows that `values` are, and writes them there.
    ///
    /// # Errors
    /// As [`write_slab`](Self::write_slab); [`Error::Usage`] if values are no whole rows, or the dataset may not grow so far.
    pub fn append<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        let mut shape = self.shape()?.to_vec();
        let row = sciformats_core::slab::elements(shape.get(1..).unwrap_or_default()).unwrap_or(0);
        let len = values.len() as u64;
        let (Some(first), Some(0)) = (shape.first_mut(), len.checked_rem(row)) else {
            return Err(Error::usage("values", "are no whole rows of the dataset"));
        };
        let rows = len / row.max(1);
        let start = *first;
        *first = start.checked_add(rows).ok_or_else(|| Error::usage("shape", "has more than 2^64 rows"))?;
        self.resize(&shape)?;
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        if let Some(range) = ranges.first_mut() {
            *range = Range::new(start, rows);
        }
        self.write_slab(&Slab::new(&shape, ranges)?, values)
    }

    /// Gives the dataset an attribute; one of that name gets the new value.
    ///
    /// # Errors
    /// [`Error::Usage`] if the format has no place for it.
    pub fn attribute(&mut self, name: &str, value: impl Value) -> Result<&mut Self> {
        let attribute = value::attribute(self.tree, name, value)?;
        self.tree.attribute(self.id, attribute)?;
        Ok(self)
    }
}
