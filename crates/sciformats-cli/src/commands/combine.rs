//! `combine`: writes references to many files as if they were one, or an HDF5 file that shows them.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use sciformats::{File, Format};
use sciformats_convert::repack::{self, Joined};
use sciformats_convert::sink::WriteOptions;
use sciformats_references::{Options, Part, Report, Virtual, combine, extend, kerchunk, virtual_arrays};

use super::references::{tell, url, write};
use crate::args::parse_size;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt;
use crate::session::Session;

/// The arguments of `combine`.
#[derive(Debug, Args)]
pub(crate) struct Combine {
    /// The files in the order in which they are joined, or their URLs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The dimension along which they are joined
    #[arg(long, value_name = "DIMENSION", default_value = "time")]
    along: String,
    /// The output: JSON, a folder of Parquet files if it ends in .parquet, or an HDF5 file that shows the others if it ends in
    /// .h5, .hdf5 or .nc
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
    /// Overwrite an existing file
    #[arg(long, short)]
    force: bool,
}

pub(super) fn run(args: &Combine, session: &Session) -> Outcome {
    if !args.add {
        free(&args.output, args.force)?;
    }
    let shown = Format::expected_of(&args.output) == Some(Format::Hdf5);
    let files = opened(&args.files, session)?;
    let mut options = Options::new("");
    options.inline = args.inline;
    options.codecs = args.codecs;
    let report =
        if shown { as_hdf5(args, &files, session)? } else { as_references(args, &files, &options, session)? };
    tell(&report, &args.output, session)?;
    Ok(Answer::of(report.is_complete()))
}

/// The number of remote files that are opened at once. Opening one waits for round trips most of the time.
const AT_ONCE: usize = 32;

/// Opens the files; remote ones side by side.
fn opened(paths: &[PathBuf], session: &Session) -> Outcome<Vec<File>> {
    if !paths.iter().any(|path| session.far().is_far(path)) {
        return paths.iter().map(|path| session.open_whole(path)).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, path)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, paths.get(at)?)))
        {
            done.push((at, session.open_whole(path)));
        }
        done
    };
    let mut all = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE.min(paths.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    if all.len() != paths.len() {
        return Err(Failure::Input("opening the files was interrupted".into()));
    }
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, file)| file).collect()
}

fn as_references(args: &Combine, files: &[File], options: &Options, session: &Session) -> Outcome<Report> {
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let parts: Vec<Part<'_>> = files.iter().zip(&names).map(|(file, name)| Part { file, name }).collect();
    let mut urls = Vec::new();
    let mut existing = None;
    if args.add {
        if args.output.is_dir() {
            return Err(Failure::Usage(
                "--add works with JSON and HDF5; write Parquet files anew from all files".into(),
            ));
        }
        let failed = |text: String| Failure::Input(format!("{}: {text}", args.output.display()));
        let json = fs::read(&args.output).map_err(|error| failed(error.to_string()))?;
        let read = kerchunk::read(&json).map_err(|error| failed(error.to_string()))?;
        urls.clone_from(&read.urls);
        existing = Some(read);
    }
    for (file, path) in files.iter().zip(&args.files) {
        let url = url(file, path)?;
        if urls.contains(&url) {
            return Err(Failure::Usage(format!("{} is among the files already", path.display())));
        }
        urls.push(url);
    }
    let watched: Vec<&File> = files.iter().collect();
    let reopen = |url: &str| {
        let path = url.strip_prefix("file://").unwrap_or(url);
        session.far().open_url(Path::new(path), session.options())
    };
    session.watched("combining", &watched, || {
        write(&args.output, &urls, |sink| match &existing {
            Some(existing) => extend(existing, &reopen, &parts, (&args.along, options), sink),
            None => combine(&parts, &args.along, options, sink),
        })
    })
}

