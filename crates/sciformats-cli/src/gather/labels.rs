//! What the numbers of an array are called according to its convention: names, units, and coordinates along
//! its dimensions.

use sciformats::{Object, Range, SelectedAxis, Value};
use sciformats_conventions::time::{Calendar, DateTime};

use crate::figure::dates;
use crate::meaning::Thing;
use crate::meaning::along::{self, Places};

/// The largest distance, in steps, between coordinates of an image and evenly spaced ones; nobody can see
/// less.
const UNEVEN: f64 = 0.25;

/// Returns the name and the unit of the values of an array.
pub(crate) fn of_values(thing: &Thing) -> String {
    let (parent, last) = thing.path().rsplit_once('/').unwrap_or(("", thing.path()));
    let variable = thing.variable();
    let name =
        variable.and_then(|variable| variable.long_name.clone().or_else(|| variable.standard_name.clone()));
    let units = variable.and_then(|variable| variable.units.clone());
    // In ASDF, the unit of a quantity is stored beside its value.
    let units = units.or_else(|| match thing.file().object(&format!("{parent}/unit")) {
        Ok(Object::Value(Value::Text(unit))) if last == "value" => Some(unit),
        _ => None,
    });
    let last = if last == "value" { parent.rsplit('/').next().unwrap_or(last) } else { last };
    with_unit(name.unwrap_or_else(|| last.to_owned()), units)
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
    /// The calendar, if the coordinates are seconds since the start of 1970.
    pub(crate) dates: Option<Calendar>,
    /// Whether the dimension points north, or upwards on a map.
    pub(crate) north: bool,
}

/// Returns what is known about a dimension of an array.
pub(crate) fn of_dimension(thing: &Thing, axis: &SelectedAxis) -> Dimension {
    let Some(variable) = thing.variable() else { return Dimension::default() };
    let name = variable.dimensions.get(axis.dimension).and_then(|dimension| dimension.name.clone());
    let unknown = Dimension { label: name.unwrap_or_default(), ..Dimension::default() };
    let Some(range) = range(axis) else { return unknown };
    let Ok(Some(along)) = along::along(thing.data(), variable, axis.dimension, range) else { return unknown };
    let (mut values, dates) = match along.places {
        Places::Numbers(numbers) => (numbers, None),
        Places::Integers(integers) => (integers.into_iter().map(|integer| integer as f64).collect(), None),
        Places::Times(times, calendar) => {
            let seconds = |time: DateTime| time.nanoseconds(calendar) as f64 / 1e9;
            (times.into_iter().map(|time| time.map_or(f64::NAN, seconds)).collect(), Some(calendar))
        }
        Places::Texts(_) => return unknown,
    };
    if axis.step < 0 {
        values.reverse();
    }
    // Coordinates are only useful along an axis if they rise or fall throughout.
    let rises = values.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let falls = values.windows(2).all(|pair| matches!(pair, [a, b] if a > b));
    if !(rises || falls) || !values.iter().all(|value| value.is_finite()) {
        return unknown;
    }
    let label = with_unit(along.label, along.units);
    Dimension { label, coordinates: Some(values), dates, north: along.north }
}

/// Returns the indices of a selected dimension in ascending order.
fn range(axis: &SelectedAxis) -> Option<Range> {
    let step = axis.step.unsigned_abs().max(1);
    let across = axis.count.checked_sub(1)?.checked_mul(step)?;
    let start = if axis.step < 0 { axis.first.checked_sub(across)? } else { axis.first };
    Some(Range::new(start, axis.count).by(if axis.count == 1 { 1 } else { step }))
}

impl Dimension {
    /// Returns the coordinate of an index of the selection, or the index in the array if there are no
    /// coordinates.
    pub(crate) fn at(&self, axis: &SelectedAxis, index: u64) -> f64 {
        let known = self.coordinates.as_ref().and_then(|values| values.get(usize::try_from(index).ok()?));
        known.copied().unwrap_or(axis.first as f64 + axis.step as f64 * index as f64)
    }

    /// As [`at`](Self::at), formatted for people.
    pub(crate) fn shown(&self, axis: &SelectedAxis, index: u64) -> String {
        let at = self.at(axis, index);
        self.dates.and_then(|calendar| dates::shown(calendar, at)).unwrap_or_else(|| at.to_string())
    }

