//! MATLAB 7.3: arrays with reversed dimensions, each with its class in `MATLAB_class`.
//!
//! Source: "MAT-File Versions" of the documentation of MATLAB, and files that MATLAB and other programs
//! write. A user block of 512 bytes contains `MATLAB 7.3 MAT-file`. A cell array is an array of references
//! into `/#refs#`, a structure is a group, and a sparse matrix is a group with `MATLAB_sparse`. An array
//! without elements contains its dimensions, and is marked by `MATLAB_empty`. The contents of [objects](super::mcos)
//! are in `/#subsystem#`.

use sciformats::{Datum, Decoder, ElementType, Error, Kind, Name, Range, Result, Slab};
use sciformats_core::{Fault, FaultKind};

use super::mcos::{self, Budget};
use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::elsewhere::{Elsewhere, How};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::{Major, SparseMatrix};
use crate::table::{Column, Table};
use crate::values::Values;
use crate::variable::Variable;

pub(crate) struct Matlab;

/// The number of members that are examined to find the mark of a class.
const LOOKED_AT: usize = 8;

fn class(node: &Node) -> Result<Option<String>> {
    node.text("MATLAB_class")
}

/// The value of `MATLAB_object_decode` for objects whose contents are in `/#subsystem#`.
const MCOS: f64 = 3.0;

/// The value of `MATLAB_object_decode` for objects of old classes, which are stored like structures.
const OLD: f64 = 2.0;

/// Returns whether an array only refers to an object, such as a table, a date or a list of strings.
fn is_object(node: &Node, class: &str) -> Result<bool> {
    let plain = matches!(
        class,
        "double"
            | "single"
            | "char"
            | "logical"
            | "cell"
            | "struct"
            | "int8"
            | "int16"
            | "int32"
            | "int64"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "FileWrapper__"
            | "canonical empty"
    );
    Ok(!plain && node.number("MATLAB_object_decode")? == Some(MCOS))
}

/// Decodes a variable with its dimensions in MATLAB's order; texts become texts.
fn variable(node: &Node, class: &str) -> Result<Option<Variable>> {
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    let variable = variable.reversed();
    let element = variable.stored().element.clone();
    let codes = matches!(element, ElementType::UInt(1 | 2 | 4) | ElementType::Int(1 | 2));
    if class == "char" && codes && variable.dimensions.len() == 2 {
        let rows = variable.shape().first().copied();
        let texts = variable.decoded(Decoding::Characters);
        // A text is a row of characters.
        return Ok(Some(if rows == Some(1) { texts.single() } else { texts }));
    }
    let truth = class == "logical" && matches!(element, ElementType::UInt(_) | ElementType::Int(_));
    Ok(Some(if truth { variable.decoded(Decoding::Truth) } else { variable }))
}

/// Returns the type of the elements of a class.
fn element_of(class: &str) -> Option<ElementType> {
    Some(match class {
        "cell" | "char" => ElementType::Text,
        "double" => ElementType::F64,
        "single" => ElementType::F32,
        "logical" => ElementType::Bool,
        "int8" => ElementType::Int(1),
        "int16" => ElementType::Int(2),
        "int32" => ElementType::Int(4),
        "int64" => ElementType::Int(8),
        "uint8" => ElementType::UInt(1),
        "uint16" => ElementType::UInt(2),
        "uint32" => ElementType::UInt(4),
        "uint64" => ElementType::UInt(8),
        _ => return None,
    })
}

/// Decodes an array without elements, which stores its dimensions. A text without characters is an empty text.
fn empty(node: &Node, class: &str) -> Result<Option<Meaning>> {
    let sides = node.element_numbers()?.unwrap_or_default();
    let Some(variable) = plain::variable(node)? else { return Ok(None) };
    // A mark that contradicts the dimensions says nothing.
    if !sides.contains(&0.0) {
        return Ok(Some(variable.reversed().into()));
    }
    let shape: Vec<u64> = match (class, sides.as_slice()) {
        ("char", [_, _]) => Vec::new(),
        _ => sides.iter().map(|side| *side as u64).collect(),
    };
    let element = element_of(class);
    let variable = match element {
        Some(element) => variable.decoded(Decoding::As(element)),
        None => variable,
    };
    Ok(Some(variable.without_elements(&shape).into()))
}

