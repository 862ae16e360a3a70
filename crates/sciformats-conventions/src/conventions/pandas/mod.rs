//! Data frames and series that pandas stores in `PyTables` files (`DataFrame.to_hdf`), in the formats `fixed`
//! and `table`.
//!
//! Source: the module `pandas.io.pytables`. The `pandas_type` of a group says what it contains. `fixed` has
//! one matrix per type of column, and the names of its columns beside it. `table` has one list of records,
//! whose fields contain several columns each.

mod attributes;
mod fixed;
mod kinds;
mod tables;

use sciformats::Result;

use self::fixed::{fixed, series};
use self::tables::{Gaps, table};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;

pub(crate) struct Pandas;

/// The number of groups that are examined to find frames.
const LOOKED_AT: usize = 64;

/// Returns the groups that contain frames and series, the nearest to the root first.
fn frames(root: &Node) -> Result<Vec<(Node, String)>> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut groups = std::collections::VecDeque::from([root.clone()]);
    while let Some(group) = groups.pop_front() {
        if let Some(kind) = group.text("pandas_type")? {
            found.push((group, kind));
            continue;
        }
        let look = |child: &Node| {
            let _ = child.kind();
            let _ = child.text("pandas_type");
        };
        for child in group.few_ahead(LOOKED_AT + 1, look)? {
            looked += 1;
            if looked > LOOKED_AT {
                return Ok(found);
            }
            if child.kind()? == sciformats::Kind::Group {
                groups.push_back(child);
            }
        }
    }
    Ok(found)
}

impl Convention for Pandas {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        if root.text("PYTABLES_FORMAT_VERSION")?.is_none() {
            return Ok(None);
        }
        let Some((group, kind)) = frames(root)?.into_iter().next() else { return Ok(None) };
        let version = group.text("pandas_version")?;
        Ok(Some(
            Identity::new("pandas", format!("pandas_type of {} is {kind}", group.path()))
                .with_version(version),
        ))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        Ok(match node.text("pandas_type")?.as_deref() {
            Some("frame") => Some(Meaning::Table(fixed(node)?)),
            Some("series") => series(node)?.map(Meaning::Table),
            Some("frame_table" | "series_table") => table(node, Gaps::Some)?.map(Meaning::Table),
            _ => None,
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let frames = frames(root)?.into_iter();
        Ok(frames.fold(Outline::default(), |outline, (node, kind)| outline.with(node.path(), kind)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
