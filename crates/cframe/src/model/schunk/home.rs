//! The place of a super-chunk, how it is read from there, and what a commit builds upon.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sciformats_core::commit::{Generation, Session};
use sciformats_core::storage::{self, Access, FileStorage, Seen};
use sciformats_core::{Clash, Error, FaultKind, ReadAt, Result};

use super::sidecar::Sidecar;
use crate::model::frame::{Frame, MISSING_FILE, SPARSE_INDEX};
use crate::model::options::OpenOptions;

/// The place of a super-chunk.
#[derive(Clone, Debug)]
pub(super) enum Home {
    Memory,
    File(PathBuf),
    Folder(PathBuf),
}

/// A frame as it was read from its place.
#[derive(Clone, Debug)]
pub(super) struct Known {
    seen: Seen,
    len: u64,
    /// Its header, offsets and trailer.
    generation: Generation,
    /// The number of changes in the lock file, if there was one.
    changes: Option<u64>,
}

/// A lock that gives the right to change a frame.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) session: Session<FileStorage>,
    sidecar: Option<Sidecar>,
}

impl Home {
    /// Returns the file that contains the index of the frame.
    fn index(&self) -> Result<PathBuf> {
        match self {
            Self::File(path) => Ok(path.clone()),
            Self::Folder(path) => Ok(path.join(SPARSE_INDEX)),
            Self::Memory => Err(Error::usage("super-chunk", "is in memory")),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Folder(path) => path,
            Self::Memory => Path::new(""),
        }
    }

    /// Reads the frame while no writer has it open. If a writer has it open all the time, nothing is known about the state that
    /// was read.
    pub(super) fn open(&self, options: &OpenOptions) -> Result<(Frame, Option<Known>)> {
        // A program that may not read the lock file can still read the frame.
        let sidecar = Sidecar::hold(self.path(), false).ok().flatten();
        let changes = sidecar.as_ref().map(Sidecar::count).transpose()?;
        let (frame, seen) = Session::while_reading(self.index()?, || self.read(options))?;
        let known = seen.map(|seen| Known::of(&frame, seen, changes)).transpose()?;
        Ok((frame, known))
    }

    /// Reads the frame again under the lock.
    pub(super) fn reopen(&self, options: &OpenOptions, hold: &Hold) -> Result<(Frame, Known)> {
        let frame = self.read(options)?;
        let changes = hold.sidecar.as_ref().map(Sidecar::count).transpose()?;
        let known = Known::of(&frame, Seen::of(self.index()?)?, changes)?;
        Ok((frame, known))
    }

    fn read(&self, options: &OpenOptions) -> Result<Frame> {
        match self {
            // The storage must show what this process and others write.
            Self::File(path) => Frame::from_storage(FileStorage::open(path)?, 0, options),
            Self::Folder(path) => Frame::open_with(path, &options.clone().with_access(Access::direct())),
            Self::Memory => Err(Error::usage("super-chunk", "is in memory")),
        }
    }

    /// Returns the error that a missing file of a chunk means: once another writer has committed, the chunks that it replaced are
    /// gone.
    pub(super) fn told(&self, error: Error, known: &Known) -> Error {
        let is_gone =
            matches!(&error, Error::Malformed { fault, .. } if fault.kind == FaultKind::Rule(MISSING_FILE));
        let Self::Folder(path) = self else { return error };
        let changed = || Seen::of(path.join(SPARSE_INDEX)).is_ok_and(|seen| seen != known.seen);
        if is_gone && changed() {
            return Error::conflict(Clash::Changed { offset: 0 }).in_file(path, None);
        }
        error
    }

    /// Locks the frame in order to change it. It must be the known one; if nothing is known, any frame is accepted.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another writer has it open, or has changed it; `Io`, also if it does not exist.
    pub(super) fn hold(&self, known: Option<&Known>) -> Result<Hold> {
        let index = self.index()?;
        let conflict = |clash| Err(Error::conflict(clash).in_file(self.path(), None));
        let sidecar = Sidecar::hold(self.path(), true)?;
        let Some(known) = known else { return Ok(Hold { session: Session::open(&index)?, sidecar }) };
        let mut session = Session::open_seen(&index, &known.seen)?;
        session.recover()?;
        let found = session.storage().size();
        if found != known.len {
            return conflict(Clash::Resized { known: known.len, found });
        }
        session.expect(&known.generation);
        session.verify()?;
        if let (Some(sidecar), Some(changes)) = (&sidecar, known.changes)
            && sidecar.count()? != changes
        {
            return conflict(Clash::Changed { offset: 0 });
        }
        Ok(Hold { session, sidecar })
    }
}

impl Home {
    /// Checks that nothing is there yet.
    ///
    /// # Errors
    /// `Io` if something is.
    pub(super) fn absent(&self) -> Result<()> {
        match self {
            Self::File(path) | Self::Folder(path) => storage::absent(path),
            Self::Memory => Ok(()),
        }
    }

    /// Does the same as [`hold`](Self::hold) with nothing known. The result is `None` if there is no frame, so that a new one can
    /// be put there.
    pub(super) fn hold_if_there(&self) -> Result<Option<Hold>> {
        match self.hold(None) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            held => held.map(Some),
        }
    }
}

impl Known {
    fn of(frame: &Frame, seen: Seen, changes: Option<u64>) -> Result<Self> {
        Ok(Self { seen, len: frame.storage_len(), generation: frame.generation()?, changes })
    }
}

impl Hold {
    /// Returns the lock of a frame that no other program knows yet.
    pub(super) fn of(session: Session<FileStorage>) -> Self {
        Self { session, sidecar: None }
    }

    /// Increases the count in the lock file, so that other programs read the frame again.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.sidecar.as_mut().map_or(Ok(()), Sidecar::advance)
    }
}
