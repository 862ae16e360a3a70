//! MATLAB 7.3: arrays with reversed dimensions, each with its class in `MATLAB_class`.
//!
//! Source: "MAT-File Versions" of the documentation of MATLAB, and files that MATLAB and other programs
//! write. A user block of 512 bytes contains `MATLAB 7.3 MAT-file`. A cell array is an array of references
//! into `/#refs#`, a structure is a group, and a sparse matrix is a group with `MATLAB_sparse`. An array
//! without elements contains its dimensions, and is marked by `MATLAB_empty`.

use sciformats::{ElementType, Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::{Major, SparseMatrix};
use crate::table::{Column, Table};
use crate::variable::Variable;

pub(crate) struct Matlab;

/// The number of members that are examined to find the mark of a class.
const LOOKED_AT: usize = 8;

fn class(node: &Node) -> Result<Option<String>> {
    node.text("MATLAB_class")
}

/// Decodes a variable with its dimensions in MATLAB's order; texts become texts.
fn variable(node: &Node, class: &str) -> Result<Option<Variable>> {
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    let variable = variable.reversed();
    let element = variable.stored().element.clone();
    let codes = matches!(element, ElementType::UInt(1 | 2 | 4) | ElementType::Int(1 | 2));
    if class == "char" && codes && variable.dimensions.len() == 2 {
        let rows = variable.shape().first().copied();
        let texts = variable.decoded(Decoding::Characters);
        // A text is a row of characters.
        return Ok(Some(if rows == Some(1) { texts.single() } else { texts }));
    }
    let truth = class == "logical" && matches!(element, ElementType::UInt(_) | ElementType::Int(_));
    Ok(Some(if truth { variable.decoded(Decoding::Truth) } else { variable }))
}

/// Decodes an array without elements, which stores its dimensions.
fn empty(node: &Node, class: &str) -> Result<Option<Meaning>> {
    let sides = node.element_numbers()?.unwrap_or_default();
    let rows = sides.first().copied().unwrap_or(0.0) as u64;
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    let shape = if class == "char" { vec![rows] } else { sides.iter().map(|side| *side as u64).collect() };
    Ok(Some(variable.without_elements(&shape).into()))
}

/// Decodes a sparse matrix, which has columns with the rows of their elements. Without `data` it has no
/// elements.
fn sparse(group: &Node, rows: u64) -> Result<Option<SparseMatrix>> {
    let Some(starts) = group.child("jc")? else { return Ok(None) };
    let starts_of = starts.info()?.and_then(|info| info.elements());
    let Some(columns) = starts_of.and_then(|starts| starts.checked_sub(1)) else { return Ok(None) };
    let indices = match group.child("ir")? {
        Some(indices) => indices,
        None => return Ok(None),
    };
    let parts = (group.child("data")?, indices, starts);
    Ok(Some(SparseMatrix::new((group.path(), [rows, columns]), Major::Columns, parts)))
}

/// Decodes a cell array as a table with one row per cell: the contents formatted for people, and their path.
fn cells(node: &Node) -> Result<Option<Meaning>> {
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    Ok(Some(variable.reversed().decoded(Decoding::Stored).into()))
}

/// Decodes a structure whose fields are lists of equal length as a table. Programs that convert tables store
/// them in this way.
fn structure(group: &Node) -> Result<Option<Meaning>> {
    let mut columns = Vec::new();
    let mut rows = None;
    for child in group.children()? {
        let Some(of) = class(&child)? else { return Ok(None) };
        if child.kind()? != Kind::Array || matches!(of.as_str(), "cell" | "char") {
            return Ok(None);
        }
        let Some(variable) = variable(&child, &of)? else { return Ok(None) };
        let shape = variable.shape();
        let list =
            shape.len() == 2 && shape.get(1) == Some(&1) && shape.first().is_some_and(|&length| length > 1);
        if !list || *rows.get_or_insert(shape[0]) != shape[0] {
            return Ok(None);
        }
        columns.push(Column::variable(variable));
    }
    Ok(rows.map(|rows| {
        Meaning::Table(Table { path: group.path().to_owned(), rows, index: Vec::new(), columns })
    }))
}

impl Convention for Matlab {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let facts = root.file().source().facts();
        let block = facts.iter().any(|(name, _)| *name == "user block");
        for child in root.few(LOOKED_AT)? {
            if let Some(class) = class(&child)? {
                let mut identity =
                    Identity::new("MATLAB", format!("MATLAB_class of {} is {class}", child.path()));
                if block {
                    identity.evidence.push("a user block".into());
                }
                return Ok(Some(identity.with_version(Some("7.3".into()))));
            }
        }
        Ok(None)
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(class) = class(node)? else { return Ok(None) };
        if node.number("MATLAB_empty")?.is_some_and(|mark| mark != 0.0) {
            return empty(node, &class);
        }
        if let Some(rows) = node.number("MATLAB_sparse")? {
            return Ok(sparse(node, rows as u64)?.map(Meaning::Sparse));
        }
        match (class.as_str(), node.kind()?) {
            ("cell", Kind::Array) => cells(node),
            ("struct", Kind::Group) => structure(node),
            (class, Kind::Array) => Ok(variable(node, class)?.map(Meaning::from)),
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        for child in root.children()? {
            if let Some(class) = class(&child)? {
                outline = outline.with(child.path(), class);
            }
        }
        Ok(outline)
    }
}
