//! The coordinates along a dimension of a variable, and their name.

use sciformats::{Datum, Decoder, ElementType, Range, Result, Slab};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::time::{Calendar, DateTime};
use sciformats_conventions::{Dataset, Spacing, Values, Variable};

/// More coordinates than these are not read.
const MOST: u64 = 4 << 20;

/// From here on, not every integer has a binary64 that is equal to it.
const EXACT: u128 = 1 << 53;

/// The coordinates of some indices of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
    Numbers(Vec<f64>),
    /// Integers of which some would be rounded as numbers.
    Integers(Vec<i128>),
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
    /// Whether the places are the middles of cells whose edges are stored.
    pub(crate) middles: bool,
    /// The edges of the cells, if the places are their middles.
    pub(crate) cells: Option<Vec<(f64, f64)>>,
}

/// The coordinates of some indices of a dimension as the values of a variable.
pub(crate) struct Coordinates {
    pub(crate) of: Variable,
    pub(crate) values: Values,
    /// The lower and the upper edges of cells, whose middles are the values, if edges are stored.
    pub(crate) edges: Option<(Values, Values)>,
}

/// What is added to the name of a dimension whose coordinates are the middles of cells.
pub(crate) const MIDDLES: &str = "middle";

/// Returns the coordinates of some indices of a dimension of a variable; `None` if there is no array of them, or one of
/// another length. An array that is longer by one contains the edges of cells.
///
/// # Errors
///
/// An error if the coordinates cannot be read.
pub(crate) fn coordinates(
    data: &Dataset,
    (variable, axis): (&Variable, usize),
    range: Range,
) -> Result<Option<Coordinates>> {
    let (Some(dimension), Some(path)) = (variable.dimensions.get(axis), variable.coordinates_path(axis))
    else {
        return Ok(None);
    };
    let of = data.variable(path)?;
    let &[stored] = of.shape().as_slice() else { return Ok(None) };
    let read = |from: u64| {
        let range = Range { start: range.start.saturating_add(from), ..range }; // a bound: beyond the end is refused
        of.read_slab(&Slab::new(&[stored], [range])?)
    };
    let length = dimension.length;
    // Until all variables along an unlimited dimension have been written, some are shorter than its coordinates.
    if stored == length || (dimension.unlimited && stored > length) {
        let values = read(0)?;
        return Ok(Some(Coordinates { of, values, edges: None }));
    }
    if dimension.unlimited || length.checked_add(1) != Some(stored) {
        return Ok(None);
    }
    let edges = (read(0)?, read(1)?);
    let Some(values) = middles(&edges, &of)? else { return Ok(None) };
    Ok(Some(Coordinates { of, values, edges: Some(edges) }))
}

/// Returns the values between edges; `None` if they are neither numbers nor dates.
fn middles((low, high): &(Values, Values), of: &Variable) -> Result<Option<Values>> {
    Ok(match (low, high, &of.decoding) {
        (Values::Times(low), Values::Times(high), Decoding::Time { units, .. }) => {
            let calendar = units.calendar();
            let middle = |(low, high): (&Option<DateTime>, &Option<DateTime>)| {
                let (low, high) = (low.as_ref()?.nanoseconds(calendar), high.as_ref()?.nanoseconds(calendar));
                DateTime::at(calendar, low.midpoint(high))
            };
            Some(Values::Times(low.iter().zip(high).map(middle).collect()))
        }
        (Values::Plain { element, .. }, Values::Plain { .. }, _) if element.is_real() => {
            let middles =
                low.numbers()?.into_iter().zip(high.numbers()?).map(|(low, high)| low.midpoint(high));
            Some(match element {
                ElementType::F32 => Values::plain(
                    ElementType::F32,
                    middles.flat_map(|middle| (middle as f32).to_le_bytes()).collect(),
                ),
                _ => Values::plain(ElementType::F64, middles.flat_map(f64::to_le_bytes).collect()),
            })
        }
        _ => None,
    })
}

/// Returns the coordinates of indices that are given by their start and their distance.
pub(crate) fn spaced(spacing: &Spacing, range: Range) -> Vec<f64> {
    let indices = (0..range.count).filter_map(|i| i.checked_mul(range.step)?.checked_add(range.start));
    indices.map(|index| spacing.start + spacing.step * index as f64).collect()
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
        let label = dimension.name.clone().unwrap_or_default();
        let places = Places::Numbers(spaced(spacing, range));
        let units = spacing.units.clone();
        return Ok(Some(Along { label, units, north: false, places, middles: false, cells: None }));
    }
    let Some(path) = variable.coordinates_path(axis) else { return Ok(None) };
    // What is wrong with the array of coordinates is reported where that array is shown.
    if data.variable(path).is_err() {
        return Ok(None);
    }
    let Some(Coordinates { of, values, edges }) = coordinates(data, (variable, axis), range)? else {
        return Ok(None);
    };
    let cells = match &edges {
        Some((low @ Values::Plain { .. }, high)) => {
            Some(low.numbers()?.into_iter().zip(high.numbers()?).collect())
        }
        _ => None,
    };
    let places = match (values, &of.decoding) {
        (Values::Times(times), Decoding::Time { units, .. }) => Places::Times(times, units.calendar()),
        (values @ Values::Plain { .. }, _) => match large(&values)? {
            Some(integers) => Places::Integers(integers),
            None => match values.numbers() {
                Ok(numbers) => Places::Numbers(numbers),
                Err(_) => Places::Texts(values.cells()?),
            },
        },
        (other, _) => Places::Texts(other.cells()?),
    };
    let counted = matches!(places, Places::Numbers(_) | Places::Integers(_));
    let units = of.units.clone().filter(|_| counted);
    let mut label = of.long_name.clone().unwrap_or_else(|| of.name.clone());
    let middles = edges.is_some();
    if middles {
        label = format!("{label}, {MIDDLES}");
    }
    Ok(Some(Along { label, units, north: data.points_north(&of), places, middles, cells }))
}

/// Returns integers of which none is missing, if some of them would be rounded as numbers.
fn large(values: &Values) -> Result<Option<Vec<i128>>> {
    let Values::Plain {
        element: element @ (ElementType::Int(_) | ElementType::UInt(_)),
        bytes,
        missing: None,
    } = values
    else {
        return Ok(None);
    };
    let integers = Decoder::new(element, bytes).map(|datum| datum.map(|datum: Datum<'_>| datum.to_i128()));
    let integers: Option<Vec<i128>> = integers.collect::<Result<_>>()?;
    Ok(integers.filter(|integers| integers.iter().any(|integer| integer.unsigned_abs() > EXACT)))
}

/// Formats a moment as briefly as possible: without a time of day at midnight, unless `exact` is true.
pub(crate) fn date(moment: &DateTime) -> String {
    let text = moment.to_string();
    match text.strip_suffix("T00:00:00") {
        Some(day) => day.to_owned(),
        None => text,
    }
}
