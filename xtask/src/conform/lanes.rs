//! Runs jobs on several threads.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs all jobs in the given order, one more at the same time than the machine has processors, because jobs wait for servers
/// and for processes that they have ended. The results have the same order.
pub(crate) fn run<T: Send>(jobs: Vec<Box<dyn FnOnce() -> T + Send + '_>>) -> Vec<T> {
    let lanes = thread::available_parallelism().map_or(1, NonZero::get) + 1;
    let waiting: Mutex<VecDeque<_>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((place, job)) = next else { break };
                    let result = job();
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_stand_in_the_order_of_their_jobs() {
        let job = |number: u64| -> Box<dyn FnOnce() -> u64 + Send> {
            Box::new(move || {
                thread::sleep(Duration::from_millis(20 - number));
                number
            })
        };
        assert_eq!(run((0..20).map(job).collect()), (0..20).collect::<Vec<_>>());
    }
}
