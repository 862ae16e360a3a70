//! Work that several threads do ahead of the one that needs the results, in order and within a bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sciformats_conventions::sciformats::{Error, Result};

/// The results of tasks in the order of the tasks. If there are threads for it, tasks are done before their results
/// are requested, but never more than twice as many as there are threads.
pub(crate) struct Ahead<T, R> {
    shared: Arc<Shared<T, R>>,
    threads: Vec<JoinHandle<()>>,
    /// There are no more results.
    over: bool,
}

type Work<T, R> = Box<dyn Fn(T) -> Result<R> + Send + Sync>;

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    changed: Condvar,
    work: Work<T, R>,
}

struct State<T, R> {
    tasks: Box<dyn Iterator<Item = T> + Send>,
    /// The number of tasks that were started.
    started: u64,
    /// The number of results that were taken.
    taken: u64,
    done: BTreeMap<u64, Result<R>>,
    /// No task is started any more.
    ended: bool,
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static, R: Send + 'static> Ahead<T, R> {
    /// Starts as many threads; with at most one, each task is done when its result is requested.
    pub(crate) fn new(
        tasks: impl Iterator<Item = T> + Send + 'static,
        threads: usize,
        work: impl Fn(T) -> Result<R> + Send + Sync + 'static,
    ) -> Self {
        let state =
            State { tasks: Box::new(tasks), started: 0, taken: 0, done: BTreeMap::new(), ended: false };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), work: Box::new(work) });
        let mut running = Vec::new();
        if threads > 1 {
            for _ in 0..threads {
                let worker = Arc::clone(&shared);
                let most = threads as u64 * 2;
                // A machine without threads does everything when it is requested.
                let started = std::thread::Builder::new().spawn(move || serve(&worker, most));
                running.extend(started.ok());
            }
        }
        Self { shared, threads: running, over: false }
    }

    /// Returns the next result; `None` after the last one. After an error there are no more.
    pub(crate) fn take(&mut self) -> Option<Result<R>> {
        if self.over {
            return None;
        }
        let result = self.next_result();
        self.over = !matches!(result, Some(Ok(_)));
        result
    }

    fn next_result(&self) -> Option<Result<R>> {
        let mut state = self.shared.lock();
        if self.threads.is_empty() {
            let task = state.tasks.next()?;
            drop(state);
            return Some((self.shared.work)(task));
        }
        loop {
            let next = state.taken;
            if let Some(result) = state.done.remove(&next) {
                state.taken = next.saturating_add(1); // a bound: nobody takes so many
                state.ended |= result.is_err();
                drop(state);
                self.shared.changed.notify_all();
                return Some(result);
            }
            if state.ended && state.started == next {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Does tasks until there are no more.
fn serve<T, R>(shared: &Shared<T, R>, most: u64) {
    loop {
        let mut state = shared.lock();
        while !state.ended && state.started >= state.taken.saturating_add(most) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let task = if state.ended { None } else { state.tasks.next() };
        let Some(task) = task else {
            state.ended = true;
            drop(state);
            shared.changed.notify_all();
            return;
        };
        let number = state.started;
        state.started = number.saturating_add(1); // a bound
        drop(state);
        // If the work does not return, whoever waits for it learns so.
        let mut promise = Promise { shared, number, result: None };
        promise.result = Some((shared.work)(task));
    }
}

/// A result that is delivered whatever happens.
struct Promise<'s, T, R> {
    shared: &'s Shared<T, R>,
    number: u64,
    result: Option<Result<R>>,
}

impl<T, R> Drop for Promise<'_, T, R> {
    fn drop(&mut self) {
        let lost = || Err(Error::internal("a thread that reads a table ended early"));
        let result = self.result.take().unwrap_or_else(lost);
        let mut state = self.shared.lock();
        // What comes after an error is not needed.
        state.ended |= result.is_err();
        state.done.insert(self.number, result);
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl<T, R> Drop for Ahead<T, R> {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn results_are_in_order_and_few_are_kept() {
        for threads in [1, 3] {
            let begun = Arc::new(AtomicU64::new(0));
            let seen = Arc::clone(&begun);
            let mut ahead = Ahead::new(0..100u64, threads, move |task| {
                seen.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(task % 7 * 50));
                Ok(task * 2)
            });
            for task in 0..100 {
                assert_eq!(ahead.take().unwrap().unwrap(), task * 2);
                assert!(begun.load(Ordering::SeqCst) <= task + 1 + 2 * threads as u64);
            }
            assert!(ahead.take().is_none());
        }
    }

    #[test]
    fn an_error_is_the_last_result() {
        for threads in [1, 2] {
            let mut ahead = Ahead::new(0..10, threads, |task| {
                if task == 3 { Err(Error::usage("task", "is 3")) } else { Ok(task) }
            });
            let results: Vec<bool> =
                std::iter::from_fn(|| ahead.take()).map(|result| result.is_ok()).collect();
            assert_eq!(results, [true, true, true, false]);
        }
    }

    #[test]
    fn work_that_panics_is_an_error() {
        let mut ahead = Ahead::new(0..2, 2, |task: i32| -> Result<i32> {
            if task == 0 { panic!("on purpose") } else { Ok(task) }
        });
        assert!(matches!(ahead.take(), Some(Err(Error::Internal { .. }))));
    }
}
