//! Loom: a matrix of genes and cells with attributes of both.
//!
//! Source: <https://linnarssonlab.org/loompy/format/>. `/matrix` has one row per gene and one column per
//! cell. `/row_attrs` and `/col_attrs` contain one array per attribute of the genes and cells.

use sciformats::Result;

use super::members;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;

pub(crate) struct Loom;

impl Convention for Loom {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let parts = [root.child("matrix")?, root.child("row_attrs")?, root.child("col_attrs")?];
        if parts.iter().any(Option::is_none) {
            return Ok(None);
        }
        // Version 3 stores the attributes of the file as datasets, and older versions store them as
        // attributes.
        let version = match root.child("attrs/LOOM_SPEC_VERSION")? {
            Some(node) => node.element_texts()?.and_then(|texts| texts.into_iter().next()),
            None => root.text("LOOM_SPEC_VERSION")?,
        };
        Ok(Some(Identity::new("Loom", "/matrix, /row_attrs and /col_attrs").with_version(version)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.path() {
            "/row_attrs" | "/col_attrs" => {
                let index = ["Gene", "Accession", "CellID"];
                Ok(members::table(node, &index, &|_, variable| Ok(variable))?.map(Meaning::Table))
            }
            path if path == "/matrix" || path.starts_with("/layers/") => {
                let Some(mut variable) = super::plain::variable(node)? else { return Ok(None) };
                for (dimension, name) in variable.dimensions.iter_mut().zip(["gene", "cell"]) {
                    dimension.name = Some(name.into());
                }
                Ok(Some(variable.into()))
            }
            _ => Ok(None),
        }
    }

    fn outline(&self, _root: &Node) -> Result<Outline> {
        Ok(Outline::default()
            .with("/matrix", "one row per gene, one column per cell")
            .with("/row_attrs", "attributes of each gene")
            .with("/col_attrs", "attributes of each cell"))
    }
}
