//! A canvas of pixels, and the PNG encoder for it.

use sciformats::{Error, Result};
use sciformats_core::arith::fit;

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::font;
use super::palette::{BLACK, Colour, WHITE};

/// A picture that consists of pixels.
#[derive(Debug)]
pub(crate) struct Raster {
    pixels: Pixels,
    /// The number of pixels for each unit of length on the canvas.
    scale: f64,
}

impl Raster {
    /// Creates a white picture of this size, which has `scale` times as many pixels in both directions.
    pub(crate) fn new(Size { width, height }: Size, scale: u32) -> Self {
        let (width, height) = ((width * scale) as usize, (height * scale) as usize);
        Self { pixels: Pixels { width, colours: vec![WHITE; width * height] }, scale: f64::from(scale) }
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
        let scale = self.scale;
        let scaled = |(x, y): Point| (x * scale, y * scale);
        for pair in points.windows(2) {
            if let &[from, to] = pair {
                self.stroke(scaled(from), scaled(to), width * scale, colour);
            }
        }
    }

    fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor) {
        let size = TEXT * self.scale;
        let length = font::width(text, size);
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle | Anchor::Upwards => length / 2.0,
            Anchor::End => length,
        };
        // The middle of most letters is this far above the line on which they stand.
        let down = 0.36 * size;
        let (x, y) = (x * self.scale, y * self.scale);
        // Letters stand on whole pixels, so that their edges are sharp.
        let (x, y) = match anchor {
            Anchor::Upwards => ((x + down).round(), (y + before).round()),
            _ => ((x - before).round(), (y + down).round()),
        };
        let (x, y) = (x as i64, y as i64);
        font::draw(text, size, &mut |across, below, cover| {
            let (x, y) = match anchor {
                Anchor::Upwards => (x + below, y - across - 1),
                _ => (x + across, y + below),
            };
            if let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) {
                self.mix((x, y), BLACK, cover);
            }
        });
    }

    fn image(&mut self, area: Area, pixels: &Pixels) {
        let Area { x, y, width, height } = area;
        let [x, y, width, height] = [x, y, width, height].map(|length| length * self.scale);
        let area = Area { x, y, width, height };
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

    /// The number of black pixels that all others make together.
    fn ink(raster: &Raster) -> f64 {
        raster.pixels.colours.iter().map(|[red, ..]| 1.0 - f64::from(*red) / 255.0).sum()
    }

    #[test]
    fn lines_rectangles_and_text() {
        let size = Size { width: 40, height: 30 };
        let mut raster = Raster::new(size, 1);
        raster.line(&[(5.0, 10.5), (25.0, 10.5)], 1.0, BLACK);
        assert_eq!(dark(&raster), 20);
        raster.fill(Area { x: -5.0, y: 28.0, width: 100.0, height: 100.0 }, BLACK);
        assert_eq!(dark(&raster), 20 + 80);
        raster.dot((20.0, 20.0), 3.0, BLACK);
        assert!((25.0..32.0).contains(&(ink(&raster) - 100.0)));
        let drawn = |anchor| {
            let mut raster = Raster::new(size, 1);
            raster.text((20.0, 15.0), "I", anchor);
            raster
        };
        let upright = ink(&drawn(Anchor::Middle));
        assert!((12.0..40.0).contains(&upright), "{upright}");
        assert!((ink(&drawn(Anchor::Upwards)) - upright).abs() < 0.1);
        // The middle of the letter is where it should be, whichever way it stands.
        for anchor in [Anchor::Middle, Anchor::Upwards] {
            let raster = drawn(anchor);
            let each = raster.pixels.colours.iter().enumerate().filter(|(_, colour)| **colour != WHITE);
            let (mut sum, mut count) = ((0.0, 0.0), 0.0);
            for (at, _) in each {
                sum = (sum.0 + (at % 40) as f64 + 0.5, sum.1 + (at / 40) as f64 + 0.5);
                count += 1.0;
            }
            assert!((sum.0 / count - 20.0).abs() < 1.5 && (sum.1 / count - 15.0).abs() < 1.5, "{anchor:?}");
        }
        // What is not on the canvas is not drawn.
        let mut raster = Raster::new(size, 1);
        raster.text((-300.0, 900.0), "far away", Anchor::End);
        assert_eq!(ink(&raster), 0.0);
    }

    #[test]
    fn a_larger_scale_has_more_pixels_of_the_same_picture() {
        let drawn = |scale| {
            let mut raster = Raster::new(Size { width: 60, height: 30 }, scale);
            raster.fill(Area { x: 2.0, y: 2.0, width: 10.0, height: 5.0 }, BLACK);
            raster.line(&[(20.0, 10.0), (50.0, 25.0)], 2.0, BLACK);
            raster.text((30.0, 10.0), "Kelvin", Anchor::Middle);
            raster
        };
        let (small, large) = (drawn(1), drawn(3));
        assert_eq!((large.pixels.width, large.pixels.height()), (180, 90));
        let ratio = ink(&large) / ink(&small) / 9.0;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
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
}
