//! Reads the values of a variable.

use std::ops::ControlFlow;

use sciformats::source::Derived;
use sciformats::{Decoder, ElementType, Error, Range, Result, Slab};
use sciformats_core::bound;
use sciformats_core::storage::zeroed;

use super::Variable;
use crate::decoding::{Order, transposed};
use crate::values::Values;

/// Factors of the values at each place along a dimension, and what is added afterwards.
#[derive(Debug)]
pub(crate) struct Factors {
    pub(crate) axis: usize,
    pub(crate) each: Vec<f64>,
    pub(crate) offset: f64,
}

impl Factors {
    /// Decodes the elements of a selection.
    fn apply(&self, element: &ElementType, bytes: &[u8], slab: &Slab) -> Result<Values> {
        let wrong = || Error::usage("factors", "are not those of the dimension");
        let range = slab.ranges().get(self.axis).ok_or_else(wrong)?;
        let mut each = Vec::new();
        for at in 0..range.count {
            let place = at.checked_mul(range.step).and_then(|far| far.checked_add(range.start));
            let place = place.and_then(|place| usize::try_from(place).ok());
            each.push(*place.and_then(|place| self.each.get(place)).ok_or_else(wrong)?);
        }
        // How many elements follow each other with the same factor.
        let run: u64 = slab.shape().iter().skip(self.axis.saturating_add(1)).product(); // a bound of ranks
        let run = usize::try_from(run).map_err(|_| wrong())?.max(1);
        let mut out = Vec::new();
        let factors = each.iter().flat_map(|factor| std::iter::repeat_n(*factor, run)).cycle();
        for (datum, factor) in Decoder::new(element, bytes).zip(factors) {
            let stored = datum?.to_f64().ok_or_else(wrong)?;
            out.extend((stored * factor + self.offset).to_le_bytes());
        }
        Ok(Values::plain(ElementType::F64, out))
    }
}

impl Variable {
    /// Reads all values.
    ///
    /// # Errors
    ///
    /// As [`read_slab`](Self::read_slab).
    pub fn read(&self) -> Result<Values> {
        self.read_slab(&Slab::all(&self.shape())?)
    }

    /// Reads the values of a selection of [`shape`](Self::shape).
    ///
    /// # Errors
    ///
    /// An error if the selection has another shape, if the elements cannot be read, or if they exceed the
    /// memory limit.
    pub fn read_slab(&self, slab: &Slab) -> Result<Values> {
        if let Some(bytes) = &self.held {
            return self.decoding.decode(&self.info.element, bytes.to_vec());
        }
        if let Some(elsewhere) = &self.elsewhere {
            if slab.of() != self.shape() {
                return Err(other_shape());
            }
            return elsewhere.read(slab, &self.decoding);
        }
        let stored = self.stored_slab(slab)?;
        let size = self.info.element.size().unwrap_or(1).max(self.element().size().unwrap_or(1));
        self.node
            .file()
            .limits()
            .memory("bytes of the elements to read", bound::product(stored.len(), size))?;
        if let (Some(numbers), Some(derived)) = (self.computed(), self.derived())
            && bound::product(stored.len(), size) >= PIECEWISE
        {
            // Each piece is decoded where it was read, while others are read.
            let mut out = zeroed(bound::product(bound::addressable(stored.len()), derived.size))?;
            self.node.file().read_computed(&self.info, &derived, &stored, &mut out)?;
            return Ok(Values::plain(numbers.element().clone(), out));
        }
        let mut bytes = Vec::new();
        self.node.file().read(self.node.id(), &stored, &mut bytes)?;
        if let Some(factors) = &self.factors {
            return factors.apply(&self.info.element, &bytes, &stored);
        }
        let values = self.decode(&stored, bytes)?;
        match &self.missing {
            Some(missing) => values.without(&marks(missing, &stored)?),
            None => Ok(values),
        }
    }

