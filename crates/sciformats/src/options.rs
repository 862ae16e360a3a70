//! How files are opened, and how much of what they declare is gone through.

use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_core::bound;
use sciformats_core::storage::Access;
use sciformats_core::storage::machine_threads;
use sciformats_core::{Error, External, Limits};

use crate::Result;
use crate::model::ArrayInfo;
use crate::registered::Registered;

/// Bytes that a stored byte may unfold to when everything is gone through: as many as deflate can make of one.
const PER_BYTE: u64 = 1032;

/// What a read makes of elements that other files should have, and have not: those of a virtual dataset whose source is
/// missing, and those after the end of an external file.
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
    /// They read as the format's own library has them, as fill values mostly, and
    /// [`Source::take_missing`](crate::Source::take_missing) tells what was missing.
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
    /// What the file may ask of the machine.
    pub limits: Limits,
    /// Threads that one call may use; 0 for as many as the machine has.
    pub threads: usize,
    /// How files are reached. Default: with the system's calls. Whoever knows that nobody changes the files can have them
    /// [mapped](Access::mapped) into memory; stored bytes need not be copied then.
    pub access: Access,
    /// Which other files may be opened on the file's behalf: those that hold elements of virtual datasets, of external storage
    /// and of exploded ASDF files, and those that links lead to. Default: those in its folder or in folders inside it.
    pub external: External,
    /// What becomes of elements that other files should have, and have not. Default: reading them is an error.
    pub missing: Missing,
    /// Bytes of elements that one operation may go through, if the file is not so large that there are fewer than 1032 for each of
    /// its bytes, as deflate makes them at most. A file of a few bytes can declare more than anybody would wait for.
    /// Default: 4 GiB, which take some seconds.
    pub unfolded: u64,
    /// Bytes of elements that one operation may write of what it goes through, with the same exception: writing takes several times
    /// as long as reading, and room on the disk. Default: 256 MiB.
    pub written: u64,
    /// Whether a file that was cut short is opened, as far as that can be: its elements beyond the cut cannot be read. Of a Blosc2
    /// frame, whose index stands at its end, the chunks are searched for, also where that end is damaged. Default: no.
    pub cut: bool,
    /// Formats of the caller's own, which are recognised before all others. Default: none.
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
            cut: false,
            formats: Vec::new(),
        }
    }
}

impl OpenOptions {
    /// The same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same options with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same options with another way to reach files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// The same options with another policy for other files.
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

    /// The same options with another answer to sources that are missing.
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

    /// The same options for files that were cut short, or not; see [`File::cut_short`](crate::File::cut_short).
    #[must_use]
    pub fn with_cut(self, cut: bool) -> Self {
        Self { cut, ..self }
    }

    /// The same options with one more format: see [`Registered`].
    #[must_use]
    pub fn with_format(mut self, format: Registered) -> Self {
        self.formats.push(format);
        self
    }

    /// The same options with another bound on what an operation goes through, and on what it writes of that.
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

    /// The number of threads, never 0.
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

/// What an operation goes through, and how much that may be: see [`OpenOptions::unfolded`].
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
    /// Of a file of `size` bytes.
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

    /// What it bounds, for a file of which `bytes` are declared in all.
    pub(crate) fn allows(&self, bytes: u64) -> bool {
        bytes <= self.limit
    }

    /// Adds elements that are gone through next. Those that are refused do not count.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`].
    pub fn add(&self, elements: u64, info: &ArrayInfo) -> Result<()> {
        let more = bound::product(elements, info.effort().unwrap_or(1));
        let declared = bound::sum(self.bytes.load(Ordering::Relaxed), more);
        if declared > self.limit {
            return Err(Error::LimitExceeded { what: self.what, declared, limit: self.limit });
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
