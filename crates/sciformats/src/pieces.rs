//! Cuts an array into pieces that fit in memory and match its chunks.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

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
/// The bytes of the pieces that are read at the same time, unless a single piece is larger.
const TOGETHER: u64 = 32 << 20;
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
    /// Whether a chunk may belong to several pieces. Threads that read them at the same time would each decode it.
    cut: bool,
    /// How many threads can decode chunks of one piece, because that many rows of chunks are in it. Pieces of arrays without chunks are
    /// only copied, for which one thread is enough.
    decoders: u64,
    /// How many pieces may be in memory together.
    most: u64,
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
        let most = TOGETHER.min(memory).checked_div(bound::product(bound::product(rows, inner), size));
        let (cut, decoders) = match info.chunks.as_deref() {
            Some(chunks) => (
                cut(chunks, slab, axis, rows),
                match axis {
                    0 => rows.div_ceil(chunks.first().copied().unwrap_or(1).max(1)),
                    _ => 1,
                },
            ),
            None => (false, u64::MAX), // a bound
        };
        Self { pieces: slab.pieces_along(axis, rows), single, cut, decoders, most: most.unwrap_or(1).max(1) }
    }

    /// Returns how many of the pieces should be read at the same time, at least `least` if this is possible, so that each of `threads`
    /// threads has chunks to decode; or `None` if nothing should be read ahead.
    fn together(&self, threads: usize, least: u64) -> Option<usize> {
        if self.single || threads == 1 {
            return None;
        }
        let wanted = (threads as u64).div_ceil(self.decoders.max(1)).max(least).min(self.most);
        Some(if self.cut { 1 } else { bound::addressable(wanted).max(1) })
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

/// Returns whether pieces of `rows` indices of the dimension `axis` divide a chunk.
fn cut(chunks: &[u64], slab: &Slab, axis: usize, rows: u64) -> bool {
    let ends = |at: u64| chunks.get(axis).is_none_or(|side| at.is_multiple_of(*side));
    let adjacent =
        slab.ranges().get(axis).is_none_or(|range| range.step == 1 && ends(range.start) && ends(rows));
    !adjacent || chunks.iter().take(axis).any(|&side| side != 1)
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

/// Reads the pieces, and calls `visit` with each in order. With more than one thread, the next piece is read
/// while `visit` works on the current one, and several are read at the same time if each consists of a single row of chunks.
///
/// # Errors
///
/// Those of `read` and `visit`. The first error ends it.
pub fn for_each(pieces: Pieces, threads: usize, read: ReadPiece<'_>, visit: VisitPiece<'_>) -> Result<()> {
    match pieces.together(threads, 1) {
        Some(readers @ 2..) => {
            let read = |slab: &Slab, out: &mut Vec<u8>| {
                out.clear();
                read(slab, out)
            };
            side_by_side(&pieces, readers, &read, visit)
        }
        ahead => read_ahead(pieces, ahead.is_some(), read, visit),
    }
}

/// As [`for_each`], for elements that are computed from stored ones: `read` replaces the contents of a buffer. If possible, several
/// pieces are computed at the same time.
pub(crate) fn for_each_computed(
    pieces: Pieces,
    threads: usize,
    read: ReadPiece<'_>,
    visit: VisitPiece<'_>,
) -> Result<()> {
    if let Some(readers) = pieces.together(threads, 2) {
        return side_by_side(&pieces, readers, read, visit);
    }
    let mut bytes = Vec::new();
    for piece in pieces {
        read(&piece, &mut bytes)?;
        if visit(&piece, &bytes)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads pieces with a number of threads, and calls `visit` with each in order. A thread only goes on when its piece is visited, so
/// that there are no more buffers than threads and the one that is visited. `read` replaces their contents.
fn side_by_side(pieces: &Pieces, threads: usize, read: ReadPiece<'_>, visit: VisitPiece<'_>) -> Result<()> {
    let free = Mutex::new(Vec::new());
    let free = || free.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        for first in 0..threads {
            let (full, filled) = std::sync::mpsc::sync_channel::<Result<(Slab, Vec<u8>)>>(0);
            let own = pieces.clone().skip(first).step_by(threads);
            let free = &free;
            scope.spawn(move || {
                for piece in own {
                    let mut bytes = free().pop().unwrap_or_default();
                    let result = read(&piece, &mut bytes).map(|()| (piece, bytes));
                    let failed = result.is_err();
                    // The other side has ended because it needs no more pieces.
                    if full.send(result).is_err() || failed {
                        break;
                    }
                }
            });
            readers.push(filled);
        }
        // A reader that has ended had no more pieces, and neither have those after it.
        for piece in readers.iter().cycle().map_while(|filled| filled.recv().ok()) {
            let (piece, bytes) = piece?;
            if visit(&piece, &bytes)?.is_break() {
                break;
            }
            free().push(bytes);
        }
        Ok(())
    })
}

/// Reads pieces into the parts of `out` that belong to them, with elements of `size` bytes. If possible, several are read at the same
/// time.
///
/// # Errors
///
/// Those of `read`, of the first piece that fails; [`Error::Usage`] if `out` has another size than the selection.
pub(crate) fn fill(
    (pieces, size): (Pieces, usize),
    threads: usize,
    out: &mut [u8],
    read: &(dyn Fn(&Slab, &mut [u8]) -> Result<()> + Sync),
) -> Result<()> {
    let wrong = || Error::usage("out", "has another size than the selection");
    let readers = pieces.together(threads, 2);
    let (mut parts, mut rest) = (Vec::new(), out);
    for piece in pieces {
        let len = bound::product(bound::addressable(piece.len()), size);
        let (part, after) = std::mem::take(&mut rest).split_at_mut_checked(len).ok_or_else(wrong)?;
        parts.push((piece, part));
        rest = after;
    }
    if !rest.is_empty() {
        return Err(wrong());
    }
    let queue = Mutex::new(parts.into_iter());
    let work = || {
        loop {
            // Pieces are taken in order, so that the first that fails is among those that were taken when another one fails.
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((piece, part)) = next else { return Ok(()) };
            if let Err(error) = read(&piece, part) {
                queue.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
                return Err((piece, error));
            }
        }
    };
    let Some(readers) = readers.filter(|&readers| readers > 1) else {
        return work().map_err(|(_, error)| error);
    };
    let failed = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..readers).map(|_| scope.spawn(work)).collect();
        let ends = readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let starts = |slab: &Slab| slab.ranges().iter().map(|range| range.start).collect::<Vec<_>>();
        ends.filter_map(std::result::Result::err).min_by_key(|(piece, _)| starts(piece))
    });
    failed.map_or(Ok(()), |(_, error)| Err(error))
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
    fn each_thread_has_a_chunk_to_decode() {
        let mut info = ArrayInfo::new(ElementType::F32, [1024, 256, 512]);
        info.chunks = Some(vec![16, 256, 512]);
        let of = |info: &ArrayInfo, slab: &Slab, memory| Pieces::new(info, slab, memory);
        let all = Slab::all(&[1024, 256, 512]).unwrap();
        let pieces = of(&info, &all, u64::MAX);
        assert_eq!(
            [1, 2, 3, 64].map(|threads| pieces.together(threads, 1)),
            [None, Some(2), Some(3), Some(4)]
        );
        assert_eq!(of(&info, &all, 9 << 20).together(8, 1), Some(1));
        // There are enough chunks in a piece already.
        info.chunks = Some(vec![1, 256, 512]);
        assert_eq!([2, 16].map(|threads| of(&info, &all, u64::MAX).together(threads, 1)), [Some(1), Some(2)]);
        assert_eq!(of(&info, &all, u64::MAX).together(2, 2), Some(2));
        // Chunks would be decoded twice.
        let later = Slab::new(&[1024, 256, 512], [Range::new(3, 1000), Range::all(256), Range::all(512)]);
        info.chunks = Some(vec![16, 256, 512]);
        assert_eq!(of(&info, &later.unwrap(), u64::MAX).together(8, 2), Some(1));
        info.chunks = Some(vec![1000, 256, 512]);
        assert_eq!(of(&info, &all, u64::MAX).together(8, 2), Some(1));
        // Nothing is decoded, and a single piece has no others beside it.
        info.chunks = None;
        assert_eq!(of(&info, &all, u64::MAX).together(8, 1), Some(1));
        let one = Slab::new(&[1024, 256, 512], [Range::new(0, 2), Range::all(256), Range::all(512)]);
        assert_eq!(of(&info, &one.unwrap(), u64::MAX).together(8, 2), None);
    }

    /// Seven rows of 4 MiB, each of which is a chunk.
    fn rows_of_chunks() -> (ArrayInfo, Slab) {
        let mut info = ArrayInfo::new(ElementType::UInt(1), [7, 4 << 20]);
        info.chunks = Some(vec![1, 4 << 20]);
        (info, Slab::all(&[7, 4 << 20]).unwrap())
    }

    fn first(slab: &Slab) -> u64 {
        slab.ranges()[0].start
    }

    fn broken(slab: &Slab) -> Result<u8> {
        match first(slab) {
            row @ (3 | 5) => Err(Error::usage("row", format!("{row} is broken"))),
            row => Ok(row as u8),
        }
    }

    #[test]
    fn pieces_that_are_read_side_by_side_come_in_order() {
        let (info, slab) = rows_of_chunks();
        for threads in [1, 2, 3, 16] {
            let read = |slab: &Slab, out: &mut Vec<u8>| {
                out.resize(10, first(slab) as u8);
                Ok(())
            };
            for until in [7, 4] {
                let mut seen = Vec::new();
                let mut visit = |slab: &Slab, bytes: &[u8]| {
                    assert_eq!((bytes.len(), bytes[9]), (10, first(slab) as u8));
                    seen.push(first(slab));
                    Ok(if seen.len() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
                };
                for_each(Pieces::new(&info, &slab, u64::MAX), threads, &read, &mut visit).unwrap();
                assert_eq!(seen, (0..until as u64).collect::<Vec<_>>(), "{threads}");
            }
            // What stands before a piece that cannot be read is visited, and the first of the errors is reported.
            let read = |slab: &Slab, out: &mut Vec<u8>| broken(slab).map(|row| out.push(row));
            let mut seen = 0;
            let mut visit = |_: &Slab, _: &[u8]| {
                seen += 1;
                Ok(ControlFlow::Continue(()))
            };
            let error =
                for_each(Pieces::new(&info, &slab, u64::MAX), threads, &read, &mut visit).unwrap_err();
            assert!(error.to_string().contains("3 is broken"), "{error}");
            assert_eq!(seen, 3);
        }
    }

    #[test]
    fn pieces_are_read_into_their_places() {
        let (info, slab) = rows_of_chunks();
        let pieces = || (Pieces::new(&info, &slab, u64::MAX), 1);
        for threads in [1, 2, 16] {
            let mut out = vec![9; 7 * (4 << 20)];
            let read = |slab: &Slab, out: &mut [u8]| {
                out.fill(first(slab) as u8);
                Ok(())
            };
            fill(pieces(), threads, &mut out, &read).unwrap();
            assert!(out.chunks(4 << 20).zip(0..).all(|(row, number)| row.iter().all(|&byte| byte == number)));
            let error = fill(pieces(), threads, &mut out, &|slab, _| broken(slab).map(drop)).unwrap_err();
            assert!(error.to_string().contains("3 is broken"), "{error}");
            assert!(fill(pieces(), threads, out.get_mut(1..).unwrap(), &read).is_err());
            out.push(0);
            assert!(fill(pieces(), threads, &mut out, &read).is_err());
        }
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
