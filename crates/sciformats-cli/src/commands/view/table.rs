//! The visible part of an array as a table. Rows are the indices of one dimension; columns are those of the
//! other, or the fields of compounds.

use std::ops::ControlFlow;

use sciformats::{Datum, ElementType, Result};
use sciformats_core::bound;
use unicode_width::UnicodeWidthStr;

use crate::commands::cat::rounded;
use crate::gather::Subject;
use crate::look;

/// The largest width of a column.
const WIDEST: usize = 24;

/// The upper left element on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) row: u64,
    pub(super) column: u64,
}

/// The texts of rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cells {
    /// The head of each column.
    pub(super) heads: Vec<String>,
    /// The label and the texts of each row.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

/// Returns the number of rows and columns of a part.
pub(super) fn extent(subject: &Subject<'_>) -> (u64, u64) {
    let shape = subject.selection.shape();
    let fields = fields(subject).map(|fields| fields as u64);
    match shape.as_slice() {
        [] => (1, fields.unwrap_or(1)),
        [rows] => (*rows, fields.unwrap_or(1)),
        [rows, columns, ..] => (*rows, *columns),
    }
}

/// Returns the number of fields that have columns of their own.
fn fields(subject: &Subject<'_>) -> Option<usize> {
    match subject.array.element() {
        ElementType::Compound(fields) if subject.selection.shape().len() < 2 => Some(fields.len()),
        _ => None,
    }
}

/// Reads the elements from `corner` on, with at most this many rows and columns.
pub(super) fn read(subject: &Subject<'_>, corner: Corner, (rows, columns): (u64, u64)) -> Result<Cells> {
    let (height, width) = extent(subject);
    let rows = rows.min(bound::left(height, corner.row));
    let columns = columns.min(bound::left(width, corner.column));
    let axes = subject.selection.axes();
    let index = |axis: usize, at: u64| match axes.get(axis) {
        Some(axis) => (i128::from(axis.first) + i128::from(axis.step) * i128::from(at)).to_string(),
        None => String::new(),
    };
    let mut heads: Vec<String> = (corner.column..corner.column + columns).map(|at| index(1, at)).collect();
    let within = match axes.len() {
        0 => Vec::new(),
        1 => vec![(corner.row, rows)],
        _ => vec![(corner.row, rows), (corner.column, columns)],
    };
    let mut cells: Vec<String> = Vec::new();
    let (skip, take) = (bound::addressable(corner.column), columns as usize);
    if rows > 0 && columns > 0 {
        let part = subject.selection.part(&within)?;
        subject.array.for_each(&part, &mut |datum| {
            match datum {
                Datum::Record(fields) if axes.len() < 2 => {
                    heads =
                        fields.iter().skip(skip).take(take).map(|(name, _)| shown(&name.shown())).collect();
                    cells.extend(fields.iter().skip(skip).take(take).map(|(_, datum)| cell(datum)));
                }
                other => cells.push(cell(&other)),
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let rows = cells.chunks(take.max(1)).zip(corner.row..);
    let rows = rows.map(|(cells, at)| (index(0, at), cells.to_vec())).collect();
    Ok(Cells { heads, rows })
}

fn cell(datum: &Datum<'_>) -> String {
    match datum {
        Datum::Float(..) => shown(&rounded(datum.to_string())),
        other => shown(&other.to_string()),
    }
}

fn shown(text: &str) -> String {
    look::clipped(&look::safe(text), WIDEST)
}

impl Cells {
    /// Returns the width of each column.
    pub(super) fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.width()).collect();
        for (_, cells) in &self.rows {
            for (cell, width) in cells.iter().zip(&mut widths) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats::{ArrayInfo, File, Format};
    use sciformats_conventions::Dataset;

    use super::*;
    use crate::meaning::{Thing, View};

    fn table(array: MemoryArray, slice: Option<&str>, corner: Corner, most: (u64, u64)) -> Cells {
        let data = Dataset::new(File::from(Memory::single(Format::Hdf5, array)));
        let thing = Thing::find(&data, "/", View::Words).unwrap();
        let array = thing.array().unwrap();
        let (subject, _) = Subject::new((&thing, &array), (slice, None), None).unwrap();
        read(&subject, corner, most).unwrap()
    }

    #[test]
    fn a_window_of_an_array() {
        let values: Vec<i32> = (0..20).collect();
        let corner = Corner { row: 2, column: 3 };
        let cells = table(array(&[4, 5], &values), None, corner, (10, 10));
        assert_eq!(cells.heads, ["3", "4"]);
        assert_eq!(cells.rows[1], ("3".into(), vec!["18".into(), "19".into()]));
        assert_eq!(cells.widths(), [2, 2]);
        let cells = table(array(&[4, 5], &values), Some("::-1, 0"), Corner::default(), (2, 2));
        assert_eq!(cells.rows, [("3".into(), vec!["15".into()]), ("2".into(), vec!["10".into()])]);
        // Of three dimensions the last two.
        let cells = table(array(&[5, 2, 2], &values), None, Corner::default(), (9, 9));
        assert_eq!((cells.rows.len(), cells.heads.len()), (2, 2));
    }

    #[test]
    fn scalars_texts_and_compounds() {
        let cells = table(texts(&[], &["a\nb"]), None, Corner::default(), (3, 3));
        assert_eq!(cells.rows, [(String::new(), vec!["a\\nb".into()])]);
        let element =
            ElementType::Compound(vec![("id".into(), ElementType::UInt(1)), ("x".into(), ElementType::F32)]);
        let mut bytes = vec![7];
        bytes.extend(0.5f32.to_le_bytes());
        let cells =
            table(MemoryArray { info: ArrayInfo::new(element, [1]), bytes }, None, Corner::default(), (3, 3));
        assert_eq!(
            (cells.heads, cells.rows[0].1.clone()),
            (vec!["id".into(), "x".into()], vec!["7".into(), "0.5".into()])
        );
        // Numbers look as in `cat`: with eight digits after the point.
        let numbers = array(&[3], &[0.218_296_471_234_5, 100.0, 1e-12]);
        let cells = table(numbers, None, Corner::default(), (3, 3));
        let shown: Vec<&str> = cells.rows.iter().map(|(_, row)| row[0].as_str()).collect();
        assert_eq!(shown, ["0.21829647", "100.0", "1e-12"]);
        let none = table(array::<u8>(&[0, 3], &[]), None, Corner::default(), (3, 3));
        assert!(none.rows.is_empty());
    }
}
