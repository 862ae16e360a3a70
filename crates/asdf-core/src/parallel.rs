//! Work of several threads whose results are used in order.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use sciformats_core::bound;

/// The number of results per thread that wait to be used.
const AHEAD: usize = 2;

/// Runs `work` on every job with up to `threads` threads. The results are in the order of the jobs.
pub(crate) fn in_parallel<J: Send, R: Send>(
    jobs: Vec<J>,
    threads: usize,
    work: impl Fn(J) -> R + Sync,
) -> Vec<R> {
    let mut results = Vec::with_capacity(jobs.len());
    let ahead = jobs.len();
    let nothing = || Ok::<(), Infallible>(());
    run(jobs, (threads, ahead), work, nothing, |(), result| {
        results.push(result);
        Ok(())
    })
    .unwrap_or_else(|never| match never {});
    results
}

/// Runs `first` while other threads run `work` on the jobs, and then helps them. The results are in the order of the jobs.
///
/// # Errors
/// That of `first`. Jobs that were not begun by then are skipped.
pub(crate) fn beside<J: Send, R: Send, T, E>(
    jobs: Vec<J>,
    threads: usize,
    work: impl Fn(J) -> R + Sync,
    first: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Vec<R>), E> {
    let mut results = Vec::with_capacity(jobs.len());
    let ahead = jobs.len();
    let done = run(jobs, (threads, ahead), work, first, |_, result| {
        results.push(result);
        Ok(())
    })?;
    Ok((done, results))
}

/// Runs `work` on every job with up to `threads` threads, including this one. This thread passes the results to `take` in the
/// order of the jobs while the others continue. Few results wait at a time.
///
/// # Errors
/// The first one of `take`. Jobs that were not begun by then are skipped.
pub(crate) fn in_order<J: Send, R: Send, E>(
    jobs: Vec<J>,
    threads: usize,
    work: impl Fn(J) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    run(jobs, (threads, bound::product(threads, AHEAD)), work, || Ok(()), |(), result| take(result))
}

/// `ahead` is the number of jobs that may be begun while their results are not used yet.
fn run<J: Send, R: Send, T, E>(
    jobs: Vec<J>,
    (threads, ahead): (usize, usize),
    work: impl Fn(J) -> R + Sync,
    first: impl FnOnce() -> Result<T, E>,
    mut take: impl FnMut(&mut T, R) -> Result<(), E>,
) -> Result<T, E> {
    let threads = if cfg!(target_family = "wasm") || jobs.is_empty() { 1 } else { threads };
    if threads < 2 {
        let mut done = first()?;
        jobs.into_iter().try_for_each(|job| take(&mut done, work(job)))?;
        return Ok(done);
    }
    let count = jobs.len();
    let state = State {
        jobs: jobs.into_iter().enumerate(),
        begun: 0,
        taken: 0,
        done: BTreeMap::new(),
        stopped: false,
    };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), ahead };
    std::thread::scope(|scope| {
        // The other threads end even if this thread panics.
        let _stop = Stop(&shared);
        for _ in 1..threads {
            scope.spawn(|| shared.work(&work));
        }
        let mut done = first()?;
        while shared.lock().taken < count {
            match shared.next() {
                Next::Result(result) => take(&mut done, result)?,
                Next::Job(index, job) => shared.put(index, work(job)),
                // Another thread has panicked; the scope will pass this on.
                Next::Nothing => break,
            }
        }
        Ok(done)
    })
}

struct State<J, R> {
    jobs: std::iter::Enumerate<std::vec::IntoIter<J>>,
    begun: usize,
    taken: usize,
    done: BTreeMap<usize, R>,
    stopped: bool,
}

struct Shared<J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
    ahead: usize,
}

enum Next<J, R> {
    Result(R),
    Job(usize, J),
    Nothing,
}

impl<J, R> State<J, R> {
    fn job(&mut self, ahead: usize) -> Option<(usize, J)> {
        if self.begun - self.taken >= ahead {
            return None;
        }
        let job = self.jobs.next()?;
        self.begun += 1;
        Some(job)
    }
}

impl<J, R> Shared<J, R> {
    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, index: usize, result: R) {
        self.lock().done.insert(index, result);
        self.changed.notify_all();
    }

    /// Returns what the calling thread does next: use the next result in order, or run a job.
    fn next(&self) -> Next<J, R> {
        let mut state = self.lock();
        loop {
            let turn = state.taken;
            if let Some(result) = state.done.remove(&turn) {
                state.taken += 1;
                self.changed.notify_all();
                return Next::Result(result);
            }
            if let Some((index, job)) = state.job(self.ahead) {
                return Next::Job(index, job);
            }
            if state.stopped {
                return Next::Nothing;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs jobs in one of the other threads until there are no more.
    fn work(&self, work: impl Fn(J) -> R) {
        let mut unfinished = Unfinished(Some(self));
        loop {
            let mut state = self.lock();
            let (index, job) = loop {
                if state.stopped || state.jobs.len() == 0 {
                    unfinished.0 = None;
                    return;
                }
                if let Some(job) = state.job(self.ahead) {
                    break job;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            self.put(index, work(job));
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

/// Ends the other threads when it is dropped.
struct Stop<'a, J, R>(&'a Shared<J, R>);

impl<J, R> Drop for Stop<'_, J, R> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Records that a thread panicked, so that nobody waits for its result.
struct Unfinished<'a, J, R>(Option<&'a Shared<J, R>>);

impl<J, R> Drop for Unfinished<'_, J, R> {
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            shared.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_keep_their_order() {
        for threads in [0, 1, 2, 9] {
            let doubled: Vec<usize> = (0..100).map(|i| i * 2).collect();
            assert_eq!(in_parallel((0..100).collect(), threads, |i| i * 2), doubled);
            let mut taken = Vec::new();
            in_order(
                (0..100).collect(),
                threads,
                |i| i * 2,
                |i| {
                    taken.push(i);
                    Ok::<(), ()>(())
                },
            )
            .unwrap();
            assert_eq!(taken, doubled);
        }
        assert!(in_parallel(Vec::<u8>::new(), 2, |i| i).is_empty());
    }

    #[test]
    fn the_rest_goes_on_beside() {
        for threads in [1, 2, 3] {
            let (first, rest) =
                beside((0..50).collect(), threads, |i| i + 1, || Ok::<_, ()>("first")).unwrap();
            assert_eq!((first, rest), ("first", (1..51).collect()));
            assert_eq!(beside(vec![1; 1000], threads, |i| i, || Err::<(), _>("no")), Err("no"));
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        for threads in [1, 2, 5] {
            let mut taken = 0;
            let result = in_order(
                (0..1000).collect(),
                threads,
                |i| i,
                |i| {
                    taken += 1;
                    if i == 7 { Err("seven") } else { Ok(()) }
                },
            );
            assert_eq!((result, taken), (Err("seven"), 8));
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_nobody_waits() {
        for at in [0, 5, 99] {
            let work =
                std::panic::AssertUnwindSafe(|| in_parallel((0..100).collect(), 3, |i| assert!(i != at)));
            assert!(std::panic::catch_unwind(work).is_err());
        }
    }
}
