//! The mean count of each gene in each type of cell: `anndata FILE`, a file of AnnData, which is made if it is not there.
//!
//! The counts are a sparse matrix, of which one cell is in memory at a time.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::path::{Path, PathBuf};

use sciformats_conventions::sciformats::hdf5_pure::Writer;
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Dataset, Values};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "name no file"))?;
    let path = PathBuf::from(path);
    if !path.exists() {
        make(&path)?;
    }
    for (cell_type, means) in means(&path)? {
        println!("{cell_type}: {means:?}");
    }
    Ok(())
}

/// Returns the types of cells, and the mean counts of all genes in each of them.
pub(crate) fn means(path: &Path) -> Result<Vec<(String, Vec<f64>)>> {
    let data = Dataset::open(path)?;
    let cells = data.table("/obs")?;
    let cell_type = cells.columns.iter().find(|column| column.name == "cell_type");
    let cell_type = cell_type.ok_or_else(|| Error::not_found("column", "cell_type"))?;
    let Values::Categories { codes, names, .. } = cell_type.read(0, cells.rows)? else {
        return Err(Error::usage("cell_type", "has no categories"));
    };
    let counts = data.sparse("/X")?;
    let mut sums = vec![(0u32, vec![0.0; counts.shape[1] as usize]); names.len()];
    for (cell, code) in (0..).zip(codes) {
        let Some((cells, sums)) = code.and_then(|code| sums.get_mut(code)) else { continue };
        *cells += 1;
        sums.iter_mut().zip(counts.dense(cell, 1)?).for_each(|(sum, count)| *sum += count);
    }
    let mean = |(cells, sums): (u32, Vec<f64>)| sums.into_iter().map(|sum| sum / f64::from(cells)).collect();
    Ok(names.iter().cloned().zip(sums.into_iter().map(mean)).collect())
}

/// Writes six cells of two types, and the counts of four genes, most of which are 0.
pub(crate) fn make(path: &Path) -> Result<()> {
    let mut file = Writer::create(path)?;
    file.root().attribute("encoding-type", "anndata")?.attribute("encoding-version", "0.1.0")?;

    let mut counts = file.group("X")?;
    counts.attribute("encoding-type", "csr_matrix")?.attribute("encoding-version", "0.1.0")?;
    counts.attribute("shape", [6i64, 4])?;
    counts.dataset("data").write(&[5.0f32, 1.0, 7.0, 2.0, 2.0, 6.0, 9.0])?;
    counts.dataset("indices").write(&[0, 3, 0, 1, 2, 0, 2])?;
    counts.dataset("indptr").write(&[0, 2, 3, 4, 5, 6, 7])?; // where each cell begins

    for (table, names, columns) in [
        ("obs", &["c1", "c2", "c3", "c4", "c5", "c6"][..], &["cell_type"][..]),
        ("var", &["CD3E", "MS4A1", "NKG7", "ACTB"][..], &[][..]),
    ] {
        let mut table = file.group(table)?;
        table.attribute("encoding-type", "dataframe")?.attribute("encoding-version", "0.2.0")?;
        table.attribute("_index", "_index")?.attribute("column-order", columns)?;
        let index = table.dataset("_index").attribute("encoding-type", "string-array");
        index.attribute("encoding-version", "0.2.0").write(names)?;
    }
    let mut cell_type = file.group("obs/cell_type")?;
    cell_type.attribute("encoding-type", "categorical")?.attribute("encoding-version", "0.2.0")?;
    cell_type.attribute("ordered", false)?;
    cell_type.dataset("codes").write(&[0i8, 0, 1, 1, 0, 1])?;
    let names = cell_type.dataset("categories").attribute("encoding-type", "string-array");
    names.attribute("encoding-version", "0.2.0").write(&["T cell", "B cell"])?;
    file.finish()
}
