//! Reads a dataset one part at a time.

use sciformats_core::{Range, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::spec::message::layout::Layout;
use crate::value::element::Element;

/// The number of bytes that are converted at a time. It is large enough to read at full speed, and small compared with
/// what is usually read.
const CONVERTED: u64 = 4 << 20;

impl Dataset {
    /// Returns an iterator over the dataset in pieces of at most `elements` elements (at least one), in C order. Use it
    /// for arrays that are larger than memory.
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("weather.h5")?;
    /// let mut sum = 0.0;
    /// for piece in file.dataset("/t")?.pieces::<f64>(1 << 20)? {
    ///     let (_slab, values) = piece?;
    ///     sum += values.iter().sum::<f64>();
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Usage` for a null dataspace. If one piece cannot be read, its item is the error.
    pub fn pieces<T: Element>(
        &self,
        elements: u64,
    ) -> Result<impl Iterator<Item = Result<(Slab, Vec<T>)>> + use<'_, T>> {
        let pieces = self.all()?.pieces(elements);
        Ok(pieces.map(|slab| self.read_slab(&slab).map(|values| (slab, values))))
    }

    /// Reads the selected elements and converts them.
    pub(super) fn convert<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let len = bound::addressable(slab.len());
        let mut all: Vec<T> = Vec::new();
        self.convert_parts(slab, |part| {
            if all.is_empty() && part.len() == len {
                all = part;
                return;
            }
            all.reserve_exact(bound::left(len, all.len()));
            all.extend(part);
        })?;
        Ok(all)
    }

    /// Works like [`convert`](Self::convert), but writes into `out`, which must have as many elements as the selection.
    pub(super) fn convert_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        let mut places = out.iter_mut();
        self.convert_parts(slab, |part| places.by_ref().zip(part).for_each(|(place, value)| *place = value))
    }

    /// Passes the selected elements to `take` in parts, so that the stored elements are never in memory all at once.
    fn convert_parts<T: Element>(&self, slab: &Slab, mut take: impl FnMut(Vec<T>)) -> Result<()> {
        if slab.is_empty() {
            self.read_raw_into(slab, &mut [])?;
            return self.typed::<T>(self.datatype(), &[]).map(drop);
        }
        let mut raw = Vec::new();
        let mut before = 0u64;
        for step in self.steps(slab, CONVERTED) {
            raw.resize(self.raw_size(&step)?, 0);
            self.read_raw_into(&step, &mut raw)?;
            take(self.typed(self.datatype(), &raw).map_err(|error| error.after(before))?);
            before = bound::sum(before, step.len());
        }
        Ok(())
    }

    /// Returns the parts of `slab`, of about `bytes` bytes each. A part consists of whole rows of chunks, so that each
    /// chunk is decoded only once. If the elements are stored elsewhere, there is only one part.
    pub(super) fn steps(&self, slab: &Slab, bytes: u64) -> impl Iterator<Item = Slab> + use<> {
        let elements = (bytes / self.element_size().max(1)).max(1);
        let storage = self.content.storage();
        let (first, rest, elements) = match storage.map(|storage| (&storage.layout, &storage.external)) {
            Ok((Layout::Chunked(chunked), _)) => {
                let height = chunked.dimensions.first().copied().unwrap_or(1).max(1);
                let inner = slab.shape().iter().skip(1).fold(1u64, |n, &count| bound::product(n, count));
                let row = bound::product(inner, height).max(1);
                let (first, rest) = split(slab, height);
                (first, rest, bound::product((elements / row).max(1), row))
            }
            Ok((Layout::Contiguous { .. }, None)) => (None, Some(slab.clone()), elements),
            _ => (Some(slab.clone()), None, elements),
        };
        first.into_iter().chain(rest.into_iter().flat_map(move |rest| rest.pieces(elements)))
    }
}

/// Splits `slab` at the first index that is a multiple of `height`.
fn split(slab: &Slab, height: u64) -> (Option<Slab>, Option<Slab>) {
    let with = |range: Range| {
        let mut ranges = slab.ranges().to_vec();
        if let Some(first) = ranges.first_mut() {
            *first = range;
        }
        Slab::new(slab.of(), ranges).ok()
    };
    match slab.ranges().first() {
        Some(&Range { start, count, step: 1 }) if start % height != 0 => {
            let before = (height - start % height).min(count);
            let rest = (count > before).then(|| with(Range::new(start + before, count - before)));
            (with(Range::new(start, before)), rest.flatten())
        }
        _ => (None, Some(slab.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_where_chunks_do() {
        let shape = [100, 3];
        let slab = Slab::new(&shape, [Range::new(7, 60), Range::new(0, 2)]).unwrap();
        let (first, rest) = split(&slab, 10);
        let rows = |slab: &Slab| (slab.ranges()[0].start, slab.ranges()[0].count);
        assert_eq!((rows(&first.unwrap()), rows(&rest.unwrap())), ((7, 3), (10, 57)));
        let slab = Slab::new(&shape, [Range::new(7, 2), Range::new(0, 2)]).unwrap();
        let (first, rest) = split(&slab, 10);
        assert_eq!((rows(&first.unwrap()), rest), ((7, 2), None));
    }
}
