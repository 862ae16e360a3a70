//! Writing a file: creating, appending, committing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use sciformats_core::commit::apply;
use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, ReadAt, Result, Step, WriteAt};

use crate::model::commit::{Commit, Pending, State, new_file};
use crate::model::names::Names;
use crate::model::open::{Opened, open};
use crate::spec::{IndexEntry, name_list};
use crate::{CreateOptions, Element, ElementType, Header, Region};

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
    pub(crate) storage: S,
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
    /// The system did not make the bytes durable, and may have dropped them.
    Lost,
    Closed,
}

/// Data that is collected in memory unless set otherwise: enough that the system's calls cost little.
const BUFFER: usize = 1 << 20;
/// Entries after which a finished frame is committed unasked, so that memory stays bounded.
const ENTRIES: usize = 1 << 16;

impl Writer {
    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    /// `Io`, also if it exists; [`Error::Usage`] if the options do not fit the header.
    pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let header = options.header()?;
        let storage = FileStorage::create_new(path)?;
        storage.try_lock()?;
        Self::start(storage, &header)
    }

    /// Creates a file, in the place of an existing one if there is one: readers that have the old one open keep it.
    ///
    /// # Errors
    /// `Io`; [`Error::Usage`] if a writer has the existing file open, or the options do not fit the header.
    pub fn overwrite(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        let path = path.as_ref();
        let (bytes, _) = new_file(&options.header()?);
        let existing = path.exists().then(|| FileStorage::edit(path)).transpose()?;
        existing.as_ref().map_or(Ok(()), FileStorage::try_lock)?;
        let mut replacement = Replacement::create(path)?;
        replacement.write_at(0, &bytes)?;
        replacement.finish(Durability::Power)?;
        Self::append(path)
    }

    /// Opens a file to append frames.
    ///
    /// # Errors
    /// As [`Reader::open`](crate::Reader::open); [`Error::Usage`] if another writer has it open.
    pub fn append(path: impl AsRef<Path>) -> Result<Self> {
        let mut storage = FileStorage::edit(path)?;
        storage.try_lock()?;
        // Another writer may have let go of the file between the opening and the lock.
        storage.refresh()?;
        Self::append_on(storage)
    }

    /// Reserves a chunk of `n` rows and `m` columns in the current frame, for others to fill: threads, or processes
    /// with [`RegionWriter::open`](crate::RegionWriter::open). All have to be done before the frame is committed.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn reserve<T: Element>(&mut self, name: &str, n: u64, m: u32) -> Result<Region> {
        let size = self.checked_size(name, T::TYPE, n, m)?;
        self.drain()?;
        let location = self.place(T::TYPE);
        let end = location.checked_add(size).ok_or_else(too_long)?;
        self.storage.set_size(end.max(ReadAt::len(&self.storage)))?;
        self.record(name, T::TYPE, (n, m), location)?;
        self.buffer_at = end;
        Ok(Region { location, n, m, element: T::TYPE })
    }
}

