//! `convert` writes a file in another format; `repack` writes the same contents anew in the same format.

pub(crate) mod args;
pub(super) mod export;
mod netcdf;
mod pictures;
mod repack;
mod report;
mod zip;

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use sciformats::{Blame, Error, File, Format};
use sciformats_convert::compare::{Pattern, objects_match};
use sciformats_convert::convert::{Loss, Options, Plan};
use sciformats_convert::sink::{Rounding, WriteOptions};
use sciformats_core::bound;

use self::args::{Convert, Files, Repack, Target};
use self::report::{Written, conclude, describe, headline, losses, not_written, notes, size};
use crate::failure::{Answer, Failure, Outcome, advice};
use crate::interrupt::{self, Passing};
use crate::look;
use crate::output::{is_stdout, through_file};
use crate::session::Session;

pub(super) use repack::run as repack;
pub(super) use report::packages;

pub(super) fn run(args: &Convert, session: &Session) -> Outcome {
    if args.round.asked().is_some() {
        return rounding(args, session);
    }
    if let Some(answer) = super::zarr::run(args, session)? {
        return Ok(answer);
    }
    #[cfg(feature = "tables")]
    match super::tables::convert::run(args, session)? {
        Some(answer) => return Ok(answer),
        None => super::tables::convert::formless(args)?,
    }
    let Files { input, output, .. } = &args.files;
    if let Some(object) = super::within(input, session).filter(|_| !input.exists()) {
        if !args.select.is_empty() {
            return Err(Failure::Usage(format!(
                "{}: the path of an object and --select exclude each other",
                input.display()
            )));
        }
        let (files, select) = (args.files.from(&object.file), vec![object.path]);
        return run(&Convert { files, select, ..args.clone() }, session);
    }
    let target = match target(args, session)? {
        Target::Format(format) => format,
        Target::Export(target) => return export::run(args, target, session),
        #[cfg(feature = "tables")]
        Target::Table(_) => {
            return Err(Failure::Usage(format!("{}: name a table in it as FILE:/PATH", input.display())));
        }
    };
    if is_stdout(output) && !args.dry_run {
        return through_file("", session, |path, session| {
            let (files, to) = (args.files.to(path), Some(Target::Format(target)));
            run(&Convert { files, to, ..args.clone() }, session)
        });
    }
    to_format(args, target, session)
}

/// Converts into one of our formats.
fn to_format(args: &Convert, target: Format, session: &Session) -> Outcome {
    let input = &args.files.input;
    args.files.prepare(args.dry_run, session)?;
    let file = Arc::new(session.open_cut(input)?);
    selected(args, &file)?;
    if file.format() == Format::Hdf5 && by_name_netcdf(args) {
        netcdf::copied(&file, args, session)?;
    }
    // Within one format nothing has to change, unless the file holds something that cannot be written in
    // full.
    if file.format() == target
        && (args.select.is_empty() || target == Format::Hdf5)
        && let Some(end) = repack::whole(args, &file, session)?
    {
        return same_format(args, &file, &end, session);
    }
    let options = planned(args);
    let plan = Plan::new(&file, target, &options).map_err(|error| match error {
        // These are the things that the file holds and the target cannot.
        Error::Usage { argument: "file" | "array", .. } => Failure::refused(input, &error),
        _ => Failure::within(input, &file, &error),
    })?;
    if let (Some((object, error)), false) = (plan.unreached(), args.lossy) {
        return Err(unread(&args.files, object, error));
    }
    let mut out = session.text();
    let filter = args.storage.filter.as_deref();
    describe(&mut out, (&plan, file.format(), filter), &args.files, session)?;
    if args.dry_run || !plan.losses().is_empty() && !args.lossy {
        return unwritten(args, &plan, &mut out, session);
    }
    written(args, (&plan, &file), &mut out, session)
}

/// How the new file is written.
fn storage(args: &Convert, session: &Session) -> WriteOptions {
    let reading = session.options();
    args.storage.options().with_threads(reading.threads).with_limits(reading.limits)
}

