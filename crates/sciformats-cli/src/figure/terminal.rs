//! Draws a picture on a terminal: lines as braille dots, images as half blocks, bars as eighths of blocks.

use sciformats_core::bound;
use unicode_width::UnicodeWidthStr;

use super::canvas::Pixels;
use super::palette::{self, Colour};
use super::sample::{Bars, Cloud, Grid, Line};
use super::screen::{Depth, Glyph, Look, Screen};
use super::ticks::{Tick, brief, ticks};
use super::{Axis, Body, Figure};

/// Shades for terminals without colours, from low to high values.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the columns and rows inside a picture on a screen of this size, which decide how many values are
/// needed.
pub(crate) fn room(width: usize, height: usize) -> (usize, usize) {
    (bound::left(width, MARGIN).max(2), bound::left(height, FRAME).max(2))
}

/// The columns to the left of a picture, for the ticks of the vertical axis.
const MARGIN: usize = 10;
/// The rows above and below a picture: title, axis, ticks, label, colours or note.
const FRAME: usize = 5;

/// Draws a picture into this many columns and rows.
pub(crate) fn draw(figure: &Figure, (width, height): (usize, usize), depth: Depth) -> Screen {
    let (inner, rows) = room(width, height);
    let mut screen = Screen::new(width, height);
    let frame = Frame { left: bound::left(width, inner), top: 1, width: inner, height: rows };
    let after = screen.text((0, 0), &figure.title, Look::Bold);
    // The label of the vertical axis, unless the title says the same.
    let mut after = after;
    if !figure.title.ends_with(&figure.y.label) {
        after = screen.text((after + 2, 0), &figure.y.label, Look::Plain);
    }
    let named;
    let mut foot = frame.top + frame.height + 2;
    match &figure.body {
        Body::Lines(lines) => {
            named = frame.axes(&mut screen, figure, true);
            lines.iter().enumerate().for_each(|(i, line)| frame.line(&mut screen, figure, (line, i)));
        }
        Body::Image { grid, values } => {
            let (columns, rows) = fitted((grid.columns, grid.rows), (frame.width, frame.height), depth);
            let frame = Frame { width: columns, height: rows, ..frame };
            named = frame.axes(&mut screen, figure, false);
            frame.image(&mut screen, (grid, values), depth);
            foot = frame.top + frame.height + 2;
            frame.colours(&mut screen, (values, foot), depth);
            foot += 1;
        }
        Body::Bars(bars) => {
            named = frame.axes(&mut screen, figure, true);
            frame.bars(&mut screen, (bars, figure.y.high));
        }
        Body::Points { cloud, values } => {
            // A braille character has two columns and four rows of dots, which are about equally far from each other.
            let (x, y) = figure.even(frame.width as f64 * 2.0 / (frame.height as f64 * 4.0));
            let even = Figure { x, y, ..figure.clone() };
            named = frame.axes(&mut screen, &even, true);
            frame.points(&mut screen, &even, (cloud, values.as_ref()));
            if let Some(values) = values.as_ref().filter(|_| depth != Depth::None) {
                frame.colours(&mut screen, (values, foot), depth);
                foot += 1;
            }
        }
        Body::Picture { pixels, .. } => {
            let size = (pixels.width, pixels.height());
            let (columns, rows) = fitted(size, (frame.width, frame.height), depth);
            let frame = Frame { width: columns, height: rows, ..frame };
            named = frame.axes(&mut screen, figure, false);
            frame.picture(&mut screen, pixels, depth);
            foot = frame.top + frame.height + 2;
        }
    }
    // A label that does not fit below the picture is written above it.
    let across = format!("→ {}", figure.x.label);
    if !named && after + 2 + across.width() <= width {
        screen.text((after + 2, 0), &across, Look::Plain);
    }
    let mut at = frame.left;
    if let Body::Lines(lines) = &figure.body
        && lines.len() > 1
    {
        for (i, line) in lines.iter().enumerate() {
            let glyph =
                Glyph { character: '■', ink: Some(palette::line(i)), ground: None, look: Look::Plain };
            screen.put((at, foot), glyph);
            at = screen.text((at + 2, foot), &line.name, Look::Plain) + 2;
        }
        foot += 1;
    }
    screen.text((0, foot), &figure.note, Look::Faint);
    screen
}

