//! `repack`: writes the same contents anew in the same format, and compares them with the old file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sciformats::{File, Format};
use sciformats_convert::compare::{self, Difference, Pattern, compare};
use sciformats_convert::convert::Loss;
use sciformats_convert::sink::{Rounding, WriteOptions};

use super::args::{Convert, Files, Repack, Round, Storage};
use super::report::noted;
use super::{broken, is_of_input, size};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::interrupt::{self, Unfinished};
use crate::look::{self, Cell, FAINT, PLAIN, TITLE, WELL, WRONG};
use crate::output::{is_stdout, through_file};
use crate::session::Session;

pub(crate) fn run(args: &Repack, session: &Session) -> Outcome {
    let Files { input, output, .. } = &args.files;
    if is_stdout(output) && !args.dry_run {
        return through_file("", session, |path, session| {
            run(&Repack { files: args.files.to(path), ..args.clone() }, session)
        });
    }
    args.files.prepare(args.dry_run, session)?;
    if args.lossy {
        return lossy(args, session);
    }
    let file = Arc::new(session.open_whole(input)?);
    // A remote file is not in the file system.
    let before = if file.path().is_some() { size(input) } else { file.size() };
    // The new file is read back as a whole and compared with the old one before it takes its place.
    let mut unfinished =
        Unfinished::beside(args.files.place()).map_err(|error| broken(&args.files, &error))?;
    let place = unfinished.path().to_path_buf();
    let new = place.as_path();
    let lost = session.watched("repacking", &[&file], || rewrite(args, (&file, new), session))?;
    if !lost.is_empty() {
        return refused(&lost, args, session);
    }
    if !args.dry_run {
        unfinished.settle();
    }
    let new_file = session.open_whole(new)?;
    let mut difference = None;
    let summary = session.watched("comparing", &[&file, &new_file], || {
        compare(&file, &new_file, &compared(args), &mut |found| {
            difference = Some(found);
            ControlFlow::Break(())
        })
    });
    let notes = changes(args, (&file, &new_file), session)?;
    let rounded = rounded(args, &new_file).map_err(|error| broken(&args.files, &error))?;
    drop(new_file);
    let (after, same) = (size(new), summary.is_same());
    let written = same && !args.dry_run;
    if written {
        unchanged(&args.files, &file)?;
        unfinished.finish().map_err(|error| broken(&args.files, &error))?;
        args.files.publish(session)?;
    }
    let end =
        End { format: file.format(), same, difference, sizes: (before, after), written, notes, rounded };
    report(&end, args, session)?;
    Ok(Answer::of(same))
}

/// Writes what can be read.
fn lossy(args: &Repack, session: &Session) -> Outcome {
    let asked = args.options();
    if args.moves() || asked.page_size.is_some() || asked.metadata_first {
        return Err(Failure::Usage(
            "--lossy rescues what can be read, and has no options for the layout".into(),
        ));
    }
    let format = session.open_cut(&args.files.input)?.format();
    super::run(&rescue(args, format), session)
}

/// Returns what became otherwise of the structures of the file.
fn changes(args: &Repack, (file, new): (&File, &File), session: &Session) -> Outcome<Vec<String>> {
    let notes = sciformats_convert::repack::changes(file, new, &options(args, session));
    let mut notes = notes.map_err(|error| broken(&args.files, &error))?;
    let format = file.format();
    if let Some(other) = Format::expected_of(&args.files.output).filter(|expected| *expected != format) {
        notes.push(format!(
            "the file has the ending of {other}, but its format is still {format}; `convert` changes it"
        ));
    }
    Ok(notes)
}

/// How it ended.
struct End {
    format: Format,
    same: bool,
    /// The first difference between the old and the new file.
    difference: Option<Difference>,
    /// The sizes of the old and of the new file.
    sizes: (u64, u64),
    written: bool,
    /// What became otherwise of the structures of the file.
    notes: Vec<String>,
    rounded: Vec<(String, Rounding)>,
}

