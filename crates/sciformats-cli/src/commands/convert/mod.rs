//! `convert`: from one format into another; `repack`: the same contents, stored anew.

pub(crate) mod args;
mod repack;

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats::convert::{Counts, Options, Plan};
use sciformats::{Blame, Error, Format};

use self::args::{Convert, Files};
use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(super) use repack::run as repack;

/// Losses that are shown one by one; all of them with `--json`.
const SHOWN: usize = 20;

pub(super) fn run(args: &Convert, session: &Session) -> Outcome {
    let Files { input, output, .. } = &args.files;
    let target = match args.to.or_else(|| Format::expected_of(output)) {
        Some(format) => format,
        None => {
            let words = Format::ALL.map(Format::word).join(", ");
            let text =
                format!("{}: no format has such an ending; choose one with --to: {words}", output.display());
            return Err(Failure::Usage(text));
        }
    };
    if !args.dry_run {
        free(&args.files)?;
    }
    let file = Arc::new(session.open(input)?);
    let select = args.select.iter().map(String::as_str);
    let options = Options::default().with_select(select).with_cancel(interruptible());
    let plan = Plan::new(&file, target, &options).map_err(|error| Failure::of(input, &error))?;
    let mut out = session.text();
    describe(&mut out, (&plan, file.format()), &args.files, session)?;
    let refused = !plan.losses().is_empty() && !args.lossy;
    if refused || args.dry_run {
        conclude(&mut out, &plan, Written { file: &args.files, written: false, checked: None }, session)?;
        return Ok(Answer::of(!refused));
    }
    let reading = session.options();
    let write = args.storage.options().with_threads(reading.threads).with_limits(reading.limits);
    let written = session.watched("converting", &[&file], || plan.write(output, &write));
    written.map_err(|error| broken(&args.files, error))?;
    let mut checked = None;
    if args.check {
        let compared = session.watched("checking", &[plan.tree()], || plan.check(output, session.options()));
        let difference = compared.map_err(|error| Failure::of(output, &error))?;
        if let (Some((planned, found)), false) = (&difference, session.json) {
            writeln!(out, "  planned  {}", look::safe(planned))?;
            writeln!(out, "  found    {}", look::safe(found))?;
        }
        checked = Some(difference.is_none());
    }
    conclude(&mut out, &plan, Written { file: &args.files, written: true, checked }, session)?;
    Ok(Answer::of(checked != Some(false)))
}

/// Refuses to overwrite a file unless that is wanted.
fn free(files: &Files) -> Outcome<()> {
    if files.output.exists() && !files.force {
        let text = format!("{}: is there already (--force takes its place)", files.output.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// A flag that becomes true on Ctrl-C, so that nothing half done is left. A second Ctrl-C ends the program at once.
fn interruptible() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // Without a handler the program ends as it would by itself.
    let _ = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    flag
}

/// Whose fault it is that the file was not written.
fn broken(files: &Files, error: Error) -> Failure {
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::Interrupted => Failure::Interrupted,
        Error::Io { path: Some(path), source, .. } if *path != *files.input => Failure::Output(source),
        error if error.blame() == Blame::File => Failure::of(&files.input, &error),
        error => Failure::of(&files.output, &error),
    }
}

fn describe(
    out: &mut impl Write,
    (plan, from): (&Plan, Format),
    files: &Files,
    session: &Session,
) -> io::Result<()> {
    if session.json {
        for loss in plan.losses() {
            let mut line = JsonObject::new();
            line.value("path", loss.path.as_str()).value("loss", loss.what.as_str());
            writeln!(out, "{}", line.finish())?;
        }
        return Ok(());
    }
    if !session.quiet {
        let (input, output) = (files.input.display().to_string(), files.output.display().to_string());
        let (input, output) = (look::safe(&input), look::safe(&output));
        let target = plan.target();
        writeln!(out, "{TITLE}{input}{TITLE:#} {from} → {TITLE}{output}{TITLE:#} {target}")?;
        writeln!(out, "  writes  {}", contents(plan.counts()))?;
        for (remark, count) in plan.remarks() {
            writeln!(out, "  note    {}  {FAINT}{}{FAINT:#}", remark.text(), look::count(*count, "time"))?;
        }
    }
    for loss in plan.losses().iter().take(SHOWN) {
        writeln!(out, "  {WRONG}loses{WRONG:#}   {} {}", look::safe(&loss.path), look::safe(&loss.what))?;
    }
    let hidden = plan.losses().len().saturating_sub(SHOWN);
    if hidden > 0 {
        let hidden = look::grouped(hidden as u64);
        writeln!(out, "          {FAINT}… and {hidden} more{FAINT:#}")?;
    }
    Ok(())
}

/// What a plan writes, in a few words.
fn contents(counts: Counts) -> String {
    let Counts { groups, arrays, values, links, attributes, bytes, .. } = counts;
    let parts =
        [(groups, "group"), (arrays, "array"), (values, "value"), (links, "link"), (attributes, "attribute")];
    let mut parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| look::count(n, noun)).collect();
    parts.push(look::size(bytes));
    parts.join(", ")
}

/// How it ended.
#[derive(Clone, Copy)]
struct Written<'a> {
    file: &'a Files,
    written: bool,
    checked: Option<bool>,
}

fn conclude(out: &mut impl Write, plan: &Plan, end: Written<'_>, session: &Session) -> io::Result<()> {
    let path = end.file.output.display().to_string();
    let losses = plan.losses().len() as u64;
    if session.json {
        let Counts { groups, arrays, values, links, attributes, bytes, .. } = plan.counts();
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("format", plan.target().word());
        line.value("groups", groups).value("arrays", arrays).value("values", values).value("links", links);
        line.value("attributes", attributes).value("bytes", bytes).value("losses", losses);
        line.value("written", end.written);
        if let Some(checked) = end.checked {
            line.value("checked", checked);
        }
        writeln!(out, "{}", line.finish())?;
        return out.flush();
    }
    let path = look::safe(&path);
    match (end.written, end.checked) {
        (false, _) if losses > 0 => {
            let hint = "--lossy writes it all the same";
            writeln!(out, "{TITLE}{path}{TITLE:#}: {WRONG}not written{WRONG:#}  {FAINT}{hint}{FAINT:#}")?;
        }
        (false, _) => writeln!(out, "{TITLE}{path}{TITLE:#}: not written, as asked")?,
        (true, Some(false)) => {
            writeln!(out, "{TITLE}{path}{TITLE:#}: {WRONG}written, but not as planned{WRONG:#}")?;
        }
        (true, _) if session.quiet => {}
        (true, checked) => {
            let checked = if checked.is_some() { " and checked" } else { "" };
            let size = look::size(size(&end.file.output));
            writeln!(out, "{TITLE}{path}{TITLE:#}: {WELL}written{checked}{WELL:#}  {FAINT}{size}{FAINT:#}")?;
        }
    }
    out.flush()
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
