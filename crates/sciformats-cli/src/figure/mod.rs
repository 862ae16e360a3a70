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
}

impl Axis {
    /// Creates an axis of numbers.
    pub(crate) fn new(label: impl Into<String>, low: f64, high: f64) -> Self {
        Self { label: label.into(), low, high, dates: None }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        // Both are halved, because the difference of two large numbers may be infinite.
        let span = self.high / 2.0 - self.low / 2.0;
        if span == 0.0 { 0.5 } else { (value / 2.0 - self.low / 2.0) / span }
    }

    /// Returns the same axis, widened if both ends are equal.
    pub(crate) fn widened(self) -> Self {
        let Self { label, low, high, dates } = self;
        match (low.is_finite() && high.is_finite(), low < high) {
            (false, _) => Self { label, low: 0.0, high: 1.0, dates },
            (true, true) => Self { label, low, high, dates },
            (true, false) => {
                let room = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
                Self { label, low: low - room, high: low + room, dates }
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
