//! Plans of changes to an existing file: rows are appended, elements are overwritten, or the metadata are replaced.
//!
//! All of them overwrite bytes in use, so all are committed through the journal at the end of the file. If a commit is
//! interrupted, the file contains the array before or the array after the change, with its metadata.

use std::borrow::Cow;

use sciformats_core::arith::{add, div, fit, present, sub};
use sciformats_core::commit::{Decisive, Plan, Write};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, Result, Slab, bound, slab};

use super::gather::{Piece, next_batch, pieces, within};
use super::layout::{Encoding, Layout};
use crate::spec::header::{DIMS_AT, SIZE_AT};
use crate::spec::{Flags, Header};

/// Overwritten pieces whose distance is smaller than this become one patch, because a patch needs 16 bytes besides its content.
const GAP: u64 = 64;
/// The largest size of a patch in bytes, unless it is a single piece.
const BATCH: u64 = 1 << 20;

/// A planned edit, and the header of the file after it.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) header: Header,
}

fn journalled<'a>(lens: (u64, u64), fresh: Vec<Write<'a>>, patches: Vec<Patch>, header: Header) -> Edit<'a> {
    let (old_len, new_len) = lens;
    Edit { plan: Plan { fresh, decisive: Decisive::Journal(patches), old_len, new_len }, header }
}

/// Plans to append whole rows along the slowest dimension. The rows have the byte order of the file. The metadata move.
pub(crate) fn append<'a>(storage: &impl ReadAt, layout: &Layout, rows: Cow<'a, [u8]>) -> Result<Edit<'a>> {
    check_raw(layout, "appending to")?;
    let mut header = layout.header.clone();
    let too_long = || Error::usage("rows", "make the array larger than 2^64 bytes");
    let row = row_size(&header, layout.element.size())?;
    let added = rows.len() as u64;
    if added.checked_rem(row) != Some(0) {
        return Err(Error::usage(
            "rows",
            format!("have {added} bytes, which is not a multiple of the size of a row ({row} bytes)"),
        ));
    }
    let slowest = header.dims.last_mut().ok_or_else(no_row)?;
    *slowest = slowest.checked_add(div(added, row)?).ok_or_else(too_long)?;
    let slowest = *slowest;
    header.size = header.size.checked_add(added).ok_or_else(too_long)?;
    let len = layout.file_len.checked_add(added).ok_or_else(too_long)?;

    let at = layout.metadata();
    let tail_len = sub(layout.file_len, at)?;
    let tail = storage.read_at(at, bound::addressable(tail_len))?.into_owned();
    let slowest_at = sub(layout.data, 8)?.max(DIMS_AT);
    let mut patches = vec![
        Patch { offset: SIZE_AT, bytes: header.size.to_le_bytes().to_vec() },
        Patch { offset: slowest_at, bytes: slowest.to_le_bytes().to_vec() },
    ];
    // The new rows, followed by the metadata, start where the metadata were, and extend into space that is not used yet.
    let overlap = rows.len().min(tail.len());
    let (over, tail_over) = (overlap, sub(tail.len(), overlap)?);
    let mut first = present(rows.get(..over), "rows over the metadata")?.to_vec();
    first.extend_from_slice(present(tail.get(..tail_over), "metadata over themselves")?);
    let mut fresh_at = layout.file_len;
    let mut fresh = Vec::new();
    for bytes in [cut(rows, over)?, cut(Cow::Owned(tail), tail_over)?] {
        let end = add(fresh_at, bytes.len() as u64)?;
        fresh.push(Write::new(fresh_at, bytes));
        fresh_at = end;
    }
    patches.push(Patch { offset: at, bytes: first });
    Ok(journalled((layout.file_len, len), fresh, patches, header))
}

/// Returns the bytes without the first `start` ones.
fn cut(bytes: Cow<'_, [u8]>, start: usize) -> Result<Cow<'_, [u8]>> {
    Ok(match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(present(bytes.get(start..), "rest of the bytes")?),
        Cow::Owned(mut bytes) => Cow::Owned(bytes.split_off(start.min(bytes.len()))),
    })
}

/// Plans to overwrite the selected elements with `bytes`, which have the total size of the elements and the file's byte order.
pub(crate) fn overwrite(
    storage: &impl ReadAt,
    layout: &Layout,
    slab: &Slab,
    mut bytes: &[u8],
) -> Result<Edit<'static>> {
    check_raw(layout, "overwriting a part of")?;
    let width = fit(layout.element.size(), "size of an element")?;
    let near = |first: &Piece, end: u64, next: &Piece| {
        let gap = bound::left(next.from, end);
        gap == 0 || gap <= GAP && bound::left(next.end(), first.from) <= BATCH
    };
    let mut patches = Vec::new();
    let mut batch = Vec::new();
    let mut pieces = pieces(slab, width).peekable();
    while let Some(all) = next_batch(&mut pieces, near, &mut batch).filter(|_| width > 0) {
        let offset = add(layout.data, all.from)?;
        let mut patch = storage.read_at(offset, all.len)?.into_owned();
        for piece in &batch {
            let source = present(bytes.split_off(..piece.len), "elements of a piece")?;
            let target = patch.get_mut(within(piece, all.from));
            present(target, "place of a piece")?.copy_from_slice(source);
        }
        patches.push(Patch { offset, bytes: patch });
    }
    let len = layout.file_len;
    Ok(journalled((len, len), Vec::new(), patches, layout.header.clone()))
}

/// Plans to replace the bytes after the data with `metadata`.
pub(crate) fn set_metadata<'a>(layout: &Layout, metadata: &'a [u8]) -> Result<Edit<'a>> {
    if layout.encoding == Encoding::Leb128 {
        return Err(Error::usage(
            "metadata",
            "cannot follow a LEB128 payload, which extends to the end of the file",
        ));
    }
    if layout.header.flags.contains(Flags::ENCODED | Flags::BITS) {
        let what = "changing the metadata of a BitArray of Julia, whose number of dimensions follows from the length of the file,";
        return Err(Error::unsupported(what));
    }
    let at = layout.metadata();
    let too_long = || Error::usage("metadata", "make the file longer than 2^64 bytes");
    let len = at.checked_add(metadata.len() as u64).ok_or_else(too_long)?;
    let old = bound::addressable(sub(layout.file_len, at)?);
    let (over, fresh) = metadata.split_at_checked(old).unwrap_or((metadata, &[]));
    let patches = vec![Patch { offset: at, bytes: over.to_vec() }];
    let fresh = if fresh.is_empty() { Vec::new() } else { vec![Write::new(layout.file_len, fresh)] };
    Ok(journalled((layout.file_len, len), fresh, patches, layout.header.clone()))
}

/// Returns the size in bytes of the part of the array at one index of the slowest dimension.
pub(crate) fn row_size(header: &Header, element: u64) -> Result<u64> {
    let (_, row) = header.dims.split_last().ok_or_else(no_row)?;
    slab::elements(row)
        .and_then(|count| count.checked_mul(element))
        .filter(|&size| size > 0)
        .ok_or_else(no_row)
}

fn no_row() -> Error {
    Error::usage("array", "cannot be appended to, because it has no dimensions or its rows are empty")
}

fn check_raw(layout: &Layout, what: &str) -> Result<()> {
    let encoding = match layout.encoding {
        Encoding::Raw => return Ok(()),
        Encoding::Lz4 => "an LZ4 block",
        Encoding::Leb128 => "LEB128",
        Encoding::Bits => "bits",
    };
    Err(Error::unsupported(format!("{what} an array encoded as {encoding}")))
}
