//! An allocator that counts, and a bound on what one input may allocate. All fuzz targets share them.
//!
//! A parser that believes a declared size takes gigabytes for an input of a hundred bytes. A fuzzer alone would find
//! that only when the machine gives up; [`bounded`] makes it a failure at once:
//!
//! ```
//! # fn parse(_: &[u8]) {}
//! // In a target: `fuzz_target!(|data: &[u8]| bounded(data.len(), || parse(data)));`
//! sciformats_fuzz_memory::bounded(3, || parse(&[1, 2, 3]));
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Heap that any input may take: caches, tables of constants, thread stacks' bookkeeping.
pub const FLOOR: usize = 16 << 20;

/// Heap that an input may take for each of its bytes, above the [`FLOOR`].
pub const PER_BYTE: usize = 2;

/// The system's allocator, with a count of the bytes in use and of the most that there have been.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

fn given_back(bytes: usize) {
    IN_USE.fetch_sub(bytes, Relaxed);
}

// SAFETY: every call goes to `System` with the same arguments, and what it returns is returned; the counters are not
// memory that anybody is given. `alloc_zeroed` and `realloc` are forwarded too, so zeroed pages stay lazily mapped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract, which is `System`'s.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            taken(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            taken(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System` with this layout, as all blocks of this allocator do.
        unsafe { System.dealloc(block, layout) };
        given_back(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`, and the caller vouches for `new_size`.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        if !moved.is_null() {
            taken(new_size);
            given_back(layout.size());
        }
        moved
    }
}

/// Runs `work` and gives the most heap, in bytes, that was in use at a time beyond what was before.
///
/// Counts all threads, so nothing else may run meanwhile.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}

/// Runs `work` on an input of `data_len` bytes.
///
/// # Panics
///
/// If the heap in use grows by more than [`FLOOR`] + [`PER_BYTE`] × `data_len` bytes meanwhile.
pub fn bounded(data_len: usize, work: impl FnOnce()) {
    let bound = FLOOR.saturating_add(data_len.saturating_mul(PER_BYTE));
    let peak = peak_of(work);
    assert!(peak <= bound, "{data_len} bytes of input took {peak} bytes of heap; the bound is {bound}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The counters are the process's, so one test at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The test harness has threads of its own, which may take or give back a little at any time.
    const SLACK: usize = 1 << 16;

    fn near(bytes: usize, peak: usize) -> bool {
        bytes.abs_diff(peak) < SLACK
    }

    fn take(bytes: usize) {
        black_box(vec![0u8; bytes]);
    }

    #[test]
    fn the_peak_is_of_blocks_that_are_there_together() {
        let _alone = alone();
        let one_after_the_other = peak_of(|| (0..4).for_each(|_| take(1 << 20)));
        assert!(near(1 << 20, one_after_the_other), "{one_after_the_other}");
        let together = peak_of(|| {
            let kept = black_box(vec![0u8; 1 << 20]);
            take(1 << 20);
            drop(kept);
        });
        assert!(near(2 << 20, together), "{together}");
    }

    #[test]
    fn growing_a_vector_is_counted_once() {
        let _alone = alone();
        let peak = peak_of(|| {
            let mut bytes: Vec<u8> = Vec::with_capacity(1 << 20);
            bytes.reserve_exact(3 << 20);
            black_box(&bytes);
        });
        // While it moves, the old and the new block may both be there.
        assert!(((3 << 20) - SLACK..(4 << 20) + SLACK).contains(&peak), "{peak}");
    }

    #[test]
    fn inputs_may_take_the_floor_and_twice_their_size() {
        let _alone = alone();
        bounded(0, || take(FLOOR - SLACK));
        bounded(1 << 20, || take(FLOOR + (2 << 20) - SLACK));
        bounded(usize::MAX, || take(1 << 20));
    }

    #[test]
    fn what_takes_more_panics() {
        let _alone = alone();
        let outcome = std::panic::catch_unwind(|| bounded(100, || take(FLOOR + 200 + SLACK)));
        let message = outcome.unwrap_err().downcast::<String>().unwrap();
        assert!(message.starts_with("100 bytes of input took "), "{message}");
    }
}
