//! Files that grow: the last block has no fixed length, and is written row by row.

use std::path::Path;

use sciformats_core::arith::{add, div, increase, mul, sub};
use sciformats_core::commit::Session;
use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, ReadAt, Result, WriteAt, slab};

use crate::document::Document;
use crate::element::Element;
use crate::model::datatype::{Datatype, ScalarType};
use crate::reader::Asdf;

/// Writes rows to a streamed block.
///
/// The file is complete after every row, because readers take as many whole rows as there are. They ignore a row that is
/// incomplete, and it is overwritten when the file is opened for appending.
///
/// ```
/// use asdf_core::{Asdf, Document, ScalarType, StreamWriter};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("image.asdf");
/// let mut document = Document::new();
/// document.set("unit", "K")?;
/// let mut writer = StreamWriter::create(&path, document, "temperature", &ScalarType::Float64.into(), &[])?;
/// for hour in 0..3 {
///     writer.append(&[20.0 + f64::from(hour)])?;
/// }
/// writer.finish()?;
/// assert_eq!(Asdf::open(&path)?.array("temperature")?.read::<f64>()?, [20.0, 21.0, 22.0]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Debug)]
pub struct StreamWriter {
    session: Session<FileStorage>,
    end: u64,
    datatype: Datatype,
    byteorder: ByteOrder,
    row_bytes: u64,
    rows: u64,
}

impl StreamWriter {
    /// Creates a file from a document, and adds an array of rows at a path of its tree, in the byte order of this machine. The
    /// file must not exist yet.
    ///
    /// ```
    /// use asdf_core::{Asdf, ByteOrder, Document, ScalarType, StreamWriter};
    /// # let dir = std::env::temp_dir();
    /// # let path = dir.join(format!("stream-{}.asdf", std::process::id()));
    /// let mut writer = StreamWriter::create(&path, Document::new(), "rows", &ScalarType::Float64.into(), &[2])?;
    /// writer.append(&[1.0, 2.0])?;
    /// writer.append(&[3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(Asdf::open(&path)?.array("rows")?.shape(), [3, 2]);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io` if the file exists; `Usage` if rows have no bytes, or if the document has a streamed block; and those of
    /// [`Document::save`].
    pub fn create(
        path: impl AsRef<Path>,
        document: Document,
        node: &str,
        datatype: &Datatype,
        row: &[u64],
    ) -> Result<Self> {
        Self::start(|| Replacement::create_new(path), document, node, datatype, row)
    }

    /// Does the same as [`create`](Self::create), but replaces an existing file. Readers that have the old file open keep it.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, ScalarType, StreamWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("run.asdf");
    /// for rows in [3, 1u8] {
    ///     let mut writer = StreamWriter::overwrite(&path, Document::new(), "rows", &ScalarType::UInt8.into(), &[1])?;
    ///     writer.append(&vec![7u8; rows.into()])?;
    ///     writer.finish()?;
    /// }
    /// assert_eq!(Asdf::open(&path)?.array("rows")?.shape(), [1, 1]);
    /// assert!(StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt8.into(), &[1]).is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`create`](Self::create), except that the file may exist.
    pub fn overwrite(
        path: impl AsRef<Path>,
        document: Document,
        node: &str,
        datatype: &Datatype,
        row: &[u64],
    ) -> Result<Self> {
        Self::start(|| Replacement::create(path), document, node, datatype, row)
    }

    fn start(
        file: impl FnOnce() -> Result<Replacement>,
        mut document: Document,
        node: &str,
        datatype: &Datatype,
        row: &[u64],
    ) -> Result<Self> {
        let row_bytes = row_bytes(datatype, row)?;
        let array = document.add_stream(datatype, ByteOrder::NATIVE, row)?;
        document.tree_mut().put(node, array)?;
        let mut replacement = file()?;
        document.write_to(&mut replacement)?;
        let storage = replacement.finish_open(Durability::Process)?;
        let (datatype, byteorder) = (datatype.clone(), ByteOrder::NATIVE);
        let end = storage.size();
        Ok(Self { session: Session::over(storage), end, datatype, byteorder, row_bytes, rows: 0 })
    }

