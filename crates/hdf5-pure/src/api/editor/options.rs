//! How a file is edited.

use crate::file::options::OpenOptions;
use crate::object::bound::Bound;

/// How a file is edited.
///
/// ```
/// use hdf5_pure::{EditOptions, Editor, File, Limits, OpenOptions};
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
    /// The oldest release of the C library that must be able to read what is new. By default the one that the file's
    /// superblock needs: version 0 or 1 [`Bound::Earliest`], 2 [`Bound::V18`], 3 [`Bound::V110`].
    pub bound: Option<Bound>,
    /// Whether new groups say in which order links and attributes were made. Groups that are there do as they did.
    pub track_order: bool,
    /// The time that new objects are said to be of, in seconds since 1970.
    pub time: Option<u32>,
    /// How the file is read: limits, filters, the files beside it that may be opened.
    pub reading: OpenOptions,
}

impl EditOptions {
    /// The same with another bound; `None` for the one that the file has.
    #[must_use]
    pub fn with_bound(self, bound: impl Into<Option<Bound>>) -> Self {
        Self { bound: bound.into(), ..self }
    }

    /// The same, with the order of links and attributes in new groups or without.
    #[must_use]
    pub fn with_track_order(self, track_order: bool) -> Self {
        Self { track_order, ..self }
    }

    /// The same with a time for new objects, in seconds since 1970.
    #[must_use]
    pub fn with_time(self, time: impl Into<Option<u32>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// The same, the file being read otherwise.
    #[must_use]
    pub fn with_reading(self, reading: OpenOptions) -> Self {
        Self { reading, ..self }
    }
}