/// Ends without a new file, because something would be lost or because none is asked for.
fn unwritten(args: &Convert, plan: &Plan, out: &mut impl Write, session: &Session) -> Outcome {
    let refused = !plan.losses().is_empty() && !args.lossy;
    let mut planned = plan.losses().len();
    if let (Some((object, error)), true) = (plan.unreached(), args.dry_run) {
        let what = format!("has elements that cannot be read: {error}");
        losses(out, &[Loss { path: object.into(), what, lost: None }], session)?;
        planned = bound::sum(planned, 1);
    }
    if args.dry_run && !refused {
        let write = storage(args, session);
        let lost = if args.lossy {
            plan.rehearse_rescue(&write)
        } else {
            plan.rehearse(&write).map(|()| Vec::new())
        };
        let lost = lost.map_err(|error| broken(&args.files, &error))?;
        losses(out, &lost, session)?;
        planned = bound::sum(planned, lost.len());
    }
    let end = Written { file: &args.files, written: false, checked: None, losses: planned, notes: &[] };
    conclude(out, plan, end, session)?;
    Ok(Answer::of(!refused))
}

/// Writes the new file, and checks it if that is asked for.
fn written(args: &Convert, (plan, file): (&Plan, &File), out: &mut impl Write, session: &Session) -> Outcome {
    let (output, place) = (&args.files.output, args.files.place());
    let write = storage(args, session);
    let written = session.watched_over("converting", &[file], Some(plan.counts().bytes), || {
        if args.lossy { plan.rescue(place, &write) } else { plan.write(place, &write).map(|()| Vec::new()) }
    });
    let lost = written.map_err(|error| match plan.unread() {
        Some(object) if !matches!(error, Error::Io { .. }) => unread(&args.files, &object, &error),
        _ => broken(&args.files, &error),
    })?;
    losses(out, &lost, session)?;
    let mut checked = None;
    if args.check {
        let compared = session.watched("checking", &[plan.tree()], || plan.check(place, session.options()));
        let difference = compared.map_err(|error| Failure::of(output, &error))?;
        if let (Some((planned, found)), false) = (&difference, session.json) {
            writeln!(out, "  planned  {}", look::safe(planned))?;
            writeln!(out, "  found    {}", look::safe(found))?;
        }
        checked = Some(difference.is_none());
    }
    if checked == Some(false) && session.far().is_far(output) {
        let problem = "it would differ from what was to be written".to_owned();
        return Err(Failure::Unwritten(output.clone(), problem));
    }
    args.files.publish(session)?;
    let losses = bound::sum(plan.losses().len(), lost.len());
    let end = Written { file: &args.files, written: true, checked, losses, notes: &[] };
    conclude(out, plan, end, session)?;
    Ok(Answer::of(checked != Some(false)))
}

/// Converts into an HDF5 file aside, and rounds its numbers on their way to the new file.
fn rounding(args: &Convert, session: &Session) -> Outcome {
    let hdf5 = || {
        let target = args.to.or_else(|| Format::expected_of(&args.files.output).map(Target::Format));
        target == Some(Target::Format(Format::Hdf5))
    };
    if !hdf5() {
        return Err(Failure::Usage(
            "only the numbers of a new HDF5 file are rounded, and OUT is none".into(),
        ));
    }
    let mut args = args.clone();
    let round = std::mem::take(&mut args.round);
    let check = round.asked().map_or(Ok(()), Rounding::check);
    check.map_err(|error| broken(&args.files, &error))?;
    // By its name, a file of another format becomes netCDF.
    let to = Some(target(&args, session)?);
    if args.dry_run {
        return run(&args, session);
    }
    let folder = Passing::new()?;
    let whole = folder.path().join("whole.h5");
    let first = Convert { files: args.files.to(&whole), to, ..args.clone() };
    let answer = run(&first, &session.quietly())?;
    if !whole.exists() {
        return Ok(answer);
    }
    repack(&Repack::rounding(args.files.from(&whole), round), session)
}

/// Fails if another program has overwritten the file since it was opened, so that what was read may be partly old and partly new.
pub(super) fn unchanged(file: &File) -> sciformats::Result<()> {
    file.opened().map_or(Ok(()), sciformats::Opened::check_unchanged)
}

/// Returns whether the name of the output asks for netCDF.
fn by_name_netcdf(args: &Convert) -> bool {
    args.to.is_none() && export::Target::of(&args.files.output) == Some(export::Target::NetCdf)
}

