//! Remembers which sources were missing when elements were read.

use std::sync::{Mutex, PoisonError};

use sciformats_core::Error;

/// The largest number of missing sources that is remembered.
const REMEMBERED: usize = 1000;

/// The sources that were missing when they were read, each of them once.
#[derive(Debug, Default)]
pub(crate) struct MissingList(Mutex<Vec<Error>>);

impl MissingList {
    pub(crate) fn add(&self, error: Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = error.to_string();
        if all.len() < REMEMBERED && all.iter().all(|known| known.to_string() != text) {
            all.push(error);
        }
    }

    pub(crate) fn take(&self) -> Vec<Error> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
