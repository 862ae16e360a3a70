//! The value of elements that are never written, and when space is allocated.

use sciformats_core::Result;

use super::DatasetBuilder;
use crate::value::store::{self, Encoder, Store};

impl<'w> DatasetBuilder<'w> {
    /// Sets the value of elements that are never written.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([3]).fill(-1).create::<i32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<i32>()?, [-1, -1, -1]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill<T: Store>(mut self, value: T) -> Self {
        match store::encoded(self.tree.elsewhere(), |to| T::encode(&[value], to)) {
            Ok(((), bytes)) => self.fill = Some((Some(T::datatype()), bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Sets the value of elements that are never written, as the bytes of one element in the dataset's datatype.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("marks").datatype(Datatype::opaque(2, "marks")).shape([2]).fill_raw(b"??").create_encoded()?;
    /// let marks = File::from_bytes(file.into_bytes()?)?.dataset("marks")?;
    /// assert_eq!(marks.read_raw(&marks.all()?)?, b"????");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_raw(mut self, element: &[u8]) -> Self {
        self.fill = Some((None, element.to_vec()));
        self
    }

    /// Sets the value of elements that are never written, as one element that `encode` appends. Use it for datatypes of
    /// variable length.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let names = file.dataset("stations").datatype(Datatype::string()).shape([2]).chunks([2]);
    /// names.fill_encoded(|to| to.sequence(7, b"unknown")).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("stations")?.read::<String>()?, ["unknown", "unknown"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// The call that creates the dataset returns the error of `encode`.
    pub fn fill_encoded(mut self, encode: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> Self {
        match store::encoded(self.tree.elsewhere(), encode) {
            Ok(((), bytes)) => self.fill = Some((None, bytes)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Sets when space is allocated (1 early, 2 late, 3 per chunk) and when the fill value is written (0 on allocation,
    /// 1 never, 2 if the value was set). These are the codes of [`FillValue`](crate::structure::FillValue), so they can
    /// be copied from another dataset.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).chunks([4]).storage_times(1, 1).create::<u8>()?;
    /// let fill = File::from_bytes(file.into_bytes()?)?.dataset("frames")?.fill_value()?.clone();
    /// assert_eq!((fill.allocation_time, fill.write_time), (1, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn storage_times(mut self, allocation: u8, write: u8) -> Self {
        self.times = Some((allocation, write));
        self
    }

    /// Sets when the fill value is written, with the codes of [`storage_times`](Self::storage_times). Space is allocated as the
    /// layout requires.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).chunks([4]).fill_time(1).create::<u8>()?;
    /// let fill = File::from_bytes(file.into_bytes()?)?.dataset("frames")?.fill_value()?.clone();
    /// assert_eq!((fill.allocation_time, fill.write_time), (3, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_time(mut self, write: u8) -> Self {
        self.fill_time = Some(write);
        self
    }

    /// Declares that elements that are never written have no defined value.
    ///
    /// ```
    /// use hdf5_pure::structure::Fill;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("energy").shape([1000]).max_shape([None]).fill_undefined().create::<f64>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("energy")?.fill_value()?.value, Fill::Undefined);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fill_undefined(mut self) -> Self {
        self.undefined = true;
        self
    }

    /// Allocates the space of all elements at once and fills it. For chunked storage this is only noted in the file:
    /// chunks are stored when they are written.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([10, 64]).allocate_early().create::<u8>()?;
    /// let frames = File::from_bytes(file.into_bytes()?)?.dataset("frames")?;
    /// // Nothing was written, and there is a place for it.
    /// assert!(matches!(frames.layout()?, Layout::Contiguous { address: Some(_) }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn allocate_early(mut self) -> Self {
        self.early = true;
        self
    }
}
