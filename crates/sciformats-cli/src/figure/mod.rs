//! Pictures of arrays: what is shown, and how it is drawn on a terminal and into files. Nothing here knows a
//! file format.
//!
//! | module | does |
//! |---|---|
//! | [`sample`] | reduces any number of values to those that a picture has room for |
//! | [`ticks`] | the positions and texts of the ticks of an axis |
//! | [`palette`] | colours |
//! | [`screen`], [`terminal`] | pictures that consist of characters |
//! | [`canvas`], [`paper`] | the same picture for files, on any canvas |
//! | [`raster`], [`svg`], [`pdf`] | the canvases: pixels, and shapes |
//! | [`font`] | the letters of pixels |

pub(crate) mod canvas;
pub(crate) mod dates;
pub(crate) mod font;
pub(crate) mod palette;
pub(crate) mod paper;
pub(crate) mod pdf;
pub(crate) mod raster;
pub(crate) mod sample;
pub(crate) mod screen;
pub(crate) mod svg;
pub(crate) mod terminal;
pub(crate) mod ticks;

use canvas::Pixels;
use sample::{Bars, Cloud, Grid, Line};
use sciformats_conventions::time::Calendar;

/// An axis: the numbers at its ends, and their meaning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The calendar, if the numbers are dates: seconds since the start of 1970.
    pub(crate) dates: Option<Calendar>,
    /// Whether equal distances are equal ratios; both ends are then above 0.
    pub(crate) log: bool,
}

impl Axis {
    /// Creates an axis of numbers.
    pub(crate) fn new(label: impl Into<String>, low: f64, high: f64) -> Self {
        Self { label: label.into(), low, high, dates: None, log: false }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        if self.log {
            let (low, high) = (self.low.log10(), self.high.log10());
            // What is not above 0 is at the lower end; what is missing stays missing.
            let value = if value <= 0.0 { low } else { value.log10() };
            return if low == high { 0.5 } else { (value - low) / (high - low) };
        }
        // Both are halved, because the difference of two large numbers may be infinite.
        let span = self.high / 2.0 - self.low / 2.0;
        if span == 0.0 { 0.5 } else { (value / 2.0 - self.low / 2.0) / span }
    }

    /// Returns the same axis, widened if both ends are equal.
    pub(crate) fn widened(self) -> Self {
        let Self { label, low, high, dates, log } = self;
        match (low.is_finite() && high.is_finite(), low < high) {
            (false, _) => Self { label, low: 0.0, high: 1.0, dates, log },
            (true, true) => Self { label, low, high, dates, log },
            (true, false) => {
                let room = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
                Self { label, low: low - room, high: low + room, dates, log }
            }
        }
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What the picture shows.
    pub(crate) title: String,
    /// A remark, for example about values that are not shown.
    pub(crate) note: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) body: Body,
}

