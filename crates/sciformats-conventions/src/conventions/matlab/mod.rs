//! MATLAB 7.3: arrays with reversed dimensions, each with its class in `MATLAB_class`.
//!
//! Source: "MAT-File Versions" of the documentation of MATLAB, and files that MATLAB and other programs
//! write. A user block of 512 bytes contains `MATLAB 7.3 MAT-file`. A cell array is an array of references
//! into `/#refs#`, a structure is a group, and a sparse matrix is a group with `MATLAB_sparse`. An array
//! without elements contains its dimensions, and is marked by `MATLAB_empty`. The contents of [objects](super::mcos)
//! are in `/#subsystem#`.

mod cells;
mod structure;
#[cfg(test)]
mod tests;

use sciformats::{ElementType, Error, Kind, Result};

pub(super) use self::cells::{contents_or_place, in_stored_order, number, numbers, of_cells, text, texts};
use self::structure::{cells, structure};
use super::mcos::{self, Budget};
use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::elsewhere::{Elsewhere, How};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::{Major, SparseMatrix};
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
