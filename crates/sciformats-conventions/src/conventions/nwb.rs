//! Neurodata Without Borders: series with a conversion to their unit, and tables.
//!
//! Source: <https://nwb-schema.readthedocs.io>, version 2. The data of a series times `conversion`, and times the
//! `channel_conversion` of each channel, plus `offset` have the unit `unit`. `timestamps`, or a rate in `starting_time`, contains the times. A
//! `DynamicTable` lists its columns in `colnames`.

use sciformats::{ElementType, Error, Kind, Result};

use super::{members, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Table};
use crate::variable::{Coordinate, Factors, Role, Spacing, Variable};

pub(crate) struct Nwb;

/// Decodes the data of a series.
fn series(group: &Node) -> Result<Option<Variable>> {
    let Some(data) = group.child("data")? else { return Ok(None) };
    let Some(mut variable) = plain::variable(&data)? else { return Ok(None) };
    variable.name = group.name().to_owned();
    variable.long_name = group.text("description")?;
    if let Some(first) = variable.dimensions.first_mut() {
        first.name = Some("time".into());
        if let Some(times) = group.child("timestamps")? {
            (first.path, first.has_values) = (Some(times.path().to_owned()), true);
            let path = times.path().to_owned();
            variable.coordinates.push(Coordinate { path, role: Role::Dimension, dimension: Some(0) });
        } else if let Some(start) = group.child("starting_time")? {
            let begin = start.element_numbers()?.and_then(|numbers| numbers.first().copied()).unwrap_or(0.0);
            let rate = start.number("rate")?.unwrap_or(1.0);
            first.spacing = Some(Spacing { start: begin, step: 1.0 / rate, units: start.text("unit")? });
        }
    }
    let (scale, offset) = (data.number("conversion")?.unwrap_or(1.0), data.number("offset")?.unwrap_or(0.0));
    if let Some(channels) = group.child("channel_conversion")? {
        let axis = channels.number("axis")?.unwrap_or(1.0) as usize;
        let each = channels.element_numbers()?.unwrap_or_default();
        let each = each.into_iter().map(|channel| scale * channel).collect();
        return variable.multiplied(Factors { axis, each, offset }).map(Some).ok_or_else(|| {
            Error::unsupported(format!("a channel_conversion of {} that does not fit its data", group.path()))
        });
    }
    if (scale, offset) != (1.0, 0.0) && variable.stored().element.is_real() {
        let mut numbers = Numbers::new(variable.stored().element.clone());
        (numbers.to, numbers.scale, numbers.offset) = (Some(ElementType::F64), Some(scale), Some(offset));
        variable = variable.decoded(Decoding::Numbers(numbers));
    }
    Ok(Some(variable))
}

/// The deepest nesting of lists in a column.
const NESTED: usize = 8;

/// Decodes a column of a table: an array, or lists whose ends are in an array beside it, which may be lists themselves.
fn column(group: &Node, name: &str) -> Result<Option<Column>> {
    let Some(data) = group.child(name)? else { return Ok(None) };
    let Some(variable) = plain::variable(&data)? else { return Ok(None) };
    let mut column = Column::variable(variable);
    let mut beside = format!("{name}_index");
    for _ in 0..NESTED {
        let Some(ends) = group.child(&beside)? else { break };
        let Some(ends) = plain::variable(&ends)?.filter(|ends| ends.dimensions.len() == 1) else {
            return Ok(None);
        };
        column = Column::ragged(name, column, ends);
        beside.push_str("_index");
    }
    Ok(Some(column.described(data.text("description")?)))
}

/// Decodes a table by the names of its columns.
fn table(group: &Node, names: &[String]) -> Result<Option<Table>> {
    let Some(id) = group.child("id")? else { return Ok(None) };
    let rows = members::length(&id)?.unwrap_or_default();
    let (mut columns, mut omitted) = (Vec::new(), Vec::new());
    for name in names {
        match column(group, name)? {
            Some(found) if found.rows() == Some(rows) => columns.push(found),
            Some(_) => {
                omitted.push((name.clone(), format!("it does not have {rows} rows, as the table has")));
            }
            None => omitted.push((name.clone(), "it is no array of the table".to_owned())),
        }
    }
    let index = plain::variable(&id)?.map(Column::variable).into_iter().collect();
    let table = Table { path: group.path().to_owned(), rows, index, columns, omitted };
    Ok(Some(table.with_distinct_names()))
}

