//! Reads the values of columns by rows.

use std::sync::{Arc, OnceLock};

use sciformats::{ElementType, Error, Range, Result, Slab};
use sciformats_core::{arith, bound};

use super::column::{Cells, Column};
use super::records::Beside;
use crate::decoding::Decoding;
use crate::fields;
use crate::undecoded::Undecoded;
use crate::values::Values;
use crate::variable::Variable;

/// The number of coordinates along a dimension that are read together.
pub(super) const TOGETHER: u64 = 1 << 24;

impl Column {
    /// Reads the values of `count` rows, starting at `first`. If the column has several values per row, all
    /// of them are returned in C order.
    ///
    /// # Errors
    ///
    /// An error if there are not so many rows, or if their elements cannot be read.
    pub fn read(&self, first: u64, count: u64) -> Result<Values> {
        self.read_beside(&mut None, (first, count))
    }

    /// As [`read`](Self::read), for rows of which other columns are read too; `records` contains those of the
    /// previous column.
    pub(super) fn read_beside(&self, records: &mut Beside, (first, count): (u64, u64)) -> Result<Values> {
        match &self.cells {
            Cells::Variable(variable) => variable.read_slab(&rows(variable, (first, count))?),
            Cells::Masked(values, mask) => {
                let missing = mask.read(first, count)?;
                match values.read_slab(&rows(values, (first, count))?)? {
                    Values::Plain { element, bytes, .. } if element != ElementType::Text => {
                        Ok(Values::Plain { element, bytes, missing: Some(missing) })
                    }
                    other => other.without(&missing),
                }
            }
            Cells::Block(matrix, at, turned) => {
                let mut ranges = vec![Range::new(first, count), Range::new(*at, 1)];
                if *turned {
                    ranges.reverse();
                }
                matrix.read_slab(&Slab::new(&matrix.shape(), ranges)?)
            }
            Cells::Field(of, at, decoding) => {
                let (element, bytes) = of.read(*at, (first, count), records)?;
                decoding.decode(&element, bytes)
            }
            Cells::Element(of, at, (inner, decoding)) => {
                let (element, bytes) = of.read(*at, (first, count), records)?;
                let (element, bytes) = fields::item(&element, *inner, &bytes)?;
                decoding.decode(&element, bytes)
            }
            Cells::Ragged(values, ends) => lists(values, ends, (first, count)),
            Cells::Texts(texts, _) => Ok(Values::Text(part(texts, first, count)?.to_vec())),
            Cells::Computed(node, compute) => Ok(Values::Text((compute.0)(node, (first, count))?)),
            Cells::Spread(of) => of.values((first, count)),
            Cells::Places(of) => of.rows((first, count)),
        }
    }

    /// As [`read`](Self::read), without decoding what can be decoded later.
    pub(super) fn undecoded(&self, records: &mut Beside, rows: (u64, u64)) -> Result<Undecoded> {
        let stored = |(element, bytes), decoding: &Decoding, missing| {
            let decoding = decoding.clone();
            Ok(Undecoded::Stored { element, bytes, decoding, missing })
        };
        match &self.cells {
            Cells::Variable(variable) => match variable.read_stored(&self::rows(variable, rows)?)? {
                Some(read) => stored(read, &variable.decoding, None),
                None => self.read_beside(records, rows).map(Undecoded::Decoded),
            },
            Cells::Masked(variable, mask) => match variable.read_stored(&self::rows(variable, rows)?)? {
                Some(read) => stored(read, &variable.decoding, Some(mask.read(rows.0, rows.1)?)),
                None => self.read_beside(records, rows).map(Undecoded::Decoded),
            },
            Cells::Block(matrix, at, turned) => {
                let mut ranges = vec![Range::new(rows.0, rows.1), Range::new(*at, 1)];
                if *turned {
                    ranges.reverse();
                }
                match matrix.read_stored(&Slab::new(&matrix.shape(), ranges)?)? {
                    Some(read) => stored(read, &matrix.decoding, None),
                    None => self.read_beside(records, rows).map(Undecoded::Decoded),
                }
            }
            Cells::Field(of, at, decoding) => stored(of.read(*at, rows, records)?, decoding, None),
            Cells::Element(of, at, (inner, decoding)) => {
                let (element, bytes) = of.read(*at, rows, records)?;
                stored(fields::item(&element, *inner, &bytes)?, decoding, None)
            }
            Cells::Spread(of) => of.rows(rows),
            Cells::Ragged(..) | Cells::Texts(..) | Cells::Computed(..) | Cells::Places(_) => {
                self.read_beside(records, rows).map(Undecoded::Decoded)
            }
        }
    }
}

