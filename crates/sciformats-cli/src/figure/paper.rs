//! Draws a picture for a file: axes with ticks, labels and units, and a bar that explains the colours.

use super::canvas::{Anchor, Area, Canvas, Pixels, Point, Size, TEXT};
use super::palette::{self, BLACK, Colour, GREY, WHITE};
use super::sample::{Bars, Cloud, Grid, Line};
use super::ticks::{Tick, ticks};
use super::{Axis, Body, Figure, font};

/// The room above the data, for the title.
const ABOVE: f64 = 46.0;
/// The room below the data, for ticks, label and note.
const BELOW: f64 = 90.0;
/// The room to the right of the data, for the last tick.
const RIGHT: f64 = 36.0;
/// The distance and the width of the colour bar.
const BAR: (f64, f64) = (22.0, 20.0);
/// The length of a tick.
const MARK: f64 = 6.0;
/// The radius of a point of a scatter plot, if there are few and if there are many.
const DOTS: (f64, f64) = (3.0, 1.2);
/// From this number on, points are many.
const MANY: usize = 2000;

/// Returns the number of columns and rows of data that a picture of this size has room for.
pub(crate) fn room(size: Size) -> (usize, usize) {
    let width = (f64::from(size.width) - 110.0 - RIGHT).max(20.0);
    let height = (f64::from(size.height) - ABOVE - BELOW).max(20.0);
    (width as usize, height as usize)
}

/// Returns the rectangle of the data. What stands beside it gets as much room as it needs.
fn inside(figure: &Figure, size: Size) -> Area {
    let widest = |axis: &Axis, most: usize| {
        let widths = ticks(axis, most).into_iter().map(|tick| font::width(&tick.text, TEXT));
        widths.fold(0.0, f64::max)
    };
    let height = (f64::from(size.height) - ABOVE - BELOW).max(20.0);
    let label = if figure.y.label.is_empty() { 0.5 * TEXT } else { 2.0 * TEXT };
    let left = label + widest(&figure.y, tick_count(height, 60.0)) + 3.0 * MARK;
    let right = match bar(&figure.body) {
        Some(values) => {
            let label = if values.label.is_empty() { 0.5 * TEXT } else { 2.0 * TEXT };
            BAR.0 + BAR.1 + 3.0 * MARK + widest(values, 6) + label
        }
        None => RIGHT,
    };
    let width = (f64::from(size.width) - left - right).max(20.0);
    Area { x: left, y: ABOVE, width, height }
}

/// Returns the meaning of the colours of a picture, if they have one.
fn bar(body: &Body) -> Option<&Axis> {
    match body {
        Body::Image { values, .. } => Some(values),
        Body::Points { values, .. } => values.as_ref(),
        _ => None,
    }
}

fn tick_count(length: f64, each: f64) -> usize {
    (length / each).clamp(2.0, 12.0) as usize
}

/// Draws a picture.
pub(crate) fn draw(figure: &Figure, size: Size, canvas: &mut dyn Canvas) {
    let image = matches!(figure.body, Body::Image { .. } | Body::Picture { .. });
    let area = inside(figure, size);
    let (x, y) = match &figure.body {
        Body::Points { .. } => figure.even(area.width / area.height),
        _ => (figure.x.clone(), figure.y.clone()),
    };
    let paper = Paper { area, x: &x, y: &y, upwards: !image };
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
        Body::Image { grid, values } => canvas.image(area, &coloured(grid, values)),
        Body::Bars(bars) => paper.bars(canvas, bars),
        Body::Points { cloud, values } => paper.points(canvas, cloud, values.as_ref()),
        Body::Picture { pixels, .. } => canvas.image(area, pixels),
    }
    if let Some(values) = bar(&figure.body) {
        colours(canvas, area, values);
    }
    paper.axes(canvas);
    let middle = area.x + area.width / 2.0;
    // A long title stands in the middle of the picture, where it has more room.
    let wide = font::width(&figure.title, TEXT) > area.width;
    let middle = if wide { f64::from(size.width) / 2.0 } else { middle };
    canvas.text((middle, ABOVE / 2.0), &fitted(&figure.title, size.width), Anchor::Middle);
    let foot = f64::from(size.height) - TEXT;
    canvas.text((TEXT, foot), &fitted(&figure.note, size.width), Anchor::Start);
}

/// Returns as much of a text as fits.
fn fitted(text: &str, width: u32) -> String {
    let room = f64::from(width) - 2.0 * TEXT;
    let mut count = text.chars().count();
    while count > 1 && font::width(&crate::look::clipped(text, count), TEXT) > room {
        count -= 1;
    }
    crate::look::clipped(text, count)
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
    let widths = ticks(values, 6).into_iter().map(|tick| font::width(&tick.text, TEXT));
    let x = right + 3.0 * MARK + widths.fold(0.0, f64::max) + TEXT;
    canvas.text((x, bar.y + bar.height / 2.0), &values.label, Anchor::Upwards);
}

fn frame(canvas: &mut dyn Canvas, area: Area) {
    outline(canvas, area, BLACK);
}

