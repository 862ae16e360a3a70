//! Reading of files whose element type is only known at run time.

mod elements;
mod options;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats_core::endian::ByteOrder;
use sciformats_core::error::Within;
use sciformats_core::storage::Window;
use sciformats_core::{Conversion, Error, ReadAt, Result, arith, bound};

pub use self::options::OpenOptions;
use crate::model::element_type::ElementType;
use crate::model::layout::{self, Encoding, Layout};
use crate::spec::Header;
use crate::spec::header::MAGIC;

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

    /// Returns the dimensions in C order, the slowest varying first. Every [`Slab`](crate::Slab) selects from this shape.
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
}
