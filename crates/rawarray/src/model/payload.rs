//! The data of an array, which are read, decoded, and converted to the requested byte order.

use std::borrow::Cow;

use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::ParseError;
use sciformats_core::storage::zeroed;
use sciformats_core::{Limits, ReadAt, Result, Slab, bound};

use super::gather;
use super::layout::{Encoding, Layout};
use crate::codec::{leb128, lz4};

/// Reads the whole array into `out`, which has `layout.bytes` bytes, in the byte order `target`.
pub(crate) fn read_all(
    storage: &(impl ReadAt + ?Sized),
    layout: &Layout,
    target: ByteOrder,
    out: &mut [u8],
) -> Result<()> {
    let stored = |size: u64| storage.read_at(layout.data, bound::addressable(size));
    let place = |e: ParseError, block: &Cow<'_, [u8]>, structure| {
        let position = bound::left(block.len(), e.remaining()) as u64;
        e.fault().at(structure, bound::sum(layout.data, position))
    };
    match layout.encoding {
        Encoding::Raw => {
            gather::read_long(storage, layout.data, out)?;
            convert(layout, target, out);
        }
        Encoding::Lz4 => {
            let block = stored(layout.stored)?;
            lz4::decompress(&block, out)?.map_err(|e| place(e, &block, "LZ4 block"))?;
            convert(layout, target, out);
        }
        Encoding::Leb128 => {
            let block = stored(layout.stored)?;
            let width = bound::addressable(layout.header.elbyte);
            let signed = layout.header.eltype == crate::spec::ElementKind::Int;
            leb128::decode(&block, width, signed, out).map_err(|e| place(e, &block, "LEB128 payload"))?;
            ByteOrder::Little.convert(target, out, width);
        }
        Encoding::Bits => {
            let all = Slab::all(&layout.header.dims)?;
            gather::read_bits(storage, layout.data, &all, layout.order == ByteOrder::Big, out)?;
        }
    }
    Ok(())
}

/// Reads the selected elements into `out`, which has their total size. If the encoding permits no other way, `decoded` returns
/// the whole array in little-endian order.
pub(crate) fn read_slab<'a>(
    storage: &(impl ReadAt + ?Sized),
    layout: &Layout,
    slab: &Slab,
    decoded: impl FnOnce() -> Result<&'a [u8]>,
    out: &mut [u8],
) -> Result<ByteOrder> {
    let width = bound::addressable(layout.element.size());
    match layout.encoding {
        Encoding::Raw => gather::read(storage, layout.data, width, slab, out).map(|()| layout.order),
        Encoding::Bits => {
            let swapped = layout.order == ByteOrder::Big;
            gather::read_bits(storage, layout.data, slab, swapped, out).map(|()| ByteOrder::Little)
        }
        Encoding::Lz4 | Encoding::Leb128 => {
            gather::read(decoded()?, 0, width, slab, out).map(|()| ByteOrder::Little)
        }
    }
}

/// Returns the whole array in little-endian order.
pub(crate) fn decode(storage: &(impl ReadAt + ?Sized), layout: &Layout, limits: &Limits) -> Result<Vec<u8>> {
    let mut out = zeroed(checked_size(layout, limits)?)?;
    read_all(storage, layout, ByteOrder::Little, &mut out)?;
    Ok(out)
}

/// Returns the size of the decoded array if it may be allocated. Raw elements are limited by the file, and others by the limits.
pub(crate) fn checked_size(layout: &Layout, limits: &Limits) -> Result<usize> {
    let limit = if layout.encoding == Encoding::Raw { u64::MAX } else { limits.memory };
    sciformats_core::limits::within("bytes of the decoded array", layout.bytes, limit)
}

/// Converts elements in the byte order of the file to another byte order.
fn convert(layout: &Layout, target: ByteOrder, bytes: &mut [u8]) {
    layout.order.convert(target, bytes, layout.element.swap_width());
}