/// Writes an HDF5 file whose datasets show those of the files.
fn as_hdf5(args: &Combine, files: &[File], session: &Session) -> Outcome<Report> {
    for (file, path) in files.iter().zip(&args.files) {
        if file.format() != Format::Hdf5 || file.path().is_none() {
            return Err(Failure::Usage(format!(
                "{}: only local HDF5 files can be shown by another one",
                path.display()
            )));
        }
    }
    let before = if args.add { Some(session.open_whole(&args.output)?) } else { None };
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let mut parts: Vec<Part<'_>> = Vec::new();
    let shown = args.output.display().to_string();
    parts.extend(before.as_ref().map(|file| Part { file, name: &shown }));
    parts.extend(files.iter().zip(&names).map(|(file, name)| Part { file, name }));
    let stored: Vec<String> =
        args.files.iter().map(|path| beside(path, &args.output)).collect::<Outcome<_>>()?;
    let failed = |error: sciformats::Error| match error {
        sciformats::Error::Usage { .. } => Failure::Usage(error.to_string()),
        error => Failure::unwritten(&args.output, &error),
    };
    let watched: Vec<&File> = files.iter().collect();
    session.watched("combining", &watched, || {
        let (arrays, report) = virtual_arrays(&parts, &args.along).map_err(failed)?;
        let continued = before.is_some();
        let mut joined: Vec<Joined> =
            arrays.iter().filter_map(|array| shows(array, &stored, continued)).collect();
        if let Some(before) = &before {
            for array in
                joined.iter_mut().filter(|array| array.values.is_none() && !is_virtual(before, &array.path))
            {
                // Its numbers are in the existing file, because they were converted, and the new ones follow them.
                let mut numbers = Vec::new();
                for part in &parts {
                    let read = part.file.array(&array.path).and_then(|array| array.read::<f64>());
                    numbers.extend(read.map_err(failed)?);
                }
                array.values = Some(numbers);
            }
        }
        let Some(template) = before.as_ref().or(files.first()) else {
            return Err(Failure::Usage("there are no files".into()));
        };
        let mut write = WriteOptions::default();
        (write.threads, write.limits) = (session.options().threads, session.options().limits);
        // What is refused is left out of the new file.
        let refused: Vec<&str> = report
            .entries
            .iter()
            .filter(|entry| matches!(entry.treatment, sciformats_references::Treatment::Refused { .. }))
            .map(|entry| entry.path.as_str())
            .collect();
        repack::join(template, &args.output, (&joined, &refused), &write, Some(interrupt::asked()))
            .map_err(failed)?;
        Ok(report)
    })
}

fn is_virtual(file: &File, path: &str) -> bool {
    use sciformats::hdf5_pure::structure::Layout;
    let dataset =
        file.resolve(path).ok().and_then(|id| sciformats::formats::hdf5::dataset(file.source(), id));
    dataset.is_some_and(|dataset| {
        dataset.is_ok_and(|dataset| matches!(dataset.layout(), Ok(Layout::Virtual(_))))
    })
}

/// How an array is shown; what has no part of the dimension is copied from the first file.
fn shows(array: &Virtual, stored: &[String], continued: bool) -> Option<Joined> {
    let (axis, lengths) = array.along.as_ref()?;
    // The lengths of an existing output come first.
    let lengths = lengths.iter().skip(usize::from(continued));
    let parts = stored.iter().cloned().zip(lengths.copied()).collect();
    Some(Joined { path: array.path.clone(), axis: *axis, parts, continued, values: array.values.clone() })
}

/// The name of a file as a file in the folder of `output` stores it: relative if it is in that folder or below it.
fn beside(path: &Path, output: &Path) -> Outcome<String> {
    let whole = |path: &Path| {
        fs::canonicalize(path).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
    };
    let folder = match output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => whole(folder)?,
        None => whole(Path::new("."))?,
    };
    let path = whole(path)?;
    let name = path.strip_prefix(&folder).unwrap_or(&path);
    debug_assert!(!name.components().any(|part| part == Component::ParentDir));
    name.to_str().map(str::to_owned).ok_or_else(|| Failure::Usage("the path of a file is not UTF-8".into()))
}
