//! Cells, as people read them: texts, numbers, and the class of anything that is larger.

use sciformats::{Datum, Decoder, ElementType, Kind, Name, Range, Result, Slab};
use sciformats_core::{Fault, FaultKind};

use super::{class, is_empty, is_special, meaning_at, variable};
use crate::convention::Meaning;
use crate::conventions::mcos::{self, Budget};
use crate::node::Node;
use crate::variable::Variable;

/// The largest number of elements in one cell that are read to show them.
pub(super) const SHOWN: u64 = 4096;

/// The largest number of cells that are shown as a table. A larger array remains one of references.
const CELLS: u64 = 1 << 20;

/// Returns the number of references in an array of them; `None` if it is something else.
pub(super) fn count_of_references(node: &Node) -> Result<Option<u64>> {
    let info = node.info()?.filter(|info| info.element == ElementType::Reference && info.shape.is_some());
    Ok(info.and_then(|info| info.elements()).filter(|&count| count <= CELLS))
}

/// Returns the contents of some cells, in MATLAB's order.
pub(in crate::conventions) fn of_cells(node: &Node, rows: (u64, u64)) -> Result<Vec<Option<String>>> {
    let Some(info) = node.info()? else { return Ok(Vec::new()) };
    let shape = info.shape.as_deref().unwrap_or_default();
    // Most cell arrays are rows or columns, of which only the requested part is read.
    let (slab, before) = match shape.iter().filter(|&&side| side != 1).count() {
        1 => {
            let range = |&side: &u64| if side == 1 { Range::all(1) } else { Range::new(rows.0, rows.1) };
            (Slab::new(shape, shape.iter().map(range).collect::<Vec<_>>())?, 0)
        }
        _ => (Slab::all(shape)?, rows.0),
    };
    let mut bytes = Vec::new();
    node.file().read(node.id(), &slab, &mut bytes)?;
    let mut texts = Vec::new();
    let mut length = 0u64;
    for (datum, at) in Decoder::new(&info.element, &bytes).zip(0u64..) {
        let asked = at.checked_sub(before).is_some_and(|at| at < rows.1);
        match datum? {
            Datum::Text(path) if asked => {
                let cell = node.at(&Name::from(path).shown())?;
                let text = cell.as_ref().map_or(Ok(None), contents)?;
                // Any number of cells may be one and the same.
                length = length.saturating_add(text.as_ref().map_or(0, |text| text.len() as u64)); // a bound
                node.file().limits().memory("bytes of the texts of cells", length)?;
                texts.push(text);
            }
            _ if asked => texts.push(None),
            _ => {}
        }
    }
    Ok(texts)
}

/// Returns the contents of the only row of a field.
pub(super) fn of_field(node: &Node, rows: (u64, u64)) -> Result<Vec<Option<String>>> {
    if rows == (0, 1) { Ok(vec![contents(node)?]) } else { Ok(Vec::new()) }
}

/// Returns the contents of a cell for people: texts and numbers, and the class of anything that is larger.
/// What lies in cells of cells is not followed.
fn contents(node: &Node) -> Result<Option<String>> {
    shown(node).map(|(text, _)| text)
}

/// Returns the contents of a cell for people. If they are more than a text, their place in the file is added.
pub(in crate::conventions) fn contents_or_place(node: &Node) -> Result<Option<String>> {
    let (text, whole) = shown(node)?;
    Ok(text.map(|text| if whole { text } else { format!("{text}, in {}", node.path()) }))
}

/// Returns the contents of a cell for people, and whether they are all.
pub(super) fn shown(node: &Node) -> Result<(Option<String>, bool)> {
    let Some(of) = class(node)? else { return Ok((None, true)) };
    if is_empty(node)? {
        return Ok((None, true));
    }
    let kind = node.kind()?;
    if is_special(node, &of, kind)? {
        return object(node, of);
    }
    if matches!(of.as_str(), "cell" | "struct") || kind != Kind::Array {
        return Ok((Some(of), false));
    }
    match variable(node, &of)? {
        Some(variable) => short(&variable, &of),
        None => Ok((Some(of), true)),
    }
}

