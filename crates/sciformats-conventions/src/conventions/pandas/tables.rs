//! Frames and series in the format `table`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sciformats::{ElementType, Error, Result};
use sciformats_core::bound;

use super::attributes::{bytes, missing_text, pickled};
use super::kinds::{Encoding, Said, decoding};
use crate::decoding::Decoding;
use crate::node::Node;
use crate::pickle::{self, Item};
use crate::table::{Column, Records, Table};

/// Returns the categories that the codes of a field stand for, which may be an empty list; `None` if the codes are no codes.
fn categories(group: &Node, (node, gaps): (&Node, Gaps), field: &str) -> Result<Option<Decoding>> {
    // Categories have no categories.
    if gaps == Gaps::None {
        return Ok(None);
    }
    let meta = group.child(&format!("meta/{field}/meta"))?;
    let named = node.text(&format!("{field}_meta"))?.as_deref() == Some("category");
    // Old versions say it of columns only.
    if !named && (field != "index" || meta.is_none()) {
        return Ok(None);
    }
    let ordered = match told(group, field, "ordered")?.as_deref() {
        Some(Item::Truth(ordered)) => *ordered,
        Some(Item::Whole(ordered)) => *ordered != 0,
        _ => false,
    };
    let table = meta.map(|meta| table(&meta, Gaps::None)).transpose()?.flatten();
    let names = match &table {
        Some(table) => match table.columns.first() {
            Some(column) => column.read(0, table.rows)?.cells()?,
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    // No category is missing; pandas cannot tell a text from what it writes for missing ones.
    let names: Vec<String> = names.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Some(Decoding::Categories { names: names.into(), ordered }))
}

/// Whether texts of a table can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gaps {
    Some,
    /// Each text is what it is.
    None,
}

/// Which texts of the fields of a table mean missing ones.
struct Missing {
    /// For fields without a text of their own.
    all: Option<String>,
    /// Whether columns have a text of their own, or nothing is missing in them.
    own: bool,
    /// Whether it is so for the levels of an index.
    levels: bool,
}

impl Missing {
    fn of(group: &Node) -> Result<Self> {
        let truth =
            |name: &str| -> Result<bool> { Ok(group.number(name)?.is_some_and(|truth| truth != 0.0)) };
        let all = match pickled(group, "nan_rep")? {
            Some(item) => pickle::name(&item),
            None => group.text("nan_rep")?,
        };
        let all = Some(all.unwrap_or_else(|| "nan".to_owned()));
        Ok(Self { all, own: truth("data_col_nan_rep")?, levels: truth("mi_level_nan_rep")? })
    }

    /// The text of a column.
    fn text(&self, node: &Node, field: &str, is_level: bool) -> Result<Option<String>> {
        if self.own || (is_level && self.levels) {
            return Ok(node.text(&format!("{field}_nan_rep"))?.filter(|text| !text.is_empty()));
        }
        Ok(self.all.clone())
    }
}

/// Returns the type of the elements of a field, and how many there are if it is an array.
fn parts(element: &ElementType) -> (&ElementType, Option<u64>) {
    match element {
        ElementType::Array { element, shape } => {
            let all = shape.iter().fold(1u64, |all, &side| bound::product(all, side)); // more than any record has
            (element, Some(all))
        }
        element => (element, None),
    }
}

/// The largest number of columns in one field.
const WIDEST: u64 = 1 << 20;