/// Decodes a sparse matrix, which has columns with the rows of their elements. Without `ir` and `data` it has no
/// elements.
fn sparse(group: &Node, class: &str, rows: u64) -> Result<Option<SparseMatrix>> {
    let Some(starts) = group.child("jc")? else { return Ok(None) };
    let starts_of = starts.info()?.and_then(|info| info.elements());
    let Some(columns) = starts_of.and_then(|starts| starts.checked_sub(1)) else { return Ok(None) };
    let (data, indices) = (group.child("data")?, group.child("ir")?);
    let decoding = match data.as_ref().map(Node::info).transpose()?.flatten().map(|info| info.element) {
        Some(ElementType::UInt(_) | ElementType::Int(_)) if class == "logical" => Decoding::Truth,
        Some(element) => plain::natural(&element),
        None => Decoding::Stored,
    };
    let without = if indices.is_none() { element_of(class) } else { None };
    let parts = (data, indices, starts);
    let matrix = SparseMatrix::new((group.path(), [rows, columns]), Major::Columns, parts);
    Ok(Some(matrix.decoded(decoding, without.unwrap_or(ElementType::Bool))))
}

/// The largest number of elements in one cell that are read to show them.
const SHOWN: u64 = 4096;

/// The largest number of cells that are shown as a table. A larger array remains one of references.
const CELLS: u64 = 1 << 20;

/// Returns the number of references in an array of them; `None` if it is something else.
fn count_of_references(node: &Node) -> Result<Option<u64>> {
    let info = node.info()?.filter(|info| info.element == ElementType::Reference && info.shape.is_some());
    Ok(info.and_then(|info| info.elements()).filter(|&count| count <= CELLS))
}