    /// Reads the stored elements of a selection of [`shape`](Self::shape); `None` if they only become values
    /// together.
    pub(crate) fn read_stored(&self, slab: &Slab) -> Result<Option<(ElementType, Vec<u8>)>> {
        let whole = self.is_whole();
        if whole || self.order == Order::Reversed || self.decoding.joins_characters() {
            return Ok(None);
        }
        let stored = self.stored_slab(slab)?;
        let size = bound::product(stored.len(), self.info.element.size().unwrap_or(1));
        self.node.file().limits().memory("bytes of the elements to read", size)?;
        let mut bytes = Vec::new();
        self.node.file().read(self.node.id(), &stored, &mut bytes)?;
        Ok(Some((self.info.element.clone(), bytes)))
    }

    /// Reads the values of a selection piece by piece, so that not all of them need to fit in memory. If the
    /// dimensions are stored in the order of the variable, the pieces are in C order, and the next piece is
    /// read while `visit` works on the current one.
    ///
    /// # Errors
    ///
    /// As [`read_slab`](Self::read_slab); an error of `visit` ends the reading.
    pub fn for_each_piece(
        &self,
        slab: &Slab,
        visit: &mut dyn FnMut(Values) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let whole = self.is_whole();
        if whole || self.order == Order::Reversed || self.decoding.joins_characters() {
            return visit(self.read_slab(slab)?).map(drop);
        }
        let stored = self.stored_slab(slab)?;
        self.node.file().for_each_piece((self.node.id(), &self.info), &stored, &mut |_, bytes| {
            if let Some(numbers) = self.computed() {
                return visit(Values::plain(numbers.element().clone(), numbers.decode(bytes)?));
            }
            visit(self.decoding.decode(&self.info.element, bytes.to_vec())?)
        })
    }

    /// Returns how its values are computed from the stored elements, if each of them is computed from one.
    pub(crate) fn derived(&self) -> Option<Derived<'_>> {
        let numbers = self.computed()?;
        let size = |element: &ElementType| element.size().map(bound::addressable);
        let (stored, size) = (size(&numbers.from)?, size(numbers.element())?);
        let compute = Box::new(|bytes: &[u8], out: &mut [u8]| numbers.decode_to(bytes, out));
        Some(Derived { file: self.node.file(), array: self.node.id(), stored, size, compute })
    }

    /// Returns the stored elements of a selection.
    fn stored_slab(&self, slab: &Slab) -> Result<Slab> {
        if slab.of() != self.shape() {
            return Err(other_shape());
        }
        let shape = self.order.turned(self.info.shape.as_deref().unwrap_or_default());
        let mut ranges = slab.ranges().to_vec();
        // The dimensions that the decoding uses, and a dimension of length 1 that was dropped.
        for &length in shape.iter().skip(ranges.len()) {
            ranges.push(Range::all(length));
        }
        self.order.slab(&shape, &ranges)
    }

    fn decode(&self, stored: &Slab, bytes: Vec<u8>) -> Result<Values> {
        let shape = stored.shape();
        let bytes = match self.order {
            Order::Same => bytes,
            Order::Reversed => transposed(&self.info.element, bytes, &shape)?,
        };
        if self.decoding.joins_characters() {
            let length = self.order.turned(&shape).last().copied().unwrap_or(1);
            return self.decoding.decode_texts(&self.info.element, &bytes, length);
        }
        self.decoding.decode(&self.info.element, bytes)
    }
}

/// From this number of bytes on, elements are decoded while others are still read.
const PIECEWISE: u64 = 8 << 20;

fn other_shape() -> Error {
    Error::usage("selection", "has another shape than the variable")
}

/// Returns the truth values of a selection of elements.
fn marks(missing: &[bool], slab: &Slab) -> Result<Vec<bool>> {
    let mut marks = Vec::new();
    for run in slab.runs() {
        for at in 0..run.len {
            let place = at.checked_mul(run.step).and_then(|far| far.checked_add(run.from));
            let mark = place.and_then(|place| missing.get(usize::try_from(place).ok()?));
            marks.push(*mark.ok_or_else(|| Error::usage("mask", "has another shape than its array"))?);
        }
    }
    Ok(marks)
}
