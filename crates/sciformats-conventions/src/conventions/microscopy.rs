//! Stacks of microscopes: `BigDataViewer` and Imaris.
//!
//! Sources: "`BigDataViewer` XML/HDF5" of its documentation; the Imaris file format specification. Both have
//! a pyramid of resolutions for each time and channel, and their elements are in the order z, y, x.

use sciformats::{ElementType, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::Variable;

pub(crate) struct BigDataViewer;
pub(crate) struct Imaris;

/// Decodes a stack, and names its dimensions.
fn stack(node: &Node) -> Result<Option<Variable>> {
    let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
    if variable.dimensions.len() == 3 {
        for (dimension, name) in variable.dimensions.iter_mut().zip(["z", "y", "x"]) {
            dimension.name = Some(name.into());
        }
    }
    Ok(Some(variable))
}

impl Convention for BigDataViewer {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let parts = [root.child("s00/resolutions")?, root.child("s00/subdivisions")?, root.child("t00000")?];
        let all = parts.iter().all(Option::is_some);
        Ok(all.then(|| Identity::new("BigDataViewer", "/s00/resolutions, /s00/subdivisions and /t00000")))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        if node.name() != "cells" {
            return Ok(None);
        }
        // Elements are stored as signed integers but mean unsigned ones.
        Ok(stack(node)?.map(|stack| match stack.stored().element {
            ElementType::Int(2) => stack.decoded(Decoding::As(ElementType::UInt(2))).into(),
            _ => stack.into(),
        }))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        for setup in root.children()? {
            let path = format!("/t00000/{}/0/cells", setup.name());
            if setup.child("resolutions")?.is_some() && root.at(&path)?.is_some() {
                outline = outline
                    .with(path, format!("setup {} at the first time, in full resolution", setup.name()));
            }
        }
        Ok(outline)
    }
}

/// Returns an attribute of Imaris, which is a text stored as a list of characters.
fn spelled(node: &Node, name: &str) -> Result<Option<String>> {
    Ok(node.texts(name)?.map(|characters| characters.concat()))
}

impl Convention for Imaris {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(name) = spelled(root, "ImarisDataSet")? else { return Ok(None) };
        let version = spelled(root, "ImarisVersion")?;
        Ok(Some(Identity::new("Imaris", format!("ImarisDataSet = {name}")).with_version(version)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let data = node.name() == "Data" && node.path().contains("/Channel ");
        Ok(if data { stack(node)?.map(Meaning::from) } else { None })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        if let Some(group) = root.child("DataSet/ResolutionLevel 0/TimePoint 0")? {
            for channel in group.children()? {
                let path = format!("{}/Data", channel.path());
                outline =
                    outline.with(path, format!("{} at the first time, in full resolution", channel.name()));
            }
        }
        Ok(outline)
    }
}
