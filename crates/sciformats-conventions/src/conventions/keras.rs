//! Weights of neural networks that Keras wrote, by layers, in files of version 2 and version 3.
//!
//! Source: the modules `keras.src.legacy.saving.legacy_h5_format` and `keras.src.saving.saving_lib`. Version
//! 2 lists its layers in `layer_names`. Version 3 has one group per layer below `layers`, with its weights in
//! `vars`.

use sciformats::{Kind, Result};

use crate::convention::Convention;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::type_name;

pub(crate) struct Keras;

/// The deepest nesting of groups that is searched for weights.
const DEPTH: usize = 8;

/// Returns the group of the weights of version 2.
fn weights(root: &Node) -> Result<Option<Node>> {
    let group = root.child("model_weights")?.unwrap_or_else(|| root.clone());
    Ok(if group.has("layer_names")? { Some(group) } else { None })
}

/// Adds the arrays of a group and of its subgroups.
fn arrays(mut outline: Outline, group: &Node, layer: &str, depth: usize) -> Result<Outline> {
    for child in group.children()? {
        match child.info()? {
            Some(info) => {
                let shape = info.shape.as_deref().unwrap_or_default();
                outline = outline
                    .with(child.path(), format!("layer {layer}: {shape:?} {}", type_name(&info.element)));
            }
            None if depth > 0 && child.kind()? == Kind::Group => {
                outline = arrays(outline, &child, layer, depth - 1)?;
            }
            None => {}
        }
    }
    Ok(outline)
}

impl Convention for Keras {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let group = weights(root)?;
        let version = match (root.text("keras_version")?, &group) {
            (None, Some(group)) => group.text("keras_version")?,
            (version, _) => version,
        };
        let layers = match root.child("layers")? {
            Some(layers) => layers.few(1)?.into_iter().next(),
            None => None,
        };
        let saved = match &layers {
            Some(first) => first.child("vars")?.is_some(),
            None => root.child("_layer_checkpoint_dependencies")?.is_some(),
        };
        let evidence = match (&version, group, saved) {
            (Some(_), ..) => "keras_version",
            (None, Some(_), _) => "layer_names",
            (None, None, true) => "the weights of layers",
            (None, None, false) => return Ok(None),
        };
        let writer = root.text("backend")?.map(|backend| format!("Keras with {backend}"));
        Ok(Some(Identity::new("Keras", evidence).with_version(version).with_writer(writer)))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        if let Some(group) = weights(root)? {
            for layer in group.texts("layer_names")?.unwrap_or_default() {
                if let Some(node) = group.child(&layer)? {
                    outline = arrays(outline, &node, &layer, DEPTH)?;
                }
            }
            return Ok(outline);
        }
        let layers = root.child("layers")?.or(root.child("_layer_checkpoint_dependencies")?);
        for layer in layers.map(|layers| layers.children()).transpose()?.unwrap_or_default() {
            outline = arrays(outline, &layer, layer.name(), DEPTH)?;
        }
        Ok(outline)
    }
}
