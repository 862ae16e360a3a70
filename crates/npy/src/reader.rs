//! Reading of files.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::commit::journal;
use sciformats_core::endian::ByteOrder;
use sciformats_core::error::Within;
use sciformats_core::number::not_stored_as;
use sciformats_core::storage::{Access, zeroed};
use sciformats_core::{Conversion, Error, Fault, FaultKind, Limits, ReadAt, Result, Slab, bound};

use crate::edit;
use crate::element::Element;
use crate::gather::Elements;
use crate::spec::header::{MAGIC, Preamble};
use crate::spec::{DType, Header, Kind};

/// Options for opening a file.
///
/// ```
/// use npy::{Access, Limits, OpenOptions, Reader};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// # npy::write(&path, &[2], &[1.0f32, 2.0])?;
/// let limits = Limits::default().with_memory(1 << 20);
/// let options = OpenOptions::default().with_access(Access::direct()).with_limits(limits);
/// assert_eq!(Reader::open_with(&path, &options)?.read::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), npy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The limits on what a file may declare.
    pub limits: Limits,
    /// How files are accessed. The default is to use system calls.
    pub access: Access,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }
}

/// Returns whether the storage begins like a file of this format. Nothing else of it is examined.
///
/// ```
/// assert!(npy::is_npy(&b"\x93NUMPY\x01\0"[..]));
/// assert!(!npy::is_npy(&b"#ASDF 1.0.0"[..]));
/// ```
pub fn is_npy(storage: &(impl ReadAt + ?Sized)) -> bool {
    let size = MAGIC.len();
    storage.size() >= size as u64 && storage.read_at(0, size).is_ok_and(|magic| *magic == MAGIC[..])
}

/// Returns the size that a file declares for itself, whether all of it is present or not; `None` if it does not declare a size.
///
/// ```
/// let mut bytes = npy::to_bytes(&[4], &[1u16, 2, 3, 4])?;
/// bytes.truncate(133);
/// assert_eq!(npy::whole_size(&bytes), Some(136));
/// # Ok::<(), npy::Error>(())
/// ```
pub fn whole_size(storage: &(impl ReadAt + ?Sized)) -> Option<u64> {
    let (_, header, data) = read_header(storage, &Limits::default()).ok()?;
    data.checked_add(header.stored_size()?)
}

