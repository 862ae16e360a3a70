//! Extracts fields of records and elements of small arrays from canonical bytes.

use sciformats::{ElementType, Error, Result};

fn short() -> Error {
    Error::usage("canonical bytes", "end inside an element")
}

fn take(bytes: &mut &[u8], count: u64) -> Result<()> {
    let rest = usize::try_from(count).ok().and_then(|count| bytes.get(count..)).ok_or_else(short)?;
    *bytes = rest;
    Ok(())
}

fn count(bytes: &mut &[u8]) -> Result<u64> {
    let before = *bytes;
    take(bytes, 8)?;
    let eight = before.get(..8).and_then(|eight| eight.try_into().ok());
    eight.map(u64::from_le_bytes).ok_or_else(short)
}

/// Skips one element.
fn skip(element: &ElementType, bytes: &mut &[u8]) -> Result<()> {
    if let Some(size) = element.size() {
        return take(bytes, size);
    }
    match element {
        ElementType::Compound(fields) => fields.iter().try_for_each(|(_, field)| skip(field, bytes)),
        ElementType::Array { element, shape } => {
            let elements =
                shape.iter().try_fold(1u64, |all, &side| all.checked_mul(side)).ok_or_else(short)?;
            (0..elements).try_for_each(|_| skip(element, bytes))
        }
        ElementType::Vlen(element) => {
            let elements = count(bytes)?;
            if element.size() == Some(0) {
                return Ok(());
            }
            (0..elements).try_for_each(|_| skip(element, bytes))
        }
        // Texts and references begin with a count of bytes.
        _ => {
            let length = count(bytes)?;
            take(bytes, length)
        }
    }
}

/// Extracts the part of each element that lies between two ends, which `ends` finds.
fn cut(
    bytes: &[u8],
    ends: impl Fn(&mut &[u8]) -> Result<usize>,
    rest: impl Fn(&mut &[u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut left = bytes;
    while !left.is_empty() {
        let length = ends(&mut left)?;
        out.extend_from_slice(left.get(..length).ok_or_else(short)?);
        let before = left.len();
        rest(&mut left)?;
        if left.len() == before {
            break;
        }
    }
    Ok(out)
}

/// Extracts one field of records: its type, and its canonical bytes in all of them.
pub(crate) fn field(records: &ElementType, at: usize, bytes: &[u8]) -> Result<(ElementType, Vec<u8>)> {
    let ElementType::Compound(fields) = records else {
        return Err(Error::usage("field", "cannot be read, because the elements are not records"));
    };
    let (_, element) = fields.get(at).ok_or_else(|| Error::usage("field", "does not exist in the record"))?;
    // All records have one size, so the field has the same offset in all of them.
    let start = fields.iter().take(at).try_fold(0u64, |sum, (_, field)| sum.checked_add(field.size()?));
    if let (Some(whole), Some(start), Some(size)) = (records.size(), start, element.size())
        && whole > 0
    {
        let place = |number: u64| usize::try_from(number).map_err(|_| short());
        let (whole, start, size) = (place(whole)?, place(start)?, place(size)?);
        let mut out = Vec::with_capacity(bytes.len() / whole * size);
        for record in bytes.chunks(whole) {
            out.extend_from_slice(record.get(start..).and_then(|rest| rest.get(..size)).ok_or_else(short)?);
        }
        return Ok((element.clone(), out));
    }
    let before = |left: &mut &[u8]| {
        fields.iter().take(at).try_for_each(|(_, field)| skip(field, left))?;
        length(element, left)
    };
    let from = |left: &mut &[u8]| fields.iter().skip(at).try_for_each(|(_, field)| skip(field, left));
    Ok((element.clone(), cut(bytes, before, from)?))
}

/// Returns the canonical bytes of each element.
pub(crate) fn split<'a>(element: &ElementType, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    if let Some(size) = element.size().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0) {
        return Ok(bytes.chunks(size).collect());
    }
    let mut parts = Vec::new();
    let mut left = bytes;
    while !left.is_empty() {
        let length = length(element, left)?;
        let (one, rest) = left.split_at_checked(length).filter(|_| length > 0).ok_or_else(short)?;
        parts.push(one);
        left = rest;
    }
    Ok(parts)
}

/// Extracts one element of small arrays: its type, and its canonical bytes in all of them.
pub(crate) fn item(arrays: &ElementType, at: u64, bytes: &[u8]) -> Result<(ElementType, Vec<u8>)> {
    let ElementType::Array { element, shape } = arrays else { return Ok((arrays.clone(), bytes.to_vec())) };
    let all = shape.iter().try_fold(1u64, |all, &side| all.checked_mul(side)).ok_or_else(short)?;
    let before = |left: &mut &[u8]| {
        (0..at).try_for_each(|_| skip(element, left))?;
        length(element, left)
    };
    let from = |left: &mut &[u8]| (at..all).try_for_each(|_| skip(element, left));
    Ok(((**element).clone(), cut(bytes, before, from)?))
}

/// Returns the number of bytes of the first element.
fn length(element: &ElementType, bytes: &[u8]) -> Result<usize> {
    let mut rest = bytes;
    skip(element, &mut rest)?;
    Ok(bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_length() {
        let vector = ElementType::Array { element: Box::new(ElementType::UInt(1)), shape: vec![2] };
        let record = ElementType::Compound(vec![("name".into(), ElementType::Text), ("at".into(), vector)]);
        let mut bytes = Vec::new();
        for (name, at) in [("a", [1, 2]), ("", [3, 4])] {
            crate::values::push_text(&mut bytes, name);
            bytes.extend(at);
        }
        let (vector, at) = field(&record, 1, &bytes).unwrap();
        assert_eq!(at, [1, 2, 3, 4]);
        assert_eq!(item(&vector, 1, &at).unwrap(), (ElementType::UInt(1), vec![2, 4]));
        assert_eq!(field(&record, 0, &bytes).unwrap().1.len(), 17);
        assert!(field(&record, 1, &bytes[..9]).is_err());
        assert!(field(&record, 2, &bytes).is_err());
        let parts = split(&record, &bytes).unwrap();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [11, 10]);
        assert!(split(&record, &bytes[..12]).is_err());
    }

    #[test]
    fn fields_of_one_size() {
        let record = ElementType::Compound(vec![
            ("a".into(), ElementType::UInt(1)),
            ("b".into(), ElementType::UInt(2)),
        ]);
        let bytes = [1, 2, 3, 4, 5, 6];
        assert_eq!(field(&record, 1, &bytes).unwrap().1, [2, 3, 5, 6]);
        assert_eq!(field(&record, 0, &bytes).unwrap().1, [1, 4]);
        assert!(field(&record, 1, &bytes[..5]).is_err());
        assert_eq!(split(&ElementType::UInt(2), &bytes).unwrap().len(), 3);
    }
}
