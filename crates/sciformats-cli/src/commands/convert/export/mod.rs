//! `convert` to CSV, JSON, npz, netCDF-4 and PNG: arrays and tables as the convention of the file defines them.

mod chosen;
mod lines;
mod objects;

use std::io::{self, Write};
use std::path::Path;

use sciformats::storage::{Durability, Replacement, WriteAt};
use sciformats::{Error, Selection};
use sciformats_conventions::Dataset;

pub(super) use self::chosen::chosen;
use self::chosen::{Selected, left_out, lost, of_one_shape, selected};
use self::lines::lines;
use self::objects::objects;
use super::args::Convert;
use super::zip::Zip;
use super::{netcdf, pictures};
use crate::commands::cat::{Part, Stop, npy};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Cell, FAINT, PLAIN, TITLE, WELL, WRONG};
use crate::meaning::{Thing, View};
use crate::output::{is_stdout, redirected};
use crate::session::Session;

/// A format that contains arrays for other programs, and nothing else of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Target {
    Csv,
    Json,
    Npz,
    /// netCDF-4, from formats that are not HDF5.
    NetCdf,
    /// One picture of an array, or a series of them.
    Png,
}

impl Target {
    pub(super) const ALL: [Self; 5] = [Self::Csv, Self::Json, Self::Npz, Self::NetCdf, Self::Png];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Npz => "npz",
            Self::NetCdf => "netcdf",
            Self::Png => "png",
        }
    }

    /// Returns the target that the ending of a name selects.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        if ending == "nc" || ending == "nc4" {
            return Some(Self::NetCdf);
        }
        Self::ALL.into_iter().find(|target| target.word() == ending)
    }
}

pub(super) fn run(args: &Convert, target: Target, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    match target {
        Target::NetCdf => return netcdf::run(args, session),
        Target::Png => return pictures::run(args, session),
        Target::Csv | Target::Json | Target::Npz => {}
    }
    args.storage.unasked(args.check, target.word())?;
    let streamed = is_stdout(output) && !args.dry_run;
    let aside = streamed.then(|| session.aside());
    let session = aside.as_ref().unwrap_or(session);
    if streamed && target == Target::Npz {
        redirected()?;
    }
    if !streamed {
        args.files.prepare(args.dry_run, session)?;
    }
    let place = args.files.place();
    let data = Dataset::new(session.open_whole(input)?);
    super::selected(args, data.file())?;
    let Selected { paths, unread } = selected(&data, args, target != Target::Csv);
    if let (true, Some((path, why))) = (paths.is_empty(), unread.first()) {
        return Err(Failure::Input(format!("{}: {path}: {why}", input.display())));
    }
    let paths =
        if target == Target::Csv { of_one_shape(&data, paths, !args.select.is_empty()) } else { Ok(paths) };
    let paths = paths.map_err(|why| Failure::Refused(format!("{}: {why}", input.display())))?;
    if paths.is_empty() {
        return Err(Failure::Refused(format!("{}: no array or table is selected", input.display())));
    }
    let view = if target == Target::Csv { View::Words } else { View::Values };
    let mut things = Vec::new();
    for path in &paths {
        let thing = Thing::find(&data, path, view).map_err(|error| Failure::of(input, &error))?;
        session.doubt(input, &thing);
        things.push((path.clone(), thing));
    }
    let mut losses: Vec<(String, String)> =
        unread.into_iter().map(|(path, error)| (path, error.to_string())).collect();
    if target == Target::Npz {
        losses.extend(lost(&mut things));
    }
    left_out(&things, &mut losses);
    let mut out = session.text();
    told(&mut out, &losses, session)?;
    let stopped = !losses.is_empty() && !args.lossy;
    if things.is_empty() || stopped || args.dry_run {
        end(&mut out, (output, things.len()), None, session)?;
        return Ok(Answer::of(!stopped && !things.is_empty()));
    }
    let sources: Vec<_> = things.iter().map(|(_, thing)| thing.source()).collect();
    let written = session.watched("converting", &sources, || write(place, target, &data, &things, session));
    let size = written.map_err(|stop| match stop {
        Stop::Read(error) => Failure::of(input, &error),
        Stop::Write(error) if streamed => Failure::Output(error),
        Stop::Write(error) => Failure::Unwritten(output.clone(), error.to_string()),
    })?;
    args.files.publish(session)?;
    end(&mut out, (output, things.len()), Some(size), session)?;
    Ok(Answer::Yes)
}

