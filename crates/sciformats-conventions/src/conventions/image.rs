//! HDF5 images: datasets with `CLASS` = `IMAGE`, and their palettes.
//!
//! Source: the HDF5 Image and Palette Specification 1.2.

use sciformats::Result;

use super::plain;
use crate::node::Node;
use crate::variable::{Coordinate, Role, Variable};

/// Decodes an array that is an image; `None` if it is not one.
pub(crate) fn picture(node: &Node) -> Result<Option<Variable>> {
    if node.text("CLASS")?.as_deref() != Some("IMAGE") {
        return Ok(None);
    }
    let Some(mut variable) = plain::described(node)? else { return Ok(None) };
    let order = node.text("INTERLACE_MODE")?;
    let names: &[&str] = match (variable.dimensions.len(), order.as_deref()) {
        (2, _) => &["height", "width"],
        (3, Some("INTERLACE_PLANE")) => &["colour", "height", "width"],
        (3, Some("INTERLACE_LINE")) => &["height", "colour", "width"],
        (3, _) => &["height", "width", "colour"],
        _ => &[],
    };
    for (dimension, name) in variable.dimensions.iter_mut().zip(names) {
        dimension.name = Some((*name).to_owned());
    }
    let palettes = node.references("PALETTE").unwrap_or_default();
    let Some(group) = node.parent()? else { return Ok(Some(variable)) };
    for id in palettes.into_iter().flatten() {
        let named = match group.named(id)? {
            Some(named) => Some(named),
            None => node.root().named(id)?,
        };
        variable.coordinates.extend(named.map(|palette| Coordinate {
            path: palette.path().to_owned(),
            role: Role::Palette,
            dimension: None,
        }));
    }
    Ok(Some(variable))
}
