//! `sql`: queries over tables in files.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use sciformats::{Error, Result};
use sciformats_arrow::sql::{SqlOptions, Tables, query};
use sciformats_arrow::{Files, Open, Scan, of_file, open_file};

use super::find::find;
use super::write::{self, TableFormat};
use crate::failure::{Answer, Failure, Outcome, free};
use crate::look::{self, FAINT, TITLE, WELL};
use crate::output::is_stdout;
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The query, in which tables are named "<FILE:/PATH>"
    #[arg(value_name = "QUERY")]
    query: String,
    /// The output format [default: chosen by the ending of OUT, otherwise table, or json with --json]
    #[arg(long, short = 'F', value_enum)]
    format: Option<TableFormat>,
    /// Write the result to this file; `-` is stdout
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, short)]
    force: bool,
    /// The column with the names of the files, if a table is a pattern
    #[arg(long, value_name = "NAME", default_value = "file")]
    file_column: String,
    /// A column in ascending order, in which conditions are searched; rows are left out if it is in another order
    #[arg(long, value_name = "COLUMN")]
    sorted: Option<String>,
    /// Compare every row instead of using the indexes that tables may have
    #[arg(long)]
    no_index: bool,
}

/// What is not found if a name means no file.
const FILE: &str = "file of the table";

/// The tables that queries can name.
struct InFiles<'a> {
    open: Open,
    file_column: &'a str,
}

impl Tables for InFiles<'_> {
    fn table(&self, name: &str) -> Result<Arc<dyn Scan>> {
        let named = find(name);
        let path = named.path.as_deref();
        match named.files.as_slice() {
            [] => Err(missing(name)),
            [file] if !named.is_pattern => open_file(file, path, &self.open).map_err(|error| match error {
                Error::NotFound { what: "object", name, .. } => {
                    let near = (self.open)(file).ok().and_then(|data| data.file().nearest(&name));
                    let within = |path: &str| format!("{}:{path}", file.display());
                    Error::not_found("object", within(&name)).with_nearest(near.map(|near| within(&near)))
                }
                error => of_file(error.within(None, path), file),
            }),
            _ => Ok(Arc::new(Files::new(named.files, path, self.file_column, &self.open)?)),
        }
    }
}

pub(in crate::commands) fn run(args: &Sql, session: &Session) -> Outcome {
    let output = args.output.as_deref().filter(|output| !is_stdout(output));
    let by_name = output.and_then(TableFormat::of);
    let default = if session.json { TableFormat::Json } else { TableFormat::Table };
    let format = args.format.or(by_name).unwrap_or(default);
    if let Some(output) = output {
        free(output, args.force)?;
    }
    let tables = InFiles { open: super::opener(session), file_column: &args.file_column };
    let mut options = SqlOptions::default();
    options = options.with_limits(session.options().limits).with_threads(session.options().threads);
    options = options.with_indexes(!args.no_index);
    if let Some(sorted) = &args.sorted {
        options = options.with_sorted(sorted.as_str());
    }
    let found = query(&args.query, &tables, &options).map_err(|error| failure(&error))?;
    let Some(output) = output else {
        write::to_stdout(found, format, session)?;
        return Ok(Answer::Yes);
    };
    let written = session.watched("querying", &[], || write::to_file(found, format, (output, None), session));
    let (rows, size) = written?;
    if !session.quiet && !session.json {
        use std::io::Write;
        let mut out = session.text();
        let path = output.display().to_string();
        let (path, rows) = (look::safe(&path), look::count(rows, "row"));
        let size = look::size(size);
        writeln!(out, "{TITLE}{path}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{rows}, {size}{FAINT:#}")?;
        out.flush()?;
    }
    Ok(Answer::Yes)
}

/// Returns the error for a name that means no file. It names a similar one, and says how tables are named.
fn missing(name: &str) -> Error {
    let file = name.rsplit_once(":/").map_or(name, |(file, _)| file);
    let (folder, wanted) = match file.rsplit_once('/') {
        Some((folder, wanted)) => (format!("{folder}/"), wanted),
        None => (String::new(), file),
    };
    let read = std::fs::read_dir(if folder.is_empty() { "." } else { &folder });
    let entries = read.into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let stem = |name: &&String| name.rsplit_once('.').is_some_and(|(stem, _)| stem == wanted);
    let near = sciformats_core::spelling::nearest(wanted, names.iter().map(String::as_str));
    let near = near.into_iter().map(str::to_owned).chain(names.iter().filter(stem).cloned());
    let near: Vec<String> = near.map(|near| format!("{folder}{near}")).collect();
    Error::not_found(FILE, name).with_nearest(near)
}

fn failure(error: &Error) -> Failure {
    let mut text = format!("{error:#}");
    if matches!(error, Error::NotFound { what: FILE, .. }) {
        text.push_str("; a table is named in double quotes, as \"FILE:/PATH\"");
    }
    match error {
        Error::Usage { .. } => Failure::Usage(text),
        Error::Unsupported { .. } => Failure::Refused(text),
        _ => Failure::Input(text),
    }
}
