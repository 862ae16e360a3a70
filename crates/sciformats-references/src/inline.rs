//! Arrays whose decoded elements become part of the references.

use sciformats::{ArrayInfo, ElementType, File, ObjectId, Slab};
use sciformats_core::bound;
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
    // Texts of a fixed width are bytes of that width, as h5py and kerchunk show them; readers of objects in chunks are few.
    let narrow = info.width.filter(|width| {
        info.element == ElementType::Text && *width > 0 && file.format() == sciformats::Format::Hdf5
    });
    let text = narrow.is_none()
        && matches!(info.element, ElementType::Text | ElementType::Reference | ElementType::Region);
    let records = element::has_text_field(&info.element);
    let (mut dtype, more) = match (text, records) {
        _ if narrow.is_some() => (Value::from(format!("|S{}", narrow.unwrap_or(1))), Vec::new()),
        (true, _) => (Value::from("|O"), Vec::new()),
        // The widths of the texts follow from the elements.
        (_, true) => (record(&info.element, &mut std::iter::repeat(1))?, Vec::new()),
        _ => element::canonical(&info.element)?,
    };
    // The stored width of texts of a fixed width, or the length that precedes each text.
    let each = match (text || narrow.is_some(), records) {
        (true, _) => info.width.unwrap_or(8).max(8),
        (_, true) => {
            leaves(&info.element)?.into_iter().fold(0, |all, leaf| bound::sum(all, leaf.unwrap_or(8)))
        }
        _ => info.element.size().unwrap_or(u64::MAX),
    };
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
    if let Some(width) = narrow {
        data = padded(&data, (elements, width))?;
    } else if text {
        data = vlen_utf8(&data, elements)?;
    } else if records {
        (dtype, data) = fixed(&info.element, &data, (elements, most))?;
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

/// Turns canonical texts into texts of `width` bytes, with zero bytes at their ends.
fn padded(data: &[u8], (elements, width): (u64, u64)) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    each_field(&[None], data, elements, &mut |_, bytes| {
        let missing = width.checked_sub(bytes.len() as u64).ok_or("a text is longer than its type")?;
        out.extend_from_slice(bytes);
        out.resize(bound::sum(out.len(), bound::addressable(missing)), 0);
        Ok(())
    })?;
    Ok(out)
}

/// Returns the sizes of the fields of a record, those of inner records included; a text has none.
fn leaves(element: &ElementType) -> Result<Vec<Option<u64>>, String> {
    match element {
        ElementType::Compound(fields) => {
            let all = fields.iter().map(|(_, field)| leaves(field)).collect::<Result<Vec<_>, _>>()?;
            Ok(all.concat())
        }
        ElementType::Text => Ok(vec![None]),
        other => Ok(vec![Some(other.size().ok_or_else(|| format!("NumPy has no type for {other}"))?)]),
    }
}

/// Returns the type of a record whose texts have the next of these widths.
fn record(element: &ElementType, widths: &mut dyn Iterator<Item = u64>) -> Result<Value, String> {
    match element {
        ElementType::Compound(fields) => {
            element::fields(fields)?;
            let all = fields.iter().map(|(name, field)| Ok(json!([name.shown(), record(field, widths)?])));
            Ok(Value::Array(all.collect::<Result<_, String>>()?))
        }
        ElementType::Text => Ok(format!("|S{}", widths.next().unwrap_or(1)).into()),
        other => Ok(element::canonical(other)?.0),
    }
}

/// Turns canonical records into records whose texts have the width of the longest one, and returns their type and bytes.
fn fixed(
    element: &ElementType,
    data: &[u8],
    (elements, most): (u64, u64),
) -> Result<(Value, Vec<u8>), String> {
    let leaves = leaves(element)?;
    let mut widths: Vec<u64> = leaves.iter().map(|leaf| leaf.unwrap_or(1)).collect();
    each_field(&leaves, data, elements, &mut |leaf, bytes| {
        if let Some(width) = widths.get_mut(leaf) {
            *width = (*width).max(bytes.len() as u64);
        }
        Ok(())
    })?;
    let size = widths.iter().fold(0, |all, width| bound::sum(all, *width));
    if bound::product(size, elements) > most {
        return Err(format!("its texts take more than the {most} bytes that may be inlined"));
    }
    let mut out = Vec::new();
    each_field(&leaves, data, elements, &mut |leaf, bytes| {
        if leaves.get(leaf) == Some(&None) && bytes.last() == Some(&0) {
            return Err("a text ends with a zero byte, which NumPy would drop".into());
        }
        out.extend_from_slice(bytes);
        let width = widths.get(leaf).copied().unwrap_or_default();
        let missing = bound::left(width, bytes.len() as u64);
        out.resize(bound::sum(out.len(), bound::addressable(missing)), 0);
        Ok(())
    })?;
    let texts = leaves.iter().zip(&widths).filter(|(leaf, _)| leaf.is_none()).map(|(_, width)| *width);
    let dtype = record(element, &mut texts.collect::<Vec<_>>().into_iter())?;
    Ok((dtype, out))
}

/// Takes the number and the bytes of a field.
type VisitField<'a> = dyn FnMut(usize, &[u8]) -> Result<(), String> + 'a;

/// Calls `visit` with the number and the bytes of each field of canonical records.
fn each_field(
    leaves: &[Option<u64>],
    data: &[u8],
    elements: u64,
    visit: &mut VisitField<'_>,
) -> Result<(), String> {
    let mut rest = data;
    for _ in 0..elements {
        for (number, leaf) in leaves.iter().enumerate() {
            let size = match leaf {
                Some(size) => *size,
                None => {
                    let (count, after) = rest.split_first_chunk::<8>().ok_or("a record ends early")?;
                    rest = after;
                    u64::from_le_bytes(*count)
                }
            };
            let size = usize::try_from(size).map_err(|_| "a text is longer than memory")?;
            let (bytes, after) = rest.split_at_checked(size).ok_or("a record ends early")?;
            visit(number, bytes)?;
            rest = after;
        }
    }
    if rest.is_empty() { Ok(()) } else { Err("its elements have another size than its type says".into()) }
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
    use super::{fixed, vlen_utf8};
    use sciformats::ElementType;
    use serde_json::json;

    #[test]
    fn texts_of_records_get_the_width_of_the_longest() {
        let fields = vec![("n".into(), ElementType::Int(1)), ("s".into(), ElementType::Text)];
        let element = ElementType::Compound(vec![("r".into(), ElementType::Compound(fields))]);
        let canonical = [7, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 8, 1, 0, 0, 0, 0, 0, 0, 0, b'c'];
        let (dtype, data) = fixed(&element, &canonical, (2, 100)).unwrap();
        assert_eq!(dtype, json!([["r", [["n", "|i1"], ["s", "|S2"]]]]));
        assert_eq!(data, [7, b'a', b'b', 8, b'c', 0]);
        assert!(fixed(&element, &canonical, (2, 5)).is_err()); // too many bytes
        assert!(fixed(&element, &canonical, (1, 100)).is_err()); // a record is left
        assert!(fixed(&element, &canonical, (3, 100)).is_err());
        let zero = [7, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(fixed(&element, &zero, (1, 100)).is_err());
    }

    #[test]
    fn texts_get_lengths_of_four_bytes() {
        let canonical = [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 0, 0, 0, 0];
        let expected = [2, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0];
        assert_eq!(vlen_utf8(&canonical, 2).unwrap(), expected);
        let wrong = [1, 0, 0, 0, 0, 0, 0, 0, 0xff];
        assert!(vlen_utf8(&wrong, 1).is_err());
    }
}
