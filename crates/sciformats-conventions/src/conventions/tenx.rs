//! Feature-barcode matrices of 10x Genomics: version 3 (`/matrix`) and version 2 (one group per genome).
//!
//! Source: the documentation of Cell Ranger, "Feature-Barcode Matrices HDF5 Format". Columns are barcodes,
//! rows are features, and the elements of a column are adjacent.

use sciformats::{Kind, Result};

use super::{members, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::{Major, SparseMatrix};
use crate::table::{Column, Table};

pub(crate) struct TenX;

/// Decodes the matrix of a group; `None` if the group is not a matrix.
fn matrix(group: &Node) -> Result<Option<SparseMatrix>> {
    if group.kind()? != Kind::Group || group.child("barcodes")?.is_none() {
        return Ok(None);
    }
    let parts =
        (group.child("data")?, group.child("indices")?, group.child("indptr")?, group.child("shape")?);
    let (Some(data), Some(indices), Some(starts), Some(shape)) = parts else { return Ok(None) };
    let sides = shape.element_numbers()?.and_then(|sides| <[f64; 2]>::try_from(sides).ok());
    let parts = (Some(data), Some(indices), starts);
    Ok(sides
        .map(|sides| SparseMatrix::new((group.path(), sides.map(|side| side as u64)), Major::Columns, parts)))
}

/// Returns the groups that contain matrices.
fn matrices(root: &Node) -> Result<Vec<Node>> {
    if let Some(group) = root.child("matrix")? {
        return Ok(if matrix(&group)?.is_some() { vec![group] } else { Vec::new() });
    }
    let mut found = Vec::new();
    // A file of version 2 has one group per genome, of which there are one or two, and nothing else.
    let look = |child: &Node| {
        let _ = matrix(child);
    };
    for child in root.few_ahead(4, look)? {
        if matrix(&child)?.is_some() && child.child("genes")?.is_some() {
            found.push(child);
        }
    }
    Ok(found)
}

impl Convention for TenX {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(first) = matrices(root)?.into_iter().next() else { return Ok(None) };
        let version = if first.child("features")?.is_some() { "3" } else { "2" };
        let identity = Identity::new("10x feature-barcode matrix", format!("{} with barcodes", first.path()));
        Ok(Some(identity.with_version(Some(version.into())).with_writer(root.text("software_version")?)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        if let Some(matrix) = matrix(node)? {
            return Ok(Some(Meaning::Sparse(matrix)));
        }
        if node.name() == "features" && node.kind()? == Kind::Group {
            return Ok(members::table(node, &["id"], &|_, variable| Ok(variable))?.map(Meaning::Table));
        }
        if node.name() == "barcodes" && node.kind()? == Kind::Array {
            let Some(variable) = plain::variable(node)? else { return Ok(None) };
            let rows = variable.shape().first().copied().unwrap_or_default();
            let columns = vec![Column::variable(variable)];
            let table =
                Table { path: node.path().to_owned(), rows, index: Vec::new(), columns, omitted: Vec::new() };
            return Ok(Some(Meaning::Table(table)));
        }
        Ok(None)
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline { title: root.text("library_ids")?, ..Outline::default() };
        for group in matrices(root)? {
            outline = outline.with(group.path(), "counts: rows are features, columns are barcodes");
            for (name, what) in [("features", "features"), ("genes", "genes"), ("barcodes", "barcodes")] {
                if let Some(node) = group.child(name)? {
                    outline = outline.with(node.path(), what);
                }
            }
        }
        Ok(outline)
    }
}
