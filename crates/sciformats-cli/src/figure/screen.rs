//! A rectangle of coloured characters, which pictures on a terminal consist of.

use std::io::{self, Write};

use anstyle::{Ansi256Color, Color, RgbColor, Style};
use unicode_width::UnicodeWidthChar;

use super::palette::{self, Colour};

/// The number of colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// None; pictures consist of shades.
    None,
    /// The 216 colours of the cube.
    Indexed,
    /// All colours.
    Full,
}

impl Depth {
    /// Returns the colours of the terminal on stdout, which `COLORTERM` names.
    pub(crate) fn of_stdout() -> Self {
        match anstream::AutoStream::choice(&io::stdout()) {
            anstream::ColorChoice::Never => Self::None,
            _ => Self::of_terminal(),
        }
    }

    /// Returns the colours that the terminal says it has.
    pub(crate) fn of_terminal() -> Self {
        match std::env::var("COLORTERM").as_deref() {
            Ok("truecolor" | "24bit") => Self::Full,
            _ => Self::Indexed,
        }
    }

    fn colour(self, colour: Colour) -> Option<Color> {
        match self {
            Self::None => None,
            Self::Indexed => Some(Color::Ansi256(Ansi256Color(palette::indexed(colour)))),
            Self::Full => {
                let [red, green, blue] = colour;
                Some(Color::Rgb(RgbColor(red, green, blue)))
            }
        }
    }
}

/// One character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    /// The character; NUL after a character that is two columns wide.
    pub(crate) character: char,
    pub(crate) ink: Option<Colour>,
    pub(crate) ground: Option<Colour>,
    pub(crate) look: Look,
}

/// How text is highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Bold,
    Faint,
}

const EMPTY: Glyph = Glyph { character: ' ', ink: None, ground: None, look: Look::Plain };

/// A rectangle of characters.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    width: usize,
    cells: Vec<Glyph>,
}

impl Screen {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, cells: vec![EMPTY; width * height] }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Glyph]> {
        self.cells.chunks(self.width.max(1))
    }

    pub(crate) fn put(&mut self, (x, y): (usize, usize), glyph: Glyph) {
        if x < self.width
            && let Some(cell) = self.cells.get_mut(y * self.width + x)
        {
            *cell = glyph;
        }
    }

    /// Writes text at a position, as far as the row goes. Returns the column after it.
    pub(crate) fn text(&mut self, (mut x, y): (usize, usize), text: &str, look: Look) -> usize {
        for character in text.chars() {
            let width = character.width().unwrap_or(0); // a bound: control characters take no room
            if width == 0 || x + width > self.width {
                continue;
            }
            self.put((x, y), Glyph { character, look, ..EMPTY });
            (1..width).for_each(|i| self.put((x + i, y), Glyph { character: '\0', ..EMPTY }));
            x += width;
        }
        x
    }

    /// Writes the rows up to the last one that is not empty, with the colours that the terminal has.
    pub(crate) fn write(&self, out: &mut impl Write, depth: Depth) -> io::Result<()> {
        let last = self.cells.iter().rposition(|glyph| *glyph != EMPTY);
        let rows = last.map_or(0, |last| last / self.width.max(1) + 1);
        for row in self.rows().take(rows) {
            let used = row.iter().rposition(|glyph| *glyph != EMPTY).map_or(0, |last| last + 1);
            let mut now = Style::new();
            for glyph in row.get(..used).unwrap_or_default().iter().filter(|glyph| glyph.character != '\0') {
                let style = style(glyph, depth);
                if style != now {
                    write!(out, "{now:#}{style}")?;
                    now = style;
                }
                write!(out, "{}", glyph.character)?;
            }
            writeln!(out, "{now:#}")?;
        }
        Ok(())
    }
}

fn style(glyph: &Glyph, depth: Depth) -> Style {
    let style = Style::new()
        .fg_color(glyph.ink.and_then(|colour| depth.colour(colour)))
        .bg_color(glyph.ground.and_then(|colour| depth.colour(colour)));
    match glyph.look {
        Look::Plain => style,
        Look::Bold => style.bold(),
        Look::Faint => style.dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(screen: &Screen, depth: Depth) -> String {
        let mut out = Vec::new();
        screen.write(&mut out, depth).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_stays_on_the_screen() {
        let mut screen = Screen::new(6, 2);
        assert_eq!(screen.text((1, 0), "日本x語", Look::Plain), 6);
        screen.text((0, 1), "abcdefgh", Look::Plain);
        screen.text((0, 7), "nowhere", Look::Plain);
        assert_eq!(written(&screen, Depth::None), " 日本x\nabcdef\n");
        assert_eq!(screen.rows().count(), 2);
    }

    #[test]
    fn colours_change_where_they_must() {
        let mut screen = Screen::new(3, 1);
        let red = Glyph { character: 'x', ink: Some([255, 0, 0]), ground: None, look: Look::Plain };
        screen.put((0, 0), red);
        screen.put((1, 0), red);
        screen.put((2, 0), Glyph { character: 'y', ..EMPTY });
        assert_eq!(written(&screen, Depth::Full), "\u{1b}[38;2;255;0;0mxx\u{1b}[0my\n");
        assert_eq!(written(&screen, Depth::Indexed), "\u{1b}[38;5;196mxx\u{1b}[0my\n");
        assert_eq!(written(&screen, Depth::None), "xxy\n");
    }
}