/// Which values of a column are missing.
#[derive(Clone, Debug)]
pub(super) enum Mask {
    /// Those for which an array in the file is true, and whether it is true for any, once this is known.
    Stored(Box<Variable>, Arc<OnceLock<bool>>),
    /// Those for which this list is true.
    Known(Arc<[bool]>),
}

impl Mask {
    /// Returns whether it marks any of so many rows. A mask that cannot be read now fails when the rows are read.
    pub(super) fn marks(&self, rows: Option<u64>) -> bool {
        match self {
            Self::Known(list) => list.contains(&true),
            Self::Stored(_, known) => *known.get_or_init(|| match rows.filter(|&rows| rows <= TOGETHER) {
                Some(rows) => self.read(0, rows).map_or(true, |missing| missing.contains(&true)),
                None => true,
            }),
        }
    }

    pub(super) fn read(&self, first: u64, count: u64) -> Result<Vec<bool>> {
        match self {
            Self::Stored(mask, _) => {
                let truths = mask.read_slab(&rows(mask, (first, count))?)?.numbers()?;
                Ok(truths.into_iter().map(|truth| truth != 0.0).collect())
            }
            Self::Known(list) => part(list, first, count).map(<[bool]>::to_vec),
        }
    }
}

/// Returns some rows of a list that is in memory.
fn part<T>(list: &[T], first: u64, count: u64) -> Result<&[T]> {
    let end = first.checked_add(count).and_then(|end| usize::try_from(end).ok());
    let range = usize::try_from(first).ok().zip(end).and_then(|(from, to)| list.get(from..to));
    range.ok_or_else(|| Error::usage("rows", "are not all in the table"))
}

/// Reads the lists of some rows: each of them is canonical bytes of a list, whose elements are in one array.
fn lists(values: &Column, ends: &Variable, (first, count): (u64, u64)) -> Result<Values> {
    let before = u64::from(first > 0);
    let known = ends.read_slab(&rows(ends, (first - before, count.saturating_add(before)))?)?; // a bound: checked by the slab
    let Values::Plain { element, bytes, .. } = known else {
        return Err(Error::unsupported("a list whose end is not an integer"));
    };
    let mut places = Vec::new();
    if before == 0 {
        places.push(0u64);
    }
    let past = values.rows();
    for datum in sciformats::Decoder::new(&element, &bytes) {
        let end = datum?.to_i128().and_then(|end| u64::try_from(end).ok());
        let sound =
            |end: &u64| places.last().is_none_or(|last| last <= end) && past.is_none_or(|past| *end <= past);
        places.push(end.filter(sound).ok_or_else(|| {
            Error::usage("ends of lists", format!("of {} do not ascend within its values", ends.path()))
        })?);
    }
    let (start, count) = match (places.first(), places.last()) {
        (Some(&first), Some(&last)) => (first, arith::sub(last, first)?),
        _ => (0, 0),
    };
    let (element, bytes) = values.read(start, count)?.into_canonical()?;
    let sides: Vec<u64> = values.row_shape().into_iter().filter(|&side| side != 1).collect();
    let element = match sides.is_empty() {
        true => element,
        false => ElementType::Array { element: Box::new(element), shape: sides },
    };
    let parts = fields::split(&element, &bytes)?;
    let mut parts = parts.into_iter();
    let mut out = Vec::new();
    for (from, to) in places.iter().zip(places.iter().skip(1)) {
        out.extend((to - from).to_le_bytes());
        for part in parts.by_ref().take(bound::addressable(to - from)) {
            out.extend_from_slice(part);
        }
    }
    Ok(Values::plain(ElementType::Vlen(Box::new(element)), out))
}

/// Returns the selection of some rows of an array.
fn rows(variable: &Variable, (first, count): (u64, u64)) -> Result<Slab> {
    let shape = variable.shape();
    let mut ranges: Vec<Range> = shape.iter().map(|&length| Range::all(length)).collect();
    if let Some(range) = ranges.first_mut() {
        *range = Range::new(first, count);
    }
    Slab::new(&shape, ranges)
}