fn outline(canvas: &mut dyn Canvas, Area { x, y, width, height }: Area, colour: Colour) {
    let (right, bottom) = (x + width, y + height);
    canvas.line(&[(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], 1.0, colour);
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
        (ticks(self.x, tick_count(self.area.width, 110.0)), ticks(self.y, tick_count(self.area.height, 60.0)))
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
        canvas.text((left + width / 2.0, bottom + MARK + 2.4 * TEXT), &self.x.label, Anchor::Middle);
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

    /// Draws the legend of the lines in the corner where it hides the least of them.
    fn names(&self, canvas: &mut dyn Canvas, lines: &[Line]) {
        let step = TEXT * 1.3;
        let widest = lines.iter().map(|line| font::width(&line.name, TEXT)).fold(0.0, f64::max);
        let (width, height) = (widest + 3.2 * TEXT, lines.len() as f64 * step + 0.6 * TEXT);
        let Area { x: left, y: top, width: across, height: down } = self.area;
        let gap = 0.6 * TEXT;
        let (near, far) = (left + gap, left + across - width - gap);
        let (high, low) = (top + gap, top + down - height - gap);
        let corners = [(far, high), (near, high), (far, low), (near, low)];
        let hidden = |(x, y): Point| {
            let inside = |(px, py): Point| px >= x && px <= x + width && py >= y && py <= y + height;
            let bins = lines.iter().flat_map(Line::bins);
            bins.flat_map(|bin| [self.point(bin.x, bin.low), self.point(bin.x, bin.high)])
                .filter(|at| inside(*at))
                .count()
        };
        let (x, y) = corners.into_iter().min_by_key(|corner| hidden(*corner)).unwrap_or((far, high));
        let place = Area { x, y, width, height };
        canvas.fill(place, WHITE);
        outline(canvas, place, GREY);
        for (i, line) in lines.iter().enumerate() {
            let y = y + (i as f64 + 0.5) * step + 0.3 * TEXT;
            canvas.line(&[(x + 0.6 * TEXT, y), (x + 2.0 * TEXT, y)], 3.0, palette::line(i));
            canvas.text((x + 2.6 * TEXT, y), &line.name, Anchor::Start);
        }
    }

    fn points(&self, canvas: &mut dyn Canvas, cloud: &Cloud, values: Option<&Axis>) {
        let few = cloud.spots().take(MANY).count() < MANY;
        let radius = if few { DOTS.0 } else { DOTS.1 };
        for spot in cloud.spots() {
            let colour = match values {
                Some(values) => palette::scale(values.position(spot.value())),
                None => palette::line(0),
            };
            canvas.dot(self.point(spot.x, spot.y), radius, colour);
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
        let mut cloud = Cloud::new((0.0, 99.0), (-1.0, 1.0), (50, 50));
        (0..100).for_each(|i| cloud.add((f64::from(i), f64::from(i).sin()), f64::from(i)));
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
            of(Body::Points { cloud: cloud.clone(), values: None }, axis("y", -1.0, 1.0)),
            of(Body::Points { cloud, values: Some(axis("depth (m)", 0.0, 99.0)) }, axis("y", -1.0, 1.0)),
            of(
                Body::Picture { pixels: Pixels { width: 2, colours: vec![[1, 2, 3]; 4] }, left_out: 0 },
                axis("", 0.0, 2.0),
            ),
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
                let mut raster = Raster::new(size, 1);
                draw(&figure, size, &mut raster);
                assert!(raster.finish().unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
            }
        }
    }

    #[test]
    fn names_stand_where_they_hide_the_least() {
        let size = Size { width: 400, height: 300 };
        for (rising, left) in [(true, true), (false, false)] {
            let mut figure = figures().swap_remove(0);
            let mut line = Line::new("a line", (0.0, 99.0), 50);
            (0..100).map(f64::from).for_each(|x| line.add(x, if rising { x } else { 99.0 - x }));
            figure.body = Body::Lines(vec![line.clone(), line]);
            figure.y = Axis::new("y", 0.0, 99.0);
            let mut svg = Svg::new(size);
            draw(&figure, size, &mut svg);
            let svg = String::from_utf8(svg.finish().unwrap()).unwrap();
            let name = svg.lines().find(|line| line.contains(">a line<")).unwrap();
            let x: f64 = name.split('"').nth(1).unwrap().parse().unwrap();
            assert_eq!(x < 200.0, left, "{name}");
        }
    }

    #[test]
    fn points_keep_their_proportions() {
        let figure =
            Figure { x: Axis::new("", 0.0, 10.0), y: Axis::new("", 0.0, 5.0), ..figures().swap_remove(3) };
        let (x, y) = figure.even(1.0);
        assert!(((x.high - x.low) - (y.high - y.low)).abs() < 1e-9, "{x:?} {y:?}");
        assert!(x.low < 0.0 && x.high > 10.0 && y.low < -2.0 && y.high > 7.0);
        // Lengths that cannot be compared fill the picture.
        let long = Figure { x: Axis::new("", 0.0, 1e6), ..figure };
        let (x, y) = long.even(1.0);
        assert!(x.high - x.low < 1.2e6 && y.high - y.low < 6.0);
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let size = Size { width: 400, height: 300 };
        let figure = figures().swap_remove(0);
        let mut svg = Svg::new(size);
        draw(&figure, size, &mut svg);
        let svg = String::from_utf8(svg.finish().unwrap()).unwrap();
        // Two lines of two parts each, and their names beside them.
        assert_eq!(svg.matches("stroke-width=\"1.5\"").count(), 4);
        assert_eq!(svg.matches("stroke-width=\"3\"").count(), 2);
    }
}