impl Figure {
    /// Returns several figures of lines as one, with a name for each.
    ///
    /// # Errors
    ///
    /// The reason, if one of them has no lines, if there are too many, or if their axes do not agree.
    pub(crate) fn together(figures: Vec<(String, Self)>, most: usize) -> Result<Self, String> {
        let (mut lines, mut notes, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut whole: Option<Self> = None;
        for (name, Self { title, note, x, y, body }) in figures {
            let Body::Lines(found) = body else { return Err(format!("{name} is not drawn as lines")) };
            let alone = found.len() == 1;
            for mut line in found {
                let inner = if alone { String::new() } else { format!(": {}", line.name) };
                line.name = format!("{name}{inner}");
                lines.push(line);
            }
            notes.extend((!note.is_empty()).then(|| format!("{name}: {note}")));
            labels.push(y.label.clone());
            // Which end is left does not matter where lines of both directions meet.
            let (low, high) = (x.low.min(x.high), x.low.max(x.high));
            whole = Some(match whole {
                None => Self { title, note: String::new(), x, y, body: Body::Bars(Bars::new((0.0, 0.0), 1)) },
                Some(mut whole) => {
                    if whole.x.dates != x.dates {
                        return Err(format!(
                            "{name} cannot be drawn with the others: only some of them have dates on their axis"
                        ));
                    }
                    let (start, end) = (whole.x.low.min(whole.x.high), whole.x.low.max(whole.x.high));
                    (whole.x.low, whole.x.high) = (start.min(low), end.max(high));
                    (whole.y.low, whole.y.high) = (whole.y.low.min(y.low), whole.y.high.max(y.high));
                    if whole.x.label != x.label {
                        whole.x.label = String::new();
                    }
                    if whole.title != title {
                        whole.title = String::new();
                    }
                    whole
                }
            });
        }
        if lines.len() > most {
            return Err(format!("there are {} lines, and at most {most} can be told apart", lines.len()));
        }
        let mut whole = whole.ok_or("there are no lines")?;
        labels.dedup();
        if labels.len() > 1 {
            // What they have in common is the unit, if it is anything.
            let unit = |label: &String| label.rfind('(').and_then(|at| label.get(at..)).map(str::to_owned);
            let mut units: Vec<Option<String>> = labels.iter().map(unit).collect();
            units.dedup();
            whole.y.label = match units.as_slice() {
                [Some(unit)] => unit.trim_matches(['(', ')']).to_owned(),
                _ => String::new(),
            };
        }
        whole.note = notes.join("; ");
        whole.body = Body::Lines(lines);
        Ok(whole)
    }

    /// Returns the ranges of its values, which a series of pictures has in common.
    pub(crate) fn ranges(&self) -> Ranges {
        let of = |axis: &Axis| Some((axis.low, axis.high));
        match &self.body {
            Body::Lines(_) | Body::Bars(_) => Ranges { y: of(&self.y), ..Ranges::default() },
            Body::Image { values, .. } => Ranges { values: of(values), ..Ranges::default() },
            Body::Points { values, .. } => {
                Ranges { x: of(&self.x), y: of(&self.y), values: values.as_ref().and_then(of) }
            }
            Body::Picture { .. } => Ranges::default(),
        }
    }

    /// Returns the figure with these ranges.
    pub(crate) fn within(mut self, ranges: &Ranges) -> Self {
        let set = |axis: &mut Axis, range: Option<(f64, f64)>| {
            if let Some((low, high)) = range {
                (axis.low, axis.high) = (low, high);
            }
        };
        set(&mut self.x, ranges.x);
        set(&mut self.y, ranges.y);
        match &mut self.body {
            Body::Image { values, .. } | Body::Points { values: Some(values), .. } => {
                set(values, ranges.values);
            }
            _ => {}
        }
        self
    }

    /// Returns the axes of points in a picture whose width is `aspect` times its height, with some room around them. Equal
    /// distances are equally long on both, unless one of the axes would have to become much longer.
    pub(crate) fn even(&self, aspect: f64) -> (Axis, Axis) {
        /// The largest part of an axis that may stay empty for that.
        const STRETCH: f64 = 4.0;
        let roomy = |axis: &Axis, factor: f64| {
            if axis.log {
                return axis.clone();
            }
            let (middle, half) =
                (axis.low / 2.0 + axis.high / 2.0, (axis.high / 2.0 - axis.low / 2.0) * factor);
            Axis { low: middle - half, high: middle + half, ..axis.clone() }
        };
        let (x, y) = (roomy(&self.x, 1.06), roomy(&self.y, 1.06));
        let ratio = (x.high - x.low) / (y.high - y.low) / aspect;
        let dates = x.dates.is_some() || y.dates.is_some() || x.log || y.log;
        if dates || !ratio.is_finite() || !(1.0 / STRETCH..=STRETCH).contains(&ratio) {
            return (x, y);
        }
        if ratio < 1.0 { (roomy(&x, 1.0 / ratio), y) } else { (x, roomy(&y, ratio)) }
    }

    /// Returns the figure with a logarithmic scale of its values, from the smallest one above 0.
    ///
    /// # Errors
    ///
    /// The reason, if no value is above 0 or if the values are counts.
    pub(crate) fn logarithmic(mut self) -> Result<Self, &'static str> {
        let least = |values: &mut dyn Iterator<Item = f64>| {
            values.filter(|value| *value > 0.0 && value.is_finite()).fold(f64::INFINITY, f64::min)
        };
        let (axis, low) = match &mut self.body {
            Body::Lines(lines) => {
                let mut values =
                    lines.iter().flat_map(|line| line.bins().flat_map(|bin| [bin.low, bin.high]));
                let low = least(&mut values);
                (&mut self.y, low)
            }
            Body::Image { grid, values } => {
                let low = least(&mut grid.values.iter().copied());
                (values, low)
            }
            Body::Bars(_) => return Err("counts, which have no logarithmic scale"),
            Body::Points { cloud, .. } => {
                let low = least(&mut cloud.spots().map(|spot| spot.y));
                (&mut self.y, low)
            }
            Body::Picture { .. } => return Err("colours, which have no logarithmic scale"),
        };
        if !low.is_finite() || axis.high <= 0.0 {
            return Err("no value above 0, as a logarithmic scale needs");
        }
        axis.log = true;
        (axis.low, axis.high) = if low < axis.high { (low, axis.high) } else { (low / 2.0, low * 2.0) };
        Ok(self)
    }
}

