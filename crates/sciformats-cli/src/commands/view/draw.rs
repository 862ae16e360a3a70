//! Draws the browser: the tree on the left, the object on the right, one line above and one below.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use sciformats_core::bound;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::browser::{Browser, Focus, Places, Prompt, Purpose, Show};
use super::table;
use super::tree::Leads;
use crate::figure::palette::{self, Colour};
use crate::figure::screen::{Depth, Glyph, Look, Screen};
use crate::figure::terminal;
use crate::figure::ticks::brief;
use crate::look;

/// Narrower screens show one side at a time.
const BOTH: u16 = 60;
/// The largest width of the tree.
const WIDEST: u16 = 48;
/// The smallest height of the array, however long its description is.
const ARRAY: u16 = 8;

const HELP: &[(&str, &str)] = &[
    ("↑ ↓ PgUp PgDn Home End", "move"),
    ("→ Enter", "open a group, go to an array"),
    ("←", "close a group, go to its parent"),
    ("Tab Esc", "change sides, go back to the tree"),
    ("/ n N", "search names, go to the next or previous match"),
    ("t p b a", "show a table, a picture, a histogram, attributes"),
    ("s", "choose a slice in NumPy's notation"),
    ("[ ]", "step through the dimensions before the last two"),
    ("c y", "copy the path, copy the values on the screen"),
    ("mouse", "choose with a click, open with a second one, scroll with the wheel"),
    ("q", "quit"),
];

/// The keys that the last line tells; a click on one of them is the key.
const KEYS: &[(char, &str)] = &[
    ('q', "quit"),
    ('?', "help"),
    ('/', "search"),
    ('t', "table"),
    ('p', "plot"),
    ('b', "bars"),
    ('a', "attributes"),
    ('s', "slice"),
    ('c', "copy"),
];

/// Returns the key that the last line tells at a column.
pub(super) fn key_at(column: u16) -> Option<char> {
    let mut start = 0;
    for (key, what) in KEYS {
        let end = start + 2 + length(what);
        if (start..end).contains(&column) {
            return Some(*key);
        }
        start = end + 2;
    }
    None
}

/// Draws everything.
pub(super) fn draw(browser: &mut Browser, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < 16 || area.height < 5 {
        return put(
            frame.buffer_mut(),
            (area.x, area.y),
            "the terminal is too small",
            area.width,
            Style::new(),
        );
    }
    let buffer = frame.buffer_mut();
    let inner = Rect { y: area.y + 1, height: area.height - 2, ..area };
    browser.places = Places { last: area.bottom() - 1, ..Places::default() };
    top_line(browser, buffer, area);
    if browser.help {
        help(buffer, inner);
    } else if area.width < BOTH {
        match browser.focus {
            Focus::Tree => {
                browser.places.tree = inner;
                tree(browser, buffer, inner);
            }
            Focus::Object => {
                browser.places.object = inner;
                object(browser, buffer, inner);
            }
        }
    } else {
        let left = (area.width * 2 / 5).min(WIDEST);
        browser.places.tree = Rect { width: left, ..inner };
        tree(browser, buffer, browser.places.tree);
        for y in inner.y..inner.bottom() {
            put(buffer, (inner.x + left, y), "│", 1, faint());
        }
        browser.places.object = Rect { x: inner.x + left + 2, width: inner.width - left - 2, ..inner };
        object(browser, buffer, browser.places.object);
    }
    bottom_line(browser, buffer, Rect { y: area.bottom() - 1, height: 1, ..area });
}

fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// Returns a style with a colour, if the terminal has colours.
fn coloured(browser: &Browser, colour: Color) -> Style {
    if browser.depth == Depth::None { Style::new() } else { Style::new().fg(colour) }
}

/// Writes as much of a text as fits; `…` stands for the rest, because a shortened text may look like another one.
fn put(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, width: u16, style: Style) {
    if y < buffer.area.bottom() && x < buffer.area.right() {
        let room = usize::from(width.min(buffer.area.right() - x));
        buffer.set_stringn(x, y, shortened(text, room), room, style);
    }
}

