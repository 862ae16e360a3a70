//! Arrays whose elements a file stores one after another.

use sciformats::source::Extent;
use sciformats::{ArrayInfo, ElementType};
use sciformats_core::endian::ByteOrder;
use serde_json::{Value, json};

use crate::chunks::Chunks;
use crate::element;
use crate::model::VirtualArray;

/// The largest chunk into which contiguous elements are divided, in bytes.
const PART: u64 = 16 << 20;

/// Returns the references to an array with these elements. The path, the attributes and the dimensions remain empty.
///
/// # Errors
/// The reason why readers of Zarr would not see the same values.
pub(crate) fn array(extent: &Extent, info: &ArrayInfo, file_size: u64) -> Result<VirtualArray, String> {
    let shape = info.shape.as_deref().ok_or("it has no shape")?;
    if !info.element.is_real() && !matches!(info.element, ElementType::Complex(_) | ElementType::Opaque(_)) {
        return Err(format!("the stored bytes of {} have no type in NumPy", info.element));
    }
    let size = info.element.size().ok_or("its elements have no fixed size")?;
    let (dtype, _) = element::canonical(&info.element)?;
    let dtype = match (dtype.as_str(), extent.order) {
        (Some(text), ByteOrder::Big) => Value::from(text.replace('<', ">")),
        _ => dtype,
    };
    let whole: Vec<u64> = shape.iter().map(|side| (*side).max(1)).collect();
    let (chunk_shape, chunks) = match extent.compression {
        _ if shape.contains(&0) => {
            let grid = grid(shape, &whole);
            (whole, Chunks::new(grid))
        }
        None if !extent.columns => divided(shape, size, extent.offset, file_size)?,
        _ => {
            let mut chunks = Chunks::new(vec![1; shape.len()]);
            chunks.push(0, extent.offset, extent.length);
            (whole, chunks)
        }
    };
    if extent.offset.checked_add(extent.length).is_none_or(|end| end > file_size) {
        return Err("its elements extend beyond the end of the file".into());
    }
    Ok(VirtualArray {
        path: String::new(),
        shape: shape.to_vec(),
        chunk_shape,
        dtype,
        fill: Value::Null,
        marked: false,
        columns: extent.columns,
        filters: extent.compression.map(|codec| json!({"id": codec, "level": 5})).into_iter().collect(),
        attributes: serde_json::Map::new(),
        dimensions: Vec::new(),
        chunks,
    })
}

/// Returns what an error says of elements that are too large.
pub(crate) fn too_large() -> String {
    "its elements take more than 64 bits can count".to_owned()
}

/// Returns the number of chunks along each dimension.
pub(crate) fn grid(shape: &[u64], sides: &[u64]) -> Vec<u64> {
    shape.iter().zip(sides).map(|(n, side)| n.div_ceil((*side).max(1))).collect()
}

/// Returns the number of chunks that a grid has.
///
/// # Errors
/// The reason why that is not a number of 64 bits.
pub(crate) fn count(grid: &[u64]) -> Result<u64, String> {
    grid.iter().copied().try_fold(1u64, u64::checked_mul).ok_or_else(|| "it has too many chunks".into())
}

/// Divides elements of `size` bytes that are stored in C order from `start` on into chunks of equal size, along the slowest
/// dimension.
///
/// # Errors
/// The reason why they are not ranges of a file of `file_size` bytes.
pub(crate) fn divided(
    shape: &[u64],
    size: u64,
    start: u64,
    file_size: u64,
) -> Result<(Vec<u64>, Chunks), String> {
    let row = shape.iter().skip(1).try_fold(size, |all, n| all.checked_mul(*n)).ok_or_else(too_large)?;
    let mut sides: Vec<u64> = shape.iter().map(|n| (*n).max(1)).collect();
    // What is stored is within the file, which bounds the number of chunks.
    let all = shape.first().map_or(Some(size), |first| row.checked_mul(*first)).ok_or_else(too_large)?;
    if start.checked_add(all).is_none_or(|end| end > file_size) {
        return Err("its elements extend beyond the end of the file".into());
    }
    if let Some(first) = sides.first_mut() {
        // Zarr stores the last chunk whole, so the side must divide the length.
        let least = first.div_ceil((PART / row.max(1)).max(1));
        let parts = (least..=least.saturating_mul(4)).find(|parts| first.is_multiple_of(*parts)); // a bound
        *first = parts.map_or(*first, |parts| (*first / parts).max(1));
    }
    let length = sides.iter().try_fold(size, |all, n| all.checked_mul(*n)).ok_or_else(too_large)?;
    // All dimensions but the slowest have one chunk.
    let (mut chunks, mut offset) = (Chunks::new(grid(shape, &sides)), start);
    for number in 0..count(chunks.grid())? {
        chunks.push(number, offset, length);
        offset = offset.checked_add(length).ok_or_else(too_large)?;
    }
    Ok((sides, chunks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Place;

    #[test]
    fn chunks_fill_the_elements_without_a_rest() {
        let (sides, chunks) = divided(&[6, 1 << 20], 8, 100, 1 << 40).unwrap();
        assert_eq!((sides, chunks.len()), (vec![2, 1 << 20], 3));
        let last = Place::Range { file: 0, offset: 100 + (2 << 24), length: 1 << 24 };
        assert_eq!(chunks.iter().last(), Some((2, last)));
        assert!(divided(&[6, 1 << 20], 8, 100, 1000).is_err(), "the file is shorter");
        assert!(divided(&[u64::MAX, 3], 8, 0, u64::MAX).is_err());
        // A prime number of rows cannot be divided.
        assert_eq!(divided(&[7], 1 << 22, 0, 1 << 40).unwrap().0, [1]);
        let scalar = divided(&[], 8, 0, 8).unwrap().1;
        assert_eq!(scalar.iter().next(), Some((0, Place::Range { file: 0, offset: 0, length: 8 })));
    }
}
