//! Turns an array into a picture: selects the part and the kind of picture, and reads its numbers a few
//! megabytes at a time.

mod labels;
mod numbers;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats::{Array, Error, Result, SelectedAxis, Selection};
use sciformats_core::bound;

pub(crate) use numbers::{Numbers, is_number};

use self::labels::{Dimension, of_dimension, of_values};
use crate::figure::palette;
use crate::figure::sample::{Bars, Line, Mean, Statistics};
use crate::figure::{Axis, Body, Figure};
use crate::look;
use crate::meaning::{Thing, selection};

/// The number of lines that can be told apart in one picture.
const LINES: u64 = 7;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A line along one dimension; of two dimensions, one line for each index of the last
    Line,
    /// An image: values over two dimensions as colours
    Image,
    /// A histogram
    Histogram,
}

/// The room that a picture has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The number of places along a line.
    pub(crate) line: usize,
    /// The columns and rows of an image.
    pub(crate) image: (usize, usize),
    /// The number of bars.
    pub(crate) bars: usize,
}

/// The part of an array that is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) thing: &'a Thing,
    pub(crate) array: &'a Array<'a>,
    pub(crate) selection: Selection,
    /// The selection as text, unless it is the whole array.
    pub(crate) slice: Option<String>,
    pub(crate) field: Option<&'a str>,
    /// Reading ends with an error when this becomes true.
    stop: Option<&'a AtomicBool>,
}

impl<'a> Subject<'a> {
    /// Returns the part that a slice and coordinates name, and which coordinates were chosen. Without either,
    /// all dimensions except the last two are taken at index 0, unless all values are wanted.
    pub(crate) fn new(
        (thing, array): (&'a Thing, &'a Array<'a>),
        (slice, at): (Option<&str>, Option<&str>),
        kind: Option<Kind>,
    ) -> Result<(Self, Vec<String>)> {
        let shape = array
            .info()
            .shape
            .as_deref()
            .ok_or_else(|| Error::usage("array", "has a null dataspace and no elements"))?;
        let more = bound::left(shape.len(), 2);
        let first = || Some(first_entries(thing, more)).filter(|_| more > 0 && kind != Some(Kind::Histogram));
        let slice = slice.map(str::to_owned).or_else(|| if at.is_none() { first() } else { None });
        let (selection, chosen) = selection(thing, slice.as_deref(), at)?;
        let parts: Vec<&str> = slice.as_deref().into_iter().chain(at).collect();
        let slice = (!parts.is_empty()).then(|| parts.join(", "));
        Ok((Self { thing, array, selection, slice, field: None, stop: None }, chosen))
    }

    /// Returns the same part; reading it ends when `stop` becomes true.
    pub(crate) fn until(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Returns the kind of picture that suits the part.
    pub(crate) fn kind(&self) -> Kind {
        if self.selection.shape().len() >= 2 { Kind::Image } else { Kind::Line }
    }

    /// Returns the picture. `bars` is the number of bars of a histogram, if the user chose one.
    pub(crate) fn figure(&self, kind: Kind, room: Room, bars: Option<usize>) -> Result<Figure> {
        if self.selection.shape().contains(&0) {
            return Err(Error::usage("array", "has no elements in this part"));
        }
        let numbers = Numbers::new(self.array.element(), self.field)?;
        let axes = self.selection.axes();
        match (kind, axes.as_slice()) {
            (Kind::Histogram, _) => self.histogram(&numbers, bars, room.bars),
            (_, []) => Err(Error::usage("array", "has a single value in this part, which makes no picture")),
            (Kind::Line, [along]) => self.lines(&numbers, (along, None), room.line),
            (Kind::Line, [along, each]) if each.count <= LINES => {
                self.lines(&numbers, (along, Some(each)), room.line)
            }
            (Kind::Line, _) => Err(Error::usage(
                "array",
                format!(
                    "has more than {LINES} lines in this part; select some with a slice, or choose another kind of picture"
                ),
            )),
            (Kind::Image, [down, across]) => self.image(&numbers, (down, across), room.image),
            (Kind::Image, axes) => {
                let problem = format!(
                    "has {} in this part, but an image needs 2",
                    look::count(axes.len() as u64, "dimension")
                );
                Err(Error::usage("array", problem))
            }
        }
    }

    /// Returns the statistics of all numbers.
    pub(crate) fn statistics(&self) -> Result<Statistics> {
        let numbers = Numbers::new(self.array.element(), self.field)?;
        let mut statistics = Statistics::default();
        self.for_each(&numbers, &mut |values| values.iter().for_each(|&value| statistics.add(value)))?;
        Ok(statistics)
    }

    /// Goes through its numbers, a few megabytes at a time.
    pub(crate) fn for_each(&self, numbers: &Numbers, visit: &mut dyn FnMut(&[f64])) -> Result<()> {
        let mut values = Vec::new();
        self.array.for_each_piece(&self.selection, &mut |bytes| {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::io("read", std::io::ErrorKind::Interrupted.into()));
            }
            values.clear();
            numbers.append(bytes, &mut values)?;
            visit(&values);
            Ok(ControlFlow::Continue(()))
        })
    }