/// Returns the columns and rows that an image occupies, with cells as square as possible.
fn fitted((columns, rows): (usize, usize), (width, height): (usize, usize), depth: Depth) -> (usize, usize) {
    // With colours, a character shows two cells.
    let lines = if depth == Depth::None { 1 } else { 2 };
    let (columns, rows) = (columns.max(1), rows.max(1));
    let by_width = width / columns;
    // A shade is twice as high as wide, so each cell gets two columns if there is room.
    let wide = if lines == 1 { by_width / 2 } else { by_width };
    let scale = wide.min(height * lines / rows);
    if scale == 0 {
        return (width.min(columns), height.min(rows.div_ceil(lines)));
    }
    (columns * scale * (3 - lines), (rows * scale).div_ceil(lines).max(1))
}

/// The inside of the picture on the screen.
#[derive(Clone, Copy)]
struct Frame {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Frame {
    /// Draws the axes with ticks and labels; if `upwards` is true, low values are at the bottom.
    fn axes(&self, screen: &mut Screen, figure: &Figure, upwards: bool) -> bool {
        let (edge, bottom) = (bound::left(self.left, 1), self.top + self.height);
        let stroke = |character| Glyph { character, ink: None, ground: None, look: Look::Faint };
        (self.top..bottom).for_each(|y| screen.put((edge, y), stroke('│')));
        (0..self.width).for_each(|x| screen.put((self.left + x, bottom), stroke('─')));
        screen.put((edge, bottom), stroke('└'));
        for Tick { value, text } in ticks(&figure.y, (self.height / 3).clamp(2, 8)) {
            let part = figure.y.position(value);
            let part = if upwards { 1.0 - part } else { part };
            let y = self.top + cell(part, self.height, upwards);
            screen.put((edge, y), stroke('┤'));
            // A date that does not fit is written without its year.
            let day = text.split_once('-').filter(|_| figure.y.dates.is_some() && text.width() > edge);
            let text = day.map_or(text.as_str(), |(_, day)| day);
            let text: String = text.chars().take(edge).collect();
            screen.text((bound::left(edge, text.width()), y), &text, Look::Faint);
        }
        let mut free = 0;
        for Tick { value, text } in ticks(&figure.x, (self.width / 10).clamp(2, 10)) {
            let x = self.left + cell(figure.x.position(value), self.width, upwards);
            screen.put((x, bottom), stroke('┬'));
            let start = bound::left(x, text.width() / 2);
            if start >= free && start + text.width() <= self.left + self.width + 1 {
                free = screen.text((start, bottom + 1), &text, Look::Faint) + 1;
            }
        }
        // The label follows the last tick, or is left out if there is no room.
        let label = &figure.x.label;
        let end = self.left + self.width;
        let start = bound::left(end, label.width()).max(free + 1);
        let room = start + label.width() <= end || (free == 0 && !label.is_empty());
        if room {
            screen.text((start, bottom + 1), label, Look::Plain);
        }
        room || label.is_empty()
    }

