//! A picture of plans: which ranges of a file were requested, when, and how long each request took.

use std::fmt::Write as _;
use std::ops::Range;

/// A request: its milliseconds since the first request began, and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) time: Range<f64>,
    pub(super) bytes: Range<u64>,
}

/// The requests of one program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) requests: Vec<Request>,
}

const WIDTH: f64 = 880.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 34.0;
const HEIGHT: f64 = 170.0;
const GAP: f64 = 30.0;
const BLUE: &str = "#0072b2";

/// The height of the smallest request.
const LEAST: f64 = 2.5;

const MIB: f64 = 1_048_576.0;

/// Draws the panels below each other, with one axis of time. Time goes to the right, and the file begins at the top of each panel.
pub(super) fn draw(panels: &[Panel], size: u64) -> String {
    let latest =
        panels.iter().flat_map(|panel| &panel.requests).map(|request| request.time.end).fold(1.0, f64::max);
    let step = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]
        .into_iter()
        .find(|step| latest / step <= 14.0)
        .unwrap_or(10_000.0);
    let x = |time: f64| LEFT + time / latest * (WIDTH - LEFT - RIGHT);
    let height = TOP + (HEIGHT + GAP) * panels.len() as f64 + 14.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        let top = TOP + (HEIGHT + GAP) * number as f64;
        let y = |byte: u64| top + byte as f64 / size.max(1) as f64 * HEIGHT;
        // A string takes every text.
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"13\">{}</text>",
            top - 8.0,
            panel.title
        );
        for mib in (0u32..).map(|line| line * 4).take_while(|mib| f64::from(*mib) * MIB <= size as f64) {
            let at = y(u64::from(mib) << 20);
            let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#ddd\"/>", WIDTH - RIGHT);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mib} MiB</text>",
                LEFT - 6.0,
                at + 4.0
            );
        }
        for request in &panel.requests {
            let (from, to) = (x(request.time.start), x(request.time.end));
            let (upper, lower) = (y(request.bytes.start), y(request.bytes.end));
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{upper:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{BLUE}\" fill-opacity=\"0.55\" \
                 stroke=\"{BLUE}\"/>",
                (to - from).max(1.0),
                (lower - upper).max(LEAST)
            );
        }
    }
    let bottom = height - GAP - 14.0 + 16.0;
    let mut time = 0.0;
    while time <= latest {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{bottom:.1}\" text-anchor=\"middle\">{time} ms</text>",
            x(time)
        );
        time += step;
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_a_rectangle() {
        let request = |from: f64, bytes: Range<u64>| Request { time: from..from + 60.0, bytes };
        let panel = |title: &str, requests| Panel { title: title.into(), requests };
        let mine = panel("few", vec![request(0.0, 0..1 << 20), request(0.0, 9 << 20..10 << 20)]);
        let other = panel("many", (0..5).map(|i| request(f64::from(i) * 61.0, 0..100)).collect());
        let svg = draw(&[mine, other], 10 << 20);
        assert_eq!(svg.matches("fill-opacity").count(), 7);
        assert!(
            svg.contains(">few</text>") && svg.contains(">8 MiB</text>") && svg.contains(">300 ms</text>")
        );
        assert!(!svg.contains("NaN") && svg.ends_with("</svg>\n"));
    }
}