/// Returns the beginning of a text, with `…` in place of what does not fit.
fn shortened(text: &str, room: usize) -> Cow<'_, str> {
    if text.width() <= room {
        return Cow::Borrowed(text);
    }
    let mut left = bound::left(room, 1);
    // A control character has no width.
    let after = |left: usize, letter: char| match letter.width() {
        Some(width) => left.checked_sub(width),
        None => Some(left),
    };
    let fits = |letter: &char| match after(left, *letter) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    Cow::Owned(text.chars().take_while(fits).chain(['…']).collect())
}

fn length(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX) // a bound: no screen is wider
}

fn top_line(browser: &Browser, buffer: &mut Buffer, area: Rect) {
    let file = &browser.file;
    let about = format!("{} {}  {}", file.format(), file.source().headline(), look::size(file.size()));
    let about = look::safe(&about).into_owned();
    put(buffer, (area.x, area.y), &browser.title, area.width, bold());
    let used = length(&browser.title) + 2;
    if used + length(&about) <= area.width {
        put(buffer, (area.right() - length(&about), area.y), &about, area.width, faint());
    }
}

fn bottom_line(browser: &Browser, buffer: &mut Buffer, area: Rect) {
    if let Some(Prompt { purpose, text }) = &browser.prompt {
        let what = match purpose {
            Purpose::Search => "search: ",
            Purpose::Slice => "slice: ",
        };
        put(buffer, (area.x, area.y), &format!("{what}{text}█"), area.width, bold());
    } else if !browser.message.is_empty() {
        put(buffer, (area.x, area.y), &look::safe(&browser.message), area.width, bold());
    } else {
        let keys = KEYS.iter().map(|(key, what)| format!("{key} {what}")).collect::<Vec<_>>().join("  ");
        put(buffer, (area.x, area.y), &keys, area.width, faint());
    }
}

fn help(buffer: &mut Buffer, area: Rect) {
    for ((keys, what), y) in HELP.iter().zip(area.y + 1..area.bottom()) {
        put(buffer, (area.x + 2, y), keys, bound::left(area.width, 2), bold());
        put(buffer, (area.x + 28, y), what, bound::left(area.width, 28), Style::new());
    }
}

fn tree(browser: &mut Browser, buffer: &mut Buffer, area: Rect) {
    let height = usize::from(area.height);
    browser.page.0 = height;
    browser.tree.scroll(height);
    let file = std::sync::Arc::clone(&browser.file);
    for (index, y) in (browser.tree.top..).zip(area.y..area.bottom()) {
        let known = browser.tree.known(&file, index).cloned();
        let Some(line) = browser.tree.line(index) else { break };
        let group = known.as_ref().is_some_and(|known| known.opens);
        let mark = match (group, line.open) {
            (true, true) => "▾ ",
            (true, false) => "▸ ",
            (false, _) => "  ",
        };
        let indent = u16::try_from(line.depth * 2).unwrap_or(u16::MAX).min(area.width / 2); // a bound
        let style = match (&line.leads, &known) {
            (Leads::Away(_), _) => coloured(browser, Color::Magenta),
            (_, Some(known)) if known.kind == sciformats::Kind::Unknown => coloured(browser, Color::Red),
            _ if group => coloured(browser, Color::Blue).add_modifier(Modifier::BOLD),
            _ => Style::new(),
        };
        let text = format!("{mark}{}", look::safe(&line.name.shown()));
        let selected = index == browser.tree.selected;
        let turned =
            if selected && browser.focus == Focus::Tree { Modifier::REVERSED } else { Modifier::empty() };
        let style = if selected { style.add_modifier(turned | Modifier::BOLD) } else { style };
        let room = bound::left(area.width, indent);
        put(buffer, (area.x + indent, y), &text, room, style);
        let note = match (&line.leads, known) {
            (Leads::Away(target), _) => look::safe(target).into_owned(),
            (_, Some(known)) => known.note,
            _ => String::new(),
        };
        let start = indent + length(&text) + 2;
        if start + 3 < area.width && !note.is_empty() {
            put(buffer, (area.x + start, y), &note, area.width - start, faint());
        }
    }
}

