//! `find`: finds objects by their names, types, shapes, attributes and attribute values.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use regex_lite::{Regex, RegexBuilder};
use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{Decoder, Error, Object, ObjectId, Source};
use sciformats_conventions::{Dataset, Meaning, type_name};
use sciformats_convert::compare::Pattern;

use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome, complain};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TYPE, Table};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Files, groups in files as `FILE:/PATH`, or folders of files; the last word is text that a name, an attribute or a value contains, or a
    /// pattern for the whole of it, or a regular expression with -E
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
    /// Texts and patterns are regular expressions; those of --type and of the name of an attribute must match the whole of it
    #[arg(long, short = 'E')]
    regex: bool,
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
                word => word
                    .parse()
                    .map(Some)
                    .map_err(|_| format!("`{word}` is neither a length nor `*` nor `...`")),
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
/// Attributes that connect arrays with their dimensions, whose values nobody looks for.
const REFERENCES: [&str; 2] = ["DIMENSION_LIST", "REFERENCE_LIST"];
/// The number of characters of a value that are shown.
const SHOWN: usize = 60;

/// What a text must be like. The case of letters does not matter.
#[derive(Debug)]
enum Like {
    /// It contains this text of small letters.
    Contains(String),
    /// It matches this pattern of small letters as a whole.
    Pattern(Pattern),
    /// A part of it matches.
    Regex(Regex),
}

impl Like {
    /// Returns what a text must contain, or match as a whole if `*` (any characters) or `?` (one character) is in it.
    fn part(text: &str, regex: bool) -> Outcome<Self> {
        match regex {
            true => Self::regex(text),
            false if text.contains(['*', '?']) => Self::whole(text, false),
            false => Ok(Self::Contains(text.to_lowercase())),
        }
    }

    /// Returns what a text must match as a whole.
    fn whole(text: &str, regex: bool) -> Outcome<Self> {
        if regex {
            // An expression that is wrong by itself must not become right by what stands around it.
            Self::regex(text)?;
            return Self::regex(&format!("^(?:{text})$"));
        }
        Ok(Self::Pattern(Pattern::from(text.to_lowercase().as_str())))
    }

    fn regex(text: &str) -> Outcome<Self> {
        let built = RegexBuilder::new(text).case_insensitive(true).build();
        built
            .map(Self::Regex)
            .map_err(|error| Failure::Usage(format!("`{text}` is not a regular expression: {error}")))
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.to_lowercase().contains(part.as_str()),
            Self::Pattern(pattern) => pattern.matches(&text.to_lowercase()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Everything that an object must be like.
struct Wanted<'a> {
    /// One of its names, attributes and values.
    text: Option<Like>,
    kind: Option<Like>,
    shape: Option<&'a Shape>,
    /// The name of an attribute, and its value.
    attribute: Option<(Like, Option<Like>)>,
}

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
        let is_file = |word: &Path| {
            session.far().is_far(word) || word.exists() || super::within(word, session).is_some()
        };
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

    /// Returns what is wanted.
    fn wanted(&self, text: Option<&str>) -> Outcome<Wanted<'_>> {
        let attribute = self.attribute.as_deref().map(|text| -> Outcome<_> {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let value = value.map(|value| Like::part(value, self.regex)).transpose()?;
            Ok((Like::whole(name, self.regex)?, value))
        });
        Ok(Wanted {
            text: text.map(|text| Like::part(text, self.regex)).transpose()?,
            kind: self.kind.as_deref().map(|kind| Like::whole(kind, self.regex)).transpose()?,
            shape: self.shape.as_ref(),
            attribute: attribute.transpose()?,
        })
    }
}

