//! What the numbers of an array are called: by attributes that stand for that by convention, and by scales of its
//! dimensions.
//!
//! | found | means |
//! |---|---|
//! | attributes `long_name`, `standard_name`, `units` | the name of the values and their unit |
//! | HDF5's `DIMENSION_LIST`, `DIMENSION_LABELS` | arrays with the coordinates of each dimension, and its name |
//! | a scalar `unit` beside an array named `value`, in ASDF | the unit of a quantity |

use sciformats::{Array, AttributeValue, Datum, Decoder, File, Object, SelectedAxis, Slab, Value};

/// Coordinates of more indices than these are not read: the indices stand for them.
const COORDINATES: u64 = 4 << 20;

/// The first text in an attribute of an object.
fn text(file: &File, id: sciformats::ObjectId, name: &str) -> Option<String> {
    let value = attribute(file, id, name)?;
    let bytes = value.data.ok()?;
    match Decoder::new(&value.element, &bytes).next()?.ok()? {
        Datum::Text(text) if !text.is_empty() => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

fn attribute(file: &File, id: sciformats::ObjectId, name: &str) -> Option<AttributeValue> {
    let mut attributes = file.source().attributes(id).ok()?;
    let found =
        attributes.find_map(|attribute| attribute.ok().filter(|one| one.name.as_bytes() == name.as_bytes()));
    found?.value.ok()
}

/// The name and unit of the values of an array.
pub(crate) fn of_values(file: &File, path: &str, array: &Array<'_>) -> String {
    let id = array.id();
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    let name = text(file, id, "long_name").or_else(|| text(file, id, "standard_name"));
    let unit = text(file, id, "units").or_else(|| text(file, id, "unit")).or_else(|| {
        match file.object(&format!("{parent}/unit")) {
            Ok(Object::Value(Value::Text(unit))) if last == "value" => Some(unit),
            _ => None,
        }
    });
    let last = if last == "value" { parent.rsplit('/').next().unwrap_or(last) } else { last };
    with_unit(name.unwrap_or_else(|| last.to_owned()), unit)
}

fn with_unit(name: String, unit: Option<String>) -> String {
    match unit {
        Some(unit) if name.is_empty() => unit,
        Some(unit) => format!("{name} ({unit})"),
        None => name,
    }
}

/// A dimension of a selection: its name, and the coordinates of its indices if there are any.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dimension {
    pub(crate) label: String,
    pub(crate) coordinates: Option<Vec<f64>>,
}

/// What is known of a dimension of an array.
pub(crate) fn of_dimension(file: &File, array: &Array<'_>, axis: &SelectedAxis) -> Dimension {
    let named = label(file, array, axis.dimension);
    let path = scale(file, array, axis.dimension);
    let Some((path, scale)) = path.as_deref().and_then(|path| Some((path, file.array(path).ok()?))) else {
        return Dimension { label: named.unwrap_or_default(), coordinates: None };
    };
    let coordinates = coordinates(&scale, axis);
    let label = match (named, &coordinates) {
        (Some(name), None) => name,
        (None, None) => path.rsplit('/').next().unwrap_or_default().to_owned(),
        (name, Some(_)) => {
            let unit = text(file, scale.id(), "units");
            name.map_or_else(|| of_values(file, path, &scale), |name| with_unit(name, unit))
        }
    };
    Dimension { label, coordinates }
}

fn label(file: &File, array: &Array<'_>, dimension: usize) -> Option<String> {
    let value = attribute(file, array.id(), "DIMENSION_LABELS")?;
    let bytes = value.data.ok()?;
    match Decoder::new(&value.element, &bytes).nth(dimension)?.ok()? {
        Datum::Text(text) if !text.is_empty() => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// The path of the array that has the coordinates of a dimension.
fn scale(file: &File, array: &Array<'_>, dimension: usize) -> Option<String> {
    let value = attribute(file, array.id(), "DIMENSION_LIST")?;
    let bytes = value.data.ok()?;
    match Decoder::new(&value.element, &bytes).nth(dimension)?.ok()? {
        Datum::List(scales) => match scales.first()? {
            Datum::Text(path) => String::from_utf8(path.to_vec()).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Coordinates that rise or fall all the way; others say nothing of a place along an axis.
fn coordinates(scale: &Array<'_>, axis: &SelectedAxis) -> Option<Vec<f64>> {
    let &[length] = scale.shape()? else { return None };
    if axis.count > COORDINATES || axis.count == 0 {
        return None;
    }
    let step = axis.step.unsigned_abs().max(1);
    let across = (axis.count - 1).checked_mul(step)?;
    let start = if axis.step < 0 { axis.first.checked_sub(across)? } else { axis.first };
    let range = sciformats::Range::new(start, axis.count).by(step);
    let bytes = scale.bytes(&Slab::new(&[length], [range]).ok()?).ok()?;
    let mut values = Vec::new();
    super::Numbers::new(scale.element(), None).ok()?.append(&bytes, &mut values).ok()?;
    if axis.step < 0 {
        values.reverse();
    }
    let rises = values.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let falls = values.windows(2).all(|pair| matches!(pair, [a, b] if a > b));
    ((rises || falls) && values.iter().all(|value| value.is_finite())).then_some(values)
}

impl Dimension {
    /// The coordinate of an index of the selection, or that index of the array.
    pub(crate) fn at(&self, axis: &SelectedAxis, index: u64) -> f64 {
        let known = self.coordinates.as_ref().and_then(|values| values.get(usize::try_from(index).ok()?));
        known.copied().unwrap_or(axis.first as f64 + axis.step as f64 * index as f64)
    }

    /// The coordinates, if they are evenly spread; an image has no others.
    pub(crate) fn evenly(mut self) -> Self {
        if let Some(values) = &self.coordinates
            && let (Some(first), Some(last)) = (values.first(), values.last())
        {
            let step = (last - first) / (values.len().max(2) - 1) as f64;
            let even =
                |(i, value): (usize, &f64)| (value - (first + step * i as f64)).abs() <= step.abs() * 1e-3;
            if !values.iter().enumerate().all(even) {
                self.coordinates = None;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use sciformats::Format;
    use sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats::{ArrayInfo, ElementType, Selection};

    use super::*;

    fn list(paths: &[&str]) -> MemoryArray {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend(1u64.to_le_bytes());
            bytes.extend((path.len() as u64).to_le_bytes());
            bytes.extend(path.as_bytes());
        }
        let element = ElementType::Vlen(Box::new(ElementType::Reference));
        MemoryArray { info: ArrayInfo::new(element, [paths.len() as u64]), bytes }
    }

    fn sample() -> File {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let u = memory.array(root, "u", array::<f32>(&[3, 4], &[0.0; 12]));
        memory.attribute(u, "units", texts(&[], &["m/s"]));
        memory.attribute(u, "long_name", texts(&[], &["speed"]));
        memory.attribute(u, "DIMENSION_LIST", list(&["/t", "/x"]));
        let t = memory.array(root, "t", array::<f64>(&[3], &[0.0, 0.5, 2.0]));
        memory.attribute(t, "units", texts(&[], &["s"]));
        memory.array(root, "x", array::<i32>(&[4], &[1, 3, 2, 4]));
        let flux = memory.group(root, "flux");
        memory.array(flux, "value", array::<f32>(&[1], &[1.0]));
        memory.value(flux, "unit", "Jy");
        File::from(memory)
    }

    #[test]
    fn names_units_and_coordinates() {
        let file = sample();
        let u = file.array("/u").unwrap();
        assert_eq!(of_values(&file, "/u", &u), "speed (m/s)");
        assert_eq!(of_values(&file, "/flux/value", &file.array("/flux/value").unwrap()), "flux (Jy)");
        let axes = Selection::parse("::-2", &[3, 4]).unwrap().axes();
        let t = of_dimension(&file, &u, &axes[0]);
        assert_eq!(t, Dimension { label: "t (s)".into(), coordinates: Some(vec![2.0, 0.0]) });
        assert_eq!((t.at(&axes[0], 1), t.evenly().coordinates.is_some()), (0.0, true));
        // What goes up and down is no coordinate.
        let x = of_dimension(&file, &u, &axes[1]);
        assert_eq!(x, Dimension { label: "x".into(), coordinates: None });
        assert_eq!(x.at(&axes[1], 3), 3.0);
        let all = Selection::all(&[3, 4]).unwrap().axes();
        assert_eq!(of_dimension(&file, &u, &all[0]).evenly().coordinates, None);
    }
}
