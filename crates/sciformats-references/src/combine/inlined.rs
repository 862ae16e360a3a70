//! Elements of the files, one after another, as one chunk of the references.

use serde_json::Value;

use super::files::{Origin, too_large};
use super::join::Pair;
use super::units::{Marks, conversion, encode};
use crate::chunks::{Chunks, Place};
use crate::model::VirtualArray;

/// What became of the elements.
#[derive(Clone, Copy)]
pub(super) enum Inlined {
    /// They are in the array, and take so many bytes.
    Bytes(u64),
    /// The existing references do not contain those of their files.
    Elsewhere,
}

/// Puts the decoded elements of the files one after another.
///
/// # Errors
/// The reason why they are not one chunk of at most `most` bytes.
pub(super) fn inlined(
    pieces: &[Pair<'_, '_>],
    axis: usize,
    whole: &mut VirtualArray,
    most: u64,
) -> Result<Inlined, String> {
    let (mut owns, mut parts) = (Vec::new(), Vec::new());
    let mut left = most;
    for (file, array) in pieces {
        let Some((own, bytes)) =
            file.inlined(array, left).map_err(|reason| match reason == too_large(left) {
                true => too_large(most),
                false => reason,
            })?
        else {
            return Ok(Inlined::Elsewhere);
        };
        left = left.checked_sub(bytes).ok_or_else(|| too_large(most))?;
        let data = own.chunks.iter().find_map(|(_, place)| match place {
            Place::Bytes(bytes) => Some(bytes.to_vec()),
            Place::Range { .. } => None,
        });
        owns.push(own);
        parts.push(data.unwrap_or_default());
    }
    let Some(own) = owns.first() else { return Err("there are no files".into()) };
    let (dtype, filters, fill) = (own.dtype.clone(), own.filters.clone(), own.fill.clone());
    if owns.iter().any(|own| own.dtype != dtype || own.filters != filters) {
        return Err("its decoded type differs between the files".into());
    }
    if !filters.is_empty() {
        return Err("texts of variable length are not joined".into());
    }
    let out = along(&parts, whole, axis)?;
    let bytes = out.len() as u64;
    // A fill value that marks missing values is kept.
    whole.fill = if whole.fill.is_null() { fill } else { whole.fill.clone() };
    whole.columns = false;
    one_chunk(whole, dtype, out);
    Ok(Inlined::Bytes(bytes))
}

/// The elements of all parts, one after another along the dimension.
fn along(parts: &[Vec<u8>], whole: &VirtualArray, axis: usize) -> Result<Vec<u8>, String> {
    let outer = whole
        .shape
        .iter()
        .take(axis)
        .try_fold(1u64, |all, n| all.checked_mul(*n))
        .ok_or("it is too large")?;
    let mut out = Vec::new();
    for row in 0..outer {
        for data in parts {
            let each = data.len() as u64 / outer;
            let start = row
                .checked_mul(each)
                .and_then(|start| usize::try_from(start).ok())
                .ok_or("it is too large")?;
            let run = usize::try_from(each)
                .ok()
                .and_then(|each| data.get(start..)?.get(..each))
                .ok_or("it is too short")?;
            out.extend_from_slice(run);
        }
    }
    Ok(out)
}

/// Puts the numbers of the files one after another, in the units of the first.
///
/// # Errors
/// The reason why they are not one chunk of at most `most` bytes.
pub(super) fn converted(
    pieces: &[Pair<'_, '_>],
    axis: usize,
    whole: &mut VirtualArray,
    most: u64,
) -> Result<Inlined, String> {
    let Some((start, first)) = pieces.first() else { return Err("there are no files".into()) };
    let (wanted, marks) = (start.counting(first), Marks::of(first));
    let dtype = whole.dtype.as_str().unwrap_or_default().trim_start_matches(['<', '>', '|']).to_owned();
    let (mut parts, mut size) = (Vec::new(), 0u64);
    for (file, array) in pieces {
        if matches!(file.piece.origin, Origin::Existing(..)) && file.inlined(array, most)?.is_none() {
            return Ok(Inlined::Elsewhere);
        }
        // Existing references have the units of their first file already.
        let convert = conversion(&wanted, &file.counting(array)).ok_or("its units are unknown")?;
        let count = array.shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side));
        // Each number takes a byte at least.
        if count.is_none_or(|count| count > most) {
            return Err(too_large(most));
        }
        let numbers = file.numbers(array)?;
        if Some(numbers.len() as u64) != count {
            return Err(format!(
                "the number of its elements in {} does not match its shape",
                file.piece.name
            ));
        }
        let mut part = Vec::new();
        for number in marks.converted(numbers, convert)? {
            encode(&dtype, number, &mut part)?;
        }
        size = size.saturating_add(part.len() as u64); // a bound
        if size > most {
            return Err(too_large(most));
        }
        parts.push(part);
    }
    let out = along(&parts, whole, axis)?;
    let dtype = Value::String(if dtype.ends_with('1') { format!("|{dtype}") } else { format!("<{dtype}") });
    one_chunk(whole, dtype, out);
    Ok(Inlined::Bytes(size))
}

/// Makes one chunk of bytes of an array.
pub(super) fn one_chunk(whole: &mut VirtualArray, dtype: Value, bytes: Vec<u8>) {
    whole.dtype = dtype;
    whole.filters = Vec::new();
    whole.chunk_shape = whole.shape.iter().map(|side| (*side).max(1)).collect();
    whole.chunks = if whole.shape.contains(&0) {
        Chunks::new(whole.shape.iter().map(|side| (*side).min(1)).collect())
    } else {
        Chunks::inlined(whole.shape.len(), bytes)
    };
}
