//! HOOMD-blue: trajectories in GSD files, with one group per frame.
//!
//! Source: <https://gsd.readthedocs.io/en/stable/schema-hoomd.html>, version 1.4.

use sciformats::{ElementType, Format, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::Decoding;
use crate::identity::{Identity, Outline};
use crate::node::Node;

pub(crate) struct Hoomd;

impl Convention for Hoomd {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let source = root.file().source();
        if source.format() != Format::Gsd {
            return Ok(None);
        }
        let facts = source.facts();
        let fact =
            |name: &str| facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let Some(schema) = fact("schema").filter(|schema| schema.starts_with("hoomd")) else {
            return Ok(None);
        };
        let version = schema.split_whitespace().nth(1).map(str::to_owned).or_else(|| fact("schema version"));
        Ok(Some(
            Identity::new("HOOMD", format!("schema = {schema}"))
                .with_version(version)
                .with_writer(fact("application")),
        ))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
        // The names of types are in rows of characters.
        let characters = matches!(variable.stored().element, ElementType::Int(1) | ElementType::UInt(1));
        if node.path().ends_with("/types") && characters && variable.dimensions.len() == 2 {
            return Ok(Some(variable.decoded(Decoding::Characters).into()));
        }
        // Counts and descriptions of types are not lists of particles.
        if matches!(node.name(), "N" | "types" | "type_shapes") {
            return Ok(Some(variable.into()));
        }
        let of = node.path().rsplit('/').nth(1).unwrap_or_default();
        let name = match of {
            "particles" => "particle",
            "bonds" => "bond",
            "angles" => "angle",
            "dihedrals" => "dihedral",
            "impropers" => "improper",
            "constraints" => "constraint",
            "pairs" => "pair",
            _ => return Ok(Some(variable.into())),
        };
        for (dimension, name) in variable.dimensions.iter_mut().zip([name, "component"]) {
            dimension.name = Some(name.into());
        }
        Ok(Some(variable.into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        for (name, what) in
            [("frames/0/particles/position", "positions in the first frame"), ("log", "logged quantities")]
        {
            if let Some(node) = root.child(name)? {
                outline = outline.with(node.path(), what);
            }
        }
        Ok(outline)
    }
}
