//! `combine`: writes references to many files as if they were one, or an HDF5 file that shows them.

mod hdf5;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use sciformats::Format;
use sciformats_references::{
    Along, Existing, Files, NamePattern, Options, Report, combine_files, extend, kerchunk,
};

use self::hdf5::as_hdf5;
use super::icechunk;
use super::references::{local, tell, write};
use crate::args::parse_size;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::output::{is_stdout, named, not_stdout, through_file};
use crate::session::Session;

/// The arguments of `combine`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Combine {
    /// The files in the order in which they are joined, or their URLs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The dimension along which they are joined
    #[arg(long, value_name = "DIMENSION", default_value = "time")]
    along: String,
    /// The output: JSON (`-` is stdout), a folder of Parquet files if it ends in .parquet, a repository of Icechunk if it is
    /// icechunk:DIR, or an HDF5 file that shows the others if it ends in .h5, .hdf5 or .nc
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Add the files to an existing output of JSON or HDF5, whose own files are not scanned again
    #[arg(long, conflicts_with = "force")]
    add: bool,
    /// The largest array that becomes part of the references if its chunks cannot be referenced
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4MiB")]
    inline: u64,
    /// Reference chunks that only the codecs of the Python package sciformats can decode
    #[arg(long)]
    codecs: bool,
    /// Take the coordinate of the dimension from the names of the files, for example `tas_%Y%m%d.nc`: %Y %m %d %j %H %M %S stand for
    /// the parts of a date, %n for a number, and * for any text. Arrays without the dimension get it
    #[arg(long, value_name = "PATTERN")]
    from_name: Option<String>,
    /// Start a new group (run1, run2, …) wherever a file does not fit the one before
    #[arg(long)]
    split: bool,
    /// Overwrite an existing file
    #[arg(long, short)]
    force: bool,
}

pub(super) fn run(args: &Combine, session: &Session) -> Outcome {
    for file in &args.files {
        named(file, "combine")?;
    }
    if args.add {
        not_stdout(&args.output, "an output to which files are added")?;
    }
    if is_stdout(&args.output) {
        // Nothing but the references is written to stdout, so the report needs no other place.
        return through_file(".json", session, |path, _| {
            let report = as_references(&Combine { output: path.into(), ..args.clone() }, session)?;
            tell(&report, Path::new("stdout"), session)?;
            Ok(Answer::of(report.is_complete()))
        });
    }
    if !args.add {
        free(icechunk::place(&args.output), args.force)?;
    } else if icechunk::repository(&args.output).is_some() {
        return Err(Failure::Usage("--add works with JSON and HDF5, not with Icechunk".into()));
    }
    let shown = Format::expected_of(&args.output) == Some(Format::Hdf5);
    if shown && (args.from_name.is_some() || args.split) {
        return Err(Failure::Usage(
            "--from-name and --split work with references, not with HDF5 files".into(),
        ));
    }
    if args.add && args.split {
        return Err(Failure::Usage("--add cannot be combined with --split".into()));
    }
    let report = if shown { as_hdf5(args, session)? } else { as_references(args, session)? };
    tell(&report, &args.output, session)?;
    Ok(Answer::of(report.is_complete()))
}

/// The number of remote files that are opened at once. Opening one waits for round trips most of the time.
const AT_ONCE: usize = 64;

fn as_references(args: &Combine, session: &Session) -> Outcome<Report> {
    let mut options = Options::new("");
    options.inline = args.inline;
    options.codecs = args.codecs;
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let usage = |error: sciformats::Error| Failure::Usage(error.to_string());
    let pattern = args.from_name.as_deref().map(NamePattern::parse).transpose().map_err(usage)?;
    let steps = pattern.map(|pattern| pattern.steps(names.iter().map(String::as_str))).transpose();
    let steps = steps.map_err(usage)?;
    let along = Along { name: &args.along, steps: steps.as_ref(), runs: args.split };
    let mut urls = Vec::new();
    let existing = args.add.then(|| existing(&args.output)).transpose()?;
    urls.extend(existing.iter().flat_map(|existing| existing.urls.iter().cloned()));
    let mut known: HashSet<String> = urls.iter().cloned().collect();
    for path in &args.files {
        let url = if session.far().is_far(path) { path.to_string_lossy().into_owned() } else { local(path)? };
        if !known.insert(url.clone()) {
            return Err(Failure::Usage(format!("{} is among the files already", path.display())));
        }
        urls.push(url);
    }
    // The file that cannot be opened, of which the error knows nothing.
    let failed = Mutex::new(None);
    let open = |number: usize| {
        let path = args.files.get(number).map_or(Path::new(""), PathBuf::as_path);
        session.far().open(path, session.options()).inspect_err(|error| {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert_with(|| Failure::of(path, error));
        })
    };
    let reopen = |url: &str| {
        let path = url.strip_prefix("file://").unwrap_or(url);
        session.far().open_url(Path::new(path), session.options())
    };
    let far = args.files.iter().any(|path| session.far().is_far(path));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let files = Files { names: &names, open: &open, at_once: if far { AT_ONCE } else { cores } };
    let report = session.watched("combining", &[], || {
        write(&args.output, (&urls, None), |sink| match &existing {
            Some(existing) => extend(existing, &reopen, &files, (along, &options), sink),
            None => combine_files(&files, along, &options, sink),
        })
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) if report.is_err() => Err(failure),
        _ => report,
    }
}

/// Reads the references to which files are added.
fn existing(output: &Path) -> Outcome<Existing> {
    if output.is_dir() {
        return Err(Failure::Usage(
            "--add works with JSON and HDF5; write Parquet files anew from all files".into(),
        ));
    }
    let failed = |text: String| Failure::Input(format!("{}: {text}", output.display()));
    let json = fs::read(output).map_err(|error| failed(error.to_string()))?;
    kerchunk::read(&json).map_err(|error| failed(error.to_string()))
}
