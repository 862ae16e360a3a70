//! The chunks of Blosc2 frames as ranges of the file, for readers that have the codec of the Python package.

use sciformats::cframe::{Array, ChunkPlace, ChunkSize, Frame, Special};
use sciformats::{ArrayInfo, ElementType};
use serde_json::{Value, json};

use crate::chunks::Chunks;
use crate::model::VirtualArray;
use crate::{element, extent};

/// Returns the references to the array of a frame. The path, the attributes and the dimensions remain empty.
///
/// # Errors
/// The reason why its chunks are not ranges of the file that the codec can decode.
pub(crate) fn array(
    frame: &Frame,
    array: Option<&Array>,
    info: &ArrayInfo,
    file_size: u64,
) -> Result<VirtualArray, String> {
    let said = |error: sciformats::Error| error.to_string();
    frame.has_elements().map_err(said)?;
    let shape = info.shape.clone().ok_or("it has no shape")?;
    if !info.element.is_real() && !matches!(info.element, ElementType::Complex(_) | ElementType::Opaque(_)) {
        return Err(format!("the stored bytes of {} have no type in NumPy", info.element));
    }
    let (dtype, more) = element::canonical(&info.element)?;
    let width = info.element.size().ok_or("its elements have no fixed size")?;
    let stored = array.and_then(Array::dtype).unwrap_or_default();
    let dtype = match dtype.as_str() {
        Some(text) if stored.starts_with('>') => Value::from(text.replace('<', ">")),
        _ => dtype,
    };
    if !more.is_empty() || array.is_some_and(|array| u64::from(array.typesize()) != width) {
        return Err("its elements have another size than its type".into());
    }
    let (sides, blocks) = match array {
        Some(array) => (array.chunk_shape().to_vec(), array.block_shape().to_vec()),
        None => {
            let ChunkSize::Fixed(bytes) = frame.chunk_size() else {
                return Err("its chunks vary in size".into());
            };
            let items = u64::from(bytes)
                .checked_div(width)
                .filter(|items| items.checked_mul(width) == Some(bytes.into()));
            let items = items.filter(|items| *items > 0).ok_or("its chunks divide an item")?;
            (vec![items], vec![items])
        }
    };
    if sides.len() != shape.len() || blocks.len() != shape.len() || sides.contains(&0) || blocks.contains(&0)
    {
        return Err("its chunks have another number of dimensions".into());
    }
    let mut chunks = Chunks::new(extent::grid(&shape, &sides));
    let count = extent::count(chunks.grid())?;
    if !shape.contains(&0) {
        if count != frame.chunks() {
            return Err("the frame has another number of chunks than the array".into());
        }
        for number in 0..count {
            match frame.chunk_place(number).map_err(said)? {
                ChunkPlace::At(start) => {
                    let length = frame.chunk(number).map_err(said)?.cbytes() as u64;
                    let end = start.checked_add(length).filter(|end| *end <= file_size);
                    end.ok_or("a chunk extends beyond the end of the file")?;
                    chunks.push(number, start, length);
                }
                // Missing chunks are zeros.
                ChunkPlace::Nowhere(Special::Zeros) => {}
                ChunkPlace::Nowhere(_) => {
                    return Err("a chunk that is not stored has other elements than zeros".into());
                }
                ChunkPlace::File(_) => return Err("its chunks are files of their own".into()),
            }
        }
    }
    let numbers = info.element.is_real() && info.element != ElementType::Bool;
    let complete = chunks.len() == count;
    Ok(VirtualArray {
        path: String::new(),
        shape,
        filters: vec![
            json!({"id": "sciformats.blosc2", "chunks": sides, "blocks": blocks, "itemsize": width}),
        ],
        chunk_shape: sides,
        dtype,
        fill: if complete || !numbers { Value::Null } else { json!(0) },
        marked: false,
        columns: false,
        attributes: serde_json::Map::new(),
        dimensions: Vec::new(),
        chunks,
    })
}
