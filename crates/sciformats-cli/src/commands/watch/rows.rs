//! The rows of an array or a table that grows.

use std::io::Write;

use sciformats::{Array, Datum, Decoder, ElementType, File, Range, Selection, Slab};
use sciformats_conventions::Variable;
use sciformats_core::bound;
use unicode_width::UnicodeWidthStr;

use super::{Clock, Watch, rate, seconds};
use crate::commands::cat::{Part, csv, json};
use crate::commands::json::JsonObject;
use crate::failure::{Failure, Outcome, remark};
use crate::figure::sample::Statistics;
use crate::figure::ticks::brief;
use crate::gather::Numbers;
use crate::look::{self, FAINT, TITLE};
use crate::meaning::along::{self, Places};
use crate::meaning::{Thing, View};
use crate::session::Session;

/// The number of new rows that are shown at once.
const SHOWN: u64 = 40;
/// The number of elements of a row that are shown; of longer rows, statistics are.
const WIDE: u64 = 8;
/// The number of bytes that are read at once.
const AT_ONCE: u64 = 4 << 20;

/// What has been shown of an array.
#[derive(Debug)]
pub(super) struct Rows {
    /// The shape at the last look; `None` before the first one.
    shape: Option<Vec<u64>>,
    /// The number of rows at the beginning.
    at_first: u64,
    clock: Clock,
    columns: Columns,
    /// The value of a scalar.
    scalar: String,
}

impl Default for Rows {
    fn default() -> Self {
        let (columns, scalar) = (Columns::default(), String::new());
        Self { shape: None, at_first: 0, clock: Clock::new(), columns, scalar }
    }
}

/// Columns that become wider when a cell needs it, and never narrower, so that rows stand below earlier ones.
#[derive(Debug, Default)]
struct Columns(Vec<usize>);

impl Columns {
    fn widen(&mut self, cells: &[String]) {
        if self.0.len() < cells.len() {
            self.0.resize(cells.len(), 0);
        }
        for (width, cell) in self.0.iter_mut().zip(cells) {
            *width = (*width).max(cell.width());
        }
    }

    fn line(&self, cells: &[String]) -> String {
        let cells = cells.iter().zip(&self.0);
        let cells =
            cells.map(|(cell, width)| format!("{}{cell}", " ".repeat(bound::left(*width, cell.width()))));
        cells.collect::<Vec<_>>().join("  ")
    }
}

impl Rows {
    /// Prints the rows that are new, and returns whether there are any.
    pub(super) fn look(&mut self, file: File, args: &Watch, session: &Session) -> Outcome<bool> {
        let path = &args.file;
        let fail = |error| Failure::of(path, &error);
        let view = match () {
            () if args.raw => View::Stored,
            () if session.json => View::Values,
            () => View::Words,
        };
        let thing = Thing::open(file, &args.path, view).map_err(fail)?;
        let array = thing.array().map_err(fail)?;
        let shape = array.shape().to_vec();
        let Some((&rows, inner)) = shape.split_first() else { return self.scalar(&array, args, session) };
        let before = self.shape.clone();
        let from = match &before {
            None => {
                self.at_first = rows;
                session.doubt(path, &thing);
                args.start(rows, session.json)
            }
            Some(old) => {
                let known = old.first().copied().unwrap_or_default();
                if (old.get(1..) != Some(inner) || rows < known) && !session.quiet {
                    remark(&format!(
                        "the shape was {}, and is {}",
                        look::shape(Some(old)),
                        look::shape(Some(&shape))
                    ));
                }
                if rows < known { rows } else { known }
            }
        };
        let lap = self.clock.lap();
        let new = bound::left(rows, from);
        if before.is_some() && new == 0 {
            self.shape = Some(shape);
            return Ok(false);
        }
        let first = before.is_none();
        let mut next = from;
        let printed = self.print((&thing, &array), (&mut next, rows), (first, args), session);
        if printed.is_err() {
            // When the other rows can be read, these are not printed again.
            self.shape = Some([&[next], inner].concat());
        }
        printed?;
        if !session.json && !args.csv {
            let mut out = session.text();
            let count = look::count(rows, "row");
            if first {
                writeln!(out, "{FAINT}── {count}; waiting for more{FAINT:#}")?;
            } else {
                let (more, speed) = (look::grouped(new), rate(new as f64, lap));
                writeln!(out, "{FAINT}── {count}, {more} more in {}, {speed} rows/s{FAINT:#}", seconds(lap))?;
            }
            out.flush()?;
        }
        self.shape = Some(shape);
        Ok(!first)
    }

