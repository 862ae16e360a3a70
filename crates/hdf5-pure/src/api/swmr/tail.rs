//! Reading what others write.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sciformats_core::storage::Access;
use sciformats_core::{Error, Range, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::api::file::File;
use crate::file::options::OpenOptions;
use crate::value::element::Element;

/// A structure that is read as it is written may be half old and half new: it is read so often before that is an error.
const ATTEMPTS: u32 = 100;
/// The wait between two attempts, which is doubled up to the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The new rows of a dataset that another process writes, as they come.
///
/// The file need not be there yet, nor the dataset in it. Rows are those along a dimension, the first by default.
///
/// ```no_run
/// use std::time::Duration;
///
/// let mut tail = hdf5_pure::swmr::Tail::new("run.h5", "/energy");
/// while let Some((first, energies)) = tail.wait::<f64>(Duration::from_secs(60))? {
///     let _ = (first, energies);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    dataset: String,
    options: OpenOptions,
    axis: usize,
    next: u64,
    most: u64,
    found: Option<Dataset>,
    trouble: Option<Error>,
}

impl Tail {
    /// The dataset `dataset` of the file at `path`, from its first row on. Neither is opened yet.
    ///
    /// ```
    /// use hdf5_pure::swmr::Tail;
    ///
    /// let mut tail = Tail::new("not there yet.h5", "/position");
    /// assert_eq!(tail.poll::<f32>()?, None);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn new(path: impl AsRef<Path>, dataset: &str) -> Self {
        Self::with_options(path, dataset, &OpenOptions::default())
    }

    /// As [`new`](Self::new), with limits and filters of the caller's.
    ///
    /// ```
    /// use hdf5_pure::OpenOptions;
    /// use hdf5_pure::swmr::Tail;
    ///
    /// let tail = Tail::with_options("run.h5", "/position", &OpenOptions::default().with_threads(1));
    /// assert_eq!(tail.next_row(), 0);
    /// ```
    pub fn with_options(path: impl AsRef<Path>, dataset: &str, options: &OpenOptions) -> Self {
        let options = OpenOptions { access: Access::direct(), ..options.clone() };
        let (path, dataset) = (path.as_ref().into(), dataset.into());
        Self { path, dataset, options, axis: 0, next: 0, most: u64::MAX, found: None, trouble: None }
    }

    /// Starts with this row.
    ///
    /// ```
    /// use hdf5_pure::swmr::Tail;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut tail = Tail::new(&path, "/surface/temperature").from_row(1);
    /// assert_eq!(tail.poll::<f32>()?, Some((1, vec![280.0, 280.5, 281.0])));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn from_row(self, row: u64) -> Self {
        Self { next: row, ..self }
    }

    /// Follows the dataset along another dimension than its first.
    ///
    /// ```
    /// use hdf5_pure::swmr::Tail;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut columns = Tail::new(&path, "/surface/temperature").along(1).from_row(2);
    /// assert_eq!(columns.poll::<f32>()?, Some((2, vec![282.5, 281.0])));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn along(self, axis: usize) -> Self {
        Self { axis, ..self }
    }

    /// Reads at most so many rows at once, at least one.
    ///
    /// ```
    /// use hdf5_pure::swmr::Tail;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut tail = Tail::new(&path, "/surface/temperature").at_most(1);
    /// assert_eq!(tail.poll::<f32>()?, Some((0, vec![281.5, 282.0, 282.5])));
    /// assert_eq!(tail.poll::<f32>()?, Some((1, vec![280.0, 280.5, 281.0])));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn at_most(self, rows: u64) -> Self {
        Self { most: rows.max(1), ..self }
    }

    /// The row that comes next.
    pub fn next_row(&self) -> u64 {
        self.next
    }

    /// The dataset as it was last seen.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.found.as_ref()
    }

    /// Why there is no dataset yet, if something else than its absence is the reason.
    ///
    /// ```
    /// use hdf5_pure::swmr::Tail;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # std::fs::write(&path, "no HDF5 file").unwrap();
    /// let mut tail = Tail::new(&path, "/position");
    /// assert_eq!(tail.poll::<f32>()?, None);
    /// assert!(tail.trouble().is_some()); // what is there is no HDF5 file
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    /// The rows that came since the last call: the number of the first, and their elements. None if there are none.
    ///
    /// ```
    /// use hdf5_pure::swmr::{SwmrWriter, Tail};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut tail = Tail::new(&path, "/position");
    /// let mut run = SwmrWriter::open(&path)?; // usually in another process
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// run.flush()?;
    /// assert_eq!(tail.poll::<f32>()?, Some((0, vec![0.0, 0.5, 1.0])));
    /// assert_eq!(tail.poll::<f32>()?, None); // nothing new
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// What keeps a dataset that was there before from being read, after some attempts.
    pub fn poll<T: Element>(&mut self) -> Result<Option<(u64, Vec<T>)>> {
        if self.found.is_none() {
            match self.open() {
                Ok(dataset) => (self.found, self.trouble) = (Some(dataset), None),
                Err(error) => {
                    self.trouble = Some(error).filter(|error| !is_absence(error));
                    return Ok(None);
                }
            }
            return self.read();
        }
        // What is known already needs no look at the file.
        match self.read()? {
            None => {
                self.refresh()?;
                self.read()
            }
            rows => Ok(rows),
        }
    }

    /// As [`poll`](Self::poll), until rows come or `timeout` has passed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use hdf5_pure::swmr::Tail;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut tail = Tail::new(&path, "/surface/temperature");
    /// while let Some((first, rows)) = tail.wait::<f32>(Duration::from_millis(20))? {
    ///     assert_eq!((first, rows.len()), (0, 6));
    /// }
    /// assert_eq!(tail.next_row(), 2);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn wait<T: Element>(&mut self, timeout: Duration) -> Result<Option<(u64, Vec<T>)>> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let rows = self.poll()?;
            if rows.is_some() || start.elapsed() >= timeout {
                return Ok(rows);
            }
            std::thread::sleep(pause.min(timeout.saturating_sub(start.elapsed()) /* a bound */));
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE); // a bound
        }
    }

    fn open(&self) -> Result<Dataset> {
        File::open_with(&self.path, &self.options)?.dataset(&self.dataset)
    }

    fn refresh(&mut self) -> Result<()> {
        self.found = Some(attempts(|| self.open())?);
        Ok(())
    }

    fn read<T: Element>(&mut self) -> Result<Option<(u64, Vec<T>)>> {
        let Some(dataset) = &self.found else { return Ok(None) };
        let shape = dataset.shape().unwrap_or_default();
        let Some(&length) = shape.get(self.axis) else {
            return Err(Error::usage("dimension", "is none of the dataset"));
        };
        let rows = bound::left(length, self.next).min(self.most);
        if rows == 0 {
            return Ok(None);
        }
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        if let Some(range) = ranges.get_mut(self.axis) {
            *range = Range::new(self.next, rows);
        }
        let slab = Slab::new(shape, ranges)?;
        let first = self.next;
        let values = match dataset.read_slab(&slab) {
            // The index is read with the elements, and was perhaps being written.
            Err(error) if is_passing(&error) => attempts(|| {
                let dataset = self.open()?;
                let shape = dataset.shape().unwrap_or_default();
                dataset.read_slab(&Slab::new(shape, slab.ranges().to_vec())?)
            })?,
            other => other?,
        };
        self.next = bound::sum(self.next, rows); // no further than the length
        Ok(Some((first, values)))
    }
}

/// Tries again for as long as what is read may be half written.
pub(super) fn attempts<T>(mut read: impl FnMut() -> Result<T>) -> Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match read() {
            Err(error) if is_passing(&error) => {
                std::thread::sleep(pause);
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE); // a bound
            }
            other => return other,
        }
    }
    read()
}

/// Whether another attempt may help.
fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Malformed { .. } | Error::Io { .. })
}

/// Whether there is nothing yet.
fn is_absence(error: &Error) -> bool {
    match error {
        Error::NotFound { .. } => true,
        Error::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        _ => false,
    }
}
