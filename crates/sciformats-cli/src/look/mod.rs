//! How output looks: styles, sizes, shapes, tables, progress. Nothing here knows a file.

mod escaped;
mod progress;
mod table;

use std::borrow::Cow;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use sciformats_core::bound;
use unicode_width::UnicodeWidthStr;

pub(crate) use escaped::Escaped;
pub(crate) use progress::Progress;
pub(crate) use sciformats_core::fault::grouped;
pub(crate) use table::{Align, Cell, Table};

/// Names of groups.
pub(crate) const GROUP: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Blue)));
/// Names of files, and headings.
pub(crate) const TITLE: Style = Style::new().bold();
/// Types of elements.
pub(crate) const TYPE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
/// Shapes.
pub(crate) const SHAPE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
/// Links and where they lead.
pub(crate) const LINK: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta)));
/// What is less important.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What is wrong.
pub(crate) const WRONG: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
/// What is well.
pub(crate) const WELL: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
/// No style.
pub(crate) const PLAIN: Style = Style::new();

/// Makes the control characters in text from a file visible, so that a file cannot send commands to the
/// terminal.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| if hides(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(show).collect())
}

/// As [`safe`], for JSON, in which such characters only stand in texts: a reader gets the same text from an escape.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    let hidden = |c: char| !c.is_ascii_control() && hides(c) || c == '\u{7f}';
    if !json.chars().any(hidden) {
        return Cow::Borrowed(json);
    }
    let show = |c: char| if hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(json.chars().map(show).collect())
}

/// Returns whether a character is a control character, or changes the direction of the text around it.
fn hides(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats a number of bytes for people: `640 B`, `1.5 KiB`, `12 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in UNITS {
        // A value that would be rounded to 1024 is shown as 1 of the next unit.
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Tells how much of a file is left, and the next step.
pub(crate) fn cut_short(path: &std::path::Path, (size, whole): (u64, u64)) -> String {
    let (size, whole) = (grouped(size), grouped(whole));
    let path = path.display();
    format!(
        "it was cut short: {size} of {whole} bytes are left; `sciformats salvage {path}` says what is in them"
    )
}

/// Formats dimensions for people: `3 × 4`, `scalar`, `null`.
pub(crate) fn shape(shape: Option<&[u64]>) -> String {
    match shape {
        None => "null".into(),
        Some([]) => "scalar".into(),
        Some(shape) => shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
    }
}

/// Returns at most `width` characters of `text`; the last one is `…` if there were more.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(bound::left(width, 1)).chain(['…']).collect()
}

/// Returns the columns and rows of the terminal on stdout. Without a terminal they are `COLUMNS` and `LINES`,
/// or 80 and 24.
pub(crate) fn screen() -> (usize, usize) {
    if std::io::stdout().is_terminal()
        && let Ok((columns, rows)) = ratatui::crossterm::terminal::size()
        && columns > 0
        && rows > 0
    {
        return (columns.into(), rows.into());
    }
    let said = |name: &str, otherwise: usize| {
        let number = std::env::var(name).ok().and_then(|text| text.parse::<u16>().ok());
        number.filter(|&number| number > 0).map_or(otherwise, usize::from)
    };
    (said("COLUMNS", 80), said("LINES", 24))
}

/// Returns the columns of the terminal on stdout, or `COLUMNS` without a terminal; `None` means no limit.
pub(crate) fn line() -> Option<usize> {
    let told = std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
    told.then(|| screen().0)
}

/// Returns whether stdout shows no colours.
pub(crate) fn plain() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never
}

/// Formats a count with its noun: `1 group`, `3 groups`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Writes a word and what it tells, on more lines if the terminal has no room for it on one.
pub(crate) fn told(
    out: &mut impl std::io::Write,
    (style, word): (Style, &str),
    what: Cell,
) -> std::io::Result<()> {
    /// The width of the longest of these words.
    const WORD: usize = 6;
    let mut table = Table::new([Align::Left; 2]).indented(2).fitted().wrapped();
    let space = " ".repeat(bound::left(WORD, word.width()));
    table.row(out, vec![Cell::new(style, word).and(PLAIN, space), what])?;
    table.flush(out)
}

/// Tells which columns of a grid had no room, and the option that shows all of them.
pub(crate) fn left_out(out: &mut impl std::io::Write, table: &Table, option: &str) -> std::io::Result<()> {
    let names = table.left_out();
    if names.is_empty() {
        return Ok(());
    }
    let more = count(names.len() as u64, "more column");
    let room = line().unwrap_or(usize::MAX); // a bound: without a screen there is room for all
    let texts = [
        format!("… {more}: {}; {option} shows all", names.join(", ")),
        format!("… {more}; {option} shows all"),
        format!("… {more}"),
    ];
    let text = texts.iter().find(|text| text.width() <= room).or(texts.last()).map_or("", String::as_str);
    writeln!(out, "{FAINT}{}{FAINT:#}", clipped(text, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        let table = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 * 1024, "10 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (bytes, text) in table {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_shapes_and_clips() {
        assert_eq!(count(1, "group"), "1 group");
        assert_eq!(count(2000, "group"), "2,000 groups");
        assert_eq!(shape(Some(&[3, 4])), "3 × 4");
        assert_eq!(clipped("abcdef", 4), "abc…");
        assert_eq!(clipped("abcd", 4), "abcd");
    }

    #[test]
    fn files_do_not_talk_to_the_terminal() {
        assert_eq!(safe("µ x"), "µ x");
        assert_eq!(safe("a\x1b[31mb\n\u{202e}"), r"a\u{1b}[31mb\n\u{202e}");
        assert_eq!(safe_json("[\"µ\u{9b}\u{7f}\u{202e}\"]\n"), "[\"µ\\u009b\\u007f\\u202e\"]\n");
    }
}
