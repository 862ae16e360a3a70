//! openPMD: meshes and particles of simulations, with SI units.
//!
//! Source: <https://github.com/openPMD/openPMD-standard>, version 1.1. Values times `unitSI` have the unit
//! whose powers of the seven base units are in `unitDimension`.

use sciformats::{Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;

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
        let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
        // A scalar record is the array itself, and other records are groups of their components.
        let record = if node.has("unitDimension")? { Some(node.clone()) } else { node.parent()? };
        let Some(record) = record.filter(|record| record.has("unitDimension").unwrap_or(false)) else {
            return Ok(None);
        };
        variable.units = unit(&record, node)?;
        let labels = record.texts("axisLabels")?.unwrap_or_default();
        for (dimension, label) in variable.dimensions.iter_mut().zip(labels) {
            dimension.name = Some(label);
        }
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
