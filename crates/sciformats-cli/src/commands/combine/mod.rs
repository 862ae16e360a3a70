//! `combine`: writes references to many files as if they were one, or an HDF5 file that shows them.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use sciformats::hdf5_pure::references::Reference;
use sciformats::hdf5_pure::values::FixedString;
use sciformats::hdf5_pure::{Dataset, Editor, conventions};
use sciformats::{File, Format};
use sciformats_convert::repack::{self, Joined};
use sciformats_convert::sink::WriteOptions;
use sciformats_references::{
    Along, Existing, Files, NamePattern, Options, Part, Report, Treatment, Virtual, combine_files, extend,
    kerchunk, virtual_arrays,
};

use super::icechunk;
use super::references::{local, tell, write};
use crate::args::parse_size;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::{self, Unfinished};
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

/// Writes an HDF5 file whose datasets show those of the files.
fn as_hdf5(args: &Combine, session: &Session) -> Outcome<Report> {
    let files: Vec<File> = args.files.iter().map(|path| session.open_whole(path)).collect::<Outcome<_>>()?;
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
        let (arrays, mut report) = virtual_arrays(&parts, &args.along).map_err(failed)?;
        let refused = report.entries.iter().filter_map(|entry| match &entry.treatment {
            Treatment::Refused { reason } => Some((entry.path.as_str(), reason)),
            _ => None,
        });
        let refused: Vec<(&str, &String)> = refused.collect();
        // No array is lost by adding files.
        if let Some(before) = &before
            && let Some((path, reason)) = refused
                .iter()
                .find(|(path, _)| before.resolve(path).is_ok() && !is_only_a_dimension(before, path))
        {
            let problem = format!("cannot be added, because {path} would be lost: {reason}");
            return Err(failed(sciformats::Error::usage("files", problem)));
        }
        let continued = before.is_some();
        let mut joined: Vec<Joined> =
            arrays.iter().filter_map(|array| shows(array, &stored, continued)).collect();
        if let Some(before) = &before {
            for array in
                joined.iter_mut().filter(|array| array.values.is_none() && !is_virtual(before, &array.path))
            {
                if !array.rows.is_empty() {
                    let path = &array.path;
                    let problem = format!(
                        "cannot be added, because {path} is shorter than its dimension in one of them"
                    );
                    return Err(failed(sciformats::Error::usage("files", problem)));
                }
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
        // What is refused is left out of the new file, except that dimensions of other arrays remain.
        let (mut without, mut dimensions) = (Vec::new(), Vec::new());
        for (path, _) in refused {
            match dimension(template, path, &arrays).map_err(failed)? {
                Some(kept) => dimensions.push(kept),
                None => without.push(path),
            }
        }
        let join = |output: &Path, joined: &[Joined]| {
            repack::join(template, output, (joined, &without), &write, Some(interrupt::asked()))
        };
        if without.is_empty() && dimensions.is_empty() {
            let lost = join(&args.output, &joined).map_err(failed)?;
            report.notes.extend(lost.into_iter().map(|loss| (loss.path, loss.what)));
            return Ok(report);
        }
        joined.extend(dimensions.iter().cloned());
        let new = Unfinished::beside(&args.output).map_err(failed)?;
        let mut lost = join(new.path(), &joined)
            .and_then(|lost| cleaned(new.path(), &dimensions).map(|()| lost))
            .map_err(failed)?;
        new.finish().map_err(failed)?;
        // Scales no longer name what is left out.
        lost.retain(|loss| !loss.path.ends_with("@REFERENCE_LIST"));
        report.notes.extend(lost.into_iter().map(|loss| (loss.path, loss.what)));
        Ok(report)
    })
}

/// What the scale of a dimension says that is no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

fn dataset(file: &File, path: &str) -> Option<Dataset> {
    let id = file.resolve(path).ok()?;
    sciformats::formats::hdf5::dataset(file.source(), id)?.ok()
}

fn is_virtual(file: &File, path: &str) -> bool {
    use sciformats::hdf5_pure::structure::Layout;
    dataset(file, path).is_some_and(|dataset| matches!(dataset.layout(), Ok(Layout::Virtual(_))))
}

