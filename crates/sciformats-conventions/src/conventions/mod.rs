//! The conventions, with one file per convention.

pub(crate) mod anndata;
pub(crate) mod asdf;
mod awkward;
pub(crate) mod cf;
pub(crate) mod characters;
pub(crate) mod fast5;
pub(crate) mod h5md;
pub(crate) mod hoomd;
pub(crate) mod image;
pub(crate) mod keras;
pub(crate) mod ligo;
pub(crate) mod loom;
pub(crate) mod materials;
pub(crate) mod matlab;
pub(crate) mod mcos;
mod members;
pub(crate) mod microscopy;
pub(crate) mod netcdf;
pub(crate) mod nexus;
pub(crate) mod nwb;
pub(crate) mod openpmd;
pub(crate) mod pandas;
pub(crate) mod plain;
pub(crate) mod pytables;
pub(crate) mod tenx;