pub(super) fn told<W: std::fmt::Display>(
    out: &mut impl Write,
    losses: &[(String, W)],
    session: &Session,
) -> Outcome<()> {
    for (path, error) in losses {
        if session.json {
            let mut line = JsonObject::new();
            line.value("path", path.as_str()).value("loss", error.to_string());
            writeln!(out, "{}", line.finish())?;
        } else {
            let what = format!("{}: {}", look::safe(path), look::safe(&error.to_string()));
            look::told(out, (WRONG, "loses"), Cell::new(PLAIN, what))?;
        }
    }
    Ok(())
}

/// Reports what was written; `None` if nothing was.
pub(super) fn end(
    out: &mut impl Write,
    (output, count): (&Path, usize),
    size: Option<u64>,
    session: &Session,
) -> Outcome<()> {
    let path = output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("output", path).value("arrays", count as u64).value("written", size.is_some());
        writeln!(out, "{}", line.finish())?;
    } else if !session.quiet {
        let arrays = look::count(count as u64, "array");
        let path = look::safe(&path);
        match size {
            Some(size) => writeln!(
                out,
                "{TITLE}{path}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{arrays}, {}{FAINT:#}",
                look::size(size)
            )?,
            None => writeln!(out, "{TITLE}{path}{TITLE:#}: not written  {FAINT}{arrays}{FAINT:#}")?,
        }
    }
    Ok(out.flush()?)
}

/// A new file that appears when it is complete.
struct Out {
    file: Replacement,
    at: u64,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.at, bytes).map_err(unwritten)?;
        self.at = self.at.saturating_add(bytes.len() as u64); // a bound: no file is that long
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unwritten(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => io::Error::new(source.kind(), source.to_string()),
        other => io::Error::other(other.to_string()),
    }
}

/// Writes the output, and returns its size, or `None` for stdout.
fn write(
    output: &Path,
    target: Target,
    data: &Dataset,
    things: &[(String, Thing)],
    session: &Session,
) -> Result<u64, Stop> {
    if is_stdout(output) {
        let mut out = session.data();
        contents(&mut out, target, data, things)?;
        out.flush()?;
        return Ok(0);
    }
    let file = Replacement::create(output).map_err(unwritten)?;
    let mut out = io::BufWriter::with_capacity(1 << 18, Out { file, at: 0 });
    contents(&mut out, target, data, things)?;
    let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let size = out.at;
    out.file.finish(Durability::Process).map_err(unwritten)?;
    Ok(size)
}

fn contents(
    out: &mut impl Write,
    target: Target,
    data: &Dataset,
    things: &[(String, Thing)],
) -> Result<(), Stop> {
    match target {
        Target::Csv => lines(data, things, out)?,
        Target::Json => objects(data, things, out)?,
        Target::Npz => {
            let mut zip = Zip::new(out);
            for (path, thing) in things {
                let name = path.trim_start_matches('/');
                let name = if name.is_empty() { "data" } else { name };
                let array = thing.array()?;
                let part = Part::whole(&array, false)?;
                zip.member(&format!("{name}.npy"), |mut out| npy::print(&part, &mut out))?;
            }
            zip.finish()?;
        }
        // They have been written by others.
        Target::NetCdf | Target::Png => {}
    }
    Ok(super::unchanged(data.file())?)
}

impl<'a> Part<'a> {
    /// All elements of an array.
    fn whole(array: &'a sciformats::Array<'a>, quoted: bool) -> Result<Self, Error> {
        Ok(Self::new(array, Selection::all(array.shape())?, quoted))
    }
}
