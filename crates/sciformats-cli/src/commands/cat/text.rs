//! Text for people: aligned, in NumPy's brackets, and without the middle of a long array. A list of compounds
//! becomes a table with one column per field.

use std::io::{self, Write};

use sciformats::{Datum, ElementType, Name, Selection};
use sciformats_core::bound;
use unicode_width::UnicodeWidthStr;

use super::brackets::Place;
use super::{Part, Printed, for_each};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table};

/// Arrays with more elements than this are summarised, as in NumPy.
const THRESHOLD: u64 = 1000;
/// The number of elements that are shown at each end of a summarised dimension.
const EDGE: u64 = 3;
/// The number of digits after the decimal point, as in NumPy; the other formats print all digits.
const DIGITS: usize = 8;
/// The number of characters per line, unless the terminal has fewer.
const LINE: usize = 80;
/// The number of elements that are aligned with each other when all elements are printed.
const BLOCK: usize = 4096;

pub(super) fn print(part: &Part<'_>, out: &mut impl Write, all: bool) -> Printed {
    let shape = part.selection.shape();
    let many =
        shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).is_none_or(|n| n > THRESHOLD);
    let summarised = many && !all;
    if let (ElementType::Compound(fields), [count]) = (part.array.element(), shape.as_slice()) {
        return table(part, (fields, *count), summarised, out);
    }
    if shape.contains(&0) {
        // There may be elements that cannot be read.
        part.for_each(|_| Ok(()))?;
        writeln!(out, "{}{}", "[".repeat(shape.len()), "]".repeat(shape.len()))?;
        return Ok(out.flush()?);
    }
    let alone = Alone { number: shape.is_empty(), text: shape.is_empty() || !part.quoted };
    let mut lines = Lines::new(&shape, summarised);
    if summarised {
        edges(part, &shape, &mut |datum| {
            lines.add(shown(&datum, alone));
            Ok(())
        })?;
    } else {
        part.for_each(|datum| {
            lines.add(shown(&datum, alone));
            if lines.waiting.len() >= BLOCK { lines.write(out) } else { Ok(()) }
        })?;
    }
    lines.write(out)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Whether an element is shown by itself, without neighbours.
#[derive(Clone, Copy)]
struct Alone {
    number: bool,
    text: bool,
}

/// Formats an element. If it stands beside others, text is quoted and numbers have at most eight digits after
/// the decimal point.
fn shown(datum: &Datum<'_>, alone: Alone) -> String {
    match datum {
        Datum::Text(_) if !alone.text => format!("{:?}", datum.to_string()),
        // A missing date.
        Datum::Text([]) if !alone.number => "nat".into(),
        Datum::Float(..) if !alone.number => rounded(datum.to_string()),
        _ => look::safe(&datum.to_string()).into_owned(),
    }
}