/// Decodes a frame or series in the format `table`.
pub(super) fn table(group: &Node, gaps: Gaps) -> Result<Option<Table>> {
    let Some(node) = group.child("table")? else { return Ok(None) };
    let Some(records) = Records::of(&node)? else { return Ok(None) };
    let (missing, encoding) = (Missing::of(group)?, Encoding::of(group)?);
    let levels: Vec<String> = match bytes(group, "levels")?.and_then(|levels| pickle::names(&levels)) {
        Some(levels) => levels.into_iter().map(Option::unwrap_or_default).collect(),
        None => Vec::new(),
    };
    let (mut index, mut columns, mut omitted) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (name, element)) in records.fields().iter().enumerate() {
        let field = name.shown().into_owned();
        let (base, several) = parts(element);
        if field == "index" {
            if levels.is_empty() {
                let text = missing_text(&node, "index_nan_rep")?;
                let said = Said::of_field(group, (&node, "index_kind"), &field)?;
                let decoding = match categories(group, (&node, gaps), &field)? {
                    Some(categories) => categories,
                    None => decoding(base, &said, (text.filter(|_| gaps == Gaps::Some), encoding))?,
                };
                let column = Column::field(&records, at, decoding).renamed(index_name(group)?);
                index.push(column.in_units(said.units()));
            }
            continue;
        }
        let names =
            bytes(&node, &format!("{field}_kind"))?.and_then(|text| pickle::names(&text)).unwrap_or_default();
        let width = several.unwrap_or(1);
        let name = |inner: u64| {
            let known = usize::try_from(inner).ok().and_then(|inner| names.get(inner).cloned().flatten());
            known.unwrap_or_else(
                || if several.is_some() { format!("{field}[{inner}]") } else { field.clone() },
            )
        };
        let is_level = levels.contains(&name(0));
        let text = missing.text(&node, &field, is_level)?.filter(|_| gaps == Gaps::Some);
        let dtype = format!("{field}_dtype");
        let found = Said::of_field(group, (&node, &dtype), &field).and_then(|said| {
            let decoding = match categories(group, (&node, gaps), &field)? {
                Some(categories) => categories,
                None => decoding(base, &said, (text, encoding))?,
            };
            Ok((said, decoding))
        });
        let (said, decoding) = match found {
            Ok(found) if width <= WIDEST => found,
            Ok(_) => {
                omitted.push((field, format!("it has {width} columns, more than {WIDEST}")));
                continue;
            }
            Err(error @ Error::Unsupported { .. }) => {
                omitted.extend((0..width.min(WIDEST)).map(|inner| (name(inner), error.to_string())));
                continue;
            }
            Err(error) => return Err(error),
        };
        for inner in 0..width {
            let name = name(inner);
            let column = if several.is_some() {
                Column::element(&name, &records, (at, inner), decoding.clone())
            } else {
                Column::field(&records, at, decoding.clone()).renamed(&name)
            };
            let column = column.in_units(said.units());
            if levels.contains(&name) { index.push(column) } else { columns.push(column) }
        }
    }
    let columns = in_order(columns, &column_order(group)?);
    let index = in_order(index, &levels);
    let table = Table { path: group.path().to_owned(), rows: records.rows(), index, columns, omitted };
    Ok(Some(table.with_distinct_names()))
}

/// Returns what the pickled dictionary of a table says about one of its fields.
pub(super) fn told(group: &Node, field: &str, key: &str) -> Result<Option<Arc<Item>>> {
    let item = pickled(group, "info")?;
    let value = |list: &Item, key: &str| match list {
        Item::List(parts) => {
            // Keys and values alternate.
            let at = parts.iter().step_by(2).position(|part| **part == Item::Text(key.into()))?;
            parts.get(at.checked_mul(2)?.checked_add(1)?).cloned()
        }
        _ => None,
    };
    let of = item.as_ref().and_then(|item| value(item, field));
    Ok(of.and_then(|of| value(&of, key)))
}

/// Returns the name of the index of a table, or `index` if it has none.
fn index_name(group: &Node) -> Result<String> {
    let named = told(group, "index", "index_name")?.and_then(|name| pickle::name(&name));
    Ok(named.unwrap_or_else(|| "index".into()))
}

/// Sorts columns by a list of their names, in which names can be repeated; those that are not in it come last.
pub(super) fn in_order(columns: Vec<Column>, names: &[String]) -> Vec<Column> {
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        places.entry(name).or_default().push_back(at);
    }
    let mut placed: Vec<(usize, Column)> = Vec::new();
    for column in columns {
        let place = places.get_mut(column.name.as_str()).and_then(VecDeque::pop_front);
        placed.push((place.unwrap_or(names.len()), column));
    }
    sciformats_core::order::sort_by_key(&mut placed, |(place, _): &(usize, Column)| *place);
    placed.into_iter().map(|(_, column)| column).collect()
}

/// The names of the columns in their order: `[(1, [names])]`.
fn column_order(group: &Node) -> Result<Vec<String>> {
    let item = pickled(group, "non_index_axes")?;
    let inner = |item: &Item, at: usize| match item {
        Item::List(parts) => parts.get(at).cloned(),
        _ => None,
    };
    let names = item.and_then(|item| inner(&item, 0)).and_then(|axis| inner(&axis, 1));
    Ok(match names.as_deref() {
        Some(Item::List(names)) => names.iter().map(|name| pickle::label(name).unwrap_or_default()).collect(),
        _ => Vec::new(),
    })
}
