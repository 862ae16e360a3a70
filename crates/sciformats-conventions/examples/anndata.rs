//! The mean count of each gene in each type of cell: `anndata [FILE]`, a file of AnnData, which is made if it is not there.
//!
//! The counts are a sparse matrix, of which a few cells are in memory at a time.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use sciformats_conventions::Dataset;
use sciformats_conventions::sciformats::Result;
use sciformats_conventions::write::AnnData;

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "cells.h5ad".into()));
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
    let (codes, names) = data.table("/obs")?.read("cell_type")?.into_categories()?;
    let means = data.sparse("/X")?.means(&codes, names.len())?;
    Ok(names.iter().cloned().zip(means).collect())
}

/// Writes six cells of two types, and the counts of four genes, most of which are 0.
pub(crate) fn make(path: &Path) -> Result<()> {
    let mut file = AnnData::create(path)?;
    // Where the counts of each cell begin, then the gene and the value of each count.
    let values = [5.0f32, 1.0, 7.0, 2.0, 2.0, 6.0, 9.0];
    file.csr("X", [6, 4], (&[0, 2, 3, 4, 5, 6, 7], &[0, 3, 0, 1, 2, 0, 2], &values))?;
    let mut cells = file.frame("obs", &["c1", "c2", "c3", "c4", "c5", "c6"])?;
    cells.categories("cell_type", &["T cell", "B cell"], &[0, 0, 1, 1, 0, 1].map(Some))?;
    file.frame("var", &["CD3E", "MS4A1", "NKG7", "ACTB"])?;
    file.finish()
}
