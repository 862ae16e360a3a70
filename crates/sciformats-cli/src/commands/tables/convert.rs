//! `convert` with a table of another program on one side: Parquet, Arrow or CSV.

use std::io::Write;
use std::path::{Path, PathBuf};

use sciformats::Format;
use sciformats_arrow::write::{Form, WriteOptions, rehearse_hdf5, write_hdf5};
use sciformats_arrow::{Options, Scan, open_file};

use super::find::find;
use super::write::{self, TableFormat};
use crate::commands::convert::args::{Convert, Target};
use crate::commands::convert::export;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::Passing;
use crate::look::{self, FAINT, TITLE, WELL};
use crate::output::{is_stdout, through_file};
use crate::session::Session;

/// Converts if one side is a table of another program, or if the input names a table in a file and the output is one of
/// other programs; otherwise the other conversions are meant.
pub(in crate::commands) fn run(args: &Convert, session: &Session) -> Outcome<Option<Answer>> {
    let (input, output) = (&args.files.input, &args.files.output);
    let text = input.to_str().unwrap_or_default();
    let named = if input.exists() { None } else { Some(find(text)).filter(|named| named.files.len() == 1) };
    let (file, path) = match &named {
        Some(named) => (named.files.first().cloned().unwrap_or_default(), named.path.clone()),
        None => (input.clone(), None),
    };
    let foreign = path.is_none() && is_foreign(&file);
    let target = match args.to {
        Some(Target::Table(format)) => Some(format),
        Some(Target::Export(export::Target::Csv)) => Some(TableFormat::Csv),
        Some(Target::Export(export::Target::Json)) if foreign => Some(TableFormat::Json),
        Some(Target::Format(Format::Hdf5)) if foreign => None,
        Some(_) if foreign => None,
        Some(_) => return Ok(None),
        None => TableFormat::of(output),
    };
    let only_tables = matches!(target, Some(TableFormat::Parquet | TableFormat::Arrow));
    let of_table = foreign || path.is_some();
    match target {
        Some(TableFormat::Json | TableFormat::Table) | None if !foreign => return Ok(None),
        Some(TableFormat::Csv) if !of_table => return Ok(None),
        _ if !of_table && !only_tables => return Ok(None),
        _ => {}
    }
    if target.is_some() {
        formless(args)?;
    }
    if args.lossy || args.check || args.storage.chunks.is_some() || args.storage.bound.is_some() {
        return Err(Failure::Usage(
            "--lossy, --check, --chunks and --bound have no meaning for a table".into(),
        ));
    }
    if target.is_some() {
        args.storage.unasked(false, "a table of another program")?;
    }
    let path = match (path, args.select.as_slice()) {
        (path, []) => path,
        (None, [path]) => Some(path.clone()),
        _ => return Err(Failure::Usage("a table is one object, so there is one --select".into())),
    };
    if is_stdout(output) && !args.dry_run {
        return match target {
            Some(format) => {
                let session = &session.aside();
                let table = open_file(&file, path.as_deref(), &super::opener(session));
                let table = table.map_err(|error| Failure::of(input, &error))?;
                let options = Options::default().with_threads(session.options().threads);
                let reader = table.scan(&options).map_err(|error| Failure::of(input, &error))?;
                write::to_stdout(reader, format, session).map(|()| Some(Answer::Yes))
            }
            None if args.to != Some(Target::Format(Format::Hdf5)) => Err(Failure::Usage(
                "stdout: tables of other programs become HDF5, Parquet, Arrow, CSV or JSON; choose one with --to"
                    .into(),
            )),
            None => through_file("", session, |place, session| {
                let mut inner = args.clone();
                inner.files = args.files.to(place);
                let found = run(&inner, session)?;
                Ok(found.unwrap_or(Answer::Yes))
            })
            .map(Some),
        };
    }
    let table = open_file(&file, path.as_deref(), &super::opener(session));
    let table = table.map_err(|error| Failure::of(input, &error))?;
    match target {
        Some(_) if args.dry_run => told(&table, (input, output), None, session).map(Some),
        Some(format) => {
            free(output, args.files.force)?;
            let options = Options::default().with_threads(session.options().threads);
            let reader = table.scan(&options).map_err(|error| Failure::of(input, &error))?;
            let write = || write::to_file(reader, format, (output, Some(input)), session);
            let written = session.watched("converting", &[], write)?;
            told(&table, (input, output), Some(written), session).map(Some)
        }
        None => to_hdf5(args, &table, session).map(Some),
    }
}

