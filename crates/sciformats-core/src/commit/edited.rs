//! The editing of a file that has one structure at its head, on which all changes build.

use std::path::Path;

use super::{Plan, Session, Syncs};
use crate::error::Within;
use crate::storage::{Durability, FileStorage};
use crate::{Error, ReadAt, Result, Slab, WriteAt};

/// What an editor knows of a file that consists of a head and elements.
pub trait Head: Sized {
    /// Completes an interrupted edit, if there is one, and reads the head.
    ///
    /// # Errors
    /// Returns the errors of the format.
    fn read<S: ReadAt + WriteAt>(session: &mut Session<S>) -> Result<Self>;

    /// Returns the number of bytes at the start of the file on which edits build. Another writer must not change them.
    fn span(&self) -> u64;
}

/// A session whose file has a head, and the head as it is known. An edit that fails leaves the head unknown; the next edit
/// completes it or takes it back, and reads the head again.
#[derive(Debug)]
pub struct Edited<S, H> {
    session: Session<S>,
    head: H,
    durability: Durability,
    /// Whether an edit failed, so that the file must be read again before the next one.
    is_stale: bool,
}

impl<H: Head> Edited<FileStorage, H> {
    /// Opens and locks a file.
    ///
    /// # Errors
    /// Returns `Conflict` if another editor has it open; `Io`; the errors of [`Head::read`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Session::open(path).and_then(Self::of_session).within(Some(path), None)
    }
}

impl<S: ReadAt + WriteAt, H: Head> Edited<S, H> {
    /// Edits a storage.
    ///
    /// # Errors
    /// Returns the errors of [`Head::read`].
    pub fn over(storage: S) -> Result<Self> {
        Self::of_session(Session::over(storage))
    }

    fn of_session(mut session: Session<S>) -> Result<Self> {
        let head = H::read(&mut session)?;
        session.watch(0, head.span())?;
        Ok(Self { session, head, durability: Durability::default(), is_stale: false })
    }

    /// Returns the same with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Returns the head.
    pub fn head(&self) -> &H {
        &self.head
    }

    /// Returns the storage, to plan an edit.
    pub fn storage(&self) -> &S {
        self.session.storage()
    }

    /// Returns the storage.
    pub fn into_storage(self) -> S {
        self.session.into_storage()
    }

    /// Completes or takes back an edit that failed. This must come before an edit is planned.
    ///
    /// # Errors
    /// Returns `Conflict` if another program has changed the file; `Io`; the errors of [`Head::read`].
    pub fn settle(&mut self) -> Result<()> {
        if self.is_stale {
            self.session.settle()?;
            self.session.verify()?;
            self.session.unwatch();
            self.head = H::read(&mut self.session)?;
            self.session.watch(0, self.head.span())?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// Commits an edit, after which the file has the given head.
    ///
    /// # Errors
    /// Returns `Conflict` if another program has changed the file; `Io`.
    pub fn commit(&mut self, plan: Plan<'_>, head: H) -> Result<()> {
        // The syncs in between protect the stored bytes; the last sync makes the new bytes durable.
        let syncs = if self.durability == Durability::Power { Syncs::Durable } else { Syncs::Ordered };
        self.is_stale = true;
        self.session.commit(plan, syncs)?;
        self.head = head;
        self.is_stale = self.session.watch(0, self.head.span()).is_err();
        Ok(())
    }
}

/// Checks that a slab selects from an array of this shape, and that the bytes are those of its elements, which have `size` bytes
/// each.
///
/// # Errors
/// Returns `Usage` if either is not the case.
pub fn check_elements(slab: &Slab, shape: &[u64], size: u64, bytes: &[u8]) -> Result<()> {
    if slab.of() != shape {
        let problem =
            format!("selects from an array of {:?}, but this array has the shape {shape:?}", slab.of());
        return Err(Error::usage("slab", problem));
    }
    let expected = slab.len().checked_mul(size);
    let expected = expected.ok_or_else(|| Error::usage("slab", "has more than 2^64 bytes"))?;
    if bytes.len() as u64 != expected {
        let problem = format!("have {} bytes, but the slab selects {expected} bytes", bytes.len());
        return Err(Error::usage("elements", problem));
    }
    Ok(())
}