/// Returns the format to write.
fn target(args: &Convert, session: &Session) -> Outcome<Target> {
    let output = &args.files.output;
    let by_name = || {
        let input = &args.files.input;
        if by_name_netcdf(args)
            && input.as_path() != Path::new("-")
            && let Ok(file) = session.try_open_cut(input)
        {
            // What is HDF5 already remains as it is if netCDF can read it; everything else becomes netCDF by this name.
            let stays = file.format() == Format::Hdf5 && !netcdf::fails(&file, args);
            return Some(if stays {
                Target::Format(Format::Hdf5)
            } else {
                Target::Export(export::Target::NetCdf)
            });
        }
        let format = Format::expected_of(output).map(Target::Format);
        format.or_else(|| export::Target::of(output).map(Target::Export))
    };
    args.to.or_else(by_name).ok_or_else(|| {
        let words = Target::words().join(", ");
        let output = if is_stdout(output) { "stdout".into() } else { output.display().to_string() };
        Failure::Usage(format!(
            "{output}: the ending of this name selects no format; choose one with --to: {words}"
        ))
    })
}

/// The failure if elements cannot be read and nothing may be lost.
fn unread(files: &Files, object: &str, error: &Error) -> Failure {
    let input = files.input.display();
    let more = advice(&files.input, error).map(|advice| format!("; {advice}")).unwrap_or_default();
    Failure::Input(format!("{input}: {object}: {error} (`--lossy` writes everything else{more})"))
}

/// Returns whether the system refused to read the input. A folder is an input with all its files.
fn is_of_input(files: &Files, error: &Error) -> bool {
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::Interrupted => false,
        Error::Io { path: Some(path), .. } => path.starts_with(&files.input),
        Error::Io { action, path: None, .. } => matches!(*action, "read" | "open" | "map"),
        _ => false,
    }
}

/// Turns an error of writing into a failure of the input or of the output, depending on its cause.
fn broken(files: &Files, error: &Error) -> Failure {
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::Interrupted => Failure::Interrupted,
        error if is_of_input(files, error) => Failure::of(&files.input, error),
        Error::Io { .. } => Failure::unwritten(&files.output, error),
        Error::Forbidden { .. } | Error::NotFound { .. } => Failure::of(&files.input, error),
        _ if matches!(error.blame(), Blame::File | Blame::Elsewhere) => Failure::of(&files.input, error),
        Error::Unsupported { .. } => Failure::refused(&files.input, error),
        _ => Failure::of(&files.output, error),
    }
}

/// Fails if a `--select` selects nothing.
fn selected(args: &Convert, file: &File) -> Outcome<()> {
    let patterns: Vec<Pattern> = args.select.iter().map(|text| Pattern::from(text.as_str())).collect();
    let input = &args.files.input;
    objects_match(file, &patterns).map_err(|error| match &error {
        Error::NotFound { name, .. } if file.resolve(name).is_ok() => Failure::Refused(format!(
            "{}: {name} is a view or lies behind a link, so no group lists it by this path; `sciformats convert {}:{name} \
             OUT` writes a table as CSV, Parquet or Arrow",
            input.display(),
            input.display()
        )),
        _ => Failure::within(input, file, &error),
    })
}

/// Returns which objects are to be converted.
fn planned(args: &Convert) -> Options {
    let select = args.select.iter().map(String::as_str);
    Options::default().with_select(select).with_cancel(interrupt::asked())
}

/// Reports a file that was written anew in its own format.
fn same_format(args: &Convert, file: &Arc<File>, end: &repack::Whole, session: &Session) -> Outcome {
    let repack::Whole { written, checked, lost, notes } = end;
    let plan = Plan::new(file, file.format(), &planned(args));
    let plan = plan.map_err(|error| Failure::of(&args.files.input, &error))?;
    let mut out = session.text();
    if !session.json && !session.quiet {
        headline(&mut out, &plan, file.format(), &args.files)?;
        self::notes(&mut out, notes)?;
        packages(&mut out, file.format(), args.storage.filter.as_deref())?;
    }
    losses(&mut out, lost, session)?;
    let (written, checked) = (*written, *checked);
    conclude(
        &mut out,
        &plan,
        Written { file: &args.files, written, checked, losses: lost.len(), notes },
        session,
    )?;
    Ok(Answer::of(checked != Some(false) && (lost.is_empty() || args.lossy)))
}
