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
//! | [`raster`], [`svg`] | the two canvases: pixels, and shapes |

pub(crate) mod canvas;
pub(crate) mod dates;
pub(crate) mod palette;
pub(crate) mod paper;
pub(crate) mod pdf;
pub(crate) mod raster;
pub(crate) mod sample;
pub(crate) mod screen;
pub(crate) mod svg;
pub(crate) mod terminal;
pub(crate) mod ticks;

use sample::{Bars, Grid, Line};
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
        };
        if !low.is_finite() || axis.high <= 0.0 {
            return Err("no value above 0, as a logarithmic scale needs");
        }
        axis.log = true;
        (axis.low, axis.high) = if low < axis.high { (low, axis.high) } else { (low / 2.0, low * 2.0) };
        Ok(self)
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
}
