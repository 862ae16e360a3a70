//! A file in memory that is read and written by several, and notes all steps.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard};

use hdf5_pure::{ReadAt, Result};
use sciformats_core::{Error, Step, WriteAt};

/// The bytes, the steps, and how long it may become.
#[derive(Clone)]
pub(crate) struct Recorded(Arc<Mutex<(Vec<u8>, Vec<Step<'static>>, u64)>>);

impl Recorded {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self::with_room(bytes, u64::MAX)
    }

    pub(crate) fn with_room(bytes: Vec<u8>, room: u64) -> Self {
        Self(Arc::new(Mutex::new((bytes, Vec::new(), room))))
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, Vec<Step<'static>>, u64)> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().0.clone()
    }

    pub(crate) fn take_steps(&self) -> Vec<Step<'static>> {
        std::mem::take(&mut self.lock().1)
    }

    fn full() -> Error {
        Error::io("write", std::io::ErrorKind::StorageFull.into())
    }
}

impl ReadAt for Recorded {
    fn len(&self) -> u64 {
        self.lock().0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(self.lock().0.read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Recorded {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut guard = self.lock();
        let fits = usize::try_from(guard.2.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[..fits];
        guard.1.push(Step::write(offset, part.to_vec()));
        guard.0.write_at(offset, part)?;
        if fits < bytes.len() { Err(Self::full()) } else { Ok(()) }
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        let mut guard = self.lock();
        if size > guard.2 {
            return Err(Self::full());
        }
        guard.1.push(Step::SetSize { size });
        guard.0.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.lock().1.push(Step::Sync);
        Ok(())
    }
}