fn object(browser: &mut Browser, buffer: &mut Buffer, area: Rect) {
    let style = if browser.focus == Focus::Object { bold().add_modifier(Modifier::REVERSED) } else { bold() };
    put(buffer, (area.x, area.y), &look::safe(&browser.details.path), area.width, style);
    let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let all = browser.details.shape.is_none() || browser.show == Show::Details;
    if all {
        browser.page.1 = (area.height.into(), 1);
        browser.order((area.width.into(), area.height.into()));
        let said = statements(browser);
        lines(browser, buffer, (&said, browser.scrolled), area);
        return;
    }
    let most = bound::left(area.height, ARRAY).min(area.height * 2 / 5);
    let said = statements(browser);
    let taken = u16::try_from(said.len()).unwrap_or(u16::MAX).min(most); // a bound
    lines(browser, buffer, (&said, 0), Rect { height: taken, ..area });
    let rest = Rect { y: area.y + taken + 1, height: bound::left(area.height, taken + 1), ..area };
    browser.order((rest.width.into(), rest.height.into()));
    match browser.show {
        Show::Table | Show::Details => cells(browser, buffer, rest),
        Show::Picture | Show::Bars => picture(browser, buffer, rest),
    }
}

/// A key, its value, and whether it reports something wrong.
type Statement = (String, String, bool);

/// Returns everything that is said about the object, including statistics.
fn statements(browser: &Browser) -> Vec<Statement> {
    let mut said: Vec<Statement> =
        browser.details.lines.iter().map(|line| (line.key.clone(), line.value.clone(), line.wrong)).collect();
    let part = browser.part();
    // What its values are comes first, then how they are stored, then the attributes.
    let mut at = browser.details.first.min(said.len());
    if let Some(slice) = part.as_ref().and_then(|part| part.slice.clone()) {
        said.insert(at, ("shown".into(), look::safe(&format!("[{slice}]")).into_owned(), false));
        at += 1;
    }
    let found = browser.statistics.as_ref().filter(|(of, _)| Some(of) == part.as_ref());
    if let Some((_, found)) = found.filter(|_| !browser.details.has_ends) {
        let units = browser.details.units.as_ref().map(|units| format!(" {}", look::safe(units)));
        let units = units.unwrap_or_default();
        let (text, wrong) = match found {
            None => ("…".to_owned(), false),
            Some(Err(error)) => (look::safe(error).into_owned(), true),
            Some(Ok(numbers)) => {
                let (low, high) = (brief(numbers.low), brief(numbers.high));
                let (mean, deviation) = (brief(numbers.mean()), brief(numbers.deviation()));
                let odd = if numbers.left_out > 0 {
                    format!(", {} not finite", look::grouped(numbers.left_out))
                } else {
                    String::new()
                };
                match numbers.count {
                    0 => (format!("no finite value{odd}"), false),
                    _ => (format!("{low} … {high}{units}, mean {mean} ± {deviation}{odd}"), false),
                }
            }
        };
        said.insert(at, ("range".into(), text, wrong));
    }
    said
}

fn lines(browser: &Browser, buffer: &mut Buffer, (said, from): (&[Statement], usize), area: Rect) {
    let widest = said.iter().map(|(key, ..)| length(key)).max().unwrap_or(0).min(area.width / 2); // a bound of widths
    for ((key, value, wrong), y) in said.iter().skip(from).zip(area.y..area.bottom()) {
        put(buffer, (area.x, y), key, widest, faint());
        let style = if *wrong { coloured(browser, Color::Red) } else { Style::new() };
        put(buffer, (area.x + widest + 2, y), value, bound::left(area.width, widest + 2), style);
    }
}