/// Returns the contents of some cells, in MATLAB's order.
pub(super) fn of_cells(node: &Node, rows: (u64, u64)) -> Result<Vec<Option<String>>> {
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
fn of_field(node: &Node, rows: (u64, u64)) -> Result<Vec<Option<String>>> {
    if rows == (0, 1) { Ok(vec![contents(node)?]) } else { Ok(Vec::new()) }
}

/// Returns the contents of a cell for people: texts and numbers, and the class of anything that is larger.
/// What lies in cells of cells is not followed.
fn contents(node: &Node) -> Result<Option<String>> {
    shown(node).map(|(text, _)| text)
}

/// Returns the contents of a cell for people. If they are more than a text, their place in the file is added.
pub(super) fn contents_or_place(node: &Node) -> Result<Option<String>> {
    let (text, whole) = shown(node)?;
    Ok(text.map(|text| if whole { text } else { format!("{text}, in {}", node.path()) }))
}

/// Returns the contents of a cell for people, and whether they are all.
fn shown(node: &Node) -> Result<(Option<String>, bool)> {
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
fn object(node: &Node, class: String) -> Result<(Option<String>, bool)> {
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
pub(super) fn texts(node: &Node) -> Result<Vec<String>> {
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
pub(super) fn text(node: &Node) -> Result<String> {
    Ok(texts(node)?.into_iter().next().unwrap_or_default())
}

/// Returns the first of some numbers or truth values.
pub(super) fn number(node: &Node) -> Result<Option<f64>> {
    if is_empty(node)? {
        return Ok(None);
    }
    Ok(node.element_numbers()?.and_then(|numbers| numbers.first().copied()))
}

/// Returns an array of numbers.
pub(super) fn numbers(node: &Node) -> Result<Variable> {
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
pub(super) fn in_stored_order(variable: &Variable) -> Result<Vec<f64>> {
    variable.clone().undecoded().read()?.numbers()
}

/// Decodes a cell array as a table with one row per cell, in MATLAB's order.
fn cells(node: &Node) -> Result<Option<Meaning>> {
    let Some(rows) = count_of_references(node)? else {
        return Ok(plain::variable(node)?.map(|variable| variable.reversed().into()));
    };
    let columns = vec![Column::computed(node, of_cells)];
    Ok(Some(Meaning::Table(Table {
        path: node.path().to_owned(),
        rows,
        index: Vec::new(),
        columns,
        omitted: Vec::new(),
    })))
}

/// Decodes a structure as a table. If all fields are lists of equal length, they are its columns, because
/// programs that convert tables store them in this way. The fields of an array of structures are references
/// to their contents, one per row. A single structure has one row.
fn structure(group: &Node, budget: &mut Budget) -> Result<Option<Meaning>> {
    let children = mcos::fields(group)?;
    let of = |columns: Vec<Column>, rows| {
        let path = group.path().to_owned();
        Some(Meaning::Table(Table { path, rows, index: Vec::new(), columns, omitted: Vec::new() }))
    };
    if let Some((rows, columns)) = lists(&children, budget)? {
        return Ok(of(columns, rows));
    }
    let (mut columns, mut rows) = (Vec::new(), None);
    for child in &children {
        let (length, column) = match (class(child)?, count_of_references(child)?) {
            (None, Some(count)) => (count, Column::computed(child, of_cells)),
            _ => (1, Column::computed(child, of_field)),
        };
        if *rows.get_or_insert(length) != length {
            return Ok(None);
        }
        columns.push(column);
    }
    Ok(rows.and_then(|rows| of(columns, rows)))
}

/// Returns the fields of a structure as columns if all of them are lists of equal length, with this length.
fn lists(children: &[Node], budget: &mut Budget) -> Result<Option<(u64, Vec<Column>)>> {
    let mut columns = Vec::new();
    let mut rows = None;
    for child in children {
        let Some(of) = class(child)? else { return Ok(None) };
        let kind = child.kind()?;
        if is_special(child, &of, kind)? {
            let found = budget.deeper(child, |budget| meaning_at(child, budget))?;
            let Some(Meaning::Variable(variable)) = found else {
                return Ok(None);
            };
            let variable = variable.into_column();
            let [length] = variable.shape()[..] else { return Ok(None) };
            if length < 2 || *rows.get_or_insert(length) != length {
                return Ok(None);
            }
            columns.push(Column::variable(variable));
            continue;
        }
        if kind != Kind::Array || matches!(of.as_str(), "cell" | "char") || is_empty(child)? {
            return Ok(None);
        }
        let Some(variable) = variable(child, &of)? else { return Ok(None) };
        let [length, 1] = variable.shape()[..] else { return Ok(None) };
        if length < 2 || *rows.get_or_insert(length) != length {
            return Ok(None);
        }
        columns.push(Column::variable(variable));
    }
    Ok(rows.map(|rows| (rows, columns)))
}

/// Returns whether an array without elements is stored as its dimensions.
fn is_empty(node: &Node) -> Result<bool> {
    Ok(node.number("MATLAB_empty")?.is_some_and(|mark| mark != 0.0))
}

/// Returns whether an array or a group stands for something else than its elements or members.
fn is_special(node: &Node, class: &str, kind: Kind) -> Result<bool> {
    if class == "function_handle" || is_object(node, class)? || mcos::is_reference(node, class)? {
        return Ok(true);
    }
    Ok(kind == Kind::Group && class == "struct" && mcos::is_enumeration(node)?)
}

/// Decodes a handle of a function as its text.
fn function(group: &Node) -> Result<Option<Meaning>> {
    let inner = match group.child("function_handle")? {
        Some(inner) if inner.kind()? == Kind::Group => inner,
        _ => group.clone(),
    };
    let name = match inner.child("function")? {
        Some(name) => text(&name)?,
        None => String::new(),
    };
    // The text of an anonymous function begins with marks of MATLAB's own.
    let shown = match name.find('@') {
        Some(at) => name.get(at..).unwrap_or_default().to_owned(),
        None => format!("@{name}"),
    };
    let values = Values::Text(vec![Some(shown)]);
    let elsewhere = Elsewhere {
        shape: vec![1, 1],
        element: ElementType::Text,
        kind: "function".into(),
        how: How::all(move || Ok(values.clone())),
    };
    Ok(Variable::of_elsewhere(group, elsewhere, Decoding::Stored)?.map(Meaning::from))
}

/// Returns the error for an object of another system than MATLAB's own.
fn foreign(class: &str) -> Error {
    Error::unsupported(format!(
        "reading an object of the class {class} (only Java or COM can read it; in MATLAB, convert it to an array or a \
         structure)"
    ))
}

/// Decodes an array or a group.
pub(super) fn meaning_at(node: &Node, budget: &mut Budget) -> Result<Option<Meaning>> {
    let Some(class) = class(node)? else { return Ok(None) };
    if is_empty(node)? {
        return empty(node, &class);
    }
    if let Some(rows) = node.number("MATLAB_sparse")? {
        return Ok(sparse(node, &class, rows as u64)?.map(Meaning::Sparse));
    }
    let kind = node.kind()?;
    if is_special(node, &class, kind)? {
        return match class.as_str() {
            "function_handle" if kind == Kind::Group => function(node),
            "function_handle" => Ok(None),
            class if ["java.", "com.", "COM."].iter().any(|of| class.starts_with(of)) => Err(foreign(class)),
            _ => mcos::meaning(node, budget),
        };
    }
    match (class.as_str(), kind) {
        ("cell", Kind::Array) => cells(node),
        ("struct", Kind::Group) => structure(node, budget),
        (_, Kind::Group) if node.number("MATLAB_object_decode")? == Some(OLD) => structure(node, budget),
        (class, Kind::Array) => Ok(variable(node, class)?.map(Meaning::from)),
        _ => Ok(None),
    }
}

impl Convention for Matlab {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let facts = root.file().source().facts();
        let block = facts.iter().any(|(name, _)| *name == "user block");
        let look = |child: &Node| {
            let _ = class(child);
        };
        for child in root.few_ahead(LOOKED_AT, look)? {
            if let Some(class) = class(&child)? {
                let mut identity =
                    Identity::new("MATLAB", format!("MATLAB_class of {} is {class}", child.path()));
                if block {
                    identity.evidence.push("a user block".into());
                }
                return Ok(Some(identity.with_version(Some("7.3".into()))));
            }
        }
        Ok(None)
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        meaning_at(node, &mut Budget::default())
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        for child in root.children()? {
            // What the names of MATLAB's own groups begin with is in no name of a variable.
            if child.name().starts_with('#') {
                continue;
            }
            if let Some(class) = class(&child)? {
                outline = outline.with(child.path(), class);
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format, ObjectId};

    use super::*;
    use crate::Dataset;

    fn of_class(tree: &mut Memory, node: ObjectId, class: &str) {
        tree.attribute(node, "MATLAB_class", texts(&[], &[class]));
    }

    fn codes(tree: &mut Memory, group: ObjectId, name: &str, text: &str) {
        let codes: Vec<u16> = text.encode_utf16().collect();
        let node = tree.array(group, name, array::<u16>(&[codes.len() as u64, 1], &codes));
        of_class(tree, node, "char");
    }

    fn doubles(tree: &mut Memory, group: ObjectId, name: &str, values: &[f64]) {
        let node = tree.array(group, name, array::<f64>(&[values.len() as u64, 1], values));
        of_class(tree, node, "double");
    }

    fn references(
        tree: &mut Memory,
        (group, name): (ObjectId, &str),
        shape: &[u64],
        paths: &[&str],
    ) -> ObjectId {
        let mut found = texts(shape, paths);
        found.info.element = ElementType::Reference;
        tree.array(group, name, found)
    }

    /// A cell array of two columns, a structure, and an array of structures.
    fn file() -> Dataset {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        let cells = tree.group(root, "#refs#");
        codes(&mut tree, cells, "a", "größer");
        doubles(&mut tree, cells, "b", &[1.5, 2.0]);
        doubles(&mut tree, cells, "big", &[0.0; SHOWN as usize + 1]);
        let none = tree.array(cells, "none", array::<u64>(&[2], &[0, 0]));
        of_class(&mut tree, none, "double");
        tree.attribute(none, "MATLAB_empty", array::<u8>(&[], &[1]));
        let inner = tree.group(cells, "inner");
        of_class(&mut tree, inner, "struct");
        let paths =
            ["/#refs#/a", "/#refs#/b", "/#refs#/big", "/#refs#/none", "/#refs#/inner", "/#refs#/lost"];
        let mixed = references(&mut tree, (root, "mixed"), &[2, 3], &paths);
        of_class(&mut tree, mixed, "cell");
        let log = tree.group(root, "log");
        of_class(&mut tree, log, "struct");
        codes(&mut tree, log, "name", "abc");
        doubles(&mut tree, log, "level", &[1.5]);
        let rows = tree.group(root, "rows");
        of_class(&mut tree, rows, "struct");
        references(&mut tree, (rows, "a"), &[2, 1], &["/#refs#/b", "/#refs#/a"]);
        references(&mut tree, (rows, "b"), &[2, 1], &["/#refs#/none", "/#refs#/b"]);
        let list = tree.group(root, "list");
        of_class(&mut tree, list, "struct");
        for (name, values) in [("x", [1.0, 2.0]), ("y", [3.0, 4.0])] {
            let node = tree.array(list, name, array::<f64>(&[1, 2], &values));
            of_class(&mut tree, node, "double");
        }
        Dataset::new(File::from(tree))
    }

    /// The columns of a table: names, and the cells of some rows.
    fn columns(table: &Table, first: u64, count: u64) -> Vec<(String, Vec<Option<String>>)> {
        let cells = |column: &Column| column.read(first, count).unwrap().cells().unwrap();
        table.columns.iter().map(|column| (column.name.clone(), cells(column))).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned()).filter(|text| !text.is_empty())).collect()
    }

    #[test]
    fn sparse_matrices_have_the_type_of_their_class() {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        let mut sparse = |name: &str, class: &str, starts: &[u64]| {
            let group = tree.group(root, name);
            of_class(&mut tree, group, class);
            tree.attribute(group, "MATLAB_sparse", array::<u64>(&[], &[3]));
            tree.array(group, "jc", array::<u64>(&[starts.len() as u64], starts));
            group
        };
        sparse("zero", "double", &[0, 0, 0]);
        let mask = sparse("mask", "logical", &[0, 1, 2]);
        tree.array(mask, "ir", array::<u64>(&[2], &[2, 0]));
        tree.array(mask, "data", array::<u8>(&[2], &[1, 1]));
        let data = Dataset::new(File::from(tree));
        let zero = data.sparse("/zero").unwrap();
        assert_eq!(
            (zero.shape, zero.stored().unwrap(), zero.element().unwrap()),
            ([3, 2], 0, ElementType::F64)
        );
        assert_eq!(zero.dense(0, 2).unwrap(), [0.0; 6]);
        let mask = data.sparse("/mask").unwrap();
        assert_eq!(mask.element().unwrap(), ElementType::Bool);
        let cells = mask.read(0, 2).unwrap().values.cells().unwrap();
        assert_eq!(cells, [Some("true".to_owned()), Some("true".to_owned())]);
    }

    #[cfg(feature = "hdf5")]
    #[test]
    fn sparse_matrices_may_be_complex() {
        use sciformats::hdf5_pure::{Datatype, Writer};

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("z.mat");
        let mut file = Writer::create(&path).unwrap();
        let mut root = file.root();
        let mut group = root.group("z").unwrap();
        group.attribute("MATLAB_class", "double").unwrap().attribute("MATLAB_sparse", 2u64).unwrap();
        let complex = Datatype::compound([("real", Datatype::float64()), ("imag", Datatype::float64())]);
        let bytes = [1.5f64, -2.0].map(f64::to_le_bytes).concat();
        file.dataset("z/data").shape([1]).datatype(complex).write_raw(&bytes).unwrap();
        file.dataset("z/ir").write(&[1u64]).unwrap();
        file.dataset("z/jc").write(&[0u64, 1]).unwrap();
        file.finish().unwrap();
        let z = Dataset::open(&path).unwrap().sparse("/z").unwrap();
        assert_eq!((z.shape, z.element().unwrap()), ([2, 1], ElementType::Complex(16)));
        assert_eq!(z.read(0, 1).unwrap().values.cells().unwrap(), [Some("1.5-2.0j".to_owned())]);
    }

    #[test]
    fn a_cell_array_has_one_row_per_cell() {
        let table = file().table("/mixed").unwrap();
        assert_eq!(table.rows, 6);
        let all = some(&["größer", "1.5 2.0", "double 1 × 4097", "", "struct", ""]);
        assert_eq!(columns(&table, 0, 6), [("mixed".to_owned(), all.clone())]);
        assert_eq!(columns(&table, 1, 2), [("mixed".to_owned(), all[1..3].to_vec())]);
        assert_eq!(columns(&table, 6, 0), [("mixed".to_owned(), Vec::new())]);
    }

    #[test]
    fn objects_need_their_contents() {
        let mut tree = Memory::new(Format::Hdf5);
        let t = tree.array(tree.root(), "t", array::<u32>(&[6, 1], &[0xdd00_0000, 2, 1, 1, 1, 1]));
        of_class(&mut tree, t, "table");
        tree.attribute(t, "MATLAB_object_decode", array::<i32>(&[], &[3]));
        let n = tree.array(tree.root(), "n", array::<u32>(&[1, 1], &[7]));
        of_class(&mut tree, n, "uint32");
        let data = Dataset::new(File::from(tree));
        let error = data.meaning("/t").unwrap_err();
        assert_eq!(error.to_string(), "malformed objects of MATLAB at offset 0x0: cell array is missing");
        assert_eq!(error.object(), Some("/#subsystem#/MCOS"));
        assert!(data.variable("/n").is_ok());
        // The file itself is known, and what it contains is named.
        let outline = data.outline().unwrap();
        assert!(
            outline.highlights.iter().any(|highlight| highlight.path == "/t" && highlight.what == "table")
        );
    }

    #[test]
    fn structures_have_a_column_per_field() {
        let data = file();
        let log = data.table("/log").unwrap();
        assert_eq!(log.rows, 1);
        let mut fields = columns(&log, 0, 1);
        fields.sort();
        assert_eq!(fields, [("level".to_owned(), some(&["1.5"])), ("name".to_owned(), some(&["abc"]))]);
        let rows = data.table("/rows").unwrap();
        assert_eq!(rows.rows, 2);
        let fields = columns(&rows, 0, 2);
        assert_eq!(fields[0], ("a".to_owned(), some(&["1.5 2.0", "größer"])));
        assert_eq!(fields[1], ("b".to_owned(), some(&["", "1.5 2.0"])));
        // Fields that are lists of equal length keep their numbers.
        let list = data.table("/list").unwrap();
        assert_eq!((list.rows, list.columns[1].read(0, 2).unwrap().numbers().unwrap()), (2, vec![3.0, 4.0]));
    }
}
