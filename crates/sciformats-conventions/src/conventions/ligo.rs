//! Strain of gravitational waves, and any regular series that contains its spacing: `Xstart`, `Xspacing`,
//! `Xunits`.
//!
//! Source: the tutorials of the Gravitational Wave Open Science Center.

use sciformats::Result;

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::Spacing;

pub(crate) struct Ligo;

impl Convention for Ligo {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(strain) = root.child("strain/Strain")? else { return Ok(None) };
        Ok(strain.has("Xspacing")?.then(|| Identity::new("GWOSC strain", "Xspacing of /strain/Strain")))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(step) = node.number("Xspacing")? else { return Ok(None) };
        let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
        if let Some(first) = variable.dimensions.first_mut() {
            first.name = node.text("Xlabel")?;
            let start = node.number("Xstart")?.unwrap_or(0.0);
            first.spacing = Some(Spacing { start, step, units: node.text("Xunits")? });
        }
        variable.units = node.text("Yunits")?.filter(|units| !units.is_empty());
        variable.long_name = node.text("Ylabel")?;
        Ok(Some(variable.into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default().with("/strain/Strain", "strain");
        for path in ["quality/simple/DQmask", "quality/injections/Injmask"] {
            if let Some(node) = root.child(path)? {
                outline = outline.with(node.path(), "quality, one value per second");
            }
        }
        Ok(outline)
    }
}
