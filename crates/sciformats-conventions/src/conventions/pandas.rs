//! Data frames and series that pandas stores in `PyTables` files (`DataFrame.to_hdf`), in the formats `fixed`
//! and `table`.
//!
//! Source: the module `pandas.io.pytables`. The `pandas_type` of a group says what it contains. `fixed` has
//! one matrix per type of column, and the names of its columns beside it. `table` has one list of records,
//! whose fields contain several columns each.

use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Result, Slab};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::pickle;
use crate::table::{Column, Records, Table};
use crate::time::{Calendar, Period, TimeUnits};

pub(crate) struct Pandas;

/// The number of groups that are examined to find frames.
const LOOKED_AT: usize = 64;

/// The unit of a kind such as `datetime64[us]` in a word of CF and in seconds; without a unit it is nanoseconds.
fn unit(kind: &str) -> (&'static str, f64) {
    match kind.split_once('[').map(|(_, unit)| unit.trim_end_matches(']')) {
        Some("s") => ("seconds", 1.0),
        Some("ms") => ("milliseconds", 1e-3),
        Some("us") => ("microseconds", 1e-6),
        _ => ("nanoseconds", 1e-9),
    }
}

/// Returns the decoding for a kind of date: `datetime64[ns]`. In a time zone, moments are stored in UTC.
fn moments(kind: &str, zoned: bool) -> Option<Decoding> {
    let units = format!("{} since 1970-01-01", unit(kind).0);
    let units = TimeUnits::parse(&units, Calendar::ProlepticGregorian)?;
    let units = if zoned { units.in_utc() } else { units };
    let mut numbers = Numbers::new(ElementType::Int(8));
    numbers.fill = vec![NOT_A_TIME];
    Some(Decoding::Time { numbers, units })
}

/// Returns the decoding for a kind of span, `timedelta64[ns]`: a number of seconds.
fn spans(kind: &str) -> Decoding {
    let mut numbers = Numbers::new(ElementType::Int(8));
    numbers.fill = vec![NOT_A_TIME];
    numbers.scale = Some(unit(kind).1);
    numbers.to = Some(ElementType::F64);
    Decoding::Numbers(numbers)
}

/// The integer that means a missing date or span.
const NOT_A_TIME: f64 = i64::MIN as f64;

/// What the attributes of an array or a field say about its values.
#[derive(Default)]
struct Said {
    /// The type of NumPy or pandas.
    kind: Option<String>,
    /// Whether the dates belong to a time zone.
    zoned: bool,
    /// The length of the periods that are counted.
    period: Option<Period>,
}

impl Said {
    /// What the attributes of an array say, of which `kind` names the type.
    fn of(node: &Node, kind: &str) -> Result<Self> {
        let zone = word(node, "tz")?;
        let freq =
            if node.text("index_class")?.as_deref() == Some("period") { node.text("freq")? } else { None };
        let period = freq.and_then(|freq| pickle::period(&*pickle::parse(freq.as_bytes())?));
        Ok(Self { kind: node.text(kind)?, zoned: zone.is_some_and(|zone| !zone.is_empty()), period })
    }

    /// What is said about a field of a table: by an attribute of its records, and by the dictionary of its group.
    fn of_field(group: &Node, (node, kind): (&Node, &str), field: &str) -> Result<Self> {
        let zone = told(group, field, "tz")?;
        let zoned = zone.is_some_and(|zone| *zone != pickle::Item::Nothing);
        let kind = node.text(kind)?;
        // Only the index can consist of periods; the spacing of dates is described in the same way.
        let counted = field == "index" && kind.as_deref() == Some("integer");
        let freq = if counted { told(group, field, "freq")? } else { None };
        Ok(Self { kind, zoned, period: freq.and_then(|freq| pickle::period(&freq)) })
    }

    /// The units of the decoded values.
    fn units(&self) -> Option<String> {
        let span = self.kind.as_ref().is_some_and(|kind| kind.starts_with("timedelta64"));
        span.then(|| "s".to_owned())
    }
}