    fn line(&self, screen: &mut Screen, figure: &Figure, (line, number): (&Line, usize)) {
        let (width, height) = (self.width * 2, self.height * 4);
        let mut dots = vec![0u8; self.width * self.height];
        let mut dot = |x: f64, y: f64| {
            let (x, y) = (x.round().max(0.0) as usize, y.round().max(0.0) as usize);
            let (x, y) = (x.min(width - 1), y.min(height - 1));
            if let Some(cell) = dots.get_mut(y / 4 * (width / 2) + x / 2) {
                *cell |= match (x % 2, y % 4) {
                    (0, 3) => 0x40,
                    (_, 3) => 0x80,
                    (column, row) => 1 << (row + 3 * column),
                };
            }
        };
        let x = |value| figure.x.position(value) * (width - 1) as f64;
        let y = |value| (1.0 - figure.y.position(value)) * (height - 1) as f64;
        let mut before: Option<(f64, f64)> = None;
        for bin in line.bins() {
            let at = x(bin.x);
            stroke((at, y(bin.low)), (at, y(bin.high)), &mut dot);
            if let Some(before) = before.filter(|_| !bin.gap) {
                stroke(before, (at, y(bin.first)), &mut dot);
            }
            before = Some((at, y(bin.last)));
        }
        let ink = Some(palette::line(number));
        for (i, dots) in dots.into_iter().enumerate().filter(|(_, dots)| *dots > 0) {
            let character = char::from_u32(0x2800 + u32::from(dots)).unwrap_or('?');
            let at = (self.left + i % self.width, self.top + i / self.width);
            screen.put(at, Glyph { character, ink, ground: None, look: Look::Plain });
        }
    }

    /// Draws points as dots; a character has the colour of the last one in it.
    fn points(&self, screen: &mut Screen, figure: &Figure, (cloud, values): (&Cloud, Option<&Axis>)) {
        let (width, height) = (self.width * 2, self.height * 4);
        let mut cells = vec![(0u8, palette::line(0)); self.width * self.height];
        for spot in cloud.spots() {
            let place = |part: f64, count: usize| {
                ((part * (count - 1) as f64).round().max(0.0) as usize).min(count - 1)
            };
            let x = place(figure.x.position(spot.x), width);
            let y = place(1.0 - figure.y.position(spot.y), height);
            if let Some((dots, colour)) = cells.get_mut(y / 4 * self.width + x / 2) {
                *dots |= match (x % 2, y % 4) {
                    (0, 3) => 0x40,
                    (_, 3) => 0x80,
                    (column, row) => 1 << (row + 3 * column),
                };
                if let Some(values) = values {
                    *colour = palette::scale(values.position(spot.value()));
                }
            }
        }
        for (i, (dots, colour)) in cells.into_iter().enumerate().filter(|(_, (dots, _))| *dots > 0) {
            let character = char::from_u32(0x2800 + u32::from(dots)).unwrap_or('?');
            let at = (self.left + i % self.width, self.top + i / self.width);
            screen.put(at, Glyph { character, ink: Some(colour), ground: None, look: Look::Plain });
        }
    }

    /// Draws colours as they are; without colours, as shades of their brightness.
    fn picture(&self, screen: &mut Screen, pixels: &Pixels, depth: Depth) {
        let lines = if depth == Depth::None { 1 } else { 2 };
        let (columns, rows) = (pixels.width.max(1), pixels.height().max(1));
        let colour = |x: usize, y: usize| {
            let column = (x * columns / self.width.max(1)).min(columns - 1);
            let row = (y * rows / (self.height * lines).max(1)).min(rows - 1);
            pixels.colours.get(row * columns + column).copied().unwrap_or_default()
        };
        for y in 0..self.height {
            for x in 0..self.width {
                let upper = colour(x, y * lines);
                let glyph = if depth == Depth::None {
                    let [red, green, blue] = upper.map(f64::from);
                    let light = (0.299 * red + 0.587 * green + 0.114 * blue) / 255.0;
                    Glyph { character: shade(light), ink: None, ground: None, look: Look::Plain }
                } else {
                    let ground = Some(colour(x, y * 2 + 1));
                    Glyph { character: '▀', ink: Some(upper), ground, look: Look::Plain }
                };
                screen.put((self.left + x, self.top + y), glyph);
            }
        }
    }

