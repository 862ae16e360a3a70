//! The dimensions of arrays by the scales that they belong to, and how long they are.

use std::collections::BTreeMap;

use sciformats::{File, ObjectId};

/// The place of a scale in its file.
pub(super) type Scale = u64;

/// Returns the scale of each dimension of an array, as far as it has one; a scale belongs to itself.
pub(super) fn of(file: &File, id: ObjectId) -> Vec<Option<Scale>> {
    #[cfg(feature = "hdf5")]
    if let Some(Ok(dataset)) = sciformats::formats::hdf5::dataset(file.source(), id) {
        use sciformats::hdf5_pure::conventions;
        let scales = conventions::scales(&dataset).unwrap_or_default();
        if scales.iter().all(Vec::is_empty) && matches!(conventions::scale_name(&dataset), Ok(Some(_))) {
            return vec![Some(dataset.address().0)];
        }
        return scales.iter().map(|scales| scales.first().map(|scale| scale.address().0)).collect();
    }
    let _ = (file, id);
    Vec::new()
}

/// Returns the length of each dimension, which is that of the longest array that has it. What cannot be read has no dimensions.
pub(super) fn lengths(file: &File) -> BTreeMap<Scale, u64> {
    let mut lengths = BTreeMap::new();
    for array in file.arrays().filter_map(Result::ok) {
        let shape = array.info().shape.clone().unwrap_or_default();
        for (scale, length) in of(file, array.id()).into_iter().zip(shape) {
            if let Some(scale) = scale {
                let longest = lengths.entry(scale).or_insert(0);
                *longest = length.max(*longest);
            }
        }
    }
    lengths
}
