//! What a line says about the meaning of an array: dimensions, units, a name for people, and the first
//! values.

use sciformats::{ArrayInfo, ElementType, Error, ObjectId, Range, Slab, Value as Told};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::{Column, Dataset, Meaning, Table, Values, Variable};

use crate::commands::json::JsonObject;
use crate::look;
use crate::meaning::along;

/// The number of bytes that may be decoded to show a value.
const GLANCE: u64 = 4 << 20;
/// The number of characters of a value that are shown.
const SHOWN: usize = 40;

/// The meaning of an array, and the values that were read to show it.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    pub(super) variable: Variable,
    /// The value of a scalar, or the first and the last coordinate.
    pub(super) glance: Option<Glance>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Glance {
    Value(String),
    Ends(String, String),
}

/// Returns the meaning of an array; `None` if nothing is known. Values are only read if `glance` is true.
pub(super) fn meant(data: &Dataset, (path, id): (&str, ObjectId), glance: bool) -> Option<Meant> {
    let Ok(Some(Meaning::Variable(variable))) = data.meaning_of(&data.known(path, id)) else { return None };
    let glance = if glance { look_at(&variable) } else { None };
    Some(Meant { variable: *variable, glance })
}

/// Returns the table that an array stands for, and what it is, such as a table or a list of cells of MATLAB. Records
/// say themselves what their columns are.
pub(super) fn table(
    data: &Dataset,
    (path, id): (&str, ObjectId),
    info: &ArrayInfo,
) -> Option<(String, Table)> {
    if matches!(info.element, ElementType::Compound(_)) {
        return None;
    }
    let node = data.known(path, id);
    let Ok(Some(Meaning::Table(table))) = data.meaning_of(&node) else { return None };
    let what = node.text("MATLAB_class").ok().flatten().filter(|text| !text.is_empty());
    Some((look::clipped(what.as_deref().unwrap_or("table"), SHOWN), table))
}

/// Returns whether a table has columns with names of their own: the cells of a cell array have none.
pub(super) fn has_columns(table: &Table) -> bool {
    let name = table.path.rsplit('/').next().unwrap_or_default();
    table.all_columns().any(|column| column.name != name)
}

/// Describes the values of a column: `float64, m/s`.
pub(super) fn values_of(column: &Column) -> String {
    let kind = column.type_name();
    let shape = column.row_shape();
    let several = if shape.is_empty() { String::new() } else { format!(" × {}", look::shape(Some(&shape))) };
    let units = column.units.as_ref().filter(|_| column.calendar().is_none());
    let units = units.map(|units| format!(", {}", look::clipped(units, 24))).unwrap_or_default();
    format!("{kind}{several}{units}")
}

/// Returns the reason why an array is not decoded although its convention is known, such as an object of MATLAB.
pub(super) fn refused(data: &Dataset, (path, id): (&str, ObjectId)) -> Option<String> {
    match data.meaning_of(&data.known(path, id)) {
        Err(Error::Unsupported { what, .. }) => {
            Some(what.split(':').next().unwrap_or_default().trim_start_matches("an ").to_owned())
        }
        _ => None,
    }
}

/// Reads one or two values if that costs almost nothing.
pub(in crate::commands) fn look_at(variable: &Variable) -> Option<Glance> {
    if !is_near(variable.stored()) || variable.is_dimension() {
        return None;
    }
    let mut shape = variable.shape();
    // Everything in MATLAB has two dimensions, also a single number.
    if shape.len() > 1 && shape.iter().all(|&side| side == 1) && is_of_matlab(variable) {
        shape.clear();
    }
    match shape.as_slice() {
        [] => {
            let cells = variable.read().ok()?;
            let quoted = matches!(
                cells,
                Values::Text(_) | Values::Plain { element: sciformats::ElementType::Text, .. }
            );
            let cell = cells.cells().ok()?.into_iter().next()?.unwrap_or_else(|| "missing".into());
            let cell = look::clipped(&cell, SHOWN);
            Some(Glance::Value(if quoted { format!("{cell:?}") } else { cell }))
        }
        &[count] if count > 1 && (is_time(variable) || is_coordinate(variable)) => {
            let one = |index: u64| -> Option<String> {
                let slab = Slab::new(&[count], [Range::new(index, 1)]).ok()?;
                let values = variable.read_slab(&slab).ok()?;
                match &values {
                    Values::Times(times) => Some(along::date(times.first()?.as_ref()?)),
                    _ => values.cells().ok()?.into_iter().next()?,
                }
            };
            Some(Glance::Ends(look::clipped(&one(0)?, SHOWN), look::clipped(&one(count - 1)?, SHOWN)))
        }
        _ => None,
    }
}

/// Returns whether MATLAB has written a variable.
pub(super) fn is_of_matlab(variable: &Variable) -> bool {
    matches!(variable.node().has("MATLAB_class"), Ok(true))
}

/// Returns whether the values are dates.
pub(in crate::commands) fn is_time(variable: &Variable) -> bool {
    matches!(variable.decoding, Decoding::Time { .. })
}

/// Returns whether the array holds the coordinates of its own dimension.
fn is_coordinate(variable: &Variable) -> bool {
    matches!(variable.dimensions.as_slice(), [one] if one.path.as_deref() == Some(variable.path()) && one.has_values)
}

