//! Reading of files whose element type is only known at run time.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats_core::endian::ByteOrder;
use sciformats_core::error::Within;
use sciformats_core::number::not_stored_as;
use sciformats_core::storage::{Access, Window, zeroed};
use sciformats_core::{Conversion, Error, Fault, FaultKind, Limits, ReadAt, Result, Slab, arith, bound};

use crate::element::Element;
use crate::model::element_type::ElementType;
use crate::model::layout::{self, Encoding, Layout};
use crate::model::payload;
use crate::spec::Header;
use crate::spec::header::MAGIC;

/// Options for opening a file.
///
/// ```
/// use rawarray::{Access, Limits, OpenOptions, RawArray, Reader};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("rows.ra");
/// # RawArray::from(vec![1u8, 2]).write(&path)?;
/// let limits = Limits::default().with_memory(1 << 20); // for what an encoded array decodes to
/// let options = OpenOptions::default().with_access(Access::direct()).with_limits(limits);
/// assert_eq!(Reader::open_with(&path, &options)?.read::<u8>()?, [1, 2]);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The limits on what a file may declare.
    pub limits: Limits,
    /// Whether files with flags that the format does not define are read as if these flags were not set. The default is false,
    /// because such a flag may mean that the data must be interpreted differently.
    pub ignore_undefined_flags: bool,
    /// How files are accessed. The default is to use system calls. If it is certain that nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory; stored bytes then need not be copied.
    pub access: Access,
    /// Whether a file that a [`StreamWriter`](crate::StreamWriter) has not finished is opened with the rows that are in it. The
    /// default is false, because the writer may be gone, and nothing says whether all rows are there.
    pub unfinished: bool,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options; undefined flags are ignored or not.
    ///
    /// ```
    /// use rawarray::{OpenOptions, RawArray, Reader};
    ///
    /// let mut bytes = RawArray::from(vec![1u8, 2]).encode(&Default::default())?;
    /// bytes[8] = 1 << 5; // bit 5 of the flags
    /// assert!(Reader::from_bytes(bytes.clone()).is_err());
    /// let options = OpenOptions::default().with_undefined_flags_ignored(true);
    /// assert_eq!(Reader::from_storage(bytes, &options)?.read::<u8>()?, [1, 2]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_undefined_flags_ignored(self, ignore_undefined_flags: bool) -> Self {
        Self { ignore_undefined_flags, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the same options; a file that is being written row by row is opened with its whole rows, or not.
    ///
    /// ```
    /// use rawarray::{OpenOptions, Reader, StreamWriter, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// let mut stream = StreamWriter::create::<f64>(&path, &[2], &WriteOptions::default())?;
    /// stream.write(&[0.1, 0.2, 0.3])?; // a row and a half
    /// stream.sync()?;
    /// assert!(Reader::open(&path).is_err());
    /// let reader = Reader::open_with(&path, &OpenOptions::default().with_unfinished(true))?;
    /// assert_eq!((reader.shape(), reader.read::<f64>()?), (&[1, 2][..], vec![0.1, 0.2]));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_unfinished(self, unfinished: bool) -> Self {
        Self { unfinished, ..self }
    }
}

/// Returns whether the storage begins like a RawArray file. Nothing else of it is examined.
///
/// ```
/// use rawarray::{RawArray, is_rawarray};
///
/// let bytes = RawArray::from(vec![1u8, 2]).encode(&Default::default())?;
/// assert!(is_rawarray(&bytes));
/// assert!(!is_rawarray(&b"#ASDF 1.0.0"[..]));
/// # Ok::<(), rawarray::Error>(())
/// ```
pub fn is_rawarray(storage: &(impl ReadAt + ?Sized)) -> bool {
    storage.size() >= MAGIC.len() as u64 && storage.read_at(0, MAGIC.len()).is_ok_and(|magic| *magic == MAGIC)
}

