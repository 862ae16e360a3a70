//! `info`: what a file is, in one screen.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{File, Object, Value};

use super::json::JsonObject;
use crate::args::Files;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, TYPE, Table, WRONG};
use crate::session::Session;

pub(super) fn run(args: &Files, session: &Session) -> Outcome {
    let mut out = session.text();
    let mut first = true;
    let answer = super::for_each_file(&args.files, session, |path, file| {
        let counts = session.watched("counting", &[file], || count(file));
        let mut facts = file.source().facts();
        facts.extend(file.source().measures().map_err(|error| Failure::of(path, &error))?);
        if session.json {
            writeln!(out, "{}", json(path, file, &facts, &counts))?;
        } else {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            text(&mut out, path, file, (&facts, &counts))?;
        }
        Ok(Answer::Yes)
    });
    out.flush()?;
    answer
}

/// What a file holds, counted.
#[derive(Debug, Default)]
struct Counts {
    groups: u64,
    arrays: u64,
    datatypes: u64,
    values: u64,
    links: u64,
    attributes: u64,
    damaged: u64,
    /// Bytes of all elements without compression, as far as their sizes are fixed.
    logical: u64,
    /// Bytes that are stored for them; `None` once one array does not tell.
    stored: Option<u64>,
    types: BTreeMap<String, u64>,
    filters: BTreeMap<String, u64>,
}

fn count(file: &File) -> Counts {
    let mut counts = Counts { stored: Some(0), ..Counts::default() };
    let source = file.source();
    let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
        counts.entry(file, entry);
        ControlFlow::Continue(())
    });
    counts
}

impl Counts {
    fn entry(&mut self, file: &File, entry: Entry) {
        let (id, object) = match entry.what {
            Found::Object(id, object) => (id, object),
            Found::Unreadable(_) | Found::Unlisted(_) => {
                self.damaged += 1;
                return;
            }
            _ => {
                self.links += 1;
                return;
            }
        };
        match object {
            Object::Group => self.groups += 1,
            Object::Datatype(_) => self.datatypes += 1,
            Object::Value(_) => self.values += 1,
            Object::Damaged { .. } => self.damaged += 1,
            Object::Array(info) => {
                self.arrays += 1;
                self.logical = self.logical.saturating_add(info.logical().unwrap_or(0));
                self.stored = self.stored.zip(info.stored).map(|(sum, stored)| sum.saturating_add(stored));
                *self.types.entry(info.element.to_string()).or_default() += 1;
                for filter in info.filters {
                    *self.filters.entry(filter).or_default() += 1;
                }
            }
        }
        if let Ok(attributes) = file.source().attributes(id) {
            self.attributes += attributes.count() as u64;
        }
    }

    fn ratio(&self) -> Option<f64> {
        let stored = self.stored.filter(|&stored| stored > 0)?;
        Some(self.logical as f64 / stored as f64)
    }

    /// The counts that are not zero, for people.
    fn contents(&self) -> String {
        let counts = [
            (self.groups, "group"),
            (self.arrays, "array"),
            (self.datatypes, "datatype"),
            (self.values, "value"),
            (self.links, "link"),
            (self.attributes, "attribute"),
        ];
        let shown = counts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| look::count(*n, noun));
        let text = shown.collect::<Vec<_>>().join(", ");
        if text.is_empty() { "nothing".into() } else { text }
    }
}

/// Names with their counts, the commonest first.
fn ranked(counts: &BTreeMap<String, u64>) -> String {
    const SHOWN: usize = 8;
    let mut ranked: Vec<_> = counts.iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let more = if ranked.len() > SHOWN { ", …" } else { "" };
    let names = ranked.iter().take(SHOWN).map(|(name, count)| match **count {
        1 => look::clipped(name, 60),
        more => format!("{} ({})", look::clipped(name, 60), look::grouped(more)),
    });
    names.collect::<Vec<_>>().join(", ") + more
}

fn text(
    out: &mut impl Write,
    path: &Path,
    file: &File,
    (facts, counts): (&[(&'static str, Value)], &Counts),
) -> Outcome<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}", look::safe(&path.display().to_string()))?;
    let mut table = Table::new([Align::Left, Align::Left]).indented(2);
    let mut row = |out: &mut _, key: &str, cell: Cell| table.row(out, vec![Cell::new(FAINT, key), cell]);
    row(out, "format", Cell::new(TYPE, file.format().to_string()))?;
    let exact = || format!("  {} bytes", look::grouped(file.size()));
    let bytes = if file.size() < 1024 { String::new() } else { exact() };
    row(out, "size", Cell::new(PLAIN, look::size(file.size())).and(FAINT, bytes))?;
    for (key, value) in facts {
        let value = value.to_string();
        row(out, key, Cell::new(PLAIN, look::safe(&value)))?;
    }
    row(out, "contents", Cell::new(PLAIN, counts.contents()))?;
    if !counts.types.is_empty() {
        row(out, "types", Cell::new(PLAIN, look::safe(&ranked(&counts.types))))?;
    }
    if !counts.filters.is_empty() {
        row(out, "filters", Cell::new(PLAIN, look::safe(&ranked(&counts.filters))))?;
    }
    if counts.arrays > 0 {
        let mut data = Cell::new(PLAIN, look::size(counts.logical));
        if let (Some(stored), Some(ratio)) = (counts.stored, counts.ratio()) {
            let same = if stored == counts.logical { String::new() } else { format!(", ratio {ratio:.2}") };
            data = data.and(FAINT, format!("  stored in {}{same}", look::size(stored)));
        }
        row(out, "data", data)?;
    }
    if counts.damaged > 0 {
        row(out, "damaged", Cell::new(WRONG, look::count(counts.damaged, "object")))?;
    }
    table.flush(out)?;
    Ok(())
}

fn json(path: &Path, file: &File, facts: &[(&'static str, Value)], counts: &Counts) -> String {
    let mut object = JsonObject::new();
    object.value("file", path.display().to_string()).value("format", file.format().word());
    object.value("size", file.size());
    let mut inner = JsonObject::new();
    for (key, value) in facts {
        inner.value(key, value.clone());
    }
    object.raw("facts", &inner.finish());
    for (key, count) in [
        ("groups", counts.groups),
        ("arrays", counts.arrays),
        ("datatypes", counts.datatypes),
        ("values", counts.values),
        ("links", counts.links),
        ("attributes", counts.attributes),
        ("damaged", counts.damaged),
        ("logical", counts.logical),
    ] {
        object.value(key, count);
    }
    if let Some(stored) = counts.stored {
        object.value("stored", stored);
    }
    for (key, counts) in [("types", &counts.types), ("filters", &counts.filters)] {
        let mut inner = JsonObject::new();
        for (name, count) in counts {
            inner.value(name, *count);
        }
        object.raw(key, &inner.finish());
    }
    object.finish()
}
