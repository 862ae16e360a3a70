//! The array that the arrays of one path become.

use serde_json::Value;

use super::agree::{Counted, Difference, agree, units};
use super::files::{Origin, Scanned};
use super::inlined::{Inlined, converted, inlined};
use super::ranges::ranges;
use super::{Joining, axis, is_coordinate};
use crate::chunks::Place;
use crate::model::{Options, Treatment, VirtualArray};

/// An array of a file.
pub(super) type Pair<'s, 'a> = (&'s Scanned<'a>, &'s VirtualArray);

/// Joins the arrays of that path.
///
/// # Errors
/// The reason why they are not joined.
pub(super) fn join(
    all: &Joining<'_>,
    path: &str,
    along: &str,
    options: &Options,
) -> Result<(VirtualArray, Treatment), String> {
    let pieces = pairs(all.files.iter(), path)?;
    let Some((first, _)) = pieces.first() else { return Err("there are no files".into()) };
    match joined(&pieces, along, options)? {
        Joined::Done(array, treatment) => Ok((*array, treatment)),
        Joined::Again(reason) => {
            // The existing references do not contain what is needed, so their files are looked at again.
            let Origin::Existing(existing, _) = first.piece.origin else {
                return Err(reason);
            };
            let whole = pairs(all.whole()?, path)?;
            let known = existing.found.arrays.iter().find(|array| array.path == path);
            let length =
                |array: &VirtualArray| axis(array, along).and_then(|at| array.shape.get(at).copied());
            let later = pieces.len().saturating_sub(1); // a bound
            let before = whole.len().saturating_sub(later); // a bound
            let sum =
                whole.iter().take(before).try_fold(0u64, |sum, (_, array)| sum.checked_add(length(array)?));
            if sum.is_none() || sum != known.and_then(length) {
                return Err(format!(
                    "{reason}, and the existing references are not all elements of their files"
                ));
            }
            match joined(&whole, along, options)? {
                Joined::Done(array, treatment) => Ok((*array, treatment)),
                Joined::Again(reason) => Err(reason),
            }
        }
    }
}

/// The arrays of a path, in the order of the files.
fn pairs<'s, 'a: 's>(
    files: impl Iterator<Item = &'s Scanned<'a>>,
    path: &str,
) -> Result<Vec<Pair<'s, 'a>>, String> {
    let pair = |file: &'s Scanned<'a>| match file.found.arrays.iter().find(|array| array.path == path) {
        Some(array) => Ok((file, array)),
        None => {
            let refused = file.told.entries.iter().find(|entry| entry.path == path);
            let refused = refused.map(|entry| entry.treatment.to_string());
            let reason = refused.unwrap_or_else(|| "there is no such array".into());
            Err(format!("{}: {reason}", file.piece.name))
        }
    };
    files.map(pair).collect()
}

enum Joined {
    Done(Box<VirtualArray>, Treatment),
    /// Existing references do not contain the elements.
    Again(String),
}

