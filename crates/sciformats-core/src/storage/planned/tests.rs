//! Plans are tested with a store that counts its requests.
#![allow(clippy::single_range_in_vec_init, reason = "one range is meant")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::storage::{Elsewhere, Stored};

/// A store that records its requests, and waits before it responds.
struct Counting {
    bytes: Stored<Vec<u8>>,
    asked: Mutex<Vec<Vec<Range<u64>>>>,
    delay: Duration,
    failing: AtomicU64,
}

impl Counting {
    fn new(size: usize, delay: u64) -> Self {
        let bytes = (0..size).map(|i| ((i >> 3) ^ (i >> 11)) as u8).collect();
        Self::of(bytes, Duration::from_millis(delay))
    }

    fn of(bytes: Vec<u8>, delay: Duration) -> Self {
        Self { bytes: Stored(bytes), asked: Mutex::default(), delay, failing: AtomicU64::new(0) }
    }

    fn asked(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Ranges for Counting {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.asked.lock().unwrap().push(ranges.to_vec());
        std::thread::sleep(self.delay);
        if self.failing.load(Ordering::Relaxed) > 0 {
            self.failing.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::io("read", io::ErrorKind::TimedOut.into()));
        }
        self.bytes.get(ranges)
    }
}

const MIB: u64 = 1 << 20;

/// Returns options with windows of 1 MiB.
fn narrow() -> PlanOptions {
    PlanOptions::default().with_window(MIB)
}

fn planned(size: u64) -> (Planned<Counting>, Vec<u8>) {
    let store = Counting::new(size as usize, 0);
    let bytes = store.bytes.0.clone();
    (Planned::with_options(store, narrow()), bytes)
}

#[test]
fn a_read_that_was_not_expected_brings_its_window() {
    let (file, bytes) = planned(20 * MIB);
    assert_eq!(*file.read_at(5 * MIB + 100, 50).unwrap(), bytes[5 * MIB as usize + 100..][..50]);
    assert_eq!(*file.read_at(5 * MIB + 900_000, 50).unwrap(), bytes[5 * MIB as usize + 900_000..][..50]);
    assert_eq!(file.ranges().asked(), [[5 * MIB - MIB / 2..6 * MIB + MIB / 2]]);
    // Sequential reads fetch twice as much each time, up to 8 MiB.
    for step in 0..200 {
        file.read_at(6 * MIB + step * 65_000, 1000).unwrap();
    }
    let half = MIB / 2;
    assert_eq!(
        file.ranges().asked(),
        [[6 * MIB + half..10 * MIB + half], [10 * MIB + half..18 * MIB + half]]
    );
    let statistics = file.statistics();
    assert_eq!((statistics.requests, statistics.batches, statistics.bytes), (3, 3, 14 * MIB));
    assert!(statistics.unread > 13 * MIB);
}

#[test]
fn a_window_that_meets_bytes_which_are_here_reaches_further_on_its_other_side() {
    let (file, bytes) = planned(20 * MIB);
    let read = |at: u64| assert_eq!(*file.read_at(at, 50).unwrap(), bytes[at as usize..][..50]);
    let half = MIB / 2;
    read(10 * MIB);
    assert_eq!(file.ranges().asked(), [[9 * MIB + half..11 * MIB + half]]);
    read(9 * MIB);
    assert_eq!(file.ranges().asked(), [[7 * MIB + half..9 * MIB + half]]);
    read(12 * MIB - 100_000);
    assert_eq!(file.ranges().asked(), [[11 * MIB + half..13 * MIB + half]]);
    read(20 * MIB - 50);
    assert_eq!(file.ranges().asked(), [[18 * MIB..20 * MIB]]);
}

#[test]
fn at_the_end_of_a_window_half_of_the_next_one_comes_too() {
    let (file, _) = planned(20 * MIB);
    file.read_at(5 * MIB - 100_000, 2000).unwrap(); // a header
    file.read_at(5 * MIB + 200_000, 50).unwrap(); // and the structure to which it leads
    assert_eq!(file.ranges().asked(), [[4 * MIB..5 * MIB + 6 * PAGE]]);
    file.read_at(11 * MIB, 50).unwrap(); // the beginning of a structure, which leads to others before and after it
    file.read_at(11 * MIB - MIB / 2, 50).unwrap();
    file.read_at(12 * MIB + MIB / 3, 50).unwrap();
    assert_eq!(file.ranges().asked(), [[11 * MIB - MIB / 2..12 * MIB + MIB / 2]]);
}

