//! `info`: describes a file on one screen.

mod meant;
mod object;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use sciformats::source::{Member, Run, Runs, Summary};
use sciformats::walk::{Seen, join};
use sciformats::{ElementType, File, Object as Found, ObjectId, Target, Value};
use sciformats_conventions::type_name;
use sciformats_core::bound;

use self::meant::{Meant, dataset, meant};
use super::json::JsonObject;
use crate::args::{Files, Object};
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, SHAPE, TITLE, TYPE, Table, WRONG};
use crate::session::Session;

pub(super) fn run(args: &Files, session: &Session) -> Outcome {
    let mut out = session.text();
    let mut first = true;
    let objects: Vec<Object> = args.files.iter().map(|word| super::named(word, session)).collect();
    // The length of a virtual dataset is unknown without its sources.
    let open = |path: &Path| session.try_open_whole(path);
    let answer = super::for_each_opened(&objects, open, |object, file| {
        let path = object.file.as_path();
        if object.path != "/" {
            if !std::mem::take(&mut first) && !session.json {
                writeln!(out)?;
            }
            object::write(&mut out, (object, file), session)?;
            return Ok(Answer::Yes);
        }
        let counts = session.watched("counting", &[file], || count(file, ("/", file.source().root())));
        let mut facts = file.source().facts();
        facts.extend(file.source().measures().map_err(|error| Failure::of(path, &error))?);
        let summaries = file.source().summaries().map_err(|error| Failure::of(path, &error))?;
        let meant = meant(&dataset(file), !session.far().is_far(path));
        if session.json {
            writeln!(out, "{}", json(path, file, (&facts, &summaries), (&counts, &meant)))?;
        } else {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            text(&mut out, (path, file), &facts, (&counts, &meant))?;
            meant.write(&mut out)?;
            summed_up(&mut out, &summaries)?;
        }
        out.flush()?;
        Session::whole(path, file)?;
        Ok(Answer::Yes)
    });
    out.flush()?;
    answer
}

/// Counts of what a file contains.
#[derive(Debug, Default)]
struct Counts {
    groups: u64,
    arrays: u64,
    datatypes: u64,
    values: u64,
    links: u64,
    attributes: u64,
    damaged: u64,
    /// Arrays whose lengths are unknown, with the reason: those of their sources that cannot be asked.
    unknown: Vec<String>,
    /// The size of all elements without compression in bytes, as far as their sizes are fixed.
    logical: u64,
    /// The number of bytes that store them; `None` if it is unknown for any array.
    stored: Option<u64>,
    /// For each type as spelled in the manifest: its name for people, and how many arrays have it.
    types: BTreeMap<String, (String, u64)>,
    filters: BTreeMap<String, u64>,
}

/// Counts everything at and below an object. Of members that are alike, only the first is examined.
fn count(file: &File, (path, id): (&str, ObjectId)) -> Counts {
    let mut counts = Counts { stored: Some(0), ..Counts::default() };
    let mut count = Count { file, counts: &mut counts, seen: Seen::default() };
    count.object(path, id, 1, 0);
    counts
}

struct Count<'a> {
    file: &'a File,
    counts: &'a mut Counts,
    seen: Seen,
}

impl Count<'_> {
    /// Counts an object and everything below it, `times` times.
    fn object(&mut self, path: &str, id: ObjectId, times: u64, depth: usize) {
        let source = self.file.source();
        if self.seen.first(source, id, path).is_some() {
            add(&mut self.counts.links, times);
            return;
        }
        let Ok(mut object) = source.measured(id) else {
            add(&mut self.counts.damaged, times);
            return;
        };
        let group = matches!(object, Found::Group);
        if let Found::Array(info) = &mut object
            && let Err(error) = source.sized(id)
        {
            // The length that the file stores is one of earlier times.
            info.shape = None;
            self.counts.unknown.push(format!("{path}: {error}"));
        }
        self.counts.add(object, times);
        if let Ok(attributes) = source.attributes(id) {
            add(&mut self.counts.attributes, bound::product(times, attributes.count() as u64));
        }
        if group {
            self.members(path, id, times, depth);
        }
    }

    fn members(&mut self, path: &str, group: ObjectId, times: u64, depth: usize) {
        let deep = self.file.limits().depth("levels of groups", depth);
        let Ok(runs) = deep.and_then(|()| Runs::new(self.file.source(), group)) else {
            add(&mut self.counts.damaged, times);
            return;
        };
        for run in runs {
            match run {
                Ok(Run { first: Member { name, target: Target::Object(id) }, count, .. }) => {
                    self.object(&join(path, &name), id, bound::product(times, count), depth + 1);
                }
                Ok(Run { first: Member { target: Target::Damaged(_), .. }, .. }) | Err(_) => {
                    add(&mut self.counts.damaged, times);
                }
                Ok(_) => add(&mut self.counts.links, times),
            }
        }
    }
}

