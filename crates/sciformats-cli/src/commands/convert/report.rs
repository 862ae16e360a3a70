//! What a conversion tells: the plan, what is lost, and how it ended.

use std::io::{self, Write};
use std::path::Path;

use sciformats::Format;
use sciformats::model::Value;
use sciformats_convert::convert::{Counts, Loss, Plan};
use sciformats_core::bound;

use super::args::Files;
use crate::commands::json::JsonObject;
use crate::look::{self, Cell, FAINT, PLAIN, TITLE, WELL, WRONG};
use crate::session::Session;

/// The number of losses that are printed one by one; `--json` prints all of them.
const SHOWN: usize = 20;

/// The line with the old and the new file, and what is written.
pub(super) fn headline(out: &mut impl Write, plan: &Plan, from: Format, files: &Files) -> io::Result<()> {
    let (input, output) = (files.input.display().to_string(), files.output.display().to_string());
    let (input, output) = (look::safe(&input), look::safe(&output));
    let target = plan.target();
    writeln!(out, "{TITLE}{input}{TITLE:#} {from} → {TITLE}{output}{TITLE:#} {target}")?;
    look::told(out, (PLAIN, "writes"), Cell::new(PLAIN, contents(plan.counts())))
}

/// Describes a plan: what is written, what readers have to know of it, and what is lost.
pub(super) fn describe(
    out: &mut impl Write,
    (plan, from, stored): (&Plan, Format, Option<&str>),
    files: &Files,
    session: &Session,
) -> io::Result<()> {
    if !session.json && !session.quiet {
        headline(out, plan, from, files)?;
        for (remark, count) in plan.remarks() {
            let times = look::count(*count, "time");
            let note = Cell::new(PLAIN, remark.text()).and(PLAIN, "  ").and(FAINT, times);
            look::told(out, (PLAIN, "note"), note)?;
        }
        packages(out, plan.target(), stored)?;
    }
    losses(out, plan.losses(), session)
}

/// Returns a note about the packages that programs need, beside the library of the format, to read this
/// filter.
fn extension(format: Format, filter: &str) -> Option<String> {
    let filter = filter.strip_suffix("+fletcher32").unwrap_or(filter);
    let (library, needed, instead) = match (format, filter) {
        (Format::Asdf, "zstd" | "lz4f") => ("asdf", "the package asdf-compression", "zlib and bzp2 need"),
        (Format::Asdf, "lz4") => ("asdf", "the package lz4", "zlib and bzp2 need"),
        (Format::Hdf5, "zstd" | "lz4" | "bzip2" | "bitshuffle" | "zfp" | "fcidecomp") => {
            ("h5py", "the package hdf5plugin", "zlib needs")
        }
        (Format::Hdf5, "vbz") => ("h5py", "the package vbz-h5py-plugin", "zlib needs"),
        (Format::Hdf5, "lzo") => ("h5py", "a build of PyTables that has LZO", "zlib needs"),
        (Format::Hdf5, "snappy") => ("h5py", "a plug-in that hdf5plugin does not have", "zlib needs"),
        _ => return None,
    };
    Some(format!("Python's {library} reads {filter} only with {needed}; {instead} no package"))
}

/// Tells which packages programs need to read these filters, once for each filter.
pub(in crate::commands) fn packages<'a>(
    out: &mut impl Write,
    format: Format,
    filters: impl IntoIterator<Item = &'a str>,
) -> io::Result<()> {
    let mut notes: Vec<String> = Vec::new();
    for note in filters.into_iter().filter_map(|filter| extension(format, filter)) {
        if !notes.contains(&note) {
            look::told(out, (PLAIN, "note"), Cell::new(PLAIN, &note))?;
            notes.push(note);
        }
    }
    Ok(())
}

/// Tells what becomes otherwise of a file's structures.
pub(super) fn notes(out: &mut impl Write, notes: &[String]) -> io::Result<()> {
    let told = |note: &String| look::told(out, (PLAIN, "note"), Cell::new(PLAIN, format!("/ {note}")));
    notes.iter().try_for_each(told)
}

