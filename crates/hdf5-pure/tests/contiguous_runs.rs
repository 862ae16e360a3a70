//! Selections of a contiguous dataset, and parts of elements: which calls read them, and how many bytes.
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
#[derive(Clone, Default)]
struct Calls {
    bytes: Arc<Vec<u8>>,
    broken: ops::Range<u64>,
    calls: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
    round_trips: u64,
}

impl ReadAt for Calls {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        if !self.broken.is_empty() && offset < self.broken.end && self.broken.start < offset + len as u64 {
            return Err(Error::usage("bytes", "are broken"));
        }
        Ok(Cow::Owned(self.bytes.read_at(offset, len)?.into_owned()))
    }

    fn read_ahead(&self) -> u64 {
        self.round_trips
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
    let file = Calls { bytes: Arc::new(bytes), broken, ..Calls::default() };
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

hdf5_pure::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Shot { number: i32, image: [u8; 9000], energy: f64, delay: f32 }
}

const SIZE: u64 = 9016;

/// Reads the last two members of some shots, checks them, and returns the number of bytes that were read for them.
fn bytes_of_parts(file: &Calls, range: Range) -> u64 {
    let shots = File::from_storage(file.clone(), &OpenOptions::default()).unwrap().dataset("shots").unwrap();
    let slab = Slab::new(&[300], [range]).unwrap();
    let mut parts = vec![1; 12 * slab.len() as usize];
    file.read.store(0, Ordering::Relaxed);
    shots.read_raw_part_into(&slab, &(9004..9016), &mut parts).unwrap();
    let read = file.read.load(Ordering::Relaxed);
    let whole = shots.read_raw(&slab).unwrap();
    let wanted: Vec<u8> = whole.chunks(SIZE as usize).flat_map(|shot| &shot[9004..]).copied().collect();
    assert!(parts == wanted, "{range:?}");
    assert_eq!(shots.read_field_slab::<f64>("energy", &slab).unwrap().len() as u64, slab.len());
    read
}

#[test]
fn what_is_between_parts_of_long_elements_is_not_read() {
    let shot = |number: i32| Shot {
        number,
        image: [number as u8; 9000],
        energy: f64::from(number),
        delay: 0.5 - number as f32,
    };
    let all: Vec<Shot> = (0..300).map(shot).collect();
    let made = |chunk: Option<u64>, filtered: bool, written: usize| {
        let mut made = Writer::in_memory(&CreateOptions::default()).unwrap();
        let shots = made.dataset("shots");
        let shots = if let Some(chunk) = chunk { shots.chunks([chunk]) } else { shots };
        let shots = if filtered { shots.deflate(1) } else { shots };
        let missing = Shot { number: -1, image: [3; 9000], energy: -7.5, delay: 2.0 };
        if written == 300 {
            shots.write(&all).unwrap();
        } else {
            let mut shots = shots.shape([300]).fill(missing).create::<Shot>().unwrap();
            shots
                .write_slab(&Slab::new(&[300], [Range::new(100, written as u64)]).unwrap(), &all[..written])
                .unwrap();
        }
        Calls { bytes: Arc::new(made.into_bytes().unwrap()), ..Calls::default() }
    };
    for (chunk, written) in [(None, 300), (Some(7), 300), (Some(300), 300), (Some(7), 40)] {
        let mut file = made(chunk, false, written);
        for round_trips in [0, 1 << 20] {
            file.round_trips = round_trips;
            let stored = if written == 300 { 300 } else { 42 };
            // The index of the chunks is read too.
            let parts = |range: Range, count: u64| {
                let read = bytes_of_parts(&file, range);
                assert!(read < 12 * count + 1000, "{read} bytes: {range:?} {chunk:?} {round_trips}");
            };
            parts(Range::all(300), stored);
            parts(Range::new(5, 90).by(3), 90);
            parts(Range::new(299, 1), 1);
        }
    }
    // Filters can only be undone for whole chunks.
    let _ = bytes_of_parts(&made(Some(7), true, 300), Range::all(300));
    let shots = File::from_bytes(made(None, false, 300).bytes.to_vec()).unwrap().dataset("shots").unwrap();
    let all = shots.all().unwrap();
    assert!(shots.has_separate_parts());
    for (part, len) in [(9004..9017, 3900), (ops::Range { start: 5, end: 4 }, 0), (0..4, 1204)] {
        let error = shots.read_raw_part_into(&all, &part, &mut vec![0; len]).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
    }
    let mut none = [];
    shots.read_raw_part_into(&all, &(8..8), &mut none).unwrap();
}
