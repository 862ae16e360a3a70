//! Reading a file.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, not_stored_as};
use sciformats_core::storage::{Access, FileStorage, machine_threads, read_into_threads};
use sciformats_core::{Conversion, Error, Fault, FaultKind, ReadAt, Result};

use crate::chunk::size_of_range;
use crate::element::number;
use crate::model::open::{Opened, open};
use crate::spec::IndexEntry;
use crate::{Chunk, ElementType, Header, OpenOptions};

/// A file that is open for reading. Threads may share it.
///
/// ```no_run
/// # fn main() -> gsd_rs::Result<()> {
/// let reader = gsd_rs::Reader::open("trajectory.gsd")?;
/// for frame in 0..reader.frames() {
///     if let Some(chunk) = reader.find(frame, "particles/position")? {
///         let positions = reader.read::<f32>(&chunk)?;
///         println!("{frame}: {} particles, the first at {:?}", chunk.n, &positions[..3]);
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Reader {
    storage: Arc<dyn ReadAt>,
    /// The file behind the storage, if it was opened by a path: what was added to it can be looked for.
    file: Option<FileStorage>,
    options: OpenOptions,
    opened: Opened,
    conversion: Conversion,
}

impl Reader {
    /// Opens a file.
    ///
    /// ```no_run
    /// let reader = gsd_rs::Reader::open("trajectory.gsd")?;
    /// println!("{} frames by {}", reader.frames(), reader.header().application.to_text());
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; [`Error::Malformed`] if this is no GSD file, or a block of it lies outside; [`Error::Unsupported`] for a
    /// layer other than 0.3, 1.x and 2.x.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// ```no_run
    /// use gsd_rs::{Access, OpenOptions, Reader};
    ///
    /// // A simulation writes to it.
    /// let reader = Reader::open_with("trajectory.gsd", &OpenOptions::default().with_access(Access::direct()))?;
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let mut file = FileStorage::open(path)?;
        let (storage, opened) = reached(&mut file, options.access)?;
        Ok(Self { storage, file: Some(file), options: *options, opened, conversion: Conversion::Exact })
    }

    /// Opens a file that is in memory.
    ///
    /// ```
    /// use gsd_rs::{CreateOptions, Reader, Version, Writer};
    ///
    /// let mut writer = Writer::create_in(Vec::new(), &CreateOptions::new("docs", "points", Version::new(1, 0)))?;
    /// writer.write("temperature", 1, &[20.5f32, 20.6])?;
    /// writer.end_frame()?;
    /// let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(reader.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file that is in a storage of the caller's.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use gsd_rs::storage::ReadAt;
    /// use gsd_rs::{OpenOptions, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// # let bytes = writer.into_bytes()?;
    /// let shared: Arc<dyn ReadAt> = Arc::new(bytes);
    /// let reader = Reader::from_storage(shared, &OpenOptions::default())?;
    /// assert_eq!(reader.frames(), 0);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        let opened = open(&storage)?;
        Ok(Self {
            storage: Arc::new(storage),
            file: None,
            options: *options,
            opened,
            conversion: Conversion::Exact,
        })
    }

    /// Sees what has been committed since the file was opened or last refreshed, by this process or another. A frame
    /// is seen whole or not at all. Returns the number of frames.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// let mut reader = Reader::open(&path)?;
    ///
    /// writer.write("temperature", 1, &[20.5f32, 20.6])?; // or another process does
    /// writer.end_frame()?;
    /// writer.flush()?;
    /// assert_eq!((reader.frames(), reader.refresh()?), (0, 1));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); the reader then shows the state from before.
    pub fn refresh(&mut self) -> Result<u64> {
        match &mut self.file {
            Some(file) => (self.storage, self.opened) = reached(file, self.options.access)?,
            None => self.opened = open(&*self.storage)?,
        }
        Ok(self.opened.frames)
    }

    /// The header.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frame()?;
    /// writer.finish()?;
    /// let reader = Reader::open(&path)?;
    /// assert_eq!((&*reader.header().schema.to_text(), reader.entries()), ("points", 1));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.opened.header
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// The number of frames: one more than that of the last chunk. Empty frames before it count; a file of 32 bytes
    /// an entry can claim any number, so do not loop over frames of an untrusted file without a bound of your own:
    /// [`all_chunks`](Self::all_chunks) is bounded by the file.
    pub fn frames(&self) -> u64 {
        self.opened.frames
    }

    /// The number of entries in the index: chunks in all frames.
    pub fn entries(&self) -> u64 {
        self.opened.index.used
    }

    /// The name list, by position. A name may be there without a chunk, or twice.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let names: Vec<_> = reader.names().map(String::from_utf8_lossy).collect();
    /// assert_eq!(names, ["step", "position"]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.opened.names.iter()
    }

    /// The name at a position of the name list.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!((reader.name(0), reader.name(1)), (Some(&b"step"[..]), None));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn name(&self, id: u16) -> Option<&[u8]> {
        self.opened.names.get(id)
    }

    /// The names that begin with `prefix`, in byte order, each once. An empty prefix gives all.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("log/pressure", 1, &[1.2f64])?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.write("log/energy", 1, &[-3.0f64])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(reader.names_with_prefix("log/").collect::<Vec<_>>(), [&b"log/energy"[..], b"log/pressure"]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn names_with_prefix(&self, prefix: &str) -> impl Iterator<Item = &[u8]> {
        let mut previous = None;
        self.opened.names.with_prefix(prefix.as_bytes()).iter().filter_map(move |&id| {
            let name = self.name(id)?;
            (previous.replace(name) != Some(name)).then_some(name)
        })
    }

    /// The chunks of a frame, in the order of the index: by id since layer 2.0, as written before.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let mut shapes = Vec::new();
    /// for chunk in reader.chunks(0) {
    ///     let chunk = chunk?;
    ///     shapes.push((chunk.name, chunk.n, chunk.m));
    /// }
    /// assert_eq!(shapes, [("step", 1, 1), ("position", 10, 3)]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn chunks(&self, frame: u64) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let (entries, error) =
            match self.opened.index.of_frame(&*self.storage, frame, self.opened.near(frame)) {
                Ok(entries) => (Some(entries), None),
                Err(error) => (None, Some(Err(error))),
            };
        let chunks = entries.into_iter().flatten();
        chunks.map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry))).chain(error)
    }

    /// All chunks of all frames, in the order of the index.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// for step in 0..3u64 {
    ///     writer.write("step", 1, &[step])?;
    ///     writer.end_frame()?;
    /// }
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let mut bytes = 0;
    /// for chunk in reader.all_chunks() {
    ///     bytes += chunk?.size().unwrap_or(0);
    /// }
    /// assert_eq!(bytes, 24);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn all_chunks(&self) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let index = self.opened.index;
        let entries = index.entries(&*self.storage, 0..index.used);
        entries.map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry)))
    }

    /// The chunks with this name, over all frames.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// for step in 0..100u64 {
    ///     writer.write("step", 1, &[step])?;
    ///     if step % 50 == 0 {
    ///         writer.write("velocity", 3, &[0.5f32; 30])?;
    ///     }
    ///     writer.end_frame()?;
    /// }
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let frames: Result<Vec<u64>, _> = reader.history("velocity").map(|chunk| chunk.map(|c| c.frame)).collect();
    /// assert_eq!(frames?, [0, 50]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn history(&self, name: &str) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let ids = self.opened.names.ids(name.as_bytes());
        let index = self.opened.index;
        let end = if ids.is_empty() { 0 } else { index.used };
        index
            .entries(&*self.storage, 0..end)
            .filter(move |item| !item.as_ref().is_ok_and(|(_, entry)| !ids.contains(&entry.id)))
            .map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry)))
    }

    /// The chunk with this name in a frame, if it is there. Takes a number of steps that grows with the logarithm of
    /// the number of entries (before layer 2.0, and with the chunks of the frame).
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// if let Some(chunk) = reader.find(0, "position")? {
    ///     assert_eq!(reader.read::<f32>(&chunk)?.len(), 30);
    /// }
    /// assert_eq!(reader.find(0, "velocity")?, None);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] if an entry on the way is damaged or out of order.
    pub fn find(&self, frame: u64, name: &str) -> Result<Option<Chunk<'_>>> {
        let ids = self.opened.names.ids(name.as_bytes());
        if ids.is_empty() || frame >= self.opened.frames {
            return Ok(None);
        }
        let found = self.opened.index.find(&*self.storage, frame, ids, self.opened.near(frame))?;
        found.map(|(position, entry)| self.chunk(position, &entry)).transpose()
    }

    pub(crate) fn file_size(&self) -> u64 {
        self.storage.len()
    }

    fn chunk(&self, position: u64, entry: &IndexEntry) -> Result<Chunk<'_>> {
        Chunk::new(&self.opened, position, entry)
    }

    /// The same reader, which converts elements otherwise when it reads them as types.
    ///
    /// ```
    /// use gsd_rs::{Conversion, Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("counts", 1, &[20u16, 300])?;
    /// writer.end_frame()?;
    /// # let bytes = writer.into_bytes()?;
    /// let read = |conversion, wanted: fn(&Reader, &gsd_rs::Chunk<'_>) -> Result<Vec<u8>, Error>| {
    ///     let reader = Reader::from_bytes(bytes.clone())?.with_conversion(conversion);
    ///     let chunk = reader.find(0, "counts")?.ok_or(Error::not_found("chunk", "counts"))?;
    ///     wanted(&reader, &chunk)
    /// };
    /// let narrow = |reader: &Reader, chunk: &gsd_rs::Chunk<'_>| Ok(reader.read::<u8>(chunk)?.into_owned());
    /// assert!(matches!(read(Conversion::Exact, narrow), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// assert_eq!(read(Conversion::Lossy, narrow)?, [20, 255]);
    /// assert!(matches!(read(Conversion::None, narrow), Err(Error::Usage { .. }))); // these are u16
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// The elements of a chunk, row after row, converted where no value changes: `300` reads as `f32`, but not as `u8`.
    /// Borrowed from a mapped file where they are aligned, copied otherwise.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("temperature", 1, &[20.5f32, 20.6])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "temperature")?.ok_or(Error::not_found("chunk", "temperature"))?;
    /// assert_eq!(*reader.read::<f32>(&chunk)?, [20.5, 20.6]);
    /// assert_eq!(reader.read::<f64>(&chunk)?[0], 20.5);
    /// assert!(reader.read::<i32>(&chunk).is_err()); // 20.5 is no integer
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold (text is read as numbers, or with [`text`](Self::text));
    /// [`Error::Malformed`] if the data lies outside the file; [`Error::Unsupported`] for an unknown type; `Io`.
    pub fn read<T: Number>(&self, chunk: &Chunk<'_>) -> Result<Cow<'_, [T]>> {
        self.read_rows(chunk, 0..chunk.n)
    }

    /// The elements of some rows of a chunk; only their bytes are touched.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.0f64, 0.1, 0.2, 1.0, 1.1, 1.2, 2.0, 2.1, 2.2])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "position")?.ok_or(Error::not_found("chunk", "position"))?;
    /// assert_eq!(*reader.read_rows::<f64>(&chunk, 1..2)?, [1.0, 1.1, 1.2]); // of the second particle
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Error::Usage`] if the rows leave the chunk.
    pub fn read_rows<T: Number>(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [T]>> {
        let range = chunk.range(&rows, self.storage.len())?;
        let stored = number(chunk.element, T::STORED)
            .ok_or_else(|| not_stored_as(T::NAME, format!("{} in {:?}", chunk.element, chunk.name)))?;
        let size = size_of_range(&range)?;
        if T::STORED != Some(stored) {
            let bytes = self.storage.read_at(range.start, size)?;
            let mut elements = T::zeroed(size / stored.size())?;
            T::read(stored, ByteOrder::Little, &bytes, self.conversion, &mut elements)?;
            return Ok(Cow::Owned(elements));
        }
        if self.storage.as_slice().is_some() {
            let bytes = self.storage.read_at(range.start, size)?;
            if let Cow::Borrowed(bytes) = bytes
                && ByteOrder::NATIVE == ByteOrder::Little
                && let Some(elements) = T::view(bytes)
            {
                return Ok(Cow::Borrowed(elements));
            }
        }
        let mut elements = T::zeroed(size / stored.size())?;
        let bytes = T::bytes_mut(&mut elements).unwrap_or_default();
        read_into_threads(&*self.storage, range.start, bytes, machine_threads())?;
        ByteOrder::Little.convert(ByteOrder::NATIVE, bytes, size_of::<T>());
        Ok(Cow::Owned(elements))
    }

    /// The bytes of some rows of a chunk, as they are stored: little-endian.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("counts", 1, &[1u16, 2, 300])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "counts")?.ok_or(Error::not_found("chunk", "counts"))?;
    /// assert_eq!(*reader.read_bytes(&chunk, 1..3)?, [2, 0, 0x2c, 1]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows).
    pub fn read_bytes(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let range = chunk.range(&rows, self.storage.len())?;
        self.storage.read_at(range.start, size_of_range(&range)?)
    }

    /// The text of a chunk: of characters, or of bytes as older writers store text. Zeros at its end are cut off.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write_text("note", "heated to 350 K")?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "note")?.ok_or(Error::not_found("chunk", "note"))?;
    /// assert_eq!(reader.text(&chunk)?, "heated to 350 K");
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Error::Malformed`] if it is not UTF-8.
    pub fn text(&self, chunk: &Chunk<'_>) -> Result<Cow<'_, str>> {
        if !matches!(chunk.element, ElementType::Character | ElementType::U8 | ElementType::I8) {
            return Err(Error::usage("chunk", format!("{:?} holds {}, not text", chunk.name, chunk.element)));
        }
        let encoding = || Fault::new("text", FaultKind::Encoding).at("data chunk", chunk.location);
        match self.read_bytes(chunk, 0..chunk.n)? {
            Cow::Borrowed(bytes) => {
                std::str::from_utf8(trim_zeros(bytes)).map(Cow::Borrowed).map_err(|_| encoding())
            }
            Cow::Owned(mut bytes) => {
                bytes.truncate(trim_zeros(&bytes).len());
                String::from_utf8(bytes).map(Cow::Owned).map_err(|_| encoding())
            }
        }
    }

    /// Looks at every entry of the index: that it is in order, that its name is there, and its data inside the file.
    ///
    /// ```no_run
    /// let reader = gsd_rs::Reader::open("trajectory.gsd")?;
    /// if let Err(error) = reader.verify() {
    ///     println!("do not trust it: {error}"); // names the field and its offset
    /// }
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault that is found.
    pub fn verify(&self) -> Result<()> {
        self.all_chunks()
            .try_for_each(|chunk| chunk.and_then(|c| c.range(&(0..c.n), self.storage.len())).map(drop))
    }

    /// The bytes that the file had, if data that its index refers to is behind its end: it was cut short. Looks at every
    /// entry of the index. An end that the sizes of all chunks do not account for is that of a damaged entry, and does
    /// not count.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 3000])?;
    /// writer.end_frame()?;
    /// let mut bytes = writer.into_bytes()?;
    /// let whole = bytes.len();
    /// bytes.truncate(whole - 1000);
    /// assert_eq!(Reader::from_bytes(bytes)?.cut_short(), Some(whole as u64));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn cut_short(&self) -> Option<u64> {
        let Header { index, names, .. } = self.header();
        let index = index.allocated.checked_mul(IndexEntry::SIZE as u64)?;
        let names = names.allocated.checked_mul(crate::spec::name_list::UNIT)?;
        let (mut data, mut end) = (0u64, 0);
        for chunk in self.all_chunks().flatten() {
            let Ok(range) = chunk.range(&(0..chunk.n), u64::MAX) else { continue };
            data = data.checked_add(range.end.checked_sub(range.start)?)?;
            end = range.end.max(end);
        }
        // Blocks that were outgrown are at most as large as those in their place.
        let most = data.checked_add(index.checked_add(names)?.checked_mul(2)?)?.checked_add(4096)?;
        (end > self.storage.len() && end <= most.checked_mul(2)?).then_some(end)
    }

    /// What the bytes of the file are used for. Looks at every entry of the index.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let space = reader.space()?;
    /// assert_eq!(space.data, 120);
    /// assert!(space.file >= 256 + space.index + space.names + space.data);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn space(&self) -> Result<Space> {
        let mut data = 0u64;
        for chunk in self.all_chunks() {
            let chunk = chunk?;
            let range = chunk.range(&(0..chunk.n), self.storage.len())?;
            data = data.saturating_add(range.end.saturating_sub(range.start));
        }
        let Header { index, names, .. } = self.header();
        let index = index.allocated.saturating_mul(IndexEntry::SIZE as u64);
        let names = names.allocated.saturating_mul(crate::spec::name_list::UNIT);
        Ok(Space { file: self.storage.len(), index, names, data })
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("header", &self.opened.header)
            .field("entries", &self.opened.index.used)
            .field("frames", &self.opened.frames)
            .finish_non_exhaustive()
    }
}