/// Returns whether an element can be read without decoding much else and without opening other files.
fn is_near(info: &ArrayInfo) -> bool {
    let elsewhere = |told: &Told| matches!(told, Told::Text(text) if text == "virtual" || text == "external");
    if info.facts.iter().any(|(_, told)| elsewhere(told)) {
        return false;
    }
    let size = info.element.size().unwrap_or(16);
    let product = |sides: &[u64]| sides.iter().try_fold(1u64, |all, &side| all.checked_mul(side));
    let elements = match (&info.chunks, &info.shape) {
        (Some(chunks), _) => product(chunks),
        (None, _) if info.filters.is_empty() && info.element.size().is_some() => Some(1),
        (None, Some(shape)) => product(shape),
        (None, None) => None,
    };
    elements.and_then(|elements| elements.checked_mul(size)).is_some_and(|bytes| bytes <= GLANCE)
}

/// Returns the kind of a group by the marks of its convention, and the array or the number that it stands for if it
/// has a tag.
pub(super) fn mark(data: &Dataset, (path, id): (&str, ObjectId)) -> Option<String> {
    let node = data.known(path, id);
    if let Some(tag) = node.tag() {
        let kind = tag.rsplit(['/', ':']).next()?;
        let kind = kind.rsplit_once('-').map_or(kind, |(kind, _)| kind);
        let Ok(Some(Meaning::Variable(variable))) = data.meaning_of(&node) else {
            return Some(look::clipped(kind, SHOWN));
        };
        return Some(standing_for(kind, &variable));
    }
    let names =
        ["encoding-type", "NX_class", "pandas_type", "MATLAB_class", "neurodata_type", "h5sparse_format"];
    let found = names.iter().find_map(|name| node.text(name).ok().flatten().filter(|text| !text.is_empty()));
    let Some(found) = found.map(|text| look::clipped(&text, SHOWN)) else {
        // In openPMD, an array whose values are all equal is a group with two attributes.
        let constant = ["value", "shape"].iter().all(|name| node.has(name).unwrap_or(false));
        let meaning = if constant { data.meaning_of(&node).ok().flatten() } else { None };
        return match meaning {
            Some(Meaning::Variable(variable)) => Some(standing_for("constant", &variable)),
            _ => None,
        };
    };
    // Handles of functions and members of enumerations are groups.
    if found != "struct"
        && let Ok(Some(Meaning::Variable(variable))) = data.meaning_of(&node)
        && is_of_matlab(&variable)
        && variable.path() == path
    {
        return Some(standing_for(&found, &variable));
    }
    Some(found)
}

/// Describes the array or the number that a group of some kind stands for.
fn standing_for(kind: &str, variable: &Variable) -> String {
    let shape = variable.shape();
    let shape = if shape.is_empty() { String::new() } else { format!("  {}", look::shape(Some(&shape))) };
    let value = match look_at(variable) {
        Some(Glance::Value(value)) => format!("  = {value}"),
        _ => String::new(),
    };
    format!("{kind}  {}{shape}{value}", look::clipped(&variable.values_name(), SHOWN))
}

/// Adds the columns of a table to the JSON line of the array that stands for it.
pub(super) fn json_table(line: &mut JsonObject, table: &Table) {
    let columns = table.all_columns().map(|column| {
        let mut one = JsonObject::new();
        one.value("name", column.name.as_str()).value("values", column.type_name());
        for (key, text) in [("units", &column.units), ("description", &column.description)] {
            if let Some(text) = text {
                one.value(key, text.as_str());
            }
        }
        one.finish()
    });
    let columns = columns.collect::<Vec<_>>().join(",");
    line.value("rows", table.rows).raw("columns", &format!("[{columns}]"));
}

/// Adds the meaning of an array to its JSON line.
pub(super) fn json(line: &mut JsonObject, meant: &Meant) {
    let variable = &meant.variable;
    if variable.has_names() {
        let dimensions = variable.dimensions.iter().map(|dimension| {
            let mut one = JsonObject::new();
            match &dimension.name {
                Some(name) => one.value("name", name.as_str()),
                None => one.value("name", Told::Null),
            };
            one.value("length", dimension.length).value("unlimited", dimension.unlimited);
            one.finish()
        });
        line.raw("dimensions", &format!("[{}]", dimensions.collect::<Vec<_>>().join(",")));
    }
    if !variable.is_stored() {
        line.value("values", variable.values_name().split([' ', ',']).next().unwrap_or_default());
    }
    for (key, text) in [
        ("units", &variable.units),
        ("long_name", &variable.long_name),
        ("standard_name", &variable.standard_name),
        ("cell_methods", &variable.cell_methods),
    ] {
        if let Some(text) = text {
            line.value(key, text.as_str());
        }
    }
    match &meant.glance {
        Some(Glance::Value(value)) => {
            line.value("value", value.as_str());
        }
        Some(Glance::Ends(first, last)) => {
            line.value("first", first.as_str()).value("last", last.as_str());
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_looked_at() {
        let mut info = ArrayInfo::new(ElementType::F64, [1 << 40]);
        assert!(is_near(&info));
        info.filters = vec!["zlib 4".into()];
        assert!(!is_near(&info));
        info.chunks = Some(vec![1 << 19]);
        assert!(is_near(&info));
        info.chunks = Some(vec![1 << 20]);
        assert!(!is_near(&info));
        info.chunks = None;
        info.filters.clear();
        info.facts.push(("layout", "virtual".into()));
        assert!(!is_near(&info));
    }
}
