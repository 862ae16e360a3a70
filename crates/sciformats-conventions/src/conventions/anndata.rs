//! AnnData (`.h5ad`) and MuData: annotated matrices of single cells.
//!
//! Source: <https://anndata.readthedocs.io/en/stable/fileformat-prose.html>. Each object says by
//! `encoding-type` what it is. Files from before version 0.7 lack this attribute: their tables are lists of
//! records, and their matrices have `h5sparse_format`.

use std::sync::Arc;

use sciformats::{Kind, Result};

use super::{awkward, members, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::{Major, SparseMatrix};
use crate::table::{Column, Records, Table};
use crate::variable::Variable;

pub(crate) struct AnnData;

fn encoding(node: &Node) -> Result<Option<String>> {
    node.text("encoding-type")
}

/// Decodes a list of codes and the names that they stand for.
fn categorical(codes: &Node, categories: &Node, ordered: bool) -> Result<Option<Variable>> {
    let (Some(variable), Some(names)) = (plain::variable(codes)?, names(categories)?) else {
        return Ok(None);
    };
    Ok(Some(variable.decoded(Decoding::Categories { names, ordered })))
}

/// Returns the names of categories, which are texts, or numbers formatted for people.
fn names(node: &Node) -> Result<Option<Arc<[String]>>> {
    let values = match node.child("values")? {
        Some(values) => values,
        None => node.clone(),
    };
    let Some(variable) = plain::variable(&values)? else { return Ok(None) };
    let cells = variable.read()?.cells()?;
    Ok(Some(cells.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().into()))
}

/// Decodes a column of a table, in one of the encodings of columns.
fn column(node: &Node, name: &str) -> Result<Option<Column>> {
    let parts = |first, second| -> Result<_> { Ok(node.child(first)?.zip(node.child(second)?)) };
    let column = match encoding(node)?.as_deref() {
        Some("categorical") => {
            let ordered = node.number("ordered")?.is_some_and(|truth| truth != 0.0);
            match parts("codes", "categories")? {
                Some((codes, categories)) => categorical(&codes, &categories, ordered)?.map(Column::variable),
                None => None,
            }
        }
        Some(of) if of.starts_with("nullable-") => match parts("values", "mask")? {
            Some((values, mask)) => plain::variable(&values)?
                .zip(plain::variable(&mask)?)
                .map(|(values, mask)| Column::masked(values, mask)),
            None => None,
        },
        _ if node.kind()? == Kind::Array => {
            old_categories(node)?.or(plain::variable(node)?).map(Column::variable)
        }
        _ => None,
    };
    Ok(column.map(|column| column.renamed(name)))
}

/// Decodes categories of version 0.1.0. The attribute of the column leads to their names, or a group beside
/// the columns contains them.
fn old_categories(node: &Node) -> Result<Option<Variable>> {
    let Some(group) = node.parent()? else { return Ok(None) };
    if !node.has("categories")? {
        return Ok(None);
    }
    let Some(all) = group.child("__categories")? else { return Ok(None) };
    match all.child(node.name())? {
        Some(categories) => {
            let ordered = categories.number("ordered")?.is_some_and(|truth| truth != 0.0);
            categorical(node, &categories, ordered)
        }
        None => Ok(None),
    }
}

fn frame(node: &Node) -> Result<Table> {
    let name = node.text("_index")?.unwrap_or_else(|| "_index".into());
    let index: Vec<Column> = match node.child(&name)? {
        Some(index) => column(&index, &name)?.into_iter().collect(),
        None => Vec::new(),
    };
    let order = node.texts("column-order")?.unwrap_or_default();
    let (mut columns, mut omitted) = (Vec::new(), Vec::new());
    for name in order {
        let found = match node.child(&name)? {
            Some(found) => column(&found, &name)?,
            None => None,
        };
        match found {
            Some(found) => columns.push(found),
            None => omitted.push((name, "it is no column that a frame of AnnData has".to_owned())),
        }
    }
    let rows = match node.child(&name)? {
        Some(index) => members::length(&index)?,
        None => None,
    };
    Ok(Table { path: node.path().to_owned(), rows: rows.unwrap_or_default(), index, columns, omitted })
}

/// Decodes a sparse matrix from its group.
fn sparse(node: &Node, major: Major, shape: Option<Vec<f64>>) -> Result<Option<SparseMatrix>> {
    let parts = (node.child("data")?, node.child("indices")?, node.child("indptr")?);
    let (Some(data), Some(indices), Some(starts)) = parts else { return Ok(None) };
    let shape =
        shape.and_then(|sides| <[f64; 2]>::try_from(sides).ok()).map(|sides| sides.map(|side| side as u64));
    Ok(shape.map(|shape| SparseMatrix::new((node.path(), shape), major, (Some(data), Some(indices), starts))))
}

/// Decodes records from before version 0.7, whose categories have their names in `/uns`.
fn old_frame(node: &Node) -> Result<Option<Table>> {
    let Some(records) = Records::of(node)? else { return Ok(None) };
    let (mut index, mut columns) = (Vec::new(), Vec::new());
    for (at, (name, _)) in records.fields().iter().enumerate() {
        let name = name.shown();
        let decoding = match node.at(&format!("/uns/{name}_categories"))? {
            Some(categories) => {
                names(&categories)?.map(|names| Decoding::Categories { names, ordered: false })
            }
            None => None,
        };
        let column = Column::field(&records, at, decoding.unwrap_or(Decoding::Stored));
        if name == "index" || name == "_index" { index.push(column) } else { columns.push(column) }
    }
    Ok(Some(Table {
        path: node.path().to_owned(),
        rows: records.rows(),
        index,
        columns,
        omitted: Vec::new(),
    }))
}

impl Convention for AnnData {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = root.text("encoding-version")?;
        match encoding(root)?.as_deref() {
            Some("anndata") => {
                return Ok(Some(Identity::new("AnnData", "encoding-type = anndata").with_version(version)));
            }
            Some("MuData") => {
                return Ok(Some(Identity::new("MuData", "encoding-type = MuData").with_version(version)));
            }
            _ => {}
        }
        let (Some(obs), Some(var)) = (root.child("obs")?, root.child("var")?) else { return Ok(None) };
        let framed = encoding(&obs)?.as_deref() == Some("dataframe")
            && encoding(&var)?.as_deref() == Some("dataframe");
        let recorded =
            root.child("X")?.is_some() && Records::of(&obs)?.is_some() && Records::of(&var)?.is_some();
        Ok((framed || recorded).then(|| Identity::new("AnnData", "the tables /obs and /var")))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let compressed = node.text("h5sparse_format")?;
        Ok(match encoding(node)?.as_deref().or(compressed.as_deref()) {
            Some("dataframe") => Some(Meaning::Table(frame(node)?)),
            Some("awkward-array") => awkward::array(node)?,
            Some("csr_matrix") => sparse(node, Major::Rows, node.numbers("shape")?)?.map(Meaning::Sparse),
            Some("csc_matrix") => sparse(node, Major::Columns, node.numbers("shape")?)?.map(Meaning::Sparse),
            Some("csr") => sparse(node, Major::Rows, node.numbers("h5sparse_shape")?)?.map(Meaning::Sparse),
            Some("csc") => {
                sparse(node, Major::Columns, node.numbers("h5sparse_shape")?)?.map(Meaning::Sparse)
            }
            Some("categorical") => match node.child("codes")?.zip(node.child("categories")?) {
                Some((codes, categories)) => {
                    let ordered = node.number("ordered")?.is_some_and(|truth| truth != 0.0);
                    categorical(&codes, &categories, ordered)?.map(Meaning::from)
                }
                None => None,
            },
            Some(of) if of.starts_with("nullable-") => match node.child("values")? {
                Some(values) => {
                    let rows = members::length(&values)?.unwrap_or_default();
                    let columns = column(node, node.name())?.into_iter().collect();
                    Some(Meaning::Table(Table {
                        omitted: Vec::new(),
                        path: node.path().to_owned(),
                        rows,
                        index: Vec::new(),
                        columns,
                    }))
                }
                None => None,
            },
            _ if matches!(node.path(), "/obs" | "/var" | "/raw.var") => old_frame(node)?.map(Meaning::Table),
            _ => old_categories(node)?.map(Meaning::from),
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        let known = [
            ("X", "the matrix"),
            ("obs", "one row per observation"),
            ("var", "one row per variable"),
            ("mod", "modalities"),
            ("obsm", "arrays with one row per observation"),
            ("layers", "other matrices of the same shape"),
        ];
        for (name, what) in known {
            if let Some(node) = root.child(name)? {
                let filled = node.kind()? != Kind::Group || !node.children()?.is_empty();
                if filled {
                    outline = outline.with(node.path(), what);
                }
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use crate::Dataset;

    #[test]
    fn columns_that_are_not_shown_are_told() {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.attribute(root, "encoding-type", texts(&[], &["anndata"]));
        let obs = tree.group(root, "obs");
        tree.attribute(obs, "encoding-type", texts(&[], &["dataframe"]));
        tree.attribute(obs, "_index", texts(&[], &["cell"]));
        tree.attribute(obs, "column-order", texts(&[4], &["n", "kind", "new", "gone"]));
        tree.array(obs, "cell", texts(&[2], &["a", "b"]));
        tree.array(obs, "n", array::<i32>(&[2], &[1, 2]));
        let kind = tree.group(obs, "kind");
        tree.attribute(kind, "encoding-type", texts(&[], &["categorical"]));
        tree.array(kind, "codes", array::<i8>(&[2], &[0, 0]));
        let new = tree.group(obs, "new");
        tree.attribute(new, "encoding-type", texts(&[], &["later-than-this"]));
        let table = Dataset::new(File::from(tree)).table("/obs").unwrap();
        let omitted: Vec<&str> = table.omitted.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((table.columns.len(), omitted), (1, vec!["kind", "new", "gone"]));
    }
}
