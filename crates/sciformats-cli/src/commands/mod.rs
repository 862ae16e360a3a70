//! The commands, with one module per command: what each computes, and how it prints the result.

pub(crate) mod advise;
mod attrs;
mod cat;
pub(crate) mod combine;
pub(crate) mod convert;
mod diff;
pub(crate) mod edit;
pub(crate) mod ends;
mod explode;
pub(crate) mod find;
mod icechunk;
mod index;
mod info;
mod inspect;
mod json;
mod ls;
mod manifest;
pub(crate) mod plot;
pub(crate) mod references;
mod salvage;
pub(crate) mod serve;
mod shell;
mod stats;
#[cfg(feature = "tables")]
pub(crate) mod tables;
mod verify;
mod view;
pub(crate) mod watch;
mod zarr;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats::{File, Format};

use crate::args::{Command, Object};
use crate::failure::{Answer, Failure, Outcome, complain, explain};
use crate::look::{self, TITLE};
use crate::session::Session;

/// Carries out a command.
pub(crate) fn run(command: &Command, session: &Session) -> Outcome {
    match command {
        Command::Ls(args) => in_order(&args.path, &args.more, session)?,
        Command::Cat(args) => in_order(&args.object.path, &args.more, session)?,
        Command::Stats(args) => in_order(&args.object.path, &args.more, session)?,
        _ => {}
    }
    match command {
        Command::Info(args) => info::run(args, session),
        Command::Ls(args) => ls::run(args, session),
        Command::Cat(args) => cat::run(args, session),
        Command::Head(args) => ends::head(args, session),
        Command::Tail(args) => ends::tail(args, session),
        Command::Stats(args) => stats::run(args, session),
        Command::Find(args) => find::run(args, session),
        Command::Attrs(args) => attrs::run(args, session),
        Command::Manifest(args) => manifest::run(args, session),
        Command::Diff(args) => diff::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Salvage(args) => salvage::run(args, session),
        Command::Index(args) => index::run(args, session),
        Command::Advise(args) => advise::run(args, session),
        Command::References(args) => references::run(args, session),
        Command::Combine(args) => combine::run(args, session),
        Command::Inspect(args) => inspect::run(args, session),
        Command::Explode(args) => explode::explode(args, session),
        Command::Implode(args) => explode::implode(args, session),
        Command::Edit(args) => edit::run(args, session),
        Command::Plot(args) => plot::run(args, session),
        Command::View(args) if args.web => serve::view(&args.file, session),
        Command::View(args) => view::run(args, session),
        #[cfg(feature = "tables")]
        Command::Sql(args) => tables::sql::run(args, session),
        Command::Watch(args) => watch::run(args, session),
        Command::Serve(args) => serve::run(args, session),
        Command::Convert(args) => convert::run(args, session),
        Command::Repack(args) => convert::repack(args, session),
        Command::Completions { shell } => shell::completions(*shell, session),
        Command::Paths { words } => shell::paths(words, session),
        Command::Man { dir } => shell::man(dir),
    }
}

/// Returns the objects that the words of a command mean: files, of which the second may be the path in the first,
/// and the last one the path in all of them.
fn objects(object: &Object, more: &[PathBuf], session: &Session) -> Vec<Object> {
    let is_file = |word: &Path| word == Path::new("-") || session.far().is_far(word) || word.exists();
    let second = PathBuf::from(&object.path);
    let mut files = vec![object.file.clone()];
    let mut path = "/".to_owned();
    match more.split_last() {
        None if object.path == "/"
            || !(is_file(&second) || within(&second, session).is_some())
            || holds(object, session) =>
        {
            path.clone_from(&object.path);
        }
        None => files.push(second),
        Some((last, between)) => {
            files.push(second);
            files.extend_from_slice(between);
            match last.to_str().filter(|_| !is_file(last) && within(last, session).is_none()) {
                Some(inside) => path = inside.to_owned(),
                None => files.push(last.clone()),
            }
        }
    }
    let object = |file: PathBuf| match within(&file, session) {
        // A path of its own counts, and not the one of all files.
        Some(object) if !is_file(&file) => object,
        _ => Object { file, path: path.clone() },
    };
    files.into_iter().map(object).collect()
}

