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
pub(crate) struct Cell {
    parts: Vec<(Style, String)>,
    /// The number of pieces that are values, of which a part would be misleading: a number that ends early is
    /// another number.
    unbroken: usize,
}

/// Returns the number of columns of a text. It is asked several times for each cell, and nearly all cells are ASCII.
fn width(text: &str) -> usize {
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_printable { text.len() } else { UnicodeWidthStr::width(text) }
}

impl Cell {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Self { parts: vec![(style, text.into())], unbroken: 0 }
    }

    /// Marks the text as values, which are only cut where one of them ends.
    pub(crate) fn unbroken(self) -> Self {
        Self { unbroken: self.parts.len(), ..self }
    }

    pub(crate) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.parts.push((style, text.into()));
        self
    }

    pub(crate) fn and_cell(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Returns whether there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.iter().all(|(_, text)| text.is_empty())
    }

    fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| width(text)).sum()
    }

    /// Returns the cell in at most `width` columns; the last one is `…` if there were more.
    fn clipped(&self, width: usize) -> Self {
        let mut room = bound::left(width, 1);
        let whole: String = self.parts.iter().take(self.unbroken).map(|(_, text)| text.as_str()).collect();
        if whole.width() > room {
            let ends = whole.match_indices(BETWEEN).map(|(at, _)| at + 1); // a position in the text
            let fitting = ends.filter(|&at| whole.get(..at).is_some_and(|kept| kept.width() <= room));
            room = fitting.last().and_then(|at| whole.get(..at)).map_or(0, UnicodeWidthStr::width);
        }
        let mut parts = Vec::new();
        for (style, text) in &self.parts {
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
        Self { parts, unbroken: self.unbroken }
    }

    /// Returns the lines of the cell, each in at most `width` columns, broken at spaces where there are some.
    fn lines(&self, width: usize) -> Vec<Self> {
        let (mut lines, mut line, mut used) = (Vec::new(), Self::default(), 0usize);
        let mut end = |line: &mut Self, used: &mut usize| {
            while let Some((_, last)) = line.parts.last_mut() {
                last.truncate(last.trim_end().len());
                if !last.is_empty() {
                    break;
                }
                line.parts.pop();
            }
            *used = 0;
            lines.push(std::mem::take(line));
        };
        for (style, text) in &self.parts {
            for (at, paragraph) in text.split('\n').enumerate() {
                if at > 0 {
                    end(&mut line, &mut used);
                }
                for word in paragraph.split_inclusive(' ') {
                    if used > 0 && bound::sum(used, word.trim_end().width()) > width {
                        end(&mut line, &mut used);
                    }
                    let mut piece = String::new();
                    for c in word.chars() {
                        let wide = c.width().unwrap_or(0); // a bound: control characters take no room
                        if used > 0 && bound::sum(used, wide) > width && c != ' ' {
                            line.parts.push((*style, std::mem::take(&mut piece)));
                            end(&mut line, &mut used);
                        }
                        piece.push(c);
                        used = bound::sum(used, wide);
                    }
                    line.parts.push((*style, piece));
                }
            }
        }
        end(&mut line, &mut used);
        lines
    }

    fn write(&self, out: &mut impl Write, plain: bool) -> io::Result<()> {
        for (style, text) in &self.parts {
            if plain || *style == Style::new() {
                out.write_all(text.as_bytes())?;
            } else {
                write!(out, "{style}{text}{style:#}")?;
            }
        }
        Ok(())
    }
}

/// What stands between two values of a cell.
const BETWEEN: &str = " … ";

/// The last cell of a row is wrapped beside the others if it has at least this much room, and below them otherwise.
const NARROW: usize = 24;

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
    /// Whether what does not fit of a row continues on more lines.
    wrapped: bool,
    /// Whether rows stay aligned: columns that do not fit are left out.
    grid: bool,
    /// In a grid: the texts of the first row, and the widths that the columns have had so far.
    heads: Vec<String>,
    widths: Vec<usize>,
    /// In a grid: the number of columns that are shown.
    fitting: usize,
}

impl Table {
    pub(crate) fn new(aligns: impl Into<Vec<Align>>) -> Self {
        Self {
            aligns: aligns.into(),
            rows: Vec::new(),
            indent: 0,
            room: usize::MAX,
            plain: false,
            wrapped: false,
            grid: false,
            heads: Vec::new(),
            widths: Vec::new(),
            fitting: usize::MAX,
        }
    }

