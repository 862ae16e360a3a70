//! Changes of a file in place.

use std::path::Path;

use sciformats_core::commit::{Edited, Head, Session, check_elements};
use sciformats_core::storage::{Durability, FileStorage};
use sciformats_core::{Error, ReadAt, Result, Slab, WriteAt};

use crate::element::Element;
use crate::model::edit::{self, Edit};
use crate::model::element_type::ElementType;
use crate::model::image::Elements;
use crate::model::layout::{Layout, read_header};
use crate::spec::Header;
use crate::writer::{little, typed};

/// Appends rows to a file, overwrites elements, and changes its metadata, without rewriting the rest.
///
/// Every call is a commit of its own. If it is interrupted, by the end of the process or a loss of power, the file contains the
/// array before or the array after the change, and readers see one of the two. During a commit the file ends with a journal, and
/// a copy of the bytes that are overwritten is kept in memory.
///
/// ```
/// use rawarray::{Editor, Range, RawArray, Slab};
///
/// # let dir = tempfile::tempdir().map_err(|e| rawarray::Error::io("create", e))?;
/// # let path = dir.path().join("rows.ra");
/// RawArray::new([2, 1], vec![1u16, 2])?.write(&path)?;
/// let mut editor = Editor::open(&path)?;
/// editor.append(&[3u16, 4, 5, 6])?;
/// let second_column = Slab::new(editor.shape(), [Range::all(3), Range::new(1, 1)])?;
/// editor.write_slab(&second_column, &[20u16, 40, 60])?;
/// editor.set_metadata(b"edited")?;
///
/// let array = RawArray::<u16>::read(&path)?;
/// assert_eq!((array.dims(), array.data()), (&[2, 3][..], &[1, 20, 3, 40, 5, 60][..]));
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Debug)]
pub struct Editor<S = FileStorage> {
    file: Edited<S, Layout>,
}

impl Editor {
    /// Opens a file, and completes an edit that was interrupted. Only one editor can have a file open.
    ///
    /// ```
    /// use rawarray::{Durability, Editor, RawArray};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("log.ra");
    /// # RawArray::from(vec![20.5f32]).write(&path)?;
    /// let mut editor = Editor::open(&path)?.with_durability(Durability::Power);
    /// assert!(Editor::open(&path).is_err()); // one at a time
    /// editor.append(&[20.6f32])?;
    /// # Ok::<(), rawarray::Error>(())
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
    /// use rawarray::{Editor, RawArray};
    ///
    /// let bytes = RawArray::from(vec![1u8, 2]).encode(&Default::default())?;
    /// let mut editor = Editor::in_storage(bytes)?;
    /// editor.append(&[3u8])?;
    /// assert_eq!(RawArray::<u8>::from_bytes(editor.into_storage())?.data(), [1, 2, 3]);
    /// # Ok::<(), rawarray::Error>(())
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

    /// Returns the header as it is stored.
    pub fn header(&self) -> &Header {
        &self.layout().header
    }

    /// Returns the dimensions, the fastest varying first.
    pub fn dims(&self) -> &[u64] {
        &self.layout().header.dims
    }

    /// Returns the dimensions in C order, the slowest varying first.
    pub fn shape(&self) -> &[u64] {
        &self.layout().shape
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> ElementType {
        self.layout().element
    }

    /// Returns the storage.
    pub fn into_storage(self) -> S {
        self.file.into_storage()
    }

    /// Appends rows along the slowest dimension, which is the last of [`dims`](Self::dims). The metadata stay after the data.
    ///
    /// ```
    /// use rawarray::{Editor, RawArray};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// RawArray::new([3, 1], vec![0.0f64, 0.0, 0.0])?.write(&path)?; // one position
    /// let mut editor = Editor::open(&path)?;
    /// editor.append(&[0.1f64, 0.2, 0.3, 0.4, 0.5, 0.6])?; // and two more
    /// assert_eq!(editor.dims(), [3, 3]);
    /// assert!(editor.append(&[0.7f64]).is_err()); // not a whole row
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `T` is not the type of the elements, if they are not whole rows, or if the array has no dimensions;
    /// `Unsupported` if the array is encoded; `Io`, after which the file contains the array before or the array after the change.
    pub fn append<T: Element>(&mut self, rows: &[T]) -> Result<()> {
        self.check_type::<T>()?;
        self.append_elements(typed(rows))
    }

    /// Does the same as [`append`](Self::append), with elements that are given as little-endian bytes.
    ///
    /// ```
    /// use rawarray::{Editor, RawArray};
    ///
    /// # let file = RawArray::new([2, 1], vec![1u16, 2])?.encode(&Default::default())?;
    /// let mut editor = Editor::in_storage(file)?; // two elements of two bytes are a row
    /// editor.append_bytes(&[3, 0, 4, 0])?;
    /// assert_eq!(RawArray::<u16>::from_bytes(editor.into_storage())?.data(), [1, 2, 3, 4]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn append_bytes(&mut self, rows: &[u8]) -> Result<()> {
        self.append_elements(little(self.layout().element, rows))
    }

