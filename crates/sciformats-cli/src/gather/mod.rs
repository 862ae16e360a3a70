//! Turns an array into a picture: selects the part and the kind of picture, and reads its numbers a few
//! megabytes at a time.

mod labels;
mod numbers;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats::{Array, ElementType, Error, Result, SelectedAxis, Selection};
use sciformats_conventions::Role;
use sciformats_core::bound;

pub(crate) use numbers::{Numbers, is_number};

use self::labels::{Dimension, of_dimension, of_values};
use crate::figure::canvas::Pixels;
use crate::figure::palette;
use crate::figure::sample::{Bars, Cloud, Line, Mean, Statistics};
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

    /// Returns whether two dimensions are those of a list of points: two or three coordinates, which have no coordinates
    /// themselves, of more points than that.
    fn are_points(&self, points: &SelectedAxis, columns: &SelectedAxis) -> bool {
        let length = self.array.shape().get(columns.dimension).copied();
        let few = (2..=3).contains(&columns.count) && length == Some(columns.count) && points.count > 3;
        let variable = self.thing.variable();
        let known = |axis: &SelectedAxis| {
            variable.is_some_and(|variable| variable.coordinates_path(axis.dimension).is_some())
        };
        let spaced = |axis: &SelectedAxis| {
            let dimension = variable.and_then(|variable| variable.dimensions.get(axis.dimension));
            dimension.is_some_and(|dimension| dimension.spacing.is_some())
        };
        few && columns.dimension == bound::left(self.array.shape().len(), 1)
            && !known(columns)
            && ![points, columns].iter().any(|axis| spaced(axis))
            && matches!(
                self.array.element(),
                ElementType::F16 | ElementType::F32 | ElementType::F64 | ElementType::Int(_)
            )
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
        Ok(self.figure_of_lines(lines, (&dimension, ends), self.values_label()))
    }

    /// Returns the figure of lines along a dimension, whose coordinates begin and end with `ends`.
    fn figure_of_lines(
        &self,
        lines: Vec<Line>,
        (dimension, ends): (&Dimension, (f64, f64)),
        label: impl Into<String>,
    ) -> Figure {
        let range = lines.iter().map(Line::range);
        let (low, high) = range.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let left_out = lines.iter().map(|line| line.left_out).sum();
        let x = Axis { dates: dimension.dates, ..Axis::new(safe_label(dimension), ends.0, ends.1) };
        let x = if ends.0 > ends.1 { x } else { x.widened() };
        self.finish((x, Axis::new(label, low, high).widened()), Body::Lines(lines), left_out)
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

    fn lines_of_fields(
        &self,
        fields: &[(&str, Numbers)],
        along: &SelectedAxis,
        room: usize,
    ) -> Result<Figure> {
        if fields.len() as u64 > LINES {
            return Err(Error::usage("field", format!("can be given at most {LINES} times")));
        }
        let dimension = of_dimension(self.thing, along);
        let ends = (dimension.at(along, 0), dimension.at(along, bound::left(along.count, 1)));
        let mut lines: Vec<Line> =
            fields.iter().map(|(name, _)| Line::new(look::safe(name).into_owned(), ends, room)).collect();
        let mut start = 0u64;
        self.for_each_row(fields, &mut |columns| {
            for (line, values) in lines.iter_mut().zip(columns) {
                for (index, &value) in (start..).zip(values) {
                    line.add(dimension.at(along, index), value);
                }
            }
            start = bound::sum(start, columns.first().map_or(0, Vec::len) as u64);
        })?;
        let figure = self.figure_of_lines(lines, (&dimension, ends), "");
        Ok(Figure { title: self.plain_title(), ..figure })
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

    fn scatter_of_fields(&self, fields: &[(&str, Numbers)], room: (usize, usize)) -> Result<Figure> {
        let labels: Vec<String> = fields.iter().map(|(name, _)| look::safe(name).into_owned()).collect();
        let figure = cloud(&labels, room, &mut |visit| {
            self.for_each_row(fields, &mut |columns| {
                let third = columns.get(2);
                if let [x, y, ..] = columns {
                    for (at, (&x, &y)) in x.iter().zip(y).enumerate() {
                        visit((x, y), third.and_then(|third| third.get(at)).copied().unwrap_or(0.0));
                    }
                }
            })
        })?;
        Ok(self.finish_cloud(figure, self.plain_title()))
    }

    fn scatter(
        &self,
        numbers: &Numbers,
        (_, columns): (&SelectedAxis, &SelectedAxis),
        room: (usize, usize),
    ) -> Result<Figure> {
        let units = self.thing.variable().and_then(|variable| variable.units.as_deref());
        let units = units.map(|units| format!(" ({})", look::safe(units))).unwrap_or_default();
        let count = bound::addressable(columns.count);
        let labels: Vec<String> =
            ["x", "y", "z"].iter().take(count).map(|name| format!("{name}{units}")).collect();
        let figure = cloud(&labels, room, &mut |visit| {
            // A piece may end inside a point.
            let mut point: Vec<f64> = Vec::new();
            self.for_each(numbers, &mut |values| {
                for &value in values {
                    point.push(value);
                    if let (true, [x, y, rest @ ..]) = (point.len() == count, point.as_slice()) {
                        visit((*x, *y), rest.first().copied().unwrap_or(0.0));
                        point.clear();
                    }
                }
            })
        })?;
        Ok(self.finish_cloud(figure, self.title()))
    }

    fn finish_cloud(&self, (x, y, body): (Axis, Axis, Body), title: String) -> Figure {
        let left_out = match &body {
            Body::Points { cloud, .. } => cloud.left_out,
            _ => 0,
        };
        let figure = self.finish((x, y), body, left_out);
        let note = figure.note.replace("value", "point");
        Figure { title, note, ..figure }
    }

    /// Returns which of the three dimensions of this part is that of red, green and blue; `None` if none is.
    pub(crate) fn place_of_colours(&self) -> Option<usize> {
        let axes = self.selection.axes();
        let [_, _, last] = axes.as_slice() else { return None };
        let named = colours(self.thing, self.array.shape());
        let named = axes.iter().position(|axis| Some(axis.dimension) == named && axis.count > 2);
        named.or_else(|| (3..=4).contains(&last.count).then_some(2))
    }

    /// Returns the palette of an image, if it has one of 8-bit colours.
    fn palette(&self) -> Option<Vec<[f64; 3]>> {
        let variable = self.thing.variable()?;
        let palette = variable.coordinates.iter().find(|other| other.role == Role::Palette)?;
        let array = self.thing.file().array(&palette.path).ok()?;
        let &[count @ 1..=65_536, 3] = array.shape() else { return None };
        let numbers = Numbers::new(array.element(), None).ok()?;
        let mut values = Vec::new();
        numbers.append(&array.bytes(&array.all().ok()?).ok()?, &mut values).ok()?;
        let colours: Vec<[f64; 3]> = values.as_chunks().0.to_vec();
        (colours.len() as u64 == count).then_some(colours)
    }

    /// Returns a picture in the colours of a palette.
    fn painted(
        &self,
        numbers: &Numbers,
        (down, across): (&SelectedAxis, &SelectedAxis),
        palette: &[[f64; 3]],
        room: (usize, usize),
    ) -> Result<Figure> {
        let of = (down.count, across.count);
        let mut means = [0; 3].map(|_| Mean::new(of, fitted(of, room)));
        self.for_each(numbers, &mut |values| {
            for (part, mean) in means.iter_mut().enumerate() {
                let colour = |value: f64| {
                    let colour = if value >= 0.0 { palette.get(value as usize) } else { None };
                    colour.and_then(|colour| colour.get(part)).copied().unwrap_or(f64::NAN)
                };
                mean.add_all(&values.iter().map(|&value| colour(value)).collect::<Vec<f64>>());
            }
        })?;
        Ok(self.coloured(means, (down, across), 1.0))
    }

    /// Returns a picture whose colours are red, green and blue parts; a fourth part is left out. `inner` is the number of
    /// numbers of one part that follow each other.
    fn photo(
        &self,
        numbers: &Numbers,
        (down, across): (&SelectedAxis, &SelectedAxis),
        (parts, inner): (u64, u64),
        room: (usize, usize),
    ) -> Result<Figure> {
        let of = (down.count, across.count);
        let mut means = [0; 3].map(|_| Mean::new(of, fitted(of, room)));
        let parts = bound::addressable(parts);
        let (mut at, mut run, mut most) = (0usize, 0u64, 0f64);
        let mut split: [Vec<f64>; 3] = Default::default();
        self.for_each(numbers, &mut |values| {
            for &value in values {
                if let Some(part) = split.get_mut(at) {
                    part.push(value);
                    most = most.max(if value.is_finite() { value } else { 0.0 });
                }
                run += 1;
                if run == inner {
                    (run, at) = (0, if at + 1 == parts { 0 } else { at + 1 });
                }
            }
            for (mean, values) in means.iter_mut().zip(&mut split) {
                mean.add_all(values);
                values.clear();
            }
        })?;
        // Bytes and words go to their largest number, and other numbers to 1 or to 255.
        let whole = match self.array.element() {
            ElementType::UInt(2) => 65_535.0,
            ElementType::UInt(1) => 255.0,
            _ if most <= 1.0 => 1.0,
            _ => 255.0,
        };
        Ok(self.coloured(means, (down, across), 255.0 / whole))
    }

    fn coloured(
        &self,
        means: [Mean; 3],
        (down, across): (&SelectedAxis, &SelectedAxis),
        scale: f64,
    ) -> Figure {
        let [red, green, blue] = means.map(Mean::finish);
        let part = |value: f64| (value * scale).round().clamp(0.0, 255.0) as u8;
        let parts = red.values.iter().zip(&green.values).zip(&blue.values);
        let colours =
            parts.map(
                |((red, green), blue)| {
                    if red.is_nan() { palette::NOTHING } else { [part(*red), part(*green), part(*blue)] }
                },
            );
        let pixels = Pixels { width: red.columns, colours: colours.collect() };
        let left_out = red.left_out;
        let axis = |axis: &SelectedAxis| {
            let dimension = of_dimension(self.thing, axis);
            let label = if matches!(dimension.label.as_str(), "height" | "width") {
                String::new()
            } else {
                safe_label(&dimension)
            };
            Axis::new(label, axis.first as f64, axis.first as f64 + axis.step as f64 * axis.count as f64)
        };
        self.finish((axis(across), axis(down)), Body::Picture { pixels, left_out }, left_out)
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

/// Goes through points: their x and y, and a third number.
type Points<'v> = &'v mut dyn FnMut(&mut dyn FnMut((f64, f64), f64)) -> Result<()>;

/// Returns the axes and the points of a scatter plot, for which all points are visited twice.
fn cloud(labels: &[String], room: (usize, usize), points: Points<'_>) -> Result<(Axis, Axis, Body)> {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut x, mut y) = (none, none);
    points(&mut |(px, py), value| {
        if px.is_finite() && py.is_finite() && value.is_finite() {
            x = (x.0.min(px), x.1.max(px));
            y = (y.0.min(py), y.1.max(py));
        }
    })?;
    let label = |at: usize| labels.get(at).cloned().unwrap_or_default();
    let (x, y) = (Axis::new(label(0), x.0, x.1).widened(), Axis::new(label(1), y.0, y.1).widened());
    // Two places for each column and row, so that points that are not at one place stay apart.
    let (columns, rows) = (bound::product(room.0, 2), bound::product(room.1, 2));
    let mut cloud = Cloud::new((x.low, x.high), (y.low, y.high), (columns, rows));
    points(&mut |point, value| cloud.add(point, value))?;
    let (low, high) = cloud.range();
    let values = labels.get(2).map(|label| Axis::new(label.clone(), low, high).widened());
    Ok((x, y, Body::Points { cloud, values }))
}

/// Returns the dimension of red, green and blue among the last three of an array.
fn colours(thing: &Thing, shape: &[u64]) -> Option<usize> {
    let [.., first, second, third] = shape else { return None };
    let start = bound::left(shape.len(), 3);
    let dimensions = thing.variable().map(|variable| variable.dimensions.as_slice()).unwrap_or_default();
    let name =
        |at: usize| dimensions.get(at).and_then(|one| one.name.as_deref()).map(str::to_ascii_lowercase);
    let lengths = [(start, first), (bound::sum(start, 1), second), (bound::sum(start, 2), third)];
    let few = |length: u64| (3..=4).contains(&length);
    let words = ["colour", "color", "rgb", "rgba", "channel", "band"];
    // Channels and bands that are not the last dimension are images of their own.
    let named = lengths.into_iter().rev().find(|(at, length)| {
        let words = if *at == bound::sum(start, 2) { &words[..] } else { &words[..2] };
        few(**length) && name(*at).is_some_and(|name| words.iter().any(|word| name.starts_with(word)))
    });
    if let Some((at, _)) = named {
        return Some(at);
    }
    // Three bytes for each of many points of a grid are nothing else.
    let bytes = thing.array().is_ok_and(|array| *array.element() == ElementType::UInt(1));
    let last = bound::sum(start, 2);
    (few(*third) && bytes && *first >= 16 && *second >= 16 && name(last).is_none()).then_some(last)
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