/// An open file. Opening reads only the header. All reading takes `&self`, and can be done from any thread.
///
/// Elements are returned in C order, whatever their order in the file is.
///
/// ```
/// use npy::{Range, Reader, Slab};
///
/// let reader = Reader::from_bytes(npy::to_bytes(&[2, 3], &[1i16, 2, 3, 4, 5, 6])?)?;
/// assert_eq!((reader.dtype().to_string().as_str(), reader.shape()), ("'<i2'", &[2, 3][..]));
/// let slab = Slab::new(&[2, 3], [Range::all(2), Range::new(1, 1)])?;
/// assert_eq!(reader.read_slab::<f64>(&slab)?, [2.0, 5.0]);
/// # Ok::<(), npy::Error>(())
/// ```
pub struct Reader {
    storage: Arc<dyn ReadAt>,
    /// The path, for errors.
    path: Option<Box<Path>>,
    header: Header,
    version: (u8, u8),
    data: u64,
    /// The size of an element in bytes.
    size: u64,
    limits: Limits,
    conversion: Conversion,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file.
    ///
    /// ```no_run
    /// let reader = npy::Reader::open("u.npy")?;
    /// println!("{:?} of {}", reader.shape(), reader.dtype());
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed` if the header is damaged, or if the file ends before its elements do; `Unsupported` if the version is
    /// not known, or if the elements are Python objects.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with options.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let opened = Self::from_storage(options.access.open(path)?, options).within(Some(path), None)?;
        Ok(Self { path: Some(path.into()), ..opened })
    }

    /// Opens a file in memory.
    ///
    /// ```
    /// let reader = npy::Reader::from_bytes(npy::to_bytes(&[2], &[20.5f32, 20.6])?)?;
    /// assert_eq!(reader.len(), 2);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in a storage of the caller.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        let OpenOptions { limits, .. } = *options;
        let (preamble, mut header, data) = read_header(&storage, &limits)?;
        let mut storage: Arc<dyn ReadAt> = Arc::new(storage);
        if edit::may_have_journal(&header, data, storage.size()) && journal::is_interrupted(&*storage)? {
            storage = Arc::new(journal::view(storage)?);
            header = read_header(&*storage, &limits)?.1;
        }
        if header.dtype.has_objects() {
            return Err(Error::unsupported("an array of Python objects"));
        }
        let whole = header.stored_size().and_then(|size| data.checked_add(size));
        let size = header.dtype.size().filter(|_| whole.is_some_and(|whole| whole <= storage.size()));
        let short = || Fault::new("elements", FaultKind::Truncated).at("array", storage.size());
        let (size, version) = (size.ok_or_else(short)?, preamble.version);
        let conversion = Conversion::Exact;
        Ok(Self { storage, path: None, header, version, data, size, limits, conversion })
    }

    /// Returns the bytes of the whole file, as they are stored.
    ///
    /// ```
    /// let bytes = npy::to_bytes(&[2], &[1u8, 2])?;
    /// let reader = npy::Reader::from_bytes(bytes.clone())?;
    /// assert_eq!(reader.stored().read_at(0, bytes.len())?, bytes);
    /// # Ok::<(), npy::Error>(())
    /// ```
    pub fn stored(&self) -> &dyn ReadAt {
        &*self.storage
    }

    /// Returns the header, which describes the array.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the version of the format: major and minor.
    pub fn version(&self) -> (u8, u8) {
        self.version
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> &DType {
        &self.header.dtype
    }

    /// Returns the dimensions. Every [`Slab`] selects from this shape. If the array is in C order, the last dimension varies
    /// fastest.
    pub fn shape(&self) -> &[u64] {
        &self.header.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.header.elements().unwrap_or(u64::MAX) // a bound, because an open file has fewer
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of the elements in the file.
    pub fn data_offset(&self) -> u64 {
        self.data
    }

    /// Returns the size of all elements in the file in bytes.
    pub fn stored_size(&self) -> u64 {
        bound::product(self.len(), self.size)
    }

    /// Returns the number of bytes after the elements, which have no meaning.
    pub fn leftover(&self) -> u64 {
        bound::left(self.storage.size(), bound::sum(self.data, self.stored_size()))
    }

    /// Returns the same reader with other rules for the conversion of elements to a type.
    ///
    /// ```
    /// use npy::{Conversion, Error, Reader};
    ///
    /// let reader = Reader::from_bytes(npy::to_bytes(&[2], &[20.0, 300.5])?)?;
    /// assert!(matches!(reader.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// assert_eq!(reader.with_conversion(Conversion::Lossy).read::<u8>()?, [20, 255]);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Reads all elements in C order. They are converted if no value changes.
    ///
    /// ```
    /// let reader = npy::Reader::from_bytes(npy::to_bytes(&[2], &[20.5f32, 20.6])?)?;
    /// assert_eq!(reader.read::<f32>()?, [20.5, 20.6]);
    /// assert!(reader.read::<i32>().is_err()); // 20.5 is no integer
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold; `Usage` if the elements are not real numbers;
    /// `LimitExceeded`, `Io`.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_slab(&Slab::all(self.shape())?)
    }

    /// Reads the selected elements in C order. They are converted if no value changes.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if `slab` selects from another shape.
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.limits
            .memory("bytes of the elements to read", bound::product(slab.len(), size_of::<T>() as u64))?;
        let len = usize::try_from(slab.len()).map_err(|_| Error::usage("slab", "has too many elements"))?;
        let mut out = T::zeroed(len)?;
        self.read_slab_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads the selected elements into `out`, which must have the same number of elements.
    ///
    /// ```
    /// use npy::{Reader, Slab};
    ///
    /// let reader = Reader::from_bytes(npy::to_bytes(&[2], &[20.5f32, 20.6])?)?;
    /// let mut values = [0f32; 2]; // to be used again for the next file
    /// reader.read_slab_into(&Slab::all(&[2])?, &mut values)?;
    /// assert_eq!(values, [20.5, 20.6]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        if out.len() as u64 != slab.len() {
            return Err(Error::usage("out", format!("has a length of {}, not {}", out.len(), slab.len())));
        }
        let other = || not_stored_as(T::NAME, self.dtype());
        let (stored, order) = self.dtype().number().ok_or_else(other)?;
        let same = T::STORED == Some(stored)
            && matches!(self.dtype(), DType::Scalar { kind, .. } if *kind != Kind::Bool);
        if same && let Some(bytes) = T::bytes_mut(out) {
            self.read_slab_bytes_into(slab, bytes)?;
            order.convert(ByteOrder::NATIVE, bytes, stored.size());
            return Ok(());
        }
        if self.conversion == Conversion::None && T::dtype() != *self.dtype() {
            return Err(other());
        }
        let mut bytes = self.read_slab_bytes(slab)?;
        if matches!(self.dtype(), DType::Scalar { kind: Kind::Bool, .. }) {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        let exact = if T::dtype() == *self.dtype() { Conversion::Exact } else { self.conversion };
        T::read(stored, order, &bytes, exact, out).within(self.path.as_deref(), None)
    }

    /// Reads the selected elements as bytes of the file's type, in C order.
    ///
    /// ```
    /// use npy::{Range, Reader, Slab};
    ///
    /// let reader = Reader::from_bytes(npy::to_bytes(&[3], &[1u16, 2, 300])?)?;
    /// assert_eq!(reader.read_slab_bytes(&Slab::new(&[3], [Range::new(1, 2)])?)?, [2, 0, 0x2c, 1]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `LimitExceeded`, `Io`; `Usage` if `slab` selects from another shape.
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        let mut out = zeroed(self.bytes_of(slab)?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`read_slab_bytes`](Self::read_slab_bytes), but writes to `out`, which must have the total size.
    ///
    /// # Errors
    /// Those of [`read_slab_bytes`](Self::read_slab_bytes); `Usage` if `out` has another size.
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if self.bytes_of(slab)? != out.len() {
            return Err(Error::usage("out", "does not have the size of the selection"));
        }
        let Self { header, data, size, limits, .. } = self;
        let elements = Elements { storage: &*self.storage, header, data: *data, size: *size, limits };
        elements.read(slab, out).within(self.path.as_deref(), None)
    }

    /// Returns the size in bytes of the selected elements in the file.
    ///
    /// # Errors
    /// `LimitExceeded` if they exceed the limit of memory; `Usage` if `slab` selects from another shape.
    pub fn bytes_of(&self, slab: &Slab) -> Result<usize> {
        if slab.of() != self.shape() {
            return Err(Error::usage("selection", "selects from another shape than that of the array"));
        }
        let wide = || Error::usage("selection", "has more than 2^64 bytes");
        let size = slab.len().checked_mul(self.size).ok_or_else(wide)?;
        self.limits.memory("bytes of the selected elements", size).within(self.path.as_deref(), None)
    }
}

/// Returns how many of the bytes before the dictionary are present.
fn preamble_len(storage: &(impl ReadAt + ?Sized)) -> usize {
    bound::addressable(storage.size()).min(Preamble::SIZE)
}

/// Reads the header of a file. Returns it with the offset of the elements, whether they are all present or not.
pub(crate) fn read_header(
    storage: &(impl ReadAt + ?Sized),
    limits: &Limits,
) -> Result<(Preamble, Header, u64)> {
    let head = storage.read_at(0, preamble_len(storage))?;
    if !head.starts_with(MAGIC) {
        return Err(Error::not_this_format("npy", storage));
    }
    let preamble = Preamble::read(&head)?;
    let start = u64::from(preamble.start);
    let length = u64::from(preamble.length);
    let end = bound::sum(start, length);
    if end > storage.size() {
        return Err(Fault::new("header", FaultKind::Truncated).at("header", storage.size()));
    }
    let text = storage.read_at(start, limits.memory("bytes of the header", length)?)?;
    Ok((preamble, Header::read(&text, preamble.version, start)?, end))
}
