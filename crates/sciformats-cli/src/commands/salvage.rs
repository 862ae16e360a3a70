//! `salvage`: finds out what is left of a damaged file, and writes it to a clean one.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use sciformats::Error;
use sciformats_core::WriteAt;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_salvage::{Map, ObjectReport, Options, Part, Report, State, examine};

use crate::args::Salvage;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::figure::canvas::Pixels;
use crate::figure::raster::png;
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::output::{is_stdout, named, through_file};
use crate::session::Session;

/// The columns and rows of a map that is written as PNG.
const WIDTH: usize = 1000;
const HEIGHT: usize = 32;
/// The actions and the objects that are printed one by one; `--json` prints all of them.
const SHOWN: usize = 40;

pub(super) fn run(args: &Salvage, session: &Session) -> Outcome {
    let input = &args.file;
    named(input, "salvage")?;
    let to_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_stdout);
    match (to_stdout(&args.output), to_stdout(&args.map)) {
        (true, true) => return Err(Failure::Usage("only one of OUT and --map can be stdout".into())),
        (false, false) => {}
        (true, false) => {
            return through_file("", session, |path, session| {
                run(&Salvage { output: Some(path.into()), ..args.clone() }, session)
            });
        }
        (false, true) => {
            return through_file(".svg", session, |path, session| {
                run(&Salvage { map: Some(path.into()), ..args.clone() }, session)
            });
        }
    }
    for (name, output) in [("OUT", &args.output), ("--map", &args.map)] {
        let Some(output) = output else { continue };
        apart(input, output, name)?;
        free(output, args.force)?;
    }
    if let (Some(output), Some(map)) = (&args.output, &args.map)
        && resolved(output) == resolved(map)
    {
        return Err(Failure::of(map, &Error::usage("--map", "is OUT as well")));
    }
    let options =
        Options::default().with_threads(session.options().threads()).with_written(session.options().written);
    let found = examine(input, &options).map_err(|error| Failure::of(input, &error))?;
    if let Some(map) = &args.map {
        let written = picture(map, &found.report().map).and_then(|bytes| replaced(map, &bytes));
        written.map_err(|error| Failure::unwritten(map, &error))?;
    }
    let losses = match &args.output {
        Some(output) if !found.is_empty() => {
            found.write(output).map_err(|error| Failure::unwritten(output, &error))?
        }
        _ => Vec::new(),
    };
    let report = found.report().clone().with_losses(&losses);
    let losses: Vec<String> = losses.iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    let mut out = session.text();
    if session.json {
        let mut value = report.json();
        if let Some(object) = value.as_object_mut() {
            object.insert("file".into(), input.display().to_string().into());
            object.insert("losses".into(), losses.into());
        }
        writeln!(out, "{}", look::safe_json(&value.to_string()))?;
    } else {
        text(&mut out, input, &report, &losses)?;
    }
    if let Some(error) = out.flush().err().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        return Err(error.into());
    }
    if let Some(output) = args.output.as_ref().filter(|_| found.is_empty()) {
        // Output for stdout goes through a temporary file, whose name must not be shown.
        let name = if session.is_aside() { "stdout".into() } else { output.display().to_string() };
        return Err(Failure::Refused(format!("{name} is not written, because nothing is left for it")));
    }
    Ok(Answer::of(report.is_sound()))
}

/// Fails if `output` is the damaged file, or in a damaged folder.
pub(super) fn apart(input: &Path, output: &Path, name: &'static str) -> Outcome<()> {
    if fs::canonicalize(input).is_ok_and(|input| resolved(output).starts_with(input)) {
        let error = Error::usage(name, "is the damaged file or in it, and this must stay as it is");
        return Err(Failure::of(output, &error));
    }
    Ok(())
}

/// Returns the path of a file that need not exist, without symbolic links.
fn resolved(path: &Path) -> PathBuf {
    let there = fs::canonicalize(path);
    there.unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder);
        folder.ok().zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
    })
}

/// Writes a file that takes its name when it is complete.
fn replaced(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut new = Replacement::create(path)?;
    new.storage()?.write_at(0, bytes)?;
    new.finish(Durability::Power)
}

/// Returns the map of a file as a picture: PNG if the name ends so, and SVG otherwise.
fn picture(path: &Path, map: &Map) -> Result<Vec<u8>, Error> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
        return Ok(map.svg().into_bytes());
    }
    let row: Vec<_> = map.columns(WIDTH).into_iter().map(Part::colour).collect();
    png(&Pixels { width: row.len(), colours: row.repeat(HEIGHT) })
}

fn text(out: &mut impl Write, path: &Path, report: &Report, losses: &[String]) -> io::Result<()> {
    let name = path.display().to_string();
    let verdict = if report.is_sound() { "sound" } else { "damaged" };
    let style = if report.is_sound() { WELL } else { WRONG };
    writeln!(out, "{TITLE}{}{TITLE:#}: {style}{verdict}{style:#}", look::safe(&name))?;
    for cause in &report.causes {
        writeln!(out, "  {WRONG}{}{WRONG:#}: {}", cause.kind, look::safe(&cause.evidence))?;
    }
    writeln!(out, "\n{TITLE}Bytes{TITLE:#}")?;
    for part in [Part::Reached, Part::Carved, Part::Unknown, Part::Zero, Part::Missing] {
        let bytes = report.map.bytes(part);
        if bytes > 0 {
            writeln!(out, "  {:<8} {}", part.word(), look::size(bytes))?;
        }
    }
    objects(out, report)?;
    if !report.actions.is_empty() {
        writeln!(out, "\n{TITLE}Plan{TITLE:#}")?;
    }
    for action in report.actions.iter().take(SHOWN) {
        let (kind, confidence) = (action.kind, action.confidence.word());
        let reason = look::safe(&action.reason).to_string();
        writeln!(out, "  {:#x} {kind}: {reason}  {FAINT}{confidence}{FAINT:#}", action.offset)?;
    }
    more(out, report.actions.len())?;
    if !losses.is_empty() {
        writeln!(out, "\n{TITLE}Not written{TITLE:#}")?;
    }
    for loss in losses.iter().take(SHOWN) {
        writeln!(out, "  {}", look::safe(loss))?;
    }
    more(out, losses.len())
}

fn objects(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "\n{TITLE}Objects{TITLE:#}")?;
    for state in [State::Whole, State::Unchecked, State::Partial, State::Metadata, State::Lost] {
        let count = report.count(state);
        if count > 0 {
            writeln!(out, "  {:<8} {count}", state.word())?;
        }
    }
    let damaged: Vec<&ObjectReport> =
        report.objects.iter().filter(|object| object.state > State::Unchecked).collect();
    for object in damaged.iter().take(SHOWN) {
        let chunks = object.chunks.map(|(found, of)| format!(", {found} of {of} chunks"));
        let reasons = object.reasons.join("; ");
        writeln!(
            out,
            "  {}: {WRONG}{}{WRONG:#}{}  {FAINT}{}{FAINT:#}",
            look::safe(&object.path),
            object.state.word(),
            chunks.unwrap_or_default(),
            look::safe(&reasons)
        )?;
    }
    more(out, damaged.len())
}

fn more(out: &mut impl Write, count: usize) -> io::Result<()> {
    match count.checked_sub(SHOWN) {
        Some(rest) if rest > 0 => writeln!(out, "  {FAINT}and {rest} more{FAINT:#}"),
        _ => Ok(()),
    }
}
