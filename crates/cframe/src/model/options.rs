//! How a frame is opened.

use sciformats_core::Limits;
use sciformats_core::storage::Access;

use super::chunk::Context;
use super::parallel::Threads;
use crate::codec::registry::Registry;

/// How a frame, an array or a chunk is opened, and what codes its chunks.
///
/// ```
/// use cframe::{Frame, Limits, OpenOptions, Params, SChunk};
///
/// # let mut schunk = SChunk::new(Params::new(4));
/// # schunk.append(&[21; 4000])?;
/// # let bytes = schunk.to_bytes()?;
/// let limits = Limits::default().with_memory(64 << 20);
/// let options = OpenOptions::default().with_limits(limits).with_threads(1);
/// let frame = Frame::from_bytes_with(bytes, &options)?;
/// assert_eq!(frame.chunk(0)?.decode()?, [21; 4000]);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bounds on what a file may ask for.
    pub limits: Limits,
    /// Threads that may code blocks and chunks: the calling one and some of rayon's current pool, which need the feature
    /// `parallel`. 0 stands for as many as there are.
    pub threads: usize,
    /// Codecs and filters of the caller's.
    pub registry: Registry,
    /// How files are reached. Default: with the system's calls. Whoever knows that nobody changes the files can have them
    /// [mapped](Access::mapped) into memory; stored bytes need not be copied then.
    pub access: Access,
    /// Whether a frame is opened of which only the beginning is left. Default: no, that is an error. With it, what is missing is
    /// an error of reading it, and [`Frame::rescued`](crate::Frame::rescued) says what there is.
    pub rescue: bool,
}

impl OpenOptions {
    /// Returns the same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same with another number of threads.
    ///
    /// ```
    /// use cframe::{OpenOptions, Params};
    ///
    /// // Where the caller has threads of its own, each codes alone.
    /// let options = OpenOptions::default().with_threads(1);
    /// let chunk = cframe::compress_with(&[21; 4000], &Params::new(4), &options)?;
    /// assert_eq!(cframe::decompress_with(&chunk, &options)?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Returns the same with codecs and filters of the caller's.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Returns the same with another way to reach files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the same for frames of which only the beginning may be left, or not.
    #[must_use]
    pub fn with_rescue(self, rescue: bool) -> Self {
        Self { rescue, ..self }
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            typesize: None,
            block_shape: Vec::new(),
            registry: self.registry.clone(),
            limits: self.limits,
            threads: Threads(self.threads),
        }
    }
}
