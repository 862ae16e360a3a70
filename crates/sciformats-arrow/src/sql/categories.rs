//! Categories with an order of their own, which is that of their list and not of their texts.
//!
//! A batch has the list of its own categories, and batches of several files, or of Parquet, may have others. So what would
//! compare them by their order is refused. Whether they are equal does not depend on it.

use sciformats_conventions::sciformats::{Error, Result};

use super::compile::{Groups, Scope};
use super::expr::Ex;

impl Scope {
    /// Fails if an expression is a column of categories with an order; `what` needs their order.
    pub(super) fn without_order(&self, of: &Ex, what: &str) -> Result<()> {
        let Ex::Column(at) = of else { return Ok(()) };
        match self.columns.get(*at).filter(|column| column.ordered) {
            None => Ok(()),
            Some(column) => Err(Error::unsupported(format!(
                "{what} of {name} in SQL (its categories have an order of their own; CAST({name} AS VARCHAR) has that of texts)",
                name = column.name
            ))),
        }
    }

    /// The same for a key of ORDER BY, which is a column of the groups if there are some.
    pub(super) fn sortable(&self, key: &Ex, groups: Option<&Groups>) -> Result<()> {
        let of = match (groups, key) {
            (None, key) => Some(key),
            (Some(groups), Ex::Column(at)) => groups.values_of(*at),
            (Some(_), _) => None,
        };
        of.map_or(Ok(()), |of| self.without_order(of, "ORDER BY"))
    }
}
