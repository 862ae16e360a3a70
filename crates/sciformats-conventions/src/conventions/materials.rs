//! Files of materials science and fluid dynamics: EMD, DREAM.3D, CGNS.
//!
//! Sources: <https://emdatasets.com/format>; the documentation of DREAM.3D; the CGNS file mapping manual for
//! HDF5. EMD has a group with `data` and one array per axis. CGNS stores the elements of a node in an array
//! called ` data`, with reversed dimensions.

use sciformats::{Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::{Coordinate, Role, Variable};

pub(crate) struct Emd;
pub(crate) struct Dream3d;
pub(crate) struct Cgns;

/// The deepest nesting of groups that is searched.
const DEPTH: usize = 6;

/// Decodes the group and the array of an EMD dataset.
fn emd(group: &Node) -> Result<Option<Variable>> {
    if !group.has("emd_group_type")? {
        return Ok(None);
    }
    let Some(data) = group.child("data")? else { return Ok(None) };
    let Some(mut variable) = plain::variable(&data)? else { return Ok(None) };
    variable.name = group.name().to_owned();
    // The format counts axes from 1, and some of its writers count from 0.
    let first = usize::from(group.child("dim0")?.is_none());
    for (at, dimension) in variable.dimensions.iter_mut().enumerate() {
        let Some(axis) = group.child(&format!("dim{}", at + first))? else { continue };
        dimension.name = axis.text("name")?.filter(|name| !name.is_empty());
        (dimension.path, dimension.has_values) = (Some(axis.path().to_owned()), true);
        let path = axis.path().to_owned();
        variable.coordinates.push(Coordinate { path, role: Role::Dimension, dimension: Some(at) });
    }
    Ok(Some(variable))
}

/// Returns the groups below a group that satisfy `wanted`, the nearer ones first.
fn below(root: &Node, depth: usize, wanted: &dyn Fn(&Node) -> Result<bool>) -> Result<Vec<Node>> {
    let mut found = Vec::new();
    for child in root.children()? {
        if child.kind()? != Kind::Group {
            continue;
        }
        if wanted(&child)? {
            found.push(child);
        } else if depth > 0 {
            found.extend(below(&child, depth - 1, wanted)?);
        }
    }
    Ok(found)
}

impl Convention for Emd {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let mut marked = root.has("emd_group_type")?;
        if !marked {
            let look = |child: &Node| {
                let _ = child.has("emd_group_type");
            };
            for child in root.few_ahead(8, look)? {
                marked |= child.has("emd_group_type")?;
            }
        }
        let part = |name: &str| root.number(name).map(|number| number.map(|number| number.to_string()));
        let version = match (part("version_major")?, part("version_minor")?) {
            (Some(major), Some(minor)) => Some(format!("{major}.{minor}")),
            _ => None,
        };
        let versioned =
            version.is_some() && !below(root, 2, &|group| group.has("emd_group_type"))?.is_empty();
        let found = marked || versioned;
        let writer = root.text("authoring_program")?;
        Ok(found.then(|| Identity::new("EMD", "emd_group_type").with_version(version).with_writer(writer)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.kind()? {
            Kind::Group => Ok(emd(node)?.map(Meaning::from)),
            _ if node.name() == "data" => match node.parent()? {
                Some(group) => Ok(emd(&group)?.map(Meaning::from)),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let found = below(root, DEPTH, &|group| Ok(emd(group)?.is_some()))?;
        Ok(found
            .iter()
            .fold(Outline::default(), |outline, group| outline.with(group.path(), "data with axes")))
    }
}

impl Convention for Dream3d {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = plain::first_text(root, &["DREAM3D Version", "FileVersion"])?;
        let holds = root.child("DataContainers")?.is_some() || root.child("DataStructure")?.is_some();
        let writer = root.text("DREAM3D Version")?.map(|version| format!("DREAM.3D {version}"));
        Ok(version.filter(|_| holds).map(|_| {
            let version = root.text("FileVersion").unwrap_or_default();
            Identity::new("DREAM.3D", "FileVersion and containers of data")
                .with_version(version)
                .with_writer(writer)
        }))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
        if !node.has("TupleDimensions")? {
            return Ok(None);
        }
        let tuples = node.numbers("TupleDimensions")?.map_or(0, |sides| sides.len());
        let names: &[&str] = if tuples == 3 { &["z", "y", "x"] } else { &["tuple"] };
        for (at, dimension) in variable.dimensions.iter_mut().enumerate() {
            dimension.name = Some((*names.get(at).unwrap_or(&"component")).to_owned());
        }
        Ok(Some(variable.into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let Some(containers) = root.child("DataContainers")?.or(root.child("DataStructure")?) else {
            return Ok(Outline::default());
        };
        let containers = containers.children()?;
        Ok(containers
            .iter()
            .fold(Outline::default(), |outline, node| outline.with(node.path(), "container of data")))
    }
}

impl Convention for Cgns {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(node) = root.child("CGNSLibraryVersion")? else { return Ok(None) };
        let Some(data) = node.child(" data")? else { return Ok(None) };
        let version =
            data.element_numbers()?.and_then(|numbers| numbers.first().map(|number| format!("{number:.2}")));
        Ok(Some(Identity::new("CGNS", "/CGNSLibraryVersion").with_version(version)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let group = if node.name() == " data" { node.parent()? } else { Some(node.clone()) };
        let Some(group) = group.filter(|group| group.has("label").unwrap_or(false)) else { return Ok(None) };
        let data = group.child(" data")?;
        let Some(mut variable) = data.map(|data| plain::variable(&data)).transpose()?.flatten() else {
            return Ok(None);
        };
        variable.name = group.name().to_owned();
        variable.long_name = group.text("label")?;
        Ok(Some(variable.reversed().into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let labelled = |group: &Node| Ok(group.text("label")?.is_some_and(|label| label == "DataArray_t"));
        let found = below(root, DEPTH, &labelled)?;
        Ok(found
            .iter()
            .fold(Outline::default(), |outline, group| outline.with(group.path(), "an array of a zone")))
    }
}
