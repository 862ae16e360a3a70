//! Changes of HDF5 files.

use sciformats::Error;
use sciformats::hdf5_pure::{EditOptions, Editor, Node, OpenOptions};

use super::args::{Change, Edit};
use super::draft::Draft;
use super::value::{Existing, Typed};
use super::{Done, failed, json_text};
use crate::failure::{Failure, Outcome};
use crate::session::Session;

/// Makes a change, and commits it unless the run is a dry run.
pub(super) fn change(args: &Edit, change: &Change, session: &Session) -> Outcome<Done> {
    let reading = OpenOptions::default()
        .with_limits(session.options().limits)
        .with_threads(session.options().threads)
        .with_external(session.options().external.clone())
        .with_registry(sciformats::filters::hdf5());
    let fail = |stop: Stop| match stop {
        Stop::Error(error) => named((args, change), &error, session),
        Stop::Refused(problem) => Failure::Usage(format!("{}: {problem}", args.file.display())),
    };
    let options = EditOptions::default().with_reading(reading);
    let opened = match args.dry_run {
        // An editor may write to unused space before it commits.
        true => Draft::of(&args.file).and_then(|draft| Editor::in_storage(Box::new(draft), &options)),
        false => Editor::open_with(&args.file, &options),
    };
    let mut editor = opened.map_err(|error| fail(error.into()))?;
    let done = apply(&mut editor, change).map_err(fail)?;
    // A dry run commits into a draft in memory, because some faults are only found by the commit.
    editor.close().map_err(|error| fail(error.into()))?;
    Ok(done)
}

