//! Work that several threads share.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

use sciformats_core::Result;

/// Runs `work` on so many threads, of which the calling one is the first, and returns what each returned. If the system
/// gives fewer threads, there are fewer results, so the work has to be one that threads take from each other until
/// nothing is left.
///
/// # Errors
/// The error of the first thread that fails, after all have ended.
pub(crate) fn shared<T: Send>(threads: usize, work: impl Fn() -> Result<T> + Sync) -> Result<Vec<T>> {
    scope(|scope| {
        let others: Vec<_> =
            (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, &work).ok()).collect();
        let own = work();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let results: Vec<Result<T>> = std::iter::once(own).chain(others).collect();
        results.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use sciformats_core::Error;

    use super::*;

    #[test]
    fn all_work_is_done_and_an_error_is_returned() {
        let left = AtomicUsize::new(1000);
        let take =
            || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let counts = shared(3, || Ok(std::iter::from_fn(|| take().then_some(())).count())).unwrap();
        assert!((1..=3).contains(&counts.len()));
        assert_eq!(counts.iter().sum::<usize>(), 1000);
        assert_eq!(shared(0, || Ok(7)).unwrap(), [7]);
        assert!(shared(4, || Err::<(), _>(Error::usage("a", "b"))).is_err());
    }
}
