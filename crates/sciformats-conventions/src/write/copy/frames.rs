//! What a GSD file stores in each frame, as variables along the dimension `frame`.
//!
//! In the schema of HOOMD, what a frame does not store is as it was in frame 0. What only frame 0 stores is therefore the same
//! in all frames, and has no such dimension.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::hdf5_pure::ObjectId as Dataset5;
use sciformats::walk::{Found, breadth_first};
use sciformats::{ElementType, File, Object, ObjectId, Range, Result, Slab};

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
    /// The place and the shape in each frame.
    places: Vec<Option<(ObjectId, Vec<u64>)>>,
    element: ElementType,
    /// Whether a dimension of length 1 is left out.
    single: bool,
    /// Whether a frame without the quantity has that of frame 0.
    inherits: bool,
}

/// A quantity that is being collected.
struct Quantity {
    element: Option<ElementType>,
    places: Vec<Option<(ObjectId, Vec<u64>)>>,
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
        return Err(sciformats::Error::unsupported(format!("writing {count} frames into one netCDF file")));
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
    for (path, one) in found {
        quantity(data, (&path, one), (copy, names), (&frame, inherits, stepped))?;
    }
    Ok(())
}

fn quantity(
    data: &Dataset,
    (path, found): (&str, Quantity),
    (copy, names): (&mut NetCdfCopy, &mut Names),
    (frame, inherits, stepped): (&Side, bool, bool),
) -> Result<()> {
    let shown = format!("/frames/*/{path}");
    let Some(element) = found.element else {
        copy.lose(&shown, "has another type in each frame");
        return Ok(());
    };
    let stored: Vec<&(ObjectId, Vec<u64>)> = found.places.iter().flatten().collect();
    let Some(first) = found.places.iter().position(Option::is_some) else { return Ok(()) };
    let variable = match data.meaning(&format!("/frames/{first}/{path}"))? {
        Some(Meaning::Variable(variable)) => Some(*variable),
        _ => None,
    };
    let alone = inherits && stored.len() == 1 && first == 0;
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
    let single = rank == 1 && stored.iter().all(|(_, shape)| *shape == [1]);
    let mut dimensions = vec![frame.clone()];
    let mut missing = !inherits && stored.len() < found.places.len();
    missing |= inherits && found.places.first().is_some_and(Option::is_none);
    // The schema says that a frame without a step has the step 0, as elements have that are not put in.
    missing &= !(inherits && path == STEP);
    if !single {
        for axis in 0..rank {
            let lengths = || stored.iter().filter_map(|(_, shape)| shape.get(axis).copied());
            let most = lengths().max().unwrap_or_default(); // a bound of the lengths
            missing |= lengths().any(|length| length != most);
            let name =
                variable.as_ref().and_then(|variable: &Variable| variable.dimensions.get(axis)?.name.clone());
            dimensions.push(names.side(&shown, name.as_deref(), most, false));
        }
    }
    let mut attributes = Vec::new();
    describe(&element, &mut attributes);
    if let Some(units) = variable.as_ref().and_then(|variable| variable.units.clone()) {
        attributes.push(("units".into(), Told::Text(units)));
    }
    if stepped && path != STEP {
        attributes.push(("coordinates".into(), Told::Text(STEP.replace('/', "_"))));
    }
    let name = names.variable(&format!("/{path}"), "", &dimensions);
    let places = found.places;
    let frames = Frames { file: Arc::clone(data.file()), places, element, single, inherits };
    let origin = Origin::Frames(frames);
    copy.variables.push(Planned { name, dimensions, kind, missing, attributes, origin });
    Ok(())
}

impl Frames {
    /// Copies the elements of all frames.
    pub(super) fn fill(&self, file: &mut NetCdf, (id, kind, shape): (Dataset5, Kind, &[u64])) -> Result<()> {
        let default = self.places.first().and_then(Option::as_ref).filter(|_| self.inherits);
        let mut held: Option<(ObjectId, Vec<u8>)> = None;
        for (at, place) in self.places.iter().enumerate() {
            let Some((array, sides)) = place.as_ref().or(default) else { continue };
            let known = held.as_ref().filter(|(held, _)| held == array).map(|(_, bytes)| bytes.clone());
            let bytes = match known {
                Some(bytes) => bytes,
                None => {
                    let mut bytes = Vec::new();
                    self.file.read(*array, &Slab::all(sides)?, &mut bytes)?;
                    if default.is_some_and(|(default, _)| default == array) {
                        held = Some((*array, bytes.clone()));
                    }
                    bytes
                }
            };
            let mut ranges = vec![Range::new(at as u64, 1)];
            if !self.single {
                ranges.extend(sides.iter().map(|&side| Range::new(0, side)));
            }
            if sides.contains(&0) {
                continue;
            }
            kind.put(file, (id, &Slab::new(shape, ranges)?), (&self.element, &bytes))?;
        }
        Ok(())
    }
}
