//! `repack`: the same contents in the same format, stored anew and compared with what was there.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sciformats::compare::{self, Pattern, compare};
use sciformats::convert::Loss;
use sciformats::{File, Format};

use super::args::{Convert, Files, Repack, Storage};
use super::{broken, size};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::{self, Unfinished};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(crate) fn run(args: &Repack, session: &Session) -> Outcome {
    let Files { input, output, .. } = &args.files;
    free(output, args.files.force)?;
    let file = Arc::new(session.open_whole(input)?);
    if args.lossy {
        return super::run(&rescue(args, file.format()), session);
    }
    let before = size(input);
    // The new file is read back whole and compared with the old one, and takes its place after that.
    let unfinished = Unfinished::beside(output).map_err(|error| broken(&args.files, &error))?;
    let new = unfinished.path();
    session.watched("repacking", &[&file], || rewrite(args, (&file, new), session))?;
    let written = session.open_whole(new)?;
    let mut first = None;
    let summary = session.watched("comparing", &[&file, &written], || {
        compare(&file, &written, &storage_too(&args.storage, args.inline), &mut |difference| {
            first = Some(difference);
            ControlFlow::Break(())
        })
    });
    drop(written);
    let after = size(new);
    if summary.is_same() {
        unfinished.finish().map_err(|error| broken(&args.files, &error))?;
    }
    let mut out = session.text();
    let path = output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("same", summary.is_same());
        line.value("before", before).value("after", after);
        writeln!(out, "{}", line.finish())?;
    } else if let Some(difference) = first {
        let path = look::safe(&path);
        writeln!(
            out,
            "{TITLE}{path}{TITLE:#}: {WRONG}not written{WRONG:#}: it would differ from what was read (A)"
        )?;
        write!(out, "  ")?;
        crate::commands::diff::text(&mut out, &difference)?;
    } else if !session.quiet {
        let sizes = format!("{} → {}", look::size(before), look::size(after));
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}: {WELL}written and checked{WELL:#}  {FAINT}{sizes}{FAINT:#}",
            look::safe(&path)
        )?;
    }
    out.flush()?;
    Ok(Answer::of(summary.is_same()))
}

/// How `convert` into the format that a file has ended.
pub(super) struct Whole {
    pub(super) written: bool,
    /// Whether what was written is what was there.
    pub(super) checked: Option<bool>,
    pub(super) lost: Vec<Loss>,
}

/// `convert` into the format that the file has. Nothing, if it cannot be written in full and need not be.
pub(super) fn whole(args: &Convert, file: &Arc<File>, session: &Session) -> Outcome<Option<Whole>> {
    let select: Vec<Pattern> = args.select.iter().map(|pattern| pattern.as_str().into()).collect();
    let mut write = args.storage.options();
    (write.threads, write.limits) = (session.options().threads, session.options().limits);
    let refused = |error: &sciformats::Error| broken(&args.files, error);
    let unfinished = Unfinished::beside(&args.files.output).map_err(|error| refused(&error))?;
    let new = unfinished.path();
    let written = session.watched("converting", &[file], || {
        sciformats::repack::rewrite_selected(file, new, &select, &write, Some(interrupt::asked()))
    });
    let lost = match written {
        Err(error) if args.lossy && error.blame() != sciformats::Blame::Machine => return Ok(None),
        written => written.map_err(|error| refused(&error))?,
    };
    if !lost.is_empty() && !args.lossy {
        return Ok(Some(Whole { written: false, checked: None, lost }));
    }
    // What is copied as it is stored may be damaged: a rescue reads it.
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
    if !args.dry_run {
        unfinished.finish().map_err(|error| refused(&error))?;
    }
    Ok(Some(Whole { written: !args.dry_run, checked, lost }))
}

/// The same as a conversion that goes on past what is lost.
fn rescue(args: &Repack, format: Format) -> Convert {
    Convert {
        files: args.files.clone(),
        to: Some(format),
        select: Vec::new(),
        lossy: true,
        check: false,
        dry_run: false,
        storage: args.storage.clone(),
    }
}

/// Everything that is to stay, which is how objects are stored too, unless that is to change. Chunks that were copied need not be
/// decoded.
fn storage_too(storage: &Storage, inline: bool) -> compare::Options {
    let Storage { chunks, filter, level, bound } = storage;
    let stays = chunks.is_none() && filter.is_none() && level.is_none() && bound.is_none() && !inline;
    compare::Options::exact().with_stored(true).with_storage(stays)
}

fn rewrite(args: &Repack, (file, new): (&Arc<File>, &Path), session: &Session) -> Outcome<()> {
    let mut write = args.storage.options();
    write.inline = args.inline;
    write.threads = session.options().threads;
    write.limits = session.options().limits;
    sciformats::repack::rewrite(file, new, &write, Some(interrupt::asked()))
        .map_err(|error| broken(&args.files, &error))
}
