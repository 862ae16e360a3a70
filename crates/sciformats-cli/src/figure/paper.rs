//! Draws a picture for a file: axes with ticks, labels and units, and a bar that explains the colours.

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::palette::{self, BLACK, GREY};
use super::sample::{Bars, Grid, Line};
use super::ticks::{Tick, ticks};
use super::{Axis, Body, Figure};

/// The room for ticks and labels: left, above, right, below.
const MARGINS: (f64, f64, f64, f64) = (130.0, 50.0, 40.0, 90.0);
/// The room for the colour bar: its distance, its width, and the width of its ticks and label.
const BAR: (f64, f64, f64) = (24.0, 22.0, 150.0);
/// The length of a tick.
const MARK: f64 = 6.0;

/// Returns the number of columns and rows of data that a picture of this size has room for.
pub(crate) fn room(size: Size) -> (usize, usize) {
    let area = inside(size, false);
    (area.width as usize, area.height as usize)
}

/// Returns the rectangle of the data.
fn inside(size: Size, bar: bool) -> Area {
    let (left, top, right, bottom) = MARGINS;
    let right = if bar { BAR.0 + BAR.1 + BAR.2 } else { right };
    let width = (f64::from(size.width) - left - right).max(20.0);
    let height = (f64::from(size.height) - top - bottom).max(20.0);
    Area { x: left, y: top, width, height }
}

/// Draws a picture.
pub(crate) fn draw(figure: &Figure, size: Size, canvas: &mut dyn Canvas) {
    let image = matches!(figure.body, Body::Image { .. });
    let area = inside(size, image);
    let paper = Paper { area, x: &figure.x, y: &figure.y, upwards: !image };
    if !image {
        paper.lattice(canvas);
    }
    match &figure.body {
        Body::Lines(lines) => {
            lines.iter().enumerate().for_each(|(i, line)| paper.line(canvas, line, i));
            if lines.len() > 1 {
                paper.names(canvas, lines);
            }
        }
        Body::Image { grid, values } => {
            canvas.image(area, &coloured(grid, values));
            colours(canvas, area, values);
        }
        Body::Bars(bars) => paper.bars(canvas, bars),
    }
    paper.axes(canvas);
    let middle = area.x + area.width / 2.0;
    canvas.text((middle, MARGINS.1 / 2.0), &fitted(&figure.title, size.width), Anchor::Middle);
    let foot = f64::from(size.height) - TEXT;
    canvas.text((TEXT, foot), &fitted(&figure.note, size.width), Anchor::Start);
}

/// Returns as much of a text as fits.
fn fitted(text: &str, width: u32) -> String {
    crate::look::clipped(text, (f64::from(width) / TEXT) as usize)
}

fn coloured(grid: &Grid, values: &Axis) -> Pixels {
    let colours = grid.values.iter().map(|&value| palette::scale(values.position(value))).collect();
    Pixels { width: grid.columns, colours }
}

/// Draws the colour bar beside an image.
fn colours(canvas: &mut dyn Canvas, area: Area, values: &Axis) {
    let bar = Area { x: area.x + area.width + BAR.0, width: BAR.1, ..area };
    let steps = 256;
    let shade = |i: i32| palette::scale(1.0 - f64::from(i) / f64::from(steps - 1));
    canvas.image(bar, &Pixels { width: 1, colours: (0..steps).map(shade).collect() });
    frame(canvas, bar);
    let right = bar.x + bar.width;
    for Tick { value, text } in ticks(values, 6) {
        let y = bar.y + (1.0 - values.position(value)) * bar.height;
        canvas.line(&[(right, y), (right + MARK, y)], 1.0, BLACK);
        canvas.text((right + 2.0 * MARK, y), &text, Anchor::Start);
    }
    let x = right + BAR.2 - TEXT;
    canvas.text((x, bar.y + bar.height / 2.0), &values.label, Anchor::Upwards);
}

fn frame(canvas: &mut dyn Canvas, Area { x, y, width, height }: Area) {
    let (right, bottom) = (x + width, y + height);
    canvas.line(&[(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], 1.0, BLACK);
}

struct Paper<'a> {
    area: Area,
    x: &'a Axis,
    y: &'a Axis,
    /// Whether low values of y are at the bottom.
    upwards: bool,
}

