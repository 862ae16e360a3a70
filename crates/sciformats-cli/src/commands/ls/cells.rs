//! The cells of a line that describes an object.

use std::path::Path;

use sciformats::{ArrayInfo, Error, Object};
use sciformats_conventions::{Table, Variable, type_name};

use super::meant::{self, Glance, Meant, is_time};
use crate::commands::json::JsonObject;
use crate::look::{self, Cell, FAINT, PLAIN, SHAPE, TITLE, TYPE, WRONG};

/// How an array is listed.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Whether storage is shown.
    pub(super) long: bool,
    /// Whether the line stands for several arrays.
    pub(super) several: bool,
    /// Whether nobody knows its length, because it follows from files that cannot be asked.
    pub(super) unmeasured: bool,
}

/// Returns the name of an array, with the names of its dimensions if they have some.
pub(super) fn name(name: &str, meant: Option<&Meant>) -> Cell {
    let name = look::safe(name);
    let Some(variable) = meant.map(|meant| &meant.variable).filter(|variable| variable.has_names()) else {
        return Cell::new(PLAIN, name);
    };
    // The signature, with the name as the file has it.
    let signature = variable.signature();
    let dimensions = signature.strip_prefix(variable.name.as_str()).unwrap_or_default();
    Cell::new(PLAIN, name).and(SHAPE, look::safe(dimensions))
}

/// Returns the cells after the name of an array.
pub(super) fn array(info: &ArrayInfo, meant: Option<&Meant>, style: Style) -> Vec<Cell> {
    let variable = meant.map(|meant| &meant.variable);
    let extent = if style.unmeasured { unknown() } else { extent(info, meant) };
    let mut cells = vec![values(info, variable), extent];
    let size = |bytes: Option<u64>| bytes.map(look::size).unwrap_or_default();
    let dimension = variable.is_some_and(Variable::is_dimension);
    let filters = look::safe(&info.filters.join(", ")).into_owned();
    if !style.long {
        let bytes = info.stored.or(info.logical()).filter(|_| !dimension && !style.unmeasured);
        cells.push(Cell::new(PLAIN, size(bytes)).unbroken());
        cells.push(said(meant, &filters));
        return cells;
    }
    let chunks = info.chunks.as_deref().map(|chunks| format!("chunks {}", look::shape(Some(chunks))));
    let facts = info.facts.iter().filter(|(key, _)| !style.several || *key != "offset");
    let facts = facts.map(|(key, value)| match *key {
        "byte order" => value.to_string(),
        key => format!("{key} {value}"),
    });
    let notes: Vec<String> = chunks.into_iter().chain(info.filters.clone()).chain(facts).collect();
    cells.push(Cell::new(PLAIN, size(info.stored)).unbroken());
    let logical =
        info.logical().filter(|_| !style.unmeasured).map(|bytes| format!("of {}", look::size(bytes)));
    cells.push(Cell::new(FAINT, logical.unwrap_or_default()));
    cells.push(said(meant, &look::safe(&notes.join(", "))));
    cells
}

/// Returns the cell of an array whose length nobody knows.
pub(super) fn unknown() -> Cell {
    Cell::new(WRONG, "unknown length")
}

/// Returns the cells after the name of an array that stands for a table.
pub(super) fn of_table(info: &ArrayInfo, what: &str, table: &Table) -> Vec<Cell> {
    let columns = table.all_columns().count() as u64;
    let rows = look::count(table.rows, "row");
    // The cells of a cell array have no name of their own.
    let extent = if columns == 0 || super::meant::has_columns(table) {
        format!("{rows}, {}", look::count(columns, "column"))
    } else {
        look::count(table.rows, "cell")
    };
    let size = info.stored.or(info.logical()).map(look::size).unwrap_or_default();
    vec![
        Cell::new(TYPE, look::safe(what)),
        Cell::new(SHAPE, extent),
        Cell::new(PLAIN, size).unbroken(),
        Cell::default(),
    ]
}

/// Describes the values of an array, such as `float32 ← int16, K`. The units of dates are shown beside the
/// first and the last one.
fn values(info: &ArrayInfo, variable: Option<&Variable>) -> Cell {
    let Some(variable) = variable else {
        return Cell::new(TYPE, look::safe(&clipped(&type_name(&info.element))));
    };
    if variable.is_dimension() {
        return Cell::new(FAINT, "dimension");
    }
    let cell = Cell::new(TYPE, look::safe(&clipped(&variable.kind_name())));
    match &variable.units {
        Some(units) if !is_time(variable) => {
            cell.and(PLAIN, look::safe(&format!(", {}", look::clipped(units, 24))))
        }
        _ => cell,
    }
}

