//! ASDF: quantities, tables, and files of space telescopes, which are recognised by the tags of their nodes.
//!
//! Sources: <https://asdf-standard.readthedocs.io>, the schemas of asdf-astropy, and those of the Roman and JWST data models.

use sciformats::{ElementType, Format, Kind, Object, Result, Value};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Table};
use crate::time::{Calendar, TimeUnits};
use crate::values::push_text;
use crate::variable::Variable;

pub(crate) struct Asdf;

/// Returns the last part of a tag without its version: `quantity`, `table`.
fn kind(node: &Node) -> Option<String> {
    let tag = node.tag()?;
    let name = tag.rsplit(['/', ':']).next()?;
    Some(name.rsplit_once('-').map_or(name, |(name, _)| name).to_owned())
}

/// Returns a scalar of the tree as a text.
fn scalar(node: Option<Node>) -> Result<Option<String>> {
    Ok(match node.map(|node| node.object()).transpose()? {
        Some(Object::Value(Value::Text(text))) => Some(text),
        Some(Object::Value(Value::Null)) | None => None,
        Some(Object::Value(value)) => Some(value.to_string()),
        _ => None,
    })
}

/// Decodes an array, in which masked elements are missing.
fn array(node: &Node) -> Result<Option<Variable>> {
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    // The mask is an attribute, with one truth value per element.
    let mask = if node.file().source().format() == Format::Asdf { node.numbers("mask")? } else { None };
    Ok(Some(match mask {
        Some(mask) => variable.marked(mask.into_iter().map(|truth| truth != 0.0)),
        None => variable,
    }))
}

/// Decodes a value of the tree that is no array: a number, a text, a truth value.
fn single(node: &Node) -> Result<Option<Variable>> {
    let Object::Value(value) = node.object()? else { return Ok(None) };
    let number = |number: f64| (ElementType::F64, number.to_le_bytes().to_vec());
    let (element, bytes) = match value {
        Value::Bool(truth) => (ElementType::Bool, vec![u8::from(truth)]),
        Value::Float(float) => number(float),
        Value::Integer(digits) => match digits.parse::<i64>() {
            Ok(integer) => (ElementType::Int(8), integer.to_le_bytes().to_vec()),
            Err(_) => number(digits.parse().unwrap_or(f64::NAN)),
        },
        Value::Complex(real, imaginary) => {
            (ElementType::Complex(16), [real.to_le_bytes(), imaginary.to_le_bytes()].concat())
        }
        Value::Text(text) => {
            let mut bytes = Vec::new();
            push_text(&mut bytes, &text);
            (ElementType::Text, bytes)
        }
        _ => return Ok(None),
    };
    Ok(Variable::scalar(node, element, bytes))
}

/// Decodes the array or the number of a quantity, with its unit.
fn quantity(node: &Node) -> Result<Option<Variable>> {
    let Some(value) = node.child("value")? else { return Ok(None) };
    let found = match array(&value)? {
        Some(found) => Some(found),
        None => single(&value)?,
    };
    let Some(mut variable) = found else { return Ok(None) };
    variable.name = node.name().to_owned();
    variable.units = scalar(node.child("unit")?)?;
    Ok(Some(variable))
}

/// Returns what the numbers of a format of times count, and the number that is added to them before.
///
/// Source: the documentation of `astropy.time`. Formats that count from a moment of another scale of time are
/// decoded in that scale.
fn counted(format: &str) -> Option<(&'static str, Option<f64>)> {
    Some(match format {
        "mjd" => ("days since 1858-11-17", None),
        "jd" => ("days since 1858-11-17", Some(-2_400_000.5)),
        "unix" | "unix_tai" => ("seconds since 1970-01-01", None),
        "gps" => ("seconds since 1980-01-06 00:00:19", None),
        "cxcsec" => ("seconds since 1998-01-01", None),
        _ => return None,
    })
}

/// Decodes the array of a time: texts, or numbers in one of the formats.
fn time(node: &Node) -> Result<Option<Variable>> {
    if node.kind()? != Kind::Group {
        // A text alone is a time in a format that the text itself shows.
        return single(node);
    }
    let Some(mut variable) = quantity(node)? else { return Ok(None) };
    let (format, scale) = (scalar(node.child("format")?)?, scalar(node.child("scale")?)?);
    variable.units = match (&format, scale) {
        (Some(format), Some(scale)) => Some(format!("{format} {scale}")),
        (format, scale) => format.clone().or(scale),
    };
    let element = variable.stored().element.clone();
    let Some((units, offset)) = format.as_deref().and_then(counted).filter(|_| element.is_real()) else {
        return Ok(Some(variable));
    };
    let Some(units) = TimeUnits::parse(units, Calendar::ProlepticGregorian) else {
        return Ok(Some(variable));
    };
    let mut numbers = Numbers::new(element);
    numbers.offset = offset;
    numbers.to = Some(ElementType::F64);
    Ok(Some(variable.decoded(Decoding::Time { numbers, units })))
}

