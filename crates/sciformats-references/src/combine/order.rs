//! Whether the coordinate of the dimension goes on from file to file.

use std::cmp::Ordering;

use sciformats::{Error, Result};
use serde_json::{Map, Value};

use super::files::Scanned;
use super::is_coordinate;
use super::units::{calendar, conversion};

/// Checks that the coordinate of the dimension goes on in one direction from each file to the next.
///
/// # Errors
/// `Usage` with both files and their values.
pub(super) fn in_order(all: &[Scanned<'_>], along: &str) -> Result<()> {
    let mut before: Option<(&str, f64)> = None;
    let mut direction = None;
    let mut first_attributes: Option<&Map<String, Value>> = None;
    for file in all {
        let coordinate = file.found.arrays.iter().find(|array| is_coordinate(array, along));
        let Some(coordinate) = coordinate else { return Ok(()) };
        let Ok(mut values) = file.numbers(coordinate) else { return Ok(()) };
        // Numbers are compared in the units of the first file.
        let to = *first_attributes.get_or_insert(&coordinate.attributes);
        if calendar(to) != calendar(&coordinate.attributes) {
            // Dates of two calendars have no order; the coordinate is refused.
            return Ok(());
        }
        if to.get("units") != coordinate.attributes.get("units") {
            // Neither have numbers in units that are not converted; the coordinate is refused.
            let Some(convert) = conversion(to, &coordinate.attributes) else { return Ok(()) };
            values.iter_mut().for_each(|value| *value = convert(*value));
        }
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let within = last.partial_cmp(first).filter(|way| *way != Ordering::Equal);
        let between = before.map(|(_, end)| first.partial_cmp(&end));
        let mut agrees = |way: Option<Ordering>| *direction.get_or_insert(way) == way;
        let goes_on = within.is_none_or(|way| agrees(Some(way)))
            && between.is_none_or(|way| way != Some(Ordering::Equal) && agrees(way));
        if let (Some((name, end)), false) = (before, goes_on) {
            let problem = format!(
                "are not in order: `{along}` ends at {end} in {name} and begins at {first} in {}",
                file.piece.name
            );
            return Err(Error::usage("files", problem));
        }
        before = Some((file.piece.name, *last));
    }
    Ok(())
}
