//! The command lines of `convert` and `repack`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::Args;
use sciformats::Format;
use sciformats::sciformats_remote::Existing;
use sciformats_convert::sink::{Rounding, Rule, WriteOptions};

use super::export;
use crate::args::parse_size;
use crate::failure::{Failure, Outcome, free};
use crate::interrupt::Passing;
use crate::session::Session;

#[derive(Clone, Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(in crate::commands) files: Files,
    /// The format to write; csv, json and npz contain decoded values [default: chosen by the ending of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(in crate::commands) to: Option<Target>,
    /// Convert only objects whose path matches, with everything in them; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::commands) select: Vec<String>,
    /// How a table of another program is stored in HDF5 [default: records, or anndata if OUT ends in .h5ad]
    #[cfg(feature = "tables")]
    #[arg(long, value_name = "FORM", value_enum)]
    pub(in crate::commands) form: Option<TableForm>,
    /// Write the file even if the target cannot hold everything, and list what is lost
    #[arg(long)]
    pub(in crate::commands) lossy: bool,
    /// Compare the manifest of the new file with what was to be written
    #[arg(long)]
    pub(in crate::commands) check: bool,
    /// Report what would be written and lost, but write nothing
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,
    /// The shape of the shards of a store of Zarr (OUT ends in .zarr), each a file of many chunks, such as `1000,1000`
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub(in crate::commands) shards: Option<Shape>,
    /// Whether elements that an HDF5 file stores elsewhere become part of the new file. Only `repack` has this option.
    #[arg(skip)]
    pub(in crate::commands) inline: bool,
    #[command(flatten)]
    pub(super) round: Round,
    #[command(flatten)]
    pub(in crate::commands) storage: Storage,
}

/// How floating-point numbers are rounded.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Round {
    /// Round the floating-point numbers of an HDF5 file to this many bits of the significand, or to as many as keep a share of the
    /// information that neighbours have about each other, such as `99%`, found for each dataset; `auto` is 99%
    #[arg(long, value_name = "N|SHARE|auto", conflicts_with = "keep_digits", value_parser = parse_keep)]
    keep_bits: Option<Rounding>,
    /// Round the floating-point numbers of an HDF5 file to this many significant digits
    #[arg(long, value_name = "N")]
    keep_digits: Option<u8>,
}

impl Round {
    pub(super) fn asked(&self) -> Option<Rounding> {
        self.keep_bits.or_else(|| self.keep_digits.map(Rounding::Digits))
    }
}

/// How a table is stored in HDF5.
#[cfg(feature = "tables")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum TableForm {
    /// A list of records
    Records,
    /// A table of `PyTables`
    Pytables,
    /// A group with an array for each column
    Columns,
    /// A frame of `AnnData`
    Anndata,
}

#[cfg(feature = "tables")]
impl From<TableForm> for sciformats_arrow::write::Form {
    fn from(form: TableForm) -> Self {
        match form {
            TableForm::Records => Self::Records,
            TableForm::Pytables => Self::PyTables,
            TableForm::Columns => Self::Columns,
            TableForm::Anndata => Self::AnnData,
        }
    }
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
    #[command(flatten)]
    pub(super) round: Round,
    #[command(flatten)]
    pub(super) storage: Storage,
}

impl Repack {
    /// Returns the arguments that only round.
    pub(super) fn rounding(files: Files, round: Round) -> Self {
        Self {
            files,
            round,
            lossy: false,
            inline: false,
            dry_run: false,
            chunk: Vec::new(),
            filter_of: Vec::new(),
            page_size: None,
            metadata_first: false,
            storage: Storage::default(),
        }
    }

    /// Returns how the new file is written, without what the session knows.
    pub(super) fn options(&self) -> WriteOptions {
        let mut options = self.storage.options();
        options.inline = self.inline;
        options.page_size = self.page_size;
        options.metadata_first = self.metadata_first;
        options.rounding = self.round.asked();
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
        !self.chunk.is_empty() || !self.filter_of.is_empty() || self.round.asked().is_some()
    }
}

#[derive(Clone, Debug, Args)]
pub(in crate::commands) struct Files {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(in crate::commands) input: PathBuf,
    /// The file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    pub(in crate::commands) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(in crate::commands) force: bool,
    /// The local file that is written if OUT is in an object store.
    #[arg(skip)]
    staged: OnceLock<Staged>,
}

/// A file that is written before it is uploaded.
#[derive(Clone, Debug)]
struct Staged {
    path: PathBuf,
    /// The folder, which is removed at the end.
    _folder: Arc<Passing>,
}

impl Files {
    /// Checks that the file to write does not exist or may be replaced. If it is in an object store, a local file is written first.
    pub(in crate::commands) fn prepare(&self, dry_run: bool, session: &Session) -> Outcome<()> {
        if self.staged.get().is_some() {
            return Ok(());
        }
        if !session.far().is_far(&self.output) {
            return if dry_run { Ok(()) } else { free(&self.output, self.force) };
        }
        session.far().vacant(&self.output, self.force || dry_run)?;
        let unwritten = |error: std::io::Error| Failure::Unwritten(self.output.clone(), error.to_string());
        let folder = Passing::new().map_err(unwritten)?;
        let path = folder.path().join(self.output.file_name().unwrap_or_default());
        let _ = self.staged.set(Staged { path, _folder: Arc::new(folder) });
        Ok(())
    }