/// The reason why a change is not made.
enum Stop {
    /// The file does not permit the change.
    Error(Error),
    /// The change is probably not what the user meant.
    Refused(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn apply(editor: &mut Editor, change: &Change) -> Result<Done, Stop> {
    let away = match change {
        Change::Move { path, .. } => Some((path, "moved")),
        Change::Delete { path, .. } => Some((path, "deleted")),
        _ => None,
    };
    if let Some((path, done)) = away
        && path.trim_matches('/').is_empty()
    {
        return Err(Stop::Refused(format!(
            "{path} is the root of the file, which cannot be {done}; its members can"
        )));
    }
    let done = |path: &str, facts, text| Ok(Done { path: path.to_owned(), facts, text });
    match change {
        Change::Set { path, name, value, kind } => {
            let existing = existing(editor, path, name)?;
            let typed = Typed::parse(value, *kind, existing.as_ref())
                .map_err(|problem| Stop::Refused(format!("{path}@{name}: {problem}")))?;
            let (word, shown) = (typed.word(), typed.shown());
            editor.object(path)?.attribute(name, typed)?;
            let text = format!("{name} = {shown} ({word})");
            done(path, vec![("name", json_text(name)), ("type", json_text(&word)), ("value", shown)], text)
        }
        Change::Unset { path, name } => {
            editor.object(path)?.remove_attribute(name)?;
            done(path, vec![("name", json_text(name))], format!("{name} is removed"))
        }
        Change::Rename { path, name, to } => {
            editor.object(path)?.rename_attribute(name, to)?;
            done(path, vec![("name", json_text(name)), ("to", json_text(to))], format!("{name} is now {to}"))
        }
        Change::Move { path, to } => {
            editor.move_link(path, to)?;
            done(path, vec![("to", json_text(to))], format!("is now {to}"))
        }
        Change::Delete { path, recursive } => {
            let count = if *recursive { None } else { members(editor, path)? };
            if let Some(count) = count {
                let members = crate::look::count(count, "member");
                let problem = format!("{path} is a group with {members}; --recursive deletes them too");
                return Err(Stop::Refused(problem));
            }
            editor.unlink(path)?;
            done(path, Vec::new(), "is deleted".into())
        }
        Change::Link { path, target, soft, other } => {
            let (kind, text) = link(editor, path, (target, *soft, other.as_deref()))?;
            let mut facts = vec![("kind", json_text(kind)), ("target", json_text(target))];
            facts.extend(other.as_deref().map(|file| ("in", json_text(file))));
            done(path, facts, text)
        }
    }
}

/// Turns an error into a failure, which names the object and what to do. If a path does not exist, the failure names a similar one.
fn named((args, change): (&Edit, &Change), error: &Error, session: &Session) -> Failure {
    let file = args.file.display();
    match error {
        Error::NotFound { what: "object" | "link", name, .. } => {
            // The error may name only the group that is missing on the way.
            let path = change.path();
            let name = if path.starts_with(&**name) { path } else { name };
            let error = Error::not_found("object", name);
            match session.try_open(&args.file) {
                Ok(file) => Failure::within(&args.file, &file, &error),
                Err(_) => failed(&args.file, &error),
            }
        }
        Error::NotFound { what: "attribute", .. } => {
            let path = change.path();
            let shell = quoted(path);
            Failure::Input(format!(
                "{file}: {path}: {error} (`sciformats attrs {file} {shell}` lists what there is)"
            ))
        }
        // What removes the one that exists would remove the only one.
        Error::Usage { problem, .. } if problem.contains("exists already") && is_itself(change) => {
            Failure::Refused(format!("{file}: {}: the new name is the same as the old one", change.path()))
        }
        Error::Usage { problem, .. } if problem.contains("exists already") => {
            let remedy = match change {
                Change::Rename { path, to, .. } => format!("unset {} {}", quoted(path), quoted(to)),
                Change::Move { to, .. } => format!("delete {}", quoted(to)),
                other => format!("delete {}", quoted(other.path())),
            };
            let object = change.path();
            Failure::Refused(format!(
                "{file}: {object}: {error} (`sciformats edit {file} {remedy}` removes that one)"
            ))
        }
        Error::Usage { .. } => Failure::Refused(format!("{file}: {}: {error}", change.path())),
        _ => failed(&args.file, error),
    }
}

/// Returns whether a change gives something the name that it has.
fn is_itself(change: &Change) -> bool {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    match change {
        Change::Rename { name, to, .. } => name == to,
        Change::Move { path, to } => parts(path) == parts(to),
        Change::Link { path, target, other: None, .. } => parts(path) == parts(target),
        _ => false,
    }
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Creates a link. Returns its kind and a description.
fn link(
    editor: &mut Editor,
    path: &str,
    (target, soft, external): (&str, bool, Option<&str>),
) -> Result<(&'static str, String), Error> {
    match external {
        Some(file) => {
            editor.root().external_link(path, file, target)?;
            Ok(("extlink", format!("leads to {target} in {file}")))
        }
        None if soft => {
            editor.root().soft_link(path, target)?;
            Ok(("softlink", format!("leads to {target}")))
        }
        None => {
            let id = editor.id(target)?;
            editor.root().hard_link(path, id)?;
            Ok(("hardlink", format!("is {target}")))
        }
    }
}

/// Returns the type of an existing attribute.
fn existing(editor: &mut Editor, path: &str, name: &str) -> Result<Option<Existing>, Error> {
    let file = editor.file()?;
    let node = file.object(path)?;
    let attributes = node.file().attributes_at(node.address())?;
    let found =
        attributes.iter().find(|one| one.name().is_some_and(|found| found.as_bytes() == name.as_bytes()));
    let Some(attribute) = found else { return Ok(None) };
    let committed = match attribute.committed()? {
        None => None,
        Some(address) => match node.file().path_of(address)?.map(std::str::from_utf8) {
            Some(Ok(path)) => Some(editor.id(path)?),
            _ => return Ok(Some(Existing::Other("of a committed datatype without a path".into()))),
        },
    };
    Ok(Some(Existing::of(attribute.datatype()?, committed, attribute.raw()?)))
}

/// Returns the number of members of a group that a hard link leads to, if there are any.
fn members(editor: &mut Editor, path: &str) -> Result<Option<u64>, Error> {
    use sciformats::hdf5_pure::structure::Target;
    let file = editor.file()?;
    let (parent, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
    let Some(link) = file.group(if parent.is_empty() { "/" } else { parent })?.link(name)? else {
        return Err(Error::not_found("object", path));
    };
    let Target::Hard(address) = link.target else { return Ok(None) };
    match file.object_at(address) {
        Ok(Node::Group(group)) => Ok(Some(group.links()?.len() as u64).filter(|&count| count > 0)),
        // A group can be deleted even if it is damaged.
        _ => Ok(None),
    }
}
