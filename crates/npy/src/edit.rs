//! Plans of changes to an existing file: elements are overwritten, or rows are appended.
//!
//! Both are committed through the journal at the end of the file. Appended elements are in their place before the journal
//! decides. After that, only the digits of the shape are written, and these are inside one sector. A program that does not know
//! journals therefore sees the array before the edit, followed by other bytes, or the array after the edit.

use std::borrow::Cow;

use sciformats_core::arith::{add, div, fit, mul, present, sub};
use sciformats_core::commit::{Decisive, Plan, SECTOR, Write};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, Result, Slab, bound, slab};

use crate::growth::{Grown, grown};
use crate::spec::Header;
use crate::spec::header::Preamble;

/// Overwritten pieces whose distance is smaller than this become one patch, because a patch needs 16 bytes besides its content.
const GAP: u64 = 64;
/// The largest size of a patch in bytes, unless it is a single piece.
const BATCH: u64 = 1 << 20;

/// The contents of a file, and their positions.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) preamble: Preamble,
    pub(crate) header: Header,
    /// The offset of the elements.
    pub(crate) data: u64,
    /// The size of an element in bytes.
    pub(crate) size: u64,
    pub(crate) file_len: u64,
}

/// Returns whether a journal may follow the elements. An edit changes nothing in the header but the shape, which is within one
/// sector. What the header declares is therefore true of the array before or after the edit, and the journal is beyond both.
pub(crate) fn may_have_journal(header: &Header, data: u64, len: u64) -> bool {
    let end = header.stored_size().and_then(|size| data.checked_add(size));
    end.is_some_and(|end| end < len) && len.is_multiple_of(SECTOR)
}

impl Layout {
    /// Returns the dimensions in the order of storage, the slowest varying first.
    fn stored(&self, of: &[u64]) -> Vec<u64> {
        if self.header.fortran_order { of.iter().rev().copied().collect() } else { of.to_vec() }
    }

    /// Reorders elements from C order to the order of storage; `counts` are the numbers of indices along each dimension.
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
        // The index of each element, whose last dimension varies fastest, and the place where the element goes.
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

/// Plans to overwrite the selected elements with `bytes`, which have their total size and are in C order.
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

/// Plans to append `rows`, which are elements in C order, along the slowest dimension. Also returns the new header.
pub(crate) fn append<'a>(
    storage: &impl ReadAt,
    layout: &Layout,
    rows: Cow<'a, [u8]>,
) -> Result<(Plan<'a>, Header)> {
    let Layout { preamble, header, data, file_len, .. } = layout;
    let axis =
        header.growing().ok_or_else(|| Error::usage("array", "has no dimensions, so it cannot grow"))?;
    let mut row = header.shape.clone();
    let mut counts = row.clone();
    if let Some(length) = row.get_mut(axis) {
        *length = 1;
    }
    let row = slab::elements(&row).and_then(|count| count.checked_mul(layout.size)).filter(|&size| size > 0);
    let row = row.ok_or_else(|| Error::usage("array", "has rows without bytes, so it cannot grow"))?;
    let added = rows.len() as u64;
    if !added.is_multiple_of(row) {
        return Err(Error::usage(
            "rows",
            format!("have {added} bytes, which is not a multiple of the size of a row ({row} bytes)"),
        ));
    }
    let end = header.stored_size().and_then(|size| data.checked_add(size));
    let end = present(end, "end of the elements")?;
    if end != *file_len {
        let problem = format!(
            "is followed by {} other bytes, which new rows would overwrite",
            bound::left(*file_len, end)
        );
        return Err(Error::usage("array", problem));
    }
    let too_long = || Error::usage("rows", "make the array larger than 2^64 bytes");
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
        Grown::NoRoom => return Err(Error::unsupported("a shape that does not fit the header")),
        Grown::NoShape => {
            return Err(Error::unsupported(
                "appending to a file whose header writes the shape in an unusual form",
            ));
        }
    };
    let patches: Vec<Patch> = text.into_iter().collect();
    if patches.iter().any(|patch| {
        patch.offset / SECTOR != bound::left(bound::sum(patch.offset, patch.bytes.len() as u64), 1) / SECTOR
    }) {
        return Err(Error::unsupported(
            "appending to a file whose header has the shape in two sectors, which cannot be changed at once,",
        ));
    }
    let rows = layout.in_order(&counts, rows)?;
    let fresh = if rows.is_empty() { Vec::new() } else { vec![Write::new(*file_len, rows)] };
    let plan = Plan { fresh, decisive: Decisive::Journal(patches), old_len: *file_len, new_len };
    Ok((plan, new))
}

/// Returns a patch of the bytes that differ, from the first to the last.
fn changed(old: &[u8], new: &[u8], start: u64) -> Option<Patch> {
    let differ = |(old, new): (&u8, &u8)| old != new;
    let first = old.iter().zip(new).position(differ)?;
    let last = old.iter().zip(new).rposition(differ)?;
    let bytes = new.get(first..=last)?.to_vec();
    Some(Patch { offset: bound::sum(start, first as u64), bytes })
}
