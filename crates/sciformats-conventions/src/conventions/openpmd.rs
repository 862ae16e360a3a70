//! openPMD: meshes and particles of simulations, with SI units.
//!
//! Source: <https://github.com/openPMD/openPMD-standard>, version 1.1. Values times `unitSI` have the unit
//! whose powers of the seven base units are in `unitDimension`. The places of a mesh are `gridGlobalOffset` +
//! (index + `position`) × `gridSpacing`, times `gridUnitSI`, in metres. A component whose values are all equal is a group
//! with the attributes `value` and `shape`.

use sciformats::{AttributeValue, Error, Kind, Result, Slab};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::elsewhere::{Elsewhere, How};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::values::Values;
use crate::variable::{Dimension, Spacing, Variable, type_name};

pub(crate) struct OpenPmd;

const BASE: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];

/// Returns the unit of a record: `kg m s^-3 A^-1`, preceded by the factor of `unitSI` if it is not 1.
fn unit(record: &Node, component: &Node) -> Result<Option<String>> {
    let Some(powers) = record.numbers("unitDimension")? else { return Ok(None) };
    let named = powers.iter().zip(BASE).filter(|(power, _)| **power != 0.0);
    let named =
        named.map(|(power, base)| if *power == 1.0 { base.to_owned() } else { format!("{base}^{power}") });
    let unit = named.collect::<Vec<_>>().join(" ");
    let unit = if unit.is_empty() { "1".to_owned() } else { unit };
    Ok(Some(match component.number("unitSI")? {
        Some(factor) if factor != 1.0 => format!("{factor:e} {unit}"),
        _ => unit,
    }))
}

/// Returns a component whose values are all equal; `None` if a group is something else.
fn constant(group: &Node) -> Result<Option<Variable>> {
    let (Some(value), Some(shape)) = (group.attribute("value")?, group.integers("shape")?) else {
        return Ok(None);
    };
    let shape: Option<Vec<u64>> = shape.iter().map(|&side| u64::try_from(side).ok()).collect();
    let (Some(shape), Some(1), Some(size)) = (shape, elements(&value), value.element.size()) else {
        return Ok(None);
    };
    let (element, bytes, node) = (value.element.clone(), value.data?, group.clone());
    let read = {
        let element = element.clone();
        move |slab: &Slab| {
            let all =
                slab.len().checked_mul(size).ok_or_else(|| Error::usage("selection", "is too large"))?;
            node.file().limits().memory("bytes of the elements to read", all)?;
            let count = usize::try_from(slab.len()).map_err(|_| Error::usage("selection", "is too large"))?;
            Ok(Values::plain(element.clone(), bytes.repeat(count)))
        }
    };
    let kind = type_name(&element);
    let elsewhere = Elsewhere { shape: shape.clone(), element, kind, how: How::part(read) };
    let mut variable = Variable::of_elsewhere(group, elsewhere, Decoding::Stored)?;
    if let Some(variable) = &mut variable {
        variable.dimensions = shape.into_iter().map(Dimension::unnamed).collect();
    }
    Ok(variable)
}

/// Returns the number of elements of an attribute.
fn elements(value: &AttributeValue) -> Option<u64> {
    value.shape.as_ref()?.iter().try_fold(1u64, |product, &side| product.checked_mul(side))
}

/// Names the dimensions of a component after the axes of its mesh, and says where they lie.
fn name_axes(record: &Node, component: &Node, variable: &mut Variable) -> Result<()> {
    let Some(mut labels) = record.texts("axisLabels")? else { return Ok(()) };
    let mut spacings = record.numbers("gridSpacing")?.unwrap_or_default();
    let mut offsets = record.numbers("gridGlobalOffset")?.unwrap_or_default();
    let mut positions = component.numbers("position")?.unwrap_or_default();
    // The axis that varies fastest is the last one, or the first one.
    if record.text("dataOrder")?.as_deref() == Some("F") {
        labels.reverse();
        for list in [&mut spacings, &mut offsets, &mut positions] {
            list.reverse();
        }
    }
    let unit = record.number("gridUnitSI")?.unwrap_or(1.0);
    let modes = record.text("geometry")?.as_deref() == Some("thetaMode")
        && variable.dimensions.len() == labels.len().saturating_add(1); // a bound
    let mut dimensions = variable.dimensions.iter_mut().peekable();
    if let Some(mode) = dimensions.next_if(|_| modes) {
        mode.name = Some("mode".to_owned());
    }
    for (at, (dimension, label)) in dimensions.zip(labels).enumerate() {
        dimension.name = Some(label);
        if let (Some(step), Some(offset)) = (spacings.get(at), offsets.get(at)) {
            let position = positions.get(at).copied().unwrap_or_default();
            let start = (offset + position * step) * unit;
            dimension.spacing = Some(Spacing { start, step: step * unit, units: Some("m".to_owned()) });
        }
    }
    Ok(())
}

