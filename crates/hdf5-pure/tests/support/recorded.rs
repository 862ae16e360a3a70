//! A file in memory that several readers and writers share, and that records all steps of writing.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdf5_pure::Result;
use hdf5_pure::storage::ReadAt;
use sciformats_core::{Error, Step, WriteAt};

/// The file. All clones share it.
#[derive(Clone)]
pub(crate) struct Recorded(Arc<Mutex<State>>);

struct State {
    bytes: Vec<u8>,
    steps: Vec<Step<'static>>,
    /// The largest length of the file.
    room: u64,
    /// Whether steps are kept.
    kept: bool,
}

impl Recorded {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self::with_room(bytes, u64::MAX)
    }

    pub(crate) fn with_room(bytes: Vec<u8>, room: u64) -> Self {
        Self(Arc::new(Mutex::new(State { bytes, steps: Vec::new(), room, kept: true })))
    }

    /// A file whose steps nobody asks for.
    pub(crate) fn unrecorded(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { bytes, steps: Vec::new(), room: u64::MAX, kept: false })))
    }

    /// Changes the largest length of the file, as when something else is removed from a full disk.
    pub(crate) fn set_room(&self, room: u64) {
        self.lock().room = room;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    pub(crate) fn take_steps(&self) -> Vec<Step<'static>> {
        std::mem::take(&mut self.lock().steps)
    }

    fn full() -> Error {
        Error::io("write", std::io::ErrorKind::StorageFull.into())
    }
}

impl ReadAt for Recorded {
    fn size(&self) -> u64 {
        self.lock().bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(self.lock().bytes.read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Recorded {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut state = self.lock();
        let fits = usize::try_from(state.room.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[..fits];
        if state.kept {
            state.steps.push(Step::write(offset, part.to_vec()));
        }
        state.bytes.write_at(offset, part)?;
        if fits < bytes.len() { Err(Self::full()) } else { Ok(()) }
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        let mut state = self.lock();
        if size > state.room {
            return Err(Self::full());
        }
        if state.kept {
            state.steps.push(Step::SetSize { size });
        }
        state.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        let mut state = self.lock();
        if state.kept {
            state.steps.push(Step::Sync);
        }
        Ok(())
    }
}
