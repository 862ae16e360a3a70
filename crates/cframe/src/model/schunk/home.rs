//! Where a super-chunk lives, how it is read from there, and what of it a commit builds upon.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sciformats_core::commit::{Generation, Session};
use sciformats_core::storage::{self, Access, FileStorage, Seen};
use sciformats_core::{Clash, Error, ReadAt, Result};

use super::sidecar::Sidecar;
use crate::model::frame::{Frame, SPARSE_INDEX};
use crate::model::options::OpenOptions;

/// Where a super-chunk lives.
#[derive(Clone, Debug)]
pub(super) enum Home {
    Memory,
    File(PathBuf),
    Folder(PathBuf),
}

/// A frame as it was read from its home.
#[derive(Clone, Debug)]
pub(super) struct Known {
    seen: Seen,
    len: u64,
    /// Its header, offsets and trailer.
    generation: Generation,
    /// The changes that the lock file counted, if there was one.
    changes: Option<u64>,
}

/// The right to change a frame, as long as it is held.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) session: Session<FileStorage>,
    sidecar: Option<Sidecar>,
}

impl Home {
    /// The file that says what the frame is.
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

    /// Reads the frame while no writer has it; nothing is known of one that a writer kept all the time.
    pub(super) fn open(&self, options: &OpenOptions) -> Result<(Frame, Option<Known>)> {
        // Those who may not even read the lock file can read the frame.
        let sidecar = Sidecar::hold(self.path(), false).ok().flatten();
        let changes = sidecar.as_ref().map(Sidecar::count).transpose()?;
        let (frame, seen) = Session::while_reading(self.index()?, || self.read(options))?;
        let known = seen.map(|seen| Known::of(&frame, seen, changes)).transpose()?;
        Ok((frame, known))
    }

    /// Reads the frame again under a lock that is held.
    pub(super) fn reopen(&self, options: &OpenOptions, hold: &Hold) -> Result<(Frame, Known)> {
        let frame = self.read(options)?;
        let changes = hold.sidecar.as_ref().map(Sidecar::count).transpose()?;
        let known = Known::of(&frame, Seen::of(self.index()?)?, changes)?;
        Ok((frame, known))
    }

    fn read(&self, options: &OpenOptions) -> Result<Frame> {
        match self {
            // What this process and others write is to be seen.
            Self::File(path) => Frame::from_storage(FileStorage::open(path)?, 0, options),
            Self::Folder(path) => Frame::open_with(path, &options.clone().with_access(Access::direct())),
            Self::Memory => Err(Error::usage("super-chunk", "is in memory")),
        }
    }

    /// Takes the frame to change it: it must be the one that is known. With nothing known of it, whatever is there.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another writer holds it, or has changed it; `Io`, also if it is not there.
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

    /// As [`hold`](Self::hold) with nothing known; `None` if there is nothing, which what is made anew may take the place of.
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
    /// Of a frame that nobody else knows of yet.
    pub(super) fn of(session: Session<FileStorage>) -> Self {
        Self { session, sidecar: None }
    }

    /// Tells others that hold the lock file's count that there is something new.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.sidecar.as_mut().map_or(Ok(()), Sidecar::advance)
    }
}
