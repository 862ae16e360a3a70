//! The surface that pictures in files are drawn on.

use std::str::FromStr;

use super::palette::Colour;

/// A position on a canvas, in pixels from its upper left corner.
pub(crate) type Point = (f64, f64);

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Which point of a text is at the given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
    /// The middle, with the text running upwards.
    Upwards,
}

/// A rectangle of colours, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Pixels {
    pub(crate) width: usize,
    pub(crate) colours: Vec<Colour>,
}

impl Pixels {
    pub(crate) fn height(&self) -> usize {
        self.colours.len() / self.width.max(1)
    }
}

/// The size of letters, in pixels.
pub(crate) const TEXT: f64 = 16.0;

/// A surface to draw on: pixels, or a list of shapes.
pub(crate) trait Canvas {
    /// Fills a rectangle.
    fn fill(&mut self, area: Area, colour: Colour);

    /// Draws a line through the points.
    fn line(&mut self, points: &[Point], width: f64, colour: Colour);

    /// Draws a round dot.
    fn dot(&mut self, at: Point, radius: f64, colour: Colour) {
        // The ends of lines are round.
        self.line(&[at, at], radius * 2.0, colour);
    }

    /// Writes text, vertically centred at `at`.
    fn text(&mut self, at: Point, text: &str, anchor: Anchor);

    /// Fills a rectangle with pixels; each becomes a rectangle of its own.
    fn image(&mut self, area: Area, pixels: &Pixels);
}

/// The width and height of a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The permitted widths and heights. Smaller pictures have no room for their axes, and larger ones are a
/// mistake.
const SIZES: std::ops::RangeInclusive<u32> = 200..=16_384;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || format!("expected WIDTHxHEIGHT with {} to {} pixels", SIZES.start(), SIZES.end());
        let (width, height) = text.split_once(['x', ',']).ok_or_else(problem)?;
        let length = |text: &str| text.trim().parse().ok().filter(|length| SIZES.contains(length));
        let (width, height) = (length(width).ok_or_else(problem)?, length(height).ok_or_else(problem)?);
        Ok(Self { width, height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("640x480".parse(), Ok(Size { width: 640, height: 480 }));
        for text in ["", "640", "0x5", "640x", "99999999x300"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