    fn image(&self, screen: &mut Screen, (grid, values): (&Grid, &Axis), depth: Depth) {
        let lines = if depth == Depth::None { 1 } else { 2 };
        let field = |index: usize, of: usize, count: usize| (index * count / of.max(1)).min(count - 1);
        let value = |x: usize, y: usize| {
            let row = field(y, self.height * lines, grid.rows.max(1));
            values.position(grid.at(row, field(x, self.width, grid.columns.max(1))))
        };
        for y in 0..self.height {
            for x in 0..self.width {
                let upper = value(x, y * lines);
                let glyph = if depth == Depth::None {
                    Glyph { character: shade(upper), ink: None, ground: None, look: Look::Plain }
                } else {
                    let (ink, ground) = (palette::scale(upper), palette::scale(value(x, y * 2 + 1)));
                    Glyph { character: '▀', ink: Some(ink), ground: Some(ground), look: Look::Plain }
                };
                screen.put((self.left + x, self.top + y), glyph);
            }
        }
    }

    /// Draws the explanation of the colours of an image in one row.
    fn colours(&self, screen: &mut Screen, (values, row): (&Axis, usize), depth: Depth) {
        let (low, high) = (brief(values.low), brief(values.high));
        let x = screen.text((self.left, row), &low, Look::Faint) + 1;
        let width = 16;
        for i in 0..width {
            let part = i as f64 / (width - 1) as f64;
            let glyph = match depth {
                Depth::None => Glyph { character: shade(part), ink: None, ground: None, look: Look::Plain },
                _ => block('█', palette::scale(part)),
            };
            screen.put((x + i, row), glyph);
        }
        let x = screen.text((x + width + 1, row), &high, Look::Faint) + 1;
        screen.text((x, row), &values.label, Look::Plain);
    }

