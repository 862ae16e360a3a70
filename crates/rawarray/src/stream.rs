//! Writing of an array row by row, which may be larger than memory.

use std::path::Path;

use sciformats_core::arith::{add, increase, sub};
use sciformats_core::commit::{SECTOR, Session, Step, apply};
use sciformats_core::endian::ByteOrder;
use sciformats_core::error::Within;
use sciformats_core::storage::{Durability, FileStorage};
use sciformats_core::{Error, ReadAt, Result, WriteAt, bound};

use crate::element::Element;
use crate::model::edit::row_size;
use crate::model::element_type::ElementType;
use crate::model::image::{Elements, order_flag};
use crate::model::layout::{Encoding, read_header};
use crate::spec::header::SIZE_AT;
use crate::spec::{Flags, Header};
use crate::writer::{WriteOptions, little, typed};

/// Rows are collected up to this size before they are written; larger pieces are written at once. A buffer of this size stays in
/// the caches of the processor, and systems find memory for pieces of this size sooner than for larger ones.
const BUFFER: usize = 1 << 17;

/// Writes an array row by row. Only the dimensions of a row must be known in advance; the slowest dimension is the number of rows
/// that were written.
///
/// Until [`finish`](Self::finish) is called, the header says that the file is unfinished, and readers refuse it with an error
/// that says so. If a writer ends early for any reason, [`resume`](StreamWriter::resume) continues the file after the last whole
/// row.
///
/// ```
/// use rawarray::{RawArray, StreamWriter, WriteOptions};
///
/// # let dir = tempfile::tempdir().map_err(|e| rawarray::Error::io("create", e))?;
/// # let path = dir.path().join("frames.ra");
/// let mut stream = StreamWriter::create::<f32>(&path, &[640, 480], &WriteOptions::default())?;
/// for i in 0..3 {
///     stream.write(&vec![i as f32; 640 * 480])?;
/// }
/// stream.finish()?;
/// assert_eq!(RawArray::<f32>::read(&path)?.dims(), [640, 480, 3]);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Debug)]
pub struct StreamWriter<W> {
    storage: W,
    /// The present header of the file, which is unfinished and has no rows.
    header: Header,
    element: ElementType,
    order: ByteOrder,
    durability: Durability,
    /// The size of a row in bytes.
    row: u64,
    /// The number of data bytes that are in the storage.
    written: u64,
    buffer: Vec<u8>,
    /// Whether a write failed, so that a part of it may follow the data.
    is_torn: bool,
}

impl StreamWriter<FileStorage> {
    /// Creates a file for rows of these dimensions, the fastest varying first. The file must not exist yet.
    ///
    /// ```
    /// use rawarray::{RawArray, StreamWriter, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// let mut stream = StreamWriter::create::<f64>(&path, &[3], &WriteOptions::default())?; // rows of three
    /// stream.write(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?;
    /// assert!(RawArray::<f64>::read(&path).is_err()); // not yet
    /// stream.finish()?;
    /// assert_eq!(RawArray::<f64>::read(&path)?.dims(), [3, 2]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`in_storage`](Self::in_storage); `Io` if the file exists.
    pub fn create<T: Element>(path: impl AsRef<Path>, row: &[u64], options: &WriteOptions) -> Result<Self> {
        check_options(T::TYPE, row, options)?;
        Self::in_storage(Session::create_new(path)?.into_storage(), T::TYPE, row, options)
    }

    /// Continues an unfinished file after its last whole row. A row that was written only in part is cut off.
    ///
    /// After a loss of power, rows since the last [`sync`](Self::sync) may be missing or filled with zeros. The file does not say how
    /// durable its rows are to be, so [`with_durability`](Self::with_durability) says it again.
    ///
    /// ```
    /// use rawarray::{RawArray, StreamWriter, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// let mut stream = StreamWriter::create::<f64>(&path, &[3], &WriteOptions::default())?;
    /// stream.write(&[0.1, 0.2, 0.3, 0.4])?; // a row and a part of the next
    /// stream.sync()?;
    /// drop(stream); // as if the program ended here
    ///
    /// let mut stream = StreamWriter::resume(&path)?;
    /// assert_eq!(stream.rows(), 1);
    /// stream.write(&[0.4, 0.5, 0.6])?;
    /// stream.finish()?;
    /// assert_eq!(RawArray::<f64>::read(&path)?.data(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the file is finished; `Conflict` if another writer has it open; `Malformed`, `Io`.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let session = Session::open(path);
        session.and_then(|session| Self::resume_in(session.into_storage())).within(Some(path), None)
    }
}