/// What the bytes of a file are used for.
///
/// ```no_run
/// let space = gsd_rs::Reader::open("trajectory.gsd")?.space()?;
/// println!("{} of {} bytes are data, {} are in no use", space.data, space.file, space.unused());
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The size of the file.
    pub file: u64,
    /// The index block, entries not in use included.
    pub index: u64,
    /// The name list block, unused space included.
    pub names: u64,
    /// The data of all chunks.
    pub data: u64,
}

impl Space {
    /// Bytes that nothing refers to: blocks that were outgrown, data of frames that were never finished, and gaps.
    pub fn unused(&self) -> u64 {
        let used = [256, self.index, self.names, self.data];
        used.iter().fold(self.file, |rest, part| rest.saturating_sub(*part))
    }
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// How often the state of a file that grows meanwhile is read anew.
const ATTEMPTS: usize = 100;

/// Reads the state of a file that another process may be adding to, and opens what its chunks are read from.
///
/// Everything that a state refers to was in the file before the state was. So the state comes from the file directly, and
/// what its chunks are read from is opened afterwards: it holds all of them, even if a writer moved the index in between.
fn reached(file: &mut FileStorage, access: Access) -> Result<(Arc<dyn ReadAt>, Opened)> {
    let mut attempts = 0;
    loop {
        let len = file.refresh()?;
        let state = open(file);
        let grown = file.refresh()? > len;
        attempts += 1;
        // An error may be that of a length that is too short for what was added meanwhile.
        if state.is_ok() || !grown || attempts == ATTEMPTS {
            return Ok((access.of(file)?, state?));
        }
    }
}
