//! The rows of a table as the canonical bytes of records.

use sciformats::{ElementType, Error, Range, Result, Slab};

use super::Table;
use super::column::{Cells, Column};
use super::records::Beside;
use crate::decoded::For;
use crate::fields;
use crate::values::Values;

/// Rows with at least this distance are read one by one.
const APART: u64 = 64;

impl Table {
    /// Returns some rows as the canonical bytes of records.
    pub(crate) fn records(&self, slab: &Slab, whom: For) -> Result<Vec<u8>> {
        let &[Range { start, count, step }] = slab.ranges() else {
            return Err(Error::usage("selection", "has another shape than the table"));
        };
        let mut out = Vec::new();
        if step <= 1 {
            self.append((start, count), (1, whom), &mut out)?;
        } else if step <= APART && count > 0 {
            let across = (count - 1).checked_mul(step).and_then(|across| across.checked_add(1));
            let across = across.ok_or_else(|| Error::usage("selection", "extends beyond the table"))?;
            self.append((start, across), (step, whom), &mut out)?;
        } else {
            for row in (0..count).filter_map(|at| at.checked_mul(step)?.checked_add(start)) {
                self.append((row, 1), (1, whom), &mut out)?;
            }
        }
        Ok(out)
    }

    /// Appends the rows whose distance from the first is a multiple of `step`.
    fn append(&self, rows: (u64, u64), (step, whom): (u64, For), out: &mut Vec<u8>) -> Result<()> {
        let mut columns = Vec::new();
        let mut beside = None;
        for column in self.all_columns() {
            let element = column.element_for(whom);
            columns.push((column.canonical(&element, rows, &mut beside)?, element));
        }
        let mut split = Vec::new();
        for ((bytes, element), column) in columns.iter().zip(self.all_columns()) {
            let parts = fields::split(element, bytes)?;
            if parts.len() as u64 != rows.1 {
                return Err(Error::usage("column", format!("{} has {} rows", column.name, parts.len())));
            }
            split.push(parts);
        }
        let step = usize::try_from(step).unwrap_or(usize::MAX); // a bound: no machine has more rows
        let count =
            usize::try_from(rows.1).map_err(|_| Error::usage("rows", "are too many for this machine"))?;
        for row in (0..count).step_by(step.max(1)) {
            split.iter().filter_map(|parts| parts.get(row)).for_each(|part| out.extend_from_slice(part));
        }
        Ok(())
    }
}

impl Column {
    /// Returns the type of the values for `whom`.
    pub(crate) fn element_for(&self, whom: For) -> ElementType {
        match &self.cells {
            Cells::Variable(variable) => {
                let inner: Vec<u64> =
                    variable.shape().into_iter().skip(1).filter(|&side| side != 1).collect();
                let element = variable.element();
                if inner.is_empty() {
                    return element;
                }
                ElementType::Array { element: Box::new(element), shape: inner }
            }
            Cells::Masked(variable, mask) => match variable.element() {
                ElementType::F32 | ElementType::F64 => ElementType::F64,
                // Only integers of 64 bits can be no binary64.
                element
                    if whom == For::Programs
                        && matches!(element, ElementType::Int(8) | ElementType::UInt(8))
                        && !mask.marks(self.rows()) =>
                {
                    element
                }
                element if element.is_real() && whom == For::Programs => ElementType::F64,
                _ => ElementType::Text,
            },
            Cells::Block(variable, ..) => variable.element(),
            Cells::Field(records, at, decoding) => match records.fields().get(*at) {
                Some((_, element)) => decoding.element(element),
                None => ElementType::Text,
            },
            Cells::Element(records, at, (_, decoding)) => match records.fields().get(*at) {
                Some((_, ElementType::Array { element, .. })) => decoding.element(element),
                Some((_, element)) => decoding.element(element),
                None => ElementType::Text,
            },
            Cells::Spread(of) => of.variable.element(),
            Cells::Places(of) if of.spacing.is_some() => ElementType::F64,
            Cells::Places(_) => ElementType::Int(8),
            Cells::Ragged(values, _) => ElementType::Vlen(Box::new(values.element_for(whom))),
            Cells::Texts(..) | Cells::Computed(..) => ElementType::Text,
        }
    }

    /// Returns the canonical bytes of some rows, as elements of a type from
    /// [`element_for`](Self::element_for).
    fn canonical(&self, element: &ElementType, rows: (u64, u64), beside: &mut Beside) -> Result<Vec<u8>> {
        let values = self.read_beside(beside, rows)?;
        match (&values, element) {
            (Values::Plain { missing: Some(_), .. }, ElementType::Text) => {
                let mut bytes = Vec::new();
                for cell in values.cells()? {
                    crate::values::push_text(&mut bytes, cell.as_deref().unwrap_or_default());
                }
                Ok(bytes)
            }
            (Values::Plain { element: stored, bytes, missing: Some(missing) }, element)
                if stored == element && !missing.contains(&true) =>
            {
                Ok(bytes.clone())
            }
            _ => Ok(values.into_canonical()?.1),
        }
    }
}