/// Tells programs what became otherwise of the structures of the file.
pub(super) fn noted(line: &mut JsonObject, notes: &[String]) {
    if !notes.is_empty() {
        line.value("notes", Value::List(notes.iter().map(|note| note.as_str().into()).collect()));
    }
}

/// Tells what is lost.
pub(super) fn losses(out: &mut impl Write, losses: &[Loss], session: &Session) -> io::Result<()> {
    if session.json {
        for loss in losses {
            let mut line = JsonObject::new();
            line.value("path", loss.path.as_str()).value("loss", loss.what.as_str());
            if let Some(lost) = &loss.lost {
                if lost.chunk.is_some() {
                    line.list("chunk", lost.chunk.as_deref());
                }
                line.list("first", Some(&lost.first)).value("elements", lost.elements);
                if let Some(bytes) = lost.bytes {
                    line.value("bytes", bytes);
                }
                line.value("reason", lost.reason.as_str());
            }
            writeln!(out, "{}", line.finish())?;
        }
        return Ok(());
    }
    for loss in losses.iter().take(SHOWN) {
        let what = format!("{} {}", look::safe(&loss.path), look::safe(&loss.what));
        look::told(out, (WRONG, "loses"), Cell::new(PLAIN, what))?;
    }
    let hidden = bound::left(losses.len(), SHOWN);
    if hidden > 0 {
        let hidden = look::grouped(hidden as u64);
        writeln!(out, "          {FAINT}… and {hidden} more{FAINT:#}")?;
    }
    Ok(())
}

/// Describes briefly what a plan writes.
fn contents(counts: Counts) -> String {
    let Counts { groups, arrays, values, links, attributes, bytes, .. } = counts;
    let parts =
        [(groups, "group"), (arrays, "array"), (values, "value"), (links, "link"), (attributes, "attribute")];
    let mut parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| look::count(n, noun)).collect();
    parts.push(look::size(bytes));
    parts.join(", ")
}

/// The result of a conversion.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) file: &'a Files,
    pub(super) written: bool,
    pub(super) checked: Option<bool>,
    /// The number of losses, including those found during writing.
    pub(super) losses: usize,
    /// What became otherwise of the structures of the file.
    pub(super) notes: &'a [String],
}

/// Reports that a file was not written because something would be lost.
pub(super) fn not_written(out: &mut impl Write, path: &str) -> io::Result<()> {
    let path = look::safe(path);
    let hint = "--lossy writes it anyway";
    writeln!(out, "{TITLE}{path}{TITLE:#}: {WRONG}not written{WRONG:#}  {FAINT}{hint}{FAINT:#}")
}

/// Tells how a conversion ended.
pub(super) fn conclude(
    out: &mut impl Write,
    plan: &Plan,
    end: Written<'_>,
    session: &Session,
) -> io::Result<()> {
    let path = end.file.output.display().to_string();
    let losses = end.losses as u64;
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
        noted(&mut line, end.notes);
        writeln!(out, "{}", line.finish())?;
        return out.flush();
    }
    let path = look::safe(&path);
    match (end.written, end.checked) {
        (false, _) if losses > 0 => not_written(out, &end.file.output.display().to_string())?,
        (false, _) => writeln!(out, "{TITLE}{path}{TITLE:#}: not written, because of --dry-run")?,
        (true, Some(false)) => {
            writeln!(out, "{TITLE}{path}{TITLE:#}: {WRONG}written, but not as planned{WRONG:#}")?;
        }
        (true, _) if session.quiet => {}
        (true, checked) => {
            let checked = if checked.is_some() { " and checked" } else { "" };
            let size = look::size(size(end.file.place()));
            writeln!(out, "{TITLE}{path}{TITLE:#}: {WELL}written{checked}{WELL:#}  {FAINT}{size}{FAINT:#}")?;
        }
    }
    out.flush()
}

pub(super) fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