fn cells(browser: &mut Browser, buffer: &mut Buffer, area: Rect) {
    let rows = u64::from(bound::left(area.height, 1));
    // A column is at least two characters wide, including the space beside it.
    let most = u64::from(area.width / 2);
    let corner = browser.corner;
    let read = browser.with_part(|subject| table::read(subject, corner, (rows, most)));
    let cells = match read {
        Some(Ok(cells)) => cells,
        Some(Err(error)) => {
            let style = coloured(browser, Color::Red);
            return put(buffer, (area.x, area.y), &look::safe(&error.to_string()), area.width, style);
        }
        None => return,
    };
    let before = cells.rows.iter().map(|(index, _)| length(index)).max().unwrap_or(0); // a bound of widths
    for ((index, _), y) in cells.rows.iter().zip(area.y + 1..area.bottom()) {
        let x = area.x + before - length(index);
        put(buffer, (x, y), index, before, faint());
    }
    let mut x = area.x + before + 2;
    let mut columns = 0;
    for (column, width) in cells.widths().into_iter().enumerate() {
        let width = u16::try_from(width).unwrap_or(u16::MAX).max(1); // a bound: no screen is wider
        // A column is only drawn if it fits, unless it is the first.
        if x + width > area.right() && columns > 0 || x >= area.right() {
            break;
        }
        columns += 1;
        let head = cells.heads.get(column).map_or("", String::as_str);
        let at = |text: &str| x + bound::left(width, length(text));
        put(buffer, (at(head), area.y), head, bound::left(area.right(), at(head)), faint());
        for ((_, texts), y) in cells.rows.iter().zip(area.y + 1..area.bottom()) {
            let text = texts.get(column).map_or("", String::as_str);
            put(buffer, (at(text), y), text, bound::left(area.right(), at(text)), Style::new());
        }
        x += width + 2;
    }
    browser.page.1 = (rows, columns);
    browser.shown = Some((cells, columns));
}

fn picture(browser: &Browser, buffer: &mut Buffer, area: Rect) {
    let Some(picture) = browser.picture.as_ref().filter(|_| browser.details.is_number) else {
        return put(
            buffer,
            (area.x, area.y),
            "there is no picture, because the elements are not numbers",
            area.width,
            faint(),
        );
    };
    match &picture.made {
        None => put(buffer, (area.x, area.y), "…", area.width, faint()),
        Some(Err(error)) => {
            let style = coloured(browser, Color::Red);
            put(buffer, (area.x, area.y), &look::safe(error), area.width, style);
        }
        Some(Ok(figure)) => {
            let size = (usize::from(area.width), usize::from(area.height));
            onto(buffer, &terminal::draw(figure, size, browser.depth), area, browser.depth);
        }
    }
}

/// Copies a screen of characters into a part of another one.
fn onto(buffer: &mut Buffer, screen: &Screen, area: Rect, depth: Depth) {
    for (row, y) in screen.rows().zip(area.y..area.bottom()) {
        for (glyph, x) in row.iter().zip(area.x..area.right()) {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                if glyph.character == '\0' {
                    cell.reset();
                    continue;
                }
                cell.set_char(glyph.character).set_style(style(glyph, depth));
            }
        }
    }
}

fn style(glyph: &Glyph, depth: Depth) -> Style {
    let colour = |[red, green, blue]: Colour| match depth {
        Depth::None => None,
        Depth::Indexed => Some(Color::Indexed(palette::indexed([red, green, blue]))),
        Depth::Full => Some(Color::Rgb(red, green, blue)),
    };
    let mut style = Style::new();
    style.fg = glyph.ink.and_then(colour);
    style.bg = glyph.ground.and_then(colour);
    match glyph.look {
        Look::Plain => style,
        Look::Bold => style.add_modifier(Modifier::BOLD),
        Look::Faint => style.add_modifier(Modifier::DIM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_says_so() {
        assert_eq!(shortened("20 × 72", 7), "20 × 72");
        assert_eq!(shortened("20 × 72 × 144", 8), "20 × 72…");
        assert_eq!(shortened("温度", 3), "温…");
        assert_eq!(shortened("温度", 2), "…");
    }
}
