//! Data frames and series that pandas stores in `PyTables` files (`DataFrame.to_hdf`), in the formats `fixed`
//! and `table`.
//!
//! Source: the module `pandas.io.pytables`. The `pandas_type` of a group says what it contains. `fixed` has
//! one matrix per type of column, and the names of its columns beside it. `table` has one list of records,
//! whose fields contain several columns each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Error, Result, Slab};
use sciformats_core::bound;

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::pickle::{self, Item};
use crate::table::{Column, Records, Table};
use crate::time::{Calendar, Period, TimeUnits};
use crate::variable::Variable;

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
    numbers.divides = true;
    numbers.to = Some(ElementType::F64);
    Decoding::Numbers(numbers)
}

/// The integer that means a missing date or span.
const NOT_A_TIME: f64 = i64::MIN as f64;

/// How the bytes of texts in fields are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
    Other,
}

impl Encoding {
    fn of(group: &Node) -> Result<Self> {
        let name = group.text("encoding")?.unwrap_or_default().to_ascii_lowercase().replace('_', "-");
        Ok(match name.as_str() {
            "" | "n." | "utf-8" | "utf8" | "ascii" | "us-ascii" => Self::Utf8,
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" => Self::Latin1,
            _ => Self::Other,
        })
    }
}

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
        let kind = node.text(kind)?;
        let periods = node.text("index_class")?.as_deref() == Some("period");
        let freq = if periods { pickled(node, "freq")? } else { None };
        let zoned = match pickled(node, "tz")? {
            Some(zone) => *zone != Item::Nothing,
            None => node.text("tz")?.is_some_and(|zone| !zone.is_empty()),
        };
        let period = freq.map(|freq| counted(&freq)).transpose()?.or(of_type(kind.as_deref())?);
        Ok(Self { kind, zoned, period })
    }

    /// What is said about a field of a table: by an attribute of its records, and by the dictionary of its group.
    fn of_field(group: &Node, (node, kind): (&Node, &str), field: &str) -> Result<Self> {
        let zone = told(group, field, "tz")?;
        let zoned = zone.is_some_and(|zone| *zone != Item::Nothing);
        let kind = node.text(kind)?;
        // The spacing of dates is described as the length of periods is.
        let integers = field == "index" && kind.as_deref() == Some("integer");
        let freq = if integers { told(group, field, "freq")? } else { None };
        let freq = freq.filter(|freq| **freq != Item::Nothing);
        let period = freq.map(|freq| counted(&freq)).transpose()?.or(of_type(kind.as_deref())?);
        Ok(Self { kind, zoned, period })
    }

    /// The units of the decoded values.
    fn units(&self) -> Option<String> {
        let span = self.kind.as_ref().is_some_and(|kind| kind.starts_with("timedelta64"));
        span.then(|| "s".to_owned())
    }
}

/// Returns the length of periods; an unknown one is an error, since their numbers alone say nothing.
fn counted(freq: &Item) -> Result<Period> {
    pickle::period(freq).ok_or_else(|| {
        let class = match freq {
            Item::Object(class, _) => class.as_str(),
            _ => "unknown",
        };
        Error::unsupported(format!("an index of periods of the length {class}"))
    })
}

/// Returns the length of periods that the name of a type contains.
fn of_type(kind: Option<&str>) -> Result<Option<Period>> {
    let Some(kind) = kind.filter(|kind| kind.starts_with("period")) else { return Ok(None) };
    pickle::period_of_type(kind)
        .map(Some)
        .ok_or_else(|| Error::unsupported(format!("a column of the type {kind}")))
}

/// Returns how elements become values; `missing` is the text that means a missing text, if there is one.
fn decoding(
    element: &ElementType,
    said: &Said,
    (missing, encoding): (Option<String>, Encoding),
) -> Result<Decoding> {
    if let (ElementType::Int(8), Some(period)) = (element, said.period) {
        return Ok(Decoding::Periods(period));
    }
    Ok(match (element, said.kind.as_deref()) {
        (ElementType::Int(8), Some(kind)) if kind.starts_with("datetime64") => {
            moments(kind, said.zoned).unwrap_or(Decoding::Stored)
        }
        (ElementType::Int(8), Some(kind)) if kind.starts_with("timedelta64") => spans(kind),
        // The days of Python are counted from the first one of the year 1, which is the first.
        (ElementType::Int(4) | ElementType::Time(4), Some("date")) => {
            match TimeUnits::parse("days since 0000-12-31", Calendar::ProlepticGregorian) {
                Some(units) => Decoding::Time { numbers: Numbers::new(ElementType::Int(4)), units },
                None => Decoding::Stored,
            }
        }
        (ElementType::UInt(1) | ElementType::Bits(1), Some("bool")) => Decoding::Truth,
        (ElementType::Text, _) => match (encoding, missing) {
            (Encoding::Utf8, Some(missing)) => Decoding::Text { missing },
            (Encoding::Utf8, None) => Decoding::Stored,
            (Encoding::Latin1, missing) => Decoding::Latin1Text { missing },
            (Encoding::Other, _) => {
                return Err(Error::unsupported("the encoding of the texts of this frame"));
            }
        },
        (element, _) => plain::natural(element),
    })
}

