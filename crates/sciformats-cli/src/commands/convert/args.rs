//! The command lines of `convert` and `repack`.

use std::path::{Path, PathBuf};

use clap::Args;
use sciformats::Format;
use sciformats_convert::sink::WriteOptions;

use super::export;

#[derive(Clone, Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(super) files: Files,
    /// The format to write; csv, json and npz contain decoded values [default: chosen by the ending of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(super) to: Option<Target>,
    /// Convert only objects whose path matches, with everything in them; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(super) select: Vec<String>,
    /// Write the file even if the target cannot hold everything, and list what is lost
    #[arg(long)]
    pub(super) lossy: bool,
    /// Compare the manifest of the new file with what was to be written
    #[arg(long)]
    pub(super) check: bool,
    /// Report what would be written and lost, but write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) storage: Storage,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Repack {
    #[command(flatten)]
    pub(super) files: Files,
    /// Continue when something cannot be read or written, and list what is lost
    #[arg(long)]
    pub(super) lossy: bool,
    /// Copy elements that an HDF5 file stores in other files or datasets into the new file
    #[arg(long)]
    pub(super) inline: bool,
    /// Write a copy, compare it, throw it away, and report the result
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) storage: Storage,
}

#[derive(Clone, Debug, Args)]
pub(super) struct Files {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,
    /// The file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    pub(super) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(super) force: bool,
}

impl Files {
    /// Returns the same files with another one to write.
    pub(super) fn to(&self, output: &Path) -> Self {
        Self { output: output.into(), ..self.clone() }
    }
}

/// How elements are stored.
#[derive(Clone, Debug, Args)]
pub(super) struct Storage {
    /// The shape of chunks, such as `100,100`
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub(super) chunks: Option<Shape>,
    /// The compression, in the terms of the format: none, zlib, lz4, zstd, …
    #[arg(long, value_name = "NAME")]
    pub(super) filter: Option<String>,
    /// The compression level
    #[arg(long, value_name = "N")]
    pub(super) level: Option<u32>,
    /// The oldest release of the HDF5 library that must be able to read the file: earliest, 1.8, 1.10, 1.12
    /// or 2.0
    #[arg(long, value_name = "RELEASE")]
    pub(super) bound: Option<String>,
}

/// The extents of dimensions. This is a type of its own because clap would take a list for an argument that
/// may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape(pub(super) Vec<u64>);

impl Storage {
    pub(super) fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.chunks = self.chunks.clone().map(|Shape(chunks)| chunks);
        options.filter = self.filter.clone();
        options.level = self.level;
        options.bound = self.bound.clone();
        options
    }
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// One of our formats, with everything that the file contains.
    Format(Format),
    /// Arrays for other programs.
    Export(export::Target),
}

impl Target {
    /// Returns all words that select a target.
    pub(super) fn words() -> Vec<&'static str> {
        let others = export::Target::ALL.map(export::Target::word);
        Format::ALL.map(Format::word).into_iter().chain(others).collect()
    }
}

fn parse_format(text: &str) -> Result<Target, String> {
    let format = Format::ALL.into_iter().find(|format| format.word() == text).map(Target::Format);
    let other = || export::Target::ALL.into_iter().find(|other| other.word() == text).map(Target::Export);
    format.or_else(other).ok_or_else(|| format!("expected one of {}", Target::words().join(", ")))
}

fn parse_shape(text: &str) -> Result<Shape, String> {
    let numbers = text.split([',', 'x']).map(|number| number.trim().parse().ok().filter(|&n: &u64| n > 0));
    let shape: Option<Vec<u64>> = numbers.collect();
    shape.map(Shape).ok_or_else(|| "expected numbers separated by commas, such as 100,100".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_shapes() {
        assert_eq!(parse_format("gsd"), Ok(Target::Format(Format::Gsd)));
        assert_eq!(parse_format("npz"), Ok(Target::Export(export::Target::Npz)));
        assert!(parse_format("GSD").is_err());
        assert_eq!(parse_shape("3, 40"), Ok(Shape(vec![3, 40])));
        assert_eq!(parse_shape("3x40"), Ok(Shape(vec![3, 40])));
        assert!(parse_shape("3,,4").is_err() && parse_shape("0").is_err() && parse_shape("").is_err());
    }
}
