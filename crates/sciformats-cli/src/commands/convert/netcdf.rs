//! `convert` to netCDF-4: variables with dimensions and units.

use std::ops::ControlFlow;

use sciformats::walk::{Found, breadth_first};
use sciformats::{ArrayInfo, ElementType, File, Object};
use sciformats_conventions::Dataset;
use sciformats_conventions::write::NetCdfCopy;
use sciformats_convert::compare::Pattern;

use super::args::Convert;
use super::export::{end, told};
use super::{broken, size};
use crate::failure::{Answer, Failure, Outcome, complain, free};
use crate::interrupt::Unfinished;
use crate::output::{is_stdout, through_file};
use crate::session::Session;

/// The compression without `--level`, as fast as the common one and nearly as small.
const LEVEL: u32 = 4;

pub(super) fn run(args: &Convert, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    if is_stdout(output) && !args.dry_run {
        return through_file(".nc", session, |path, session| {
            run(&Convert { files: args.files.to(path), ..args.clone() }, session)
        });
    }
    let storage = &args.storage;
    if storage.chunks.is_some() || storage.bound.is_some() || args.check {
        return Err(Failure::Usage("--chunks, --bound and --check have no meaning for netCDF".into()));
    }
    let level = match storage.filter.as_deref() {
        None => storage.level,
        Some("none") => None,
        Some("zlib" | "deflate" | "gzip") => Some(storage.level.unwrap_or(LEVEL)),
        Some(other) => {
            let text = format!("{other}: netCDF files are compressed with zlib, or not at all (none)");
            return Err(Failure::Usage(text));
        }
    };
    if !level.is_none_or(|level| (1..=9).contains(&level)) {
        return Err(Failure::Usage("--level must be between 1 and 9".into()));
    }
    if !args.dry_run {
        free(output, args.files.force)?;
    }
    let data = Dataset::new(session.open_whole(input)?);
    super::selected(args, data.file())?;
    let selected = selection(args);
    let copy = NetCdfCopy::new(&data, &selected).map_err(|error| Failure::of(input, &error))?;
    let mut out = session.text();
    let losses: Vec<(String, String)> = copy.losses().to_vec();
    told(&mut out, &losses, session)?;
    let stopped = !losses.is_empty() && !args.lossy;
    let none = copy.variables() == 0;
    if stopped || none || args.dry_run {
        end(&mut out, (output, copy.variables()), None, session)?;
        return Ok(Answer::of(!stopped && !none));
    }
    let write = || {
        let unfinished = Unfinished::beside(output)?;
        copy.create(unfinished.path(), level)?;
        super::unchanged(data.file())?;
        unfinished.finish()
    };
    let written = session.watched("converting", &[data.file()], write);
    written.map_err(|error| broken(&args.files, &error))?;
    end(&mut out, (output, copy.variables()), Some(size(output)), session)?;
    Ok(Answer::Yes)
}

/// Returns which objects are to be converted: those that are selected, with everything in them.
fn selection(args: &Convert) -> impl Fn(&str) -> bool + use<> {
    let patterns: Vec<Pattern> = args.select.iter().map(|text| Pattern::from(text.as_str())).collect();
    move |path: &str| {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0).chain([path.len()]);
        let mut places = ends.filter_map(|at| path.get(..at));
        patterns.is_empty() || places.any(|place| patterns.iter().any(|pattern| pattern.matches(place)))
    }
}

/// The number of arrays that a message names.
const NAMED: usize = 3;

/// What the netCDF library makes of an HDF5 file.
#[derive(Debug, Default)]
struct Reach {
    /// The first object at which it fails, and what that is.
    fails: Option<(String, String)>,
    /// Arrays that it does not list.
    hidden: Vec<(String, ElementType)>,
}

impl Reach {
    fn of(file: &File, args: &Convert) -> Self {
        let (mut reach, selected, source) = (Self::default(), selection(args), file.source());
        let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            let Found::Object(id, object) = &entry.what else { return ControlFlow::Continue(()) };
            let what = match object {
                Object::Array(info) if !is_listed(&info.element) && info.shape.is_some() => {
                    // A type with a name in the file decides for itself.
                    let named = source.details().map(|details| details.committed(*id));
                    if selected(&entry.path) && !matches!(named, Some(Ok(Some(_)))) {
                        reach.hidden.push((entry.path.clone(), info.element.clone()));
                    }
                    failing(info)
                }
                Object::Array(info) => failing(info),
                Object::Datatype(element) if !can_be_named(element) => Some(format!("the type {element}")),
                _ => None,
            };
            if let (None, true, Some(what)) = (&reach.fails, selected(&entry.path), what) {
                reach.fails = Some((entry.path, what));
            }
            ControlFlow::Continue(())
        });
        reach
    }
}

/// Returns what an array is, if the netCDF library fails at it: it takes numbers that are not of its own types for texts, and cannot open
/// a file with some other arrays.
fn failing(info: &ArrayInfo) -> Option<String> {
    use ElementType as E;
    let fails = match &info.element {
        E::F16 | E::Time(_) => true,
        E::Int(size) | E::UInt(size) => *size > 8,
        // Narrower ones are read as its own types.
        E::FloatOther => info.width.is_none_or(|width| width > 8),
        _ => false,
    };
    match info.shape {
        None => Some("an array without a shape".into()),
        Some(_) if fails => Some(format!("elements of type {}", info.element)),
        Some(_) => None,
    }
}

/// Returns whether the netCDF library lists arrays of such elements.
fn is_listed(element: &ElementType) -> bool {
    use ElementType as E;
    match element {
        E::Opaque(_) | E::Bits(_) | E::Reference | E::Region => false,
        E::Compound(fields) => fields.iter().all(|(_, field)| is_part(field)),
        E::Array { element, .. } | E::Vlen(element) => is_part(element),
        _ => true,
    }
}

/// Returns whether parts of elements may have a type.
fn is_part(element: &ElementType) -> bool {
    !matches!(element, ElementType::F16 | ElementType::FloatOther | ElementType::Time(_))
        && is_listed(element)
}

/// Returns whether the netCDF library can open a file in which a type has a name.
fn can_be_named(element: &ElementType) -> bool {
    use ElementType as E;
    match element {
        E::Opaque(_) | E::Enum { .. } | E::Bool => true,
        E::Compound(_) | E::Vlen(_) | E::Complex(_) => is_listed(element),
        _ => false,
    }
}

/// Returns whether the netCDF library would fail at a copy of an HDF5 file.
pub(super) fn fails(file: &File, args: &Convert) -> bool {
    Reach::of(file, args).fails.is_some()
}

/// Tells which arrays of an HDF5 file the netCDF library does not list in a copy, and refuses a copy at which it fails.
pub(super) fn copied(file: &File, args: &Convert, session: &Session) -> Outcome<()> {
    let Reach { fails, hidden } = Reach::of(file, args);
    let (input, output) = (args.files.input.display(), args.files.output.display());
    if let Some((path, what)) = fails {
        return Err(Failure::Refused(format!(
            "{input}: {path}: {what}, at which the netCDF library fails; `--to netcdf` writes what netCDF can have, and `--to hdf5` \
             copies everything as it is"
        )));
    }
    if hidden.is_empty() || session.quiet {
        return Ok(());
    }
    let named = hidden.iter().take(NAMED).map(|(path, element)| format!("{path} ({element})"));
    let others = if hidden.len() > NAMED { " and others" } else { "" };
    complain(&format!(
        "{output}: the netCDF library does not list {}{others}, because netCDF does not have their types; other readers of HDF5 do",
        named.collect::<Vec<_>>().join(", ")
    ));
    Ok(())
}
