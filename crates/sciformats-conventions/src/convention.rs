//! What a convention is, and all of them in the order in which they are asked.

use sciformats::Result;

use crate::conventions::{
    anndata, asdf, fast5, h5md, hoomd, keras, ligo, loom, materials, matlab, microscopy, netcdf, nexus, nwb,
    openpmd, pandas, pytables, tenx,
};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::sparse::SparseMatrix;
use crate::table::Table;
use crate::variable::Variable;

/// What an object means.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Meaning {
    /// An array with dimensions and values; of a group the one that the group is about.
    Variable(Box<Variable>),
    /// Rows and columns.
    Table(Table),
    /// A matrix of which only a part is stored.
    Sparse(SparseMatrix),
}

impl From<Variable> for Meaning {
    fn from(variable: Variable) -> Self {
        Self::Variable(Box::new(variable))
    }
}

/// A way in which programs agree to say more with a format than it holds by itself.
pub trait Convention: Send + Sync {
    /// Whether the file follows it: what is told by the root and the few objects that the convention prescribes. The name of
    /// the file says nothing.
    ///
    /// # Errors
    /// If these objects cannot be read.
    fn identify(&self, root: &Node) -> Result<Option<Identity>>;

    /// What an object of such a file means; `None` if the convention says nothing of it.
    ///
    /// # Errors
    /// If what tells of its meaning cannot be read, or contradicts itself.
    fn meaning(&self, _node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        Ok(None)
    }

    /// What to look at first in such a file.
    ///
    /// # Errors
    /// If what tells cannot be read.
    fn outline(&self, _root: &Node) -> Result<Outline> {
        Ok(Outline::default())
    }
}

/// All conventions, the most special ones first: a file can follow several.
pub(crate) const REGISTRY: &[&dyn Convention] = &[
    &hoomd::Hoomd,
    &asdf::Asdf,
    &anndata::AnnData,
    &tenx::TenX,
    &loom::Loom,
    &pandas::Pandas,
    &pytables::PyTables,
    &nwb::Nwb,
    &openpmd::OpenPmd,
    &h5md::H5md,
    &nexus::NeXus,
    &matlab::Matlab,
    &keras::Keras,
    &ligo::Ligo,
    &fast5::Fast5,
    &microscopy::BigDataViewer,
    &microscopy::Imaris,
    &materials::Emd,
    &materials::Dream3d,
    &materials::Cgns,
    &netcdf::NetCdf,
];
