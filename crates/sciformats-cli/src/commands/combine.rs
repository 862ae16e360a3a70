//! `combine`: writes references to many files as if they were one.

use std::path::PathBuf;

use clap::Args;
use sciformats::File;
use sciformats_references::{Options, Part, combine};

use super::references::{tell, url, write};
use crate::args::parse_size;
use crate::failure::{Answer, Outcome, free};
use crate::session::Session;

/// The arguments of `combine`.
#[derive(Debug, Args)]
pub(crate) struct Combine {
    /// The files in the order in which they are joined, or their URLs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The dimension along which they are joined
    #[arg(long, value_name = "DIMENSION", default_value = "time")]
    along: String,
    /// The references to write: JSON, or a folder of Parquet files if it ends in .parquet
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// The largest array that becomes part of the references if its chunks cannot be referenced
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4MiB")]
    inline: u64,
    /// Overwrite an existing file
    #[arg(long, short)]
    force: bool,
}

pub(super) fn run(args: &Combine, session: &Session) -> Outcome {
    free(&args.output, args.force)?;
    let mut files: Vec<File> = Vec::new();
    let (mut names, mut urls) = (Vec::new(), Vec::new());
    for path in &args.files {
        let file = session.open_whole(path)?;
        urls.push(url(&file, path)?);
        names.push(path.display().to_string());
        files.push(file);
    }
    let parts: Vec<Part<'_>> = files.iter().zip(&names).map(|(file, name)| Part { file, name }).collect();
    let mut options = Options::new("");
    options.inline = args.inline;
    let watched: Vec<&File> = files.iter().collect();
    let report = session.watched("combining", &watched, || {
        write(&args.output, &urls, |sink| combine(&parts, &args.along, &options, sink))
    })?;
    tell(&report, &args.output, session)?;
    Ok(Answer::of(report.is_complete()))
}
