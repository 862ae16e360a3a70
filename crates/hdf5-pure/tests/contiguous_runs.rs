//! Selections of a contiguous dataset: which calls read them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::borrow::Cow;
use std::ops;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_pure::storage::ReadAt;
use hdf5_pure::{CreateOptions, Error, File, OpenOptions, Range, Result, Slab, Writer};

/// Bytes that count the calls for them. Some of them cannot be read.
#[derive(Clone)]
struct Calls {
    bytes: Arc<Vec<u8>>,
    broken: ops::Range<u64>,
    calls: Arc<AtomicU64>,
}

impl ReadAt for Calls {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if !self.broken.is_empty() && offset < self.broken.end && self.broken.start < offset + len as u64 {
            return Err(Error::usage("bytes", "are broken"));
        }
        Ok(Cow::Owned(self.bytes.read_at(offset, len)?.into_owned()))
    }
}

/// Reads a selection of an array of two dimensions, checks its elements, and returns the number of calls.
fn calls(shape: [u64; 2], ranges: [Range; 2], broken: ops::Range<u64>) -> Result<u64> {
    let mut made = Writer::in_memory(&CreateOptions::default()).unwrap();
    let values: Vec<u32> = (0..(shape[0] * shape[1]) as u32).collect();
    made.dataset("d").shape(shape).write(&values).unwrap();
    let bytes = made.into_bytes().unwrap();
    let first: Vec<u8> = values[..20].iter().flat_map(|value| value.to_le_bytes()).collect();
    let start = bytes.windows(80).position(|window| window == first).unwrap() as u64;
    let broken = start + 4 * broken.start..start + 4 * broken.end;
    let file = Calls { bytes: Arc::new(bytes), broken, calls: Arc::default() };
    let counter = Arc::clone(&file.calls);
    let dataset = File::from_storage(file, &OpenOptions::default()).unwrap().dataset("d").unwrap();
    counter.store(0, Ordering::Relaxed);
    let slab = Slab::new(&shape, ranges).unwrap();
    let found = dataset.read_slab::<u32>(&slab)?;
    let places = slab.runs().flat_map(|run| (0..run.len).map(move |i| run.from + i * run.step));
    assert!(found.iter().copied().eq(places.map(|place| place as u32)));
    Ok(counter.load(Ordering::Relaxed))
}

#[test]
fn runs_that_are_close_together_are_read_together() {
    let none = || 0..0;
    let box_of = |rows, columns| [Range::new(7, rows), Range::new(11, columns)];
    // Rows of 400 bytes are 1,600 bytes apart, and those of the other array 40,000.
    assert_eq!(calls([2000, 400], box_of(10, 100), none()).unwrap(), 1);
    assert_eq!(calls([20, 10_000], box_of(10, 100), none()).unwrap(), 10);
    // Each call brings at most 64 KiB.
    assert_eq!(calls([2000, 400], box_of(1000, 100), none()).unwrap(), 25);
    assert_eq!(calls([2000, 400], [Range::all(2000).by(1), Range::new(3, 1)], none()).unwrap(), 49);
    assert_eq!(calls([2, 10_000], [Range::new(1, 1), Range::new(0, 5000).by(2)], none()).unwrap(), 1);
    // Long runs are read where they belong.
    assert_eq!(calls([20, 2000], box_of(10, 1500), none()).unwrap(), 10);
    assert_eq!(calls([20, 2000], [Range::new(3, 10), Range::all(2000)], none()).unwrap(), 1);
}

#[test]
fn what_is_between_runs_need_not_be_readable() {
    // Elements between the first row and the second.
    let selected = [Range::new(0, 5), Range::new(0, 100)];
    assert_eq!(calls([20, 400], selected, 150..160).unwrap(), 1 + 5);
    let error = calls([20, 400], selected, 90..120).unwrap_err();
    assert!(error.to_string().contains("are broken"), "{error}");
}