fn joined(pieces: &[Pair<'_, '_>], along: &str, options: &Options) -> Result<Joined, String> {
    let Some(((start, first), others)) = pieces.split_first() else {
        return Err("there are no files".into());
    };
    pieces.iter().try_for_each(|(file, array)| file.is_whole(array, along))?;
    let axis = axis(first, along);
    let counting = start.counting(first);
    let wanted = Counted { array: first, counting: &counting, existing: start.is_existing() };
    let (mut converting, mut stored) = (false, None);
    for (file, array) in others {
        file.names_agree(start, array)?;
        let counting = file.counting(array);
        let found = Counted { array, counting: &counting, existing: file.is_existing() };
        match agree(wanted, found, file.piece.name) {
            Ok(()) => {}
            Err(Difference::Stored(reason)) => stored = stored.or(Some(reason)),
            Err(Difference::Meaning(reason)) => return Err(reason),
        }
        converting |= units(wanted.counting, found.counting, axis.is_some(), file.piece.name)?;
    }
    let Some(axis) = axis else { return constant(start, first, others) };
    let mut whole = spanning(pieces, axis)?;
    if converting {
        let reason = "its files count time in different units".to_owned();
        return finished(converted(pieces, axis, &mut whole, options.inline)?, whole, reason);
    }
    if is_coordinate(first, along) && stored.is_none() {
        // Every reader loads it, and a request for each file takes long.
        let mut short = whole.clone();
        if let Ok(done) = inlined(pieces, axis, &mut short, options.inline) {
            let reason = format!("it is the coordinate of {along}, which every reader loads");
            return finished(done, short, reason);
        }
    }
    let reason = match stored {
        Some(reason) => reason,
        None => match ranges(pieces, axis, &mut whole, options.inline) {
            Ok(()) => {
                let chunks = whole.chunks.len();
                return Ok(Joined::Done(Box::new(whole), Treatment::Referenced { chunks }));
            }
            Err(reason) => reason,
        },
    };
    match inlined(pieces, axis, &mut whole, options.inline) {
        Ok(done) => finished(done, whole, reason),
        // Ranges of the files may do, where the existing references have bytes.
        Err(_) if matches!(start.piece.origin, Origin::Existing(..)) && contained(first) => {
            Ok(Joined::Again(reason))
        }
        Err(other) => Err(format!("{reason}, and {other}")),
    }
}

fn finished(done: Inlined, array: VirtualArray, reason: String) -> Result<Joined, String> {
    Ok(match done {
        Inlined::Bytes(bytes) => Joined::Done(Box::new(array), Treatment::Inlined { bytes, reason }),
        Inlined::Elsewhere => Joined::Again(reason),
    })
}

/// Whether the references contain the elements.
fn contained(array: &VirtualArray) -> bool {
    array.chunks.iter().any(|(_, place)| matches!(place, Place::Bytes(_)))
}

/// An array without the dimension, which is the same in all files.
fn constant(start: &Scanned<'_>, first: &VirtualArray, others: &[Pair<'_, '_>]) -> Result<Joined, String> {
    for (file, array) in others {
        if first.shape != array.shape {
            let name = file.piece.name;
            return Err(format!(
                "its shape differs in {name}: {:?} instead of {:?}",
                array.shape, first.shape
            ));
        }
        file.same(start, array)?;
    }
    let array = first.clone();
    let told = start.told.entries.iter().find(|entry| entry.path == array.path);
    let bytes = array.chunks.iter().fold(0u64, |sum, (_, place)| match place {
        Place::Bytes(bytes) => sum.saturating_add(bytes.len() as u64), // a bound
        Place::Range { .. } => sum,
    });
    let treatment = match told {
        Some(entry) => entry.treatment.clone(),
        None if contained(&array) => {
            Treatment::Inlined { bytes, reason: "it is so in the existing references".into() }
        }
        None => Treatment::Referenced { chunks: array.chunks.len() },
    };
    Ok(Joined::Done(Box::new(array), treatment))
}

/// The first array with the length of all of them, and without chunks that are right.
fn spanning(pieces: &[Pair<'_, '_>], axis: usize) -> Result<VirtualArray, String> {
    let Some((_, first)) = pieces.first() else { return Err("there are no files".into()) };
    let mut length = 0u64;
    for (file, array) in pieces {
        let others = |array: &VirtualArray| -> Vec<u64> {
            array.shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, side)| *side).collect()
        };
        let (wanted, found) = (others(first), others(array));
        if wanted != found {
            return Err(format!("its grid differs in {}: {found:?} instead of {wanted:?}", file.piece.name));
        }
        length = array.shape.get(axis).and_then(|n| length.checked_add(*n)).ok_or("it is too long")?;
    }
    let mut whole = (*first).clone();
    if let Some(side) = whole.shape.get_mut(axis) {
        *side = length;
    }
    let fill = pieces.iter().map(|(_, array)| &array.fill).find(|fill| !fill.is_null());
    whole.fill = fill.cloned().unwrap_or(Value::Null);
    whole.marked = pieces.iter().any(|(_, array)| array.marked);
    Ok(whole)
}
