//! Stores whose ranges are awaited, and work that others await. Nothing here depends on a runtime.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use super::Ranges;
use crate::error::{Error, Result};

/// What [`AsyncRanges::get`] returns.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Vec<Vec<u8>>>> + Send + 'a>>;

/// An object in a store whose ranges are awaited: the asynchronous face of [`Ranges`], for clients that have one.
///
/// ```
/// use sciformats_core::storage::{AsyncRanges, Awaited, Fetching, Planned};
/// use sciformats_core::{ReadAt, Result};
/// use std::ops::Range;
///
/// /// A store that makes its bytes up.
/// struct Squares;
///
/// impl AsyncRanges for Squares {
///     fn size(&self) -> u64 {
///         1000
///     }
///     fn get(&self, ranges: Vec<Range<u64>>) -> Fetching<'_> {
///         Box::pin(async move {
///             Ok(ranges.into_iter().map(|range| range.map(|i| (i * i) as u8).collect()).collect())
///         })
///     }
/// }
/// assert_eq!(*Planned::new(Awaited(Squares)).read_at(10, 3)?, [100, 121, 144]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub trait AsyncRanges: Send + Sync {
    /// Returns the number of bytes of the object; see [`Ranges::size`].
    fn size(&self) -> u64;

    /// Fetches ranges simultaneously; see [`Ranges::get`].
    ///
    /// # Errors
    /// As those of [`Ranges::get`].
    fn get(&self, ranges: Vec<Range<u64>>) -> Fetching<'_>;
}

/// A store whose ranges are awaited, as a store that waits for them. The waiting thread sleeps meanwhile, so it must not be one that
/// the future needs in order to go on: a thread of [`Workers`] never is. If the future needs a runtime, it brings it, for example by
/// a handle to which it gives its tasks.
#[derive(Clone, Debug)]
pub struct Awaited<R>(pub R);

impl<R: AsyncRanges> Ranges for Awaited<R> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        wait_for(self.0.get(ranges.to_vec()))
    }
}

/// Wakes a thread that sleeps.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Drives a future to its end in this thread, which sleeps while the future waits.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Sleeper(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(found) => return found,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// How long a thread without work is kept.
const IDLE: Duration = Duration::from_secs(10);

/// Threads that do work which waits or computes, while tasks of any runtime await it. A thread is started when there is work and no
/// thread is free, and ends when it has had nothing to do for a while.
///
/// ```
/// use sciformats_core::storage::Workers;
/// # use std::task::{Context, Poll, Waker};
///
/// let workers = Workers::new(4);
/// let sum = workers.run(|| Ok((1..=100u64).sum::<u64>()));
/// # let mut sum = std::pin::pin!(sum);
/// # let sum = loop {
/// #     match std::future::Future::poll(sum.as_mut(), &mut Context::from_waker(Waker::noop())) {
/// #         Poll::Ready(sum) => break sum,
/// #         Poll::Pending => std::thread::yield_now(),
/// #     }
/// # };
/// assert_eq!(sum?, 5050); // after `.await`
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Workers {
    shared: Arc<Shared>,
    most: usize,
}

type Job = Box<dyn FnOnce() + Send>;

struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queue = self.lock();
        f.debug_struct("Shared")
            .field("threads", &queue.threads)
            .field("idle", &queue.idle)
            .finish_non_exhaustive()
    }
}

struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Whether no more work will come.
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work as long as there is some.
    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
                continue;
            }
            if queue.closed {
                break;
            }
            queue.idle += 1;
            let (woken, slept) = self.ready.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            queue.idle -= 1;
            if slept.timed_out() && queue.jobs.is_empty() {
                break;
            }
        }
        queue.threads -= 1;
    }
}

impl Workers {
    /// Returns workers of which at most this many, but at least one, work at the same time.
    pub fn new(most: usize) -> Self {
        let queue = Queue { jobs: VecDeque::new(), threads: 0, idle: 0, closed: false };
        Self {
            shared: Arc::new(Shared { queue: Mutex::new(queue), ready: Condvar::new() }),
            most: most.max(1),
        }
    }