    fn bars(&self, screen: &mut Screen, (bars, top): (&Bars, f64)) {
        for x in 0..self.width {
            let bar = (x * bars.counts.len() / self.width).min(bars.counts.len() - 1);
            let count = bars.counts.get(bar).copied().unwrap_or(0); // a position without a bar has no height
            let eighths = (count as f64 / top.max(1.0) * (self.height * 8) as f64).round() as usize;
            // A bar for a single value is at least visible.
            let eighths = if count > 0 { eighths.max(1) } else { 0 };
            for y in 0..self.height {
                let here = bound::left(eighths, y * 8).min(8);
                if let Some(&character) = here.checked_sub(1).and_then(|i| EIGHTHS.get(i)) {
                    let at = (self.left + x, self.top + self.height - 1 - y);
                    screen.put(at, block(character, palette::line(0)));
                }
            }
        }
    }
}

fn block(character: char, ink: Colour) -> Glyph {
    Glyph { character, ink: Some(ink), ground: None, look: Look::Plain }
}

/// Returns the shade for a position between 0 and 1.
fn shade(position: f64) -> char {
    if position.is_nan() {
        return ' ';
    }
    let index = (position * SHADES.len() as f64).max(0.0) as usize;
    SHADES.get(index.min(SHADES.len() - 1)).copied().unwrap_or(' ')
}

/// Returns the character that a fraction of 1 falls into. The ends of a line are at the middles of the first
/// and last characters; the cells of an image have a width.
fn cell(part: f64, count: usize, ends: bool) -> usize {
    let last = bound::left(count, 1);
    let at = if ends { (part * last as f64).round() } else { (part * count as f64).floor() };
    (at.max(0.0) as usize).min(last)
}

/// Draws dots from one position to another.
fn stroke((x0, y0): (f64, f64), (x1, y1): (f64, f64), dot: &mut impl FnMut(f64, f64)) {
    let steps = (x1 - x0).abs().max((y1 - y0).abs()).round().max(1.0);
    for i in 0..=steps as usize {
        let part = i as f64 / steps;
        dot(x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::sample::Mean;

    fn axis(label: &str, low: f64, high: f64) -> Axis {
        Axis::new(label, low, high)
    }

    fn shown(figure: &Figure, size: (usize, usize), depth: Depth) -> String {
        let mut out = Vec::new();
        draw(figure, size, depth).write(&mut out, depth).unwrap();
        let text = String::from_utf8(out).unwrap();
        if depth == Depth::None { anstream::adapter::strip_str(&text).to_string() } else { text }
    }

    fn line(values: &[f64]) -> Figure {
        let mut line = Line::new("", (0.0, values.len() as f64 - 1.0), 80);
        values.iter().enumerate().for_each(|(i, &value)| line.add(i as f64, value));
        let (low, high) = line.range();
        Figure {
            title: "values".into(),
            note: String::new(),
            x: axis("i", 0.0, values.len() as f64 - 1.0),
            y: axis("", low, high),
            body: Body::Lines(vec![line]),
        }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let text = shown(&line(&[0.0, 1.0]), (30, 9), Depth::None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        assert!(lines[1].starts_with("        1┤") && lines[4].starts_with("        0┤"), "{text}");
        assert!(lines[5].starts_with("         └┬"), "{text}");
        let dots = |line: &str| line.chars().position(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        // It falls from the right end of the first row to the left end of the last.
        let starts: Vec<usize> = (1..5).map(|row| dots(lines[row]).unwrap()).collect();
        assert!(starts.windows(2).all(|pair| pair[0] > pair[1]), "{text}");
        assert_eq!(starts[3], 10, "{text}");
    }

    #[test]
    fn an_image_in_shades_and_in_half_blocks() {
        let mut mean = Mean::new((2, 3), (10, 10));
        mean.add_all(&[0.0, 1.0, 2.0, 3.0, f64::NAN, 4.0]);
        let figure = Figure {
            title: "image".into(),
            note: "1 value is not shown".into(),
            x: axis("x", 0.0, 3.0),
            y: axis("y", 0.0, 2.0),
            body: Body::Image { grid: mean.finish(), values: axis("K", 0.0, 4.0) },
        };
        let text = shown(&figure, (40, 10), Depth::None);
        let image: Vec<&str> = text.lines().skip(1).take(4).collect();
        assert!(image[0].ends_with("····░░░░▒▒▒▒") && image[3].ends_with("▓▓▓▓    ████"), "{text}");
        assert!(text.contains("0 ···") && text.contains("█ 4 K"), "{text}");
        assert!(text.trim_end().ends_with("1 value is not shown"), "{text}");
        let text = shown(&figure, (40, 10), Depth::Full);
        assert!(text.contains('▀') && text.contains("38;2;253;231;37"), "{text}");
    }

    #[test]
    fn no_size_is_too_small_and_no_value_too_odd() {
        let mut figures = vec![line(&[1.0]), line(&[f64::NAN, f64::NAN]), line(&[1e308, -1e308, 0.0])];
        figures.push(Figure { body: Body::Bars(Bars::new((0.0, 0.0), 3)), ..line(&[0.0]) });
        let grid = Grid { rows: 1, columns: 1, values: vec![f64::NAN], left_out: 1 };
        figures.push(Figure { body: Body::Image { grid, values: axis("", 0.0, 0.0) }, ..line(&[0.0]) });
        let mut cloud = Cloud::new((0.0, 0.0), (0.0, 0.0), (1, 1));
        cloud.add((0.0, 0.0), 0.0);
        figures
            .push(Figure { body: Body::Points { cloud, values: Some(axis("", 0.0, 0.0)) }, ..line(&[0.0]) });
        let pixels = Pixels { width: 1, colours: vec![[1, 2, 3]] };
        figures.push(Figure { body: Body::Picture { pixels, left_out: 0 }, ..line(&[0.0]) });
        for figure in &figures {
            for size in [(0, 0), (1, 1), (5, 3), (12, 6), (200, 60)] {
                for depth in [Depth::None, Depth::Indexed, Depth::Full] {
                    shown(figure, size, depth);
                }
            }
        }
    }
}
