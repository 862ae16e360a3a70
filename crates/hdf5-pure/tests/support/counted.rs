//! A file in memory that counts the bytes that are read and written.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdf5_pure::Result;
use hdf5_pure::storage::ReadAt;
use sciformats_core::WriteAt;

/// The file. All clones share it.
#[derive(Clone)]
pub(crate) struct Counted(Arc<Mutex<State>>);

struct State {
    bytes: Vec<u8>,
    cost: Cost,
}

/// The numbers of bytes that were read and written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
    }
}

impl Cost {
    /// Returns their sum.
    pub(crate) fn bytes(self) -> f64 {
        (self.read + self.written) as f64
    }
}

impl Counted {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { bytes, cost: Cost::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was counted since the last call.
    pub(crate) fn take(&self) -> Cost {
        std::mem::take(&mut self.lock().cost)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }
}

impl ReadAt for Counted {
    fn size(&self) -> u64 {
        self.lock().bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let mut state = self.lock();
        state.cost.read += len as u64;
        Ok(Cow::Owned(state.bytes.read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Counted {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut state = self.lock();
        state.cost.written += bytes.len() as u64;
        state.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.lock().bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
