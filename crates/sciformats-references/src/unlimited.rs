//! Variables of netCDF-4 that are shorter than one of their unlimited dimensions. NetCDF shows fill values beyond their ends, because a
//! dimension has one length.

use std::collections::HashMap;

use sciformats::hdf5_pure::structure::Dataspace;
use sciformats::hdf5_pure::{Address, Dataset, conventions};
use sciformats::{ArrayInfo, File, ObjectId, Range, Slab};
use sciformats_core::bound;
use serde_json::Value;

use crate::chunks::{Chunks, Place};
use crate::extent;
use crate::inline;
use crate::model::VirtualArray;

/// The lengths of the unlimited dimensions of a file, by the addresses of their scales: those of the longest variables.
pub(crate) struct Lengths(HashMap<Address, u64>);

impl Lengths {
    /// Finds them by looking at all arrays. What cannot be read has no dimensions.
    pub(crate) fn of(file: &File) -> Self {
        let mut lengths = HashMap::new();
        for array in file.arrays().filter_map(Result::ok) {
            let Some(Ok(dataset)) = sciformats::formats::hdf5::dataset(file.source(), array.id()) else {
                continue;
            };
            for (scale, length) in dimensions(&dataset).into_iter().zip(dataset.shape()) {
                if let Some(scale) = scale {
                    let longest = lengths.entry(scale).or_insert(0);
                    *longest = (*length).max(*longest);
                }
            }
        }
        Self(lengths)
    }

    /// Returns the length of the dimension that belongs to a scale.
    pub(crate) fn of_scale(&self, file: &File, id: ObjectId) -> Option<u64> {
        let dataset = sciformats::formats::hdf5::dataset(file.source(), id)?.ok()?;
        self.0.get(&dataset.address()).copied()
    }

    /// Returns the shape that netCDF shows, if it is another one than that of the dataset.
    pub(crate) fn shape(&self, dataset: &Dataset) -> Option<Vec<u64>> {
        let lengths = dimensions(dataset).into_iter().zip(dataset.shape());
        let shape: Vec<u64> = lengths
            .map(|(scale, length)| scale.and_then(|scale| self.0.get(&scale)).map_or(*length, |all| *all))
            .collect();
        (shape != dataset.shape()).then_some(shape)
    }
}

/// Returns whether a dataset can grow without a limit.
pub(crate) fn grows(dataset: &Dataset) -> bool {
    matches!(dataset.dataspace(), Dataspace::Simple { maximum, .. } if maximum.contains(&None))
}

/// Returns the scale of each dimension that has no limit, neither in the scale nor in the dataset.
fn dimensions(dataset: &Dataset) -> Vec<Option<Address>> {
    let Dataspace::Simple { maximum, .. } = dataset.dataspace() else { return Vec::new() };
    if !maximum.contains(&None) {
        return vec![None; maximum.len()];
    }
    let class = dataset.attr::<String>("CLASS").ok().flatten();
    if class.as_deref() == Some("DIMENSION_SCALE") && maximum.len() == 1 {
        return vec![Some(dataset.address())];
    }
    let scales = conventions::scales(dataset).unwrap_or_default();
    let own = maximum.iter().zip(scales.into_iter().chain(std::iter::repeat(Vec::new())));
    own.map(|(most, scales)| {
        let scale = scales.first().filter(|scale| most.is_none() && grows(scale))?;
        (scale.shape().len() == 1).then(|| scale.address())
    })
    .collect()
}

/// Returns an array of the shape that netCDF shows, whose chunks beyond the end of the dataset are missing; `None` if its last chunks
/// have elements beyond that end, because nothing tells what these are.
pub(crate) fn longer(array: &VirtualArray, shape: &[u64], fill: Value) -> Option<VirtualArray> {
    // The type of the elements may add dimensions.
    let target: Vec<u64> = shape.iter().chain(array.shape.get(shape.len()..)?).copied().collect();
    let sides = array.shape.iter().zip(&target).zip(&array.chunk_shape);
    let mut lengths = sides.filter(|((length, longer), _)| length < longer);
    if !lengths.all(|((length, _), side)| length.is_multiple_of(*side)) {
        return None;
    }
    let mut chunks = Chunks::new(extent::grid(&target, &array.chunk_shape));
    extent::count(chunks.grid()).ok()?;
    let mut index = Vec::new();
    for (number, place) in array.chunks.iter() {
        let Place::Range { file, offset, length } = place else { return None };
        index.clear();
        array.chunks.index(number, &mut index);
        chunks.push_of(file, chunks.number(&index)?, offset, length);
    }
    chunks.sort().then(|| VirtualArray { shape: target, chunks, fill, ..array.clone() })
}

/// Returns an array with its elements as part of the references, and fill values beyond the end of the dataset, and the number of its
/// bytes.
pub(crate) fn inlined(
    file: &File,
    id: ObjectId,
    info: &ArrayInfo,
    (shape, most): (&[u64], u64),
) -> Result<(VirtualArray, u64), String> {
    let (mut array, bytes) = inline::array(file, id, info, most)?;
    let own = info.shape.clone().unwrap_or_default();
    if shape == own {
        return Ok((array, bytes));
    }
    let no = || "only numbers can be continued by fill values".to_owned();
    let size = info.element.size().filter(|_| array.filters.is_empty()).ok_or_else(no)?;
    let count = shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side));
    let total = count.and_then(|count| count.checked_mul(size)).filter(|total| *total <= most);
    let total =
        total.ok_or_else(|| format!("its elements take more than the {most} bytes that may be inlined"))?;
    let width = bound::addressable(size);
    let fill = file.source().fill(id).filter(|fill| fill.len() == width).unwrap_or_else(|| vec![0; width]);
    let mut out = fill.repeat(bound::addressable(count.unwrap_or_default()));
    let data = array.chunks.iter().next().map(|(_, place)| match place {
        Place::Bytes(bytes) => bytes.to_vec(),
        Place::Range { .. } => Vec::new(),
    });
    let said = |error: sciformats::Error| error.to_string();
    let place =
        Slab::new(shape, own.iter().map(|side| Range::all(*side)).collect::<Vec<_>>()).map_err(said)?;
    let data = data.unwrap_or_default();
    for run in place.runs() {
        for i in 0..run.len {
            let at = |index: u64| bound::addressable(bound::product(index, size));
            let (to, from) =
                (at(bound::sum(run.from, bound::product(i, run.step))), at(bound::sum(run.to, i)));
            let both = out.get_mut(to..bound::sum(to, width)).zip(data.get(from..bound::sum(from, width)));
            let (to, from) = both.ok_or("its elements have another size than its type says")?;
            to.copy_from_slice(from);
        }
    }
    let more = array.shape.get(own.len()..).unwrap_or_default().to_vec();
    array.shape = shape.iter().copied().chain(more).collect();
    array.chunk_shape = array.shape.iter().map(|side| (*side).max(1)).collect();
    array.chunks = Chunks::inlined(array.shape.len(), out);
    Ok((array, total))
}