    fn title(&self) -> String {
        let slice = self.slice.as_ref().map(|slice| format!("[{}]", slice.trim_matches(['[', ']'])));
        let field = self.field.map(|field| format!(" {field}")).unwrap_or_default();
        let path = self.thing.path();
        let name = self.thing.file().path().and_then(|path| path.file_name()).filter(|_| path == "/");
        let name = name.map_or_else(|| path.into(), |name| name.to_string_lossy());
        look::safe(&format!("{name}{}{field}", slice.unwrap_or_default())).into_owned()
    }

    fn values_label(&self) -> String {
        let label = match self.field {
            Some(field) => field.to_owned(),
            None => of_values(self.thing),
        };
        look::safe(&label).into_owned()
    }

    fn finish(&self, (x, y): (Axis, Axis), body: Body, left_out: u64) -> Figure {
        let what = if self.thing.is_meant() { "missing" } else { "not finite" };
        let note = match left_out {
            0 => String::new(),
            n => format!("{} {} {what}", look::count(n, "value"), if n == 1 { "is" } else { "are" }),
        };
        Figure { title: self.title(), note, x, y, body }
    }

    fn lines(
        &self,
        numbers: &Numbers,
        (along, each): (&SelectedAxis, Option<&SelectedAxis>),
        room: usize,
    ) -> Result<Figure> {
        let dimension = of_dimension(self.thing, along);
        let ends = (dimension.at(along, 0), dimension.at(along, bound::left(along.count, 1)));
        let count = each.map_or(1, |each| each.count);
        let named = each.map(|each| of_dimension(self.thing, each));
        let mut lines: Vec<Line> = (0..count)
            .map(|i| {
                let name = each.zip(named.as_ref()).map(|(each, named)| named.shown(each, i));
                Line::new(name.unwrap_or_default(), ends, room)
            })
            .collect();
        let mut next = 0u64;
        self.for_each(numbers, &mut |values| {
            for &value in values {
                let (index, line) = (next / count, next % count);
                if let Some(line) = usize::try_from(line).ok().and_then(|line| lines.get_mut(line)) {
                    line.add(dimension.at(along, index), value);
                }
                next += 1;
            }
        })?;
        let range = lines.iter().map(Line::range);
        let (low, high) = range.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let left_out = lines.iter().map(|line| line.left_out).sum();
        let x = Axis { dates: dimension.dates, ..Axis::new(safe_label(&dimension), ends.0, ends.1) };
        let x = if ends.0 > ends.1 { x } else { x.widened() };
        let y = Axis::new(self.values_label(), low, high).widened();
        Ok(self.finish((x, y), Body::Lines(lines), left_out))
    }

