//! H5MD: trajectories of particles.
//!
//! Source: <https://h5md.nongnu.org/h5md.html>, version 1.1. A time-dependent element is a group of `value`,
//! `step` and `time`.

use sciformats::{Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::{Coordinate, Role, Variable};

pub(crate) struct H5md;

/// Decodes the values of a time-dependent element.
fn element(group: &Node) -> Result<Option<Variable>> {
    let (Some(value), Some(step)) = (group.child("value")?, group.child("step")?) else { return Ok(None) };
    let Some(mut variable) = plain::variable(&value)? else { return Ok(None) };
    variable.name = group.name().to_owned();
    let time = group.child("time")?.unwrap_or(step);
    if let Some(dimension) = variable.dimensions.first_mut() {
        dimension.name = Some(time.name().to_owned());
        dimension.path = Some(time.path().to_owned());
        dimension.has_values = true;
    }
    variable.coordinates.push(Coordinate {
        path: time.path().to_owned(),
        role: Role::Dimension,
        dimension: Some(0),
    });
    for (dimension, name) in variable.dimensions.iter_mut().skip(1).zip(["particle", "component"]) {
        dimension.name = Some(name.into());
    }
    Ok(Some(variable))
}

impl Convention for H5md {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(group) = root.child("h5md")? else { return Ok(None) };
        let Some(version) = group.integers("version")? else { return Ok(None) };
        let version = version.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
        let creator = group.child("creator")?;
        let part = |name: &str| creator.as_ref().map(|node| node.text(name)).transpose().map(Option::flatten);
        let writer = part("name")?.map(|name| (name, part("version")));
        let writer = match writer {
            Some((name, version)) => {
                Some(format!("{name} {}", version?.unwrap_or_default()).trim().to_owned())
            }
            None => None,
        };
        Ok(Some(
            Identity::new("H5MD", "/h5md with a version").with_version(Some(version)).with_writer(writer),
        ))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.kind()? {
            Kind::Group => Ok(element(node)?.map(Meaning::from)),
            Kind::Array if node.name() == "value" => match node.parent()? {
                Some(group) => Ok(element(&group)?.map(Meaning::from)),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        for (name, what) in [("particles", "of each particle"), ("observables", "of the whole system")] {
            let Some(all) = root.child(name)? else { continue };
            for group in all.children()? {
                if group.child("value")?.is_some() {
                    outline = outline.with(group.path(), what);
                    continue;
                }
                if group.kind()? == Kind::Group {
                    for inner in group.children()?.into_iter().filter(|inner| inner.name() != "box") {
                        outline = outline.with(inner.path(), what);
                    }
                }
            }
        }
        Ok(outline)
    }
}