/// Decodes an object that consists of several arrays of one length as a table of them: the angles of positions on the sky,
/// and the two numbers of days whose sum is a span of time.
fn positions(node: &Node) -> Result<Option<Table>> {
    let days = kind(node).as_deref() == Some("timedelta");
    let (mut columns, mut rows) = (Vec::new(), None);
    for child in node.children()? {
        let found = match days && matches!(child.name(), "jd1" | "jd2") {
            true => plain::variable(&child)?.map(|mut part| {
                part.units = Some("d".into());
                part
            }),
            false => quantity(&child)?,
        };
        let Some(variable) = found else { continue };
        let [length] = variable.shape()[..] else { return Ok(None) };
        if *rows.get_or_insert(length) != length {
            return Ok(None);
        }
        columns.push(Column::variable(variable));
    }
    let path = node.path().to_owned();
    Ok(rows.map(|rows| Table { path, rows, index: Vec::new(), columns, omitted: Vec::new() }))
}

/// Decodes a column of a table: an array, a time, a quantity, or a node with an array in `data`.
fn column(node: &Node) -> Result<Option<Variable>> {
    if kind(node).as_deref() == Some("time") {
        return time(node);
    }
    if let Some(variable) = plain::variable(node)? {
        return Ok(Some(variable));
    }
    if let Some(variable) = quantity(node)? {
        return Ok(Some(variable));
    }
    let Some(data) = node.child("data")? else { return Ok(None) };
    let Some(mut variable) = plain::variable(&data)? else { return Ok(None) };
    variable.units = scalar(node.child("unit")?)?;
    if let Some(name) = scalar(node.child("name")?)? {
        variable.name = name;
    }
    Ok(Some(variable))
}

/// Returns the elements of a sequence in their order; they are named by their numbers.
fn elements(sequence: &Node) -> Result<Vec<Node>> {
    let mut elements = sequence.children()?;
    // What has no number comes last.
    let place = |node: &Node| node.name().parse::<usize>().map_or((true, 0), |place| (false, place));
    sciformats_core::order::sort_by_key(&mut elements, place);
    Ok(elements)
}

