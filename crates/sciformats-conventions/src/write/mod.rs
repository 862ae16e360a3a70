//! Writes files in the form that the programs of a convention require: [`NetCdf`], [`NeXus`], [`AnnData`]; and files of
//! other formats as netCDF-4 files: [`NetCdfCopy`].

mod anndata;
mod copy;
mod netcdf;
mod nexus;

pub use anndata::{AnnData, Frame};
pub use copy::NetCdfCopy;
pub use netcdf::{DimensionId, NetCdf};
pub use nexus::{NeXus, NxData};

use sciformats::{Error, Result};

/// Checks the number of values of an array.
fn counted(name: &str, shape: &[u64], values: usize) -> Result<()> {
    let count = shape.iter().try_fold(1u64, |all, &side| all.checked_mul(side));
    if count == Some(values as u64) {
        return Ok(());
    }
    Err(Error::usage("values", format!("{name} has {values} of them, and its shape is {shape:?}")))
}
