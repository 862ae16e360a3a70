//! Cuts an array into pieces that fit in memory and match its chunks.

use std::ops::ControlFlow;

use sciformats_core::bound;
use sciformats_core::{Error, Slab};

use crate::Result;
use crate::file::VisitPiece;
use crate::model::ArrayInfo;

/// The size of one piece in bytes: large enough that the work per piece does not matter, and small enough to
/// stay in the cache.
const PIECE: u64 = 4 << 20;
/// The largest size of a piece that is enlarged so that no chunk is cut in two and decoded twice.
const ALIGNED: u64 = 64 << 20;
/// The assumed size of an element of varying size.
const VARYING: u64 = 64;

/// The pieces of a selection in C order.
///
/// ```
/// use sciformats::pieces::Pieces;
/// use sciformats::{ArrayInfo, ElementType, Slab};
///
/// let mut info = ArrayInfo::new(ElementType::F64, [1000, 1000]);
/// info.chunks = Some(vec![100, 100]);
/// let all = Slab::all(&[1000, 1000])?;
/// let rows: Vec<Vec<u64>> = Pieces::new(&info, &all, u64::MAX).map(|piece| piece.shape()).collect();
/// assert_eq!(rows, [[500, 1000], [500, 1000]]); // about 4 MiB, to the edge of a chunk
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pieces {
    pieces: sciformats_core::slab::Pieces,
    single: bool,
}

impl Pieces {
    /// Cuts `slab` into pieces of at most `memory` bytes, unless a single element is larger.
    pub fn new(info: &ArrayInfo, slab: &Slab, memory: u64) -> Self {
        let counts = slab.shape();
        let varying = || info.width.unwrap_or_default().max(VARYING);
        let size = info.element.size().unwrap_or_else(varying);
        // Elements without bytes are read at once: there is nothing to hold.
        let budget = PIECE.min(memory).checked_div(size).unwrap_or(u64::MAX).max(1); // a bound
        let most = ALIGNED.min(memory).checked_div(size).unwrap_or(u64::MAX).max(1); // a bound
        let mut axis = counts.len();
        let mut inner = 1u64;
        // A piece consists of as many whole trailing dimensions as fit, and of as many indices of the
        // dimension before them as fit.
        while axis > 1 {
            let count = counts.get(axis - 1).copied().unwrap_or(1);
            match inner.checked_mul(count) {
                Some(product) if product <= budget && product > 0 => inner = product,
                _ => break,
            }
            axis -= 1;
        }
        let axis = bound::left(axis, 1);
        let rows = budget.checked_div(inner).unwrap_or(1).max(1);
        let rows = aligned(info, slab, axis, (rows, most.checked_div(inner).unwrap_or(1)));
        let single = counts.iter().take(axis).all(|&count| count <= 1)
            && counts.get(axis).is_none_or(|&count| count <= rows);
        Self { pieces: slab.pieces_along(axis, rows), single }
    }

    /// Returns whether there is at most one piece.
    pub fn single(&self) -> bool {
        self.single
    }
}

/// Returns the number of rows nearest to `rows` that ends at the border of a chunk, if it is at most `most`.
fn aligned(info: &ArrayInfo, slab: &Slab, axis: usize, (rows, most): (u64, u64)) -> u64 {
    let chunk = info.chunks.as_ref().and_then(|chunks| chunks.get(axis)).copied().unwrap_or(1);
    let adjacent = slab.ranges().get(axis).is_some_and(|range| range.step == 1 && range.start == 0);
    match rows.checked_rem(chunk) {
        Some(over) if adjacent && over < rows => rows - over,
        Some(_) if adjacent && chunk <= most => chunk,
        _ => rows,
    }
}

impl Iterator for Pieces {
    type Item = Slab;

    fn next(&mut self) -> Option<Slab> {
        self.pieces.next()
    }
}

/// Appends the bytes of a part of an array.
pub type ReadPiece<'a, T = Slab> = &'a (dyn Fn(&T, &mut Vec<u8>) -> Result<()> + Sync);

/// Called with a piece and its bytes.
pub type Visit<'a, T> = &'a mut dyn FnMut(&T, &[u8]) -> Result<ControlFlow<()>>;

/// Reads the pieces in order, and calls `visit` with each. With more than one thread, the next piece is read
/// while `visit` works on the current one.
///
/// # Errors
///
/// Those of `read` and `visit`. The first error ends it.
pub fn for_each(pieces: Pieces, threads: usize, read: ReadPiece<'_>, visit: VisitPiece<'_>) -> Result<()> {
    let ahead = !pieces.single() && threads != 1;
    read_ahead(pieces, ahead, read, visit)
}

