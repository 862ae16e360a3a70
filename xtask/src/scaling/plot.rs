//! Draws lines over logarithmic axes as SVG: panels side by side with one legend below. The same lines always
//! produce the same text.

use std::fmt::Write as _;

/// A line and its label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 300.0;
/// The room to the left of a panel, above it, and below it.
const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;
const LEGEND: f64 = 16.0;

/// Colours that people with red-green blindness can tell apart, and dashes if there are more lines than
/// colours.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// The decades that an axis shows, as the exponents of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let logarithms = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) =
            logarithms.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Self { low: 0, high: 1 };
        }
        let low = low.floor() as i32;
        Self { low, high: (high.ceil() as i32).max(low + 1) }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    fn position(self, value: f64) -> f64 {
        (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn marks(self) -> impl Iterator<Item = (i32, f64)> {
        (self.low..=self.high).map(move |exponent| (exponent, self.position(10f64.powi(exponent))))
    }
}

/// Draws a picture. All panels have the same lines, over the same sizes.
pub(crate) fn plot(title: &str, unit: &str, panels: &[(&str, Vec<Line>)]) -> String {
    let labels: Vec<&str> = panels
        .first()
        .map_or(Vec::new(), |(_, lines)| lines.iter().map(|line| line.label.as_str()).collect());
    let rows = labels.len().div_ceil(2) as f64;
    let (width, height) = (panels.len() as f64 * WIDTH, HEIGHT + 12.0 + rows * LEGEND);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (number, (what, lines)) in panels.iter().enumerate() {
        let _ = writeln!(text, "<g transform=\"translate({} 0)\">", number as f64 * WIDTH);
        panel(&mut text, &format!("{title}: {what} over {unit}"), lines);
        text.push_str("</g>\n");
    }
    for (number, label) in labels.iter().enumerate() {
        let x = if number % 2 == 0 { LEFT } else { LEFT + width / 2.0 };
        let y = HEIGHT + 8.0 + (number / 2) as f64 * LEGEND;
        let _ = writeln!(text, "<path d=\"M{x} {y}h26\" {}/>", stroke(number));
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">{}</text>", x + 32.0, y + 4.0, escaped(label));
    }
    text.push_str("</svg>\n");
    text
}

fn panel(text: &mut String, title: &str, lines: &[Line]) {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Decades::of(points().map(|(x, _)| *x));
    let y = Decades::of(points().map(|(_, y)| *y));
    let (right, bottom) = (WIDTH - 12.0, HEIGHT - BOTTOM);
    let across = |part: f64| LEFT + part * (right - LEFT);
    let down = |part: f64| bottom - part * (bottom - TOP);
    let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{}</text>", escaped(title));
    for (exponent, part) in x.marks() {
        let x = across(part);
        let _ = writeln!(text, "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            power(exponent)
        );
    }
    for (exponent, part) in y.marks() {
        let y = down(part);
        let _ = writeln!(text, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            power(exponent)
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let mut path = String::new();
        for (place, (a, b)) in line.points.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", across(x.position(*a)), down(y.position(*b)));
        }
        let _ = writeln!(text, "<path d=\"{path}\" {}/>", stroke(number));
    }
}

fn stroke(number: usize) -> String {
    let colour = COLOURS.get(number % COLOURS.len()).unwrap_or(&"#000");
    let dash = DASHES.get(number / COLOURS.len() % DASHES.len()).unwrap_or(&"");
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\"")
}

/// Formats a power of ten with a raised exponent.
fn power(exponent: i32) -> String {
    format!("10<tspan dy=\"-4\" font-size=\"8\">{exponent}</tspan>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_show_whole_decades() {
        assert_eq!(Decades::of([20.0, 3000.0].into_iter()), Decades { low: 1, high: 4 });
        assert_eq!(Decades::of([100.0].into_iter()), Decades { low: 2, high: 3 });
        assert_eq!(Decades::of([0.0].into_iter()), Decades { low: 0, high: 1 });
        assert!((Decades { low: 0, high: 4 }.position(100.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_straight_line_is_straight_and_labels_are_text() {
        let points = vec![(10.0, 0.001), (100.0, 0.01), (1000.0, 0.1)];
        let lines = vec![Line { label: "a < b".to_owned(), points }];
        let text = plot("T", "objects", &[("seconds", lines.clone()), ("MiB", lines)]);
        assert!(text.contains(">a &lt; b</text>"), "{text}");
        assert!(text.contains("d=\"M62.0 256.0L245.0 145.0L428.0 34.0\""), "{text}");
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
        assert!(text.contains("T: seconds over objects"));
    }
}
