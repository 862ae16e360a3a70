//! Arrays of files that follow no convention, and what any array may say of itself: names of dimensions, units, a long name.

use sciformats::{ElementType, Name, Result};

use super::{cf, image, netcdf};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::Identity;
use crate::node::Node;
use crate::table::{Column, Records, Table};
use crate::variable::Variable;

/// What is left when no convention says more.
pub(crate) struct Plain;

/// Attributes that units stand in, by what is most common.
const UNITS: [&str; 4] = ["units", "unit", "Units", "Unit"];

/// Attributes that names for people stand in.
const NAMES: [&str; 5] = ["long_name", "longname", "title", "description", "TITLE"];

/// The first of several attributes that is a text.
pub(crate) fn first_text(node: &Node, names: &[&str]) -> Result<Option<String>> {
    for name in names {
        if let Some(text) = node.text(name)?.filter(|text| !text.is_empty()) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// How elements become values that only look like something else: truth values that are an enumeration or a bit, complex numbers
/// that are records.
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

/// Whether two fields are called like the parts of a complex number.
fn is_complex(first: &Name, second: &Name) -> bool {
    matches!((first.as_bytes(), second.as_bytes()), (b"real", b"imag") | (b"r", b"i"))
}

/// A variable with what any array may say of itself; `None` if the object is no array. Pictures have their dimensions named.
pub(crate) fn variable(node: &Node) -> Result<Option<Variable>> {
    match image::picture(node)? {
        Some(picture) => Ok(Some(picture)),
        None => described(node),
    }
}

/// A variable with its units and a name for people.
pub(crate) fn described(node: &Node) -> Result<Option<Variable>> {
    let Some(mut variable) = node.info()?.and_then(|info| Variable::plain(node, info)) else {
        return Ok(None);
    };
    variable.decoding = natural(&variable.stored().element);
    variable.units = first_text(node, &UNITS)?;
    variable.long_name = first_text(node, &NAMES)?;
    Ok(Some(variable))
}

/// A table whose columns are the fields of records.
pub(crate) fn records(node: &Node) -> Result<Option<Table>> {
    let Some(records) = Records::of(node)? else { return Ok(None) };
    let columns =
        (0..records.fields().len()).map(|at| Column::field(&records, at, Decoding::Stored)).collect();
    Ok(Some(Table { path: node.path().to_owned(), rows: records.rows(), index: Vec::new(), columns }))
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
