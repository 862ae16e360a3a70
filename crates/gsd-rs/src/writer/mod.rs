//! Writing a file.
//!
//! | module | what it does |
//! |---|---|
//! | this one | creates files and opens them to append |
//! | `chunks` | takes the chunks of the current frame |
//! | `commits` | ends frames, commits them, upgrades and truncates |

mod chunks;
mod commits;

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use sciformats_core::commit::{Session, apply};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, ReadAt, Result, Step, WriteAt};

use crate::model::commit::{State, new_file};
use crate::model::names::Names;
use crate::model::open::{Opened, open};
use crate::spec::IndexEntry;
use crate::{CreateOptions, Header};

/// A file that frames are appended to.
///
/// Chunks are collected in memory, large ones written at once. [`end_frame`](Self::end_frame) completes a frame,
/// [`flush`](Self::flush) commits all that are complete: from then on they are in the file, whatever happens. A process
/// that is killed, or a device that is full, costs the frames since the last flush and nothing else.
///
/// The file is locked against a second writer of this library until the value is dropped. Readers may have it open.
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
    /// Data that is not in the file yet, and where it belongs.
    buffer: Vec<u8>,
    buffer_at: u64,
    buffer_size: usize,
    /// Entries that are not committed, and how many of them belong to finished frames.
    entries: Vec<IndexEntry>,
    finished: usize,
    /// The frame that is being written.
    frame: u64,
    /// The names in it.
    present: HashSet<u16>,
    condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Open,
    /// A failure after which nobody knows what is in the file, and what the text says of the writer.
    Failed(&'static str),
    Closed,
}

/// Data that is collected in memory unless set otherwise: enough that the system's calls cost little.
const BUFFER: usize = 1 << 20;
/// Entries after which a finished frame is committed unasked, so that memory stays bounded.
const ENTRIES: usize = 1 << 16;

impl Writer {
    /// Creates a file that must not exist yet.
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
    /// `Io`, also if it exists; [`Error::Usage`](crate::Error::Usage) if the options do not fit the header.
    pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let header = options.header()?;
        let (bytes, _) = new_file(&header)?;
        let mut session = Session::create_new(path)?;
        session.write_fresh(0, &bytes)?;
        session.renew()?;
        Self::over(session)
    }

    /// Creates a file, in the place of an existing one if there is one: readers that have the old one open keep it.
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
    /// `Io`; [`Error::Conflict`](crate::Error::Conflict) if a writer has the existing file open; [`Error::Usage`](crate::Error::Usage)
    /// if the options do not fit the header.
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

    /// Opens a file to append frames.
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
    /// As [`Reader::open`](crate::Reader::open); [`Error::Conflict`](crate::Error::Conflict) if another writer has it open.
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        Self::over(Session::open(path)?)
    }
}

impl<S: ReadAt + WriteAt> Writer<S> {
    /// Writes a new file into a storage, which is emptied.
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
    /// As [`Writer::create`].
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
    /// As [`Writer::append_to`].
    pub fn append_in(storage: S) -> Result<Self> {
        Self::over(Session::over(storage))
    }

    fn over(mut session: Session<S>) -> Result<Self> {
        let opened = open(session.storage())?;
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

    /// What a commit must survive: by default a loss of power. [`Durability::Process`] does not wait for the device;
    /// frames then survive the end of the process, and after a loss of power the file may be damaged.
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

    /// How many bytes of data are collected before they are written; larger chunks are written at once. Default:
    /// 1 MiB.
    pub fn set_buffer(&mut self, bytes: usize) {
        self.buffer_size = bytes;
    }

    /// The header, as of the last commit. While the file is being written, the index block in it is only what is in
    /// use.
    pub fn header(&self) -> &Header {
        &self.state.header
    }

    /// The number of finished frames, which is that of the frame being written.
    pub fn frames(&self) -> u64 {
        self.frame
    }

    /// The number of frames that are committed.
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
