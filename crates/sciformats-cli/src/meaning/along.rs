//! The coordinates along a dimension of a variable, and their name.

use sciformats::{Range, Result, Slab};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::time::{Calendar, DateTime};
use sciformats_conventions::{Dataset, Role, Values, Variable};

/// More coordinates than these are not read.
const MOST: u64 = 4 << 20;

/// The coordinates of some indices of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
    Numbers(Vec<f64>),
    Times(Vec<Option<DateTime>>, Calendar),
    Texts(Vec<Option<String>>),
}

/// What is known about a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Along {
    /// A name for people.
    pub(crate) label: String,
    pub(crate) units: Option<String>,
    /// Whether the dimension points north, or upwards on a map.
    pub(crate) north: bool,
    pub(crate) places: Places,
}

/// Returns the path of the array that holds the coordinates of a dimension.
pub(crate) fn path(variable: &Variable, axis: usize) -> Option<&str> {
    let dimension = variable.dimensions.get(axis)?;
    let own = dimension.path.as_deref().filter(|path| dimension.has_values && *path == variable.path());
    let of_dimension = |role: Role| role == Role::Dimension;
    let mut coordinates = variable.coordinates.iter();
    let other = coordinates.find(|other| of_dimension(other.role) && other.dimension == Some(axis));
    own.or(other.map(|other| other.path.as_str()))
}

/// Returns whether a coordinate points north, or upwards on a map.
fn points_north(data: &Dataset, coordinate: &Variable) -> bool {
    let units = coordinate.units.as_deref().unwrap_or_default().to_ascii_lowercase();
    let north = matches!(
        units.as_str(),
        "degrees_north" | "degree_north" | "degree_n" | "degrees_n" | "degreen" | "degreesn"
    );
    let name = coordinate.standard_name.as_deref().unwrap_or_default();
    let axis = || data.node(coordinate.path()).ok()?.text("axis").ok()?;
    north
        || matches!(name, "latitude" | "grid_latitude" | "projection_y_coordinate")
        || axis().as_deref() == Some("Y")
}

/// Returns what is known about a dimension of a variable, at some of its indices; `None` if nothing is known.
///
/// # Errors
///
/// An error if the coordinates cannot be read.
pub(crate) fn along(data: &Dataset, variable: &Variable, axis: usize, range: Range) -> Result<Option<Along>> {
    let Some(dimension) = variable.dimensions.get(axis) else { return Ok(None) };
    if range.count > MOST {
        return Ok(None);
    }
    if let Some(spacing) = &dimension.spacing {
        let at = |index: u64| spacing.start + spacing.step * index as f64;
        let indices = (0..range.count).filter_map(|i| i.checked_mul(range.step)?.checked_add(range.start));
        let label = dimension.name.clone().unwrap_or_default();
        let places = Places::Numbers(indices.map(at).collect());
        return Ok(Some(Along { label, units: spacing.units.clone(), north: false, places }));
    }
    let Some(path) = path(variable, axis) else { return Ok(None) };
    let Ok(coordinate) = data.variable(path) else { return Ok(None) };
    if coordinate.shape() != [dimension.length] {
        return Ok(None);
    }
    let values = coordinate.read_slab(&Slab::new(&[dimension.length], [range])?)?;
    let places = match (values, &coordinate.decoding) {
        (Values::Times(times), Decoding::Time { units, .. }) => Places::Times(times, units.calendar()),
        (values @ Values::Plain { .. }, _) => match values.numbers() {
            Ok(numbers) => Places::Numbers(numbers),
            Err(_) => Places::Texts(values.cells()?),
        },
        (other, _) => Places::Texts(other.cells()?),
    };
    let units = coordinate.units.clone().filter(|_| matches!(places, Places::Numbers(_)));
    let label = coordinate.long_name.clone().unwrap_or_else(|| coordinate.name.clone());
    Ok(Some(Along { label, units, north: points_north(data, &coordinate), places }))
}

/// Formats a moment as briefly as possible: without a time of day at midnight, unless `exact` is true.
pub(crate) fn date(moment: &DateTime) -> String {
    let text = moment.to_string();
    match text.strip_suffix("T00:00:00") {
        Some(day) => day.to_owned(),
        None => text,
    }
}
