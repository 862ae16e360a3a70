//! `references`: writes references to the arrays of a file, for readers of Zarr.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use sciformats::storage::{Durability, Replacement};
use sciformats::{File, WriteAt};
use sciformats_references::{Options, Report, Sink, Treatment, VirtualArray, kerchunk, parquet, scan};
use serde_json::{Map, Value};

use super::icechunk;
use super::json::JsonObject;
use crate::args::parse_size;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::{self, NewFolder};
use crate::look;
use crate::output::{is_stdout, through_file};
use crate::session::Session;

/// The number of bytes of JSON that are written at once.
const BUFFER: usize = 1 << 17;

/// The arguments of `references`.
#[derive(Clone, Debug, Args)]
pub(crate) struct References {
    /// The file, or its URL; of `FILE:/PATH` only this group or array is referenced, under its path
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The references to write: JSON (`-` is stdout), a folder of Parquet files if it ends in .parquet, or a repository of
    /// Icechunk if it is icechunk:DIR
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// The URL by which readers will open the file [default: its absolute path]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The largest array that becomes part of the references if its chunks cannot be referenced
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4MiB")]
    inline: u64,
    /// Reference chunks that only the codecs of the Python package sciformats can decode
    #[arg(long)]
    codecs: bool,
    /// Overwrite an existing file
    #[arg(long, short)]
    force: bool,
}

pub(super) fn run(args: &References, session: &Session) -> Outcome {
    if args.file == Path::new("-") && args.url.is_none() {
        return Err(Failure::Usage(
            "stdin has no URL by which readers could open it; name one with --url".into(),
        ));
    }
    if is_stdout(&args.output) {
        // Nothing but the references is written to stdout, so the report needs no other place.
        return through_file(".json", session, |path, _| {
            run(&References { output: path.into(), ..args.clone() }, session)
        });
    }
    free(icechunk::place(&args.output), args.force)?;
    let object = super::named(&args.file, session);
    let args = &References { file: object.file.clone(), ..args.clone() };
    let file = session.open_passing(&args.file)?;
    file.resolve(&object.path).map_err(|error| Failure::within(&args.file, &file, &error))?;
    let mut options = Options::new(match &args.url {
        Some(url) => url.clone(),
        None => url(&file, &args.file)?,
    });
    options.inline = args.inline;
    options.codecs = args.codecs;
    options.within = (object.path != "/").then_some(object.path);
    let urls = [options.url.clone()];
    let report = session.watched("referencing", &[&file], || {
        write(&args.output, (&urls, icechunk::tag(&file).as_deref()), |sink| scan(&file, &options, sink))
    })?;
    tell(&report, &args.file, session)?;
    Ok(Answer::of(report.is_complete()))
}

/// Writes what `make` passes to a sink: a repository of Icechunk or a folder of Parquet files if the name of the output says so, and
/// otherwise JSON. If there is one remote file, its entity tag may be known.
pub(super) fn write(
    output: &Path,
    (urls, tag): (&[String], Option<&str>),
    make: impl FnOnce(&mut dyn Sink) -> sciformats::Result<Report>,
) -> Outcome<Report> {
    let failed = |error: sciformats::Error| match error {
        sciformats::Error::Usage { .. } => Failure::Usage(error.to_string()),
        error => Failure::unwritten(output, &error),
    };
    let mut groups = 0u64;
    let make =
        |sink: &mut dyn Sink| make(&mut Stopping { sink, asked: interrupt::asked(), groups: &mut groups });
    if let Some(folder) = icechunk::repository(output) {
        return icechunk::write(folder, urls, tag, make);
    }
    if output.extension().is_some_and(|end| end == "parquet" || end == "parq") {
        let mut report = folder(output, ".zmetadata", |new| {
            let mut writer = parquet::Writer::new(new, urls, parquet::RECORD_SIZE).map_err(failed)?;
            let report = make(&mut writer).map_err(failed)?;
            writer.finish().map_err(failed)?;
            Ok(report)
        })?;
        if groups > 1 {
            let protocol =
                urls.first().and_then(|url| url.split_once("://")).map_or("file", |(protocol, _)| protocol);
            let what = format!(
                "fsspec opens Parquet files of several groups with remote_protocol={protocol:?} only"
            );
            report.notes.push(("/".into(), what));
        }
        return Ok(report);
    }
    let target = Replacement::create(output).map_err(failed)?;
    let mut out = BufWriter::with_capacity(BUFFER, Output { target, at: 0 });
    let mut writer = kerchunk::Writer::new(&mut out, urls).map_err(failed)?;
    let report = make(&mut writer).map_err(failed)?;
    writer.finish().map_err(failed)?;
    let out =
        out.into_inner().map_err(|error| Failure::Unwritten(output.to_owned(), error.error().to_string()))?;
    out.target.finish(Durability::Process).map_err(failed)?;
    Ok(report)
}