    /// Opens a file with a streamed block in order to append rows to it.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, ScalarType, StreamWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # let mut writer = StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt8.into(), &[2])?;
    /// # writer.append(&[1u8, 2])?;
    /// # writer.finish()?;
    /// let mut writer = StreamWriter::append_to(&path)?;
    /// assert_eq!(writer.rows(), 1);
    /// writer.append(&[3u8, 4])?;
    /// writer.finish()?;
    /// assert_eq!(Asdf::open(&path)?.array("rows")?.read::<u8>()?, [1, 2, 3, 4]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the file has no array of rows (`*`) in a streamed block; `Conflict` if another writer has it open; and those of
    /// [`Asdf::open`].
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        let mut session = Session::open(path.as_ref())?;
        session.recover()?;
        let file = Asdf::open(path)?;
        let none = || Error::usage("file", "does not have an array of rows in a streamed block");
        let last = file.layout().blocks.last().filter(|block| block.header.is_streamed()).ok_or_else(none)?;
        let index = sub(file.layout().blocks.len(), 1)?;
        let is_rows = |node: &crate::NodeId| {
            let array = file.is_array(*node).then(|| file.array_at(*node).ok()).flatten()?;
            let description = array.description();
            let rows = array.block() == Some(index) && matches!(description.shape.first(), Some(None));
            (rows && description.strides.is_none() && description.offset == 0)
                .then(|| (array.shape().to_vec(), description.datatype.clone(), description.byteorder))
        };
        let found = file.tree().visible().iter().find_map(is_rows);
        let (shape, datatype, byteorder) = found.ok_or_else(none)?;
        let (rows, row) = shape.split_first().ok_or_else(none)?;
        let row_bytes = row_bytes(&datatype, row)?;
        let end = add(last.data_offset(), mul(*rows, row_bytes)?)?;
        Ok(Self { session, end, datatype, byteorder, row_bytes, rows: *rows })
    }

    /// Appends rows, which are given as elements of their type in C order.
    ///
    /// ```
    /// use asdf_core::{Document, ScalarType, StreamWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// let mut writer = StreamWriter::create(&path, Document::new(), "position", &ScalarType::Float32.into(), &[3])?;
    /// writer.append(&[0.0f32, 0.1, 0.2, 1.0, 1.1, 1.2])?; // two rows
    /// assert!(writer.append(&[2.0f32]).is_err());
    /// assert_eq!(writer.rows(), 2);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if they have another type, or are not whole rows; `Conflict` if another program has changed the file; `Io`. The
    /// file then has the same length as before.
    pub fn append<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        if self.datatype != Datatype::Scalar(T::TYPE) {
            let name = self.datatype.scalar().map_or("structured", ScalarType::name);
            return Err(Error::usage(
                "element type",
                format!("is {}, but the elements of the rows are {name}", T::TYPE.name()),
            ));
        }
        if self.byteorder == ByteOrder::NATIVE {
            return self.append_bytes(bytemuck::cast_slice(elements));
        }
        let mut bytes = bytemuck::cast_slice(elements).to_vec();
        ByteOrder::NATIVE.convert(self.byteorder, &mut bytes, T::TYPE.word());
        self.append_bytes(&bytes)
    }

    /// Appends rows, which are given as stored bytes.
    ///
    /// ```
    /// use asdf_core::{Document, ScalarType, StreamWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// let mut writer = StreamWriter::create(&path, Document::new(), "masks", &ScalarType::Bool8.into(), &[4])?;
    /// writer.append_bytes(&[1, 0, 0, 1])?;
    /// assert_eq!(writer.rows(), 1);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let size = bytes.len() as u64;
        if !size.is_multiple_of(self.row_bytes) {
            return Err(Error::usage(
                "rows",
                format!(
                    "have {size} bytes, which is not a multiple of the size of a row ({} bytes)",
                    self.row_bytes
                ),
            ));
        }
        self.session.verify()?;
        self.session.write_fresh(self.end, bytes)?;
        // The file ends with its rows, which are part of it from now on.
        self.session.accept();
        increase(&mut self.end, size)?;
        increase(&mut self.rows, div(size, self.row_bytes)?)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Waits until all rows are on the device.
    ///
    /// ```no_run
    /// use asdf_core::{Document, ScalarType, StreamWriter};
    ///
    /// let mut writer = StreamWriter::create("day.asdf", Document::new(), "rain", &ScalarType::Float64.into(), &[])?;
    /// for hour in 0..24 {
    ///     writer.append(&[f64::from(hour) / 10.0])?;
    ///     writer.sync()?; // from here on this hour survives a loss of power
    /// }
    /// writer.finish()?;
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        self.session.sync()
    }

    /// Ends the file after its last whole row, and syncs it.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, ScalarType, StreamWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// let mut writer = StreamWriter::create(&path, Document::new(), "rows", &ScalarType::UInt8.into(), &[2])?;
    /// writer.append(&[1u8, 2, 3, 4])?;
    /// writer.finish()?;
    /// assert_eq!(Asdf::open(&path)?.array("rows")?.shape(), [2, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(self) -> Result<()> {
        self.session.verify()?;
        let mut storage = self.session.into_storage();
        storage.set_size(self.end)?;
        storage.sync()
    }
}

fn row_bytes(datatype: &Datatype, row: &[u64]) -> Result<u64> {
    slab::elements(row)
        .and_then(|elements| elements.checked_mul(datatype.size()?))
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| Error::usage("row", "has no bytes, or 2^64 bytes or more"))
}
