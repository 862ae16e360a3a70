//! `inspect`: shows the structures of a file with their offsets and fields.

use std::io::Write;
use std::ops::ControlFlow;

use sciformats::source::Structure;
use sciformats_core::bound;

use super::json::JsonObject;
use crate::args::Inspect;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE};
use crate::session::Session;

pub(super) fn run(args: &Inspect, session: &Session) -> Outcome {
    let file = session.open(&args.file)?;
    let mut out = session.text();
    let mut failure = Ok(());
    let mut found = false;
    let read = file.source().structures(&mut |structure| {
        if !args.at.is_none_or(|at| holds(&structure, at)) {
            return ControlFlow::Continue(());
        }
        found = true;
        failure =
            if session.json { writeln!(out, "{}", json(&structure)) } else { text(&mut out, &structure) };
        if failure.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    failure?;
    out.flush()?;
    read.map_err(|error| Failure::of(&args.file, &error))?;
    match args.at {
        Some(at) if at >= file.size() => Err(Failure::Usage(format!(
            "offset {at:#x} is beyond the end of {}, which is at {:#x}",
            args.file.display(),
            file.size()
        ))),
        Some(at) if !found => {
            if !session.quiet {
                crate::failure::complain(&format!(
                    "no known structure contains the byte at offset {at:#x} of {}",
                    args.file.display()
                ));
            }
            Ok(Answer::No)
        }
        _ => Ok(Answer::Yes),
    }
}

fn holds(structure: &Structure, at: u64) -> bool {
    at.checked_sub(structure.offset).is_some_and(|inside| inside < structure.size)
}

fn text(out: &mut impl Write, structure: &Structure) -> std::io::Result<()> {
    let indent = 2 * structure.depth;
    // A damaged file may declare an end beyond the largest possible offset.
    let end = bound::sum(structure.offset, structure.size);
    let name = look::safe(&structure.name);
    writeln!(
        out,
        "{:indent$}{TITLE}{name}{TITLE:#}  {FAINT}{:#x} … {end:#x}, {}{FAINT:#}",
        "",
        structure.offset,
        look::count(structure.size, "byte")
    )?;
    let width = structure.fields.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0); // a bound of widths
    for (key, value) in &structure.fields {
        let value = value.to_string();
        writeln!(out, "{:indent$}  {FAINT}{key:width$}{FAINT:#}  {}", "", look::safe(&value))?;
    }
    Ok(())
}

fn json(structure: &Structure) -> String {
    let mut object = JsonObject::new();
    object.value("structure", structure.name.as_ref()).value("offset", structure.offset);
    object.value("size", structure.size).value("depth", structure.depth);
    let mut fields = JsonObject::new();
    for (key, value) in &structure.fields {
        fields.value(key, value.clone());
    }
    object.raw("fields", &fields.finish());
    object.finish()
}
