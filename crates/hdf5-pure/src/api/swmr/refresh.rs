//! Refreshes a dataset that another process writes.

use sciformats_core::storage::Access;
use sciformats_core::{Error, Result};

use crate::api::dataset::Dataset;
use crate::api::file::File;
use crate::api::swmr::tail::attempts;
use crate::file::options::OpenOptions;

impl Dataset {
    /// Reads the dataset's metadata again, as another process may have changed it. If a structure was half written at
    /// that moment, the read is repeated several times.
    ///
    /// The file is opened again, without a memory map. [`Tail`](crate::api::swmr::Tail) uses this to deliver new rows.
    ///
    /// ```
    /// use hdf5_pure::File;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut position = File::open(&path)?.dataset("position")?;
    /// let mut run = SwmrWriter::open(&path)?; // usually in another process
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// run.flush()?;
    /// assert_eq!(position.shape(), [0, 3]);
    /// position.refresh()?;
    /// assert_eq!(position.shape(), [1, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io` or `Malformed`, and [`Error::Usage`] if the file was not opened by a path.
    pub fn refresh(&mut self) -> Result<()> {
        let opened = self.file().opened();
        let Some(path) = &opened.path else {
            return Err(Error::usage("dataset", "cannot be refreshed: its file was not opened by a path"));
        };
        let options = OpenOptions { access: Access::direct(), ..opened.options.clone() };
        let now = attempts(|| File::open_with(path, &options)?.dataset_at(self.address()))?;
        let now = match self.found_by() {
            Some(path) => now.named(path),
            None => now,
        };
        *self = now.with_conversion(self.conversion());
        Ok(())
    }
}
