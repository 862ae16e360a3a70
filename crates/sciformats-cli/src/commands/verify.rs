//! `verify`: reads everything, tells every fault.

use std::io::{self, Write};
use std::path::Path;

use sciformats::source::Finding;
use sciformats::{Blame, Error, File, verify};

use super::json::JsonObject;
use crate::args::Files;
use crate::failure::{Answer, Failure, Outcome, complain, explain};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(super) fn run(args: &Files, session: &Session) -> Outcome {
    let mut out = session.text();
    let mut answer = Answer::Yes;
    let mut unreadable = false;
    for path in &super::expanded(&args.files) {
        let sound = match session.try_open(path) {
            Ok(file) => one(&mut out, path, &file, session)?,
            // A file that is damaged where it begins is a file that was verified.
            Err(error) if error.blame() == Blame::File => {
                print(&mut out, path, &Finding { path: None, error }, session)?;
                conclude(&mut out, path, None, session)?;
                false
            }
            Err(error) => {
                complain(&explain(path, &error));
                unreadable = true;
                continue;
            }
        };
        if !sound {
            answer = Answer::No;
        }
    }
    out.flush()?;
    if unreadable { Err(Failure::Reported) } else { Ok(answer) }
}

fn one(out: &mut impl Write, path: &Path, file: &File, session: &Session) -> Outcome<bool> {
    let mut failure = Ok(());
    let summary = session.watched("verifying", &[file], || {
        verify::verify(file, &mut |finding| {
            if failure.is_ok() {
                failure = print(out, path, &finding, session);
            }
        })
    });
    failure?;
    conclude(out, path, Some(summary), session)?;
    Ok(summary.findings == 0)
}

fn print(out: &mut impl Write, path: &Path, finding: &Finding, session: &Session) -> io::Result<()> {
    let error = finding.error.to_string();
    if session.json {
        let mut object = JsonObject::new();
        object.value("file", path.display().to_string());
        if let Some(path) = &finding.path {
            object.value("path", path.as_str());
        }
        if let Some(offset) = finding.error.offset() {
            object.value("offset", offset);
        }
        object.value("blame", blame(&finding.error));
        object.value("error", error.as_str());
        return writeln!(out, "{}", object.finish());
    }
    let file = path.display().to_string();
    let within = finding.path.as_deref().unwrap_or_default();
    let (file, within, error) = (look::safe(&file), look::safe(within), look::safe(&error));
    let space = if within.is_empty() { "" } else { " " };
    writeln!(out, "{TITLE}{file}{TITLE:#}{space}{within}: {WRONG}{error}{WRONG:#}")
}

/// Who is to blame, in a word.
fn blame(error: &Error) -> &'static str {
    match error.blame() {
        Blame::Machine => "machine",
        Blame::File => "file",
        Blame::Library => "program",
        Blame::Limit => "limit",
        Blame::Caller => "caller",
    }
}

/// The last line of a file: what was read, or nothing if it could not be opened.
fn conclude(
    out: &mut impl Write,
    path: &Path,
    summary: Option<verify::Summary>,
    session: &Session,
) -> io::Result<()> {
    let findings = summary.map_or(1, |summary| summary.findings);
    let summary = summary.unwrap_or_default();
    if session.json {
        let mut object = JsonObject::new();
        object.value("file", path.display().to_string()).value("ok", findings == 0);
        object.value("findings", findings).value("objects", summary.objects);
        object.value("attributes", summary.attributes).value("bytes", summary.bytes);
        return writeln!(out, "{}", object.finish());
    }
    if session.quiet {
        return Ok(());
    }
    let file = path.display().to_string();
    let file = look::safe(&file);
    let objects = look::count(summary.objects, "object");
    let read = format!("{objects}, {} read", look::size(summary.bytes));
    match findings {
        0 => writeln!(out, "{TITLE}{file}{TITLE:#}: {WELL}sound{WELL:#}  {FAINT}{read}{FAINT:#}"),
        n => {
            let faults = look::count(n, "fault");
            writeln!(out, "{TITLE}{file}{TITLE:#}: {WRONG}{faults}{WRONG:#}  {FAINT}{read}{FAINT:#}")
        }
    }
}
