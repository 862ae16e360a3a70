//! The commands, with one module per command: what each computes, and how it prints the result.

mod attrs;
mod cat;
pub(crate) mod combine;
pub(crate) mod convert;
mod diff;
pub(crate) mod edit;
mod explode;
mod find;
mod index;
mod info;
mod inspect;
mod json;
mod ls;
mod manifest;
pub(crate) mod plot;
pub(crate) mod references;
mod salvage;
mod shell;
mod stats;
mod verify;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats::{File, Format};

use crate::args::Command;
use crate::failure::{Answer, Failure, Outcome, complain, explain};
use crate::session::Session;

/// Carries out a command.
pub(crate) fn run(command: &Command, session: &Session) -> Outcome {
    match command {
        Command::Info(args) => info::run(args, session),
        Command::Ls(args) => ls::run(args, session),
        Command::Cat(args) => cat::run(args, session),
        Command::Stats(args) => stats::run(args, session),
        Command::Find(args) => find::run(args, session),
        Command::Attrs(args) => attrs::run(args, session),
        Command::Manifest(args) => manifest::run(args, session),
        Command::Diff(args) => diff::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Salvage(args) => salvage::run(args, session),
        Command::Index(args) => index::run(args, session),
        Command::References(args) => references::run(args, session),
        Command::Combine(args) => combine::run(args, session),
        Command::Inspect(args) => inspect::run(args, session),
        Command::Explode(args) => explode::explode(args, session),
        Command::Implode(args) => explode::implode(args, session),
        Command::Edit(args) => edit::run(args, session),
        Command::Plot(args) => plot::run(args, session),
        Command::View(args) => view::run(args, session),
        Command::Convert(args) => convert::run(args, session),
        Command::Repack(args) => convert::repack(args, session),
        Command::Completions { shell } => shell::completions(*shell, session),
        Command::Man { dir } => shell::man(dir),
    }
}

/// The deepest nesting of folders that is searched; links may form a circle.
const FOLDERS: usize = 32;

/// Returns the files that the arguments mean. A folder that is not itself a file stands for the scientific
/// files in it and in its subfolders, including files that only have the name of one. A folder that cannot be
/// listed is kept as a file that cannot be read.
fn expanded(paths: &[PathBuf]) -> Vec<PathBuf> {
    fn folder(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let Ok(mut entries) = entries else { return found.push(path.into()) };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for path in entries.iter().map(std::fs::DirEntry::path) {
            match Format::of_path(&path) {
                Ok(Some(_)) => found.push(path),
                _ if path.is_dir() && depth < FOLDERS => folder(&path, depth + 1, found),
                _ if path.is_file() && Format::expected_of(&path).is_some() => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() && !matches!(Format::of_path(path), Ok(Some(_))) {
            folder(path, 0, &mut found);
        } else {
            found.push(path.clone());
        }
    }
    found
}

/// Calls `one` for each file that can be opened, and reports the others. The answer is no if any answer is
/// no.
fn for_each_file(
    files: &[PathBuf],
    session: &Session,
    mut one: impl FnMut(&Path, &Arc<File>) -> Outcome,
) -> Outcome {
    let mut answer = Answer::Yes;
    let mut unreadable = false;
    for path in files {
        match session.try_open(path) {
            Ok(file) => match one(path, &Arc::new(file)) {
                Ok(Answer::Yes) => {}
                Ok(Answer::No) => answer = Answer::No,
                Err(failure @ (Failure::Input(_) | Failure::Usage(_))) => {
                    complain(&failure.to_string());
                    unreadable = true;
                }
                Err(failure) => return Err(failure),
            },
            Err(error) => {
                complain(&explain(path, &error));
                unreadable = true;
            }
        }
    }
    if unreadable { Err(Failure::Reported) } else { Ok(answer) }
}