fn report(end: &End, args: &Repack, session: &Session) -> Outcome<()> {
    let mut out = session.text();
    let path = args.files.output.display().to_string();
    let (before, after) = end.sizes;
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("same", end.same);
        line.value("before", before).value("after", after).value("written", end.written);
        noted(&mut line, &end.notes);
        if args.round.asked().is_some() {
            line.raw("rounded", &kept(&end.rounded));
        }
        writeln!(out, "{}", line.finish())?;
    } else if let Some(difference) = &end.difference {
        let path = look::safe(&path);
        writeln!(
            out,
            "{TITLE}{path}{TITLE:#}: {WRONG}not written{WRONG:#}: it would differ from what was read (A)"
        )?;
        write!(out, "  ")?;
        crate::commands::diff::text(&mut out, difference)?;
    } else if !session.quiet {
        let sizes = format!("{} → {}", look::size(before), look::size(after));
        let path = look::safe(&path);
        let done =
            if end.written { "written and checked" } else { "can be written, and would hold the same" };
        super::notes(&mut out, &end.notes)?;
        let asked = args.options();
        let filters = asked.rules.iter().map(|rule| &rule.filter).chain([&asked.filter]);
        super::packages(&mut out, end.format, filters.filter_map(Option::as_deref))?;
        told(&mut out, &end.rounded)?;
        writeln!(out, "{TITLE}{path}{TITLE:#}: {WELL}{done}{WELL:#}  {FAINT}{sizes}{FAINT:#}")?;
    }
    Ok(out.flush()?)
}

/// The arrays that were rounded, for programs.
fn kept(rounded: &[(String, Rounding)]) -> String {
    let objects = rounded.iter().map(|(path, rounding)| {
        let mut object = JsonObject::new();
        object.value("path", path.as_str());
        match rounding {
            Rounding::Digits(digits) => object.value("digits", u64::from(*digits)),
            Rounding::Bits(bits) => object.value("bits", u64::from(*bits)),
            Rounding::Information(_) => &mut object,
        };
        object.finish()
    });
    format!("[{}]", objects.collect::<Vec<_>>().join(","))
}

/// The result of `convert` into the format that the file already has.
pub(super) struct Whole {
    pub(super) written: bool,
    /// Whether the new file is equal to the old one; `None` if they were not compared.
    pub(super) checked: Option<bool>,
    pub(super) lost: Vec<Loss>,
    /// What became otherwise of the structures of the file.
    pub(super) notes: Vec<String>,
}

/// Carries out `convert` into the format that the file already has. Returns `None` if the file cannot be
/// written in full and does not have to be.
pub(super) fn whole(args: &Convert, file: &Arc<File>, session: &Session) -> Outcome<Option<Whole>> {
    // What is lost of it is not told by comparing it with what was written.
    if file.cut_short().is_some() || file.damage().is_some() || file.source().doubt().is_some() {
        return Ok(None);
    }
    let select: Vec<Pattern> = args.select.iter().map(|pattern| pattern.as_str().into()).collect();
    let mut write = args.storage.options();
    write.inline = args.inline;
    (write.threads, write.limits) = (session.options().threads, session.options().limits);
    let refused = |error: &sciformats::Error| broken(&args.files, error);
    let unfinished = Unfinished::beside(args.files.place()).map_err(|error| refused(&error))?;
    let new = unfinished.path();
    let written = session.watched("converting", &[file], || {
        sciformats_convert::repack::rewrite_selected(file, new, &select, &write, Some(interrupt::asked()))
    });
    let lost = match written {
        // A rescue reads what the system lets it read.
        Err(error)
            if args.lossy
                && (error.blame() != sciformats::Blame::Machine || is_of_input(&args.files, &error)) =>
        {
            return Ok(None);
        }
        written => written.map_err(|error| refused(&error))?,
    };
    if !lost.is_empty() && !args.lossy {
        return Ok(Some(Whole { written: false, checked: None, lost, notes: Vec::new() }));
    }
    // Chunks that are copied as they are stored may be damaged. A rescue decodes them to find out.
    let checked = match args.check || args.lossy {
        false => None,
        true => {
            let new = session.open_whole(new)?;
            let options =
                if args.lossy { compare::Options::exact() } else { storage_too(&args.storage, false) };
            let within =
                args.select.iter().flat_map(|path| ["", "/*", "@*"].map(|end| format!("{path}{end}")));
            let within: Vec<String> = within.collect();
            let options = options
                .with_only(within.iter().map(String::as_str))
                .with_ignore(lost.iter().map(|loss| loss.path.as_str()));
            let compared = session.watched("checking", &[file, &new], || {
                compare(file, &new, &options, &mut |_| ControlFlow::Break(()))
            });
            if !compared.is_same() && args.lossy {
                return Ok(None);
            }
            if !compared.is_same() {
                let problem = "it would differ from what was read".to_owned();
                return Err(Failure::Unwritten(args.files.output.clone(), problem));
            }
            args.check.then_some(true)
        }
    };
    let notes = sciformats_convert::repack::changes(file, &session.open_whole(new)?, &write);
    let notes = notes.map_err(|error| refused(&error))?;
    if !args.dry_run {
        unchanged(&args.files, file)?;
        unfinished.finish().map_err(|error| refused(&error))?;
        args.files.publish(session)?;
    }
    Ok(Some(Whole { written: !args.dry_run, checked, lost, notes }))
}

