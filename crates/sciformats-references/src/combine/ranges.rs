//! Chunks of the files, one after another.

use super::join::Pair;
use crate::chunks::{Chunks, Place};
use crate::model::VirtualArray;

/// The largest number of chunks into which others are divided, if they are small.
const MANY: u64 = 1 << 20;

/// The size below which chunks are small, in bytes.
const SMALL: u64 = 4 << 10;

/// Puts the ranges of the files one after another.
///
/// # Errors
/// The reason why no chunk shape fits to all files.
pub(super) fn ranges(
    pieces: &[Pair<'_, '_>],
    axis: usize,
    whole: &mut VirtualArray,
    small: u64,
) -> Result<(), String> {
    let side = side(pieces, axis, whole, small)?;
    if let Some(old) = whole.chunk_shape.get_mut(axis) {
        *old = side;
    }
    let grid: Vec<u64> =
        whole.shape.iter().zip(&whole.chunk_shape).map(|(n, side)| n.div_ceil((*side).max(1))).collect();
    grid.iter().copied().try_fold(1u64, u64::checked_mul).ok_or("it has too many chunks")?;
    let mut chunks = Chunks::new(grid);
    let (mut start, mut index) = (0u64, Vec::new());
    for (file, array) in pieces {
        let at = |of: &[u64]| of.get(axis).copied().unwrap_or(1);
        let (old, rows) = (at(&array.chunk_shape), at(&array.shape));
        let parts = old / side;
        for (number, place) in array.chunks.iter() {
            let Place::Range { file: own, offset, length } = place else {
                return Err("some of it is inlined".into());
            };
            let source = file.piece.file(own)?;
            index.clear();
            array.chunks.index(number, &mut index);
            let own = at(&index).checked_mul(parts).ok_or("it is too long")?;
            // Of a chunk that is divided, the parts beyond the last row are left out.
            for part in 0..parts {
                let place = own.checked_add(part).ok_or("it is too long")?;
                if place.checked_mul(side).is_none_or(|row| row >= rows) {
                    break;
                }
                if let Some(here) = index.get_mut(axis) {
                    *here = start.checked_add(place).ok_or("it is too long")?;
                }
                let number = chunks.number(&index).ok_or("a chunk is outside of the shape")?;
                let each = length / parts;
                let offset = each
                    .checked_mul(part)
                    .and_then(|more| offset.checked_add(more))
                    .ok_or("it is too long")?;
                chunks.push_of(source, number, offset, each);
            }
        }
        start = start.checked_add(rows.div_ceil(side)).ok_or("it is too long")?;
    }
    if !chunks.sort() {
        return Err("two chunks are at one place".into());
    }
    whole.chunks = chunks;
    Ok(())
}

/// Returns the length of the chunks along the dimension with which all files can be referenced.
fn side(pieces: &[Pair<'_, '_>], axis: usize, whole: &VirtualArray, small: u64) -> Result<u64, String> {
    let at = |of: &[u64]| of.get(axis).copied().unwrap_or(1);
    let usual = at(&whole.chunk_shape);
    let (mut common, mut problem) = (0, None);
    for (place, (file, array)) in pieces.iter().enumerate() {
        let name = file.piece.name;
        for other in (0..array.chunk_shape.len()).filter(|other| *other != axis) {
            if array.chunk_shape.get(other) != whole.chunk_shape.get(other) {
                return Err(format!(
                    "its chunks differ in {name}: {:?} instead of {:?}",
                    array.chunk_shape, whole.chunk_shape
                ));
            }
        }
        if array.chunks.iter().any(|(_, place)| matches!(place, Place::Bytes(_))) {
            return Err(format!("its elements are inlined in {name}"));
        }
        let (side, rows, last) = (at(&array.chunk_shape), at(&array.shape), place + 1 == pieces.len());
        common = divisor(common, side);
        if !last {
            common = divisor(common, rows);
        }
        if side != usual {
            problem.get_or_insert_with(|| {
                format!(
                    "its chunks do not fill the files: they have {side} rows in {name}, and {usual} before"
                )
            });
        } else if !last && !rows.is_multiple_of(side) {
            let rest = rows % side;
            problem.get_or_insert_with(|| {
                format!("its chunks do not fill the files: the last one in {name} has {rest} of {side} rows")
            });
        }
    }
    let Some(problem) = problem else { return Ok(usual) };
    // Small arrays are inlined instead of becoming many chunks. All sums here are bounds.
    let lengths = pieces.iter().flat_map(|(_, array)| array.chunks.iter()).map(|(_, place)| match place {
        Place::Range { length, .. } => length,
        Place::Bytes(bytes) => bytes.len() as u64,
    });
    let (bytes, largest) =
        lengths.fold((0u64, 0u64), |(sum, most), length| (sum.saturating_add(length), most.max(length)));
    // Rows of a chunk without filters are one after another, if the chunk has no dimension before them.
    let before = whole.chunk_shape.iter().take(axis).all(|side| *side == 1);
    if !whole.filters.is_empty() {
        return Err(format!("{problem}, and chunks with filters cannot be divided"));
    }
    if !before || whole.columns || common == 0 || bytes <= small {
        return Err(problem);
    }
    // A bound too: rows of the longest chunk.
    let each = (largest / usual.max(1)).saturating_mul(common);
    if each < SMALL && bytes / each.max(1) > MANY {
        return Err(format!(
            "{problem}, and dividing them would make more than {MANY} chunks of {each} bytes"
        ));
    }
    Ok(common)
}

/// The greatest common divisor; 0 has every divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
