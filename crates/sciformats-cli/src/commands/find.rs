//! `find`: finds objects by their names, types, shapes, attributes and attribute values.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{Decoder, Object, ObjectId, Source};
use sciformats_conventions::{Dataset, Meaning, type_name};
use sciformats_convert::compare::Pattern;

use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TYPE, Table};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Files, or folders of files; the last word is text that a name, an attribute or a value contains, or a
    /// pattern for the whole of it
    #[arg(value_name = "FILE", required = true)]
    words: Vec<PathBuf>,
    /// Find only arrays with this type of element, as `ls` prints it, or `group` for groups; a pattern is permitted
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Find only arrays with this shape, such as `4,*,...`: `*` is any length, `...` any number of dimensions
    #[arg(long, value_name = "SHAPE")]
    shape: Option<Shape>,
    /// Find only objects with this attribute, and with this text or pattern in its value
    #[arg(long = "attr", value_name = "NAME[=VALUE]")]
    attribute: Option<String>,
}

/// The lengths of dimensions that are wanted; `None` is any length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    first: Vec<Option<u64>>,
    /// The last dimensions, if there may be more between them and the first ones.
    last: Option<Vec<Option<u64>>>,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lengths = |text: &str| -> Result<Vec<Option<u64>>, String> {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            let length = |word: &str| match word {
                "*" => Ok(None),
                word => {
                    word.parse().map(Some).map_err(|_| format!("`{word}` is no length and not `*` or `...`"))
                }
            };
            words.map(length).collect()
        };
        Ok(match text.split_once("...") {
            Some((first, last)) => Self { first: lengths(first)?, last: Some(lengths(last)?) },
            None => Self { first: lengths(text)?, last: None },
        })
    }
}

impl Shape {
    /// Returns whether an array has this shape.
    fn fits(&self, shape: &[u64]) -> bool {
        let fit = |wanted: &[Option<u64>], found: &[u64]| {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .zip(found)
                    .all(|(wanted, found)| wanted.is_none_or(|wanted| wanted == *found))
        };
        let Some(last) = &self.last else { return fit(&self.first, shape) };
        let Some(rest) = shape.len().checked_sub(last.len()) else { return false };
        shape.split_at_checked(rest).is_some_and(|(start, end)| {
            fit(last, end) && start.get(..self.first.len()).is_some_and(|start| fit(&self.first, start))
        })
    }
}

/// The number of bytes of an attribute that are searched.
const MOST: usize = 1 << 20;
/// The number of characters of a value that are shown.
const SHOWN: usize = 60;

/// An object that was found, and what matched.
struct Hit {
    path: String,
    /// `@name = value` for an attribute.
    what: String,
    kind: String,
}

impl Find {
    /// Returns the files and the pattern. With other conditions the pattern may be left out.
    fn words(&self, session: &Session) -> Outcome<(&[PathBuf], Option<&str>)> {
        let others = self.kind.is_some() || self.shape.is_some() || self.attribute.is_some();
        let is_file = |word: &Path| session.far().is_far(word) || word.exists();
        match self.words.split_last() {
            Some((last, files)) if !files.is_empty() && (!others || !is_file(last)) => {
                let pattern = last.to_str();
                let pattern =
                    pattern.ok_or_else(|| Failure::Usage("the pattern is no valid Unicode".into()))?;
                Ok((files, Some(pattern)))
            }
            _ if others => Ok((&self.words, None)),
            _ => Err(Failure::Usage(
                "what to find is missing: a text or a pattern after the file, or --type, --shape or --attr"
                    .into(),
            )),
        }
    }
}

pub(super) fn run(args: &Find, session: &Session) -> Outcome {
    let mut out = session.text();
    let mut answer = Answer::No;
    let (files, pattern) = args.words(session)?;
    let files = super::expanded(files);
    let several = files.len() > 1;
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]).fitted();
    let answered = super::for_each_file(&files, session, |path, file| {
        let data = Dataset::new(std::sync::Arc::clone(file));
        let source = file.source();
        let mut failure = Ok(());
        let walked = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            let mut write = || -> Outcome<()> {
                for hit in hits((args, pattern), (source, &data), &entry) {
                    answer = Answer::Yes;
                    if session.json {
                        writeln!(out, "{}", json(path, &hit))?;
                        continue;
                    }
                    let name = if several { format!("{}:", path.display()) } else { String::new() };
                    let name = Cell::new(FAINT, look::safe(&name)).and(PLAIN, look::safe(&hit.path));
                    let row = vec![
                        name,
                        Cell::new(TYPE, look::safe(&hit.kind)),
                        Cell::new(PLAIN, look::safe(&hit.what)),
                    ];
                    table.row(&mut out, row)?;
                }
                Ok(())
            };
            match write() {
                Ok(()) => ControlFlow::Continue(()),
                Err(stop) => {
                    failure = Err(stop);
                    ControlFlow::Break(())
                }
            }
        });
        let _ = walked;
        failure.map(|()| Answer::Yes)
    });
    table.flush(&mut out)?;
    out.flush()?;
    answered.map(|_| answer)
}

fn json(file: &Path, hit: &Hit) -> String {
    let mut object = JsonObject::new();
    object.value("file", file.display().to_string()).value("path", hit.path.as_str());
    object.value("type", hit.kind.as_str()).value("found", hit.what.as_str()).finish()
}

