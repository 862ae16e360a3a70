//! Reading the runs of a hyperslab. Long runs are read directly into the output, and short neighbouring runs together.

use std::iter::Peekable;

use sciformats_core::slab::Run;
use sciformats_core::storage::{machine_threads, read_into_threads};
use sciformats_core::{ReadAt, Result, Slab, bound};

use crate::codec::bits;

/// Pieces of at least this many bytes are read separately, because the call then costs little compared to the copy.
const LONG: usize = 16 << 10;
/// Pieces whose distance is smaller than this are read together, because copying the gap costs less than a system call.
const GAP: u64 = 4 << 10;
/// The largest number of bytes that are read together.
const BATCH: u64 = 64 << 10;

/// Adjacent elements of the array, as bytes counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: u64,
    pub(crate) len: usize,
}

impl Piece {
    /// Returns the end of the piece. It is a bound, because a piece of an array in memory or in a file ends before it.
    pub(crate) fn end(&self) -> u64 {
        bound::sum(self.from, self.len as u64)
    }
}

/// Returns the contiguous pieces of a selection in order. They fill the output without gaps. The size of the array fits 64 bits,
/// so none of these sums and products reaches its bound.
pub(crate) fn pieces(slab: &Slab, width: usize) -> impl Iterator<Item = Piece> {
    slab.runs().flat_map(move |Run { from, len, step, .. }| {
        let (times, len) = if step == 1 { (1, len) } else { (len, 1) };
        let bytes = bound::product(bound::addressable(len), width);
        (0..times).map(move |i| {
            let element = bound::sum(from, bound::product(i, step));
            Piece { from: bound::product(element, width as u64), len: bytes }
        })
    })
}

/// Moves a piece and its successors that are near, as `near(first, end so far, next)` decides, into `batch`. Returns the range of
/// bytes from the first to the last.
pub(crate) fn next_batch(
    pieces: &mut Peekable<impl Iterator<Item = Piece>>,
    near: impl Fn(&Piece, u64, &Piece) -> bool,
    batch: &mut Vec<Piece>,
) -> Option<Piece> {
    let first = pieces.next()?;
    batch.clear();
    batch.push(first);
    let mut end = first.end();
    while let Some(next) = pieces.next_if(|next| near(&first, end, next)) {
        end = next.end();
        batch.push(next);
    }
    let len = bound::addressable(bound::left(end, first.from));
    Some(Piece { from: first.from, len })
}

/// Returns the position of `piece` in the bytes that start at `base`.
pub(crate) fn within(piece: &Piece, base: u64) -> std::ops::Range<usize> {
    let start = bound::addressable(bound::left(piece.from, base));
    start..bound::sum(start, piece.len)
}

/// Takes the first `len` bytes of the rest of the output.
fn take<'a>(out: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
    out.split_off_mut(..len).unwrap_or_default()
}

/// Reads the selected elements of `width` bytes of an array at `base` into `out`, which has their total size. Uses as many
/// threads as the machine has if this is faster.
pub(crate) fn read(
    storage: &(impl ReadAt + ?Sized),
    base: u64,
    width: usize,
    slab: &Slab,
    out: &mut [u8],
) -> Result<()> {
    let threads = threads_for(out.len());
    if threads == 1 {
        return read_part(storage, base, width, slab, out);
    }
    let mut rest = out;
    std::thread::scope(|scope| {
        let readers: Vec<_> = slab
            .pieces(slab.len().div_ceil(threads as u64))
            .map(|part| {
                let size = bound::product(bound::addressable(part.len()), width);
                let out = take(&mut rest, size);
                scope.spawn(move || read_part(storage, base, width, &part, out))
            })
            .collect();
        readers.into_iter().try_for_each(|reader| match reader.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn read_part(
    storage: &(impl ReadAt + ?Sized),
    base: u64,
    width: usize,
    slab: &Slab,
    mut out: &mut [u8],
) -> Result<()> {
    if width == 0 {
        return Ok(());
    }
    let in_memory = storage.as_slice().is_some();
    let near = |first: &Piece, end: u64, next: &Piece| {
        let close = bound::left(next.from, end) <= GAP && bound::left(next.end(), first.from) <= BATCH;
        close && !in_memory && first.len < LONG && next.len < LONG
    };
    let mut pieces = pieces(slab, width).peekable();
    let (mut batch, mut buffer) = (Vec::new(), Vec::new());
    while let Some(all) = next_batch(&mut pieces, near, &mut batch) {
        let offset = bound::sum(base, all.from);
        if batch.len() == 1 {
            read_long(storage, offset, take(&mut out, all.len))?;
            continue;
        }
        buffer.resize(all.len, 0);
        storage.read_into(offset, &mut buffer)?;
        for piece in &batch {
            let bytes = buffer.get(within(piece, all.from)).unwrap_or_default();
            take(&mut out, piece.len).copy_from_slice(bytes);
        }
    }
    Ok(())
}

/// Reads adjacent bytes. Uses as many threads as the machine has if this is faster.
pub(crate) fn read_long(storage: &(impl ReadAt + ?Sized), offset: u64, out: &mut [u8]) -> Result<()> {
    read_into_threads(storage, offset, out, machine_threads())
}

/// Returns how many threads read a result of this many bytes.
fn threads_for(bytes: usize) -> usize {
    const WORTH_SHARING: usize = 8 << 20;
    if bytes < WORTH_SHARING || cfg!(target_family = "wasm") { 1 } else { machine_threads() }
}

/// Unpacks the selected bits of an array at `base` into one byte each. Words are big-endian if `swapped` is set.
pub(crate) fn read_bits(
    storage: &(impl ReadAt + ?Sized),
    base: u64,
    slab: &Slab,
    swapped: bool,
    mut out: &mut [u8],
) -> Result<()> {
    let Some((first, last)) = bounds(slab) else { return Ok(()) };
    let from = first / 64;
    let words = bound::sum(bound::left(last / 64, from), 1);
    let size = bound::addressable(bound::product(words, bits::WORD as u64));
    let offset = bound::sum(base, bound::product(from, bits::WORD as u64));
    let mut words = storage.read_at(offset, size)?;
    if swapped {
        sciformats_core::endian::swap(words.to_mut(), bits::WORD);
    }
    let bit = |element: u64| bound::addressable(bound::left(element, bound::product(from, 64)));
    for run in slab.runs() {
        let part = take(&mut out, bound::addressable(run.len));
        if run.step == 1 {
            bits::unpack(&words, bit(run.from), part);
            continue;
        }
        for (i, value) in (0..).zip(part.chunks_mut(1)) {
            bits::unpack(&words, bit(bound::sum(run.from, bound::product(run.step, i))), value);
        }
    }
    Ok(())
}

/// Returns the first and the last selected element.
fn bounds(slab: &Slab) -> Option<(u64, u64)> {
    let mut corners = (0u64, 0u64);
    for (range, &dimension) in slab.ranges().iter().zip(slab.of()) {
        let span = range.step.checked_mul(range.count.checked_sub(1)?)?;
        corners.0 = corners.0.checked_mul(dimension)?.checked_add(range.start)?;
        corners.1 = corners.1.checked_mul(dimension)?.checked_add(range.start)?.checked_add(span)?;
    }
    Some(corners)
}