    /// Prints rows in the form that is asked for. `from` becomes the row after the last one that was printed.
    fn print(
        &mut self,
        (thing, array): (&Thing, &Array<'_>),
        rows: (&mut u64, u64),
        (first, args): (bool, &Watch),
        session: &Session,
    ) -> Outcome<()> {
        let fail = |stop: crate::commands::cat::Stop| stop.into_failure(&args.file);
        if !session.json && !args.csv {
            let mut out = session.text();
            self.text((thing, array), rows, (first, args.all || first), &mut out).map_err(fail)?;
            return Ok(out.flush()?);
        }
        let mut out = session.data();
        let printed = match session.json {
            true => lines(array, rows, thing, &mut out),
            false => table(array, rows, first, &mut out),
        };
        printed.map_err(fail)?;
        Ok(out.flush()?)
    }

    /// Prints a single value if it has changed.
    fn scalar(&mut self, array: &Array<'_>, args: &Watch, session: &Session) -> Outcome<bool> {
        let mut text = Vec::new();
        let part = Part::new(array, all(array).map_err(|error| Failure::of(&args.file, &error))?, false);
        let printed = if session.json { json::print(&part, &mut text) } else { csv::print(&part, &mut text) };
        printed.map_err(|stop| stop.into_failure(&args.file))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let first = self.shape.is_none();
        self.shape = Some(Vec::new());
        if !first && text == self.scalar {
            return Ok(false);
        }
        self.scalar = text;
        if session.json || args.csv {
            let mut out = session.data();
            out.write_all(self.scalar.as_bytes())?;
            out.flush()?;
        } else {
            let mut out = session.text();
            writeln!(out, "{}", look::safe(self.scalar.trim_end()))?;
            out.flush()?;
        }
        Ok(!first)
    }

    /// Prints rows in columns: the index, the coordinate if there is one, and the values or their statistics.
    fn text(
        &mut self,
        (thing, array): (&Thing, &Array<'_>),
        (from, to): (&mut u64, u64),
        (first, all): (bool, bool),
        out: &mut impl Write,
    ) -> Result<(), crate::commands::cat::Stop> {
        let shown = if all { *from } else { bound::left(to, SHOWN).max(*from) };
        let layout = Layout::of(array, thing);
        if first {
            self.columns.widen(&layout.heads);
        }
        let mut at = shown;
        let mut headed = !first;
        loop {
            let count = layout.at_once.min(to - at);
            let places =
                if layout.placed { places(thing, Range::new(at, count)).0 } else { Default::default() };
            let mut rows = layout.rows(array, at, count)?;
            for (number, row) in rows.iter_mut().enumerate() {
                let mut start = vec![look::grouped(bound::sum(at, number as u64))];
                if layout.placed {
                    start.push(places.get(number).cloned().unwrap_or_default());
                }
                row.splice(0..0, start);
                self.columns.widen(row);
            }
            if shown > *from {
                let left = look::count(shown - *from, "row");
                writeln!(out, "{FAINT}… {left} left out; --all prints them{FAINT:#}")?;
            }
            if !headed {
                writeln!(out, "{TITLE}{}{TITLE:#}", self.columns.line(&layout.heads))?;
                headed = true;
            }
            for row in &rows {
                writeln!(out, "{}", self.columns.line(row))?;
            }
            at = bound::sum(at, count);
            *from = at;
            if at >= to {
                return Ok(());
            }
        }
    }

    /// Returns what has happened.
    pub(super) fn summary(&self) -> String {
        let rows = self.shape.as_ref().and_then(|shape| shape.first()).copied().unwrap_or_default();
        let new = bound::left(rows, self.at_first);
        let time = self.clock.whole();
        let (rows, more, rate) = (look::count(rows, "row"), look::grouped(new), rate(new as f64, time));
        format!("watched for {}: {rows}, {more} more, {rate} rows/s", seconds(time))
    }
}

fn all(array: &Array<'_>) -> sciformats::Result<Selection> {
    Selection::all(array.shape())
}

/// Returns rows as a selection.
fn selected(array: &Array<'_>, from: u64, to: u64) -> sciformats::Result<Selection> {
    Selection::parse(&format!("{from}:{to}"), array.shape())
}

/// Prints rows as JSON, one line per row.
fn lines(
    array: &Array<'_>,
    (from, to): (&mut u64, u64),
    thing: &Thing,
    out: &mut impl Write,
) -> Result<(), crate::commands::cat::Stop> {
    for row in *from..to {
        let mut value = Vec::new();
        json::print(
            &Part::new(array, Selection::parse(&row.to_string(), array.shape())?, false),
            &mut value,
        )?;
        let mut line = JsonObject::new();
        line.value("row", row);
        if has_places(thing.variable()) {
            let (places, middles) = places(thing, Range::new(row, 1));
            if let Some(place) = places.first() {
                line.value(if middles { along::MIDDLES } else { "at" }, place.as_str());
            }
        }
        line.raw("value", String::from_utf8_lossy(&value).trim_end());
        writeln!(out, "{}", line.finish())?;
        *from = bound::sum(row, 1);
    }
    Ok(())
}

/// Prints rows as comma-separated values. The names of fields stand before the first ones.
fn table(
    array: &Array<'_>,
    (from, to): (&mut u64, u64),
    first: bool,
    out: &mut impl Write,
) -> Result<(), crate::commands::cat::Stop> {
    let named = matches!(array.element(), ElementType::Compound(_)) && array.shape().len() == 1;
    let inner = array.shape().get(1..).unwrap_or_default();
    let width = inner.iter().fold(1, |product, &side| bound::product(product, side));
    let bytes = bound::product(array.element().size().unwrap_or(16), width.max(1));
    let begin = *from;
    let mut at = begin;
    while at < to || at == begin {
        let end = to.min(bound::sum(at, (AT_ONCE / bytes.max(1)).max(1)));
        let mut text = Vec::new();
        csv::print(&Part::new(array, selected(array, at, end)?, false), &mut text)?;
        let headed = named && !(first && at == begin);
        let head = text.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        out.write_all(text.get(if headed { head } else { 0 }..).unwrap_or_default())?;
        *from = end;
        if at == to {
            break;
        }
        at = end;
    }
    Ok(())
}

/// How a row is shown.
struct Layout {
    heads: Vec<String>,
    /// Whether each row has a coordinate.
    placed: bool,
    /// The number of elements of a row.
    width: u64,
    at_once: u64,
    /// Converts elements to numbers, if statistics of a row are shown.
    numbers: Option<Numbers>,
}

impl Layout {
    fn of(array: &Array<'_>, thing: &Thing) -> Self {
        let variable = thing.variable();
        let inner = array.shape().get(1..).unwrap_or_default();
        let width = inner.iter().fold(1, |product, &side| bound::product(product, side));
        let bytes = bound::product(array.element().size().unwrap_or(16), width.max(1));
        let numbers = if width > WIDE { Numbers::new(array.element(), None).ok() } else { None };
        let placed = has_places(variable);
        let mut heads = vec!["row".to_owned()];
        if placed {
            let name = variable.and_then(|variable| variable.dimensions.first()?.name.clone());
            let name = look::safe(&name.unwrap_or_default()).into_owned();
            // The name alone is that of the edges.
            let middles =
                places(thing, Range::new(0, array.shape().first().copied().unwrap_or_default().min(1))).1;
            heads.push(if middles { format!("{name} {}", along::MIDDLES) } else { name });
        }
        let units =
            variable.and_then(|variable| variable.units.as_deref()).map(|units| format!(" ({units})"));
        let name = variable.map_or("value", |variable| variable.name.as_str());
        let named = look::safe(&format!("{name}{}", units.unwrap_or_default())).into_owned();
        match (array.element(), inner) {
            (ElementType::Compound(fields), []) => {
                let names = fields.iter().flat_map(|(name, field)| csv::columns(&name.shown(), field));
                heads.extend(names.map(|name| look::safe(&name).into_owned()));
            }
            _ if numbers.is_some() => heads.extend(["lowest".into(), "mean".into(), "highest".into()]),
            (_, []) => heads.push(named),
            _ => heads.extend((0..width.min(WIDE)).map(|index| index.to_string())),
        }
        Self { heads, placed, width, at_once: (AT_ONCE / bytes.max(1)).clamp(1, 4096), numbers }
    }

    /// Returns the cells of some rows, without index and coordinate.
    fn rows(
        &self,
        array: &Array<'_>,
        at: u64,
        count: u64,
    ) -> Result<Vec<Vec<String>>, crate::commands::cat::Stop> {
        let mut rows = Vec::new();
        if count == 0 {
            return Ok(rows);
        }
        if let Some(numbers) = &self.numbers {
            for row in at..bound::sum(at, count) {
                let mut statistics = Statistics::default();
                let mut values = Vec::new();
                let row = selected(array, row, bound::sum(row, 1))?;
                array.for_each_piece(&row, &mut |bytes| {
                    values.clear();
                    numbers.append(bytes, &mut values)?;
                    values.iter().for_each(|&value| statistics.add(value));
                    Ok(std::ops::ControlFlow::Continue(()))
                })?;
                let numbers = [statistics.low, statistics.mean(), statistics.high];
                rows.push(if statistics.count == 0 {
                    vec!["–".into(); 3]
                } else {
                    numbers.map(brief).to_vec()
                });
            }
            return Ok(rows);
        }
        let fields = match array.element() {
            ElementType::Compound(fields) if self.width == 1 => Some(fields),
            _ => None,
        };
        // Of a wide row, only the first elements are read.
        let mut ranges = vec![Range::new(at, count)];
        let mut left = WIDE;
        for &side in array.shape().get(1..).unwrap_or_default().iter().rev() {
            let taken = if self.width > WIDE { side.min(left.max(1)) } else { side };
            ranges.insert(1, Range::new(0, taken));
            left /= taken.max(1);
        }
        let slab = Slab::new(array.shape(), ranges)?;
        let each = slab.len().checked_div(count).unwrap_or(0).max(1); // a bound: rows without elements have no cells
        let bytes = array.bytes(&slab)?;
        let mut row: Vec<String> = Vec::new();
        let mut taken = 0;
        for datum in Decoder::new(array.element(), &bytes) {
            let datum = datum?;
            match (&datum, fields) {
                (Datum::Record(values), Some(fields)) => {
                    for ((_, value), (_, field)) in values.iter().zip(fields) {
                        row.extend(csv::cells(value, field).iter().map(|cell| look::safe(cell).into_owned()));
                    }
                }
                _ => row.push(look::clipped(&look::safe(&datum.to_string()), 40)),
            }
            taken += 1;
            if taken == each {
                if self.width > each {
                    row.push("…".into());
                }
                rows.push(std::mem::take(&mut row));
                taken = 0;
            }
        }
        Ok(rows)
    }
}

/// Returns whether rows have coordinates that are not their own values.
fn has_places(variable: Option<&Variable>) -> bool {
    variable.is_some_and(|variable| variable.coordinates_path(0).is_some_and(|path| path != variable.path()))
}

/// Returns the coordinates of rows as text, and whether they are the middles of edges that are stored; none if they are not there
/// yet.
fn places(thing: &Thing, rows: Range) -> (Vec<String>, bool) {
    let Some(variable) = thing.variable() else { return Default::default() };
    let Ok(Some(along)) = along::along(thing.data(), variable, 0, rows) else { return Default::default() };
    let places = match along.places {
        Places::Numbers(numbers) => numbers.into_iter().map(brief).collect(),
        Places::Integers(integers) => integers.iter().map(i128::to_string).collect(),
        Places::Times(times, _) => {
            times.iter().map(|time| time.as_ref().map(along::date).unwrap_or_default()).collect()
        }
        Places::Texts(texts) => {
            texts.into_iter().map(|text| look::safe(&text.unwrap_or_default()).into_owned()).collect()
        }
    };
    (places, along.middles)
}
