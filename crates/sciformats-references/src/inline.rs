//! Arrays whose decoded elements become part of the references.

use sciformats::{ArrayInfo, ElementType, File, ObjectId, Slab};
use serde_json::{Value, json};

use crate::chunks::Chunks;
use crate::element;
use crate::model::VirtualArray;

/// Reads the elements of an array into one chunk. The path, the attributes and the dimensions remain empty.
///
/// # Errors
/// The reason why the elements cannot be part of the references.
pub(crate) fn array(
    file: &File,
    id: ObjectId,
    info: &ArrayInfo,
    most: u64,
) -> Result<(VirtualArray, u64), String> {
    let shape = info.shape.clone().ok_or("a null dataspace has no elements")?;
    let elements = info.elements().ok_or("the number of elements exceeds 64 bits")?;
    let text = matches!(info.element, ElementType::Text | ElementType::Reference | ElementType::Region);
    let (dtype, more) =
        if text { (Value::from("|O"), Vec::new()) } else { element::canonical(&info.element)? };
    // The stored width of texts of a fixed width, or the length that precedes each text.
    let each = if text { info.width.unwrap_or(8).max(8) } else { info.element.size().unwrap_or(u64::MAX) };
    let bytes = elements.checked_mul(each).filter(|bytes| *bytes <= most);
    let Some(expected) = bytes else {
        return Err(format!("its elements take more than the {most} bytes that may be inlined"));
    };
    let mut data = Vec::new();
    if elements > 0 {
        let slab = Slab::all(&shape).map_err(|error| error.to_string())?;
        file.read(id, &slab, &mut data).map_err(|error| error.to_string())?;
    }
    if data.len() as u64 > most {
        return Err(format!("its texts take more than the {most} bytes that may be inlined"));
    }
    if text {
        data = vlen_utf8(&data, elements)?;
    } else if data.len() as u64 != expected {
        return Err("its elements have another size than its type says".into());
    }
    let size = data.len() as u64;
    let shape: Vec<u64> = shape.into_iter().chain(more).collect();
    let chunks = if shape.contains(&0) {
        Chunks::new(shape.iter().map(|side| (*side).min(1)).collect())
    } else {
        Chunks::inlined(shape.len(), data)
    };
    let array = VirtualArray {
        path: String::new(),
        chunk_shape: shape.iter().map(|side| (*side).max(1)).collect(),
        shape,
        dtype,
        fill: if text { Value::from("") } else { Value::Null },
        marked: false,
        columns: false,
        filters: if text { vec![json!({"id": "vlen-utf8"})] } else { Vec::new() },
        attributes: serde_json::Map::new(),
        dimensions: Vec::new(),
        chunks,
    };
    Ok((array, size))
}

/// Turns canonical texts into the form of the codec `vlen-utf8`: the number of texts as 4 bytes, then for each text its
/// length as 4 bytes and its bytes.
pub(crate) fn vlen_utf8(data: &[u8], elements: u64) -> Result<Vec<u8>, String> {
    let small = |n: u64| u32::try_from(n).map_err(|_| "the texts are too long for 32 bits".to_owned());
    let mut out = small(elements)?.to_le_bytes().to_vec();
    let mut rest = data;
    while let Some((count, after)) = rest.split_first_chunk::<8>() {
        let count = u64::from_le_bytes(*count);
        let len = usize::try_from(count).map_err(|_| "a text is longer than memory")?;
        let (text, after) = after.split_at_checked(len).ok_or("a text ends early")?;
        std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
        out.extend(small(count)?.to_le_bytes());
        out.extend(text);
        rest = after;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::vlen_utf8;

    #[test]
    fn texts_get_lengths_of_four_bytes() {
        let canonical = [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 0, 0, 0, 0];
        let expected = [2, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0];
        assert_eq!(vlen_utf8(&canonical, 2).unwrap(), expected);
        let wrong = [1, 0, 0, 0, 0, 0, 0, 0, 0xff];
        assert!(vlen_utf8(&wrong, 1).is_err());
    }
}
