//! Plans of changes to a file that is there: elements overwritten, rows appended.
//!
//! Both are committed through the journal at the end of the file. What is appended is in its place before the journal decides, and then
//! nothing is left but the digits of the shape, which stand in one sector: who knows no journals finds the array before, with bytes
//! behind it, or the array after.

use std::borrow::Cow;

use sciformats_core::arith::{add, div, fit, mul, present, sub};
use sciformats_core::commit::{Decisive, Plan, SECTOR, Write};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, Result, Slab, bound, slab};

use crate::growth::{Grown, grown};
use crate::spec::Header;
use crate::spec::header::Preamble;

/// Overwritten pieces that are closer than this become one patch: a patch costs 16 bytes more than it holds.
const GAP: u64 = 64;
/// At most so many bytes become one patch, unless they are adjacent.
const BATCH: u64 = 1 << 20;

/// What a file holds, and where.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) preamble: Preamble,
    pub(crate) header: Header,
    /// Where the elements begin.
    pub(crate) data: u64,
    /// Bytes of an element.
    pub(crate) size: u64,
    pub(crate) file_len: u64,
}

/// Returns whether a journal may stand behind the elements. An edit changes nothing of the header but the shape, and that in one sector, so
/// that what it says is true of the array before the edit or after it, and the journal lies beyond both.
pub(crate) fn may_have_journal(header: &Header, data: u64, len: u64) -> bool {
    let end = header.stored_size().and_then(|size| data.checked_add(size));
    end.is_some_and(|end| end < len) && len.is_multiple_of(SECTOR)
}

impl Layout {
    /// Returns the dimensions as they are stored, the slowest first, whatever the order is.
    fn stored(&self, of: &[u64]) -> Vec<u64> {
        if self.header.fortran_order { of.iter().rev().copied().collect() } else { of.to_vec() }
    }

    /// Elements in C order, of so many indices along each dimension, in the order that they are stored in.
    fn in_order<'a>(&self, counts: &[u64], bytes: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>> {
        let long = counts.iter().filter(|&&count| count != 1).count();
        if !self.header.fortran_order || long < 2 || bytes.is_empty() {
            return Ok(bytes);
        }
        let size: usize = fit(self.size, "size of an element")?;
        let mut strides = Vec::with_capacity(counts.len());
        let mut stride = size;
        for &count in counts {
            strides.push(stride);
            stride = mul(stride, fit(count, "length of a dimension")?)?;
        }
        let mut out = vec![0; bytes.len()];
        // The index of each element, which the last dimension counts fastest, and the place where it goes.
        let (mut index, mut place) = (vec![0u64; counts.len()], 0usize);
        for element in bytes.chunks_exact(size.max(1)) {
            let end = add(place, size)?;
            present(out.get_mut(place..end), "place of an element")?.copy_from_slice(element);
            for ((index, &count), &stride) in index.iter_mut().zip(counts).zip(&strides).rev() {
                *index = add(*index, 1)?;
                place = add(place, stride)?;
                if *index < count {
                    break;
                }
                place = sub(place, mul(stride, fit(count, "length of a dimension")?)?)?;
                *index = 0;
            }
        }
        Ok(Cow::Owned(out))
    }
}

/// Plans to overwrite the selected elements with `bytes`, which have their total size and C order.
pub(crate) fn overwrite(
    storage: &impl ReadAt,
    layout: &Layout,
    slab: &Slab,
    bytes: Cow<'_, [u8]>,
) -> Result<Plan<'static>> {
    let bytes = layout.in_order(&slab.shape(), bytes)?;
    let mut rest = &*bytes;
    let mut ranges = slab.ranges().to_vec();
    if layout.header.fortran_order {
        ranges.reverse();
    }
    let slab = Slab::new(&layout.stored(slab.of()), ranges)?;
    let mut patches = Vec::new();
    let mut batch: Vec<(u64, u64)> = Vec::new();
    let mut flush = |batch: &mut Vec<(u64, u64)>| {
        let (Some(&(first, _)), Some(&(_, end))) = (batch.first(), batch.last()) else { return Ok(()) };
        let offset = add(layout.data, first)?;
        let mut patch = storage.read_at(offset, fit(sub(end, first)?, "bytes of a patch")?)?.into_owned();
        for (start, end) in batch.drain(..) {
            let source = rest.split_off(..fit::<usize, _>(sub(end, start)?, "bytes of elements")?);
            let place =
                fit(sub(start, first)?, "place in a patch")?..fit(sub(end, first)?, "place in a patch")?;
            let target = present(patch.get_mut(place), "place of elements")?;
            target.copy_from_slice(present(source, "elements of a piece")?);
        }
        patches.push(Patch { offset, bytes: patch });
        Ok::<_, Error>(())
    };
    for run in slab.runs().filter(|_| layout.size > 0) {
        let (times, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
        for i in 0..times {
            let start = mul(add(run.from, mul(i, run.step)?)?, layout.size)?;
            let piece = (start, add(start, mul(len, layout.size)?)?);
            let near = |&(first, _): &(u64, u64), &(_, end): &(u64, u64)| {
                let gap = bound::left(piece.0, end);
                gap == 0 || gap <= GAP && bound::left(piece.1, first) <= BATCH
            };
            if !batch.first().zip(batch.last()).is_some_and(|(first, last)| near(first, last)) {
                flush(&mut batch)?;
            }
            batch.push(piece);
        }
    }
    flush(&mut batch)?;
    let len = layout.file_len;
    Ok(Plan { fresh: Vec::new(), decisive: Decisive::Journal(patches), old_len: len, new_len: len })
}