/// Whether an array of a file only declares a dimension of netCDF.
fn is_only_a_dimension(file: &File, path: &str) -> bool {
    let name = dataset(file, path).and_then(|dataset| dataset.attr::<String>("NAME").ok().flatten());
    name.is_some_and(|name| name.starts_with(NO_VARIABLE))
}

/// What stays of a coordinate that is left out, if other arrays have its dimension: numbers that mean nothing, as netCDF stores a
/// dimension without a variable.
fn dimension(file: &File, path: &str, arrays: &[Virtual]) -> sciformats::Result<Option<Joined>> {
    let Some(scale) = dataset(file, path) else { return Ok(None) };
    let Some(length) = length(file, &scale, arrays)? else { return Ok(None) };
    let bytes = file.limits().memory("bytes of a dimension", length.saturating_mul(8))?; // a bound
    let real = file.array(path).is_ok_and(|array| array.info().element.is_real());
    Ok(Some(Joined {
        path: path.into(),
        axis: 0,
        parts: vec![(String::new(), length)],
        rows: Vec::new(),
        continued: false,
        values: Some(vec![0.0; bytes / 8]),
        plain: !real || scale.shape().len() != 1,
    }))
}

/// The new length of the dimension that a scale belongs to; `None` if it belongs to none of the arrays.
fn length(file: &File, scale: &Dataset, arrays: &[Virtual]) -> sciformats::Result<Option<u64>> {
    for array in arrays {
        let Some(user) = dataset(file, &array.path) else { continue };
        let scales = conventions::scales(&user)?;
        let mut all = scales.iter().map(|scales| scales.iter().any(|own| own.address() == scale.address()));
        let Some(axis) = all.position(|own| own) else { continue };
        return Ok(match &array.along {
            Some((along, lengths)) if *along == axis => {
                lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length))
            }
            _ => user.shape().get(axis).copied(),
        });
    }
    Ok(None)
}

sciformats::hdf5_pure::record! {
    /// An element of the list of the datasets that a scale belongs to.
    #[derive(Clone)]
    struct Use {
        dataset: Reference,
        dimension: i32,
    }
}

/// Makes a new file one that netCDF reads: coordinates that were left out become dimensions without a variable, and scales no longer name
/// what is not in the file.
fn cleaned(path: &Path, dimensions: &[Joined]) -> sciformats::Result<()> {
    let file = sciformats::open(path)?;
    let mut editor = Editor::open(path)?;
    for Joined { path, parts, .. } in dimensions {
        let mut scale = editor.object(path)?;
        let attributes = dataset(&file, path).map(|scale| scale.attributes()).transpose()?;
        for attribute in attributes.unwrap_or_default() {
            let name = attribute.name().and_then(|name| name.as_str()).unwrap_or_default();
            if !["CLASS", "NAME", "REFERENCE_LIST", "_Netcdf4Dimid"].contains(&name) {
                scale.remove_attribute(name)?;
            }
        }
        let length: u64 = parts.iter().map(|(_, length)| length).sum();
        let name = format!("{NO_VARIABLE}.{length:10}\0");
        scale.attribute("NAME", FixedString(&name))?;
    }
    for array in file.arrays() {
        let array = array?;
        let list = dataset(&file, array.path()).and_then(|scale| scale.attribute("REFERENCE_LIST").ok());
        let Some(list) = list else { continue };
        let mut uses: Vec<Use> = list.read()?;
        let all = uses.len();
        uses.retain(|one| one.dataset.address().is_some());
        if uses.len() == all {
            continue;
        }
        let mut scale = editor.object(array.path())?;
        match uses.is_empty() {
            true => scale.remove_attribute("REFERENCE_LIST")?,
            false => scale.attribute("REFERENCE_LIST", uses)?,
        };
    }
    editor.commit()
}

/// How an array is shown; what has no part of the dimension is copied from the first file.
fn shows(array: &Virtual, stored: &[String], continued: bool) -> Option<Joined> {
    let (axis, lengths) = array.along.as_ref()?;
    // The lengths of an existing output come first.
    let before = usize::from(continued);
    let lengths = lengths.iter().skip(before);
    let rows = array.rows.iter().copied().skip(before).collect();
    let parts = stored.iter().cloned().zip(lengths.copied()).collect();
    let (path, values) = (array.path.clone(), array.values.clone());
    Some(Joined { path, axis: *axis, parts, rows, continued, values, plain: false })
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
