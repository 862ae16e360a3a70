//! `find`: finds objects by their names, types, attributes and attribute values.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{Decoder, Object, ObjectId, Source};
use sciformats_conventions::{Dataset, Meaning, type_name};
use sciformats_convert::compare::Pattern;

use super::json::JsonObject;
use crate::args::Find;
use crate::failure::{Answer, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TYPE, Table};
use crate::session::Session;

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

pub(super) fn run(args: &Find, session: &Session) -> Outcome {
    let mut out = session.text();
    let mut answer = Answer::No;
    let files = super::expanded(std::slice::from_ref(&args.file));
    let several = files.len() > 1;
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]).fitted();
    let answered = super::for_each_file(&files, session, |path, file| {
        let data = Dataset::new(std::sync::Arc::clone(file));
        let source = file.source();
        let mut failure = Ok(());
        let walked = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            let mut write = || -> Outcome<()> {
                for hit in hits(args, (source, &data), &entry) {
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
fn hits(args: &Find, (source, data): (&dyn Source, &Dataset), entry: &Entry) -> Vec<Hit> {
    let Found::Object(id, object) = &entry.what else { return Vec::new() };
    let kind = kind(object);
    if let Some(wanted) = &args.kind
        && !kind.eq_ignore_ascii_case(wanted)
    {
        return Vec::new();
    }
    let hit = |what: String| Hit { path: entry.path.clone(), what, kind: kind.clone() };
    let Some(pattern) = args.pattern.as_deref() else { return vec![hit(said(data, entry, *id))] };
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

#[cfg(test)]
mod tests {
    use super::*;

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
