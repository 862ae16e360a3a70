//! What a GSD file stores in each frame, as variables along the dimension `frame`.
//!
//! In the schema of HOOMD, what a frame does not store is as it was in frame 0. What only frame 0 stores is therefore the same
//! in all frames, and has no such dimension. If frame 0 does not store it either, or if a quantity has a row for each particle (or
//! bond) and frame 0 has another number of them, it is the default of the schema.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::hdf5_pure::ObjectId as Dataset5;
use sciformats::walk::{Found, breadth_first};
use sciformats::{Decoder, ElementType, Error, File, Object, ObjectId, Range, Result, Slab};
use sciformats_core::bound;

use super::kind::Kind;
use super::names::{Names, Side};
use super::{NetCdfCopy, Origin, Planned, Told, describe};
use crate::convention::Meaning;
use crate::dataset::Dataset;
use crate::variable::Variable;
use crate::write::NetCdf;

/// The number of frames of which the planner keeps the places.
const MOST: usize = 4 << 20;

/// The time step of a frame.
const STEP: &str = "configuration/step";

/// The elements of one quantity in all frames.
#[derive(Debug)]
pub(super) struct Frames {
    file: Arc<File>,
    /// Where they are in each frame; `None` if they are missing.
    places: Vec<Option<Place>>,
    element: ElementType,
    /// Whether a dimension of length 1 is left out.
    single: bool,
    /// The number of columns, if a row has several.
    columns: Option<u64>,
    /// The bytes of one row of the schema's default.
    default: Vec<u8>,
}

/// Where the elements of a quantity in one frame are.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// In an array of this shape.
    Stored(ObjectId, Vec<u64>),
    /// In frame 0.
    First,
    /// Nowhere: so many rows have the schema's default.
    Default(u64),
}

/// A quantity that is being collected.
struct Quantity {
    element: Option<ElementType>,
    places: Vec<Option<(ObjectId, Vec<u64>)>>,
}

/// What is known of all frames.
struct Known {
    /// The dimension of the frames.
    frame: Side,
    /// Whether a frame without a quantity has that of frame 0.
    inherits: bool,
    /// Whether frames have time steps.
    stepped: bool,
    /// The number of particles, bonds and the like in each frame, by the group of their chunks.
    counts: HashMap<String, Vec<u64>>,
}

/// Plans the variables of all quantities.
pub(super) fn plan(data: &Dataset, copy: &mut NetCdfCopy, names: &mut Names) -> Result<()> {
    let file = data.file();
    let source = file.source();
    let Some(group) = data.node("/")?.child("frames")? else { return Ok(()) };
    let mut count = 0usize;
    for member in source.listing(group.id())? {
        member?;
        count += 1;
    }
    if count > MOST {
        return Err(Error::unsupported(format!("writing {count} frames into one netCDF file")));
    }
    let mut found: BTreeMap<String, Quantity> = BTreeMap::new();
    for (at, member) in source.listing(group.id())?.enumerate() {
        let sciformats::Target::Object(id) = member?.member.target else { continue };
        let _ = breadth_first(source, ("/", id), file.limits(), &mut |entry| {
            if let Found::Object(id, Object::Array(info)) = &entry.what {
                let one = found.entry(entry.path.trim_start_matches('/').to_owned()).or_insert_with(|| {
                    Quantity { element: Some(info.element.clone()), places: vec![None; count] }
                });
                if one.element.as_ref() != Some(&info.element) {
                    one.element = None;
                }
                if let Some(place) = one.places.get_mut(at) {
                    *place = info.shape.as_ref().map(|shape| (*id, shape.to_vec()));
                }
            }
            ControlFlow::Continue(())
        });
    }
    let inherits = data.identity()?.is_some_and(|identity| identity.convention == "HOOMD");
    let frame = names.side("/frames", Some("frame"), count as u64, true);
    let stepped = found.get(STEP).is_some_and(|step| step.places.iter().flatten().count() > 1);
    let counts = if inherits { counts(file, &found)? } else { HashMap::new() };
    let known = Known { frame, inherits, stepped, counts };
    for (path, one) in found {
        quantity(data, (&path, one), (copy, names), &known)?;
    }
    Ok(())
}

/// Returns how many particles, bonds and the like each frame has, by the group of their chunks. A frame that does not say it has
/// as many as frame 0.
fn counts(file: &File, found: &BTreeMap<String, Quantity>) -> Result<HashMap<String, Vec<u64>>> {
    let mut all = HashMap::new();
    for (path, one) in found {
        let (Some(group), Some(element)) = (path.strip_suffix("/N"), &one.element) else { continue };
        let mut counts: Vec<u64> = Vec::with_capacity(one.places.len());
        for place in &one.places {
            let mut count = counts.first().copied().unwrap_or_default(); // the default of the schema is 0
            if let Some((id, sides)) = place {
                let mut bytes = Vec::new();
                file.read(*id, &Slab::all(sides)?, &mut bytes)?;
                let stored = Decoder::new(element, &bytes).next().transpose()?;
                let stored = stored.and_then(|stored| u64::try_from(stored.to_i128()?).ok());
                count = stored.unwrap_or(count); // what is no number says nothing
            }
            counts.push(count);
        }
        all.insert(group.to_owned(), counts);
    }
    Ok(all)
}