/// Adds to a count, which stops at the maximum of its type. Only a file that was made to unfold endlessly
/// reaches this bound.
fn add(sum: &mut u64, times: u64) {
    *sum = bound::sum(*sum, times);
}

impl Counts {
    fn add(&mut self, object: Found, times: u64) {
        let all = |bytes: u64| bound::product(bytes, times);
        match object {
            Found::Group => add(&mut self.groups, times),
            Found::Datatype(_) => add(&mut self.datatypes, times),
            Found::Value(_) => add(&mut self.values, times),
            Found::Damaged { .. } => add(&mut self.damaged, times),
            Found::Array(info) => {
                add(&mut self.arrays, times);
                add(&mut self.logical, all(info.logical().unwrap_or_default()));
                self.stored = self.stored.zip(info.stored).map(|(sum, stored)| bound::sum(sum, all(stored)));
                let known = self.types.entry(info.element.short());
                add(&mut known.or_insert_with(|| (type_name(&info.element), 0)).1, times);
                for filter in info.filters {
                    add(self.filters.entry(filter).or_default(), times);
                }
            }
        }
    }

    fn ratio(&self) -> Option<f64> {
        let stored = self.stored.filter(|&stored| stored > 0)?;
        Some(self.logical as f64 / stored as f64)
    }

    /// Describes the counts that are not zero.
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

    /// Returns what people are shown: keys and values.
    fn rows(&self) -> Vec<(&'static str, Cell)> {
        let mut rows = vec![("contents", Cell::new(PLAIN, self.contents()))];
        if !self.types.is_empty() {
            rows.push(("types", Cell::new(PLAIN, look::safe(&ranked(&named(&self.types))))));
        }
        if !self.filters.is_empty() {
            rows.push(("filters", Cell::new(PLAIN, look::safe(&ranked(&self.filters)))));
        }
        if self.arrays > 0 {
            let unknown = !self.unknown.is_empty();
            let size = if unknown && self.logical == 0 { "unknown".into() } else { look::size(self.logical) };
            let mut data = Cell::new(PLAIN, size);
            if unknown && self.logical > 0 {
                data = data.and(FAINT, "  without those of unknown length");
            }
            if let (Some(stored), Some(ratio)) = (self.stored, self.ratio()) {
                let same = if stored == self.logical { String::new() } else { format!(", ratio {ratio:.2}") };
                data = data.and(FAINT, format!("  stored in {}{same}", look::size(stored)));
            }
            rows.push(("data", data));
        }
        if self.damaged > 0 {
            rows.push(("damaged", Cell::new(WRONG, look::count(self.damaged, "object"))));
        }
        let unknown = self.unknown.iter().map(|unknown| Cell::new(WRONG, look::safe(unknown)));
        rows.extend(unknown.map(|unknown| ("of unknown length", unknown)));
        rows
    }

    /// Adds what programs get.
    fn json(&self, object: &mut JsonObject) {
        for (key, count) in [
            ("groups", self.groups),
            ("arrays", self.arrays),
            ("datatypes", self.datatypes),
            ("values", self.values),
            ("links", self.links),
            ("attributes", self.attributes),
            ("damaged", self.damaged),
            ("logical", self.logical),
        ] {
            object.value(key, count);
        }
        if let Some(stored) = self.stored {
            object.value("stored", stored);
        }
        if !self.unknown.is_empty() {
            let unknown = self.unknown.iter().map(|unknown| unknown.as_str().into()).collect();
            object.value("unknown", Value::List(unknown));
        }
        let types = self.types.iter().map(|(name, (_, count))| (name.clone(), *count)).collect();
        for (key, counts) in [("types", &types), ("filters", &self.filters)] {
            let mut inner = JsonObject::new();
            for (name, count) in counts {
                inner.value(name, *count);
            }
            object.raw(key, &inner.finish());
        }
    }
}

/// Returns the types by their names for people.
fn named(types: &BTreeMap<String, (String, u64)>) -> BTreeMap<String, u64> {
    let mut named = BTreeMap::new();
    for (name, count) in types.values() {
        add(named.entry(name.clone()).or_default(), *count);
    }
    named
}

