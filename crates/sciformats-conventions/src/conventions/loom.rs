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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use crate::Dataset;

    #[test]
    fn attributes_with_several_values_per_cell_are_columns() {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.array(root, "matrix", array::<f32>(&[1, 2], &[1.0, 2.0]));
        tree.group(root, "row_attrs");
        let cells = tree.group(root, "col_attrs");
        tree.array(cells, "CellID", texts(&[2], &["c1", "c2"]));
        tree.array(cells, "pca", array::<f32>(&[2, 2], &[0.5, 1.5, 2.5, 3.5]));
        tree.array(cells, "total", array::<i32>(&[2], &[7, 8]));
        tree.array(cells, "other", array::<i32>(&[3], &[7, 8, 9]));
        let table = Dataset::new(File::from(tree)).table("/col_attrs").unwrap();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names, table.index[0].name.as_str()), (vec!["pca", "total"], "CellID"));
        assert_eq!(table.columns[0].row_shape(), [2]);
        assert_eq!(table.omitted.len(), 1);
    }
}