fn table(node: &Node) -> Result<Option<Table>> {
    let Some(list) = node.child("columns")? else { return Ok(None) };
    let names = match node.child("colnames")? {
        Some(names) => elements(&names)?
            .into_iter()
            .map(|name| Ok(scalar(Some(name))?.unwrap_or_default()))
            .collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let mut found = Vec::new();
    let mut omitted = Vec::new();
    for (at, child) in elements(&list)?.iter().enumerate() {
        let named = |own: &str| names.get(at).cloned().unwrap_or_else(|| own.to_owned());
        if let Some(variable) = column(child)?.filter(|variable| !variable.dimensions.is_empty()) {
            let name = named(&variable.name);
            // The mask of an array is an attribute of it, with one truth value per element.
            let mask = if variable.shape().len() == 1 { variable.node().numbers("mask")? } else { None };
            let column = match mask {
                Some(mask) => Column::marked(variable, mask.iter().map(|truth| *truth != 0.0)),
                None => Column::variable(variable),
            };
            found.push(column.renamed(name));
            continue;
        }
        let name = named(child.name());
        let parts = match kind(child).as_deref() {
            Some("skycoord" | "timedelta") => positions(child)?,
            _ => None,
        };
        match parts {
            Some(parts) => found.extend(parts.columns.into_iter().map(|part| {
                let name = format!("{name}.{}", part.name);
                part.renamed(name)
            })),
            None => {
                let what = child.tag().unwrap_or_else(|| "no array".to_owned());
                omitted.push((name, format!("it is {what}, which has no values along the rows")));
            }
        }
    }
    let rows = found.first().and_then(Column::rows).unwrap_or_default();
    let (columns, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|column| column.rows() == Some(rows));
    omitted.extend(others.into_iter().map(|column| (column.name, format!("it does not have {rows} rows"))));
    let table = Table { path: node.path().to_owned(), rows, index: Vec::new(), columns, omitted };
    Ok(Some(table.with_distinct_names()))
}

impl Convention for Asdf {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let source = root.file().source();
        if source.format() != Format::Asdf {
            return Ok(None);
        }
        let facts = source.facts();
        let fact =
            |name: &str| facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let roman = root.child("roman")?.filter(|node| node.kind().is_ok_and(|kind| kind == Kind::Group));
        let (name, evidence) = match &roman {
            Some(node) => ("Roman", node.tag().unwrap_or_else(|| "the node roman".into())),
            None if root.child("meta/telescope")?.is_some() => {
                ("space telescope data model", "meta.telescope".into())
            }
            None => ("ASDF", "the tree".to_owned()),
        };
        let version = if name == "ASDF" { fact("standard") } else { None };
        Ok(Some(Identity::new(name, evidence).with_version(version).with_writer(fact("library"))))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        Ok(match kind(node).as_deref() {
            Some("quantity" | "latitude" | "longitude" | "angle") => quantity(node)?.map(Meaning::from),
            Some("time") => time(node)?.map(Meaning::from),
            Some("skycoord" | "timedelta") => positions(node)?.map(Meaning::Table),
            Some("table") => table(node)?.map(Meaning::Table),
            Some("column") => column(node)?.map(Meaning::from),
            _ if node.kind()? == Kind::Array && node.has("mask")? => array(node)?.map(Meaning::from),
            _ => None,
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let base = root.child("roman")?.unwrap_or_else(|| root.clone());
        let mut outline = Outline { title: scalar(base.child("meta/filename")?)?, ..Outline::default() };
        for child in base.children()? {
            let named = kind(&child).unwrap_or_default();
            let skipped = matches!(child.name(), "asdf_library" | "history");
            if !skipped
                && (child.kind()? == Kind::Array
                    || matches!(named.as_str(), "quantity" | "table" | "time" | "skycoord"))
            {
                outline = outline.with(child.path(), named);
            }
        }
        Ok(outline)
    }
}

#[cfg(all(test, feature = "asdf"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use sciformats::{Range, Slab};

    use crate::{Column, Dataset, Values};

    const TREE: &str = "#ASDF 1.0.0
#ASDF_STANDARD 1.5.0
%YAML 1.1
%TAG ! tag:stsci.edu:asdf/
--- !core/asdf-1.1.0
mjd: !time/time-1.1.0
  value: !core/ndarray-1.0.0 {data: [58000.0, 15020.25], datatype: float64, shape: [2]}
  format: mjd
  scale: utc
jd: !time/time-1.1.0
  value: !core/ndarray-1.0.0 {data: [2451545.0], datatype: float64, shape: [1]}
  format: jd
  scale: tt
gps: !time/time-1.1.0
  value: !core/ndarray-1.0.0 {data: [0.0, 1000000000.0], datatype: float64, shape: [2]}
  format: gps
  scale: tai
year: !time/time-1.1.0
  value: !core/ndarray-1.0.0 {data: [2000.5], datatype: float64, shape: [1]}
  format: jyear
  scale: tt
speed: !unit/quantity-1.2.0 {value: 2.5, unit: km s-1}
count: !unit/quantity-1.2.0 {value: 7, unit: ct}
moment: !time/time-1.1.0 {value: 58000.5, format: mjd, scale: utc}
day: !time/time-1.1.0 2020-01-01T00:00:00.000
holes: !core/ndarray-1.0.0
  data: [[1, 2], [3, 4]]
  mask: [[false, true], [false, false]]
  datatype: int64
  shape: [2, 2]
gaps: !unit/quantity-1.2.0
  value: !core/ndarray-1.0.0 {data: [0.5, 1.5], mask: [true, false], datatype: float32, shape: [2]}
  unit: m
stars: !<tag:astropy.org:astropy/table/table-1.0.0>
  colnames: [count, when]
  columns:
  - !core/column-1.0.0
    name: count
    data: !core/ndarray-1.0.0 {data: [1, 2, 3], mask: [false, true, false], datatype: int64, shape: [3]}
  - !time/time-1.1.0
    value: !core/ndarray-1.0.0 {data: [58000.0, 58000.5, 58001.0], datatype: float64, shape: [3]}
    format: mjd
    scale: tai
sky: !<tag:astropy.org:astropy/coordinates/skycoord-1.0.0>
  ra: !<tag:astropy.org:astropy/coordinates/longitude-1.1.0>
    value: !core/ndarray-1.0.0 {data: [10.5, 359.0], datatype: float64, shape: [2]}
    unit: deg
  dec: !<tag:astropy.org:astropy/coordinates/latitude-1.1.0>
    value: !core/ndarray-1.0.0 {data: [-45.0, 0.0], datatype: float64, shape: [2]}
    unit: deg
wide: !<tag:astropy.org:astropy/table/table-1.0.0>
  colnames: [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, at, span, gone]
  columns:
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [0, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [1, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [2, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [3, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [4, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [5, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [6, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [7, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [8, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [9, 0], datatype: int64, shape: [2]}}
  - !core/column-1.0.0 {name: n, data: !core/ndarray-1.0.0 {data: [10, 0], datatype: int64, shape: [2]}}
  - !<tag:astropy.org:astropy/coordinates/skycoord-1.0.0>
    frame: icrs
    ra: !<tag:astropy.org:astropy/coordinates/longitude-1.1.0>
      value: !core/ndarray-1.0.0 {data: [10.5, 359.0], datatype: float64, shape: [2]}
      unit: deg
  - !<tag:astropy.org:astropy/time/timedelta-1.2.0>
    format: jd
    jd1: !core/ndarray-1.0.0 {data: [1.0, 2.0], datatype: float64, shape: [2]}
    jd2: !core/ndarray-1.0.0 {data: [0.25, 0.5], datatype: float64, shape: [2]}
  - !<tag:example.org:model-1.0.0> {slope: 2}
...
";

    fn data() -> (tempfile::TempDir, Dataset) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stars.asdf");
        std::fs::write(&path, TREE).unwrap();
        let data = Dataset::open(&path).unwrap();
        (dir, data)
    }

    fn cells(data: &Dataset, path: &str) -> Vec<String> {
        let cells = data.variable(path).unwrap().read().unwrap().cells().unwrap();
        cells.into_iter().map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn times_count_from_the_moment_of_their_format() {
        let (_dir, data) = data();
        assert_eq!(cells(&data, "/mjd"), ["2017-09-04T00:00:00", "1900-01-01T06:00:00"]);
        assert_eq!(cells(&data, "/jd"), ["2000-01-01T12:00:00"]);
        assert_eq!(cells(&data, "/gps"), ["1980-01-06T00:00:19", "2011-09-14T01:46:59"]);
        assert_eq!(data.variable("/gps").unwrap().units.as_deref(), Some("gps tai"));
        // A format without a known moment remains a number.
        assert_eq!(cells(&data, "/year"), ["2000.5"]);
    }

    #[test]
    fn quantities_may_be_single_numbers() {
        let (_dir, data) = data();
        assert_eq!(data.variable("/speed").unwrap().to_string(), "speed float64, km s-1");
        assert_eq!(cells(&data, "/speed"), ["2.5"]);
        assert_eq!(data.variable("/count").unwrap().to_string(), "count int64, ct");
        assert_eq!(cells(&data, "/count"), ["7"]);
        assert_eq!(cells(&data, "/moment"), ["2017-09-04T12:00:00"]);
        assert_eq!(cells(&data, "/day"), ["2020-01-01T00:00:00.000"]);
        assert_eq!(cells(&data.clone().raw(), "/speed"), ["2.5"]);
    }

    #[test]
    fn masked_elements_are_missing() {
        let (_dir, data) = data();
        let holes = data.variable("/holes").unwrap();
        assert_eq!((holes.to_string().as_str(), holes.is_stored()), ("holes[2, 2] float64 ← int64", false));
        let numbers = holes.read().unwrap().into_canonical().unwrap();
        let decoded = Values::plain(numbers.0, numbers.1).numbers().unwrap();
        assert!(decoded[0] == 1.0 && decoded[1].is_nan() && decoded[2..] == [3.0, 4.0]);
        let column = Slab::new(&[2, 2], [Range::all(2), Range::new(1, 1)]).unwrap();
        assert_eq!(holes.read_slab(&column).unwrap().cells().unwrap(), [None, Some("4".to_owned())]);
        let gaps = data.variable("/gaps").unwrap();
        assert_eq!(gaps.to_string(), "gaps[2] float32, m");
        assert_eq!(gaps.read().unwrap().cells().unwrap(), [None, Some("1.5".to_owned())]);
        assert_eq!(cells(&data.clone().raw(), "/holes"), ["1", "2", "3", "4"]);
    }

    #[test]
    fn tables_have_masks_times_and_units() {
        let (_dir, data) = data();
        let stars = data.table("/stars").unwrap();
        let read = |column: &Column| column.read(0, stars.rows).unwrap().cells().unwrap();
        assert_eq!((stars.rows, stars.columns[0].name.as_str()), (3, "count"));
        assert_eq!(read(&stars.columns[0]), [Some("1".to_owned()), None, Some("3".to_owned())]);
        assert_eq!(read(&stars.columns[1])[1].as_deref(), Some("2017-09-04T12:00:00"));
        let wide = data.table("/wide").unwrap();
        let names: Vec<&str> = wide.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[9..], ["c9", "c10", "at.ra", "span.jd1", "span.jd2"]);
        assert_eq!(wide.columns[10].read(0, 1).unwrap().numbers().unwrap(), [10.0]);
        assert_eq!(wide.columns[13].units.as_deref(), Some("d"));
        assert!(wide.omitted[0].0 == "gone" && wide.omitted[0].1.contains("model"), "{:?}", wide.omitted);
        let sky = data.table("/sky").unwrap();
        assert_eq!((sky.rows, sky.columns.len(), sky.columns[0].name.as_str()), (2, 2, "ra"));
        assert_eq!(sky.columns[1].read(0, 2).unwrap().numbers().unwrap(), [-45.0, 0.0]);
    }
}