/// Lists names with their counts, the most frequent first.
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
    (path, file): (&Path, &File),
    facts: &[(&'static str, Value)],
    (counts, meant): (&Counts, &Meant),
) -> Outcome<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}", look::safe(&path.display().to_string()))?;
    let mut table = Table::new([Align::Left, Align::Left]).indented(2).fitted().wrapped();
    let mut row = |out: &mut _, key: &str, cell: Cell| table.row(out, vec![Cell::new(FAINT, key), cell]);
    row(out, "format", Cell::new(TYPE, file.format().to_string()))?;
    let exact = || format!("  {} bytes", look::grouped(file.size()));
    let bytes = if file.size() < 1024 { String::new() } else { exact() };
    row(out, "size", Cell::new(PLAIN, look::size(file.size())).and(FAINT, bytes))?;
    if let Some(whole) = file.cut_short() {
        let told = look::cut_short(path, (file.size(), whole));
        row(out, "damage", Cell::new(WRONG, look::safe(&told)))?;
    }
    for (key, cell) in meant.rows(facts) {
        row(out, key, cell)?;
    }
    for (key, value) in facts.iter().filter(|(key, _)| *key != "truncated") {
        let value = value.to_string();
        row(out, key, Cell::new(PLAIN, look::safe(&value)))?;
    }
    for (key, cell) in counts.rows() {
        row(out, key, cell)?;
    }
    table.flush(out)?;
    Ok(())
}

/// Prints one line per name that arrays in many groups have.
fn summed_up(out: &mut impl Write, summaries: &[Summary]) -> Outcome<()> {
    if summaries.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {FAINT}arrays by name{FAINT:#}")?;
    let columns = [Align::Left, Align::Right, Align::Left, Align::Left, Align::Right];
    let mut table = Table::new(columns).indented(4).fitted();
    for summary in summaries {
        let count = format!("{} ×", look::grouped(summary.arrays));
        let row = vec![
            Cell::new(PLAIN, look::safe(&summary.name.shown())),
            Cell::new(FAINT, count),
            Cell::new(
                TYPE,
                look::safe(&summary.types.iter().map(|word| in_full(word)).collect::<Vec<_>>().join(", ")),
            ),
            Cell::new(SHAPE, extents(&summary.shape)),
            Cell::new(PLAIN, look::size(summary.stored)),
        ];
        table.row(out, row)?;
    }
    Ok(table.flush(out)?)
}

/// Returns the full name of a type that has a short word.
fn in_full(word: &str) -> String {
    let (kind, bytes) = word.split_at_checked(1).unwrap_or((word, ""));
    let element = match (kind, bytes.parse::<u8>()) {
        ("i", Ok(bytes)) => ElementType::Int(bytes.into()),
        ("u", Ok(bytes)) => ElementType::UInt(bytes.into()),
        ("f", Ok(2)) => ElementType::F16,
        ("f", Ok(4)) => ElementType::F32,
        ("f", Ok(8)) => ElementType::F64,
        ("c", Ok(bytes)) => ElementType::Complex(bytes),
        _ => return word.to_owned(),
    };
    type_name(&element)
}

/// Formats the smallest and largest extents: `10…20 × 3`.
fn extents(shape: &[(u64, u64)]) -> String {
    let extents =
        shape.iter().map(|(low, high)| if low == high { low.to_string() } else { format!("{low}…{high}") });
    extents.collect::<Vec<_>>().join(" × ")
}

fn json(
    path: &Path,
    file: &File,
    (facts, summaries): (&[(&'static str, Value)], &[Summary]),
    (counts, meant): (&Counts, &Meant),
) -> String {
    let mut object = JsonObject::new();
    object.value("file", path.display().to_string()).value("format", file.format().word());
    object.value("size", file.size());
    let mut inner = JsonObject::new();
    for (key, value) in facts {
        inner.value(key, value.clone());
    }
    object.raw("facts", &inner.finish());
    meant.json(&mut object);
    counts.json(&mut object);
    if !summaries.is_empty() {
        let lines: Vec<String> = summaries.iter().map(summary_json).collect();
        object.raw("names", &format!("[{}]", lines.join(",")));
    }
    object.finish()
}

fn summary_json(summary: &Summary) -> String {
    let mut object = JsonObject::new();
    let types = summary.types.iter().map(|name| name.as_str().into()).collect();
    let extent = |&(low, high): &(u64, u64)| Value::List(vec![low.into(), high.into()]);
    object.value("name", summary.name.shown().as_ref()).value("types", Value::List(types));
    object.value("shape", Value::List(summary.shape.iter().map(extent).collect()));
    object.value("arrays", summary.arrays).value("stored", summary.stored).finish()
}