/// The ranges of values of several pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ranges {
    x: Option<(f64, f64)>,
    y: Option<(f64, f64)>,
    values: Option<(f64, f64)>,
}

impl Ranges {
    /// Returns the ranges that contain both.
    pub(crate) fn and(self, other: Self) -> Self {
        let join = |one: Option<(f64, f64)>, other: Option<(f64, f64)>| match (one, other) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        Self { x: join(self.x, other.x), y: join(self.y, other.y), values: join(self.values, other.values) }
    }
}

/// The contents of a picture.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// Values along x.
    Lines(Vec<Line>),
    /// Values over x and y as colours. The first row is at the low end of y, which is the upper end.
    Image {
        grid: Grid,
        /// The meaning of the colours.
        values: Axis,
    },
    /// A histogram.
    Bars(Bars),
    /// Points at their x and y.
    Points {
        cloud: Cloud,
        /// The meaning of the colours, if the points have a third number.
        values: Option<Axis>,
    },
    /// Colours as they are stored.
    Picture {
        pixels: Pixels,
        /// The number of values that are not finite.
        left_out: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, x: (f64, f64), y: (f64, f64), label: &str) -> Figure {
        let mut line = Line::new(name, x, 10);
        line.add(x.0, y.0);
        line.add(x.1, y.1);
        Figure {
            title: "u".into(),
            note: String::new(),
            x: Axis::new("t (s)", x.0, x.1),
            y: Axis::new(label, y.0, y.1),
            body: Body::Lines(vec![line]),
        }
    }

    #[test]
    fn several_figures_become_one() {
        let figures = || {
            vec![
                ("a".to_owned(), line("", (0.0, 5.0), (1.0, 2.0), "speed (m/s)")),
                ("b".to_owned(), line("", (9.0, 3.0), (-4.0, 1.5), "wind (m/s)")),
            ]
        };
        let whole = Figure::together(figures(), 7).unwrap();
        assert_eq!((whole.x.low, whole.x.high, whole.y.low, whole.y.high), (0.0, 9.0, -4.0, 2.0));
        assert_eq!((whole.x.label.as_str(), whole.y.label.as_str()), ("t (s)", "m/s"));
        let Body::Lines(lines) = &whole.body else { panic!("no lines") };
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(Figure::together(figures(), 1).unwrap_err().contains("at most 1"));
        let mut other = figures();
        other[1].1.x.dates = Some(Calendar::Standard);
        assert!(Figure::together(other, 7).unwrap_err().contains("dates"));
        let mut other = figures();
        other[1].1.body = Body::Bars(Bars::new((0.0, 1.0), 1));
        assert!(Figure::together(other, 7).unwrap_err().contains("not drawn as lines"));
    }
}
