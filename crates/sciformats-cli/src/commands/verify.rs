//! `verify`: reads everything and reports every fault.

use std::io::{self, Write};
use std::path::Path;

use sciformats::source::Finding;
use sciformats::{Blame, Error, File};
use sciformats_convert::verify;
use sciformats_salvage::RepairPlan;

use super::json::JsonObject;
use super::salvage::apart;
use crate::args::{Object, Verify};
use crate::failure::{Answer, Failure, Outcome, advice, complain, explain, free};
use crate::look::{self, FAINT, LINK, TITLE, WELL, WRONG};
use crate::output::not_stdout;
use crate::session::Session;

pub(super) fn run(args: &Verify, session: &Session) -> Outcome {
    if args.repair_plan {
        return repair(args, session);
    }
    let args = &args.files;
    let mut out = session.text();
    let mut answer = Answer::Yes;
    let mut unreadable = false;
    for object in &super::all_named(&args.files, session) {
        let path = &object.file;
        let sound = match session.try_open_cut(path) {
            Ok(file) => match file.resolve(&object.path) {
                Ok(_) => one(&mut out, object, &file, session)?,
                Err(error) => {
                    complain(&Failure::within(path, &file, &error).to_string());
                    unreadable = true;
                    continue;
                }
            },
            // A damaged file that cannot be opened still counts as verified. A file of no known format does not.
            Err(error) if error.blame() == Blame::File && !matches!(error, Error::NotThisFormat { .. }) => {
                print(&mut out, path, &Finding { path: None, error }, session)?;
                conclude(&mut out, object, None, session)?;
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

/// Shows how each file can be mended, and mends a copy or the file itself if that is wanted.
fn repair(args: &Verify, session: &Session) -> Outcome {
    let paths = super::expanded(&args.files.files);
    if let Some(output) = &args.repair_to {
        if paths.len() > 1 {
            return Err(Failure::of(output, &Error::usage("--repair-to", "takes one file at a time")));
        }
        for path in &paths {
            apart(path, output, "--repair-to")?;
        }
        not_stdout(output, "a mended copy")?;
        free(output, args.force)?;
    }
    let mut out = session.text();
    let mut sound = true;
    for path in &paths {
        let plan = RepairPlan::of(path).map_err(|error| Failure::of(path, &error))?;
        if !plan.repairs.is_empty() {
            if let Some(output) = &args.repair_to {
                plan.copy(path, output).map_err(|error| Failure::unwritten(output, &error))?;
            } else if args.repair_in_place {
                plan.apply(path).map_err(|error| Failure::unwritten(path, &error))?;
            }
        }
        sound &= plan.before == 0 && plan.repairs.is_empty();
        if session.json {
            let mut value = plan.json();
            if let Some(object) = value.as_object_mut() {
                object.insert("file".into(), path.display().to_string().into());
            }
            writeln!(out, "{}", look::safe_json(&value.to_string()))?;
        } else {
            planned(&mut out, path, &plan)?;
        }
    }
    out.flush()?;
    Ok(Answer::of(sound))
}

fn planned(out: &mut impl Write, path: &Path, plan: &RepairPlan) -> io::Result<()> {
    let name = path.display().to_string();
    let file = look::safe(&name);
    for repair in &plan.repairs {
        let (kind, confidence) = (repair.kind, repair.confidence.word());
        let reason = look::safe(&repair.reason).to_string();
        writeln!(
            out,
            "{TITLE}{file}{TITLE:#}: {:#x} {kind}: {reason}  {FAINT}{confidence}{FAINT:#}",
            repair.offset
        )?;
    }
    for kept in &plan.kept {
        writeln!(out, "{TITLE}{file}{TITLE:#}: {WRONG}{}{WRONG:#}", look::safe(kept))?;
    }
    let style = if plan.after == 0 { WELL } else { WRONG };
    let verdict = verdict(plan.repairs.len() as u64, plan.after);
    writeln!(out, "{TITLE}{file}{TITLE:#}: {style}{verdict}{style:#}")
}

/// Says what the changes achieve, and how many faults remain after them.
fn verdict(repairs: u64, faults: u64) -> String {
    let (changes, left) = (look::count(repairs, "change"), look::count(faults, "fault"));
    match (repairs, faults) {
        (0, 0) => "nothing to mend".to_owned(),
        (0, _) => format!("{left} that cannot be mended without loss; use salvage"),
        (1, 0) => format!("{changes} mends everything"),
        (_, 0) => format!("{changes} mend everything"),
        (_, 1) => format!("{changes}, after which {left} remains; use salvage for it"),
        _ => format!("{changes}, after which {left} remain; use salvage for these"),
    }
}

fn one(out: &mut impl Write, object: &Object, file: &File, session: &Session) -> Outcome<bool> {
    let path = object.file.as_path();
    let mut failure = Ok(());
    let mut limits = 0;
    let summary = session.watched("verifying", &[file], || {
        let mut tell = |finding: Finding| {
            limits += u64::from(matches!(finding.error, Error::LimitExceeded { .. }));
            if failure.is_ok() {
                failure = print(out, path, &finding, session);
            }
        };
        match object.path.as_str() {
            "/" => Ok(verify::verify(file, &mut tell)),
            inside => verify::verify_object(file, inside, &mut tell),
        }
    });
    failure?;
    let summary = summary.map_err(|error| Failure::within(path, file, &error))?;
    conclude(out, object, Some((summary, limits)), session)?;
    Ok(summary.findings == 0 && summary.missing == 0)
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
        object.value("blame", finding.error.blame().word());
        object.value("error", error.as_str());
        return writeln!(out, "{}", object.finish());
    }
    let file = path.display().to_string();
    let within = finding.path.as_deref().unwrap_or_default();
    let raised = matches!(finding.error, Error::LimitExceeded { .. });
    let advice = advice(path, &finding.error).filter(|_| raised);
    let error = advice.map_or_else(|| error.clone(), |advice| format!("{error} ({advice})"));
    let (file, within, error) = (look::safe(&file), look::safe(within), look::safe(&error));
    let space = if within.is_empty() { "" } else { " " };
    let elsewhere = matches!(finding.error, Error::Missing { .. } | Error::Forbidden { .. });
    let style = if elsewhere { LINK } else { WRONG };
    writeln!(out, "{TITLE}{file}{TITLE:#}{space}{within}: {style}{error}{style:#}")
}

/// Prints the last line about a file: what was read and how many reads a limit forbade, or nothing if the file could not be
/// opened.
fn conclude(
    out: &mut impl Write,
    Object { file, path }: &Object,
    summary: Option<(verify::Summary, u64)>,
    session: &Session,
) -> io::Result<()> {
    let findings = summary.map_or(1, |(summary, _)| summary.findings);
    let (summary, limits) = summary.unwrap_or_default();
    if session.json {
        let mut object = JsonObject::new();
        object.value("file", file.display().to_string());
        if path != "/" {
            object.value("path", path.as_str());
        }
        object.value("ok", findings == 0 && summary.missing == 0);
        object.value("findings", findings).value("missing", summary.missing).value("links", summary.links);
        object.value("objects", summary.objects);
        object.value("attributes", summary.attributes).value("bytes", summary.bytes);
        return writeln!(out, "{}", object.finish());
    }
    if session.quiet {
        return Ok(());
    }
    let inside = if path == "/" { String::new() } else { format!(":{path}") };
    let file = format!("{}{inside}", file.display());
    let file = look::safe(&file);
    let objects = look::count(summary.objects, "object");
    let mut remarks = format!("{objects}, {} read", look::size(summary.bytes));
    if summary.links > 0 {
        let verb = if summary.links == 1 { "leads" } else { "lead" };
        let links = look::count(summary.links, "link");
        remarks = format!("{remarks}, {links} {verb} nowhere");
    }
    let (style, verdict) = match (findings, summary.missing) {
        (0, 0) => (WELL, "sound".to_owned()),
        (0, missing) => (LINK, format!("sound, but {} elsewhere not read", look::count(missing, "source"))),
        (n, 0) if n == limits => {
            (WRONG, format!("not verified to the end, because a limit forbids {}", look::count(n, "read")))
        }
        (n, 0) => (WRONG, look::count(n, "fault")),
        (n, missing) => {
            let (n, missing) = (look::count(n, "fault"), look::count(missing, "source"));
            (WRONG, format!("{n}, and {missing} elsewhere not read"))
        }
    };
    writeln!(out, "{TITLE}{file}{TITLE:#}: {style}{verdict}{style:#}  {FAINT}{remarks}{FAINT:#}")
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn verbs_agree_with_their_numbers() {
        for (repairs, faults, expected) in [
            (0, 0, "nothing to mend"),
            (0, 1, "1 fault that cannot be mended without loss; use salvage"),
            (1, 0, "1 change mends everything"),
            (2, 0, "2 changes mend everything"),
            (1, 1, "1 change, after which 1 fault remains; use salvage for it"),
            (2, 3, "2 changes, after which 3 faults remain; use salvage for these"),
        ] {
            assert_eq!(verdict(repairs, faults), expected);
        }
    }
}
