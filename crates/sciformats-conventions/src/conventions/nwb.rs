//! Neurodata Without Borders: series with a conversion to their unit, and tables.
//!
//! Source: <https://nwb-schema.readthedocs.io>, version 2. The data of a series times `conversion` plus
//! `offset` have the unit `unit`. `timestamps`, or a rate in `starting_time`, contains the times. A
//! `DynamicTable` lists its columns in `colnames`.

use sciformats::{ElementType, Kind, Result};

use super::{members, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Table};
use crate::variable::{Coordinate, Role, Spacing, Variable};

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
    if (scale, offset) != (1.0, 0.0) && variable.stored().element.is_real() {
        let mut numbers = Numbers::new(variable.stored().element.clone());
        (numbers.to, numbers.scale, numbers.offset) = (Some(ElementType::F64), Some(scale), Some(offset));
        variable = variable.decoded(Decoding::Numbers(numbers));
    }
    Ok(Some(variable))
}

/// Decodes a table by the names of its columns. Columns of lists, which have an array of ends beside them,
/// are left out.
fn table(group: &Node, names: &[String]) -> Result<Option<Table>> {
    let Some(id) = group.child("id")? else { return Ok(None) };
    let rows = members::length(&id)?.unwrap_or_default();
    let mut columns = Vec::new();
    for name in names {
        if group.child(&format!("{name}_index"))?.is_some() {
            continue;
        }
        let found = group.child(name)?.map(|node| plain::variable(&node)).transpose()?.flatten();
        columns.extend(found.filter(|found| found.shape().first() == Some(&rows)).map(Column::variable));
    }
    let index = plain::variable(&id)?.map(Column::variable).into_iter().collect();
    Ok(Some(Table { path: group.path().to_owned(), rows, index, columns }))
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
