//! Follows a dataset that another process writes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sciformats_core::storage::Access;
use sciformats_core::{Error, Range, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::api::file::File;
use crate::file::live::{ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE, is_passing};
use crate::file::options::OpenOptions;
use crate::value::element::Element;

/// The time after which a failed read is not repeated any more. A read of a file that is marked as being written is repeated as
/// well, so that an attempt can take long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Delivers the new rows of a dataset that another process writes.
///
/// Neither the file nor the dataset needs to exist yet. Rows are counted along one dimension, by default the first.
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
    /// Follows the dataset `dataset` of the file at `path`, starting at its first row. Nothing is opened yet.
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

    /// Works like [`new`](Self::new), with limits and filters that the caller chooses.
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

    /// Starts at this row.
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

    /// Reads at most this many rows at once, but at least one.
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

    /// Returns the number of the row that comes next.
    pub fn next_row(&self) -> u64 {
        self.next
    }

    /// Returns the dataset in the state in which it was last seen.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.found.as_ref()
    }

    /// Returns why there is no dataset yet, unless the reason is just that it does not exist.
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

    /// Returns the rows that were added since the last call: the number of the first row, and the elements. Returns
    /// `None` if there are no new rows.
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
    /// Returns an error if a dataset that was readable before still cannot be read after several attempts.
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
        // If earlier reads have shown more rows, the file need not be looked at again.
        match self.read()? {
            None => {
                self.refresh()?;
                self.read()
            }
            rows => Ok(rows),
        }
    }

    /// Works like [`poll`](Self::poll), but waits until new rows come or `timeout` has passed.
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
    /// Returns the errors of [`poll`](Self::poll).
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
        let shape = dataset.shape();
        let Some(&length) = shape.get(self.axis) else {
            return Err(Error::usage("dimension", "is not a dimension of the dataset"));
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
            // The chunk index is read together with the elements, and the writer may have been changing it.
            Err(error) if is_passing(&error) => attempts(|| {
                let dataset = self.open()?;
                let shape = dataset.shape();
                dataset.read_slab(&Slab::new(shape, slab.ranges().to_vec())?)
            })?,
            other => other?,
        };
        self.next = bound::sum(self.next, rows); // no further than the length
        Ok(Some((first, values)))
    }
}

/// Repeats a read as long as its failure can be explained by a structure that is half written.
pub(super) fn attempts<T>(mut read: impl FnMut() -> Result<T>) -> Result<T> {
    let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
    for _ in 1..ATTEMPTS {
        match read() {
            Err(error) if is_passing(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(pause);
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE); // a bound
            }
            other => return other,
        }
    }
    read()
}

/// Returns whether the error means that the file or the dataset does not exist yet.
fn is_absence(error: &Error) -> bool {
    match error {
        Error::NotFound { .. } => true,
        Error::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        _ => false,
    }
}