/// Returns how elements become values; `nan` is the text that means a missing text.
fn decoding(element: &ElementType, said: &Said, nan: &str) -> Decoding {
    if let (ElementType::Int(8), Some(period)) = (element, said.period) {
        return Decoding::Periods(period);
    }
    match (element, said.kind.as_deref()) {
        (ElementType::Int(8), Some(kind)) if kind.starts_with("datetime64") => {
            moments(kind, said.zoned).unwrap_or(Decoding::Stored)
        }
        (ElementType::Int(8), Some(kind)) if kind.starts_with("timedelta64") => spans(kind),
        (ElementType::UInt(1) | ElementType::Bits(1), Some("bool")) => Decoding::Truth,
        (ElementType::Text, _) => Decoding::Text { missing: nan.to_owned() },
        (element, _) => plain::natural(element),
    }
}

/// Returns a text attribute that may be pickled, because pandas pickles names that are not texts.
fn word(node: &Node, name: &str) -> Result<Option<String>> {
    let Some(text) = node.text(name)? else { return Ok(None) };
    let pickled = text.ends_with('.').then(|| pickle::parse(text.as_bytes())).flatten();
    Ok(match pickled {
        Some(item) => pickle::name(&item),
        None => Some(text).filter(|text| text != "N."),
    })
}

/// Returns the texts of a pickled array of objects, which is stored as bytes of variable length; `None` for
/// any other array.
fn objects(node: &Node) -> Result<Option<Vec<Option<String>>>> {
    if node.text("CLASS")?.as_deref() != Some("VLARRAY")
        || node.text("PSEUDOATOM")?.as_deref() != Some("object")
    {
        return Ok(None);
    }
    let Some(info) = node.info()? else { return Ok(None) };
    let Some(&[rows]) = info.shape.as_deref() else { return Ok(None) };
    let mut bytes = Vec::new();
    node.file().read(node.id(), &Slab::all(&[rows])?, &mut bytes)?;
    let Some(Datum::List(list)) = Decoder::new(&info.element, &bytes).next().transpose()? else {
        return Ok(None);
    };
    let pickled: Vec<u8> = list.iter().filter_map(|byte| u8::try_from(byte.to_i128()?).ok()).collect();
    pickle::elements(&pickled).map_err(|error| error.within(None, Some(node.path())))
}

/// Decodes a list of labels: names of columns, or values of an index.
fn axis(node: &Node) -> Result<Option<Column>> {
    let name = word(node, "name")?.unwrap_or_default();
    if let Some(texts) = objects(node)? {
        return Ok(Some(Column::texts(&name, texts)));
    }
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    let said = Said::of(node, "kind")?;
    let decoding = decoding(&variable.stored().element, &said, "nan");
    Ok(Some(Column::variable(variable.decoded(decoding)).renamed(name).in_units(said.units())))
}

fn labels(node: Option<Node>) -> Result<Vec<String>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let rows = super::members::length(&node)?.unwrap_or_default();
    let Some(column) = axis(&node)? else { return Ok(Vec::new()) };
    let rows = column.rows().unwrap_or(rows);
    Ok(column.read(0, rows)?.cells()?.into_iter().map(Option::unwrap_or_default).collect())
}

/// Decodes the index of a frame or series in the format `fixed`: one list, or codes and names on several
/// levels.
fn index(group: &Node, name: &str) -> Result<Vec<Column>> {
    if group.text(&format!("{name}_variety"))?.as_deref() != Some("multi") {
        let node = group.child(name)?;
        return Ok(node.map(|node| axis(&node)).transpose()?.flatten().into_iter().collect());
    }
    let levels = group.number(&format!("{name}_nlevels"))?.unwrap_or(0.0) as usize;
    let mut columns = Vec::new();
    for level in 0..levels.min(64) {
        let (names, codes) =
            (group.child(&format!("{name}_level{level}"))?, group.child(&format!("{name}_label{level}"))?);
        let (Some(names), Some(codes)) = (names, codes) else { continue };
        let title = word(&names, "name")?.unwrap_or_default();
        let categories = Decoding::Categories { names: labels(Some(names))?.into(), ordered: false };
        columns.extend(
            plain::variable(&codes)?.map(|codes| Column::variable(codes.decoded(categories)).renamed(title)),
        );
    }
    Ok(columns)
}

