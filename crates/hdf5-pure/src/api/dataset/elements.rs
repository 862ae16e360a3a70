//! Reads the elements of a dataset, as they are stored or as a type of Rust.

use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, Slab, bound};

use super::Dataset;
use crate::dataset::read::Reader;
use crate::spec::message::layout::Layout;
use crate::value::canonical::Canonical;
use crate::value::element::Element;

impl Dataset {
    /// Returns the number of bytes that the elements of `slab` take in their stored form.
    pub(super) fn raw_size(&self, slab: &Slab) -> Result<usize> {
        if Some(slab.of()) != self.dataspace().extent() {
            return Err(Error::usage("slab", "was made for an array of another shape than the dataset's"));
        }
        let bytes = bound::product(slab.len(), self.element_size());
        self.within(self.file.opened().context.limits.memory("bytes of the selection", bytes))
    }

    /// Reads the selected elements in C order and returns their bytes as they are stored.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::unsigned(2).big_endian()).write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.read_raw(&counts.all()?)?, [0, 1, 2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed`, `Unsupported` (for a filter), `LimitExceeded` or `Io`, and [`Error::Usage`] if the slab was
    /// made for another shape.
    pub fn read_raw(&self, slab: &Slab) -> Result<Vec<u8>> {
        let mut out = zeroed(self.raw_size(slab)?)?;
        self.read_raw_into(slab, &mut out)?;
        Ok(out)
    }

    /// Works like [`read_raw`](Self::read_raw), but fills a buffer, which must have exactly as many bytes as the
    /// selection.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// let mut bytes = [0; 48];
    /// temperature.read_raw_into(&temperature.all()?, &mut bytes)?;
    /// assert_eq!(bytes[..8], 281.5f64.to_le_bytes());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw).
    pub fn read_raw_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if self.raw_size(slab)? != out.len() {
            return Err(Error::usage("out", "must have as many bytes as the selection"));
        }
        let opened = self.file.opened();
        let reader = Reader::new(opened, &self.content, opened.threads());
        self.within(opened.attempts(|| reader.read(slab, out)))
    }

    /// Reads the selected elements in a byte form that depends only on their values; see
    /// [`canonical`](crate::value::canonical).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::unsigned(2).big_endian()).write(&[1u16, 515])?;
    /// file.dataset("names").write(&["K"])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let canonical = |name| file.dataset(name).and_then(|dataset| dataset.read_canonical(&dataset.all()?));
    /// assert_eq!(canonical("counts")?, [1, 0, 3, 2]); // little-endian
    /// assert_eq!(canonical("names")?, [1, 0, 0, 0, 0, 0, 0, 0, b'K']); // length and text
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), and an error if the data that the elements refer to cannot
    /// be read.
    pub fn read_canonical(&self, slab: &Slab) -> Result<Vec<u8>> {
        let raw = self.read_raw(slab)?;
        let canonical = Canonical::new(self.file.opened(), &self.content.datatype);
        self.within(canonical.and_then(|canonical| canonical.convert(raw, self.data_offset())))
    }

    /// Reads all elements in C order. They are converted only where no value changes; see [`Element`].
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("weather.h5")?;
    /// let temperatures: Vec<f32> = file.dataset("/t")?.read()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), [`Error::Misfit`] with the first element that `T` cannot
    /// hold, and [`Error::Usage`] if `T` cannot represent elements of this datatype.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        match self.dataspace().extent() {
            None => Ok(Vec::new()),
            Some(shape) => self.read_slab(&Slab::all(shape)?),
        }
    }

    /// Reads the selected elements in C order.
    ///
    /// ```
    /// use hdf5_pure::{Range, Slab};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// let shape = temperature.shape();
    /// let second_row = Slab::new(shape, [Range::new(1, 1), Range::all(3)])?;
    /// assert_eq!(temperature.read_slab::<f32>(&second_row)?, [280.0, 280.5, 281.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let len = self.raw_size(slab)? / size_of::<T>().max(1);
        if let Some(read) = T::read_direct(self.datatype(), len, &mut |out| self.read_raw_into(slab, out)) {
            return self.within(read);
        }
        self.convert(slab)
    }

    /// Works like [`read_slab`](Self::read_slab), but fills a buffer, which must have as many elements as the
    /// selection.
    ///
    /// ```no_run
    /// use hdf5_pure::{File, Range, Slab};
    ///
    /// let frames = File::open("movie.h5")?.dataset("/frames")?;
    /// let mut frame = vec![0.0f32; 512 * 512];
    /// for i in 0..100 {
    ///     let range = [Range::new(i, 1), Range::all(512), Range::all(512)];
    ///     frames.read_slab_into(&Slab::new(&[100, 512, 512], range)?, &mut frame)?;
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::Usage`] if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        if usize::try_from(slab.len()) != Ok(out.len()) {
            return Err(Error::usage("out", "must have as many elements as the selection"));
        }
        match T::bytes_of(self.datatype(), out) {
            Some(bytes) => self.read_raw_into(slab, bytes),
            None => self.convert_into(slab, out),
        }
    }

    /// Returns the bytes of all elements if they are contiguous and the file is in memory.
    fn bytes(&self) -> Option<&[u8]> {
        let storage = self.content.storage().ok()?;
        let Layout::Contiguous { address: Some(at) } = storage.layout else { return None };
        if storage.external.is_some() {
            return None;
        }
        let context = &self.file.opened().context;
        let start = usize::try_from(context.offset(at)).ok()?;
        let bytes = self.content.dataspace.elements()?.checked_mul(self.element_size())?;
        context.storage.as_slice()?.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// Reads single elements in the given order. Each point has one coordinate per dimension.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.read_points::<f64>(&[vec![1, 2], vec![0, 0]])?, [281.0, 281.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_points<T: Element>(&self, points: &[Vec<u64>]) -> Result<Vec<T>> {
        let shape = self.shape();
        let size = bound::addressable(self.element_size());
        let mut raw = zeroed(bound::product(points.len(), size))?;
        for (point, out) in points.iter().zip(raw.chunks_exact_mut(size.max(1))) {
            let ranges: Vec<_> = point.iter().map(|&at| sciformats_core::Range::new(at, 1)).collect();
            self.read_raw_into(&Slab::new(shape, ranges)?, out)?;
        }
        self.typed(self.datatype(), &raw)
    }

    /// Returns all elements without copying them. This works only if they are contiguous, in memory, aligned, and
    /// stored in the form that this machine uses; otherwise the result is `None`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("image").write(&[10u8, 20, 30])?;
    /// let image = File::from_bytes(file.into_bytes()?)?.dataset("image")?;
    /// assert_eq!(image.as_slice::<u8>(), Some(&[10, 20, 30][..]));
    /// assert_eq!(image.as_slice::<i32>(), None); // these would be converted
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn as_slice<T: Element + bytemuck::AnyBitPattern>(&self) -> Option<&[T]> {
        let bytes = self.bytes().filter(|_| T::is_stored_as(&self.content.datatype))?;
        bytemuck::try_cast_slice(bytes).ok()
    }
}
