//! Selects parts of arrays by the names of dimensions and by coordinates: `time=0,lat=0:10`,
//! `time=2001-07-01,lat=52.5`.

use sciformats::{Error, Range, Result, Selection};
use sciformats_conventions::time::{Calendar, DateTime};
use sciformats_conventions::{Dataset, DecodeOptions, Variable};

use super::Thing;
use super::along::{self, Places};
use crate::look;

/// A coordinate that was chosen because it is nearest to the one that was asked for.
pub(crate) struct Chosen {
    name: String,
    place: String,
    units: Option<String>,
    index: usize,
    length: u64,
}

impl Chosen {
    /// Describes it in a line.
    pub(crate) fn told(&self) -> String {
        let Self { name, place, index, .. } = self;
        let units = self.units.as_ref().map(|units| format!(" {units}")).unwrap_or_default();
        format!("{name} = {place}{units}, index {index} of {}", look::grouped(self.length))
    }

    /// Names it as briefly as in a command line.
    pub(crate) fn brief(&self) -> String {
        format!("{}={}", self.name, self.place)
    }
}

/// Returns the part that a slice and coordinates name, a description of the chosen coordinates, and a note for each dimension behind
/// whose end the slice begins.
///
/// # Errors
///
/// [`Error::Usage`] if a dimension does not exist, or has no coordinates.
pub(crate) fn selection(
    thing: &Thing,
    slice: Option<&str>,
    at: Option<&str>,
) -> Result<(Selection, Vec<String>)> {
    let (selection, chosen) = chosen(thing, slice, at)?;
    let beyond = slice.map(|slice| beyond(thing, slice)).transpose()?.unwrap_or_default();
    Ok((selection, chosen.iter().map(Chosen::told).chain(beyond).collect()))
}

/// Describes the dimensions of which a slice takes nothing, because it begins behind their end. As in NumPy, that is no error.
fn beyond(thing: &Thing, slice: &str) -> Result<Vec<String>> {
    let array = thing.array()?;
    let shape = array.info().shape.as_deref().unwrap_or_default();
    let begins_behind = |part: &str, length: u64| {
        let start = part.split_once(':').and_then(|(start, _)| start.trim().parse::<u64>().ok());
        start.is_some_and(|start| length > 0 && start >= length)
    };
    let mut notes = Vec::new();
    if let Some(variable) = thing.variable().filter(|_| slice.contains('=')) {
        for (name, part) in pairs("slice", slice)? {
            let length = axis(variable, name).and_then(|axis| shape.get(axis)).copied().unwrap_or_default();
            if begins_behind(part, length) {
                let elements = look::count(length, "element");
                notes.push(format!("{name} has {elements}; --slice takes indices, and --at coordinates"));
            }
        }
        return Ok(notes);
    }
    let parts = slice.trim().trim_start_matches('[').trim_end_matches(']').split(',');
    for (number, (part, &length)) in parts.take_while(|part| part.trim() != "...").zip(shape).enumerate() {
        if begins_behind(part, length) {
            notes.push(format!("dimension {number} has {}", look::count(length, "element")));
        }
    }
    Ok(notes)
}

/// As [`selection`], with the chosen coordinates themselves.
pub(crate) fn chosen(
    thing: &Thing,
    slice: Option<&str>,
    at: Option<&str>,
) -> Result<(Selection, Vec<Chosen>)> {
    let array = thing.array()?;
    let shape = array
        .info()
        .shape
        .as_deref()
        .ok_or_else(|| Error::usage("array", "has a null dataspace and no elements"))?;
    let by_name = slice.is_some_and(|slice| slice.contains('='));
    let (slice, at) = match (slice, at) {
        (None, None) => return Ok((Selection::all(shape)?, Vec::new())),
        (Some(slice), None) if !by_name => return Ok((Selection::parse(slice, shape)?, Vec::new())),
        (Some(_), Some(_)) if !by_name => {
            return Err(Error::usage(
                "slice",
                "must name dimensions if --at is given too, as in time=0,lat=0:10",
            ));
        }
        (slice, at) => (slice.unwrap_or_default(), at.unwrap_or_default()),
    };
    let variable = thing.variable().filter(|variable| variable.has_names());
    let variable = variable.ok_or_else(|| {
        Error::usage("slice", format!("names dimensions, but those of {} have no names", thing.path()))
    })?;
    let mut parts: Vec<Option<String>> = vec![None; shape.len()];
    for (name, part) in pairs("slice", slice)? {
        *place(&mut parts, variable, ("slice", name))? = Some(part.to_owned());
    }
    let mut chosen = Vec::new();
    for (name, wanted) in pairs("at", at)? {
        let free = place(&mut parts, variable, ("at", name))?;
        let axis = axis(variable, name).unwrap_or_default();
        let (index, found) = nearest(thing.data(), (variable, axis), wanted)?;
        let length = shape.get(axis).copied().unwrap_or_default();
        let (place, units) = found;
        chosen.push(Chosen { name: name.to_owned(), place, units, index, length });
        *free = Some(index.to_string());
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.as_deref().unwrap_or(":")).collect();
    Ok((Selection::parse(&parts.join(","), shape)?, chosen))
}