/// Fails if `--form` is given where it has no effect.
pub(in crate::commands) fn formless(args: &Convert) -> Outcome<()> {
    match args.form {
        None => Ok(()),
        Some(_) => Err(Failure::Usage(
            "--form tells how a table of another program (Parquet, Arrow, CSV) is stored in HDF5, and has no effect on anything else"
                .into(),
        )),
    }
}

/// Returns whether a file has a table of another program.
fn is_foreign(file: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 6];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut magic)).unwrap_or_default();
    let magic = magic.get(..read).unwrap_or_default();
    let text = file
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    magic.starts_with(b"PAR1") || magic.starts_with(b"ARROW1") || text
}

/// Writes a table into an HDF5 file.
fn to_hdf5(args: &Convert, table: &std::sync::Arc<dyn Scan>, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    let text = output.to_str().unwrap_or_default();
    let (file, place) = match text.rsplit_once(":/") {
        Some((file, place)) if !file.is_empty() => (PathBuf::from(file), Some(format!("/{place}"))),
        _ => (output.clone(), None),
    };
    let hdf5 = match args.to {
        Some(to) => to == Target::Format(Format::Hdf5),
        None => {
            Format::expected_of(&file) == Some(Format::Hdf5)
                || file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("h5ad"))
        }
    };
    if !hdf5 {
        let output = output.display();
        return Err(Failure::Refused(format!(
            "{output}: tables of other programs become HDF5, Parquet, Arrow, CSV or JSON"
        )));
    }
    if !args.dry_run {
        free(&file, args.files.force)?;
    }
    let is_frame = file.extension().is_some_and(|ending| ending == "h5ad");
    let form = args.form.map_or(if is_frame { Form::AnnData } else { Form::Records }, Into::into);
    let level = match (args.storage.filter.as_deref(), args.storage.level) {
        (None | Some("none"), None) => 0,
        (Some("none"), Some(_)) => {
            return Err(Failure::Usage(
                "--level is given without a filter that it applies to, such as zlib".to_owned(),
            ));
        }
        (None | Some("zlib"), level) => level.unwrap_or(4),
        (Some(filter), _) => {
            return Err(Failure::Usage(format!(
                "--filter {filter} has no meaning for a table, but zlib and none have"
            )));
        }
    };
    let mut options =
        WriteOptions::default().with_form(form).with_level(level).with_overwrite(args.files.force);
    options.threads = session.options().threads;
    options.path = place;
    if args.dry_run {
        let aside = Passing::new()?;
        let checked = rehearse_hdf5(table.as_ref(), &aside.path().join("table.h5"), &options);
        checked.map_err(|error| write::failed(&error, Some(input), &file))?;
        return told(table, (input, output), None, session);
    }
    let written = session.watched("converting", &[], || write_hdf5(table.as_ref(), &file, &options));
    let rows = written.map_err(|error| write::failed(&error, Some(input), &file))?;
    let size = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
    told(table, (input, output), Some((rows, size)), session)
}

/// Reports what was written; `None` if nothing was.
fn told(
    table: &std::sync::Arc<dyn Scan>,
    (input, output): (&Path, &Path),
    written: Option<(u64, u64)>,
    session: &Session,
) -> Outcome {
    let mut out = session.text();
    let (from, path) = (input.display().to_string(), output.display().to_string());
    let columns = table.schema().fields().len() as u64;
    if session.json {
        let mut line = crate::commands::json::JsonObject::new();
        line.value("output", path.as_str()).value("columns", columns);
        if let Some((rows, size)) = written {
            line.value("rows", rows).value("bytes", size);
        }
        line.value("written", written.is_some());
        writeln!(out, "{}", line.finish())?;
    } else if !session.quiet {
        let (from, path, columns) = (look::safe(&from), look::safe(&path), look::count(columns, "column"));
        match written {
            Some((rows, size)) => {
                let (rows, size) = (look::count(rows, "row"), look::size(size));
                let what = format!("{rows} of {columns} of {from}, {size}");
                writeln!(out, "{TITLE}{path}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{what}{FAINT:#}")?;
            }
            None => writeln!(
                out,
                "{TITLE}{path}{TITLE:#}: not written, because of --dry-run  {FAINT}{columns}{FAINT:#}"
            )?,
        }
    }
    out.flush()?;
    Ok(Answer::Yes)
}
