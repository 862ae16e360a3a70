//! A canvas of shapes, in Scalable Vector Graphics 1.1.

use std::fmt::Write;

use sciformats::{Error, Result};

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::palette::Colour;
use super::raster;

/// A picture as SVG text.
#[derive(Debug)]
pub(crate) struct Svg {
    text: String,
    /// The first error of encoding an image in it.
    failed: Option<Error>,
}

impl Svg {
    /// Creates a white picture of this size.
    pub(crate) fn new(Size { width, height }: Size) -> Self {
        let mut svg = Self { text: String::new(), failed: None };
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"{TEXT}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        ));
        svg
    }

    /// Returns the complete file.
    ///
    /// # Errors
    ///
    /// As [`raster::png`].
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.text.push_str("</svg>\n");
        self.failed.map_or(Ok(self.text.into_bytes()), Err)
    }

    fn put(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = self.text.write_fmt(shape);
    }
}

impl Canvas for Svg {
    fn fill(&mut self, area: Area, colour: Colour) {
        let Area { x, y, width, height } = area;
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        let colour = hex(colour);
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>\n"
        ));
    }

    fn line(&mut self, points: &[Point], width: f64, colour: Colour) {
        let points: Vec<String> = points.iter().map(|&(x, y)| format!("{},{}", short(x), short(y))).collect();
        let (points, width, colour) = (points.join(" "), short(width), hex(colour));
        self.put(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n"
        ));
    }

    fn dot(&mut self, (x, y): Point, radius: f64, colour: Colour) {
        let (x, y, radius, colour) = (short(x), short(y), short(radius), hex(colour));
        self.put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>\n"));
    }

    fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor) {
        if text.is_empty() {
            return;
        }
        let (x, y, text) = (short(x), short(y), escaped(text));
        let word = match anchor {
            Anchor::Start => "start",
            Anchor::Middle | Anchor::Upwards => "middle",
            Anchor::End => "end",
        };
        let turn = match anchor {
            Anchor::Upwards => format!(" transform=\"rotate(-90 {x} {y})\""),
            _ => String::new(),
        };
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" text-anchor=\"{word}\"{turn}>{text}</text>\n"
        ));
    }

    fn image(&mut self, area: Area, pixels: &Pixels) {
        let Area { x, y, width, height } = area;
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        if pixels.colours.is_empty() {
            return;
        }
        let data = match raster::png(pixels) {
            Ok(data) => base64(&data),
            Err(error) => {
                self.failed.get_or_insert(error);
                return;
            }
        };
        self.put(format_args!(
            "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,{data}\"/>\n"
        ));
    }
}

/// Formats a coordinate with two digits after the point; more are not visible.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML does not permit these characters, not even escaped.
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// Encodes bytes as base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().chain([&0, &0]).take(3).fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        for i in 0..4 {
            let digit = DIGITS.get((word >> (18 - 6 * i) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if i <= three.len() { digit.into() } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn shapes_are_text() {
        let mut svg = Svg::new(Size { width: 300, height: 200 });
        svg.fill(Area { x: 1.0, y: 2.005, width: 3.5, height: 4.0 }, [255, 0, 16]);
        svg.line(&[(0.0, 0.0), (1.0 / 3.0, 2.0)], 1.5, [0, 0, 0]);
        svg.dot((7.0, 8.0), 2.5, [0, 0, 255]);
        svg.text((5.0, 6.0), "a<b & \u{1}", Anchor::Upwards);
        let text = String::from_utf8(svg.finish().unwrap()).unwrap();
        assert!(
            text.contains("<rect x=\"1\" y=\"2\" width=\"3.5\" height=\"4\" fill=\"#ff0010\"/>"),
            "{text}"
        );
        assert!(text.contains("points=\"0,0 0.33,2\""), "{text}");
        assert!(text.contains("<circle cx=\"7\" cy=\"8\" r=\"2.5\" fill=\"#0000ff\"/>"), "{text}");
        assert!(text.contains("rotate(-90 5 6)\">a&lt;b &amp; \u{FFFD}</text>"), "{text}");
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    }
}
