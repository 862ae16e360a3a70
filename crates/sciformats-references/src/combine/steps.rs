//! The coordinate of the dimension from the names of files.

use std::collections::{BTreeMap, BTreeSet};

use sciformats::{Error, Result};
use sciformats_conventions::time::{Calendar, DateTime, TimeUnits};
use serde_json::{Map, Value};

use super::files::Collected;
use super::inlined::one_chunk;
use super::units;
use super::{axis, is_coordinate};
use crate::chunks::{Chunks, Place};
use crate::model::VirtualArray;

/// The attributes by which an array names others that describe it.
const DESCRIBING: [&str; 5] = ["bounds", "climatology", "coordinates", "grid_mapping", "cell_measures"];

/// How the names of files are written, with the parts that tell a date or a number.
///
/// | part | what it stands for |
/// |---|---|
/// | `%Y`, `%m`, `%d` | the year of 4 digits, the month and the day of 2 digits |
/// | `%j` | the day of the year, of 3 digits |
/// | `%H`, `%M`, `%S` | the hour, the minute and the second, of 2 digits each |
/// | `%n` | a number, with a sign and decimals if it has them |
/// | `*` | any text |
/// | `%%` | a percent sign |
///
/// ```
/// use sciformats_references::NamePattern;
///
/// let pattern = NamePattern::parse("tas_%Y%m%d*.nc")?;
/// let steps = pattern.steps(["tas_20260101_v1.nc", "data/tas_20260102.nc"])?;
/// assert_eq!(steps.values, [20454.0, 20455.0]);
/// assert_eq!(steps.units.as_deref(), Some("days since 1970-01-01"));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NamePattern {
    parts: Vec<Part>,
    text: String,
}

/// The coordinate of each file: one number a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The numbers in the order of the files.
    pub values: Vec<f64>,
    /// The units, if the numbers are dates: days or seconds since 1970 in the standard calendar.
    pub units: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(char),
    Any,
    /// A field of a date, with the number of its digits.
    Field(char, usize),
    Number,
}

impl NamePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// `Usage` if it has no part that tells something, an unknown part, a part twice, or a part that others exclude.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |problem: String| Error::usage("pattern", problem);
        let mut parts = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            parts.push(match letter {
                '*' => Part::Any,
                '%' => match letters.next() {
                    Some('%') => Part::Text('%'),
                    Some('n') => Part::Number,
                    Some('Y') => Part::Field('Y', 4),
                    Some('j') => Part::Field('j', 3),
                    Some(letter @ ('m' | 'd' | 'H' | 'M' | 'S')) => Part::Field(letter, 2),
                    other => {
                        let part = other.map(String::from).unwrap_or_default();
                        return Err(wrong(format!(
                            "`{text}` has an unknown part %{part}; %Y %m %d %j %H %M %S %n are known"
                        )));
                    }
                },
                letter => Part::Text(letter),
            });
        }
        let fields: Vec<char> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Field(letter, _) => Some(*letter),
                Part::Number => Some('n'),
                _ => None,
            })
            .collect();
        let has = |letter: char| fields.contains(&letter);
        if fields.iter().collect::<BTreeSet<_>>().len() != fields.len() {
            return Err(wrong(format!("`{text}` has a part twice")));
        }
        if fields.is_empty() {
            return Err(wrong(format!(
                "`{text}` has no part that tells a date or a number, such as %Y or %n"
            )));
        }
        if has('n') && fields.len() > 1 {
            return Err(wrong(format!("`{text}` tells both a number and a date")));
        }
        if !has('n') && !has('Y') {
            return Err(wrong(format!("`{text}` has no year, %Y")));
        }
        if has('j') && (has('m') || has('d'))
            || has('d') && !has('m')
            || has('S') && !has('M')
            || has('M') && !has('H')
        {
            return Err(wrong(format!(
                "the parts of `{text}` are not one date: %d needs %m, %M needs %H, %S needs %M, and %j excludes both %m and %d"
            )));
        }
        if parts.iter().filter(|part| **part == Part::Any).count() > 8 {
            return Err(wrong(format!("`{text}` has more than 8 parts *")));
        }
        Ok(Self { parts, text: text.into() })
    }

    /// Returns what the names of files tell. Folders and the query of a URL are not part of a name.
    ///
    /// # Errors
    /// `Usage` with the first name that does not fit.
    pub fn steps<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Steps> {
        let dated = !self.parts.contains(&Part::Number);
        let timed = self.parts.iter().any(|part| matches!(part, Part::Field('H', _)));
        let text = if timed { "seconds since 1970-01-01" } else { "days since 1970-01-01" };
        let units = TimeUnits::parse(text, Calendar::Standard).filter(|_| dated);
        let mut values = Vec::new();
        for path in names {
            let name = path.split(['?', '#']).next().unwrap_or(path);
            let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
            let letters: Vec<char> = name.chars().collect();
            let mut found = BTreeMap::new();
            if !matched(&self.parts, &letters, &mut found) {
                return Err(Error::usage(
                    "files",
                    format!("include {name}, which does not match `{}`", self.text),
                ));
            }
            let value = match &units {
                None => found.get(&'n').and_then(|text| text.parse().ok()),
                Some(units) => date(&found).map(|date| units.value(&date)),
            };
            let value = value.filter(|value: &f64| value.is_finite());
            values.push(value.ok_or_else(|| {
                Error::usage("files", format!("include {name}, whose name tells neither a date nor a number"))
            })?);
        }
        Ok(Steps { values, units: dated.then(|| text.to_owned()) })
    }
}

