//! What a file means: its convention, the program that wrote it, its dimensions, and what to look at first.

use std::io::Write;

use sciformats::{ElementType, File, Range, Value};
use sciformats_conventions::{Dataset, Highlight, Meaning, Variable};

use crate::commands::json::JsonObject;
use crate::failure::Outcome;
use crate::look::{self, Align, Cell, FAINT, PLAIN, SHAPE, TYPE, Table};
use crate::meaning::along::{self, Along, Places, date};

/// The number of objects that are proposed to be looked at first.
const HIGHLIGHTS: usize = 8;
/// The number of characters of a text that are shown.
const SHOWN: usize = 60;

/// A dimension that variables share.
#[derive(Debug)]
struct Shared {
    name: String,
    length: u64,
    unlimited: bool,
    /// The first and the last coordinate, and their units.
    ends: Option<String>,
}

/// What `info` shows of the meaning of a file.
#[derive(Debug, Default)]
pub(super) struct Meant {
    conventions: Vec<String>,
    writer: Option<String>,
    title: Option<String>,
    dimensions: Vec<Shared>,
    first: Vec<(Highlight, Option<Meaning>)>,
    more: usize,
}

/// Collects what the file says about its meaning. Whatever cannot be read is left out.
pub(super) fn meant(data: &Dataset, near: bool) -> Meant {
    let mut identities = data.identities().unwrap_or_default();
    // If a format defines its own convention, the format is not repeated as a convention.
    identities.retain(|identity| identity.convention != data.file().format().to_string());
    let outline = data.outline().unwrap_or_default();
    let mut meant = Meant {
        conventions: identities.iter().map(ToString::to_string).collect(),
        writer: identities.iter().find_map(|identity| identity.writer.clone()),
        title: outline.title.filter(|title| !title.is_empty()),
        more: sciformats_core::bound::left(outline.highlights.len(), HIGHLIGHTS),
        ..Meant::default()
    };
    for highlight in outline.highlights.into_iter().take(HIGHLIGHTS) {
        let meaning = data.meaning(&highlight.path).ok().flatten();
        if let Some(Meaning::Variable(variable)) = &meaning {
            share(&mut meant.dimensions, data, (variable, near));
        }
        meant.first.push((highlight, meaning));
    }
    meant
}

/// Adds those dimensions of a variable that are arrays themselves.
fn share(known: &mut Vec<Shared>, data: &Dataset, (variable, near): (&Variable, bool)) {
    for (axis, dimension) in variable.dimensions.iter().enumerate() {
        let (Some(name), Some(_)) = (&dimension.name, &dimension.path) else { continue };
        if known.iter().any(|other| other.name == *name && other.length == dimension.length) {
            continue;
        }
        let end = |index: u64| {
            along::along(data, variable, axis, Range::new(index, 1))
                .ok()
                .flatten()
                .and_then(|along| shown(&along))
        };
        let ends = match dimension.length {
            0 => None,
            _ if !near => None,
            1 => end(0),
            length => end(0).zip(end(length - 1)).map(|(first, last)| format!("{first} … {last}")),
        };
        let units = |ends: String| match units(data, variable, axis) {
            Some(units) => format!("{ends} {units}"),
            None => ends,
        };
        known.push(Shared {
            name: name.clone(),
            length: dimension.length,
            unlimited: dimension.unlimited,
            ends: ends.map(units),
        });
    }
}

/// Returns the units of the coordinates along a dimension.
fn units(data: &Dataset, variable: &Variable, axis: usize) -> Option<String> {
    along::along(data, variable, axis, Range::new(0, 1)).ok()??.units
}

/// The first of some coordinates.
fn shown(along: &Along) -> Option<String> {
    match &along.places {
        Places::Numbers(numbers) => numbers.first().map(|number| crate::figure::ticks::brief(*number)),
        Places::Integers(integers) => integers.first().map(i128::to_string),
        Places::Times(times, _) => times.first()?.as_ref().map(date),
        Places::Texts(texts) => texts.first()?.clone(),
    }
}

