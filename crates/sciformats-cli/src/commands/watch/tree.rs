//! The lengths of the arrays and groups of a file that grows.

use std::collections::BTreeMap;
use std::io::Write;

use sciformats::source::Runs;
use sciformats::walk::{Seen, join};
use sciformats::{ArrayInfo, File, Name, Object, ObjectId, Target, Value};
use sciformats_conventions::type_name;
use sciformats_core::bound;

use super::{Clock, Watch, rate, seconds};
use crate::commands::json::JsonObject;
use crate::failure::{Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, SHAPE, TITLE, TYPE, Table};
use crate::session::Session;

/// The number of objects that are watched.
const MOST: usize = 2000;
/// The number of objects that are listed at once.
const SHOWN: usize = 20;

/// The size of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Length {
    /// The shape of an array, its type, and whether it can grow.
    Array(Vec<u64>, String, bool),
    /// The number of the numbered members of a group.
    Members(u64),
}

type Lengths = BTreeMap<String, Length>;

/// What has been seen of a tree.
#[derive(Debug)]
pub(super) struct Tree {
    path: String,
    lengths: Option<Lengths>,
    /// The size of the file at the beginning, and at the last look.
    size: (u64, u64),
    clock: Clock,
}

impl Tree {
    pub(super) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), lengths: None, size: (0, 0), clock: Clock::new() }
    }

    /// Prints what has changed, and returns whether anything has.
    pub(super) fn look(&mut self, file: &File, args: &Watch, session: &Session) -> Outcome<bool> {
        let fail = |error| Failure::of(&args.file, &error);
        let id = file.resolve(&self.path).map_err(fail)?;
        let mut lengths = Lengths::new();
        let mut seen = Seen::default();
        let _ = seen.first(file.source(), id, &self.path);
        collect(file, (&self.path, id), 0, (&mut lengths, &mut seen));
        let (lap, size) = (self.clock.lap(), file.size());
        let Some(before) = self.lengths.replace(lengths) else {
            self.size = (size, size);
            self.begin(args, session)?;
            return Ok(false);
        };
        let now = self.lengths.as_ref().unwrap_or(&before);
        let changes: Vec<(&String, Option<&Length>, Option<&Length>)> = now
            .iter()
            .map(|(path, length)| (path, before.get(path), Some(length)))
            .chain(
                before
                    .iter()
                    .filter(|(path, _)| !now.contains_key(*path))
                    .map(|(path, old)| (path, Some(old), None)),
            )
            .filter(|(_, old, new)| old != new)
            .collect();
        let last = std::mem::replace(&mut self.size.1, size);
        if changes.is_empty() && last == size {
            return Ok(false);
        }
        let mut out = session.text();
        if session.json {
            for (path, old, new) in &changes {
                let mut line = JsonObject::new();
                line.value("seconds", self.clock.whole()).value("size", size).value("path", path.as_str());
                length_json(&mut line, "before", *old);
                length_json(&mut line, "now", *new);
                writeln!(out, "{}", line.finish())?;
            }
            out.flush()?;
            return Ok(true);
        }
        let grown = bound::left(size, last);
        let more = if grown > 0 {
            let speed = look::size((grown as f64 / lap.max(1e-3)) as u64);
            format!(", {} more, {speed}/s", look::size(grown))
        } else {
            String::new()
        };
        let begun = seconds(self.clock.whole());
        writeln!(out, "{TITLE}after {begun}{TITLE:#}  {FAINT}{}{more}{FAINT:#}", look::size(size))?;
        let mut table = Table::new([Align::Left, Align::Left, Align::Left]).indented(2).fitted();
        for (path, old, new) in changes.iter().take(SHOWN) {
            let row = match (old, new) {
                (Some(Length::Array(old, ..)), Some(Length::Array(new, ..))) => change(old, new, lap),
                (Some(Length::Members(old)), Some(Length::Members(new))) => {
                    let per = rate(bound::left(*new, *old) as f64, lap);
                    vec![
                        Cell::new(
                            PLAIN,
                            format!("{} → {} members", look::grouped(*old), look::grouped(*new)),
                        ),
                        Cell::new(FAINT, format!("{per} members/s")),
                    ]
                }
                (_, Some(new)) => [vec![Cell::new(PLAIN, "new")], described(new)].concat(),
                (_, None) => vec![Cell::new(PLAIN, "gone")],
            };
            table.row(&mut out, [vec![Cell::new(PLAIN, look::safe(path))], row].concat())?;
        }
        table.flush(&mut out)?;
        left_out(&mut out, changes.len())?;
        out.flush()?;
        Ok(true)
    }

    /// Prints what can grow, or everything if nothing says that it can.
    fn begin(&self, args: &Watch, session: &Session) -> Outcome<()> {
        if session.json {
            return Ok(());
        }
        let mut out = session.text();
        let name = args.file.display().to_string();
        writeln!(out, "{TITLE}{}{TITLE:#}  {FAINT}{}{FAINT:#}", look::safe(&name), look::size(self.size.0))?;
        let all: Vec<(&String, &Length)> = self.lengths.iter().flatten().collect();
        let grows = |length: &Length| matches!(length, Length::Members(_) | Length::Array(_, _, true));
        let growing: Vec<_> = all.iter().filter(|(_, length)| grows(length)).copied().collect();
        let listed = if growing.is_empty() { all } else { growing };
        let mut table = Table::new([Align::Left, Align::Left, Align::Left]).indented(2).fitted();
        for (path, length) in listed.iter().take(SHOWN) {
            table.row(&mut out, [vec![Cell::new(PLAIN, look::safe(path))], described(length)].concat())?;
        }
        table.flush(&mut out)?;
        left_out(&mut out, listed.len())?;
        Ok(out.flush()?)
    }

    /// Returns what has happened.
    pub(super) fn summary(&self) -> String {
        let (first, last) = self.size;
        let time = self.clock.whole();
        let speed = look::size((bound::left(last, first) as f64 / time.max(1e-3)) as u64);
        let (first, last) = (look::size(first), look::size(last));
        format!("watched for {}: {first} → {last}, {speed}/s", seconds(time))
    }
}

