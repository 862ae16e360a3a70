//! Cell arrays and structures as tables.

use sciformats::{Kind, Result};

use super::cells::{count_of_references, of_cells, of_field};
use super::{class, is_empty, is_special, meaning_at, variable};
use crate::convention::Meaning;
use crate::conventions::mcos::{self, Budget};
use crate::conventions::plain;
use crate::node::Node;
use crate::table::{Column, Table};

/// Decodes a cell array as a table with one row per cell, in MATLAB's order.
pub(super) fn cells(node: &Node) -> Result<Option<Meaning>> {
    let Some(rows) = count_of_references(node)? else {
        return Ok(plain::variable(node)?.map(|variable| variable.reversed().into()));
    };
    let columns = vec![Column::computed(node, of_cells)];
    Ok(Some(Meaning::Table(Table {
        path: node.path().to_owned(),
        rows,
        index: Vec::new(),
        columns,
        omitted: Vec::new(),
    })))
}

/// Decodes a structure as a table. If all fields are lists of equal length, they are its columns, because
/// programs that convert tables store them in this way. The fields of an array of structures are references
/// to their contents, one per row. A single structure has one row.
pub(super) fn structure(group: &Node, budget: &mut Budget) -> Result<Option<Meaning>> {
    let children = mcos::fields(group)?;
    let of = |columns: Vec<Column>, rows| {
        let path = group.path().to_owned();
        Some(Meaning::Table(Table { path, rows, index: Vec::new(), columns, omitted: Vec::new() }))
    };
    if let Some((rows, columns)) = lists(&children, budget)? {
        return Ok(of(columns, rows));
    }
    let (mut columns, mut rows) = (Vec::new(), None);
    for child in &children {
        let (length, column) = match (class(child)?, count_of_references(child)?) {
            (None, Some(count)) => (count, Column::computed(child, of_cells)),
            _ => (1, Column::computed(child, of_field)),
        };
        if *rows.get_or_insert(length) != length {
            return Ok(None);
        }
        columns.push(column);
    }
    Ok(rows.and_then(|rows| of(columns, rows)))
}

/// Returns the fields of a structure as columns if all of them are lists of equal length, with this length.
fn lists(children: &[Node], budget: &mut Budget) -> Result<Option<(u64, Vec<Column>)>> {
    let mut columns = Vec::new();
    let mut rows = None;
    for child in children {
        let Some(of) = class(child)? else { return Ok(None) };
        let kind = child.kind()?;
        if is_special(child, &of, kind)? {
            let found = budget.deeper(child, |budget| meaning_at(child, budget))?;
            let Some(Meaning::Variable(variable)) = found else {
                return Ok(None);
            };
            let variable = variable.into_column();
            let [length] = variable.shape()[..] else { return Ok(None) };
            if length < 2 || *rows.get_or_insert(length) != length {
                return Ok(None);
            }
            columns.push(Column::variable(variable));
            continue;
        }
        if kind != Kind::Array || matches!(of.as_str(), "cell" | "char") || is_empty(child)? {
            return Ok(None);
        }
        let Some(variable) = variable(child, &of)? else { return Ok(None) };
        let [length, 1] = variable.shape()[..] else { return Ok(None) };
        if length < 2 || *rows.get_or_insert(length) != length {
            return Ok(None);
        }
        columns.push(Column::variable(variable));
    }
    Ok(rows.map(|rows| (rows, columns)))
}
