//! Frames and series in the format `fixed`.

use sciformats::{ElementType, Error, Result};

use super::attributes::{bytes, missing_text, objects, pickle_of, word};
use super::kinds::{Encoding, Said, decoding};
use super::tables::in_order;
use crate::conventions::plain;
use crate::decoding::Decoding;
use crate::node::Node;
use crate::pickle;
use crate::table::{Column, Table};
use crate::variable::Variable;

/// Returns the sides of an array without elements, for which an array with one element of another type is stored; `None` for
/// any other array.
fn nothing(node: &Node) -> Result<Option<Vec<u64>>> {
    let sides = bytes(node, "shape")?.and_then(|bytes| pickle::sides(&bytes));
    Ok(sides.filter(|sides| sides.contains(&0)))
}

/// Returns the type of the elements that an array without any would have.
fn absent(kind: Option<&str>) -> ElementType {
    match kind.unwrap_or_default() {
        "object" | "str" | "string" => ElementType::Text,
        "bool" => ElementType::Bool,
        "float32" => ElementType::F32,
        "int8" => ElementType::Int(1),
        "int16" => ElementType::Int(2),
        "int32" => ElementType::Int(4),
        "uint8" => ElementType::UInt(1),
        "uint16" => ElementType::UInt(2),
        "uint32" => ElementType::UInt(4),
        "uint64" => ElementType::UInt(8),
        kind if kind.starts_with("int")
            || kind.starts_with("datetime64")
            || kind.starts_with("timedelta64") =>
        {
            ElementType::Int(8)
        }
        _ => ElementType::F64,
    }
}

/// Returns an array that has no elements, whatever is stored for it.
fn empty(node: &Node, kind: &str) -> Result<Option<Variable>> {
    let kind = node.text(kind)?.or(node.text("value_type")?);
    let element = absent(kind.as_deref());
    let said = Said { kind, ..Said::default() };
    let as_is = match decoding(&element, &said, (None, Encoding::Utf8))? {
        Decoding::Stored => Decoding::As(element),
        other => other,
    };
    Ok(plain::variable(node)?.map(|variable| variable.decoded(as_is).without_elements(&[0])))
}

/// Decodes an array along one axis: names of columns, or values of an index.
fn axis(group: &Node, node: &Node) -> Result<Option<Column>> {
    let name = word(node, "name")?.unwrap_or_default();
    if let Some(texts) = objects(node)? {
        return Ok(Some(Column::texts_of(node, &name, texts)));
    }
    if nothing(node)?.is_some() {
        return Ok(empty(node, "value_type")?.map(|none| Column::variable(none).renamed(name)));
    }
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    let said = Said::of(node, "kind")?;
    let decoding = match said.kind.as_deref() {
        // The codes are at the axis, and the names in an axis of their own, which has no categories.
        Some("category") if !node.name().ends_with("_categories") => {
            let names = labels(group, &format!("{}_categories", node.name()))?;
            let ordered = node.number("ordered")?.is_some_and(|truth| truth != 0.0);
            Decoding::Categories { names: names.into(), ordered }
        }
        _ => decoding(
            &variable.stored().element,
            &said,
            (missing_text(node, "nan_rep")?, Encoding::of(group)?),
        )?,
    };
    Ok(Some(Column::variable(variable.decoded(decoding)).renamed(name).in_units(said.units())))
}

/// Returns the names along an axis; those on several levels are joined by dots.
fn labels(group: &Node, name: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for (level, column) in index(group, name)?.iter().enumerate() {
        let rows = column.rows().unwrap_or_default();
        let cells = column.read(0, rows)?.cells()?.into_iter();
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "nan".to_owned()));
        if level == 0 {
            names.extend(cells);
        } else {
            names.iter_mut().zip(cells).for_each(|(name, cell)| {
                name.push('.');
                name.push_str(&cell);
            });
        }
    }
    Ok(names)
}

/// Decodes the index of a frame or series in the format `fixed`: one list, or codes and names on several
/// levels.
fn index(group: &Node, name: &str) -> Result<Vec<Column>> {
    if group.text(&format!("{name}_variety"))?.as_deref() != Some("multi") {
        let node = group.child(name)?;
        return Ok(node.map(|node| axis(group, &node)).transpose()?.flatten().into_iter().collect());
    }
    let levels = group.number(&format!("{name}_nlevels"))?.unwrap_or(0.0) as usize;
    let mut columns = Vec::new();
    for level in 0..levels.min(64) {
        let of_level = format!("{name}_level{level}");
        let (names, codes) = (group.child(&of_level)?, group.child(&format!("{name}_label{level}"))?);
        let (Some(names), Some(codes)) = (names, codes) else { continue };
        // Levels without a name have the names that pandas gives them as columns.
        let title = word(&names, "name")?.unwrap_or_else(|| format!("level_{level}"));
        let found = match nothing(&codes)? {
            Some(_) => empty(&codes, "value_type")?,
            None => plain::variable(&codes)?,
        };
        let categories = Decoding::Categories { names: labels(group, &of_level)?.into(), ordered: false };
        columns.extend(found.map(|codes| Column::variable(codes.decoded(categories)).renamed(title)));
    }
    Ok(columns)
}

/// As [`index`], without what cannot be decoded.
fn rows_of(group: &Node, name: &str, omitted: &mut Vec<(String, String)>) -> Result<Vec<Column>> {
    match index(group, name) {
        Err(error @ Error::Unsupported { .. }) => {
            omitted.push(("index".to_owned(), error.to_string()));
            Ok(Vec::new())
        }
        other => other,
    }
}

/// The columns of a frame, and those that are not shown with the reason.
#[derive(Default)]
struct Found {
    columns: Vec<Column>,
    omitted: Vec<(String, String)>,
}