/// Splits `name=value` pairs that are separated by commas.
fn pairs<'a>(argument: &'static str, text: &'a str) -> Result<Vec<(&'a str, &'a str)>> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &'a str| match part.split_once('=') {
        Some((name, value)) => Ok((name.trim(), value.trim())),
        None => Err(Error::usage(
            argument,
            format!("has {part:?} where a dimension, =, and a value are expected"),
        )),
    };
    parts.map(pair).collect()
}

fn axis(variable: &Variable, name: &str) -> Option<usize> {
    variable.dimensions.iter().position(|dimension| dimension.name.as_deref() == Some(name))
}

/// Returns the position of a dimension that was not mentioned before.
fn place<'a>(
    parts: &'a mut [Option<String>],
    variable: &Variable,
    (argument, name): (&'static str, &str),
) -> Result<&'a mut Option<String>> {
    let found = axis(variable, name).and_then(|axis| parts.get_mut(axis));
    let place = found.ok_or_else(|| {
        let names: Vec<&str> = variable.dimensions.iter().filter_map(|one| one.name.as_deref()).collect();
        Error::usage(
            argument,
            format!(
                "names the dimension {name}, which does not exist; the dimensions are {}",
                names.join(", ")
            ),
        )
    })?;
    if place.is_some() {
        return Err(Error::usage(argument, format!("names the dimension {name} twice")));
    }
    Ok(place)
}

/// Returns the index whose coordinate is nearest to the wanted one, that coordinate, and its units.
fn nearest(
    data: &Dataset,
    (variable, axis): (&Variable, usize),
    wanted: &str,
) -> Result<(usize, (String, Option<String>))> {
    let problem = |text: String| Error::usage("at", text);
    let dimension = variable.dimensions.get(axis);
    let name = dimension.and_then(|dimension| dimension.name.clone()).unwrap_or_default();
    let length = dimension.map_or(0, |dimension| dimension.length);
    // Coordinates are always decoded, whatever values are shown.
    let data = data.clone().with_options(DecodeOptions::default());
    let along = along::along(&data, variable, axis, Range::all(length))?;
    let along = along.ok_or_else(|| {
        problem(format!("names {name}, which has no coordinates; choose an index with --slice"))
    })?;
    let none = || problem(format!("names {name}, which has no coordinates in this part"));
    let no_number = || problem(format!("has {wanted:?} for {name}, whose coordinates are numbers"));
    let units = along.units.clone();
    match &along.places {
        Places::Numbers(numbers) => {
            let wanted =
                wanted.parse().ok().filter(|wanted: &f64| wanted.is_finite()).ok_or_else(no_number)?;
            let east =
                along.units.as_deref().is_some_and(|units| units.to_ascii_lowercase().contains("east"));
            let apart = |number: &f64| {
                let apart = (number - wanted).abs();
                // Longitudes are periodic.
                if east { (apart % 360.0).min(360.0 - apart % 360.0) } else { apart }
            };
            let known = numbers.iter().enumerate().filter(|(_, number)| !number.is_nan());
            let (index, number) = known.min_by(|a, b| apart(a.1).total_cmp(&apart(b.1))).ok_or_else(none)?;
            // The middle of the cell that contains a number need not be the nearest one.
            let Some(cells) = &along.cells else { return Ok((index, (number.to_string(), units))) };
            let inside = |(a, b): &(f64, f64)| (a.min(*b)..a.max(*b)).contains(&wanted);
            let index = cells.iter().position(inside).unwrap_or(index);
            let (low, high) = cells.get(index).copied().unwrap_or_default();
            Ok((index, (format!("{low} … {high}"), units)))
        }
        Places::Integers(integers) => {
            let exact = wanted.parse::<i128>().ok();
            // A number with digits after the point, or in powers of ten, is between integers or is one of them.
            let number = || wanted.parse::<f64>().ok().filter(|number| number.is_finite());
            let wanted = exact.or_else(|| Some(number()?.round() as i128)).ok_or_else(no_number)?;
            let known = integers.iter().enumerate();
            let (index, integer) =
                known.min_by_key(|(_, integer)| integer.abs_diff(wanted)).ok_or_else(none)?;
            Ok((index, (integer.to_string(), units)))
        }
        Places::Times(times, calendar) => {
            let moment = moment(wanted, *calendar).ok_or_else(|| {
                problem(format!("has {wanted:?} for {name}, whose coordinates are dates such as 2001-07-01"))
            })?;
            let wanted = moment.nanoseconds(*calendar);
            let apart = |time: &DateTime| time.nanoseconds(*calendar).abs_diff(wanted);
            let known = times.iter().enumerate().filter_map(|(index, time)| Some((index, (*time)?)));
            let (index, time) = known.min_by_key(|(_, time)| apart(time)).ok_or_else(none)?;
            Ok((index, (time.to_string(), None)))
        }
        Places::Texts(texts) => {
            let found = texts.iter().position(|text| text.as_deref() == Some(wanted));
            let index = found
                .ok_or_else(|| problem(format!("has {wanted:?}, which is not a coordinate of {name}")))?;
            Ok((index, (wanted.to_owned(), None)))
        }
    }
}