/// Matches letters with parts, and notes what the fields are. Only `*` and `%n` have several ways, and there are few of them.
fn matched(parts: &[Part], letters: &[char], found: &mut BTreeMap<char, String>) -> bool {
    let Some((part, rest)) = parts.split_first() else { return letters.is_empty() };
    let mut take = |count: usize, field: Option<char>| {
        let Some((taken, after)) = letters.split_at_checked(count) else { return false };
        if let Some(field) = field {
            found.insert(field, taken.iter().collect());
        }
        matched(rest, after, found)
    };
    match part {
        Part::Text(letter) => letters.first() == Some(letter) && take(1, None),
        Part::Field(field, digits) => {
            letters.iter().take(*digits).all(char::is_ascii_digit) && take(*digits, Some(*field))
        }
        Part::Any => (0..=letters.len()).any(|count| take(count, None)),
        Part::Number => {
            let sign = usize::from(matches!(letters.first(), Some('-' | '+')));
            let digits =
                |from: usize| letters.iter().skip(from).take_while(|letter| letter.is_ascii_digit()).count();
            let whole = digits(sign);
            // Bounds: all of them count letters of the name.
            let end = sign.saturating_add(whole);
            let decimals = if letters.get(end) == Some(&'.') { digits(end.saturating_add(1)) } else { 0 };
            let long = end.saturating_add(1).saturating_add(decimals);
            whole > 0 && (decimals > 0 && take(long, Some('n')) || take(end, Some('n')))
        }
    }
}

fn date(found: &BTreeMap<char, String>) -> Option<DateTime> {
    let number = |field: char, missing: u32| match found.get(&field) {
        Some(text) => text.parse::<u32>().ok(),
        None => Some(missing),
    };
    let small = |field: char, missing: u32| number(field, missing).and_then(|n| u8::try_from(n).ok());
    let year = i64::from(number('Y', 0)?);
    let (month, day) = match number('j', 0)? {
        0 if found.contains_key(&'j') => return None,
        0 => (small('m', 1)?, small('d', 1)?),
        passed => {
            let first = Calendar::Standard.days(year, 1, 1);
            let (same, month, day) =
                Calendar::Standard.date(first.checked_add(i64::from(passed).checked_sub(1)?)?);
            if same != year {
                return None;
            }
            (month, day)
        }
    };
    DateTime::new(Calendar::Standard, (year, month, day), (small('H', 0)?, small('M', 0)?, small('S', 0)?))
}

/// Gives the arrays of a file the dimension, and the coordinate that its name tells.
///
/// # Errors
/// `Usage` if the file has more than one element along the dimension.
pub(super) fn set(
    found: &mut Collected,
    steps: &Steps,
    (number, name): (usize, &str),
    along: &str,
) -> Result<()> {
    let value = *steps.values.get(number).ok_or_else(|| Error::internal("a file has no step"))?;
    let has = found.arrays.iter().any(|array| axis(array, along).is_some());
    if !has {
        stack(found, along);
    }
    let mut groups = BTreeSet::new();
    for array in &found.arrays {
        let length = axis(array, along).and_then(|axis| array.shape.get(axis).copied());
        if let Some(length) = length.filter(|length| *length != 1) {
            let problem = format!(
                "have one date or number in their names, but {} has {length} elements along `{along}` in {name}",
                array.path
            );
            return Err(Error::usage("files", problem));
        }
        if length.is_some() {
            groups.insert(array.path.rsplit_once('/').map_or("", |(group, _)| group).to_owned());
        }
    }
    for group in groups {
        let path = format!("{group}/{along}");
        let known = found.arrays.iter().find(|array| array.path == path);
        let attributes = known.map(|array| array.attributes.clone()).unwrap_or_default();
        found.arrays.retain(|array| array.path != path);
        found.arrays.push(coordinate(path, along, (value, steps), attributes));
    }
    Ok(())
}

