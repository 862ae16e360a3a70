//! Changes of a file in place.

use std::borrow::Cow;
use std::path::Path;

use sciformats_core::commit::{Edited, Head, Session, check_elements};
use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::{Durability, FileStorage};
use sciformats_core::{Error, Fault, FaultKind, Limits, ReadAt, Result, Slab, WriteAt};

use crate::edit::{self, Layout, may_have_journal};
use crate::element::Element;
use crate::reader::read_header;
use crate::spec::{DType, Header};

/// Overwrites elements of a file, and appends rows to it, without rewriting the rest.
///
/// Every call is a commit of its own. If it is interrupted, by the end of the process or a loss of power, the file contains the
/// array before or the array after the change, and readers see one of the two. During a commit the file ends with a journal, and
/// a copy of the bytes that are overwritten is kept in memory. Elements are given in C order, whatever their order in the file
/// is.
///
/// ```
/// use npy::{Editor, Range, Reader, Slab};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("positions.npy");
/// npy::write(&path, &[1, 2], &[1u16, 2])?;
/// let mut editor = Editor::open(&path)?;
/// editor.append(&[3u16, 4, 5, 6])?;
/// let second_column = Slab::new(editor.shape(), [Range::all(3), Range::new(1, 1)])?;
/// editor.write_slab(&second_column, &[20u16, 40, 60])?;
///
/// let reader = Reader::open(&path)?;
/// assert_eq!((reader.shape(), reader.read::<u16>()?), (&[3, 2][..], vec![1, 20, 3, 40, 5, 60]));
/// # Ok::<(), npy::Error>(())
/// ```
#[derive(Debug)]
pub struct Editor<S = FileStorage> {
    file: Edited<S, Layout>,
}

impl Editor {
    /// Opens a file, and completes an edit that was interrupted. Only one editor can have a file open.
    ///
    /// ```
    /// use npy::{Durability, Editor};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("log.npy");
    /// # npy::write(&path, &[1], &[20.5f32])?;
    /// let mut editor = Editor::open(&path)?.with_durability(Durability::Power);
    /// assert!(Editor::open(&path).is_err()); // one at a time
    /// editor.append(&[20.6f32])?;
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::open`](crate::Reader::open); `Conflict` if another editor has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { file: Edited::open(path)? })
    }
}

impl<S: ReadAt + WriteAt> Editor<S> {
    /// Edits a storage, and completes an edit that was interrupted.
    ///
    /// ```
    /// use npy::{Editor, Reader};
    ///
    /// let mut editor = Editor::in_storage(npy::to_bytes(&[2], &[1u8, 2])?)?;
    /// editor.append(&[3u8])?;
    /// assert_eq!(Reader::from_bytes(editor.into_storage())?.read::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::open`](crate::Reader::open).
    pub fn in_storage(storage: S) -> Result<Self> {
        Ok(Self { file: Edited::over(storage)? })
    }