/// Plans to append `rows`, which are elements in C order, along the slowest dimension; and what the header is then.
pub(crate) fn append<'a>(
    storage: &impl ReadAt,
    layout: &Layout,
    rows: Cow<'a, [u8]>,
) -> Result<(Plan<'a>, Header)> {
    let Layout { preamble, header, data, file_len, .. } = layout;
    let axis = header
        .growing()
        .ok_or_else(|| Error::usage("array", "has no dimension along which it could grow"))?;
    let mut row = header.shape.clone();
    let mut counts = row.clone();
    if let Some(length) = row.get_mut(axis) {
        *length = 1;
    }
    let row = slab::elements(&row).and_then(|count| count.checked_mul(layout.size)).filter(|&size| size > 0);
    let row = row.ok_or_else(|| Error::usage("array", "has rows of no bytes, which nobody can count"))?;
    let added = rows.len() as u64;
    if !added.is_multiple_of(row) {
        return Err(Error::usage("rows", format!("have {added} bytes, but each row has {row}")));
    }
    let end = header.stored_size().and_then(|size| data.checked_add(size));
    let end = present(end, "end of the elements")?;
    if end != *file_len {
        let problem =
            format!("is followed by {} bytes, which rows would be written over", bound::left(*file_len, end));
        return Err(Error::usage("array", problem));
    }
    let too_long = || Error::usage("rows", "make the array longer than 2^64 bytes");
    let new_len = file_len.checked_add(added).ok_or_else(too_long)?;
    let mut new = header.clone();
    let length = present(new.shape.get_mut(axis), "dimension that grows")?;
    let count = div(added, row)?;
    *length = length.checked_add(count).ok_or_else(too_long)?;
    if let Some(length) = counts.get_mut(axis) {
        *length = count;
    }
    let start = u64::from(preamble.start);
    let text = storage.read_at(start, fit(preamble.length, "length of the header")?)?;
    let text = match grown(&text, *preamble, axis, &new) {
        Grown::Text(grown) => changed(&text, &grown, start),
        Grown::NoRoom => return Err(Error::unsupported("a shape that the header has no room for")),
        Grown::NoShape => {
            return Err(Error::unsupported("appending behind a header that states its shape in other words"));
        }
    };
    let patches: Vec<Patch> = text.into_iter().collect();
    if patches.iter().any(|patch| {
        patch.offset / SECTOR != bound::left(bound::sum(patch.offset, patch.bytes.len() as u64), 1) / SECTOR
    }) {
        return Err(Error::unsupported(
            "appending behind a header whose shape stands in two sectors, which cannot change at once,",
        ));
    }
    let rows = layout.in_order(&counts, rows)?;
    let fresh = if rows.is_empty() { Vec::new() } else { vec![Write::new(*file_len, rows)] };
    let plan = Plan { fresh, decisive: Decisive::Journal(patches), old_len: *file_len, new_len };
    Ok((plan, new))
}

/// Returns what differs, from the first byte to the last.
fn changed(old: &[u8], new: &[u8], start: u64) -> Option<Patch> {
    let differ = |(old, new): (&u8, &u8)| old != new;
    let first = old.iter().zip(new).position(differ)?;
    let last = old.iter().zip(new).rposition(differ)?;
    let bytes = new.get(first..=last)?.to_vec();
    Some(Patch { offset: bound::sum(start, first as u64), bytes })
}
