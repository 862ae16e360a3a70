//! Options of editing a file.

use crate::api::editor::lock::Locking;
use crate::file::options::OpenOptions;
use crate::object::bound::Bound;

/// Options of editing a file.
///
/// ```
/// use hdf5_pure::{EditOptions, Editor, File, OpenOptions};
/// use hdf5_pure::options::Limits;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// let reading = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 30));
/// let options = EditOptions::default().with_time(1_700_000_000).with_track_order(true).with_reading(reading);
/// let mut file = Editor::open_with(&path, &options)?;
/// file.group("upper air")?;
/// file.commit()?;
/// let file = File::open(&path)?;
/// assert_eq!(file.object_info(file.group("upper air")?.address())?.modified, Some(1_700_000_000));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EditOptions {
    /// The oldest release of the C library that must be able to read new objects. By default it follows from the
    /// version of the superblock: [`Bound::Earliest`] for 0 or 1, [`Bound::V18`] for 2, [`Bound::V110`] for 3.
    pub bound: Option<Bound>,
    /// Whether new groups track the creation order of their links and attributes. Existing groups keep their setting.
    pub track_order: bool,
    /// The time that is stored in new objects, in seconds since 1970. Objects that store times and change get this one too, or that of
    /// the clock if it is `None`; new objects then store none.
    pub time: Option<u32>,
    /// Options of reading the file: limits, filters, and which external files may be opened. The number of threads also holds
    /// for the filters of chunks that are written.
    pub reading: OpenOptions,
    /// When the file is locked. By default the environment variable `HDF5_USE_FILE_LOCKING` says this.
    pub locking: Option<Locking>,
}

impl EditOptions {
    /// Sets the bound; `None` derives it from the file.
    #[must_use]
    pub fn with_bound(self, bound: impl Into<Option<Bound>>) -> Self {
        Self { bound: bound.into(), ..self }
    }

    /// Sets whether new groups track the creation order of links and attributes.
    #[must_use]
    pub fn with_track_order(self, track_order: bool) -> Self {
        Self { track_order, ..self }
    }

    /// Sets the time that is stored in new objects, and in objects that store times and change, in seconds since 1970.
    #[must_use]
    pub fn with_time(self, time: impl Into<Option<u32>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// Sets the options of reading the file.
    #[must_use]
    pub fn with_reading(self, reading: OpenOptions) -> Self {
        Self { reading, ..self }
    }

    /// Sets when the file is locked; `None` asks the environment variable `HDF5_USE_FILE_LOCKING`.
    #[must_use]
    pub fn with_locking(self, locking: impl Into<Option<Locking>>) -> Self {
        Self { locking: locking.into(), ..self }
    }
}