pub(super) fn run(args: &Find, session: &Session) -> Outcome {
    let mut out = session.text();
    let (mut answer, mut is_whole) = (Answer::No, true);
    let (files, pattern) = args.words(session)?;
    let wanted = args.wanted(pattern)?;
    let objects = super::all_named(files, session);
    let several = objects.len() > 1;
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]).fitted().wrapped();
    let answered = super::for_each_opened(
        &objects,
        |path| session.try_open(path),
        |object, file| {
            let path = object.file.as_path();
            let data = Dataset::new(std::sync::Arc::clone(file));
            let source = file.source();
            let root = file.resolve(&object.path).map_err(|error| Failure::within(path, file, &error))?;
            let mut failure = Ok(());
            let walked = breadth_first(source, (&object.path, root), file.limits(), &mut |entry| {
                let mut write = || -> Outcome<()> {
                    let mut unread = Vec::new();
                    let hits = hits(&wanted, (source, &data), &entry, &mut unread);
                    for error in &unread {
                        is_whole = false;
                        complain(&format!("{}: {}: {error}", path.display(), entry.path));
                    }
                    for hit in hits {
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
        },
    );
    table.flush(&mut out)?;
    out.flush()?;
    answered?;
    // What cannot be read may be what is looked for.
    if is_whole { Ok(answer) } else { Err(Failure::Reported) }
}

fn json(file: &Path, hit: &Hit) -> String {
    let mut object = JsonObject::new();
    object.value("file", file.display().to_string()).value("path", hit.path.as_str());
    object.value("type", hit.kind.as_str()).value("found", hit.what.as_str()).finish()
}

/// Returns everything of an object that matches. What cannot be read of it is added to `unread`.
fn hits(
    wanted: &Wanted<'_>,
    (source, data): (&dyn Source, &Dataset),
    entry: &Entry,
    unread: &mut Vec<String>,
) -> Vec<Hit> {
    if let Found::Unreadable(error)
    | Found::Unlisted(error)
    | Found::Object(_, Object::Damaged { error, .. }) = &entry.what
    {
        unread.push(error.to_string());
    }
    let Found::Object(id, object) = &entry.what else { return Vec::new() };
    let kind = kind(object);
    if wanted.kind.as_ref().is_some_and(|wanted| {
        !wanted.fits(&kind) && !meant_kinds((data, object), entry, *id).iter().any(|kind| wanted.fits(kind))
    }) {
        return Vec::new();
    }
    if let Some(wanted) = wanted.shape
        && !shape((data, object), entry, *id).is_some_and(|shape| wanted.fits(&shape))
    {
        return Vec::new();
    }
    let mut held = None;
    if let Some(attribute) = &wanted.attribute {
        held = with_attribute((source, *id), attribute, unread);
        if held.is_none() {
            return Vec::new();
        }
    }
    let hit = |what: String| Hit { path: entry.path.clone(), what, kind: kind.clone() };
    let Some(like) = &wanted.text else {
        return vec![hit(held.unwrap_or_else(|| said(data, entry, *id)))];
    };
    let last = entry.path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    if like.fits(last) || like.fits(&entry.path) {
        found.push(hit(said(data, entry, *id)));
    }
    for (name, value) in attributes((source, *id), unread) {
        // The words of lists of references are those of their type.
        if like.fits(&name) || !REFERENCES.contains(&name.as_str()) && like.fits(&value) {
            found.push(hit(format!("@{name} = {}", look::clipped(&value, SHOWN))));
        }
    }
    if let Object::Value(value) = object
        && like.fits(&value.to_string())
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

/// Returns an attribute with this name and this value.
fn with_attribute(
    object: (&dyn Source, ObjectId),
    (name, value): &(Like, Option<Like>),
    unread: &mut Vec<String>,
) -> Option<String> {
    let fits = |found: &(String, String)| {
        name.fits(&found.0) && value.as_ref().is_none_or(|value| value.fits(&found.1))
    };
    let (name, value) = attributes(object, unread).into_iter().find(fits)?;
    Some(format!("@{name} = {}", look::clipped(&value, SHOWN)))
}

/// Returns the kind of an object; for an array this is the type of its elements.
fn kind(object: &Object) -> String {
    match object {
        Object::Array(info) => look::clipped(&type_name(&info.element), SHOWN),
        other => other.kind().word().to_owned(),
    }
}

/// Returns the names of the type of an array as its convention defines it: that of the values, also with the stored type
/// and with the units, as `ls` prints them.
fn meant_kinds((data, object): (&Dataset, &Object), entry: &Entry, id: ObjectId) -> Vec<String> {
    if !matches!(object, Object::Array(_)) {
        return Vec::new();
    }
    let Ok(Some(Meaning::Variable(variable))) = data.meaning_of(&data.known(&entry.path, id)) else {
        return Vec::new();
    };
    if variable.is_dimension() {
        return vec!["dimension".to_owned()];
    }
    let kind = variable.kind_name();
    let values = kind.split(" ← ").next().unwrap_or_default().to_owned();
    vec![values, kind, variable.values_name()]
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
fn attributes((source, id): (&dyn Source, ObjectId), unread: &mut Vec<String>) -> Vec<(String, String)> {
    let mut failed = |error: &Error| {
        let error = error.to_string();
        if !unread.contains(&error) {
            unread.push(error);
        }
    };
    let attributes = match source.attributes(id) {
        Ok(attributes) => attributes,
        Err(error) => {
            failed(&error);
            return Vec::new();
        }
    };
    let mut all = Vec::new();
    for attribute in attributes {
        let (name, value) = match attribute.and_then(|one| Ok((one.name, one.value?))) {
            Ok(attribute) => attribute,
            Err(error) => {
                failed(&error);
                continue;
            }
        };
        let bytes = match &value.data {
            Ok(bytes) => bytes,
            Err(error) => {
                failed(error);
                continue;
            }
        };
        let short = bytes.get(..bytes.len().min(MOST)).unwrap_or_default();
        let elements = Decoder::new(&value.element, short).map_while(Result::ok);
        let text: Vec<String> = elements.map(|element| element.to_string()).collect();
        all.push((name.shown().into_owned(), text.join(", ")));
    }
    all
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
            assert_eq!(Like::part(pattern, false).unwrap().fits(text), held, "{pattern} {text}");
        }
    }

    #[test]
    fn regular_expressions() {
        for (regex, text, whole, part) in [
            ("ta[sx]", "/tas", false, true),
            ("ta[sx]", "TAX", true, true),
            ("(?-i)ta[sx]", "TAX", false, false),
            ("^float(32|64)$", "float32", true, true),
            ("float32|int", "float32", true, true),
            ("float32|int", "int16", false, true),
            (r"\d{4}-\d\d", "on 2001-07-01", false, true),
            ("", "anything", false, true),
        ] {
            assert_eq!(Like::whole(regex, true).unwrap().fits(text), whole, "{regex} {text}");
            assert_eq!(Like::part(regex, true).unwrap().fits(text), part, "{regex} {text}");
        }
        for wrong in ["(", "a)|(b", "*", "[z-a]", "x{99999}{99999}"] {
            assert!(matches!(Like::part(wrong, true), Err(Failure::Usage(_))), "{wrong}");
            assert!(matches!(Like::whole(wrong, true), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
