//! A part of a storage as a stream. If it is long, a separate thread reads it ahead of its use.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use sciformats_core::arith::fit;
use sciformats_core::storage::length;
use sciformats_core::{ReadAt, Result};

const PIECE: u64 = 1 << 20;
/// The number of pieces that may wait, which is enough that neither thread waits for a single step of the other.
const AHEAD: usize = 4;

/// Runs `work` on the bytes of `range` while they are being read.
///
/// # Errors
/// `Io` of the storage, even if `work` succeeded with a stream that ended early.
pub(crate) fn overlapped<T>(
    storage: &dyn ReadAt,
    range: Range<u64>,
    work: impl FnOnce(&mut dyn BufRead) -> T,
) -> Result<T> {
    let size = length(&range);
    if size <= PIECE {
        // The first piece is read before the thread starts.
        let piece = storage.read_at(range.start, fit(size, "length of a piece")?)?;
        return Ok(work(&mut &*piece));
    }
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read(storage, range, &sender));
        let mut pieces = Pieces { receiver, piece: Vec::new(), at: 0 };
        let result = work(&mut pieces);
        // The reader stops when its pieces are not used any more.
        drop(pieces);
        match reader.join() {
            Ok(read) => read.map(|()| result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn read(storage: &dyn ReadAt, range: Range<u64>, sender: &SyncSender<Vec<u8>>) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let size = PIECE.min(range.end - at);
        let piece = storage.read_at(at, fit(size, "length of a piece")?)?.into_owned();
        if sender.send(piece).is_err() {
            break;
        }
        at += size;
    }
    Ok(())
}

struct Pieces {
    receiver: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.piece.len() {
            // If there are no more pieces, this is the end of the stream.
            self.piece = self.receiver.recv().unwrap_or_default();
            self.at = 0;
        }
        Ok(self.piece.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.fill_buf()?.read(out)?;
        self.consume(size);
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_range() {
        let bytes: Vec<u8> = (0..5 * PIECE as u32 + 9).map(|i| (i >> 7) as u8).collect();
        for range in [0..bytes.len() as u64, 3..3, 17..2 * PIECE + 17, PIECE - 1..bytes.len() as u64] {
            let mut found = Vec::new();
            overlapped(&bytes, range.clone(), |stream| stream.read_to_end(&mut found)).unwrap().unwrap();
            assert!(found == bytes[range.start as usize..range.end as usize]);
        }
        assert!(
            overlapped(&bytes, 0..bytes.len() as u64 + 1, |stream| stream.read_to_end(&mut Vec::new()))
                .is_err()
        );
        // If the consumer stops early, the reader stops too.
        assert_eq!(overlapped(&bytes, 0..bytes.len() as u64, |_| 7).unwrap(), 7);
    }
}
