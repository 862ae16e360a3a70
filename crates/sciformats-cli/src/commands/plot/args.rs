//! The command line of `plot`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::args::Object;
use crate::figure::canvas::Size;
use crate::gather::Kind;

#[derive(Debug, Args)]
pub(crate) struct Plot {
    #[command(flatten)]
    pub(super) object: Object,
    /// The part to draw, as NumPy writes it or by names of dimensions: `0:10,::2,-1`, `time=0` [default: of more than two
    /// dimensions, the last two]
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(super) slice: Option<String>,
    /// The part to draw by coordinates, the nearest ones: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(super) at: Option<String>,
    /// Draw what is stored instead of what it means
    #[arg(long)]
    pub(super) raw: bool,
    /// The kind of picture [default: a line of one dimension, an image of two]
    #[arg(long, short, value_enum)]
    pub(super) kind: Option<Kind>,
    /// The field to draw of compounds
    #[arg(long, value_name = "NAME")]
    pub(super) field: Option<String>,
    /// The number of bars of a histogram
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) bins: Option<u32>,
    /// Draw into this file: .svg or .png
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Pixels of the picture in a file
    #[arg(long, value_name = "WxH", default_value = "1000x700")]
    pub(super) size: Size,
    /// Take the place of a file that is there
    #[arg(long, short)]
    pub(super) force: bool,
}

/// A kind of file for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Svg,
    Png,
}

impl Plot {
    /// The file to draw into, and its kind by its ending.
    pub(super) fn target(&self) -> Result<Option<(&Path, Target)>, String> {
        let Some(output) = self.output.as_deref() else { return Ok(None) };
        match output.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Some((output, Target::Svg))),
            Some("png") => Ok(Some((output, Target::Png))),
            _ => Err(format!("{}: a picture ends in .svg or .png", output.display())),
        }
    }
}
