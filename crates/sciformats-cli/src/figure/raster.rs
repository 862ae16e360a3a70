//! A canvas of pixels, and the PNG encoder for it. Text is drawn with the 8 × 8 dots of `font8x8`, so a
//! picture looks the same on every machine.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, MISC_FONTS, UnicodeFonts};
use sciformats::{Error, Result};
use sciformats_core::arith::fit;

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::palette::{BLACK, Colour, WHITE};

/// The number of pixels per dot of a character.
const DOT: usize = TEXT as usize / 8;

/// A picture that consists of pixels.
#[derive(Debug)]
pub(crate) struct Raster {
    pixels: Pixels,
}

impl Raster {
    /// Creates a white picture of this size.
    pub(crate) fn new(Size { width, height }: Size) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self { pixels: Pixels { width, colours: vec![WHITE; width * height] } }
    }

    /// Returns the PNG file.
    ///
    /// # Errors
    ///
    /// As [`png`].
    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        png(&self.pixels)
    }

    /// Mixes a colour into a pixel.
    fn mix(&mut self, (x, y): (usize, usize), colour: Colour, part: f64) {
        if x >= self.pixels.width {
            return;
        }
        if let Some(pixel) = self.pixels.colours.get_mut(y * self.pixels.width + x) {
            for (old, new) in pixel.iter_mut().zip(colour) {
                *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * part).round() as u8;
            }
        }
    }

    /// Draws a segment of a line: each pixel is covered as far as it is within half the width of the segment.
    fn stroke(&mut self, (x0, y0): Point, (x1, y1): Point, width: f64, colour: Colour) {
        let reach = width / 2.0 + 1.0;
        let (columns, rows) = (self.pixels.width, self.pixels.height());
        let span = |a: f64, b: f64, most: usize| {
            let (low, high) = (a.min(b) - reach, a.max(b) + reach);
            (low.max(0.0) as usize)..(high.max(0.0).ceil() as usize).min(most)
        };
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = (dx * dx + dy * dy).max(f64::MIN_POSITIVE);
        for y in span(y0, y1, rows) {
            for x in span(x0, x1, columns) {
                // The middle of the pixel, and the nearest point of the segment.
                let (px, py) = (x as f64 + 0.5 - x0, y as f64 + 0.5 - y0);
                let along = ((px * dx + py * dy) / length).clamp(0.0, 1.0);
                let (ox, oy) = (px - along * dx, py - along * dy);
                let cover = (width / 2.0 + 0.5 - (ox * ox + oy * oy).sqrt()).clamp(0.0, 1.0);
                if cover > 0.0 {
                    self.mix((x, y), colour, cover);
                }
            }
        }
    }
}

impl Canvas for Raster {
    fn fill(&mut self, area: Area, colour: Colour) {
        self.image(area, &Pixels { width: 1, colours: vec![colour] });
    }

    fn line(&mut self, points: &[Point], width: f64, colour: Colour) {
        for pair in points.windows(2) {
            if let [from, to] = pair {
                self.stroke(*from, *to, width, colour);
            }
        }
    }

    fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor) {
        let length = text.chars().count() as f64 * TEXT;
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle | Anchor::Upwards => length / 2.0,
            Anchor::End => length,
        };
        let (along, across) = (-before, -TEXT / 2.0);
        for (i, character) in text.chars().enumerate() {
            let dots = dots(character);
            for (row, dots) in dots.into_iter().enumerate() {
                for column in (0..8).filter(|column| dots >> column & 1 == 1) {
                    let (a, b) =
                        (along + i as f64 * TEXT + (column * DOT) as f64, across + (row * DOT) as f64);
                    let side = DOT as f64;
                    let (x, y) =
                        if anchor == Anchor::Upwards { (x + b, y - a - side) } else { (x + a, y + b) };
                    self.fill(Area { x: x.round(), y: y.round(), width: side, height: side }, BLACK);
                }
            }
        }
    }

    fn image(&mut self, area: Area, pixels: &Pixels) {
        let edge = |value: f64, most: usize| (value.round().max(0.0) as usize).min(most);
        let (width, height) = (self.pixels.width, self.pixels.height());
        let (left, right) = (edge(area.x, width), edge(area.x + area.width, width));
        let (top, bottom) = (edge(area.y, height), edge(area.y + area.height, height));
        let (columns, rows) = (pixels.width.max(1), pixels.height().max(1));
        let field = |at: usize, start: f64, length: f64, count: usize| {
            let part = (at as f64 + 0.5 - start) / length.max(f64::MIN_POSITIVE);
            ((part * count as f64).max(0.0) as usize).min(count - 1)
        };
        for y in top..bottom {
            let row = field(y, area.y, area.height, rows) * columns;
            for x in left..right {
                let colour = pixels.colours.get(row + field(x, area.x, area.width, columns));
                if let (Some(&colour), Some(pixel)) = (colour, self.pixels.colours.get_mut(y * width + x)) {
                    *pixel = colour;
                }
            }
        }
    }
}

/// Returns the rows of a character, with the first dot in the lowest bit, or a question mark if the font
/// lacks the character.
fn dots(character: char) -> [u8; 8] {
    let character = match character {
        '×' => 'x',
        '…' => '.',
        '−' | '–' => '-',
        other => other,
    };
    let known = BASIC_FONTS.get(character).or_else(|| LATIN_FONTS.get(character));
    let known = known.or_else(|| GREEK_FONTS.get(character)).or_else(|| MISC_FONTS.get(character));
    known.or_else(|| BASIC_FONTS.get('?')).unwrap_or_default()
}

/// Encodes pixels as a PNG file.
///
/// # Errors
///
/// `Internal` for a picture without pixels, or for one that is larger than PNG permits.
pub(crate) fn png(pixels: &Pixels) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let width = fit(pixels.width, "width of a picture")?;
    let mut encoder = png::Encoder::new(&mut out, width, fit(pixels.height(), "height of a picture")?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels.colours.as_flattened())?;
        writer.finish()
    });
    written.map_err(|error| Error::internal(format!("a picture cannot be encoded: {error}")))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dark(raster: &Raster) -> usize {
        raster.pixels.colours.iter().filter(|colour| **colour == BLACK).count()
    }

    #[test]
    fn lines_rectangles_and_text() {
        let size = Size { width: 40, height: 30 };
        let mut raster = Raster::new(size);
        raster.line(&[(5.0, 10.5), (25.0, 10.5)], 1.0, BLACK);
        assert_eq!(dark(&raster), 20);
        raster.fill(Area { x: -5.0, y: 28.0, width: 100.0, height: 100.0 }, BLACK);
        assert_eq!(dark(&raster), 20 + 80);
        let mut raster = Raster::new(size);
        raster.text((20.0, 15.0), "I", Anchor::Middle);
        let upright = dark(&raster);
        let mut raster = Raster::new(size);
        raster.text((20.0, 15.0), "I", Anchor::Upwards);
        assert_eq!(dark(&raster), upright);
        assert!(upright > 40);
        // What is not on the canvas is not drawn.
        raster.text((-300.0, 900.0), "far away", Anchor::End);
        assert_eq!(dark(&raster), upright);
    }

    #[test]
    fn a_png_holds_the_pixels() {
        let pixels = Pixels { width: 2, colours: vec![[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]] };
        let mut reader = png::Decoder::new(std::io::Cursor::new(png(&pixels).unwrap())).read_info().unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut back).unwrap();
        assert_eq!((info.width, info.height), (2, 2));
        assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let none = Pixels { width: 0, colours: Vec::new() };
        assert!(matches!(png(&none), Err(Error::Internal { .. })));
    }

    #[test]
    fn units_have_their_letters() {
        for character in ['m', '/', 'µ', 'Å', '°', '²', 'λ', 'Ω'] {
            assert_ne!(dots(character), dots('?'), "{character}");
        }
    }
}
