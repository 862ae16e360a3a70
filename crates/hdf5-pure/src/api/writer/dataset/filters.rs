//! The filters of the chunks of a new dataset.

use super::DatasetBuilder;
use crate::api::writer::filters::Filters;

impl<'w> DatasetBuilder<'w> {
    /// Sets the filters of the chunks, in the order in which they are applied.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let packed = Filters::new().shuffle().lzf(); // for several datasets
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([100]).filters(packed.clone()).write(&[281.5; 1000])?;
    /// file.dataset("pressure").chunks([100]).filters(packed).write(&[1013.0; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("pressure")?.read::<f64>()?, [1013.0; 1000]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn filters(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// Adds [`Filters::shuffle`].
    pub fn shuffle(mut self) -> Self {
        self.filters = self.filters.shuffle();
        self
    }

    /// Adds [`Filters::deflate`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// # #[cfg(feature = "deflate")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([1000]).shuffle().deflate(6).write(&[281.5f32; 10_000])?;
    /// let bytes = file.into_bytes()?;
    /// assert!(bytes.len() < 4000);
    /// assert_eq!(File::from_bytes(bytes)?.dataset("temperature")?.read::<f32>()?, [281.5; 10_000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn deflate(mut self, level: u32) -> Self {
        self.filters = self.filters.deflate(level);
        self
    }

    /// Adds [`Filters::fletcher32`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([2]).fletcher32().write(&[281.5f64, 282.0])?;
    /// let mut bytes = file.into_bytes()?;
    /// let at = bytes.windows(8).position(|part| part == 282f64.to_le_bytes()).unwrap();
    /// bytes[at] ^= 1; // one bit
    /// assert!(File::from_bytes(bytes)?.dataset("temperature")?.read::<f64>().is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fletcher32(mut self) -> Self {
        self.filters = self.filters.fletcher32();
        self
    }

    /// Adds [`Filters::lzf`].
    pub fn lzf(mut self) -> Self {
        self.filters = self.filters.lzf();
        self
    }

    /// Adds [`Filters::zstd`].
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// # #[cfg(feature = "zstd")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").chunks([1000]).shuffle().zstd(3).write(&[281.5f32; 10_000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.read::<f32>()?, [281.5; 10_000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn zstd(mut self, level: i32) -> Self {
        self.filters = self.filters.zstd(level);
        self
    }
}