#[test]
fn two_requests_bring_a_short_file_wherever_its_structures_are() {
    let (window, share) = (MIB / 4, MIB); // one request brings at most four windows
    let options = || PlanOptions::default().with_window(window);
    for size in [MIB, 3 * MIB / 2, 2 * MIB + 100_000, 2 * MIB + 2 * PAGE] {
        let bytes = Counting::new(size as usize, 0).bytes.0;
        for place in 0..4u64.pow(3) {
            let file = Planned::with_options(Counting::of(bytes.clone(), Duration::ZERO), options());
            file.supply(0, &bytes[..2 * PAGE as usize], Purpose::Structure);
            file.supply_kept(size - PAGE, bytes[(size - PAGE) as usize..].to_vec());
            for digit in 0..3 {
                let at = size * (place >> (2 * digit) & 3) / 4 + 70_000;
                file.prefetch(&[at..at + 500], Purpose::Chain).unwrap();
                assert_eq!(*file.read_at(at, 500).unwrap(), bytes[at as usize..][..500]);
            }
            let asked = file.ranges().asked().concat();
            assert!(asked.len() <= 2, "{size}, {place:b}: {asked:?}");
            assert!(asked.iter().all(|range| range.end - range.start <= share), "{size}: {asked:?}");
        }
    }
    // If structures are missing at both ends, all that is missing comes at once.
    let file = Planned::with_options(Counting::new(2 << 20, 0), options());
    let places = [100_000..100_100, 2_000_000..2_000_100, 1_000_000..1_000_100];
    file.prefetch(&places, Purpose::Chain).unwrap();
    assert_eq!(file.ranges().asked(), [[0..2 * MIB]]);
}

#[test]
fn pages_that_lie_far_apart_are_not_widened() {
    let nodes = |number: u64, apart: u64| -> Vec<Range<u64>> {
        (0..number).map(|i| i * apart + 77..i * apart + 200).collect()
    };
    // A few structures may have their neighbours around them, wherever they are.
    for (number, apart, most) in [(20, 3 * MIB, PAGE), (20, MIB / 2, 8 * PAGE), (4, 9 * MIB, MIB)] {
        let (file, bytes) = planned(number * apart + MIB);
        file.prefetch(&nodes(number, apart), Purpose::Structure).unwrap();
        for node in nodes(number, apart) {
            let expected = &bytes[node.start as usize..node.end as usize];
            assert_eq!(*file.read_at(node.start, 123).unwrap(), *expected);
        }
        let statistics = file.statistics();
        assert_eq!(statistics.batches, 1);
        assert!(statistics.bytes <= number * most, "{number} nodes {apart} apart: {statistics:?}");
        assert!(statistics.bytes * 4 >= number * most, "{number} nodes {apart} apart: {statistics:?}");
    }
}