fn left_out(out: &mut impl Write, count: usize) -> Outcome<()> {
    let more = bound::left(count, SHOWN);
    if more > 0 {
        writeln!(out, "  {FAINT}… and {} more{FAINT:#}", look::grouped(more as u64))?;
    }
    Ok(())
}

/// Describes how a shape has changed: by rows if nothing else has.
fn change(old: &[u64], new: &[u64], lap: f64) -> Vec<Cell> {
    match (old.split_first(), new.split_first()) {
        (Some((before, inner)), Some((now, same))) if inner == same => {
            let per = rate(bound::left(*now, *before) as f64, lap);
            vec![
                Cell::new(PLAIN, format!("{} → {} rows", look::grouped(*before), look::grouped(*now))),
                Cell::new(FAINT, format!("{per} rows/s")),
            ]
        }
        _ => vec![Cell::new(PLAIN, format!("{} → {}", look::shape(Some(old)), look::shape(Some(new))))],
    }
}

fn described(length: &Length) -> Vec<Cell> {
    match length {
        Length::Array(shape, kind, _) => {
            vec![Cell::new(SHAPE, look::shape(Some(shape))), Cell::new(TYPE, look::safe(kind))]
        }
        Length::Members(count) => vec![Cell::new(SHAPE, look::count(*count, "member"))],
    }
}

fn length_json(line: &mut JsonObject, key: &str, length: Option<&Length>) {
    match length {
        Some(Length::Array(shape, ..)) => line.list(key, Some(shape)),
        Some(Length::Members(count)) => line.value(key, *count),
        None => line.value(key, Value::Null),
    };
}

/// Collects the lengths in a group and below it. Numbered members are only counted.
fn collect(
    file: &File,
    (path, group): (&str, ObjectId),
    depth: usize,
    (lengths, seen): (&mut Lengths, &mut Seen),
) {
    let source = file.source();
    if file.limits().depth("levels of groups", depth).is_err() {
        return;
    }
    let Ok(runs) = Runs::new(source, group) else { return };
    let mut numbered = 0u64;
    for run in runs.map_while(Result::ok) {
        if lengths.len() >= MOST {
            break;
        }
        if is_number(&run.first.name) {
            numbered = bound::sum(numbered, run.count);
            continue;
        }
        let Target::Object(id) = run.first.target else { continue };
        let path = join(path, &run.first.name);
        if seen.first(source, id, &path).is_some() {
            continue;
        }
        match source.object(id) {
            Ok(Object::Array(info)) => {
                if let Some(shape) = info.shape.as_deref().filter(|shape| !shape.is_empty()) {
                    let kind = look::clipped(&type_name(&info.element), 40);
                    lengths.insert(path, Length::Array(shape.to_vec(), kind, grows(&info)));
                }
            }
            Ok(Object::Group) => collect(file, (&path, id), depth + 1, (&mut *lengths, &mut *seen)),
            _ => {}
        }
    }
    if numbered > 0 {
        lengths.insert(path.to_owned(), Length::Members(numbered));
    }
}

fn is_number(name: &Name) -> bool {
    let bytes = name.as_bytes();
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}

/// Returns whether an array has a dimension that can become longer.
fn grows(info: &ArrayInfo) -> bool {
    let maximum = info.facts.iter().find(|(name, _)| *name == "maximum");
    let Some((_, Value::List(sizes))) = maximum else { return false };
    let shape = info.shape.as_deref().unwrap_or_default();
    sizes.iter().zip(shape).any(|(most, length)| match most {
        Value::Text(_) => true,
        other => *other != Value::from(*length),
    })
}