    /// Returns the place where the file is written.
    pub(in crate::commands) fn place(&self) -> &Path {
        self.staged.get().map_or(&self.output, |staged| &staged.path)
    }

    /// Uploads the file that was written, if it is to be in an object store.
    pub(in crate::commands) fn publish(&self, session: &Session) -> Outcome<()> {
        match self.staged.get() {
            Some(staged) => {
                let existing = if self.force { Existing::Replaced } else { Existing::Refused };
                session.far().upload(&staged.path, &self.output, existing)
            }
            None => Ok(()),
        }
    }
}

impl Files {
    /// Returns the same files with another one to write.
    pub(in crate::commands) fn to(&self, output: &Path) -> Self {
        Self { output: output.into(), ..self.clone() }
    }

    /// Returns the same files with another one to read.
    pub(super) fn from(&self, input: &Path) -> Self {
        Self { input: input.into(), ..self.clone() }
    }
}

/// How elements are stored.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::commands) struct Storage {
    /// The shape of chunks, such as `100,100`
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub(in crate::commands) chunks: Option<Shape>,
    /// The compression, in the terms of the format: none, zlib, lz4, zstd, …
    #[arg(long, value_name = "NAME")]
    pub(in crate::commands) filter: Option<String>,
    /// The compression level
    #[arg(long, value_name = "N")]
    pub(in crate::commands) level: Option<u32>,
    /// The oldest release of the HDF5 library that must be able to read the file: earliest, 1.8, 1.10, 1.12
    /// or 2.0
    #[arg(long, value_name = "RELEASE")]
    pub(in crate::commands) bound: Option<String>,
}

/// The extents of dimensions. This is a type of its own because clap would take a list for an argument that
/// may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Shape(pub(in crate::commands) Vec<u64>);

impl Storage {
    pub(in crate::commands) fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.chunks = self.chunks.clone().map(|Shape(chunks)| chunks);
        options.filter = self.filter.clone();
        options.level = self.level;
        options.bound = self.bound.clone();
        options
    }

    /// Fails if one of these is given where there is nothing to choose. `what` is what is written.
    pub(in crate::commands) fn unasked(&self, check: bool, what: &str) -> Outcome<()> {
        let Self { chunks, filter, level, bound } = self;
        let mut given = [
            ("--chunks", chunks.is_some()),
            ("--filter", filter.is_some()),
            ("--level", level.is_some()),
            ("--bound", bound.is_some()),
            ("--check", check),
        ]
        .into_iter();
        match given.find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::Usage(format!("{option} has no meaning for {what}"))),
            None => Ok(()),
        }
    }
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Target {
    /// One of our formats, with everything that the file contains.
    Format(Format),
    /// Arrays for other programs.
    Export(export::Target),
    /// A table for other programs.
    #[cfg(feature = "tables")]
    Table(crate::commands::tables::TableFormat),
}

impl Target {
    /// Returns all words that select a target.
    pub(super) fn words() -> Vec<&'static str> {
        let others = export::Target::ALL.map(export::Target::word);
        let tables: &[&str] = if cfg!(feature = "tables") { &["parquet", "arrow"] } else { &[] };
        Format::ALL.map(Format::word).into_iter().chain(others).chain(tables.iter().copied()).collect()
    }
}

fn parse_format(text: &str) -> Result<Target, String> {
    let format = Format::ALL.into_iter().find(|format| format.word() == text).map(Target::Format);
    let other = || export::Target::ALL.into_iter().find(|other| other.word() == text).map(Target::Export);
    #[cfg(feature = "tables")]
    {
        use crate::commands::tables::TableFormat;
        match text {
            "parquet" => return Ok(Target::Table(TableFormat::Parquet)),
            "arrow" => return Ok(Target::Table(TableFormat::Arrow)),
            _ => {}
        }
    }
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

fn parse_keep(text: &str) -> Result<Rounding, String> {
    const USUAL: u16 = 9900;
    let wrong = "expected a number of bits, a share of the information such as 99% or 99.9%, or auto";
    if text == "auto" {
        return Ok(Rounding::Information(USUAL));
    }
    let rounding = match text.strip_suffix('%') {
        None => Rounding::Bits(text.parse().map_err(|_| wrong)?),
        Some(share) => {
            let (whole, part) = share.split_once('.').unwrap_or((share, ""));
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if !digits(whole) || !digits(part) || part.len() > 2 {
                return Err(wrong.into());
            }
            let hundredths = format!("{whole}{part:0<2}");
            Rounding::Information(hundredths.parse().map_err(|_| wrong)?)
        }
    };
    rounding.check().map_err(|error| error.to_string())?;
    Ok(rounding)
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
        assert_eq!(parse_keep("7"), Ok(Rounding::Bits(7)));
        assert_eq!(parse_keep("99.5%"), Ok(Rounding::Information(9950)));
        assert_eq!(
            (parse_keep("auto"), parse_keep("9%")),
            (Ok(Rounding::Information(9900)), parse_keep("9.00%"))
        );
        for wrong in ["", "0", "53", "0%", "100%", "99.999%", "-1%", "+9%", "9.9.%", "%", "all"] {
            assert!(parse_keep(wrong).is_err(), "{wrong}");
        }
        assert!(parse_shape("3,,4").is_err() && parse_shape("0").is_err() && parse_shape("").is_err());
    }
}