impl<W: ReadAt + WriteAt> StreamWriter<W> {
    /// Continues an unfinished storage, as [`resume`](StreamWriter::resume) does with a file.
    ///
    /// ```
    /// use rawarray::{Element, RawArray, StreamWriter, WriteOptions};
    ///
    /// let mut unfinished = Vec::new();
    /// StreamWriter::in_storage(&mut unfinished, f32::TYPE, &[2], &WriteOptions::default())?;
    ///
    /// let mut stream = StreamWriter::resume_in(unfinished)?;
    /// stream.write(&[1.0f32, 2.0])?;
    /// assert_eq!(RawArray::<f32>::from_bytes(stream.finish()?)?.dims(), [2, 1]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`resume`](StreamWriter::resume).
    pub fn resume_in(mut storage: W) -> Result<Self> {
        let header = read_header(&storage)?;
        if header.size != Header::UNFINISHED {
            return Err(Error::usage("file", "is finished, so there is nothing to resume"));
        }
        let order = if header.flags == Flags::NONE { ByteOrder::Little } else { ByteOrder::Big };
        if header.flags != order_flag(order) {
            return Err(Error::unsupported("resuming an encoded stream"));
        }
        let element = ElementType::of(&header)?;
        let row = row_size(&header, element.size())?;
        let stored = bound::left(storage.size(), header.end());
        let written = stored - stored % row;
        storage.set_size(add(header.end(), written)?)?;
        let (durability, buffer) = (Durability::default(), Vec::new());
        Ok(Self { storage, header, element, order, durability, row, written, buffer, is_torn: false })
    }
}

impl<W: WriteAt> StreamWriter<W> {
    /// Starts a file in an empty storage, for rows of these dimensions, the fastest varying first.
    ///
    /// ```
    /// use rawarray::{ElementType, Reader, StreamWriter, WriteOptions};
    ///
    /// let mut stream = StreamWriter::in_storage(Vec::new(), ElementType::Float(4), &[2], &WriteOptions::default())?;
    /// stream.write(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let bytes = stream.finish()?;
    /// assert_eq!(Reader::from_bytes(bytes)?.shape(), [2, 2]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if a row has no bytes, or if the options request an encoding, because a stream is always raw; `Io`.
    pub fn in_storage(
        mut storage: W,
        element: ElementType,
        row: &[u64],
        options: &WriteOptions,
    ) -> Result<Self> {
        let header = check_options(element, row, options)?;
        let row = row_size(&header, element.size())?;
        let mut head = Vec::new();
        header.encode(&mut head);
        storage.write_at(0, &head)?;
        let WriteOptions { byte_order: order, durability, .. } = *options;
        if durability == Durability::Power {
            // Rows must not arrive before the header that describes them.
            storage.sync()?;
        }
        let (written, buffer, is_torn) = (0, Vec::new(), false);
        Ok(Self { storage, header, element, order, durability, row, written, buffer, is_torn })
    }