/// As [`for_each`], for pieces of any type. The next piece is read ahead if `ahead` is true.
///
/// # Errors
///
/// As [`for_each`].
pub fn read_ahead<T: Send>(
    pieces: impl Iterator<Item = T> + Send,
    ahead: bool,
    read: ReadPiece<'_, T>,
    visit: Visit<'_, T>,
) -> Result<()> {
    if !ahead {
        let mut bytes = Vec::new();
        for piece in pieces {
            bytes.clear();
            read(&piece, &mut bytes)?;
            if visit(&piece, &bytes)?.is_break() {
                break;
            }
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (full, filled) = std::sync::mpsc::sync_channel::<Result<(T, Vec<u8>)>>(1);
        let (empty, emptied) = std::sync::mpsc::channel::<Vec<u8>>();
        scope.spawn(move || {
            for piece in pieces {
                // Buffers are returned to be filled again; the first ones are new.
                let mut bytes = emptied.try_recv().unwrap_or_default();
                bytes.clear();
                let result = read(&piece, &mut bytes).map(|()| (piece, bytes));
                let failed = result.is_err();
                // The other side has ended because it needs no more pieces.
                if full.send(result).is_err() || failed {
                    break;
                }
            }
        });
        for piece in filled {
            let (piece, bytes) = piece?;
            if visit(&piece, &bytes)?.is_break() {
                break;
            }
            let _ = empty.send(bytes);
        }
        Ok(())
    })
}

/// Copies bytes into the caller's buffer, which must have the same length.
pub(crate) fn copied(bytes: &[u8], out: &mut [u8]) -> Result<()> {
    if bytes.len() != out.len() {
        return Err(Error::usage("out", "has another size than the selection"));
    }
    out.copy_from_slice(bytes);
    Ok(())
}

/// Appends `size` zeroed bytes to `out`, and returns them to be read into.
///
/// ```
/// let mut out = vec![7];
/// sciformats::pieces::grow(&mut out, 2)?.fill(1);
/// assert_eq!(out, [7, 1, 1]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::LimitExceeded`] if there is not enough memory.
pub fn grow(out: &mut Vec<u8>, size: usize) -> Result<&mut [u8]> {
    let before = out.len();
    if before == 0 && out.capacity() < size {
        *out = sciformats_core::storage::zeroed(size)?;
    } else {
        out.resize(bound::sum(before, size), 0);
    }
    Ok(out.get_mut(before..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use sciformats_core::Range;

    use super::*;
    use crate::model::ElementType;

    fn rows(info: &ArrayInfo) -> Vec<Vec<u64>> {
        let slab = Slab::all(info.shape.as_ref().unwrap()).unwrap();
        let pieces: Vec<Slab> = Pieces::new(info, &slab, u64::MAX).collect();
        assert_eq!(pieces.iter().map(Slab::len).sum::<u64>(), slab.len());
        assert_eq!(Pieces::new(info, &slab, u64::MAX).single(), pieces.len() <= 1);
        pieces.iter().map(Slab::shape).collect()
    }

    #[test]
    fn pieces_end_where_chunks_end() {
        let mut info = ArrayInfo::new(ElementType::F64, [1000, 1000]);
        assert_eq!(rows(&info), [[524, 1000], [476, 1000]]);
        info.chunks = Some(vec![100, 100]);
        assert_eq!(rows(&info), [[500, 1000], [500, 1000]]);
        info.chunks = Some(vec![700, 10]);
        assert_eq!(rows(&info), [[700, 1000], [300, 1000]]);
        // A row of chunks that is too large is cut all the same.
        let mut info = ArrayInfo::new(ElementType::F64, [4000, 4000]);
        info.chunks = Some(vec![4000, 10]);
        assert_eq!(rows(&info)[0], [131, 4000]);
    }

    #[test]
    fn small_empty_and_scalar() {
        assert_eq!(rows(&ArrayInfo::new(ElementType::F64, [])), [[0u64; 0]]);
        assert_eq!(rows(&ArrayInfo::new(ElementType::F64, [0, 3])), [[0u64; 0]; 0]);
        assert_eq!(rows(&ArrayInfo::new(ElementType::Text, [7])), [[7]]);
        assert_eq!(rows(&ArrayInfo::new(ElementType::Opaque(0), [1 << 62])), [[1u64 << 62]]);
        assert_eq!(rows(&ArrayInfo::new(ElementType::Opaque(1 << 40), [2])), [[1], [1]]);
    }

    #[test]
    fn little_memory_makes_small_pieces() {
        let info = ArrayInfo::new(ElementType::F64, [10, 10]);
        let slab = Slab::all(&[10, 10]).unwrap();
        assert_eq!(Pieces::new(&info, &slab, 100).count(), 10);
        assert_eq!(Pieces::new(&info, &slab, 1).count(), 100);
    }

    #[test]
    fn steps_stay() {
        let info = ArrayInfo::new(ElementType::F64, [10_000_000]);
        let slab = Slab::new(&[10_000_000], [Range { start: 1, count: 1_000_000, step: 7 }]).unwrap();
        let pieces: Vec<Slab> = Pieces::new(&info, &slab, u64::MAX).collect();
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[1].ranges(), [Range { start: 1 + 524_288 * 7, count: 475_712, step: 7 }]);
    }
}