    /// Lets a thread do `work`, whose result the future returns. Work whose future was dropped before a thread took it is not done.
    /// If the work panics, so does the future.
    ///
    /// # Errors
    /// Those of the work; `Io` if no thread can be started.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Work<T> {
        let slot = Arc::new(Mutex::new(Slot { outcome: None, waker: None }));
        let result = Arc::downgrade(&slot);
        let job = Box::new(move || {
            if result.strong_count() == 0 {
                return;
            }
            // A panic is passed on to the future.
            let outcome = catch_unwind(AssertUnwindSafe(work));
            if let Some(slot) = result.upgrade() {
                let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                slot.outcome = Some(outcome);
                let waker = slot.waker.take();
                drop(slot);
                waker.into_iter().for_each(Waker::wake);
            }
        });
        let refused = {
            let mut queue = self.shared.lock();
            queue.jobs.push_back(job);
            let started = match queue.jobs.len() > queue.idle && queue.threads < self.most {
                true => self.start().map(|()| 1),
                false => Ok(0),
            };
            match started {
                Ok(count) => {
                    queue.threads += count;
                    None
                }
                // The other threads will do it.
                Err(_) if queue.threads > 0 => None,
                Err(error) => {
                    queue.jobs.pop_back();
                    Some(error)
                }
            }
        };
        self.shared.ready.notify_one();
        if let Some(error) = refused {
            let error = Error::io("start a thread for", error);
            slot.lock().unwrap_or_else(PoisonError::into_inner).outcome = Some(Ok(Err(error)));
        }
        Work(slot)
    }

    fn start(&self) -> std::io::Result<()> {
        let shared = self.shared.clone();
        std::thread::Builder::new().name("sciformats".into()).spawn(move || shared.work()).map(drop)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

/// The place where a thread leaves what it found.
struct Slot<T> {
    outcome: Option<std::thread::Result<Result<T>>>,
    waker: Option<Waker>,
}

/// The result of work that a thread does; see [`Workers::run`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Work<T>(Arc<Mutex<Slot<T>>>);

impl<T> std::fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").finish_non_exhaustive()
    }
}

impl<T> Future for Work<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.outcome.take() {
            Some(Ok(outcome)) => Poll::Ready(outcome),
            Some(Err(panic)) => {
                drop(slot);
                resume_unwind(panic)
            }
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ReadAt;
    use crate::storage::{PlanOptions, Planned, Stored};

    #[test]
    fn work_is_done_by_few_threads_and_awaited() {
        let workers = Workers::new(3);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jobs: Vec<_> = (0..50usize)
            .map(|number| {
                let (now, most) = (now.clone(), most.clone());
                workers.run(move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(number)
                })
            })
            .collect();
        // What was begun is done, also if nobody gives more work.
        drop(workers);
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(wait_for(job).unwrap(), number);
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn errors_panics_and_dropped_work() {
        let workers = Workers::new(1);
        assert!(matches!(
            wait_for(workers.run(|| -> Result<u8> { Err(Error::usage("a", "is wrong")) })),
            Err(Error::Usage { .. })
        ));
        let panicking = workers.run(|| -> Result<u8> { resume_unwind(Box::new("on purpose")) });
        let panic = catch_unwind(AssertUnwindSafe(|| wait_for(panicking))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        let done = Arc::new(AtomicUsize::new(0));
        let count = || {
            let done = done.clone();
            move || Ok(done.fetch_add(1, Ordering::SeqCst))
        };
        let slow = workers.run(|| {
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        });
        drop(workers.run(count()));
        wait_for(slow).unwrap();
        assert_eq!(wait_for(workers.run(count())).unwrap(), 0);
    }

    /// A store whose answers come from another thread, after a while.
    struct Late(Arc<Stored<Vec<u8>>>, Workers);

    impl AsyncRanges for Late {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn get(&self, ranges: Vec<Range<u64>>) -> Fetching<'_> {
            let store = self.0.clone();
            Box::pin(self.1.run(move || {
                std::thread::sleep(Duration::from_millis(5));
                store.get(&ranges)
            }))
        }
    }

    #[test]
    fn ranges_are_awaited() {
        let bytes: Vec<u8> = (0..300_000).map(|i| (i % 251) as u8).collect();
        let late = Late(Arc::new(Stored(bytes.clone())), Workers::new(2));
        let file = Planned::with_options(Awaited(late), PlanOptions::default().with_window(0));
        for at in [0, 100_000, 299_990] {
            assert_eq!(*file.read_at(at, 10).unwrap(), bytes[at as usize..at as usize + 10]);
        }
        assert_eq!(file.statistics().batches, 3);
    }
}
