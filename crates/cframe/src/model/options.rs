//! How a frame is opened.

use sciformats_core::Limits;

use super::chunk::Context;
use super::parallel::Threads;
use crate::codec::registry::Registry;

/// How a frame, an array or a chunk is to be read.
///
/// ```
/// use cframe::{Frame, Limits, Options, Params, SChunk, Threads};
///
/// # let mut schunk = SChunk::new(Params::new(4));
/// # schunk.append(&[21; 4000])?;
/// # let bytes = schunk.to_bytes()?;
/// let limits = Limits::default().with_memory(64 << 20);
/// let options = Options::default().with_limits(limits).with_threads(Threads::One);
/// let frame = Frame::from_bytes_with(bytes, &options)?;
/// assert_eq!(frame.chunk(0)?.decode()?, [21; 4000]);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    limits: Limits,
    threads: Threads,
    registry: Registry,
    pub(crate) mapped: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            threads: Threads::default(),
            registry: Registry::default(),
            mapped: true,
        }
    }
}

impl Options {
    /// Other bounds on what a file may ask for.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Other threads.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Codecs and filters of the caller's.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Whether files are mapped into memory, so that stored bytes need not be copied; they are, unless told otherwise. A
    /// mapped file must not be cut shorter by another process while it is open.
    #[must_use]
    pub fn with_mapped(self, mapped: bool) -> Self {
        Self { mapped, ..self }
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            typesize: None,
            block_shape: Vec::new(),
            registry: self.registry.clone(),
            limits: self.limits,
            threads: self.threads,
        }
    }
}
