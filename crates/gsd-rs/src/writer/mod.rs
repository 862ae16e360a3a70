//! Writing of files.
//!
//! | module | what it does |
//! |---|---|
//! | this one | creates files and opens them for appending |
//! | `chunks` | accepts the chunks of the current frame |
//! | `commits` | ends frames, commits them, upgrades and truncates files |

mod chunks;
mod commits;

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use sciformats_core::commit::{Session, apply};
use sciformats_core::error::Within;
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, ReadAt, Result, Step, WriteAt};

use crate::model::commit::{State, new_file};
use crate::model::names::Names;
use crate::model::open::{Opened, open};
use crate::spec::IndexEntry;
use crate::{CreateOptions, Header};

/// A file to which frames are appended.
///
/// Chunks are collected in memory, and large chunks are written at once. [`end_frame`](Self::end_frame) completes a frame, and
/// [`flush`](Self::flush) commits all complete frames. From then on they are in the file, whatever happens. If the process is
/// killed or the device is full, only the frames since the last flush are lost.
///
/// The file is locked against other writers of this library until the value is dropped. Readers can have it open.
///
/// ```
/// # fn main() -> gsd_rs::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("walk.gsd");
/// use gsd_rs::{CreateOptions, Reader, Version, Writer};
///
/// let mut writer = Writer::create(&path, &CreateOptions::new("walk", "points", Version::new(1, 0)))?;
/// for step in 0..10u64 {
///     writer.write("step", 1, &[step])?;
///     writer.write("position", 3, &[[step as f32; 3]; 5].concat())?; // 5 rows of 3
///     writer.end_frame()?;
/// }
/// writer.finish()?;
///
/// let reader = Reader::open(&path)?;
/// assert_eq!(reader.frames(), 10);
/// let chunk = reader.find(7, "position")?.expect("it was written");
/// assert_eq!((chunk.n, chunk.m), (5, 3));
/// assert_eq!(reader.read_rows::<f32>(&chunk, 1..2)?, [7.0; 3].as_slice());
/// # Ok(()) }
/// ```
pub struct Writer<S: ReadAt + WriteAt = FileStorage> {
    session: Session<S>,
    state: State,
    names: Names,
    durability: Durability,
    /// Data that is not in the file yet, and its position.
    buffer: Vec<u8>,
    buffer_at: u64,
    buffer_size: usize,
    /// Entries that are not committed, and how many of them belong to complete frames.
    entries: Vec<IndexEntry>,
    finished: usize,
    /// The number of the frame that is being written.
    frame: u64,
    /// The ids of the names in this frame.
    present: HashSet<u16>,
    condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Open,
    /// A failure after which the state of the file is not known. The text completes the sentence "writer …".
    Failed(&'static str),
    Closed,
}

/// The default size of the data that is collected in memory, with which system calls cost little.
const BUFFER: usize = 1 << 20;
/// The number of entries after which a complete frame is committed automatically, so that memory stays bounded.
const ENTRIES: usize = 1 << 16;

impl Writer {
    /// Creates a file. It must not exist yet.
    ///
    /// ```no_run
    /// use gsd_rs::{CreateOptions, Version, Writer};
    ///
    /// let mut writer = Writer::create("walk.gsd", &CreateOptions::new("walk 1.0", "points", Version::new(1, 0)))?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// writer.finish()?;
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`, also if the file exists; [`Error::Usage`](crate::Error::Usage) if the options do not fit the header.
    pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let (bytes, _) = new_file(&options.header()?)?;
        // The file only gets its name when it is complete, so nothing is left if the device is full.
        let mut new = Replacement::create_new(path)?;
        new.write_at(0, &bytes)?;
        Self::over(Session::over(new.finish_open(Durability::Process)?))
    }

    /// Creates a file, and replaces an existing one. Readers that have the old file open keep it.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// for frames in [5, 2] {
    ///     let mut writer = Writer::overwrite(&path, &options)?;
    ///     for step in 0..frames as u64 {
    ///         writer.write("step", 1, &[step])?;
    ///         writer.end_frame()?;
    ///     }
    ///     writer.finish()?;
    /// }
    /// assert_eq!(Reader::open(&path)?.frames(), 2);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; [`Error::Conflict`](crate::Error::Conflict) if a writer has the existing file open;
    /// [`Error::Usage`](crate::Error::Usage) if the options do not fit the header.
    pub fn overwrite(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let path = path.as_ref();
        let (bytes, _) = new_file(&options.header()?)?;
        let existing = match Session::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            session => Some(session?),
        };
        let mut replacement = Replacement::of_held(path)?;
        replacement.write_at(0, &bytes)?;
        let session = match existing {
            Some(mut session) => {
                session.replace(replacement, Durability::Power)?;
                session
            }
            None => Session::over(replacement.finish_open(Durability::Power)?),
        };
        Self::over(session)
    }

    /// Opens a file in order to append frames.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = Writer::create(&path, &options)?;
    /// # writer.write("step", 1, &[0u64])?;
    /// # writer.end_frame()?;
    /// # writer.finish()?;
    /// let mut writer = Writer::append_to(&path)?; // it has one frame
    /// writer.write("step", 1, &[writer.frames()])?;
    /// writer.end_frame()?;
    /// writer.finish()?;
    /// assert_eq!(Reader::open(&path)?.frames(), 2);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::open`](crate::Reader::open); `Malformed` if the index and the names have bytes in common, or if the last
    /// chunk has no name; [`Error::Conflict`](crate::Error::Conflict) if another writer has it open.
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Session::open(path).and_then(Self::over).within(Some(path), None)
    }
}

