//! The definition of a convention, and all conventions in the order in which they are tried.

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
    /// An array with dimensions and values; for a group, the array that the group is about.
    Variable(Box<Variable>),
    /// A table with rows and columns.
    Table(Table),
    /// A matrix of which only some elements are stored.
    Sparse(SparseMatrix),
}

impl From<Variable> for Meaning {
    fn from(variable: Variable) -> Self {
        Self::Variable(Box::new(variable))
    }
}

/// A way in which programs agree to express more with a format than it can express by itself.
pub trait Convention: Send + Sync {
    /// Returns whether the file follows the convention, judged by the root and the few objects that the
    /// convention prescribes. The name of the file does not matter.
    ///
    /// # Errors
    ///
    /// An error if these objects cannot be read.
    fn identify(&self, root: &Node) -> Result<Option<Identity>>;

    /// Returns the meaning of an object of such a file; `None` if the convention does not define it.
    ///
    /// # Errors
    ///
    /// An error if the parts that define the meaning cannot be read, or contradict each other.
    fn meaning(&self, _node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        Ok(None)
    }

    /// Returns whether the object could mean something else if the file follows the convention. It is judged by
    /// the object and by what contains it, so that files far away are only searched for evidence if it matters.
    ///
    /// # Errors
    ///
    /// As [`meaning`](Self::meaning).
    fn concerns(&self, node: &Node, options: &DecodeOptions) -> Result<bool> {
        Ok(self.meaning(node, options)?.is_some())
    }

    /// Returns what to look at first in such a file.
    ///
    /// # Errors
    ///
    /// An error if the objects that define this cannot be read.
    fn outline(&self, _root: &Node) -> Result<Outline> {
        Ok(Outline::default())
    }
}

/// All conventions, the most specific ones first, because a file may follow several.
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
