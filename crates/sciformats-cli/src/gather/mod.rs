//! Turns an array into a picture: selects the part and the kind of picture, and reads its numbers a few
//! megabytes at a time.

mod colours;
mod labels;
mod lines;
mod numbers;
mod points;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats::{Array, Error, Result, SelectedAxis, Selection};
use sciformats_core::bound;

pub(crate) use numbers::{Numbers, is_number};

use self::colours::colours;
use self::labels::{Dimension, of_dimension, of_values};
use crate::figure::palette;
use crate::figure::sample::{Bars, Mean, Statistics};
use crate::figure::{Axis, Body, Figure};
use crate::look;
use crate::meaning::{Chosen, Thing, chosen};

/// The number of lines that can be told apart in one picture.
pub(crate) const LINES: u64 = 7;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A line along one dimension; of two dimensions, one line for each index of the last
    Line,
    /// An image: values over two dimensions as colours
    Image,
    /// A histogram
    Histogram,
    /// Points: x, y, and a third number that their colour shows, from the last dimension of length 2 or 3, or from two or three
    /// fields
    Scatter,
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
    /// More fields, each of which becomes a line or a coordinate of points.
    pub(crate) more: Vec<&'a str>,
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
        // Colours are a dimension of their own.
        let of_picture = if colours(thing, shape).is_some() { 3 } else { 2 };
        let more = bound::left(shape.len(), of_picture);
        let first = || Some(first_entries(thing, more)).filter(|_| more > 0 && kind != Some(Kind::Histogram));
        let slice = slice.map(str::to_owned).or_else(|| if at.is_none() { first() } else { None });
        let (selection, chosen) = chosen(thing, slice.as_deref(), at)?;
        // The title names what is drawn, which need not be what was asked for.
        let parts: Vec<String> = slice.into_iter().chain(chosen.iter().map(Chosen::brief)).collect();
        let chosen = chosen.iter().map(Chosen::told).collect();
        let slice = (!parts.is_empty()).then(|| parts.join(", "));
        Ok((Self { thing, array, selection, slice, field: None, more: Vec::new(), stop: None }, chosen))
    }

    /// Returns the same part; reading it ends when `stop` becomes true.
    pub(crate) fn until(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Returns the kind of picture that suits the part.
    pub(crate) fn kind(&self) -> Kind {
        let axes = self.selection.axes();
        match axes.as_slice() {
            [points, columns] if self.are_points(points, columns) => Kind::Scatter,
            [_, _, ..] => Kind::Image,
            _ => Kind::Line,
        }
    }

    /// Returns the picture. `bars` is the number of bars of a histogram, if the user chose one.
    pub(crate) fn figure(&self, kind: Kind, room: Room, bars: Option<usize>) -> Result<Figure> {
        if self.selection.shape().contains(&0) {
            return Err(Error::usage("array", "has no elements in this part"));
        }
        let numbers = Numbers::new(self.array.element(), self.field)?;
        let axes = self.selection.axes();
        if !self.more.is_empty() {
            let fields = self.fields()?;
            return match (kind, axes.as_slice()) {
                (Kind::Line, [along]) => self.lines_of_fields(&fields, along, room.line),
                (Kind::Scatter, _) if fields.len() <= 3 => self.scatter_of_fields(&fields, room.image),
                (Kind::Scatter, _) => {
                    Err(Error::usage("field", "can be given two or three times for points"))
                }
                _ => Err(Error::usage("field", "can only be given several times for lines and points")),
            };
        }
        match (kind, axes.as_slice()) {
            (Kind::Scatter, [points, columns]) if (2..=3).contains(&columns.count) => {
                self.scatter(&numbers, (points, columns), room.image)
            }
            (Kind::Scatter, _) => Err(Error::usage(
                "array",
                format!(
                    "has the shape {} in this part, but points need two dimensions, of which the last has length 2 or 3",
                    look::shape(Some(&self.selection.shape()))
                ),
            )),
            (Kind::Image, [first, second, third]) if self.place_of_colours().is_some() => {
                // What varies faster than the colours stands between two of them.
                let (down, across, colours, inner) = match self.place_of_colours() {
                    Some(0) => (second, third, first, bound::product(second.count, third.count)),
                    Some(1) => (first, third, second, third.count),
                    _ => (first, second, third, 1),
                };
                self.photo(&numbers, (down, across), (colours.count, inner), room.image)
            }
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
            (Kind::Image, [down, across]) => match self.palette() {
                Some(palette) => self.painted(&numbers, (down, across), &palette, room.image),
                None => self.image(&numbers, (down, across), room.image),
            },
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
        self.pieces(&mut |bytes| {
            values.clear();
            numbers.append(bytes, &mut values)?;
            visit(&values);
            Ok(())
        })
    }

    /// Goes through its integers.
    pub(crate) fn for_each_integer(&self, numbers: &Numbers, visit: &mut dyn FnMut(i128)) -> Result<()> {
        self.pieces(&mut |bytes| numbers.for_each_integer(bytes, visit))
    }

    /// Goes through its canonical bytes until it is stopped.
    fn pieces(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.array.for_each_piece(&self.selection, &mut |bytes| {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::io("read", std::io::ErrorKind::Interrupted.into()));
            }
            visit(bytes).map(ControlFlow::Continue)
        })
    }

    /// Returns the title without a field.
    fn plain_title(&self) -> String {
        Self { field: None, more: Vec::new(), ..self.clone() }.title()
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

    /// Returns how each of the chosen fields becomes numbers, with its name.
    fn fields(&self) -> Result<Vec<(&'a str, Numbers)>> {
        let names = self.field.iter().chain(&self.more);
        names.map(|name| Ok((*name, Numbers::new(self.array.element(), Some(name))?))).collect()
    }

    /// Calls `visit` with the numbers of each field of some records at a time.
    fn for_each_row(&self, fields: &[(&str, Numbers)], visit: &mut dyn FnMut(&[Vec<f64>])) -> Result<()> {
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); fields.len()];
        self.pieces(&mut |bytes| {
            for (column, (_, numbers)) in columns.iter_mut().zip(fields) {
                column.clear();
                numbers.append(bytes, column)?;
            }
            visit(&columns);
            Ok(())
        })
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
