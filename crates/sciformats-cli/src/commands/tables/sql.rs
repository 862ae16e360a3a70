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
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The query, in which tables are named "<FILE:/PATH>"
    #[arg(value_name = "QUERY")]
    query: String,
    /// The output format [default: chosen by the ending of OUT, otherwise table, or json with --json]
    #[arg(long, short = 'F', value_enum)]
    format: Option<TableFormat>,
    /// Write the result to this file
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
            [] => Err(Error::not_found("file of the table", name)),
            [file] if !named.is_pattern => {
                open_file(file, path, &self.open).map_err(|error| of_file(error.within(None, path), file))
            }
            _ => Ok(Arc::new(Files::new(named.files, path, self.file_column, &self.open)?)),
        }
    }
}

pub(in crate::commands) fn run(args: &Sql, session: &Session) -> Outcome {
    let by_name = args.output.as_deref().and_then(TableFormat::of);
    let default = if session.json { TableFormat::Json } else { TableFormat::Table };
    let format = args.format.or(by_name).unwrap_or(default);
    if let Some(output) = &args.output {
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
    let Some(output) = &args.output else {
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

fn failure(error: &Error) -> Failure {
    let text = format!("{error:#}");
    match error {
        Error::Usage { .. } => Failure::Usage(text),
        Error::Unsupported { .. } => Failure::Refused(text),
        _ => Failure::Input(text),
    }
}
