//! Datasets that others write meanwhile.

use sciformats_core::{Error, Result};

use super::tail::attempts;
use crate::dataset::Dataset;
use crate::file::File;
use crate::model::open::OpenOptions;

impl Dataset {
    /// The same dataset as it is in the file now: another process may write to it. What it read meanwhile half written is
    /// read once more, some times.
    ///
    /// The file is opened anew, without a map. [`Tail`](crate::swmr::Tail) does this for those who want new rows.
    ///
    /// # Errors
    /// `Io`, `Malformed`; [`Error::Usage`] if the file was not opened by a path.
    pub fn refresh(&mut self) -> Result<()> {
        let opened = self.file().opened();
        let Some(path) = &opened.path else {
            return Err(Error::usage("dataset", "is not of a file with a path"));
        };
        let options = OpenOptions { mapped: false, ..opened.options.clone() };
        *self = attempts(|| File::open_with(path, &options)?.dataset_at(self.address()))?;
        Ok(())
    }
}