/// Decodes one matrix of a frame in the format `fixed`.
fn block(group: &Node, block: usize, found: &mut Found) -> Result<Option<u64>> {
    let Some(values) = group.child(&format!("block{block}_values"))? else { return Ok(None) };
    let items = labels(group, &format!("block{block}_items"))?;
    let name = |at: usize| items.get(at).cloned().unwrap_or_else(|| format!("block{block}[{at}]"));
    if let Some(texts) = pickle_of(&values)?.and_then(|pickled| pickle::each_element(&pickled)) {
        let width = items.len().max(1);
        let rows = (texts.len() / width) as u64;
        let mut columns: Vec<Result<Vec<Option<String>>>> = (0..width).map(|_| Ok(Vec::new())).collect();
        // NumPy lists the objects of an array row by row, whatever the order of the array in memory is.
        for (at, text) in texts.into_iter().enumerate() {
            let Some(column) = columns.get_mut(at % width) else { continue };
            match (column.as_mut(), text) {
                (Ok(column), Ok(text)) => column.push(text),
                (Ok(_), Err(error)) => *column = Err(error),
                (Err(_), _) => {}
            }
        }
        for (at, column) in columns.into_iter().enumerate() {
            match column {
                Ok(texts) => found.columns.push(Column::texts_of(&values, &name(at), texts)),
                // What cannot be decoded hides nothing else.
                Err(error) => found.omitted.push((name(at), error.to_string())),
            }
        }
        return Ok(Some(rows));
    }
    if nothing(&values)?.is_some() {
        for at in 0..items.len() {
            found
                .columns
                .extend(empty(&values, "value_type")?.map(|none| Column::variable(none).renamed(name(at))));
        }
        return Ok(Some(0));
    }
    let said = Said::of(&values, "value_type")?;
    let Some(matrix) = plain::variable(&values)? else { return Ok(None) };
    let missing = (missing_text(&values, "nan_rep")?, Encoding::of(group)?);
    let decoding = decoding(&matrix.stored().element, &said, missing)?;
    let rows = matrix.shape().first().copied();
    // What is no array of NumPy, such as dates in a zone, is stored without a dimension for the columns.
    let flat = matrix.shape().len() == 1;
    let width = matrix.shape().get(1).copied().unwrap_or(1);
    let matrix = matrix.decoded(decoding);
    for at in 0..width {
        let name = usize::try_from(at).map_or_else(|_| String::new(), &name);
        let column = match flat {
            true => Column::variable(matrix.clone()).renamed(name),
            false => Column::block(name, &matrix, at, false),
        };
        found.columns.push(column.in_units(said.units()));
    }
    Ok(rows)
}

/// Decodes a frame in the format `fixed`.
pub(super) fn fixed(group: &Node) -> Result<Table> {
    let order = labels(group, "axis0")?;
    let mut found = Found::default();
    let index = rows_of(group, "axis1", &mut found.omitted)?;
    let blocks = group.number("nblocks")?.unwrap_or(0.0) as usize;
    let mut rows = index.first().and_then(Column::rows);
    for at in 0..blocks.min(1 << 16) {
        let before = found.columns.len();
        match block(group, at, &mut found) {
            Ok(height) => {
                // The values of other rows must not seem to be those of the rows of the index.
                if let Some((rows, height)) = rows.zip(height).filter(|(rows, height)| rows != height) {
                    let why = format!("it has {height} rows, and the frame has {rows}");
                    let others = found.columns.drain(before..);
                    found.omitted.extend(others.map(|column| (column.name, why.clone())));
                }
                rows = rows.or(height);
            }
            // What cannot be decoded hides nothing else.
            Err(error @ Error::Unsupported { .. }) => {
                let names = labels(group, &format!("block{at}_items"))?;
                found.omitted.extend(names.into_iter().map(|name| (name, error.to_string())));
            }
            Err(error) => return Err(error),
        }
    }
    let Found { columns, omitted } = found;
    let columns = in_order(columns, &order);
    let rows = rows.unwrap_or_default();
    Ok(Table { path: group.path().to_owned(), rows, index, columns, omitted }.with_distinct_names())
}

/// Decodes a series in the format `fixed`.
pub(super) fn series(group: &Node) -> Result<Option<Table>> {
    let Some(values) = group.child("values")? else { return Ok(None) };
    let name = word(group, "name")?.unwrap_or_else(|| "values".into());
    let mut omitted = Vec::new();
    let objects = match objects(&values) {
        Ok(objects) => objects,
        Err(error @ Error::Unsupported { .. }) => {
            omitted.push((name.clone(), error.to_string()));
            None
        }
        Err(error) => return Err(error),
    };
    let column = match objects {
        _ if !omitted.is_empty() => None,
        Some(texts) => Some(Column::texts_of(&values, &name, texts)),
        None if nothing(&values)?.is_some() => {
            empty(&values, "value_type")?.map(|none| Column::variable(none).renamed(name))
        }
        None => {
            let said = Said::of(&values, "value_type")?;
            let missing = (missing_text(&values, "nan_rep")?, Encoding::of(group)?);
            match plain::variable(&values)? {
                Some(variable) => {
                    let decoding = decoding(&variable.stored().element, &said, missing)?;
                    Some(Column::variable(variable.decoded(decoding)).renamed(name).in_units(said.units()))
                }
                None => None,
            }
        }
    };
    let index = rows_of(group, "index", &mut omitted)?;
    let rows = column.as_ref().or(index.first()).and_then(Column::rows);
    let columns = column.into_iter().collect();
    let table =
        Table { path: group.path().to_owned(), rows: rows.unwrap_or_default(), index, columns, omitted };
    Ok(Some(table.with_distinct_names()))
}