/// Returns the values of a variable, separated by spaces, or its shape if there are many.
fn short(variable: &Variable, class: &str) -> Result<(Option<String>, bool)> {
    let sides = variable.shape();
    let count = sides.iter().try_fold(1u64, |all, &side| all.checked_mul(side));
    if count.is_none_or(|count| count > SHOWN) {
        let sides: Vec<String> = sides.iter().map(u64::to_string).collect();
        return Ok((Some(format!("{class} {}", sides.join(" × "))), false));
    }
    let cells = variable.read()?.cells()?;
    // A single value that is missing is no text.
    if let [None] = cells[..] {
        return Ok((None, true));
    }
    let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
    Ok((Some(cells.join(" ")), true))
}

/// Returns what an object is for people: the values of small ones, and the class of others.
pub(super) fn object(node: &Node, class: String) -> Result<(Option<String>, bool)> {
    let class = if mcos::is_reference(node, &class)? { mcos::class_of(node)? } else { class };
    Ok(match meaning_at(node, &mut Budget::default())? {
        Some(Meaning::Variable(variable)) => return short(&variable, &class),
        Some(Meaning::Table(table)) => {
            let (rows, columns) = (table.rows, table.columns.len());
            let text = match class.as_str() {
                "table" | "timetable" => format!("{class} {rows} × {columns}"),
                "containers.Map" | "dictionary" if rows != 1 => format!("{class} of {rows} entries"),
                "containers.Map" | "dictionary" => format!("{class} of 1 entry"),
                class if rows == 1 => class.to_owned(),
                class => format!("{class} {rows} × 1"),
            };
            (Some(text), false)
        }
        _ => (Some(class), false),
    })
}

/// Returns the texts of a cell array, or those of a list of them.
pub(in crate::conventions) fn texts(node: &Node) -> Result<Vec<String>> {
    if is_empty(node)? {
        return Ok(Vec::new());
    }
    let none = Option::unwrap_or_default;
    if let Some(count) = count_of_references(node)? {
        return Ok(of_cells(node, (0, count))?.into_iter().map(none).collect());
    }
    let of = class(node)?.unwrap_or_default();
    // Of objects, only lists of texts contain texts, so that nothing leads back to itself.
    let readable = !is_special(node, &of, node.kind()?)? || mcos::is_list_of_texts(node, &of)?;
    match if readable { meaning_at(node, &mut Budget::default())? } else { None } {
        Some(Meaning::Variable(variable)) => Ok(variable.read()?.cells()?.into_iter().map(none).collect()),
        _ => Ok(Vec::new()),
    }
}

/// Returns a text; it is empty if there is none.
pub(in crate::conventions) fn text(node: &Node) -> Result<String> {
    Ok(texts(node)?.into_iter().next().unwrap_or_default())
}

/// Returns the first of some numbers or truth values.
pub(in crate::conventions) fn number(node: &Node) -> Result<Option<f64>> {
    if is_empty(node)? {
        return Ok(None);
    }
    Ok(node.element_numbers()?.and_then(|numbers| numbers.first().copied()))
}

/// Returns an array of numbers.
pub(in crate::conventions) fn numbers(node: &Node) -> Result<Variable> {
    let of = class(node)?.unwrap_or_default();
    let found = match node.kind()? {
        kind if is_special(node, &of, kind)? => None,
        Kind::Array if of != "cell" => meaning_at(node, &mut Budget::default())?,
        _ => None,
    };
    match found {
        Some(Meaning::Variable(variable)) => Ok(*variable),
        _ => {
            let kind = FaultKind::Rule("is not an array of numbers");
            Err(Fault::from(kind).at("property of an object of MATLAB", 0).within(None, Some(node.path())))
        }
    }
}

/// Returns numbers in MATLAB's order, in which the first dimension varies fastest.
pub(in crate::conventions) fn in_stored_order(variable: &Variable) -> Result<Vec<f64>> {
    variable.clone().undecoded().read()?.numbers()
}