/// Returns everything of an object that matches.
fn hits(
    (args, pattern): (&Find, Option<&str>),
    (source, data): (&dyn Source, &Dataset),
    entry: &Entry,
) -> Vec<Hit> {
    let Found::Object(id, object) = &entry.what else { return Vec::new() };
    let kind = kind(object);
    if let Some(wanted) = &args.kind
        && !is_whole(wanted, &kind)
    {
        return Vec::new();
    }
    if let Some(wanted) = &args.shape
        && !shape((data, object), entry, *id).is_some_and(|shape| wanted.fits(&shape))
    {
        return Vec::new();
    }
    let mut wanted = None;
    if let Some(attribute) = &args.attribute {
        wanted = with_attribute(source, *id, attribute);
        if wanted.is_none() {
            return Vec::new();
        }
    }
    let hit = |what: String| Hit { path: entry.path.clone(), what, kind: kind.clone() };
    let Some(pattern) = pattern else {
        return vec![hit(wanted.unwrap_or_else(|| said(data, entry, *id)))];
    };
    let last = entry.path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    if matches(pattern, last) || matches(pattern, &entry.path) {
        found.push(hit(said(data, entry, *id)));
    }
    for (name, value) in attributes(source, *id) {
        if matches(pattern, &name) || matches(pattern, &value) {
            found.push(hit(format!("@{name} = {}", look::clipped(&value, SHOWN))));
        }
    }
    if let Object::Value(value) = object
        && matches(pattern, &value.to_string())
    {
        found.push(hit(look::clipped(&value.to_string(), SHOWN)));
    }
    found
}

/// Returns the shape of an array, as its convention defines it.
fn shape((data, object): (&Dataset, &Object), entry: &Entry, id: ObjectId) -> Option<Vec<u64>> {
    let Object::Array(info) = object else { return None };
    match data.meaning_of(&data.known(&entry.path, id)) {
        Ok(Some(Meaning::Variable(variable))) => Some(variable.shape()),
        _ => info.shape.as_ref().map(|shape| shape.to_vec()),
    }
}

/// Returns an attribute with this name, and with this text or pattern in its value: `name` or `name=value`.
fn with_attribute(source: &dyn Source, id: ObjectId, wanted: &str) -> Option<String> {
    let (name, value) = wanted.split_once('=').map_or((wanted, None), |(name, value)| (name, Some(value)));
    let fits = |found: &(String, String)| {
        is_whole(name, &found.0) && value.is_none_or(|value| matches(value, &found.1))
    };
    let (name, value) = attributes(source, id).into_iter().find(fits)?;
    Some(format!("@{name} = {}", look::clipped(&value, SHOWN)))
}

/// Returns the kind of an object; for an array this is the type of its elements.
fn kind(object: &Object) -> String {
    match object {
        Object::Array(info) => look::clipped(&type_name(&info.element), SHOWN),
        other => other.kind().word().to_owned(),
    }
}

/// Returns the dimensions and the name of an array.
fn said(data: &Dataset, entry: &Entry, id: ObjectId) -> String {
    match data.meaning_of(&data.known(&entry.path, id)) {
        Ok(Some(Meaning::Variable(variable))) => {
            let name = variable.long_name.as_ref().map(|name| format!("  {name}")).unwrap_or_default();
            format!("{}{name}", variable.signature())
        }
        _ => String::new(),
    }
}

/// Returns the names and values of those attributes that can be read.
fn attributes(source: &dyn Source, id: ObjectId) -> Vec<(String, String)> {
    let Ok(attributes) = source.attributes(id) else { return Vec::new() };
    let mut all = Vec::new();
    for attribute in attributes.flatten() {
        let Ok(value) = &attribute.value else { continue };
        let Ok(bytes) = &value.data else { continue };
        let short = bytes.get(..bytes.len().min(MOST)).unwrap_or_default();
        let elements = Decoder::new(&value.element, short).map_while(Result::ok);
        let text: Vec<String> = elements.map(|element| element.to_string()).collect();
        all.push((attribute.name.shown().into_owned(), text.join(", ")));
    }
    all
}

/// Returns whether a text contains a pattern, ignoring the case of letters. A pattern with `*` (any
/// characters) or `?` (one character) must match the whole text.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    if !pattern.contains(['*', '?']) {
        return text.contains(&pattern);
    }
    Pattern::from(pattern.as_str()).matches(&text)
}

/// Returns whether a whole text matches a pattern, ignoring the case of letters.
fn is_whole(pattern: &str, text: &str) -> bool {
    Pattern::from(pattern.to_lowercase().as_str()).matches(&text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (wanted, shape, held) in [
            ("", &[][..], true),
            ("4", &[4], true),
            ("4", &[4, 1], false),
            ("4,*, 2", &[4, 9, 2], true),
            ("4,*,2", &[4, 9, 3], false),
            ("...", &[], true),
            ("...,3", &[7, 3], true),
            ("...,3", &[3], true),
            ("3,...,3", &[3], false),
            ("3,...,3", &[3, 3], true),
            ("3,...", &[3, 1, 1], true),
            ("3,...", &[1, 3], false),
        ] {
            assert_eq!(wanted.parse::<Shape>().unwrap().fits(shape), held, "{wanted} {shape:?}");
        }
        for wrong in ["x", "-1", "3,...,4,...", "1.5"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, held) in [
            ("tem", "Temperature", true),
            ("t?m*", "temperature", true),
            ("t?m", "temperature", false),
            ("*degrees*", "in degrees_north", true),
            ("*a*b", "xaybzab", true),
            ("*a*b", "xaybza", false),
            ("", "anything", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, text), held, "{pattern} {text}");
        }
    }
}