/// Returns the contents of an attribute that is a pickle; `None` if there is no such attribute.
fn pickled(node: &Node, name: &str) -> Result<Option<Arc<Item>>> {
    Ok(bytes(node, name)?.filter(|bytes| bytes.ends_with(b".")).and_then(|bytes| pickle::parse(&bytes)))
}

/// Returns the bytes of a text attribute, of which pickles need not be UTF-8.
fn bytes(node: &Node, name: &str) -> Result<Option<Vec<u8>>> {
    let Some(value) = node.attribute(name)? else { return Ok(None) };
    if value.shape.is_none() {
        return Ok(None);
    }
    let data = value.data?;
    Ok(match Decoder::new(&value.element, &data).next().transpose()? {
        Some(Datum::Text(text) | Datum::Bytes(text)) => {
            let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            text.get(..end).map(<[u8]>::to_vec)
        }
        _ => None,
    })
}

/// Returns a name, which is pickled or a number if it is no text; `None` if there is none.
fn word(node: &Node, name: &str) -> Result<Option<String>> {
    if let Some(item) = pickled(node, name)? {
        return Ok(pickle::name(&item));
    }
    if let Some(text) = node.text(name)? {
        return Ok(Some(text));
    }
    if let Some([whole]) = node.integers(name)?.as_deref() {
        return Ok(Some(whole.to_string()));
    }
    Ok(match node.numbers(name)?.as_deref() {
        Some([number]) => Some(number.to_string()),
        _ => None,
    })
}

/// Returns the text that means a missing text in an attribute, where an empty one means that nothing is missing; without the
/// attribute it is `nan`, as pandas wrote it before version 3.
fn missing_text(node: &Node, name: &str) -> Result<Option<String>> {
    Ok(match node.has(name)? {
        true => node.text(name)?.filter(|text| !text.is_empty()),
        false => Some("nan".to_owned()),
    })
}

/// Returns the texts of a pickled array of objects, which is stored as bytes of variable length; `None` for
/// any other array.
fn objects(node: &Node) -> Result<Option<Vec<Option<String>>>> {
    let Some(pickled) = pickle_of(node)? else { return Ok(None) };
    pickle::elements(&pickled).map_err(|error| error.within(None, Some(node.path())))
}

/// Returns the pickle that such an array is.
fn pickle_of(node: &Node) -> Result<Option<Vec<u8>>> {
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
    Ok(Some(list.iter().filter_map(|byte| u8::try_from(byte.to_i128()?).ok()).collect()))
}

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
fn fixed(group: &Node) -> Result<Table> {
    let order = labels(group, "axis0")?;
    let mut found = Found::default();
    let index = rows_of(group, "axis1", &mut found.omitted)?;
    let blocks = group.number("nblocks")?.unwrap_or(0.0) as usize;
    let mut rows = index.first().and_then(Column::rows);
    for at in 0..blocks.min(1 << 16) {
        match block(group, at, &mut found) {
            Ok(height) => rows = rows.or(height),
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
fn series(group: &Node) -> Result<Option<Table>> {
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
enum Gaps {
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
fn table(group: &Node, gaps: Gaps) -> Result<Option<Table>> {
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
fn told(group: &Node, field: &str, key: &str) -> Result<Option<Arc<Item>>> {
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
fn in_order(columns: Vec<Column>, names: &[String]) -> Vec<Column> {
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
            Some("frame_table" | "series_table") => table(node, Gaps::Some)?.map(Meaning::Table),
            _ => None,
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let frames = frames(root)?.into_iter();
        Ok(frames.fold(Outline::default(), |outline, (node, kind)| outline.with(node.path(), kind)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
