//! H5MD: trajectories of particles.
//!
//! Source: <https://h5md.nongnu.org/h5md.html>, version 1.1. A time-dependent element is a group of `value`,
//! `step` and `time`. If the values are at equal distances, `step` and `time` are single numbers, the distances, and their
//! attribute `offset` is the first place.

use sciformats::{Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::{Coordinate, Role, Spacing, Variable};

pub(crate) struct H5md;

/// Returns the places of values at equal distances; `None` if each value has its own place.
fn spacing(time: &Node) -> Result<Option<Spacing>> {
    if time.info()?.and_then(|info| info.shape).is_none_or(|shape| !shape.is_empty()) {
        return Ok(None);
    }
    let Some(&[step]) = time.element_numbers()?.as_deref() else { return Ok(None) };
    let start = time.number("offset")?.unwrap_or_default();
    Ok(Some(Spacing { start, step, units: time.text("unit")? }))
}

/// Decodes the values of a time-dependent element.
fn element(group: &Node) -> Result<Option<Variable>> {
    let (Some(value), Some(step)) = (group.child("value")?, group.child("step")?) else { return Ok(None) };
    let Some(mut variable) = plain::variable(&value)? else { return Ok(None) };
    variable.name = group.name().to_owned();
    let time = group.child("time")?.unwrap_or(step);
    let spacing = spacing(&time)?;
    if let Some(dimension) = variable.dimensions.first_mut() {
        dimension.name = Some(time.name().to_owned());
        if spacing.is_some() {
            dimension.spacing = spacing;
        } else {
            dimension.path = Some(time.path().to_owned());
            dimension.has_values = true;
            let path = time.path().to_owned();
            variable.coordinates.push(Coordinate { path, role: Role::Dimension, dimension: Some(0) });
        }
    }
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

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use crate::Dataset;

    #[test]
    fn a_single_number_is_the_distance_between_times() {
        let mut tree = Memory::new(Format::Hdf5);
        let h5md = tree.group(tree.root(), "h5md");
        tree.attribute(h5md, "version", array::<i32>(&[2], &[1, 1]));
        let energy = tree.group(tree.root(), "energy");
        tree.array(energy, "value", array::<f64>(&[3], &[1.0, 2.0, 3.0]));
        tree.array(energy, "step", array::<i32>(&[], &[10]));
        let time = tree.array(energy, "time", array::<f64>(&[], &[0.5]));
        tree.attribute(time, "offset", array::<f64>(&[], &[5.0]));
        tree.attribute(time, "unit", texts(&[], &["ps"]));
        let energy = Dataset::new(File::from(tree)).variable("/energy").unwrap();
        let spacing = energy.dimensions[0].spacing.as_ref().unwrap();
        assert_eq!((spacing.start, spacing.step, spacing.units.as_deref()), (5.0, 0.5, Some("ps")));
        assert_eq!((energy.signature(), energy.coordinates.len()), ("energy(time: 3)".to_owned(), 0));
    }
}