fn clipped(text: &str) -> String {
    look::clipped(text, 40)
}

/// Returns the shape if the dimensions have no names; otherwise the value of a scalar, the range of
/// coordinates, or a name for people.
fn extent(info: &ArrayInfo, meant: Option<&Meant>) -> Cell {
    let Some(Meant { variable, glance }) = meant else {
        return Cell::new(SHAPE, look::shape(info.shape.as_deref()));
    };
    let shape = Cell::new(SHAPE, look::shape(Some(&variable.shape())));
    match glance {
        Some(Glance::Value(value)) => {
            let cell = Cell::new(FAINT, "= ").and(PLAIN, look::safe(value));
            if value.starts_with('"') { cell } else { cell.unbroken() }
        }
        _ if !variable.has_names() => shape,
        _ => told(variable, glance.as_ref()),
    }
}

/// Returns the range of coordinates, the name for people, and the flags.
fn told(variable: &Variable, glance: Option<&Glance>) -> Cell {
    let cell = match glance {
        Some(Glance::Ends(first, last)) => {
            Cell::new(PLAIN, look::safe(&format!("{first} … {last}"))).unbroken()
        }
        _ => Cell::default(),
    };
    let alone = !matches!(glance, Some(Glance::Ends(..)));
    // A name for people that only repeats the name of the array is left out.
    match variable.long_name.as_ref().filter(|name| **name != variable.name) {
        Some(name) => {
            let space = if alone { "" } else { "  " };
            cell.and(PLAIN, format!("{space}{}", look::safe(&look::clipped(name, 60))))
        }
        None => match &variable.flags {
            Some(flags) if alone => {
                cell.and(PLAIN, look::safe(&look::clipped(&flags.meanings.join(", "), 40)))
            }
            _ => cell,
        },
    }
}

/// Returns what did not fit into the other cells, and how the array is stored.
fn said(meant: Option<&Meant>, stored: &str) -> Cell {
    let mut cell = Cell::default();
    if let Some(Meant { variable, glance }) = meant {
        let value = matches!(glance, Some(Glance::Value(_)));
        if value || !variable.has_names() {
            cell = told(variable, glance.as_ref());
        }
        // All dates of MATLAB count the same.
        let counted = is_time(variable) && !meant::is_of_matlab(variable);
        if let Some(units) = variable.units.as_ref().filter(|_| counted) {
            let space = if cell.is_empty() { "" } else { "  " };
            cell = cell.and(PLAIN, format!("{space}{}", look::safe(units)));
        }
    }
    let space = if cell.is_empty() || stored.is_empty() { "" } else { "  " };
    cell.and(FAINT, format!("{space}{stored}"))
}

/// Returns the path of a file, with the name of the file highlighted.
pub(super) fn title(path: &Path) -> Cell {
    let text = path.display().to_string();
    let name = path.file_name().map_or(0, |name| name.to_string_lossy().len());
    let at = text.len().checked_sub(name).filter(|&at| text.is_char_boundary(at)).unwrap_or(0); // a position in the text
    let (folder, name) = text.split_at(at);
    Cell::new(FAINT, look::safe(folder)).and(TITLE, look::safe(name))
}

pub(super) fn wrong(error: &Error) -> Cell {
    Cell::new(WRONG, look::safe(&error.to_string()))
}

/// Returns the cell after the name of an object that is neither a group nor an array.
pub(super) fn described(object: &Object) -> Cell {
    match object {
        Object::Datatype(element) => {
            let text = type_name(element);
            Cell::new(FAINT, "type ").and(TYPE, look::safe(&look::clipped(&text, 60)))
        }
        Object::Value(value) => {
            let text = value.to_string();
            Cell::new(PLAIN, look::safe(&look::clipped(&text, 60)))
        }
        Object::Damaged { error, .. } => wrong(error),
        Object::Group | Object::Array(_) => Cell::default(),
    }
}

/// Adds the description of an object to its JSON line. `unknown` is why nobody knows the length of an array.
pub(super) fn describe(
    line: &mut JsonObject,
    object: &Object,
    (meant, unknown): (Option<&Meant>, Option<&Error>),
) {
    line.value("kind", object.kind().word());
    match object {
        Object::Group => {}
        Object::Array(info) => {
            match unknown {
                Some(error) => {
                    line.raw("type", &info.element.to_json()).value("unknown", error.to_string());
                }
                None => _ = line.array(info),
            }
            if let Some(meant) = meant {
                meant::json(line, meant);
            }
        }
        Object::Datatype(element) => {
            line.raw("type", &element.to_json());
        }
        Object::Value(value) => {
            line.value("value", value.clone());
        }
        Object::Damaged { error, .. } => {
            line.value("error", error.to_string());
        }
    }
}
