//! The files that a file names: parts of exploded ASDF files, chunks of sparse Blosc2 frames, targets of links, and the
//! sources of virtual and external datasets.
//!
//! The module opens none of them by itself. A request that needs one says its name, and the caller says which open file
//! it is, or that there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sciformats::{Error, ReadAt, Result};
use sciformats_core::external::Lend;

/// The number of files that one file may name.
const MOST: usize = 1 << 17;

/// The files beside one file. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<String, Found>,
    wanted: BTreeSet<String>,
    /// The name of the file itself, and names beside it that begin with its own.
    name: Option<String>,
    near: Vec<String>,
}

/// What is known of a name.
pub(crate) enum Found {
    /// The bytes of the file, which need not be here yet.
    Bytes(Arc<dyn ReadAt>),
    /// There is no such file.
    Nothing,
    /// Why the file cannot be read.
    Unreadable(String),
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.size()),
            Self::Nothing => f.write_str("nothing"),
            Self::Unreadable(problem) => f.write_str(problem),
        }
    }
}

impl Beside {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was found under a name.
    pub(crate) fn add(&self, name: &str, found: Found) {
        let mut state = self.state();
        state.wanted.remove(name);
        state.known.insert(name.to_owned(), found);
    }

    /// Sets the name of the file itself, and names beside it that begin with its own: it may be one of several parts.
    pub(crate) fn call(&self, name: Option<&str>, near: Vec<String>) {
        let mut state = self.state();
        state.name = name.map(str::to_owned);
        state.near = near;
    }

    /// Returns the names that were asked for and are not known.
    pub(crate) fn take_wanted(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.state().wanted)
    }
}

impl Lend for Beside {
    fn lend(&self, name: &str) -> Result<Option<Arc<dyn ReadAt>>> {
        let mut state = self.state();
        let path = std::path::Path::new(name);
        match state.known.get(name) {
            Some(Found::Bytes(bytes)) => return Ok(Some(Arc::clone(bytes))),
            Some(Found::Nothing) => return Ok(None),
            Some(Found::Unreadable(problem)) => {
                return Err(Error::io("open", std::io::Error::other(problem.clone())).in_file(path, None));
            }
            None => {}
        }
        if state.known.len() >= MOST {
            return Err(Error::limit_exceeded("files that one file names", MOST as u64 + 1, MOST as u64));
        }
        state.wanted.insert(name.to_owned());
        let source = std::io::Error::new(std::io::ErrorKind::WouldBlock, "this file has not been lent yet");
        Err(Error::io("open", source).in_file(path, None))
    }

    fn name(&self) -> Option<String> {
        self.state().name.clone()
    }

    fn names(&self, start: &str) -> Vec<String> {
        let state = self.state();
        state.near.iter().filter(|name| name.starts_with(start)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_until_they_are_known() {
        let beside = Beside::default();
        assert!(matches!(beside.lend("a"), Err(Error::Io { .. })));
        assert!(matches!(beside.lend("b"), Err(Error::Io { .. })));
        assert!(beside.take_wanted().iter().eq(["a", "b"]));
        beside.add("a", Found::Bytes(Arc::new(vec![1u8, 2])));
        beside.add("b", Found::Nothing);
        beside.add("c", Found::Unreadable("answers 500".into()));
        assert_eq!(beside.lend("a").unwrap().unwrap().size(), 2);
        assert!(beside.lend("b").unwrap().is_none());
        assert!(beside.lend("c").err().unwrap().to_string().contains("answers 500"));
        assert!(beside.take_wanted().is_empty());
        assert_eq!(beside.name(), None);
        beside.call(Some("run.h5"), vec!["run.h5.subfile_1.config".into(), "run.h5.log".into()]);
        assert_eq!(beside.name().as_deref(), Some("run.h5"));
        assert_eq!(beside.names("run.h5.subfile_"), ["run.h5.subfile_1.config"]);
    }
}