impl<S: ReadAt + WriteAt> Writer<S> {
    /// Writes a new file into a storage, which is emptied.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create_on(storage: S, options: &CreateOptions) -> Result<Self> {
        Self::start(storage, &options.header()?)
    }

    fn start(mut storage: S, header: &Header) -> Result<Self> {
        let (bytes, _) = new_file(header);
        let steps = [Step::SetSize { size: 0 }, Step::write(0, bytes), Step::Sync];
        apply(&steps, &mut storage)?;
        Self::append_on(storage)
    }

    /// Appends to the file in a storage.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_on(storage: S) -> Result<Self> {
        let opened = open(&storage)?;
        let state = State::new(&opened, &storage)?;
        let Opened { names, frames, .. } = opened;
        Ok(Self {
            buffer_at: storage.len(),
            storage,
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

    /// What a commit must survive: by default a loss of power. [`Durability::Process`] does not wait for the device;
    /// frames then survive the end of the process, and after a loss of power the file may be damaged.
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
    pub fn committed(&self) -> u64 {
        self.state.frames
    }

    /// Writes an N×M chunk into the current frame: `values` row after row, `columns` each.
    ///
    /// # Errors
    /// [`Error::Usage`] if the values are no whole rows, `columns` is 0, the name is empty, has a NUL or is taken in
    /// this frame; [`Error::LimitExceeded`] for the 65,536th name; `Io`.
    pub fn write<T: Element>(&mut self, name: &str, columns: u32, values: &[T]) -> Result<()> {
        let width = usize::try_from(columns).unwrap_or(usize::MAX);
        let rows = match values.len().checked_rem(width) {
            Some(0) => values.len() / width,
            Some(_) => return Err(no_whole_rows(values.len(), columns)),
            None => return Err(Error::usage("columns", "must not be 0")),
        };
        let mut bytes = Cow::Borrowed(bytemuck::cast_slice(values));
        if ByteOrder::NATIVE != ByteOrder::Little {
            ByteOrder::NATIVE.convert(ByteOrder::Little, bytes.to_mut(), size_of::<T>());
        }
        self.put(name, T::TYPE, (rows as u64, columns), &bytes)
    }

    /// Writes text as a chunk of characters, one a row.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Usage`] in a file of a layer before 2.0.
    pub fn write_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.put(name, ElementType::Character, (text.len() as u64, 1), text.as_bytes())
    }

    /// Writes a chunk of any type from the bytes that it has in a file: little-endian, row after row.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Usage`] for an unknown type.
    pub fn write_bytes(
        &mut self,
        name: &str,
        element: ElementType,
        columns: u32,
        bytes: &[u8],
    ) -> Result<()> {
        let row = element.size().and_then(|size| usize::try_from(columns).ok()?.checked_mul(size));
        let rows =
            match row.and_then(|row| Some((bytes.len().checked_rem(row)?, bytes.len().checked_div(row)?))) {
                Some((0, rows)) => rows as u64,
                Some(_) => return Err(no_whole_rows(bytes.len(), columns)),
                None => 0,
            };
        self.put(name, element, (rows, columns), bytes)
    }

    fn put(&mut self, name: &str, element: ElementType, shape: (u64, u32), bytes: &[u8]) -> Result<()> {
        self.checked_size(name, element, shape.0, shape.1)?;
        if self.buffer.len().saturating_add(bytes.len()) > self.buffer_size {
            self.drain()?;
        }
        let location = self.place(element);
        let end = location.checked_add(bytes.len() as u64).filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(too_long)?;
        if bytes.len() >= self.buffer_size {
            // The buffer is empty: it was drained, and holds at most the gap before this chunk.
            self.storage.write_at(location, bytes)?;
            self.record(name, element, shape, location)?;
            self.buffer.clear();
            self.buffer_at = end;
        } else {
            self.record(name, element, shape, location)?;
            let gap = location.saturating_sub(self.buffer_at);
            self.buffer.resize(usize::try_from(gap).unwrap_or(self.buffer.len()), 0);
            self.buffer.extend(bytes);
        }
        Ok(())
    }

    /// What a chunk takes, if it may be written.
    fn checked_size(&self, name: &str, element: ElementType, n: u64, m: u32) -> Result<u64> {
        self.check_open()?;
        if m == 0 {
            return Err(Error::usage("columns", "must not be 0"));
        }
        if element == ElementType::Character && self.state.header.encoding() == name_list::Encoding::Slots {
            let problem = format!("character needs layer 2.1, the file has {}", self.state.header.version);
            return Err(Error::usage("element type", problem));
        }
        let size = element.size().ok_or_else(|| Error::usage("element type", "is unknown"))?;
        let taken = self.names.ids(name.as_bytes()).iter().any(|id| self.present.contains(id));
        if taken {
            return Err(Error::usage("chunk name", format!("{name:?} is already in frame {}", self.frame)));
        }
        n.checked_mul(m.into()).and_then(|count| count.checked_mul(size as u64)).ok_or_else(too_long)
    }

    /// Where the next chunk goes: a multiple of its element's size, so that a mapped file can lend it as it is.
    fn place(&self, element: ElementType) -> u64 {
        let end = self.buffer_at.saturating_add(self.buffer.len() as u64);
        end.checked_next_multiple_of(element.size().unwrap_or(1) as u64).unwrap_or(u64::MAX)
    }

    fn record(&mut self, name: &str, element: ElementType, (n, m): (u64, u32), location: u64) -> Result<()> {
        let location = i64::try_from(location).map_err(|_| too_long())?;
        let id = self.names.intern(name)?;
        self.present.insert(id);
        self.entries.push(IndexEntry { frame: self.frame, n, location, m, id, element });
        Ok(())
    }

    /// Writes what was collected.
    fn drain(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.storage.write_at(self.buffer_at, &self.buffer)?;
            self.buffer_at = self.buffer_at.saturating_add(self.buffer.len() as u64);
            self.buffer.clear();
        }
        Ok(())
    }

    /// Completes the current frame, which may be empty, and begins the next. Committed with the next
    /// [`flush`](Self::flush), or now if very many chunks wait. Empty frames at the end of a file leave no trace in it.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); the frame is complete nevertheless.
    pub fn end_frame(&mut self) -> Result<()> {
        self.check_open()?;
        self.frame = self.frame.checked_add(1).ok_or_else(too_long)?;
        self.finished = self.entries.len();
        self.present.clear();
        if self.finished >= ENTRIES { self.flush() } else { Ok(()) }
    }

    /// Forgets the chunks written since the last [`end_frame`](Self::end_frame).
    pub fn discard_frame(&mut self) {
        self.entries.truncate(self.finished);
        self.present.clear();
    }

    /// Commits the complete frames.
    ///
    /// # Errors
    /// `Io`: the file then has the frames of the commit before, or already those of this one, and the flush can be
    /// repeated once there is room. If the device failed to sync, all further writes are refused.
    pub fn flush(&mut self) -> Result<()> {
        self.commit(false)
    }

    fn commit(&mut self, last: bool) -> Result<()> {
        self.check_open()?;
        let pending = Pending {
            data_at: self.buffer_at,
            data: &self.buffer,
            entries: self.entries.get(..self.finished).unwrap_or_default(),
            names: &self.names,
            frames: self.frame,
        };
        let commit = self.state.plan(&pending, last, &self.storage)?;
        let Commit { steps, state, names, end } = commit;
        if let Err((error, lost)) = run(&steps, &mut self.storage, self.durability) {
            self.fail(lost);
            return Err(error);
        }
        self.succeed(state, names, end);
        self.entries.drain(..self.finished);
        self.finished = 0;
        Ok(())
    }

    fn succeed(&mut self, state: State, names: crate::Block, end: u64) {
        self.state = state;
        self.names.store(names);
        self.buffer.clear();
        self.buffer_at = end;
    }

    fn fail(&mut self, lost: bool) {
        self.state.uncertain = true;
        if lost {
            self.condition = Condition::Lost;
        }
    }

    fn check_open(&self) -> Result<()> {
        match self.condition {
            Condition::Open => Ok(()),
            Condition::Lost => Err(Error::usage("writer", "has lost bytes: the device failed to sync them")),
            Condition::Closed => Err(Error::usage("writer", "is closed")),
        }
    }

    /// Makes a file of layer 1.x, or 0.3, one of layer 2.1, in place; others stay as they are. The data is not
    /// touched, the index and the names are written anew. Commits complete frames first.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun.
    pub fn upgrade(&mut self) -> Result<()> {
        self.settle()?;
        if self.state.header.encoding() == name_list::Encoding::Packed {
            return Ok(());
        }
        let names = self.names.repacked(name_list::Encoding::Packed);
        let commit = self.state.plan_upgrade(&names, self.buffer_at, &self.storage)?;
        self.replace(commit, names)
    }

    /// Removes all frames and names; application and schema stay. A reader that has the file mapped must not read on.
    /// The file becomes one of the current layer. Cut anywhere, it has all its frames or none.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun.
    pub fn truncate(&mut self) -> Result<()> {
        self.settle()?;
        let commit = self.state.plan_truncation(self.buffer_at);
        let names = Names::empty(commit.names);
        self.replace(commit, names)?;
        self.frame = 0;
        Ok(())
    }

    /// Commits, and checks that nothing is left over.
    fn settle(&mut self) -> Result<()> {
        if !self.entries.is_empty() && self.finished < self.entries.len() {
            return Err(Error::usage("frame", "has been begun: end or discard it first"));
        }
        self.flush()
    }

    fn replace(&mut self, commit: Commit<'_>, names: Names) -> Result<()> {
        let Commit { steps, state, names: block, end } = commit;
        if let Err((error, lost)) = run(&steps, &mut self.storage, self.durability) {
            self.fail(lost);
            return Err(error);
        }
        self.names = names;
        self.succeed(state, block, end);
        Ok(())
    }

    /// Commits the complete frames and leaves the file as others expect it, with room in its index. Dropping the
    /// writer does the same, but cannot tell of a failure.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun and neither ended nor discarded: the
    /// complete frames are committed then.
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.commit(true)?;
        self.condition = Condition::Closed;
        if self.entries.is_empty() {
            Ok(())
        } else {
            Err(Error::usage("frame", "has been begun, but was not ended"))
        }
    }
}

impl Writer<Vec<u8>> {
    /// As [`finish`](Self::finish), and returns the file.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn into_bytes(mut self) -> Result<Vec<u8>> {
        self.close()?;
        Ok(std::mem::take(&mut self.storage))
    }
}

impl<S: ReadAt + WriteAt> Drop for Writer<S> {
    fn drop(&mut self) {
        if self.condition == Condition::Open {
            // Nobody is left to tell; what was flushed before is safe in any case.
            let _ = self.commit(true);
        }
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

/// Does the steps; an error says whether it was a sync that failed.
fn run(
    steps: &[Step<'_>],
    storage: &mut impl WriteAt,
    durability: Durability,
) -> std::result::Result<(), (Error, bool)> {
    let needed = steps.iter().filter(|step| durability == Durability::Power || **step != Step::Sync);
    for step in needed {
        apply(std::slice::from_ref(step), storage).map_err(|error| (error, *step == Step::Sync))?;
    }
    Ok(())
}

fn no_whole_rows(values: usize, columns: u32) -> Error {
    Error::usage("values", format!("are {values}, which is no whole number of rows of {columns}"))
}

fn too_long() -> Error {
    Error::usage("chunk", "would end beyond 2^63 bytes")
}
