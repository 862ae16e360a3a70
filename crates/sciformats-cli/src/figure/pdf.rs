//! A canvas of shapes, in the Portable Document Format 1.4 (ISO 32000-1). Text is in Helvetica, which every reader
//! has, with the characters of the encoding `WinAnsiEncoding`.

use std::fmt::Write;

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::palette::Colour;

/// A picture as a document of one page.
#[derive(Debug)]
pub(crate) struct Pdf {
    size: Size,
    /// The content of the page.
    page: String,
    images: Vec<Pixels>,
}

/// The number of points per pixel, of which there are 96 per inch.
const POINT: f64 = 0.75;

/// The widths of the characters from the space to the tilde, in thousandths of their height.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The width of any other character.
const OTHER: u16 = 556;

/// Returns the code of a character in the encoding.
fn code(c: char) -> u8 {
    match c {
        ' '..='~' | '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).unwrap_or(b'?'), // a bound: all of them fit
        'μ' => 0xb5,
        '…' => 0x85,
        '–' | '−' => 0x96,
        '—' => 0x97,
        '€' => 0x80,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        _ => b'?',
    }
}

/// Returns the width of a text in pixels.
fn width(codes: &[u8]) -> f64 {
    let of = |code: &u8| {
        let known = code.checked_sub(b' ').and_then(|at| WIDTHS.get(usize::from(at)));
        f64::from(known.copied().unwrap_or(OTHER))
    };
    codes.iter().map(of).sum::<f64>() * TEXT / 1000.0
}

impl Pdf {
    /// Creates a white picture of this size.
    pub(crate) fn new(size: Size) -> Self {
        Self { size, page: String::new(), images: Vec::new() }
    }

    /// Returns the complete file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let (width, height) = (f64::from(self.size.width) * POINT, f64::from(self.size.height) * POINT);
        // Pixels are counted from the upper edge, and points from the lower one.
        let content = format!("q {POINT} 0 0 -{POINT} 0 {} cm\n1 J 1 j\n{}Q\n", short(height), self.page);
        let mut resources = String::new();
        for (at, _) in self.images.iter().enumerate() {
            let _ = write!(resources, " /I{at} {} 0 R", at + 6);
        }
        let mut objects: Vec<Vec<u8>> = vec![
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R \
                 /Resources << /Font << /F 5 0 R >> /XObject <<{resources} >> >> >>",
                short(width),
                short(height)
            )
            .into_bytes(),
            stream("", content.as_bytes()),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
        ];
        for image in &self.images {
            let what = format!(
                " /Type /XObject /Subtype /Image /Width {} /Height {} /ColorSpace /DeviceRGB /BitsPerComponent 8",
                image.width,
                image.height()
            );
            objects.push(stream(&what, image.colours.as_flattened()));
        }
        let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for (object, number) in objects.iter().zip(1..) {
            let _ = writeln!(table, "{:010} 00000 n ", file.len());
            file.extend(format!("{number} 0 obj\n").bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let start = file.len();
        file.extend(table.bytes());
        let size = objects.len() + 1;
        file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
        file
    }

    fn put(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = self.page.write_fmt(shape);
    }
}

/// Returns a stream with its dictionary.
fn stream(what: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("<<{what} /Length {} >>\nstream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"\nendstream");
    out
}

impl Canvas for Pdf {
    fn fill(&mut self, area: Area, colour: Colour) {
        let [x, y, width, height] = [area.x, area.y, area.width, area.height].map(short);
        let colour = shade(colour);
        self.put(format_args!("{colour} rg {x} {y} {width} {height} re f\n"));
    }

    fn line(&mut self, points: &[Point], width: f64, colour: Colour) {
        let (width, colour) = (short(width), shade(colour));
        self.put(format_args!("{colour} RG {width} w"));
        for (at, &(x, y)) in points.iter().enumerate() {
            let (x, y, verb) = (short(x), short(y), if at == 0 { "m" } else { "l" });
            self.put(format_args!(" {x} {y} {verb}"));
        }
        self.put(format_args!("{} S\n", if points.is_empty() { " n" } else { "" }));
    }

    fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor) {
        if text.is_empty() {
            return;
        }
        let codes: Vec<u8> = text.chars().map(code).collect();
        let along = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle | Anchor::Upwards => width(&codes) / 2.0,
            Anchor::End => width(&codes),
        };
        // The middle of most characters is this far above the line on which they stand.
        let down = 0.35 * TEXT;
        let matrix = match anchor {
            Anchor::Upwards => format!("0 -1 -1 0 {} {}", short(x + down), short(y + along)),
            _ => format!("1 0 0 -1 {} {}", short(x - along), short(y + down)),
        };
        let hex: String = codes.iter().map(|code| format!("{code:02x}")).collect();
        self.put(format_args!("0 g BT /F {TEXT} Tf {matrix} Tm <{hex}> Tj ET\n"));
    }

    fn image(&mut self, area: Area, pixels: &Pixels) {
        if pixels.colours.is_empty() {
            return;
        }
        let number = self.images.len();
        let [x, width, height] = [area.x, area.width, area.height].map(short);
        let bottom = short(area.y + area.height);
        self.put(format_args!("q {width} 0 0 -{height} {x} {bottom} cm /I{number} Do Q\n"));
        self.images.push(pixels.clone());
    }
}

/// Formats a coordinate with two digits after the point; more are not visible.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Formats a colour as parts of one.
fn shade(colour: Colour) -> String {
    let parts = colour.map(|part| {
        let text = format!("{:.3}", f64::from(part) / 255.0);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    });
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_operators() {
        let mut pdf = Pdf::new(Size { width: 400, height: 200 });
        pdf.fill(Area { x: 1.0, y: 2.005, width: 3.5, height: 4.0 }, [255, 0, 51]);
        pdf.line(&[(0.0, 0.0), (1.0 / 3.0, 2.0)], 1.5, [0, 0, 0]);
        pdf.text((5.0, 6.0), "µ→…", Anchor::Start);
        pdf.text((5.0, 6.0), "ab", Anchor::Upwards);
        let pixels = Pixels { width: 1, colours: vec![[1, 2, 3], [4, 5, 6]] };
        pdf.image(Area { x: 1.0, y: 2.0, width: 30.0, height: 40.0 }, &pixels);
        let file = pdf.finish();
        let text = String::from_utf8_lossy(&file).into_owned();
        assert!(text.contains("1 0 0.2 rg 1 2 3.5 4 re f\n"), "{text}");
        assert!(text.contains("0 0 0 RG 1.5 w 0 0 m 0.33 2 l S\n"), "{text}");
        assert!(text.contains("1 0 0 -1 5 11.6 Tm <b53f85> Tj"), "{text}");
        // Both letters are 556 thousandths wide.
        assert!(text.contains("0 -1 -1 0 10.6 14.9 Tm <6162> Tj"), "{text}");
        assert!(text.contains("q 30 0 0 -40 1 42 cm /I0 Do Q\n"), "{text}");
        assert!(text.contains("/Width 1 /Height 2 ") && text.contains("/MediaBox [0 0 300 150]"), "{text}");
        assert!(file.windows(7).any(|part| part == b"\n\x01\x02\x03\x04\x05\x06"));
        // Every offset in the table is that of an object.
        let table = text.split("xref\n").nth(1).unwrap();
        for (entry, number) in table.lines().skip(2).take(6).zip(1..) {
            let at: usize = entry.split(' ').next().unwrap().parse().unwrap();
            assert!(file[at..].starts_with(format!("{number} 0 obj").as_bytes()), "{entry}");
        }
    }
}
