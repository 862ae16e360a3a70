//! Reading of files.

mod chunks;
mod elements;
mod usage;

use std::path::Path;
use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::storage::{Access, FileStorage};
use sciformats_core::{Conversion, ReadAt, Result};

pub use usage::Space;

use crate::model::open::{Opened, open};
use crate::{Header, OpenOptions};

/// The number of times that the state of a growing file is read again.
const ATTEMPTS: usize = 100;

/// A file that is open for reading. Threads can share it.
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
    /// The file behind the storage, if it was opened by its path. It is read to find out what was added.
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
    /// `Io`; [`Error::Malformed`](crate::Error::Malformed) if this is not a GSD file, or if a block is not inside the file;
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the layer is none of 0.3, 1.x and 2.x.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with options.
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
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let mut file = FileStorage::open(path)?;
        let (storage, opened) = reached(&mut file, options.access).within(Some(path), None)?;
        Ok(Self { storage, file: Some(file), options: *options, opened, conversion: Conversion::Exact })
    }

    /// Opens a file in memory.
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
    /// Those of [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in a storage of the caller.
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
    /// Those of [`open`](Self::open).
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

    /// Includes what this process or another one has committed since the file was opened or last refreshed. A frame becomes
    /// visible as a whole or not at all. Returns the number of frames.
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
    /// Those of [`open`](Self::open); the reader then still has its previous state.
    pub fn refresh(&mut self) -> Result<u64> {
        match &mut self.file {
            Some(file) => (self.storage, self.opened) = reached(file, self.options.access)?,
            None => self.opened = open(&*self.storage)?,
        }
        Ok(self.opened.frames)
    }

    /// Returns the header.
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

    /// Returns the options with which the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Returns the number of frames, which is one more than the frame of the last chunk. Empty frames before it count. An entry
    /// of 32 bytes can claim any number of frames, so do not loop over the frames of an untrusted file without a bound of your
    /// own. The size of the file is such a bound for [`all_chunks`](Self::all_chunks).
    pub fn frames(&self) -> u64 {
        self.opened.frames
    }

    /// Returns the number of entries in the index, which is the number of chunks in all frames.
    pub fn entries(&self) -> u64 {
        self.opened.index.used
    }

    /// Returns the name list in the order of its positions. A name may exist without a chunk, or twice.
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

    /// Returns the name at a position of the name list.
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

    /// Returns the names that begin with `prefix` in byte order, without duplicates. An empty prefix returns all names.
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
}

impl Reader {
    /// Adds the file and the name of a chunk to an error.
    pub(crate) fn within<T>(&self, name: &str, result: Result<T>) -> Result<T> {
        result.within(self.file.as_ref().map(FileStorage::path), Some(name))
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

/// Reads the state of a file that another process may be extending, and opens the storage from which its chunks are read.
///
/// Everything that a state refers to was in the file before the state was. The state is therefore read from the file directly,
/// and the storage for its chunks is opened afterwards. It contains all of them, even if a writer moved the index in the
/// meantime.
fn reached(file: &mut FileStorage, access: Access) -> Result<(Arc<dyn ReadAt>, Opened)> {
    let mut attempts = 0;
    loop {
        let len = file.refresh()?;
        let state = open(file);
        let grown = file.refresh()? > len;
        attempts += 1;
        // An error may only mean that the known length is too short for what was added in the meantime.
        if state.is_ok() || !grown || attempts == ATTEMPTS {
            return Ok((access.of(file)?, state?));
        }
    }
}
