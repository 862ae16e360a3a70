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

/// Returns a table whose columns are the arrays in a group that have the most frequent number of rows; `decode` decodes each
/// of them. The fields of records are columns too.
pub(crate) fn table(
    group: &Node,
    index: &[&str],
    decode: &dyn Fn(&Node, Variable) -> Result<Variable>,
) -> Result<Option<Table>> {
    if group.kind()? != Kind::Group {
        return Ok(None);
    }
    let (mut found, mut omitted): (Vec<Column>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for child in group.children()? {
        if child.kind()? != Kind::Array {
            omitted.push((child.name().to_owned(), "it is no array".to_owned()));
            continue;
        }
        if let Some(records) = plain::records(&child)? {
            let named = |column: Column| {
                let name = format!("{}.{}", child.name(), column.name);
                column.renamed(name)
            };
            found.extend(records.columns.into_iter().map(named));
            continue;
        }
        match plain::variable(&child)?.filter(|variable| !variable.dimensions.is_empty()) {
            Some(variable) => found.push(Column::variable(decode(&child, variable)?)),
            None => omitted.push((child.name().to_owned(), "it has no rows".to_owned())),
        }
    }
    let lengths: Vec<u64> = found.iter().filter_map(Column::rows).collect();
    let most =
        lengths.iter().max_by_key(|length| lengths.iter().filter(|other| other == length).count()).copied();
    let Some(rows) = most else { return Ok(None) };
    let (found, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|column| column.rows() == Some(rows));
    omitted.extend(others.into_iter().map(|column| (column.name, format!("it does not have {rows} rows"))));
    let (index, columns) =
        found.into_iter().partition::<Vec<_>, _>(|column| index.contains(&column.name.as_str()));
    Ok(Some(Table { path: group.path().to_owned(), rows, index, columns, omitted }.with_distinct_names()))
}
