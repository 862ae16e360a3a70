//! One pass over the bytes of a file, by several threads: where structures may begin, and where nothing but zeros is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_core::{ReadAt, Result};

/// The bytes that are looked at together.
const WINDOW: u64 = 4 << 20;
/// The bytes that a window shares with the next one.
const OVERLAP: u64 = 16;
/// The size of the smallest sectors.
const SECTOR: usize = 512;

/// What one pass found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The offsets at which a structure may begin.
    pub(crate) candidates: Vec<u64>,
    /// The sectors that consist of zeros, joined, as the first byte and the byte after the last.
    pub(crate) zeros: Vec<(u64, u64)>,
}

/// Looks for the places where `begins` says that something may begin. It gets sixteen bytes, or fewer at the end of the file, and
/// their offset; `first` says for each value of a byte whether anything begins with it.
pub(crate) fn scan(
    storage: &Arc<dyn ReadAt>,
    threads: usize,
    first: &[bool; 256],
    begins: impl Fn(&[u8], u64) -> bool + Sync,
) -> Result<Scan> {
    let size = storage.size();
    let next = AtomicU64::new(0);
    let work = || -> Result<Vec<(u64, Scan)>> {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(WINDOW, Ordering::Relaxed);
            if start >= size {
                return Ok(done);
            }
            let end = size.min(start + WINDOW);
            let with = size.min(end + OVERLAP);
            let len = usize::try_from(with - start).unwrap_or(0);
            let bytes = storage.read_at(start, len)?;
            let own = usize::try_from(end - start).unwrap_or(0);
            done.push((start, window(&bytes, own, start, first, &begins)));
        }
    };
    let mut found = std::thread::scope(|scope| -> Result<Vec<(u64, Scan)>> {
        let others: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut found = work()?;
        for other in others {
            let joined = other.join();
            found.extend(joined.map_err(|_| sciformats_core::Error::internal("a thread of a scan ended"))??);
        }
        Ok(found)
    })?;
    found.sort_by_key(|(start, _)| *start);
    let mut all = Scan::default();
    for (_, part) in found {
        all.candidates.extend(part.candidates);
        for (start, end) in part.zeros {
            match all.zeros.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => all.zeros.push((start, end)),
            }
        }
    }
    Ok(all)
}

fn window(
    bytes: &[u8],
    own: usize,
    start: u64,
    first: &[bool; 256],
    begins: &(impl Fn(&[u8], u64) -> bool + Sync),
) -> Scan {
    let mut scan = Scan::default();
    let own_bytes = bytes.get(..own).unwrap_or(bytes);
    for (number, sector) in own_bytes.chunks(SECTOR).enumerate() {
        let from = number * SECTOR;
        let offset = start + from as u64;
        if sector.iter().all(|&byte| byte == 0) {
            match scan.zeros.last_mut() {
                Some((_, last)) if *last == offset => *last = offset + sector.len() as u64,
                _ => scan.zeros.push((offset, offset + sector.len() as u64)),
            }
            continue;
        }
        for (i, byte) in sector.iter().enumerate() {
            if first.get(usize::from(*byte)).copied().unwrap_or(false) {
                let rest = bytes.get(from + i..).unwrap_or_default();
                let rest = rest.get(..16).unwrap_or(rest);
                if begins(rest, offset + i as u64) {
                    scan.candidates.push(offset + i as u64);
                }
            }
        }
    }
    scan
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn signatures_across_windows_are_found_once() {
        let mut bytes = vec![7u8; (WINDOW + 4096) as usize];
        let at = WINDOW as usize - 2;
        bytes[at..at + 4].copy_from_slice(b"TREE");
        bytes[512..1536].fill(0);
        let mut first = [false; 256];
        first[usize::from(b'T')] = true;
        let storage: Arc<dyn ReadAt> = Arc::new(bytes);
        for threads in [1, 3] {
            let scan = scan(&storage, threads, &first, |bytes, _| bytes.starts_with(b"TREE")).unwrap();
            assert_eq!(scan.candidates, [at as u64]);
            assert_eq!(scan.zeros, [(512, 1536)]);
        }
    }
}