    /// Returns the same editor with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { file: self.file.with_durability(durability) }
    }

    /// Returns the header, which describes the array.
    pub fn header(&self) -> &Header {
        &self.layout().header
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> &DType {
        &self.layout().header.dtype
    }

    /// Returns the dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.layout().header.shape
    }

    /// Returns the storage.
    pub fn into_storage(self) -> S {
        self.file.into_storage()
    }

    /// Appends rows along the dimension that varies slowest, which is the first dimension, or in Fortran order the last. The rows
    /// are an array with the other dimensions of this array, in C order.
    ///
    /// The length of the header does not change, so its text must have space for the new shape. NumPy and this crate leave space
    /// for 21 digits.
    ///
    /// ```
    /// use npy::Editor;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.npy");
    /// npy::write(&path, &[1, 3], &[0.0f64, 0.0, 0.0])?; // one position
    /// let mut editor = Editor::open(&path)?;
    /// editor.append(&[0.1f64, 0.2, 0.3, 0.4, 0.5, 0.6])?; // and two more
    /// assert_eq!(editor.shape(), [3, 3]);
    /// assert!(editor.append(&[0.7f64]).is_err()); // not a whole row
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `T` is not the type of the elements, if they are not whole rows, if the array has no dimensions or its rows
    /// have no bytes, or if other bytes follow the elements in the file; `Unsupported` if the header has no space for the new
    /// shape; `Io`, after which the file contains the array before or the array after the change.
    pub fn append<T: Element>(&mut self, rows: &[T]) -> Result<()> {
        let bytes = self.stored(rows)?;
        self.append_bytes(&bytes)
    }

    /// Does the same as [`append`](Self::append), with elements that are given as bytes of the file's type.
    ///
    /// ```
    /// use npy::{Editor, Reader};
    ///
    /// let mut editor = Editor::in_storage(npy::to_bytes(&[1, 2], &[1u16, 2])?)?; // two elements of two bytes are a row
    /// editor.append_bytes(&[3, 0, 4, 0])?;
    /// assert_eq!(Reader::from_bytes(editor.into_storage())?.read::<u16>()?, [1, 2, 3, 4]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn append_bytes(&mut self, rows: &[u8]) -> Result<()> {
        self.file.settle()?;
        let (plan, header) = edit::append(self.file.storage(), self.layout(), Cow::Borrowed(rows))?;
        let layout = Layout { header, file_len: plan.new_len, ..self.layout().clone() };
        self.file.commit(plan, layout)
    }

    /// Overwrites the selected elements.
    ///
    /// ```
    /// use npy::{Editor, Range, Reader, Slab};
    ///
    /// let mut editor = Editor::in_storage(npy::to_bytes(&[2, 3], &[1u8, 2, 3, 4, 5, 6])?)?;
    /// let ends = Slab::new(editor.shape(), [Range::all(2), Range::all(2).by(2)])?;
    /// editor.write_slab(&ends, &[10u8, 30, 40, 60])?;
    /// assert_eq!(Reader::from_bytes(editor.into_storage())?.read::<u8>()?, [10, 2, 30, 40, 5, 60]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `T` is not the type of the elements, if the slab selects from another shape, or if the number of elements
    /// differs; `Io`, after which the file contains the array before or the array after the change.
    pub fn write_slab<T: Element>(&mut self, slab: &Slab, elements: &[T]) -> Result<()> {
        let bytes = self.stored(elements)?;
        self.write_slab_bytes(slab, &bytes)
    }

    /// Does the same as [`write_slab`](Self::write_slab), with elements that are given as bytes of the file's type.
    ///
    /// ```
    /// use npy::{Editor, Range, Reader, Slab};
    ///
    /// let mut editor = Editor::in_storage(npy::to_bytes(&[3], &[1u16, 2, 3])?)?;
    /// let last = Slab::new(editor.shape(), [Range::new(2, 1)])?;
    /// editor.write_slab_bytes(&last, &[0x2c, 1])?;
    /// assert_eq!(Reader::from_bytes(editor.into_storage())?.read::<u16>()?, [1, 2, 300]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write_slab`](Self::write_slab).
    pub fn write_slab_bytes(&mut self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.file.settle()?;
        check_elements(slab, self.shape(), self.layout().size, bytes)?;
        let plan = edit::overwrite(self.file.storage(), self.layout(), slab, Cow::Borrowed(bytes))?;
        let layout = Layout { file_len: plan.new_len, ..self.layout().clone() };
        self.file.commit(plan, layout)
    }

    /// Returns elements as the bytes of the file's type.
    fn stored<T: Element>(&self, elements: &[T]) -> Result<Vec<u8>> {
        let (given, stored) = (T::dtype(), self.dtype());
        match (&given, stored) {
            (DType::Scalar { kind, size, .. }, DType::Scalar { kind: of, size: wide, order })
                if kind == of && size == wide =>
            {
                let mut bytes = Vec::with_capacity(size_of_val(elements));
                elements.iter().for_each(|element| element.put(&mut bytes));
                ByteOrder::Little.convert(*order, &mut bytes, size_of::<T>());
                Ok(bytes)
            }
            _ => Err(Error::usage(
                "element type",
                format!("is {given}, but the elements of the array are {stored}"),
            )),
        }
    }

    fn layout(&self) -> &Layout {
        self.file.head()
    }
}

impl Head for Layout {
    fn read<S: ReadAt + WriteAt>(session: &mut Session<S>) -> Result<Self> {
        let limits = Limits::default();
        let (_, header, data) = read_header(session.storage(), &limits)?;
        if may_have_journal(&header, data, session.storage().size()) {
            session.recover()?;
        }
        let (preamble, header, data) = read_header(session.storage(), &limits)?;
        if header.dtype.has_objects() {
            return Err(Error::unsupported("editing an array of Python objects"));
        }
        let file_len = session.storage().size();
        let whole = header.stored_size().and_then(|size| data.checked_add(size));
        let size = header.dtype.size().filter(|_| whole.is_some_and(|whole| whole <= file_len));
        let short = || Fault::new("elements", FaultKind::Truncated).at("array", file_len);
        Ok(Self { preamble, header, data, size: size.ok_or_else(short)?, file_len })
    }

    /// Edits build upon the header, which also determines the length of the file.
    fn span(&self) -> u64 {
        self.data
    }
}
