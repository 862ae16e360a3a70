//! An HDF5 file whose datasets show those of other files.

use std::fs;
use std::path::{Component, Path};

use sciformats::hdf5_pure::references::Reference;
use sciformats::hdf5_pure::values::FixedString;
use sciformats::hdf5_pure::{Dataset, Editor, conventions};
use sciformats::{File, Format};
use sciformats_convert::convert::Loss;
use sciformats_convert::repack::{self, Joined};
use sciformats_convert::sink::WriteOptions;
use sciformats_references::{Entry, Part, Report, Treatment, Virtual, virtual_arrays};

use super::Combine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{self, Unfinished};
use crate::session::Session;

/// Writes an HDF5 file whose datasets show those of the files.
pub(super) fn as_hdf5(args: &Combine, session: &Session) -> Outcome<Report> {
    let files = shown(args, session)?;
    let before = if args.add { Some(session.open_whole(&args.output)?) } else { None };
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let mut parts: Vec<Part<'_>> = Vec::new();
    let output = args.output.display().to_string();
    parts.extend(before.as_ref().map(|file| Part { file, name: &output }));
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
        let refused: Vec<(&str, &str)> = report.entries.iter().filter_map(refused).collect();
        let mut joined: Vec<Joined> =
            arrays.iter().filter_map(|array| shows(array, &stored, before.is_some())).collect();
        if let Some(before) = &before {
            nothing_is_lost(before, &refused).map_err(failed)?;
            with_numbers(&mut joined, before, &parts).map_err(failed)?;
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
        let new = New { template, write, joined, without, dimensions };
        let lost = new.write(&args.output).map_err(failed)?;
        report.notes.extend(lost.into_iter().map(|loss| (loss.path, loss.what)));
        Ok(report)
    })
}

/// Opens the files that are shown.
fn shown(args: &Combine, session: &Session) -> Outcome<Vec<File>> {
    let files: Vec<File> = args.files.iter().map(|path| session.open_whole(path)).collect::<Outcome<_>>()?;
    for (file, path) in files.iter().zip(&args.files) {
        if file.format() != Format::Hdf5 || file.path().is_none() {
            return Err(Failure::Usage(format!(
                "{}: only local HDF5 files can be shown by another one",
                path.display()
            )));
        }
    }
    Ok(files)
}

/// The path of an array that is refused, and the reason.
fn refused(entry: &Entry) -> Option<(&str, &str)> {
    match &entry.treatment {
        Treatment::Refused { reason } => Some((&entry.path, reason)),
        _ => None,
    }
}

/// Fails if an array of an existing output would be lost by adding files.
fn nothing_is_lost(before: &File, refused: &[(&str, &str)]) -> sciformats::Result<()> {
    let is_lost = |path: &str| before.resolve(path).is_ok() && !is_only_a_dimension(before, path);
    match refused.iter().find(|(path, _)| is_lost(path)) {
        None => Ok(()),
        Some((path, reason)) => {
            let problem = format!("cannot be added, because {path} would be lost: {reason}");
            Err(sciformats::Error::usage("files", problem))
        }
    }
}

/// Reads the numbers of the arrays that an existing output holds itself, because they were converted; those of the new files follow them.
fn with_numbers(joined: &mut [Joined], before: &File, parts: &[Part<'_>]) -> sciformats::Result<()> {
    for array in joined.iter_mut().filter(|array| array.values.is_none() && !is_virtual(before, &array.path))
    {
        if !array.rows.is_empty() {
            let path = &array.path;
            let problem =
                format!("cannot be added, because {path} is shorter than its dimension in one of them");
            return Err(sciformats::Error::usage("files", problem));
        }
        let mut numbers = Vec::new();
        for part in parts {
            numbers.extend(part.file.array(&array.path).and_then(|array| array.read::<f64>())?);
        }
        array.values = Some(numbers);
    }
    Ok(())
}

/// The file that is written.
struct New<'a> {
    /// The file that it is like.
    template: &'a File,
    write: WriteOptions,
    joined: Vec<Joined>,
    /// The arrays that are left out.
    without: Vec<&'a str>,
    /// The coordinates that are left out, of which the dimension remains.
    dimensions: Vec<Joined>,
}

impl New<'_> {
    /// Writes the file, and returns what is lost.
    fn write(self, output: &Path) -> sciformats::Result<Vec<Loss>> {
        let Self { template, write, mut joined, without, dimensions } = self;
        let join = |output: &Path, joined: &[Joined]| {
            repack::join(template, output, (joined, &without), &write, Some(interrupt::asked()))
        };
        if without.is_empty() && dimensions.is_empty() {
            return join(output, &joined);
        }
        joined.extend(dimensions.iter().cloned());
        let new = Unfinished::beside(output)?;
        let mut lost = join(new.path(), &joined)?;
        cleaned(new.path(), &dimensions)?;
        new.finish()?;
        // Scales no longer name what is left out.
        lost.retain(|loss| !loss.path.ends_with("@REFERENCE_LIST"));
        Ok(lost)
    }
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
