//! What a line says of an object.

use std::path::Path;

use sciformats::{ArrayInfo, Error, Object};

use crate::commands::json::JsonObject;
use crate::look::{self, Cell, FAINT, PLAIN, SHAPE, TITLE, TYPE, WRONG};

/// The cells after the name of an array; without its place if it stands for several.
pub(super) fn array(info: &ArrayInfo, long: bool, several: bool) -> Vec<Cell> {
    let element = look::clipped(&info.element.to_string(), 40);
    let element = Cell::new(TYPE, look::safe(&element));
    let size = |bytes: Option<u64>| bytes.map(look::size).unwrap_or_default();
    let mut cells = vec![element, Cell::new(SHAPE, look::shape(info.shape.as_deref()))];
    if !long {
        cells.push(Cell::new(PLAIN, size(info.stored.or(info.logical()))));
        cells.push(Cell::new(FAINT, look::safe(&info.filters.join(", "))));
        return cells;
    }
    let chunks = info.chunks.as_deref().map(|chunks| format!("chunks {}", look::shape(Some(chunks))));
    let facts = info.facts.iter().filter(|(key, _)| !several || *key != "offset");
    let facts = facts.map(|(key, value)| match *key {
        "byte order" => value.to_string(),
        key => format!("{key} {value}"),
    });
    let notes: Vec<String> = chunks.into_iter().chain(info.filters.clone()).chain(facts).collect();
    cells.push(Cell::new(PLAIN, size(info.stored)));
    let logical = info.logical().map(|bytes| format!("of {}", look::size(bytes)));
    cells.push(Cell::new(FAINT, logical.unwrap_or_default()));
    cells.push(Cell::new(FAINT, look::safe(&notes.join(", "))));
    cells
}

/// The path of a file, its name standing out.
pub(super) fn title(path: &Path) -> Cell {
    let text = path.display().to_string();
    let name = path.file_name().map(|name| name.to_string_lossy().len()).unwrap_or(0);
    let at = text.len().checked_sub(name).filter(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let (folder, name) = text.split_at(at);
    Cell::new(FAINT, look::safe(folder)).and(TITLE, look::safe(name))
}

pub(super) fn wrong(error: &Error) -> Cell {
    Cell::new(WRONG, look::safe(&error.to_string()))
}

/// The cell after the name of what is neither group nor array.
pub(super) fn described(object: &Object) -> Cell {
    match object {
        Object::Datatype(element) => {
            let text = element.to_string();
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

/// Adds what an object is to its line.
pub(super) fn describe(line: &mut JsonObject, object: &Object) {
    line.value("kind", object.kind().word());
    match object {
        Object::Group => {}
        Object::Array(info) => {
            line.array(info);
        }
        Object::Datatype(element) => {
            line.raw("type", &element.to_json().to_string());
        }
        Object::Value(value) => {
            line.value("value", value.clone());
        }
        Object::Damaged { error, .. } => {
            line.value("error", error.to_string());
        }
    }
}