/// Returns the default of the schema for a quantity with a row for each particle, bond or the like, whose numbers are repeated in
/// a row; `None` for other quantities.
fn default_of(path: &str) -> Option<&'static [f64]> {
    Some(match path.split_once('/')? {
        ("particles", "mass" | "diameter") => &[1.0],
        ("particles", "orientation") => &[1.0, 0.0, 0.0, 0.0],
        ("particles", "body") => &[-1.0],
        (
            "particles",
            "typeid" | "charge" | "moment_inertia" | "position" | "velocity" | "angmom" | "image",
        ) => &[0.0],
        ("bonds" | "angles" | "dihedrals" | "impropers" | "pairs", "typeid" | "group") => &[0.0],
        ("constraints", "value" | "group") => &[0.0],
        _ => return None,
    })
}

/// Returns the canonical bytes of a row of defaults; `None` if the elements are of a type that the schema does not have.
fn row_of(default: &[f64], element: &ElementType, columns: u64) -> Option<Vec<u8>> {
    let mut row = Vec::new();
    for number in default.iter().cycle().take(bound::addressable(columns)) {
        match element {
            ElementType::F32 => row.extend((*number as f32).to_le_bytes()),
            ElementType::F64 => row.extend(number.to_le_bytes()),
            ElementType::Int(4) => row.extend((*number as i32).to_le_bytes()),
            ElementType::UInt(4) => row.extend((*number as u32).to_le_bytes()),
            _ => return None,
        }
    }
    Some(row)
}

impl Quantity {
    /// Returns where the elements in each frame are, if frames inherit.
    fn inherited(&self, counts: Option<&[u64]>) -> Vec<Option<Place>> {
        let first = self.places.first().and_then(Option::as_ref);
        let rows = first.map(|(_, sides)| sides.first().copied().unwrap_or(1)); // a single number is a row
        let of = |(at, place): (usize, &Option<(ObjectId, Vec<u64>)>)| match (place, counts) {
            (Some((id, sides)), _) => Some(Place::Stored(*id, sides.clone())),
            (None, None) => rows.map(|_| Place::First),
            (None, Some(counts)) => {
                let count = counts.get(at).copied().unwrap_or_default(); // there is one for each frame
                Some(if rows == Some(count) { Place::First } else { Place::Default(count) })
            }
        };
        self.places.iter().enumerate().map(of).collect()
    }
}

fn quantity(
    data: &Dataset,
    (path, found): (&str, Quantity),
    (copy, names): (&mut NetCdfCopy, &mut Names),
    known: &Known,
) -> Result<()> {
    let shown = format!("/frames/*/{path}");
    let Some(element) = found.element.clone() else {
        copy.lose(&shown, "has another type in each frame");
        return Ok(());
    };
    let stored: Vec<&(ObjectId, Vec<u64>)> = found.places.iter().flatten().collect();
    let Some(first) = found.places.iter().position(Option::is_some) else { return Ok(()) };
    let variable = match data.meaning(&format!("/frames/{first}/{path}"))? {
        Some(Meaning::Variable(variable)) => Some(*variable),
        _ => None,
    };
    let columns = stored.first().and_then(|(_, sides)| sides.get(1).copied());
    let default = default_of(path).and_then(|default| row_of(default, &element, columns.unwrap_or(1)));
    let counts = path.split_once('/').and_then(|(group, _)| known.counts.get(group)).map(Vec::as_slice);
    let places = match known.inherits {
        true => found.inherited(counts.filter(|_| default.is_some())),
        false => stored_only(&found.places),
    };
    let later = |place: &Option<Place>| *place == Some(Place::First);
    let alone = known.inherits && first == 0 && places.iter().skip(1).all(later);
    let texts = variable.as_ref().is_some_and(|variable| variable.decoding.joins_characters());
    if let (Some(variable), true) = (&variable, alone || texts) {
        if texts && !alone && stored.len() > 1 {
            copy.lose(&shown, "are texts that several frames store, of which the first ones are written");
        }
        // A single number has no dimension.
        let one = variable.shape() == [1] && !texts;
        let variable = if one { variable.clone().single() } else { variable.clone() };
        copy.variable(&format!("/{path}"), variable, names);
        return Ok(());
    }
    let rank = stored.first().map_or(0, |(_, shape)| shape.len());
    if stored.iter().any(|(_, shape)| shape.len() != rank) {
        copy.lose(&shown, "has another number of dimensions in some frames");
        return Ok(());
    }
    let Some(kind) = Kind::of(&element) else {
        copy.lose(&shown, format!("has elements of type {element}, which netCDF does not have"));
        return Ok(());
    };
    let file = Arc::clone(data.file());
    let default = default.unwrap_or_default();
    let mut frames = Frames { file, places, element, single: false, columns, default };
    frames.single = rank == 1 && frames.lengths(0).all(|length| length == 1);
    add(copy, names, (path, &shown, variable.as_ref()), (frames, rank, kind), known);
    Ok(())
}