impl Convention for Nwb {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = root.text("nwb_version")?;
        Ok(version.map(|version| Identity::new("NWB", "nwb_version").with_version(Some(version))))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        if node.kind()? == Kind::Group {
            return Ok(match node.texts("colnames")? {
                Some(names) => table(node, &names)?.map(Meaning::Table),
                None => series(node)?.map(Meaning::from),
            });
        }
        let Some(group) = node.parent()? else { return Ok(None) };
        let data = node.name() == "data" && group.has("neurodata_type")?;
        Ok(if data { series(&group)?.map(Meaning::from) } else { None })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        if let Some(title) = root.child("session_description")? {
            outline.title = title.element_texts()?.and_then(|texts| texts.into_iter().next());
        }
        for name in ["acquisition", "units", "processing", "intervals", "stimulus/presentation"] {
            let Some(group) = root.child(name)? else { continue };
            if group.has("colnames")? {
                outline = outline.with(group.path(), "table");
                continue;
            }
            for child in group.children()? {
                outline = outline.with(child.path(), child.text("neurodata_type")?.unwrap_or_default());
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format, Range, Slab};

    use crate::Dataset;

    fn session() -> Memory {
        let mut tree = Memory::new(Format::Hdf5);
        tree.attribute(tree.root(), "nwb_version", texts(&[], &["2.7.0"]));
        tree
    }

    #[test]
    fn columns_of_lists_are_columns() {
        let mut tree = session();
        let units = tree.group(tree.root(), "units");
        tree.attribute(units, "colnames", texts(&[4], &["spike_times", "quality", "waves", "none"]));
        tree.array(units, "id", array::<i64>(&[3], &[0, 1, 2]));
        tree.array(units, "spike_times", array::<f64>(&[4], &[0.5, 1.5, 2.5, 3.5]));
        tree.array(units, "spike_times_index", array::<u8>(&[3], &[2, 2, 4]));
        tree.array(units, "quality", texts(&[3], &["a", "b", "c"]));
        // Lists of lists: their ends are lists themselves.
        tree.array(units, "waves", array::<i16>(&[3], &[1, 2, 3]));
        tree.array(units, "waves_index", array::<u8>(&[4], &[1, 2, 3, 3]));
        tree.array(units, "waves_index_index", array::<u8>(&[3], &[2, 3, 4]));
        let table = Dataset::new(File::from(tree)).table("/units").unwrap();
        let read = |at: usize, first, count| table.columns[at].read(first, count).unwrap().cells().unwrap();
        let of = |list: &[&str]| list.iter().map(|cell| Some((*cell).to_owned())).collect::<Vec<_>>();
        assert_eq!(read(0, 0, 3), of(&["[0.5, 1.5]", "[]", "[2.5, 3.5]"]));
        assert_eq!(read(0, 2, 1), of(&["[2.5, 3.5]"]));
        assert_eq!(read(2, 0, 3), of(&["[[1], [2]]", "[[3]]", "[[]]"]));
        assert_eq!((table.columns[1].name.as_str(), table.omitted[0].0.as_str()), ("quality", "none"));
    }

    #[test]
    fn channels_have_factors_of_their_own() {
        let mut tree = session();
        let series = tree.group(tree.root(), "es");
        tree.attribute(series, "neurodata_type", texts(&[], &["ElectricalSeries"]));
        let data = tree.array(series, "data", array::<i16>(&[2, 3], &[0, 1, 2, 3, 4, 5]));
        tree.attribute(data, "conversion", array::<f64>(&[], &[0.5]));
        tree.attribute(data, "offset", array::<f64>(&[], &[1.0]));
        tree.array(series, "channel_conversion", array::<f64>(&[3], &[1.0, 2.0, 3.0]));
        let data = Dataset::new(File::from(tree)).variable("/es/data").unwrap();
        assert_eq!(data.read().unwrap().numbers().unwrap(), [1.0, 2.0, 4.0, 2.5, 5.0, 8.5]);
        assert_eq!(data.to_string().split(' ').next_back().unwrap(), "int16");
        let part = Slab::new(&[2, 3], [Range::new(1, 1), Range::new(1, 2)]).unwrap();
        assert_eq!(data.read_slab(&part).unwrap().numbers().unwrap(), [5.0, 8.5]);
    }
}
