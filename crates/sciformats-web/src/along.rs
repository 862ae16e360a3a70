//! The coordinates along a dimension.

use sciformats::{Range, Result, Slab};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::time::Calendar;
use sciformats_conventions::{Meaning, Values};
use serde_json::{Value, json};

use crate::session::{Opened, Reply, Request};

/// The number of coordinates that are read at once.
const MOST: u64 = 1 << 20;

/// Answers what the coordinates along the dimension `axis` of the variable at `path` are, from `first` on,
/// `count` of them with distance `step`. Numbers are among the elements, and texts and dates in the JSON.
pub(crate) fn along(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let data = opened.data()?;
    let none = || Ok(json!({ "kind": "none" }).into());
    let Some(Meaning::Variable(variable)) = data.meaning(request.text("path")?)? else { return none() };
    let axis = usize::try_from(request.number("axis")?).unwrap_or(usize::MAX);
    let Some(dimension) = variable.dimensions.get(axis) else { return none() };
    let first = request.maybe_number("first").unwrap_or(0);
    let step = request.maybe_number("step").unwrap_or(1).max(1);
    let rest = dimension.length.saturating_sub(first).div_ceil(step); // a bound
    let count = request.maybe_number("count").unwrap_or(u64::MAX).min(rest).min(MOST);
    if let Some(spacing) = &dimension.spacing {
        let places = (0..count).map(|i| spacing.start + spacing.step * (first + i * step) as f64);
        let bytes = places.flat_map(f64::to_le_bytes).collect();
        let json =
            json!({ "kind": "numbers", "label": dimension.name, "units": spacing.units, "north": false });
        return Ok(Reply::with(&json, bytes));
    }
    let Some(path) = variable.coordinates_path(axis) else { return none() };
    let Ok(coordinate) = data.variable(path) else { return none() };
    if coordinate.shape() != [dimension.length] {
        return none();
    }
    let range = Range::new(first, count).by(step);
    let values = coordinate.read_slab(&Slab::new(&[dimension.length], [range])?)?;
    let label = coordinate.long_name.clone().unwrap_or_else(|| coordinate.name.clone());
    let north = data.points_north(&coordinate);
    if let (Values::Times(times), Decoding::Time { units, .. }) = (&values, &coordinate.decoding) {
        let calendar = units.calendar();
        let seconds = |time: &Option<sciformats_conventions::time::DateTime>| {
            time.map_or(f64::NAN, |time| time.nanoseconds(calendar) as f64 / 1e9)
        };
        let bytes = times.iter().flat_map(|time| seconds(time).to_le_bytes()).collect();
        let gregorian = matches!(calendar, Calendar::Standard | Calendar::ProlepticGregorian);
        let texts: Vec<Value> = times.iter().map(|time| time.map(|time| time.to_string()).into()).collect();
        let json = json!({ "kind": "times", "label": label, "gregorian": gregorian, "texts": texts, "north": false, "path": path });
        return Ok(Reply::with(&json, bytes));
    }
    match values.numbers() {
        Ok(numbers) => {
            let json = json!({ "kind": "numbers", "label": label, "units": coordinate.units, "north": north, "path": path });
            Ok(Reply::with(&json, numbers.into_iter().flat_map(f64::to_le_bytes).collect()))
        }
        Err(_) => {
            let texts = values.cells()?;
            Ok(json!({ "kind": "texts", "label": label, "texts": texts, "path": path }).into())
        }
    }
}