impl Convention for OpenPmd {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(version) = root.text("openPMD")? else { return Ok(None) };
        let software = root.text("software")?;
        let writer = match root.text("softwareVersion")? {
            Some(version) => software.map(|software| format!("{software} {version}")),
            None => software,
        };
        Ok(Some(Identity::new("openPMD", "openPMD").with_version(Some(version)).with_writer(writer)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let variable = match node.kind()? {
            Kind::Group => constant(node)?,
            _ => plain::variable(node)?,
        };
        let Some(mut variable) = variable else { return Ok(None) };
        // A scalar record is the array itself, and other records are groups of their components.
        let record = if node.has("unitDimension")? { Some(node.clone()) } else { node.parent()? };
        let Some(record) = record.filter(|record| record.has("unitDimension").unwrap_or(false)) else {
            return Ok(None);
        };
        variable.units = unit(&record, node)?;
        name_axes(&record, node, &mut variable)?;
        Ok(Some(variable.into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        let Some(data) = root.child("data")? else { return Ok(outline) };
        let Some(last) = data.children()?.into_iter().next_back() else { return Ok(outline) };
        for (attribute, what) in [("meshesPath", "mesh"), ("particlesPath", "particles")] {
            let Some(name) = root.text(attribute)? else { continue };
            let Some(group) = last.child(name.trim_end_matches('/'))? else { continue };
            for child in group.children()? {
                let scalar = child.kind()? == Kind::Array;
                outline = outline
                    .with(child.path(), if scalar { format!("scalar {what}") } else { what.to_owned() });
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format, Range, Slab};

    use crate::Dataset;

    fn mesh(order: &str, lists: [[f64; 2]; 2]) -> Memory {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.attribute(root, "openPMD", texts(&[], &["1.1.0"]));
        let e = tree.group(root, "E");
        tree.attribute(e, "unitDimension", array::<f64>(&[7], &[1.0, 1.0, -3.0, -1.0, 0.0, 0.0, 0.0]));
        tree.attribute(e, "axisLabels", texts(&[2], if order == "C" { &["y", "x"] } else { &["x", "y"] }));
        tree.attribute(e, "dataOrder", texts(&[], &[order]));
        tree.attribute(e, "gridSpacing", array::<f64>(&[2], &lists[0]));
        tree.attribute(e, "gridGlobalOffset", array::<f64>(&[2], &lists[1]));
        tree.attribute(e, "gridUnitSI", array::<f64>(&[], &[0.5]));
        tree.array(e, "x", array::<f32>(&[2, 3], &[0.0; 6]));
        let z = tree.group(e, "z");
        tree.attribute(z, "value", array::<f32>(&[], &[1.5]));
        tree.attribute(z, "shape", array::<u64>(&[2], &[2, 3]));
        tree.attribute(z, "position", array::<f64>(&[2], &[0.0, 0.0]));
        tree
    }

    #[test]
    fn meshes_lie_somewhere() {
        for (order, lists) in [("C", [[4.0, 2.0], [10.0, 20.0]]), ("F", [[2.0, 4.0], [20.0, 10.0]])] {
            let data = Dataset::new(File::from(mesh(order, lists)));
            for path in ["/E/x", "/E/z"] {
                let variable = data.variable(path).unwrap();
                let axes = variable.dimensions.iter().map(|dimension| {
                    let spacing = dimension.spacing.as_ref().unwrap();
                    (dimension.name.as_deref().unwrap(), spacing.start, spacing.step)
                });
                assert_eq!(axes.collect::<Vec<_>>(), [("y", 5.0, 2.0), ("x", 10.0, 1.0)], "{order} {path}");
            }
        }
    }

    #[test]
    fn a_component_with_equal_values_is_an_array() {
        let data = Dataset::new(File::from(mesh("C", [[1.0; 2]; 2])));
        let z = data.variable("/E/z").unwrap();
        assert_eq!(z.to_string(), "z(y: 2, x: 3) float32, m kg s^-3 A^-1");
        assert_eq!(z.read().unwrap().numbers().unwrap(), [1.5; 6]);
        let part = Slab::new(&[2, 3], [Range::new(1, 1), Range::new(0, 2).by(2)]).unwrap();
        assert_eq!(z.read_slab(&part).unwrap().numbers().unwrap(), [1.5; 2]);
    }
}
