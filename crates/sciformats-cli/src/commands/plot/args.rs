//! The command line of `plot`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::args::Object;
use crate::figure::canvas::Size;
use crate::gather::Kind;
use crate::output::is_stdout;

#[derive(Debug, Args)]
pub(crate) struct Plot {
    #[command(flatten)]
    pub(super) object: Object,
    /// More paths in the file, or more files with the same path, whose lines are drawn into one picture
    #[arg(value_name = "PATH")]
    pub(super) more: Vec<PathBuf>,
    /// The part to draw, in NumPy's notation or by names of dimensions: `0:10,::2,-1`, `time=0` [default: the
    /// last two dimensions, at index 0 of the others]
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(super) slice: Option<String>,
    /// The part to draw, by the nearest coordinates: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(super) at: Option<String>,
    /// Draw the stored values instead of what they mean
    #[arg(long)]
    pub(super) raw: bool,
    /// The kind of picture [default: a line for one dimension, an image for two, points for N × 2 and N × 3]
    #[arg(long, short, value_enum)]
    pub(super) kind: Option<Kind>,
    /// The field to draw if the elements are compounds; several become several lines, or the coordinates of points
    #[arg(long, value_name = "NAME")]
    pub(super) field: Vec<String>,
    /// Draw the values of lines, or the colours of an image, on a logarithmic scale
    #[arg(long)]
    pub(super) log: bool,
    /// The number of bars of a histogram
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) bins: Option<u32>,
    /// Draw into this file, which must end in .svg, .pdf or .png; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format of the file [default: chosen by its ending, and png for stdout]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output")]
    format: Option<Target>,
    /// Draw a picture for each index of this dimension, given by its name or its number, into files with numbers in their
    /// names
    #[arg(long, value_name = "DIMENSION", requires = "output")]
    pub(super) each: Option<String>,
    /// The size of a picture in a file, in pixels
    #[arg(long, value_name = "WxH", default_value = "1000x700")]
    pub(super) size: Size,
    /// Multiply the number of pixels in both directions by N, for print (png only)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(super) scale: u32,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(super) force: bool,
}

/// A file format for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Target {
    /// Scalable Vector Graphics
    Svg,
    /// Portable Document Format
    Pdf,
    /// Portable Network Graphics
    Png,
}

impl Plot {
    /// Returns the file to draw into, and its format, which its ending selects.
    pub(super) fn target(&self) -> Result<Option<(&Path, Target)>, String> {
        let Some(output) = self.output.as_deref() else { return Ok(None) };
        if let Some(format) = self.format {
            return Ok(Some((output, format)));
        }
        match output.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Some((output, Target::Svg))),
            Some("pdf") => Ok(Some((output, Target::Pdf))),
            Some("png") => Ok(Some((output, Target::Png))),
            _ if is_stdout(output) => Ok(Some((output, Target::Png))),
            _ => Err(format!("{}: the name of a picture must end in .svg, .pdf or .png", output.display())),
        }
    }
}