impl Paper<'_> {
    fn point(&self, x: f64, y: f64) -> Point {
        let part = self.y.position(y);
        let part = if self.upwards { 1.0 - part } else { part };
        (self.area.x + self.x.position(x) * self.area.width, self.area.y + part * self.area.height)
    }

    fn ticks(&self) -> (Vec<Tick>, Vec<Tick>) {
        let most = |length: f64, each: f64| (length / each).clamp(2.0, 12.0) as usize;
        (ticks(self.x, most(self.area.width, 130.0)), ticks(self.y, most(self.area.height, 60.0)))
    }

    /// Draws faint lines at the ticks, behind the data.
    fn lattice(&self, canvas: &mut dyn Canvas) {
        let Area { x: left, y: top, width, height } = self.area;
        let (across, down) = self.ticks();
        for tick in across {
            let (x, _) = self.point(tick.value, self.y.low);
            canvas.line(&[(x, top), (x, top + height)], 1.0, GREY);
        }
        for tick in down {
            let (_, y) = self.point(self.x.low, tick.value);
            canvas.line(&[(left, y), (left + width, y)], 1.0, GREY);
        }
    }

    fn axes(&self, canvas: &mut dyn Canvas) {
        frame(canvas, self.area);
        let Area { x: left, y: top, width, height } = self.area;
        let bottom = top + height;
        let (across, down) = self.ticks();
        for Tick { value, text } in across {
            let (x, _) = self.point(value, self.y.low);
            canvas.line(&[(x, bottom), (x, bottom + MARK)], 1.0, BLACK);
            canvas.text((x, bottom + MARK + TEXT), &text, Anchor::Middle);
        }
        for Tick { value, text } in down {
            let (_, y) = self.point(self.x.low, value);
            canvas.line(&[(left - MARK, y), (left, y)], 1.0, BLACK);
            canvas.text((left - 2.0 * MARK, y), &text, Anchor::End);
        }
        canvas.text((left + width / 2.0, bottom + MARK + 2.5 * TEXT), &self.x.label, Anchor::Middle);
        canvas.text((TEXT, top + height / 2.0), &self.y.label, Anchor::Upwards);
    }

    fn line(&self, canvas: &mut dyn Canvas, line: &Line, number: usize) {
        let mut points: Vec<Point> = Vec::new();
        let mut flush = |points: &mut Vec<Point>| {
            // A value between two gaps is drawn as a dot.
            if let [only] = points.as_slice() {
                points.push(*only);
            }
            if !points.is_empty() {
                canvas.line(points, 1.5, palette::line(number));
            }
            points.clear();
        };
        for bin in line.bins() {
            if bin.gap {
                flush(&mut points);
            }
            points.push(self.point(bin.x, bin.first));
            if bin.low != bin.high {
                // The line goes through the lowest and the highest value on its way from the first to the
                // last.
                let ends = if bin.first <= bin.last { [bin.low, bin.high] } else { [bin.high, bin.low] };
                points.extend(ends.map(|end| self.point(bin.x, end)));
                points.push(self.point(bin.x, bin.last));
            }
        }
        flush(&mut points);
    }

    /// Draws the legend of the lines.
    fn names(&self, canvas: &mut dyn Canvas, lines: &[Line]) {
        let widest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0); // a bound of widths
        let x = self.area.x + self.area.width - (widest as f64 + 3.0) * TEXT;
        for (i, line) in lines.iter().enumerate() {
            let y = self.area.y + (i as f64 + 1.0) * TEXT * 1.25;
            canvas.line(&[(x, y), (x + 1.5 * TEXT, y)], 3.0, palette::line(i));
            canvas.text((x + 2.0 * TEXT, y), &line.name, Anchor::Start);
        }
    }

    fn bars(&self, canvas: &mut dyn Canvas, bars: &Bars) {
        let count = bars.counts.len() as f64;
        let edge = |i: usize| bars.low + (bars.high - bars.low) * (i as f64 / count);
        for (i, &bar) in bars.counts.iter().enumerate().filter(|(_, bar)| **bar > 0) {
            let (left, top) = self.point(edge(i), bar as f64);
            let (right, bottom) = self.point(edge(i + 1), 0.0);
            let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
            let width = (right - left - gap).max(1.0);
            canvas.fill(Area { x: left, y: top, width, height: bottom - top }, palette::line(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::raster::Raster;
    use crate::figure::sample::Mean;
    use crate::figure::svg::Svg;

    fn figures() -> Vec<Figure> {
        let axis = |label: &str, low, high| Axis::new(label, low, high);
        let mut line = Line::new("a", (0.0, 99.0), 50);
        (0..100).map(f64::from).for_each(|x| line.add(x, if x == 70.0 { f64::NAN } else { x.sin() }));
        let mut mean = Mean::new((2, 2), (9, 9));
        mean.add_all(&[1.0, 2.0, f64::NAN, 4.0]);
        let mut bars = Bars::new((-1.0, 1.0), 8);
        (0..100).for_each(|i| bars.add(f64::from(i).sin()));
        let of = |body, y| Figure {
            title: "/fields/u".into(),
            note: "1 value is not finite".into(),
            x: axis("time (s)", 0.0, 99.0),
            y,
            body,
        };
        vec![
            of(Body::Lines(vec![line.clone(), line]), axis("u (m/s)", -1.0, 1.0)),
            of(Body::Image { grid: mean.finish(), values: axis("K", 1.0, 4.0) }, axis("y", 0.0, 2.0)),
            of(Body::Bars(bars), axis("count", 0.0, 30.0)),
        ]
    }

    #[test]
    fn pictures_of_every_kind_and_size() {
        for figure in figures() {
            for size in [Size { width: 200, height: 200 }, Size { width: 900, height: 600 }] {
                let mut svg = Svg::new(size);
                draw(&figure, size, &mut svg);
                let svg = String::from_utf8(svg.finish().unwrap()).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(svg.contains(">time (s)</text>"), "{svg}");
                let mut raster = Raster::new(size);
                draw(&figure, size, &mut raster);
                assert!(raster.finish().unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
            }
        }
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let size = Size { width: 400, height: 300 };
        let figure = figures().swap_remove(0);
        let mut svg = Svg::new(size);
        draw(&figure, size, &mut svg);
        let svg = String::from_utf8(svg.finish().unwrap()).unwrap();
        // Two lines of two parts each, and their names beside.
        assert_eq!(svg.matches("stroke-width=\"1.5\"").count(), 4);
        assert_eq!(svg.matches("stroke-width=\"3\"").count(), 2);
    }
}
