//! A clean file as a list of parts: ranges of the damaged file, new bytes, and zeros in place of what is missing.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::fault::FaultKind;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Fault, ReadAt, Result, WriteAt, bound};

/// The bytes that are copied at a time.
const PIECE: usize = 4 << 20;

/// One part of a clean file.
#[derive(Clone, Debug)]
enum Piece {
    /// Bytes of the damaged file from this offset on.
    Source(u64),
    Bytes(Arc<[u8]>),
    Zeros,
}

/// The parts, which can be read as one file.
#[derive(Clone)]
pub(crate) struct Spliced {
    source: Arc<dyn ReadAt>,
    /// Where each part begins, and what it is.
    pieces: Vec<(u64, Piece)>,
    len: u64,
}

impl Spliced {
    pub(crate) fn new(source: Arc<dyn ReadAt>) -> Self {
        Self { source, pieces: Vec::new(), len: 0 }
    }

    fn push(&mut self, len: u64, piece: Piece) {
        if len > 0 {
            self.pieces.push((self.len, piece));
            self.len = bound::sum(self.len, len);
        }
    }

    /// Adds new bytes.
    pub(crate) fn bytes(&mut self, bytes: impl Into<Arc<[u8]>>) {
        let bytes = bytes.into();
        self.push(bytes.len() as u64, Piece::Bytes(bytes));
    }

    /// Adds a range of the damaged file, and zeros in place of what is behind its end.
    pub(crate) fn range(&mut self, offset: u64, len: u64) {
        let there = len.min(bound::left(self.source.size(), offset));
        self.push(there, Piece::Source(offset));
        self.zeros(len - there);
    }

    /// Adds zeros.
    pub(crate) fn zeros(&mut self, len: u64) {
        self.push(len, Piece::Zeros);
    }

    /// Returns the length so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes the file to `path`.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut new = Replacement::create(path)?;
        let storage = new.storage()?;
        let mut at = 0;
        while at < self.len {
            let len = bound::addressable(self.len - at).min(PIECE);
            let bytes = self.read_at(at, len)?;
            // Zeros need not be written where the file is extended at the end.
            if bytes.iter().any(|&byte| byte != 0) || at + len as u64 == self.len {
                storage.write_at(at, &bytes)?;
            }
            at += len as u64;
        }
        new.finish(Durability::Power)
    }
}

impl ReadAt for Spliced {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.len).ok_or_else(|| {
            let found = bound::sum(offset, len as u64);
            Fault::new("the end of the bytes", FaultKind::OutOfBounds { found, end: self.len })
                .at("file", offset)
        })?;
        let mut out = Vec::with_capacity(len);
        let first = self.pieces.partition_point(|(start, _)| *start <= offset).saturating_sub(1); // a bound
        let mut at = offset;
        for (i, (start, piece)) in self.pieces.iter().enumerate().skip(first) {
            if at >= end {
                break;
            }
            let stop = self.pieces.get(i + 1).map_or(self.len, |(next, _)| *next).min(end);
            let (skip, count) = (at - start, bound::addressable(stop - at));
            match piece {
                Piece::Source(from) => {
                    let bytes = self.source.read_at(bound::sum(*from, skip), count)?;
                    if count == len {
                        return Ok(bytes);
                    }
                    out.extend_from_slice(&bytes);
                }
                Piece::Bytes(bytes) => {
                    let skip = bound::addressable(skip);
                    out.extend_from_slice(bytes.get(skip..skip + count).unwrap_or_default());
                }
                Piece::Zeros => out.resize(out.len() + count, 0),
            }
            at = stop;
        }
        Ok(Cow::Owned(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_read_as_one_file() {
        let source: Arc<dyn ReadAt> = Arc::new(b"0123456789".to_vec());
        let mut file = Spliced::new(source);
        file.bytes(b"head".to_vec());
        file.range(2, 3);
        file.zeros(2);
        file.range(8, 4);
        let all = b"head234\0\x0089\0\0";
        assert_eq!(file.len(), all.len() as u64);
        for from in 0..all.len() {
            for to in from..=all.len() {
                assert_eq!(*file.read_at(from as u64, to - from).unwrap(), all[from..to], "{from}..{to}");
            }
        }
        assert!(file.read_at(10, 4).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        file.write(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), all);
    }
}
