//! A storage that takes down what is done to it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use hdf5_pure::{ReadAt, Result};
use sciformats_core::{Step, WriteAt};

/// What was done, in order.
pub type Steps = Arc<Mutex<Vec<Step<'static>>>>;

/// Bytes in memory, and the steps that made them of what they were.
pub struct Recorder {
    pub bytes: Vec<u8>,
    pub steps: Steps,
}

impl Recorder {
    pub fn new(bytes: Vec<u8>) -> (Self, Steps) {
        let steps = Steps::default();
        (Self { bytes, steps: steps.clone() }, steps)
    }

    fn note(&self, step: Step<'static>) {
        self.steps.lock().unwrap().push(step);
    }
}

impl ReadAt for Recorder {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for Recorder {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.note(Step::write(offset, bytes.to_vec()));
        self.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.note(Step::SetSize { size });
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.note(Step::Sync);
        Ok(())
    }
}