/// Decodes a frame in the format `fixed`.
fn fixed(group: &Node) -> Result<Table> {
    let order = labels(group.child("axis0")?)?;
    let index = index(group, "axis1")?;
    let blocks = group.number("nblocks")?.unwrap_or(0.0) as usize;
    let mut columns: Vec<Column> = Vec::new();
    let mut rows = None;
    for block in 0..blocks.min(1 << 16) {
        let items = labels(group.child(&format!("block{block}_items"))?)?;
        let Some(values) = group.child(&format!("block{block}_values"))? else { continue };
        if let Some(texts) = objects(&values)? {
            let width = items.len().max(1);
            rows = rows.or(Some((texts.len() / width) as u64));
            for (at, name) in items.iter().enumerate() {
                // NumPy lists the objects of an array row by row, whatever the order of the array in memory is.
                let texts = texts.iter().skip(at).step_by(width).cloned().collect();
                columns.push(Column::texts(name, texts));
            }
            continue;
        }
        let Some(matrix) = plain::variable(&values)? else { continue };
        let said = Said::of(&values, "value_type")?;
        let decoding = decoding(&matrix.stored().element, &said, "nan");
        rows = rows.or(matrix.shape().first().copied());
        let matrix = matrix.decoded(decoding);
        columns.extend(
            items.iter().enumerate().map(|(at, name)| {
                Column::block(name.clone(), &matrix, at as u64, false).in_units(said.units())
            }),
        );
    }
    let place = |column: &Column| place_in(&order, column);
    sciformats_core::order::sort_by_key(&mut columns, place);
    Ok(Table { path: group.path().to_owned(), rows: rows.unwrap_or_default(), index, columns })
}

/// Decodes a series in the format `fixed`.
fn series(group: &Node) -> Result<Option<Table>> {
    let Some(values) = group.child("values")? else { return Ok(None) };
    let name = word(group, "name")?.unwrap_or_else(|| "values".into());
    let column = match objects(&values)? {
        Some(texts) => Some(Column::texts(&name, texts)),
        None => {
            let said = Said::of(&values, "value_type")?;
            plain::variable(&values)?.map(|variable| {
                let decoding = decoding(&variable.stored().element, &said, "nan");
                Column::variable(variable.decoded(decoding)).renamed(name).in_units(said.units())
            })
        }
    };
    let rows = column.as_ref().and_then(Column::rows).or(super::members::length(&values)?);
    let columns = column.into_iter().collect();
    Ok(Some(Table {
        path: group.path().to_owned(),
        rows: rows.unwrap_or_default(),
        index: index(group, "index")?,
        columns,
    }))
}

/// Returns the names of the categories that the codes of a field stand for.
fn categories(group: &Node, field: &str) -> Result<Option<Arc<[String]>>> {
    let Some(meta) = group.child(&format!("meta/{field}/meta"))? else { return Ok(None) };
    let Some(table) = table(&meta)? else { return Ok(None) };
    let Some(column) = table.columns.first() else { return Ok(None) };
    let cells = column.read(0, table.rows)?.cells()?;
    Ok(Some(cells.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().into()))
}