/// Returns where elements are that are only in the frames that store them.
fn stored_only(places: &[Option<(ObjectId, Vec<u64>)>]) -> Vec<Option<Place>> {
    let of = |place: &Option<(ObjectId, Vec<u64>)>| {
        place.as_ref().map(|(id, sides)| Place::Stored(*id, sides.clone()))
    };
    places.iter().map(of).collect()
}

/// Adds the variable of a quantity along the frames.
fn add(
    copy: &mut NetCdfCopy,
    names: &mut Names,
    (path, shown, variable): (&str, &str, Option<&Variable>),
    (frames, rank, kind): (Frames, usize, Kind),
    known: &Known,
) {
    let mut dimensions = vec![known.frame.clone()];
    // The schema says that a frame without a step has the step 0, as elements have that are not put in.
    let mut missing = frames.places.contains(&None) && !(known.inherits && path == STEP);
    if !frames.single {
        for axis in 0..rank {
            let most = frames.lengths(axis).max().unwrap_or_default(); // a bound of the lengths
            missing |= frames.lengths(axis).any(|length| length != most);
            let name = variable.and_then(|variable| variable.dimensions.get(axis)?.name.clone());
            dimensions.push(names.side(shown, name.as_deref(), most, false));
        }
    }
    let fills = if missing { kind.fills() } else { Vec::new() };
    let fill = frames.unused(&fills);
    if fill.is_none() && !fills.is_empty() {
        return copy.lose(shown, "has all integers of its type, so that none is left for missing ones");
    }
    let mut attributes = Vec::new();
    describe(&frames.element, &mut attributes);
    if let Some(units) = variable.and_then(|variable| variable.units.clone()) {
        attributes.push(("units".into(), Told::Text(units)));
    }
    if known.stepped && path != STEP {
        attributes.push(("coordinates".into(), Told::Text(STEP.replace('/', "_"))));
    }
    let name = names.variable(&format!("/{path}"), "", &dimensions);
    let origin = Origin::Frames(frames);
    copy.variables.push(Planned { name, dimensions, kind, missing, fill, attributes, origin });
}

impl Frames {
    /// Returns the lengths of the elements of all frames along a dimension.
    fn lengths(&self, axis: usize) -> impl Iterator<Item = u64> {
        self.places.iter().flatten().filter_map(move |place| match place {
            Place::Stored(_, sides) => sides.get(axis).copied(),
            Place::Default(rows) if axis == 0 => Some(*rows),
            Place::Default(_) | Place::First => None,
        })
    }

    /// Returns the first of some integers that no element has, so that it can mean a missing one; `None` if none is left. What
    /// cannot be read is an error of writing.
    fn unused(&self, fills: &[i128]) -> Option<i128> {
        let mut left: HashSet<i128> = fills.iter().copied().collect();
        for place in self.places.iter().flatten().filter(|place| **place != Place::First) {
            if left.is_empty() {
                break;
            }
            let Ok((_, bytes)) = self.elements(place) else { continue };
            for integer in Decoder::new(&self.element, &bytes).filter_map(|datum| datum.ok()?.to_i128()) {
                left.remove(&integer);
            }
        }
        fills.iter().copied().find(|fill| left.contains(fill))
    }

    /// Returns the shape and the bytes of the elements at a place of their own.
    fn elements(&self, place: &Place) -> Result<(Vec<u64>, Vec<u8>)> {
        match place {
            Place::Stored(array, sides) => {
                let mut bytes = Vec::new();
                self.file.read(*array, &Slab::all(sides)?, &mut bytes)?;
                Ok((sides.clone(), bytes))
            }
            Place::Default(rows) => {
                let size = bound::product(*rows, self.default.len() as u64);
                self.file.limits().memory("bytes of default values", size)?;
                let sides = std::iter::once(*rows).chain(self.columns).collect();
                Ok((sides, self.default.repeat(bound::addressable(*rows))))
            }
            Place::First => Err(Error::internal("the elements of another frame have no place of their own")),
        }
    }

    /// Copies the elements of all frames.
    pub(super) fn fill(&self, file: &mut NetCdf, (id, kind, shape): (Dataset5, Kind, &[u64])) -> Result<()> {
        let is_shared = self.places.contains(&Some(Place::First));
        let first = match self.places.first() {
            Some(Some(first)) if is_shared => Some(self.elements(first)?),
            _ => None,
        };
        for (at, place) in self.places.iter().enumerate() {
            let own = match place {
                None => continue,
                Some(Place::First) => None,
                Some(place) => Some(self.elements(place)?),
            };
            let Some((sides, bytes)) = own.as_ref().or(first.as_ref()) else { continue };
            let mut ranges = vec![Range::new(at as u64, 1)];
            if !self.single {
                ranges.extend(sides.iter().map(|&side| Range::new(0, side)));
            }
            if sides.contains(&0) {
                continue;
            }
            kind.put(file, (id, &Slab::new(shape, ranges)?), (&self.element, bytes))?;
        }
        Ok(())
    }
}