#[test]
fn structures_that_lie_far_apart_come_without_their_pages() {
    let (file, bytes) = planned(100 * MIB);
    let nodes: Vec<Range<u64>> = (0..400).map(|i| i * 250_000 + 77..i * 250_000 + 77 + 500).collect();
    file.prefetch(&nodes, Purpose::Structure).unwrap();
    for node in nodes.iter().chain(&nodes) {
        assert_eq!(*file.read_at(node.start, 500).unwrap(), bytes[node.start as usize..node.end as usize]);
    }
    let statistics = file.statistics();
    assert_eq!((statistics.requests, statistics.batches), (400, 1));
    assert!(statistics.bytes <= 400 * 8192 && statistics.unread == 0, "{statistics:?}");
    // What is next to a structure is fetched with it; more needs a read of its own.
    file.read_at(77 + 500, 1000).unwrap();
    assert_eq!(file.statistics().batches, 1);
    // Around long structures, nothing else is fetched.
    let (file, _) = planned(100 * MIB);
    let nodes: Vec<Range<u64>> = nodes.iter().map(|node| node.start..node.start + 2000).collect();
    file.prefetch(&nodes, Purpose::Structure).unwrap();
    assert_eq!(file.statistics().bytes, 400 * 2000);
    // If there are few structures, their pages are fetched.
    let (file, _) = planned(100 * MIB);
    file.prefetch(&nodes[..100], Purpose::Structure).unwrap();
    assert!(file.statistics().bytes >= 100 * PAGE);
    // Few structures have no pages around them either, if they are whole and very far apart.
    let (file, _) = planned(100 * MIB);
    let whole: Vec<Range<u64>> = (0..5).map(|i| i * 20 * MIB..i * 20 * MIB + 2600).collect();
    file.prefetch(&whole, Purpose::Structure).unwrap();
    assert_eq!(file.statistics().bytes, 5 * 2600);
    // The structures are kept within limits, and those that were dropped can be read again.
    let options = narrow().with_memory(MIB);
    let file = Planned::with_options(Counting::new(100 << 20, 0), options);
    for _ in 0..3 {
        file.prefetch(&nodes, Purpose::Structure).unwrap();
        assert_eq!(*file.read_at(nodes[7].start, 10).unwrap(), bytes[nodes[7].start as usize..][..10]);
    }
}

#[test]
fn long_reads_come_side_by_side_and_are_not_kept() {
    let (file, bytes) = planned(40 * MIB);
    let mut out = vec![0; 20 * MIB as usize];
    file.read_into(3, &mut out).unwrap();
    assert_eq!(out, bytes[3..3 + out.len()]);
    let asked = file.ranges().asked();
    assert_eq!((asked.len(), asked[0].len()), (1, 3));
    file.read_into(3, &mut out).unwrap();
    assert_eq!(file.statistics().batches, 2);
    assert_eq!(file.statistics().unread, 0);
}

#[test]
fn what_is_announced_comes_in_one_batch() {
    let (file, bytes) = planned(100 * MIB);
    let chunks: Vec<Range<u64>> = (0..50).map(|i| i * 2 * MIB + 77..i * 2 * MIB + 77 + 5000 + i).collect();
    file.prefetch(&chunks, Purpose::Elements).unwrap();
    for chunk in chunks.iter().rev() {
        let range = chunk.start as usize..chunk.end as usize;
        assert_eq!(*file.read_at(chunk.start, range.len()).unwrap(), bytes[range]);
    }
    let statistics = file.statistics();
    assert_eq!((statistics.requests, statistics.batches, statistics.unread), (50, 1, 0));
    // They were read, and are not kept any more.
    file.read_at(chunks[0].start, 10).unwrap();
    assert_eq!(file.statistics().batches, 2);

    // Structures are fetched in pages, with more pages around them if there are few.
    let headers: Vec<Range<u64>> =
        (0..4).map(|i| 50 * MIB + i * 3 * MIB..50 * MIB + i * 3 * MIB + 512).collect();
    file.ranges().asked();
    file.prefetch(&headers, Purpose::Structure).unwrap();
    assert_eq!(file.ranges().asked()[0].len(), 4);
    file.prefetch(&headers, Purpose::Structure).unwrap();
    assert!(file.ranges().asked().is_empty());
    // Bytes outside of the object are left out.
    file.prefetch(&[200 * MIB..201 * MIB, u64::MAX - 5..u64::MAX], Purpose::Elements).unwrap();
    assert!(file.ranges().asked().is_empty());
}

#[test]
fn neighbours_are_asked_for_together() {
    let (file, _) = planned(10 * MIB);
    let chunks: Vec<Range<u64>> = (0..100).map(|i| MIB + i * 1010..MIB + i * 1010 + 1000).collect();
    file.prefetch(&chunks, Purpose::Elements).unwrap();
    for chunk in &chunks {
        file.read_at(chunk.start, 1000).unwrap();
    }
    let statistics = file.statistics();
    assert_eq!((statistics.requests, statistics.joined, statistics.unread), (1, 99, 99 * 10));
}