impl Meant {
    /// Returns keys and values about the whole file, except those that the format gives already.
    pub(super) fn rows(&self, facts: &[(&'static str, Value)]) -> Vec<(&'static str, Cell)> {
        let mut rows = Vec::new();
        let mut add = |key, text: &str| {
            if !facts.iter().any(|(_, value)| value.to_string().eq_ignore_ascii_case(text)) {
                rows.push((key, Cell::new(PLAIN, look::safe(text))));
            }
        };
        if !self.conventions.is_empty() {
            add("convention", &self.conventions.join(", "));
        }
        if let Some(writer) = &self.writer {
            add("written by", writer);
        }
        if let Some(title) = &self.title {
            add("title", &look::clipped(title, SHOWN));
        }
        rows
    }

    /// Prints the dimensions and the objects to look at first, one per line.
    pub(super) fn write(&self, out: &mut impl Write) -> Outcome<()> {
        if !self.dimensions.is_empty() {
            writeln!(out, "  {FAINT}dimensions{FAINT:#}")?;
            let mut table = Table::new([Align::Left; 3]).indented(4).fitted().wrapped();
            for one in &self.dimensions {
                let length = look::grouped(one.length);
                let length = if one.unlimited { format!("{length}, unlimited") } else { length };
                let ends = Cell::new(PLAIN, look::safe(one.ends.as_deref().unwrap_or_default()));
                table.row(
                    out,
                    vec![Cell::new(PLAIN, look::safe(&one.name)), Cell::new(SHAPE, length), ends],
                )?;
            }
            table.flush(out)?;
        }
        if self.first.is_empty() {
            return Ok(());
        }
        writeln!(out, "  {FAINT}look first at{FAINT:#}")?;
        let mut table = Table::new([Align::Left; 3]).indented(4).fitted().wrapped();
        for (highlight, meaning) in &self.first {
            let what = look::clipped(&highlight.what, SHOWN);
            let (dimensions, values) = described(&highlight.path, meaning.as_ref());
            let name = Cell::new(PLAIN, look::safe(&highlight.path)).and(SHAPE, look::safe(&dimensions));
            let row = vec![name, Cell::new(TYPE, look::safe(&values)), Cell::new(PLAIN, look::safe(&what))];
            table.row(out, row)?;
        }
        table.flush(out)?;
        if self.more > 0 {
            writeln!(out, "    {FAINT}… {} more; `ls` lists them{FAINT:#}", look::grouped(self.more as u64))?;
        }
        Ok(())
    }

    /// Adds everything to the JSON output.
    pub(super) fn json(&self, object: &mut JsonObject) {
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
        if !self.conventions.is_empty() {
            object.value("conventions", texts(&self.conventions));
        }
        for (key, text) in [("writer", &self.writer), ("title", &self.title)] {
            if let Some(text) = text {
                object.value(key, text.as_str());
            }
        }
        if !self.first.is_empty() {
            let lines = self.first.iter().map(|(highlight, meaning)| {
                let mut line = JsonObject::new();
                line.value("path", highlight.path.as_str()).value("what", highlight.what.as_str());
                if let Some(Meaning::Variable(variable)) = meaning {
                    line.value("variable", variable.to_string());
                }
                line.finish()
            });
            object.raw("first", &format!("[{}]", lines.collect::<Vec<_>>().join(",")));
        }
    }
}

/// Describes the dimensions and the values of an object to look at first.
fn described(path: &str, meaning: Option<&Meaning>) -> (String, String) {
    match meaning {
        Some(Meaning::Variable(variable)) if matches!(variable.element(), ElementType::Compound(_)) => {
            let columns = match variable.element() {
                ElementType::Compound(fields) => look::count(fields.len() as u64, "column"),
                _ => String::new(),
            };
            (String::new(), format!("table, {} rows, {columns}", look::shape(Some(&variable.shape()))))
        }
        Some(Meaning::Variable(variable)) => {
            let signature = variable.signature();
            let dimensions = signature.strip_prefix(variable.name.as_str()).unwrap_or_default();
            // The group represents an array in it.
            let of = if variable.path() == path { String::new() } else { format!(" = {}", variable.path()) };
            (format!("{of}{dimensions}"), variable.values_name())
        }
        Some(Meaning::Table(table)) => {
            let columns = look::count(table.all_columns().count() as u64, "column");
            (String::new(), format!("table, {}, {columns}", look::count(table.rows, "row")))
        }
        Some(Meaning::Sparse(matrix)) => {
            let [rows, columns] = matrix.shape;
            (String::new(), format!("sparse matrix, {} × {}", look::grouped(rows), look::grouped(columns)))
        }
        _ => (String::new(), String::new()),
    }
}

/// Returns the file as its convention defines it.
pub(super) fn dataset(file: &std::sync::Arc<File>) -> Dataset {
    Dataset::new(std::sync::Arc::clone(file))
}