/// Decodes a frame or series in the format `table`.
fn table(group: &Node) -> Result<Option<Table>> {
    let Some(node) = group.child("table")? else { return Ok(None) };
    let Some(records) = Records::of(&node)? else { return Ok(None) };
    let nan = group.text("nan_rep")?.unwrap_or_else(|| "nan".into());
    let levels = group.text("levels")?.and_then(|text| pickle::names(text.as_bytes())).unwrap_or_default();
    let (mut index, mut columns) = (Vec::new(), Vec::new());
    for (at, (name, element)) in records.fields().iter().enumerate() {
        let field = name.shown().into_owned();
        let (base, several) = match element {
            ElementType::Array { element, .. } => (&**element, true),
            element => (element, false),
        };
        if field == "index" {
            let said = Said::of_field(group, (&node, "index_kind"), &field)?;
            let decoding = decoding(base, &said, &nan);
            if levels.is_empty() {
                let column = Column::field(&records, at, decoding).renamed(index_name(group)?);
                index.push(column.in_units(said.units()));
            }
            continue;
        }
        let said = Said::of_field(group, (&node, &format!("{field}_dtype")), &field)?;
        let names = node.text(&format!("{field}_kind"))?.and_then(|text| pickle::names(text.as_bytes()));
        let decoding = match node.text(&format!("{field}_meta"))?.as_deref() {
            Some("category") => match categories(group, &field)? {
                Some(names) => Decoding::Categories { names, ordered: false },
                None => Decoding::Stored,
            },
            _ => decoding(base, &said, &nan),
        };
        for (inner, name) in names.unwrap_or_else(|| vec![field.clone()]).iter().enumerate() {
            let column = if several {
                Column::element(name, &records, (at, inner as u64), decoding.clone())
            } else {
                Column::field(&records, at, decoding.clone()).renamed(name)
            };
            let column = column.in_units(said.units());
            if levels.contains(name) { index.push(column) } else { columns.push(column) }
        }
    }
    let order = column_order(group)?;
    sciformats_core::order::sort_by_key(&mut columns, |column: &Column| place_in(&order, column));
    sciformats_core::order::sort_by_key(&mut index, |column: &Column| place_in(&levels, column));
    Ok(Some(Table { path: group.path().to_owned(), rows: records.rows(), index, columns }))
}

/// Returns what the pickled dictionary of a table says about one of its fields.
fn told(group: &Node, field: &str, key: &str) -> Result<Option<Arc<pickle::Item>>> {
    use pickle::Item;
    let item = group.text("info")?.and_then(|text| pickle::parse(text.as_bytes()));
    let value = |list: &Item, key: &str| match list {
        Item::List(parts) => {
            let at = parts.iter().position(|part| **part == Item::Text(key.into()))?;
            parts.get(at + 1).cloned()
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

/// The place of a column in a list of names; those that are not in it come last.
fn place_in(names: &[String], column: &Column) -> usize {
    names.iter().position(|name| *name == column.name).unwrap_or(names.len())
}

/// The names of the columns in their order: `[(1, [names])]`.
fn column_order(group: &Node) -> Result<Vec<String>> {
    use pickle::Item;
    let item = group.text("non_index_axes")?.and_then(|text| pickle::parse(text.as_bytes()));
    let inner = |item: &Item, at: usize| match item {
        Item::List(parts) => parts.get(at).cloned(),
        _ => None,
    };
    let names = item.and_then(|item| inner(&item, 0)).and_then(|axis| inner(&axis, 1));
    Ok(match names.as_deref() {
        Some(Item::List(names)) => names.iter().filter_map(|name| pickle::name(name)).collect(),
        _ => Vec::new(),
    })
}

/// Returns the groups that contain frames and series, the nearest to the root first.
fn frames(root: &Node) -> Result<Vec<(Node, String)>> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut groups = std::collections::VecDeque::from([root.clone()]);
    while let Some(group) = groups.pop_front() {
        if let Some(kind) = group.text("pandas_type")? {
            found.push((group, kind));
            continue;
        }
        for child in group.few(LOOKED_AT + 1)? {
            looked += 1;
            if looked > LOOKED_AT {
                return Ok(found);
            }
            if child.kind()? == sciformats::Kind::Group {
                groups.push_back(child);
            }
        }
    }
    Ok(found)
}

impl Convention for Pandas {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        if root.text("PYTABLES_FORMAT_VERSION")?.is_none() {
            return Ok(None);
        }
        let Some((group, kind)) = frames(root)?.into_iter().next() else { return Ok(None) };
        let version = group.text("pandas_version")?;
        Ok(Some(
            Identity::new("pandas", format!("pandas_type of {} is {kind}", group.path()))
                .with_version(version),
        ))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        Ok(match node.text("pandas_type")?.as_deref() {
            Some("frame") => Some(Meaning::Table(fixed(node)?)),
            Some("series") => series(node)?.map(Meaning::Table),
            Some("frame_table" | "series_table") => table(node)?.map(Meaning::Table),
            _ => None,
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let frames = frames(root)?.into_iter();
        Ok(frames.fold(Outline::default(), |outline, (node, kind)| outline.with(node.path(), kind)))
    }
}