/// Fails if the path of an object stands between files, because it could be meant for one of them or for all.
fn in_order(path: &str, more: &[PathBuf], session: &Session) -> Outcome<()> {
    let word = Path::new(path);
    if more.is_empty() || !path.starts_with('/') || session.far().is_far(word) || word.exists() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{path} is no file; the path of an object in all files comes last, and that in one file is written FILE:{path}"
    )))
}

/// Returns the object that `FILE:/PATH` names, if there is such a file.
fn within(word: &Path, session: &Session) -> Option<Object> {
    let is_file = |word: &OsStr| {
        let path = Path::new(word);
        word == "-" || session.far().is_far(path) || path.exists()
    };
    let [file, path] = crate::words::separated(word.as_os_str(), &is_file)?;
    Some(Object { file: file.into(), path: path.into_string().ok()? })
}

/// Returns the object that a word means: that of `FILE:/PATH`, or the root of a file.
fn named(word: &Path, session: &Session) -> Object {
    let is_file = word == Path::new("-") || session.far().is_far(word) || word.exists();
    let found = if is_file { None } else { within(word, session) };
    found.unwrap_or_else(|| Object { file: word.into(), path: "/".into() })
}

/// As [`named`], for several words, of which folders stand for the files in them.
fn all_named(words: &[PathBuf], session: &Session) -> Vec<Object> {
    let all = words.iter().flat_map(|word| match named(word, session) {
        object if object.path != "/" => vec![object],
        object => {
            let files = expanded(&[object.file]).into_iter();
            files.map(|file| Object { file, path: "/".into() }).collect()
        }
    });
    all.collect()
}

/// Returns whether the file contains an object at the path. What stdin contains can only be read once.
fn holds(object: &Object, session: &Session) -> bool {
    object.file == Path::new("-")
        || session.try_open(&object.file).is_ok_and(|file| file.resolve(&object.path).is_ok())
}

/// Calls `one` for each object, and reports those that cannot be read. With `titles`, the name of its file stands
/// before each of several. The answer is no if any answer is no.
fn for_each_object(
    objects: &[Object],
    (titles, session): (bool, &Session),
    mut one: impl FnMut(&Object) -> Outcome,
) -> Outcome {
    if let [object] = objects {
        return one(object);
    }
    let (mut answer, mut reported) = (Answer::Yes, false);
    for (at, object) in objects.iter().enumerate() {
        if titles {
            let mut out = session.text();
            let space = if at > 0 { "\n" } else { "" };
            writeln!(out, "{space}{TITLE}{}{TITLE:#}", look::safe(&object.file.display().to_string()))?;
            out.flush()?;
        }
        match one(object) {
            Ok(Answer::Yes) => {}
            Ok(Answer::No) => answer = Answer::No,
            Err(failure @ (Failure::Input(_) | Failure::Usage(_) | Failure::Refused(_))) => {
                complain(&failure.to_string());
                reported = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    if reported { Err(Failure::Reported) } else { Ok(answer) }
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
    let whole = |file: &PathBuf| Object { file: file.clone(), path: "/".into() };
    let objects: Vec<Object> = files.iter().map(whole).collect();
    for_each_opened(&objects, |path| session.try_open(path), |object, file| one(&object.file, file))
}

/// As [`for_each_file`], for objects in files.
fn for_each_opened(
    objects: &[Object],
    open: impl Fn(&Path) -> sciformats::Result<File>,
    mut one: impl FnMut(&Object, &Arc<File>) -> Outcome,
) -> Outcome {
    let mut answer = Answer::Yes;
    let mut unreadable = false;
    for object in objects {
        let path = &object.file;
        match open(path) {
            Ok(file) => match one(object, &Arc::new(file)) {
                Ok(Answer::Yes) => {}
                Ok(Answer::No) => answer = Answer::No,
                Err(failure @ (Failure::Input(_) | Failure::Usage(_) | Failure::Refused(_))) => {
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
