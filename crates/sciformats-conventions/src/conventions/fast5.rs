//! Fast5: signals of nanopores, converted to picoamperes by the calibration of their channel.
//!
//! Source: the documentation of `ont_fast5_api`. A file has one read (`/Raw/Reads`) or many (`/read_…`). The
//! current is `(signal + offset) * range / digitisation`.

use sciformats::{ElementType, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::Spacing;

pub(crate) struct Fast5;

/// The number of members that are examined to find a read. A file has thousands of them, and hardly anything
/// else.
const LOOKED_AT: usize = 64;

/// Returns the calibration of the channel that a signal comes from.
fn channel(signal: &Node) -> Result<Option<Node>> {
    let mut group = signal.parent()?;
    while let Some(at) = group {
        for path in ["channel_id", "UniqueGlobalKey/channel_id"] {
            if let Some(found) = at.child(path)? {
                return Ok(Some(found));
            }
        }
        group = at.parent()?;
    }
    Ok(None)
}

/// Returns the first signal of a file.
fn first(root: &Node) -> Result<Option<Node>> {
    if let Some(reads) = root.child("Raw/Reads")? {
        return reads.few(1)?.first().map_or(Ok(None), |read| read.child("Signal"));
    }
    let read = root.few(LOOKED_AT)?.into_iter().find(|child| child.name().starts_with("read_"));
    read.map_or(Ok(None), |read| read.child("Raw/Signal"))
}

impl Convention for Fast5 {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let Some(signal) = first(root)? else { return Ok(None) };
        let version = match root.text("file_version")? {
            Some(version) => Some(version),
            None => root.number("file_version")?.map(|version| version.to_string()),
        };
        Ok(channel(&signal)?.map(|_| {
            Identity::new("Fast5", format!("{} with a channel", signal.path())).with_version(version)
        }))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        if node.name() != "Signal" {
            return Ok(None);
        }
        let (Some(mut variable), Some(channel)) = (plain::variable(node)?, channel(node)?) else {
            return Ok(None);
        };
        let parts = (channel.number("range")?, channel.number("digitisation")?, channel.number("offset")?);
        let (Some(range), Some(digitisation), Some(offset)) = parts else { return Ok(None) };
        let mut numbers = Numbers::new(variable.stored().element.clone());
        let scale = range / digitisation;
        (numbers.to, numbers.scale, numbers.offset) =
            (Some(ElementType::F64), Some(scale), Some(offset * scale));
        variable.units = Some("pA".into());
        if let (Some(first), Some(rate)) = (variable.dimensions.first_mut(), channel.number("sampling_rate")?)
        {
            first.name = Some("time".into());
            first.spacing = Some(Spacing { start: 0.0, step: 1.0 / rate, units: Some("s".into()) });
        }
        Ok(Some(variable.decoded(Decoding::Numbers(numbers)).into()))
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        Ok(first(root)?.map_or_else(Outline::default, |signal| {
            Outline::default().with(signal.path(), "the first signal")
        }))
    }
}
