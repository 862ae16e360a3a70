//! `edit`: changes attributes, metalayers, objects and links of HDF5 and Blosc2 files by commands, and the
//! tree of an ASDF file in an editor.

pub(crate) mod args;
mod blosc2;
mod draft;
mod hdf5;
mod integers;
mod tree;
mod value;

use std::io::Write;
use std::path::Path;

use sciformats::Format;

use self::args::{Change, Edit};
use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE, WELL};
use crate::output::named;
use crate::session::Session;

/// The result of a change, for people and for programs.
struct Done {
    /// The path of the object or link.
    path: String,
    /// Further keys of the JSON output.
    facts: Vec<(&'static str, String)>,
    /// The text that follows the path.
    text: String,
}

pub(super) fn run(args: &Edit, session: &Session) -> Outcome {
    let file = &args.file;
    named(file, "edit")?;
    if args.change.is_some() {
        // After Ctrl-C, a commit has a moment to finish.
        let _ = crate::interrupt::asked();
    }
    let format = Format::of_path(file).map_err(|error| Failure::of(file, &error))?;
    match (&args.change, format) {
        // A file that has none of the formats gets the message that the other commands give.
        (None, Some(Format::Asdf) | None) => tree::run(args, session),
        (None, Some(format @ (Format::Hdf5 | Format::Blosc2))) => Err(Failure::Usage(format!(
            "{}: no change was given for this {format} file, such as `sciformats edit {} set / title 'a week in May'` (\
             the changes are {}; see `sciformats edit --help`)",
            file.display(),
            file.display(),
            if format == Format::Hdf5 {
                "set, unset, rename, move, delete, link"
            } else {
                "set, unset, rename"
            },
        ))),
        (Some(_), _) if args.drop_blocks => {
            Err(Failure::Usage("--drop-blocks applies only to the tree of an ASDF file".into()))
        }
        (Some(change), Some(Format::Hdf5)) => {
            told(change, &hdf5::change(args, change, session)?, args, session)
        }
        (Some(change), Some(Format::Blosc2)) => {
            told(change, &blosc2::change(args, change, session)?, args, session)
        }
        (Some(_), Some(Format::Asdf)) => Err(Failure::Refused(format!(
            "{}: the tree of an ASDF file is edited as text; run `sciformats edit {}`",
            file.display(),
            file.display(),
        ))),
        (_, Some(format)) => Err(Failure::Refused(format!(
            "{}: {format} files cannot be edited, only HDF5, ASDF and Blosc2 files (`sciformats convert` converts it to one of these)",
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
            true => format!("{FAINT}not written, because of --dry-run{FAINT:#}"),
            false => format!("{WELL}written{WELL:#}"),
        };
        writeln!(out, "{TITLE}{file}{TITLE:#} {path} {text}  {end}")?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

/// Returns the failure for an error while changing the file.
fn failed(path: &Path, error: &sciformats::Error) -> Failure {
    match error {
        sciformats::Error::Io { .. } | sciformats::Error::Conflict { .. } => Failure::unwritten(path, error),
        // The contents of the file are the cause, not the command line.
        sciformats::Error::Usage { .. } => Failure::Refused(format!("{}: {error}", path.display())),
        _ => Failure::of(path, error),
    }
}

/// Text as JSON.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