    /// Continues what does not fit of a row on more lines, instead of cutting it.
    pub(crate) fn wrapped(self) -> Self {
        Self { wrapped: true, ..self }
    }

    /// Keeps the values of each column below each other, whatever the width of the terminal: columns that do not fit are left out.
    /// The first row contains their names.
    pub(crate) fn grid(self) -> Self {
        Self { grid: true, ..self }
    }

    /// Returns the names of the columns that a grid has left out.
    pub(crate) fn left_out(&self) -> &[String] {
        self.heads.get(self.fitting..).unwrap_or_default()
    }

    pub(crate) fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Limits the rows to the width of the terminal on stdout, if there is one.
    pub(crate) fn fitted(self) -> Self {
        let room = super::line().unwrap_or(usize::MAX); // a bound: without a screen there is room for all
        Self { room, plain: super::plain(), ..self }
    }

    /// Leaves out colours, because nobody reads the rows on a terminal.
    #[cfg(feature = "tables")]
    pub(crate) fn uncoloured(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Adds a row, which may have fewer cells than there are columns.
    pub(crate) fn row(&mut self, out: &mut impl Write, row: Vec<Cell>) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() >= BLOCK { self.flush(out) } else { Ok(()) }
    }

    /// Writes the waiting rows.
    pub(crate) fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.grid {
            return self.flush_grid(out);
        }
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
        for mut row in std::mem::take(&mut self.rows) {
            let more = if self.wrapped { self.continued(&mut row, &widths) } else { (0, Vec::new()) };
            write_row(out, &row, (&widths, &self.aligns), (self.indent, self.room, self.plain))?;
            for line in more.1 {
                write!(out, "{:1$}", "", more.0)?;
                line.write(out, self.plain)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Writes the waiting rows as a grid.
    fn flush_grid(&mut self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.aligns.len();
        self.widths.resize(columns, 0);
        for row in &self.rows {
            // The last cell of a short row, which is a remark, moves no column.
            let counted = if row.len() < columns { bound::left(row.len(), 1) } else { columns };
            for (cell, width) in row.iter().take(counted).zip(&mut self.widths) {
                *width = (*width).max(cell.width());
            }
        }
        if self.heads.is_empty() {
            let text = |cell: &Cell| cell.parts.iter().map(|(_, text)| text.as_str()).collect();
            self.heads = self.rows.first().into_iter().flatten().map(text).collect();
        }
        let widths = self.fit();
        self.fitting = widths.len();
        let mut aligns: Vec<Align> = self.aligns.iter().copied().take(widths.len()).collect();
        aligns.push(Align::Left); // of the mark
        for row in std::mem::take(&mut self.rows) {
            let short = row.len() < columns;
            let (last, whole) = (bound::left(row.len(), 1), row.len() <= widths.len());
            let mut cells = Vec::new();
            for (i, (cell, width)) in row.into_iter().zip(&widths).enumerate() {
                let before = widths.iter().take(i).fold(self.indent, |sum, width| bound::sum(sum, width + 2));
                let width = if short && i == last { bound::left(self.room, before).max(1) } else { *width };
                cells.push(if cell.width() > width { cell.clipped(width) } else { cell });
            }
            if !whole {
                cells.push(Cell::new(Style::new(), "…"));
            }
            write_row(out, &cells, (&widths, &aligns), (self.indent, usize::MAX, self.plain))?;
        }
        Ok(())
    }

    /// Returns the widths of the columns that fit. Numbers are whole; a text that does not fit ends with `…`.
    fn fit(&self) -> Vec<usize> {
        /// The least width of a text that is cut.
        const LEAST: usize = 8;
        /// The width of the mark for columns that are left out, and of the space before it.
        const MARK: usize = 3;
        let widest = WIDEST.min(self.room / 2).max(LEAST);
        let narrowed =
            |(&width, align): (&usize, &Align)| if *align == Align::Left { width.min(widest) } else { width };
        let mut widths: Vec<usize> = self.widths.iter().zip(&self.aligns).map(narrowed).collect();
        let needed = |widths: &[usize]| {
            let gaps = bound::left(widths.len(), 1) * 2;
            widths.iter().fold(self.indent + gaps, |sum, &width| bound::sum(sum, width))
        };
        if needed(&widths) <= self.room {
            return widths;
        }
        let all = widths.clone();
        let first = all.first().map_or(0, |&width| self.indent + width);
        while widths.len() > 1 && needed(&widths) + MARK > self.room {
            widths.pop();
        }
        let next = widths.len();
        let start = needed(&widths) + 2;
        let mark = if next + 1 < all.len() { MARK } else { 0 };
        let left = bound::left(self.room, start + mark);
        match (self.aligns.get(next), all.get(next)) {
            // A part of the next column has room.
            (Some(Align::Left), Some(&width)) if left >= LEAST.min(width) => widths.push(left.min(width)),
            _ => {
                if let ([only], true) = (widths.as_mut_slice(), first + MARK > self.room) {
                    *only = bound::left(self.room, self.indent + MARK).max(1);
                }
            }
        }
        widths
    }

    /// Shortens a row to the cells that fit, and returns the lines that follow and their indent.
    fn continued(&self, row: &mut Vec<Cell>, widths: &[usize]) -> (usize, Vec<Cell>) {
        let (mut used, mut fitting) = (self.indent, 0usize);
        for (i, cell) in row.iter().enumerate() {
            if bound::sum(used, cell.width()) > self.room {
                break;
            }
            let column = widths.get(i).copied().unwrap_or_default();
            used = bound::sum(used, bound::sum(cell.width().max(column), 2));
            fitting += 1;
        }
        let indent = bound::sum(self.indent, 4);
        if fitting + 1 < row.len() {
            let mut rest = Cell::default();
            for cell in row.split_off(fitting).into_iter().filter(|cell| !cell.is_empty()) {
                let gap = if rest.parts.is_empty() { "" } else { "  " };
                rest = rest.and(Style::new(), gap).and_cell(cell);
            }
            let mut lines = rest.lines(bound::left(self.room, indent).max(1));
            if fitting == 0 && !lines.is_empty() {
                row.push(lines.remove(0));
            }
            return (indent, lines);
        }
        let Some((last, before)) = row.split_last_mut() else { return (0, Vec::new()) };
        let used = before.iter().enumerate().map(|(i, cell)| {
            let column = widths.get(i).copied().unwrap_or_default();
            bound::sum(cell.width().max(column), 2)
        });
        let start = used.fold(self.indent, bound::sum);
        let room = bound::left(self.room, start);
        if last.width() <= room && !last.parts.iter().any(|(_, text)| text.contains('\n')) {
            return (0, Vec::new());
        }
        if room < NARROW {
            let indent = bound::sum(self.indent, 4);
            return (indent, std::mem::take(last).lines(bound::left(self.room, indent).max(1)));
        }
        let mut lines = last.lines(room).into_iter();
        *last = lines.next().unwrap_or_default();
        (start, lines.collect())
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
    let mut over = bound::left(needed(row, (widths, aligns), indent), room);
    for (i, cell) in row.iter().enumerate() {
        let width = cell.width();
        let mut fill = bound::left(widths.get(i).copied().unwrap_or_default(), width);
        // A row that does not fit gives up its alignment before it is cut.
        let given = fill.min(over);
        if width > 0 || i > 0 {
            fill -= given;
            over -= given;
        }
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

/// Returns the number of columns of characters that a row needs if all of it is aligned.
fn needed(row: &[Cell], (widths, aligns): (&[usize], &[Align]), indent: usize) -> usize {
    let (mut spaces, mut used) = (indent, 0usize);
    for (i, cell) in row.iter().enumerate() {
        let width = cell.width();
        let fill = bound::left(widths.get(i).copied().unwrap_or_default(), width);
        let right = aligns.get(i) == Some(&Align::Right);
        if width > 0 {
            used = bound::sum(used, spaces + width + if right { fill } else { 0 });
            spaces = if right { 0 } else { fill };
        } else {
            spaces += fill;
        }
        spaces += 2;
    }
    used
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
            assert_eq!(cut > 0, matches!(room, 1 | 2 | 12 | 14), "{room}: {text}");
            assert_eq!(text.lines().count(), 2);
        }
    }

    #[test]
    fn rows_that_do_not_fit_give_up_their_alignment_first() {
        let mut table = Table { room: 24, ..Table::new([Align::Left, Align::Left, Align::Left]) };
        let mut out = Vec::new();
        table.row(&mut out, vec![cell("a"), cell("int8"), cell("1.5 … 22.5").unbroken()]).unwrap();
        table.row(&mut out, vec![cell("long name"), cell("float32"), cell("x")]).unwrap();
        table.row(&mut out, vec![cell("name"), cell("float32"), cell("1.5 … 22.5").unbroken()]).unwrap();
        table
            .row(&mut out, vec![cell("long name"), cell("float32"), cell("12.5 … 22.5").unbroken()])
            .unwrap();
        table.flush(&mut out).unwrap();
        let expected = "a    int8     1.5 … 22.5\nlong name  float32  x\n\
                        name  float32  1.5 …\nlong name  float32  …\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn long_texts_continue_on_more_lines() {
        let shown = |room, text: &str| {
            let mut table = Table { room, ..Table::new([Align::Left; 2]) }.wrapped();
            let mut out = Vec::new();
            table.row(&mut out, vec![cell("name"), cell(text)]).unwrap();
            table.flush(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = "one two three four five six seven";
        assert_eq!(shown(usize::MAX, text), format!("name  {text}\n"));
        assert_eq!(shown(30, text), "name  one two three four five\n      six seven\n");
        assert_eq!(shown(20, text), "name\n    one two three\n    four five six\n    seven\n");
        assert_eq!(shown(30, &"x".repeat(30)), format!("name  {}\n      xxxxxx\n", "x".repeat(24)));
        assert_eq!(shown(80, "a\nb c"), "name  a\n      b c\n");
        assert!(shown(30, "日本語日本語日本語日本語日本語").lines().all(|line| line.width() <= 30));
    }

    #[test]
    fn what_does_not_fit_of_a_row_continues_below() {
        let mut table = Table { room: 30, ..Table::new([Align::Left; 3]) }.wrapped().indented(2);
        let mut out = Vec::new();
        table
            .row(&mut out, vec![cell("a(time: 3, lat: 2)"), cell("float32 ← int16"), cell("wind speed")])
            .unwrap();
        table.row(&mut out, vec![cell("b"), cell("int8"), cell("x")]).unwrap();
        table.flush(&mut out).unwrap();
        let expected = "  a(time: 3, lat: 2)\n      float32 ← int16  wind\n      speed\n  b                int8\n      x\n";
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert_eq!(text, expected);
    }

    #[test]
    fn a_grid_stays_aligned_at_every_width() {
        let shown = |room| {
            let mut table =
                Table { room, ..Table::new([Align::Left, Align::Right, Align::Left, Align::Right]) }.grid();
            let mut out = Vec::new();
            table.row(&mut out, ["name", "n", "what", "share"].map(cell).to_vec()).unwrap();
            table.row(&mut out, ["a", "1", "a long remark", "0.25"].map(cell).to_vec()).unwrap();
            table.row(&mut out, ["bcd", "1000", "", "12.5"].map(cell).to_vec()).unwrap();
            table.row(&mut out, vec![cell("x"), cell("cannot be read")]).unwrap();
            table.flush(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.width() <= room), "{room}:\n{text}");
            (text, table.left_out().to_vec())
        };
        let (text, left_out) = shown(80);
        let whole = "name     n  what           share\na        1  a long remark   0.25\n\
                     bcd   1000                  12.5\nx     cannot be read\n";
        assert_eq!((text.as_str(), left_out.len()), (whole, 0));
        let (text, left_out) = shown(26);
        let narrow = "name     n  what         …\na        1  a long rem…  …\nbcd   1000               …\nx     cannot be read\n";
        assert_eq!((text.as_str(), left_out), (narrow, vec!["share".to_owned()]));
        // Numbers are never cut.
        let (text, left_out) = shown(14);
        let few = "name     n  …\na        1  …\nbcd   1000  …\nx     cannot …\n";
        assert_eq!((text.as_str(), left_out), (few, vec!["what".to_owned(), "share".to_owned()]));
        for room in 1..40 {
            if room > 3 {
                shown(room);
            }
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