/// Formats a number with at most [`DIGITS`] digits after the decimal point and at most one trailing zero.
pub(in crate::commands) fn rounded(text: String) -> String {
    let (number, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    match (fraction(number), number.parse::<f64>()) {
        (Some(digits), Ok(value)) if digits > DIGITS => {
            let short = format!("{value:.DIGITS$}");
            let short = short.trim_end_matches('0');
            let zero = if short.ends_with('.') { "0" } else { "" };
            format!("{short}{zero}{exponent}")
        }
        _ => text,
    }
}

/// Returns the number of characters after the decimal point of a plain decimal number. The points are aligned
/// with each other.
fn fraction(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.')?;
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (plain(whole) && plain(fraction)).then_some(fraction.len())
}

/// Returns the shown indices of a dimension as pairs of start and count.
fn kept(count: u64, summarised: bool) -> Vec<(u64, u64)> {
    if summarised && count > 2 * EDGE { vec![(0, EDGE), (count - EDGE, EDGE)] } else { vec![(0, count)] }
}

/// Visits the elements at the ends of each dimension. Nothing else is read.
fn edges(part: &Part<'_>, shape: &[u64], visit: &mut dyn FnMut(Datum<'_>) -> io::Result<()>) -> Printed {
    fn rows(
        part: &Part<'_>,
        (shape, prefix): (&[u64], &mut Vec<(u64, u64)>),
        visit: &mut dyn FnMut(Datum<'_>) -> io::Result<()>,
    ) -> Printed {
        let Some((&count, rest)) = shape.split_first() else {
            let selection: Selection = part.selection.part(prefix)?;
            return for_each(part.array, &selection, visit);
        };
        for (start, count) in kept(count, true) {
            // The last dimension is read in one request; the dimensions before it are read index by index.
            let (each, step) = if rest.is_empty() { (1, count) } else { (count, 1) };
            for i in 0..each {
                prefix.push((start + i, step));
                rows(part, (rest, prefix), visit)?;
                prefix.pop();
            }
        }
        Ok(())
    }
    rows(part, (shape, &mut Vec::new()), visit)
}

/// Elements that are held back until the widths of their columns are known, and the position of the next
/// element.
struct Lines {
    waiting: Vec<String>,
    place: Place,
    /// For each dimension: how many indices are shown, and after how many of them others are left out.
    kept: Vec<(u64, Option<u64>)>,
    at: Vec<u64>,
    width: usize,
    /// The largest number of characters after a decimal point.
    fraction: usize,
    column: usize,
    /// The number of characters per line.
    line: usize,
    /// Spaces after the last number, which are written only if something follows on its line.
    owed: usize,
}

impl Lines {
    fn new(shape: &[u64], summarised: bool) -> Self {
        let kept: Vec<(u64, Option<u64>)> = shape
            .iter()
            .map(|&count| match kept(count, summarised).as_slice() {
                [(_, one), (_, two)] => (one + two, Some(*one)),
                _ => (count, None),
            })
            .collect();
        let counts: Vec<u64> = kept.iter().map(|&(count, _)| count).collect();
        let at = vec![0; shape.len()];
        Self {
            waiting: Vec::new(),
            place: Place::new(&counts),
            kept,
            at,
            width: 0,
            fraction: 0,
            column: 0,
            line: look::line().unwrap_or(LINE).min(LINE),
            owed: 0,
        }
    }

    fn add(&mut self, text: String) {
        self.waiting.push(text);
    }

    /// Writes the elements that were held back; columns never become narrower.
    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.kept.is_empty() {
            // A single element is written without padding.
            return self.waiting.drain(..).try_for_each(|text| write!(out, "{text}"));
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        self.fraction = waiting.iter().filter_map(|text| fraction(text)).fold(self.fraction, usize::max);
        for text in &mut waiting {
            if let Some(digits) = fraction(text) {
                text.extend(std::iter::repeat_n(' ', self.fraction - digits));
            }
        }
        let widest = waiting.iter().map(|text| text.width()).max().unwrap_or(0); // a bound of widths
        self.width = self.width.max(widest.min(self.line / 2));
        waiting.iter().try_for_each(|text| self.element(out, text))
    }

    fn element(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        let dimensions = self.kept.len();
        let opening = self.place.opening();
        if !self.place.is_first() {
            self.between(out, dimensions, opening)?;
        }
        write!(out, "{}", "[".repeat(opening))?;
        if opening > 0 {
            self.column = dimensions;
        }
        let fill = bound::left(self.width, text.width());
        let written = text.trim_end_matches(' ');
        write!(out, "{:fill$}{written}", "")?;
        self.column += fill + text.width();
        self.owed = text.len() - written.len();
        let closing = self.place.closing();
        if closing > 0 {
            write!(out, "{:1$}", "", std::mem::take(&mut self.owed))?;
        }
        write!(out, "{}", "]".repeat(closing))?;
        self.place.advance();
        self.advance();
        Ok(())
    }

    /// Writes what stands between the previous element and this one: a space, or line feeds where rows end,
    /// or dots where elements are left out.
    fn between(&mut self, out: &mut impl Write, dimensions: usize, opening: usize) -> io::Result<()> {
        // The dimension whose index changed.
        let axis = dimensions - opening - 1;
        let left_out = self.kept.get(axis).and_then(|kept| kept.1) == self.at.get(axis).copied();
        if opening == 0 {
            let dots = if left_out { 4 } else { 0 };
            if self.column + 1 + dots + self.width > self.line {
                write!(out, "\n{:dimensions$}", "")?;
                self.column = dimensions;
            } else {
                write!(out, "{:1$}", "", self.owed + 1)?;
                self.column += 1;
            }
            if left_out {
                write!(out, "... ")?;
                self.column += 4;
            }
            return Ok(());
        }
        let indent = axis + 1;
        let feeds = "\n".repeat(opening);
        if left_out {
            write!(out, "{feeds}{:indent$}...", "")?;
        }
        write!(out, "{feeds}{:indent$}", "")
    }

    fn advance(&mut self) {
        for (index, (count, _)) in self.at.iter_mut().zip(&self.kept).rev() {
            *index += 1;
            if *index < *count {
                return;
            }
            *index = 0;
        }
    }
}

fn table(
    part: &Part<'_>,
    (fields, count): (&[(Name, ElementType)], u64),
    summarised: bool,
    out: &mut impl Write,
) -> Printed {
    let words = |element: &ElementType| matches!(element, ElementType::Text | ElementType::Enum { .. });
    let align = |(_, element): &(Name, ElementType)| if words(element) { Align::Left } else { Align::Right };
    let mut table = Table::new(fields.iter().map(align).collect::<Vec<_>>()).fitted().grid();
    let names = fields.iter().map(|(name, _)| Cell::new(TITLE, look::safe(&name.shown())));
    table.row(out, names.collect())?;
    for (i, (start, count)) in kept(count, summarised).into_iter().enumerate() {
        if i > 0 {
            table.row(out, fields.iter().map(|_| Cell::new(FAINT, "…")).collect())?;
        }
        for_each(part.array, &part.selection.part(&[(start, count)])?, |datum| {
            let Datum::Record(fields) = datum else { return Ok(()) };
            let cells = fields.iter().map(|(_, field)| Cell::new(PLAIN, look::safe(&field.to_string())));
            table.row(out, cells.collect())
        })?;
    }
    table.flush(out)?;
    look::left_out(out, &table, "--csv")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, MemoryArray, Number, array, texts};
    use sciformats::{ArrayInfo, File, Format};

    use super::*;

    fn printed(array: MemoryArray, slice: &str, all: bool) -> String {
        let file = File::from(Memory::single(Format::Hdf5, array));
        let array = file.array("/").unwrap();
        let selection = Selection::parse(slice, array.shape()).unwrap();
        let mut out = Vec::new();
        assert!(print(&Part { array: &array, selection, quoted: true }, &mut out, all).is_ok());
        String::from_utf8(out).unwrap()
    }

    fn count<T: Number + TryFrom<u64>>(shape: &[u64]) -> MemoryArray {
        let values: Vec<T> = (0..shape.iter().product()).filter_map(|i| T::try_from(i).ok()).collect();
        array(shape, &values)
    }

    #[test]
    fn brackets_and_columns() {
        assert_eq!(printed(count::<i32>(&[2, 3]), "", false), "[[0 1 2]\n [3 4 5]]\n");
        assert_eq!(printed(array::<f32>(&[3], &[0.5, -10.0, f32::NAN]), "", false), "[  0.5 -10.0   nan]\n");
        let points = array::<f64>(&[2, 2], &[1.25, 100.0, 1e-9, -3.5]);
        assert_eq!(printed(points, "", false), "[[  1.25 100.0 ]\n [  1e-9  -3.5 ]]\n");
        assert_eq!(printed(count::<i32>(&[2, 2, 2]), "", false), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n");
        assert_eq!(printed(count::<i32>(&[3]), "1", false), "1\n");
        assert_eq!(printed(count::<i32>(&[0, 2]), "", false), "[[]]\n");
        assert_eq!(printed(texts(&[2], &["a", "b\x1b"]), "", false), "[      \"a\" \"b\\u{1b}\"]\n");
        assert_eq!(printed(texts(&[], &["plain text"]), "", false), "plain text\n");
    }

    #[test]
    fn long_arrays_lose_their_middle() {
        assert_eq!(printed(count::<i32>(&[2000]), "", false), "[   0    1    2 ... 1997 1998 1999]\n");
        assert_eq!(printed(count::<i32>(&[2000]), "::-1", false), "[1999 1998 1997 ...    2    1    0]\n");
        let square = "[[   0    1    2 ...   37   38   39]\n [  40   41   42 ...   77   78   79]\n \
                      [  80   81   82 ...  117  118  119]\n ...\n [1480 1481 1482 ... 1517 1518 1519]\n \
                      [1520 1521 1522 ... 1557 1558 1559]\n [1560 1561 1562 ... 1597 1598 1599]]\n";
        assert_eq!(printed(count::<i32>(&[40, 40]), "", false), square);
    }

    #[test]
    fn numbers_have_eight_digits_beside_others() {
        let third = 1.0 / 3.0;
        let values = array::<f64>(&[4], &[third, 1e-9 * third, 1e20 * third, 1e10 + 0.5]);
        let text = printed(values, "", false).replace(['[', ']'], "");
        let shown: Vec<_> = text.split_whitespace().collect();
        assert_eq!(shown, ["0.33333333", "3.33333333e-10", "3.33333333e19", "10000000000.5"]);
        assert_eq!(printed(array::<f64>(&[], &[third]), "", false), "0.3333333333333333\n");
        assert_eq!(rounded("2.000000001".into()), "2.0");
        let wide = array::<f64>(&[6], &[1.25, 123_456.0, 0.1 + 0.2, 1234.5, 1.5, 123_456.125]);
        assert!(printed(wide, "", false).lines().all(|line| !line.ends_with(' ')));
    }

    #[test]
    fn lines_break_and_all_is_all() {
        let text = printed(count::<i32>(&[30]), "", false);
        assert_eq!(
            text,
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n 26 27 28 29]\n"
        );
        let text = printed(count::<i32>(&[5000]), "", true);
        assert_eq!(text.replace(['[', ']'], " ").split_whitespace().count(), 5000);
        assert!(text.lines().all(|line| line.len() <= LINE + 1));
    }

    #[test]
    fn compounds_are_tables() {
        let element =
            ElementType::Compound(vec![("id".into(), ElementType::UInt(1)), ("x".into(), ElementType::F32)]);
        let mut bytes = Vec::new();
        for i in 0..2u8 {
            bytes.push(i * 100);
            bytes.extend((f32::from(i) / 4.0).to_le_bytes());
        }
        let array = MemoryArray { info: ArrayInfo::new(element, [2]), bytes };
        let text = anstream::adapter::strip_str(&printed(array, "", false)).to_string();
        assert_eq!(text, " id     x\n  0   0.0\n100  0.25\n");
    }
}
