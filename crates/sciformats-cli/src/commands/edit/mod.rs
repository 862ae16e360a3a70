//! `edit`: the tree of an ASDF file in an editor; attributes, metalayers, objects and links of HDF5 and Blosc2 files by a
//! command.

pub(crate) mod args;
mod blosc2;
mod draft;
mod hdf5;
mod tree;
mod value;

use std::io::Write;
use std::path::Path;

use sciformats::Format;

use self::args::{Change, Edit};
use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE, WELL};
use crate::session::Session;

/// What a change does, for people and for programs.
struct Done {
    /// The object, or the link.
    path: String,
    /// For programs: further keys.
    facts: Vec<(&'static str, String)>,
    /// For people: what follows the path.
    text: String,
}

pub(super) fn run(args: &Edit, session: &Session) -> Outcome {
    let file = &args.file;
    if args.change.is_some() {
        // A commit has a moment to end.
        let _ = crate::interrupt::asked();
    }
    let format = Format::of_path(file).map_err(|error| Failure::of(file, &error))?;
    match (&args.change, format) {
        // What is none of the formats is told in the words of one.
        (None, Some(Format::Asdf) | None) => tree::run(args, session),
        (None, Some(format @ (Format::Hdf5 | Format::Blosc2))) => Err(Failure::Usage(format!(
            "{}: say what to change in the {format} file, such as `sciformats edit {} set / title 'a week in May'` (the \
             changes: {}; `sciformats edit --help` explains them)",
            file.display(),
            file.display(),
            if format == Format::Hdf5 {
                "set, unset, rename, move, delete, link"
            } else {
                "set, unset, rename"
            },
        ))),
        (Some(_), _) if args.drop_blocks => {
            Err(Failure::Usage("--drop-blocks is for the tree of an ASDF file".into()))
        }
        (Some(change), Some(Format::Hdf5)) => {
            told(change, &hdf5::change(args, change, session)?, args, session)
        }
        (Some(change), Some(Format::Blosc2)) => {
            told(change, &blosc2::change(args, change, session)?, args, session)
        }
        (Some(_), Some(Format::Asdf)) => Err(Failure::Refused(format!(
            "{}: the tree of an ASDF file is edited as text: `sciformats edit {}`",
            file.display(),
            file.display(),
        ))),
        (_, Some(format)) => Err(Failure::Refused(format!(
            "{}: {format} files are not edited, only HDF5, ASDF and Blosc2 (`sciformats convert` makes one of those of it)",
            file.display()
        ))),
        (Some(_), None) => session.open(file).map(|_| Answer::Yes),
    }
}

fn told(change: &Change, done: &Done, args: &Edit, session: &Session) -> Outcome {
    let file = args.file.display().to_string();
    let mut out = session.text();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", file.as_str()).value("change", change.word()).value("path", done.path.as_str());
        for (key, json) in &done.facts {
            line.raw(key, json);
        }
        line.value("written", !args.dry_run);
        writeln!(out, "{}", line.finish())?;
    } else if !session.quiet {
        let (file, path, text) = (look::safe(&file), look::safe(&done.path), look::safe(&done.text));
        let end = match args.dry_run {
            true => format!("{FAINT}not written, as asked{FAINT:#}"),
            false => format!("{WELL}written{WELL:#}"),
        };
        writeln!(out, "{TITLE}{file}{TITLE:#} {path} {text}  {end}")?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

/// A failure to change the file.
fn failed(path: &Path, error: &sciformats::Error) -> Failure {
    match error {
        sciformats::Error::Io { .. } | sciformats::Error::Conflict { .. } => Failure::unwritten(path, error),
        // What is wrong is what the file holds, not how the command is spelled.
        sciformats::Error::Usage { .. } => Failure::Input(format!("{}: {error}", path.display())),
        _ => Failure::of(path, error),
    }
}

/// Text as JSON.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