    fn image(
        &self,
        numbers: &Numbers,
        (down, across): (&SelectedAxis, &SelectedAxis),
        room: (usize, usize),
    ) -> Result<Figure> {
        let mut mean = Mean::new((down.count, across.count), fitted((down.count, across.count), room));
        self.for_each(numbers, &mut |values| mean.add_all(values))?;
        let mut grid = mean.finish();
        let left_out = grid.left_out;
        let (low, high) = grid.range();
        let values = Axis::new(self.values_label(), low, high).widened();
        let axis = |axis: &SelectedAxis| {
            let dimension = of_dimension(self.thing, axis).evenly();
            let (first, last) = (dimension.at(axis, 0), dimension.at(axis, axis.count - 1));
            // Cells extend half a step beyond their middles.
            let steps = bound::left(axis.count, 1) as f64;
            let half = if steps == 0.0 { 0.5 } else { (last - first) / steps / 2.0 };
            let axis = Axis {
                dates: dimension.dates,
                ..Axis::new(safe_label(&dimension), first - half, last + half)
            };
            (axis, dimension.north && first < last)
        };
        let ((x, _), (mut y, upwards)) = (axis(across), axis(down));
        // On a map, north is at the top.
        if upwards {
            grid = grid.turned();
            (y.low, y.high) = (y.high, y.low);
        }
        Ok(self.finish((x, y), Body::Image { grid, values }, left_out))
    }

    fn histogram(&self, numbers: &Numbers, asked: Option<usize>, room: usize) -> Result<Figure> {
        let statistics = self.statistics()?;
        let (mut low, mut high, mut count) = (statistics.low, statistics.high, asked.unwrap_or(room));
        if statistics.count == 0 {
            (low, high) = (0.0, 1.0);
        } else if numbers.are_whole() && asked.is_none() && high - low < room as f64 {
            // Integers get one bar per number.
            count = (high - low) as usize + 1;
            (low, high) = (low - 0.5, high + 0.5);
        } else if low == high {
            Axis { low, high, .. } = Axis::new("", low, high).widened();
        }
        let mut bars = Bars::new((low, high), count);
        self.for_each(numbers, &mut |values| values.iter().for_each(|&value| bars.add(value)))?;
        let x = Axis::new(self.values_label(), low, high);
        let y = Axis::new("count", 0.0, bars.most().max(1) as f64);
        Ok(self.finish((x, y), Body::Bars(bars), statistics.left_out))
    }
}

/// Describes the first indices of this many dimensions, by their names if they have some.
fn first_entries(thing: &Thing, count: usize) -> String {
    let dimensions = thing.variable().map(|variable| variable.dimensions.as_slice()).unwrap_or_default();
    let names: Option<Vec<&str>> = dimensions.iter().take(count).map(|one| one.name.as_deref()).collect();
    let plain = |name: &&str| !name.contains([',', '=']);
    match names.filter(|names| names.len() == count && names.iter().all(plain) && distinct(names)) {
        Some(names) => names.iter().map(|name| format!("{name}=0")).collect::<Vec<_>>().join(", "),
        None => vec!["0"; count].join(", "),
    }
}

fn distinct(names: &[&str]) -> bool {
    names.iter().enumerate().all(|(at, name)| !names.iter().skip(at + 1).any(|other| other == name))
}

fn safe_label(dimension: &Dimension) -> String {
    look::safe(&dimension.label).into_owned()
}

/// Returns the rows and columns of an image with room for `columns` and `rows`. It keeps the proportions of
/// the array, unless it would become a thin line.
fn fitted((down, across): (u64, u64), (columns, rows): (usize, usize)) -> (usize, usize) {
    let shrink = (down as f64 / rows as f64).max(across as f64 / columns as f64);
    let fit = |count: u64, most: usize| {
        let fields = (count as f64 / shrink).round() as usize;
        if shrink <= 1.0 || fields < most / 5 { most } else { fields.clamp(1, most) }
    };
    (fit(down, rows), fit(across, columns))
}

// Each line needs a colour of its own.
const _: () = assert!(LINES as usize <= palette::LINE_COLOURS);
