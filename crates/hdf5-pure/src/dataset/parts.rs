//! Reads a part of each element, such as a member of compounds, without the rest of the elements.

use std::ops::Range;

use sciformats_core::arith::{add, fit, mul, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::Purpose;
use sciformats_core::{Error, Result, Slab, bound};

use crate::chunk::copy::{self, Overlap};
use crate::dataset::chunked;
use crate::dataset::read::{Content, Joined, Reader, SHORT};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::fill_value::Fill;
use crate::spec::message::layout::{Chunked, Layout};

/// The largest number of elements whose parts are announced together to a storage with round trips.
const TOGETHER: u64 = 1 << 12;

/// Returns whether parts of the elements can be read alone: they are stored as they are, in this file. Chunks of several
/// dimensions are read as a whole.
pub(crate) fn are_apart(content: &Content) -> bool {
    let Ok(storage) = content.storage() else { return false };
    match &storage.layout {
        Layout::Contiguous { address } => storage.external.is_none() && address.is_some(),
        Layout::Chunked(layout) => layout.dimensions.len() == 1 && storage.pipeline.filters.is_empty(),
        Layout::Compact(_) | Layout::Virtual(_) => false,
    }
}

/// Returns whether it takes less time to read `len` bytes of each element alone than to read all of each element.
pub(crate) fn is_worth(content: &Content, len: usize) -> bool {
    let rest = bound::left(u64::from(content.datatype.size), len as u64);
    rest > SHORT as u64 && are_apart(content)
}

/// Fills `out` with a part of each selected element. The elements must be such that [`are_apart`] is true.
pub(crate) fn read(reader: &Reader<'_>, slab: &Slab, part: &Range<usize>, out: &mut [u8]) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let context = &reader.opened.context;
    match &reader.content.storage()?.layout {
        Layout::Contiguous { address: Some(at) } => {
            reader.extent(*at)?;
            let mut parts = Parts { reader, part, start: context.offset(*at), out };
            slab.runs().try_for_each(|run| parts.read(run.from, run.step, run.len))
        }
        Layout::Chunked(layout) => chunks(reader, layout, slab, part, out),
        _ => Err(Error::internal("parts of elements that are not stored as they are")),
    }
}

/// Reads parts of elements in chunks of one dimension without filters.
fn chunks(
    reader: &Reader<'_>,
    layout: &Chunked,
    slab: &Slab,
    part: &Range<usize>,
    out: &mut [u8],
) -> Result<()> {
    let context = &reader.opened.context;
    let (found, complete) = chunked::stored(reader, layout, slab)?;
    if !complete {
        let value = match &reader.content.storage()?.fill.value {
            // Fills with the whole value only to find out whether it is one.
            Fill::Value(value) => {
                reader.fill(&mut [])?;
                value.get(part.clone())
            }
            Fill::Default | Fill::Undefined => None,
        };
        copy::fill(out, value);
    }
    let bytes = chunked::chunk_size(reader, layout)?;
    let Dataspace::Simple { dimensions, .. } = &reader.content.dataspace else { return Ok(()) };
    for chunk in &found {
        let Some(Overlap { start, step, to, count }) = chunked::overlap(layout, dimensions, slab, 0, chunk)
        else {
            continue;
        };
        if chunk.size < bytes as u64 {
            let kind = FaultKind::Mismatch { expected: bytes as u64, found: chunk.size };
            return Err(context.fault("chunk", chunk.address, Fault::new("stored size", kind)));
        }
        context.checked("chunk", chunk.address, bytes as u64)?;
        let len = part.len();
        let place: usize = fit(mul(to, len as u64)?, "place of parts")?;
        let end: usize = add(place, fit(mul(count, len as u64)?, "parts of elements")?)?;
        let Some(out) = out.get_mut(place..end) else {
            return Err(Error::usage("out", "must have room for the selected parts"));
        };
        Parts { reader, part, start: context.offset(chunk.address), out }.read(start, step, count)?;
    }
    Ok(())
}

/// Parts of elements that are adjacent in the file.
struct Parts<'a, 'o> {
    reader: &'a Reader<'a>,
    part: &'a Range<usize>,
    /// The offset of the first element.
    start: u64,
    /// The part of the result that is not filled yet.
    out: &'o mut [u8],
}

impl Parts<'_, '_> {
    /// Reads the parts of `count` elements, from the element `first` on.
    fn read(&mut self, first: u64, step: u64, count: u64) -> Result<()> {
        let storage = &self.reader.opened.context.storage;
        let (size, len) = (self.reader.element() as u64, self.part.len());
        let start = add(self.start, self.part.start as u64)?;
        let ahead = storage.read_ahead();
        let together = ahead.checked_div(len as u64).unwrap_or_default().clamp(1, TOGETHER);
        let place = |at: u64| mul(add(first, mul(at, step)?)?, size);
        let mut at = 0u64;
        while at < count {
            // Only a storage with round trips has to know in advance what is read.
            let next = if ahead == 0 { count } else { add(at, together)?.min(count) };
            if ahead > 0 {
                let ranges = (at..next).map(|at| {
                    let from = add(start, place(at)?)?;
                    Ok(from..add(from, len as u64)?)
                });
                storage.prefetch(&ranges.collect::<Result<Vec<_>>>()?, Purpose::Elements)?;
            }
            let bytes = fit(mul(sub(next, at)?, len as u64)?, "parts of elements")?;
            let parts = std::mem::take(&mut self.out).split_at_mut_checked(bytes);
            let (now, later) =
                parts.ok_or_else(|| Error::usage("out", "must have room for the selected parts"))?;
            self.out = later;
            let mut joined = Joined::new(self.reader, start, now);
            for at in at..next {
                joined.add(place(at)?, len)?;
                if ahead > 0 {
                    joined.fill()?;
                }
            }
            joined.fill()?;
            at = next;
        }
        Ok(())
    }
}
