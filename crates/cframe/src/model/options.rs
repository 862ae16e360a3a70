//! Options for opening frames.

use sciformats_core::Limits;
use sciformats_core::external::Lent;
use sciformats_core::storage::Access;

use super::chunk::Context;
use super::parallel::Threads;
use crate::codec::registry::Registry;

/// Options for opening a frame, an array or a chunk, and for coding its chunks.
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
    /// The limits on what a file may declare.
    pub limits: Limits,
    /// The number of threads that may code blocks and chunks. These are the calling thread and some of rayon's current pool,
    /// which requires the feature `parallel`. 0 means as many as there are.
    pub threads: usize,
    /// The caller's own codecs and filters.
    pub registry: Registry,
    /// How files are accessed. The default is to use system calls. If it is certain that nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory; stored bytes then need not be copied.
    pub access: Access,
    /// Whether a frame is opened if only its beginning is left. The default is false, so that this is an error. If it is set,
    /// only reading a missing part is an error, and [`Frame::rescued`](crate::Frame::rescued) says what is left.
    pub rescue: bool,
    /// Who lends the files of the chunks of a sparse frame, if its index is opened without its folder. By default such an
    /// index cannot be opened.
    pub lent: Option<Lent>,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options with another number of threads.
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

    /// Returns the same options with the caller's own codecs and filters.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Returns the same options with somebody who lends the files of the chunks of a sparse frame.
    #[must_use]
    pub fn with_lent(self, lent: Option<Lent>) -> Self {
        Self { lent, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the same options, with or without opening frames of which only the beginning is left.
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