    /// Returns the same stream with another durability.
    ///
    /// ```
    /// use rawarray::{Durability, StreamWriter, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// # StreamWriter::create::<f64>(&path, &[3], &WriteOptions::default())?;
    /// let mut stream = StreamWriter::resume(&path)?.with_durability(Durability::Power);
    /// stream.write(&[0.1, 0.2, 0.3])?;
    /// stream.finish()?; // which takes as long as the device needs
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Appends elements. They need not be whole rows, as long as all elements together are.
    ///
    /// ```
    /// use rawarray::{Element, StreamWriter, WriteOptions};
    ///
    /// let mut stream = StreamWriter::in_storage(Vec::new(), u16::TYPE, &[4], &WriteOptions::default())?;
    /// stream.write(&[1u16, 2, 3])?;
    /// assert_eq!(stream.rows(), 0); // the row is not whole
    /// stream.write(&[4u16])?;
    /// assert_eq!(stream.rows(), 1);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `T` is not the type of the elements; `Io`, after which the same elements can be written again.
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        if T::TYPE != self.element {
            let problem = format!("is {}, but the elements of the array are {}", T::TYPE, self.element);
            return Err(Error::usage("element type", problem));
        }
        self.push(typed(elements))
    }

    /// Appends elements that are given as little-endian bytes.
    ///
    /// ```
    /// use rawarray::{ElementType, Reader, StreamWriter, WriteOptions};
    ///
    /// let mut stream = StreamWriter::in_storage(Vec::new(), ElementType::UInt(2), &[1], &WriteOptions::default())?;
    /// stream.write_bytes(&[1, 0, 0x2c, 1])?;
    /// assert_eq!(Reader::from_bytes(stream.finish()?)?.read::<u16>()?, [1, 300]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the bytes are not whole elements; `Io`.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if (bytes.len() as u64).checked_rem(self.element.size()) != Some(0) {
            let problem = format!(
                "have {} bytes, which is not a multiple of the size of an element ({} bytes)",
                bytes.len(),
                self.element.size()
            );
            return Err(Error::usage("elements", problem));
        }
        self.push(little(self.element, bytes))
    }

    /// Returns the number of whole rows that were written.
    pub fn rows(&self) -> u64 {
        // No stream is long enough to reach the bound.
        bound::sum(self.written, self.buffer.len() as u64) / self.row
    }

    /// Passes everything to the system, and waits until it will survive a loss of power. After that, a resumed file has all rows
    /// up to this point.
    ///
    /// ```no_run
    /// use rawarray::{StreamWriter, WriteOptions};
    ///
    /// let mut stream = StreamWriter::create::<f64>("day.ra", &[], &WriteOptions::default())?; // a row is one number
    /// for hour in 0..24 {
    ///     stream.write(&[20.0 + f64::from(hour)])?;
    ///     stream.sync()?; // from here on this hour survives a loss of power
    /// }
    /// stream.finish()?;
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.storage.sync()
    }

    /// Completes the file, and returns the storage. Metadata can be added with [`Editor`](crate::Editor).
    ///
    /// ```
    /// use rawarray::{Element, Reader, StreamWriter, WriteOptions};
    ///
    /// let mut stream = StreamWriter::in_storage(Vec::new(), f64::TYPE, &[], &WriteOptions::default())?;
    /// stream.write(&[20.5, 20.6])?;
    /// assert_eq!(Reader::from_bytes(stream.finish()?)?.read::<f64>()?, [20.5, 20.6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the last row is not whole; `Conflict` if another program has changed the file; `Io`. The file then remains
    /// unfinished.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        if !self.written.is_multiple_of(self.row) {
            let problem = format!(
                "end in the middle of a row, after {} of its {} bytes",
                self.written % self.row,
                self.row
            );
            return Err(Error::usage("elements", problem));
        }
        self.storage.check_unchanged()?;
        let mut steps = seal(self.header.clone(), self.rows(), self.written);
        if self.is_torn {
            // What arrived of elements that could not be written would be the metadata.
            steps.insert(0, Step::SetSize { size: add(self.header.end(), self.written)? });
        }
        if self.durability == Durability::Process {
            steps.retain(|step| *step != Step::Sync);
        }
        apply(&steps, &mut self.storage)?;
        Ok(self.storage)
    }

    fn len(&self) -> Result<u64> {
        add(self.written, self.buffer.len() as u64)
    }

    fn push(&mut self, elements: Elements<'_>) -> Result<()> {
        let end = self.len()?.checked_add(elements.bytes.len() as u64);
        if end.and_then(|end| end.checked_add(self.header.end())).is_none_or(|end| end > i64::MAX as u64) {
            return Err(Error::usage("elements", "make the file longer than 2^63 bytes"));
        }
        if bound::sum(self.buffer.len(), elements.bytes.len()) > BUFFER {
            self.flush()?;
        }
        if elements.bytes.len() <= BUFFER {
            return elements.in_pieces(self.order, |bytes| {
                self.buffer.extend_from_slice(bytes);
                Ok(())
            });
        }
        let mut at = add(self.header.end(), self.written)?;
        let written = elements.in_pieces(self.order, |bytes| {
            self.storage.write_at(at, bytes)?;
            increase(&mut at, bytes.len() as u64)
        });
        written.inspect_err(|_| self.is_torn = true)?;
        self.written = sub(at, self.header.end())?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let written = self.storage.write_at(add(self.header.end(), self.written)?, &self.buffer);
            written.inspect_err(|_| self.is_torn = true)?;
            self.written = self.len()?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Checks the options, and returns the header of an unfinished file.
fn check_options(element: ElementType, row: &[u64], options: &WriteOptions) -> Result<Header> {
    if options.encoding != Encoding::Raw {
        return Err(Error::unsupported("encoding an array that is written row by row"));
    }
    let dims = row.iter().copied().chain([0]).collect();
    let flags = order_flag(options.byte_order);
    let header =
        Header { flags, eltype: element.kind(), elbyte: element.size(), size: Header::UNFINISHED, dims };
    row_size(&header, element.size()).map(|_| header)
}

/// Returns the steps that finish a file. The size is written last, in one write within one sector.
fn seal(mut header: Header, rows: u64, size: u64) -> Vec<Step<'static>> {
    header.size = size;
    if let Some(slowest) = header.dims.last_mut() {
        *slowest = rows;
    }
    let mut head = Vec::new();
    header.encode(&mut head);
    let mut end = head.split_off(SIZE_AT as usize);
    if header.end() <= SECTOR {
        return vec![Step::Sync, Step::write(SIZE_AT, end), Step::Sync];
    }
    let dims = end.split_off(8);
    vec![Step::write(SIZE_AT + 8, dims), Step::Sync, Step::write(SIZE_AT, end), Step::Sync]
}
