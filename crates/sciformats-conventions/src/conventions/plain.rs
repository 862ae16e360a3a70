//! Arrays of files without a convention, and the attributes that any array may have: names of dimensions,
//! units, a long name.

use sciformats::{ElementType, Name, Result};

use super::{cf, image, netcdf};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::Identity;
use crate::node::Node;
use crate::table::{Column, Records, Table};
use crate::variable::Variable;

/// Applies if no other convention does.
pub(crate) struct Plain;

/// Attributes that contain units, the most common first.
const UNITS: [&str; 4] = ["units", "unit", "Units", "Unit"];

/// Attributes that contain names for people.
const NAMES: [&str; 5] = ["long_name", "longname", "title", "description", "TITLE"];

/// Returns the first of several attributes that is a text.
pub(crate) fn first_text(node: &Node, names: &[&str]) -> Result<Option<String>> {
    for name in names {
        if let Some(text) = node.text(name)?.filter(|text| !text.is_empty()) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Returns how elements are decoded whose type only looks different: truth values stored as an enumeration or
/// a bit, and complex numbers stored as records.
pub(crate) fn natural(element: &ElementType) -> Decoding {
    match element {
        ElementType::Bits(1) => Decoding::Truth,
        ElementType::Enum { members, .. } => {
            let named = |name: &str, value| {
                members.iter().any(|(of, is)| of.as_bytes() == name.as_bytes() && *is == value)
            };
            let truth = members.len() == 2 && named("FALSE", 0) && named("TRUE", 1);
            if truth { Decoding::Truth } else { Decoding::Stored }
        }
        ElementType::Compound(fields) => match fields.as_slice() {
            [(first, ElementType::F64), (second, ElementType::F64)] if is_complex(first, second) => {
                Decoding::As(ElementType::Complex(16))
            }
            [(first, ElementType::F32), (second, ElementType::F32)] if is_complex(first, second) => {
                Decoding::As(ElementType::Complex(8))
            }
            _ => Decoding::Stored,
        },
        _ => Decoding::Stored,
    }
}

/// Returns whether two fields have the names of the parts of a complex number.
fn is_complex(first: &Name, second: &Name) -> bool {
    matches!((first.as_bytes(), second.as_bytes()), (b"real", b"imag") | (b"r", b"i"))
}

/// Returns a variable with the attributes that any array may have; `None` if the object is not an array. The
/// dimensions of images are named.
pub(crate) fn variable(node: &Node) -> Result<Option<Variable>> {
    match image::picture(node)? {
        Some(picture) => Ok(Some(picture)),
        None => described(node),
    }
}

/// Returns a variable with its units and a name for people.
pub(crate) fn described(node: &Node) -> Result<Option<Variable>> {
    let Some(mut variable) = node.info()?.and_then(|info| Variable::plain(node, info)) else {
        return Ok(None);
    };
    variable.decoding = natural(&variable.stored().element);
    variable.units = first_text(node, &UNITS)?;
    variable.long_name = first_text(node, &NAMES)?;
    #[cfg(feature = "blosc2")]
    if node.file().format() == sciformats::Format::Blosc2 {
        name_dimensions(node, &mut variable)?;
    }
    Ok(Some(variable))
}

/// Names the dimensions of an array of Blosc2, if one of its metalayers contains as many names as there are dimensions.
#[cfg(feature = "blosc2")]
fn name_dimensions(node: &Node, variable: &mut Variable) -> Result<()> {
    for list in crate::metalayer::DIMENSIONS {
        let Some(names) = node.texts(list)?.filter(|names| names.len() == variable.dimensions.len()) else {
            continue;
        };
        for (dimension, name) in variable.dimensions.iter_mut().zip(names) {
            dimension.name = Some(name).filter(|name| !name.is_empty());
        }
        break;
    }
    Ok(())
}

/// Returns a table whose columns are the fields of records.
pub(crate) fn records(node: &Node) -> Result<Option<Table>> {
    let Some(records) = Records::of(node)? else { return Ok(None) };
    let columns =
        (0..records.fields().len()).map(|at| Column::field(&records, at, Decoding::Stored)).collect();
    Ok(Some(Table {
        path: node.path().to_owned(),
        rows: records.rows(),
        index: Vec::new(),
        columns,
        omitted: Vec::new(),
    }))
}

impl Convention for Plain {
    fn identify(&self, _root: &Node) -> Result<Option<Identity>> {
        Ok(None)
    }

    fn meaning(&self, node: &Node, options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(mut variable) = variable(node)? else { return Ok(None) };
        if variable.decoding.is_stored()
            && matches!(variable.stored().element, ElementType::Compound(_))
            && variable.dimensions.len() == 1
        {
            return Ok(records(node)?.map(Meaning::Table));
        }
        let scales = netcdf::name_dimensions(node, &mut variable)?;
        if scales {
            return cf::variable(node, variable, options).map(|variable| Some(variable.into()));
        }
        Ok(Some(variable.into()))
    }
}