    /// Overwrites the selected elements. The last dimension of [`shape`](Self::shape) varies fastest.
    ///
    /// ```
    /// use rawarray::{Editor, Range, RawArray, Slab};
    ///
    /// # let file = RawArray::new([3, 2], vec![1u8, 2, 3, 4, 5, 6])?.encode(&Default::default())?;
    /// let mut editor = Editor::in_storage(file)?; // 1, 2, 3 and 4, 5, 6
    /// let ends = Slab::new(editor.shape(), [Range::all(2), Range::all(2).by(2)])?;
    /// editor.write_slab(&ends, &[10u8, 30, 40, 60])?;
    /// assert_eq!(RawArray::<u8>::from_bytes(editor.into_storage())?.data(), [10, 2, 30, 40, 5, 60]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`append`](Self::append); `Usage` if the slab selects from another shape, or if the number of elements differs.
    pub fn write_slab<T: Element>(&mut self, slab: &Slab, elements: &[T]) -> Result<()> {
        self.check_type::<T>()?;
        self.overwrite(slab, typed(elements))
    }

    /// Does the same as [`write_slab`](Self::write_slab), with elements that are given as little-endian bytes.
    ///
    /// ```
    /// use rawarray::{Editor, Range, RawArray, Slab};
    ///
    /// # let file = RawArray::from(vec![1u16, 2, 3]).encode(&Default::default())?;
    /// let mut editor = Editor::in_storage(file)?;
    /// let last = Slab::new(editor.shape(), [Range::new(2, 1)])?;
    /// editor.write_slab_bytes(&last, &[0x2c, 1])?;
    /// assert_eq!(RawArray::<u16>::from_bytes(editor.into_storage())?.data(), [1, 2, 300]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write_slab`](Self::write_slab).
    pub fn write_slab_bytes(&mut self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.overwrite(slab, little(self.layout().element, bytes))
    }

    /// Replaces the bytes after the data with `metadata`.
    ///
    /// ```
    /// use rawarray::{Editor, RawArray, Reader};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("field.ra");
    /// # RawArray::from(vec![0.1f32]).with_metadata(*b"unit: T").write(&path)?;
    /// Editor::open(&path)?.set_metadata(b"unit: mT")?;
    /// assert_eq!(*Reader::open(&path)?.metadata()?, *b"unit: mT");
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the data are a LEB128 payload, which extends to the end of the file; `Unsupported` if they are a `BitArray` of
    /// Julia, whose number of dimensions follows from the length of the file; `Io`.
    pub fn set_metadata(&mut self, metadata: &[u8]) -> Result<()> {
        self.file.settle()?;
        let edit = edit::set_metadata(self.layout(), metadata)?;
        self.commit(edit)
    }

    fn append_elements(&mut self, rows: Elements<'_>) -> Result<()> {
        self.file.settle()?;
        let rows = rows.in_order(self.layout().order);
        let edit = edit::append(self.file.storage(), self.layout(), rows)?;
        self.commit(edit)
    }

    fn overwrite(&mut self, slab: &Slab, elements: Elements<'_>) -> Result<()> {
        self.file.settle()?;
        check_elements(slab, self.shape(), self.element().size(), elements.bytes)?;
        let bytes = elements.in_order(self.layout().order);
        let edit = edit::overwrite(self.file.storage(), self.layout(), slab, &bytes)?;
        self.commit(edit)
    }

    fn commit(&mut self, edit: Edit<'_>) -> Result<()> {
        let layout = Layout::new(edit.header, edit.plan.new_len, true)?;
        self.file.commit(edit.plan, layout)
    }

    fn layout(&self) -> &Layout {
        self.file.head()
    }

    fn check_type<T: Element>(&self) -> Result<()> {
        let stored = self.element();
        if T::TYPE == stored {
            return Ok(());
        }
        Err(Error::usage(
            "element type",
            format!("is {}, but the elements of the array are {stored}", T::TYPE),
        ))
    }
}

impl Head for Layout {
    fn read<S: ReadAt + WriteAt>(session: &mut Session<S>) -> Result<Self> {
        let header = read_header(session.storage())?;
        if crate::model::layout::may_have_journal(&header, session.storage().size()) {
            session.recover()?;
        }
        Self::new(read_header(session.storage())?, session.storage().size(), false)
    }

    /// Edits build upon the header, which also determines the length of the file.
    fn span(&self) -> u64 {
        self.data
    }
}
