//! The same code for one thread and for several threads.

use sciformats_core::Result;

/// The number of threads that code blocks and chunks; 0 means as many as there are.
///
/// These are the calling thread and, with the feature `parallel`, those of rayon's current pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads(pub(crate) usize);

/// Smaller work, in bytes, is done by the calling thread, because waking other threads costs more than it saves.
#[cfg(feature = "parallel")]
const WORTH_SHARING: usize = 256 << 10;

impl Threads {
    /// Calls `work` for each piece of `size` bytes of `out` (the last may be shorter) and its number. `own` is what the calling
    /// thread keeps between pieces, and `state` creates it for the other threads.
    pub(crate) fn each_piece<S>(
        self,
        (out, size): (&mut [u8], usize),
        own: &mut S,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, &mut [u8]) -> Result<()> + Sync,
    ) -> Result<()> {
        let size = size.max(1);
        let bytes = out.len();
        let pieces = out.chunks_mut(size);
        self.each((pieces, bytes), own, state, |state, (index, piece)| work(state, index, piece))
    }

    /// Calls `work` for each number below `count`, and collects the results in order. All calls together process about `bytes`
    /// bytes.
    pub(crate) fn collect<S, T: Default + Send>(
        self,
        count: usize,
        bytes: usize,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let mut results: Vec<T> = Vec::new();
        results.resize_with(count, T::default);
        self.each((results.iter_mut(), bytes), &mut state(), &state, |state, (index, result)| {
            *result = work(state, index)?;
            Ok(())
        })?;
        Ok(results)
    }

    /// Does the same as `each_piece` if each piece has a result. Returns `false`, without doing anything, if sharing is not worth
    /// it.
    pub(crate) fn share<S, T: Send>(
        self,
        (out, size): (&mut [u8], usize),
        results: &mut [T],
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, &mut [u8]) -> Result<T> + Sync,
    ) -> Result<bool> {
        let bytes = out.len();
        if !self.shares(bytes, results.len()) {
            return Ok(false);
        }
        let pieces = out.chunks_mut(size.max(1)).zip(results);
        self.each((pieces, bytes), &mut state(), &state, |state, (index, (piece, result))| {
            *result = work(state, index, piece)?;
            Ok(())
        })?;
        Ok(true)
    }

    /// Returns how many pieces of `size` bytes should be available together, so that every thread has some.
    pub(crate) fn batch(self, size: usize) -> usize {
        if self.shares(usize::MAX, 2) { (BATCH.checked_div(size)).unwrap_or(1).clamp(1, MOST) } else { 1 }
    }

    #[cfg(not(feature = "parallel"))]
    fn each<S, T>(
        self,
        (items, _): (impl ExactSizeIterator<Item = T>, usize),
        own: &mut S,
        _: impl Fn() -> S,
        work: impl Fn(&mut S, (usize, T)) -> Result<()>,
    ) -> Result<()> {
        items.enumerate().try_for_each(|item| work(own, item))
    }

    #[cfg(feature = "parallel")]
    fn each<S, T: Send>(
        self,
        (items, bytes): (impl ExactSizeIterator<Item = T> + Send, usize),
        own: &mut S,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, (usize, T)) -> Result<()> + Sync,
    ) -> Result<()> {
        let count = items.len();
        let mut items = items.enumerate();
        if !self.shares(bytes, count) {
            return items.try_for_each(|item| work(own, item));
        }
        let queue = queue::Queue::new(items);
        let helpers = sciformats_core::bound::left(self.available().min(count), 1);
        // The calling thread starts at once, while the others wake up.
        rayon::in_place_scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(|_| queue.work(&mut state(), &work));
            }
            queue.work(own, &work);
        });
        queue.outcome()
    }

    #[cfg(not(feature = "parallel"))]
    fn shares(self, _: usize, _: usize) -> bool {
        false
    }

    #[cfg(feature = "parallel")]
    fn shares(self, bytes: usize, pieces: usize) -> bool {
        pieces > 1 && bytes >= WORTH_SHARING && self.available() > 1
    }

    #[cfg(feature = "parallel")]
    fn available(self) -> usize {
        match self.0 {
            1 => 1, // without starting a pool
            0 => rayon::current_num_threads(),
            most => rayon::current_num_threads().min(most),
        }
    }
}

/// The size of a batch in bytes.
const BATCH: usize = 4 << 20;
/// The largest number of pieces of a batch.
const MOST: usize = 256;

#[cfg(feature = "parallel")]
mod queue {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use sciformats_core::{Error, Result};

    /// The remaining work in order, and the first fault.
    pub(super) struct Queue<I> {
        items: Mutex<Option<I>>,
        fault: Mutex<Option<(usize, Error)>>,
    }

    impl<T, I: Iterator<Item = (usize, T)>> Queue<I> {
        pub(super) fn new(items: I) -> Self {
            Self { items: Mutex::new(Some(items)), fault: Mutex::default() }
        }

        /// Calls `work` until nothing is left. After a fault, nothing more is begun.
        pub(super) fn work<S>(&self, state: &mut S, work: impl Fn(&mut S, (usize, T)) -> Result<()>) {
            while let Some((index, item)) = self.next() {
                let Err(error) = work(state, (index, item)) else { continue };
                *lock(&self.items) = None;
                let mut fault = lock(&self.fault);
                // All earlier items have been begun, so the first fault is the same for any number of threads.
                if fault.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                    *fault = Some((index, error));
                }
            }
        }

        pub(super) fn outcome(self) -> Result<()> {
            match self.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some((_, error)) => Err(error),
                None => Ok(()),
            }
        }

        fn next(&self) -> Option<(usize, T)> {
            lock(&self.items).as_mut()?.next()
        }
    }

    /// Locks the mutex even if another thread panicked, because it has left nothing incomplete that others would see.
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use sciformats_core::Error;

    use super::*;

    #[test]
    fn every_piece_is_done_once_by_one_and_by_many() {
        for threads in [Threads(1), Threads(2), Threads(0)] {
            let mut out = vec![0; 1_000_003];
            let work = |_: &mut (), index: usize, piece: &mut [u8]| -> Result<()> {
                piece.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1 + (index % 200) as u8));
                Ok(())
            };
            threads.each_piece((&mut out, 1000), &mut (), || (), work).unwrap();
            assert!(out.iter().enumerate().all(|(at, byte)| *byte == 1 + (at / 1000 % 200) as u8));
            let squares = threads.collect(2000, 1 << 20, || (), |(), index| Ok(index * index)).unwrap();
            assert!(squares.iter().enumerate().all(|(index, square)| *square == index * index));
        }
    }

    #[test]
    fn the_first_fault_is_told() {
        for threads in [Threads(1), Threads(2), Threads(0)] {
            let fails = |(): &mut (), index: usize| -> Result<u8> {
                if index >= 70 { Err(Error::usage("number", format!("is {index}"))) } else { Ok(0) }
            };
            let error = threads.collect(1000, 1 << 20, || (), fails).unwrap_err();
            assert_eq!(error.to_string(), "number is 70");
        }
    }
}
