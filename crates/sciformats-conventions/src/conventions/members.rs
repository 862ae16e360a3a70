//! Groups whose members belong together, such as the columns of a table, which are one array each.

use sciformats::{Kind, Result};

use super::plain;
use crate::node::Node;
use crate::table::{Column, Table};
use crate::variable::Variable;

/// Returns the length of the first dimension of an array.
pub(crate) fn length(node: &Node) -> Result<Option<u64>> {
    let codes = match node.info()? {
        Some(info) => return Ok(info.shape.and_then(|shape| shape.first().copied())),
        None => node.child("codes")?.or(node.child("values")?),
    };
    match codes {
        Some(codes) => Ok(codes.info()?.and_then(|info| info.shape).and_then(|shape| shape.first().copied())),
        None => Ok(None),
    }
}

/// Returns a table whose columns are the one-dimensional arrays in a group that have the most frequent
/// length; `decode` decodes each of them.
pub(crate) fn table(
    group: &Node,
    index: &[&str],
    decode: &dyn Fn(&Node, Variable) -> Result<Variable>,
) -> Result<Option<Table>> {
    if group.kind()? != Kind::Group {
        return Ok(None);
    }
    let mut found = Vec::new();
    for child in group.children()? {
        if child.kind()? != Kind::Array {
            continue;
        }
        if let Some(variable) = plain::variable(&child)?.filter(|variable| variable.dimensions.len() == 1) {
            found.push(decode(&child, variable)?);
        }
    }
    let lengths: Vec<u64> =
        found.iter().map(|variable| variable.shape().first().copied().unwrap_or_default()).collect();
    let most =
        lengths.iter().max_by_key(|length| lengths.iter().filter(|other| other == length).count()).copied();
    let Some(rows) = most else { return Ok(None) };
    found.retain(|variable| variable.shape() == [rows]);
    let (named, others) =
        found.into_iter().partition::<Vec<_>, _>(|variable| index.contains(&variable.name.as_str()));
    let columns = |variables: Vec<Variable>| variables.into_iter().map(Column::variable).collect();
    Ok(Some(Table { path: group.path().to_owned(), rows, index: columns(named), columns: columns(others) }))
}
