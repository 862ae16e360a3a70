//! Virtual datasets that show the datasets of several files as one. Everything else is that of the first file.

use hdf5_pure::structure::{Dataspace, Layout, Mapping, Regular, Selection};
use hdf5_pure::{Dataset, DatasetBuilder, Name, ObjectId};
use sciformats_core::{Range, Slab};

use super::Copy;
use sciformats::{Error, Result};

/// A dataset that shows those of several files.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The path of the dataset, which is the same in all files.
    pub path: String,
    /// The dimension along which the files follow each other.
    pub axis: usize,
    /// The name of each file, as the new file stores it, and its length along the dimension.
    pub parts: Vec<(String, u64)>,
    /// How many elements of that length each file stores; the others are fill values. Empty if no file stores fewer.
    pub rows: Vec<u64>,
    /// Whether the dataset of the first file is itself such a dataset, and what it shows stays.
    pub continued: bool,
    /// The numbers of all files, if they are stored in the new file instead of being shown.
    pub values: Option<Vec<f64>>,
    /// Whether the dataset becomes a plain one of these numbers, whatever its type and its shape are.
    pub plain: bool,
}

impl Copy<'_> {
    /// Creates a dataset that shows others.
    pub(super) fn joined(
        &mut self,
        (path, text): (&Name, &str),
        dataset: &Dataset,
        joined: &Joined,
    ) -> Result<ObjectId> {
        if let (Some(values), true) = (&joined.values, joined.plain) {
            return self.writer.dataset(path).write(values);
        }
        let stored = super::elements::Stored::new(self.job.source, dataset.datatype())?;
        let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else {
            return Err(Error::usage("join", format!("{text} has no dimensions")));
        };
        let own =
            dimensions.get(joined.axis).copied().ok_or_else(|| Error::usage("join", "names no dimension"))?;
        let mut shape = dimensions.clone();
        let wide = || Error::usage("join", format!("{text} becomes longer than 2^64 elements"));
        let more = joined.parts.iter().try_fold(0u64, |all, (_, n)| all.checked_add(*n)).ok_or_else(wide)?;
        let start = if joined.continued { own } else { 0 };
        if let Some(side) = shape.get_mut(joined.axis) {
            *side = start.checked_add(more).ok_or_else(wide)?;
        }
        let committed = dataset.committed()?.map(|address| self.committed(address)).transpose()?;
        let builder = self.writer.dataset(path).datatype(stored.datatype().clone()).shape(shape.clone());
        let builder = match committed {
            Some(id) => builder.committed(id),
            None => builder,
        };
        let builder = super::storage::filled(builder, dataset, &stored, self.job.options)?;
        if let Some(values) = &joined.values {
            let mut writer = builder.create_encoded()?;
            writer.write_all(values)?;
            return Ok(writer.id());
        }
        let grows = dimensions.iter().zip(maximum).any(|(n, most)| *most != Some(*n));
        let builder = match grows {
            true => {
                let most = maximum.iter().zip(&shape).map(|(most, n)| most.map(|most| most.max(*n)));
                builder.max_shape(most.collect::<Vec<_>>())
            }
            false => builder,
        };
        let mut builder = builder.virtual_layout();
        if joined.continued {
            builder = kept(builder, dataset, dimensions)?;
        }
        let mut at = start;
        let rows = joined.rows.iter().copied().map(Some).chain(std::iter::repeat(None));
        for ((file, length), rows) in joined.parts.iter().zip(rows).filter(|((_, length), _)| *length > 0) {
            let rows = rows.map_or(*length, |rows| rows.min(*length));
            let part = |start: u64, of: &[u64]| {
                let ranges = of.iter().enumerate().map(|(axis, n)| {
                    if axis == joined.axis { Range::new(start, rows) } else { Range::all(*n) }
                });
                ranges.collect::<Vec<_>>()
            };
            let mut source = shape.clone();
            if let Some(side) = source.get_mut(joined.axis) {
                *side = rows;
            }
            let from = Slab::new(&source, part(0, &source))?;
            let to = Slab::new(&shape, part(at, &shape))?;
            if !to.is_empty() {
                builder = builder.map(file, path, &from, &to);
            }
            at = at.checked_add(*length).ok_or_else(wide)?;
        }
        Ok(builder.create_encoded()?.id())
    }
}

/// Keeps what a virtual dataset of this shape shows.
fn kept<'w>(mut builder: DatasetBuilder<'w>, dataset: &Dataset, shape: &[u64]) -> Result<DatasetBuilder<'w>> {
    if !matches!(dataset.layout()?, Layout::Virtual(_)) {
        return Err(Error::usage("join", "continues a dataset that is not virtual"));
    }
    for mapping in dataset.mappings()? {
        // In a longer dataset, all elements of the shorter one are a part.
        let target = match mapping.target {
            Selection::All => Selection::Regular(
                shape
                    .iter()
                    .map(|n| Regular { start: 0, stride: (*n).max(1), count: Some(1), block: Some(*n) })
                    .collect(),
            ),
            other => other,
        };
        builder = builder.map_selection(Mapping { target, ..mapping });
    }
    Ok(builder)
}