/// Fills a new folder, which takes its name when it is complete. A folder of that name is only removed if it has a file with the name
/// `mark`, as what is written has.
pub(super) fn folder(
    output: &Path,
    mark: &str,
    fill: impl FnOnce(&Path) -> Outcome<Report>,
) -> Outcome<Report> {
    if output.exists() && !output.join(mark).is_file() {
        return Err(Failure::Unwritten(
            output.to_owned(),
            format!("it exists and was not written by this command (it has no {mark}); choose another name"),
        ));
    }
    let new = NewFolder::beside(output).map_err(|error| Failure::unwritten(output, &error))?;
    let report = fill(new.path())?;
    new.finish(output).map_err(|error| Failure::Unwritten(output.to_owned(), error.to_string()))?;
    Ok(report)
}

/// A sink that ends the scan after a Ctrl-C.
struct Stopping<'a> {
    sink: &'a mut dyn Sink,
    asked: Arc<AtomicBool>,
    /// How many groups have passed.
    groups: &'a mut u64,
}

impl Stopping<'_> {
    fn go_on(&self) -> sciformats::Result<()> {
        match self.asked.load(Ordering::Relaxed) {
            true => Err(sciformats::Error::io("write", io::ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }
}

impl Sink for Stopping<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> sciformats::Result<()> {
        self.go_on()?;
        *self.groups = self.groups.saturating_add(1); // a bound: it is only compared with 1
        self.sink.group(path, attributes)
    }

    fn array(&mut self, array: &VirtualArray) -> sciformats::Result<()> {
        self.go_on()?;
        self.sink.array(array)
    }
}

/// Returns the URL of a file: its absolute path, or that by which it was opened.
fn url(file: &File, path: &Path) -> Outcome<String> {
    if file.path().is_none() {
        return Ok(path.to_string_lossy().into_owned());
    }
    local(path)
}

/// Returns the URL of a local file.
pub(super) fn local(path: &Path) -> Outcome<String> {
    let whole = std::fs::canonicalize(path);
    let whole = whole.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    match whole.to_str() {
        Some(text) => Ok(format!("file://{text}")),
        None => Err(Failure::Usage("the path of the file is not UTF-8; choose a URL with --url".into())),
    }
}

/// Writes the report to stderr: one line for each array that is not referenced, and a summary; or one JSON value for each
/// object.
pub(super) fn tell(report: &Report, path: &Path, session: &Session) -> Outcome<()> {
    let mut out = io::stderr().lock();
    let (mut referenced, mut inlined, mut links, mut refused) = (0u64, 0u64, 0u64, 0u64);
    let mut scalars = 0u64;
    for entry in &report.entries {
        match &entry.treatment {
            Treatment::Referenced { .. } => referenced += 1,
            Treatment::Inlined { .. } => inlined += 1,
            Treatment::Link { .. } => links += 1,
            Treatment::Scalar { .. } => scalars += 1,
            Treatment::Refused { .. } => refused += 1,
        }
        if session.json {
            let mut object = JsonObject::new();
            object.value("path", entry.path.as_str()).value("treatment", entry.treatment.word());
            match &entry.treatment {
                Treatment::Referenced { chunks } => _ = object.value("chunks", *chunks),
                Treatment::Inlined { bytes, reason } => {
                    object.value("bytes", *bytes).value("reason", reason.as_str());
                }
                Treatment::Link { reason } | Treatment::Scalar { reason } | Treatment::Refused { reason } => {
                    object.value("reason", reason.as_str());
                }
            }
            writeln!(out, "{}", object.finish())?;
        } else if !session.quiet
            && !matches!(entry.treatment, Treatment::Referenced { .. } | Treatment::Scalar { .. })
        {
            let line = format!("{}: {}", entry.path, entry.treatment);
            writeln!(out, "{}", look::safe(&line))?;
        }
    }
    for (object, name, reason) in &report.attributes {
        if session.json {
            let mut line = JsonObject::new();
            line.value("path", object.as_str()).value("attribute", name.as_str());
            line.value("treatment", "refused").value("reason", reason.as_str());
            writeln!(out, "{}", line.finish())?;
        } else if !session.quiet {
            let line = format!("{object}: the attribute {name} is left out, because {reason}");
            writeln!(out, "{}", look::safe(&line))?;
        }
    }
    for (object, note) in &report.notes {
        if session.json {
            let mut line = JsonObject::new();
            line.value("path", object.as_str()).value("note", note.as_str());
            writeln!(out, "{}", line.finish())?;
        } else if !session.quiet {
            writeln!(out, "{}", look::safe(&format!("{object}: {note}")))?;
        }
    }
    if !session.quiet && !session.json {
        let file = path.display().to_string();
        let left = if scalars == 0 {
            String::new()
        } else {
            format!(", {} of the tree left out", look::count(scalars, "scalar"))
        };
        writeln!(
            out,
            "{}: {referenced} referenced, {inlined} inlined, {links} links not followed, {refused} refused{left}",
            look::safe(&file)
        )?;
    }
    Ok(())
}

/// A new file that is written from its beginning to its end.
struct Output {
    target: Replacement,
    at: u64,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.write_at(self.at, bytes).map_err(io::Error::other)?;
        self.at = self.at.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