/// Gives all arrays the dimension that describe no other.
fn stack(found: &mut Collected, along: &str) {
    let mut describing = BTreeSet::new();
    for array in &found.arrays {
        for text in DESCRIBING.iter().filter_map(|name| array.attributes.get(*name)?.as_str()) {
            describing.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    for array in &mut found.arrays {
        let name = array.path.rsplit('/').next().unwrap_or_default();
        if name == along || describing.contains(name) || array.dimensions == [name] {
            continue;
        }
        array.shape.insert(0, 1);
        array.chunk_shape.insert(0, 1);
        array.dimensions.insert(0, along.into());
        array.chunks = std::mem::replace(&mut array.chunks, Chunks::new(Vec::new())).within_one_more();
    }
}

/// An array of one element.
fn coordinate(
    path: String,
    along: &str,
    (value, steps): (f64, &Steps),
    mut attributes: Map<String, Value>,
) -> VirtualArray {
    let (mut value, told) = (value, steps.units.as_deref());
    // The units of a coordinate that the file has are kept, if they count time.
    let old = units::time(&attributes).filter(|units| units.calendar() == Calendar::Standard);
    let new = told.and_then(|text| TimeUnits::parse(text, Calendar::Standard));
    match (old, new) {
        (Some(old), Some(new)) => value = new.moment(value).map_or(f64::NAN, |moment| old.value(&moment)),
        (_, Some(_)) => {
            attributes.insert("units".into(), told.unwrap_or_default().into());
            attributes.insert("calendar".into(), "standard".into());
            attributes.entry("standard_name").or_insert_with(|| "time".into());
        }
        _ => {}
    }
    let mut array = VirtualArray {
        path,
        shape: vec![1],
        chunk_shape: vec![1],
        dtype: Value::Null,
        fill: Value::Null,
        marked: false,
        columns: false,
        filters: Vec::new(),
        attributes,
        dimensions: vec![along.into()],
        chunks: Chunks::new(vec![1]),
    };
    one_chunk(&mut array, "<f8".into(), value.to_le_bytes().to_vec());
    debug_assert!(
        is_coordinate(&array, along) && matches!(array.chunks.iter().next(), Some((0, Place::Bytes(_))))
    );
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pattern: &str, names: &[&str]) -> Result<Steps> {
        NamePattern::parse(pattern)?.steps(names.iter().copied())
    }

    #[test]
    fn names_tell_dates_and_numbers() {
        let found = steps("*_%Y-%m-%dT%H%M.h5", &["s3://b/a_b_1970-01-02T0130.h5?x=/y"]).unwrap();
        assert_eq!(
            (found.values, found.units.unwrap().as_str()),
            (vec![91_800.0], "seconds since 1970-01-01")
        );
        assert_eq!(steps("f%Y%j.nc", &["f1972060.nc", "f1972061.nc"]).unwrap().values, [789.0, 790.0]);
        assert_eq!(steps("y%Y", &["y1971"]).unwrap().values, [365.0]);
        assert_eq!(steps("run%n.gsd", &["run-1.5.gsd", "run007.gsd"]).unwrap().values, [-1.5, 7.0]);
        assert_eq!(steps("100%%*%n.*", &["100%a3.5"]).unwrap().values, [3.0]);
    }

    #[test]
    fn what_tells_nothing_is_refused() {
        for (pattern, name) in [
            ("%Y%m%d", "20260230"),
            ("%Y%m%d", "2026023"),
            ("%Y", "20261"),
            ("f%j%Y", "f0002026"),
            ("f%Y%j", "f2025366"),
            ("%n", ""),
        ] {
            assert!(steps(pattern, &[name]).is_err(), "{pattern} {name}");
        }
        for pattern in ["a", "%Q", "%", "%Y%Y", "%n%Y", "%d", "%Y%d", "%Y%j%m", "%Y%M", "*********%Y"] {
            assert!(NamePattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