impl<S: ReadAt + WriteAt> Writer<S> {
    /// Writes a new file to a storage. Its previous contents are removed.
    ///
    /// ```
    /// use gsd_rs::{CreateOptions, Version, Writer};
    ///
    /// let options = CreateOptions::new("walk 1.0", "points", Version::new(1, 0));
    /// let mut writer = Writer::create_in(Vec::new(), &options)?; // a file in memory
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// let bytes = writer.into_bytes()?;
    /// # assert_eq!(gsd_rs::Reader::from_bytes(bytes)?.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::create`].
    pub fn create_in(storage: S, options: &CreateOptions) -> Result<Self> {
        Self::start(storage, &options.header()?)
    }

    fn start(mut storage: S, header: &Header) -> Result<Self> {
        let (bytes, _) = new_file(header)?;
        let steps = [Step::SetSize { size: 0 }, Step::write(0, bytes), Step::Sync];
        apply(&steps, &mut storage)?;
        Self::append_in(storage)
    }

    /// Appends to the file in a storage.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// # let bytes = writer.into_bytes()?;
    /// let mut writer = Writer::append_in(bytes)?;
    /// writer.write("step", 1, &[writer.frames()])?;
    /// writer.end_frame()?;
    /// assert_eq!(Reader::from_bytes(writer.into_bytes()?)?.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::append_to`].
    pub fn append_in(storage: S) -> Result<Self> {
        Self::over(Session::over(storage))
    }

    fn over(mut session: Session<S>) -> Result<Self> {
        let opened = open(session.storage())?;
        opened.check_appendable(session.storage())?;
        let state = State::new(&opened, session.storage())?;
        let Opened { names, frames, .. } = opened;
        for (offset, len) in state.generation()? {
            session.watch(offset, len)?;
        }
        Ok(Self {
            buffer_at: session.storage().size(),
            session,
            state,
            names,
            durability: Durability::Power,
            buffer: Vec::new(),
            buffer_size: BUFFER,
            entries: Vec::new(),
            finished: 0,
            frame: frames,
            present: HashSet::new(),
            condition: Condition::Open,
        })
    }

    pub(crate) fn storage(&self) -> &S {
        self.session.storage()
    }

    /// Sets what a commit must survive. The default is a loss of power. With [`Durability::Process`], commits do not wait for the
    /// device; frames then survive the end of the process, but a loss of power may damage the file.
    ///
    /// ```
    /// use gsd_rs::Writer;
    /// use gsd_rs::storage::Durability;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// writer.set_durability(Durability::Process); // fast: a simulation that can be repeated
    /// writer.set_buffer(16 << 20);
    /// # writer.finish()?;
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// Sets how many bytes of data are collected before they are written. Larger chunks are written at once. The default is 1
    /// MiB.
    pub fn set_buffer(&mut self, bytes: usize) {
        self.buffer_size = bytes;
    }

    /// Returns the header as of the last commit. While the file is being written, it declares only the part of the index block
    /// that is in use.
    pub fn header(&self) -> &Header {
        &self.state.header
    }

    /// Returns the number of complete frames, which is also the number of the frame that is being written.
    pub fn frames(&self) -> u64 {
        self.frame
    }

    /// Returns the number of frames that are committed.
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
    /// assert_eq!((writer.frames(), writer.committed()), (1, 0)); // more frames may be committed together
    /// writer.flush()?;
    /// assert_eq!((writer.committed(), Reader::open(&path)?.frames()), (1, 1));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn committed(&self) -> u64 {
        self.state.frames
    }
}

impl<S: ReadAt + WriteAt> std::fmt::Debug for Writer<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("state", &self.state)
            .field("frame", &self.frame)
            .field("uncommitted entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}
