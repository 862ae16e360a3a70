//! A file that has its structures and no elements: it shows how large a repacked file will be, and where everything will stand,
//! without the work of writing it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sciformats_core::storage::check_range;
use sciformats_core::{ReadAt, Result, WriteAt, bound};

/// The bytes are kept in pages of this size; pages without a byte that is not zero are not kept.
const PAGE: u64 = 4 << 10;
/// When so many bytes are kept, those behind the structures are dropped.
const MOST: usize = 256 << 20;

/// A storage that keeps what is written to it, as long as that is little. What is not kept reads as zeros. Clones share it.
#[derive(Clone, Debug)]
pub struct Hollow(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    pages: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    size: u64,
    /// Where the elements begin.
    border: u64,
    /// The end of what was written before the border.
    front: u64,
}

impl Hollow {
    /// An empty file whose elements begin at `border`.
    pub(crate) fn new(border: u64) -> Self {
        let kept = Kept { pages: BTreeMap::new(), bytes: 0, size: 0, border, front: 0 };
        Self(Arc::new(Mutex::new(kept)))
    }

    /// Returns the end of the structures that were written before the border.
    pub(super) fn front(&self) -> u64 {
        self.lock().front
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAt for Hollow {
    fn size(&self) -> u64 {
        self.lock().size
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let kept = self.lock();
        let end = check_range(kept.size, offset, len as u64)?;
        let mut out = vec![0; len];
        for (number, page) in kept.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let start = bound::product(*number, PAGE);
            // The part of the page that is inside the range.
            let from = offset.max(start);
            let to = end.min(bound::sum(start, PAGE));
            let place = |at: u64, from: u64| bound::addressable(bound::left(at, from));
            let source = page.get(place(from, start)..place(to, start));
            if let (Some(target), Some(source)) =
                (out.get_mut(place(from, offset)..place(to, offset)), source)
            {
                target.copy_from_slice(source);
            }
        }
        Ok(Cow::Owned(out))
    }
}

impl WriteAt for Hollow {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut kept = self.lock();
        let end = check_range(u64::MAX, offset, bytes.len() as u64)?;
        kept.size = kept.size.max(end);
        if offset < kept.border {
            kept.front = kept.front.max(end.min(kept.border));
        } else if kept.bytes > MOST {
            return Ok(());
        }
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, within) = (at / PAGE, bound::addressable(at % PAGE));
            let len = rest.len().min(bound::left(bound::addressable(PAGE), within));
            let (part, after) = rest.split_at(len);
            if part.iter().any(|byte| *byte != 0) || kept.pages.contains_key(&number) {
                let before = kept.pages.len();
                let page = kept.pages.entry(number).or_insert_with(|| vec![0; bound::addressable(PAGE)]);
                if let Some(target) = page.get_mut(within..bound::sum(within, len)) {
                    target.copy_from_slice(part);
                }
                if kept.pages.len() > before {
                    kept.bytes = bound::sum(kept.bytes, bound::addressable(PAGE));
                }
            }
            (at, rest) = (bound::sum(at, len as u64), after);
        }
        Ok(())
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.lock().size = size;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_as_it_was_written() {
        let mut hollow = Hollow::new(10_000);
        hollow.write_at(4090, b"structures").unwrap();
        hollow.write_at(20_000, &[0; 1 << 20]).unwrap();
        hollow.write_at(4095, &[0]).unwrap();
        assert_eq!(*hollow.read_at(4088, 14).unwrap(), *b"\0\0struc\0ures\0\0");
        assert_eq!((hollow.size(), hollow.front()), (20_000 + (1 << 20), 4100));
        assert_eq!(hollow.lock().pages.len(), 2);
        assert!(hollow.read_at(u64::MAX, 2).is_err());
    }
}