/// An open file. Opening reads only the header. All reading takes `&self`, and can be done from any thread.
///
/// ```
/// use rawarray::{ElementType, Range, RawArray, Reader, Slab};
///
/// let array = RawArray::new([3, 2], vec![1i16, 2, 3, 4, 5, 6])?;
/// let reader = Reader::from_bytes(array.encode(&Default::default())?)?;
/// assert_eq!(reader.element(), ElementType::Int(2));
/// assert_eq!(reader.dims(), [3, 2]); // the fastest varying first
/// assert_eq!(reader.shape(), [2, 3]); // the slowest varying first
/// let slab = Slab::new(reader.shape(), [Range::new(0, 2), Range::new(1, 2)])?;
/// assert_eq!(reader.read_slab::<i16>(&slab)?, [2, 3, 5, 6]);
/// # Ok::<(), rawarray::Error>(())
/// ```
pub struct Reader {
    storage: Arc<dyn ReadAt>,
    /// The path, for errors.
    path: Option<Box<Path>>,
    layout: Layout,
    options: OpenOptions,
    /// How many files contain this file as an element, one within another.
    depth: usize,
    /// The whole array in little-endian order. It is kept once a part was requested of an array that can only be decoded as a
    /// whole.
    decoded: OnceLock<Vec<u8>>,
    conversion: Conversion,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file. If an edit was interrupted, the reader sees the array before or after the edit, depending on which of the
    /// two the file contains.
    ///
    /// ```no_run
    /// use rawarray::Reader;
    ///
    /// let reader = Reader::open("image.ra")?;
    /// println!("{:?} of {}, {:?}", reader.shape(), reader.element(), reader.encoding());
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed` if the header contradicts itself or the length of the file; `Unsupported` if it has a flag that the
    /// format does not define.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with options.
    ///
    /// ```no_run
    /// use rawarray::{Access, OpenOptions, Reader};
    ///
    /// // A file that another program writes to.
    /// let reader = Reader::open_with("image.ra", &OpenOptions::default().with_access(Access::direct()))?;
    /// # Ok::<(), rawarray::Error>(())
    /// ```
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
    /// use rawarray::{RawArray, Reader};
    ///
    /// let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// assert_eq!(Reader::from_bytes(bytes)?.len(), 2);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in a storage of the caller.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rawarray::{OpenOptions, RawArray, ReadAt, Reader};
    ///
    /// # let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let shared: Arc<dyn ReadAt> = Arc::new(bytes);
    /// let reader = Reader::from_storage(shared, &OpenOptions::default())?;
    /// assert_eq!(reader.read::<f32>()?, [20.5, 20.6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        let (header, storage) = layout::open(storage)?;
        if header.size == Header::UNFINISHED && options.unfinished {
            let header = layout::so_far(header, storage.size())?;
            // What follows the whole rows is a part of a row.
            let whole = Window::new(storage, 0, bound::sum(header.end(), header.size))?;
            return Self::of(header, Arc::new(whole), *options, 0);
        }
        Self::of(header, storage, *options, 0)
    }

    fn of(header: Header, storage: Arc<dyn ReadAt>, options: OpenOptions, depth: usize) -> Result<Self> {
        let layout = Layout::new(header, storage.size(), options.ignore_undefined_flags)?;
        let (decoded, conversion) = (OnceLock::new(), Conversion::Exact);
        Ok(Self { storage, path: None, layout, options, depth, decoded, conversion })
    }

    /// Returns the bytes of the whole file as they are stored, without what an interrupted edit left.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes.clone())?;
    /// assert_eq!(reader.stored().read_at(0, bytes.len())?, bytes);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn stored(&self) -> &dyn ReadAt {
        &*self.storage
    }

    /// Returns the header as it is stored.
    pub fn header(&self) -> &Header {
        &self.layout.header
    }

    /// Returns the dimensions in the order of the format, the fastest varying first. A single element has no dimensions.
    pub fn dims(&self) -> &[u64] {
        &self.layout.header.dims
    }

    /// Returns the dimensions in C order, the slowest varying first. Every [`Slab`] selects from this shape.
    pub fn shape(&self) -> &[u64] {
        &self.layout.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.layout.count
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.count == 0
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> ElementType {
        self.layout.element
    }

    /// Returns how the elements are stored.
    ///
    /// ```
    /// use rawarray::{ByteOrder, Encoding, Reader, WriteOptions, Writer};
    ///
    /// let options = WriteOptions::default().with_byte_order(ByteOrder::Big);
    /// let bytes = Writer::new(&[3]).with_options(options).with_metadata(b"volts").encode(&[1.0f32, 2.0, 3.0])?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!((reader.encoding(), reader.byte_order()), (Encoding::Raw, ByteOrder::Big));
    /// assert_eq!((reader.stored_size(), reader.metadata_len()), (12, 5));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn encoding(&self) -> Encoding {
        self.layout.encoding
    }

    /// Returns the byte order in which the elements are stored.
    pub fn byte_order(&self) -> ByteOrder {
        self.layout.order
    }

    /// Returns the number of bytes that the data occupy in the file.
    pub fn stored_size(&self) -> u64 {
        self.layout.stored
    }

    /// Returns the number of bytes after the data.
    pub fn metadata_len(&self) -> u64 {
        bound::left(self.layout.file_len, self.layout.metadata())
    }

    /// Returns the bytes after the data, which the format leaves to the user. A LEB128 payload extends to the end of the file, so
    /// there are none after it.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// let bytes = RawArray::from(vec![0.1f32]).with_metadata(*b"unit: T").encode(&Default::default())?;
    /// assert_eq!(*Reader::from_bytes(bytes)?.metadata()?, *b"unit: T");
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `LimitExceeded` if this machine cannot address them.
    pub fn metadata(&self) -> Result<Cow<'_, [u8]>> {
        let len = sciformats_core::limits::within("bytes of metadata", self.metadata_len(), u64::MAX)?;
        self.storage.read_at(self.layout.metadata(), len).within(self.path.as_deref(), None)
    }

    /// Returns the same reader with other rules for the conversion of elements to a type.
    ///
    /// ```
    /// use rawarray::{Conversion, Error, RawArray, Reader};
    ///
    /// let reader = Reader::from_bytes(RawArray::from(vec![20.0, 300.5]).encode(&Default::default())?)?;
    /// assert!(matches!(reader.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// let reader = reader.with_conversion(Conversion::Lossy);
    /// assert_eq!(reader.read::<u8>()?, [20, 255]);
    /// let reader = reader.with_conversion(Conversion::None);
    /// assert!(reader.read::<f64>().is_ok() && reader.read::<f32>().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Reads the whole array in the order of the file, in which the first of [`dims`](Self::dims) varies fastest. Elements are
    /// converted if no value changes.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// # let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.read::<f32>()?, [20.5, 20.6]);
    /// assert_eq!(reader.read::<f64>()?[0], 20.5);
    /// assert!(reader.read::<i32>().is_err()); // 20.5 is no integer
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold; `Usage` if the elements are of another kind; `Malformed`;
    /// `LimitExceeded` if an encoded array is larger than the limit; `Io`.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.check_type::<T>()?;
        self.check_size()?;
        let mut out = zeroed(self.count()?)?;
        self.read_into(&mut out)?;
        Ok(out)
    }

    /// Reads the whole array into `out`, which must have [`len`](Self::len) elements.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// # let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let mut temperature = [0f32; 2]; // to be used for the next file, too
    /// reader.read_into(&mut temperature)?;
    /// assert_eq!(temperature, [20.5, 20.6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if `out` has another length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.check_type::<T>()?;
        check_len(out.len(), self.layout.count)?;
        self.fill(out, |bytes| {
            payload::read_all(&self.storage, &self.layout, ByteOrder::NATIVE, bytes)?;
            Ok(ByteOrder::NATIVE)
        })
    }

    /// Returns the whole array. It is borrowed if the storage has it in memory, aligned, unencoded, and in the byte order of the
    /// machine, which is usually the case if the file is [mapped](Access::mapped). Otherwise it is read as by
    /// [`read`](Self::read).
    ///
    /// ```
    /// use rawarray::{Access, OpenOptions, RawArray, Reader};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("temperature.ra");
    /// # RawArray::from(vec![20.5f32, 21.5]).write(&path)?;
    /// // SAFETY: nobody else knows of the file.
    /// let mapped = OpenOptions::default().with_access(unsafe { Access::mapped() });
    /// let reader = Reader::open_with(&path, &mapped)?;
    /// let temperature = reader.view::<f32>()?; // in the map, no copy of the file
    /// assert_eq!(temperature.iter().sum::<f32>(), 42.0);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn view<T: Element>(&self) -> Result<Cow<'_, [T]>> {
        self.check_type::<T>()?;
        match self.stored_elements().and_then(T::view) {
            // The number of elements without bytes does not follow from their bytes.
            Some(elements) if elements.len() as u64 == self.len() && T::TYPE == self.element() => {
                Ok(Cow::Borrowed(elements))
            }
            _ => self.read().map(Cow::Owned),
        }
    }

    /// Returns the stored bytes of the elements, if they are in memory and need no conversion.
    fn stored_elements(&self) -> Option<&[u8]> {
        let layout = &self.layout;
        let plain = layout.encoding == Encoding::Raw
            && (layout.order == ByteOrder::NATIVE || layout.element.component() == 1);
        let bytes = self.storage.as_slice().filter(|_| plain)?;
        let (start, end) = (usize::try_from(layout.data).ok()?, usize::try_from(layout.metadata()).ok()?);
        bytes.get(start..end)
    }

    /// Reads the selected elements. The last dimension of [`shape`](Self::shape) varies fastest. If the array is not encoded,
    /// only the selected elements are read, and gaps between them that are too short to skip.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::new([3, 100], (0..300u32).collect::<Vec<_>>())?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.shape(), [100, 3]);
    /// let frames = Slab::new(reader.shape(), [Range::new(10, 2), Range::all(3)])?;
    /// assert_eq!(reader.read_slab::<u32>(&frames)?, [30, 31, 32, 33, 34, 35]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if the slab does not select from this array's [`shape`](Self::shape).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.check_type::<T>()?;
        self.check_slab(slab)?;
        self.check_size()?;
        let mut out = zeroed(usize::try_from(slab.len()).map_err(|_| too_large(slab.len()))?)?;
        self.read_slab_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads the selected elements into `out`, which must have the same number of elements.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::new([3, 4], (0..12u32).collect::<Vec<_>>())?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let (mut row, mut sums) = ([0u32; 3], Vec::new());
    /// for i in 0..4 {
    ///     reader.read_slab_into(&Slab::new(reader.shape(), [Range::new(i, 1), Range::all(3)])?, &mut row)?;
    ///     sums.push(row.iter().sum::<u32>());
    /// }
    /// assert_eq!(sums, [3, 12, 21, 30]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        self.check_type::<T>()?;
        self.check_slab(slab)?;
        check_len(out.len(), slab.len())?;
        self.fill(out, |bytes| self.gather(slab, bytes))
    }

    /// Reads the selected elements as decoded little-endian bytes into `out`, which must have their total size. A truth value is
    /// one byte.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::from(vec![1u16, 2, 300]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let slab = Slab::new(reader.shape(), [Range::new(1, 2)])?;
    /// let mut out = vec![0; 2 * reader.element().size() as usize];
    /// reader.read_slab_bytes_into(&slab, &mut out)?;
    /// assert_eq!(out, [2, 0, 0x2c, 1]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.check_slab(slab)?;
        check_len(out.len(), bound::product(slab.len(), self.element().size()))?;
        let order = self.gather(slab, out).within(self.path.as_deref(), None)?;
        order.convert(ByteOrder::Little, out, self.element().swap_width());
        Ok(())
    }

    /// Reads all elements as decoded little-endian bytes. A truth value is one byte.
    ///
    /// ```
    /// use rawarray::{ByteOrder, RawArray, Reader, WriteOptions};
    ///
    /// let big = WriteOptions::default().with_byte_order(ByteOrder::Big);
    /// let reader = Reader::from_bytes(RawArray::from(vec![1u16, 300]).encode(&big)?)?;
    /// assert_eq!(reader.read_bytes()?, [1, 0, 0x2c, 1]); // little-endian, whatever the file is
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        payload::decode(&self.storage, &self.layout, &self.options.limits).within(self.path.as_deref(), None)
    }

    /// Opens an element as a RawArray file of its own; `index` is its position in the order of the file. Offsets in errors are
    /// counted from the start of the element.
    ///
    /// ```
    /// use rawarray::{ElementType, RawArray, Reader, Writer};
    ///
    /// // Two files, of 60 bytes each, as the elements of a third.
    /// let mut files = RawArray::from(vec![1u32]).encode(&Default::default())?;
    /// files.extend(RawArray::from(vec![2u32]).encode(&Default::default())?);
    /// let bytes = Writer::new(&[2]).encode_bytes(ElementType::Opaque(60), &files)?;
    /// assert_eq!(Reader::from_bytes(bytes)?.nested(1)?.read::<u32>()?, [2]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open); `Usage` if there is no such element; `Unsupported` if the elements are encoded;
    /// `LimitExceeded` if files are nested deeper than the limit.
    pub fn nested(&self, index: u64) -> Result<Self> {
        let depth = bound::sum(self.depth, 1);
        self.options.limits.depth("levels of files in files", depth)?;
        if index >= self.layout.count {
            return Err(Error::usage(
                "index",
                format!("is {index}, but the array has {} elements", self.len()),
            ));
        }
        if self.layout.encoding != Encoding::Raw {
            return Err(Error::unsupported("opening an element of an encoded array"));
        }
        let size = self.element().size();
        let start = arith::add(self.layout.data, arith::mul(index, size)?)?;
        let window = Window::new(Arc::clone(&self.storage), start, size)?;
        let nested = Self::of(layout::read_header(&window)?, Arc::new(window), self.options, depth)?;
        Ok(Self { path: self.path.clone(), ..nested.with_conversion(self.conversion) })
    }

    /// Fills `out` by means of `read`, which returns the byte order of the bytes that it read.
    fn fill<T: Element>(
        &self,
        out: &mut [T],
        read: impl FnOnce(&mut [u8]) -> Result<ByteOrder>,
    ) -> Result<()> {
        self.filled(out, read).within(self.path.as_deref(), None)
    }

    fn filled<T: Element>(
        &self,
        out: &mut [T],
        read: impl FnOnce(&mut [u8]) -> Result<ByteOrder>,
    ) -> Result<()> {
        let stored = self.element();
        if T::TYPE == stored
            && let Some(bytes) = T::bytes_mut(out)
        {
            let order = read(bytes)?;
            order.convert(ByteOrder::NATIVE, bytes, stored.swap_width());
            return Ok(());
        }
        let bytes = bound::product(out.len() as u64, stored.size());
        let mut bytes: Vec<u8> = zeroed(usize::try_from(bytes).map_err(|_| too_large(bytes))?)?;
        let order = read(&mut bytes)?;
        if stored == ElementType::Bool && bytes.iter().any(|&byte| byte > 1) {
            let rule = Fault::new("element", FaultKind::Rule("is neither 0 nor 1"));
            return Err(rule.at("array", self.layout.data));
        }
        let conversion = if T::TYPE == stored { Conversion::Exact } else { self.conversion };
        T::convert(stored, order, &bytes, conversion, out)
    }

    fn gather(&self, slab: &Slab, out: &mut [u8]) -> Result<ByteOrder> {
        payload::read_slab(&self.storage, &self.layout, slab, || self.decoded(), out)
    }

    fn decoded(&self) -> Result<&[u8]> {
        if self.decoded.get().is_none() {
            let bytes = payload::decode(&self.storage, &self.layout, &self.options.limits)?;
            // If another thread was faster, it set the same bytes.
            let _ = self.decoded.set(bytes);
        }
        Ok(self.decoded.get().map(Vec::as_slice).unwrap_or_default())
    }

    fn count(&self) -> Result<usize> {
        usize::try_from(self.layout.count).map_err(|_| too_large(self.layout.count))
    }

    fn check_size(&self) -> Result<()> {
        let checked = payload::checked_size(&self.layout, &self.options.limits);
        checked.map(drop).within(self.path.as_deref(), None)
    }

    fn check_type<T: Element>(&self) -> Result<()> {
        let stored = self.element();
        if T::TYPE == stored || self.conversion != Conversion::None {
            return Ok(());
        }
        Err(not_stored_as(T::TYPE, stored))
    }

    fn check_slab(&self, slab: &Slab) -> Result<()> {
        if slab.of().iter().eq(self.dims().iter().rev()) {
            return Ok(());
        }
        Err(Error::usage(
            "slab",
            format!(
                "selects from an array of {:?}, but this array has the shape {:?}",
                slab.of(),
                self.shape()
            ),
        ))
    }
}

fn too_large(count: u64) -> Error {
    Error::limit_exceeded("elements", count, usize::MAX as u64)
}

fn check_len(found: usize, expected: u64) -> Result<()> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(Error::usage("out", format!("has a length of {found}, not {expected}")))
}
