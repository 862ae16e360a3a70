//! How many requests are made at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// However busy a server is, this many requests are made at the same time.
const FEWEST: usize = 4;

/// A batch uses more than this many connections only if each of them makes several requests.
const USUAL: usize = 64;

/// The number of requests that each further connection makes.
const WORTH: usize = 2;

/// Lets a number of requests through at the same time. A server that says that it is busy halves the number, and answers raise it
/// again by one for each round of them.
#[derive(Debug)]
pub(crate) struct Gate {
    most: usize,
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Debug)]
struct State {
    busy: usize,
    allowed: usize,
    /// The number of answers since `allowed` changed.
    answers: usize,
}

impl Gate {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        let state = State { busy: 0, allowed: most, answers: 0 };
        Self { most, state: Mutex::new(state), free: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request may be made.
    pub(crate) fn enter(&self) -> Turn<'_> {
        let mut state = self.lock();
        while state.busy >= state.allowed {
            state = self.free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        Turn(self)
    }

    /// Returns the number of threads that fetch this many ranges.
    pub(crate) fn threads(&self, ranges: usize) -> usize {
        ranges.min(self.most).min((ranges / WORTH).max(USUAL))
    }
}

/// A place among the simultaneous requests.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Gate);

impl Turn<'_> {
    /// Says that the server has answered with what was requested.
    pub(crate) fn answered(&self) {
        let mut state = self.0.lock();
        state.answers += 1;
        if state.allowed < self.0.most && state.answers >= state.allowed {
            (state.allowed, state.answers) = (state.allowed + 1, 0);
            drop(state);
            self.0.free.notify_one();
        }
    }

    /// Says that the server is too busy.
    pub(crate) fn refused(&self) {
        let mut state = self.0.lock();
        // Requests that were made together are refused together, and count once.
        let fewer = (state.busy.min(state.allowed) / 2).max(FEWEST).min(self.0.most);
        if fewer < state.allowed {
            (state.allowed, state.answers) = (fewer, 0);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_is_asked_less_and_then_more_again() {
        let gate = Gate::new(64);
        let turns: Vec<_> = (0..64).map(|_| gate.enter()).collect();
        turns[0].refused();
        assert_eq!(gate.lock().allowed, 32);
        drop(turns);
        let turn = gate.enter();
        turn.refused();
        assert_eq!(gate.lock().allowed, FEWEST);
        (0..FEWEST).for_each(|_| turn.answered());
        assert_eq!(gate.lock().allowed, FEWEST + 1);
        (0..10_000).for_each(|_| turn.answered());
        assert_eq!(gate.lock().allowed, 64);
        assert_eq!(Gate::new(2).most, 2);
    }

    #[test]
    fn many_ranges_use_many_connections() {
        let threads = |most: usize, ranges: usize| Gate::new(most).threads(ranges);
        assert_eq!(threads(256, 3), 3);
        assert_eq!(threads(256, 100), 64);
        assert_eq!(threads(512, 800), 400);
        assert_eq!(threads(512, 8000), 512);
        assert_eq!(threads(8, 8000), 8);
    }
}
