//! How files are opened, and how much of what they declare is read.

use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_core::bound;
use sciformats_core::storage::Access;
use sciformats_core::storage::machine_threads;
use sciformats_core::{Error, External, Limits};

use crate::Result;
use crate::model::ArrayInfo;
use crate::registered::Registered;

/// The number of bytes that a stored byte may unfold to when everything is read, which is the most that
/// deflate can produce.
const PER_BYTE: u64 = 1032;

/// What happens when elements are read that other files should contain but do not: those of a virtual dataset
/// whose source is missing, and those after the end of an external file.
///
/// ```
/// use sciformats::{Error, OpenOptions, options::Missing};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("week.h5");
/// # let mut file = sciformats::hdf5_pure::Writer::create(&path)?;
/// # let all = sciformats::Slab::all(&[3])?;
/// # file.dataset("week").shape([3]).fill(-1.0).map("monday.h5", "/temperature", &all, &all).create::<f64>()?;
/// # file.finish()?;
/// // Its elements are in `monday.h5`, which is gone.
/// let file = sciformats::open(&path)?;
/// assert!(matches!(file.array("/week")?.read::<f64>(), Err(Error::Missing { .. })));
/// let file = sciformats::open_with(&path, &OpenOptions::default().with_missing(Missing::Filled))?;
/// assert_eq!(file.array("/week")?.read::<f64>()?, [-1.0; 3]);
/// assert_eq!(file.source().take_missing().len(), 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// Reading them is [`Error::Missing`].
    #[default]
    Refused,
    /// They are read as the library of the format reads them, mostly as fill values, and
    /// [`Source::take_missing`](crate::Source::take_missing) reports what was missing.
    Filled,
}

/// How to open a file.
///
/// ```
/// use sciformats::{Access, Limits, OpenOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// # sciformats::npy::write(&path, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
/// let limits = Limits::default().with_memory(1 << 30);
/// let options = OpenOptions::default().with_limits(limits).with_threads(2).with_access(Access::direct());
/// let file = sciformats::open_with(&path, &options)?;
/// assert_eq!(file.options().threads(), 2);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Limits of the resources that the file may use.
    pub limits: Limits,
    /// The number of threads that one call may use; 0 means as many as the machine has.
    pub threads: usize,
    /// How files are accessed. The default is system calls. If you know that no other program changes the
    /// files, you can [map](Access::mapped) them into memory, so that stored bytes need not be copied.
    pub access: Access,
    /// Which other files may be opened when the file names them: those with elements of virtual datasets, of
    /// external storage and of exploded ASDF files, and the targets of links. The default is those in its
    /// folder or in folders inside it.
    pub external: External,
    /// What happens to elements that other files should contain but do not. By default, reading them is an
    /// error.
    pub missing: Missing,
    /// The number of bytes of elements that one operation may read. It is raised to 1032 bytes per byte of
    /// the file if that is more, because deflate cannot produce more. Without this limit, a file of a few
    /// bytes could declare more elements than anybody would wait for. The default is 4 GiB, which take some
    /// seconds.
    pub unfolded: u64,
    /// Bytes of elements that one operation may write of what it goes through, with the same exception: writing takes several times
    /// as long as reading, and room on the disk. Default: 256 MiB.
    pub written: u64,
    /// The number of bytes that the file really has, if its storage has gaps and is longer than that. The exception for `unfolded` and
    /// `written` is computed from it. The default is the size of the storage.
    pub stored: Option<u64>,
    /// Whether a file that was cut short is opened, as far as that can be: its elements beyond the cut cannot be read. Of a Blosc2
    /// frame, whose index stands at its end, the chunks are searched for, also where that end is damaged. Default: no.
    pub cut: bool,
    /// Whether a RawArray file that is being written row by row is opened with its whole rows, although its header says that it
    /// is unfinished. Default: no.
    pub unfinished: bool,
    /// Formats of the caller, which are recognised before all others. The default is none.
    pub formats: Vec<Registered>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            threads: 0,
            access: Access::default(),
            external: External::SameFolder,
            missing: Missing::Refused,
            unfolded: 4 << 30,
            written: 256 << 20,
            stored: None,
            cut: false,
            unfinished: false,
            formats: Vec::new(),
        }
    }
}

impl OpenOptions {
    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets how files are accessed.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets which other files may be opened.
    ///
    /// ```
    /// use sciformats::{External, OpenOptions};
    ///
    /// let archive = vec!["/data/archive".into()];
    /// let options = OpenOptions::default().with_external(External::SameFolderAnd(archive));
    /// assert_ne!(options.external, External::SameFolder);
    /// ```
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// Sets what happens to elements of missing sources.
    ///
    /// ```
    /// use sciformats::OpenOptions;
    /// use sciformats::options::Missing;
    ///
    /// let options = OpenOptions::default().with_missing(Missing::Filled);
    /// assert_eq!(options.missing, Missing::Filled);
    /// ```
    #[must_use]
    pub fn with_missing(self, missing: Missing) -> Self {
        Self { missing, ..self }
    }

    /// Sets whether files that were cut short are opened; see [`File::cut_short`](crate::File::cut_short).
    #[must_use]
    pub fn with_cut(self, cut: bool) -> Self {
        Self { cut, ..self }
    }

    /// Sets whether a RawArray file is opened while it is being written row by row.
    ///
    /// ```
    /// use sciformats::OpenOptions;
    ///
    /// let options = OpenOptions::default().with_unfinished(true);
    /// assert!(options.unfinished);
    /// ```
    #[must_use]
    pub fn with_unfinished(self, unfinished: bool) -> Self {
        Self { unfinished, ..self }
    }

