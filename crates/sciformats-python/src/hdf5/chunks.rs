//! Where chunks are: in the dataset and in the file.

use hdf5_pure::structure::{Layout, StoredChunk};
use hdf5_pure::{Address, Dataset, Result};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// The first element of a chunk, the filters that were skipped, the offset in the file, and the number of
/// bytes.
pub(super) type Chunk = (Vec<u64>, u32, u64, u64);

/// Returns an address as an offset from the start of the file.
pub(super) fn placed(base: u64, address: Address) -> PyResult<u64> {
    base.checked_add(address.0).ok_or_else(beyond)
}

/// Returns the stored chunk whose first element is at `corner`. Only the nodes of the index that lead to it are read.
pub(super) fn chunk_from(dataset: &Dataset, corner: &[u64]) -> Result<Option<StoredChunk>> {
    let Layout::Chunked(chunked) = dataset.layout()? else { return Ok(None) };
    let shape = dataset.shape();
    let inside = corner.len() == shape.len() && corner.iter().zip(shape).all(|(at, size)| at < size);
    if !inside || !corner.iter().zip(&chunked.dimensions).all(|(at, side)| at.is_multiple_of(*side)) {
        return Ok(None);
    }
    dataset.chunk_at(corner)
}

/// Returns the indices of the first element of a chunk, if they fit their type.
pub(super) fn first_of(chunk: &StoredChunk, sides: &[u64]) -> Option<Vec<u64>> {
    chunk.scaled.iter().zip(sides).map(|(n, side)| n.checked_mul(*side)).collect()
}

pub(super) fn beyond() -> PyErr {
    PyOverflowError::new_err("a place in the file or the dataset is beyond 2^64")
}