#[test]
fn chains_that_are_independent_take_as_many_batches_as_the_longest_has_links() {
    let mut bytes = vec![0u8; 64 << 20];
    let place = |list: usize, link: usize| (((list * 20 + link * 7 + 1) % 63) << 20) | (list << 8);
    for list in 0..9 {
        for link in 0..4 {
            let next = place(list, link + 1) as u32;
            let at = place(list, link);
            bytes[at..at + 4].copy_from_slice(&next.to_le_bytes());
        }
    }
    let options = PlanOptions::default().with_window(64 << 10);
    let file = Planned::with_options(Stored(bytes), options);
    let follow = |list: usize| -> Result<u64> {
        (0..4).try_fold(place(list, 0) as u64, |at, _| {
            let next = file.read_at(at, 4)?;
            Ok(next.iter().rev().fold(0, |n, &byte| (n << 8) | u64::from(byte)))
        })
    };
    let mut rounds = 0;
    together(|| {
        rounds += 1;
        (0..9).for_each(|list| drop(follow(list)));
    })
    .unwrap();
    assert_eq!((file.statistics().batches, rounds), (4, 5));
    for list in 0..9 {
        assert_eq!(follow(list).unwrap(), place(list, 4) as u64);
    }
    assert_eq!(file.statistics().batches, 4);
}

#[test]
fn work_that_does_not_fit_the_memory_ends() {
    let options = PlanOptions::default().with_window(64 << 10).with_memory(0);
    let file = Planned::with_options(Counting::new(20 << 20, 0), options);
    together(|| (0..300u64).for_each(|page| drop(file.read_at(page << 16, 4)))).unwrap();
    assert!(file.statistics().batches < 10);
    assert!(file.read_at(0, 4).is_ok());
}

#[test]
fn a_batch_that_fails_is_an_error_and_can_be_tried_again() {
    let (file, bytes) = planned(3 * MIB);
    file.ranges().failing.store(3, Ordering::Relaxed);
    assert!(matches!(file.read_at(0, 4), Err(Error::Io { .. })));
    let outcome = together(|| drop(file.read_at(0, 4)));
    assert!(matches!(outcome, Err(Error::Io { .. })));
    assert!(file.prefetch(&[0..10], Purpose::Elements).is_err());
    assert_eq!(*file.read_at(0, 4).unwrap(), bytes[..4]);
}

#[test]
fn threads_that_miss_the_same_page_wait_for_one_request() {
    let file = Planned::with_options(Counting::new(40 << 20, 30), narrow());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let file = &file;
            scope.spawn(move || {
                for step in 0..3 {
                    file.read_at(step * 7 * MIB + thread * 1000, 8).unwrap();
                }
            });
        }
    });
    assert_eq!(file.statistics().requests, 3);
}

#[test]
fn work_is_driven_by_whoever_fetches() {
    let store = Counting::new(30 << 20, 0);
    let file = Elsewhere::open(store.size(), narrow());
    let batches = Mutex::new(Vec::new());
    let fetch = |ranges: Vec<Range<u64>>| {
        batches.lock().unwrap().push(ranges.len());
        std::future::ready(store.bytes.get(&ranges))
    };
    let work = || -> Result<Vec<u8>> {
        let mut all = file.read_at(10, 4)?.into_owned();
        together(|| (1..5).for_each(|i| drop(file.read_at(i * 5 * MIB, 3))))?;
        for i in 1..5 {
            all.extend_from_slice(&file.read_at(i * 5 * MIB, 3)?);
        }
        file.prefetch(&[3 * MIB..3 * MIB + 9, 29 * MIB..29 * MIB + 9], Purpose::Elements)?;
        all.extend_from_slice(&file.read_at(29 * MIB, 9)?);
        let mut long = vec![0; 1 << 20];
        file.read_into(12 * MIB + 1, &mut long)?;
        all.extend_from_slice(&long);
        Ok(all)
    };
    let mut future = std::pin::pin!(file.drive(fetch, work));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(all) = future.as_mut().poll(&mut context) else { panic!("nothing waits") };
    let all = all.unwrap();
    let bytes = &store.bytes.0;
    assert_eq!(all[..4], bytes[10..14]);
    assert_eq!(all[4..7], bytes[5 << 20..][..3]);
    assert_eq!(all[16..25], bytes[29 << 20..][..9]);
    assert_eq!(all[25..], bytes[(12 << 20) + 1..][..1 << 20]);
    assert_eq!(*batches.lock().unwrap(), [1, 4, 2, 1]);
}