/// Parses a date, or a year or a month, which mean their first day.
fn moment(text: &str, calendar: Calendar) -> Option<DateTime> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = match digits.matches('-').count() {
        0 => format!("{text}-01-01"),
        1 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    DateTime::parse(&whole, calendar)
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use super::*;
    use crate::meaning::View;

    #[test]
    fn names_are_needed_and_known() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let u = memory.array(root, "u", array::<f32>(&[2, 3], &[0.0; 6]));
        memory.attribute(u, "DIMENSION_LABELS", texts(&[2], &["t", "x"]));
        memory.array(root, "plain", array::<f32>(&[2, 3], &[0.0; 6]));
        let data = Dataset::new(File::from(memory));
        let of = |path: &str, slice: Option<&str>, at: Option<&str>| {
            let thing = Thing::find(&data, path, View::Values).unwrap();
            selection(&thing, slice, at)
                .map(|(selection, _)| selection.shape())
                .map_err(|error| error.to_string())
        };
        assert_eq!(of("/u", Some("x=1:"), None).unwrap(), [2, 2]);
        assert_eq!(of("/u", Some("x=0, t=-1"), None).unwrap(), [0u64; 0]);
        assert_eq!(of("/u", Some("1"), None).unwrap(), [3]);
        for (path, slice, at, problem) in [
            ("/u", Some("y=1"), None, "names the dimension y, which does not exist; the dimensions are t, x"),
            ("/u", Some("x=1,x=2"), None, "names the dimension x twice"),
            ("/u", Some("x=1,2"), None, "has \"2\" where a dimension"),
            ("/u", Some("x=7"), None, "takes index 7 of dimension 1"),
            ("/u", None, Some("t=1"), "no coordinates; choose an index with --slice"),
            ("/u", Some("1"), Some("t=1"), "must name dimensions if --at is given too"),
            ("/plain", Some("x=1"), None, "have no names"),
        ] {
            let error = of(path, slice, at).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_slice_that_begins_behind_the_end_is_noted() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let u = memory.array(root, "u", array::<f32>(&[2, 3], &[0.0; 6]));
        memory.attribute(u, "DIMENSION_LABELS", texts(&[2], &["t", "lat"]));
        let data = Dataset::new(File::from(memory));
        let thing = Thing::find(&data, "/u", View::Values).unwrap();
        let noted = |slice: &str| selection(&thing, Some(slice), None).unwrap().1;
        let named = "lat has 3 elements; --slice takes indices, and --at coordinates";
        for (slice, expected) in [
            ("t=0,lat=40:60", &[named][..]),
            ("lat=3:", &[named]),
            ("lat=2:60", &[]),
            ("lat=1:1", &[]),
            ("lat=-9:", &[]),
            ("[0, 40:60]", &["dimension 1 has 3 elements"]),
            ("2:", &["dimension 0 has 2 elements"]),
            ("..., 0:0", &[]),
        ] {
            assert_eq!(noted(slice), expected, "{slice}");
        }
    }

    #[test]
    fn years_and_months_are_dates() {
        for (text, expected) in [
            ("2001", Some("2001-01-01T00:00:00")),
            ("2001-07", Some("2001-07-01T00:00:00")),
            ("2001-07-04T12", Some("2001-07-04T12:00:00")),
            ("-5", Some("-0005-01-01T00:00:00")),
            ("soon", None),
        ] {
            let shown = moment(text, Calendar::Standard).map(|moment| moment.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }
}