/// Fails if another program has overwritten the file while it was read.
fn unchanged(files: &Files, file: &File) -> Outcome<()> {
    super::unchanged(file).map_err(|error| Failure::of(&files.input, &error))
}

/// Returns the arguments of a conversion that continues past losses.
fn rescue(args: &Repack, format: Format) -> Convert {
    Convert {
        files: args.files.clone(),
        to: Some(super::args::Target::Format(format)),
        select: Vec::new(),
        lossy: true,
        check: false,
        dry_run: args.dry_run,
        shards: None,
        inline: args.inline,
        round: Round::default(),
        storage: args.storage.clone(),
        #[cfg(feature = "tables")]
        form: None,
    }
}

/// Compares everything that must stay the same, which includes how objects are stored unless an option
/// changes that. Chunks that were copied need not be decoded.
fn storage_too(storage: &Storage, inline: bool) -> compare::Options {
    let Storage { chunks, filter, level, bound } = storage;
    let stays = chunks.is_none() && filter.is_none() && level.is_none() && bound.is_none() && !inline;
    compare::Options::exact().with_stored(true).with_storage(stays)
}

/// Compares what must stay the same. Numbers that were rounded may differ within the bound of the rounding of which an attribute tells.
fn compared(args: &Repack) -> compare::Options {
    let options = storage_too(&args.storage, args.inline || args.moves());
    let options = options.with_repaged(args.page_size.is_some());
    match args.round.asked() {
        Some(_) => {
            let told = Rounding::ATTRIBUTES.map(|name| format!("*@{name}"));
            options.with_rounded(true).with_ignore(told.iter().map(String::as_str))
        }
        None => options,
    }
}

/// Returns the arrays of a new file that were rounded, and what is kept of their numbers.
fn rounded(args: &Repack, file: &File) -> sciformats::Result<Vec<(String, Rounding)>> {
    let mut found = Vec::new();
    if args.round.asked().is_none() {
        return Ok(found);
    }
    for array in file.arrays() {
        let array = array?;
        for name in Rounding::ATTRIBUTES {
            if let Some(rounding) = array.attr(name)?.and_then(|value| Rounding::told(name, value)) {
                found.push((array.path().to_owned(), rounding));
            }
        }
    }
    Ok(found)
}

/// Tells to what the numbers of arrays were rounded.
fn told(out: &mut impl Write, rounded: &[(String, Rounding)]) -> std::io::Result<()> {
    for (path, rounding) in rounded {
        let kept = match rounding {
            Rounding::Digits(digits) => look::count(u64::from(*digits), "digit"),
            Rounding::Bits(bits) => look::count(u64::from(*bits), "bit") + " of the significand",
            Rounding::Information(_) => continue,
        };
        let error = rounding.relative_error();
        let error = format!("the relative error is at most {error:.1e}");
        let what = Cell::new(PLAIN, format!("{} to {kept}", look::safe(path)));
        look::told(out, (PLAIN, "rounds"), what.and(PLAIN, "  ").and(FAINT, error))?;
    }
    Ok(())
}

/// Reports what the new file would lack.
fn refused(lost: &[Loss], args: &Repack, session: &Session) -> Outcome {
    let mut out = session.text();
    super::losses(&mut out, lost, session)?;
    let path = args.files.output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("same", false).value("losses", lost.len() as u64);
        writeln!(out, "{}", line.finish())?;
    } else {
        super::not_written(&mut out, &path)?;
    }
    out.flush()?;
    Ok(Answer::of(false))
}

fn options(args: &Repack, session: &Session) -> WriteOptions {
    let mut write = args.options();
    write.threads = session.options().threads;
    write.limits = session.options().limits;
    write
}

fn rewrite(args: &Repack, (file, new): (&Arc<File>, &Path), session: &Session) -> Outcome<Vec<Loss>> {
    let write = options(args, session);
    sciformats_convert::repack::rewrite_selected(file, new, &[], &write, Some(interrupt::asked()))
        .map_err(|error| broken(&args.files, &error))
}
