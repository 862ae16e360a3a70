//! The command lines of `convert` and `repack`.

use std::path::PathBuf;

use clap::Args;
use sciformats::Format;
use sciformats_convert::sink::{Rounding, Rule, WriteOptions};

use super::export;
use crate::args::parse_size;

#[derive(Debug, Args)]
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

#[derive(Debug, Args)]
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
    /// The shape of the chunks of single datasets of HDF5, such as `/tas=100,90,90`; may be repeated
    #[arg(long, value_name = "PATH=SHAPE", value_parser = parse_chunk)]
    pub(super) chunk: Vec<(String, Shape)>,
    /// The compression of single datasets of HDF5, such as `/tas=zstd:3`; may be repeated
    #[arg(long, value_name = "PATH=FILTER", value_parser = parse_filter)]
    pub(super) filter_of: Vec<(String, String, Option<u32>)>,
    /// Allocate an HDF5 file in pages of this size, from 512 bytes to 1 GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) page_size: Option<u64>,
    /// Put all structures of an HDF5 file before its elements
    #[arg(long)]
    pub(super) metadata_first: bool,
    /// Round the floating-point numbers of an HDF5 file to this many bits of the significand
    #[arg(long, value_name = "N", conflicts_with = "keep_digits")]
    pub(super) keep_bits: Option<u8>,
    /// Round the floating-point numbers of an HDF5 file to this many significant digits
    #[arg(long, value_name = "N")]
    pub(super) keep_digits: Option<u8>,
    #[command(flatten)]
    pub(super) storage: Storage,
}

impl Repack {
    /// Returns how the new file is written, without what the session knows.
    pub(super) fn options(&self) -> WriteOptions {
        let mut options = self.storage.options();
        options.inline = self.inline;
        options.page_size = self.page_size;
        options.metadata_first = self.metadata_first;
        options.rounding =
            self.keep_bits.map(Rounding::Bits).or_else(|| self.keep_digits.map(Rounding::Digits));
        // What is said of one path is one rule.
        let mut rule = |path: &str| {
            let known = options.rules.iter().position(|rule| rule.path == path.into());
            let at = known.unwrap_or(options.rules.len());
            if known.is_none() {
                let Storage { chunks, filter, level, .. } = self.storage.clone();
                let chunks = chunks.map(|Shape(chunks)| chunks);
                options.rules.push(Rule { chunks, filter, level, ..Rule::of(path) });
            }
            at
        };
        let chunks: Vec<usize> = self.chunk.iter().map(|(path, _)| rule(path)).collect();
        let filters: Vec<usize> = self.filter_of.iter().map(|(path, ..)| rule(path)).collect();
        for (at, (_, Shape(shape))) in chunks.into_iter().zip(&self.chunk) {
            if let Some(rule) = options.rules.get_mut(at) {
                rule.chunks = Some(shape.clone());
            }
        }
        for (at, (_, filter, level)) in filters.into_iter().zip(&self.filter_of) {
            if let Some(rule) = options.rules.get_mut(at) {
                (rule.filter, rule.level) = (Some(filter.clone()), *level);
            }
        }
        options
    }

    /// Returns whether an option that only `repack` knows changes how elements are stored.
    pub(super) fn moves(&self) -> bool {
        !self.chunk.is_empty()
            || !self.filter_of.is_empty()
            || self.keep_bits.is_some()
            || self.keep_digits.is_some()
    }
}

#[derive(Clone, Debug, Args)]
pub(super) struct Files {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    pub(super) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(super) force: bool,
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

fn parse_chunk(text: &str) -> Result<(String, Shape), String> {
    let (path, shape) = text.rsplit_once('=').ok_or("expected a path and a shape, such as /tas=100,90,90")?;
    Ok((path.into(), parse_shape(shape)?))
}

fn parse_filter(text: &str) -> Result<(String, String, Option<u32>), String> {
    let wrong = "expected a path and a filter, such as /tas=zstd or /tas=zstd:3";
    let (path, filter) = text.rsplit_once('=').ok_or(wrong)?;
    match filter.split_once(':') {
        Some((filter, level)) => Ok((path.into(), filter.into(), Some(level.parse().map_err(|_| wrong)?))),
        None => Ok((path.into(), filter.into(), None)),
    }
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
        assert_eq!(parse_chunk("/a=b=3,4"), Ok(("/a=b".into(), Shape(vec![3, 4]))));
        assert!(parse_chunk("/a").is_err());
        assert_eq!(parse_filter("/a=zstd:9"), Ok(("/a".into(), "zstd".into(), Some(9))));
        assert!(parse_filter("/a=zstd:x").is_err());
        assert!(parse_shape("3,,4").is_err() && parse_shape("0").is_err() && parse_shape("").is_err());
    }
}