    /// Keeps the coordinates only if they are evenly spaced, as an image needs.
    pub(crate) fn evenly(mut self) -> Self {
        if let Some(values) = &self.coordinates
            && let (Some(first), Some(last)) = (values.first(), values.last())
        {
            let step = (last - first) / (values.len().max(2) - 1) as f64;
            let even =
                |(i, value): (usize, &f64)| (value - (first + step * i as f64)).abs() <= step.abs() * UNEVEN;
            if !values.iter().enumerate().all(even) {
                (self.coordinates, self.dates) = (None, None);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats::{ArrayInfo, ElementType, File, Format, Selection};
    use sciformats_conventions::Dataset;

    use super::*;
    use crate::meaning::View;

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

    fn scale(memory: &mut Memory, name: &str, array: MemoryArray, units: &str) {
        let array = memory.array(memory.root(), name, array);
        memory.attribute(array, "CLASS", texts(&[], &["DIMENSION_SCALE"]));
        memory.attribute(array, "NAME", texts(&[], &[name]));
        memory.attribute(array, "units", texts(&[], &[units]));
    }

    fn sample() -> File {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let u = memory.array(root, "u", array::<f32>(&[3, 4], &[0.0; 12]));
        memory.attribute(u, "units", texts(&[], &["m/s"]));
        memory.attribute(u, "long_name", texts(&[], &["speed"]));
        memory.attribute(u, "DIMENSION_LIST", list(&["/t", "/x"]));
        scale(&mut memory, "t", array::<f64>(&[3], &[0.0, 0.5, 2.0]), "s");
        scale(&mut memory, "x", array::<i32>(&[4], &[1, 3, 2, 4]), "");
        memory.attribute(u, "DIMENSION_LABELS", texts(&[2], &["t", "x"]));
        let v = memory.array(root, "v", array::<f32>(&[2, 2], &[0.0; 4]));
        memory.attribute(v, "DIMENSION_LABELS", texts(&[2], &["day", "lat"]));
        scale(&mut memory, "day", array::<i32>(&[2], &[1, 2]), "days since 1970-01-01");
        scale(&mut memory, "lat", array::<i32>(&[2], &[50, 40]), "degrees_north");
        memory.attribute(v, "DIMENSION_LIST", list(&["/day", "/lat"]));
        let flux = memory.group(root, "flux");
        memory.array(flux, "value", array::<f32>(&[1], &[1.0]));
        memory.value(flux, "unit", "Jy");
        File::from(memory)
    }

    #[test]
    fn names_units_and_coordinates() {
        let data = Dataset::new(sample());
        let find = |path: &str| Thing::find(&data, path, View::Values).unwrap();
        let u = find("/u");
        assert_eq!(of_values(&u), "speed (m/s)");
        assert_eq!(of_values(&find("/flux/value")), "flux (Jy)");
        let axes = Selection::parse("::-2", &[3, 4]).unwrap().axes();
        let t = of_dimension(&u, &axes[0]);
        assert_eq!((t.label.as_str(), t.coordinates.as_deref()), ("t (s)", Some(&[2.0, 0.0][..])));
        assert_eq!((t.at(&axes[0], 1), t.evenly().coordinates.is_some()), (0.0, true));
        // What goes up and down is no coordinate.
        let x = of_dimension(&u, &axes[1]);
        assert_eq!(x, Dimension { label: "x".into(), ..Dimension::default() });
        assert_eq!(x.at(&axes[1], 3), 3.0);
        let all = Selection::all(&[3, 4]).unwrap().axes();
        assert_eq!(of_dimension(&u, &all[0]).evenly().coordinates, None);
    }

    #[test]
    fn dates_and_the_north() {
        let data = Dataset::new(sample());
        let v = Thing::find(&data, "/v", View::Values).unwrap();
        let axes = Selection::all(&[2, 2]).unwrap().axes();
        let day = of_dimension(&v, &axes[0]);
        assert_eq!((day.coordinates, day.dates), (Some(vec![86_400.0, 172_800.0]), Some(Calendar::Standard)));
        assert_eq!(day.label, "day");
        assert!(of_dimension(&v, &axes[1]).north);
    }
}
