//! `PyTables`: tables with one attribute per column, arrays, and lists of rows of any length.
//!
//! Source: "`PyTables` file format" of its users' guide. Every object has `CLASS` and `VERSION`; truth values are bit fields.

use sciformats::{ElementType, Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Records, Table};
use crate::time::{Calendar, TimeUnits};
use crate::variable::Variable;

pub(crate) struct PyTables;

/// Returns how elements are decoded. Times count seconds since 1970; those of eight bytes have microseconds in
/// their lower half.
fn atom(element: &ElementType) -> Decoding {
    match element {
        ElementType::Time(8) => Decoding::SecondsAndMicroseconds,
        ElementType::Time(4) => {
            match TimeUnits::parse("seconds since 1970-01-01", Calendar::ProlepticGregorian) {
                Some(units) => Decoding::Time { numbers: Numbers::new(ElementType::Int(4)), units },
                None => Decoding::Stored,
            }
        }
        element => plain::natural(element),
    }
}

/// Decodes any array of `PyTables`, in which truth values are bits.
fn array(node: &Node) -> Result<Option<Variable>> {
    Ok(plain::variable(node)?.map(|variable| {
        let decoding = atom(&variable.stored().element);
        variable.decoded(decoding)
    }))
}

impl Convention for PyTables {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = root.text("PYTABLES_FORMAT_VERSION")?;
        Ok(version
            .map(|version| Identity::new("PyTables", "PYTABLES_FORMAT_VERSION").with_version(Some(version))))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.text("CLASS")?.as_deref() {
            Some("TABLE") => {
                let Some(records) = Records::of(node)? else { return Ok(None) };
                let column =
                    |(at, (_, element)): (usize, &(_, _))| Column::field(&records, at, atom(element));
                let columns = records.fields().iter().enumerate().map(column).collect();
                let table =
                    Table { path: node.path().to_owned(), rows: records.rows(), index: Vec::new(), columns };
                Ok(Some(Meaning::Table(table)))
            }
            Some("ARRAY" | "CARRAY" | "EARRAY" | "VLARRAY") => Ok(array(node)?.map(Meaning::from)),
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline { title: plain::first_text(root, &["TITLE"])?, ..Outline::default() };
        let mut groups = vec![root.clone()];
        while let Some(group) = groups.pop() {
            for child in group.children()? {
                match child.kind()? {
                    // Indexes of columns are stored in groups of their own.
                    Kind::Group if !child.name().starts_with("_i_") => groups.insert(0, child),
                    Kind::Array => {
                        let title = plain::first_text(&child, &["TITLE", "CLASS"])?.unwrap_or_default();
                        outline = outline.with(child.path(), title);
                    }
                    _ => {}
                }
            }
            if !outline.highlights.is_empty() {
                break;
            }
        }
        Ok(outline)
    }
}
