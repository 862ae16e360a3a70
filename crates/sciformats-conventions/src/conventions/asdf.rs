//! ASDF: quantities, tables, and files of space telescopes, which are recognised by the tags of their nodes.
//!
//! Sources: <https://asdf-standard.readthedocs.io>, the schemas of asdf-astropy, and those of the Roman and JWST data models.

use sciformats::{Format, Kind, Object, Result, Value};

use super::{members, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Table};
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

/// Decodes the array of a quantity, with its unit.
fn quantity(node: &Node) -> Result<Option<Variable>> {
    let Some(value) = node.child("value")? else { return Ok(None) };
    let Some(mut variable) = plain::variable(&value)? else { return Ok(None) };
    variable.name = node.name().to_owned();
    variable.units = scalar(node.child("unit")?)?;
    Ok(Some(variable))
}

/// Decodes a column of a table: an array, a quantity, or a node with an array in `data`.
fn column(node: &Node) -> Result<Option<Variable>> {
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

fn table(node: &Node) -> Result<Option<Table>> {
    let Some(list) = node.child("columns")? else { return Ok(None) };
    let names = match node.child("colnames")? {
        Some(names) => names
            .children()?
            .into_iter()
            .map(|name| Ok(scalar(Some(name))?.unwrap_or_default()))
            .collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let mut columns = Vec::new();
    let mut rows = 0;
    for (at, child) in list.children()?.iter().enumerate() {
        let Some(variable) = column(child)? else { continue };
        rows = members::length(variable.node())?.unwrap_or(rows);
        let name = names.get(at).cloned().unwrap_or_else(|| variable.name.clone());
        columns.push(Column::variable(variable).renamed(name));
    }
    Ok(Some(Table { path: node.path().to_owned(), rows, index: Vec::new(), columns }))
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
            Some("quantity") => quantity(node)?.map(Meaning::from),
            Some("table") => table(node)?.map(Meaning::Table),
            Some("column") => column(node)?.map(Meaning::from),
            _ => None,
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let base = root.child("roman")?.unwrap_or_else(|| root.clone());
        let mut outline = Outline { title: scalar(base.child("meta/filename")?)?, ..Outline::default() };
        for child in base.children()? {
            let named = kind(&child).unwrap_or_default();
            let skipped = matches!(child.name(), "asdf_library" | "history");
            if !skipped && (child.kind()? == Kind::Array || matches!(named.as_str(), "quantity" | "table")) {
                outline = outline.with(child.path(), named);
            }
        }
        Ok(outline)
    }
}
