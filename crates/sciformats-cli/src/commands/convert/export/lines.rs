//! Tables, and arrays beside their coordinates, as lines of CSV.

use std::io::Write;

use sciformats::{Datum, ElementType, Error, FloatKind, Range};
use sciformats_conventions::Dataset;

use super::chosen::axes;
use crate::commands::cat::{Part, Stop, csv};
use crate::meaning::{Thing, along};

/// The number of elements that are held at once to write lines of CSV.
const AT_ONCE: u64 = 1 << 16;

/// Writes a table, or one line per element with its coordinates.
pub(super) fn lines(data: &Dataset, things: &[(String, Thing)], out: &mut impl Write) -> Result<(), Stop> {
    let rank = |thing: &Thing| thing.variable().map_or(usize::MAX, |variable| variable.dimensions.len());
    // The others have some of its dimensions, and their values are repeated.
    let Some(first) = things.iter().map(|(_, thing)| thing).rev().max_by_key(|thing| rank(thing)) else {
        return Ok(());
    };
    let array = first.array()?;
    if matches!(array.element(), ElementType::Compound(_)) && things.len() == 1 {
        return csv::print(&Part::whole(&array, false)?, out);
    }
    let shape = array.shape().to_vec();
    let mut heads = Vec::new();
    let mut places = Vec::new();
    for (axis, &length) in shape.iter().enumerate() {
        let (name, coordinates) = coordinates(data, (first, axis), length)?;
        heads.push(csv::quoted(&name).into_owned());
        places.push(coordinates);
    }
    for (path, thing) in things {
        let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("value");
        let units =
            thing.variable().filter(|_| !thing.is_time()).and_then(|variable| variable.units.as_ref());
        let units = units.map(|units| format!(" ({units})")).unwrap_or_default();
        heads.push(csv::quoted(&format!("{name}{units}")).into_owned());
    }
    writeln!(out, "{}", heads.join(","))?;
    let arrays = things.iter().map(|(_, thing)| thing.array()).collect::<Result<Vec<_>, _>>()?;
    let mut at = vec![0u64; shape.len()];
    let mut repeated = Vec::new();
    for ((_, thing), array) in things.iter().zip(&arrays) {
        repeated.push(if array.shape() == shape { None } else { Some(Repeated::new(thing, first, array)?) });
    }
    for slab in array.all()?.pieces(AT_ONCE / (arrays.len() as u64).max(1)) {
        let mut columns = Vec::new();
        for (array, repeated) in arrays.iter().zip(&repeated) {
            if repeated.is_some() {
                columns.push(Vec::new().into_iter());
                continue;
            }
            let bytes = array.bytes(&slab)?;
            let mut cells = Vec::new();
            for datum in sciformats::Decoder::new(array.element(), &bytes) {
                cells.push(csv::value(&datum?));
            }
            columns.push(cells.into_iter());
        }
        at.clone_from_slice(&slab.ranges().iter().map(|range| range.start).collect::<Vec<_>>());
        for _ in 0..slab.len() {
            let mut cells: Vec<String> = Vec::new();
            for (places, &index) in places.iter().zip(&at) {
                cells.push(place(places, index));
            }
            for (column, repeated) in columns.iter_mut().zip(&repeated) {
                cells.extend(match repeated {
                    Some(repeated) => repeated.at(&at),
                    None => column.next(),
                });
            }
            writeln!(out, "{}", cells.join(","))?;
            for (index, range) in at.iter_mut().zip(slab.ranges()).rev() {
                *index += 1;
                if *index - range.start < range.count {
                    break;
                }
                *index = range.start;
            }
        }
    }
    Ok(())
}

/// The cells of an array that only has some of the dimensions of another one.
struct Repeated {
    cells: Vec<String>,
    /// For each dimension of the array, that of the other one, and its length.
    axes: Vec<(usize, u64)>,
}

impl Repeated {
    fn new(thing: &Thing, lead: &Thing, array: &sciformats::Array<'_>) -> Result<Self, Error> {
        let axes = thing.variable().zip(lead.variable()).and_then(|(variable, lead)| axes(variable, lead));
        let axes = axes.ok_or_else(|| Error::usage("selection", "has arrays of several shapes"))?;
        let bytes = array.bytes(&array.all()?)?;
        let mut cells = Vec::new();
        for datum in sciformats::Decoder::new(array.element(), &bytes) {
            cells.push(csv::value(&datum?));
        }
        Ok(Self { cells, axes: axes.into_iter().zip(array.shape().iter().copied()).collect() })
    }

    fn at(&self, at: &[u64]) -> Option<String> {
        let place = self.axes.iter().try_fold(0u64, |place, &(axis, length)| {
            place.checked_mul(length)?.checked_add(*at.get(axis)?)
        })?;
        self.cells.get(usize::try_from(place).ok()?).cloned()
    }
}

/// The coordinates along a dimension; `None` if its elements are counted.
type Places = Option<Vec<String>>;

fn place(places: &Places, index: u64) -> String {
    let known = places.as_ref().and_then(|places| places.get(usize::try_from(index).ok()?));
    known.cloned().unwrap_or_else(|| index.to_string())
}

/// Returns the name of a dimension, and its coordinates.
fn coordinates(
    data: &Dataset,
    (thing, axis): (&Thing, usize),
    length: u64,
) -> Result<(String, Places), Error> {
    let Some(variable) = thing.variable() else { return Ok((format!("index {axis}"), None)) };
    let dimension = variable.dimensions.get(axis);
    let name = dimension.and_then(|dimension| dimension.name.clone());
    let unnamed = || format!("index {axis}");
    let in_units = |units: Option<&String>| units.map(|units| format!(" ({units})")).unwrap_or_default();
    if let Some(spacing) = dimension.and_then(|dimension| dimension.spacing.as_ref()) {
        let places = along::spaced(spacing, Range::all(length)).into_iter();
        let cells = places.map(|place| Datum::Float(place, FloatKind::F64).to_string());
        let units = in_units(spacing.units.as_ref());
        return Ok((format!("{}{units}", name.unwrap_or_else(unnamed)), Some(cells.collect())));
    }
    let Some(found) = along::coordinates(data, (variable, axis), Range::all(length))? else {
        // Coordinates that do not belong to each index must not seem to be the indices.
        let name = match (name, variable.coordinates_path(axis)) {
            (Some(name), Some(_)) => format!("{name} (index)"),
            (name, _) => name.unwrap_or_else(unnamed),
        };
        return Ok((name, None));
    };
    let cells = found.values.cells()?.into_iter();
    let cells = cells.map(|cell| csv::quoted(&cell.unwrap_or_default()).into_owned()).collect();
    let time = matches!(found.of.decoding, sciformats_conventions::decoding::Decoding::Time { .. });
    let units = in_units(found.of.units.as_ref().filter(|_| !time));
    let middle = found.edges.map(|_| format!(" {}", along::MIDDLES)).unwrap_or_default();
    Ok((format!("{}{middle}{units}", name.unwrap_or_else(|| found.of.name.clone())), Some(cells)))
}
