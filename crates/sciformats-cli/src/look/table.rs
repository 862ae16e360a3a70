//! Aligned columns. They are written in blocks, so that a long list appears while it is read.

use std::io::{self, Write};

use anstyle::Style;
use sciformats_core::bound;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of rows that are aligned with each other; longer lists are aligned block by block.
const BLOCK: usize = 256;
/// Columns that are wider than this do not move the others.
const WIDEST: usize = 64;

/// The alignment of text in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Styled pieces of text that stand next to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell(Vec<(Style, String)>);

impl Cell {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    pub(crate) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    pub(crate) fn and_cell(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Returns the cell in at most `width` columns; the last one is `…` if there were more.
    fn clipped(&self, width: usize) -> Self {
        let mut room = bound::left(width, 1);
        let mut parts = Vec::new();
        for (style, text) in &self.0 {
            let fits = |room: &mut usize, c: char| {
                let width = c.width().unwrap_or(0); // a bound: control characters take no room
                let fits = width <= *room;
                *room = if fits { *room - width } else { 0 };
                fits
            };
            let kept: String = text.chars().take_while(|&c| fits(&mut room, c)).collect();
            let whole = kept.len() == text.len();
            parts.push((*style, kept));
            if !whole {
                break;
            }
        }
        if let Some((_, last)) = parts.last_mut().filter(|_| width > 0) {
            last.push('…');
        }
        Self(parts)
    }

    fn write(&self, out: &mut impl Write, plain: bool) -> io::Result<()> {
        for (style, text) in &self.0 {
            if plain || *style == Style::new() {
                out.write_all(text.as_bytes())?;
            } else {
                write!(out, "{style}{text}{style:#}")?;
            }
        }
        Ok(())
    }
}

/// Rows that wait until the widths of their columns are known.
#[derive(Debug)]
pub(crate) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
    /// The number of columns of characters that a row may occupy.
    room: usize,
    /// Whether no colours are shown; styles are then not written at all.
    plain: bool,
}

impl Table {
    pub(crate) fn new(aligns: impl Into<Vec<Align>>) -> Self {
        Self { aligns: aligns.into(), rows: Vec::new(), indent: 0, room: usize::MAX, plain: false }
    }

    pub(crate) fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Limits the rows to the width of the terminal on stdout, if there is one.
    pub(crate) fn fitted(self) -> Self {
        let room = super::line().unwrap_or(usize::MAX); // a bound: without a screen there is room for all
        Self { room, plain: super::plain(), ..self }
    }

    /// Adds a row, which may have fewer cells than there are columns.
    pub(crate) fn row(&mut self, out: &mut impl Write, row: Vec<Cell>) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() >= BLOCK { self.flush(out) } else { Ok(()) }
    }

    /// Writes the waiting rows.
    pub(crate) fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut widths = vec![0; self.aligns.len()];
        let widest = WIDEST.min(self.room / 2);
        for row in &self.rows {
            // The last cell of a row is not padded.
            for (cell, width) in row.iter().rev().skip(1).rev().zip(&mut widths) {
                *width = (*width).max(cell.width().min(widest));
            }
        }
        for row in &self.rows {
            // Right-aligned columns at the end are aligned over all rows.
            if let Some(width) = row.len().checked_sub(1).and_then(|last| widths.get_mut(last)) {
                let right = self.aligns.get(row.len() - 1) == Some(&Align::Right);
                if right {
                    *width = (*width).max(row.last().map_or(0, Cell::width).min(widest));
                }
            }
        }
        for row in std::mem::take(&mut self.rows) {
            write_row(out, &row, (&widths, &self.aligns), (self.indent, self.room, self.plain))?;
        }
        Ok(())
    }
}

fn write_row(
    out: &mut impl Write,
    row: &[Cell],
    (widths, aligns): (&[usize], &[Align]),
    (indent, room, plain): (usize, usize, bool),
) -> io::Result<()> {
    // Spaces are written only if something follows them, so that no line ends with a space.
    let (mut spaces, mut used) = (indent, 0usize);
    for (i, cell) in row.iter().enumerate() {
        let width = cell.width();
        let fill = bound::left(widths.get(i).copied().unwrap_or_default(), width);
        let right = aligns.get(i) == Some(&Align::Right);
        if width > 0 {
            let before = spaces + if right { fill } else { 0 };
            let left = bound::left(room, bound::sum(used, before));
            if left == 0 {
                break;
            }
            write!(out, "{:1$}", "", before)?;
            if width > left {
                cell.clipped(left).write(out, plain)?;
                break;
            }
            cell.write(out, plain)?;
            used += before + width;
            spaces = if right { 0 } else { fill };
        } else {
            spaces += fill;
        }
        spaces += 2;
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{PLAIN, TITLE};

    fn cell(text: &str) -> Cell {
        Cell::new(PLAIN, text)
    }

    #[test]
    fn columns_line_up_and_no_line_ends_in_space() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
        let mut out = Vec::new();
        table.row(&mut out, vec![cell("a"), cell("1"), cell("x")]).unwrap();
        table.row(&mut out, vec![cell("日本"), cell("100")]).unwrap();
        table.row(&mut out, vec![cell("long name"), cell(""), cell("y")]).unwrap();
        table.row(&mut out, vec![cell("only")]).unwrap();
        assert!(out.is_empty());
        table.flush(&mut out).unwrap();
        let expected = "a            1  x\n日本       100\nlong name       y\nonly\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn rows_end_where_the_terminal_ends() {
        for room in [1, 2, 7, 12, 14, 30] {
            let mut table = Table { room, ..Table::new([Align::Left, Align::Right, Align::Left]) };
            let mut out = Vec::new();
            table.row(&mut out, vec![cell("a name"), cell("1"), cell("x")]).unwrap();
            table.row(&mut out, vec![cell("other"), cell("20"), cell("日本語")]).unwrap();
            table.flush(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.width() <= room), "{room}: {text}");
            let cut = text.lines().filter(|line| line.ends_with('…')).count();
            // Columns that are not begun leave no mark.
            assert_eq!(cut > 0, matches!(room, 1 | 2 | 14), "{room}: {text}");
            assert_eq!(text.lines().count(), 2);
        }
    }

    #[test]
    fn styles_take_no_room() {
        let mut table = Table::new([Align::Left, Align::Left]).indented(1);
        let mut out = Vec::new();
        table.row(&mut out, vec![Cell::new(TITLE, "a").and(PLAIN, "/"), cell("b")]).unwrap();
        table.flush(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " \u{1b}[1ma\u{1b}[0m/  b\n");
    }
}
