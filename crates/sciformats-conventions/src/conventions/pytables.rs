//! `PyTables`: tables with one attribute per column, arrays, and lists of rows of any length.
//!
//! Source: "`PyTables` file format" of its users' guide. Every object has `CLASS` and `VERSION`; truth values are bit fields.

use sciformats::{Kind, Result};

use super::{pandas, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Records, Table};

pub(crate) struct PyTables;

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
                let column = |(at, (_, element)): (usize, &(_, _))| {
                    Column::field(&records, at, plain::natural(element))
                };
                let columns = records.fields().iter().enumerate().map(column).collect();
                let table =
                    Table { path: node.path().to_owned(), rows: records.rows(), index: Vec::new(), columns };
                Ok(Some(Meaning::Table(table)))
            }
            Some("ARRAY" | "CARRAY" | "EARRAY" | "VLARRAY") => Ok(pandas::array(node)?.map(Meaning::from)),
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