    /// Adds a format of the caller: see [`Registered`].
    #[must_use]
    pub fn with_format(mut self, format: Registered) -> Self {
        self.formats.push(format);
        self
    }

    /// Sets the limit for the bytes of elements that one operation reads.
    ///
    /// ```
    /// use sciformats::OpenOptions;
    ///
    /// // A map of mostly zeros, of which the file has few bytes.
    /// let options = OpenOptions::default().with_unfolded(100 << 30);
    /// # assert_eq!((options.unfolded, options.written), (100 << 30, 100 << 30));
    /// ```
    #[must_use]
    pub fn with_unfolded(self, unfolded: u64) -> Self {
        Self { unfolded, written: unfolded, ..self }
    }

    /// Returns the number of threads, which is never 0.
    ///
    /// ```
    /// use sciformats::OpenOptions;
    ///
    /// let options = OpenOptions::default();
    /// assert_eq!(options.threads, 0); // as many as the machine has,
    /// assert!(options.threads() > 0); // which are so many
    /// ```
    pub fn threads(&self) -> usize {
        match self.threads {
            _ if cfg!(target_family = "wasm") => 1,
            0 => machine_threads(),
            threads => threads,
        }
    }
}

/// Counts the bytes that an operation reads, and limits them: see [`OpenOptions::unfolded`].
///
/// ```
/// use sciformats::options::Unfolding;
/// use sciformats::{ArrayInfo, ElementType, OpenOptions};
///
/// let bytes = ArrayInfo::new(ElementType::Opaque(1), [1000]);
/// let unfolding = Unfolding::new(&OpenOptions::default().with_unfolded(1500), 0);
/// assert!(unfolding.add(1000, &bytes).is_ok());
/// assert!(unfolding.add(1000, &bytes).is_err()); // 2000 by now
/// ```
#[derive(Debug)]
pub struct Unfolding {
    what: &'static str,
    limit: u64,
    bytes: AtomicU64,
}

impl Unfolding {
    /// Creates the limit for a file of `size` bytes.
    pub fn new(options: &OpenOptions, size: u64) -> Self {
        Self::within("bytes to go through", options.unfolded, size)
    }

    /// Of what is written of a file of `size` bytes: see [`OpenOptions::written`].
    ///
    /// ```
    /// use sciformats::options::Unfolding;
    /// use sciformats::{ArrayInfo, ElementType, OpenOptions};
    ///
    /// let zeros = ArrayInfo::new(ElementType::F64, [1 << 28]);
    /// assert!(Unfolding::new(&OpenOptions::default(), 200).add(1 << 28, &zeros).is_ok()); // 2 GiB can be read,
    /// assert!(Unfolding::writing(&OpenOptions::default(), 200).add(1 << 28, &zeros).is_err()); // but not written
    /// ```
    pub fn writing(options: &OpenOptions, size: u64) -> Self {
        Self::within("bytes to write", options.written, size)
    }

    fn within(what: &'static str, limit: u64, size: u64) -> Self {
        Self { what, limit: limit.max(bound::product(size, PER_BYTE)), bytes: AtomicU64::new(0) }
    }

    /// Whether a file whose elements have so many bytes in all is below the limit.
    #[cfg(feature = "blosc2")]
    pub(crate) fn allows(&self, bytes: u64) -> bool {
        bytes <= self.limit
    }

    /// Adds elements that are going to be read. Elements that are refused do not count.
    ///
    /// # Errors
    ///
    /// [`Error::LimitExceeded`] if there are more bytes than the limit.
    pub fn add(&self, elements: u64, info: &ArrayInfo) -> Result<()> {
        let more = bound::product(elements, info.effort().unwrap_or(1));
        let declared = bound::sum(self.bytes.load(Ordering::Relaxed), more);
        if declared > self.limit {
            return Err(Error::limit_exceeded(self.what, declared, self.limit));
        }
        self.bytes.store(declared, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use sciformats_core::Slab;

    use super::*;
    use crate::memory::{Memory, array};
    use crate::{ElementType, File, Format};

    #[test]
    fn what_a_few_bytes_declare_is_not_gone_through() {
        let memory = Memory::single(Format::Hdf5, array::<u16>(&[1], &[7]));
        let file = File::from(memory).with_options(OpenOptions::default());
        let array = file.array("/").unwrap();
        let declared = Slab::all(&[1 << 34]).unwrap();
        let walked = file
            .for_each_piece((array.id(), array.info()), &declared, &mut |_, _| Ok(ControlFlow::Continue(())));
        assert!(matches!(walked, Err(Error::LimitExceeded { declared: 0x8_0000_0000, .. })));
    }

    #[test]
    fn all_arrays_of_an_operation_are_bounded_together() {
        let info = ArrayInfo::new(ElementType::Opaque(1), [1000]);
        let unfolding = Unfolding::new(&OpenOptions::default().with_unfolded(2500), 1);
        assert!(unfolding.add(1000, &info).is_ok() && unfolding.add(1000, &info).is_ok());
        let refused = unfolding.add(1000, &info).unwrap_err();
        assert_eq!(refused.to_string(), "3000 bytes to go through exceed the limit of 2500");
        assert!(unfolding.add(500, &info).is_ok());
        // A file may be as large as it is.
        assert!(Unfolding::new(&OpenOptions::default().with_unfolded(0), 10).add(10_320, &info).is_ok());
    }
}
